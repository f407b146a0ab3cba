/**
 * A Map on V8's heap that may grow very long. It does for entries what hold.ts does for pages: a dump copies nothing
 * when it is taken. It is read while the map goes on changing, and what changes or goes before it was read is kept as
 * it was.
 *
 * What always holds: a value in here is never changed, only replaced; what is read of a dump is what was there then, in
 * the order of its map, but for what changed meanwhile, which comes last, and may come twice.
 */
import { fail, finder, type OpenPart, type Parts } from './parts.ts';

/** Entries in one piece of a dump: some ten microseconds of work. */
const LINE_ENTRIES = 32;
/** A piece also ends once so many entries were met: a million may have come or gone since the dump. */
const MET_MAX = 1024;
const NEW_LINE = 10;

/** What has changed since a dump: by key what was there then, undefined where nothing was. */
type Kept<K, V> = Entries<K, V | undefined>;

/** What it holds its entries in: a map that may grow longer than V8's Map does well (long-map.ts). */
interface Entries<K, V> {
  readonly size: number;
  get(key: K): V | undefined;
  has(key: K): boolean;
  set(key: K, value: V): unknown;
  delete(key: K): boolean;
  keys(): IterableIterator<K>;
  [Symbol.iterator](): IterableIterator<[K, V]>;
}

/** Makes an empty one, whatever its values. */
type Make<K> = <V>() => Entries<K, V>;

export class HeldMap<K, V> {
  readonly #name: string;
  readonly #map: Entries<K, V>;
  /** It also makes the map of what changed since a dump, which may grow as long. */
  readonly #make: Make<K>;
  readonly #rowOf: (key: K, value: V) => unknown;
  #dumps: readonly Kept<K, V>[] = [];

  /**
   * It is dumped as a part of this name: lines of JSON, each a list of what `rowOf` makes of so many entries, or of
   * keys and values as they are.
   */
  constructor(name: string, make: Make<K>, rowOf: (key: K, value: V) => unknown = (key, value) => [key, value]) {
    this.#name = name;
    this.#make = make;
    this.#map = make();
    this.#rowOf = rowOf;
  }

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#keep(key);
    this.#map.set(key, value);
  }

  delete(key: K): void {
    // Nothing is noted for a dump of a key that is not there: callers delete for whatever is dropped, in case there was
    // an entry.
    if (!this.#map.has(key)) return;
    this.#keep(key);
    this.#map.delete(key);
  }

  keys(): IterableIterator<K> {
    return this.#map.keys();
  }

  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#map[Symbol.iterator]();
  }

  /** All there is now. */
  dump(): OpenPart {
    const kept: Kept<K, V> = this.#make();
    this.#dumps = [...this.#dumps, kept];
    const drop = () => {
      this.#dumps = this.#dumps.filter((other) => other !== kept);
    };
    const read = () => {
      if (!this.#dumps.includes(kept)) fail(`part ${this.#name} was read before, or dropped`);
      return this.#read(kept, drop);
    };
    return { name: this.#name, final: false, pieces: { [Symbol.iterator]: read }, drop };
  }

  *#read(kept: Kept<K, V>, drop: () => void): Generator<Uint8Array> {
    let rows: unknown[] = [];
    let met = 0;
    // Loops over a Map meet what is added while they last. One that changes after it was met comes again, as it was.
    for (const entries of [this.#map, kept]) {
      // All were met: what changes from now on was given as it was.
      if (entries === kept) drop();
      for (const [key, value] of entries) {
        const isTold = value !== undefined && (entries === kept || !kept.has(key));
        if (isTold) rows.push(this.#rowOf(key, value));
        if (rows.length < LINE_ENTRIES && ++met < MET_MAX) continue;
        yield lineOf(rows);
        rows = [];
        met = 0;
      }
    }
    yield lineOf(rows);
  }

  #keep(key: K): void {
    for (const kept of this.#dumps) if (!kept.has(key)) kept.set(key, this.#map.get(key));
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function lineOf(rows: readonly unknown[]): Uint8Array {
  return encoder.encode(`${JSON.stringify(rows)}\n`);
}

/**
 * What `rowOf` made of a dumped map's entries, in the order of the dump. Throws where its part is missing, or not
 * whole.
 */
export function* rowsOf<Row>(parts: Parts, name: string): Generator<Row> {
  const bytes = finder(parts)(name);
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(NEW_LINE, from);
    if (end < 0) fail(`part ${name} does not end with a whole line`);
    yield* JSON.parse(decoder.decode(bytes.subarray(from, end))) as Row[];
    from = end + 1;
  }
}
