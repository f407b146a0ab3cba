/**
 * Lanes of whoever is away: how seldom they are asked for, what tells that it is back, and that nothing goes which was
 * called off meanwhile.
 */
import { describe, expect, test } from 'vitest';
import type { Said } from './clock.ts';
import { hangs, makeWorld, nothingLeft, refused, taken } from './lanes-world.ts';

const HOUR = 3_600_000;
/** As few as tell that it is away. */
const JOBS = 32;

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

describe('whoever is away', () => {
  const MANY = 5_000;
  const HOURS = 6;

  test.each([
    ['does not answer', (): Said => ({ error: 'connection failed: ECONNREFUSED', afterMs: 0 })],
    ['says that it cannot now', (): Said => ({ status: 503, afterMs: 0 })],
    ['says that it is too much', (): Said => ({ status: 429, afterMs: 0 })],
  ])(
    'and %s is asked now and then for all that waits, not for each of it: so many took most of a core',
    async (_, no) => {
      let isBack = false;
      const { clock, lanes, job, network, settled } = makeWorld(() => (isBack ? taken() : no()));
      for (let n = 0; n < MANY; n++) lanes.add('x', 16, job(`${n}`));
      await clock.run(60_000);
      // Each is tried once, and then one of them every 20 ms.
      expect(network.sent.length).toBeLessThanOrEqual(MANY + 60 * 50);
      expect(network.sent.length).toBeGreaterThan(MANY + 50 * 50);
      isBack = true;
      // The next call is answered, and what was due goes at once; what was tried lately waits as long as it would have.
      await clock.run(2_000);
      expect(settled.length).toBeGreaterThan(MANY / 2);
      await clock.run(HOURS * HOUR);
      expect(settled).toHaveLength(MANY);
      expect(lanes.counts()).toEqual(nothingLeft);
      expect(clock.pending).toBe(0);
    },
  );

  test('is asked for all of it at once where somebody says that it is back', async () => {
    let isBack = false;
    const { clock, lanes, job, settled } = makeWorld(() => (isBack ? taken() : refused()));
    for (let n = 0; n < 1_000; n++) lanes.add('x', 16, job(`${n}`));
    await clock.run(60_000);
    isBack = true;
    lanes.wake('x');
    await clock.run(1_000);
    expect(settled).toHaveLength(1_000);
  });

  test('holds up nobody else, nor does a call that is refused hold up others of its lane', async () => {
    const { clock, lanes, job, settled } = makeWorld((url) => (url.startsWith('ok') ? taken() : refused(409)));
    for (let n = 0; n < 1_000; n++) lanes.add('x', 16, job(`no ${n}`));
    await clock.run(2_000);
    for (let n = 0; n < 100; n++) lanes.add('x', 16, job(`ok ${n}`));
    await clock.run(1_000);
    expect(settled).toHaveLength(100);
    lanes.close();
  });

  test.each([
    ['fail at once', (): Said => ({ status: 500, afterMs: 5 }), HOUR / 4, 20],
    ['hang', (): Said => ({ error: 'timeout', afterMs: 10_000 }), 4 * HOUR, 10_020],
  ])('does not keep what is new waiting behind thousands that %s', async (_, no, beforeMs, waitMsMax) => {
    const { clock, lanes, job, settled } = makeWorld((url) => (url.startsWith('ok') ? taken() : no()));
    for (let n = 0; n < MANY; n++) lanes.add('x', 16, job(`no ${n}`));
    await clock.run(beforeMs);
    for (let n = 0; n < 10; n++) lanes.add('x', 16, job(`ok ${n}`));
    await clock.run(waitMsMax);
    expect(settled).toHaveLength(10);
    lanes.close();
  });

  test('and whose last job is taken out leaves nothing behind', async () => {
    const { clock, lanes, job, network } = makeWorld(() => refused());
    for (let n = 0; n < 100; n++) lanes.add('x', 16, job(`${n}`));
    // Some are due by then.
    await clock.run(1_500);
    lanes.cancel('x');
    await clock.run(5);
    expect([lanes.counts(), clock.pending]).toEqual([nothingLeft, 0]);
    for (let n = 0; n < 100; n++) lanes.add('x', 16, job(`${n}`));
    await clock.run(1_500);
    const { length } = network.sent;
    lanes.close();
    await clock.run(HOUR);
    expect([network.sent.length, clock.pending]).toEqual([length, 0]);
  });
});
