/** Lanes of whoever is away: what tells that it is back, and that nothing goes which was called off meanwhile. */
import { expect, test } from 'vitest';
import { hangs, makeWorld, refused, taken } from './lanes-world.ts';

const JOBS = 40;

/** So many that have all failed once, and stand in line to be tried again one by one. */
async function whoIsAway(second: (url: string) => ReturnType<typeof taken>) {
  const world = makeWorld((url, attempt) => (attempt === 1 && Number(url) < JOBS ? refused() : second(url)));
  for (let n = 0; n < JOBS; n++) world.lanes.add('x', JOBS, world.job(`${n}`));
  await world.clock.run(1006);
  expect(world.network.sent).toHaveLength(JOBS);
  return world;
}

test.each([501, 404, 202])('whoever says %d is there: all that stands in line goes at once', async (status) => {
  const { clock, network } = await whoIsAway((url) => (url === '0' ? { status, afterMs: 5 } : hangs()));
  await clock.run(30);
  expect(network.sent).toHaveLength(2 * JOBS);
});

test.each([503, 500, 429])('whoever says %d is not: they go on one by one', async (status) => {
  const { clock, network } = await whoIsAway(() => ({ status, afterMs: 5 }));
  await clock.run(30);
  expect(network.sent).toHaveLength(JOBS + 1);
});

test('what stands in line is not called any more where it was called off, though another call is on its way', async () => {
  const { clock, network, lanes, job } = await whoIsAway(() => hangs());
  lanes.add('x', JOBS, job('hangs'));
  await clock.run(0);
  const before = network.sent.length;
  expect(lanes.counts()).toEqual({ lanes: 1, jobs: JOBS + 1, inFlight: 1 });
  lanes.cancel('x');
  lanes.add('x', JOBS, job('later'));
  await clock.run(60_000);
  expect(network.sent.slice(before).map(({ url }) => url)).toEqual(['later']);
  expect(lanes.counts()).toEqual({ lanes: 1, jobs: 1, inFlight: 1 });
});

test('a lane that waits among the slow, and whose other call was quick, waits no more', async () => {
  const takes = [3000, 600, 0];
  const { clock, lanes, job, network } = makeWorld(
    (url) => (url === 'other' ? taken(takes.shift()) : { status: 503, afterMs: 10_000 }),
    { inFlightMax: 32 },
  );
  for (let n = 0; n < 100; n++) lanes.add(`dead ${n}`, 1, job(`dead ${n}`), `party ${n}`);
  await clock.run(100_000);
  for (const [key, ms] of [
    ['slow', 2500],
    ['quick', 550],
    ['next', 100],
  ] as const) {
    lanes.add('other', 2, job('other', key), 'party');
    await clock.run(ms);
  }
  expect(network.sent.filter(({ url }) => url === 'other').map(({ at }) => at)).toEqual([100_000, 102_500, 103_100]);
});
