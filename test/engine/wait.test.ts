/** What answers wait for, by looks: told once it is late, and once when it has come. */
import { expect, test } from 'vitest';
import { Wait } from '../../src/wait.ts';

test('a wait is late at its fourth look, is told of once, by its first beginning, and ends for good', () => {
  const told: string[] = [];
  let now = 0;
  const wait = new Wait({
    stopwatch: () => now,
    late: (seconds) => void told.push(`late ${seconds}`),
    over: (seconds) => void told.push(`over ${seconds}`),
  });
  const look = (times: number) => {
    for (let n = 0; n < times; n++) {
      now += 1000;
      wait.look();
    }
    return wait.isLate;
  };
  expect([look(9), wait.isOn, wait.seconds]).toEqual([false, false, 0]);
  wait.begin(now);
  expect([look(2), wait.isOn, wait.seconds]).toEqual([false, true, 2]);
  // More is waited for: that began no earlier.
  wait.begin(now);
  expect([look(1), look(1), look(5), told]).toEqual([false, true, true, ['late 4']]);
  wait.end();
  expect([told.splice(0), wait.isLate, wait.isOn]).toEqual([['late 4', 'over 9'], false, false]);
  wait.begin(now);
  expect(look(3)).toBe(false);
  wait.end();
  wait.begin(now);
  expect([look(3), told]).toEqual([false, []]);
  expect([look(1), told]).toEqual([true, ['late 4']]);
  // It never will come.
  wait.end(false);
  expect([wait.isLate, told]).toEqual([false, ['late 4']]);
});
