/**
 * A torn tail, or an acknowledged frame in which one bit has flipped? By its CRC alone the last frame of a journal
 * looks the same in both cases. But a CRC-32 tells which single bit, turned back, would make it fit; and where the
 * server's signature then holds, that frame was whole once, and the tail is damage.
 */
import { crc32 } from 'node:zlib';
import { FRAME_FOOT_BYTES, FRAME_HEAD_BYTES, frameHash, frameSignature, frameWhole } from '../../storage/format.ts';

/** The reflected polynomial of CRC-32 (ISO 3309). */
const POLYNOMIAL = 0xedb88320;
/** The CRC covers the frame from here on. */
const COVERED_AT = 4;

/**
 * The byte of `tail` (all that lies behind the last whole frame) in which one bit has flipped, or -1 where no single
 * bit makes it a frame that `verify` knows as the server's. `tail` is as before when this returns.
 */
export function flippedByte(tail: Buffer, verify: (hash: Uint8Array, signature: Uint8Array) => boolean): number {
  if (tail.length < FRAME_HEAD_BYTES + FRAME_FOOT_BYTES) return -1;
  const stated = tail.readUInt32BE(0);
  const syndrome = (crc32(tail.subarray(COVERED_AT)) ^ stated) >>> 0;
  for (const { byte, bit } of candidates(syndrome, tail.length)) {
    tail[byte]! ^= bit;
    const isWhole = frameWhole(tail, 0, tail.length);
    const isServers = isWhole && verify(frameHash(tail, 0, tail.length), frameSignature(tail, tail.length));
    tail[byte]! ^= bit;
    if (isServers) return byte;
  }
  return -1;
}

/** The bits that, flipped, change the difference between stated and computed CRC by `syndrome`. */
function* candidates(syndrome: number, length: number): Generator<{ byte: number; bit: number }> {
  // In the CRC itself, which is written big-endian.
  if ((syndrome & (syndrome - 1)) === 0 && syndrome !== 0) {
    const shift = 31 - Math.clz32(syndrome);
    yield { byte: 3 - (shift >>> 3), bit: 1 << (shift & 7) };
  }
  // A CRC is linear: flipping one bit changes it by an amount that depends only on how far from the end it stands.
  let change = POLYNOMIAL;
  for (let byte = length - 1; byte >= COVERED_AT; byte--) {
    for (let bit = 0x80; bit > 0; bit >>>= 1) {
      if (change >>> 0 === syndrome) yield { byte, bit };
      change = (change & 1) === 0 ? change >>> 1 : (change >>> 1) ^ POLYNOMIAL;
    }
  }
}
