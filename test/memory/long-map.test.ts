/** Long maps against a Map, and loops over them while they change. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LongMap, near, scattered } from '../../src/memory/index.ts';

/** Numbers that share a Map with others, and such that do not. */
const gap = fc.constantFrom(1, 2, 100, 8192, 100_000, 2 ** 40);

test('a long map to which rising numbers are added is as a Map is, loops that last while it changes included', () => {
  const kind = fc.constantFrom('come', 'come', 'come', 'change', 'go', 'first goes', 'loop', 'go on', 'go on');
  fc.assert(
    fc.property(fc.array(fc.record({ kind, at: fc.nat(), gap }), { maxLength: 200, size: 'max' }), (steps) => {
      const map = new LongMap<number, number>(near);
      const model = new Map<number, number>();
      const loops: [Iterator<[number, number]>, Iterator<[number, number]>][] = [];
      let highest = 0;
      for (const [n, { kind, at, gap }] of steps.entries()) {
        const keys = [...model.keys()];
        const key = kind === 'first goes' ? keys[0] : keys[at % Math.max(1, keys.length)];
        if (kind === 'come') {
          highest += gap;
          map.set(highest, n);
          model.set(highest, n);
        } else if (kind === 'change' && key !== undefined) {
          map.set(key, -n);
          model.set(key, -n);
        } else if (kind === 'go' || kind === 'first goes') expect(map.delete(key ?? -1)).toBe(model.delete(key ?? -1));
        else if (kind === 'loop') loops.push([map[Symbol.iterator](), model[Symbol.iterator]()]);
        else {
          const loop = loops[at % Math.max(1, loops.length)];
          expect(loop?.[0].next().value).toEqual(loop?.[1].next().value);
        }
        expect([map.size, map.get(highest), map.has(highest)]).toEqual([
          model.size,
          model.get(highest),
          model.has(highest),
        ]);
      }
      for (const [ours, theirs] of loops) {
        let next = theirs.next();
        for (; next.done !== true; next = theirs.next()) expect(ours.next().value).toEqual(next.value);
        expect(ours.next().done).toBe(true);
      }
      expect([...map]).toEqual([...model]);
      expect([[...map.keys()], [...map.values()]]).toEqual([[...model.keys()], [...model.values()]]);
    }),
    { numRuns: 60 },
  );
});

test('a long map of texts has what a Map has, and maps that were filled alike stand in the same order', () => {
  const key = fc.constantFrom('', 'a', 'b', 'ñ', '1 3 gold', '1 3 new', '2 3 gold', '\n');
  fc.assert(
    fc.property(fc.array(fc.record({ key, value: fc.option(fc.nat()) })), (steps) => {
      const maps = [new LongMap<string, number>(scattered(7)), new LongMap<string, number>(scattered(7))] as const;
      const model = new Map<string, number>();
      for (const { key, value } of steps) {
        for (const map of [model, ...maps]) value === null ? map.delete(key) : map.set(key, value);
        expect([maps[0].get(key), maps[0].has(key), maps[0].size]).toEqual([
          model.get(key),
          model.has(key),
          model.size,
        ]);
      }
      expect([...maps[0]].sort()).toEqual([...model].sort());
      expect([...maps[0]]).toEqual([...maps[1]]);
    }),
  );
});

test('texts are shared out evenly, and those that share a map under one seed do not under another', () => {
  const texts = Array.from({ length: 100_000 }, (_, n) => `1 3 label-${n}`);
  const counts = new Map<number, number>();
  for (const share of texts.map(scattered(1))) counts.set(share, (counts.get(share) ?? 0) + 1);
  expect(counts.size).toBe(4096);
  expect(Math.max(...counts.values())).toBeLessThan(100);
  const together = texts.filter((text) => scattered(1)(text) === 7);
  expect(new Set(together.map(scattered(2))).size).toBeGreaterThan(together.length * 0.9);
});
