/**
 * The acceptance rule by libsodium, and the only door to it. sodium-native is an optional dependency: where it
 * is not installed, has no binary for the platform, or its binary fails to load or to answer a known question,
 * `sodium` is null and the caller takes the other library.
 *
 * libsodium's crypto_sign_verify_detached is the rule as it stands: it refuses S >= L, non-canonical and
 * small-order A and R, and compares the encoding of SB - kA with R. The tests hold it to that.
 */
import { createRequire } from 'node:module';
import type { SignatureLibrary } from './verify.ts';

interface SodiumNative {
  crypto_sign_verify_detached(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean;
  crypto_sign_detached(signature: Uint8Array, message: Uint8Array, secretKey: Uint8Array): void;
  crypto_sign_seed_keypair(publicKey: Uint8Array, secretKey: Uint8Array, seed: Uint8Array): void;
  crypto_hash_sha512(hash: Uint8Array, input: Uint8Array): void;
  crypto_core_ed25519_scalar_reduce(scalar: Uint8Array, number: Uint8Array): void;
}

export const sodium: SignatureLibrary | null = loadSodium();

function loadSodium(): SignatureLibrary | null {
  try {
    const native = createRequire(import.meta.url)('sodium-native') as SodiumNative;
    const library = wrap(native);
    return answersRight(library) ? library : null;
  } catch {
    return null;
  }
}

function wrap(native: SodiumNative): SignatureLibrary {
  // Made once: the memory of a buffer that native code has seen is the system's, and costs a microsecond to get and
  // give back.
  const secretKey = new Uint8Array(64);
  const signature = new Uint8Array(64);
  const hash = new Uint8Array(64);
  return {
    name: 'sodium',
    verify(publicKey, message, given) {
      // The native side asserts its lengths, and an assert there would end the process.
      if (publicKey.length !== 32 || given.length !== 64) return false;
      return native.crypto_sign_verify_detached(given, message, publicKey);
    },
    sign(message, keyPair) {
      if (keyPair.secret.length !== 32 || keyPair.public.length !== 32) throw new RangeError('not a key pair');
      // libsodium's secret key is seed and public key side by side.
      secretKey.set(keyPair.secret);
      secretKey.set(keyPair.public, 32);
      native.crypto_sign_detached(signature, message, secretKey);
      secretKey.fill(0);
      return signature.slice();
    },
    publicKeyOf(secret) {
      if (secret.length !== 32) throw new RangeError('not a secret');
      const publicKey = new Uint8Array(32);
      native.crypto_sign_seed_keypair(publicKey, secretKey, secret);
      secretKey.fill(0);
      return publicKey;
    },
    challenge(input, scalar) {
      if (scalar.length !== 32) throw new RangeError('not a scalar');
      native.crypto_hash_sha512(hash, input);
      native.crypto_core_ed25519_scalar_reduce(scalar, hash);
    },
  };
}

/**
 * RFC 8032, 7.1, test 1: the signature of the empty message, its k, the same with one bit of S turned, and the key of
 * the seed.
 */
function answersRight(library: SignatureLibrary): boolean {
  const keyPair = {
    public: bytesOf('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a'),
    secret: bytesOf('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60'),
  };
  const message = new Uint8Array(0);
  const signature = library.sign(message, keyPair);
  if (!library.verify(keyPair.public, message, signature)) return false;
  const k = new Uint8Array(32);
  library.challenge(Buffer.concat([signature.subarray(0, 32), keyPair.public]), k);
  if (!Buffer.from(k).equals(bytesOf('86eabc8e4c96193d290504e7c600df6cf8d8256131ec2c138a3e7e162e525404'))) return false;
  signature[40]! ^= 1;
  if (library.verify(keyPair.public, message, signature)) return false;
  return Buffer.from(library.publicKeyOf(keyPair.secret)).equals(keyPair.public);
}

function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex, 'hex'));
}
