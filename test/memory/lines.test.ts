/** Lines against arrays of rows, their page edges, the columns they are dumped as, and damaged dumps. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  F64Column,
  F64Field,
  Lines,
  U8Column,
  U8Field,
  U16Field,
  U32Column,
  U32Field,
} from '../../src/memory/index.ts';
import { damaged, LastDump, throughDisk } from './parts.ts';

const PAGE = 8;

/** Lines with a field of each width, two of them wide; they do not lie in the order of their offsets. */
function open(pageRows = PAGE) {
  const lines = new Lines(32, pageRows);
  const fields = {
    amount: new F64Field(lines, 'amount', 16),
    word: new U32Field(lines, 'word', 4),
    half: new U16Field(lines, 'half', 2),
    byte: new U8Field(lines, 'byte', 1),
    last: new F64Field(lines, 'last', 24),
    other: new U32Field(lines, 'other', 12),
  };
  return { lines, fields };
}

type Name = keyof ReturnType<typeof open>['fields'];
type Row = Record<Name, number>;
const NAMES: readonly Name[] = ['amount', 'word', 'half', 'byte', 'last', 'other'];
const NOTHING: Row = { amount: 0, word: 0, half: 0, byte: 0, last: 0, other: 0 };

const whole = (max: number) => fc.oneof(fc.integer({ min: 0, max }), fc.constantFrom(0, max));
const change = fc.oneof(
  fc.record({ name: fc.constantFrom<Name>('amount', 'last'), value: fc.double() }),
  fc.record({ name: fc.constantFrom<Name>('word', 'other'), value: whole(0xffffffff) }),
  fc.record({ name: fc.constant<Name>('half'), value: whole(0xffff) }),
  fc.record({ name: fc.constant<Name>('byte'), value: whole(0xff) }),
);

/** 8 rows lie in one block of a dump, 64 in four. */
test.each([PAGE, 64])('answers as an array of rows does, through dumps and loads, pages of %i rows', (pageRows) => {
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('push' as const) },
    { weight: 12, arbitrary: fc.record({ row: fc.nat(), change }) },
    { weight: 1, arbitrary: fc.constantFrom('reload' as const, 'dump' as const, 'drop' as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 160, size: 'max' }), (steps) => {
      let { lines, fields } = open(pageRows);
      const model: Row[] = [];
      const last = new LastDump(lines);
      for (const what of steps) {
        if (what === 'push') expect(lines.push()).toBe(model.push({ ...NOTHING }) - 1);
        else if (typeof what === 'string') {
          const files = last.step(lines, what);
          if (files === null) continue;
          ({ lines, fields } = open(pageRows));
          lines.load(files);
        } else if (model.length > 0) {
          const row = what.row % model.length;
          fields[what.change.name].set(row, what.change.value);
          model[row]![what.change.name] = what.change.value;
        }
      }
      last.expectUnchanged();
      expect(lines.length).toBe(model.length);
      for (const [row, expected] of model.entries())
        for (const name of NAMES)
          if (!Object.is(fields[name].get(row), expected[name]))
            expect.fail(`${name} of row ${row} is ${fields[name].get(row)}, not ${expected[name]}`);
    }),
  );
});

describe('as columns', () => {
  const ROWS = 2 * PAGE + 3;
  const valuesOf = (row: number): Row => {
    return { amount: row / 3, word: 4_000_000_000 + row, half: 65_000 + row, byte: 200 + row, last: -row, other: row };
  };
  const filled = () => {
    const made = open();
    for (let row = 0; row < ROWS; row++) {
      made.lines.push();
      for (const name of NAMES) made.fields[name].set(row, valuesOf(row)[name]);
    }
    return made;
  };

  test('a dump has the bytes of a column for each field, and is read from columns', () => {
    const columns = {
      amount: new F64Column('amount', false, PAGE),
      word: new U32Column('word', false, PAGE),
      byte: new U8Column('byte', false, PAGE),
      last: new F64Column('last', false, PAGE),
      other: new U32Column('other', false, PAGE),
    };
    const parts = throughDisk(filled().lines.dump());
    for (let row = 0; row < ROWS; row++) {
      for (const [name, column] of Object.entries(columns)) column.push(valuesOf(row)[name as Name]);
    }
    for (const [name, bytes] of Object.values(columns).flatMap((column) => [...throughDisk(column.dump())]))
      expect(parts.get(name), name).toEqual(bytes);
    for (const column of Object.values(columns)) column.load(parts);
    for (let row = 0; row < ROWS; row++) expect(columns.word.get(row)).toBe(valuesOf(row).word);
  });

  test('bytes from anywhere in a file are read', () => {
    const shifted = [...throughDisk(filled().lines.dump())].map(([name, bytes]): [string, Uint8Array] => {
      const file = new Uint8Array(bytes.length + 3);
      file.set(bytes, 3);
      return [name, file.subarray(3)];
    });
    const { lines, fields } = open();
    lines.load(new Map(shifted));
    for (let row = 0; row < ROWS; row++) expect(fields.amount.get(row)).toBe(row / 3);
  });

  test('a dump that is short, long, incomplete or of another layout does not load and changes nothing', () => {
    const { lines, fields } = open();
    lines.push();
    fields.word.set(0, 77);
    for (const { what, files } of damaged(filled().lines.dump()))
      expect(() => lines.load(files), what).toThrow(/memory: /);
    const files = throughDisk(filled().lines.dump());
    expect(() => open(PAGE * 2).lines.load(files)).toThrow(/another layout/);
    const narrow = new Lines(8, PAGE);
    expect(() => new U16Field(narrow, 'word', 0)).not.toThrow();
    expect(() => narrow.load(files)).toThrow(/another layout/);
    const shorter = new U32Column('word', false, PAGE);
    shorter.push(1);
    expect(() => lines.load(new Map([...files, ...throughDisk(shorter.dump())]))).toThrow(/of one length/);
    expect([lines.length, fields.word.get(0)]).toEqual([1, 77]);
  });

  test('changes far apart copy a block each, once, whatever the number of fields, and none when the dump was read', () => {
    const { lines, fields } = open(4096);
    for (let row = 0; row < 20_000; row++) lines.push();
    const parts = lines.dump();
    for (let i = 0; i < 100; i++) for (const name of NAMES) fields[name].set(i * 199, 1);
    expect(lines.copied).toBe(100 * 512);
    throughDisk(parts);
    expect(lines.copied).toBe(0);
    fields.word.set(7, 1);
    expect(lines.copied).toBe(0);
  });
});

test('rows at and beyond the length are refused', () => {
  const { lines, fields } = open();
  for (let i = 0; i < PAGE; i++) lines.push();
  for (const name of NAMES) {
    for (const row of [PAGE, PAGE + 1, 1e9, Number.NaN]) {
      expect(() => fields[name].get(row), `get ${row}`).toThrow(/no row/);
      expect(() => fields[name].set(row, 1), `set ${row}`).toThrow(/no row/);
    }
    expect(() => fields[name].get(-1)).toThrow();
    expect(() => fields[name].set(-1, 1)).toThrow();
    expect(fields[name].length).toBe(PAGE);
  }
});

test.each<[Name, number]>([
  ['byte', 0x100],
  ['half', 0x10000],
  ['word', 0x100000000],
])('values that do not fit %s are refused, not cut', (name, above) => {
  const { lines, fields } = open();
  lines.push();
  fields[name].set(0, 5);
  for (const value of [-1, above, 1.5, Number.NaN])
    expect(() => fields[name].set(0, value), `${value}`).toThrow(/does not fit/);
  expect(fields[name].get(0)).toBe(5);
});

test('fields that overlap, lie askew or beyond the line, or come when there are rows, are refused', () => {
  const lines = new Lines(16, PAGE);
  new U32Field(lines, 'a', 4);
  expect(() => new U8Field(lines, 'b', 7)).toThrow(/cannot lie/);
  expect(() => new F64Field(lines, 'c', 0)).toThrow(/cannot lie/);
  expect(() => new U32Field(lines, 'd', 10)).toThrow(/cannot lie/);
  expect(() => new U16Field(lines, 'e', 16)).toThrow(/cannot lie/);
  new F64Field(lines, 'f', 8);
  lines.push();
  expect(() => new U8Field(lines, 'g', 0)).toThrow(/cannot lie/);
  expect(() => new Lines(24)).toThrow(/lines of 24 bytes/);
});
