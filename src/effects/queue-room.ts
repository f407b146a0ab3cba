/**
 * How much may wait in memory for all receivers together. One has a short queue, but there may be very many: what finds no
 * room is read from the log later.
 */

/** Events queued at a time, some fifty megabytes: half a kilobyte each. */
const QUEUED_MAX = 100_000;
/** A ledger has at most so many times the places that are left free, as it has of those for requests (turns.ts). */
const SHARE = 4;

export class QueueRoom {
  readonly #queuedMax: number;
  readonly #byLedger = new Map<number, number>();
  #queued = 0;

  constructor(queuedMax = QUEUED_MAX) {
    this.#queuedMax = queuedMax;
  }

  /** `count` events more are queued for receivers of this ledger; less, where it is negative. */
  take(ledger: number, count: number): void {
    this.#queued += count;
    const queued = (this.#byLedger.get(ledger) ?? 0) + count;
    if (queued === 0) this.#byLedger.delete(ledger);
    else this.#byLedger.set(ledger, queued);
  }

  isThereFor(ledger: number): boolean {
    return (this.#byLedger.get(ledger) ?? 0) < SHARE * (this.#queuedMax - this.#queued);
  }
}
