/**
 * SHA-256 of texts and bytes, and the digest a proof signs: SHA-256 over the record's hash in lower-case hex,
 * followed by the canonical text of the proof's `custom` where it has one.
 */
import { hash } from 'node:crypto';

/** SHA-256, 32 bytes; a string is hashed as UTF-8. */
export function sha256(data: string | Uint8Array): Uint8Array {
  // A 'binary' string has one character a byte; unpacking it is quicker than having a Buffer made.
  const text = hash('sha256', data, 'binary');
  const bytes = new Uint8Array(32);
  for (let i = 0; i < 32; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** SHA-256 as 64 lower-case hex digits; a string is hashed as UTF-8. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** What a proof signs, 32 bytes. `hashHex` is the record's hash in lower-case hex, `custom` canonical text or null. */
export function proofDigest(hashHex: string, custom: string | null): Uint8Array {
  return sha256(custom === null ? hashHex : hashHex + custom);
}

/** The same as 64 lower-case hex digits, as proofs carry it. */
export function proofDigestHex(hashHex: string, custom: string | null): string {
  return sha256Hex(custom === null ? hashHex : hashHex + custom);
}
