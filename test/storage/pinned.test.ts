/**
 * A directory as it was when it was pinned, whatever becomes of it: what is opened, that it is read as it was, that nothing
 * is changed through it, and that no file is left open.
 */
import { describe, expect, test } from 'vitest';
import { type Disk, type DiskFile, type OpenMode, readAll } from '../../src/storage/disk.ts';
import { SIGNATURE_BYTES } from '../../src/storage/format.ts';
import { type Pinned, pin } from '../../src/storage/pinned.ts';
import { type FakeDisk, randomFrom } from './fake-disk.ts';
import { DIRECTORY, freshDisk } from './kit.ts';

const SEGMENT = 'journal-00000000000000000001.ayj';
const SECOND = 'journal-00000000000000000007.ayj';
const SNAPSHOT = 'snapshot-00000000000000000000.ays';
const PART = 'part-heap-0-0123456789abcdef.ayp';
const at = (name: string) => `${DIRECTORY}/${name}`;

function withFiles(...names: string[]): FakeDisk {
  const disk = freshDisk();
  for (const name of names) disk.put(at(name), Buffer.from(`${name} \0\0`));
  return disk;
}

/** The disk, and how many files are open on it. `onLook` comes before each look at the directory. */
function counted(disk: FakeDisk, onLook = () => {}): { disk: Disk; left: () => number } {
  let open = 0;
  const counting = {
    open(path: string, mode: OpenMode): DiskFile {
      const file = disk.open(path, mode);
      open++;
      return {
        ...file,
        close() {
          open--;
          file.close();
        },
      };
    },
    readdir(path: string) {
      onLook();
      return disk.readdir(path);
    },
    exists: (path: string) => disk.exists(path),
  };
  return { disk: Object.assign(Object.create(disk) as Disk, counting), left: () => open };
}

/** All of a file, in reads of such a length. */
function whole(pinned: Pinned, name: string, length: number): Buffer {
  const file = pinned.open(at(name), 'read');
  const read = Buffer.alloc(file.size(), 7);
  for (let from = 0; from < read.length; from += length) {
    const piece = read.subarray(from, from + length);
    expect(readAll(file, piece, from)).toBe(piece.length);
  }
  expect(file.read(Buffer.alloc(10), 0, 10, read.length)).toBe(0);
  file.close();
  return read;
}

describe('what is pinned', () => {
  const names = [SEGMENT, SECOND, PART, SNAPSHOT];

  test('is snapshots, parts and segments, and nothing else', () => {
    const disk = withFiles(...names, 'server.key', 'lock-0000000001', `${SNAPSHOT}.tmp`, 'notes');
    const pinned = pin(disk, DIRECTORY);
    expect(pinned.readdir(DIRECTORY)).toEqual(names);
    expect(names.map((name) => pinned.exists(at(name)))).toEqual(names.map(() => true));
    expect(pinned.exists(DIRECTORY)).toBe(true);
    expect(pinned.exists(at('server.key'))).toBe(false);
    expect(() => pinned.open(at('server.key'), 'read')).toThrow('changes nothing');
  });

  test.each([SEGMENT, SNAPSHOT])('is books where there is a %s', (name) => {
    expect(pin(withFiles(name), DIRECTORY).readdir(DIRECTORY)).toEqual([name]);
  });

  test('is no books where there are parts alone: no file is left open', () => {
    const { disk, left } = counted(withFiles(PART));
    expect(() => pin(disk, DIRECTORY)).toThrow('holds no books');
    expect(left()).toBe(0);
  });

  test('stays open, whoever closes what he opened, until it is released', () => {
    const { disk, left } = counted(withFiles(...names));
    const pinned = pin(disk, DIRECTORY);
    for (const name of names) pinned.open(at(name), 'read').close();
    expect(left()).toBe(4);
    pinned.release();
    expect(left()).toBe(0);
  });

  test('is changed by nobody', () => {
    const pinned = pin(withFiles(...names), DIRECTORY);
    const file = pinned.open(at(SEGMENT), 'read');
    const done = () => {};
    for (const change of [
      () => pinned.open(at(SEGMENT), 'write'),
      () => pinned.open(at('new'), 'create'),
      () => pinned.openSynced(at(SEGMENT)),
      () => pinned.mkdir(at('more')),
      () => pinned.link(at(SEGMENT), at('more')),
      () => pinned.rename(at(SEGMENT), at('more')),
      () => pinned.renameLater(at(SEGMENT), at('more'), done),
      () => pinned.unlink(at(SEGMENT)),
      () => pinned.unlinkLater(at(SEGMENT), done),
      () => pinned.rmdir(DIRECTORY),
      () => pinned.syncDirectory(DIRECTORY),
      () => pinned.syncDirectoryLater(DIRECTORY, done),
      () => file.write(Buffer.alloc(1), 0, 1, 0),
      () => file.writeLater(Buffer.alloc(1), 0, 1, 0, done),
      () => file.truncate(0),
      () => file.sync(),
      () => file.syncLater(done),
    ]) {
      expect(change, String(change)).toThrow('changes nothing');
    }
  });
});

describe('a pinned file is read as it was', () => {
  const random = randomFrom(5);
  const noise = (length: number) => Buffer.from(Array.from({ length }, () => 1 + Math.floor(random() * 255)));

  // Zeros behind what is written, over some pieces of 64 KiB; a signature may end with as many as it is long.
  test.each([
    [0, 0],
    [1, 0],
    [500, 1],
    [500, SIGNATURE_BYTES],
    [500, SIGNATURE_BYTES + 1],
    [500, 9000],
    [0, 100],
    [1, 65_535],
    [1, 65_536],
    [65_536, 65_536],
    [65_537, 131_071],
    [70_000, 131_073],
  ])('a segment of %i bytes with %i zeros behind them, written over since, and cut', (written, zeros) => {
    const bytes = Buffer.concat([noise(written), Buffer.alloc(zeros)]);
    const kept = Math.min(zeros, SIGNATURE_BYTES);
    for (const change of ['none', 'writes', 'cuts', 'goes']) {
      const disk = withFiles();
      disk.put(at(SEGMENT), bytes);
      const pinned = pin(disk, DIRECTORY);
      const file = disk.open(at(SEGMENT), 'write');
      if (change === 'writes') file.write(noise(zeros + 50), 0, zeros + 50, written);
      else if (change === 'cuts') file.truncate(written);
      else if (change === 'goes') disk.unlink(at(SEGMENT));
      expect(pinned.size(SEGMENT)).toBe(written + kept);
      for (const length of [33, 4096, 200_000]) {
        expect(whole(pinned, SEGMENT, length).equals(bytes.subarray(0, written + kept)), `${change}, ${length}`).toBe(
          true,
        );
      }
    }
  });

  test('a snapshot and a part, all zeros at their end', () => {
    const bytes = Buffer.concat([noise(300), Buffer.alloc(1000)]);
    const disk = withFiles();
    for (const name of [SNAPSHOT, PART]) disk.put(at(name), bytes);
    const pinned = pin(disk, DIRECTORY);
    for (const name of [SNAPSHOT, PART]) {
      disk.unlink(at(name));
      expect(whole(pinned, name, 77).equals(bytes)).toBe(true);
    }
  });

  test('into the middle of a buffer, whose other bytes stay', () => {
    const disk = withFiles();
    const bytes = Buffer.concat([noise(10), Buffer.alloc(100)]);
    disk.put(at(SEGMENT), bytes);
    const file = pin(disk, DIRECTORY).open(at(SEGMENT), 'read');
    const into = Buffer.alloc(30, 9);
    expect(file.read(into, 5, 25, 4)).toBe(6);
    expect(into).toEqual(Buffer.concat([Buffer.alloc(5, 9), bytes.subarray(4, 10), Buffer.alloc(19, 9)]));
    expect(file.read(into, 5, 25, 10)).toBe(20);
    expect(into).toEqual(Buffer.concat([Buffer.alloc(5, 9), Buffer.alloc(20), Buffer.alloc(5, 9)]));
    expect(file.read(into, 0, 30, 10 + SIGNATURE_BYTES - 1)).toBe(1);
  });

  test('ahead, as far as it is written', async () => {
    const disk = withFiles();
    disk.put(at(SEGMENT), Buffer.concat([noise(10), Buffer.alloc(100)]));
    const file = pin(disk, DIRECTORY).open(at(SEGMENT), 'read');
    const ahead = (position: number) =>
      new Promise((resolve) => file.readLater(Buffer.alloc(40), 0, 40, position, (_, count) => resolve(count)));
    expect([await ahead(0), await ahead(4), await ahead(10), await ahead(20)]).toEqual([10, 6, 0, 0]);
  });
});

describe('a directory that changes at each look', () => {
  test('by a segment that goes is not had, and no file of it is left open', () => {
    const disk = withFiles();
    for (let seq = 1; seq < 100; seq++) disk.put(at(`journal-${String(seq).padStart(20, '0')}.ayj`), Buffer.from('x'));
    let looks = 0;
    const goes = () => disk.unlink(at(`journal-${String(++looks).padStart(20, '0')}.ayj`));
    const changing = counted(disk, goes);
    expect(() => pin(changing.disk, DIRECTORY)).toThrow('files come and go too quickly');
    // Three times for each of ten attempts.
    expect(looks).toBe(30);
    expect(changing.left()).toBe(0);
  });

  test.each(['EACCES', 'EIO'])('nor where one cannot be had (%s): that is told at once', (code) => {
    const disk = withFiles(SEGMENT, SECOND);
    disk.inject({ call: 'open', path: SECOND, code });
    const { disk: asked, left } = counted(disk);
    expect(() => pin(asked, DIRECTORY)).toThrow(code);
    expect(left()).toBe(0);
  });

  test('by a segment that goes before it was opened is looked at again, with no file left open', () => {
    const disk = withFiles(SNAPSHOT, SEGMENT, SECOND);
    const { disk: asked, left } = counted(disk);
    const open = asked.open.bind(asked);
    asked.open = (path, mode) => {
      if (path === at(SEGMENT) && disk.exists(path)) disk.unlink(path);
      return open(path, mode);
    };
    expect(pin(asked, DIRECTORY).readdir(DIRECTORY)).toEqual([SECOND, SNAPSHOT]);
    expect(left()).toBe(2);
  });
});
