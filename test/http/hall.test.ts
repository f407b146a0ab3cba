/** Everything under way in one server: since when a request has waited, and what its answer counts as. */
import { afterEach, expect, test, vi } from 'vitest';
import { Hall } from '../../src/http/hall.ts';
import { turn } from '../engine/house.ts';

afterEach(() => void vi.restoreAllMocks());

const LIMITS = { bodyMsMax: 60_000, arrivingBytesMax: 1 << 20, unreadBytesMax: 1 << 20 };

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
