/**
 * One byte behind the last frame that is not zero: it has changed there, or it is all that is left of a write that did not
 * end, which only where it lies can tell.
 */
import { expect, test } from 'vitest';
import { changeIn } from '../../src/storage/changed-byte.ts';
import { FRAME_FOOT_BYTES, FRAME_HEAD_BYTES } from '../../src/storage/format.ts';
import { JOURNAL_START, Journal } from '../../src/storage/journal.ts';
import { randomFrom, SECTOR_BYTES } from './fake-disk.ts';
import { commit, DIRECTORY, freshDisk, intentFrom, JOURNAL_OPTIONS, readFrames, server } from './kit.ts';

const random = randomFrom(5);
/** None of them zero, so that of each sector all that was written is seen. */
const bytesFrom = (length: number) => Uint8Array.from({ length }, () => 1 + Math.floor(random() * 255));
const ROOM_BYTES = 1100;
/** From here on the text's own header is as long for each length, so that none is left out. */
const FILL = 256;

/** A segment of one frame, and the frame behind it that a power cut tore. The first is longer by `fill`. */
async function segmentOf(fill: number): Promise<{ path: string; whole: Buffer; end: number }> {
  const disk = freshDisk();
  const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
  journal.add(intentFrom(1, bytesFrom, 40 + fill));
  await commit(journal, 1);
  journal.add(intentFrom(2, bytesFrom, 600));
  await commit(journal, 2);
  await journal.close();
  const [first, second] = readFrames(disk).spans;
  return { path: first!.file, whole: disk.bytesOf(first!.file), end: second!.byte };
}

/** What is found where of the second frame only [from, to) came to be. */
function found({ path, whole, end }: Awaited<ReturnType<typeof segmentOf>>, from: number, to: number) {
  const bytes = Buffer.alloc(whole.length + ROOM_BYTES);
  whole.copy(bytes, 0, 0, end);
  whole.copy(bytes, from, from, to);
  const disk = freshDisk();
  disk.put(path, bytes);
  const { torn, position } = readFrames(disk);
  return torn === null ? 'whole' : changeIn(disk, DIRECTORY, { torn, position }, server.verify);
}

test('a write of which one sector came to be is torn, wherever in it the frame begins and ends', async () => {
  const begun = new Set<number>();
  const ended = new Set<number>();
  for (let n = 0; n < SECTOR_BYTES; n++) {
    const segment = await segmentOf(FILL + n);
    const { whole, end } = segment;
    begun.add(end % SECTOR_BYTES);
    ended.add(whole.length % SECTOR_BYTES);
    for (let sector = Math.floor(end / SECTOR_BYTES); sector * SECTOR_BYTES < whole.length; sector++) {
      const from = Math.max(sector * SECTOR_BYTES, end);
      const to = Math.min((sector + 1) * SECTOR_BYTES, whole.length);
      const seen = whole.subarray(from, to).filter((byte) => byte !== 0).length;
      // Three bytes of a sum or a signature, two of them zero, are one time in twenty thousand.
      if (seen > 1 || (seen === 1 && to - from <= 2)) expect(found(segment, from, to), `${from} of ${end}`).toBeNull();
    }
  }
  expect([begun.size, ended.size]).toEqual([SECTOR_BYTES, SECTOR_BYTES]);
});

test('a byte where a write that did not end leaves more than that, or none, has changed', async () => {
  const { path, whole, end } = await segmentOf(FILL);
  for (let byte = end; byte < whole.length + ROOM_BYTES; byte++) {
    const bytes = Buffer.alloc(whole.length + ROOM_BYTES);
    whole.copy(bytes, 0, 0, end);
    bytes[byte] = 0x40;
    const disk = freshDisk();
    disk.put(path, bytes);
    const { torn, position } = readFrames(disk);
    const change = changeIn(disk, DIRECTORY, { torn: torn!, position }, server.verify);
    const mayBeLast = byte % SECTOR_BYTES < 2 && byte - end >= FRAME_HEAD_BYTES + FRAME_FOOT_BYTES;
    expect(change).toEqual(mayBeLast ? null : { where: 'room', byte, change: 0x40 });
  }
});
