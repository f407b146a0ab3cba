/**
 * Reads an intent's outline, and the little that is asked of most other records, out of their data where that lies as
 * canonical JSON (proof/canon.ts), passing over all other members byte by byte: no text is made of them, and no object.
 *
 * An intent's in two steps. The first notes in words where the parts of the outline lie; it may be done ahead by
 * another thread (frames-ahead.ts), since words can be shared. The second makes the outline of the note and the same
 * bytes.
 *
 * It rests on what canonical JSON is: no white space, members of an object sorted by name, no name twice, names in
 * ASCII never escaped. The data was made so at the door and is covered by the frame's hash; bytes that are not so
 * throw CodecError.
 */
import { isTextAt } from '../core/bytes.ts';
import { CLAIM_ACTIONS, CLAIM_WIDTH, hashColumn, setClaim } from '../core/claims/index.ts';
import { ASKED_MEMBERS, hashAscii, hashText, type IntentOutline } from '../core/outline.ts';
import { CodecError, textAt } from './msgpack.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/**
 * A note: where the next one begins, where the data begins, whether there are access rules, the schema, whether names
 * are hashed, the hashes of luid and handle; then the claims: action, amount as a float 64 in two words, source,
 * target, wallet. Texts are told by where they begin and end, without their quotes, both 0 where there is none; behind
 * those of source, target and wallet stand their hashes.
 */
const NEXT = 0;
const DATA = 1;
const HAS_ACCESS = 2;
const SCHEMA = 3;
const IS_HASHED = 5;
const LUID_HASH = 6;
const HANDLE_HASH = 7;
const CLAIMS = 8;
const ACTION = 0;
const AMOUNT = 2;
const SOURCE = 4;
const TARGET = 7;
const WALLET = 10;
const CLAIM_WORDS = 13;
const HASH = 2;
/** Where the member lies that names a wallet. */
const MEMBERS = { source: SOURCE, target: TARGET, wallet: WALLET } as const;

/**
 * Notes of the intents in some bytes, in their order, from `at` to `end`; not of every intent, where room was short.
 */
export interface OutlineNotes {
  readonly words: Int32Array;
  readonly end: number;
  at: number;
}

/** Notes of one intent, where nobody made any ahead. */
let own = new Int32Array(CLAIMS + 64 * CLAIM_WORDS);

/** The outline of the data at bytes[from, to); of the next note, where that is of this data. */
export function readIntentOutline(bytes: Buffer, from: number, to: number, notes?: OutlineNotes): IntentOutline {
  if (notes !== undefined && notes.at < notes.end && notes.words[notes.at + DATA] === from) {
    const { words, at } = notes;
    notes.at = words[at + NEXT]!;
    return makeOutline(bytes, words, at);
  }
  while (noteOutline(bytes, from, to, own, 0) === 0) own = new Int32Array(2 * own.length);
  return makeOutline(bytes, own, 0);
}

// ---------------------------------------------------------------- the first step

/**
 * Notes the outline of the data at bytes[from, to) in the words from `at` on. Where the next note goes, or 0: no room.
 */
export function noteOutline(bytes: Buffer, from: number, to: number, words: Int32Array, at: number): number {
  if (to - from < 2 || bytes[from] !== OBJECT || bytes[to - 1] !== OBJECT_END) throw misfit(from);
  if (at + CLAIMS > words.length) return 0;
  words[at + DATA] = from;
  words[at + HAS_ACCESS] = 0;
  words[at + IS_HASHED] = 0;
  const schema = lastText(bytes, from, to, 'schema');
  noteText(words, at + SCHEMA, schema, schema === 0 ? 0 : to - 2);
  let next = -1;
  for (let member = from + 1; bytes[member] === QUOTE; member = bytes[ended] === COMMA ? ended + 1 : ended) {
    const colon = stringEnd(bytes, member, to);
    if (bytes[colon] !== COLON) throw misfit(colon);
    const value = colon + 1;
    if (isTextAt(bytes, member + 1, colon - 1, 'claims')) {
      next = noteClaims(bytes, value, to, words, at + CLAIMS);
      // Mostly the schema is the last member, and then all is known that lies behind the claims.
      if (next === 0 || schema !== 0) break;
      continue;
    }
    ended = valueEnd(bytes, value, to);
    if (isTextAt(bytes, member + 1, colon - 1, 'access')) {
      words[at + HAS_ACCESS] = bytes[value] === ARRAY && ended - value > 2 ? 1 : 0;
    } else if (isTextAt(bytes, member + 1, colon - 1, 'schema')) {
      if (bytes[value] === QUOTE) noteText(words, at + SCHEMA, value + 1, ended - 1);
      break;
    }
  }
  if (next === -1) throw new CodecError('an intent without claims');
  words[at + NEXT] = next;
  return next;
}

/** Where a text lies in some bytes. */
interface Span {
  from: number;
  to: number;
}

/**
 * Adds to the note at `at` the hashes of its names, and of the luid and handle, which lie in the same bytes as they
 * are.
 */
export function noteHashes(bytes: Buffer, words: Int32Array, at: number, seed: number, luid: Span, handle: Span): void {
  words[at + IS_HASHED] = 1;
  words[at + LUID_HASH] = hashAt(bytes, luid.from, luid.to, seed, textAt);
  words[at + HANDLE_HASH] = hashAt(bytes, handle.from, handle.to, seed, textAt);
  const next = words[at + NEXT]!;
  for (let claim = at + CLAIMS; claim < next; claim += CLAIM_WORDS) {
    for (let name = claim + SOURCE; name <= claim + WALLET; name += TARGET - SOURCE) {
      const from = words[name]!;
      if (from !== 0) words[name + HASH] = hashAt(bytes, from, words[name + 1]!, seed, readText);
    }
  }
}

/** The hash of a text; `read` makes one of bytes that are not all letters of ASCII that stand for themselves. */
function hashAt(bytes: Buffer, from: number, to: number, seed: number, read: typeof textAt): number {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (byte >= 0x80 || byte === BACKSLASH) return hashText(seed, read(bytes, from, to));
  }
  return hashAscii(seed, bytes, from, to);
}

/** Where what was read last has ended: the readers below look at each byte once. */
let ended = 0;

function noteClaims(bytes: Buffer, from: number, to: number, words: Int32Array, start: number): number {
  if (bytes[from] !== ARRAY) throw misfit(from);
  let next = start;
  let at = from + 1;
  while (bytes[at] === OBJECT) {
    if (next + CLAIM_WORDS > words.length) return 0;
    noteClaim(bytes, at, to, words, next);
    next += CLAIM_WORDS;
    at = bytes[ended] === COMMA ? ended + 1 : ended;
  }
  if (bytes[at] !== ARRAY_END) throw misfit(at);
  ended = at + 1;
  return next;
}

function noteClaim(bytes: Buffer, from: number, to: number, words: Int32Array, claim: number): void {
  words.fill(0, claim, claim + CLAIM_WORDS);
  let at = from + 1;
  while (bytes[at] === QUOTE) {
    const colon = stringEnd(bytes, at, to);
    if (bytes[colon] !== COLON) throw misfit(colon);
    const [name, nameEnd, value] = [at + 1, colon - 1, colon + 1];
    if (isTextAt(bytes, name, nameEnd, 'source')) noteReference(bytes, value, to, words, claim + SOURCE);
    else if (isTextAt(bytes, name, nameEnd, 'target')) noteReference(bytes, value, to, words, claim + TARGET);
    else if (isTextAt(bytes, name, nameEnd, 'wallet')) noteReference(bytes, value, to, words, claim + WALLET);
    else {
      ended = valueEnd(bytes, value, to);
      const isAction = bytes[value] === QUOTE && isTextAt(bytes, name, nameEnd, 'action');
      if (isAction) noteText(words, claim + ACTION, value + 1, ended - 1);
      else if (isTextAt(bytes, name, nameEnd, 'amount'))
        noteNumber(words, claim + AMOUNT, numberAt(bytes, value, ended));
    }
    at = bytes[ended] === COMMA ? ended + 1 : ended;
  }
  if (bytes[at] !== OBJECT_END || words[claim + ACTION] === 0) throw misfit(at);
  ended = at + 1;
}

/** The handle in a reference, which is a text itself, or an object with a handle. */
function noteReference(bytes: Buffer, from: number, to: number, words: Int32Array, word: number): void {
  if (bytes[from] === QUOTE) {
    ended = stringEnd(bytes, from, to);
    return noteText(words, word, from + 1, ended - 1);
  }
  let at = from + 1;
  while (bytes[from] === OBJECT && bytes[at] === QUOTE) {
    const colon = stringEnd(bytes, at, to);
    const end = valueEnd(bytes, colon + 1, to);
    if (bytes[colon + 1] === QUOTE && isTextAt(bytes, at + 1, colon - 1, 'handle'))
      noteText(words, word, colon + 2, end - 1);
    at = bytes[end] === COMMA ? end + 1 : end;
  }
  if (words[word] === 0 || bytes[at] !== OBJECT_END) throw misfit(from);
  ended = at + 1;
}

function noteText(words: Int32Array, word: number, from: number, to: number): void {
  words[word] = from;
  words[word + 1] = to;
}

/** Eight bytes as two words, and as a number. */
const twoWords = new Int32Array(2);
const oneNumber = new Float64Array(twoWords.buffer);

function noteNumber(words: Int32Array, word: number, value: number): void {
  oneNumber[0] = value;
  words[word] = twoWords[0]!;
  words[word + 1] = twoWords[1]!;
}

/** Below so many digits a number is exact however it is put together. */
const DIGITS_MAX = 15;

function numberAt(bytes: Buffer, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) {
    const digit = bytes[at]! - 0x30;
    if (digit < 0 || digit > 9 || to - from > DIGITS_MAX) return Number(textAt(bytes, from, to));
    value = value * 10 + digit;
  }
  return value;
}

/**
 * Where the text begins that is the last member of the object at bytes[from, to), where it has this name and no
 * escapes; 0 where it is not so, whatever else there is. Within a text a quote has a backslash before it, so that one
 * without is where a text begins or ends, and after the last of these only the object itself ends.
 */
function lastText(bytes: Buffer, from: number, to: number, name: string): number {
  const end = to - 2;
  if (bytes[end] !== QUOTE) return 0;
  let start = end - 1;
  while (start > from && bytes[start] !== QUOTE) if (bytes[start--] === BACKSLASH) return 0;
  const colon = start - 1;
  const key = colon - name.length - 2;
  if (key <= from || bytes[start - 1] !== COLON || bytes[key] !== QUOTE || bytes[colon - 1] !== QUOTE) return 0;
  return bytes[key - 1] === COMMA && isTextAt(bytes, key + 1, colon - 1, name) ? start + 1 : 0;
}

/** Where the string that begins at `start` has ended. */
function stringEnd(bytes: Buffer, start: number, to: number): number {
  for (let at = start + 1; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) return at + 1;
    if (byte === BACKSLASH) at++;
  }
  throw misfit(start);
}

/** Where the value that begins at `start` has ended. */
function valueEnd(bytes: Buffer, start: number, to: number): number {
  const first = bytes[start]!;
  if (first === QUOTE) return stringEnd(bytes, start, to);
  if (first !== OBJECT && first !== ARRAY) return wordEnd(bytes, start, to);
  let depth = 0;
  for (let at = start; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === QUOTE) at = stringEnd(bytes, at, to) - 1;
    // Both brackets of arrays, and those of objects, differ in bit 5 alone.
    else if ((byte | 0x20) === OBJECT) depth++;
    else if ((byte | 0x20) === OBJECT_END && --depth === 0) return at + 1;
  }
  throw misfit(start);
}

/** Where a number, true, false or null has ended. */
function wordEnd(bytes: Buffer, start: number, to: number): number {
  for (let at = start; at < to; at++) {
    const byte = bytes[at]!;
    if (byte === COMMA || byte === OBJECT_END || byte === ARRAY_END) return at;
  }
  throw misfit(start);
}

// ---------------------------------------------------------------- the second step

/** Mostly it is the same as before; ASCII. */
let lastSchema = '';

function makeOutline(bytes: Buffer, words: Int32Array, at: number): IntentOutline {
  const isHashed = words[at + IS_HASHED] !== 0;
  // Where names are hashed no text is made of them.
  const names: string[] | null = isHashed ? null : [];
  const next = words[at + NEXT]!;
  const claims = new Array<number>(((next - at - CLAIMS) / CLAIM_WORDS) * CLAIM_WIDTH);
  let row = 0;
  for (let claim = at + CLAIMS; claim < next; claim += CLAIM_WORDS) {
    const action = actionOf(bytes, words[claim + ACTION]!, words[claim + ACTION + 1]!);
    setClaim(claims, row, action, numberOf(words, claim + AMOUNT));
    const members = CLAIM_ACTIONS[action]!.wallets;
    for (let index = 0; index < members.length; index++) {
      const member = members[index]!;
      const name = claim + MEMBERS[member];
      const from = words[name]!;
      if (from === 0) throw new CodecError(`a claim without its ${member}`);
      if (names === null) claims[row + hashColumn(member)] = words[name + HASH]!;
      else names.push(readText(bytes, from, words[name + 1]!));
    }
    row += CLAIM_WIDTH;
  }
  const schema = schemaOf(bytes, words, at + SCHEMA);
  const hasAccess = words[at + HAS_ACCESS] !== 0;
  const hashes = isHashed ? { luid: words[at + LUID_HASH]! >>> 0, handle: words[at + HANDLE_HASH]! >>> 0 } : null;
  return { schema, claims, names, hasAccess, hashes };
}

/** The number of the action of this name. */
function actionOf(bytes: Buffer, from: number, to: number): number {
  for (let number = 0; number < CLAIM_ACTIONS.length; number++) {
    if (isTextAt(bytes, from, to, CLAIM_ACTIONS[number]!.name)) return number;
  }
  throw new CodecError('a claim of no known action');
}

function schemaOf(bytes: Buffer, words: Int32Array, word: number): string | undefined {
  const [from, to] = [words[word]!, words[word + 1]!];
  if (from === 0) return undefined;
  if (isTextAt(bytes, from, to, lastSchema)) return lastSchema;
  const schema = readText(bytes, from, to);
  if (schema.length === to - from) lastSchema = schema;
  return schema;
}

function numberOf(words: Int32Array, word: number): number {
  twoWords[0] = words[word]!;
  twoWords[1] = words[word + 1]!;
  return oneNumber[0]!;
}

/** The text whose JSON, without its quotes, is bytes[from, to). */
function readText(bytes: Buffer, from: number, to: number): string {
  const text = textAt(bytes, from, to);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    throw misfit(from);
  }
}

// ---------------------------------------------------------------- other records

/** An array of which only is told that it holds something. */
const SOMETHING: readonly unknown[] = [null];
const NOTHING: readonly unknown[] = [];

/**
 * What applying asks of a new record's data (core/outline.ts), which lies at bytes[from, to); the rest is passed over.
 */
export function readAsked(bytes: Buffer, from: number, to: number): Record<string, unknown> {
  if (to - from < 2 || bytes[from] !== OBJECT) throw misfit(from);
  const asked: Record<string, unknown> = {};
  let at = from + 1;
  while (bytes[at] === QUOTE) {
    const colon = stringEnd(bytes, at, to);
    if (bytes[colon] !== COLON) throw misfit(colon);
    const end = valueEnd(bytes, colon + 1, to);
    for (let index = 0; index < ASKED_MEMBERS.length; index++) {
      const member = ASKED_MEMBERS[index]!;
      if (isTextAt(bytes, at + 1, colon - 1, member)) asked[member] = askedOf(bytes, colon + 1, end);
    }
    at = bytes[end] === COMMA ? end + 1 : end;
  }
  if (bytes[at] !== OBJECT_END || at !== to - 1) throw misfit(at);
  return asked;
}

function askedOf(bytes: Buffer, from: number, to: number): unknown {
  if (bytes[from] === QUOTE) return readText(bytes, from + 1, to - 1);
  if (bytes[from] !== ARRAY) return null;
  return to - from > 2 ? SOMETHING : NOTHING;
}

function misfit(at: number): CodecError {
  return new CodecError(`data that is no canonical JSON, before byte ${at}`);
}
