/** The hash index against a Map, with the hashes that hurt: equal ones, clusters over page edges and over the end. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOf, hashMix, Table } from '../../src/memory/index.ts';
import { damaged, dumped, expectUnchanged, LastDump, throughDisk } from './parts.ts';

/** The values under each hash, as a multiset. */
type Model = Map<number, number[]>;

function valuesOf(table: Table, hash: number): number[] {
  const values: number[] = [];
  for (let value = table.first(hash); value !== -1; value = table.next()) values.push(value);
  return values.sort((a, b) => a - b);
}

function expectSame(table: Table, model: Model): void {
  let size = 0;
  for (const [hash, values] of model) {
    const found = valuesOf(table, hash);
    const expected = [...values].sort((a, b) => a - b);
    if (found.length !== expected.length || found.some((value, i) => value !== expected[i]))
      expect(found).toEqual(expected);
    size += values.length;
  }
  expect(table.size).toBe(size);
}

function insert(table: Table, model: Model, hash: number, value: number): void {
  table.insert(hash, value);
  const values = model.get(hash);
  if (values === undefined) model.set(hash, [value]);
  else values.push(value);
}

function remove(table: Table, model: Model, hash: number, value: number): void {
  const values = model.get(hash) ?? [];
  const at = values.indexOf(value);
  expect(table.remove(hash, value)).toBe(at !== -1);
  if (at !== -1) values.splice(at, 1);
}

/** Where in a segment the hashes fall. With two segments a home is the lower 31 bits as a fraction of the capacity. */
const HASHES: Record<string, (n: number) => number> = {
  'spread out': (n) => hashMix(1, n),
  'all equal': () => 0x9abcdef0,
  'all zero': () => 0,
  'at the end of a segment': (n) => 0x7fffffff - (n % 40),
  'at both ends of both segments': (n) => [0, 0x7fffffff, 0x80000000, 0xffffffff][n % 4]!,
  'around the first page edge': (n) => (0x40000000 + (n % 5000) * 0x100 - 0x80000) >>> 0,
};

describe('table', () => {
  for (const [how, hashOf] of Object.entries(HASHES)) {
    for (const before of [0, 1700, 3400]) {
      test(`answers as a map does, hashes ${how}, ${before} entries before`, () => {
        // What a first part of equal hashes costs grows with its square, so it stays smaller.
        const entries = how === 'all equal' || how === 'all zero' ? before / 2 : before;
        const key = fc.nat(40);
        const step = fc.oneof(
          { weight: 6, arbitrary: fc.record({ kind: fc.constant('insert' as const), key, value: fc.nat(3) }) },
          { weight: 6, arbitrary: fc.record({ kind: fc.constant('remove' as const), key, value: fc.nat(3) }) },
          { weight: 2, arbitrary: fc.record({ kind: fc.constant('replace' as const), key, value: fc.nat(3) }) },
          {
            weight: 1,
            arbitrary: fc.record({ kind: fc.constantFrom('dump' as const, 'reload' as const, 'drop' as const) }),
          },
        );
        fc.assert(
          fc.property(fc.array(step, { maxLength: before === 0 ? 200 : 80, size: 'max' }), (steps) => {
            let table = new Table('t', { segments: 2 });
            const model: Model = new Map();
            for (let i = 0; i < entries; i++) insert(table, model, hashOf(i), i % 7);
            const last = new LastDump(table);
            for (const what of steps) {
              if (what.kind === 'insert') insert(table, model, hashOf(what.key), what.value);
              else if (what.kind === 'remove') remove(table, model, hashOf(what.key), what.value);
              else if (what.kind === 'replace') {
                const values = model.get(hashOf(what.key)) ?? [];
                const found = table.first(hashOf(what.key));
                expect(found !== -1).toBe(values.length > 0);
                if (found === -1) continue;
                table.replace(what.value);
                values[values.indexOf(found)] = what.value;
              } else {
                const files = last.step(table, what.kind);
                if (files === null) continue;
                table = new Table('t', { segments: 2 });
                table.load(files);
              }
            }
            last.expectUnchanged();
            expectSame(table, model);
          }),
          { numRuns: before === 0 ? 100 : 12 },
        );
      });
    }
  }

  test('a hash nobody inserted finds nothing, and next after the end stays there', () => {
    const table = new Table('t');
    expect(table.first(7)).toBe(-1);
    expect(table.next()).toBe(-1);
    table.insert(7, 1);
    expect(table.first(8)).toBe(-1);
    expect([table.first(7), table.next(), table.next()]).toEqual([1, -1, -1]);
    expect(table.remove(7, 2)).toBe(false);
    expect(table.remove(8, 1)).toBe(false);
    expect(table.size).toBe(1);
  });

  test('signed and unsigned forms of a hash are the same', () => {
    const table = new Table('t');
    table.insert(-2, 5);
    expect(table.first(0xfffffffe)).toBe(5);
    expect(table.remove(-2, 5)).toBe(true);
  });

  test('the cursor is refused after a change instead of reading elsewhere', () => {
    const table = new Table('t');
    table.insert(1, 1);
    table.first(1);
    table.insert(1, 2);
    expect(() => table.next()).toThrow(/after a change/);
    expect(() => table.replace(3)).toThrow(/without a value/);
    table.first(2);
    expect(() => table.replace(3)).toThrow(/without a value/);
  });

  test('touching changes nothing, and leaves the cursor where it is', () => {
    const table = new Table('t', { segments: 2 });
    expect(table.touch(1)).toBe(0);
    for (let i = 0; i < 900; i++) table.insert(hashMix(1, i), i);
    for (const value of [1, 2, 3]) table.insert(7, value);
    const { held, copy } = dumped(table);
    const seen = [table.first(7)];
    for (let i = 0; i < 2000; i++) table.touch(hashMix(1, i));
    seen.push(table.next(), table.next());
    expect(seen.sort()).toEqual([1, 2, 3]);
    expectUnchanged(held, copy);
  });

  test('values that do not fit are refused', () => {
    const table = new Table('t');
    for (const value of [-1, 0xffffffff, 0x100000000, 1.5, Number.NaN]) {
      expect(() => table.insert(1, value), String(value)).toThrow(/value/);
    }
    table.insert(1, 0xfffffffe);
    expect(table.first(1)).toBe(0xfffffffe);
    for (const value of [-1, 0xffffffff]) expect(() => table.replace(value), String(value)).toThrow(/value/);
    table.replace(0xfffffffe);
    expect(table.first(1)).toBe(0xfffffffe);
    expect(() => new Table('t', { segments: 3 })).toThrow(/segments/);
  });

  test('segments grow past sixteen pages and empty again without rot', () => {
    const table = new Table('t', { segments: 2 });
    const count = 90_000;
    for (let i = 0; i < count; i++) table.insert(hashMix(3, i), i);
    for (let i = 0; i < count; i++)
      if (table.first(hashMix(3, i)) !== i) expect(valuesOf(table, hashMix(3, i))).toContain(i);
    expect(table.bytes / count).toBeLessThan(12);
    const reloaded = new Table('t', { segments: 2 });
    reloaded.load(throughDisk(table.dump()));
    for (let i = 0; i < count; i++) if (!reloaded.remove(hashMix(3, i), i)) expect.fail(`entry ${i} is lost`);
    expect(reloaded.size).toBe(0);
    for (const part of reloaded.dump()) {
      if (!part.name.endsWith('.head'))
        expect(
          bytesOf(part).every((byte) => byte === 0),
          part.name,
        ).toBe(true);
    }
  });

  test('a dump that is short, long or incomplete does not load and changes nothing', () => {
    const table = new Table('t', { segments: 2 });
    for (let i = 0; i < 4000; i++) table.insert(hashMix(5, i), i);
    const target = new Table('t', { segments: 2 });
    target.insert(1, 77);
    for (const { what, files } of damaged(table.dump())) expect(() => target.load(files), what).toThrow(/memory: /);
    expect([target.size, target.first(1)]).toEqual([1, 77]);
    expect(() => new Table('t', { segments: 4 }).load(throughDisk(table.dump()))).toThrow(/words/);
  });

  test('a dump whose counts or places are wrong does not load: a search in it might not end', () => {
    const table = new Table('t', { segments: 2 });
    for (let i = 0; i < 5; i++) table.insert(0x1000_0000 * i, i);
    const files = throughDisk(table.dump());
    const cases: [string, number, number, RegExp][] = [
      ['t.head', 2, 2, /another number of segments/],
      ['t.head', 3, 7, /slots of segment 0/],
      ['t.head', 3, 0xffff_f800, /is missing|bytes/],
      ['t.head', 4, 4, /entries instead of 4/],
      ['t.head', 4, 8, /slots of segment 0/],
      ['t.slots', 0, 0x7000_0000, /misplaced/],
      ['t.slots', 0, 0x8000_0000, /misplaced/],
      ['t.slots', 1, 0, /entries instead of|misplaced/],
    ];
    for (const [name, word, value, error] of cases) {
      const changed = new Map(files);
      const bytes = Uint8Array.from(files.get(name)!);
      new DataView(bytes.buffer).setUint32(word * 4, value, true);
      changed.set(name, bytes);
      expect(() => new Table('t', { segments: 2 }).load(changed), `${name} word ${word} = ${value}`).toThrow(error);
    }
    const full = new Map(files);
    full.set('t.slots', new Uint8Array(files.get('t.slots')!.length).fill(1));
    expect(() => new Table('t', { segments: 2 }).load(full)).toThrow(/memory: /);
  });

  test('growing leaves dumps as they were, and pages used again are clean', () => {
    // A first table tells which inserts make a segment grow; the second is dumped right before each of them.
    const count = 9000;
    const scout = new Table('t', { segments: 2 });
    const growing = new Set<number>();
    for (let i = 0; i < count; i++) {
      const before = scout.bytes;
      scout.insert(hashMix(8, i), i);
      if (scout.bytes !== before) growing.add(i);
    }
    expect(growing.size).toBeGreaterThan(20);
    const table = new Table('t', { segments: 2 });
    const model: Model = new Map();
    const dumps: ReturnType<typeof dumped>[] = [];
    for (let i = 0; i < count; i++) {
      if (growing.has(i)) {
        dumps.push(dumped(table));
      }
      insert(table, model, hashMix(8, i), i);
      if (!growing.has(i)) continue;
      if (dumps.length < 3) continue;
      for (const { held, copy } of dumps.splice(0)) expectUnchanged(held, copy);
      expectSame(table, model);
    }
    expectSame(table, model);
  });
});
