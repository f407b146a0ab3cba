/** A worker for crew.test.ts: lives that end, fail, crash, or never end, by the last digit of their seeds. */
import { serveCrew } from './crew.ts';

serveCrew(async (seed) => {
  const digit = seed % 10;
  if (digit === 1) throw new Error('as it should');
  if (digit === 2) process.exit(7);
  // Nothing inside the process could end this.
  if (digit === 3) for (;;);
  if (digit === 4) await new Promise(() => {});
  return seed;
});
