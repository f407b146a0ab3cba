/** A map against V8's, and dumps of it that are read piece by piece while it changes. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bytesOf, HeldMap, rowsOf } from '../../src/memory/index.ts';
import { type Reading, readOn } from './parts.ts';

type Row = [string, number];

function emptyMap(): HeldMap<string, number> {
  return new HeldMap('things', () => new Map());
}

function rowsIn(bytes: Uint8Array): Row[] {
  return [...rowsOf<Row>(new Map([['things', bytes]]), 'things')];
}

/** And what must be in it. */
interface HeldReading extends Reading {
  there: Row[];
  changed: Set<string>;
}

test('a dump has what there was, whatever comes, changes and goes before it is read', () => {
  const kind = fc.constantFrom('set', 'set', 'set', 'delete', 'delete', 'dump', 'read', 'read');
  fc.assert(
    fc.property(
      fc.nat(150),
      fc.array(fc.record({ kind, at: fc.nat(200) }), { maxLength: 150, size: 'max' }),
      (before, steps) => {
        const map = emptyMap();
        const model = new Map<string, number>();
        const readings: HeldReading[] = [];
        const set = (key: string, value: number) => {
          map.set(key, value);
          model.set(key, value);
        };
        for (let n = 0; n < before; n++) set(`ñ\n${n}`, n);
        for (const [n, { kind, at }] of steps.entries()) {
          const key = `ñ\n${at}`;
          const reading = readings[at % Math.max(1, readings.length)];
          if (kind === 'dump') {
            const pieces = map.dump().pieces[Symbol.iterator]();
            readings.push({ pieces, read: [], there: [...model], changed: new Set() });
            continue;
          }
          if (kind === 'read') {
            if (reading !== undefined) readOn(reading);
            continue;
          }
          for (const { changed } of readings) changed.add(key);
          if (kind === 'set') set(key, 1000 + n);
          else {
            map.delete(key);
            model.delete(key);
          }
        }
        expect([map.size, [...map], [...map.keys()]]).toEqual([model.size, [...model], [...model.keys()]]);
        for (const reading of readings) {
          while (!readOn(reading));
          const rows = rowsIn(Buffer.concat(reading.read));
          expect(new Map(rows)).toEqual(new Map(reading.there));
          const unchanged = (all: Row[]) => all.filter(([key]) => !reading.changed.has(key));
          expect(unchanged(rows)).toEqual(unchanged(reading.there));
        }
      },
    ),
    { numRuns: 200 },
  );
});

test('nothing is kept for a dump once all was met, or once it was dropped', () => {
  const map = emptyMap();
  for (let n = 0; n < 100; n++) map.set(`${n}`, n);
  const pieces = map.dump().pieces[Symbol.iterator]();
  pieces.next();
  map.set('0', -1);
  map.set('99', -1);
  const rest: Uint8Array[] = [];
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    rest.push(next.value.slice());
    map.set(`late-${rest.length}`, 1);
    expect(rest.length).toBeLessThan(10);
  }
  const rows = rowsIn(Buffer.concat(rest));
  expect(rows.slice(-2)).toEqual([
    ['0', 0],
    ['99', 99],
  ]);
  expect(rows).toHaveLength(100 - 32 + 1);
});

test('a dump comes in pieces, and is read once', () => {
  const map = emptyMap();
  for (let n = 0; n < 1000; n++) map.set(`${n}`, n);
  const dump = map.dump();
  const counts = [...dump.pieces].map((piece) => rowsIn(piece.slice()).length);
  expect(counts).toHaveLength(1 + Math.floor(1000 / 32));
  expect(Math.max(...counts)).toBe(32);
  expect(() => [...dump.pieces]).toThrow(/things was read before, or dropped/);
  const dropped = map.dump();
  dropped.drop?.();
  expect(() => bytesOf(dropped)).toThrow(/things was read before, or dropped/);
});

test('no piece passes by very many, however many have come, or were there and have changed, before it is read', () => {
  let met = 0;
  // Counts what is met of it.
  class Counting<V> extends Map<number, V> {
    override *[Symbol.iterator](): MapIterator<[number, V]> {
      for (const entry of super[Symbol.iterator]()) {
        met++;
        yield entry;
      }
    }
  }
  const map = new HeldMap<number, number>('things', () => new Counting());
  for (let n = 0; n < 20_000; n++) map.set(n, n);
  const dump = map.dump();
  for (let n = 10_000; n < 40_000; n++) map.set(n, -1);
  const rows: Row[] = [];
  let most = 0;
  for (const piece of dump.pieces) {
    rows.push(...rowsIn(piece.slice()));
    most = Math.max(most, met);
    met = 0;
  }
  expect(rows).toHaveLength(20_000);
  expect(rows.every(([key, value]) => Number(key) === value)).toBe(true);
  expect(most).toBeLessThan(2000);
});

test('what is kept for a dump lies in a map of the same sort, since it may grow as long', () => {
  const made: Map<number, unknown>[] = [];
  const make = <V>() => {
    const map = new Map<number, V>();
    made.push(map);
    return map;
  };
  const map = new HeldMap<number, number>('things', make);
  map.set(1, 1);
  map.dump();
  map.set(1, 2);
  map.set(2, 2);
  expect(made.map((each) => [...each])).toEqual([
    [
      [1, 2],
      [2, 2],
    ],
    [
      [1, 1],
      [2, undefined],
    ],
  ]);
});

test('parts without it, or with half a line of it, are refused', () => {
  expect(() => [...rowsOf(new Map(), 'things')]).toThrow(/part things is missing/);
  const map = emptyMap();
  map.set('one', 1);
  const bytes = bytesOf(map.dump());
  expect(rowsIn(bytes)).toEqual([['one', 1]]);
  expect(() => rowsIn(bytes.slice(0, -1))).toThrow(/whole line/);
});
