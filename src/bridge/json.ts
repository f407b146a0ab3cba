/** Bytes → JSON object. Nesting is bounded before anything walks the value: hashing calls itself once a level. */
import { isUtf8 } from 'node:buffer';

export type JsonObject = Record<string, unknown>;

const DEPTH_MAX = 80;
const [QUOTE, BACKSLASH, OPEN_LIST, CLOSE_LIST, OPEN, CLOSE] = [0x22, 0x5c, 0x5b, 0x5d, 0x7b, 0x7d];

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The object these bytes are the JSON of, or null. */
export function parseObject(bytes: Buffer): JsonObject | null {
  if (!isUtf8(bytes) || depthOf(bytes) > DEPTH_MAX) return null;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The deepest nesting of brackets outside strings. */
function depthOf(bytes: Buffer): number {
  let [depth, deepest] = [0, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      for (at++; at < bytes.length && bytes[at] !== QUOTE; at++) if (bytes[at] === BACKSLASH) at++;
    } else if (byte === OPEN || byte === OPEN_LIST) deepest = Math.max(deepest, ++depth);
    else if (byte === CLOSE || byte === CLOSE_LIST) depth--;
  }
  return deepest;
}
