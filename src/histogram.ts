/**
 * How values are spread: counted in buckets whose bounds double. Adding one takes some nanoseconds and leaves no
 * garbage, so that it is done for each request, whether anybody asks or not; who asks adds the buckets up.
 */
export class Histogram {
  /** The bound of the first bucket. */
  readonly #least: number;
  readonly #buckets: number;
  /** Of each bucket those that are in none before it, then those beyond all bounds, then the sum of all values. */
  readonly #cells: Float64Array;

  constructor(least: number, buckets: number) {
    this.#least = least;
    this.#buckets = buckets;
    this.#cells = new Float64Array(buckets + 2);
  }

  /** The value is not negative. */
  add(value: number): void {
    const cells = this.#cells;
    // How many binary digits it takes to count the steps of the least bound that lie wholly below: as often that one
    // doubles.
    const below = Math.min(Math.ceil(value / this.#least) - 1, STEPS_MAX);
    const bucket = below <= 0 ? 0 : 32 - Math.clz32(below);
    cells[Math.min(bucket, this.#buckets)]!++;
    cells[this.#buckets + 1]! += value;
  }

  get sum(): number {
    return this.#cells[this.#buckets + 1]!;
  }

  /** Each bound, and how many values are not above it; the last is infinite, and has all. */
  *cumulative(): Iterable<readonly [bound: number, count: number]> {
    let count = 0;
    for (let bucket = 0; bucket <= this.#buckets; bucket++) {
      count += this.#cells[bucket]!;
      yield [bucket < this.#buckets ? this.#least * 2 ** bucket : Number.POSITIVE_INFINITY, count];
    }
  }
}

/** As far as clz32 counts. */
const STEPS_MAX = 2 ** 31;

/** Milliseconds, from a quarter of one to the half minute that the longest answers are waited for. */
export function timesInMs(): Histogram {
  return new Histogram(0.25, 18);
}
