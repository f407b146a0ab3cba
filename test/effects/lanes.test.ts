/**
 * Lanes under a clock turned by hand and a network that answers as told: order, retries, and that nothing is called back
 * that was taken out. Who gets a place when places are short: lanes-shares.test.ts; whoever is away: lanes-away.test.ts.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../src/effects/backoff.ts';
import { type Job, Lanes, type Outcome } from '../../src/effects/lanes.ts';
import { often } from '../support/long.ts';
import { longestMapIn } from '../support/longest-map.ts';
import type { Said } from './clock.ts';
import { DAY, hangs, makeWorld, noDefect, nothingLeft, refused, taken } from './lanes-world.ts';

const HOUR = 3_600_000;

describe('a job', () => {
  test.each([
    ['delivered', 200, 1, null],
    ['delivered', 204, 1, null],
    ['final', 501, 1, 'status 501'],
    ['gaveUp', 300, 3, 'status 300'],
    ['gaveUp', 404, 3, 'status 404'],
    ['gaveUp', 500, 3, 'status 500'],
  ] as const)('is %s by a %d, after %d attempts', async (outcome, status, attempts, lastError) => {
    const { clock, lanes, job, settled, network } = makeWorld(() => ({ status, afterMs: 5 }), { attemptsMax: 3 });
    lanes.add('x', 4, job('a'));
    expect(lanes.counts()).toEqual({ lanes: 1, jobs: 1, inFlight: 0 });
    await clock.run(DAY);
    expect(settled).toEqual([{ name: 'a', outcome, attempts, lastError, at: settled[0]!.at }]);
    expect(network.sent).toHaveLength(attempts);
    expect(lanes.counts()).toEqual(nothingLeft);
    expect(clock.pending).toBe(0);
  });

  test('waits longer each time, and is made anew for each attempt', async () => {
    let made = 0;
    const make = () => ({ method: 'POST', url: `try ${++made}`, body: '', secure: [] });
    const { clock, lanes, job, network } = makeWorld((url) => (Number(url.slice(4)) < 5 ? refused() : taken()));
    lanes.add('x', 1, job('a', 'a', { make }));
    await clock.run(DAY);
    expect(network.sent.map((one) => one.url)).toEqual(['try 1', 'try 2', 'try 3', 'try 4', 'try 5']);
    const waits = network.sent.slice(1).map((one, i) => one.at - network.sent[i]!.endedAt);
    expect(waits).toEqual([1000, 1200, 1440, 1728]);
  });

  test.each([
    [503, 60_000],
    [429, 60_000],
    [500, 1_000],
    [404, 1_000],
  ])('after a %d with Retry-After of a minute waits %d ms', async (status, ms) => {
    const { clock, lanes, job, network } = makeWorld((_, attempt) =>
      attempt === 1 ? refused(status, 60_000) : taken(),
    );
    lanes.add('x', 1, job('a'));
    await clock.run(DAY);
    expect(network.sent[1]!.at - network.sent[0]!.endedAt).toBe(ms);
  });

  test('whose call cannot be made is told of once and dropped, and the next one of its key goes', async () => {
    const { clock, lanes, job, urls, outcomes, defects } = makeWorld(() => taken());
    const mistake = new Error('no such name');
    const make = () => {
      throw mistake;
    };
    for (const parallelMax of [1, 4]) {
      const at = `x${parallelMax}`;
      lanes.add(at, parallelMax, job(`${at} wrong`, at, { make }));
      lanes.add(at, parallelMax, job(`${at} right`, at));
    }
    await clock.run(DAY);
    expect(defects).toEqual([mistake, mistake]);
    expect(urls()).toEqual(['x1 right', 'x4 right']);
    expect(outcomes()).toEqual(['x1 right delivered', 'x4 right delivered']);
    expect(lanes.counts()).toEqual(nothingLeft);
  });

  test('that throws what it is told is told of, and holds up nobody', async () => {
    const { clock, lanes, job, outcomes, defects } = makeWorld((_, attempt) => (attempt === 1 ? refused() : taken()));
    const [one, other] = [new Error('failed'), new Error('settled')];
    const failed = () => {
      throw one;
    };
    const settled = () => {
      throw other;
    };
    lanes.add('x', 1, job('wrong', 'wrong', { failed, settled }));
    lanes.add('x', 1, job('right'));
    await clock.run(DAY);
    expect(defects).toEqual([one, other]);
    expect(outcomes()).toEqual(['right delivered']);
    expect(lanes.counts()).toEqual(nothingLeft);
  });

  test('that is no longer wanted is dropped without a word, and the next one goes', async () => {
    const { clock, lanes, job, urls, outcomes } = makeWorld(() => taken());
    lanes.add('x', 1, job('a', 'a', { make: () => null }));
    lanes.add('x', 1, job('b'));
    await clock.run(100);
    expect([urls(), outcomes(), lanes.counts()]).toEqual([['b'], ['b delivered'], nothingLeft]);
  });

  test('nothing is called inside add, cancel, wake and close', async () => {
    const { clock, lanes, job } = makeWorld(() => taken());
    const calls: string[] = [];
    const make = () => {
      calls.push('make');
      return null;
    };
    for (const lane of ['x', 'y']) lanes.add(lane, 1, job('a', 'a', { make, settled: () => calls.push('settled') }));
    lanes.wake('x');
    lanes.cancel('y');
    expect(calls).toEqual([]);
    await clock.run(1);
    expect(calls).toEqual(['make']);
    lanes.close();
    expect(calls).toEqual(['make']);
  });

  test('whoever is told may add, cancel and close', async () => {
    const { clock, lanes, job, urls } = makeWorld((url) => taken(url === 'd' ? 30 : 5));
    lanes.add('x', 1, job('a', 'a', { settled: () => lanes.add('x', 1, job('c')) }));
    lanes.add('x', 1, job('b', 'b', { settled: () => lanes.cancel('x') }));
    lanes.add('y', 1, job('d', 'd', { settled: () => lanes.close() }));
    await clock.run(100);
    expect(urls()).toEqual(['a', 'd', 'b']);
    lanes.add('y', 1, job('e'));
    await clock.run(100);
    expect(urls()).not.toContain('e');
  });
});

describe('order', () => {
  test('the head of a key is retried until it is settled, and with one place too it holds up only its own', async () => {
    const { clock, lanes, job, urls } = makeWorld((url, attempt) =>
      url === 'a1' && attempt < 4 ? refused() : taken(),
    );
    for (const name of ['a1', 'a2', 'b1', 'b2']) lanes.add('x', 1, job(name, name[0]));
    await clock.run(DAY);
    expect(urls()).toEqual(['a1', 'b1', 'b2', 'a1', 'a1', 'a1', 'a2']);
  });

  test('with more places a slow or failing key holds up only itself', async () => {
    const { clock, lanes, job, urls, outcomes } = makeWorld((url) =>
      url === 'a1' ? hangs() : url === 'b1' ? refused() : taken(),
    );
    for (const name of ['a1', 'b1', 'a2', 'b2', 'c1', 'c2', 'd1']) lanes.add('x', 3, job(name, name[0]));
    await clock.run(500);
    expect(urls()).toEqual(['a1', 'b1', 'c1', 'd1', 'c2']);
    expect(outcomes()).toEqual(['c1 delivered', 'd1 delivered', 'c2 delivered']);
    expect(lanes.counts()).toEqual({ lanes: 1, jobs: 4, inFlight: 1 });
  });

  test('no more at a time than there are places', async () => {
    const { clock, lanes, job, network } = makeWorld(hangs);
    for (const name of ['a', 'b', 'c', 'd', 'e']) lanes.add('x', 3, job(name));
    await clock.run(100);
    expect(network.onWay()).toBe(3);
    for (const name of ['f', 'g']) lanes.add('x', 3, job(name));
    await clock.run(100);
    expect(network.onWay()).toBe(3);
  });

  test('one that waits holds no place', async () => {
    const { clock, lanes, job, urls } = makeWorld((url) => (url === 'ok' ? taken() : refused()));
    for (const name of ['a', 'b', 'c', 'ok']) lanes.add('x', 2, job(name));
    await clock.run(500);
    expect(urls()).toEqual(['a', 'b', 'c', 'ok']);
    expect(lanes.counts()).toEqual({ lanes: 1, jobs: 3, inFlight: 0 });
  });
});

describe('wake', () => {
  test('retries everything at once, and counts anew', async () => {
    const { clock, lanes, job, network, settled } = makeWorld(() => refused(), { attemptsMax: 4 });
    for (const name of ['a', 'b']) lanes.add('x', 2, job(name));
    lanes.add('y', 1, job('c'));
    await clock.run(2_400);
    for (const name of ['a', 'b', 'c']) expect(network.sent.filter((one) => one.url === name)).toHaveLength(3);
    lanes.wake('x');
    await clock.run(1);
    expect(network.sent.slice(9).map((one) => [one.url, one.at])).toEqual([
      ['a', 2_400],
      ['b', 2_400],
    ]);
    await clock.run(DAY);
    expect(network.sent.filter((one) => one.url === 'a')).toHaveLength(7);
    expect(network.sent.filter((one) => one.url === 'c')).toHaveLength(4);
    expect(settled.map(({ name, attempts }) => [name, attempts])).toEqual([
      ['c', 4],
      ['a', 4],
      ['b', 4],
    ]);
    lanes.wake('x');
    lanes.wake('nowhere');
    await clock.run(DAY);
    expect(clock.pending).toBe(0);
  });

  /** A lane so long, and all of it waiting to be tried again, under a clock that goes on whenever it is looked at: no slice gets far. */
  async function longLane(rows: number, parallelMax: number, more: Partial<Job> = {}) {
    const { clock, job, network } = makeWorld(() => ({ status: 503, afterMs: 0 }));
    let looks = 0;
    const world = { clock, network, cancelled: 0 };
    const timers = {
      now: () => clock.now() + looks++,
      after: (ms: number, run: () => void) => clock.after(ms, run),
      cancel: (timer: object) => {
        world.cancelled++;
        clock.cancel(timer);
      },
    };
    const lanes = new Lanes({
      timers,
      call: network.call,
      inFlightMax: 2 * rows,
      attemptsMax: 100,
      defect: noDefect,
    });
    for (let n = 0; n < rows; n++) lanes.add('x', parallelMax, job(`${n}`, `${n}`, n === 0 ? more : {}));
    // Each was tried a few times, and waits for longer than a second.
    await clock.run(5_000);
    return Object.assign(world, { lanes });
  }

  test('a long lane is woken some at a time, and once more for all who ask meanwhile', async () => {
    const ROWS = 100;
    const world = await longLane(ROWS, ROWS);
    const { clock, network, lanes } = world;
    const before = network.sent.length;
    for (let n = 0; n < 50; n++) lanes.wake('x');
    expect([world.cancelled > 0, world.cancelled < 5]).toEqual([true, true]);
    // All that is done without waiting.
    await clock.run(0);
    await clock.run(5);
    await clock.run(0);
    const woken = new Set(network.sent.slice(before).map(({ url }) => url));
    expect(woken.size).toBe(ROWS);
    expect(world.cancelled).toBeLessThanOrEqual(2 * ROWS);
    lanes.close();
  });

  test('of a lane that is being woken goes on once more: what has failed again meanwhile goes at once', async () => {
    let asks = -1;
    const failed = () => {
      if (asks === 0) world.lanes.wake('x');
      if (asks >= 0) asks++;
    };
    const world = await longLane(100, 100, { failed });
    const before = world.network.sent.length;
    asks = 0;
    world.lanes.wake('x');
    for (let n = 0; n < 4; n++) await world.clock.run(5);
    expect(world.network.sent.slice(before).filter(({ url }) => url === '0')).toHaveLength(2);
    world.lanes.close();
  });

  test('of a long lane ends where all is closed', async () => {
    let isWoken = false;
    const make = () => {
      if (isWoken) world.clock.after(0, () => world.lanes.close());
      return { method: 'POST', url: '0', body: '', secure: [] };
    };
    const world = await longLane(100, 2, { make });
    const before = world.network.sent.length;
    isWoken = true;
    world.lanes.wake('x');
    await world.clock.run(HOUR);
    expect([world.network.sent.length, world.clock.pending]).toEqual([before + 2, 0]);
  });

  test('one on its way is not sent twice', async () => {
    const { clock, lanes, job, network } = makeWorld(() => ({ error: 'no', afterMs: 100 }), { attemptsMax: 2 });
    lanes.add('x', 1, job('a'));
    lanes.add('y', 1, job('b'));
    await clock.run(1_150);
    expect(network.onWay()).toBe(2);
    for (const lane of ['x', 'y']) lanes.wake(lane);
    await clock.run(1);
    expect(network.onWay()).toBe(2);
    // The second attempt, woken while on its way, counts as the first.
    await clock.run(HOUR);
    expect(network.sent).toHaveLength(6);
  });
});

test('no map grows long with what waits for one address: V8 moved a million of them in one go', async () => {
  const { clock, lanes, network } = makeWorld(() => taken(0));
  const jobs = Array.from({ length: 9000 }, (_, key): Job => {
    return { key, receiver: 0, make: () => ({ method: 'POST', url: `${key}`, body: '', secure: [] }), settled() {} };
  });
  const add = () => {
    for (const job of jobs) lanes.add('x', 4, job);
  };
  expect(longestMapIn(add)).toBeLessThanOrEqual(8192);
  await clock.run(DAY);
  expect(network.sent.map(({ url }) => Number(url))).toEqual(jobs.map(({ key }) => key));
  expect(lanes.counts()).toEqual(nothingLeft);
});

describe('cancel', () => {
  test('what waits in line, what waits to be retried and what is on its way', async () => {
    const { clock, lanes, job, network, urls, outcomes } = makeWorld((url) =>
      url === 'hangs' ? hangs() : url === 'fails' ? refused() : taken(),
    );
    lanes.add('x', 4, job('hangs', 'k'));
    lanes.add('x', 4, job('after hangs', 'k'));
    lanes.add('x', 4, job('fails', 'l'));
    lanes.add('x', 4, job('after fails', 'l'));
    await clock.run(100);
    lanes.cancel('x');
    expect(network.sent[0]!.aborted).toBe(true);
    expect(lanes.counts()).toEqual({ lanes: 1, jobs: 1, inFlight: 1 });
    for (const key of ['k', 'l']) lanes.add('x', 4, job(`new ${key}`, key));
    await clock.run(DAY);
    expect(urls()).toEqual(['hangs', 'fails', 'new l', 'new k']);
    expect(outcomes()).toEqual(['new l delivered', 'new k delivered']);
    expect(lanes.counts()).toEqual(nothingLeft);
    expect(clock.pending).toBe(0);
  });

  test('what is on its way is not settled, though it be answered before it is called off, or for the last time', async () => {
    const { clock, lanes, job, network, settled } = makeWorld(() => taken(20), { attemptsMax: 1 });
    for (const [name, ms] of [
      ['answered', 19.5],
      ['called off', 10],
    ] as const) {
      let failed = 0;
      lanes.add('x', 1, job(name, name, { failed: () => failed++ }));
      await clock.run(ms);
      lanes.cancel('x');
      await clock.run(DAY);
      expect([network.sent.at(-1)!.aborted, settled, failed]).toEqual([true, [], 0]);
    }
  });

  test('a job with the same key waits until the call that was called off has ended', async () => {
    const { clock, lanes, job, network } = makeWorld((url) => (url === 'first' ? hangs() : taken()));
    lanes.add('x', 4, job('first', 'k'));
    await clock.run(10);
    lanes.cancel('x');
    lanes.add('x', 4, job('second', 'k'));
    await clock.run(100);
    const [first, second] = network.sent;
    expect(first).toMatchObject({ url: 'first', aborted: true, endedAt: 11 });
    expect(second).toMatchObject({ url: 'second', at: 11 });
  });

  test('a whole lane, while it waits for its first turn', async () => {
    const { clock, lanes, job, urls } = makeWorld(() => taken());
    for (const name of ['a', 'b']) lanes.add('x', 1, job(name));
    lanes.add('y', 1, job('c'));
    lanes.cancel('x');
    expect(lanes.counts()).toEqual({ lanes: 1, jobs: 1, inFlight: 0 });
    await clock.run(100);
    expect(urls()).toEqual(['c']);
  });

  test('close calls off everything, and nothing is heard any more', async () => {
    const { clock, lanes, job, network, settled } = makeWorld((url) => (url === 'fails' ? refused() : taken(50)));
    for (const name of ['a', 'b', 'fails']) lanes.add(name, 1, job(name));
    for (const name of ['c', 'd']) lanes.add('a', 1, job(name));
    await clock.run(20);
    // Its turn is still to come.
    lanes.add('e', 1, job('e'));
    lanes.close();
    expect(network.sent.map((one) => one.aborted)).toEqual([true, true, false]);
    await clock.run(DAY);
    expect(settled).toEqual([]);
    expect(network.sent).toHaveLength(3);
    expect(lanes.counts()).toEqual(nothingLeft);
    expect(clock.pending).toBe(0);
  });
});

describe('whatever happens', () => {
  const answer = fc.oneof(
    { weight: 6, arbitrary: fc.record({ status: fc.constantFrom(200, 202, 204), afterMs: fc.nat(300) }) },
    {
      weight: 6,
      arbitrary: fc.record({
        status: fc.constantFrom(301, 400, 404, 429, 500, 503),
        retryAfterMs: fc.constantFrom(0, 2_500),
        afterMs: fc.nat(300),
      }),
    },
    { weight: 1, arbitrary: fc.record({ status: fc.constant(501), afterMs: fc.nat(300) }) },
    { weight: 3, arbitrary: fc.record({ error: fc.constant('connection failed'), afterMs: fc.nat(10_000) }) },
  );
  const step = fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        do: fc.constant('add' as const),
        lane: fc.nat(4),
        key: fc.nat(3),
        unwanted: fc.nat(9).map((n) => n === 0),
        answers: fc.array(answer, { maxLength: 6 }),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('run' as const), ms: fc.oneof(fc.nat(50), fc.nat(5_000)) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wake' as const), lane: fc.nat(5) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), lane: fc.nat(4) }) },
  );
  /** Lanes by number: two with one place, three with more. */
  const parallel = [1, 1, 2, 3, 8];
  const ATTEMPTS_MAX = 5;

  interface Tracked {
    lane: number;
    key: number;
    cancelled: boolean;
    unwanted: boolean;
    outcomes: Outcome[];
    attempts: number;
    woken: boolean;
  }

  test('rows go in order and one at a time, attempts end, and each job is settled once', async () => {
    const limits = {
      inFlightMax: fc.integer({ min: 1, max: 6 }),
      steps: fc.array(step, { maxLength: 80, size: 'max' }),
    };
    await fc.assert(
      fc.asyncProperty(fc.record(limits), async ({ inFlightMax, steps }) => {
        const jobs: Tracked[] = [];
        const scripts: Said[][] = [];
        const rowOf = ({ lane, key }: Tracked) => `${lane} ${key}`;
        const world = makeWorld((url, attempt) => scripts[Number(url)]![attempt - 1] ?? taken(), {
          inFlightMax,
          attemptsMax: ATTEMPTS_MAX,
        });
        const { clock, lanes, network } = world;
        const add = (lane: number, key: number, unwanted: boolean, answers: Said[]) => {
          const id = jobs.length;
          const job: Tracked = { lane, key, cancelled: false, unwanted, outcomes: [], attempts: 0, woken: false };
          jobs.push(job);
          scripts.push(answers);
          const tracked: Job = {
            key,
            receiver: lane,
            make: () => {
              expect(job.cancelled, 'a cancelled job is not made').toBe(false);
              expect(job.outcomes, 'a settled job is not made').toEqual([]);
              const before = jobs.slice(0, id).filter((one) => rowOf(one) === rowOf(job));
              const open = before.filter((one) => !one.cancelled && !one.unwanted && one.outcomes.length === 0);
              expect(open, 'those before it in its row are settled').toEqual([]);
              if (unwanted) return null;
              job.attempts++;
              return { method: 'POST', url: `${id}`, body: '', secure: [] };
            },
            settled: (outcome, attempts) => {
              job.outcomes.push(outcome);
              expect(attempts).toBeLessThanOrEqual(ATTEMPTS_MAX);
              if (!job.woken) expect(attempts).toBe(job.attempts);
            },
          };
          // Three lanes are one party's, the others each their own.
          lanes.add(`${lane}`, parallel[lane]!, tracked, lane < 3 ? 'three' : undefined);
        };
        for (const one of steps) {
          if (one.do === 'add') add(one.lane, one.key, one.unwanted, one.answers as Said[]);
          else if (one.do === 'run') await clock.run(one.ms);
          else if (one.do === 'wake') {
            for (const job of jobs) job.woken = true;
            const woken = one.lane === 5 ? parallel.keys() : [one.lane];
            for (const lane of woken) lanes.wake(`${lane}`);
          } else {
            for (const job of jobs) if (job.lane === one.lane && job.outcomes.length === 0) job.cancelled = true;
            lanes.cancel(`${one.lane}`);
          }
        }
        await clock.run(DAY);

        for (const job of jobs) expect(job.outcomes).toHaveLength(job.cancelled || job.unwanted ? 0 : 1);
        for (const job of jobs) if (!job.woken) expect(job.attempts).toBeLessThanOrEqual(ATTEMPTS_MAX);
        expect(lanes.counts()).toEqual(nothingLeft);
        expect(clock.pending).toBe(0);
        expect(network.onWayMax()).toBeLessThanOrEqual(inFlightMax);
        checkOverlaps(
          network.sent.map((sent) => ({
            ...sent,
            row: rowOf(jobs[Number(sent.url)]!),
            lane: jobs[Number(sent.url)]!.lane,
          })),
        );
        checkWaits(network.sent, jobs);
      }),
      { numRuns: often(60, 3000) },
    );
  });

  /** Never two calls of a row at a time, nor more of a lane than it may have. */
  function checkOverlaps(calls: { row: string; lane: number; at: number; endedAt: number }[]): void {
    const rows = new Map<string, number>();
    for (const call of calls) {
      expect(call.at, `row ${call.row}`).toBeGreaterThanOrEqual(rows.get(call.row) ?? 0);
      rows.set(call.row, call.endedAt);
      const beside = calls.filter((one) => one.lane === call.lane && one.at <= call.at && one.endedAt > call.at);
      expect(beside.length).toBeLessThanOrEqual(parallel[call.lane]!);
    }
  }

  /** Unless it was woken, a job waits as long as its attempts ask for. */
  function checkWaits(sent: { url: string; at: number; endedAt: number }[], jobs: Tracked[]): void {
    for (const [id, job] of jobs.entries()) {
      const calls = sent.filter((one) => one.url === `${id}`);
      for (let n = 1; n < calls.length && !job.woken; n++) {
        expect(calls[n]!.at - calls[n - 1]!.endedAt).toBeGreaterThanOrEqual(backoffMs(n));
      }
    }
  }
});
