/**
 * What clients make the server hold for them while they are slow to send or to read, or wait: bodies that are still
 * arriving, answers that nobody takes, long heads of requests. Each is bounded by itself; here all of a sort are
 * bounded together.
 *
 * Beyond the bound the oldest are let go until there is room. Whoever sends and reads at once holds something for
 * milliseconds and is never among them, however many others there are.
 *
 * What always holds: after `hold` no more than `bytesMax` are held, or nothing but what it was called for and what is
 * fixed.
 */
export class Held<T> {
  readonly #bytesMax: number;
  readonly #letGo: (one: T) => void;
  /** Oldest first. */
  readonly #bytes = new Map<T, number>();
  /** What is held by those that are not let go. */
  readonly #fixed = new Map<T, number>();
  #fixedTotal = 0;
  #total = 0;

  /** Told of what is let go, which is no longer held then. */
  constructor(bytesMax: number, letGo: (one: T) => void) {
    this.#bytesMax = bytesMax;
    this.#letGo = letGo;
  }

  /** All that is held, in bytes. */
  get total(): number {
    return this.#total;
  }

  /** Whether so many more are no more than is allowed, once all are let go that can be. */
  hasRoom(bytes: number): boolean {
    return this.#fixedTotal + bytes <= this.#bytesMax;
  }

  /** `one` holds so many bytes now; its age counts from the first of them. */
  hold(one: T, bytes: number): void {
    const fixed = this.#fixed.get(one);
    if (fixed !== undefined) return this.#fix(one, bytes, fixed);
    this.#total += bytes - (this.#bytes.get(one) ?? 0);
    this.#bytes.set(one, bytes);
    if (this.#total <= this.#bytesMax) return;
    for (const other of this.#bytes.keys()) {
      if (this.#total <= this.#bytesMax) break;
      if (other === one) continue;
      this.forget(other);
      this.#letGo(other);
    }
  }

  /** What `one` holds, if anything, it holds until it is forgotten, however much there is. */
  fix(one: T): void {
    const bytes = this.#bytes.get(one);
    if (bytes === undefined) return;
    this.forget(one);
    this.#fix(one, bytes, 0);
  }

  #fix(one: T, bytes: number, before: number): void {
    this.#fixed.set(one, bytes);
    this.#fixedTotal += bytes - before;
    this.#total += bytes - before;
  }

  /** `one` holds nothing any more. */
  forget(one: T): void {
    const fixed = this.#fixed.get(one) ?? 0;
    this.#total -= fixed + (this.#bytes.get(one) ?? 0);
    this.#fixedTotal -= fixed;
    this.#bytes.delete(one);
    this.#fixed.delete(one);
  }
}
