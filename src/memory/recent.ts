/**
 * What came up lately, kept so that it need not be made again: a cache of bounded size.
 *
 * It has two generations (as hashlru by Dominic Tarr). What is new, or was asked for again, is young; once the young
 * ones take half of the room they are the old ones, and the old ones before them are forgotten, all at once. A Map
 * whose first key goes when a new one comes would be simpler, and keeps exactly the latest; but V8 leaves a hole where
 * a key was, and whoever looks for the first key walks over all of them: 5 µs each time with 6 500 keys, 15 with 20
 * 000.
 *
 * What always holds: the values take `max` at most together, each half of that at most; what was set or asked for stays
 * until others that take half of `max` have been. With `keepsLarge` one value at most may exceed that half, and so
 * `max`; it stays until another comes.
 */
export class Recent<Key, Value> {
  readonly #max: number;
  readonly #sizeOf: (value: Value, key: Key) => number;
  readonly #keepsLarge: boolean;
  readonly #turned: () => void;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  /** What the young ones take. */
  #taken = 0;

  /**
   * `sizeOf`: what a value takes of `max` with its key, 1 unless said otherwise; where that grows, `grow` is to be
   * told.
   * `keepsLarge`: keep a value for which half of the room is too little.
   * `turned`: called when the young ones have become the old ones, and there are none.
   */
  constructor(
    max: number,
    sizeOf: (value: Value, key: Key) => number = () => 1,
    { keepsLarge = false, turned = () => {} }: { keepsLarge?: boolean; turned?: () => void } = {},
  ) {
    this.#max = max;
    this.#sizeOf = sizeOf;
    this.#keepsLarge = keepsLarge;
    this.#turned = turned;
  }

  get(key: Key): Value | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.#add(key, old);
    return old;
  }

  /** A value that takes more than half of the room is not kept, unless large ones are. */
  set(key: Key, value: Value): void {
    this.delete(key);
    this.#add(key, value);
  }

  delete(key: Key): void {
    const young = this.#young.get(key);
    if (young !== undefined) this.#taken -= this.#sizeOf(young, key);
    this.#young.delete(key);
    this.#old.delete(key);
  }

  /** Some value that was given takes so much more. */
  grow(more: number): void {
    if (this.#taken + more > this.#max / 2) {
      this.#old = this.#young;
      this.#forgetYoung();
    }
    this.#taken += more;
  }

  clear(): void {
    this.#old = new Map();
    this.#forgetYoung();
  }

  #add(key: Key, value: Value): void {
    const size = this.#sizeOf(value, key);
    if (size > this.#max / 2 && !this.#keepsLarge) return;
    this.grow(size);
    this.#young.set(key, value);
  }

  #forgetYoung(): void {
    this.#young = new Map();
    this.#taken = 0;
    this.#turned();
  }
}
