/** The real clock: what it is asked for comes when it is to come, and never where it was called off. */
import { setTimeout } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { realTimers, settledTimers } from '../../src/effects/timers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  [0, 0],
  [-5, 0],
  [1, 1],
  [1000, 1000],
])('what is to come after %i ms comes once, then and not within the call', (ms, then) => {
  const run = vi.fn();
  const began = realTimers.now();
  realTimers.after(ms, () => run(realTimers.now() - began));
  expect(run).not.toHaveBeenCalled();
  vi.advanceTimersByTime(5000);
  expect(run.mock.calls).toEqual([[then]]);
});

test('what is to come at once comes before any wait', () => {
  const order: string[] = [];
  realTimers.after(1, () => order.push('a wait'));
  realTimers.after(0, () => order.push('at once'));
  vi.advanceTimersByTime(5000);
  expect(order).toEqual(['at once', 'a wait']);
});

test('what is due waits until all is settled, and where it is called off meanwhile it does not come', () => {
  const waiting: (() => void)[] = [];
  const timers = settledTimers(realTimers, (work) => void waiting.push(work));
  const [kept, calledOff] = [vi.fn(), vi.fn()];
  timers.after(5, kept);
  const timer = timers.after(5, calledOff);
  vi.advanceTimersByTime(5);
  timers.cancel(timer);
  expect([waiting.length, kept.mock.calls.length]).toEqual([2, 0]);
  for (const work of waiting) work();
  expect([kept.mock.calls.length, calledOff.mock.calls.length]).toEqual([1, 0]);
});

test.each([0, 5])('what was called off does not come after %i ms', async (ms) => {
  vi.useRealTimers();
  const run = vi.fn();
  realTimers.cancel(realTimers.after(ms, run));
  await setTimeout(20);
  expect(run).not.toHaveBeenCalled();
});
