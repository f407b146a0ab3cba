/**
 * A Map by whole numbers that may grow very long. V8 moves all of a Map to another table whenever that is full, or has
 * become mostly empty: of a million entries a tenth of a second, in one piece, and the next collection of young garbage
 * reads all of the new table. It also passes by each entry that is gone before it comes to the first that is there. So
 * numbers that are close to each other have a Map of their own here, and each of those is short.
 *
 * What always holds: where numbers only rise as they are added, they stand in their order. A loop over it meets what is
 * added while it lasts, as a loop over a Map does.
 */

/** As many numbers share a Map: V8 moves them in a quarter of a millisecond. */
const SPAN = 8192;

export class LongMap<V> {
  /** By number divided by SPAN; none of them is empty. */
  readonly #maps = new Map<number, Map<number, V>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(key: number): V | undefined {
    return this.#maps.get(Math.floor(key / SPAN))?.get(key);
  }

  has(key: number): boolean {
    return this.#maps.get(Math.floor(key / SPAN))?.has(key) === true;
  }

  set(key: number, value: V): void {
    const at = Math.floor(key / SPAN);
    let map = this.#maps.get(at);
    if (map === undefined) {
      map = new Map();
      this.#maps.set(at, map);
    }
    const before = map.size;
    map.set(key, value);
    this.#size += map.size - before;
  }

  delete(key: number): boolean {
    const at = Math.floor(key / SPAN);
    const map = this.#maps.get(at);
    if (map === undefined || !map.delete(key)) return false;
    this.#size--;
    if (map.size === 0) this.#maps.delete(at);
    return true;
  }

  *keys(): Generator<number, void, void> {
    for (const map of this.#maps.values()) yield* map.keys();
  }

  *values(): Generator<V, void, void> {
    for (const map of this.#maps.values()) yield* map.values();
  }

  *[Symbol.iterator](): Generator<[number, V], void, void> {
    for (const map of this.#maps.values()) yield* map;
  }
}
