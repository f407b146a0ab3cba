/** Answers leave after the disk, whatever they say; one sync at a time; a batch is what came meanwhile. */
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { issue, transfer } from '../core/books.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { turn, turns } from '../support/turns.ts';
import { House, type HouseOptions, isAcknowledged, reasonOf, ticking } from './house.ts';

async function open(options: HouseOptions = {}): Promise<House> {
  const house = await House.open(new FakeDisk(), options);
  house.create(Kind.symbol, { handle: 'usd', factor: 100 });
  for (const handle of ['a', 'b', 'c']) house.create(Kind.wallet, { handle });
  house.intent('funds', issue('a', 1000));
  await house.quiet();
  return house;
}

/** Whether this has been called, and with what. */
function listener() {
  const heard: unknown[] = [];
  return { heard, hear: (failure: unknown) => heard.push(failure) };
}

describe('no answer before the sync', () => {
  test('a create waits for it', async () => {
    const house = await open();
    house.disk.holdSyncs();
    const sent = house.create(Kind.wallet, { handle: 'new' });
    await turns(5);
    expect(house.read(Kind.wallet, 'new'), 'the state runs ahead').not.toBeNull();
    expect(sent.answers).toBe(0);
    house.disk.releaseSyncs();
    await house.quiet();
    expect([isAcknowledged(sent), sent.answers]).toEqual([true, 1]);
  });

  test('an intent that is rejected waits too: its rejection is an entry', async () => {
    const house = await open();
    house.disk.holdSyncs();
    const sent = house.intent('too-much', transfer('a', 'b', 5000));
    await turns(5);
    expect(sent.answers).toBe(0);
    house.disk.releaseSyncs();
    await house.quiet();
    expect(isAcknowledged(sent)).toBe(true);
    expect(house.read(Kind.intent, 'too-much')!.status).toBe('rejected');
  });

  test.each([
    ['in the same batch waits for that batch', 0],
    ['in the batch before waits for that one', 2],
  ])('a refusal that speaks of an entry %s', async (_, apart) => {
    const house = await open();
    house.disk.holdSyncs();
    const first = house.create(Kind.wallet, { handle: 'new' });
    await turns(apart);
    const second = house.create(Kind.wallet, { handle: 'new', custom: { n: 2 } });
    await turns(5);
    expect([first.answers, second.answers]).toEqual([0, 0]);
    house.disk.releaseSyncs();
    await house.quiet();
    expect([reasonOf(first), reasonOf(second)]).toEqual(['', 'record.duplicated']);
  });

  test('a read of what is not on disk yet waits, and is told once', async () => {
    const house = await open();
    house.disk.holdSyncs();
    house.create(Kind.wallet, { handle: 'new' });
    await turns(2);
    const { heard, hear } = listener();
    house.engine.whenDurable(hear);
    await turns(5);
    expect(heard).toEqual([]);
    house.disk.releaseSyncs();
    await house.quiet();
    expect(heard).toEqual([null]);
  });

  test('a read is answered with the state of the batch it waited for, not of the next', async () => {
    const house = await open();
    house.disk.holdSyncs();
    house.create(Kind.wallet, { handle: 'one' });
    await turns(2);
    house.create(Kind.wallet, { handle: 'two' });
    await turns(2);
    const seen: boolean[] = [];
    house.engine.whenDurable(() => {
      seen.push(house.read(Kind.wallet, 'one') !== null, house.read(Kind.wallet, 'two') !== null);
    });
    house.disk.releaseSyncs();
    await house.quiet();
    expect(seen).toEqual([true, false]);
  });

  test('answers of a batch come in the order its commands came', async () => {
    const house = await open();
    const order: string[] = [];
    for (const handle of ['x', 'y', 'a', 'z']) {
      const command = house.command(Kind.wallet, { handle, custom: { n: 1 } });
      const answer = () => order.push(handle);
      house.engine.submit({ command, checks: new Uint8Array(0), seals: new Uint8Array(0), answer });
    }
    await house.quiet();
    expect(order).toEqual(['x', 'y', 'a', 'z']);
  });
});

describe('what others are told of', () => {
  test('is on disk, whole and in the order of the journal', async () => {
    const published: string[] = [];
    const house = await open({ publish: (entries) => published.push(...entries.map(({ handle }) => handle)) });
    published.length = 0;
    house.disk.holdSyncs();
    house.create(Kind.wallet, { handle: 'one' });
    await turns(2);
    for (const handle of ['two', 'one', 'three']) house.create(Kind.wallet, { handle });
    await turns(5);
    expect(published).toEqual([]);
    house.disk.releaseSyncs();
    await house.quiet();
    expect(published).toEqual(['one', 'two', 'three']);
  });

  test('is nothing where the disk failed', async () => {
    const published: string[] = [];
    const house = await open({ publish: (entries) => published.push(...entries.map(({ handle }) => handle)) });
    published.length = 0;
    house.disk.inject({ call: 'sync', code: 'EIO' });
    house.create(Kind.wallet, { handle: 'one' });
    await house.quiet();
    expect(published).toEqual([]);
  });
});

describe('with nothing on its way to the disk', () => {
  test('a read is answered at once', async () => {
    const house = await open();
    const { heard, hear } = listener();
    house.engine.whenDurable(hear);
    expect(heard).toEqual([null]);
  });

  test('a refusal needs no disk', async () => {
    const house = await open();
    const syncs = house.disk.calls.get('sync');
    house.disk.holdSyncs();
    const sent = house.create(Kind.wallet, { handle: 'a', custom: { n: 2 } });
    await turns(2);
    expect(reasonOf(sent)).toBe('record.duplicated');
    expect(house.disk.calls.get('sync')).toBe(syncs);
  });

  test('a repeated proof changes nothing, is acknowledged, and needs no disk', async () => {
    const house = await open();
    house.addProof(Kind.wallet, 'a', '{"status":"verified"}');
    await house.quiet();
    house.disk.holdSyncs();
    const again = house.addProof(Kind.wallet, 'a', '{"status":"verified"}');
    await turns(2);
    expect(again.outcome).toEqual([]);
  });
});

describe('one write and one sync in flight', () => {
  test('what comes while the disk is busy becomes one batch', async () => {
    const house = await open({ reserveBytes: 0 });
    const { batches, entries } = house.engine.stats;
    house.disk.holdSyncs();
    house.create(Kind.wallet, { handle: 'first' });
    await turns(2);
    const writes = house.disk.calls.get('write')!;
    for (let n = 0; n < 50; n++) {
      house.create(Kind.wallet, { handle: `w${n}` });
      if (n % 10 === 0) await turns(1);
    }
    await turns(5);
    expect(house.disk.calls.get('write'), 'nothing is written under a running sync').toBe(writes);
    expect(house.sent.slice(-51).every((sent) => sent.answers === 0)).toBe(true);
    house.disk.releaseSyncs();
    await house.quiet();
    expect(house.engine.stats).toMatchObject({ batches: batches + 2, entries: entries + 51 });
    expect(house.disk.calls.get('write')).toBe(writes + 1);
    expect(house.sent.slice(-51).every((sent) => isAcknowledged(sent) && sent.answers === 1)).toBe(true);
  });

  const bounds: [string, HouseOptions, number, number][] = [
    ['entries', { batchEntriesMax: 4 }, 10, 3],
    ['entries, one by one', { batchEntriesMax: 1 }, 10, 10],
    // Each of these takes about 1.3 KB: a batch ends with the entry that brings it past its bound.
    ['bytes', { batchBytesMax: 3000 }, 9, 3],
    ['bytes, less than one entry has', { batchBytesMax: 1024 }, 9, 9],
    // Looked at when a batch begins, before its first entry and after each.
    ['time', { batchMsMax: 10, stopwatch: ticking(1) }, 27, 3],
    ['time, less than one entry takes', { batchMsMax: 10, stopwatch: ticking(15) }, 4, 4],
    ['none of these', {}, 500, 1],
  ];
  test('refusals, which the disk need not see, end a batch in time too, and others have their turn', async () => {
    const house = await open({ batchMsMax: 10, stopwatch: ticking(15) });
    house.create(Kind.wallet, { handle: 'w' });
    await house.quiet();
    const again = [1, 2, 3, 4].map(() => house.create(Kind.wallet, { handle: 'w' }));
    const answered = () => again.filter(({ answers }) => answers > 0).length;
    for (let n = 0; answered() === 0 && n < 10; n++) await turn();
    expect(answered()).toBe(1);
    await turn();
    expect(answered()).toBe(2);
    await house.quiet();
    expect(again.map(reasonOf)).toEqual(new Array(4).fill('record.duplicated'));
  });

  test.each(bounds)('a batch ends at its bound of %s', async (_name, options, count, batches) => {
    const house = await open(options);
    const before = house.engine.stats.batches;
    for (let n = 0; n < count; n++) {
      house.create(Kind.wallet, { handle: `w${n}`, custom: { text: 'x'.repeat(1000) } });
    }
    await house.quiet();
    expect(house.engine.stats.batches - before).toBe(batches);
    expect(house.sent.slice(-count).every(isAcknowledged)).toBe(true);
  });

  /** A house with intents that wait for a permission, set so by hand: a hundred, and a minute to wait. */
  async function waiting(options: HouseOptions): Promise<House> {
    const house = await open(options);
    for (let n = 0; n < 100; n++) {
      const claims = [transfer('a', 'b', 1)];
      house.create(Kind.intent, { handle: `m${n}`, claims, config: { commit: 'manual' } });
    }
    await house.quiet();
    const { open: underWay } = house.state;
    for (const [row, intent] of underWay) underWay.set(row, { ...intent, status: 'pending', isHolding: false });
    Object.assign(house.state.ledgers[1]!, { config: { 'intent.expiryThresholdMinutes': 1 } });
    house.world.now += 61_000;
    return house;
  }

  test.each([
    ['entries', { batchEntriesMax: 10 }, 10],
    ['bytes', { batchBytesMax: 3000 }, 9],
    ['time', { batchMsMax: 20, stopwatch: ticking(5) }, 20],
  ] as [string, HouseOptions, number][])(
    'a hundred intents that expire at once keep to the bound of %s',
    async (_n, options, least) => {
      const house = await waiting(options);
      const before = house.engine.stats.batches;
      house.engine.tick();
      const sent = house.create(Kind.wallet, { handle: 'new' });
      await house.quiet();
      expect(house.engine.stats.batches - before).toBeGreaterThanOrEqual(least);
      expect(house.state.open.size).toBe(0);
      expect(isAcknowledged(sent)).toBe(true);
    },
  );

  test('whoever asks for something meanwhile does not wait for all of them', async () => {
    let left = 0;
    const publish = (entries: readonly Entry[]) => {
      if (entries.some(({ handle }) => handle === 'new-4')) left = house.state.open.size;
    };
    const house = await waiting({ batchBytesMax: 3000, publish });
    house.engine.tick();
    for (let n = 0; n < 5; n++) house.create(Kind.wallet, { handle: `new-${n}` });
    await house.quiet();
    expect(left).toBeGreaterThan(50);
    expect(house.state.open.size).toBe(0);
  });

  test('what expires while a sync is under way waits for the next batch', async () => {
    const house = await waiting({});
    house.disk.holdSyncs();
    house.create(Kind.wallet, { handle: 'new' });
    await turns(2);
    house.engine.tick();
    await turns(2);
    expect(house.state.open.size).toBe(100);
    let isDrained = false;
    void house.engine.drained().then(() => {
      isDrained = true;
    });
    house.disk.releaseSyncs();
    await house.quiet();
    expect([house.state.open.size, isDrained]).toEqual([0, true]);
  });

  test('ten thousand refusals in batches of one end the same way', async () => {
    const house = await open({ batchEntriesMax: 1 });
    for (let n = 0; n < 10_000; n++) house.create(Kind.wallet, { handle: 'a', custom: { n } });
    await house.quiet();
    expect(house.sent.slice(-10_000).every((sent) => reasonOf(sent) === 'record.duplicated')).toBe(true);
    expect(house.fatals).toEqual([]);
  });
});
