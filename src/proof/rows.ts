/**
 * The work itself, the same in a worker and on the main thread: verify `checks` rows of a slab, sign its
 * `seals` rows. libsodium takes no shared memory, so a slab is read and written through a local copy.
 */
import type { KeyedVerifier } from './comb/index.ts';
import type { KeyPair } from './keys.ts';
import type { Slab } from './slab.ts';
import { SEAL_BYTES, SIGNATURE_BYTES, Verdict } from './slab.ts';
import { sign } from './verify.ts';

/**
 * Gives each of the first `checks` checks its verdict. `slab` must be local memory, its checks at a multiple of four
 * bytes.
 */
export function verifyRows(slab: Slab, checks: number, verifier: KeyedVerifier): void {
  const onVerdict = (row: number, holds: boolean) => {
    slab.verdicts[row] = holds ? Verdict.good : Verdict.bad;
  };
  verifier.verify(slab.checks, checks, onVerdict, slab);
}

/** Signs each of the first `seals` seals with the server's key; their verdicts stand after those of `checks` checks. */
export function signRows(slab: Slab, checks: number, seals: number, server: KeyPair): void {
  for (let row = 0; row < seals; row++) {
    const digest = slab.seals.subarray(row * SEAL_BYTES, (row + 1) * SEAL_BYTES);
    slab.signatures.set(sign(digest, server), row * SIGNATURE_BYTES);
    slab.verdicts[checks + row] = Verdict.good;
  }
}
