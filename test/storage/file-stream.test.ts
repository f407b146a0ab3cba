import { expect, test } from 'vitest';
import { FileStream, SYNC_BYTES } from '../../src/storage/file-stream.ts';
import { PIECE_BYTES } from '../../src/storage/snapshot-format.ts';
import { DIRECTORY, freshDisk } from './kit.ts';

test('a long file goes to the device as it grows: else the journal waits behind all of it in the end', async () => {
  const disk = freshDisk();
  const file = disk.open(`${DIRECTORY}/long`, 'create');
  const [write, sync] = [file.writeLater.bind(file), file.syncLater.bind(file)];
  let written = 0;
  let most = 0;
  file.writeLater = (bytes, from, to, position, done) =>
    write(bytes, from, to, position, (error, count) => {
      written += count;
      most = Math.max(most, written);
      done(error, count);
    });
  file.syncLater = (done) =>
    sync((error) => {
      written = 0;
      done(error);
    });
  const stream = new FileStream(file);
  const piece = new Uint8Array(70_001);
  await stream.add(Array.from({ length: 100 }, () => piece));
  await stream.hash();
  expect(stream.bytes).toBe(7_000_100);
  expect(most).toBeGreaterThanOrEqual(SYNC_BYTES);
  expect(most).toBeLessThan(SYNC_BYTES + PIECE_BYTES + piece.length);
});
