/** One ledger's flood is that ledger's trouble: the others get places, and their turns, and nobody is forgotten. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type CreateCommand, commandData } from '../../src/core/command.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Entrance } from '../../src/entrance.ts';
import type { ProofJob, ProofPool } from '../../src/proof/pool.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { ClearTimes, dearIn, Pipeline, Places, Turns } from '../../src/turns.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { turn, turns } from '../support/turns.ts';
import { DIRECTORY, House, isAcknowledged, reasonOf, ticking } from './house.ts';

/** What is known where the requests of these ledgers have long taken so many milliseconds. */
function knowing(times: Record<number, number>): ClearTimes {
  const known = new ClearTimes();
  for (const [ledger, ms] of Object.entries(times)) for (let n = 0; n < 1000; n++) known.learn(Number(ledger), ms);
  return known;
}

describe('what clearing takes', () => {
  test('is known from the last requests of a ledger, whatever the ones before them took', () => {
    const times = knowing({ 1: 25, 2: 0.01 });
    expect(times.of(1)).toBeCloseTo(25);
    for (let n = 0; n < 200; n++) times.learn(1, 0.01);
    expect(times.of(1)).toBeLessThan(0.1);
    for (let n = 0; n < 60; n++) times.learn(2, 25);
    expect(times.of(2)).toBeGreaterThan(15);
  });

  test('of a ledger that is new is thought to be as others showed by their first, but not to be next to nothing', () => {
    const times = new ClearTimes();
    expect(times.of(1)).toBe(1);
    for (let ledger = 1; ledger <= 200; ledger++) times.learn(ledger, 0.04);
    expect(times.of(1000), 'a thousand ledgers of a few intents each went through ten at a time').toBe(0.25);
    for (let ledger = 201; ledger <= 204; ledger++) times.learn(ledger, 9);
    expect(times.of(1000), 'whoever makes ledgers whose first requests are dear').toBe(1);
    for (let ledger = 300; ledger <= 400; ledger++) times.learn(ledger, 0.04);
    expect(times.of(1000)).toBeLessThan(0.3);
  });

  test('is the average of the first ones, and one of those does not outweigh what was thought', () => {
    const times = new ClearTimes();
    times.learn(1, 0.04);
    expect(times.of(1)).toBeCloseTo(0.52);
    for (let n = 0; n < 2; n++) times.learn(1, 0.04);
    expect(times.of(1)).toBeCloseTo(0.28);
    times.expect(1, 5);
    times.learn(1, 0.04);
    expect(times.of(1), 'but what was seen of a batch').toBeGreaterThan(4.8);
  });

  test('is not known from one bad moment', () => {
    const times = knowing({ 1: 0.01 });
    times.learn(1, 20);
    expect(times.of(1)).toBeLessThan(0.02);
  });

  test('is thought to be as long as was seen until requests show otherwise', () => {
    const times = knowing({ 1: 0.01, 2: 25 });
    for (const ledger of [1, 2, 3]) times.expect(ledger, 5);
    expect([times.of(1), times.of(3)]).toEqual([5, 5]);
    expect(times.of(2)).toBeCloseTo(25);
    for (let n = 0; n < 300; n++) times.learn(1, 0.01);
    expect(times.of(1)).toBeLessThan(0.02);
  });

  test('is long where a batch took longer for a ledger than a stall of the process may be', () => {
    expect(dearIn([[1, 500]], 10)).toEqual(new Map([[1, 490]]));
    const cleared = [
      [1, 9],
      [2, 9],
      [3, 0.1],
      [2, 9],
      [3, 0.1],
    ] as const;
    expect(dearIn(cleared, 10)).toEqual(new Map([[2, 4]]));
    expect(dearIn(cleared, Number.POSITIVE_INFINITY).size).toBe(0);
  });

  test('of a ledger nobody knows is not thought to be little', () => {
    expect(knowing({ 1: 0.01 }).of(2)).toBeGreaterThan(0.5);
  });
});

describe('turns', () => {
  /** Takes out everybody; who came, in the order of their turns. */
  function order(turns: Turns, came: string[]): string[] {
    while (turns.length > 0) turns.next()();
    return came;
  }

  test('each once, and within a ledger in the order they came', () => {
    const request = fc.record({ ledger: fc.nat(4), bytes: fc.nat(20_000), takes: fc.nat(2) });
    fc.assert(
      fc.property(fc.array(request, { maxLength: 80, size: 'max' }), (requests) => {
        const turns = new Turns(new ClearTimes());
        const came: [number, number][] = [];
        let length = 0;
        for (const [n, { ledger, bytes, takes }] of requests.entries()) {
          turns.push(ledger, bytes, () => came.push([ledger, n]));
          length++;
          for (let take = 0; take < takes && length > 0; take++, length--) turns.next()();
          expect(turns.length).toBe(length);
        }
        while (turns.length > 0) turns.next()();
        for (let ledger = 0; ledger < 5; ledger++) {
          const own = came.filter(([of]) => of === ledger).map(([, n]) => n);
          const expected = requests.flatMap((each, n) => (each.ledger === ledger ? [n] : []));
          expect(own).toEqual(expected);
        }
      }),
    );
  });

  test('who comes late to a long queue of others is soon served', () => {
    const turns = new Turns(new ClearTimes());
    const came: string[] = [];
    for (let n = 0; n < 1000; n++) turns.push(1, 1000, () => came.push('flood'));
    for (let n = 0; n < 500; n++) turns.next()();
    turns.push(2, 1000, () => came.push('late'));
    const served = order(turns, came);
    expect(served).toHaveLength(1001);
    expect(served.indexOf('late') - 500).toBeLessThan(5);
  });

  test('bytes are shared, not requests: large ones get fewer turns', () => {
    const turns = new Turns(knowing({ 1: 0, 2: 0 }));
    const served = { large: 0, small: 0 };
    for (let n = 0; n < 100; n++) turns.push(1, 99 * 1024, () => (served.large += 100));
    for (let n = 0; n < 5000; n++) turns.push(2, 1024, () => (served.small += 2));
    while (served.small < 5000) turns.next()();
    expect(served.large).toBeGreaterThan(4700);
    expect(served.large).toBeLessThan(5300);
  });

  test('clearing is shared, not requests: who takes long gets fewer turns', () => {
    const turns = new Turns(knowing({ 1: 25, 2: 0.05 }));
    const served = { long: 0, short: 0 };
    for (let n = 0; n < 100; n++) turns.push(1, 1000, () => (served.long += 1));
    for (let n = 0; n < 5000; n++) turns.push(2, 1000, () => (served.short += 1));
    while (served.short < 5000) turns.next()();
    // By the time that takes, 160 short ones are one long; by their bytes they would be as many.
    expect(served.long).toBeGreaterThan(20);
    expect(served.long).toBeLessThan(45);
  });

  test('in a ring: who has had a turn waits for all others, and who comes is the last', () => {
    const turns = new Turns(knowing({ 1: 0, 2: 0, 3: 0, 4: 0 }));
    const came: number[] = [];
    // One is as much as a turn allows.
    const push = (ledger: number) => turns.push(ledger, 3 * 1024 - 1, () => came.push(ledger));
    for (const ledger of [1, 2, 3, 1, 2, 3]) push(ledger);
    for (let n = 0; n < 2; n++) turns.next()();
    for (const ledger of [4, 1, 4]) push(ledger);
    while (turns.length > 0) turns.next()();
    expect(came).toEqual([1, 2, 3, 1, 4, 2, 3, 1, 4]);
  });

  test('who was sent back comes before all others of the ledger, and after those of others', () => {
    const turns = new Turns(knowing({ 1: 0, 2: 0, 3: 0 }));
    const came: string[] = [];
    const waiting = (name: string) => ({ bytes: 3 * 1024 - 1, begin: () => void came.push(name) });
    const push = (ledger: number, name: string) => turns.push(ledger, 3 * 1024 - 1, waiting(name).begin);
    for (const name of ['a', 'd', 'e']) push(1, name);
    turns.next()();
    turns.putBack(1, [waiting('b'), waiting('c')]);
    push(2, 'guest');
    turns.putBack(3, [waiting('back')]);
    expect(turns.length).toBe(6);
    while (turns.length > 0) turns.next()();
    expect(came).toEqual(['a', 'guest', 'back', 'b', 'c', 'd', 'e']);
  });

  test('one that is larger than any allowance has its turn too', () => {
    const turns = new Turns(new ClearTimes());
    const came: string[] = [];
    turns.push(1, 16 * 1024 * 1024, () => came.push('giant'));
    turns.push(2, 10, () => came.push('small'));
    expect(order(turns, came)).toEqual(['small', 'giant']);
  });
});

describe('a pipeline', () => {
  test.each<[string, Pipeline]>([
    ['requests', new Pipeline(3, 1e9, 1e9)],
    ['bytes', new Pipeline(1e9, 30, 1e9)],
    ['milliseconds of clearing', new Pipeline(1e9, 1e9, 0.3)],
  ])('is full of so many %s, and empty again when all have left', (_what, pipeline) => {
    for (let round = 0; round < 1000; round++) {
      for (let n = 0; n < 3; n++) {
        expect(pipeline.hasRoom).toBe(true);
        pipeline.take(10, 0.1);
      }
      expect(pipeline.hasRoom).toBe(false);
      for (let n = 0; n < 3; n++) pipeline.leave(10, 0.1);
    }
  });
});

describe('places', () => {
  /** Takes as many as there are for this ledger. */
  function fill(places: Places, ledger: number, bytes = 1): number {
    for (let count = 0; ; count++) {
      if (!places.hasRoom(ledger)) return count;
      places.take(ledger, bytes);
    }
  }

  test('one ledger leaves a fifth to others, two a ninth', () => {
    const places = new Places(900, 1e9);
    expect(fill(places, 1)).toBe(720);
    expect(places.hasRoom(2)).toBe(true);
    fill(places, 2);
    expect(places.hasRoom(1)).toBe(false);
    expect(fill(places, 3)).toBeGreaterThan(0);
  });
  test('of bytes as of requests', () => {
    const places = new Places(1e6, 1000);
    expect(fill(places, 1, 100)).toBe(8);
    expect(places.hasRoom(1)).toBe(false);
    expect(places.hasRoom(2)).toBe(true);
  });
  test('whoever leaves makes room, for all', () => {
    const places = new Places(10, 1e9);
    fill(places, 1);
    for (let n = 0; n < 8; n++) places.leave(1, 1);
    expect([places.requests, places.bytes]).toEqual([0, 0]);
    expect(fill(places, 2)).toBe(8);
  });
  test.each<[string, Places, number]>([
    ['requests', new Places(10, 1e9), 0],
    ['requests', new Places(10, 1e9), 1],
    ['bytes', new Places(1e9, 100), 0],
    ['bytes', new Places(1e9, 100), 1],
  ])(
    'of %s are all free again however often they were left, also by a ledger that keeps some (%#)',
    (_what, places, kept) => {
      for (let n = 0; n < kept; n++) places.take(1, 10);
      for (let round = 0; round < 100; round++) {
        expect(fill(places, 1, 10)).toBe(8 - kept);
        for (let n = kept; n < 8; n++) places.leave(1, 10);
      }
    },
  );
  test('there are never more than there are', () => {
    const places = new Places(50, 1e9);
    let taken = 0;
    for (let ledger = 0; ledger < 100; ledger++) taken += fill(places, ledger);
    expect(taken).toBe(50);
  });
});

describe('the entrance', () => {
  /** With a stopwatch that goes on by hand. */
  function open(pipelineMax: number) {
    const watch = { ms: 77_000 };
    const most = { inboxMax: 100, inboxBytesMax: 1e9, pipelineMax, pipelineBytesMax: 1e9, pipelineMsMax: 1e9 };
    const options = { ...most, stopwatch: () => watch.ms };
    return { watch, entrance: new Entrance(options, { waited: 0, sentBack: 0, turnMs: 0 }) };
  }

  test('lets in at once, where nobody waits, for five milliseconds of a turn, and of the next ones too', async () => {
    const { watch, entrance } = open(100);
    for (let round = 0; round < 3; round++) {
      let count = 0;
      for (; entrance.isOpen; count++) entrance.letInNow(() => void watch.ms++);
      expect(count).toBe(5);
      await turn();
    }
  });

  test('lets nobody in past one who waits, though there is room again', () => {
    const { entrance } = open(1);
    const ms = entrance.enter(1, 10);
    entrance.wait(1, 10, () => {});
    entrance.leave(1, 10, ms);
    expect([entrance.hasRoom, entrance.isOpen]).toEqual([true, false]);
    entrance.letIn(false);
    expect(entrance.isOpen).toBe(true);
  });

  test('has those who are sent back leave their room to others, and keep their places', () => {
    const { entrance } = open(2);
    const begun: string[] = [];
    const entered = ['first', 'second'].map((name) => ({
      ...{ bytes: 10, ms: entrance.enter(1, 10) },
      begin: () => void begun.push(name),
    }));
    expect(entrance.hasRoom).toBe(false);
    entrance.sendBack(1, 500, entered);
    expect([entrance.hasRoom, entrance.requests, entrance.queued]).toEqual([true, 2, 2]);
    entrance.letIn(false);
    expect([begun, entrance.requests, entrance.queued]).toEqual([['first', 'second'], 0, 0]);
    for (const ms of [entrance.enter(2, 10), entrance.enter(2, 10)]) entrance.leave(2, 10, ms);
    expect([entrance.hasRoom, entrance.requests]).toEqual([true, 0]);
  });

  test('asks for another turn only where time is over: a server at rest is at rest', () => {
    const { watch, entrance } = open(2);
    expect(entrance.letIn(false)).toBe(false);
    const wait = (ms: number) =>
      entrance.wait(1, 10, () => {
        watch.ms += ms;
        entrance.enter(1, 10);
      });
    for (const ms of [3, 0, 0, 0]) wait(ms);
    const later = [false, false, true].map((isEnding) => [entrance.letIn(isEnding), entrance.queued]);
    expect(later).toEqual([
      [true, 3],
      // No room: who leaves asks.
      [false, 2],
      [false, 0],
    ]);
  });
});

describe('a flooded ledger', () => {
  /** A house in which a few are let in at a time, with a second ledger. */
  async function open(options = {}): Promise<House> {
    const house = await House.open(new FakeDisk(1), { pipelineMax: 4, ...options });
    const access = [{ action: 'any', record: 'any' }];
    house.submit({ ...house.command(Kind.ledger, { handle: 'other', access }), ledger: 0 });
    await house.quiet();
    expect(house.sent.every(isAcknowledged)).toBe(true);
    return house;
  }

  /** As the door does: the moment is taken when it is the request's turn. */
  function send(house: House, ledger: number, handle: string): void {
    const begin = () => void house.submit({ ...house.command(Kind.wallet, { handle }), ledger });
    if (house.engine.isOpen) begin();
    else house.engine.wait(ledger, 100, begin);
  }

  test('delays another by a few turns, and time goes on along the journal', async () => {
    const house = await open();
    house.disk.holdSyncs();
    for (let n = 0; n < 100; n++) send(house, 1, `flood-${n}`);
    house.world.now += 5;
    send(house, 2, 'guest');
    expect(house.engine.waiting).toBe(101);
    house.disk.releaseSyncs();
    await house.quiet();
    expect(house.sent.every(isAcknowledged)).toBe(true);
    const moments: number[] = [];
    const handles: string[] = [];
    readJournal(house.disk, DIRECTORY, JOURNAL_START, {
      verifyFrame: () => true,
      onEntry({ moment, handle }) {
        moments.push(moment);
        handles.push(handle);
      },
    });
    expect(handles.indexOf('guest')).toBeLessThan(handles.indexOf('flood-15'));
    expect(handles.filter((handle) => handle.startsWith('flood'))).toEqual(
      Array.from({ length: 100 }, (_, n) => `flood-${n}`),
    );
    expect(moments).toEqual([...moments].sort((a, b) => a - b));
    expect(house.engine.stats.waited).toBe(97);
    await house.stop();
  });

  test('is refused where another is not', async () => {
    const house = await open({ inboxMax: 20 });
    house.disk.holdSyncs();
    for (let n = 0; n < 50 && house.engine.overload(1) === null; n++) send(house, 1, `flood-${n}`);
    expect(house.engine.waiting).toBe(16);
    expect([house.engine.overload(1)?.reason, house.engine.overload(2)]).toEqual(['api.rate-limit-exceeded', null]);
    house.disk.releaseSyncs();
    await house.quiet();
    expect([house.engine.waiting, house.engine.overload(1)]).toEqual([0, null]);
    await house.stop();
  });

  test('is let in a few at a time, also where they take many bytes', async () => {
    const house = await open({ pipelineMax: 1000, pipelineBytesMax: 2000 });
    house.disk.holdSyncs();
    for (let n = 0; n < 100; n++) send(house, 1, `flood-${n}`);
    expect(house.sent.length).toBeLessThan(10);
    house.disk.releaseSyncs();
    await house.quiet();
    expect(house.sent.filter(isAcknowledged).length).toBe(101);
    await house.stop();
  });

  test('is let in a few at a time where each takes long to clear', async () => {
    const house = await open({ pipelineMax: 1000, pipelineMsMax: 19, stopwatch: ticking(5) });
    for (let n = 0; n < 200; n++) {
      send(house, 1, `before-${n}`);
      await house.quiet();
    }
    const { length } = house.sent;
    house.disk.holdSyncs();
    for (let n = 0; n < 100; n++) send(house, 1, `flood-${n}`);
    expect(house.sent.length - length).toBe(4);
    house.disk.releaseSyncs();
    await house.quiet();
    expect(house.sent.every(isAcknowledged)).toBe(true);
    await house.stop();
  });

  test('is let in for a while in each turn of the event loop, also where all of it is refused at the door', async () => {
    let now = 0;
    const house = await open({ pipelineMax: 1000, stopwatch: () => now });
    const came: string[] = [];
    const arrive = (ledger: number, name: string) => {
      const begin = () => {
        now += 3;
        came.push(name);
      };
      if (house.engine.isOpen) house.engine.letInNow(begin);
      else house.engine.wait(ledger, 100, begin);
    };
    for (let n = 0; n < 20; n++) arrive(1, 'flood');
    arrive(2, 'guest');
    expect(came.length).toBe(2);
    for (let before = 2; came.length < 21; before = came.length) {
      await turn();
      expect(came.length - before).toBeLessThan(5);
    }
    expect(came.indexOf('guest')).toBeLessThan(6);
    for (let n = 0; n < 20; n++) {
      await turn();
      expect(house.engine.isOpen).toBe(true);
      house.engine.letInNow(() => (now += 3));
    }
    await house.stop();
  });

  test('is told when the disk fails, whoever waits for a turn too', async () => {
    const house = await open();
    house.disk.inject({ call: 'sync', code: 'EIO' });
    for (let n = 0; n < 50; n++) send(house, 1, `flood-${n}`);
    await house.quiet();
    expect(house.sent.length).toBe(51);
    expect(new Set(house.sent.slice(1).map(reasonOf))).toEqual(new Set(['api.unexpected-error']));
    expect(house.engine.waiting).toBe(0);
  });
});

describe('a ledger known as quick whose requests are suddenly dear', () => {
  /** Clearing takes so long from here on. */
  let ms = 0;
  /** After so many looks at the stopwatch the process stands still for a moment. */
  let stall = { looks: 0, ms: 0 };
  const stopwatch = () => {
    let now = 0;
    return () => {
      now += ms + (stall.looks-- === 0 ? stall.ms : 0);
      return now;
    };
  };

  /** A pool that verifies when a test says so, and finds these rows bad. */
  function heldPool() {
    const jobs: ProofJob[] = [];
    const finish = () => {
      for (const { checks, done } of jobs.splice(0)) {
        done({ error: null, bad: checks[0] === 0 ? -1 : 0, signatures: SEALS });
      }
    };
    return { pool: { submit: (job: ProofJob) => void jobs.push(job) } as unknown as ProofPool, jobs, finish };
  }

  async function open(options = {}): Promise<House> {
    ms = 0;
    const bounds = { batchMsMax: 10, pipelineMsMax: 10, pipelineMax: 100 };
    const disk = new FakeDisk(1);
    const before = await House.open(disk);
    before.submit({
      ...before.command(Kind.ledger, { handle: 'other', access: [{ action: 'any', record: 'any' }] }),
      ledger: 0,
    });
    await before.quiet();
    before.power.cut('kill');
    const house = await House.open(disk, { stopwatch: stopwatch(), ...bounds, ...options });
    ms = 0.01;
    for (let n = 0; n < 300; n++) {
      send(house, 1, `before-${n}`);
      await house.quiet();
    }
    house.sent.length = 0;
    return house;
  }

  /** As the door does, also with what is sent back. */
  function send(house: House, ledger: number, handle: string, beside: Beside = {}): void {
    const begin = () => {
      const leave = () => {
        house.sent.splice(house.sent.indexOf(sent), 1);
        return begin;
      };
      const sent = house.submit({ ...house.command(Kind.wallet, { handle }), ledger }, { leave, ...beside });
    };
    if (house.engine.isOpen) begin();
    else house.engine.wait(ledger, 100, begin);
  }

  function entriesOf({ disk }: House): { handle: string; moment: number }[] {
    const entries: { handle: string; moment: number }[] = [];
    readJournal(disk, DIRECTORY, JOURNAL_START, {
      verifyFrame: () => true,
      onEntry: ({ handle, moment }) => void entries.push({ handle, moment }),
    });
    return entries;
  }

  const FLOOD = Array.from({ length: 60 }, (_, n) => `flood-${n}`);
  const handlesOf = (house: House) => entriesOf(house).map(({ handle }) => handle);
  const floodOf = (house: House) => handlesOf(house).filter((handle) => handle.startsWith('flood'));

  test('lets another pass that came behind all of them, keeps its own order, and time goes on', async () => {
    const house = await open();
    house.disk.holdSyncs();
    for (const handle of FLOOD) {
      send(house, 1, handle);
      house.world.now++;
    }
    send(house, 2, 'guest');
    expect(house.engine.isOpen).toBe(true);
    ms = 100;
    house.disk.releaseSyncs();
    await house.quiet();
    expect(house.sent.length).toBe(61);
    expect(house.sent.every(isAcknowledged)).toBe(true);
    expect(house.engine.stats.sentBack).toBeGreaterThan(50);
    expect(handlesOf(house).indexOf('guest')).toBeLessThan(handlesOf(house).indexOf('flood-3'));
    expect(floodOf(house)).toEqual(FLOOD);
    const moments = entriesOf(house).map(({ moment }) => moment);
    expect(moments).toEqual(moments.toSorted((a, b) => a - b));
    await house.stop();
  });

  test('is let in a few at a time from then on', async () => {
    const house = await open();
    for (const handle of FLOOD) send(house, 1, handle);
    ms = 100;
    await house.quiet();
    expect(house.engine.stats.sentBack).toBeLessThan(80);
    await house.stop();
  });

  test('keeps its order also where some are still being verified, and a forged one is refused', async () => {
    const { pool, finish } = heldPool();
    const house = await open({ pool });
    const isForged = (n: number) => n % 7 === 6;
    const early = FLOOD.slice(0, 30);
    for (const [n, handle] of early.entries())
      send(house, 1, handle, { checks: new Uint8Array([isForged(n) ? 1 : 0]) });
    finish();
    for (const [n, handle] of FLOOD.slice(30).entries()) {
      send(house, 1, handle, { checks: new Uint8Array([isForged(30 + n) ? 1 : 0]) });
    }
    send(house, 2, 'guest', { checks: new Uint8Array(1) });
    ms = 100;
    for (let n = 0; n < 500; n++) {
      await turn();
      finish();
    }
    await house.quiet();
    expect(floodOf(house)).toEqual(FLOOD.filter((_, n) => !isForged(n)));
    expect(handlesOf(house).indexOf('guest')).toBeLessThan(handlesOf(house).indexOf('flood-9'));
    expect(house.sent.filter((sent) => !isAcknowledged(sent)).map(reasonOf)).toEqual(
      FLOOD.filter((_, n) => isForged(n)).map(() => 'crypto.signature-invalid'),
    );
    await house.stop();
  });

  test('leaves nobody behind at the door who stood there behind them', async () => {
    const { pool, jobs, finish } = heldPool();
    const house = await open({ pool });
    send(house, 1, 'dear');
    for (const handle of ['slow', 'slower']) send(house, 1, handle, { checks: new Uint8Array([0]) });
    const verifying = jobs.splice(0);
    send(house, 1, 'forged', { checks: new Uint8Array([1]) });
    send(house, 2, 'guest', { checks: new Uint8Array([0]) });
    finish();
    ms = 100;
    await turns(20);
    expect(house.engine.stats.sentBack).toBe(2);
    const told = house.sent.filter(({ outcome }) => outcome !== null);
    expect(told.map(({ command }) => commandData(command as CreateCommand).handle)).toEqual([
      'dear',
      'forged',
      'guest',
    ]);
    for (const { done } of verifying) done({ error: null, bad: -1, signatures: SEALS });
    for (let n = 0; n < 20; n++) {
      finish();
      await turn();
    }
    await house.quiet();
    expect(handlesOf(house).slice(-4)).toEqual(['dear', 'guest', 'slow', 'slower']);
    await house.stop();
  });

  test('has those cleared in their order that cannot go back', async () => {
    const house = await open();
    house.disk.holdSyncs();
    for (const handle of FLOOD) send(house, 1, handle, STAYS);
    ms = 100;
    house.disk.releaseSyncs();
    await house.quiet();
    expect(house.engine.stats.sentBack).toBe(0);
    expect(floodOf(house)).toEqual(FLOOD);
    await house.stop();
  });

  test('is told of a failing disk, those who were sent back too', async () => {
    const house = await open();
    for (const handle of FLOOD) send(house, 1, handle);
    ms = 100;
    house.disk.inject({ call: 'sync', code: 'EIO' });
    await house.quiet();
    expect(house.sent.length).toBe(60);
    expect(new Set(house.sent.map(reasonOf))).toEqual(new Set(['api.unexpected-error']));
    expect(house.engine.waiting).toBe(0);
  });

  test.each([0, 1, 2, 3, 4, 5, 10, 20])('one stall, after %i looks at the clock, sends nobody back', async (looks) => {
    const house = await open();
    for (const handle of FLOOD) send(house, 1, handle);
    stall = { looks, ms: 9 };
    await house.quiet();
    expect(stall.looks).toBeLessThan(0);
    expect(house.engine.stats.sentBack).toBe(0);
    expect(house.sent.every(isAcknowledged)).toBe(true);
    await house.stop();
  });
});

type Beside = Parameters<House['submit']>[1];
const STAYS: Beside = { leave: undefined };
const SEALS = new Uint8Array(64);
