/**
 * How many shapes the objects of a JSON text have: V8 learns each before it can hold the object, and forgets none soon.
 *
 * A shape is the names of an object's members as far as they have come, in their order: `{"a":1,"b":2}` has two, and ten
 * thousand claims that are written alike have as many as one. So a megabyte of records that are alike is read in
 * milliseconds, and a megabyte of names that nobody ever used before takes a quarter of a second.
 *
 * What always holds: text that is no JSON is counted somehow, and ends. Names are told apart by a number made of their
 * bytes and of chance, so a few shapes too few may be counted, and nobody can choose which.
 */
import { randomBytes } from 'node:crypto';

/** The shortest member, `"":0,`: fewer bytes have no more shapes than this. */
const MEMBER_BYTES_MIN = 5;
/** As a power of two: a bit for each number that a shape may have. */
const BITS = 18;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const BRACKET = 0x5b;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const CURLY = 0x20;

const SEED = randomBytes(4).readInt32LE();
const seen = new Uint8Array(2 ** (BITS - 3));

/** Whether there are more than `max` of them. No object or array is nested deeper than `depthMax`. */
export function hasMoreShapes(bytes: Uint8Array, depthMax: number, max: number): boolean {
  if (bytes.length <= max * MEMBER_BYTES_MIN) return false;
  seen.fill(0);
  /** Of the objects that are open, by their nesting, what came so far. */
  const shapes = new Int32Array(depthMax + 1);
  let depth = 0;
  let count = 0;
  let [nameFrom, nameTo] = [0, 0];
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at++]!;
    if (byte === QUOTE) {
      nameFrom = at;
      while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
      nameTo = Math.min(at++, bytes.length);
    } else if (byte === COLON) {
      const shape = mixed(bytes, nameFrom, nameTo, shapes[depth]!);
      shapes[depth] = shape;
      if (isNew(shape) && ++count > max) return true;
    } else if (byte >= BRACKET) {
      const bracket = byte | CURLY;
      if (bracket === OPEN && depth < depthMax) shapes[++depth] = SEED;
      else if (bracket === CLOSE && depth > 0) depth--;
    }
  }
  return false;
}

/** A shape with one member more. */
function mixed(bytes: Uint8Array, from: number, to: number, shape: number): number {
  let number = shape ^ SEED;
  for (let at = from; at < to; at++) {
    number = Math.imul(number ^ bytes[at]!, 0x5bd1e995);
    number ^= number >>> 15;
  }
  return Math.imul(number ^ (to - from), 0x27d4eb2d);
}

function isNew(shape: number): boolean {
  const bit = shape >>> (32 - BITS);
  const [at, mask] = [bit >>> 3, 1 << (bit & 7)];
  if ((seen[at]! & mask) !== 0) return false;
  seen[at]! |= mask;
  return true;
}
