/** One condition on one member: every claim of a large intent may be held against it. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Conditions, compileConditions, compileFilters, holdAll } from '../../src/core/conditions.ts';
import {
  type Filter,
  LOOKS_MAX,
  matches,
  matchesAll,
  type Operator,
  passesAll,
  type Scalar,
} from '../../src/core/filters.ts';
import { Dice } from '../support/dice.ts';

const filter = (operator: Operator, value: Filter['value']): Filter => ({ path: ['data', 'x'], operator, value });

test('a number written as a text is read once, not once for each claim: one of a million digits held everybody up for minutes', () => {
  const looks = vi.spyOn(RegExp.prototype, 'test');
  onTestFinished(() => looks.mockRestore());
  const long = filter('gt', '9'.repeat(1000));
  for (let claim = 0; claim < 100; claim++) expect(matches(claim, long)).toBe(false);
  expect(looks).toHaveBeenCalledTimes(1);
});

describe('a list of values', () => {
  test('is read once, not once for each of many claims', () => {
    let reads = 0;
    const values = new Proxy<Scalar[]>(
      Array.from({ length: 100 }, (_, n) => `0.${n}`),
      {
        get(target, name, receiver) {
          if (typeof name === 'string' && /^\d+$/.test(name)) reads++;
          return Reflect.get(target, name, receiver);
        },
      },
    );
    const amounts = Array.from({ length: 1000 }, (_, n) => n + 1);
    expect(matches(amounts, filter('nin', values))).toBe(true);
    expect(matches(amounts, filter('in', values))).toBe(false);
    expect(matches([...amounts, 0.99], filter('in', values))).toBe(true);
    expect(reads).toBe(100);
  });

  test('is met where one of them alone would be', () => {
    const dice = new Dice(11);
    const scalars: Scalar[] = [
      '1',
      '1.0',
      '10e-1',
      '01',
      '',
      ' ',
      'true',
      'false',
      'a',
      1,
      0,
      -1,
      true,
      false,
      '0',
      '-0',
    ];
    const members: unknown[] = [...scalars, null, undefined, {}, { handle: 'a' }, { handle: 1 }, ['a', 1], [], [[1]]];
    let met = 0;
    for (let round = 0; round < 2000; round++) {
      const values = Array.from({ length: dice.below(5) }, () => dice.pick(scalars));
      const member = dice.pick(members);
      const isMet = values.some((value) => matches(member, filter('eq', value)));
      const what = JSON.stringify({ member, values });
      expect(matches(member, filter('in', values)), what).toBe(isMet);
      expect(matches(member, filter('nin', values)), what).toBe(!isMet);
      if (isMet) met++;
    }
    expect([met > 200, met < 1800]).toEqual([true, true]);
  });
});

const HELD = {
  data: {
    amount: 7,
    reason: 'rent',
    isUrgent: true,
    claims: [{ source: { handle: 'till' }, custom: { tier: 'gold' } }],
  },
};

test.each<[Conditions, boolean]>([
  [{ 'data.amount': { $gte: 5, $lt: 10 } }, true],
  [{ 'data.amount': { $gte: 8, $lt: 10 } }, false],
  [{ 'data.amount': { $gte: 5, $lt: 7 } }, false],
  [{ 'data.amount': 7, 'data.reason': 'rent' }, true],
  [{ 'data.amount': 7, 'data.reason': 'food' }, false],
  [{ 'data.amount': 8, 'data.reason': 'rent' }, false],
  [{ 'data.isUrgent': true }, true],
  [{ 'data.isUrgent': false }, false],
  [{ 'data.isUrgent': { $in: [true] } }, true],
  [{ 'data.isUrgent': { $nin: [false] } }, true],
  [{ 'data.isUrgent': { $nin: [true] } }, false],
  [{ 'data.claims.custom.tier': 'gold' }, true],
  [{ 'data.claims.custom.tier': { $ne: 'gold' } }, false],
])('conditions hold where each of them does, and each operator of one: %j, %s', (asked, holds) => {
  expect(holdAll(compileConditions(asked), HELD, { left: 1000 })).toBe(holds);
  expect(matchesAll(HELD, compileFilters(asked))).toBe(holds);
});

describe('what older builds let in where a name has a line end in it asks for nothing, and harms nobody', () => {
  const NAME = 'amount\n';
  test.each([
    { $in: null },
    { $in: {} },
    { $nin: null },
    { $nin: { 0: 1 } },
    { $eq: null },
    { $ne: {} },
    { $lt: [] },
    { $ne: ['b'] },
    { $nin: 'b' },
    { $nin: [null] },
    { $fits: 1 },
    {},
    ['a', 1],
    null,
    [{}, null],
  ])('%j', (wish) => {
    const conditions = compileConditions({ [NAME]: wish });
    for (const member of [1, 'a', null, undefined, {}, [1, {}]]) {
      expect(holdAll(conditions, { [NAME]: member }, { left: 1000 })).toBe(false);
    }
    expect(matchesAll({ [NAME]: 1 }, compileFilters({ [NAME]: wish }))).toBe(false);
  });
});

test('many filters over a long list held everybody up: a list looks at so many elements of one record', () => {
  const elements = (count: number) => ({ data: { x: Array(count).fill('a'), y: Array(count).fill({ z: 'a' }) } });
  const others = (count: number) => Array.from({ length: count }, (_, n) => filter('ne', `b${n}`));
  const through = (count: number) => others(count).map((each) => ({ ...each, path: ['data', 'y', 'z'] }));
  const third = Math.floor(LOOKS_MAX / 3) - 1;
  expect([passesAll(elements(third), others(3)), passesAll(elements(third), others(4))]).toEqual([true, false]);
  expect([passesAll(elements(third), through(1)), passesAll(elements(third), through(2))]).toEqual([true, false]);
  // However many values each is held against.
  const values = filter(
    'nin',
    Array.from({ length: 128 }, (_, n) => `b${n}`),
  );
  expect(passesAll(elements(third), [values, values, values])).toBe(true);
  expect(passesAll(elements(LOOKS_MAX), [filter('eq', 'a')])).toBe(false);
});

describe('a reference of a claim, sent as a bare handle or as an object, is asked by its handle alike', () => {
  const sent = (claims: object[]) => ({ data: { claims }, intent: { data: { claims }, claims } });
  const views = ['vault', { handle: 'vault' }, { handle: 'vault', custom: { n: 1 } }].map((source) =>
    sent([{ source: 'till' }, { source, target: { handle: 'b' } }]),
  );
  test.each<[Conditions[string], boolean]>([
    ['vault', true],
    ['shop', false],
    [{ $ne: 'vault' }, false],
    [{ $nin: ['vault'] }, false],
    [{ $nin: ['shop'] }, true],
    [{ $in: ['shop', 'vault'] }, true],
    [{ $gt: 'u' }, true],
  ])('%j: %s', (wish, isMet) => {
    for (const view of views) {
      for (const claims of ['data.claims', 'intent.data.claims', 'intent.claims']) {
        const asked = { [`${claims}.source.handle`]: wish };
        expect(holdAll(compileConditions(asked), view, { left: 1000 }), JSON.stringify({ asked, view })).toBe(isMet);
      }
      expect(matchesAll(view, compileFilters({ 'data.claims.source.handle': wish }))).toBe(isMet);
    }
  });
  test('elsewhere a text has no handle', () => {
    const record = { data: { custom: { claims: { source: 'vault' } } }, wallet: { bridge: 'vault' } };
    for (const path of ['data.custom.claims.source.handle', 'wallet.bridge.handle']) {
      expect(holdAll(compileConditions({ [path]: 'vault' }), record, { left: 1000 })).toBe(false);
    }
  });
});
