/** The real disk, and the fake one beside it: what a caller of `Disk` may count on holds for both. */
import { spawnSync } from 'node:child_process';
import fs, { statSync, symlinkSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Part } from '../../src/core/dump.ts';
import {
  BLOCK_BYTES,
  closeLater,
  counted,
  type Disk,
  pageAligned,
  readAll,
  readWhole,
  realDisk,
  writeAll,
  writeWhole,
} from '../../src/storage/disk.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { cutTornTail } from '../../src/storage/journal-reader.ts';
import { DamageError } from '../../src/storage/segments.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { errorCode } from '../../src/storage/system-error.ts';
import { freshDirectory } from '../support/directory.ts';
import { FakeDisk } from './fake-disk.ts';
import { readFrames, readInFull, server, writeFrames } from './kit.ts';

const root = freshDirectory();

const code = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return errorCode(error);
  }
  return '';
};

describe.each([
  ['the real disk', () => realDisk],
  ['the fake disk', () => new FakeDisk(2)],
])('%s', (name, make: () => Disk) => {
  let disk: Disk;
  let directory: string;
  beforeAll(() => {
    disk = make();
    directory = join(root, name.replaceAll(' ', '-'), 'deep', 'books');
    disk.mkdir(directory);
    disk.mkdir(directory);
  });

  test('gives back what was written, wherever it was written', () => {
    const file = disk.open(join(directory, 'positions'), 'create');
    const bytes = Buffer.from('0123456789');
    writeAll(file, bytes, 0, 10, 0);
    writeAll(file, bytes, 2, 4, 8);
    writeAll(file, bytes, 0, 1, 12);
    const read = Buffer.alloc(20);
    expect([file.size(), readAll(file, read.subarray(1), 0)]).toEqual([13, 13]);
    expect(read.toString('latin1', 1, 14)).toBe('0123456723\0\x000');
    file.truncate(3);
    file.sync();
    expect([file.size(), readAll(file, read, 1), readAll(file, read, 9)]).toEqual([3, 2, 0]);
    file.close();
  });

  test('gives past the page cache what lies there, in blocks, and at its end what is left of one', async () => {
    const path = join(directory, 'blocks');
    const file = disk.open(path, 'create');
    const bytes = Buffer.alloc(2 * BLOCK_BYTES + 1000).map((_, n) => n % 251);
    writeAll(file, bytes, 0, bytes.length, 0);
    file.close();
    const synced = disk.openSynced(path);
    // In memory, say.
    if (synced === null) return;
    const read = new Uint8Array(pageAligned(4 * BLOCK_BYTES, 4 * BLOCK_BYTES));
    const readAt = (position: number) =>
      counted((done) => synced.readLater(read, BLOCK_BYTES, read.length, position, done));
    expect(await readAt(BLOCK_BYTES)).toBe(BLOCK_BYTES + 1000);
    expect(Buffer.from(read.subarray(BLOCK_BYTES, 2 * BLOCK_BYTES + 1000)).equals(bytes.subarray(BLOCK_BYTES))).toBe(
      true,
    );
    expect(await readAt(3 * BLOCK_BYTES)).toBe(0);
    await closeLater(synced);
  });

  test('knows what exists and what does not', () => {
    const path = join(directory, 'once');
    expect(code(() => disk.open(path, 'read'))).toBe('ENOENT');
    expect(code(() => disk.open(path, 'write'))).toBe('ENOENT');
    disk.open(path, 'create').close();
    expect(code(() => disk.open(path, 'create'))).toBe('EEXIST');
    expect(code(() => disk.link(path, path))).toBe('EEXIST');
    disk.link(path, `${path}-too`);
    disk.rename(path, `${path}-more`);
    expect([disk.exists(path), disk.exists(`${path}-too`), disk.exists(directory)]).toEqual([false, true, true]);
    disk.unlink(`${path}-too`);
    disk.unlink(`${path}-more`);
    expect(code(() => disk.unlink(path))).toBe('ENOENT');
    expect(code(() => disk.readdir(join(directory, 'none')))).toBe('ENOENT');
    expect(code(() => disk.syncDirectory(join(directory, 'none')))).toBe('ENOENT');
    disk.syncDirectory(directory);
  });

  test('reports later calls once, after they returned', async () => {
    const file = disk.open(join(directory, 'later'), 'create');
    const reports: string[] = [];
    const bytes = Buffer.from('abc');
    await new Promise<void>((resolve) => {
      file.writeLater(bytes, 0, 3, 0, (error, count) => {
        reports.push(`wrote ${count} ${error}`);
        file.syncLater((syncError) => {
          reports.push(`synced ${syncError}`);
          file.readLater(bytes, 0, 3, 1, (readError, read) => {
            reports.push(`read ${read} ${readError}`);
            disk.syncDirectoryLater(directory, (directoryError) => {
              reports.push(`directory ${directoryError}`);
              disk.renameLater(file.path, `${file.path}-2`, (renameError) => {
                reports.push(`renamed ${renameError}`);
                disk.unlinkLater(`${file.path}-2`, (unlinkError) => {
                  reports.push(`gone ${unlinkError}`);
                  resolve();
                });
              });
            });
          });
        });
      });
      reports.push('returned');
    });
    expect(reports).toEqual([
      'returned',
      'wrote 3 null',
      'synced null',
      'read 2 null',
      'directory null',
      'renamed null',
      'gone null',
    ]);
    file.close();
  });

  test('makes small files whole, in place of what was there', () => {
    const path = join(directory, 'whole');
    writeWhole(disk, path, Buffer.from('one'));
    writeWhole(disk, path, Buffer.from('two'));
    expect(readWhole(disk, path, 3).toString()).toBe('two');
    expect(() => readWhole(disk, path, 2)).toThrow('longer than 2 bytes');
    expect(disk.readdir(directory).filter((file) => file.endsWith('.tmp'))).toEqual([]);
  });

  test('carries a journal through a torn tail and damage', async () => {
    const books = join(directory, 'journal');
    disk.mkdir(books);
    const entries = await writeFrames(disk, [3, 3, 3, 3], { segmentBytesMax: 600 }, JOURNAL_START, books);
    const { spans, position } = readFrames(disk, JOURNAL_START, books);
    const last = spans.at(-1)!;
    const file = disk.open(last.file, 'write');
    file.truncate(last.byte + 100);
    file.close();
    const torn = readFrames(disk, JOURNAL_START, books);
    expect(torn.torn).toEqual({ file: position.file, byte: last.byte, bytes: 100 });
    cutTornTail(disk, books, torn.torn!);
    const more = await writeFrames(disk, [2], {}, torn.position, books);
    expect(readFrames(disk, JOURNAL_START, books).read).toEqual([...entries.slice(0, 9), ...more]);

    const first = disk.open(spans[0]!.file, 'write');
    writeAll(first, Buffer.alloc(1, 0xff), 0, 1, 100);
    first.close();
    expect(() => readFrames(disk, JOURNAL_START, books)).toThrow(DamageError);
  });

  test('carries snapshots', async () => {
    const books = join(directory, 'snapshots');
    disk.mkdir(books);
    const bytes = [Buffer.alloc(2_000_000, 'chunk'), Buffer.alloc(10_000, 'table')] as const;
    const parts: Part[] = [
      { name: 'chunk', final: true, bytes: bytes[0] },
      { name: 'table', final: false, pieces: [bytes[1]] },
    ];
    for (let seq = 1; seq <= 3; seq++) {
      const content = { seq, chain: new Uint8Array(32), moment: seq, extra: new Uint8Array(3), parts };
      await takeSnapshot(disk, books, content, server);
    }
    const { snapshot } = readInFull(disk, books, server.verify);
    expect(snapshot?.seq).toBe(3);
    for (const [index, part] of snapshot!.parts.entries()) {
      expect(Buffer.compare(part.bytes, bytes[index]!)).toBe(0);
    }
    expect(disk.readdir(books)).toHaveLength(3);
  });
});

test('files are for the owner only, and so are directories', () => {
  const before = process.umask(0);
  try {
    const directory = join(root, 'mode', 'books');
    realDisk.mkdir(directory);
    const path = join(directory, 'file');
    realDisk.open(path, 'create').close();
    writeWhole(realDisk, `${path}-whole`, Buffer.from('x'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-whole`).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(root, 'mode')).mode & 0o777).toBe(0o700);
  } finally {
    process.umask(before);
  }
});

test.skipIf(process.platform === 'win32')(
  'the name of a directory that is made is synced, by the next start where this one failed: that took it for safe',
  () => {
    const { fsyncSync } = fs;
    const synced: number[] = [];
    const syncs = (fsync: typeof fsyncSync) => {
      fs.fsyncSync = fsync;
      syncBuiltinESMExports();
    };
    const inode = (path: string) => statSync(path).ino;
    const failing = () => {
      throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
    };
    const [above, made] = [join(root, 'above'), join(root, 'above', 'made')];
    try {
      syncs(failing);
      expect(code(() => realDisk.mkdir(made))).toBe('EIO');
      expect(code(() => realDisk.mkdir(made))).toBe('EIO');
      expect([realDisk.exists(above), realDisk.exists(made)]).toEqual([true, false]);
      syncs((fd) => {
        synced.push(fs.fstatSync(fd).ino);
        fsyncSync(fd);
      });
      realDisk.mkdir(made);
      expect(synced).toEqual([inode(root), inode(above)]);
      realDisk.mkdir(made);
      expect(synced.slice(2)).toEqual([inode(above)]);
      // One that is in use has long been there.
      writeWhole(realDisk, join(made, 'file'), Buffer.from('x'));
      synced.length = 0;
      realDisk.mkdir(made);
      expect(synced).toEqual([]);
    } finally {
      syncs(fsyncSync);
    }
  },
);

test('what the system does not tell of a name is an error: it was taken for a file that is not there', () => {
  const loop = join(root, 'loop');
  symlinkSync(loop, loop);
  expect(code(() => realDisk.exists(loop))).toBe('ELOOP');
  expect(code(() => realDisk.exists(join(root, 'n'.repeat(300))))).toBe('ENAMETOOLONG');
  expect([realDisk.exists(join(root, 'none')), realDisk.exists(root), realDisk.exists('')]).toEqual([
    false,
    true,
    false,
  ]);
  writeWhole(realDisk, join(root, 'file'), Buffer.from('x'));
  expect(realDisk.exists(join(root, 'file', 'below'))).toBe(false);
});

test.skipIf(process.platform === 'win32')(
  'a socket in the place of a file is told as that: the disk was to be mended',
  async () => {
    const path = join(root, 'socket');
    const listening = createServer();
    await new Promise<void>((resolve) => listening.listen(path, resolve));
    for (const mode of ['read', 'write'] as const) {
      expect(() => realDisk.open(path, mode)).toThrow(`${path} is no file`);
      expect(code(() => realDisk.open(path, mode))).toBe('EFTYPE');
    }
    await new Promise((resolve) => listening.close(resolve));
  },
);

test.skipIf(process.platform !== 'linux')(
  'a directory where none can be made is told: in /proc the start never ended',
  () => {
    const source = `import('${new URL('../../src/storage/disk.js', import.meta.url)}').then(({ realDisk }) => realDisk.mkdir('/proc/books/deep'))`;
    // Apart, so that it can be ended: by the processor's time that it takes, which no busy machine adds to.
    const limited = ['-c', 'ulimit -t 10; exec "$0" "$@"', process.execPath, '-e', source];
    const ran = spawnSync('/bin/sh', limited, { encoding: 'utf8' });
    expect([ran.signal, ran.status]).toEqual([null, 1]);
    expect(ran.stderr).toContain('ENOENT');
  },
);

// Reading the first bytes of a process's memory fails as a bad sector does, and nothing of it can be synced.
test.skipIf(process.platform !== 'linux')(
  'a call that fails names the file: a bad sector was somewhere in the directory',
  async () => {
    const path = '/proc/self/mem';
    const file = realDisk.open(path, 'read');
    const bytes = new Uint8Array(8);
    for (const call of [
      () => file.read(bytes, 0, 8, 0),
      () => file.write(bytes, 0, 8, 0),
      () => file.truncate(0),
      () => file.sync(),
    ]) {
      expect(call, String(call)).toThrow(/^E[A-Z]+: .* '\/proc\/self\/mem'$/);
    }
    for (const call of [
      (done: (error: Error | null) => void) => file.readLater(bytes, 0, 8, 0, done),
      (done: (error: Error | null) => void) => file.writeLater(bytes, 0, 8, 0, done),
      (done: (error: Error | null) => void) => file.syncLater(done),
    ]) {
      const error = await new Promise<Error | null>((resolve) => call(resolve));
      expect(error?.message, String(call)).toMatch(/^E[A-Z]+: .* '\/proc\/self\/mem'$/);
    }
    file.close();
  },
);

test('of two syncs of one file that overlap on the fake disk, as of two servers, the one that began first takes nothing back', () => {
  const ends: (() => void)[] = [];
  const disk = new FakeDisk(1, (run) => ends.push(run));
  disk.put('/file', new Uint8Array(0));
  const [one, other] = [disk.open('/file', 'write'), disk.open('/file', 'write')];
  one.write(Buffer.from('first'), 0, 5, 0);
  one.syncLater(() => {});
  other.write(Buffer.from(', second'), 0, 8, 5);
  other.syncLater(() => {});
  for (const end of ends.reverse()) end();
  expect(disk.isDurable('/file')).toBe(true);
  disk.crash();
  expect(disk.bytesOf('/file').toString()).toBe('first, second');
});
