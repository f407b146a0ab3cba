/** Blocks of shared memory against what is asked of them: nobody writes into another's, and none comes back too early. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BLOCK_SLOTS_MAX, BLOCK_SLOTS_MIN, Slabs } from '../../src/memory/slabs.ts';

interface Block {
  address: number;
  slots: number;
  /** What every byte of it is. */
  mark: number;
}

test('blocks keep what was written to them until they are given back', () => {
  const slots = fc.constantFrom(8, 16, 256, 1024);
  const step = fc.record({ kind: fc.constantFrom('take', 'take', 'replace', 'give', 'release'), slots, at: fc.nat() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
      const slabs = new Slabs();
      const live: Block[] = [];
      let retired: Block[] = [];
      let mark = 0;
      for (const { kind, slots, at } of steps) {
        const block = live[at % Math.max(1, live.length)];
        if (kind === 'take') {
          const address = slabs.take(slots);
          expect(slabs.bytesAt(address, slots).every((byte) => byte === 0)).toBe(true);
          mark = (mark % 255) + 1;
          slabs.bytesAt(address, slots).fill(mark);
          live.push({ address, slots, mark });
        } else if (kind === 'replace' && block !== undefined) {
          retired.push({ ...block });
          block.address = slabs.replace(block.address, block.slots);
        } else if (kind === 'give' && block !== undefined) {
          slabs.give(block.address, block.slots);
          live.splice(live.indexOf(block), 1);
        } else if (kind === 'release') {
          slabs.release();
          retired = [];
        }
      }
      for (const { address, slots, mark } of [...live, ...retired]) {
        expect(slabs.bytesAt(address, slots).every((byte) => byte === mark)).toBe(true);
      }
    }),
    { numRuns: 100 },
  );
});

test('a thousand pages lie in as many slabs as they fill, and are used again', () => {
  const slabs = new Slabs();
  const pages = Array.from({ length: 1000 }, () => slabs.take(BLOCK_SLOTS_MAX));
  // The first one is small, and holds four.
  const filled = 1 + Math.ceil(996 / 128);
  expect(slabs.words.length).toBe(filled);
  for (const page of pages) slabs.retire(page, BLOCK_SLOTS_MAX);
  slabs.release();
  for (let i = 0; i < 1000; i++) slabs.take(BLOCK_SLOTS_MAX);
  expect(slabs.words.length).toBe(filled);
  expect(() => slabs.take(BLOCK_SLOTS_MIN / 2)).toThrow(/slots/);
});
