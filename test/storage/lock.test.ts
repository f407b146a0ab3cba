import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type Disk, realDisk } from '../../src/storage/disk.ts';
import { whileHeld } from '../../src/storage/held-disk.ts';
import { acquireLock, LockError, LockedError, LockLostError } from '../../src/storage/lock.ts';
import { startText } from '../../src/trouble.ts';
import { freshDirectory } from '../support/directory.ts';
import type { FakeDisk } from './fake-disk.ts';
import { DIRECTORY, freshDisk } from './kit.ts';

const stat = (pid: number, state: string, start: number) =>
  Buffer.from(`${pid} (a (strange) name) ${state} 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ${start} 1000 10\n`);

/** A machine with /proc: processes come and go by `put`. */
function machine(): FakeDisk {
  const disk = freshDisk();
  disk.put('/proc/sys/kernel/random/boot_id', Buffer.from('boot-1\n'));
  for (const pid of [10, 11, 12]) disk.put(`/proc/${pid}/stat`, stat(pid, 'S', 100 + pid));
  return disk;
}

test.each(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])(
  'where the file system has no hard links (%s) that is told: rights were to be set, or the disk mended',
  (code) => {
    const disk = machine();
    disk.inject({ call: 'link', code });
    let error: unknown;
    try {
      acquireLock(disk, DIRECTORY, { pid: 10 });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(LockError);
    expect(startText(error as Error, DIRECTORY)).toMatch(new RegExp(`^${DIRECTORY} .*hard links.*${code}.*--data$`));
    expect(disk.readdir(DIRECTORY)).toEqual([]);
  },
);

describe('what was written to become a lock, and was left there', () => {
  const OFFER = /^lock\.[0-9a-f]{16}\.tmp$/;
  const offersIn = (disk: FakeDisk) => disk.readdir(DIRECTORY).filter((name) => OFFER.test(name));

  /** A start that could not take its offer away, by a process that is gone since. */
  function left(): FakeDisk {
    const disk = machine();
    disk.inject({ call: 'unlink', path: '.tmp', code: 'EIO' });
    expect(() => acquireLock(disk, DIRECTORY, { pid: 10 })).toThrow('EIO');
    expect(offersIn(disk)).toHaveLength(1);
    disk.put('/proc/10/stat', null);
    return disk;
  }

  test('by a device that failed goes with the next lock: it stayed for good', () => {
    const disk = left();
    acquireLock(disk, DIRECTORY, { pid: 11 });
    expect(disk.readdir(DIRECTORY)).toEqual(['lock-0000000002']);
    expect(() => acquireLock(disk, DIRECTORY, { pid: 12 })).toThrow('process 11');
  });

  test('stops no start where it cannot be taken away, and goes with a later one', () => {
    const disk = left();
    disk.inject({ call: 'unlink', path: offersIn(disk)[0]!, code: 'EIO' });
    acquireLock(disk, DIRECTORY, { pid: 11 }).release();
    expect(offersIn(disk)).toHaveLength(1);
    acquireLock(disk, DIRECTORY, { pid: 12 });
    expect(offersIn(disk)).toEqual([]);
  });

  test('stays where it may be of a start that is under way: of a process that runs, or not written yet', () => {
    const disk = left();
    disk.put('/proc/10/stat', stat(10, 'S', 110));
    disk.put(`${DIRECTORY}/lock-0000000001`, Buffer.from(''));
    disk.put(`${DIRECTORY}/lock.0123456789abcdef.tmp`, Buffer.from(''));
    acquireLock(disk, DIRECTORY, { pid: 11 });
    expect(offersIn(disk)).toHaveLength(2);
  });

  test.each(['before it is made a lock', 'after'])(
    'is made anew where one that does not see this process took it away %s',
    (when) => {
      const disk = machine();
      const link = disk.link.bind(disk);
      let links = 0;
      disk.link = (from, to) => {
        links++;
        if (links === 1 && when !== 'after') disk.unlink(from);
        link(from, to);
        if (links === 1) disk.unlink(from);
      };
      const lock = acquireLock(disk, DIRECTORY, { pid: 10 });
      lock.check();
      expect(disk.readdir(DIRECTORY)).toEqual(['lock-0000000001']);
      expect(links).toBe(when === 'after' ? 1 : 2);
    },
  );
});

describe('a lock', () => {
  test('is held against everyone else, also this process, until released', () => {
    const disk = machine();
    const lock = acquireLock(disk, DIRECTORY, { pid: 10 });
    for (const pid of [10, 11]) {
      expect(() => acquireLock(disk, DIRECTORY, { pid })).toThrow(LockedError);
      expect(() => acquireLock(disk, DIRECTORY, { pid })).toThrow(/\/books is in use by process 10;/);
    }
    lock.release();
    lock.release();
    const next = acquireLock(disk, DIRECTORY, { pid: 11 });
    lock.release();
    expect(() => acquireLock(disk, DIRECTORY, { pid: 12 })).toThrow('process 11');
    next.release();
  });

  test.each([
    ['is gone', null, 'boot-1'],
    ['is a zombie', stat(10, 'Z', 110), 'boot-1'],
    ['is dead', stat(10, 'X', 110), 'boot-1'],
    ['gave its pid to another', stat(10, 'R', 999), 'boot-1'],
    ['ran before the machine was started again', stat(10, 'S', 110), 'boot-2'],
  ])('left by a process that %s does not stop a start', (_name, content, boot) => {
    const disk = machine();
    acquireLock(disk, DIRECTORY, { pid: 10 });
    disk.put('/proc/10/stat', content);
    disk.put('/proc/sys/kernel/random/boot_id', Buffer.from(boot));
    acquireLock(disk, DIRECTORY, { pid: 11 });
    expect(() => acquireLock(disk, DIRECTORY, { pid: 12 })).toThrow('process 11');
    expect(disk.readdir(DIRECTORY)).toHaveLength(1);
  });

  test('of the last number there is: which file it is; a stack was shown, of a lock that changes hands', () => {
    const disk = machine();
    disk.put(`${DIRECTORY}/lock-9999999998`, Buffer.from(''));
    acquireLock(disk, DIRECTORY, { pid: 10 }).release();
    const names = disk.readdir(DIRECTORY);
    expect(names).toEqual(['lock-9999999999']);
    let told = '';
    try {
      acquireLock(disk, DIRECTORY, { pid: 11 });
    } catch (error) {
      told = startText(error as Error, DIRECTORY);
    }
    expect(told).toBe(
      `${DIRECTORY}/lock-9999999999 has the last number a lock can have; take it away, if no server runs on ${DIRECTORY}`,
    );
    expect(disk.readdir(DIRECTORY)).toEqual(names);
  });

  test.each(['', '{', 'null', '[]', '{"pid":"10"}', '\0\0\0\0'])(
    'whose text was lost (%j) does not stop a start',
    (text) => {
      const disk = machine();
      disk.put(`${DIRECTORY}/lock-0000000001`, Buffer.from(text));
      acquireLock(disk, DIRECTORY, { pid: 10 });
      expect(() => acquireLock(disk, DIRECTORY, { pid: 11 })).toThrow('process 10');
    },
  );

  test.each([
    ['open', 'lock-', 'it cannot be opened'],
    ['read', 'lock-', 'it cannot be read'],
    ['open', '/proc/10/stat', 'its process cannot be looked at'],
  ] as const)('of which nobody can tell (%s %s: %s) is not taken for one that nobody holds', (call, path, _what) => {
    const disk = machine();
    acquireLock(disk, DIRECTORY, { pid: 10 });
    disk.inject({ call, path, code: 'EIO' });
    expect(() => acquireLock(disk, DIRECTORY, { pid: 11 })).toThrow('EIO');
    expect(disk.readdir(DIRECTORY)).toEqual(['lock-0000000001']);
    expect(() => acquireLock(disk, DIRECTORY, { pid: 11 })).toThrow('process 10');
  });

  test('is let go on a full disk, and a start that finds no room for its own leaves nothing', () => {
    const disk = machine();
    const lock = acquireLock(disk, DIRECTORY, { pid: 10 });
    disk.inject({ call: 'write', code: 'ENOSPC', times: 2 });
    lock.release();
    expect(() => acquireLock(disk, DIRECTORY, { pid: 11 })).toThrow('ENOSPC');
    expect(() => acquireLock(disk, DIRECTORY, { pid: 11 })).toThrow('ENOSPC');
    expect(disk.readdir(DIRECTORY)).toEqual(['lock-0000000001']);
    acquireLock(disk, DIRECTORY, { pid: 11 });
    expect(() => acquireLock(disk, DIRECTORY, { pid: 12 })).toThrow('process 11');
  });

  test('is not kept by who cannot take the one before away: that holds, and is seen, as it was', () => {
    const disk = machine();
    const first = acquireLock(disk, DIRECTORY, { pid: 10 });
    disk.put('/proc/10/stat', null);
    disk.inject({ call: 'unlink', path: 'lock-', code: 'EIO' });
    expect(() => acquireLock(disk, DIRECTORY, { pid: 11 })).toThrow('EIO');
    disk.put('/proc/11/stat', null);
    disk.put('/proc/10/stat', stat(10, 'S', 110));
    expect(() => first.check()).not.toThrow();
    expect(() => acquireLock(disk, DIRECTORY, { pid: 12 })).toThrow('process 10');
  });

  test('where there is no /proc asks whether the process runs', () => {
    const disk = freshDisk();
    let running = true;
    const isRunning = () => running;
    acquireLock(disk, DIRECTORY, { pid: 10, isRunning });
    const refused = () => acquireLock(disk, DIRECTORY, { pid: 11, isRunning });
    expect(refused).toThrow('process 10');
    // Of one that has the number since nobody could know what to do: to stop it was all that was said.
    expect(refused).toThrow(`then remove ${join(DIRECTORY, 'lock-0000000001')}`);
    running = false;
    acquireLock(disk, DIRECTORY, { pid: 11, isRunning });
  });

  test('where there is no /proc is not held by who had the same number before: in a container a start found itself, after a kill, for ever', () => {
    const disk = freshDisk();
    const [pid, isRunning] = [1, () => true];
    for (const start of ['', 'that of another']) {
      const left = { pid, start, boot: '' };
      disk.put(join(DIRECTORY, 'lock-0000000001'), Buffer.from(JSON.stringify(left)));
      acquireLock(disk, DIRECTORY, { pid, isRunning }).release();
    }
    acquireLock(disk, DIRECTORY, { pid, isRunning });
    expect(() => acquireLock(disk, DIRECTORY, { pid, isRunning })).toThrow('process 1;');
  });

  test('where there is no /proc is held by a process that the system knows, also where it is another user’s', () => {
    const asked: unknown[][] = [];
    const kill = vi.spyOn(process, 'kill');
    onTestFinished(() => kill.mockRestore());
    const answers = (code: string) =>
      kill.mockImplementation((...call) => {
        asked.push(call);
        if (code !== '') throw Object.assign(new Error(code), { code });
        return true;
      });
    const disk = freshDisk();
    acquireLock(disk, DIRECTORY, { pid: 10 });
    for (const code of ['', 'EPERM']) {
      answers(code);
      expect(() => acquireLock(disk, DIRECTORY, { pid: 11 }), code).toThrow('process 10');
    }
    answers('ESRCH');
    acquireLock(disk, DIRECTORY, { pid: 11 });
    // A signal that is none.
    expect(asked).toEqual([1, 2, 3].map(() => [10, 0]));
  });

  test('that others take each time, somebody is told of in the end', () => {
    const disk = machine();
    disk.inject({ call: 'link', code: 'EEXIST', times: 1000 });
    expect(() => acquireLock(disk, DIRECTORY, { pid: 10 })).toThrow(LockError);
    expect(disk.readdir(DIRECTORY)).toEqual([]);
  });

  test('that the disk refuses is no lock', () => {
    for (const [call, code] of [
      ['open', 'EROFS'],
      ['write', 'ENOSPC'],
      ['link', 'EIO'],
      ['readdir', 'EIO'],
    ] as const) {
      const disk = machine();
      disk.inject({ call, code, path: 'books' });
      let told: unknown;
      try {
        acquireLock(disk, DIRECTORY, { pid: 10 });
      } catch (error) {
        told = error;
      }
      expect(told).toMatchObject({ code });
    }
  });
});

describe('a copy of a directory while its server runs', () => {
  const COPY = '/copy';

  /** A machine on which a server runs, and its lock file. */
  function locked() {
    const disk = machine();
    acquireLock(disk, DIRECTORY, { pid: 10 });
    return { disk, bytes: disk.bytesOf(`${DIRECTORY}/lock-0000000001`) };
  }

  test('has a lock that nobody holds: it was told to be in use by the process on the first', () => {
    const { disk, bytes } = locked();
    disk.put(`${COPY}/lock-0000000001`, bytes);
    acquireLock(disk, COPY, { pid: 11 });
    expect(() => acquireLock(disk, COPY, { pid: 12 })).toThrow('/copy is in use by process 11');
    expect(() => acquireLock(disk, DIRECTORY, { pid: 12 })).toThrow('process 10');
  });

  test('is no other name of the directory, as a mount is: there the lock holds', () => {
    const { disk } = locked();
    disk.mkdir(COPY);
    disk.link(`${DIRECTORY}/lock-0000000001`, `${COPY}/lock-0000000001`);
    expect(() => acquireLock(disk, COPY, { pid: 11 })).toThrow('process 10');
  });

  test('in the place of the first is taken for the first, and a lock of an earlier version for one of its directory', () => {
    const { disk, bytes } = locked();
    disk.put(`${DIRECTORY}/lock-0000000001`, bytes);
    expect(() => acquireLock(disk, DIRECTORY, { pid: 11 })).toThrow('process 10');
    const { of: _, file: __, ...earlier } = JSON.parse(bytes.toString());
    disk.put(`${COPY}/lock-0000000001`, Buffer.from(JSON.stringify(earlier)));
    expect(() => acquireLock(disk, COPY, { pid: 11 })).toThrow('process 10');
  });
});

test('a copy put in the place of a directory while its server runs: the lock is lost, though it has its name and its text', () => {
  const disk = machine();
  const lock = acquireLock(disk, DIRECTORY, { pid: 10 });
  expect(() => lock.check()).not.toThrow();
  const path = `${DIRECTORY}/lock-0000000001`;
  const bytes = disk.bytesOf(path);
  disk.unlink(path);
  disk.put(path, bytes);
  expect(() => lock.check()).toThrow(LockLostError);
  expect(() => lock.release()).toThrow(LockLostError);
  expect(disk.bytesOf(path)).toEqual(bytes);
});

test('on the real disk a copy in the place of a directory, however soon: what it took is given to no other file', () => {
  const directory = freshDirectory();
  const lock = acquireLock(realDisk, directory);
  const path = join(directory, 'lock-0000000001');
  const bytes = readFileSync(path);
  // A file system gives a number that is free again to the next file that is made.
  for (let round = 0; round < 10; round++) {
    rmSync(path);
    writeFileSync(path, bytes);
    expect(() => lock.check()).toThrow(LockLostError);
  }
});

// The lock names it: where a server was killed none started again, since the lock was longer than was read.
test('on the real disk a directory with a long path, of what JSON writes as six bytes each: its lock is read', () => {
  const directory = join(freshDirectory(), ...Array<string>(15).fill('\u0001'.repeat(250)));
  realDisk.mkdir(directory);
  acquireLock(realDisk, directory, { pid: 2 ** 22 + 1 });
  acquireLock(realDisk, directory);
  expect(realDisk.readdir(directory)).toEqual(['lock-0000000002']);
  expect(() => acquireLock(realDisk, directory)).toThrow(LockedError);
});

describe('a lock that is taken from a process that runs, because it cannot be seen', () => {
  const path = `${DIRECTORY}/file`;

  test('as soon as it is made, before it is opened: it is not had', () => {
    const disk = machine();
    const open = disk.open.bind(disk);
    disk.open = (asked, mode) => {
      if (asked.endsWith('lock-0000000001')) {
        disk.put('/proc/10/stat', null);
        disk.open = open;
        acquireLock(disk, DIRECTORY, { pid: 11 });
      }
      return open(asked, mode);
    };
    expect(() => acquireLock(disk, DIRECTORY, { pid: 10 })).toThrow(LockLostError);
    expect(disk.readdir(DIRECTORY)).toEqual(['lock-0000000002']);
  });

  test('as soon as it is made, while it is looked at: it is not had, and not for ever held', () => {
    const disk = machine();
    const identity = disk.identity.bind(disk);
    disk.identity = (asked) => {
      if (asked.endsWith('lock-0000000001')) {
        disk.put('/proc/10/stat', null);
        disk.identity = identity;
        acquireLock(disk, DIRECTORY, { pid: 11 });
      }
      return identity(asked);
    };
    expect(() => acquireLock(disk, DIRECTORY, { pid: 10 })).toThrow(LockLostError);
    expect(disk.readdir(DIRECTORY)).toEqual(['lock-0000000002']);
  });

  function taken() {
    const disk = machine();
    const lock = acquireLock(disk, DIRECTORY, { pid: 10 });
    const held = whileHeld(disk, lock);
    const file = held.open(path, 'create');
    file.write(Buffer.from('mine'), 0, 4, 0);
    file.sync();
    held.syncDirectory(DIRECTORY);
    disk.put('/proc/10/stat', null);
    acquireLock(disk, DIRECTORY, { pid: 11 });
    return { disk, lock, held, file };
  }

  const later = (start: (done: (error: Error | null) => void) => void) =>
    new Promise<Error | null>((resolve) => {
      let hasReturned = false;
      start((error) => resolve(hasReturned ? error : new Error('told before it returned')));
      hasReturned = true;
    });

  test('is lost: it changes nothing any more', async () => {
    const { disk, lock, held, file } = taken();
    const bytes = Buffer.from('more');
    for (const change of [
      () => file.write(bytes, 0, 4, 0),
      () => file.truncate(0),
      () => held.open(`${DIRECTORY}/other`, 'create'),
      () => held.rename(path, `${path}-2`),
      () => held.link(path, `${path}-2`),
      () => held.unlink(path),
      () => held.mkdir(`${DIRECTORY}/more`),
      () => held.rmdir(DIRECTORY),
      () => lock.release(),
    ]) {
      expect(change, String(change)).toThrow(LockLostError);
    }
    expect(await later((done) => file.writeLater(bytes, 0, 4, 0, done))).toBeInstanceOf(LockLostError);
    expect(await later((done) => held.unlinkLater(path, done))).toBeInstanceOf(LockLostError);
    expect(await later((done) => held.renameLater(path, `${path}-2`, done))).toBeInstanceOf(LockLostError);
    expect(disk.bytesOf(path).toString()).toBe('mine');
    expect(disk.readdir(DIRECTORY)).toEqual(['file', 'lock-0000000002']);
    expect(disk.bytesOf(`${DIRECTORY}/lock-0000000002`).toString()).toContain('"pid":11');
  });

  test('makes no sync count: who has it now may have read before', async () => {
    const { held, file } = taken();
    expect(() => file.sync()).toThrow(LockLostError);
    expect(() => held.syncDirectory(DIRECTORY)).toThrow(LockLostError);
    expect(await later((done) => file.syncLater(done))).toBeInstanceOf(LockLostError);
    expect(await later((done) => held.syncDirectoryLater(DIRECTORY, done))).toBeInstanceOf(LockLostError);
  });

  test('in the middle of a sync: that does not count either', async () => {
    const disk = machine();
    const lock = acquireLock(disk, DIRECTORY, { pid: 10 });
    const file = whileHeld(disk, lock).open(path, 'create');
    disk.holdSyncs();
    const synced = later((done) => file.syncLater(done));
    disk.put('/proc/10/stat', null);
    acquireLock(disk, DIRECTORY, { pid: 11 });
    disk.releaseSyncs();
    expect(await synced).toBeInstanceOf(LockLostError);
  });

  test('in the middle of a read, or of making or cutting a file: what waits for it goes no further', async () => {
    const disk = machine();
    const held = whileHeld(disk, acquireLock(disk, DIRECTORY, { pid: 10 }));
    const file = held.open(path, 'create');
    const ends = [
      later((done) => file.readLater(new Uint8Array(1), 0, 1, 0, (error) => done(error))),
      later((done) => file.truncateLater(0, done)),
      later((done) => held.createLater(`${path}-2`, done)),
    ];
    disk.put('/proc/10/stat', null);
    acquireLock(disk, DIRECTORY, { pid: 11 });
    ends.push(
      later((done) => file.truncateLater(0, done)),
      later((done) => held.createLater(`${path}-3`, done)),
    );
    for (const end of await Promise.all(ends)) expect(end).toBeInstanceOf(LockLostError);
    expect(disk.exists(`${path}-3`)).toBe(false);
  });

  test('in the middle of a write past the page cache, of a removal, or of a renaming: told as that, however it ended', async () => {
    const disk = freshDisk(2);
    const lock = acquireLock(disk, DIRECTORY, { pid: 10, isRunning: () => false });
    const held = whileHeld(disk, lock);
    const names = ['written', 'failed', 'removed', 'renamed'].map((name) => join(DIRECTORY, name));
    for (const name of names) held.open(name, 'create').close();
    const block = new Uint8Array(4096);
    const files = names.map((name) => held.openSynced(name)!);
    const write = (n: number) =>
      later((done) => files[n]!.writeLater(block, 0, block.length, 0, (error) => done(error)));
    expect(await write(0)).toBeNull();
    disk.inject({ call: 'sync', path: 'failed', code: 'EIO' });
    const ends = [write(0), write(1), later((done) => held.unlinkLater(names[2]!, done))];
    ends.push(later((done) => held.renameLater(names[3]!, `${path}-2`, done)));
    disk.unlink(names[2]!);
    acquireLock(disk, DIRECTORY, { pid: 11, isRunning: () => false });
    expect(() => held.openSynced(names[0]!)).toThrow(LockLostError);
    ends.push(write(0));
    for (const end of await Promise.all(ends)) expect(end).toBeInstanceOf(LockLostError);
  });

  test('while it is held, all goes through', async () => {
    const disk = machine();
    const lock = acquireLock(disk, DIRECTORY, { pid: 10 });
    const held = whileHeld(disk, lock);
    const file = held.open(path, 'create');
    const bytes = Buffer.from('more');
    expect(await later((done) => file.writeLater(bytes, 0, 4, 0, done))).toBeNull();
    expect(await later((done) => file.syncLater(done))).toBeNull();
    file.write(bytes, 0, 2, 4);
    expect(disk.isDurable(path)).toBe(false);
    file.sync();
    held.syncDirectory(DIRECTORY);
    expect(disk.isDurable(path), 'a sync here is one of the disk').toBe(true);
    expect(held.openSynced(path), 'the disk knows none').toBeNull();
    held.rename(path, `${path}-2`);
    expect(await later((done) => held.renameLater(`${path}-2`, `${path}-3`, done))).toBeNull();
    expect(await later((done) => held.syncDirectoryLater(DIRECTORY, done))).toBeNull();
    expect(await later((done) => held.unlinkLater(`${path}-3`, done))).toBeNull();
    lock.release();
    expect(() => lock.check()).not.toThrow();
  });
});

/**
 * A disk that, before its n-th call on the directory, lets something else happen: two processes racing,
 * one of them stopped at every point in turn.
 */
function interrupted(disk: Disk, at: number, happen: () => void): Disk {
  let calls = 0;
  const step = () => {
    if (++calls === at) happen();
  };
  return {
    ...disk,
    exists: (path) => disk.exists(path),
    identity: (path) => disk.identity(path),
    open: (path, mode) => {
      if (path.startsWith(DIRECTORY)) step();
      return disk.open(path, mode);
    },
    readdir: (path) => {
      step();
      return disk.readdir(path);
    },
    link: (from, to) => {
      step();
      disk.link(from, to);
    },
    unlink: (path) => {
      step();
      disk.unlink(path);
    },
    rename: (from, to) => {
      step();
      disk.rename(from, to);
    },
  };
}

describe('of two that race for it exactly one wins', () => {
  const takes = (disk: Disk, pid: number) => {
    try {
      return acquireLock(disk, DIRECTORY, { pid });
    } catch (error) {
      expect(error).toBeInstanceOf(LockedError);
      return null;
    }
  };

  test.each([
    ['no lock', () => {}],
    [
      'a dead lock',
      (disk: FakeDisk) => {
        acquireLock(disk, DIRECTORY, { pid: 10 });
        disk.put('/proc/10/stat', null);
      },
    ],
    ['a free lock', (disk: FakeDisk) => acquireLock(disk, DIRECTORY, { pid: 10 }).release()],
  ])('over %s, whenever the other comes', (_name, prepare) => {
    for (let at = 1; at < 15; at++) {
      const disk = machine();
      prepare(disk);
      let other: unknown = null;
      const mine = takes(
        interrupted(disk, at, () => {
          other = takes(disk, 11);
        }),
        12,
      );
      expect(
        [mine, other].filter((lock) => lock !== null),
        `at ${at}`,
      ).toHaveLength(mine === null || other === null ? 1 : 0);
      expect(() => acquireLock(disk, DIRECTORY, { pid: 12 })).toThrow(LockedError);
    }
  });

  test('also where others take and release it in between', () => {
    for (let at = 1; at < 15; at++) {
      const disk = machine();
      acquireLock(disk, DIRECTORY, { pid: 10 });
      disk.put('/proc/10/stat', null);
      let other: unknown = null;
      const mine = takes(
        interrupted(disk, at, () => {
          takes(disk, 11)?.release();
          other = takes(disk, 11);
        }),
        12,
      );
      expect(
        [mine, other].filter((lock) => lock !== null),
        `at ${at}`,
      ).toHaveLength(1);
    }
  });
});

test('on the real disk this process holds it; a process that was killed, and not yet waited for, does not', async () => {
  const directory = freshDirectory();
  const lock = acquireLock(realDisk, directory);
  expect(() => acquireLock(realDisk, directory)).toThrow(`process ${process.pid}`);
  lock.release();
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  acquireLock(realDisk, directory, { pid: child.pid! });
  expect(() => acquireLock(realDisk, directory)).toThrow(`process ${child.pid}`);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await ended;
  acquireLock(realDisk, directory).release();
});
