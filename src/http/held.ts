/**
 * What clients make the server hold for them while they are slow to send or to read: bodies that are still arriving,
 * answers that nobody takes. Each is bounded by itself; here all of a sort are bounded together.
 *
 * Beyond the bound the oldest are let go until there is room. Whoever sends and reads at once holds something for
 * milliseconds and is never among them, however many others there are.
 *
 * What always holds: after `hold` no more than `bytesMax` are held, or nothing but what it was called for.
 */
export class Held<T> {
  readonly #bytesMax: number;
  readonly #letGo: (one: T) => void;
  /** Oldest first. */
  readonly #bytes = new Map<T, number>();
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

  /** `one` holds so many bytes now; its age counts from the first of them. */
  hold(one: T, bytes: number): void {
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

  /** `one` holds nothing any more. */
  forget(one: T): void {
    this.#total -= this.#bytes.get(one) ?? 0;
    this.#bytes.delete(one);
  }
}
