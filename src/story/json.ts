/**
 * JSON text → value, so strictly that no two readers can see different things in it.
 *
 * JSON.parse lets pass what a forger can use. Of two members with one name it takes the last, where another reader
 * takes the first; and it changes whole numbers past 2^53 into others, whose hash is just as good. Here both end the
 * check.
 *
 * What always holds: objects have no prototype, so that a member is there only where the text has it, whatever its
 * name; `canon` of the value is the canonical text of what was read, with no number that would be written as null.
 */
import { expect, TooLarge } from './not-proven.ts';

export type Json = null | boolean | number | string | Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json;
}

/**
 * The deepest nesting that a server can be told to take (--body-depth-max), and that of a story around it. `canon`
 * calls itself once a level.
 */
const DEPTH_MAX = 640;

/** Members and items together: each takes memory, and a few bytes of text make one. */
const PARTS_MAX = 4_000_000;

/** Lone surrogates: a text may name them by an escape, but not contain them. */
const HALVES = /\p{Surrogate}/u;
const SPACE = /[ \t\n\r]*/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a text of JSON has none, they must be found
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
const HEX = /[0-9a-fA-F]{4}/y;

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

const WORDS: readonly [string, Json][] = [
  ['true', true],
  ['false', false],
  ['null', null],
];

/** The value of a text. Throws NotProven where it is no JSON, or not what all readers read alike. */
export function parseJson(text: string): Json {
  expect(!HALVES.test(text), 'it is no text that a file could hold');
  const reader: Reader = { text, at: 0, parts: 0 };
  skipSpace(reader);
  const value = readValue(reader, 0);
  skipSpace(reader);
  expect(reader.at === text.length, 'it is no JSON: something follows its end');
  return value;
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Reader {
  readonly text: string;
  at: number;
  parts: number;
}

/** Matches a pattern at the reader's place, and moves past the match. */
function take(reader: Reader, pattern: RegExp): RegExpExecArray | null {
  pattern.lastIndex = reader.at;
  const match = pattern.exec(reader.text);
  if (match !== null) reader.at = pattern.lastIndex;
  return match;
}

function skipSpace(reader: Reader): void {
  take(reader, SPACE);
}

function broken(reader: Reader): string {
  return `it is no JSON, from character ${reader.at + 1} on`;
}

function readValue(reader: Reader, depth: number): Json {
  const first = reader.text[reader.at];
  if (first === '{') return readObject(reader, depth + 1);
  if (first === '[') return readList(reader, depth + 1);
  if (first === '"') return readText(reader);
  for (const [word, value] of WORDS) {
    if (!reader.text.startsWith(word, reader.at)) continue;
    reader.at += word.length;
    return value;
  }
  return readNumber(reader);
}

function enter(reader: Reader, depth: number): void {
  expect(depth <= DEPTH_MAX, `it is nested deeper than ${DEPTH_MAX} levels`);
  reader.at++;
  skipSpace(reader);
}

/** Whether another part follows the one that was read; moves past the comma, or the end. */
function goesOn(reader: Reader, end: string): boolean {
  if (++reader.parts > PARTS_MAX) throw new TooLarge();
  skipSpace(reader);
  const next = reader.text[reader.at];
  expect(next === ',' || next === end, broken(reader));
  reader.at++;
  skipSpace(reader);
  return next === ',';
}

function readObject(reader: Reader, depth: number): JsonObject {
  const members: Record<string, Json> = Object.create(null);
  enter(reader, depth);
  if (reader.text[reader.at] === '}') {
    reader.at++;
    return members;
  }
  do {
    expect(reader.text[reader.at] === '"', broken(reader));
    const name = readText(reader);
    expect(!Object.hasOwn(members, name), 'a member that is there twice');
    skipSpace(reader);
    expect(reader.text[reader.at] === ':', broken(reader));
    reader.at++;
    skipSpace(reader);
    members[name] = readValue(reader, depth);
  } while (goesOn(reader, '}'));
  return members;
}

function readList(reader: Reader, depth: number): Json[] {
  const items: Json[] = [];
  enter(reader, depth);
  if (reader.text[reader.at] === ']') {
    reader.at++;
    return items;
  }
  do items.push(readValue(reader, depth));
  while (goesOn(reader, ']'));
  return items;
}

function readText(reader: Reader): string {
  reader.at++;
  let value = '';
  while (true) {
    value += take(reader, PLAIN)![0];
    const next = reader.text[reader.at];
    if (next === '"') {
      reader.at++;
      return value;
    }
    expect(next === '\\', broken(reader));
    reader.at++;
    value += readEscape(reader);
  }
}

function readEscape(reader: Reader): string {
  const code = reader.text[reader.at] ?? '';
  reader.at++;
  if (code === 'u') {
    const digits = take(reader, HEX);
    expect(digits !== null, broken(reader));
    return String.fromCharCode(Number.parseInt(digits[0], 16));
  }
  const character = ESCAPES.get(code);
  expect(character !== undefined, broken(reader));
  return character;
}

function readNumber(reader: Reader): number {
  const match = take(reader, NUMBER);
  expect(match !== null, broken(reader));
  const [text, fraction, exponent] = match;
  const value = Number(text);
  const isWhole = fraction === undefined && exponent === undefined;
  const isExact = isWhole ? text === '-0' || `${value}` === text : decimalOf(text) === decimalOf(`${value}`);
  expect(isExact, 'a number that readers take for different ones');
  return value;
}

/**
 * One form for a decimal number, however it was written: its digits without outer zeros, and an exponent. A double is
 * written as the shortest decimal to which it is the nearest.
 */
function decimalOf(text: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  // A pattern for the zeros at the end would go over a long run in the middle once for each zero in it.
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  if (end === 0) return whole === '' ? text : '0';
  return `${sign}${digits.slice(0, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
