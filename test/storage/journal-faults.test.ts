/** A journal that cannot be written on, or whose segment others have changed: nothing more of it is acknowledged. */
import { describe, expect, test } from 'vitest';
import { JOURNAL_START, Journal } from '../../src/storage/journal.ts';
import { LockLostError } from '../../src/storage/lock.ts';
import { turn } from '../support/turns.ts';
import type { FakeDisk, Fault } from './fake-disk.ts';
import {
  commit,
  DIRECTORY,
  entriesFrom,
  freshDisk,
  JOURNAL_OPTIONS,
  readFrames,
  recover,
  withCalls,
  writeFrames,
} from './kit.ts';

describe('a failed write is final', () => {
  const faults: [string, Fault][] = [
    ['ENOSPC on write', { call: 'write', code: 'ENOSPC' }],
    ['EIO on write', { call: 'write', code: 'EIO' }],
    ['ENOSPC after a part was written', { call: 'write', code: 'ENOSPC', skip: 1 }],
    ['a write that takes nothing', { call: 'write', short: 0 }],
    ['EIO on sync', { call: 'sync', code: 'EIO' }],
    ['ENOSPC on sync', { call: 'sync', code: 'ENOSPC' }],
    ['EROFS on open of a new segment', { call: 'open', code: 'EROFS' }],
    ['ENOSPC on open of a new segment', { call: 'open', code: 'ENOSPC' }],
    ['EIO on close of the full segment', { call: 'close', code: 'EIO' }],
    ['EIO on sync of the directory', { call: 'syncDirectory', code: 'EIO' }],
  ];

  test.each(faults)('%s: reported once, every later commit refused, no second sync', async (name, fault) => {
    const disk = freshDisk();
    const rotates = /segment|directory/.test(name);
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, {
      ...JOURNAL_OPTIONS,
      segmentBytesMax: rotates ? 1 : 1 << 20,
    });
    const next = entriesFrom(1);
    journal.add(next());
    await commit(journal, 1);
    if (fault.skip !== undefined) disk.inject({ call: 'write', short: 100 });
    disk.inject(fault.skip === undefined ? fault : { ...fault, skip: 0 });
    let reports = 0;
    journal.add(next());
    const error = await new Promise<Error | null>((resolve) =>
      journal.commit(2, (result) => {
        reports += 1;
        resolve(result);
      }),
    );
    expect(error).toBeInstanceOf(Error);
    expect(journal.position.seq).toBe(1);
    const syncs = disk.calls.get('sync');
    const writes = disk.calls.get('write');
    disk.heal();
    journal.add(next());
    await expect(commit(journal, 3)).rejects.toBe(error);
    await expect(commit(journal, 4)).rejects.toBe(error);
    expect([reports, disk.calls.get('sync'), disk.calls.get('write')]).toEqual([1, syncs, writes]);
    await journal.close();
  });

  test('what a failed sync left is decided by reading again, and the journal goes on', async () => {
    for (let seed = 1; seed <= 50; seed++) {
      const disk = freshDisk(seed);
      const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
      const next = entriesFrom(seed);
      journal.add(next());
      await commit(journal, 1);
      disk.inject({ call: 'sync', code: 'EIO' });
      for (let count = 0; count < 20; count++) journal.add(next());
      await expect(commit(journal, 2)).rejects.toThrow('EIO');
      disk.crash();
      const { position } = recover(disk);
      expect([1, 21]).toContain(position.seq);
      await writeFrames(disk, [2], {}, position);
      expect(readFrames(disk).position.seq).toBe(position.seq + 2);
    }
  });

  test('done comes after commit returned, also where writing fails at once', async () => {
    for (const fault of [null, { call: 'write', code: 'EIO' }, { call: 'open', code: 'EROFS' }] as (Fault | null)[]) {
      const disk = freshDisk();
      const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
      journal.add(entriesFrom(1)());
      if (fault !== null) disk.inject(fault);
      let returned = false;
      const done = new Promise<boolean>((resolve) => journal.commit(1, () => resolve(returned)));
      returned = true;
      expect(await done).toBe(true);
    }
  });

  // Blocks are gathered in memory first, of which there may be no more. Of the first frame of a segment nobody caught it.
  test.each([
    ['first', 0],
    ['second', 1],
  ])('a sync that cannot be begun is told too, once, of the %s frame of a segment', async (_, before) => {
    const disk = freshDisk();
    let isBroken = false;
    const open: FakeDisk['open'] = (path, mode) => {
      const file = disk.open(path, mode);
      const syncLater: typeof file.syncLater = (done) => {
        if (isBroken) throw new RangeError('no memory');
        file.syncLater(done);
      };
      return { ...file, syncLater };
    };
    const journal = Journal.open(withCalls(disk, { open }), DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
    const next = entriesFrom(1);
    for (let moment = 1; moment <= before; moment++) {
      journal.add(next());
      await commit(journal, moment);
    }
    isBroken = true;
    const told: (Error | null)[] = [];
    journal.add(next());
    journal.commit(2, (error) => told.push(error));
    expect(told).toEqual([]);
    await turn();
    expect(told).toEqual([new RangeError('no memory')]);
    isBroken = false;
    journal.add(next());
    await expect(commit(journal, 3)).rejects.toBe(told[0]);
    await journal.close();
    expect(told).toHaveLength(1);
  });

  test('a signer that fails is final too', async () => {
    const sign = () => {
      throw new Error('no key');
    };
    const journal = Journal.open(freshDisk(), DIRECTORY, JOURNAL_START, { ...JOURNAL_OPTIONS, sign });
    journal.add(entriesFrom(1)());
    await expect(commit(journal, 1)).rejects.toThrow('no key');
    await expect(commit(journal, 1)).rejects.toThrow('no key');
  });
});

// What was written after it lay in a file without a name, or behind a hole, and was acknowledged.
describe('others have changed the segment under a server that writes to it', () => {
  const changes: Record<string, (bytes: Buffer) => Buffer | null> = {
    'it was removed': () => null,
    'a copy was put in its place': (bytes) => bytes,
    'it was cut': (bytes) => bytes.subarray(0, -1),
    'it was made longer': (bytes) => Buffer.concat([bytes, Buffer.alloc(1)]),
  };
  /** A journal with a frame, of which the change has been made: to the file itself, where it is one of its length. */
  async function changed(name: string, room: number) {
    const disk = freshDisk();
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, { ...JOURNAL_OPTIONS, reserveBytes: room });
    const next = entriesFrom(1);
    journal.add(next());
    await commit(journal, 1);
    const path = `${DIRECTORY}/${readFrames(disk).position.file}`;
    const change = () => {
      const before = disk.bytesOf(path);
      const after = changes[name]!(before);
      if (after === null || after.length === before.length) disk.put(path, after);
      else {
        const file = disk.open(path, 'write');
        file.truncate(after.length);
        file.close();
      }
    };
    return { disk, path, journal, next, change };
  }
  const each = Object.keys(changes).flatMap((name) => [0, 10_000].map((room) => [name, room] as const));

  test.each(each)('%s (room %i): nothing is acknowledged', async (name, room) => {
    const { journal, next, change } = await changed(name, room);
    change();
    for (let tries = 0; tries < 2; tries++) {
      journal.add(next());
      await expect(commit(journal, 1)).rejects.toBeInstanceOf(LockLostError);
    }
    expect(journal.position.seq).toBe(1);
    await journal.close();
  });

  test.each(each.filter(([name]) => !name.includes('longer')))(
    '%s (room %i) while a frame is synced',
    async (name, room) => {
      const { disk, journal, next, change } = await changed(name, room);
      journal.add(next());
      disk.holdSyncs();
      const done = commit(journal, 1);
      change();
      disk.releaseSyncs();
      await expect(done).rejects.toBeInstanceOf(LockLostError);
    },
  );

  test.each([0, 10_000])('by a longer one (room %i): a stop cuts nothing off it', async (room) => {
    const { disk, path, journal, change } = await changed('it was made longer', room);
    change();
    const length = disk.bytesOf(path).length;
    await expect(journal.close()).rejects.toBeInstanceOf(LockLostError);
    expect(disk.bytesOf(path)).toHaveLength(length);
  });

  test('of a disk that does not tell, it is told as that', async () => {
    const { disk, journal, next } = await changed('it was removed', 10_000);
    journal.add(next());
    disk.holdSyncs();
    const done = commit(journal, 1);
    disk.inject({ call: 'read', code: 'EIO' });
    disk.releaseSyncs();
    await expect(done).rejects.toThrow('EIO');
  });

  test.each([1, 2, 3, 4])(
    'its own growth, by room in whole blocks or not, is nobody else’s (disk %i)',
    async (seed) => {
      const disk = freshDisk(seed);
      for (const reserveBytes of [1, 3000, 4096, 5001]) {
        const directory = `${DIRECTORY}/${reserveBytes}`;
        disk.mkdir(directory);
        const options = { ...JOURNAL_OPTIONS, segmentBytesMax: 30_000, reserveBytes };
        const journal = Journal.open(disk, directory, JOURNAL_START, options);
        const next = entriesFrom(1);
        for (let index = 0; index < 100; index++) {
          journal.add(next());
          await commit(journal, 1);
        }
        await journal.close();
      }
    },
  );

  // The file ends with whole blocks only where it grew by them: what came from elsewhere, or was cut, has any length.
  test.each([1, 2])('zeros of any length that it found it may fill, with its last block (disk %i)', async (seed) => {
    for (let zeros = 100; zeros < 5000; zeros += 700) {
      const disk = freshDisk(seed);
      await writeFrames(disk, [1]);
      const { file, byte } = readFrames(disk).position;
      const path = `${DIRECTORY}/${file}`;
      disk.put(path, Buffer.concat([disk.bytesOf(path).subarray(0, byte), Buffer.alloc(zeros)]));
      const { position } = readFrames(disk);
      const options = { ...JOURNAL_OPTIONS, reserveBytes: 10_000 };
      const journal = Journal.open(disk, DIRECTORY, position, options);
      const next = entriesFrom(position.seq + 1);
      for (let index = 0; index < 20; index++) {
        journal.add(next());
        await commit(journal, 1);
      }
      await journal.close();
      expect(readFrames(disk).position.seq).toBe(21);
    }
  });

  test('it is not asked for its length around frames that leave that as it is: each would make the next write dear', async () => {
    const disk = freshDisk();
    let asked = 0;
    const open = disk.open.bind(disk);
    disk.open = (path, mode) => {
      const file = open(path, mode);
      const size = () => {
        asked += 1;
        return file.size();
      };
      return { ...file, size };
    };
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, { ...JOURNAL_OPTIONS, reserveBytes: 1_000_000 });
    const next = entriesFrom(1);
    const commits = async (count: number) => {
      for (let index = 0; index < count; index++) {
        journal.add(next());
        await commit(journal, 1);
      }
    };
    await commits(1);
    expect(asked).toBeGreaterThan(0);
    asked = 0;
    await commits(50);
    expect(asked).toBe(0);
  });
});
