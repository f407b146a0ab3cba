/**
 * Bytes to text and back, with nothing but what both Node and browsers have. SHA-256 is computed in JavaScript:
 * crypto.subtle is missing on pages that come by plain HTTP, and is asynchronous.
 */
import { sha256 as hash } from '@noble/hashes/sha2.js';
import { expect } from './not-proven.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** SHA-256, 32 bytes; a text is hashed as UTF-8. */
export function sha256(data: string | Uint8Array): Uint8Array {
  return hash(typeof data === 'string' ? encoder.encode(data) : data);
}

/** Lower-case hexadecimal. */
export function hexOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0');
  return text;
}

/** The bytes of `length` times two lower-case hex digits. */
export function bytesOfHex(text: unknown, length: number): Uint8Array {
  expect(
    typeof text === 'string' && text.length === 2 * length && /^[0-9a-f]*$/.test(text),
    'hexadecimal as nobody writes it',
  );
  return Uint8Array.from({ length }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}

/** The bytes of a base64 text: standard alphabet, padded, unused bits zero, so that no other text has them. */
export function decodeBase64(text: unknown, length?: number): Uint8Array {
  expect(typeof text === 'string' && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0, ODD_BASE64);
  const characters = atob(text);
  expect(btoa(characters) === text && characters.length === (length ?? characters.length), ODD_BASE64);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at);
  return bytes;
}

const ODD_BASE64 = 'base64 as nobody writes it';

export function encodeBase64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** The text whose UTF-8 these bytes are; throws a TypeError where they are none. */
export function textOfUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** A moment in ECMAScript's ISO format; throws a RangeError for a number that is no moment. */
export function isoOf(moment: number): string {
  return new Date(moment).toISOString();
}
