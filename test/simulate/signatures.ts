/**
 * Signatures that this process made or has verified: they are not computed again. Ed25519 is a function of key and
 * message, and both together are the name under which a signature is known here, so what is remembered is what would be
 * computed: whoever verifies other bytes, or with another key, gets them computed. Clients and server of a life are one
 * process, so nearly all that is ever verified was signed a moment before.
 *
 * The memory stands in front of the library itself: the server's threads, its tokens, its frames and audits all
 * come through it. What the library answers, the tests of proof/ hold it to.
 */
import type { KeyPair } from '../../src/proof/keys.ts';
import { LIBRARIES } from '../../src/proof/verify.ts';

const KNOWN_MAX = 20_000;

/** From here on every signature is computed once. */
export function rememberSignatures(): void {
  const library = LIBRARIES[0]!;
  const { verify, sign } = library;
  /** By key and message, as Latin-1. */
  const known = new Map<string, Uint8Array>();
  const keep = (name: string, signature: Uint8Array) => {
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(name, Uint8Array.from(signature));
  };
  library.sign = (message: Uint8Array, pair: KeyPair) => {
    const name = nameOf(pair.public, message);
    const found = known.get(name);
    if (found !== undefined) return Uint8Array.from(found);
    const signature = sign(message, pair);
    keep(name, signature);
    return signature;
  };
  library.verify = (key: Uint8Array, message: Uint8Array, signature: Uint8Array) => {
    const name = nameOf(key, message);
    const found = known.get(name);
    if (found !== undefined && Buffer.compare(found, signature) === 0) return true;
    const holds = verify(key, message, signature);
    if (holds) keep(name, signature);
    return holds;
  };
}

function nameOf(key: Uint8Array, message: Uint8Array): string {
  return textOf(key) + textOf(message);
}

function textOf({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
}
