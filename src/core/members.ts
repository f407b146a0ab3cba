/**
 * Members of a record's data, read where they lie as text, when somebody asks for them: a record may be a megabyte of
 * members that nobody asks about, and making objects of those takes up to fifty times as long as passing by.
 *
 * It rests on what canonical JSON is (proof/canon.ts): no white space, each name and each value written in one way only.
 * Stored data was made so at the door.
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
/** Data of so many characters is read as a whole: that takes less than asking twice. */
const WHOLE_CHARS = 4096;
/** The first so many characters of an object are looked through each time; of what lies behind them it is noted where it is. */
const SHORT_CHARS = 512;

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
  /** The name that was asked for last, as it is written: an array may ask each of its elements. */
  name: string;
  written: string;
}

function read(text: string): Reader {
  return { text, at: 0, ends: new Map(), within: [], name: '', written: '""' };
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

/** What is remembered of an object that is asked for more than its first members. */
interface Looked {
  /** Where names begin, in their order, up to `next`. */
  readonly names: number[];
  /** Where the next name begins, or the object has ended. */
  next: number;
  hasNext: boolean;
}

/** An object in a text, to be asked for members one by one; it is read no farther than that takes. */
export class Members {
  readonly #reader: Reader;
  /** Where the object begins. */
  readonly #from: number;
  #looked: Looked | null = null;
  /** Members that take long to read, or remember something themselves. */
  #known: Map<string, unknown> | null = null;

  constructor(reader: Reader, from: number) {
    this.#reader = reader;
    this.#from = from;
  }

  /** The member of this name; undefined where there is none. Objects are Members in their turn, in arrays too. */
  of(name: string): unknown {
    const known = this.#known?.get(name);
    if (known !== undefined) return known;
    const place = this.#placeOf(name);
    if (place < 0) return undefined;
    const reader = this.#reader;
    reader.at = place;
    const value = readValue(reader, false);
    if (reader.at - place > SHORT_CHARS || (typeof value === 'object' && value !== null)) {
      this.#known ??= new Map();
      this.#known.set(name, value);
    }
    return value;
  }

  /** Where the value of this name begins, or -1. */
  #placeOf(name: string): number {
    if (this.#looked !== null) return this.#find(name, this.#looked);
    const reader = this.#reader;
    const written = writtenOf(name, reader);
    reader.at = this.#from;
    let isThere = enter(reader);
    while (isThere && reader.at - this.#from <= SHORT_CHARS) {
      const isIt = reader.text.startsWith(written, reader.at);
      passName(reader);
      if (isIt) return reader.at;
      pass(reader);
      isThere = goOn(reader);
    }
    if (!isThere) return -1;
    this.#looked = { names: [], next: this.#from + 1, hasNext: true };
    return this.#find(name, this.#looked);
  }

  /** Names stand in their order, so one is looked for among those that are known, or noted on the way there. */
  #find(name: string, looked: Looked): number {
    const reader = this.#reader;
    const { names } = looked;
    let [low, high] = [0, names.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      reader.at = names[middle]!;
      const other = takeName(reader);
      if (other === name) return reader.at;
      if (other < name) low = middle + 1;
      else high = middle;
    }
    if (low < names.length) return -1;
    reader.at = looked.next;
    let found = -1;
    const written = writtenOf(name, reader);
    while (looked.hasNext && found < 0) {
      names.push(reader.at);
      const isIt = reader.text.startsWith(written, reader.at);
      passName(reader);
      if (isIt) found = reader.at;
      pass(reader);
      looked.hasNext = goOn(reader);
    }
    looked.next = reader.at;
    return found;
  }
}

function writtenOf(name: string, reader: Reader): string {
  if (name !== reader.name) {
    reader.name = name;
    reader.written = JSON.stringify(name);
  }
  return reader.written;
}

/** The value that begins where the reader is, which moves past it: past an object if `isPassed` only. */
function readValue(reader: Reader, isPassed: boolean): unknown {
  const { text, at } = reader;
  const first = text.charCodeAt(at);
  if (first === ARRAY) return readArray(reader);
  if (first >= DIGIT && first < DIGIT + 10) return readNumber(reader);
  if (first === OBJECT) {
    if (isPassed) pass(reader);
    return new Members(reader, at);
  }
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
      values.push(readValue(reader, true));
      code = text.charCodeAt(reader.at++);
    }
    assert(code === ARRAY_END, NO_CANON);
  }
  return values;
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
  const from = reader.at;
  passName(reader);
  return textOf(reader.text, from, reader.at - 1);
}

function passName(reader: Reader): void {
  const { text, at } = reader;
  const end = stringEnd(text, at);
  assert(text.charCodeAt(at) === QUOTE && text.charCodeAt(end) === COLON, NO_CANON);
  reader.at = end + 1;
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
        if (at - from > SHORT_CHARS) ends.set(from, at);
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
