/** What a running server does where the disk has changed what a start would read; see src/snapshots.ts. */
import { describe, expect, test } from 'vitest';
import type { MemorySizes } from '../../src/core/state.ts';
import { segmentSeq } from '../../src/storage/format.ts';
import { snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { filesOf } from '../storage/kit.ts';
import { DIRECTORY, House, recoverFrom } from './house.ts';
import { chance, freshWorld, live, SCRIPT } from './life.ts';

const path = (name: string) => `${DIRECTORY}/${name}`;

/** A house with a snapshot, with parts where memory grows in small pieces. */
async function standing(sizes?: MemorySizes): Promise<{ house: House; disk: FakeDisk; act: () => Promise<void> }> {
  const disk = new FakeDisk(1);
  const house = await House.open(disk, { world: freshWorld(), ...(sizes !== undefined && { sizes }) });
  await live(house, SCRIPT);
  await house.takeSnapshot();
  const act = chance(5);
  return {
    house,
    disk,
    async act() {
      for (let step = 0; step < 20; step++) act(house);
      await house.quiet();
    },
  };
}

/** Changes a byte of the segment in use, which a start would read. */
const flipInUse = ({ disk, journal }: House) => disk.flip(path(journal.end!.file), 700);

const FULL = { call: 'write', path: 'snapshot', code: 'ENOSPC' } as const;

test.each([0, 1, 2])(
  'the segment in use has changed: it is left at once, and a start reads the snapshot behind it, %i times',
  async (times) => {
    const { house, disk, act } = await standing();
    flipInUse(house);
    await house.kept.scrub!.round();
    await house.quiet();
    expect(house.snapshots, 'though nobody has written since').toBe(2);
    for (let n = 0; n < times; n++) await act();
    disk.crash();
    expect(recoverFrom(disk).state.log.length).toBe(house.state.log.length);
  },
);

test('it is found while a frame is on its way, which goes into it: the snapshot comes behind that', async () => {
  const { house, disk, act } = await standing();
  flipInUse(house);
  const acted = act();
  while (!house.engine.diskWait.isOn) await null;
  await house.kept.scrub!.round();
  await acted;
  expect(house.snapshots).toBe(2);
  disk.crash();
  expect(recoverFrom(disk).state.log.length).toBe(house.state.log.length);
});

test('another file in its place is left as it is, and ends the server: it is not this one that the books are of', async () => {
  const { house, disk } = await standing();
  const inUse = path(house.journal.end!.file);
  const bytes = Buffer.from(disk.bytesOf(inUse));
  bytes[700]! ^= 1;
  disk.unlink(inUse);
  disk.put(inUse, bytes);
  const before = filesOf(disk);
  await house.kept.scrub!.round();
  await house.quiet();
  expect(house.fatals).toEqual([expect.objectContaining({ name: 'LockLostError' })]);
  expect(filesOf(disk)).toEqual(before);
});

test('where the next cannot be begun all goes on in it, also where a snapshot cannot be taken then', async () => {
  const { house, disk, act } = await standing();
  const names = disk.readdir(DIRECTORY);
  flipInUse(house);
  disk.inject({ call: 'write', path: 'journal', code: 'ENOSPC' });
  await house.kept.scrub!.round();
  await house.quiet();
  expect(house.told.at(-1)).toMatch(/^No segment could be begun behind journal-\S+ \(ENOSPC/);
  expect(disk.readdir(DIRECTORY), 'nothing is left of it').toEqual(names);
  await act();
  await house.takeSnapshot();
  disk.inject(FULL);
  await house.takeSnapshot();
  expect(house.told.at(-1)).toMatch(/^No snapshot could be taken in the place of what has changed .*ENOSPC/);
  await house.kept.scrub!.round();
  await house.quiet();
  expect([house.snapshots, house.fatals]).toEqual([3, []]);
  disk.inject(FULL);
  await expect(house.takeSnapshot(), 'nothing needs it any more').rejects.toThrow('ENOSPC');
});

test('nor does a disk that does not tell, before a snapshot, whether the journal is as it was left', async () => {
  const { house, disk } = await standing();
  const newest = path(house.kept.newest!);
  disk.flip(newest, disk.bytesOf(newest).length >> 1);
  const file = house.journal.end!.file;
  const fail = () => disk.inject({ call: 'read', path: file, code: 'EIO' });
  fail();
  await expect(house.takeSnapshot()).rejects.toThrow('EIO');
  disk.inject(FULL);
  await house.kept.scrub!.round();
  await house.quiet();
  fail();
  await house.takeSnapshot();
  expect(house.told.at(-1)).toMatch(/^No snapshot could be taken in the place of what has changed .*EIO/);
  expect(house.fatals).toEqual([]);
});

test('a newest snapshot that has changed counts as kept no more, once and until another is in its place', async () => {
  const { house, disk, act } = await standing();
  await act();
  await house.takeSnapshot();
  const newest = path(house.kept.newest!);
  disk.put(newest, disk.bytesOf(newest).subarray(0, -1));
  disk.inject({ ...FULL, times: 2 });
  await house.kept.scrub!.round();
  await house.quiet();
  await house.kept.scrub!.round();
  await house.quiet();
  expect([house.fatals, house.told.filter((text) => text.startsWith('No snapshot')).length]).toEqual([[], 2]);
  await house.takeSnapshot();
  expect(path(house.kept.newest!), 'of the same entry, so in its place').toBe(newest);
  await act();
  await house.takeSnapshot();
  const kept = disk.readdir(DIRECTORY).filter((name) => name.endsWith('.ays'));
  expect(kept.map(path), 'it is one of the two that are kept').toEqual([newest, path(house.kept.newest!)]);
});

test('the header of a segment without a frame has changed: it is written again, and nothing has changed any more', async () => {
  const { house, disk } = await standing();
  flipInUse(house);
  await house.kept.scrub!.round();
  await house.quiet();
  const { file } = house.journal.end!;
  disk.flip(path(file), 30);
  await house.kept.scrub!.round();
  await house.quiet();
  expect(house.told.at(-1)).toContain(`${file} has changed on the disk`);
  expect(house.journal.end!.file).toBe(file);
  disk.inject(FULL);
  await expect(house.takeSnapshot()).rejects.toThrow('ENOSPC');
  disk.crash();
  expect(recoverFrom(disk).state.log.length).toBe(house.state.log.length);
});

// Nobody was told anything for as long as that lasted: who asked waited, and who had read waited too.
test('a disk that hangs while the next segment is begun is told of as one that hangs in a write', async () => {
  const { house, disk, act } = await standing();
  flipInUse(house);
  disk.holdSyncs();
  await house.kept.scrub!.round();
  const acted = act();
  for (let second = 0; second < 5; second++) house.engine.diskWait.look();
  expect(house.told.at(-1)).toMatch(/^The disk has not answered for /);
  expect(house.engine.isCutOff).toBe(true);
  disk.releaseSyncs();
  await acted;
  expect(house.told).toContainEqual(expect.stringMatching(/^The disk answers again, /));
  expect([house.engine.isCutOff, house.snapshots, house.fatals]).toEqual([false, 2, []]);
});

// The disk was full: the next snapshot that was due ended the server, which alone had the part's bytes.
test('as long as a part that has changed cannot be written anew no snapshot that fails ends the server', async () => {
  const { house, disk } = await standing({ chunkBytes: 4096, pageRows: 16 });
  const part = path(disk.readdir(DIRECTORY).find((name) => name.startsWith('part-'))!);
  const fail = () => disk.inject({ call: 'write', code: 'ENOSPC' });
  const round = () => house.kept.scrub!.round();
  disk.flip(part, 5);
  fail();
  await round();
  expect(house.told.at(-1)).toMatch(/cannot be written anew \(ENOSPC/);
  fail();
  await house.takeSnapshot();
  expect(house.told.at(-1)).toMatch(/^No snapshot could be taken in the place of what has changed .*ENOSPC/);
  await round();
  expect(house.told.at(-1)).toMatch(/is written anew/);
  fail();
  await expect(house.takeSnapshot(), 'nothing has changed any more').rejects.toThrow('ENOSPC');
});

// It had its length, so it was taken for whole; who had made room waited for the next look, a day maybe.
test('a part that could not be written anew is by the next snapshot, which a start reads', async () => {
  const { house, disk } = await standing({ chunkBytes: 4096, pageRows: 16 });
  const part = path(disk.readdir(DIRECTORY).find((name) => name.startsWith('part-'))!);
  const whole = Buffer.from(disk.bytesOf(part));
  disk.flip(part, 5);
  disk.inject({ call: 'write', code: 'ENOSPC' });
  await house.kept.scrub!.round();
  await house.takeSnapshot();
  expect(disk.bytesOf(part).equals(whole)).toBe(true);
  disk.inject({ call: 'write', code: 'ENOSPC' });
  await expect(house.takeSnapshot(), 'nothing has changed any more').rejects.toThrow('ENOSPC');
});

/** A house with two snapshots and entries behind them, which takes no more by itself: what lies there, and a segment that only the older needs. */
async function fallenBackOn() {
  const disk = new FakeDisk(1);
  const house = await House.open(disk, { world: freshWorld(), segmentBytesMax: 1000 });
  const step = chance(5);
  const act = async () => {
    for (let n = 0; n < 20; n++) step(house);
    await house.quiet();
  };
  await live(house, SCRIPT);
  await house.takeSnapshot();
  await act();
  await house.takeSnapshot();
  await act();
  const named = (kind: string) => disk.readdir(DIRECTORY).filter((name) => name.startsWith(kind));
  const snapshots = () => named('snapshot-');
  const [older, newest] = snapshots() as [string, string];
  const [spare, next] = named('journal-') as [string, string];
  expect(segmentSeq(next)).toBeLessThanOrEqual(snapshotSeq(newest) + 1);
  const round = async () => {
    await house.kept.scrub!.round();
    await house.quiet();
  };
  return { house, disk, act, round, snapshots, named, older, newest, spare };
}

const spoil = (disk: FakeDisk, name: string) => disk.flip(path(name), disk.bytesOf(path(name)).length >> 1);

describe.each(['the older snapshot', 'a segment that only that needs'])('%s has changed', (which) => {
  const isSnapshot = which === 'the older snapshot';

  test('that is told once, nothing is written for it, and it goes with the next snapshot', async () => {
    const { house, disk, act, round, snapshots, named, older, newest, spare } = await fallenBackOn();
    const file = isSnapshot ? older : spare;
    spoil(disk, file);
    const [before, told] = [filesOf(disk), house.told.length];
    for (let n = 0; n < 4; n++) await round();
    expect(house.told.slice(told)).toEqual([expect.stringContaining(`${file} has changed on the disk`)]);
    expect([house.lost, filesOf(disk)]).toEqual([isSnapshot ? [older] : [spare, older], before]);
    await act();
    await house.takeSnapshot();
    expect(snapshots()).toEqual([newest, house.kept.newest]);
    expect(named('journal-')).not.toContain(file);
    disk.crash();
    expect(recoverFrom(disk).state.log.length).toBe(house.state.log.length);
  });

  // It stood, so what is newer and of no use went; and with it all that the journal has behind it.
  test('of that, and of the newest, neither goes for the other', async () => {
    const { house, disk, act, round, snapshots, older, newest, spare } = await fallenBackOn();
    spoil(disk, isSnapshot ? older : spare);
    await round();
    const journal = () => disk.readdir(DIRECTORY).filter((name) => name.startsWith('journal-'));
    const segments = journal();
    spoil(disk, newest);
    await round();
    expect(house.snapshots).toBe(3);
    expect([snapshots(), journal()]).toEqual([[older, newest, house.kept.newest], segments]);
    const third = house.kept.newest;
    await act();
    await house.takeSnapshot();
    expect(snapshots()).toEqual([third, house.kept.newest]);
  });
});

test('the segment in use has changed, and is left: the snapshots before that cannot be gone on from, and it is told once', async () => {
  const { house, round, newest, named, snapshots } = await fallenBackOn();
  const before = [...named('journal-'), ...snapshots()];
  flipInUse(house);
  await round();
  const told = house.told.length;
  expect(house.kept.newest).not.toBe(newest);
  expect(house.lost).toEqual(before.filter((name) => house.disk.exists(path(name))));
  expect(house.lost).toContain(newest);
  for (let n = 0; n < 3; n++) await round();
  expect([house.told.length, house.snapshots, house.kept.scrub!.stats.changed]).toEqual([told, 3, 1]);
});

test('the segment in use was taken away: an idle server says so once, goes on, and leaves all as it is', async () => {
  const { house, disk, round } = await fallenBackOn();
  const { file } = house.journal.end!;
  disk.unlink(path(file));
  const before = filesOf(disk);
  for (let n = 0; n < 3; n++) await round();
  expect(house.told.filter((text) => text.includes('is gone from the directory')).length).toBe(1);
  expect([house.fatals, house.snapshots, filesOf(disk)]).toEqual([[], 2, before]);
});

// What counts was asked before it was written, which may take minutes: the one that had changed stood, and the whole one went.
test('the newest is found to have changed while the next is written: the one before it does not go for it', async () => {
  const { house, disk, act, snapshots, older, newest } = await fallenBackOn();
  await act();
  disk.holdSyncs();
  const taken = house.takeSnapshot();
  spoil(disk, newest);
  await house.kept.scrub!.round();
  expect(house.lost).toEqual([newest]);
  disk.releaseSyncs();
  await taken;
  expect(snapshots()).toContain(older);
  await house.quiet();
});

// What stood in the backup went for a snapshot of entries that it has not: a snapshot may take minutes.
test.each(['its name', 'what it makes superfluous'])(
  'a backup is put back while a snapshot is written, before %s: it stays as it is, and a start reads it',
  async (before) => {
    const { house, disk, act, named } = await fallenBackOn();
    const backup = [...named('journal-'), ...named('snapshot-'), ...named('part-')].map(
      (name) => [name, Buffer.from(disk.bytesOf(path(name)))] as const,
    );
    const entries = house.state.log.length;
    await act();
    const putBack = () => {
      for (const name of [...named('journal-'), ...named('snapshot-'), ...named('part-')]) disk.unlink(path(name));
      for (const [name, bytes] of backup) disk.put(path(name), bytes);
    };
    const { renameLater, readdir } = house.power;
    let isNamed = false;
    house.power.renameLater = (from, to, done) => {
      isNamed = to.includes('snapshot-');
      renameLater.call(house.power, from, to, done);
    };
    house.power.readdir = (directory) => {
      if (isNamed && before !== 'its name') putBack();
      isNamed = false;
      return readdir.call(house.power, directory);
    };
    if (before === 'its name') disk.holdSyncs();
    const taken = house.takeSnapshot().catch((error: Error) => error);
    if (before === 'its name') {
      putBack();
      disk.releaseSyncs();
    }
    expect(await taken).toMatchObject({ name: 'LockLostError' });
    for (const [name, bytes] of backup) expect(Buffer.from(disk.bytesOf(path(name))).equals(bytes), name).toBe(true);
    expect(disk.readdir(DIRECTORY).filter((name) => !name.startsWith('lock'))).toEqual(
      backup.map(([name]) => name).sort(),
    );
    expect(recoverFrom(disk).state.log.length).toBe(entries);
  },
);

test('the segment in use has changed, and is none that nobody needs while the next is begun behind it', async () => {
  const { house, disk } = await standing();
  const { file } = house.journal.end!;
  flipInUse(house);
  disk.holdSyncs();
  await house.kept.scrub!.round();
  while (disk.readdir(DIRECTORY).filter((name) => name.startsWith('journal-')).length < 2) await null;
  await house.kept.scrub!.round();
  expect([house.journal.end!.file, house.lost]).toEqual([file, []]);
  for (const text of house.told) expect(text).toContain('a start may not be able to read it');
  disk.releaseSyncs();
  await house.quiet();
  expect(house.lost).toEqual([file]);
});

// Its place was asked for a snapshot then, which ended the server, and with it all that had what the segment has.
test.each(['the newest snapshot', 'a part'])(
  'with the segment in use %s was taken away: nothing is written, and the server goes on',
  async (which) => {
    const { house, disk } = await standing({ chunkBytes: 4096, pageRows: 16 });
    const part = disk.readdir(DIRECTORY).find((name) => name.startsWith('part-'))!;
    disk.unlink(path(house.journal.end!.file));
    disk.unlink(path(which === 'a part' ? part : house.kept.newest!));
    const before = filesOf(disk);
    for (let n = 0; n < 3; n++) await house.kept.scrub!.round();
    await house.quiet();
    expect([house.fatals, house.snapshots, filesOf(disk)]).toEqual([[], 1, before]);
    expect(house.told).toEqual([expect.stringContaining('is gone from the directory')]);
  },
);

// Its bytes were held against the hash of the one that had been there: the disk was blamed, and one more taken.
test('one of the same entry is taken, with other bytes, while the newest is looked at: nothing has changed', async () => {
  const { house, disk, act } = await standing();
  const newest = path(house.kept.newest!);
  const one = Buffer.from(disk.bytesOf(newest));
  // What changes while it is written is in it twice.
  await Promise.all([house.takeSnapshot(), act()]);
  const other = Buffer.from(disk.bytesOf(newest));
  expect([path(house.kept.newest!), one.equals(other)]).toEqual([newest, false]);
  disk.put(newest, one);
  const { open } = house.power;
  let looks = 0;
  house.power.open = (...args) => {
    // Behind its foot, before its bytes.
    if (args[0] === newest && ++looks === 2) disk.put(newest, other);
    return open.apply(house.power, args);
  };
  await house.kept.scrub!.round();
  await house.quiet();
  expect(looks).toBeGreaterThan(2);
  expect([house.told, house.lost, house.snapshots]).toEqual([[], [], 2]);
});

// It was told again as missing, and a third snapshot taken for it.
test('a newest snapshot that has changed goes for the next one, and is told of no more while that is not done with', async () => {
  const { house, disk, act, round, snapshots, newest } = await fallenBackOn();
  await act();
  spoil(disk, newest);
  let rounds = 0;
  const { unlinkLater } = house.power;
  house.power.unlinkLater = (at, done) => {
    unlinkLater.call(house.power, at, (error) => {
      if (at !== path(newest) || rounds++ > 0) return done(error);
      void house.kept.scrub!.round().then(() => done(error));
    });
  };
  await round();
  expect([rounds, house.told.length, house.snapshots]).toEqual([1, 1, 3]);
  expect(snapshots()).not.toContain(newest);
});
