/**
 * Versions with very many proofs and steps, as they were read last: an intent that a thousand bank accounts take part in
 * gets thousands of reports, and each would otherwise read all those before it. And where records begin that have had very
 * many versions, and what proofs had given to them: one that is changed every minute would otherwise be walked through as a
 * whole whenever it is read.
 *
 * Not part of the books: it follows from them, and a state without it answers the same, only slower. A version is kept by
 * the address of its newest entry, and bytes at an address never change.
 */
import type { Version } from './records.ts';

/** Shorter ones are read faster than looked up. */
export const LONG_MIN = 16;
/**
 * Bytes of memory that all versions which are kept take where there is room; past it, those go that have not grown for the longest. One is kept
 * however long it is: it has no more than may be added to a record (decide.ts).
 */
const BYTES_MAX = 64_000_000;
/** What an entry takes in memory beside what records.ts counts of it, which is what it is in an answer (measured: 400 to 700). */
const HELD_MORE = 768;
/** Records of which it is kept where they begin, or what proofs had given to them; past it, all go. */
const RECORDS_MAX = 50_000;

interface Kept {
  readonly version: Version;
  /** As records.ts counts them. */
  readonly bytes: number;
}

/** What proofs had given to a record when the entry at this address was its newest; undefined for nothing. */
interface GivenAt<T> {
  readonly address: number;
  readonly value: T | undefined;
}

/** That of records with very many entries, each as it was asked for last. */
export class GivenLast<T> {
  readonly #byRow = new Map<number, GivenAt<T>>();
  readonly #recordsMax: number;

  constructor(recordsMax: number) {
    this.#recordsMax = recordsMax;
  }

  of(row: number): GivenAt<T> | undefined {
    return this.#byRow.size === 0 ? undefined : this.#byRow.get(row);
  }

  /** Keeps it where looking for it has passed by so many entries. */
  keep(row: number, given: GivenAt<T>, entries: number): void {
    if (entries < LONG_MIN) return;
    if (this.#byRow.size >= this.#recordsMax) this.#byRow.clear();
    this.#byRow.set(row, given);
  }
}

export class LongVersions {
  readonly #byAddress = new Map<number, Kept>();
  readonly #bytesMax: number;
  readonly #recordsMax: number;
  /** What all of them take. */
  #held = 0;
  /** Labels that records have, and those and statuses that they had, for who reads on from long ago. */
  readonly labels: GivenLast<readonly string[]>;
  readonly pastLabels: GivenLast<readonly string[]>;
  readonly pastStatuses: GivenLast<string>;
  /** By luid. */
  readonly #firsts = new Map<string, number>();

  constructor(cacheShare = 1) {
    this.#bytesMax = BYTES_MAX * cacheShare;
    this.#recordsMax = RECORDS_MAX * cacheShare;
    this.labels = new GivenLast(this.#recordsMax);
    this.pastLabels = new GivenLast(this.#recordsMax);
    this.pastStatuses = new GivenLast(this.#recordsMax);
  }

  /** The version whose newest entry lies at this address, where it is kept. */
  at(address: number): Kept | undefined {
    return this.#byAddress.size === 0 ? undefined : this.#byAddress.get(address);
  }

  /**
   * Keeps the version that ends at `address` instead of the shorter one that ended at `before` (0: none). `bytes` are those
   * of all of it, or of what came since.
   */
  keep(address: number, version: Version, bytes: number, before: number): void {
    if (version.added.length < LONG_MIN) return;
    const known = this.#byAddress.get(before);
    const kept = { version, bytes: bytes + (known?.bytes ?? 0) };
    if (known !== undefined) this.#drop(before, known);
    for (const [oldest, its] of this.#byAddress) {
      if (this.#held + heldBy(kept) <= this.#bytesMax) break;
      this.#drop(oldest, its);
    }
    this.#byAddress.set(address, kept);
    this.#held += heldBy(kept);
  }

  #drop(address: number, kept: Kept): void {
    this.#byAddress.delete(address);
    this.#held -= heldBy(kept);
  }

  /** Address of what the record with this luid was created with, where it is kept. */
  first(luid: string): number | undefined {
    return this.#firsts.size === 0 ? undefined : this.#firsts.get(luid);
  }

  /** Keeps it for a record that has had so many entries. */
  keepFirst(luid: string, address: number, entries: number): void {
    if (entries < LONG_MIN) return;
    if (this.#firsts.size >= this.#recordsMax) this.#firsts.clear();
    this.#firsts.set(luid, address);
  }
}

function heldBy({ version, bytes }: Kept): number {
  return bytes + HELD_MORE * (version.added.length + 1);
}
