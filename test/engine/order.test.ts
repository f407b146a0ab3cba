/** Order enters in one place, time never goes back, and who was first stays first for ever. */
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import type { Submission } from '../../src/engine.ts';
import type { ProofJob, ProofPool } from '../../src/proof/pool.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { issue } from '../core/books.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { turn, turns } from '../support/turns.ts';
import { DIRECTORY, House, isAcknowledged, MAIN_LEDGER, NOON, reasonOf, recoverFrom } from './house.ts';

/** Every entry of the journal in order, and the moment of every frame. */
function journalOf(disk: FakeDisk): { entries: Entry[]; frames: number[] } {
  const entries: Entry[] = [];
  const frames: number[] = [];
  readJournal(disk, DIRECTORY, JOURNAL_START, {
    verifyFrame: () => true,
    onEntry: (entry) => entries.push(entry),
    onFrame: ({ moment }) => frames.push(moment),
  });
  return { entries, frames };
}

/** A pool that answers when a test says so. */
function heldPool() {
  const jobs: ProofJob[] = [];
  const pool = { submit: (job: ProofJob) => void jobs.push(job) } as unknown as ProofPool;
  const signatures = new Uint8Array(64);
  return { pool, jobs, finish: (n: number, bad = -1) => jobs[n]!.done({ error: null, bad, signatures }) };
}

const SEALS: Pick<Submission, 'seals'> = { seals: new Uint8Array(32) };

/** A house whose pool is held, once its ledger is there. */
async function heldHouse() {
  const disk = new FakeDisk();
  (await House.open(disk)).power.cut('kill');
  const { pool, jobs, finish } = heldPool();
  return { house: await House.open(disk, { pool }), disk, jobs, finish };
}

describe('commands whose signatures are verified out of order', () => {
  test.each([
    ['backwards', [4, 3, 2, 1, 0]],
    ['from the middle', [2, 0, 4, 1, 3]],
    ['the first one last', [1, 2, 3, 4, 0]],
  ])('%s: enter in the order they came', async (_name, order) => {
    const { house, disk, finish } = await heldHouse();
    for (let n = 0; n < 5; n++) house.submit(house.command(Kind.wallet, { handle: `w${n}` }), SEALS);
    for (const n of order) {
      finish(n);
      await turn();
    }
    await house.quiet();
    const handles = journalOf(disk).entries.map((entry) => entry.handle);
    expect(handles.slice(-5)).toEqual(['w0', 'w1', 'w2', 'w3', 'w4']);
  });

  test('one without signatures does not pass one that has some', async () => {
    const { house, disk, finish } = await heldHouse();
    house.submit(house.command(Kind.wallet, { handle: 'slow' }), SEALS);
    const quick = house.create(Kind.wallet, { handle: 'quick' });
    await turns(5);
    expect(quick.answers).toBe(0);
    finish(0);
    await house.quiet();
    expect(
      journalOf(disk)
        .entries.slice(-2)
        .map(({ handle }) => handle),
    ).toEqual(['slow', 'quick']);
  });

  test('of two with one handle the first to come wins, whoever is verified first', async () => {
    const { house, finish } = await heldHouse();
    const first = house.submit(house.command(Kind.wallet, { handle: 'w' }), SEALS);
    const second = house.submit(house.command(Kind.wallet, { handle: 'w', custom: { n: 2 } }), SEALS);
    finish(1);
    await turns(3);
    finish(0);
    await house.quiet();
    expect([reasonOf(first), reasonOf(second)]).toEqual(['', 'record.duplicated']);
  });

  test('a forged one among them is refused, and the others keep their order', async () => {
    const { house, disk, finish } = await heldHouse();
    const sent = ['x', 'forged', 'z'].map((handle) => house.submit(house.command(Kind.wallet, { handle }), SEALS));
    finish(2);
    finish(1, 0);
    await turn();
    finish(0);
    await house.quiet();
    expect(sent.map(reasonOf)).toEqual(['', 'crypto.signature-invalid', '']);
    expect(
      journalOf(disk)
        .entries.slice(-2)
        .map(({ handle }) => handle),
    ).toEqual(['x', 'z']);
  });

  test('the moments of entries and frames never go back', async () => {
    const { house, disk, finish } = await heldHouse();
    for (let n = 0; n < 6; n++) {
      house.world.now += [5, -3, 0, 10, -20, 1][n]!;
      house.submit(house.command(Kind.wallet, { handle: `w${n}` }), SEALS);
    }
    for (const n of [5, 1, 0, 2, 4, 3]) {
      finish(n);
      house.world.now -= 1;
      await turn();
    }
    await house.quiet();
    expectOnward(disk);
  });
});

function expectOnward(disk: FakeDisk): void {
  const { entries, frames } = journalOf(disk);
  const moments = entries.map(({ moment }) => moment);
  expect(moments).toEqual(moments.toSorted((a, b) => a - b));
  expect(frames).toEqual(frames.toSorted((a, b) => a - b));
}

describe('the clock', () => {
  const DAY = 86_400_000;
  const lives: [string, number[]][] = [
    ['stands still', [0, 0, 0, 0]],
    ['jumps back', [0, -1, -DAY, -365 * DAY]],
    ['jumps ahead and back again', [0, 365 * DAY, -365 * DAY, 1]],
    ['goes on', [1, 1000, DAY, 7]],
    ['shakes', [3, -2, 5, -7]],
  ];
  test.each(lives)('%s, also across restarts and behind a snapshot: moments go on', async (_name, jumps) => {
    const disk = new FakeDisk();
    const world = { now: NOON, made: 0 };
    for (let life = 0; life < 4; life++) {
      const house = await House.open(disk, { world, snapshotEvery: life === 2 ? 3 : 1000 });
      for (const [n, jump] of jumps.entries()) {
        world.now += jump;
        house.create(Kind.wallet, { handle: `w-${life}-${n}` });
        if (n % 2 === 0) await house.quiet();
      }
      await house.quiet();
      expect(house.sent.every(isAcknowledged)).toBe(true);
      if (life === 2) expect(house.snapshots).toBeGreaterThan(0);
      house.power.cut('kill');
      world.now += jumps[life]!;
    }
    expectOnward(disk);
  });

  test('before 1970 is none of these books: a balance of moment 0 is one that never had money, and the list of balances was empty', async () => {
    const disk = new FakeDisk();
    const world = { now: -DAY, made: 0 };
    const house = await House.open(disk, { world });
    expect(house.engine.now()).toBeGreaterThan(0);
    house.create(Kind.symbol, { handle: 'usd', factor: 100 });
    house.create(Kind.wallet, { handle: 'a' });
    house.intent('funds', issue('a', 1000));
    await house.quiet();
    const rowOf = (kind: Kind, handle: string) => findHandle(house.state, MAIN_LEDGER, kind, handle);
    const slot = house.state.balances.find(rowOf(Kind.wallet, 'a'), rowOf(Kind.symbol, 'usd'));
    expect(house.state.balances.moment(slot)).toBeGreaterThan(0);
    for (const { moment } of journalOf(disk).entries) expect(moment).toBeGreaterThan(0);
    // Nor is what was only said.
    world.now = -2 * DAY;
    expect(house.engine.now()).toBeGreaterThan(0);
    expectOnward(disk);
  });

  test('that was ahead while nothing was written is believed when it is right again: a word for a reader held all that came after for a year', async () => {
    const disk = new FakeDisk();
    const world = { now: NOON, made: 0 };
    const house = await House.open(disk, { world });
    house.create(Kind.wallet, { handle: 'a' });
    await house.quiet();
    world.now += 365 * DAY;
    expect(house.engine.now(), 'a read').toBe(world.now);
    const refused = house.create(Kind.wallet, { handle: 'a' });
    await house.quiet();
    expect(isAcknowledged(refused)).toBe(false);
    world.now -= 365 * DAY - 1;
    expect(house.engine.now()).toBe(NOON + 1);
    const later = house.create(Kind.wallet, { handle: 'b' });
    await house.quiet();
    expect(isAcknowledged(later)).toBe(true);
    expect(journalOf(disk).entries.at(-1)!.moment).toBe(NOON + 1);
    world.now = NOON - DAY;
    expect(house.engine.now(), 'but no earlier than the last entry').toBe(NOON + 1);
    expectOnward(disk);
  });

  test('that was ahead for a command that is still on its way: none behind it is earlier', async () => {
    const { house, disk, finish } = await heldHouse();
    const began = house.world.now;
    house.world.now += DAY;
    house.submit(house.command(Kind.wallet, { handle: 'ahead' }), SEALS);
    house.world.now -= DAY;
    house.submit(house.command(Kind.wallet, { handle: 'back' }), SEALS);
    finish(1);
    finish(0);
    await house.quiet();
    expect(journalOf(disk).entries.slice(-2)).toMatchObject([{ moment: began + DAY }, { moment: began + DAY }]);
    expectOnward(disk);
  });

  test('that went back over a restart does not bring yesterday’s limits back', async () => {
    const disk = new FakeDisk();
    const world = { now: NOON, made: 0 };
    const house = await House.open(disk, { world });
    const late = house.engine.now();
    house.create(Kind.wallet, { handle: 'a' });
    await house.quiet();
    house.power.cut('kill');
    world.now -= DAY;
    expect((await House.open(disk, { world })).engine.now()).toBe(late);
  });
});

describe('one handle twice', () => {
  test.each([
    ['the same bytes', { n: 1 }],
    ['other bytes', { n: 2 }],
  ])('in one batch, with %s: the first wins, and every later answer names it', async (_name, custom) => {
    const disk = new FakeDisk();
    const house = await House.open(disk);
    const first = house.create(Kind.wallet, { handle: 'w', custom: { n: 1 } });
    const second = house.create(Kind.wallet, { handle: 'w', custom });
    await house.quiet();
    expect(isAcknowledged(first)).toBe(true);
    expect(second.outcome).toMatchObject({ reason: 'record.duplicated', custom: { luid: first.command.luid } });

    const batchAfter = house.create(Kind.wallet, { handle: 'w', custom });
    await house.quiet();
    expect(batchAfter.outcome).toEqual(second.outcome);
    await house.takeSnapshot();
    for (const how of ['kill', 'power'] as const) {
      house.power.cut(how);
      const again = await House.open(disk);
      const later = again.create(Kind.wallet, { handle: 'w', custom });
      await again.quiet();
      expect(later.outcome).toEqual(second.outcome);
      again.power.cut(how);
    }
  });

  test('an intent that was rejected stays rejected, however often it is sent', async () => {
    const disk = new FakeDisk();
    let house = await House.open(disk);
    house.create(Kind.symbol, { handle: 'usd', factor: 100 });
    const first = house.intent('i', issue('nobody', 1));
    await house.quiet();
    // Now it could be cleared. It is decided.
    house.create(Kind.wallet, { handle: 'nobody' });
    const answers = [];
    for (let n = 0; n < 3; n++) {
      const again = house.intent('i', issue('nobody', 1));
      await house.quiet();
      answers.push(again.outcome);
      expect(house.read(Kind.intent, 'i')!.status).toBe('rejected');
      expect(house.balance('nobody')).toBe(0);
      house.power.cut('power');
      house = await House.open(disk);
    }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ reason: 'record.duplicated', custom: { luid: first.command.luid } });
  });

  test('handles are told apart by kind', async () => {
    const house = await House.open(new FakeDisk());
    const sent = [Kind.wallet, Kind.symbol, Kind.circle].map((kind) => house.create(kind, { handle: 'x', factor: 1 }));
    await house.quiet();
    expect(sent.every(isAcknowledged)).toBe(true);
  });

  test('a handle dropped and taken again in one batch is the new one’s, and old luids find nothing', async () => {
    const disk = new FakeDisk();
    const house = await House.open(disk);
    const first = house.create(Kind.wallet, { handle: 'w', custom: { n: 1 } });
    await house.quiet();
    const dropped = house.drop(Kind.wallet, 'w');
    const second = house.create(Kind.wallet, { handle: 'w', custom: { n: 2 } });
    const again = house.submit(dropped.command);
    await house.quiet();
    expect([dropped, second, again].map(reasonOf)).toEqual(['', '', 'record.not-found']);
    const after = recoverFrom(disk).state;
    expect(differencesOf(house.state, after)).toEqual([]);
    expect(house.read(Kind.wallet, 'w')!.entry.luid).toBe(second.command.luid);
    expect(first.command.luid).not.toBe(second.command.luid);
    expect(isRefusal(again.outcome!)).toBe(true);
  });
});
