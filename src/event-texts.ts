/** Texts of events that were told lately and may be asked for again. */
import { eventText, type LedgerEvent } from './events.ts';
import type { Sealer } from './proof/sealer.ts';
import { Recent } from './recent.ts';

/** Characters of those that are kept, and of the long ones, beyond LONG_CHARS each. */
const CHARS_MAX = 8 * 1024 * 1024;
const LONG_CHARS_MAX = 16 * 1024 * 1024;
const LONG_CHARS = 64 * 1024;

/**
 * Hundreds may follow one ledger, effects and readers, and each of them is told the same events, which are the same to the
 * last byte whenever they are made: one of them has each made and signed, the others have it from here. Long ones have
 * room of their own, so that they cost the others theirs no more than they cost the first thread its time.
 */
export class EventTexts {
  readonly #make: (event: LedgerEvent) => string;
  readonly #short: Recent<string, string>;
  readonly #long: Recent<string, string>;

  constructor(make: (event: LedgerEvent) => string, charsMax = CHARS_MAX, longCharsMax = LONG_CHARS_MAX) {
    this.#make = make;
    this.#short = new Recent(charsMax, (text) => text.length);
    this.#long = new Recent(longCharsMax, (text) => text.length);
  }

  /** The event as a record that the server signed, made where it is not at hand. */
  of(event: LedgerEvent): string {
    const key = `${event.seq}.${event.index}`;
    const kept = this.#short.get(key) ?? this.#long.get(key);
    if (kept !== undefined) return kept;
    const made = this.#make(event);
    // Looking into a text joins the pieces it was put together from, which would otherwise all be kept.
    made.charCodeAt(0);
    (made.length > LONG_CHARS ? this.#long : this.#short).set(key, made);
    return made;
  }
}

export function eventTextsOf(sealer: Sealer): EventTexts {
  return new EventTexts((event) => eventText(event, sealer));
}
