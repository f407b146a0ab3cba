/**
 * Hashes for the indexes of this room: 32 bits, well mixed, not cryptographic.
 *
 * `hashText` is HalfSipHash-1-3 (Aumasson and Bernstein's SipHash with 32-bit words): keyed, so that nobody without
 * the seed can choose names that fall together. Hashes lie in tables and tables lie in snapshots, so the seed has to
 * be kept with them, and these functions must never change what they return.
 */

/** A 32-bit hash of `text` under `seed` (any 32-bit number), over its UTF-16 units; 0 to 2^32 - 1. */
export function hashText(seed: number, text: string): number {
  const key = spread(seed ^ 0x5bd1e995);
  let v0 = seed | 0;
  let v1 = key;
  let v2 = 0x6c796765 ^ seed;
  let v3 = 0x74656462 ^ key;
  const length = text.length;
  for (let i = 0; i < length; i += 4) {
    // Four units that fit a byte make one word. Wider ones take two words, each marked in v1, so that no text of wide
    // units meets one of narrow units. Units beyond the end count as 0, and the length goes in last. They are never
    // asked for: once charCodeAt has given NaN, V8 makes a floating-point number of every unit.
    const a = text.charCodeAt(i);
    const b = i + 1 < length ? text.charCodeAt(i + 1) : 0;
    const c = i + 2 < length ? text.charCodeAt(i + 2) : 0;
    const d = i + 3 < length ? text.charCodeAt(i + 3) : 0;
    let word = a | (b << 8) | (c << 16) | (d << 24);
    if ((a | b | c | d) > 0xff) {
      v1 ^= 0xff;
      word = a | (b << 16);
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
      v1 ^= 0xff;
      word = c | (d << 16);
    }
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
  }
  // The word of the length, then three more rounds.
  v3 ^= length;
  for (let round = 0; round < 4; round++) {
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    if (round === 0) {
      v0 ^= length;
      v2 ^= 0xff;
    }
  }
  return (v1 ^ v3) >>> 0;
}

/** `hashText` of the ASCII text whose bytes are bytes[from, to). */
export function hashAscii(seed: number, bytes: Uint8Array, from: number, to: number): number {
  const key = spread(seed ^ 0x5bd1e995);
  let v0 = seed | 0;
  let v1 = key;
  let v2 = 0x6c796765 ^ seed;
  let v3 = 0x74656462 ^ key;
  const length = to - from;
  // Words of four bytes, then the word of the length and three rounds more: one round each.
  const words = (length + 3) >>> 2;
  for (let round = 0; round < words + 4; round++) {
    let word = round === words ? length : 0;
    if (round < words) {
      const at = from + round * 4;
      word = bytes[at]!;
      if (at + 1 < to) word |= bytes[at + 1]! << 8;
      if (at + 2 < to) word |= bytes[at + 2]! << 16;
      if (at + 3 < to) word |= bytes[at + 3]! << 24;
    }
    v3 ^= word;
    v0 = (v0 + v1) | 0;
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
    v0 = (v0 << 16) | (v0 >>> 16);
    v2 = (v2 + v3) | 0;
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
    v0 = (v0 + v3) | 0;
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
    v2 = (v2 + v1) | 0;
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
    v2 = (v2 << 16) | (v2 >>> 16);
    v0 ^= word;
    if (round === words) v2 ^= 0xff;
  }
  return (v1 ^ v3) >>> 0;
}

/**
 * One hash of two numbers of 32 bits, in this order; 0 to 2^32 - 1. For a fixed `a` no two `b` meet, and the other way
 * round.
 */
export function hashMix(a: number, b: number): number {
  return spread(spread(a + 0x9e3779b9) + b) >>> 0;
}

/** The same of two rows of records, under a seed: whoever makes the records knows in which rows they come to lie. */
export function hashRows(seed: number, a: number, b: number): number {
  return hashMix(a ^ seed, b);
}

/** The finalizer of MurmurHash3 (Appleby): a one-to-one mixing of 32 bits. */
function spread(n: number): number {
  let h = n | 0;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
