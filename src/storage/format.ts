/**
 * What the journal looks like on disk: the format in prose, its constants beside it, and the functions
 * that put a header or a frame's rim into bytes and take them out again.
 *
 * A journal is a row of segments, files named `journal-<first seq, 20 digits>.ayj`, so that name order is
 * seq order. All numbers are big-endian, as in MessagePack.
 *
 * A segment begins with a header of 56 bytes:
 *
 *     0   8  magic 'AYNIJRNL'
 *     8   4  format version of whoever began it
 *    12   8  seq of the first entry in this segment, the number in its name
 *    20  32  chain before it: the hash of the last frame of the segment before; zeros in the first one
 *    52   4  CRC-32 of bytes 0..52
 *
 * Then frames without gaps, one per batch:
 *
 *     0   4  CRC-32 of everything after it, the length included
 *     4   4  length of the payload in bytes
 *     8   n  payload, one MessagePack array of always the widest encodings, so that it can be filled in
 *            when the batch is complete, and a frame can be recognised wherever it lies:
 *              dd u32   array of 6 + count elements
 *              02       format version
 *              cf u64   seq of the first entry; the others follow without gap
 *              ce u32   count of entries
 *              cf u64   moment of the frame, milliseconds since 1970
 *              c4 20    the hash of the frame before (32 bytes, zeros before the first frame)
 *              …        the entries, each one MessagePack array (entry-bytes.ts)
 *              c4 40    the server's Ed25519 signature of this frame's hash (64 bytes)
 *
 * A frame's hash is the SHA-256 of 99 bytes: its head from the length (byte 4) to its first entry, and the
 * SHA-256 of the SHA-256s of its entries, one after the other. It covers all that is in the frame but the CRC,
 * which follows from the rest, the signature, which covers it, and the signature's two marks, which are always
 * the same. The head holds the hash before, so the last signature vouches for every byte before it. Because
 * entries enter by their hashes, one can be shown to be in the books without the ones beside it, which may be
 * another tenant's, and the way from one frame to the next takes those 99 bytes (`ayni export`). A segment's
 * header holds nothing that does not follow from the frames around it, and is compared with them; but for the version,
 * which an audit compares with that of its first frame.
 *
 * Behind its last frame a segment may hold zeros: room for the frames to come, which a server that stops, or goes on
 * to the next segment, gives back, and one that was killed leaves. They say nothing. A frame never begins with zeros:
 * its length is not zero.
 *
 * Reading stops at the first bytes that are no whole frame: too short, an impossible length, or a CRC that
 * does not fit (a flipped bit in the length moves the end, so it is found like any other). One write makes
 * one frame, and none is begun before the one before it is synced. So where such bytes are the last thing
 * in the last segment they are a torn tail: a frame nobody was told about. Where a whole frame with a higher seq
 * follows, or the head of a later one, or another segment, they are damage: something that had been synced is gone. A
 * whole frame that does not continue the one before is damage anywhere. A fake frame cannot hide inside a real
 * one: the marks of a frame are not UTF-8, and no binary field is long enough to hold them.
 *
 * Versions differ in what lies in a frame, the entries (entry-bytes.ts), and in nothing else. Frames of versions 1 and
 * 2 are read for ever, and followed by those of version 3 wherever they end, in the same segment too. Of a version it
 * does not know a server reads nothing: it says so and stops, as damage, for it cannot tell what it would lose.
 *
 * Frames are not padded to sectors: like SQLite's "powersafe overwrite" this rests on disks that, losing
 * power while they append to a sector, leave alone what was synced in it before.
 *
 * A journal cut exactly between two frames looks whole: only something signed later can tell, which is
 * why a journal that ends before its snapshot is damage too.
 */
import { hash as digest } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { equalBytes } from '../core/bytes.ts';

/** What is written. */
export const FORMAT_VERSION = 3;
/** The oldest that is read. */
const FORMAT_VERSION_MIN = 1;
export const HASH_BYTES = 32;
export const SIGNATURE_BYTES = 64;

export const SEGMENT_HEADER_BYTES = 56;
/** From the start of a frame to its first entry. */
export const FRAME_HEAD_BYTES = 71;
/** From the end of its last entry to the end of the frame. */
export const FRAME_FOOT_BYTES = 2 + SIGNATURE_BYTES;
/** No entry is shorter: the head of its array, 23 bytes of its luid, and six elements more at least. */
const ENTRY_BYTES_MIN = 30;
/** No frame is longer; the engine closes its batches long before. */
export const FRAME_BYTES_MAX = 64 * 1024 * 1024;

/** The last moment that a calendar has. */
const MOMENT_MAX = 8_640_000_000_000_000;

const SEGMENT_MAGIC = Buffer.from('AYNIJRNL', 'latin1');
const SEGMENT_NAME = /^journal-(\d{20})\.ayj$/;

// Offsets within a frame, see above.
const CRC_AT = 0;
export const LENGTH_AT = 4;
export const PAYLOAD_AT = 8;
const VERSION_AT = 13;
const SEQ_AT = 14;
const COUNT_AT = 23;
/** Up to here a frame tells how many entries it has. */
export const COUNT_END = COUNT_AT + 5;
export const MOMENT_AT = 28;
const CHAIN_AT = 37;
/** Elements of the payload array that are not entries. */
const RIM_ELEMENTS = 6;

/** A frame's rim. Readers reuse one, so that small frames make no garbage. */
export interface FrameHead {
  firstSeq: number;
  count: number;
  moment: number;
}

export interface SegmentHeader {
  version: number;
  firstSeq: number;
  /** A copy, 32 bytes. */
  chain: Uint8Array;
}

export function segmentName(firstSeq: number): string {
  return `journal-${seqDigits(firstSeq)}.ayj`;
}

/** Whether this is the server's signature of a hash, be it a frame's or a snapshot's. */
export type VerifyHash = (hash: Uint8Array, signature: Uint8Array) => boolean;

/** The first seq a segment's name gives, or 0 where it is no segment's name. */
export function segmentSeq(name: string): number {
  const match = SEGMENT_NAME.exec(name);
  const seq = match === null ? 0 : Number(match[1]);
  return Number.isSafeInteger(seq) ? seq : 0;
}

export function seqDigits(seq: number): string {
  return String(seq).padStart(20, '0');
}

/** SHA-256, 32 bytes; a text is hashed as UTF-8. */
export function sha256(data: string | Uint8Array): Uint8Array {
  // A 'binary' string has one character a byte; unpacking it is quicker than having a Buffer made.
  const text = digest('sha256', data, 'binary');
  const bytes = new Uint8Array(HASH_BYTES);
  for (let index = 0; index < HASH_BYTES; index++) bytes[index] = text.charCodeAt(index);
  return bytes;
}

/** CRC-32 of bytes[from, to), going on from `before`. */
export function crc(bytes: Uint8Array, from: number, to: number, before = 0): number {
  return crc32(bytes.subarray(from, to), before);
}

export function isKnownVersion(version: number): boolean {
  return version >= FORMAT_VERSION_MIN && version <= FORMAT_VERSION;
}

/** A header at the beginning of `bytes`. */
export function writeSegmentHeader(bytes: Buffer, firstSeq: number, chain: Uint8Array, version: number): void {
  bytes.set(SEGMENT_MAGIC, 0);
  bytes.writeUInt32BE(version, 8);
  writeSafe(bytes, 12, firstSeq);
  bytes.set(chain, 20);
  bytes.writeUInt32BE(crc(bytes, 0, 52), 52);
}

/** The header at `at`, or null where the bytes are none. */
export function readSegmentHeader(bytes: Buffer, at: number, to: number): SegmentHeader | null {
  if (to - at < SEGMENT_HEADER_BYTES) return null;
  if (!equalBytes(bytes.subarray(at, at + 8), SEGMENT_MAGIC)) return null;
  if (bytes.readUInt32BE(at + 52) !== crc(bytes, at, at + 52)) return null;
  return {
    version: bytes.readUInt32BE(at + 8),
    firstSeq: readSafe(bytes, at + 12),
    chain: Uint8Array.prototype.slice.call(bytes, at + 20, at + 52),
  };
}

/** Puts the digest of the entry bytes[from, to) at `at`; `frameHash` wants those of a frame's entries in a row. */
export function digestEntry(bytes: Uint8Array, from: number, to: number, digests: Uint8Array, at: number): void {
  const whole = from === 0 && to === bytes.length;
  const text = digest('sha256', whole ? bytes : bytes.subarray(from, to), 'binary');
  for (let index = 0; index < HASH_BYTES; index++) digests[at + index] = text.charCodeAt(index);
}

/**
 * Fills in everything of the frame bytes[from, to) but its entries, its signature and its CRC, and returns
 * its hash. `digests` are those of its entries. `sealFrame` does the rest.
 */
export function fillFrame(
  bytes: Buffer,
  from: number,
  to: number,
  head: FrameHead,
  chain: Uint8Array,
  digests: Uint8Array,
  version = FORMAT_VERSION,
): Uint8Array {
  bytes.writeUInt32BE(to - from - PAYLOAD_AT, from + LENGTH_AT);
  bytes[from + PAYLOAD_AT] = 0xdd;
  bytes.writeUInt32BE(RIM_ELEMENTS + head.count, from + PAYLOAD_AT + 1);
  bytes[from + VERSION_AT] = version;
  bytes[from + SEQ_AT] = 0xcf;
  writeSafe(bytes, from + SEQ_AT + 1, head.firstSeq);
  bytes[from + COUNT_AT] = 0xce;
  bytes.writeUInt32BE(head.count, from + COUNT_AT + 1);
  bytes[from + MOMENT_AT] = 0xcf;
  writeSafe(bytes, from + MOMENT_AT + 1, head.moment);
  bytes[from + CHAIN_AT] = 0xc4;
  bytes[from + CHAIN_AT + 1] = HASH_BYTES;
  bytes.set(chain, from + CHAIN_AT + 2);
  bytes[to - FRAME_FOOT_BYTES] = 0xc4;
  bytes[to - FRAME_FOOT_BYTES + 1] = SIGNATURE_BYTES;
  return frameHash(bytes, from, digests);
}

/** Writes the signature and the CRC into the frame bytes[from, to), which is whole but for these. */
export function sealFrame(bytes: Buffer, from: number, to: number, signature: Uint8Array): void {
  bytes.set(signature, to - SIGNATURE_BYTES);
  bytes.writeUInt32BE(crc(bytes, from + LENGTH_AT, to), from + CRC_AT);
}

/** The hash of the frame at `from`, whose entries have these digests. */
export function frameHash(bytes: Uint8Array, from: number, digests: Uint8Array): Uint8Array {
  return sha256(Buffer.concat([bytes.subarray(from + LENGTH_AT, from + FRAME_HEAD_BYTES), sha256(digests)]));
}

/** The format version of the frame at `from`. */
export function frameVersion(bytes: Uint8Array, from: number): number {
  return bytes[from + VERSION_AT]!;
}

/** The hash of the frame before, as the frame at `from` states it; a view. */
export function frameChain(bytes: Uint8Array, from: number): Uint8Array {
  return bytes.subarray(from + CHAIN_AT + 2, from + FRAME_HEAD_BYTES);
}

/** A view, like `frameChain`. */
export function frameSignature(bytes: Uint8Array, to: number): Uint8Array {
  return bytes.subarray(to - SIGNATURE_BYTES, to);
}

/**
 * Length in bytes of the frame that claims to begin at `from`, or 0 where no frame of at most `bytesMax`
 * bytes can begin there. Only FRAME_HEAD_BYTES are looked at; the CRC is the reader's to check.
 */
export function frameBytesAt(bytes: Buffer, from: number, bytesMax: number): number {
  const marked =
    bytes[from + PAYLOAD_AT] === 0xdd &&
    bytes[from + SEQ_AT] === 0xcf &&
    bytes[from + COUNT_AT] === 0xce &&
    bytes[from + MOMENT_AT] === 0xcf &&
    bytes[from + CHAIN_AT] === 0xc4 &&
    bytes[from + CHAIN_AT + 1] === HASH_BYTES;
  if (!marked) return 0;
  const length = PAYLOAD_AT + bytes.readUInt32BE(from + LENGTH_AT);
  return length > FRAME_HEAD_BYTES + FRAME_FOOT_BYTES && length <= Math.min(bytesMax, FRAME_BYTES_MAX) ? length : 0;
}

/** Whether its entries have numbers of their own: beyond 2^53 the next one may be the same. */
function hasNumbers({ firstSeq, count }: FrameHead): boolean {
  return Number.isSafeInteger(firstSeq + (count - 1));
}

/** Whether the CRC of the frame bytes[from, to) fits. */
export function frameWhole(bytes: Buffer, from: number, to: number): boolean {
  return bytes.readUInt32BE(from + CRC_AT) === crc(bytes, from + LENGTH_AT, to);
}

/** Reads the rim of a whole frame into `head`; returns what is wrong with it, or ''. */
export function readFrameHead(bytes: Buffer, from: number, to: number, head: FrameHead): string {
  readNumbers(bytes, from, head);
  const version = frameVersion(bytes, from);
  if (!isKnownVersion(version)) return `frame of format version ${version}`;
  if (head.count === 0) return 'a frame without entries';
  if (head.moment > MOMENT_MAX) return 'a frame of no moment';
  if (!hasNumbers(head)) return 'a frame with entries beyond all numbers';
  // Whoever goes through the entries notes each of them, before it is known who has signed the frame.
  const countMax = Math.floor((to - from - FRAME_HEAD_BYTES - FRAME_FOOT_BYTES) / ENTRY_BYTES_MIN);
  const elements = bytes.readUInt32BE(from + PAYLOAD_AT + 1);
  if (elements !== RIM_ELEMENTS + head.count || head.count > countMax) return 'a frame that miscounts itself';
  if (bytes[to - FRAME_FOOT_BYTES] !== 0xc4 || bytes[to - FRAME_FOOT_BYTES + 1] !== SIGNATURE_BYTES) {
    return 'a frame without a signature';
  }
  return '';
}

/**
 * Whether the head of a frame lies at `from`, whatever has become of the rest of it: its marks, which nothing else has,
 * and numbers that agree. It is read into `head` then.
 */
export function isFrameHead(bytes: Buffer, from: number, head: FrameHead): boolean {
  if (frameBytesAt(bytes, from, FRAME_BYTES_MAX) === 0) return false;
  readNumbers(bytes, from, head);
  const elements = bytes.readUInt32BE(from + PAYLOAD_AT + 1);
  return elements === RIM_ELEMENTS + head.count && head.moment <= MOMENT_MAX && hasNumbers(head);
}

function readNumbers(bytes: Buffer, from: number, head: FrameHead): void {
  head.firstSeq = readSafe(bytes, from + SEQ_AT + 1);
  head.count = bytes.readUInt32BE(from + COUNT_AT + 1);
  head.moment = readSafe(bytes, from + MOMENT_AT + 1);
}

/** An integer of at most 2^53 - 1 as u64. */
function writeSafe(bytes: Buffer, at: number, value: number): void {
  bytes.writeUInt32BE(Math.floor(value / 0x1_0000_0000), at);
  bytes.writeUInt32BE(value % 0x1_0000_0000, at + 4);
}

/** A u64; beyond 2^53 it is no longer exact, and whoever asks has to refuse it. */
function readSafe(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 0x1_0000_0000 + bytes.readUInt32BE(at + 4);
}
