/** A short run of every fuzzer: the seeds that are kept, and the first so many. `npm run fuzz` goes on from there. */
import { describe, expect, test } from 'vitest';
import { readData } from '../proof/data.ts';
import { playCase, TARGETS } from './targets.ts';

const kept = readData<Record<string, number[]>>('fuzz-seeds.json');

describe.each(Object.entries(TARGETS))('%s', (name, { cases }) => {
  test('hold for the seeds that are kept', async () => {
    for (const seed of kept[name]!) await playCase(name, seed);
  });

  test(`hold for ${cases} seeds`, async () => {
    const met = new Set<string>();
    for (let seed = 1; seed <= cases; seed++) for (const word of await playCase(name, seed)) met.add(word);
    expect(met.size, 'it meets always the same').toBeGreaterThan(2);
  });
});
