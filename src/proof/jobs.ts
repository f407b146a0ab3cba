/**
 * What the pool knows of a job on its way: which of its rows have left, which came back, and what came of them.
 * No threads here: the pool takes parts out of pending jobs, has them worked off somewhere, and settles them.
 *
 * What always holds: `done` is called once, when every part taken has been settled and no row is left to take
 * (or none is worth taking, since an earlier one is bad).
 */
import { CHECK_BYTES, SEAL_BYTES, SIGNATURE_BYTES, TEXT_BYTES_MAX } from './slab.ts';

export interface ProofJob {
  /** n x 128 bytes: public key 32 | digest 32 | signature 64. Not to be changed before `done`. */
  checks: Uint8Array;
  /** m x 32 bytes: digests the server signs on the same trip. Not to be changed before `done`. */
  seals: Uint8Array;
  /** What its one check is over, 1 to TEXT_BYTES_MAX bytes, where that is not the digest of its row. */
  text?: Uint8Array;
  /** Called exactly once, never inside `submit`. */
  done(result: ProofResult): void;
}

export interface ProofResult {
  /** Set where nothing could be verified: then nobody is accepted, and `bad` is 0. */
  error: Error | null;
  /** Index of the first check that fails, -1 where all hold. */
  bad: number;
  /** m x 64 bytes, one signature a seal; empty unless all checks hold: what fails gets no signature. */
  signatures: Uint8Array;
}

const NO_SIGNATURES = new Uint8Array(0);

export class PendingJob {
  readonly job: ProofJob;
  /** performance.now() of the turn in which it was submitted. */
  readonly since: number;
  readonly checks: number;
  readonly seals: number;
  readonly signatures: Uint8Array;
  checksTaken = 0;
  sealsTaken = 0;
  #partsOut = 0;
  #bad = -1;
  #error: Error | null = null;
  #done = false;

  /** Throws a RangeError for rows that are not whole: a bug of the caller, not of a client. */
  constructor(job: ProofJob, since: number) {
    this.job = job;
    this.since = since;
    this.checks = job.checks.length / CHECK_BYTES;
    this.seals = job.seals.length / SEAL_BYTES;
    if (!Number.isInteger(this.checks) || !Number.isInteger(this.seals)) {
      throw new RangeError(`rows are not whole: ${job.checks.length} bytes of checks, ${job.seals.length} of seals`);
    }
    const { text } = job;
    if (text !== undefined && (this.checks !== 1 || text.length === 0 || text.length > TEXT_BYTES_MAX)) {
      throw new RangeError(`${this.checks} checks of a text of ${text.length} bytes`);
    }
    this.signatures = this.seals === 0 ? NO_SIGNATURES : new Uint8Array(this.seals * SIGNATURE_BYTES);
  }

  /** Rows not yet taken. */
  get rowsLeft(): number {
    return this.checks - this.checksTaken + this.seals - this.sealsTaken;
  }

  /** Takes the next rows, at most `rowsMax` of them, checks first. */
  take(rowsMax: number): Part {
    const checks = Math.min(rowsMax, this.checks - this.checksTaken);
    const seals = Math.min(rowsMax - checks, this.seals - this.sealsTaken);
    const part: Part = { pending: this, checkFrom: this.checksTaken, checks, sealFrom: this.sealsTaken, seals };
    this.checksTaken += checks;
    this.sealsTaken += seals;
    this.#partsOut++;
    return part;
  }

  /**
   * One part is back. `bad` is the index, in the job, of its first failing check, or -1.
   * Returns whether that was the last one; then `done` has been called.
   */
  settle(bad: number, error: Error | null): boolean {
    this.#partsOut--;
    this.#error ??= error;
    if (bad >= 0 && (this.#bad < 0 || bad < this.#bad)) this.#bad = bad;
    if (bad >= 0 || error !== null) {
      // Checks are taken in order, so one that has not left yet cannot be the first to fail.
      this.checksTaken = this.checks;
      this.sealsTaken = this.seals;
    }
    if (this.#partsOut > 0 || this.rowsLeft > 0) return false;
    this.#finish();
    return true;
  }

  #finish(): void {
    if (this.#done) throw new Error('a proof job ended twice');
    this.#done = true;
    if (this.#error !== null) this.job.done({ error: this.#error, bad: 0, signatures: NO_SIGNATURES });
    else this.job.done({ error: null, bad: this.#bad, signatures: this.#bad < 0 ? this.signatures : NO_SIGNATURES });
  }
}

/** Some rows of one job: checks [checkFrom, checkFrom + checks), seals [sealFrom, sealFrom + seals). */
export interface Part {
  readonly pending: PendingJob;
  readonly checkFrom: number;
  readonly checks: number;
  readonly sealFrom: number;
  readonly seals: number;
}
