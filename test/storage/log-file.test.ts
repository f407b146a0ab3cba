/** A log past the page cache: what its file holds after every sync, power cut and fault, on the fake disk and a real one. */
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { closeLater, type Disk, realDisk, truncateLater } from '../../src/storage/disk.ts';
import { type LogFile, openLog } from '../../src/storage/log-file.ts';
import { remedy } from '../../src/trouble.ts';
import { freshDirectory } from '../support/directory.ts';
import { often } from '../support/long.ts';
import { turn } from '../support/turns.ts';
import { FakeDisk, randomFrom } from './fake-disk.ts';

const PATH = '/books/log';
const BLOCK = 4096;

function fresh(seed = 2): FakeDisk {
  const disk = new FakeDisk(seed);
  disk.mkdir('/books');
  return disk;
}

const sync = (log: LogFile): Promise<void> =>
  new Promise((resolve, reject) => log.syncLater((error) => (error === null ? resolve() : reject(error))));

/** No byte of it is zero. */
const noise = (random: () => number, bytes: number) =>
  Buffer.from(Array.from({ length: bytes }, () => 1 + 255 * random()));

/** Asserts that the file holds these bytes, and zeros behind them. */
/** A log in a file of its own. */
function newLog(disk: Disk, path: string): LogFile {
  disk.open(path, 'create').close();
  return openLog(disk, path);
}

function expectLog(file: Buffer, bytes: Buffer): void {
  expect(file.subarray(0, bytes.length).equals(bytes)).toBe(true);
  expect(file.subarray(bytes.length).every((byte) => byte === 0)).toBe(true);
}

const LENGTHS = [1, 7, 500, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 10_000];

test('what was synced is there after every sync and power cut, and nothing but zeros behind it', async () => {
  for (let seed = 2; seed <= often(60, 600); seed += 2) {
    const disk = fresh(seed);
    const random = randomFrom(seed);
    const pick = (from: readonly number[]) => from[Math.floor(random() * from.length)]!;
    let synced = Buffer.alloc(0);
    let log = newLog(disk, PATH);
    disk.syncDirectory('/books');
    for (let step = 0; step < 40; step++) {
      let bytes = synced;
      for (let writes = pick([1, 1, 2]); writes > 0; writes--) {
        const more = noise(random, pick(LENGTHS));
        log.write(Buffer.concat([noise(random, 3), more]), 3, 3 + more.length, bytes.length);
        bytes = Buffer.concat([bytes, more]);
      }
      if (random() < 0.3) log.reserve(bytes.length + pick([1, 3000, 20_000]));
      if (random() < 0.8) {
        await sync(log);
        synced = bytes;
        expect(disk.isDurable(PATH)).toBe(true);
        expectLog(disk.bytesOf(PATH), synced);
        continue;
      }
      disk.holdSyncs();
      let isReported = false;
      log.syncLater(() => {
        isReported = true;
      });
      disk.crash();
      disk.releaseSyncs();
      await turn();
      expect(isReported).toBe(false);
      expect(disk.bytesOf(PATH).subarray(0, synced.length).equals(synced), `seed ${seed}, step ${step}`).toBe(true);
      // As a start does with a torn tail.
      const file = disk.open(PATH, 'write');
      file.truncate(synced.length);
      file.sync();
      file.close();
      log = openLog(disk, PATH);
    }
  }
});

test('a block is written again with every byte that it held', async () => {
  const disk = fresh();
  const log = newLog(disk, PATH);
  log.write(Buffer.from('one'), 0, 3, 0);
  await sync(log);
  await closeLater(log);
  const again = openLog(disk, PATH);
  again.write(Buffer.from('two'), 0, 3, 3);
  await sync(again);
  expect(disk.bytesOf(PATH).toString('latin1', 0, 7)).toBe('onetwo\0');
  expect(disk.bytesOf(PATH)).toHaveLength(BLOCK);
  await closeLater(again);
  expect(disk.calls.get('close')).toBe(5);
});

test('is not written while it is synced, nor in two places', async () => {
  const log = newLog(fresh(), PATH);
  log.write(Buffer.from('one'), 0, 3, 0);
  expect(() => log.write(Buffer.from('two'), 0, 3, 4)).toThrow('written in two places');
  const done = sync(log);
  expect(() => log.write(Buffer.from('two'), 0, 3, 3)).toThrow('written while it is synced');
  await done;
  expect(() => log.write(Buffer.from('two'), 0, 3, BLOCK + 1)).toThrow('not so long');
});

test('by way of the page cache: room that another server has made already is none to make', async () => {
  const disk = fresh(1);
  const log = newLog(disk, PATH);
  const other = disk.open(PATH, 'write');
  other.write(Buffer.alloc(20_000, 1), 0, 20_000, 0);
  log.reserve(10_000);
  expect(disk.bytesOf(PATH).equals(Buffer.alloc(20_000, 1))).toBe(true);
});

describe('a disk that', () => {
  const bytes = noise(randomFrom(1), 3 * BLOCK + 5);

  async function written(disk: FakeDisk, reserved = 0): Promise<LogFile> {
    const log = newLog(disk, PATH);
    log.write(bytes, 0, bytes.length, 0);
    if (reserved > 0) log.reserve(reserved);
    await sync(log);
    return log;
  }

  test('takes some blocks only, or a part of one, is given the others', async () => {
    const disk = fresh();
    disk.inject({ call: 'write', short: BLOCK + 100 });
    disk.inject({ call: 'write', short: 2 * BLOCK });
    await written(disk);
    expectLog(disk.bytesOf(PATH), bytes);
    expect(disk.calls.get('write')).toBe(3);
  });

  test.each([0, 100])('takes %i bytes, less than a block, ends it', async (short) => {
    const disk = fresh();
    disk.inject({ call: 'write', short });
    await expect(written(disk)).rejects.toThrow('takes no more bytes');
  });

  // As under `ulimit -f`, where the limit is in the midst of a block.
  test.each([0, 100, 2048])(
    'takes %i bytes of the room behind what is written costs no more than that: the server stopped, all it had to write on the disk',
    async (short) => {
      const disk = fresh();
      disk.inject({ call: 'write', short: 5 * BLOCK + short });
      disk.inject({ call: 'write', short });
      await written(disk, 50_000);
      expectLog(disk.bytesOf(PATH), bytes);
      expect(disk.bytesOf(PATH)).toHaveLength(4 * BLOCK);
    },
  );

  test('takes less than a block of what is written and the room behind it is given what is written once more', async () => {
    const disk = fresh();
    disk.inject({ call: 'write', short: 100 });
    await written(disk, 50_000);
    expectLog(disk.bytesOf(PATH), bytes);
    expect(disk.bytesOf(PATH)).toHaveLength(4 * BLOCK);
  });

  test('takes nothing, and tells no error, has no room: the operator was told to mend it', async () => {
    for (const reserved of [0, 50_000]) {
      const disk = fresh();
      disk.inject({ call: 'write', short: 100, times: 2 });
      const error = await written(disk, reserved).catch((error: Error) => error);
      expect(remedy(error as Error, '/books')).toMatch(/^Make room on the disk/);
    }
  });

  test.each(['ENOSPC', 'EDQUOT', 'EFBIG'])(
    'has no room behind what is written (%s) costs no more than that',
    async (code) => {
      const disk = fresh();
      disk.inject({ call: 'write', code });
      await written(disk, 50_000);
      expectLog(disk.bytesOf(PATH), bytes);
      expect(disk.bytesOf(PATH)).toHaveLength(4 * BLOCK);
    },
  );

  test('has room for what is written and for some of what is to come, gets that back', async () => {
    const disk = fresh();
    disk.inject({ call: 'write', short: 5 * BLOCK });
    disk.inject({ call: 'write', code: 'ENOSPC' });
    await written(disk, 50_000);
    expectLog(disk.bytesOf(PATH), bytes);
    expect(disk.bytesOf(PATH)).toHaveLength(4 * BLOCK);
  });

  test.each([
    ['has no room for what is written', 'ENOSPC', 0],
    ['has no room for what is written, nor behind it', 'ENOSPC', 50_000],
    ['fails', 'EIO', 50_000],
  ])('%s says so', async (_name, code, reserved) => {
    const disk = fresh();
    disk.inject({ call: 'write', code, times: 2 });
    await expect(written(disk, reserved)).rejects.toThrow(code);
  });

  test('opens files for blocks and takes none is written by way of the page cache', async () => {
    const disk = fresh();
    disk.inject({ call: 'write', code: 'EINVAL' });
    const log = await written(disk, 50_000);
    disk.syncDirectory('/books');
    log.write(bytes, 0, bytes.length, bytes.length);
    await sync(log);
    expect(disk.bytesOf(PATH).equals(Buffer.concat([bytes, bytes]))).toBe(true);
    expect(disk.isDurable(PATH)).toBe(true);
    disk.inject({ call: 'sync', code: 'EIO' });
    log.write(bytes, 0, 10, 2 * bytes.length);
    await expect(sync(log)).rejects.toThrow('EIO');
    disk.inject({ call: 'write', code: 'ENOSPC' });
    await expect(sync(log)).rejects.toThrow('ENOSPC');
  });
});

test('on the real disk blocks go past the page cache, large writes too, and are read back by way of it', async () => {
  const directory = freshDirectory();
  const path = join(directory, 'log');
  const past: [number, number][] = [];
  const watched: Disk = {
    ...realDisk,
    openSynced(name) {
      const file = realDisk.openSynced(name);
      if (file === null) return null;
      return {
        ...file,
        writeLater(bytes, from, to, position, done) {
          file.writeLater(bytes, from, to, position, (error, count) => {
            past.push([position, count]);
            done(error, count);
          });
        },
      };
    },
  };
  const log = newLog(watched, path);
  const random = randomFrom(7);
  let written = Buffer.alloc(0);
  for (const length of [100, 5000, 10, 3_000_000, 4096]) {
    const more = noise(random, length);
    log.write(more, 0, length, written.length);
    written = Buffer.concat([written, more]);
    if (length === 5000) log.reserve(200_000);
    await sync(log);
    expectLog(readFileSync(path), written);
    if (length === 5000) expect(statSync(path).size).toBe(49 * BLOCK);
  }
  await truncateLater(log, written.length);
  await closeLater(log);
  expect(readFileSync(path).equals(written)).toBe(true);
  const again = openLog(realDisk, path);
  again.write(Buffer.from('more'), 0, 4, written.length);
  await sync(again);
  await closeLater(again);
  expectLog(readFileSync(path), Buffer.concat([written, Buffer.from('more')]));
  const blocks = [
    [0, BLOCK],
    [0, 49 * BLOCK],
    [BLOCK, BLOCK],
    [BLOCK, 733 * BLOCK],
    [733 * BLOCK, 2 * BLOCK],
  ];
  // Not everywhere: a file system may know no such writes.
  expect([[], blocks]).toContainEqual(past);
});

function replaceByCopy(path: string): void {
  writeFileSync(`${path}.copy`, readFileSync(path));
  renameSync(`${path}.copy`, path);
}

test.each<[string, (path: string) => void, { isInPlace: boolean; isAsLong: boolean }]>([
  [
    'written to, in what it has',
    (path) => writeFileSync(path, 'X', { flag: 'r+' }),
    { isInPlace: true, isAsLong: true },
  ],
  ['cut', (path) => truncateSync(path, BLOCK - 1), { isInPlace: true, isAsLong: false }],
  ['emptied', (path) => truncateSync(path, 0), { isInPlace: true, isAsLong: false }],
  ['made longer', (path) => appendFileSync(path, '0'), { isInPlace: true, isAsLong: false }],
  ['removed', unlinkSync, { isInPlace: false, isAsLong: true }],
  ['moved', (path) => renameSync(path, `${path}.old`), { isInPlace: false, isAsLong: true }],
  ['replaced by a copy', replaceByCopy, { isInPlace: false, isAsLong: true }],
  [
    'moved with its directory',
    (path) => renameSync(dirname(path), `${dirname(path)}.old`),
    { isInPlace: false, isAsLong: true },
  ],
  [
    'moved with its directory, to which the name still leads',
    (path) => {
      renameSync(dirname(path), `${dirname(path)}.old`);
      symlinkSync(`${dirname(path)}.old`, dirname(path));
    },
    { isInPlace: true, isAsLong: true },
  ],
])(
  'on the real disk a log that others have %s is seen to be, at the first look and later',
  async (_what, change, seen) => {
    for (const name of ['books', 'books (deleted)', 'b\nücher']) {
      for (const isFirst of [true, false]) {
        const path = join(freshDirectory(), name, 'log');
        mkdirSync(dirname(path));
        const log = newLog(realDisk, path);
        log.write(noise(randomFrom(3), 100), 0, 100, 0);
        log.reserve(BLOCK);
        await sync(log);
        const length = log.size();
        if (!isFirst) expect([log.isInPlace(), log.endsAt(length)]).toEqual([true, true]);
        change(path);
        for (let looks = 0; looks < 2; looks++)
          expect({ isInPlace: log.isInPlace(), isAsLong: log.endsAt(length) }).toEqual(seen);
        await closeLater(log);
      }
    }
  },
);

// What the link led to is where it was, and no start looks there.
test('on the real disk a log whose name was a link is not in place once that is another file', async () => {
  const path = join(freshDirectory(), 'log');
  const target = `${path}.target`;
  writeFileSync(target, 'books');
  symlinkSync(target, path);
  const log = openLog(realDisk, path);
  expect([log.isInPlace(), log.isInPlace()]).toEqual([true, true]);
  unlinkSync(path);
  writeFileSync(path, 'books');
  expect(log.isInPlace()).toBe(false);
  await closeLater(log);
});

test.each<[string, (path: string) => void, (path: string) => void]>([
  [
    'it was removed, came back by a hard link, and was removed again',
    (path) => {
      linkSync(path, `${path}.kept`);
      unlinkSync(path);
      linkSync(`${path}.kept`, path);
    },
    unlinkSync,
  ],
  [
    'it was moved, came back by a hard link, and was replaced',
    (path) => {
      renameSync(path, `${path}.kept`);
      linkSync(`${path}.kept`, path);
    },
    replaceByCopy,
  ],
])('on the real disk a log is not in place once its name does not lead to it: %s', async (_what, before, after) => {
  for (const isOpenBefore of [true, false]) {
    const path = join(freshDirectory(), 'books', 'log');
    mkdirSync(dirname(path));
    writeFileSync(path, 'books');
    if (!isOpenBefore) before(path);
    const log = openLog(realDisk, path);
    if (isOpenBefore) {
      expect(log.isInPlace()).toBe(true);
      before(path);
    }
    expect([log.isInPlace(), log.isInPlace()]).toEqual([true, true]);
    after(path);
    expect([log.isInPlace(), log.isInPlace()]).toEqual([false, false]);
    await closeLater(log);
  }
});
