/**
 * Members of events' data. What they show is made when somebody first asks for it, since thousands of events are passed
 * over unasked; it is kept as far as there is room.
 */
import { recordAt } from './core/past.ts';
import type { State } from './core/state.ts';
import { Recent } from './memory/index.ts';
import type { Sealer } from './proof/sealer.ts';
import { viewText } from './render.ts';

/** One member, made once. Events of one entry share what they have in common: there may be thousands. */
export class Member {
  protected readonly make: (sealer: Sealer | null) => string;
  #text: string | null = null;
  readonly #values = new Map<Sealer | null, unknown>();

  /** `make` gives it as JSON; without a sealer records lack their proofs. */
  constructor(make: (sealer: Sealer | null) => string) {
    this.make = make;
  }

  text(sealer: Sealer): string {
    this.#text ??= this.make(sealer);
    return this.#text;
  }

  /** As a value; without a sealer records lack their proofs. */
  value(sealer: Sealer | null): unknown {
    if (!this.#values.has(sealer)) this.#values.set(sealer, JSON.parse(this.make(sealer)));
    return this.#values.get(sealer);
  }
}

/** Characters of the members that a shelf keeps where there is room: of texts, and of each sort of values. */
const SHELF_CHARS_MAX = 16 * 1024 * 1024;

/**
 * Members of which there may be very many, each of a record that may be large: those asked for lately. They lie by the
 * entry whose events show them, since all of an entry are forgotten at once.
 */
export class Shelf {
  readonly texts: Board<string>;
  readonly bare: Board<Parsed>;
  readonly sealed: Board<Parsed>;

  constructor(cacheShare: number) {
    const max = SHELF_CHARS_MAX * cacheShare;
    this.texts = new Board(max, (text) => text.length);
    this.bare = new Board(max, ({ size }) => size);
    this.sealed = new Board(max, ({ size }) => size);
  }

  /** Nobody has this entry's events any more: nobody can ask for their members. */
  forget(entry: object): void {
    for (const board of [this.texts, this.bare, this.sealed]) board.forget(entry);
  }
}

/** What was made of the members of one entry, and how many characters that was. */
interface Pile<V> {
  readonly made: Map<object, V>;
  size: number;
}

/** What was made of members in one way. */
class Board<V> {
  readonly #max: number;
  readonly #sizeOf: (value: V) => number;
  readonly #piles: Recent<object, Pile<V>>;

  constructor(max: number, sizeOf: (value: V) => number) {
    this.#max = max;
    this.#sizeOf = sizeOf;
    this.#piles = new Recent(max, ({ size }) => size);
  }

  get(entry: object, member: object): V | undefined {
    return this.#piles.get(entry)?.made.get(member);
  }

  set(entry: object, member: object, value: V): void {
    const size = this.#sizeOf(value);
    const pile = this.#piles.get(entry) ?? { made: new Map<object, V>(), size: 0 };
    // Half of the room is one entry's at most: then it begins anew, as if it were its first.
    const isFull = pile.size + size > this.#max / 2;
    if (isFull) pile.made.clear();
    pile.made.set(member, value);
    this.#piles.delete(entry);
    pile.size = isFull ? size : pile.size + size;
    this.#piles.set(entry, pile);
  }

  forget(entry: object): void {
    this.#piles.delete(entry);
  }
}

/** A member as a value, and how many characters it was. */
interface Parsed {
  value: unknown;
  size: number;
}

/** A member that is made again where its shelf has no room for it: ten thousand wallets of a megabyte are not kept. */
class ShelvedMember extends Member {
  readonly #shelf: Shelf;
  readonly #entry: object;

  constructor(make: (sealer: Sealer | null) => string, shelf: Shelf, entry: object) {
    super(make);
    this.#shelf = shelf;
    this.#entry = entry;
  }

  override text(sealer: Sealer): string {
    return this.#kept(this.#shelf.texts, () => this.make(sealer));
  }

  override value(sealer: Sealer | null): unknown {
    const values = sealer === null ? this.#shelf.bare : this.#shelf.sealed;
    return this.#kept(values, () => this.#parse(sealer)).value;
  }

  #kept<V>(board: Board<V>, make: () => V): V {
    const known = board.get(this.#entry, this);
    if (known !== undefined) return known;
    const made = make();
    board.set(this.#entry, this, made);
    return made;
  }

  #parse(sealer: Sealer | null): Parsed {
    const text = this.make(sealer);
    return { value: JSON.parse(text), size: text.length };
  }
}

/** A record as it was right after the entry at this address. */
export function memberAt(state: State, row: number, address: number): Member {
  return new Member(viewAt(state, row, address));
}

function viewAt(state: State, row: number, address: number): (sealer: Sealer | null) => string {
  return (sealer) => viewText(recordAt(state, row, address), sealer);
}

/**
 * Members for the records that events of one entry show, one for each record; that of the intent is in all of them. On
 * the shelf they lie by `entry`.
 */
export function membersAt(
  state: State,
  entry: { readonly row: number; readonly address: number },
  shelf: Shelf,
): (row: number) => Member {
  const { row: intent, address } = entry;
  const made = new Map([[intent, memberAt(state, intent, address)]]);
  return (row) => {
    const known = made.get(row) ?? new ShelvedMember(viewAt(state, row, address), shelf, entry);
    made.set(row, known);
    return known;
  };
}

export function plain(value: string | number): Member {
  return new Member(() => JSON.stringify(value));
}
