/** Frames from elsewhere: each is taken once it is whole, in its place, and signed; of any other it is told what it is. */
import { beforeAll, describe, expect, test } from 'vitest';
import {
  FORMAT_VERSION,
  FRAME_HEAD_BYTES,
  type FrameHead,
  fillFrame,
  frameChain,
  LENGTH_AT,
  readFrameHead,
  SEGMENT_HEADER_BYTES,
  SIGNATURE_BYTES,
  sealFrame,
  writeSegmentHeader,
} from '../../src/storage/format.ts';
import { FrameChain, SpoiltFrameError, StrangeFrameError } from '../../src/storage/frame-chain.ts';
import { frameHashOf } from '../../src/storage/frame-entries.ts';
import type { JournalPosition } from '../../src/storage/journal.ts';
import { filesOf, freshDisk, readFrames, server, signerOf, writeFrames } from './kit.ts';

/** One segment of frames of so many entries, and where each ends; and the header of the segment behind it. */
let bytes: Buffer = Buffer.alloc(0);
let spans: { byte: number; bytes: number; position: JournalPosition }[] = [];
const next = Buffer.alloc(SEGMENT_HEADER_BYTES);

beforeAll(async () => {
  const disk = freshDisk();
  await writeFrames(disk, [2, 1, 70]);
  bytes = [...filesOf(disk).values()][0]!;
  spans = readFrames(disk).spans;
  const { seq, chain } = spans[2]!.position;
  writeSegmentHeader(next, seq + 1, chain, FORMAT_VERSION);
});

const unknown = () => new FrameChain({ seq: 0, chain: null, moment: 0 }, server.verify);
/** What has taken so many frames. */
const behind = (count: number) => new FrameChain(spans[count - 1]!.position, server.verify);
const frame = (index: number) => {
  const { byte, bytes: length } = spans[index]!;
  return Buffer.from(bytes.subarray(byte, byte + length));
};

/** The second frame with another rim, which `signer` has signed. */
function changed(
  change: Partial<FrameHead>,
  { version = FORMAT_VERSION, chain = frameChain(frame(1), 0) } = {},
  signer = server,
) {
  const made = frame(1);
  const head: FrameHead = { firstSeq: 0, count: 0, moment: 0 };
  readFrameHead(made, 0, made.length, head);
  fillFrame(made, 0, made.length, { ...head, ...change }, chain, new Uint8Array(0), version);
  sealFrame(made, 0, made.length, new Uint8Array(SIGNATURE_BYTES));
  // Of what cannot be read there is no hash, and nobody asks who has signed it.
  const hash = frameHashOf(made);
  if (hash !== null) sealFrame(made, 0, made.length, signer.sign(hash));
  return made;
}

describe('a frame', () => {
  test('is taken once all of it is there, one after the other', () => {
    const chain = unknown();
    let at = chain.takeHeader(bytes);
    expect(at).toBe(spans[0]!.byte);
    for (const span of spans) {
      for (let end = at; end < at + span.bytes; end++) expect(chain.take(bytes.subarray(0, end), at)).toBe(0);
      expect(chain.take(bytes, at)).toBe(span.bytes);
      expect(chain.position).toEqual(span.position);
      at += span.bytes;
    }
    expect(chain.take(bytes, at)).toBe(0);
    expect(chain.take(Buffer.concat([bytes, Buffer.alloc(500)]), at)).toBe(0);
    expect(chain.takeHeader(next)).toBe(SEGMENT_HEADER_BYTES);
  });

  test('that has changed in any of its bytes is not taken', () => {
    const whole = frame(1);
    for (let byte = 0; byte < whole.length; byte++) {
      const spoilt = Buffer.from(whole);
      spoilt[byte]! ^= 1 << (byte % 8);
      const chain = behind(1);
      let taken = 0;
      try {
        taken = chain.take(spoilt, 0);
        // It may say that it is longer: then more of it has to come.
        expect(spoilt.readUInt32BE(LENGTH_AT), `byte ${byte}`).toBeGreaterThan(whole.readUInt32BE(LENGTH_AT));
      } catch (error) {
        expect(error, `byte ${byte}`).toBeInstanceOf(SpoiltFrameError);
      }
      expect(taken).toBe(0);
      expect(chain.position).toEqual(spans[0]!.position);
      expect(chain.take(whole, 0)).toBe(whole.length);
    }
  });

  test.each<[string, () => Buffer, RegExp]>([
    ['that is signed by another', () => changed({}, {}, signerOf('another server')), /not signed by this server/],
    ['of a later entry', () => changed({ firstSeq: 4 }), /entry 4 where 3 belongs/],
    ['that was taken before', () => frame(0), /entry 1 where 3 belongs/],
    ['of another history', () => changed({}, { chain: new Uint8Array(32) }), /does not continue the frame before it/],
    ['of an earlier moment', () => changed({ moment: 0 }), /time goes back/],
    ['of a later format', () => changed({}, { version: FORMAT_VERSION + 1 }), /of format version 4/],
    [
      'with an entry that is none',
      () => {
        const made = frame(1);
        made[FRAME_HEAD_BYTES] = 0xc1;
        sealFrame(made, 0, made.length, new Uint8Array(SIGNATURE_BYTES));
        return made;
      },
      /a frame with /,
    ],
  ])('%s is strange to these books', (_, made, what) => {
    const chain = behind(1);
    expect(() => chain.take(made(), 0)).toThrow(StrangeFrameError);
    expect(() => chain.take(made(), 0)).toThrow(what);
    expect(chain.position).toEqual(spans[0]!.position);
    expect(chain.take(frame(1), 0)).toBe(spans[1]!.bytes);
  });

  test('nor are other bytes one, behind zeros or not', () => {
    for (const zeros of [0, 1, 200]) {
      const other = Buffer.concat([Buffer.alloc(zeros), Buffer.alloc(100, 7)]);
      expect(() => behind(1).take(other, 0)).toThrow(SpoiltFrameError);
    }
  });
});

describe('the header of a segment', () => {
  const header = (firstSeq: number, chain: Uint8Array, version = FORMAT_VERSION) => {
    const made = Buffer.alloc(SEGMENT_HEADER_BYTES);
    writeSegmentHeader(made, firstSeq, chain, version);
    return made;
  };

  test.each<[string, () => Buffer]>([
    ['of another entry', () => header(75, spans[2]!.position.chain)],
    ['of another history', () => header(74, new Uint8Array(32))],
    ['of a later format', () => header(74, spans[2]!.position.chain, FORMAT_VERSION + 1)],
  ])('%s is strange to these books', (_, made) => {
    const chain = behind(3);
    expect(() => chain.takeHeader(made())).toThrow(StrangeFrameError);
    expect(chain.takeHeader(next)).toBe(SEGMENT_HEADER_BYTES);
  });

  test('tells the chain where that is not known, and nothing else', () => {
    const chain = new FrameChain({ seq: 73, chain: null, moment: 0 }, server.verify);
    expect(() => chain.takeHeader(header(1, new Uint8Array(32)))).toThrow(StrangeFrameError);
    chain.takeHeader(next);
    expect([chain.position.seq, chain.position.moment]).toEqual([73, 0]);
    expect(Buffer.compare(chain.position.chain, spans[2]!.position.chain)).toBe(0);
  });

  test('that has changed, or is cut short, is spoilt', () => {
    const spoilt = Buffer.from(next);
    spoilt[30]! ^= 1;
    for (const made of [spoilt, next.subarray(1), next.subarray(0, -1)]) {
      expect(() => behind(3).takeHeader(made)).toThrow(SpoiltFrameError);
    }
  });
});
