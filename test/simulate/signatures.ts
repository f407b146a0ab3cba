/**
 * Signatures that this process made or has verified: they need not be computed again. Ed25519 is a function of key and
 * message, and both together are the name under which a signature is known here, so what is remembered is what would be
 * computed. Only the clients and the stand-ins of a life ask: what writes and reads frames, and worker threads. The
 * server's own verification on its main thread is the real one each time.
 */
import type { KeyPair } from '../../src/proof/keys.ts';
import { sign, verify } from '../../src/proof/verify.ts';

/** By key and message, as Latin-1. */
const known = new Map<string, Uint8Array>();
const KNOWN_MAX = 20_000;

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

function keep(name: string, signature: Uint8Array): void {
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(name, Uint8Array.from(signature));
}

export function signKnown(message: Uint8Array, pair: KeyPair): Uint8Array {
  const name = textOf(pair.public) + textOf(message);
  const found = known.get(name);
  if (found !== undefined) return Uint8Array.from(found);
  const signature = sign(message, pair);
  keep(name, signature);
  return signature;
}

/** As `verify`, to the bit. */
export function verifyKnown(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const name = textOf(key) + textOf(message);
  const found = known.get(name);
  if (found !== undefined && Buffer.compare(found, signature) === 0) return true;
  const holds = verify(key, message, signature);
  if (holds) keep(name, signature);
  return holds;
}
