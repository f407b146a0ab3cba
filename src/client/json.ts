/**
 * Bytes → JSON object. Two things are bounded before parsing: nesting, since hashing calls itself once a level, and the
 * number of parts, since anybody may send many, and the smallest take thirty times their bytes.
 */
import { isUtf8 } from 'node:buffer';

export type JsonObject = Record<string, unknown>;

/** The deepest nesting that a server can be told to take (--body-depth-max), and that of a call to a bank around it. */
const DEPTH_MAX = 640;
/** The four million characters that others may add to an intent come to 2.8 million, a mebibyte of its own to 0.7. */
const PARTS_MAX = 4_000_000;
const [QUOTE, BACKSLASH, COMMA, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x22, 0x5c, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d];

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object these bytes are the JSON of, or null. */
export function parseObject(bytes: Buffer): JsonObject | null {
  if (!isUtf8(bytes) || !isModest(bytes)) return null;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/**
 * Whether brackets outside strings nest no deeper than DEPTH_MAX and are, together with commas, no more than PARTS_MAX.
 */
function isModest(bytes: Buffer): boolean {
  let [depth, parts] = [0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if (byte === OPEN || byte === OPEN_LIST) {
      if (++depth > DEPTH_MAX || ++parts > PARTS_MAX) return false;
    } else if (byte === CLOSE || byte === CLOSE_LIST) depth--;
    else if (byte === COMMA && ++parts > PARTS_MAX) return false;
  }
  return true;
}
