/**
 * Base64 of fixed lengths, strictly: standard alphabet, padded, unused bits zero. One text for one value, so
 * that a key or signature that decodes also compares equal as text.
 */
import { base64DigitAt as digitAt } from '../core/bytes.ts';

const PADDING = 0x3d;

/** `length` bytes out of their base64 text, or null where the text is not exactly the one that encodes them. */
export function decodeBase64(text: string, length: number): Uint8Array | null {
  const padding = (3 - (length % 3)) % 3;
  const groups = (length - ((3 - padding) % 3)) / 3;
  if (text.length !== Math.ceil(length / 3) * 4) return null;
  const bytes = new Uint8Array(length);
  let outside = 0;
  let at = 0;
  for (let group = 0; group < groups; group++) {
    const from = group * 4;
    const a = digitAt(text, from);
    const b = digitAt(text, from + 1);
    const c = digitAt(text, from + 2);
    const d = digitAt(text, from + 3);
    outside |= a | b | c | d;
    bytes[at++] = (a << 2) | (b >> 4);
    bytes[at++] = (b << 4) | (c >> 2);
    bytes[at++] = (c << 6) | d;
  }
  if (padding > 0) {
    const from = groups * 4;
    const a = digitAt(text, from);
    const b = digitAt(text, from + 1);
    outside |= a | b;
    bytes[at++] = (a << 2) | (b >> 4);
    if (padding === 1) {
      const c = digitAt(text, from + 2);
      outside |= c;
      bytes[at++] = (b << 4) | (c >> 2);
      if ((c & 0x03) !== 0) return null;
    } else if ((b & 0x0f) !== 0 || text.charCodeAt(from + 2) !== PADDING) return null;
    if (text.charCodeAt(from + 3) !== PADDING) return null;
  }
  return outside < 0 ? null : bytes;
}

interface Base64Slice {
  base64Slice(this: Uint8Array, from: number, to: number): string;
}

// The method behind Buffer's toString('base64') works on any Uint8Array and saves making a Buffer of it.
const { base64Slice } = Buffer.prototype as unknown as Base64Slice;

/** Base64 of bytes: standard alphabet, padded. */
export function encodeBase64(bytes: Uint8Array): string {
  return base64Slice.call(bytes, 0, bytes.length);
}
