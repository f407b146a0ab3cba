/** The last segment, which is written to in place, is no other books' as well. */
import { copyFileSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Disk, realDisk } from '../../src/storage/disk.ts';
import { segmentName } from '../../src/storage/format.ts';
import { ownLastSegment } from '../../src/storage/own-segment.ts';
import { Power, PowerCut } from '../engine/power.ts';
import { freshDirectory } from '../support/directory.ts';
import type { FakeDisk } from './fake-disk.ts';
import { DIRECTORY, freshDisk, linked, withCalls } from './kit.ts';

const LAST = segmentName(7);
/** More than is copied in one piece. */
const BYTES = Buffer.alloc(2_500_000, 'frames');

/** Two directories with the same segments, which `share` gives to the second. */
function twins(share: (from: string, to: string) => void): [first: string, second: string] {
  const [first, second] = [`${freshDirectory()}/first`, `${freshDirectory()}/second`] as const;
  mkdirSync(first);
  mkdirSync(second);
  for (const name of [segmentName(1), LAST]) {
    writeFileSync(join(first, name), BYTES);
    share(join(first, name), join(second, name));
  }
  return [first, second];
}

const inodeOf = (directory: string, name: string): number => statSync(join(directory, name)).ino;

describe.each([
  ['a second name of the same file', linkSync],
  ['a name that leads to it', symlinkSync],
])('%s', (_what, share) => {
  test('becomes a file of its own, with the same bytes; only the last one, and once', () => {
    const [first, second] = twins(share);
    expect(ownLastSegment(realDisk, second)).toContain(LAST);
    expect(readFileSync(join(second, LAST)).equals(BYTES)).toBe(true);
    expect(inodeOf(second, LAST)).not.toBe(inodeOf(first, LAST));
    expect(inodeOf(second, segmentName(1))).toBe(inodeOf(first, segmentName(1)));
    expect([ownLastSegment(realDisk, second), ownLastSegment(realDisk, first)]).toEqual([null, null]);
  });

  test('what a start has left that ended on its way is in nobody’s way, and goes', () => {
    const [, second] = twins(share);
    writeFileSync(join(second, 'own-segment.tmp'), 'half');
    expect(ownLastSegment(realDisk, second)).toContain(LAST);
    expect(realDisk.readdir(second)).toEqual([segmentName(1), LAST]);
  });
});

test('a file of these books alone stays the one it is, and no books are none', () => {
  const [, second] = twins(copyFileSync);
  const before = inodeOf(second, LAST);
  expect([ownLastSegment(realDisk, second), inodeOf(second, LAST)]).toEqual([null, before]);
  expect(ownLastSegment(realDisk, freshDirectory())).toBe(null);
});

// It had the frames of a later moment behind zeros of an earlier one.
test('of a file that is written to meanwhile it has what came before any moment, and no gap', () => {
  const [twin, size] = ['/twin', 3 * BYTES.length];
  const frames = Buffer.alloc(size, 'frames');
  const disk = freshDisk();
  disk.put(join(DIRECTORY, LAST), Buffer.concat([BYTES.subarray(0, 1_500_000)], size));
  linked(disk, DIRECTORY, twin);
  const server = disk.open(join(DIRECTORY, LAST), 'write');
  let end = 1_500_000;
  const open: Disk['open'] = (path, mode) => {
    const file = disk.open(path, mode);
    if (mode !== 'read') return file;
    return {
      ...file,
      read(bytes, from, to, position) {
        const count = file.read(bytes, from, to, position);
        const next = Math.min(end + 1_000_000, size);
        server.write(frames, end, next, end);
        end = next;
        return count;
      },
    };
  };
  ownLastSegment(withCalls(disk, { open }), twin);
  const own = disk.bytesOf(join(twin, LAST));
  const written = own.findLastIndex((byte) => byte !== 0) + 1;
  expect(written).toBeGreaterThanOrEqual(1_500_000);
  expect(own.subarray(0, written).equals(frames.subarray(0, written))).toBe(true);
  expect(end).toBeGreaterThan(own.length);
});

test.each([
  ['write', 'ENOSPC'],
  ['sync', 'EIO'],
  ['close', 'EIO'],
  ['rename', 'EIO'],
  ['open', 'ENOSPC'],
] as const)('where its %s fails (%s) that is told, and nothing of it stays', (call, code) => {
  const disk = freshDisk();
  disk.put(join(DIRECTORY, LAST), BYTES);
  linked(disk, DIRECTORY, '/twin');
  const path = call === 'rename' ? LAST : 'own-segment';
  disk.inject({ call, path, code, skip: call === 'write' ? 1 : 0 });
  expect(() => ownLastSegment(disk, '/twin')).toThrow(code);
  expect(disk.namesIn('/twin')).toEqual([LAST]);
  expect(disk.bytesOf(join('/twin', LAST)).equals(BYTES)).toBe(true);
});

describe('power that goes', () => {
  const SHORT = BYTES.subarray(0, 5000);
  const TWIN = '/twin';
  const ofTwin = join(TWIN, LAST);

  function linkedBooks(seed: number): FakeDisk {
    const disk = freshDisk(seed);
    disk.put(join(DIRECTORY, LAST), SHORT);
    linked(disk, DIRECTORY, TWIN);
    return disk;
  }

  test('at any call leaves both books as they were', () => {
    const whole = new Power(linkedBooks(1));
    ownLastSegment(whole, TWIN);
    expect(whole.count).toBeGreaterThan(8);
    for (let seed = 0; seed < 16; seed++) {
      for (let cutAt = 1; cutAt <= whole.count; cutAt++) {
        const disk = linkedBooks(seed);
        expect(() => ownLastSegment(new Power(disk, cutAt), TWIN)).toThrow(PowerCut);
        for (const directory of [DIRECTORY, TWIN]) {
          expect(disk.bytesOf(join(directory, LAST)).equals(SHORT), `seed ${seed}, call ${cutAt}`).toBe(true);
        }
        ownLastSegment(disk, TWIN);
        expect([disk.isShared(ofTwin), disk.namesIn(TWIN)]).toEqual([false, [LAST]]);
      }
    }
  });

  test('later takes nothing of what was written to its own and synced', () => {
    for (let seed = 0; seed < 16; seed++) {
      const disk = linkedBooks(seed);
      ownLastSegment(disk, TWIN);
      const file = disk.open(ofTwin, 'write');
      file.write(BYTES, 0, 100, SHORT.length);
      file.sync();
      disk.crash();
      expect(disk.bytesOf(ofTwin), `seed ${seed}`).toHaveLength(SHORT.length + 100);
      expect(disk.bytesOf(join(DIRECTORY, LAST)), `seed ${seed}`).toHaveLength(SHORT.length);
    }
  });
});
