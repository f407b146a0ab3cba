/**
 * Versions with very many proofs and steps, as they were read last: an intent that a thousand bank accounts take part in
 * gets thousands of reports, and each would otherwise read all those before it. And where records begin that have had very
 * many versions: one that is changed every minute would otherwise be walked through as a whole whenever it is read.
 *
 * Not part of the books: it follows from them, and a state without it answers the same, only slower. A version is kept by
 * the address of its newest entry, and bytes at an address never change.
 */
import type { Version } from './records.ts';

/** Shorter ones are read faster than looked up. */
export const LONG_MIN = 16;
/** Entries of all versions that are kept; past it, all go. */
const ENTRIES_MAX = 50_000;
/** Records of which it is kept where they begin; past it, all go. */
const FIRSTS_MAX = 50_000;

export class LongVersions {
  readonly #byAddress = new Map<number, Version>();
  #entries = 0;
  /** By luid. */
  readonly #firsts = new Map<string, number>();

  /** The version whose newest entry lies at this address, where it is kept. */
  at(address: number): Version | undefined {
    return this.#byAddress.size === 0 ? undefined : this.#byAddress.get(address);
  }

  /** Keeps the version that ends at `address` instead of the shorter one that ended at `before` (0: none). */
  keep(address: number, version: Version, before: number): void {
    if (version.added.length < LONG_MIN) return;
    const known = this.#byAddress.get(before);
    if (known !== undefined) {
      this.#byAddress.delete(before);
      this.#entries -= known.added.length;
    }
    if (this.#entries + version.added.length > ENTRIES_MAX) {
      this.#byAddress.clear();
      this.#entries = 0;
    }
    this.#byAddress.set(address, version);
    this.#entries += version.added.length;
  }

  /** Address of what the record with this luid was created with, where it is kept. */
  first(luid: string): number | undefined {
    return this.#firsts.size === 0 ? undefined : this.#firsts.get(luid);
  }

  /** Keeps it for a record that has had so many entries. */
  keepFirst(luid: string, address: number, entries: number): void {
    if (entries < LONG_MIN) return;
    if (this.#firsts.size >= FIRSTS_MAX) this.#firsts.clear();
    this.#firsts.set(luid, address);
  }
}
