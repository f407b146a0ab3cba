/** Texts of records that were told lately and may be asked for again. */
import { Recent } from '../memory/index.ts';
import { TextRing } from '../text-ring.ts';

/**
 * Of the bytes there may be of them, those that lie in V8's heap too, as so many characters: more of it is for what is
 * open.
 */
const AT_HAND_SHARE = 1 / 8;
const AT_HAND_CHARS_MAX = 32 * 1024 * 1024;
/** Texts beyond this are made anew each time. */
const TEXT_CHARS_MAX = 64 * 1024;

interface KeptText {
  text: string;
  /** As `bytesOf` counts the record. */
  bytes: number;
}

/**
 * Texts of records as they were last told. What a record's text shows is all in its entries, each new entry has a new
 * address in the heap, and bytes there never change: so the address of a record's newest entry stands for its text,
 * and what is asked for again and again is rendered, hashed and signed once.
 *
 * All lie in flat memory. Reading one there takes a microsecond, so the last ones that were made, and those of them
 * that are asked for all the time, are at hand as strings too. What is found in flat memory does not come among them
 * again: where readers ask for one after the other, V8 would be busy with strings that live just long enough to be
 * moved.
 */
export class RecordTexts {
  readonly #atHand: Recent<number, KeptText>;
  readonly #all: TextRing;

  /** `cacheShare`: what V8 has room for of those at hand, 0 to 1. */
  constructor(
    bytesMax: number,
    cacheShare: number,
    atHandMax = Math.min(AT_HAND_CHARS_MAX * cacheShare, bytesMax * AT_HAND_SHARE),
  ) {
    this.#atHand = new Recent(atHandMax, ({ text }) => text.length);
    this.#all = new TextRing(bytesMax);
  }

  /** The text of the record whose newest entry lies at this address, where it is at hand. */
  get(at: number): KeptText | undefined {
    const atHand = this.#atHand.get(at);
    if (atHand !== undefined) return atHand;
    const kept = this.#all.get(at);
    return kept === undefined ? undefined : { text: kept.text, bytes: kept.note };
  }

  keep(at: number, text: string, bytes: number): void {
    if (text.length > TEXT_CHARS_MAX) return;
    // Writing it joins the pieces it was put together from, which would otherwise all be kept.
    this.#all.set(at, text, bytes);
    this.#atHand.set(at, { text, bytes });
  }
}
