/** A state as one number: two that have the same answer every request alike. */
import { createHash } from 'node:crypto';
import type { State } from '../../src/core/state.ts';
import { stateDigests } from '../../src/storage/state-digest.ts';

/** 32 bytes. */
export function stateDigest(state: State): Uint8Array {
  return digestOf(stateDigests(state));
}

/** One digest for those of all things. */
export function digestOf(digests: ReadonlyMap<string, Buffer>): Uint8Array {
  const hash = createHash('sha256');
  for (const [thing, digest] of digests) hash.update(`${thing} `).update(digest);
  return hash.digest();
}
