import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Remembered } from '../../src/core/remembered.ts';
import { heldBytes } from '../support/collect.ts';
import { often } from '../support/long.ts';

const MAX = 800;

function open() {
  const remembered = new Remembered(MAX);
  let made = 0;
  const ask = (ledger: number, at: number, held = 10): boolean => {
    const before = made;
    const value = remembered.get(ledger, at, () => {
      made++;
      return { value: `${at}`, held };
    });
    expect(value).toBe(`${at}`);
    return made > before;
  };
  return ask;
}

test('what is asked for all the time is made once, whatever else is asked for', () => {
  const ask = open();
  expect(ask(1, 1)).toBe(true);
  for (let at = 2; at < 1000; at++) {
    ask(1, at);
    expect(ask(1, 1)).toBe(false);
  }
  for (let ledger = 2; ledger < 1000; ledger++) {
    ask(ledger, 1000 + ledger);
    expect(ask(1, 1)).toBe(false);
  }
});

test('a ledger that asks for much takes nothing from the others: what they had was made anew each time', () => {
  const ask = open();
  for (let at = 1; at <= 9; at++) ask(1, at);
  for (let at = 100; at < 10_000; at++) expect(ask(2, at)).toBe(true);
  for (let at = 1; at <= 9; at++) expect(ask(1, at)).toBe(false);
});

test('what there is no room for is forgotten, of one ledger and of many', () => {
  const ask = open();
  for (let at = 0; at < 1000; at++) ask(1, at);
  expect([ask(1, 0), ask(1, 999)]).toEqual([true, false]);
  for (let ledger = 2; ledger < 100; ledger++) for (let at = 0; at < 25; at++) ask(ledger, 1000 * ledger + at);
  let kept = 0;
  // The latest first, and with nothing that takes room: else each that is asked for would send away the next.
  for (let ledger = 99; ledger >= 2; ledger--) {
    for (let at = 24; at >= 0; at--) if (!ask(ledger, 1000 * ledger + at, 0)) kept++;
  }
  expect(kept).toBeGreaterThanOrEqual(MAX / 10 / 4);
  expect(kept).toBeLessThanOrEqual(MAX / 10);
});

/** Records of one ledger, one after the other: some of those that others asked for before, and some more. */
const asked = fc.record({ ledger: fc.nat(20), from: fc.nat(20), count: fc.integer({ min: 1, max: 30 }) });

test('whatever is asked for, and again, all that is kept has room', () => {
  fc.assert(
    fc.property(fc.array(asked, { maxLength: 40, size: 'max' }), (all) => {
      const ask = open();
      const heldBy = new Map<number, number>();
      for (const { ledger, from, count } of all) {
        for (let record = from; record < from + count; record++) {
          const at = 100 * ledger + record;
          const held = 10 + (record % 7);
          heldBy.delete(at);
          heldBy.set(at, held);
          ask(ledger, at, held);
        }
      }
      let kept = 0;
      for (const [at, held] of [...heldBy].reverse()) if (!ask(Math.floor(at / 100), at, 0)) kept += held;
      expect(kept).toBeLessThanOrEqual(MAX);
    }),
    { numRuns: often(300, 5000) },
  );
});

test('what is asked for all the time is made once, however often it was taken over from the older ones', () => {
  const ask = open();
  const askAll = () => [1, 2, 3, 4].flatMap((ledger) => [0, 1, 2, 3, 4].map((at) => ask(ledger, 10 * ledger + at)));
  askAll();
  for (let ledger = 5; ledger < 1000; ledger++) {
    ask(ledger, 1000 + ledger);
    expect(askAll()).not.toContain(true);
  }
});

test('what is larger than all the room is kept until the next', () => {
  const ask = open();
  ask(1, 1, 10_000);
  expect(ask(1, 1, 10_000)).toBe(false);
  for (let at = 2; at <= 4; at++) ask(1, at, 10_000);
  expect(ask(1, 1, 10_000)).toBe(true);
});

test('nothing is held for a ledger of which nothing is kept any more', () => {
  const ask = open();
  const before = heldBytes();
  for (let ledger = 1; ledger <= 50_000; ledger++) ask(ledger, ledger);
  const held = heldBytes() - before;
  expect(ask(50_000, 50_000)).toBe(false);
  expect(held).toBeLessThan(4_000_000);
});
