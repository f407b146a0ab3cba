/** Everything under way in one server: since when a request has waited, and what its answer counts as. */
import { afterEach, expect, test, vi } from 'vitest';
import { type Guest, Hall } from '../../src/http/hall.ts';
import { turn } from '../support/turns.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const LIMITS = { bodyMsMax: 60_000, arrivingBytesMax: 1 << 20, headBytesMax: 1 << 20, unreadBytesMax: 1 << 20 };

test('the requests of one turn of the event loop have waited since its first, those of the next since theirs', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => ++now);
  const hall = new Hall(LIMITS);
  const seen: number[][] = [];
  for (let n = 0; n < 3; n++) {
    seen.push([hall.turn(), hall.turn()]);
    await turn();
  }
  for (const [first, second] of seen) expect(second).toBe(first);
  expect(new Set(seen.flat()).size).toBe(3);
});

test('what is answered from 400 on was refused, and what is of no sort counts as an answer alone', () => {
  const hall = new Hall(LIMITS);
  for (const status of [200, 399, 400, 503]) hall.count(status, 'read', 0);
  hall.count(400, null, 0);
  const { done, refused } = hall.times.read;
  expect([done, refused].map((times) => [...times.cumulative()].at(-1)![1])).toEqual([2, 2]);
  expect(hall.answers()).toEqual([
    [200, 1],
    [399, 1],
    [400, 2],
    [503, 1],
  ]);
});

test('who has left holds nothing, and is ended by no time', () => {
  vi.useFakeTimers();
  const hall = new Hall(LIMITS);
  const ended: string[] = [];
  const guest = (name: string): Guest => {
    hall.running++;
    return {
      due: 0,
      refuseAndClose: () => ended.push(`${name} refused`),
      endLingering: () => ended.push(`${name} ended`),
    };
  };
  const [sending, refused, gone, goneRefused] = ['sending', 'refused', 'gone', 'gone refused'].map(guest);
  for (const one of [gone!, goneRefused!, sending!, refused!]) {
    hall.arrive(one);
    hall.bodies.hold(one, 10);
  }
  for (const one of [goneRefused!, refused!]) hall.linger(one);
  expect(hall.bodies.total).toBe(20);
  for (const one of [gone!, goneRefused!]) hall.leave(one);
  expect([hall.bodies.total, hall.running]).toEqual([10, 2]);
  vi.advanceTimersByTime(1_250);
  expect(new Set(ended)).toEqual(new Set(['refused ended']));
  hall.leave(refused!);
  vi.advanceTimersByTime(60_000);
  expect(new Set(ended)).toEqual(new Set(['refused ended', 'sending refused']));
});
