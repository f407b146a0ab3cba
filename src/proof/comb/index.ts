/**
 * Verifies signatures under keys that sign often, many at a time, at less than half of what a library takes for one: by
 * tables of the key's multiples (combs.ts), two signatures side by side, and one inversion for all. One that comes
 * alone takes a little more than half of what the library does.
 *
 * What always holds: it is the rule of ../verify.ts. A key has a table only after the library accepted a signature
 * under it. This arithmetic alone can only say yes, where encode(SB - kA) = R byte for byte, S < L, and R is not of
 * small order; about all else the library is asked.
 */
import { type Slab, TEXT_BYTES_MAX } from '../slab.ts';
import type { SignatureLibrary } from '../verify.ts';
import { Combs, finish, ORDER, PAIRED, ROWS, type Shapes } from './combs.ts';
import { P, wordsOf } from './field.ts';
import { KeyPlaces, WAYS } from './key-places.ts';

export { SHARED as SHAPES_FOR_ROWS_ALONE } from './combs.ts';

/** A row: public key, message of 32 bytes, signature. */
const ROW_WORDS = 32;
const ROW_BYTES = 4 * ROW_WORDS;
const MESSAGE = 8;
const R = 16;
const S = 24;
/** In what is hashed: behind R and A. */
const TEXT_AT = 64;

interface VerifierOptions {
  library: SignatureLibrary;
  /** Keys that have a table at most, 8 KiB each; fewer than 8 are none. */
  keysMax: number;
  /** Any number that strangers do not know: whoever knows it can make keys that share a place. */
  salt: number;
  /** The shapes of the tables: they depend on whether rows come many at a time or alone. */
  shapes?: Shapes;
}

/** The texts of rows that sign a text instead of a digest: see slab.ts. */
type Texts = Pick<Slab, 'texts' | 'textBytes'>;

const NO_TEXTS: Texts = { texts: new Uint8Array(0), textBytes: new Uint16Array(0) };

type OnVerdict = (row: number, holds: boolean) => void;

/** Every y of the eight points of small order: x = 0, y = 0, and those of order 8. */
const Y_OF_ORDER_8 = 2707385501144840649318225287225658788936804267575313519463743609750303402022n;
const SMALL_ORDER_YS = [0n, 1n, P - 1n, Y_OF_ORDER_8, P - Y_OF_ORDER_8].map(wordsOf);

export class KeyedVerifier {
  readonly #library: SignatureLibrary;
  readonly #places: KeyPlaces | null;
  readonly #shapes: Shapes;
  readonly #s = new Uint32Array(8);
  readonly #k = new Uint32Array(8);
  readonly #challenge = new Uint8Array(this.#k.buffer);
  /** R, A and M, of which the challenge is the hash. */
  readonly #hashed = new Uint32Array(24);
  readonly #hashedBytes = new Uint8Array(this.#hashed.buffer);
  /** The same where M is a text. */
  readonly #hashedText = new Uint8Array(TEXT_AT + TEXT_BYTES_MAX);
  #texts = NO_TEXTS;
  readonly #encoding = new Uint32Array(8);
  /** Rows that are on their way, in order. */
  readonly #underway: number[] = [];
  /** Made with the first table, unless prepared: some 25 ms. Null where this machine has no 128-bit vectors. */
  #made: Combs | null | undefined;

  constructor({ library, keysMax, salt, shapes = PAIRED }: VerifierOptions) {
    this.#library = library;
    this.#shapes = shapes;
    this.#places = keysMax < WAYS ? null : new KeyPlaces(keysMax, salt);
  }

  /** Makes ahead what the first table would have to wait for. */
  prepare(): void {
    finish(this.prepareInSteps());
  }

  /** The same in steps of some milliseconds. Rows that come between them make it all at once with the first table. */
  *prepareInSteps(): Generator<void> {
    if (this.#places === null || this.#made !== undefined) return;
    try {
      const combs = new Combs(this.#places.count, this.#shapes);
      yield;
      yield* combs.buildBase();
      this.#made ??= combs;
    } catch {
      this.#made = null;
    }
  }

  /**
   * Tells `onVerdict` of each of the first `count` rows whether its signature holds: over its message, or over its text
   * where `texts` has one. `rows` lie at a multiple of four bytes.
   */
  verify(rows: Uint8Array, count: number, onVerdict: OnVerdict, texts: Texts = NO_TEXTS): void {
    const places = this.#places;
    this.#texts = texts;
    // Rows left over by a task that ended in the middle are not among these.
    this.#underway.length = 0;
    // A table takes as long as some rows; where many keys are due at once, the rows behind them wait for one of them
    // only.
    let mayBuild = true;
    const words = new Uint32Array(rows.buffer, rows.byteOffset, count * ROW_WORDS);
    for (let row = 0; row < count; row++) {
      const at = row * ROW_WORDS;
      const place = places === null ? -1 : places.find(words, at);
      if (place >= 0 && isBelow(ORDER, words, at + S)) {
        this.#begin(words, row, place);
        if (this.#underway.length === 2 * ROWS) this.#finish(rows, words, onVerdict);
        continue;
      }
      const holds = this.#askLibrary(rows, row);
      onVerdict(row, holds);
      if (holds && places !== null && place < 0 && mayBuild) {
        mayBuild = !this.#notice(places, rows, words, at, onVerdict);
      }
    }
    this.#finish(rows, words, onVerdict);
  }

  /** A signature under a key without a table was good. Returns whether a table was made, or tried. */
  #notice(places: KeyPlaces, rows: Uint8Array, words: Uint32Array, at: number, onVerdict: OnVerdict): boolean {
    const place = places.claim(words, at);
    if (place < 0) return false;
    // What is on its way lies where the table is to be made, and may need the one that it is to replace.
    this.#finish(rows, words, onVerdict);
    const hasTable = this.#combs()?.buildKey(words.subarray(at, at + 8), place) === true;
    places.take(place, words, at, hasTable);
    return true;
  }

  #combs(): Combs | null {
    if (this.#made === undefined) this.prepare();
    return this.#made!;
  }

  #askLibrary(rows: Uint8Array, row: number): boolean {
    const at = row * ROW_BYTES;
    return this.#library.verify(
      rows.subarray(at, at + 4 * MESSAGE),
      this.#textOf(row) ?? rows.subarray(at + 4 * MESSAGE, at + 4 * R),
      rows.subarray(at + 4 * R, at + ROW_BYTES),
    );
  }

  /** The text that a row signs; null where it signs its digest. */
  #textOf(row: number): Uint8Array | null {
    const { texts, textBytes } = this.#texts;
    const bytes = textBytes[row] ?? 0;
    return bytes === 0 ? null : texts.subarray(row * TEXT_BYTES_MAX, row * TEXT_BYTES_MAX + bytes);
  }

  #begin(words: Uint32Array, row: number, place: number): void {
    const at = row * ROW_WORDS;
    for (let i = 0; i < 8; i++) {
      this.#hashed[i] = words[at + R + i]!;
      this.#hashed[8 + i] = words[at + i]!;
      this.#hashed[16 + i] = words[at + MESSAGE + i]!;
      this.#s[i] = words[at + S + i]!;
    }
    this.#library.challenge(this.#inputOf(row), this.#challenge);
    const index = this.#underway.push(row) - 1;
    const combs = this.#made!;
    combs.schedule(index & 1, this.#s, this.#k, combs.tableAt(place));
    if ((index & 1) === 1) combs.run(index >> 1);
  }

  /** R, A and M of a row whose R and A are in place. */
  #inputOf(row: number): Uint8Array {
    const text = this.#textOf(row);
    if (text === null) return this.#hashedBytes;
    this.#hashedText.set(this.#hashedBytes.subarray(0, TEXT_AT));
    this.#hashedText.set(text, TEXT_AT);
    return this.#hashedText.subarray(0, TEXT_AT + text.length);
  }

  #finish(rows: Uint8Array, words: Uint32Array, onVerdict: OnVerdict): void {
    const count = this.#underway.length;
    if (count === 0) return;
    const combs = this.#made!;
    if (count % 2 === 1) combs.runAlone(count >> 1);
    combs.normalise((count + 1) >> 1);
    for (let index = 0; index < count; index++) {
      const row = this.#underway[index]!;
      combs.encode(index >> 1, index & 1, this.#encoding);
      onVerdict(row, this.#isR(words, row * ROW_WORDS + R) || this.#askLibrary(rows, row));
    }
    this.#underway.length = 0;
  }

  #isR(words: Uint32Array, at: number): boolean {
    for (let i = 0; i < 8; i++) if (this.#encoding[i] !== words[at + i]) return false;
    return !isSmallOrder(this.#encoding);
  }
}

function isBelow(bound: Uint32Array, words: Uint32Array, at: number): boolean {
  for (let i = 7; i >= 0; i--) {
    if (words[at + i]! !== bound[i]!) return words[at + i]! < bound[i]!;
  }
  return false;
}

/** Whether the point of a canonical encoding has small order. The top bit tells x from -x, whose order is the same. */
function isSmallOrder(encoding: Uint32Array): boolean {
  return SMALL_ORDER_YS.some((y) => y.every((word, i) => word === (i === 7 ? encoding[7]! & 0x7fffffff : encoding[i])));
}
