/** Texts that are put together here because they stand in every answer: the same as the long way makes them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { METRICS } from '../../src/core/balances.ts';
import { actionNumber, CLAIM_ACTIONS } from '../../src/core/claims/index.ts';
import { luidOfThread, threadOf } from '../../src/core/entry.ts';
import { BALANCE_SALT, LIMIT_SALT, pairLuid } from '../../src/core/luid.ts';
import { isoMoment } from '../../src/core/proofs.ts';

describe('a moment', () => {
  const DAY_MS = 86_400_000;
  const asDate = (moment: number) => new Date(moment).toISOString();

  test('reads as Date writes it, whichever was asked for before', () => {
    const moment = fc.oneof(
      fc.integer({ min: 0, max: Date.UTC(2100, 0) }),
      fc.integer({ min: -8.64e15, max: 8.64e15 }),
      fc.nat(2 * DAY_MS),
    );
    fc.assert(
      fc.property(fc.array(moment, { maxLength: 5 }), (moments) => {
        expect(moments.map(isoMoment)).toEqual(moments.map(asDate));
      }),
    );
  });

  test.each([0, DAY_MS - 1, DAY_MS, Date.UTC(2028, 1, 29, 23, 59, 59, 999), Date.UTC(9999, 11, 31, 23, 59, 59, 999)])(
    '%d ends a day, a month or a year as Date does, and so does the next',
    (moment) => {
      expect([moment, moment + 1].map(isoMoment)).toEqual([moment, moment + 1].map(asDate));
    },
  );

  test('that is none is told as Date tells it', () => {
    for (const none of [8.64e15 + 1, 8.64e15 + 1, Number.NaN]) expect(() => isoMoment(none)).toThrow(RangeError);
  });
});

describe('the luid of a pair', () => {
  const [wallet, symbol] = ['$wlt.0Xyzab12345678901', '$sym.0Xyzab1aBcDeFgHiJ'];

  // Clients may have kept them: they never change.
  test.each([
    [wallet, symbol, 0, '$wbl.0XyzabE1vDEHQLMc_'],
    [wallet, symbol, 1, '$wbl.0XyzabE1vDEHQLMcZ'],
    ['$wlt.-----_zzzzzzzzzzzz', '$sym.zzzzzz-----------', 5, '$wbl.-----_wwwwwwwwwwt'],
  ])('of %s and %s, %d, is what it has always been', (one, other, salt, luid) => {
    expect(pairLuid(one, other, salt)).toBe(luid);
  });

  test('is another one for the other way round, and for another salt', () => {
    const salts = [0, 1].map((balance) => BALANCE_SALT + balance);
    const luids = [...salts, ...METRICS.map((_, metric) => LIMIT_SALT + metric)].map((salt) =>
      pairLuid(wallet, symbol, salt),
    );
    expect(new Set([...luids, pairLuid(symbol, wallet, 0)]).size).toBe(7);
  });
});

test('a thread is that of the luid it is asked for, whichever was asked for before', () => {
  const luids = [
    '$int.aaaaaa-----------',
    '$int.aaaaaa-----------',
    '$int.aaaaaa----------0',
    '$int.aaaaaa-----------',
  ];
  expect(luids.map(threadOf)).toEqual(luids.map((luid) => luid.slice(5)));
  expect(luids.map(threadOf).map(luidOfThread)).toEqual(luids);
});

test('a claim action is that of the name it is asked for, whichever was asked for before', () => {
  for (const name of ['', 'issue', 'issue', 'none', 'transfer', 'issue', 'limit', '', 'destroy']) {
    expect(actionNumber(name), name).toBe(CLAIM_ACTIONS.findIndex((action) => action.name === name));
  }
});
