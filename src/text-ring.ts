/**
 * Texts kept in flat memory, each by a number: far more of them than V8's heap should be given, in a ring where what is
 * written takes the place of what was written first.
 *
 *   ring    the texts in UTF-8, one behind the other; one that would not fit before the end begins anew at the start
 *   table   sets of four rows: number, where its text ends, bytes, a note of the caller's
 *
 * An end is counted over all that was ever written, so it tells by itself whether a text is still there: it is, until
 * as much as the ring holds has been written since its start. Nothing is ever looked for, moved or forgotten one by
 * one, and the system gives memory where it is first written.
 *
 * What always holds: what is given for a number is the text that was last set for it.
 */
import { hashMix } from './memory/index.ts';

const SET_ROWS = 4;
/**
 * For so much of the ring there is a row. Most texts are longer: a set with more of them than it has rows loses the
 * oldest.
 */
const ROW_FOR_BYTES = 512;

interface NotedText {
  readonly text: string;
  /** As it was set with the text, 0 to 2^32 - 1. */
  readonly note: number;
}

export class TextRing {
  readonly #ring: Buffer;
  readonly #sets: number;
  readonly #keys: Float64Array;
  /** 0: there is no text. */
  readonly #ends: Float64Array;
  readonly #bytes: Uint32Array;
  readonly #notes: Uint32Array;
  /**
   * All that was ever written, and what was left out at the ring's end. Not from 0 on, which as an end tells of none.
   */
  #written = 1;

  /** `bytesMax`: what the texts may take, one at least; the table takes less than a twentieth of that beside. */
  constructor(bytesMax: number) {
    this.#ring = Buffer.allocUnsafeSlow(bytesMax);
    this.#sets = Math.max(1, Math.floor(bytesMax / ROW_FOR_BYTES / SET_ROWS));
    const rows = this.#sets * SET_ROWS;
    this.#keys = new Float64Array(rows);
    this.#ends = new Float64Array(rows);
    this.#bytes = new Uint32Array(rows);
    this.#notes = new Uint32Array(rows);
  }

  /** What was set last for this number, where it is still there. */
  get(key: number): NotedText | undefined {
    const row = this.#rowOf(key);
    if (row < 0) return undefined;
    const bytes = this.#bytes[row]!;
    const start = this.#ends[row]! - bytes;
    if (start < this.#written - this.#ring.length) return undefined;
    const from = start % this.#ring.length;
    return { text: this.#ring.toString('utf8', from, from + bytes), note: this.#notes[row]! };
  }

  /** Keeps a text, of which no surrogate is alone; one that is longer than the ring is not kept. */
  set(key: number, text: string, note: number): void {
    const bytes = Buffer.byteLength(text);
    const known = this.#rowOf(key);
    if (known >= 0) this.#ends[known] = 0;
    if (bytes > this.#ring.length) return;
    const from = this.#written % this.#ring.length;
    const start = from + bytes > this.#ring.length ? 0 : from;
    if (start !== from) this.#written += this.#ring.length - from;
    this.#ring.write(text, start);
    this.#written += bytes;
    const row = known < 0 ? this.#oldestOf(this.#setOf(key)) : known;
    this.#keys[row] = key;
    this.#ends[row] = this.#written;
    this.#bytes[row] = bytes;
    this.#notes[row] = note;
  }

  /** The first row of the set in which this number may stand. */
  #setOf(key: number): number {
    const hash = hashMix(key >>> 0, Math.floor(key / 2 ** 32));
    return Math.floor((hash / 2 ** 32) * this.#sets) * SET_ROWS;
  }

  #rowOf(key: number): number {
    const set = this.#setOf(key);
    for (let row = set; row < set + SET_ROWS; row++) if (this.#keys[row] === key && this.#ends[row]! > 0) return row;
    return -1;
  }

  #oldestOf(set: number): number {
    let oldest = set;
    for (let row = set + 1; row < set + SET_ROWS; row++) if (this.#ends[row]! < this.#ends[oldest]!) oldest = row;
    return oldest;
  }
}
