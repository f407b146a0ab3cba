/**
 * Members of events' data: what they show is made when somebody first asks for it, since of thousands of events that are
 * passed by nobody does, and kept as far as there is room.
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

/** Members of which there may be very many, each of a record that may be large: those asked for lately. */
export class Shelf {
  readonly texts: Recent<object, string>;
  readonly bare: Recent<object, Parsed>;
  readonly sealed: Recent<object, Parsed>;

  constructor(cacheShare: number) {
    const max = SHELF_CHARS_MAX * cacheShare;
    this.texts = new Recent(max, (text) => text.length);
    this.bare = new Recent(max, ({ size }) => size);
    this.sealed = new Recent(max, ({ size }) => size);
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

  constructor(make: (sealer: Sealer | null) => string, shelf: Shelf) {
    super(make);
    this.#shelf = shelf;
  }

  override text(sealer: Sealer): string {
    const { texts } = this.#shelf;
    const text = texts.get(this) ?? this.make(sealer);
    texts.set(this, text);
    return text;
  }

  override value(sealer: Sealer | null): unknown {
    const values = sealer === null ? this.#shelf.bare : this.#shelf.sealed;
    const parsed = values.get(this) ?? this.#parse(sealer);
    values.set(this, parsed);
    return parsed.value;
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

/** Members for the records that events of one entry show, one for each record; that of the intent is in all of them. */
export function membersAt(state: State, intent: number, address: number, shelf: Shelf): (row: number) => Member {
  const made = new Map([[intent, memberAt(state, intent, address)]]);
  return (row) => {
    const known = made.get(row) ?? new ShelvedMember(viewAt(state, row, address), shelf);
    made.set(row, known);
    return known;
  };
}

export function plain(value: string | number): Member {
  return new Member(() => JSON.stringify(value));
}
