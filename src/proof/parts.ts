/**
 * Parts of jobs as rows of a slab: copied there for a worker and read back when it is done, or looked at where the job
 * has them, for the thread that the pool runs on.
 *
 * What always holds: a check counts as good only where the slab says so, and a slab says nothing when it is handed
 * over.
 */
import type { Part } from './jobs.ts';
import { CHECK_BYTES, SEAL_BYTES, SIGNATURE_BYTES, type Slab, TEXT_BYTES_MAX, Verdict } from './slab.ts';

const NO_TEXT = new Uint8Array(0);

/** Lays the rows of these parts into a slab, `rows` in all. */
export function fillSlab(slab: Slab, parts: readonly Part[], rows: number): void {
  let check = 0;
  let seal = 0;
  for (const { pending, checkFrom, checks, sealFrom, seals } of parts) {
    slab.checks.set(rowsOf(pending.job.checks, CHECK_BYTES, checkFrom, checks), check * CHECK_BYTES);
    slab.seals.set(rowsOf(pending.job.seals, SEAL_BYTES, sealFrom, seals), seal * SEAL_BYTES);
    const { text } = pending.job;
    if (text !== undefined && checks > 0) {
      slab.texts.set(text, check * TEXT_BYTES_MAX);
      slab.textBytes[check] = text.length;
    } else slab.textBytes.fill(0, check, check + checks);
    check += checks;
    seal += seals;
  }
  slab.verdicts.fill(Verdict.none, 0, rows);
}

/** Whether something was said of each of so many rows. */
export function isAnswered(slab: Slab, rows: number): boolean {
  return !slab.verdicts.subarray(0, rows).includes(Verdict.none);
}

/**
 * Reads what they were laid into: signatures into their jobs, and for each part the first failing check of its job, or
 * -1.
 */
export function readSlab(slab: Slab, parts: readonly Part[]): number[] {
  let check = 0;
  let seal = 0;
  const bads: number[] = [];
  for (const { pending, checkFrom, checks, sealFrom, seals } of parts) {
    bads.push(firstBad(slab.verdicts, check, checks, checkFrom));
    if (seals > 0) {
      pending.signatures.set(rowsOf(slab.signatures, SIGNATURE_BYTES, seal, seals), sealFrom * SIGNATURE_BYTES);
    }
    check += checks;
    seal += seals;
  }
  return bads;
}

/** A slab of one part, which lies where its job has it. */
export function slabOf({ pending, checkFrom, checks, sealFrom, seals }: Part): Slab {
  const { text } = pending.job;
  return {
    checks: aligned(rowsOf(pending.job.checks, CHECK_BYTES, checkFrom, checks)),
    seals: rowsOf(pending.job.seals, SEAL_BYTES, sealFrom, seals),
    verdicts: new Uint8Array(checks + seals),
    signatures: pending.signatures.subarray(sealFrom * SIGNATURE_BYTES),
    texts: text ?? NO_TEXT,
    textBytes: text === undefined ? new Uint16Array(checks) : Uint16Array.of(text.length),
  };
}

/** Among `rows` verdicts from `from` on, the first that is not good, counted from `base`; -1 where all are. */
export function firstBad(verdicts: Uint8Array, from: number, rows: number, base: number): number {
  for (let i = 0; i < rows; i++) if (verdicts[from + i] !== Verdict.good) return base + i;
  return -1;
}

/** `rows` rows of `width` bytes from row `from` on, as a view. */
function rowsOf(bytes: Uint8Array, width: number, from: number, rows: number): Uint8Array {
  return rows * width === bytes.length ? bytes : bytes.subarray(from * width, (from + rows) * width);
}

/** The same bytes at a multiple of four, copied where they are not. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
}
