/**
 * Texts of records as they were last told. What a record's text shows is all in its entries, each new entry has a new
 * address in the heap, and bytes there never change: so the address of a record's newest entry stands for its text,
 * and what is asked for again and again is rendered, hashed and signed once.
 */
import { Recent } from '../recent.ts';

/** All texts together. Texts beyond the second bound are made anew each time. */
const KEPT_CHARS_MAX = 32 * 1024 * 1024;
const TEXT_CHARS_MAX = 64 * 1024;

interface KeptText {
  text: string;
  /** As `sizeOf` counts the record. */
  size: number;
}

export class RecordTexts {
  readonly #texts: Recent<number, KeptText>;

  constructor(charsMax = KEPT_CHARS_MAX) {
    this.#texts = new Recent(charsMax, ({ text }) => text.length);
  }

  /** The text of the record whose newest entry lies at this address, where it is at hand. */
  get(at: number): KeptText | undefined {
    return this.#texts.get(at);
  }

  keep(at: number, text: string, size: number): void {
    if (text.length > TEXT_CHARS_MAX) return;
    // Looking into a text joins the pieces it was put together from, which would otherwise all be kept.
    text.charCodeAt(0);
    this.#texts.set(at, { text, size });
  }
}
