/** What slow clients make the server hold: bounded over all of them, at the cost of whoever holds something the longest. */
import { expect, test } from 'vitest';
import { Held } from '../../src/http/held.ts';

/** With who was let go, and what was held by then. */
function open(bytesMax: number): { held: Held<string>; gone: [string, number][] } {
  const gone: [string, number][] = [];
  const held = new Held<string>(bytesMax, (one) => gone.push([one, held.total]));
  return { held, gone };
}

test('as much as is allowed lets nobody go; beyond, the oldest go until there is room', () => {
  const { held, gone } = open(100);
  for (const name of ['a', 'b', 'c', 'd']) held.hold(name, 25);
  expect([held.total, gone]).toEqual([100, []]);
  held.hold('e', 50);
  // 125 and 100 are left of 150 by then.
  expect([held.total, gone]).toEqual([
    100,
    [
      ['a', 125],
      ['b', 100],
    ],
  ]);
});

test('who holds more is as old as before, and never let go for that, though it be alone', () => {
  const { held, gone } = open(100);
  held.hold('a', 10);
  held.hold('b', 10);
  held.hold('a', 90);
  expect([held.total, gone]).toEqual([100, []]);
  held.hold('a', 91);
  expect([held.total, gone.map(([name]) => name)]).toEqual([91, ['b']]);
  held.hold('a', 1000);
  expect([held.total, gone.length]).toEqual([1000, 1]);
  held.hold('c', 1);
  expect([held.total, gone.at(-1)]).toEqual([1, ['a', 1]]);
});

test('who holds less, or nothing any more, makes room', () => {
  const { held, gone } = open(100);
  held.hold('a', 90);
  held.hold('a', 40);
  held.hold('b', 60);
  held.forget('a');
  held.forget('a');
  held.forget('nobody');
  held.hold('c', 40);
  expect([held.total, gone]).toEqual([100, []]);
});

test('what is fixed is held until it is forgotten: who holds something else makes room for it, as far as there is any', () => {
  const { held, gone } = open(100);
  held.hold('a', 40);
  held.fix('a');
  held.fix('nobody');
  held.hold('b', 60);
  expect([held.total, gone, held.hasRoom(60), held.hasRoom(61)]).toEqual([100, [], true, false]);
  held.hold('a', 50);
  held.hold('c', 50);
  expect([held.total, gone.map(([name]) => name), held.hasRoom(50), held.hasRoom(51)]).toEqual([
    100,
    ['b'],
    true,
    false,
  ]);
  held.fix('c');
  held.hold('d', 1);
  expect([held.total, gone.length, held.hasRoom(1)]).toEqual([101, 1, false]);
  held.forget('a');
  expect([held.total, held.hasRoom(50), held.hasRoom(51)]).toEqual([51, true, false]);
  for (const name of ['c', 'd']) held.forget(name);
  expect([held.total, held.hasRoom(100)]).toEqual([0, true]);
  // What is forgotten twice, or comes again, is as any other.
  held.forget('a');
  for (const name of ['a', 'e']) held.hold(name, 60);
  expect([held.total, gone.map(([name]) => name)]).toEqual([60, ['b', 'a']]);
});
