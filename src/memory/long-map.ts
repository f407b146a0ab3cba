/**
 * A Map that may grow very long. V8 moves all of a Map to another table whenever its own is full or mostly empty: with
 * a million entries that takes a tenth of a second, in one piece, and the next collection of young garbage reads all of
 * the new table. To find the first entry V8 also passes by each that was deleted before it, and a Map has room for
 * 2^24. So the keys lie in many Maps here, each of them short: whoever makes a LongMap says which keys share one.
 *
 * What always holds: maps that were filled alike have their entries in the same order. With `near`, and keys that only
 * rise as they are added, that is the order of the keys, and a loop meets what is added while it lasts, as a loop over
 * a Map does.
 */
import { hashText } from './hash.ts';

/**
 * The number of the Map a key lies in. Each should get some thousands of keys: V8 moves 8192 in a quarter of a
 * millisecond.
 */
type MapOf<K> = (key: K) => number;

const SPAN = 8192;
/** Texts are spread over so many Maps: of sixteen million each gets four thousand. */
const SHARES = 4096;

/** For whole numbers most of which are there: those that are close to each other share a Map. */
export function near(key: number): number {
  return Math.floor(key / SPAN);
}

/** For texts that strangers choose: who does not know the seed cannot choose them so that all share one. */
export function scattered(seed: number): MapOf<string> {
  return (key) => hashText(seed, key) % SHARES;
}

/** Addresses are spread over 2 ** 8 Maps: of half a million each gets two thousand. */
const ADDRESS_BITS = 8;
const GOLDEN = 0x9e3779b1;

/** For addresses of the heap: those of records of one length lie apart as far as each of them is long. */
export function scatteredAddress(at: number): number {
  return Math.imul(at, GOLDEN) >>> (32 - ADDRESS_BITS);
}

export class LongMap<K, V> {
  readonly #mapOf: MapOf<K>;
  /** None of them is empty. */
  readonly #maps = new Map<number, Map<K, V>>();
  /** The number that was asked for last, and its Map: mostly it is asked for again. */
  #lastAt = -1;
  #last: Map<K, V> | undefined = undefined;
  #size = 0;

  constructor(mapOf: MapOf<K>) {
    this.#mapOf = mapOf;
  }

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#at(this.#mapOf(key))?.get(key);
  }

  has(key: K): boolean {
    return this.#at(this.#mapOf(key))?.has(key) === true;
  }

  set(key: K, value: V): void {
    const at = this.#mapOf(key);
    let map = this.#at(at);
    if (map === undefined) {
      map = new Map();
      this.#maps.set(at, map);
      this.#last = map;
    }
    const before = map.size;
    map.set(key, value);
    this.#size += map.size - before;
  }

  delete(key: K): boolean {
    const at = this.#mapOf(key);
    const map = this.#at(at);
    if (map === undefined || !map.delete(key)) return false;
    this.#size--;
    if (map.size > 0) return true;
    this.#maps.delete(at);
    this.#last = undefined;
    return true;
  }

  #at(at: number): Map<K, V> | undefined {
    if (at !== this.#lastAt) {
      this.#last = this.#maps.get(at);
      this.#lastAt = at;
    }
    return this.#last;
  }

  *keys(): Generator<K, void, void> {
    for (const map of this.#maps.values()) yield* map.keys();
  }

  *values(): Generator<V, void, void> {
    for (const map of this.#maps.values()) yield* map.values();
  }

  *[Symbol.iterator](): Generator<[K, V], void, void> {
    for (const map of this.#maps.values()) yield* map;
  }
}
