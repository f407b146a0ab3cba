/**
 * What is read out of data where it lies is what one finds in all of it: members by their names, and through whatever
 * path a filter leads.
 */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { type Effort, type Filter, matchesAll, memberAt } from '../../src/core/filters.ts';
import { Members, membersOf, textsOf, viewOf } from '../../src/core/members.ts';
import { canon } from '../../src/proof/canon.ts';
import { often } from '../support/long.ts';

const RUNS = often(300, 5_000);

/** Few names, so that paths meet them; some that are hard to write, or that every object has. */
const NAMES = [
  'a',
  'b',
  'handle',
  '',
  'a.b',
  'x"y',
  'back\\',
  'ä',
  '\u0001',
  '\ud83d\ude00',
  '\ud800',
  '__proto__',
  '1',
  '}',
];
const name = fc.constantFrom(...NAMES);
/** So long that an object with one is not looked through as a whole. */
const LONG = 'x"'.repeat(300);
const scalar = fc.oneof(
  fc.constant(LONG),
  fc.constantFrom(0, 1, -1, 1.5, 1e21, 1e-7, 123_456_789_012_345, 1_234_567_890_123_456, -12, true, false, null),
  fc.constantFrom(`${'x'.repeat(33)}\\\\"`, `${'y'.repeat(34)}\\`, `${'z'.repeat(40)}"${'z'.repeat(33)}\\`),
  fc.constantFrom('', 'a', '1', '"', '\\', '\\"', '[{', '}],', 'ä', '\ud83d\ude00', '\udc00', 'line\nend'),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string(),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 5 }).map((members) => Object.fromEntries(members)),
  ),
}));
const data = fc.array(fc.tuple(name, value), { maxLength: 6 }).map((members) => Object.fromEntries(members));
/** Long enough to be read in parts, wherever the padding stands; in arrays too. */
const PADS = [' ', 'm', '~'];
const longData = fc
  .tuple(data, fc.constantFrom(...PADS), fc.constantFrom(...NAMES), fc.boolean())
  .map(([members, pad, under, isList]) => {
    const long = { ...members, [under]: LONG.repeat(10) };
    return { ...members, [pad]: isList ? [long, members, [long]] : long };
  });
function partly(text: string): object {
  const view = viewOf(text);
  expect(view).toBeInstanceOf(Members);
  return view;
}

const path = fc.array(fc.constantFrom(...NAMES, ...PADS), { maxLength: 4 });
const asked = fc.constantFrom('', 'a', '1', 'ä', '"', 1, 0, -12, 1.5, true, 123_456_789_012_345);
const filter: fc.Arbitrary<Filter> = fc.oneof(
  fc.record({ path, operator: fc.constantFrom('eq', 'ne', 'gt', 'gte', 'lt', 'lte'), value: asked }),
  fc.record({ path, operator: fc.constantFrom('in', 'nin'), value: fc.array(asked, { maxLength: 3 }) }),
);

describe('what is read where it lies', () => {
  test('answers filters as all of it does, with the same effort', () => {
    fc.assert(
      fc.property(
        longData,
        fc.array(filter, { maxLength: 4 }),
        fc.integer({ min: 0, max: 40 }),
        (record, filters, left) => {
          const text = canon(record);
          const whole = JSON.parse(text);
          const part = partly(text);
          for (const each of [...filters.map((one) => [one]), filters]) {
            const efforts: [Effort, Effort] = [{ left }, { left }];
            expect(matchesAll(part, each, efforts[0])).toBe(matchesAll(whole, each, efforts[1]));
            expect(efforts[0]).toEqual(efforts[1]);
            expect(matchesAll(part, each)).toBe(matchesAll(whole, each));
          }
        },
      ),
      { numRuns: RUNS },
    );
  });

  test('has every scalar that paths lead to, and as many elements', () => {
    const seen = (member: unknown): unknown => {
      if (Array.isArray(member)) return member.map(seen);
      return typeof member === 'object' && member !== null ? {} : member;
    };
    fc.assert(
      fc.property(longData, fc.array(path, { maxLength: 4 }), (record, paths) => {
        const text = canon(record);
        const whole = JSON.parse(text);
        const part = partly(text);
        for (const each of paths) expect(seen(memberAt(part, each))).toEqual(seen(memberAt(whole, each)));
      }),
      { numRuns: RUNS },
    );
  });

  test('has numbers of very many digits to the last bit', () => {
    const numbers = Array.from({ length: 300 }, (_, n) =>
      Math.floor(123_456_789.123 * 10 ** (6 + (n % 6)) * (n + 1.37)),
    );
    const data = Object.fromEntries(numbers.map((number, n) => [`n${n}`, number]));
    const view = viewOf(canon({ ...data, pad: 'x'.repeat(5000) }));
    expect(view).toBeInstanceOf(Members);
    expect(numbers.map((_, n) => memberAt(view, [`n${n}`]))).toEqual(numbers);
  });

  test('has members by their names, as they are written', () => {
    const words = ['a', 'b', 'handle', '1'] as const;
    fc.assert(
      fc.property(data, (record) => {
        const text = canon(record);
        const whole = JSON.parse(text);
        const own = words.filter((word) => Object.hasOwn(whole, word));
        expect(membersOf(text, words)).toEqual(Object.fromEntries(own.map((word) => [word, whole[word]])));
        expect(textsOf(text, words)).toEqual(Object.fromEntries(own.map((word) => [word, canon(whole[word])])));
      }),
      { numRuns: RUNS },
    );
  });

  test('is nothing where the text is no whole canonical JSON, instead of an endless look', () => {
    const text = canon({ a: [1, { b: 'x"' }], custom: { c: '}' }, d: -1.5, e: true });
    for (let end = 0; end < text.length; end++) {
      expect(() => membersOf(text.slice(0, end), ['e']), text.slice(0, end)).toThrow();
    }
  });

  test('names as long as a record are read once, however often it is asked', () => {
    const names = Array.from({ length: 4 }, (_, n) => `${'"'.repeat(100_000)}${n}`);
    const view = viewOf(canon(Object.fromEntries(names.map((each, n) => [each, n]))));
    const parse = vi.spyOn(JSON, 'parse');
    const found = Array.from({ length: 100 }, (_, n) => memberAt(view, [n % 2 === 0 ? 'absent' : names[2]!]));
    const reads = parse.mock.calls.length;
    parse.mockRestore();
    expect(found).toEqual(found.map((_, n) => (n % 2 === 0 ? undefined : 2)));
    expect(reads).toBe(names.length);
  });

  test('elements of arrays are read once, however often they are asked', () => {
    const members = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`"${n}`, `"${n}`]));
    const elements = Array.from({ length: 20 }, (_, n) => ({ ...members, last: n }));
    const view = viewOf(canon({ elements }));
    const parse = vi.spyOn(JSON, 'parse');
    for (let n = 0; n < 60; n++) memberAt(view, ['elements', `"${n}`]);
    const reads = parse.mock.calls.length;
    parse.mockRestore();
    expect(reads).toBe(elements.length);
    expect(memberAt(view, ['elements', 'last'])).toEqual(elements.map(({ last }) => last));
  });
});
