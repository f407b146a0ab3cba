/**
 * The one rule by which a signature is accepted, live and in audits, whichever library computes it.
 *
 * Ed25519 (RFC 8032, pure, no context) with every choice the RFC leaves open taken the strict way:
 * S < L; A and R in canonical encoding; neither A nor R of small order; the equation without cofactor,
 * encode(SB - kA) = R, with k reduced modulo L. Of the twelve cases of ed25519-speccheck exactly number 3 holds.
 *
 * Two libraries that answer differently to one input are a defect: the tests compare them on everything known
 * to be disputed.
 */
import type { KeyPair } from './keys.ts';
import { challengeNoble, publicKeyOfNoble, signNoble, verifyNoble } from './verify-noble.ts';
import { sodium } from './verify-sodium.ts';

export interface SignatureLibrary {
  readonly name: 'sodium' | 'noble';
  /** Whether the signature holds. Never throws; a wrong length is false. */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
  /** 64 bytes; deterministic, so that both libraries make the same. */
  sign(message: Uint8Array, keyPair: KeyPair): Uint8Array;
  /** The public key, 32 bytes, of a 32-byte seed. */
  publicKeyOf(secret: Uint8Array): Uint8Array;
  /** Writes SHA-512(input) mod L as a scalar of 32 bytes, little-endian: the k of R, A and M one behind the other. */
  challenge(input: Uint8Array, scalar: Uint8Array): void;
}

const noble: SignatureLibrary = {
  name: 'noble',
  verify: verifyNoble,
  sign: signNoble,
  publicKeyOf: publicKeyOfNoble,
  challenge: challengeNoble,
};

/** Every library that runs here, the quickest first. */
export const LIBRARIES: readonly SignatureLibrary[] = sodium === null ? [noble] : [sodium, noble];

const library: SignatureLibrary = LIBRARIES[0]!;

/**
 * Whether `signature` (64 bytes) is the one of `publicKey` (32 bytes) over `message`.
 * Never throws: whatever cannot be a signature is false.
 */
export function verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return library.verify(publicKey, message, signature);
}

/** The same of one key. */
export function verifyBy(publicKey: Uint8Array): (message: Uint8Array, signature: Uint8Array) => boolean {
  return (message, signature) => verify(publicKey, message, signature);
}

/** The signature, 64 bytes, over `message`. Throws a RangeError for a key pair of wrong lengths. */
export function sign(message: Uint8Array, keyPair: KeyPair): Uint8Array {
  return library.sign(message, keyPair);
}

/** The public key that belongs to a 32-byte seed. */
export function publicKeyOf(secret: Uint8Array): Uint8Array {
  return library.publicKeyOf(secret);
}
