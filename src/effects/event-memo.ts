/**
 * Events of the entries that were looked at last. An intent may have ten thousand events that are told one by one, and
 * finding out what they are takes reading all of it.
 */
import type { State } from '../core/state.ts';
import { eventsOf, type LedgerEvent, type Placed, placedAt, Shelf, signalsOf } from '../events.ts';

const ENTRIES_MAX = 8;

interface Known {
  placed: Placed;
  /** By signal, and then all of those made so far by their number. */
  bySignal: Map<string, readonly LedgerEvent[]>;
  byIndex: Map<number, LedgerEvent>;
}

export class EventMemo {
  readonly #state: State;
  /** By sequence number, the one asked for last at the end. */
  readonly #known = new Map<number, Known>();
  readonly #shelf = new Shelf();

  constructor(state: State) {
    this.#state = state;
  }

  /** The events of an entry that this signal names, in order. */
  of(placed: Placed, signal: string): readonly LedgerEvent[] {
    return this.#events(this.#entry(placed), signal);
  }

  /** The event with this number of the entry with this sequence number. */
  at(seq: number, index: number): LedgerEvent {
    const known = this.#entry(this.#known.get(seq)?.placed ?? placedAt(this.#state, seq)!);
    for (const signal of signalsOf(known.placed.entry)) {
      const event = known.byIndex.get(index);
      if (event !== undefined) return event;
      this.#events(known, signal);
    }
    return known.byIndex.get(index)!;
  }

  #entry(placed: Placed): Known {
    const { seq } = placed;
    const known = this.#known.get(seq) ?? { placed, bySignal: new Map(), byIndex: new Map() };
    this.#known.delete(seq);
    if (this.#known.size >= ENTRIES_MAX) this.#known.delete(this.#known.keys().next().value!);
    this.#known.set(seq, known);
    return known;
  }

  #events({ placed, bySignal, byIndex }: Known, signal: string): readonly LedgerEvent[] {
    const made = bySignal.get(signal);
    if (made !== undefined) return made;
    const events = eventsOf(this.#state, placed, signal, this.#shelf);
    bySignal.set(signal, events);
    for (const event of events) byIndex.set(event.index, event);
    return events;
  }
}
