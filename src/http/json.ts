/**
 * Bytes → value: the only way a request body becomes a JavaScript value.
 *
 * JSON.parse is fast and strict, but it takes any depth, any number of keys, and whatever a lenient
 * decoder makes of broken UTF-8. So the bytes are looked at first: valid UTF-8, no byte order mark,
 * nesting, keys, objects and arrays bounded. Past this door no recursion over a value can overflow the stack.
 *
 * What always holds: the scan never refuses well-formed JSON within the bounds, and never decides
 * whether JSON is well-formed; that is JSON.parse's word alone. One exception is V8's: see MISREADS_KEYS.
 */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { type Refusal, refuse, refuseBodySize } from './errors.ts';

type Parsed = { readonly value: unknown; readonly refusal?: undefined } | { readonly refusal: Refusal };

/**
 * Members of all objects together. An intent of 10 000 claims, each written in full, has 80 000. Objects
 * with more keys than this cost more time in the parser's hash tables than the bytes would tell.
 */
const KEYS_MAX = 200_000;

/**
 * Objects and arrays together, each a third of a microsecond, and again whenever the record is read: a megabyte of
 * brackets has half a million. Claims, each written in full, have half as many as members.
 */
export const BRACKETS_MAX = 100_000;

/** Shapes of all objects together, each two microseconds: as many as there may be claims. */
const SHAPES_MAX = 10_000;

const MANY_SHAPES = refuse(
  'api.body-malformed',
  `body has more than ${SHAPES_MAX} members that are not named as those of another object are`,
);

/** Bytes of UTF-8 that one unit of a text takes at most. */
const UNIT_BYTES_MAX = 3;

/** As deep as any body may be, whatever the configuration says. */
const KEPT_DEPTH_MAX = 512;

/**
 * Node 24 and 25: where an object had a member whose name holds a backslash, JSON.parse takes that name for the one
 * that a later object of the same beginning has there, if that is written with an escape: `{"a":1,"\n":2}` is read with
 * the name `\` once there was `{"a":1,"\\":2}`. So there no such name comes in: else one tenant's would spoil
 * another's.
 */
const MISREADS_KEYS = misreadsKeys();

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const SMALL_U = 0x75;
/** `[`, the lowest of the four brackets. */
const BRACKET = 0x5b;
const OPEN = 0x7b;
const CLOSE = 0x7d;
/** The bit between `[` and `{`, and between `]` and `}`. */
const CURLY = 0x20;

/**
 * Parses a body. Refusals are all `api.body-malformed`: empty, not UTF-8, a byte order mark, nested
 * deeper than `depthMax` levels of `[` and `{`, more than `keysMax` members, too many objects and arrays or shapes of
 * objects, not JSON. Details never quote the body.
 */
export function parseJson(bytes: Uint8Array, depthMax: number, keysMax = KEYS_MAX): Parsed {
  if (bytes.length === 0) return malformed('body is empty, a JSON value is expected');
  if (!isUtf8(bytes)) return malformed('body is not valid UTF-8; it is sent as it is, not compressed');
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) {
    return malformed('body must not begin with a byte order mark');
  }
  const excess = scan(bytes, depthMax, keysMax);
  if (excess !== null) return malformed(excess);
  if (hasMoreShapes(bytes, depthMax, SHAPES_MAX)) return { refusal: MANY_SHAPES };
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  try {
    return { value: JSON.parse(text) };
  } catch {
    return malformed('body is not valid JSON');
  }
}

/**
 * Why a body must not be kept of which these are the canonical texts, or null. They may be longer than what was sent,
 * of 1e20 twenty-one digits, and all that is made of them has its room by the size of bodies. And they are read again,
 * and each sorts the members of an object: one that no other object has may come before all others there that came last
 * in the body.
 */
export function refuseToKeep(texts: string, bytesMax: number): Refusal | null {
  if (texts.length > bytesMax / UNIT_BYTES_MAX && Buffer.byteLength(texts) > bytesMax) {
    return refuseBodySize(bytesMax, 'the canonical form of a body');
  }
  if (texts.length <= SHAPES_MAX) return null;
  return hasMoreShapes(Buffer.from(texts), KEPT_DEPTH_MAX, SHAPES_MAX) ? MANY_SHAPES : null;
}

/** What is too much in these bytes, or null. Strings are skipped, an escaped quote does not end one. */
function scan(bytes: Uint8Array, depthMax: number, keysMax: number): string | null {
  const end = bytes.length;
  let depth = 0;
  let keys = 0;
  let brackets = 0;
  let at = 0;
  /** Of the last string, if that matters. */
  let hasBackslash = false;
  while (at < end) {
    const byte = bytes[at++]!;
    if (byte === QUOTE) {
      hasBackslash = false;
      while (at < end) {
        const inside = bytes[at++]!;
        if (inside === QUOTE) break;
        if (inside !== BACKSLASH) continue;
        if (MISREADS_KEYS && isBackslash(bytes, at)) hasBackslash = true;
        at++;
      }
    } else if (byte === COLON) {
      if (++keys > keysMax) return `body has more than ${keysMax} members`;
      if (hasBackslash) return 'body has a member whose name holds a backslash, which this server cannot read safely';
    } else if (byte >= BRACKET) {
      const bracket = byte | CURLY;
      if (bracket === OPEN) {
        if (++depth > depthMax) return `body is nested deeper than ${depthMax} levels`;
        if (++brackets > BRACKETS_MAX) return `body has more than ${BRACKETS_MAX} objects and arrays`;
      } else if (bracket === CLOSE) depth--;
    }
  }
  return null;
}

/** Whether what is escaped here is a backslash: `\\` or `\u005c`. */
function isBackslash(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] === BACKSLASH) return true;
  return bytes[at] === SMALL_U && /^005c$/i.test(Buffer.from(bytes.subarray(at + 1, at + 5)).toString('latin1'));
}

/** By a name that nobody else has: what begins with it is read so from then on. */
function misreadsKeys(): boolean {
  const name = randomBytes(16).toString('hex');
  JSON.parse(`{"${name}":0,"\\\\":0}`);
  return !('\n' in (JSON.parse(`{"${name}":0,"\\n":0}`) as object));
}

function malformed(detail: string): Parsed {
  return { refusal: refuse('api.body-malformed', detail) };
}

// ---------------------------------------------------------------- shapes

/*
 * The shapes of a text's objects: V8 learns each before it can hold the object, and forgets none soon. A shape is the
 * names of an object's members as far as they have come, in their order: `{"a":1,"b":2}` has two, and ten thousand
 * claims that are written alike have as many as one. So a megabyte of records that are alike is read in milliseconds,
 * and a megabyte of names that nobody ever used before takes a quarter of a second.
 *
 * What always holds: text that is no JSON is counted somehow, and ends. Names are told apart by a number made of their
 * bytes and of chance, so a few shapes too few may be counted, and nobody can choose which.
 */

/** The shortest member, `"":0,`: fewer bytes have no more shapes than this. */
const MEMBER_BYTES_MIN = 5;
/** In so many bytes nobody has to count them. */
export const UNCOUNTED_BYTES_MAX = SHAPES_MAX * MEMBER_BYTES_MIN;
/** As a power of two: a bit for each number that a shape may have. */
const BITS = 18;

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
