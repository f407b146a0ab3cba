/** Chains against lists in a Map, newest first, and damaged dumps. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Chains } from '../../src/memory/index.ts';
import { damaged, LastDump, throughDisk } from './parts.ts';

function listOf(chains: Chains, hash: number): number[] {
  const values: number[] = [];
  for (let node = chains.head(hash); node !== 0; node = chains.next(node)) values.push(chains.value(node));
  return values;
}

test('lists come newest first, a value pushed twice in a row once, through dumps and loads', () => {
  const step = fc.oneof(
    {
      weight: 9,
      arbitrary: fc.record({ hash: fc.constantFrom(0, 1, 0x80000000, 0xffffffff, 12345), step: fc.nat(1) }),
    },
    { weight: 1, arbitrary: fc.constantFrom('dump' as const, 'reload' as const, 'drop' as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100, size: 'max' }), (steps) => {
      let chains = new Chains('c', { segments: 2 }, 8);
      const model = new Map<number, number[]>();
      let value = 0;
      const last = new LastDump(chains);
      for (const what of steps) {
        if (typeof what === 'string') {
          const files = last.step(chains, what);
          if (files === null) continue;
          chains = new Chains('c', { segments: 2 }, 8);
          chains.load(files);
        } else {
          value += what.step;
          chains.push(what.hash, value);
          const list = model.get(what.hash) ?? [];
          if (list[0] !== value) list.unshift(value);
          model.set(what.hash, list);
        }
      }
      last.expectUnchanged();
      let size = 0;
      for (const [hash, list] of model) {
        expect(listOf(chains, hash)).toEqual(list);
        size += list.length;
      }
      expect(chains.size).toBe(size);
      expect(chains.head(99)).toBe(0);
    }),
  );
});

test('the first node of a value is found where values only grow', () => {
  fc.assert(
    fc.property(fc.array(fc.record({ hash: fc.nat(5), step: fc.nat(3) }), { maxLength: 60, size: 'max' }), (pushes) => {
      const chains = new Chains('c', { segments: 2 }, 8);
      const first = new Map<number, number>();
      let value = 1;
      for (const { hash, step } of pushes) {
        value += step;
        const before = chains.size;
        chains.push(hash, value);
        if (chains.size > before && !first.has(value)) first.set(value, chains.size);
      }
      for (let asked = 0; asked <= value + 1; asked++) expect(chains.firstOf(asked)).toBe(first.get(asked) ?? 0);
    }),
  );
});

test('a value smaller than one before is refused, also after a load', () => {
  const chains = new Chains('c', { segments: 2 }, 8);
  chains.push(1, 7);
  expect(() => chains.push(2, 6)).toThrow(/value 6 after 7/);
  const loaded = new Chains('c', { segments: 2 }, 8);
  loaded.load(throughDisk(chains.dump()));
  expect(() => loaded.push(2, 6)).toThrow(/value 6 after 7/);
});

test('a dump that is short, long or incomplete does not load', () => {
  const chains = new Chains('c', { segments: 2 }, 8);
  for (let i = 0; i < 20; i++) chains.push(i % 3, i);
  for (const { what, files } of damaged(chains.dump())) {
    expect(() => new Chains('c', { segments: 2 }, 8).load(files), what).toThrow(/memory: /);
  }
});

test('heads and links that lead out of the nodes are refused, not followed', () => {
  const chains = new Chains('c', { segments: 2 }, 8);
  for (let i = 0; i < 2; i++) chains.push(0, i);
  const files = throughDisk(chains.dump());
  const nodes = new DataView(files.get('c.nodes.open.000000')!.buffer);
  nodes.setUint32(5 * 4, 2, true);
  const target = new Chains('c', { segments: 2 }, 8);
  target.load(files);
  expect(() => listOf(target, 0)).toThrow(/points forward/);
  const table = new DataView(files.get('c.heads.slots')!.buffer);
  table.setUint32(4, 900, true);
  target.load(files);
  expect(() => target.value(target.head(0))).toThrow(/no row/);
});

test('a table and nodes of different moments do not load together', () => {
  const chains = new Chains('c', { segments: 2 }, 8);
  for (let i = 0; i < 5; i++) chains.push(0, i);
  const files = throughDisk(chains.dump());
  chains.push(0, 5);
  files.set('c.head', throughDisk(chains.dump()).get('c.head')!);
  expect(() => new Chains('c', { segments: 2 }, 8).load(files)).toThrow(/12 rows for 6 nodes/);
});
