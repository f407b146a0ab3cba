/** Columns of each width against an array, their page edges, and damaged dumps. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { F64Column, U8Column, U32Column } from '../../src/memory/index.ts';
import { damaged, expectUnchanged, LastDump, throughDisk } from './parts.ts';

const PAGE = 8;
const whole = (max: number) => fc.oneof(fc.integer({ min: 0, max }), fc.constantFrom(0, max));
const WIDTHS = [
  { Column: U8Column, value: whole(0xff), wrong: [-1, 0x100, 1.5, Number.NaN] },
  { Column: U32Column, value: whole(0xffffffff), wrong: [-1, 0x100000000, 1.5, Number.NaN] },
  { Column: F64Column, value: fc.double(), wrong: [] },
];

for (const { Column, value, wrong } of WIDTHS) {
  describe(Column.name, () => {
    for (const appendOnly of [false, true]) {
      test(`answers as an array does, through dumps and loads, append-only ${appendOnly}`, () => {
        const step = fc.oneof(
          { weight: 8, arbitrary: fc.record({ push: value }) },
          { weight: 6, arbitrary: fc.record({ row: fc.nat(), set: value }) },
          { weight: 1, arbitrary: fc.constantFrom('reload' as const, 'dump' as const, 'drop' as const) },
        );
        fc.assert(
          fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
            let column = new Column('c', appendOnly, PAGE);
            const model: number[] = [];
            const last = new LastDump(column);
            for (const what of steps) {
              if (typeof what === 'string') {
                const files = last.step(column, what);
                if (files === null) continue;
                column = new Column('c', appendOnly, PAGE);
                column.load(files);
              } else if ('push' in what) {
                expect(column.push(what.push)).toBe(model.push(what.push) - 1);
              } else if (model.length > 0) {
                const row = what.row % model.length;
                const closed = appendOnly && row < Math.floor((model.length - 1) / PAGE) * PAGE;
                if (closed) {
                  expect(() => column.set(row, what.set)).toThrow(/closed page/);
                } else {
                  column.set(row, what.set);
                  model[row] = what.set;
                }
              }
            }
            last.expectUnchanged();
            expect(column.length).toBe(model.length);
            for (const [row, expected] of model.entries())
              expect(Object.is(column.get(row), expected), `row ${row}`).toBe(true);
          }),
        );
      });
    }

    test('rows at and beyond the length are refused', () => {
      const column = new Column('c', false, PAGE);
      for (let i = 0; i < PAGE; i++) column.push(i);
      for (const row of [PAGE, PAGE + 1, 1e9, Number.NaN]) {
        expect(() => column.get(row), `get ${row}`).toThrow(/no row/);
        expect(() => column.set(row, 1), `set ${row}`).toThrow(/no row/);
      }
      expect(() => column.get(-1)).toThrow();
      expect(() => column.set(-1, 1)).toThrow();
      expect(column.length).toBe(PAGE);
    });

    test('values that do not fit are refused, not cut', () => {
      const column = new Column('c', false, PAGE);
      column.push(5);
      for (const value of wrong) {
        expect(() => column.push(value), `push ${value}`).toThrow(/does not fit/);
        expect(() => column.set(0, value), `set ${value}`).toThrow(/does not fit/);
      }
      expect([column.length, column.get(0)]).toEqual([1, 5]);
    });

    test('a page is final once the next is begun, not before', () => {
      const column = new Column('c', true, PAGE);
      for (let i = 0; i < PAGE; i++) column.push(i);
      expect(column.dump().filter((part) => part.final)).toEqual([]);
      column.push(9);
      expect(
        column
          .dump()
          .filter((part) => part.final)
          .map((part) => part.name),
      ).toEqual(['c.page.000000']);
    });

    test('a dump that is short, long, incomplete or of another layout does not load and changes nothing', () => {
      const column = new Column('c', true, PAGE);
      for (let i = 0; i < 2 * PAGE + 3; i++) column.push(i);
      const target = new Column('c', true, PAGE);
      target.push(77);
      for (const { what, files } of damaged(column.dump())) expect(() => target.load(files), what).toThrow(/memory: /);
      const files = throughDisk(column.dump());
      expect(() => new Column('c', false, PAGE).load(files)).toThrow(/another layout/);
      expect(() => new Column('c', true, PAGE * 2).load(files)).toThrow(/another layout/);
      expect([target.length, target.get(0)]).toEqual([1, 77]);
    });
  });
}

test('a column of another width does not load', () => {
  const column = new U8Column('c', true, PAGE);
  column.push(1);
  expect(() => new U32Column('c', true, PAGE).load(throughDisk(column.dump()))).toThrow(/another layout/);
});

test('a column whose head another layout wrote does not load', () => {
  const column = new U8Column('c', true, PAGE);
  column.push(1);
  const files = throughDisk(column.dump());
  files.get('c.head')![3]! += 1;
  expect(() => new U8Column('c', true, PAGE).load(files)).toThrow(/not of this shape or version/);
});

test('two dumps are held at once, whatever changes after each', () => {
  const column = new U32Column('c', false, PAGE);
  for (let i = 0; i < 3 * PAGE; i++) column.push(i);
  const dumps = [];
  for (let round = 1; round < 6; round++) {
    const parts = column.dump();
    dumps.push({ parts, copy: throughDisk(column.dump()) });
    for (let i = 0; i < 3 * PAGE; i++) column.set(i, i * 100 + round);
  }
  for (const { parts, copy } of dumps) expectUnchanged(parts, copy);
});
