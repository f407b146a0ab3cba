/**
 * Ed25519 keys and signatures as bytes, and their texts. A secret is the 32-byte seed of RFC 8032; whoever
 * holds a KeyPair can sign, so it is never logged and never part of an error.
 */
import { randomBytes } from 'node:crypto';
import { decodeBase64 } from './base64.ts';
import { publicKeyOf } from './verify.ts';

export { encodeBase64 } from './base64.ts';

const PUBLIC_BYTES = 32;
const SECRET_BYTES = 32;
const SIGNATURE_BYTES = 64;

export interface KeyPair {
  /** Ed25519 public key, 32 bytes. */
  public: Uint8Array;
  /** The seed it is derived from, 32 bytes. */
  secret: Uint8Array;
}

/** A new pair from the system's random source. */
export function createKeyPair(): KeyPair {
  return keyPairFromSecret(randomBytes(SECRET_BYTES));
}

/** The pair of this secret, a new one where there is none. */
export function makeKeyPair(secret?: Uint8Array): KeyPair {
  return secret === undefined ? createKeyPair() : keyPairFromSecret(secret);
}

/** The pair a 32-byte seed stands for. The seed is copied. Throws a RangeError for another length. */
export function keyPairFromSecret(seed: Uint8Array): KeyPair {
  if (seed.length !== SECRET_BYTES) throw new RangeError(`a secret has ${SECRET_BYTES} bytes, not ${seed.length}`);
  const secret = Uint8Array.from(seed);
  return { public: publicKeyOf(secret), secret };
}

/** The 32 bytes of a public key's base64 text (44 characters), or null. Whether a point is there, `verify` says. */
export function decodePublic(text: string): Uint8Array | null {
  return decodeBase64(text, PUBLIC_BYTES);
}

/** The 64 bytes of a signature's base64 text (88 characters), or null. */
export function decodeSignature(text: string): Uint8Array | null {
  return decodeBase64(text, SIGNATURE_BYTES);
}
