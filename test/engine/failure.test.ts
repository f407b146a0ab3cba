/** A disk that fails is final: nothing is acknowledged after it, everybody is told, and the books are read again. */
import { describe, expect, test } from 'vitest';
import type { CreateCommand } from '../../src/core/command.ts';
import { Kind } from '../../src/core/kinds.ts';
import { AssertionError } from '../../src/core/refusal.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { issue, transfer } from '../core/books.ts';
import { FakeDisk, type Fault } from '../storage/fake-disk.ts';
import { turns } from '../support/turns.ts';
import { DIRECTORY, House, type HouseOptions, isAcknowledged, reasonOf, recoverFrom, type Sent } from './house.ts';
import { entriesOf, keyOf } from './view.ts';

async function open(options: HouseOptions = {}, disk = new FakeDisk()): Promise<House> {
  const house = await House.open(disk, options);
  house.create(Kind.symbol, { handle: 'usd', factor: 100 });
  for (const handle of ['a', 'b']) house.create(Kind.wallet, { handle });
  house.intent('funds', issue('a', 1000));
  await house.quiet();
  return house;
}

/** The faults of one commit: what fails, and the codes it fails with. Room for later frames may be missing, so twice. */
const FAULTS: [string, Fault, HouseOptions?][] = [
  ['write: the disk is full', { call: 'write', code: 'ENOSPC', times: 2 }],
  ['write: input/output error', { call: 'write', code: 'EIO' }],
  ['write: read-only', { call: 'write', code: 'EROFS' }],
  ['write: short, then full', { call: 'write', short: 100 }],
  ['write: takes nothing', { call: 'write', short: 0, times: 2 }],
  ['sync fails once, then works', { call: 'sync', code: 'EIO' }],
  ['sync of a full disk', { call: 'sync', code: 'ENOSPC' }],
  ['open of the next segment', { call: 'open', code: 'EMFILE' }, { segmentBytesMax: 1 }],
  ['close of the segment before', { call: 'close', code: 'EIO' }, { segmentBytesMax: 1 }],
  ['sync of the directory with the new segment', { call: 'syncDirectory', code: 'EIO' }, { segmentBytesMax: 1 }],
];

/** By way of the page cache, and past it. */
const SEEDS = [1, 2];
const CASES = SEEDS.flatMap((seed) => FAULTS.map(([name, fault, options = {}]) => ({ name, seed, fault, options })));

describe.each(CASES)('$name, on disk $seed', ({ name, seed, fault, options }) => {
  /** A house that met the fault while ten commands were on their way, and ten more at the door behind them. */
  async function broken(): Promise<{ house: House; before: Sent[]; after: Sent[]; heard: unknown[] }> {
    const house = await open(options, new FakeDisk(seed));
    const before = [...house.sent];
    house.disk.inject(fault);
    if (fault.short === 100) house.disk.inject({ ...fault, short: -1, code: 'ENOSPC', times: 2 });
    for (let n = 0; n < 10; n++) house.create(Kind.wallet, { handle: `w${n}` });
    const heard: unknown[] = [];
    queueMicrotask(() => queueMicrotask(() => house.engine.whenDurable((failure) => heard.push(failure))));
    for (let n = 10; n < 20; n++) house.submitSigned(house.command(Kind.wallet, { handle: `w${n}` }));
    await house.quiet();
    await turns(3);
    return { house, before, after: house.sent.slice(before.length), heard };
  }

  test('nothing is acknowledged, everybody is told once, the process ends once', async () => {
    const { house, after } = await broken();
    for (const sent of after) expect([reasonOf(sent), sent.answers], name).toEqual(['api.unexpected-error', 1]);
    expect(house.fatals).toHaveLength(1);
    expect(house.engine.isFailed).toBe(true);
  });

  test('whoever waits to read, or comes later, is refused', async () => {
    const { house, heard } = await broken();
    house.engine.whenDurable((failure) => heard.push(failure));
    expect(heard).toHaveLength(2);
    for (const failure of heard) expect(failure).toMatchObject({ reason: 'api.unexpected-error' });
    expect(house.engine.overload()).toMatchObject({ reason: 'api.unexpected-error' });
    const late = house.create(Kind.wallet, { handle: 'late' });
    await turns(3);
    expect([reasonOf(late), late.answers]).toEqual(['api.unexpected-error', 1]);
    expect(house.fatals).toHaveLength(1);
  });

  test('no sync is tried again', async () => {
    const { house } = await broken();
    const { calls } = house.disk;
    const [syncs, writes] = [calls.get('sync'), calls.get('write')];
    for (let n = 0; n < 5; n++) house.create(Kind.wallet, { handle: `late${n}` });
    await turns(5);
    expect([calls.get('sync'), calls.get('write')]).toEqual([syncs, writes]);
  });

  test.each(['kill', 'power'] as const)('after it and %s the books have what was acknowledged', async (how) => {
    const { house, before, after } = await broken();
    house.power.cut(how);
    house.disk.heal();
    const again = await House.open(house.disk, options);
    const present = new Set(entriesOf(again.state).map(keyOf));
    for (const { command } of before) expect(present.has(keyOf(command)), keyOf(command)).toBe(true);
    const survived = after.filter(({ command }) => present.has(keyOf(command))).length;
    expect([0, 10], 'a frame is there whole or not at all').toContain(survived);
    expect(again.balance('a')).toBe(1000);
    const fresh = again.create(Kind.wallet, { handle: 'fresh' });
    await again.quiet();
    expect(isAcknowledged(fresh)).toBe(true);
    expect(differencesOf(again.state, recoverFrom(house.disk).state)).toEqual([]);
  });
});

describe('whoever waits to read', () => {
  test('while the sync that fails is under way is refused, once', async () => {
    const house = await open();
    house.disk.holdSyncs();
    house.create(Kind.wallet, { handle: 'w' });
    await turns(2);
    const heard: unknown[] = [];
    house.engine.whenDurable((failure) => heard.push(failure));
    house.disk.inject({ call: 'sync', code: 'EIO' });
    house.disk.releaseSyncs();
    await turns(3);
    expect(heard).toMatchObject([{ reason: 'api.unexpected-error' }]);
  });
});

describe('a short write that goes on', () => {
  test('is no failure', async () => {
    const house = await open();
    house.disk.inject({ call: 'write', short: 10, times: 3 });
    const sent = house.intent('move', transfer('a', 'b', 1));
    await house.quiet();
    expect(isAcknowledged(sent)).toBe(true);
    expect(differencesOf(house.state, recoverFrom(house.disk).state)).toEqual([]);
  });
});

describe('a failure beside a batch that is being synced', () => {
  async function failing(): Promise<{ house: House; sent: Sent }> {
    let fail = (_error: Error) => {};
    const snapshot = () => new Promise<void>((_resolve, reject) => (fail = reject));
    const house = await open({ snapshotEvery: 7, snapshot });
    house.create(Kind.wallet, { handle: 'c' });
    await turns(3);
    house.disk.holdSyncs();
    const sent = house.create(Kind.wallet, { handle: 'd' });
    await turns(3);
    fail(new Error('ENOSPC: no space left on device'));
    await turns(3);
    return { house, sent };
  }

  test('tells those in that batch too', async () => {
    const { house, sent } = await failing();
    expect([reasonOf(sent), sent.answers]).toEqual(['api.unexpected-error', 1]);
    expect(house.fatals).toHaveLength(1);
  });

  test.each(['goes well', 'fails too'])('acknowledges nothing when that sync %s', async (end) => {
    const { house, sent } = await failing();
    if (end === 'fails too') house.disk.inject({ call: 'sync', code: 'EIO' });
    house.disk.releaseSyncs();
    await turns(3);
    expect([reasonOf(sent), sent.answers]).toEqual(['api.unexpected-error', 1]);
    expect(house.fatals).toHaveLength(1);
  });
});

describe('a defect of ours in the middle of a batch', () => {
  const journalOf = (house: House) => house.disk.bytesOf(`${DIRECTORY}/${house.disk.readdir(DIRECTORY).at(-1)!}`);

  test('where a command is decided refuses that one alone: nothing has begun, and it would end the server for all', async () => {
    const house = await open();
    const good = house.create(Kind.wallet, { handle: 'good' });
    // No door lets a wallet in that has no handle.
    const bad = house.create(Kind.wallet, {});
    const later = house.create(Kind.wallet, { handle: 'later' });
    await turns(5);
    expect([good, bad, later].map(reasonOf)).toEqual(['', 'api.unexpected-error', '']);
    expect(house.defects).toEqual([expect.any(TypeError)]);
    expect(house.fatals).toEqual([]);
    expect(['good', 'later'].map((handle) => house.read(Kind.wallet, handle) !== null)).toEqual([true, true]);
  });

  const assertion = new AssertionError('of the books');
  test.each<[string, Partial<CreateCommand>]>([
    ['below which nothing can be refused', { hash: new Uint8Array(31) }],
    [
      'that says the books may be wrong',
      {
        value: {
          get handle(): string {
            throw assertion;
          },
        },
      },
    ],
  ])('%s stops before anything of the batch is written', async (_, flaw) => {
    const house = await open();
    const before = journalOf(house);
    const good = house.create(Kind.wallet, { handle: 'good' });
    const bad = house.submit({ ...house.command(Kind.wallet, { handle: 'bad' }), ...flaw });
    const later = house.create(Kind.wallet, { handle: 'later' });
    await turns(5);
    for (const sent of [good, bad, later]) {
      expect([reasonOf(sent), sent.answers]).toEqual(['api.unexpected-error', 1]);
    }
    expect(house.fatals).toHaveLength(1);
    expect(house.defects).toEqual([]);
    expect(journalOf(house)).toEqual(before);
  });
});
