import { expect, test } from 'vitest';
import { Remembered } from '../../src/core/remembered.ts';

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
  for (let ledger = 2; ledger < 100; ledger++) {
    for (let at = 0; at < 25; at++) if (!ask(ledger, 1000 * ledger + at)) kept++;
  }
  expect(kept).toBeLessThanOrEqual(MAX / 10);
});

test('what is larger than all the room is kept until the next', () => {
  const ask = open();
  ask(1, 1, 10_000);
  expect(ask(1, 1, 10_000)).toBe(false);
  for (let at = 2; at <= 4; at++) ask(1, at, 10_000);
  expect(ask(1, 1, 10_000)).toBe(true);
});
