/**
 * Members of a record's data, read where they lie as text, when somebody asks for them: a record may be a megabyte of
 * members that nobody asks about, and making objects of those takes up to fifty times as long as passing by.
 *
 * It rests on what canonical JSON is (proof/canon.ts): no white space, each name and each value written in one way
 * only. Stored data was made so at the door.
 */
import { assert } from './refusal.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const DIGIT = 0x30;
/** A number of so many digits is exact however it is put together. */
const DIGITS_MAX = 15;
/** Data of so many characters is read as a whole, and so are elements of arrays: that takes less than asking twice. */
const WHOLE_CHARS = 4096;
/** Of what has so many characters it is remembered where it ends, or what it says. */
const LONG_CHARS = 512;

/** After so many characters of a string without a backslash it is a long one. */
const PLAIN_CHARS = 32;

const NO_CANON = 'stored data is canonical JSON';

/** Where in a text reading has come to. */
interface Reader {
  readonly text: string;
  at: number;
  /** Where long objects and arrays that were passed have ended, by where they begin: none is passed twice. */
  readonly ends: Map<number, number>;
  /** Where the objects and arrays begin that are being passed. */
  readonly within: number[];
}

function read(text: string): Reader {
  return { text, at: 0, ends: new Map(), within: [] };
}

/** The members of data that have one of these names, each as it is written there. Names are plain words. */
export function textsOf<Name extends string>(data: string, names: readonly Name[]): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {};
  const reader = read(data);
  for (let isThere = enter(reader); isThere; isThere = goOn(reader)) {
    const name = takeName(reader);
    const wanted = names.find((each) => each === name);
    const from = reader.at;
    pass(reader);
    if (wanted !== undefined) found[wanted] = data.slice(from, reader.at);
  }
  return found;
}

/** The same as values. */
export function membersOf<Name extends string>(data: string, names: readonly Name[]): Partial<Record<Name, unknown>> {
  const found: Partial<Record<Name, unknown>> = textsOf(data, names);
  for (const name of names) if (found[name] !== undefined) found[name] = JSON.parse(found[name] as string);
  return found;
}

/** Data as filters look at it (filters.ts): as a value, or where it is long as Members. */
export function viewOf(data: string): object {
  return data.length <= WHOLE_CHARS ? JSON.parse(data) : new Members(read(data), 0);
}

/** An object in a text, to be asked for members one by one; it is read no farther than that takes. */
export class Members {
  readonly #reader: Reader;
  /**
   * Names, in their order, as far as they were looked through, and where their values begin. Each is read once: it may
   * be long.
   */
  readonly #names: string[] = [];
  readonly #places: number[] = [];
  /** Where the next name begins, if there is one. */
  #next: number;
  #hasNext: boolean;
  /** Members that take long to read, or remember something themselves. */
  #known: Map<string, unknown> | null = null;

  /** The object that begins at `from`. */
  constructor(reader: Reader, from: number) {
    this.#reader = reader;
    reader.at = from;
    this.#hasNext = enter(reader);
    this.#next = reader.at;
  }

  /**
   * The member of this name; undefined where there is none. Objects are Members in their turn, in arrays those that are
   * long.
   */
  of(name: string): unknown {
    const known = this.#known?.get(name);
    if (known !== undefined) return known;
    const place = this.#placeOf(name);
    if (place < 0) return undefined;
    const reader = this.#reader;
    reader.at = place;
    const value = readValue(reader);
    if (reader.at - place > LONG_CHARS || (typeof value === 'object' && value !== null)) {
      this.#known ??= new Map();
      this.#known.set(name, value);
    }
    return value;
  }

  /**
   * Where the value of this name begins, or -1. Names stand in their order: it is among those that are known, or behind
   * them.
   */
  #placeOf(name: string): number {
    let [low, high] = [0, this.#names.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#names[middle]!;
      if (other === name) return this.#places[middle]!;
      if (other < name) low = middle + 1;
      else high = middle;
    }
    return low < this.#names.length ? -1 : this.#lookFor(name);
  }

  #lookFor(name: string): number {
    const reader = this.#reader;
    reader.at = this.#next;
    let found = -1;
    while (this.#hasNext && found < 0) {
      const other = takeName(reader);
      if (other === name) found = reader.at;
      this.#names.push(other);
      this.#places.push(reader.at);
      pass(reader);
      this.#hasNext = goOn(reader);
    }
    this.#next = reader.at;
    return found;
  }
}

/** The value that begins where the reader is, which moves past it, but not past an object. */
function readValue(reader: Reader): unknown {
  const { text, at } = reader;
  const first = text.charCodeAt(at);
  if (first === ARRAY) return readArray(reader);
  if (first >= DIGIT && first < DIGIT + 10) return readNumber(reader);
  if (first === OBJECT) return new Members(reader, at);
  pass(reader);
  return first === QUOTE ? textOf(text, at, reader.at) : JSON.parse(text.slice(at, reader.at));
}

/** What a string says that lies from here to there. */
function textOf(text: string, from: number, to: number): string {
  const plain = text.slice(from + 1, to - 1);
  return plain.includes('\\') ? JSON.parse(text.slice(from, to)) : plain;
}

function readArray(reader: Reader): unknown[] {
  const { text } = reader;
  const values: unknown[] = [];
  reader.at++;
  if (text.charCodeAt(reader.at) === ARRAY_END) reader.at++;
  else {
    let code = COMMA;
    while (code === COMMA) {
      values.push(text.charCodeAt(reader.at) === OBJECT ? readElement(reader) : readValue(reader));
      code = text.charCodeAt(reader.at++);
    }
    assert(code === ARRAY_END, NO_CANON);
  }
  return values;
}

/** An object in an array. There may be many, and each is asked. */
function readElement(reader: Reader): object {
  const { at } = reader;
  pass(reader);
  const end = reader.at;
  if (end - at <= WHOLE_CHARS) return JSON.parse(reader.text.slice(at, end));
  const element = new Members(reader, at);
  reader.at = end;
  return element;
}

function readNumber(reader: Reader): number {
  const { text, at } = reader;
  let value = 0;
  for (; ; reader.at++) {
    const digit = text.charCodeAt(reader.at) - DIGIT;
    if (!(digit >= 0 && digit < 10)) break;
    value = value * 10 + digit;
  }
  const whole = reader.at;
  while (!isEnd(text.charCodeAt(reader.at))) reader.at++;
  return reader.at === whole && whole - at <= DIGITS_MAX ? value : Number(text.slice(at, reader.at));
}

/** Moves into the object that begins where the reader is. Whether it has a member, which the reader is then before. */
function enter(reader: Reader): boolean {
  const { text } = reader;
  assert(text.charCodeAt(reader.at++) === OBJECT, NO_CANON);
  if (text.charCodeAt(reader.at) !== OBJECT_END) return true;
  reader.at++;
  return false;
}

/** Moves past what is behind a member's value. Whether there is a further member. */
function goOn(reader: Reader): boolean {
  const code = reader.text.charCodeAt(reader.at++);
  assert(code === COMMA || code === OBJECT_END, NO_CANON);
  return code === COMMA;
}

/** Moves on to a member's value; its name. */
function takeName(reader: Reader): string {
  const { text, at } = reader;
  const end = stringEnd(text, at);
  assert(text.charCodeAt(at) === QUOTE && text.charCodeAt(end) === COLON, NO_CANON);
  reader.at = end + 1;
  return textOf(text, at, end);
}

/** Moves past one value, whatever it is. */
function pass(reader: Reader): void {
  const { text, ends, within } = reader;
  let { at } = reader;
  do {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at);
    else {
      assert(at < text.length, NO_CANON);
      const start = at++;
      // Both brackets of arrays, and those of objects, differ in bit 5 alone.
      if ((code | 0x20) === OBJECT) {
        const end = ends.get(start);
        if (end === undefined) within.push(start);
        else at = end;
      } else if ((code | 0x20) === OBJECT_END) {
        const from = within.pop()!;
        if (at - from > LONG_CHARS) ends.set(from, at);
      } else if (within.length === 0) while (!isEnd(text.charCodeAt(at))) at++;
    }
  } while (within.length > 0);
  reader.at = at;
}

/** Whether a number or word has ended: the text itself ends with NaN. */
function isEnd(code: number): boolean {
  return code === COMMA || code === OBJECT_END || code === ARRAY_END || Number.isNaN(code);
}

/** Where the string that begins at `start` has ended. In a long one the engine itself looks for the next quote. */
function stringEnd(text: string, start: number): number {
  let plain = 0;
  for (let at = start + 1; at < text.length; at++) {
    if (plain > PLAIN_CHARS) {
      const from = at;
      at = text.indexOf('"', from);
      if (at < 0) break;
      let before = at;
      while (before > from && text.charCodeAt(before - 1) === BACKSLASH) before--;
      if ((at - before) % 2 === 0) return at + 1;
      plain = 0;
      continue;
    }
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    plain++;
    if (code !== BACKSLASH) continue;
    at++;
    plain = 0;
  }
  return text.length;
}
