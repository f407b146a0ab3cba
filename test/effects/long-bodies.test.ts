/** Bodies that are longer than usual: they take several places, go sooner or later, and hold up nobody for long. */
import { describe, expect, test } from 'vitest';
import { randomFrom } from '../storage/fake-disk.ts';
import { DAY, hangs, makeWorld, nothingLeft, refused, taken } from './lanes-world.ts';

describe('long bodies', () => {
  const MiB = 1024 * 1024;
  /** Of places for a mebibyte each. */
  const makeRoom = () => {
    const world = makeWorld(hangs, { inFlightMax: 64 });
    const add = (party: string, lanes: number, bytes: number) => {
      const make = () => ({ method: 'POST', url: party, body: 'x'.repeat(bytes), secure: [] });
      for (let n = 0; n < lanes; n++) world.lanes.add(`${party}${n}`, 1, world.job(party, party, { make }), party);
    };
    const onWay = (party: string) => world.urls().filter((url) => url === party).length;
    return { ...world, add, onWay };
  };

  test('take as many places as they are long, and leave some to others', async () => {
    const { clock, lanes, add, onWay } = makeRoom();
    add('long', 64, 16 * MiB);
    await clock.run(1000);
    expect(lanes.counts()).toMatchObject({ jobs: 64, inFlight: 3 });
    add('other', 1, 16 * MiB);
    add('short', 64, 1000);
    await clock.run(1000);
    expect([onWay('long'), onWay('other')]).toEqual([3, 1]);
    lanes.close();
  });

  test('count as one call each of those that a lane may make at once, and hold up no short ones of their party', async () => {
    const { clock, lanes, job, urls } = makeWorld(hangs, { inFlightMax: 64 });
    const make = (url: string, bytes: number) => () => ({ method: 'POST', url, body: 'x'.repeat(bytes), secure: [] });
    const add = (lane: string, url: string, bytes: number) =>
      lanes.add(lane, 4, job(url, url, { make: make(url, bytes) }), 'party');
    for (let n = 0; n < 3; n++) add('bank', `long ${n}`, 15 * MiB);
    add('bank', 'short', 10);
    await clock.run(1000);
    for (let n = 0; n < 5; n++) add('other', `other ${n}`, 20 * MiB);
    for (let n = 0; n < 2; n++) add('third', `third ${n}`, 10);
    await clock.run(1000);
    expect(urls().sort()).toEqual(['long 0', 'long 1', 'long 2', 'short', 'third 0', 'third 1']);
    lanes.close();
  });

  test('that found no room are made again once there is', async () => {
    const { clock, lanes, job, outcomes } = makeWorld(() => taken(50), { inFlightMax: 64 });
    let made = 0;
    const make = () => {
      made++;
      return { method: 'POST', url: 'x', body: 'x'.repeat(20 * MiB), secure: [] };
    };
    for (let n = 0; n < 12; n++) lanes.add(`x${n}`, 1, job(`${n}`, `${n}`, { make }), 'party');
    await clock.run(40);
    expect([lanes.counts().inFlight, made <= 12]).toEqual([2, true]);
    await clock.run(DAY);
    expect([outcomes().length, lanes.counts()]).toEqual([12, nothingLeft]);
    expect(made).toBeLessThanOrEqual(24);
  });

  test('that found no room, and are not wanted any more once there is, leave nothing put by for them', async () => {
    const { clock, lanes, job, outcomes } = makeWorld(() => taken(50), { inFlightMax: 64 });
    let isWanted = true;
    const make = () => (isWanted ? { method: 'POST', url: 'x', body: 'x'.repeat(20 * MiB), secure: [] } : null);
    for (let n = 0; n < 6; n++) lanes.add(`x${n}`, 1, job(`${n}`, `${n}`, { make }), 'party');
    await clock.run(40);
    isWanted = false;
    await clock.run(DAY);
    expect([outcomes().length, lanes.counts()]).toEqual([2, nothingLeft]);
    for (let n = 0; n < 60; n++) lanes.add(`x${n}`, 1, job(`short ${n}`), 'party');
    await clock.run(10);
    expect(lanes.counts().inFlight).toBe(51);
    lanes.close();
  });

  test('that are to be tried again are not made before there is room', async () => {
    const { clock, lanes, job } = makeWorld((url) => (url === 'fails' ? refused() : hangs()), { inFlightMax: 64 });
    let made = 0;
    const make = (url: string) => () => {
      if (url === 'fails') made++;
      return { method: 'POST', url, body: 'x'.repeat(16 * MiB), secure: [] };
    };
    const add = (url: string) => lanes.add(url, 1, job(url, url, { make: make(url.slice(0, 5)) }), 'party');
    add('fails');
    await clock.run(100);
    for (let n = 0; n < 4; n++) add(`hangs ${n}`);
    await clock.run(60_000);
    expect([made, lanes.counts().inFlight]).toEqual([1, 3]);
    lanes.close();
  });

  test('that are longer than all there may be go one by one', async () => {
    const { clock, lanes, add, network } = makeRoom();
    for (const party of ['a', 'b', 'c']) add(party, 2, 70 * MiB);
    await clock.run(1000);
    expect(network.onWay()).toBe(1);
    lanes.close();
  });

  test('that take long to make leave most of the time to others', async () => {
    const { clock, lanes, job, outcomes, urls, settled } = makeWorld(() => taken(1));
    const makeIn = (ms: number) => () => {
      clock.pass(ms);
      return { method: 'POST', url: `${ms} ms`, body: '', secure: [] };
    };
    const add = (party: string, n: number, ms: number) =>
      lanes.add(`${party}${n}`, 1, job(`${party}${n}`, `${party}${n}`, { make: makeIn(ms) }), party);
    // One lane that empties each time, and lanes side by side.
    for (let n = 0; n < 10; n++) {
      add('alone', 0, 100);
      add('many', n, 100);
    }
    for (let n = 0; n < 50; n++) add('quick', n, 1);
    await clock.run(900);
    expect(urls().filter((url) => url === '100 ms')).toHaveLength(4);
    expect(outcomes().filter((text) => text.startsWith('quick'))).toHaveLength(50);
    await clock.run(10_000);
    expect(lanes.counts()).toEqual(nothingLeft);
    // Each but the last of ten has rested for four times as long.
    expect(settled.at(-1)!.at).toBeGreaterThan(9 * 500);
    add('many', 0, 100);
    add('many', 1, 100);
    await clock.run(1);
    lanes.close();
    await clock.run(10);
    expect(clock.pending).toBe(0);
  });

  test('give their places back', async () => {
    const { clock, lanes, job, network, outcomes } = makeWorld(() => taken(5), { inFlightMax: 64 });
    const make = () => ({ method: 'POST', url: 'x', body: 'x'.repeat(20 * MiB), secure: [] });
    for (let n = 0; n < 9; n++) lanes.add(`x${n}`, 1, job(`${n}`, `${n}`, { make }));
    await clock.run(1000);
    expect([outcomes().length, network.onWayMax(), lanes.counts()]).toEqual([9, 4, nothingLeft]);
  });

  /** A closed loop of short calls, some at a time in each lane, of which as many always wait as there may be. */
  const saturated = (lanes: number, parallelMax: number, ms: number) => {
    const random = randomFrom(1);
    const say = (url: string, attempt: number) => {
      if (url.startsWith('hangs')) return hangs();
      if (url.startsWith('comes again') && attempt === 1) return refused();
      return taken(Math.round(ms * (0.5 + random())));
    };
    const world = makeWorld(say, { inFlightMax: 256 });
    const done = new Map<string, number>();
    let key = 0;
    const add = (lane: string, bytes: number, settled: () => void, calls = parallelMax) => {
      const name = `${lane} ${key++}`;
      const make = () => ({ method: 'POST', url: name, body: 'x'.repeat(bytes), secure: [] });
      world.lanes.add(lane, calls, world.job(name, name, { make, settled }), 'party');
    };
    const feed = (lane: string): void =>
      add(lane, 2, () => {
        done.set(lane, (done.get(lane) ?? 0) + 1);
        feed(lane);
      });
    for (let lane = 0; lane < lanes; lane++) for (let n = 0; n < 2 * parallelMax; n++) feed(`lane ${lane}`);
    return { ...world, add, doneBy: (lane: string) => done.get(lane) ?? 0 };
  };

  test.each([
    [20, 16, 5],
    [20, 16, 20],
    [100, 16, 1],
    [300, 1, 3],
  ])(
    'go though the short ones of their party never cease: %i lanes of %i calls, %i MiB',
    async (count, parallel, mib) => {
      const { clock, lanes, add, doneBy } = saturated(count, parallel, 1000);
      await clock.run(60_000);
      const at = clock.now();
      const ended: number[] = [];
      add('lane 0', mib * MiB, () => ended.push(clock.now() - at));
      await clock.run(30_000);
      expect(ended).toEqual([expect.any(Number)]);
      // Nor does its lane, or another, stand still meanwhile, or afterwards.
      const before = [doneBy('lane 0'), doneBy('lane 1')];
      await clock.run(60_000);
      for (const [n, lane] of ['lane 0', 'lane 1'].entries()) expect(doneBy(lane)).toBeGreaterThan(before[n]! + 5);
      lanes.close();
    },
  );

  test.each([
    [300, 1, 1],
    [300, 1, 2],
    [40, 16, 2],
    [20, 16, 5],
  ])('go though they were refused once: %i lanes of %i calls, %i MiB', async (count, parallel, mib) => {
    const { clock, lanes, add } = saturated(count, parallel, 1000);
    await clock.run(60_000);
    let ended = 0;
    for (let n = 0; n < 2; n++) add('comes again', mib * MiB, () => ended++, 1);
    await clock.run(60_000);
    expect(ended).toBe(2);
    lanes.close();
  });

  test.each([
    [300, 1, 1, 3],
    [20, 16, 1, 5],
  ])(
    'go behind others that are not as long: %i lanes of %i calls, %i and %i MiB',
    async (count, parallel, less, more) => {
      const { clock, lanes, add } = saturated(count, parallel, 1000);
      await clock.run(60_000);
      let ended = 0;
      for (const mib of [less, more]) add(`of ${mib}`, mib * MiB, () => ended++, 1);
      await clock.run(60_000);
      expect(ended).toBe(2);
      lanes.close();
    },
  );

  test('that wait for a lane full of calls that hang hold up no others', async () => {
    const { clock, lanes, add, doneBy } = saturated(200, 1, 1000);
    await clock.run(10_000);
    // There is room for short calls, which take both places of the lane, and not for the long one between them.
    for (const bytes of [2, 20 * MiB, 2]) add('hangs', bytes, () => {}, 2);
    await clock.run(30_000);
    const before = doneBy('lane 1');
    await clock.run(60_000);
    expect(doneBy('lane 1') - before).toBeGreaterThan(20);
    lanes.close();
  });

  test('leave what comes behind them as short as it is', async () => {
    const { clock, lanes, job, urls } = makeWorld((url) => (url === 'long' ? taken(1_000) : hangs()), {
      inFlightMax: 64,
    });
    const add = (lane: string, url: string, bytes: number) => {
      const make = () => ({ method: 'POST', url, body: 'x'.repeat(bytes), secure: [] });
      lanes.add(lane, 1, job(url, lane, { make }), 'party');
    };
    add('x', 'long', 20 * MiB);
    add('x', 'short', 1);
    // These take what it leaves, so that there is no room for another long one.
    for (let n = 0; n < 47; n++) add(`hangs ${n}`, 'hangs', 1);
    await clock.run(2_000);
    expect([urls().length, urls().at(-1)]).toEqual([49, 'short']);
    lanes.close();
  });

  test('for which places were put by leave them to others where they are wanted no more', async () => {
    const { clock, lanes, add, doneBy } = saturated(20, 16, 1000);
    await clock.run(60_000);
    const perMinute = doneBy('lane 1');
    add('gone', 30 * MiB, () => {});
    await clock.run(200);
    lanes.cancel('gone');
    const before = doneBy('lane 1');
    await clock.run(60_000);
    expect(doneBy('lane 1') - before).toBeGreaterThan(perMinute * 0.8);
    lanes.close();
  });

  test('that take long to make have slow lanes of their party rest too, and no longer', async () => {
    const { clock, lanes, job } = makeWorld((url) => taken(url === 'slow' ? 3_000 : 1));
    const made: [string, number][] = [];
    const add = (lane: string, makeMs: number) => {
      const make = () => {
        made.push([lane, clock.now()]);
        clock.pass(makeMs);
        return { method: 'POST', url: lane, body: '', secure: [] };
      };
      lanes.add(lane, 1, job(lane, lane, { make }), 'party');
    };
    add('slow', 0);
    await clock.run(4_000);
    add('dear', 100);
    add('slow', 0);
    await clock.run(1_000);
    expect(made.slice(1)).toEqual([
      ['dear', 4_000],
      ['slow', 4_500],
    ]);
    lanes.close();
  });

  test('rest also where the only one of a party turns out to be wanted no more, once', async () => {
    const { clock, lanes, job } = makeWorld(() => taken(1));
    const made: number[] = [];
    const make = () => {
      made.push(clock.now());
      clock.pass(100);
      return null;
    };
    for (let n = 0; n < 3; n++) lanes.add('x', 1, job(`${n}`, `${n}`, { make }));
    await clock.run(550);
    expect(made).toEqual([made[0], made[0]! + 500]);
    lanes.close();
    expect(clock.pending).toBe(0);
  });
});
