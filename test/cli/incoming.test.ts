/** What a hostile source sends to who follows: it is refused as before, and takes no more than it is long. */
import { expect, test } from 'vitest';
import { copyFrames, provenManifest, StrangeBooksError } from '../../src/cli/follow/incoming.ts';
import { FRAME_BYTES_MAX, FRAME_HEAD_BYTES, LENGTH_AT, SEGMENT_HEADER_BYTES } from '../../src/storage/format.ts';
import { FrameChain, SpoiltFrameError } from '../../src/storage/frame-chain.ts';
import { NOT_SIGNED } from '../../src/storage/journal-reader.ts';
import { DIRECTORY, filesOf, freshDisk, server, signerOf, writeFrames } from '../storage/kit.ts';
import { chunk, contentAt, fresh, part, START, take } from '../storage/snapshots.ts';

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
  expect(await taken([segment], times(63, mebi))).toEqual({ written: segment, refused: undefined });
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

/** A segment of several frames. */
const several = freshDisk();
await writeFrames(several, [1, 2, 3, 1]);
const whole = Buffer.from([...filesOf(several).values()][0]!);

test.each([1, 7, 100, 700, 1_000_000])(
  'a segment that comes in pieces of %i bytes is taken as it is',
  async (length) => {
    const pieces = Array.from({ length: Math.ceil(whole.length / length) }, (_, n) =>
      whole.subarray(n * length, (n + 1) * length),
    );
    expect(await taken(pieces)).toEqual({ written: whole, refused: undefined });
  },
);

test('a segment that begins is written at once, as far as it is there', async () => {
  const writes: number[] = [];
  const chain = new FrameChain({ seq: 0, chain: null, moment: 0 }, server.verify);
  await copyFrames(
    'journal',
    0,
    chain,
    pieces([whole, Buffer.alloc(9)]),
    async (bytes) => void writes.push(bytes.length),
  );
  expect(writes).toEqual([whole.length]);
});

test('what is of other books is told with its place, and what comes before it is taken', async () => {
  const foreign = freshDisk();
  await writeFrames(foreign, [1, 2], { sign: signerOf('another server').sign });
  const others = Buffer.from([...filesOf(foreign).values()][0]!);
  expect(await taken([others])).toEqual({
    written: Buffer.alloc(0),
    refused: new StrangeBooksError(`journal there, at byte ${SEGMENT_HEADER_BYTES}, has a frame that is ${NOT_SIGNED}`),
  });
  const again = whole.subarray(SEGMENT_HEADER_BYTES);
  for (const pieces of [[Buffer.concat([whole, again])], [whole, again]]) {
    const { written, refused } = await taken(pieces);
    expect(written.equals(whole)).toBe(true);
    expect(refused).toBeInstanceOf(StrangeBooksError);
    expect((refused as Error).message).toContain(`at byte ${whole.length}, has `);
  }
});

test('a copy that goes on writes each frame once, where it belongs, however many come at once', async () => {
  const chain = new FrameChain({ seq: 0, chain: null, moment: 0 }, server.verify);
  const header = chain.takeHeader(whole);
  const from = header + chain.take(whole, header);
  const copy = [whole.subarray(0, from)];
  await copyFrames('journal', from, chain, pieces([whole.subarray(from)]), async (bytes, at) => {
    expect(at).toBe(Buffer.concat(copy).length);
    copy.push(Buffer.from(bytes));
  });
  expect(copy).toHaveLength(4);
  expect(Buffer.concat(copy).equals(whole)).toBe(true);
});

test('a snapshot is what the server has signed, or refused; what the disk says is no fault of the snapshot', async () => {
  const disk = fresh();
  const { file } = await take(disk, contentAt(START, [chunk, part('table', false, 3000)]));
  const path = `${DIRECTORY}/${file}`;
  const prove = () => provenManifest(disk, path, server.verify).catch((error: Error) => error);
  expect(await prove()).toMatchObject({ seq: START.seq });
  const bytes = disk.bytesOf(path);
  const changed = Buffer.from(bytes);
  // Within the part, of which the outline says nothing.
  changed[1000]! ^= 1;
  for (const spoilt of [changed, bytes.subarray(1), bytes.subarray(0, 50)]) {
    disk.put(path, spoilt);
    expect(await prove()).toBeInstanceOf(SpoiltFrameError);
  }
  disk.put(path, bytes);
  disk.inject({ call: 'read', path, code: 'EIO' });
  expect(await prove()).toMatchObject({ code: 'EIO' });
  expect(disk.openFiles).toEqual([]);
});
