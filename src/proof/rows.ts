/**
 * The work itself, the same in a worker and on the main thread: verify `checks` rows of a slab, sign its
 * `seals` rows. libsodium takes no shared memory, so a slab is read and written through a local copy.
 */
import type { KeyPair } from './keys.ts';
import type { Slab } from './slab.ts';
import { CHECK_BYTES, SEAL_BYTES, SIGNATURE_BYTES, Verdict } from './slab.ts';
import { sign, verify } from './verify.ts';

/** Gives each of the first `checks` checks its verdict. `slab` must be local memory. */
export function verifyRows(slab: Slab, checks: number): void {
  for (let row = 0; row < checks; row++) {
    const at = row * CHECK_BYTES;
    const holds = verify(
      slab.checks.subarray(at, at + 32),
      slab.checks.subarray(at + 32, at + 64),
      slab.checks.subarray(at + 64, at + CHECK_BYTES),
    );
    slab.verdicts[row] = holds ? Verdict.good : Verdict.bad;
  }
}

/** Signs each of the first `seals` seals with the server's key; their verdicts stand after those of `checks` checks. */
export function signRows(slab: Slab, checks: number, seals: number, server: KeyPair): void {
  for (let row = 0; row < seals; row++) {
    const digest = slab.seals.subarray(row * SEAL_BYTES, (row + 1) * SEAL_BYTES);
    slab.signatures.set(sign(digest, server), row * SIGNATURE_BYTES);
    slab.verdicts[checks + row] = Verdict.good;
  }
}
