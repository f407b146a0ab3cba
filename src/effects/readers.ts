/**
 * Readers: who reads the log from behind, all together. One place in the log moves on, entry by entry, and each entry is
 * looked up once for everybody who waits for its signal there. Who stands further ahead lets it pass; who stands further
 * back brings the place back to where they are.
 *
 * So after a restart a thousand effects cost one walk through the log, not a thousand.
 */

/** One who waits for something: a ledger's signal. */
export interface Waiting {
  key: string;
}

export interface Reader extends Waiting {
  /** The first entry that it has not looked at. */
  from: number;
}

/** Those who wait, by what they wait for. */
export class ByKey<W extends Waiting> {
  readonly #byKey = new Map<string, Set<W>>();

  add(one: W): void {
    const others = this.#byKey.get(one.key);
    if (others === undefined) this.#byKey.set(one.key, new Set([one]));
    else others.add(one);
  }

  delete(one: W): void {
    const others = this.#byKey.get(one.key);
    others?.delete(one);
    if (others?.size === 0) this.#byKey.delete(one.key);
  }

  /** A copy: who is told may leave. */
  get(key: string): readonly W[] {
    const found = this.#byKey.get(key);
    return found === undefined ? NOBODY : [...found];
  }
}

const NOBODY: readonly never[] = [];

export class Readers<R extends Reader> {
  readonly #all = new Set<R>();
  readonly #byKey = new ByKey<R>();
  /** The next entry to be looked at, where there is anybody. */
  at = 0;

  get size(): number {
    return this.#all.size;
  }

  add(reader: R): void {
    if (this.#all.size === 0) this.at = reader.from;
    else if (reader.from < this.at) {
      for (const other of this.#all) other.from = Math.max(other.from, this.at);
      this.at = reader.from;
    }
    this.#all.add(reader);
    this.#byKey.add(reader);
  }

  /** It leaves, having looked at everything before the present place. */
  delete(reader: R): void {
    if (!this.#all.delete(reader)) return;
    this.#byKey.delete(reader);
    reader.from = Math.max(reader.from, this.at);
  }

  /** Those who wait for this at the present place. */
  waitingFor(key: string): readonly R[] {
    return this.#byKey.get(key).filter(({ from }) => from <= this.at);
  }

  all(): readonly R[] {
    return [...this.#all];
  }
}
