/**
 * Names that came up lately: their hashes, and the rows they led to. The same few wallets and symbols are named again
 * and again.
 *
 * A name has one place here, and whatever else has that place takes it over: nothing grows. Not part of the books:
 * without it the same is found, only slower.
 *
 * What always holds: a row that is told is the one the index of handles leads to now, since whoever changes that for a
 * name has it forgotten here.
 */
import { hashText } from '../memory/index.ts';
import { ownText } from './own-text.ts';

const PLACES = 8192;
/** So many characters at the end of a name choose its place: names that come together mostly differ there. */
const MARKING_CHARS = 6;

/** What is known of a place, side by side in a quarter of a cache line. */
const WORDS = 4;
/** What the place was chosen by. Looked at first: a name that is elsewhere in memory is not asked for in vain. */
const MARK = 0;
const HASH = 1;
/** The ledger and kind, as one number, in which the name leads to the row. */
const SCOPE = 2;
/** The row plus one; 0 where none is known. */
const ROW = 3;

export class NameMemo {
  readonly #seed: number;
  readonly #texts = new Array<string>(PLACES).fill('');
  readonly #words = new Uint32Array(PLACES * WORDS);

  /** By ledger; 0 beyond its end. */
  readonly #epochs: number[] = [];
  #last = '';
  #lastHash: number;

  constructor(seed: number) {
    this.#seed = seed;
    this.#lastHash = hashText(seed, '');
    for (let at = HASH; at < this.#words.length; at += WORDS) this.#words[at] = this.#lastHash;
  }

  /**
   * The place of the name, which is its own until another name is given the same. `isOwn`: it is cut out of nothing, as
   * what JSON.parse made, and need not be copied to be kept, which takes as long as all else here.
   */
  place(name: string, isOwn = false): number {
    const words = this.#words;
    const mark = markOf(name);
    const place = placeOf(mark);
    const at = place * WORDS;
    if (words[at + MARK] !== mark || this.#texts[place] !== name) {
      this.#texts[place] = isOwn ? name : ownText(name);
      words[at + MARK] = mark;
      words[at + HASH] = hashText(this.#seed, name);
      words[at + ROW] = 0;
    }
    return place;
  }

  /**
   * `hashText` of a name that hardly comes up again, and so is given no place. The last one is remembered: who has not
   * found it mostly enters it next.
   */
  lastHash(name: string): number {
    if (this.#last !== name) {
      this.#last = name;
      this.#lastHash = hashText(this.#seed, name);
    }
    return this.#lastHash;
  }

  /** `hashText` of the name at this place. */
  hash(place: number): number {
    return this.#words[place * WORDS + HASH]!;
  }

  /** The row that the name at this place was found to lead to, or -1. */
  row(place: number, scope: number): number {
    const at = place * WORDS;
    return this.#words[at + SCOPE] === scope ? this.#words[at + ROW]! - 1 : -1;
  }

  keepRow(place: number, scope: number, row: number): void {
    const at = place * WORDS;
    this.#words[at + SCOPE] = scope;
    this.#words[at + ROW] = row + 1;
  }

  /** As long as this is the same, every name that led to a row of this ledger still leads there. */
  epoch(ledger: number): number {
    return this.#epochs[ledger] ?? 0;
  }

  /** The name leads no more where it led in this ledger. */
  unbind(name: string, ledger: number): void {
    while (this.#epochs.length <= ledger) this.#epochs.push(0);
    this.#epochs[ledger]!++;
    this.forgetRow(name);
  }

  /** The name leads elsewhere from now on. */
  forgetRow(name: string): void {
    const place = placeOf(markOf(name));
    if (this.#texts[place] === name) this.#words[place * WORDS + ROW] = 0;
  }
}

function markOf(name: string): number {
  const { length } = name;
  let mark = length;
  for (let i = Math.max(0, length - MARKING_CHARS); i < length; i++) mark = Math.imul(mark, 31) + name.charCodeAt(i);
  return mark >>> 0;
}

function placeOf(mark: number): number {
  return (mark ^ (mark >>> 13)) & (PLACES - 1);
}
