/**
 * The power goes, or the process, at every point of a scripted life and of lives by chance. Acknowledged is there,
 * refused is not, unanswered is one or the other and stays so; the books read again are the books that were live.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { transfer } from '../core/books.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { filesOf, withCalls } from '../storage/kit.ts';
import { Dice } from '../support/dice.ts';
import { atPlaces, often } from '../support/long.ts';
import { turns } from '../support/turns.ts';
import { DIRECTORY, House, type HouseOptions, isAcknowledged, reasonOf, recoverFrom } from './house.ts';
import { chance, checkReplay, freshWorld, Ledger, live, lived, openOrNull, restart, SCRIPT } from './life.ts';

/** Small segments and early snapshots, so that a short life meets them all. */
const DENSE: HouseOptions = { segmentBytesMax: 1500, snapshotEvery: 12 };
const PLAIN: HouseOptions = {};

/** Disk calls of a whole scripted life. */
async function callsOf(options: HouseOptions, waits: boolean): Promise<number> {
  const house = await House.open(new FakeDisk(), options);
  await live(house, SCRIPT, waits);
  expect(house.fatals).toEqual([]);
  return house.power.count;
}

/** A life whose power goes at one call, and what becomes of it. */
async function cutLife(seed: number, cutAt: number, options: HouseOptions, waits: boolean): Promise<void> {
  const disk = new FakeDisk(seed);
  const ledger = new Ledger();
  const world = freshWorld();
  const first = await openOrNull(disk, { ...options, world, cutAt });
  if (first !== null) {
    await live(first, SCRIPT, waits);
    ledger.remember(first);
    first.power.cut();
  }
  const second = await restart(disk, ledger, { ...options, world });
  await live(second, SCRIPT, waits);
  ledger.remember(second);
  ledger.check(second.state);
  checkReplay(second);
  second.power.cut();
  const third = await restart(disk, ledger, { ...options, world });
  third.power.cut('kill');
}

describe('the power goes at every call of the disk', () => {
  test.each([
    ['a plain life, step by step', PLAIN, true, 8],
    ['a plain life in a hurry', PLAIN, false, 8],
    // Most of these are reads and writes of snapshots, which snapshot-faults.test.ts cuts one by one.
    ['a life with snapshots and small segments', DENSE, true, 24],
    ['the same in a hurry', DENSE, false, 24],
  ])('%s', async (_name, options, waits, stride) => {
    const calls = await callsOf(options, waits);
    expect(calls).toBeGreaterThan(20);
    await atPlaces(1, calls, stride, (cutAt) => cutLife(cutAt, cutAt, options, waits));
  });

  test('and again at every call of the recovery from it', async () => {
    const options = DENSE;
    const calls = await callsOf(options, true);
    for (const share of [0.4, 0.7, 0.95]) {
      await atPlaces(1, 24, 8, async (second) => {
        const disk = new FakeDisk(second);
        const ledger = new Ledger();
        const world = freshWorld();
        const first = await House.open(disk, { ...options, world, cutAt: Math.floor(calls * share) });
        await live(first, SCRIPT, false);
        ledger.remember(first);
        first.power.cut();
        const house = await restart(disk, ledger, { ...options, world, cutAt: second });
        checkReplay(house);
      });
    }
  });
});

describe('a frame that a killed process left in the page cache only', () => {
  test('is there for good once the next process has answered by it', async () => {
    for (let seed = 0; seed < 20; seed++) {
      const disk = new FakeDisk(seed);
      const first = await House.open(disk);
      disk.holdSyncs();
      const sent = first.create(Kind.wallet, { handle: 'w' });
      await turns(3);
      first.power.cut('kill');
      expect(sent.answers).toBe(0);
      disk.releaseSyncs();
      const second = await House.open(disk);
      expect(second.read(Kind.wallet, 'w')).not.toBeNull();
      second.power.cut('power');
      expect((await House.open(disk)).read(Kind.wallet, 'w'), `seed ${seed}`).not.toBeNull();
    }
  });
});

describe('a byte of the last frame that changes on the disk', () => {
  const SEGMENT = `${DIRECTORY}/journal-00000000000000000001.ayj`;

  /** A house whose last frame was acknowledged, its journal, and where in it that frame begins. */
  async function withLastFrame() {
    const house = await House.open(new FakeDisk());
    await live(house, SCRIPT.slice(0, 3));
    const from = recoverFrom(house.disk).end.byte;
    house.create(Kind.wallet, { handle: 'last' });
    await house.quiet();
    return { house, from, to: recoverFrom(house.disk).end.byte, whole: house.disk.bytesOf(SEGMENT) };
  }

  test('is put back as the signature proves it was: what was acknowledged stays', async () => {
    const { house, from, to, whole } = await withLastFrame();
    expect(to, 'there is room behind it').toBeLessThan(whole.length);
    await atPlaces(from, to - 1, 8, async (byte) => {
      const changed = Buffer.from(whole);
      changed[byte]! ^= 1 + (byte % 255);
      house.disk.put(SEGMENT, changed);
      const { state, notes } = recoverFrom(house.disk);
      expect(notes).toEqual([expect.stringContaining(`Byte ${byte} of journal-00000000000000000001.ayj`)]);
      expect(differencesOf(state, house.state)).toEqual([]);
      expect(house.disk.bytesOf(SEGMENT).equals(whole)).toBe(true);
      house.disk.crash();
      expect(house.disk.bytesOf(SEGMENT).equals(whole), 'it is on the device').toBe(true);
    });
  });

  test('also where the newest snapshot is of that very frame: no server started on them, two changed bytes end the start', async () => {
    const { house, from, to, whole } = await withLastFrame();
    await house.takeSnapshot();
    await atPlaces(from, to - 1, 8, async (byte) => {
      const changed = Buffer.from(whole);
      changed[byte]! ^= 1 + (byte % 255);
      house.disk.put(SEGMENT, changed);
      const { state, entries, notes } = recoverFrom(house.disk);
      expect(notes).toEqual([
        expect.stringContaining(`Byte ${byte} of journal-00000000000000000001.ayj, in the last frame`),
        expect.stringContaining('Read the snapshot after entry'),
      ]);
      expect([entries, differencesOf(state, house.state)]).toEqual([0, []]);
      expect(house.disk.bytesOf(SEGMENT).equals(whole)).toBe(true);
    });
    for (const places of [[from + 90, from + 200], [from - 10]]) {
      const changed = Buffer.from(whole);
      for (const byte of places) changed[byte]! ^= 4;
      house.disk.put(SEGMENT, changed);
      expect(() => recoverFrom(house.disk)).toThrow(/damaged at byte/);
      expect(house.disk.bytesOf(SEGMENT).equals(changed), 'nothing is changed').toBe(true);
    }
  });

  test('or behind it, among the zeros, is put back too', async () => {
    const { house, to, whole } = await withLastFrame();
    for (const byte of [to, to + 1, whole.length - 1]) {
      const changed = Buffer.from(whole);
      changed[byte]! ^= 1 + (byte % 255);
      house.disk.put(SEGMENT, changed);
      const { state, notes } = recoverFrom(house.disk);
      expect(notes).toEqual([expect.stringContaining(`Byte ${byte} of journal-00000000000000000001.ayj, behind`)]);
      expect(differencesOf(state, house.state)).toEqual([]);
      expect(house.disk.bytesOf(SEGMENT).equals(whole)).toBe(true);
    }
  });

  test('with something behind it that was left of the next write, is put back, and only that is cut or put back', async () => {
    const { house, from, to, whole } = await withLastFrame();
    const noise = Buffer.alloc(30, 0xa5);
    expect(whole.length - to).toBeGreaterThan(noise.length);
    for (const [left, told] of [
      [noise, `^Cut a torn tail of ${whole.length - to} bytes`],
      [noise.subarray(0, 1), `^Byte ${whole.length - 1} of .*, behind the last frame`],
    ] as const) {
      const changed = Buffer.from(whole);
      changed[from + 90]! ^= 4;
      left.copy(changed, whole.length - left.length);
      house.disk.put(SEGMENT, changed);
      const { state, notes } = recoverFrom(house.disk);
      expect(differencesOf(state, house.state)).toEqual([]);
      const put = expect.stringMatching(`^Byte ${from + 90} of .*, in the last frame`);
      expect(notes).toEqual([put, expect.stringMatching(told)]);
      expect(house.disk.bytesOf(SEGMENT).subarray(0, to).equals(whole.subarray(0, to))).toBe(true);
    }
  });

  test('in an older frame that the disk has brought back: the tail is torn, and nothing is put back', async () => {
    const { house, from, to, whole } = await withLastFrame();
    const older = Buffer.from(whole.subarray(from, to));
    house.create(Kind.wallet, { handle: 'after' });
    await house.quiet();
    const { end } = recoverFrom(house.disk);
    const behind = Buffer.concat([house.disk.bytesOf(SEGMENT).subarray(0, end.byte), older]);
    behind[end.byte + 100]! ^= 4;
    house.disk.put(SEGMENT, behind);
    const { state, notes } = recoverFrom(house.disk);
    // One signature in sixteen ends with a zero, which looks like the room behind a frame.
    const bytes = older.findLastIndex((byte) => byte !== 0) + 1;
    expect(notes).toEqual([expect.stringContaining(`Cut a torn tail of ${bytes} bytes`)]);
    expect(differencesOf(state, house.state)).toEqual([]);
  });

  test('where it cannot be put back, ends the start, and where two have changed the tail is torn', async () => {
    const { house, from, whole } = await withLastFrame();
    const changed = Buffer.from(whole);
    changed[from + 90]! ^= 4;
    house.disk.put(SEGMENT, changed);
    house.disk.inject({ call: 'sync', code: 'EIO' });
    expect(() => recoverFrom(house.disk)).toThrow('EIO');
    house.disk.put(SEGMENT, changed);
    // A disk that takes what is written, and keeps what it had.
    const deaf = withCalls(house.disk, {
      open: (path, mode) => ({ ...house.disk.open(path, mode), write: (_, begin, end) => end - begin }),
    });
    const damage = { file: SEGMENT, byte: from + 90, what: 'a byte that cannot be put back' };
    expect(() => recoverFrom(deaf)).toThrow(expect.objectContaining(damage));
    changed[from + 200]! ^= 1;
    house.disk.put(SEGMENT, changed);
    const { state, notes } = recoverFrom(house.disk);
    expect(notes).toEqual([expect.stringContaining('Cut a torn tail')]);
    expect(differencesOf(state, house.state)).not.toEqual([]);
  });
});

describe('a frame whose sync failed, and that the next process finds in the page cache', () => {
  test.each([1 << 20, 100])(
    'is there for good once that has answered by it, in segments of %i bytes',
    async (segmentBytesMax) => {
      for (let seed = 0; seed < 20; seed++) {
        const disk = new FakeDisk(seed);
        const first = await House.open(disk, { segmentBytesMax });
        disk.inject({ call: 'sync', path: 'journal', code: 'EIO' });
        const sent = first.create(Kind.wallet, { handle: 'w' });
        await first.quiet();
        first.power.cut('kill');
        expect(reasonOf(sent)).toBe('api.unexpected-error');
        const second = await House.open(disk, { segmentBytesMax });
        expect(second.read(Kind.wallet, 'w')).not.toBeNull();
        second.create(Kind.wallet, { handle: 'x' });
        await second.quiet();
        second.power.cut('power');
        const third = await House.open(disk, { segmentBytesMax });
        expect(third.read(Kind.wallet, 'w'), `seed ${seed}`).not.toBeNull();
        expect(third.read(Kind.wallet, 'x'), `seed ${seed}`).not.toBeNull();
      }
    },
  );
});

describe('the end comes after each step of a script', () => {
  test.each(['power', 'kill'] as const)('%s', async (how) => {
    for (let steps = 0; steps <= SCRIPT.length; steps++) {
      const disk = new FakeDisk(steps);
      const ledger = new Ledger();
      const house = await House.open(disk);
      await live(house, SCRIPT.slice(0, steps));
      checkReplay(house);
      ledger.remember(house);
      house.power.cut(how);
      const again = await restart(disk, ledger);
      await live(again, SCRIPT.slice(steps));
      ledger.remember(again);
      ledger.check(again.state);
      checkReplay(again);
    }
  });

  test('a whole script without any end acknowledges all but what must be refused', async () => {
    const house = await House.open(new FakeDisk());
    await live(house, SCRIPT);
    const refused = house.sent.filter((sent) => !isAcknowledged(sent));
    expect(refused.map(({ outcome }) => (outcome as { reason: string }).reason)).toEqual([
      'crypto.signature-invalid',
      'record.duplicated',
      'record.duplicated',
    ]);
    expect([house.balance('a'), house.balance('b'), house.balance('c')]).toEqual([973, 22, 2]);
  });
});

/** Lives by chance: up to six processes on one disk, each ended by chance at some call or in the middle of a step. */
async function randomLife(seed: number): Promise<void> {
  const dice = new Dice(seed);
  const later = dice.chance(0.5);
  const disk = new FakeDisk(seed, later ? (run) => void setImmediate(run) : queueMicrotask);
  const ledger = new Ledger();
  const world = freshWorld();
  const act = chance(seed + 1);
  for (let life = 0; life < 6; life++) {
    const options: HouseOptions = {
      world,
      segmentBytesMax: dice.chance(0.5) ? 1 << 20 : 2000,
      snapshotEvery: dice.chance(0.5) ? 1e9 : 5 + dice.below(40),
      batchEntriesMax: dice.chance(0.3) ? 2 : 1000,
      ...(dice.chance(0.6) ? { cutAt: 20 + dice.below(300) } : {}),
    };
    const house = await restart(disk, ledger, options);
    for (let step = dice.below(30); step > 0 && !house.power.isOff; step--) {
      act(house);
      if (dice.chance(0.3)) await house.quiet();
      else await turns(1);
    }
    if (dice.chance(0.5)) {
      await house.quiet();
      if (!house.power.isOff) checkReplay(house);
    }
    ledger.remember(house);
    house.power.cut(dice.chance(0.7) ? 'power' : 'kill');
  }
  const last = await restart(disk, ledger, { world });
  checkReplay(last);
}

test('books that were put back, and are not on the device yet, are there before anything stands on them', async () => {
  for (const shape of ['whole', 'pruned'] as const) {
    const lives = await lived(shape);
    for (let seed = 1; seed <= 5; seed++) {
      const disk = new FakeDisk(seed);
      disk.mkdir(DIRECTORY);
      // As `cp` does it.
      for (const [name, bytes] of filesOf(lives.disk)) {
        const file = disk.open(join(DIRECTORY, name), 'create');
        file.write(bytes, 0, bytes.length, 0);
        file.close();
      }
      const house = await House.open(disk, { world: { ...lives.world }, segmentBytesMax: 900 });
      const ledger = new Ledger();
      await live(house, [(each) => each.intent('on-them', transfer('a', 'b', 1))]);
      ledger.remember(house);
      house.power.cut();
      const again = await restart(disk, ledger);
      expect(differencesOf(again.state, house.state), `${shape}, seed ${seed}`).toEqual([]);
    }
  }
});

describe('lives by chance', () => {
  test.each(Array.from({ length: often(5, 100) }, (_, n) => n))('seed %i', randomLife);
});
