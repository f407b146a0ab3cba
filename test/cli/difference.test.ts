/** What an audit says of an entry that would be decided otherwise today: which member differs, and how. */
import { expect, test } from 'vitest';
import { differenceTo } from '../../src/cli/audit/difference.ts';
import type { Entry } from '../../src/core/entry.ts';

const entryOf = (more: object) => ({ luid: '$wlt.a', moment: 1, ...more }) as unknown as Entry;

const told = (decided: object, written: object) => differenceTo([entryOf(decided)], entryOf(written), undefined);

test('a refusal is told as it is, and so is what changes nothing', () => {
  expect(differenceTo('it is refused', entryOf({}), null)).toBe('it is refused');
  expect(differenceTo([], entryOf({}), null)).toBe('it changes nothing, and would not be written');
});

test.each<[object, object, string | null]>([
  [{}, {}, null],
  [{ moment: 2 }, {}, 'moment would be 2, not 1'],
  [{ data: 'x' }, { data: 'y' }, 'data would be "x", not "y"'],
  [{ status: 'x' }, {}, 'status would be "x", not absent'],
  [{}, { status: undefined }, null],
  [{}, { status: null }, 'status would be absent, not null'],
  [{ status: null }, { status: {} }, 'status would be null, not {}'],
  [{ status: {} }, { status: null }, 'status would be {}, not null'],
  [{ status: 'x' }, { status: {} }, 'status would be "x", not {}'],
  [{ status: {} }, { status: 'x' }, 'status would be {}, not "x"'],
  [{ outcome: { steps: ['a', 'b'] } }, { outcome: { steps: ['a', 'c'] } }, 'outcome.steps.1 would be "b", not "c"'],
  [{ outcome: { steps: ['a'] } }, { outcome: { steps: ['a', 'b'] } }, 'outcome.steps would be ["a"], not ["a","b"]'],
  [{ links: ['a'] }, { links: { 0: 'a' } }, null],
  [{ links: { 0: 'a' } }, { links: ['a'] }, null],
  [{ hash: Uint8Array.of(1, 255) }, { hash: Uint8Array.of(1, 255) }, null],
  [{ hash: Uint8Array.of(1, 255) }, { hash: Buffer.of(1, 254) }, 'hash would be 01ff, not 01fe'],
  [{ hash: Uint8Array.of(1) }, { hash: null }, 'hash would be 01, not null'],
  [{ hash: null }, { hash: Uint8Array.of(1) }, 'hash would be null, not 01'],
  [{ hash: Uint8Array.of(1) }, { hash: 'x' }, 'hash would be 01, not "x"'],
  [{ hash: 'x' }, { hash: Uint8Array.of(1) }, 'hash would be "x", not 01'],
])('the first member in which two entries differ, and what it is in each: %#', (decided, written, said) => {
  expect(told(decided, written)).toBe(said);
});

test('what a member is is told as far as anybody reads', () => {
  const [whole, cut] = ['x'.repeat(198), 'y'.repeat(199)];
  expect(told({ data: whole }, { data: cut })).toBe(`data would be "${whole}", not "${cut}…`);
});

test('the entry that has to follow does, where it is asked for', () => {
  const [first, second] = [entryOf({}), entryOf({ luid: '$int.b' })];
  const follows = 'an entry about $int.b should follow';
  const rejected = entryOf({ luid: '$int.b', outcome: { moment: 1 } });
  expect(differenceTo([first, rejected], first, null)).toBe(follows);
  const withNext = (next: Entry | null | undefined) => differenceTo([first, second], first, next);
  expect([undefined, second, entryOf({ luid: '$int.b', moment: 2 }), null].map(withNext)).toEqual([
    null,
    null,
    follows,
    follows,
  ]);
  expect(differenceTo([first], first, second)).toBeNull();
});

test('an outcome is held against what its build knew of outcomes, and no other is', () => {
  const [now, early] = [{ outcome: { moment: 1 } }, { outcome: { moment: 1, isEarly: true } }];
  expect([told(now, early), told(now, now)]).toEqual([null, null]);
  expect(told({ outcome: { moment: 2 } }, early)).toBe('outcome.moment would be 2, not 1');
  expect(told(early, now)).toBe('outcome.isEarly would be true, not absent');
  expect(told({}, early)).toBe('outcome would be absent, not {"moment":1,"isEarly":true}');
  expect(told(early, {})).toBe('outcome would be {"moment":1,"isEarly":true}, not absent');
  const [first, next] = [entryOf({}), entryOf({ ...early, luid: '$int.b' })];
  expect(differenceTo([first, entryOf({ ...now, luid: '$int.b' })], first, next)).toBeNull();
});
