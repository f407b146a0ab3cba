/**
 * Events of the entries that were looked at last. An intent may have ten thousand events that are told one by one, and
 * finding out what they are takes reading all of it.
 */
import type { State } from '../core/state.ts';
import { Shelf } from '../event-members.ts';
import { eventsOf, type LedgerEvent, type Placed, placedAt, signalsOf } from '../events.ts';

const ENTRIES_MAX = 8;

/** Events of one signal: those made so far, in order, and the rest. */
interface Line {
  readonly made: LedgerEvent[];
  readonly rest: Iterator<LedgerEvent, void, void>;
}

interface Known {
  placed: Placed;
  bySignal: Map<string, Line>;
  /** All that were made so far. */
  byIndex: Map<number, LedgerEvent>;
}

export class EventMemo {
  readonly #state: State;
  /** By sequence number, the one asked for last at the end. */
  readonly #known = new Map<number, Known>();
  readonly #shelf: Shelf;

  constructor(state: State) {
    this.#state = state;
    this.#shelf = new Shelf(state.cacheShare);
  }

  /** The events of an entry that this signal names, in order; each is made when it is first asked for. */
  of(placed: Placed, signal: string): Iterable<LedgerEvent> {
    return this.#events(this.#entry(placed), signal);
  }

  /** The event with this number of the entry with this sequence number. */
  at(seq: number, index: number): LedgerEvent {
    const event = this.find(this.placedAt(seq)!, index);
    if (event === null) throw new Error('what was told of an entry is one of its events');
    return event;
  }

  /** As that of events.ts. */
  placedAt(seq: number): Placed | null {
    return this.#known.get(seq)?.placed ?? placedAt(this.#state, seq);
  }

  /** The event of an entry with this number, or null. */
  find(placed: Placed, index: number): LedgerEvent | null {
    const known = this.#entry(placed);
    for (const signal of signalsOf(known.placed.entry)) {
      const event = known.byIndex.get(index);
      if (event !== undefined) return event;
      for (const each of this.#events(known, signal)) if (each.index === index) return each;
    }
    return null;
  }

  #entry(placed: Placed): Known {
    const { seq } = placed;
    const known = this.#known.get(seq) ?? { placed, bySignal: new Map(), byIndex: new Map() };
    this.#known.delete(seq);
    if (this.#known.size >= ENTRIES_MAX) this.#forgetOldest();
    this.#known.set(seq, known);
    return known;
  }

  /** What its events show goes too: whoever asks for them again gets others. */
  #forgetOldest(): void {
    const [seq, { placed }] = this.#known.entries().next().value!;
    this.#known.delete(seq);
    this.#shelf.forget(placed);
  }

  *#events({ placed, bySignal, byIndex }: Known, signal: string): Generator<LedgerEvent, void, void> {
    const line = bySignal.get(signal) ?? { made: [], rest: eventsOf(this.#state, placed, signal, 0, this.#shelf) };
    bySignal.set(signal, line);
    for (let at = 0; ; at++) {
      if (at === line.made.length) {
        const { done, value } = line.rest.next();
        if (done === true) return;
        line.made.push(value);
        byIndex.set(value.index, value);
      }
      yield line.made[at]!;
    }
  }
}
