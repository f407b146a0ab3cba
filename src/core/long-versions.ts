/**
 * A cache of versions with very many proofs and steps, as they were read last: an intent that a thousand bank accounts
 * take part in gets thousands of reports, and each would otherwise read all those before it. And where records begin
 * that have had very many versions, and checkpoints on the way there, waymarks: where some of their entries lie, and
 * what proofs had given to them. One that is changed every minute would otherwise be walked through as a whole whenever
 * it is read.
 *
 * Not part of the books: it follows from them, and a state without it answers the same, only slower. A version is kept
 * by the address of its newest entry, and bytes at an address never change.
 */
import type { Version } from './records.ts';

/**
 * Entries from which on a record is a long one, or what was added to a version: shorter ones are read faster than
 * looked up.
 */
export const LONG_ENTRIES_MIN = 16;
/**
 * Bytes of memory that all versions which are kept take where there is room; past it, those go that have not grown for
 * the longest. One is kept however long it is: it has no more than may be added to a record (decide.ts).
 */
const BYTES_MAX = 64_000_000;
/**
 * What an entry takes in memory beside what records.ts counts of it, which is what it is in an answer (measured: 400 to
 * 700).
 */
const HELD_MORE = 768;
/** Records of which it is kept where they begin; past it, all go. */
const RECORDS_MAX = 50_000;
/** Of entries that are passed by one in so many has a waymark. */
export const WAYMARK_STEPS = 64;
/**
 * Waymarks of one sort, of 50 bytes each and 100 more for each record, what they say counted as so many more; past it,
 * all go but those that come.
 */
const WAYMARKS_MAX = 200_000;
const WAYMARK_BYTES = 50;
/** What a word takes in memory beside its characters. */
const WORD_BYTES = 32;

interface Kept {
  readonly version: Version;
  /** As records.ts counts them. */
  readonly bytes: number;
}

/** A checkpoint on the way through a record's entries: what is known of the record at one of them. */
interface Waymark<T> {
  readonly address: number;
  readonly value: T;
}

/** A word, or a list of them. */
type Told = readonly string[] | string | null | undefined;

/**
 * Checkpoints: what is known of records with very many entries at some of these. Whoever looks for it again soon comes
 * to one.
 */
export class Waymarks<T extends Told> {
  /** By row, the oldest first. */
  readonly #byRow = new Map<number, readonly Waymark<T>[]>();
  #count = 0;
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  /** The last that is kept up to this address. */
  upTo(row: number, address: number): Waymark<T> | undefined {
    const all = this.#of(row);
    return all[countUpTo(all, address) - 1];
  }

  /** The first that is kept behind it. */
  behind(row: number, address: number): Waymark<T> | undefined {
    const all = this.#of(row);
    return all[countUpTo(all, address)];
  }

  /** Keeps the value at these addresses, the newest first, between which nothing is kept. */
  keep(row: number, addresses: readonly number[], value: T): void {
    if (addresses.length === 0) return;
    const count = addresses.length + marksFor(value);
    this.#count += count;
    if (this.#count > this.#max) {
      this.#byRow.clear();
      this.#count = count;
    }
    const all = this.#of(row);
    const older = countUpTo(all, addresses[0]!);
    const more = addresses.map((address) => ({ address, value })).reverse();
    this.#byRow.set(row, all.slice(0, older).concat(more, all.slice(older)));
  }

  #of(row: number): readonly Waymark<T>[] {
    return this.#byRow.get(row) ?? NONE;
  }
}

const NONE: readonly never[] = [];

/** How many waymarks take as much memory as what is known: a hundred labels take as much as hundreds. */
function marksFor(value: Told): number {
  const words = typeof value === 'string' ? [value] : (value ?? NONE);
  const bytes = words.reduce((sum, { length }) => sum + WORD_BYTES + 2 * length, 0);
  return Math.floor(bytes / WAYMARK_BYTES);
}

function countUpTo(all: readonly Waymark<unknown>[], address: number): number {
  let [from, to] = [0, all.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (all[middle]!.address <= address) from = middle + 1;
    else to = middle;
  }
  return from;
}

export class LongVersions {
  readonly #byAddress = new Map<number, Kept>();
  readonly #bytesMax: number;
  readonly #recordsMax: number;
  /** What all of them take. */
  #held = 0;
  /** Entries that records had, and what proofs had given to them at some. */
  readonly entries: Waymarks<null>;
  readonly labels: Waymarks<readonly string[] | undefined>;
  readonly statuses: Waymarks<string | undefined>;
  /** By luid. */
  readonly #firsts = new Map<string, number>();

  constructor(cacheShare = 1) {
    this.#bytesMax = BYTES_MAX * cacheShare;
    this.#recordsMax = RECORDS_MAX * cacheShare;
    this.entries = new Waymarks(WAYMARKS_MAX * cacheShare);
    this.labels = new Waymarks(WAYMARKS_MAX * cacheShare);
    this.statuses = new Waymarks(WAYMARKS_MAX * cacheShare);
  }

  /** The version whose newest entry lies at this address, where it is kept. */
  at(address: number): Kept | undefined {
    return this.#byAddress.size === 0 ? undefined : this.#byAddress.get(address);
  }

  /**
   * Keeps the version that ends at `address` instead of the shorter one that ended at `before` (0: none). `bytes` are
   * those of all of it, or of what came since.
   */
  keep(address: number, version: Version, bytes: number, before: number): void {
    if (version.added.length < LONG_ENTRIES_MIN) return;
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
    if (entries < LONG_ENTRIES_MIN) return;
    if (this.#firsts.size >= this.#recordsMax) this.#firsts.clear();
    this.#firsts.set(luid, address);
  }
}

function heldBy({ version, bytes }: Kept): number {
  return bytes + HELD_MORE * (version.added.length + 1);
}
