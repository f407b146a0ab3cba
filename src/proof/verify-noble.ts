/**
 * The acceptance rule in pure JavaScript, for where the native library does not load (and for browsers), built
 * from the point arithmetic of @noble/ed25519. That package's own verify is not the rule: its equation is
 * multiplied by the cofactor, and in either of its modes it accepts signatures libsodium refuses.
 */
import { getPublicKey, hashes, sign as nobleSign, Point } from '@noble/ed25519';
import { sha512 } from '@noble/hashes/sha2.js';
import type { KeyPair } from './keys.ts';

hashes.sha512 = sha512;

/** The order of the base point, L of RFC 8032. */
const L = Point.CURVE().n;

/** The public key, 32 bytes, of a 32-byte seed. */
export function publicKeyOfNoble(secret: Uint8Array): Uint8Array {
  return getPublicKey(secret);
}

/** Ed25519 signature, 64 bytes (RFC 8032, 5.1.6). */
export function signNoble(message: Uint8Array, keyPair: KeyPair): Uint8Array {
  return nobleSign(message, keyPair.secret);
}

/**
 * RFC 8032, 5.1.7 with the choices verify.ts states. R is never decoded: R' = SB - kA is encoded and compared
 * with its bytes, which are then canonical, since encodings made here are.
 */
export function verifyNoble(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  const s = numberOf(signature.subarray(32));
  if (s >= L) return false;
  const a = pointOf(publicKey);
  if (a === null || a.isSmallOrder()) return false;
  const k = challengeOf(signature, publicKey, message);
  const r = Point.BASE.multiply(s, false).subtract(a.multiply(k, false));
  return sameBytes(r.toBytes(), signature) && !r.isSmallOrder();
}

/** Writes SHA-512(input) mod L, 32 bytes, little-endian. */
export function challengeNoble(input: Uint8Array, scalar: Uint8Array): void {
  if (scalar.length !== 32) throw new RangeError('not a scalar');
  let rest = numberOf(sha512(input)) % L;
  for (let i = 0; i < 32; i++) {
    scalar[i] = Number(rest & 255n);
    rest >>= 8n;
  }
}

/** The point of a canonical encoding; null where y >= p, no x belongs to y, or x = 0 with the sign bit set. */
function pointOf(bytes: Uint8Array): Point | null {
  try {
    return Point.fromBytes(bytes, false);
  } catch {
    return null;
  }
}

/** k = SHA-512(R || A || M) mod L. */
function challengeOf(signature: Uint8Array, publicKey: Uint8Array, message: Uint8Array): bigint {
  const hasher = sha512.create();
  const hash = hasher.update(signature.subarray(0, 32)).update(publicKey).update(message).digest();
  return numberOf(hash) % L;
}

/** The number of these bytes, little-endian. */
function numberOf(bytes: Uint8Array): bigint {
  let hex = '0x';
  for (let i = bytes.length - 1; i >= 0; i--) hex += bytes[i]!.toString(16).padStart(2, '0');
  return BigInt(hex);
}

/** Whether `bytes` begins with `prefix`. Both are public, so time may tell. */
function sameBytes(prefix: Uint8Array, bytes: Uint8Array): boolean {
  for (let i = 0; i < prefix.length; i++) if (prefix[i] !== bytes[i]) return false;
  return true;
}
