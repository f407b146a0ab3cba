/** What a hostile source sends to who follows: it is refused as before, and takes no more than it is long. */
import { expect, test } from 'vitest';
import { copyFrames, provenManifest } from '../../src/cli/follow/incoming.ts';
import { FRAME_BYTES_MAX, FRAME_HEAD_BYTES, LENGTH_AT, SEGMENT_HEADER_BYTES } from '../../src/storage/format.ts';
import { FrameChain, SpoiltFrameError } from '../../src/storage/frame-chain.ts';
import { DIRECTORY, filesOf, freshDisk, server, writeFrames } from '../storage/kit.ts';
import { chunk, contentAt, fresh, START, take } from '../storage/snapshots.ts';

/** A segment with a frame. */
const disk = freshDisk();
await writeFrames(disk, [3]);
const segment = [...filesOf(disk).values()][0]!;
/** The head of a frame that says it is as long as one may be. */
const head = Buffer.from(segment.subarray(SEGMENT_HEADER_BYTES, SEGMENT_HEADER_BYTES + FRAME_HEAD_BYTES));
head.writeUInt32BE(FRAME_BYTES_MAX - LENGTH_AT - 4, LENGTH_AT);

async function* pieces(...chunks: Iterable<Uint8Array>[]) {
  for (const each of chunks) yield* each;
}
function* times(count: number, bytes: Uint8Array) {
  for (let n = 0; n < count; n++) yield bytes;
}

/** What was handed on of a segment that begins, and why the rest was refused, if it was. */
async function taken(...chunks: Iterable<Uint8Array>[]) {
  const written: Buffer[] = [];
  const chain = new FrameChain({ seq: 0, chain: null, moment: 0 }, server.verify);
  const refused = await copyFrames('journal', 0, chain, pieces(...chunks), async (bytes, at) => {
    expect(at).toBe(Buffer.concat(written).length);
    written.push(Buffer.from(bytes));
  }).catch((error: Error) => error);
  return { written: Buffer.concat(written), refused };
}

test.each<[string, Iterable<Uint8Array>[], Error | undefined]>([
  ['zeros, which were all looked at again with each', [times(4000, Buffer.alloc(1024))], undefined],
  [
    'a frame, of which all was copied again with each',
    [[head], times(4000, Buffer.alloc(1024, 7))],
    new SpoiltFrameError('half a frame behind entry 3'),
  ],
])(
  'four thousand pieces of %s',
  async (_, rest, refused) => {
    const before = process.cpuUsage();
    expect(await taken([segment], ...rest)).toEqual({ written: segment, refused });
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1e6, 'seconds').toBeLessThan(2);
  },
  120_000,
);

test('zeros are no end of what may come: no more of them than a frame has, and nothing behind them', async () => {
  const mebi = Buffer.alloc(2 ** 20);
  const { refused } = await taken([segment], times(66, mebi));
  expect(refused).toEqual(new SpoiltFrameError('more bytes than a frame has'));
  for (const last of [Buffer.from([1]), head, segment.subarray(SEGMENT_HEADER_BYTES)]) {
    const { written, refused } = await taken([segment], times(2, mebi), [last]);
    expect(written.equals(segment)).toBe(true);
    expect(refused).toEqual(new SpoiltFrameError('no frame behind entry 3'));
  }
});

test('a header, which nobody signs, is nothing without a frame behind it, whatever zeros are', async () => {
  const header = segment.subarray(0, SEGMENT_HEADER_BYTES);
  const nothing = Buffer.alloc(0);
  for (const rest of [nothing, Buffer.alloc(3), Buffer.alloc(5000)]) {
    expect(await taken([header], [rest])).toEqual({ written: nothing, refused: undefined });
  }
  const half = segment.subarray(0, segment.length - 1);
  expect(await taken([half])).toEqual({
    written: nothing,
    refused: new SpoiltFrameError('half a frame behind entry 0'),
  });
  const other = Buffer.from(segment.subarray(SEGMENT_HEADER_BYTES));
  other[FRAME_HEAD_BYTES + 2]! ^= 1;
  for (const pieces of [[header, other], [Buffer.concat([header, other])]]) {
    const { written, refused } = await taken(pieces);
    expect([written.length, refused]).toEqual([0, expect.any(SpoiltFrameError)]);
  }
});

test('a segment that comes byte by byte is taken as it is', async () => {
  const bytes = Array.from(segment, (byte) => Buffer.of(byte));
  expect(await taken(bytes)).toEqual({ written: segment, refused: undefined });
});

test('a copy that goes on writes each frame once, where it belongs, however many come at once', async () => {
  const disk = freshDisk();
  await writeFrames(disk, [1, 2, 3]);
  const whole = Buffer.from([...filesOf(disk).values()][0]!);
  const chain = new FrameChain({ seq: 0, chain: null, moment: 0 }, server.verify);
  const header = chain.takeHeader(whole);
  const from = header + chain.take(whole, header);
  const copy = [whole.subarray(0, from)];
  await copyFrames('journal', from, chain, pieces([whole.subarray(from)]), async (bytes, at) => {
    expect(at).toBe(Buffer.concat(copy).length);
    copy.push(Buffer.from(bytes));
  });
  expect(copy).toHaveLength(3);
  expect(Buffer.concat(copy).equals(whole)).toBe(true);
});

test('a snapshot is what the server has signed, or refused; what the disk says is no fault of the snapshot', async () => {
  const disk = fresh();
  const { file } = await take(disk, contentAt(START, [chunk]));
  const path = `${DIRECTORY}/${file}`;
  const prove = () => provenManifest(disk, path, server.verify).catch((error: Error) => error);
  expect(await prove()).toMatchObject({ seq: START.seq });
  const bytes = disk.bytesOf(path);
  const changed = Buffer.from(bytes);
  changed[bytes.length >> 1]! ^= 1;
  for (const spoilt of [changed, bytes.subarray(1), bytes.subarray(0, 50)]) {
    disk.put(path, spoilt);
    expect(await prove()).toBeInstanceOf(SpoiltFrameError);
  }
  disk.put(path, bytes);
  disk.inject({ call: 'read', path, code: 'EIO' });
  expect(await prove()).toMatchObject({ code: 'EIO' });
  expect(disk.openFiles).toEqual([]);
});
