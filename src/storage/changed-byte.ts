/**
 * A torn tail, or an acknowledged frame in which one byte has changed? By its CRC alone the last frame of a journal
 * looks the same in both cases. But a CRC-32 tells which single byte, put back, would make it fit; and where the
 * server's signature then holds, and the frame is the next one of these books, that frame was whole once, and that is
 * what the byte was: nothing is guessed. An older frame that a disk brought back is none of these.
 */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Disk, readAll, withFile, writeAll } from './disk.ts';
import {
  FRAME_FOOT_BYTES,
  FRAME_HEAD_BYTES,
  type FrameHead,
  frameBytesAt,
  frameSignature,
  readFrameHead,
  type VerifyHash,
} from './format.ts';
import { frameHashOf } from './frame-entries.ts';
import type { JournalPosition } from './journal.ts';
import { misplaced, type TornTail } from './journal-reader.ts';

/** The reflected polynomial of CRC-32 (ISO 3309). */
const POLYNOMIAL = 0xedb88320;
/** The CRC covers the frame from here on. */
const COVERED_AT = 4;

/** What a CRC becomes that moves on by a byte, by its lowest byte. */
const STEPS = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = (rest & 1) === 0 ? rest >>> 1 : (rest >>> 1) ^ POLYNOMIAL;
  return rest;
});
/** The way back: no two steps have the same highest byte. */
const STEP_OF = new Uint8Array(256);
for (const [byte, step] of STEPS.entries()) STEP_OF[step >>> 24] = byte;

/** What a disk writes as a whole, at least. */
const SECTOR_BYTES = 512;
/** So few bytes of a frame in a sector of their own may be seen as one. */
const EDGE_BYTES = 2;

/** Zeros at the end of a frame: one signature in sixteen ends with one, one in ten million with four. */
const ZEROS_MAX = 4;

interface ChangedByte {
  /** Where it is. */
  byte: number;
  /** The bits in which it is not what it was. */
  change: number;
}

interface ChangeFound extends ChangedByte {
  /** In the last frame, or among the zeros behind it. */
  where: 'frame' | 'room';
}

/**
 * The byte of its segment in which a torn tail differs from the server's frame behind `position`, or from zeros; null
 * where it is torn indeed.
 */
export function changeIn(
  disk: Disk,
  directory: string,
  { torn, position }: { torn: TornTail; position: JournalPosition },
  verify: VerifyHash,
): ChangeFound | null {
  // Without its header a segment holds no frame.
  if (torn.byte === 0) return null;
  const tail = Buffer.alloc(torn.bytes + ZEROS_MAX);
  const path = join(directory, torn.file);
  const count = withFile(disk, path, 'read', (file) => readAll(file, tail, torn.byte));
  const first = tail.findIndex((byte) => byte !== 0);
  if (first === torn.bytes - 1 && !mayBeTorn(torn.byte, first)) {
    return { where: 'room', byte: torn.byte + first, change: tail[first]! };
  }
  const head: FrameHead = { firstSeq: 0, count: 0, moment: 0 };
  // It is asked while the byte in question is put back.
  const isNext: VerifyHash = (hash, signature) => {
    readFrameHead(tail, 0, tail.length, head);
    return misplaced(head, position, tail, 0) === '' && verify(hash, signature);
  };
  const lengths: number[] = [];
  // The next write may not have ended, and have left something behind the frame: where that begins the frame says
  // itself.
  const stated = frameBytesAt(tail, 0, torn.bytes);
  if (stated > 0) lengths.push(stated);
  // The frame may have ended with zeros, which look like the room behind it.
  for (let length = torn.bytes; length <= count; length++) lengths.push(length);
  for (const length of lengths) {
    const found = changedByte(tail.subarray(0, length), isNext);
    if (found !== null) return { where: 'frame', change: found.change, byte: torn.byte + found.byte };
  }
  return null;
}

/**
 * Whether all that came to be of a frame that began at `start` may be the one byte that lies `behind` bytes further:
 * its first sector may have two bytes of it, or its last, and one of the two be zero. Of more, one alone is hardly ever
 * seen.
 */
function mayBeTorn(start: number, behind: number): boolean {
  const inFirst = SECTOR_BYTES - (start % SECTOR_BYTES);
  if (behind < inFirst) return inFirst <= EDGE_BYTES;
  return behind >= FRAME_HEAD_BYTES + FRAME_FOOT_BYTES && (start + behind) % SECTOR_BYTES < EDGE_BYTES;
}

/** What is said of it. */
export function changeText({ where }: ChangeFound): string {
  return where === 'frame'
    ? 'one byte of a signed frame has changed'
    : 'one byte behind the last frame has changed, where nothing was written yet';
}

/** Puts a changed byte of a segment back, durably. */
export function putBack(disk: Disk, directory: string, name: string, { byte, change }: ChangedByte): void {
  withFile(disk, join(directory, name), 'write', (file) => {
    const bytes = Buffer.alloc(1);
    readAll(file, bytes, byte);
    bytes[0]! ^= change;
    writeAll(file, bytes, 0, 1, byte);
    file.sync();
  });
}

/**
 * Where in `tail` (what lies behind the last whole frame) one byte has changed, or null where no single byte,
 * put back, makes it a frame that `verify` knows as the server's. `tail` is as before when this returns.
 */
export function changedByte(tail: Buffer, verify: VerifyHash): ChangedByte | null {
  if (tail.length < FRAME_HEAD_BYTES + FRAME_FOOT_BYTES) return null;
  const stated = tail.readUInt32BE(0);
  const difference = (crc32(tail.subarray(COVERED_AT)) ^ stated) >>> 0;
  for (const { byte, change } of candidates(difference, tail.length)) {
    tail[byte]! ^= change;
    const hash = frameBytesAt(tail, 0, tail.length) === tail.length ? frameHashOf(tail) : null;
    const isServers = hash !== null && verify(hash, frameSignature(tail, tail.length));
    tail[byte]! ^= change;
    if (isServers) return { byte, change };
  }
  return null;
}

/** The changes of one byte that lead to this difference between stated and computed CRC. */
function* candidates(difference: number, length: number): Generator<ChangedByte> {
  if (difference === 0) return;
  // In the CRC itself, which is written big-endian.
  for (let byte = 0; byte < COVERED_AT; byte++) {
    const change = (difference >>> (24 - 8 * byte)) & 0xff;
    if (difference === (change << (24 - 8 * byte)) >>> 0) yield { byte, change };
  }
  // A CRC is linear: a changed byte makes a difference that moves on by a step with every byte after it. Going back
  // step by step from the end, the change itself stands there at the byte where it was made.
  let rest = difference;
  for (let byte = length - 1; byte >= COVERED_AT; byte--) {
    const step = STEP_OF[rest >>> 24]!;
    rest = (((rest ^ STEPS[step]!) << 8) | step) >>> 0;
    if (rest < 256) yield { byte, change: rest };
  }
}
