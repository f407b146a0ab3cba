/** Texts of events that were told lately and may be asked for again. */
import { eventText, type LedgerEvent } from './events.ts';
import type { Sealer } from './proof/sealer.ts';
import { TextRing } from './text-ring.ts';

/** Above the number of any event that is kept among those of its entry, so that both are one number that is exact. */
const INDEX_MAX = 2 ** 20;

/**
 * Hundreds may follow one ledger, effects and readers, and each of them is told the same events, which are the same to
 * the last byte whenever they are made: one of them has each made and signed, the others have it from here. They lie in
 * flat memory, since a few of them may be as long as all of V8's heap should hold.
 */
export class EventTexts {
  readonly #make: (event: LedgerEvent) => string;
  readonly #texts: TextRing;

  constructor(make: (event: LedgerEvent) => string, bytesMax: number) {
    this.#make = make;
    this.#texts = new TextRing(bytesMax);
  }

  /** The event as a record that the server signed, made where it is not at hand. */
  of(event: LedgerEvent): string {
    const { seq, index } = event;
    if (index >= INDEX_MAX) return this.#make(event);
    const key = seq * INDEX_MAX + index;
    const kept = this.#texts.get(key);
    if (kept !== undefined) return kept.text;
    const made = this.#make(event);
    this.#texts.set(key, made, 0);
    return made;
  }
}

export function eventTextsOf(sealer: Sealer, bytesMax: number): EventTexts {
  return new EventTexts((event) => eventText(event, sealer), bytesMax);
}
