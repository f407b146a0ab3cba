/**
 * Nets: what the claims of one intent come to, one row for each wallet and symbol they move. The rows have the shape of
 * an outcome's postings from the start, so that what was judged is what is written.
 *
 * A few rows are found by walking them, more by a small table. One intent is cleared at a time: all nets share the
 * table, and the latest have it.
 */
import { hashRows } from '../memory/index.ts';
import { CHANGE, MOVED, POSTING_WIDTH } from './entry.ts';

/** Above this, amounts are summed in two parts, so that 100 000 claims of 2^53−1 still add up exactly. */
const SMALL_AMOUNT = 2 ** 36;
const HIGH_UNIT = 2 ** 27;
/** Up to this many rows are walked. */
const WALKED_ROWS = 8;

/** By hash of wallet and symbol, a row's number plus one; 0 is free. */
let table = new Int32Array(0);

export class Nets {
  /** Flat rows of POSTING_WIDTH numbers; the changes are whole after `sum`. */
  readonly postings: number[] = [];
  /** By row, what is still to be added to its change, in units of 2^27; null while all amounts are small. */
  #highs: number[] | null = null;
  /** Slots of the table in use; 0 while rows are walked. */
  #slots = 0;
  readonly #hashSeed: number;

  constructor(hashSeed: number) {
    this.#hashSeed = hashSeed;
  }

  /** Adds a claim's amount to the row of wallet and symbol; `moves`: to what it moves as well. */
  add(wallet: number, symbol: number, sign: 1 | -1, amount: number, moves: boolean): void {
    const { postings } = this;
    const at = this.#at(wallet, symbol);
    if (amount < SMALL_AMOUNT) postings[at + CHANGE]! += sign * amount;
    else this.#addLarge(at, sign, amount);
    // Beyond 2^53−1 as numbers have it: so it stands in all books, and no limit reaches as far.
    if (moves) postings[at + MOVED]! += amount;
  }

  #addLarge(at: number, sign: 1 | -1, amount: number): void {
    this.#highs ??= [];
    const row = at / POSTING_WIDTH;
    this.#highs[row] = (this.#highs[row] ?? 0) + sign * Math.floor(amount / HIGH_UNIT);
    this.postings[at + CHANGE]! += sign * (amount % HIGH_UNIT);
  }

  /** Makes the changes whole, and returns the rows. To be called once, after the last claim. */
  sum(): number[] {
    const { postings } = this;
    this.#highs?.forEach((high, row) => {
      postings[row * POSTING_WIDTH + CHANGE]! += high * HIGH_UNIT;
    });
    return postings;
  }

  /** Where the row of wallet and symbol begins; a new one where there is none. */
  #at(wallet: number, symbol: number): number {
    const { postings } = this;
    const end = postings.length;
    if (this.#slots > 0) {
      const slot = this.#slotOf(wallet, symbol);
      const row = table[slot]!;
      if (row !== 0) return (row - 1) * POSTING_WIDTH;
      table[slot] = end / POSTING_WIDTH + 1;
    } else {
      for (let at = 0; at < end; at += POSTING_WIDTH) {
        if (postings[at] === wallet && postings[at + 1] === symbol) return at;
      }
    }
    postings.push(wallet, symbol, 0, 0);
    const rows = postings.length / POSTING_WIDTH;
    // The table is never more than half full, so each search in it ends.
    if (rows > WALKED_ROWS && rows * 2 > this.#slots) this.#index(rows * 8);
    return end;
  }

  /** The slot of wallet and symbol, or the free one that would be theirs. */
  #slotOf(wallet: number, symbol: number): number {
    const { postings } = this;
    const mask = this.#slots - 1;
    for (let slot = hashRows(this.#hashSeed, wallet, symbol) & mask; ; slot = (slot + 1) & mask) {
      const at = (table[slot]! - 1) * POSTING_WIDTH;
      if (at < 0 || (postings[at] === wallet && postings[at + 1] === symbol)) return slot;
    }
  }

  /** Enters all rows into at least so many slots. */
  #index(slots: number): void {
    const { postings } = this;
    this.#slots = 2 ** Math.ceil(Math.log2(slots));
    if (table.length < this.#slots) table = new Int32Array(this.#slots);
    else table.fill(0, 0, this.#slots);
    for (let at = 0; at < postings.length; at += POSTING_WIDTH) {
      table[this.#slotOf(postings[at]!, postings[at + 1]!)] = at / POSTING_WIDTH + 1;
    }
  }
}
