/** Blocks of shared memory against what is asked of them: nobody writes into another's, and what is held can be read. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Hold } from '../../src/memory/hold.ts';
import { BLOCK_SLOTS_MAX, BLOCK_SLOTS_MIN, SLAB_MASK, SLAB_SHIFT, Slabs } from '../../src/memory/slabs.ts';

interface Block {
  address: number;
  slots: number;
  /** What every byte of it is. */
  mark: number;
}

function mark(slabs: Slabs, { address, slots, mark }: Block): void {
  for (let at = address; at < address + slots * 2; at++) {
    if (slabs.isHeld) slabs.keep(at);
    slabs.words[at >>> SLAB_SHIFT]![at & SLAB_MASK] = mark * 0x01010101;
  }
}

test('blocks keep what was written to them until they are given back, and for whoever holds them', () => {
  const slots = fc.constantFrom(8, 16, 256, 1024);
  const kind = fc.constantFrom('take', 'take', 'mark', 'give', 'clear', 'hold', 'read');
  fc.assert(
    fc.property(fc.array(fc.record({ kind, slots, at: fc.nat() }), { maxLength: 300, size: 'max' }), (steps) => {
      const slabs = new Slabs();
      const live: Block[] = [];
      const held: { hold: Hold; part: Iterable<Uint8Array>[]; marks: number[] }[] = [];
      let next = 0;
      for (const { kind, slots, at } of steps) {
        const block = live[at % Math.max(1, live.length)];
        next = (next % 255) + 1;
        if (kind === 'take') {
          const address = slabs.take(slots);
          expect(slabs.bytesAt(address, slots).every((byte) => byte === 0)).toBe(true);
          live.push({ address, slots, mark: next });
          mark(slabs, live.at(-1)!);
        } else if (kind === 'mark' && block !== undefined) {
          block.mark = next;
          mark(slabs, block);
        } else if (kind === 'clear' && block !== undefined) {
          block.mark = 0;
          slabs.clear(block.address, block.slots);
        } else if (kind === 'give' && block !== undefined) {
          slabs.give(block.address, block.slots);
          live.splice(live.indexOf(block), 1);
        } else if (kind === 'hold') {
          const hold = slabs.hold();
          const part = live.map(
            ({ address, slots }, index) => hold.part(`${index}`, () => slabs.read(hold, address, slots)).pieces,
          );
          // Without a part it would never be over.
          part.push(hold.part('none', () => []).pieces);
          held.push({ hold, part, marks: live.map((block) => block.mark) });
        } else if (kind === 'read') expectHeld(held.shift());
      }
      for (const each of held) expectHeld(each);
      expect(slabs.isHeld).toBe(false);
      for (const { address, slots, mark } of live) {
        expect(slabs.bytesAt(address, slots).every((byte) => byte === mark)).toBe(true);
      }
    }),
    { numRuns: 20 },
  );
});

function expectHeld(held?: { part: Iterable<Uint8Array>[]; marks: number[] }): void {
  for (const [index, pieces] of held?.part.entries() ?? []) {
    for (const piece of pieces) expect(piece.every((byte) => byte === held!.marks[index])).toBe(true);
  }
}

test('a thousand pages lie in as many slabs as they fill, and are used again', () => {
  const slabs = new Slabs();
  expect(slabs.taken).toBe(0);
  const pages = Array.from({ length: 1000 }, () => slabs.take(BLOCK_SLOTS_MAX));
  // The first one is small, and holds four.
  const filled = 1 + Math.ceil(996 / 128);
  expect(slabs.words.length).toBe(filled);
  expect(slabs.taken).toBe(slabs.words.reduce((sum, { byteLength }) => sum + byteLength, 0));
  for (const page of pages) slabs.give(page, BLOCK_SLOTS_MAX);
  for (let i = 0; i < 1000; i++) slabs.take(BLOCK_SLOTS_MAX);
  expect(slabs.words.length).toBe(filled);
  expect(() => slabs.take(BLOCK_SLOTS_MIN / 2)).toThrow(/slots/);
});
