/**
 * A slab is the shared memory in which one task's rows travel: the pool writes checks and seals, a worker
 * writes verdicts and signatures. Nothing is allocated or transferred per task.
 *
 *   checks      rowsMax x 128 bytes   public key 32 | digest 32 | signature 64
 *   seals       rowsMax x  32 bytes   digests to sign
 *   signatures  rowsMax x  64 bytes   one a seal
 *   texts       rowsMax x  1 KiB      what a check signs instead of its digest
 *   textBytes   rowsMax x   2 bytes   how long that is; 0 where it signs its digest
 *   verdicts    rowsMax x   1 byte    what became of each check, then of each seal
 *
 * What always holds: a slab belongs to one task at a time, and the pool clears the verdicts before it hands it
 * over, so a worker that wrote nothing has accepted nothing. Checks and seals together are at most `rowsMax`.
 */

export const CHECK_BYTES = 128;
export const SEAL_BYTES = 32;
export const SIGNATURE_BYTES = 64;

/** The longest text that a check may be over. */
export const TEXT_BYTES_MAX = 1024;

export const Verdict = { none: 0, good: 1, bad: 2 } as const;

export interface Slab {
  readonly checks: Uint8Array;
  readonly seals: Uint8Array;
  readonly verdicts: Uint8Array;
  readonly signatures: Uint8Array;
  readonly texts: Uint8Array;
  readonly textBytes: Uint16Array;
}

/** Lays out the check of a signature as the n-th of `rows`. Of one over a text the digest is empty. */
export function layCheck(rows: Buffer, n: number, key: Uint8Array, digestHex: string, signature: Uint8Array): void {
  const at = n * CHECK_BYTES;
  rows.set(key, at);
  rows.write(digestHex, at + 32, 'hex');
  rows.set(signature, at + 64);
}

/** Bytes of the shared memory behind a slab of `rowsMax` checks and `rowsMax` seals. */
export function slabBytes(rowsMax: number): number {
  return rowsMax * (CHECK_BYTES + SEAL_BYTES + SIGNATURE_BYTES + TEXT_BYTES_MAX + 2 + 1);
}

/** The regions of a slab of `rowsMax` rows that lies at the start of `memory`. */
export function slabOver(memory: ArrayBuffer | SharedArrayBuffer, rowsMax: number): Slab {
  const sealsAt = rowsMax * CHECK_BYTES;
  const signaturesAt = sealsAt + rowsMax * SEAL_BYTES;
  const textsAt = signaturesAt + rowsMax * SIGNATURE_BYTES;
  const textBytesAt = textsAt + rowsMax * TEXT_BYTES_MAX;
  const verdictsAt = textBytesAt + rowsMax * 2;
  return {
    checks: new Uint8Array(memory, 0, sealsAt),
    seals: new Uint8Array(memory, sealsAt, rowsMax * SEAL_BYTES),
    signatures: new Uint8Array(memory, signaturesAt, rowsMax * SIGNATURE_BYTES),
    texts: new Uint8Array(memory, textsAt, rowsMax * TEXT_BYTES_MAX),
    textBytes: new Uint16Array(memory, textBytesAt, rowsMax),
    verdicts: new Uint8Array(memory, verdictsAt, rowsMax),
  };
}
