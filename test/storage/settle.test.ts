/** What a start stands on is on the device, whoever put it there. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { segmentName } from '../../src/storage/format.ts';
import { settleBooks } from '../../src/storage/settle.ts';
import { partName } from '../../src/storage/snapshot-format.ts';
import { FakeDisk } from './fake-disk.ts';

const DIRECTORY = '/books';
const HASH = new Uint8Array(32).fill(7);

test.each([segmentName(1), partName('rows', HASH), 'server.key', 'stopped-at.json'])(
  'a power cut takes %s, which was put there a moment ago',
  (name) => {
    const path = join(DIRECTORY, name);
    const put = (seed: number): FakeDisk => {
      const disk = new FakeDisk(seed);
      disk.mkdir(DIRECTORY);
      const file = disk.open(path, 'create');
      file.write(Buffer.from(name), 0, name.length, 0);
      file.close();
      return disk;
    };
    const isThere = (disk: FakeDisk) => disk.exists(path) && disk.bytesOf(path).toString() === name;
    const seeds = Array.from({ length: 20 }, (_, seed) => seed);
    const unsettled = seeds.map(put);
    for (const disk of unsettled) disk.crash();
    expect(unsettled.every(isThere), 'as cp leaves it').toBe(false);
    const settled = seeds.map(put);
    for (const disk of settled) {
      settleBooks(disk, DIRECTORY);
      disk.crash();
    }
    expect(settled.every(isThere)).toBe(true);
  },
);
