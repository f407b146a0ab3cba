/**
 * The signatures of an audit: gathered as the books are read, verified in bulk by worker threads meanwhile.
 *
 * What always holds: `settle` answers for every row added before it; of several bad rows the one added first is told.
 */
import { ProofPool } from '../../proof/pool.ts';
import { CHECK_BYTES } from '../../proof/slab.ts';
import { FoundError, type Place } from './finding.ts';

const ROWS_PER_JOB = 1024;
const ROWS_PER_TASK = 1024;
/** To verify so many takes less time than to start a thread. */
const INLINE_ROWS_MAX = 512;
/** Rows on their way before the reader has to wait. */
const JOBS_MAX = 16;

interface Blame {
  place: Place;
  what: string;
}

export class Signatures {
  /** Rows added so far. */
  count = 0;
  readonly #pool: ProofPool;
  #rows = new Uint8Array(ROWS_PER_JOB * CHECK_BYTES);
  #blames: Blame[] = [];
  #underway = 0;
  #jobs = 0;
  #first: { job: number; blame: Blame } | null = null;
  #failure: Error | null = null;
  #wake: (() => void) | null = null;
  #jobsSeen = 0;

  constructor(workers: number) {
    this.#pool = new ProofPool({
      workers,
      // Nothing is signed here.
      server: { public: new Uint8Array(32), secret: new Uint8Array(32) },
      rowsPerTaskMax: ROWS_PER_TASK,
      inlineRowsMax: INLINE_ROWS_MAX,
    });
  }

  /**
   * Adds one signature: 32 bytes of key, 32 of digest, 64 of signature. `what` is said of it where it does not hold.
   */
  add(key: Uint8Array, digest: Uint8Array, signature: Uint8Array, place: Place, what: string): void {
    const at = this.#blames.length * CHECK_BYTES;
    this.#rows.set(key, at);
    this.#rows.set(digest, at + 32);
    this.#rows.set(signature, at + 64);
    this.#blames.push({ place, what });
    this.count++;
    if (this.#blames.length === ROWS_PER_JOB) this.#submit();
  }

  /** Whether the reader should call `relief` before it adds more: the pool moves only when the event loop turns. */
  get isDue(): boolean {
    return this.#jobs > this.#jobsSeen;
  }

  /** Resolves when the workers can take more. Throws FoundError where a signature was found not to hold. */
  async relief(): Promise<void> {
    this.#jobsSeen = this.#jobs;
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#underway >= JOBS_MAX && this.#first === null && this.#failure === null) await this.#change();
    if (this.#first !== null || this.#failure !== null) await this.settle();
  }

  /** Resolves when every signature added so far holds. Throws FoundError for the first that does not. */
  async settle(): Promise<void> {
    if (this.#blames.length > 0) this.#submit();
    while (this.#underway > 0) await this.#change();
    if (this.#failure !== null) throw this.#failure;
    if (this.#first !== null) throw new FoundError('lie', this.#first.blame.place, this.#first.blame.what);
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  #submit(): void {
    const blames = this.#blames;
    const job = this.#jobs++;
    const checks = this.#rows.subarray(0, blames.length * CHECK_BYTES);
    this.#rows = new Uint8Array(ROWS_PER_JOB * CHECK_BYTES);
    this.#blames = [];
    this.#underway++;
    this.#pool.submit({
      checks,
      seals: new Uint8Array(0),
      done: ({ error, bad }) => {
        this.#underway--;
        this.#failure ??= error;
        if (bad >= 0 && error === null && (this.#first === null || job < this.#first.job)) {
          this.#first = { job, blame: blames[bad]! };
        }
        this.#wake?.();
        this.#wake = null;
      },
    });
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}
