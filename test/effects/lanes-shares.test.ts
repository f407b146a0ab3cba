/** Who gets a place when places are short, under a clock turned by hand and a network that answers as told. */
import { describe, expect, test } from 'vitest';
import { DAY, hangs, makeWorld, nothingLeft, taken } from './lanes-world.ts';

describe('shares', () => {
  test('dead lanes leave a place for one that had none, at once', async () => {
    const { clock, lanes, job, network } = makeWorld((url) => (url.startsWith('dead') ? hangs() : taken(0)), {
      inFlightMax: 16,
    });
    for (let lane = 0; lane < 12; lane++) {
      for (let i = 0; i < 20; i++) lanes.add(`dead ${lane}`, 8, job(`dead ${lane} ${i}`));
    }
    await clock.run(1_000);
    expect(network.onWay()).toBeGreaterThanOrEqual(12);
    expect(network.onWay()).toBeLessThan(16);
    const before = clock.now();
    for (let i = 0; i < 50; i++) lanes.add('live', 8, job(`live ${i}`));
    await clock.run(10);
    const live = network.sent.filter((one) => one.url.startsWith('live'));
    expect(live).toHaveLength(50);
    expect(Math.max(...live.map((one) => one.at))).toBe(before);
  });

  test('dead lanes of a party leave a place for one of the same party that had none, at once', async () => {
    const { clock, lanes, job, network } = makeWorld((url) => (url.startsWith('dead') ? hangs() : taken(0)), {
      inFlightMax: 32,
    });
    for (let lane = 0; lane < 12; lane++) {
      for (let i = 0; i < 20; i++) lanes.add(`dead ${lane}`, 8, job(`dead ${lane} ${i}`), 'ledger');
    }
    await clock.run(1_000);
    expect(network.onWay()).toBe(24);
    const before = clock.now();
    for (let i = 0; i < 50; i++) lanes.add('live', 8, job(`live ${i}`), 'ledger');
    await clock.run(10);
    const live = network.sent.filter((one) => one.url.startsWith('live'));
    expect(live).toHaveLength(50);
    expect(Math.max(...live.map((one) => one.at))).toBe(before);
    // It is the same party still, though one of its lanes has come to its end.
    for (let i = 0; i < 20; i++) lanes.add('dead 12', 8, job(`dead 12 ${i}`), 'ledger');
    await clock.run(1_000);
    expect(network.onWay()).toBe(25);
  });

  test('a party of very many dead lanes leaves a place for another that had none, at once', async () => {
    const { clock, lanes, job, network } = makeWorld((url) => (url.startsWith('dead') ? hangs() : taken(0)), {
      inFlightMax: 16,
    });
    for (const party of ['one', 'two']) {
      for (let lane = 0; lane < 100; lane++) {
        lanes.add(`${party} ${lane}`, 1, job(`dead ${party} ${lane}`), party);
      }
      await clock.run(1_000);
    }
    expect(network.sent.filter(({ url }) => url.startsWith('dead one'))).toHaveLength(12);
    expect(network.onWay()).toBe(15);
    const before = clock.now();
    for (let i = 0; i < 50; i++) lanes.add('live', 8, job(`live ${i}`), 'three');
    await clock.run(10);
    const live = network.sent.filter((one) => one.url.startsWith('live'));
    expect(live).toHaveLength(50);
    expect(Math.max(...live.map((one) => one.at))).toBe(before);
  });

  test('very many parties whose calls hang till their time is over leave places for one whose calls are quick', async () => {
    const { clock, lanes, job, network } = makeWorld(
      (url) => (url.startsWith('live') ? taken(0) : { status: 503, afterMs: 10_000 }),
      { inFlightMax: 16 },
    );
    for (let party = 0; party < 100; party++) lanes.add(`dead ${party}`, 1, job(`dead ${party}`), `party ${party}`);
    // Till then it is not known of all of them.
    await clock.run(100_000);
    for (let i = 0; i < 30; i++) {
      const before = clock.now();
      lanes.add('live', 1, job(`live ${i}`));
      await clock.run(1_000);
      expect(network.sent.find(({ url }) => url === `live ${i}`)?.at).toBe(before);
      expect(network.onWay()).toBe(14);
    }
    await clock.run(DAY);
    // They have their turns all the same, and places as all others once they are quick again.
    const counts = Array.from({ length: 100 }, (_, party) => network.sent.filter(({ url }) => url === `dead ${party}`));
    expect(Math.min(...counts.map(({ length }) => length))).toBeGreaterThan(30);
  });

  test('whose calls were slow and are all through are slow when they come again, until one was quick', async () => {
    let takes = 3_000;
    const { clock, lanes, job, network } = makeWorld((url) => taken(url === 'live' ? 0 : takes), { inFlightMax: 8 });
    const addAll = () => {
      for (let n = 0; n < 20; n++) lanes.add(`slow ${n}`, 1, job(`slow ${n}`), `party ${n}`);
    };
    const isAtOnce = async () => {
      const before = clock.now();
      lanes.add('live', 1, job('live'));
      await clock.run(100);
      return network.sent.findLast(({ url }) => url === 'live')?.at === before;
    };
    addAll();
    await clock.run(60_000);
    expect(lanes.counts()).toEqual(nothingLeft);
    addAll();
    await clock.run(100);
    expect([network.onWay(), await isAtOnce()]).toEqual([7, true]);
    takes = 1_000;
    await clock.run(60_000);
    addAll();
    await clock.run(100);
    expect(network.onWay()).toBe(8);
    lanes.close();
  });

  test('a slow call gives its place among the slow back, though another of its lane was quick meanwhile', async () => {
    const { clock, lanes, job, network } = makeWorld((url) => taken(url === 'slow' ? 2_500 : 500), { inFlightMax: 8 });
    const addAll = (...names: string[]) => {
      for (let n = 0; n < 8; n++) for (const name of names) lanes.add(`${n}`, 2, job(name));
    };
    addAll('slow');
    await clock.run(3_000);
    for (let n = 0; n < 4; n++) {
      for (const name of ['slow', 'quick']) lanes.add('0', 2, job(name));
      await clock.run(3_000);
    }
    addAll('slow');
    await clock.run(100);
    expect(network.onWay()).toBe(7);
    lanes.close();
  });

  // What one of its calls was like was taken for what all of them are.
  test('very many parties, of each of which one lane hangs and another is quick, leave places for others', async () => {
    const { clock, lanes, job, network } = makeWorld(
      (url) => (url.startsWith('dead') ? { status: 503, afterMs: 10_000 } : taken()),
      { inFlightMax: 256 },
    );
    const parties = 700;
    for (let n = 0; n < parties; n++) lanes.add(`dead ${n}`, 1, job(`dead ${n}`), `party ${n}`);
    await clock.run(100_000);
    for (let i = 0; i < 300; i++) {
      for (let n = i % 100; n < parties; n += 100) lanes.add(`quick ${n}`, 1, job(`quick ${n} ${i}`), `party ${n}`);
      const before = clock.now();
      lanes.add('live', 1, job(`live ${i}`));
      await clock.run(100);
      expect(network.sent.find(({ url }) => url === `live ${i}`)?.at).toBe(before);
    }
  });

  test.each([
    ['one after the other', 1],
    ['side by side', 16],
  ])(
    'parties that are all slow, and have more than goes %s, take turns: who had a place kept it',
    async (_, parallelMax) => {
      const { clock, lanes, job, network } = makeWorld(() => taken(2_500), { inFlightMax: 8 });
      const parties = Array.from({ length: 20 }, (_, n) => `party ${n}`);
      for (const party of parties)
        for (let n = 0; n < 100; n++)
          lanes.add(party, parallelMax, job(party, parallelMax === 1 ? party : `${party} ${n}`), party);
      await clock.run(300_000);
      const counts = parties.map((party) => network.sent.filter(({ url }) => url === party).length);
      expect(Math.min(...counts)).toBeGreaterThan(0.9 * Math.max(...counts));
    },
  );

  test('parties take turns, and within a party its lanes', async () => {
    const { clock, lanes, job, urls } = makeWorld(() => taken(10), { inFlightMax: 1 });
    for (const lane of ['a', 'b', 'c']) for (const i of [1, 2]) lanes.add(lane, 4, job(`${lane}${i}`), 'abc');
    for (const i of [1, 2]) lanes.add('d', 4, job(`d${i}`), 'd');
    await clock.run(1_000);
    expect(urls()).toEqual(['a1', 'd1', 'b1', 'd2', 'c1', 'a2', 'b2', 'c2']);
  });

  test('lanes take turns for the last place', async () => {
    const { clock, lanes, job, urls } = makeWorld(() => taken(10), { inFlightMax: 1 });
    for (const lane of ['a', 'b', 'c']) for (const i of [1, 2, 3]) lanes.add(lane, 4, job(`${lane}${i}`));
    await clock.run(1_000);
    expect(urls()).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3']);
  });

  test('a place that becomes free is taken by whoever waits, another lane too', async () => {
    const { clock, lanes, job, network } = makeWorld(() => taken(10), { inFlightMax: 4 });
    for (let i = 0; i < 8; i++) lanes.add(`lane ${i}`, 1, job(`${i}`));
    await clock.run(15);
    expect(network.sent).toHaveLength(8);
    expect(network.onWayMax()).toBe(4);
  });

  test('a turn begins a few attempts only', async () => {
    const { clock, lanes, job } = makeWorld(() => taken());
    /** How many were made in each turn: what was planned within a turn comes after it. */
    const turns: number[] = [];
    let made = 0;
    const endTurn = () => {
      turns.push(made);
      made = 0;
    };
    const make = () => {
      if (made === 0) clock.after(0, endTurn);
      made++;
      return null;
    };
    for (let i = 0; i < 100; i++) lanes.add(`${i}`, 1, job('a', 'a', { make }));
    await clock.run(0);
    expect(turns).toEqual([16, 16, 16, 16, 16, 16, 4]);
  });

  test('a turn begins none any more once it has taken some milliseconds', async () => {
    const { clock, lanes, job, network } = makeWorld(() => taken());
    const make = () => {
      clock.pass(2);
      return { method: 'POST', url: 'x', body: '', secure: [] };
    };
    for (let i = 0; i < 16; i++) lanes.add(`${i}`, 1, job('a', 'a', { make }));
    await clock.run(100);
    expect([network.sent.length, clock.longestMs]).toEqual([16, 4]);
  });

  test('a lane of which what was ready was called off, and a call has not ended, begins what comes next', async () => {
    const { clock, lanes, job, urls } = makeWorld(() => taken());
    lanes.add('x', 2, job('a'));
    await clock.run(0);
    lanes.add('x', 2, job('b'));
    lanes.cancel('x');
    await clock.run(0);
    lanes.add('x', 2, job('c'));
    await clock.run(100);
    expect([urls(), lanes.counts()]).toEqual([['a', 'c'], nothingLeft]);
  });
});
