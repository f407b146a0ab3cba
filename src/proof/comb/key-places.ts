/**
 * Which keys have a table: those that sign most often. Keys stand in sets of a few places, as lines in a processor's
 * cache; how often a key was seen lately is estimated for all keys alike, in counters that some may share (Einziger,
 * Friedman and Manes, "TinyLFU", 2017, with one row), so that keys seen now and then do not push out those seen all the
 * time.
 *
 * A key that can have no table keeps its place too, so that not every eighth signature of it costs the try again.
 *
 * What always holds: a place is found only by the key that was given it with a table, all 32 bytes compared.
 */

/** Words of a key. */
const KEY_WORDS = 8;
/** Places of a set. */
export const WAYS = 8;
/** Seen so often, a key is worth its table, which costs about as much as five verifications without. */
const SEEN_MIN = 8;
const SEEN_MAX = 255;
/** Whose a place is: nobody's, a key's that has a table, a key's that can have none. */
const Holder = { nobody: 0, table: 1, none: 2 } as const;
/** Counters per place; more of them, fewer keys that share one. */
const COUNTERS_PER_PLACE = 32;

export class KeyPlaces {
  /** Places are numbered from 0 to `count - 1`. */
  readonly count: number;
  readonly #keys: Uint32Array;
  readonly #holders: Uint8Array;
  readonly #seen: Uint8Array;
  readonly #salt: number;
  /** Sights until all counters are halved. */
  #untilHalved: number;

  /**
   * At most `countMax` places, which must be those of one set at least. The salt keeps strangers from choosing who
   * shares one.
   */
  constructor(countMax: number, salt: number) {
    const count = countMax - (countMax % WAYS);
    this.count = count;
    this.#keys = new Uint32Array(count * KEY_WORDS);
    this.#holders = new Uint8Array(count);
    this.#seen = new Uint8Array(2 ** Math.ceil(Math.log2(count * COUNTERS_PER_PLACE)));
    this.#untilHalved = this.#seen.length * SEEN_MIN;
    this.#salt = salt | 1;
  }

  /** The place of the key's table, or -1; counts the key as seen. `key` is read from word `at` on. */
  find(key: Uint32Array, at: number): number {
    const hash = this.#hash(key, at);
    this.#count(hash);
    const first = this.#setOf(hash);
    for (let place = first; place < first + WAYS; place++) {
      if (this.#holds(place, key, at)) return this.#holders[place] === Holder.table ? place : -1;
    }
    return -1;
  }

  /**
   * A place for a key that has no table, emptied, or -1: it is not seen often enough, it can have none, or those it
   * would push out are seen more.
   */
  claim(key: Uint32Array, at: number): number {
    const hash = this.#hash(key, at);
    const seen = this.#seenOf(hash);
    if (seen < SEEN_MIN) return -1;
    const first = this.#setOf(hash);
    let [rarest, least] = [-1, seen / 2];
    for (let place = first; place < first + WAYS; place++) {
      if (this.#holds(place, key, at)) return -1;
      if (this.#holders[place] === Holder.nobody) return place;
      const others = this.#seenOf(this.#hash(this.#keys, place * KEY_WORDS));
      if (others < least) [rarest, least] = [place, others];
    }
    if (rarest >= 0) this.#holders[rarest] = Holder.nobody;
    return rarest;
  }

  take(place: number, key: Uint32Array, at: number, hasTable: boolean): void {
    for (let i = 0; i < KEY_WORDS; i++) this.#keys[place * KEY_WORDS + i] = key[at + i]!;
    this.#holders[place] = hasTable ? Holder.table : Holder.none;
  }

  #holds(place: number, key: Uint32Array, at: number): boolean {
    if (this.#holders[place] === Holder.nobody) return false;
    for (let i = 0; i < KEY_WORDS; i++) if (this.#keys[place * KEY_WORDS + i] !== key[at + i]) return false;
    return true;
  }

  #hash(key: Uint32Array, at: number): number {
    const mixed = Math.imul(key[at]! ^ this.#salt, 0x9e3779b1) ^ Math.imul(key[at + 1]! + this.#salt, 0x85ebca6b);
    return Math.imul(mixed ^ (mixed >>> 15), this.#salt) >>> 0;
  }

  /** Sets by the hash's upper bits, counters by its lower ones. */
  #setOf(hash: number): number {
    return ((hash >>> 16) % (this.count / WAYS)) * WAYS;
  }

  #counterOf(hash: number): number {
    return hash & (this.#seen.length - 1);
  }

  #seenOf(hash: number): number {
    return this.#seen[this.#counterOf(hash)]!;
  }

  #count(hash: number): void {
    const counter = this.#counterOf(hash);
    if (this.#seen[counter]! < SEEN_MAX) this.#seen[counter]!++;
    if (--this.#untilHalved > 0) return;
    this.#untilHalved = this.#seen.length * SEEN_MIN;
    for (let i = 0; i < this.#seen.length; i++) this.#seen[i]! >>>= 1;
  }
}
