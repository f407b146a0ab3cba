/**
 * One byte that is not what it was. In a frame the server's signature proves that. Behind the last frame, where it alone is
 * not zero, it has changed there, or it is all that is left of a write that did not end: only where it lies can tell.
 */
import { expect, test } from 'vitest';
import { changeIn } from '../../src/storage/changed-byte.ts';
import { FRAME_FOOT_BYTES, FRAME_HEAD_BYTES, SIGNATURE_BYTES, sealFrame } from '../../src/storage/format.ts';
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
  return changeOf(path, bytes);
}

/** What is found in a segment of these bytes. */
function changeOf(path: string, bytes: Uint8Array, verify = server.verify) {
  const disk = freshDisk();
  disk.put(path, bytes);
  const { torn, position } = readFrames(disk);
  return torn === null ? 'whole' : changeIn(disk, DIRECTORY, { torn, position }, verify);
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
    const change = changeOf(path, bytes);
    const mayBeLast = byte % SECTOR_BYTES < 2 && byte - end >= FRAME_HEAD_BYTES + FRAME_FOOT_BYTES;
    expect(change).toEqual(mayBeLast ? null : { where: 'room', byte, change: 0x40 });
  }
});

test.each([0, 1, 4])(
  'a byte of a frame whose signature ends with %i zeros is found, whether there is room behind it or not',
  async (zeros) => {
    const { path, whole, end } = await segmentOf(FILL);
    const signature = bytesFrom(SIGNATURE_BYTES).fill(0, SIGNATURE_BYTES - zeros);
    sealFrame(whole, end, whole.length, signature);
    whole[end + 100]! ^= 4;
    const isIt = (_: Uint8Array, given: Uint8Array) => Buffer.compare(given, signature) === 0;
    const found = { where: 'frame', byte: end + 100, change: 4 };
    for (const room of [0, ROOM_BYTES])
      expect(changeOf(path, Buffer.concat([whole, Buffer.alloc(room)]), isIt)).toEqual(found);
  },
);

test('a byte of a frame that somebody without the key has signed is none that can be put back: the tail is torn', async () => {
  const { path, whole, end } = await segmentOf(FILL);
  sealFrame(whole, end, whole.length, bytesFrom(SIGNATURE_BYTES));
  whole[end + 100]! ^= 4;
  expect(changeOf(path, whole)).toBeNull();
});
