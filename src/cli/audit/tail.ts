/**
 * A torn tail, or an acknowledged frame in which one byte has changed? By its CRC alone the last frame of a journal
 * looks the same in both cases. But a CRC-32 tells which single byte, put back, would make it fit; and where the
 * server's signature then holds, that frame was whole once, and the tail is damage.
 */
import { crc32 } from 'node:zlib';
import { FRAME_FOOT_BYTES, FRAME_HEAD_BYTES, frameBytesAt, frameSignature } from '../../storage/format.ts';
import { frameHashOf } from '../../storage/journal-reader.ts';

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

/**
 * Where in `tail` (all that lies behind the last whole frame) one byte has changed, or -1 where no single byte, put
 * back, makes it a frame that `verify` knows as the server's. `tail` is as before when this returns.
 */
export function changedByte(tail: Buffer, verify: (hash: Uint8Array, signature: Uint8Array) => boolean): number {
  if (tail.length < FRAME_HEAD_BYTES + FRAME_FOOT_BYTES) return -1;
  const stated = tail.readUInt32BE(0);
  const difference = (crc32(tail.subarray(COVERED_AT)) ^ stated) >>> 0;
  for (const { byte, change } of candidates(difference, tail.length)) {
    tail[byte]! ^= change;
    const hash = frameBytesAt(tail, 0, tail.length) === tail.length ? frameHashOf(tail) : null;
    const isServers = hash !== null && verify(hash, frameSignature(tail, tail.length));
    tail[byte]! ^= change;
    if (isServers) return byte;
  }
  return -1;
}

/** The changes of one byte that lead to this difference between stated and computed CRC. */
function* candidates(difference: number, length: number): Generator<{ byte: number; change: number }> {
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
