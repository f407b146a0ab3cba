/**
 * Reads an intent's outline out of its data where that lies as canonical JSON (proof/canon.ts), passing over all other
 * members byte by byte: no text is made of them, and no object but one for each claim.
 *
 * It rests on what canonical JSON is: no white space, members of an object sorted by name, no name twice, names in
 * ASCII never escaped. The data was made so at the door and is covered by the frame's hash; bytes that are not so
 * throw CodecError, or leave the outline without claims, which applying it asserts.
 */
import type { ClaimOutline } from '../core/claims/index.ts';
import type { IntentOutline } from '../core/outline.ts';
import { CodecError, textAt } from './msgpack.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/** The outline of the data at bytes[from, to). */
export function readOutline(bytes: Buffer, from: number, to: number): IntentOutline {
  if (to - from < 2 || bytes[from] !== OBJECT || bytes[to - 1] !== OBJECT_END) throw misfit(from);
  let schema = lastText(bytes, from, to, 'schema');
  let claims: ClaimOutline[] | undefined;
  let hasAccess = false;
  let at = from + 1;
  while (bytes[at] === QUOTE) {
    const colon = stringEnd(bytes, at, to);
    if (bytes[colon] !== COLON) throw misfit(colon);
    const value = colon + 1;
    if (isName(bytes, at, colon, 'claims')) {
      claims = readClaims(bytes, value, to);
      // Mostly the schema is the last member, and then all is known that lies behind the claims.
      if (schema !== undefined) break;
      at = bytes[ended] === COMMA ? ended + 1 : ended;
      continue;
    }
    const end = valueEnd(bytes, value, to);
    if (isName(bytes, at, colon, 'access')) hasAccess = bytes[value] === ARRAY && end - value > 2;
    else if (isName(bytes, at, colon, 'schema')) {
      if (bytes[value] === QUOTE) schema = readText(bytes, value, end);
      break;
    }
    at = bytes[end] === COMMA ? end + 1 : end;
  }
  if (claims === undefined) throw new CodecError('an intent without claims');
  return { schema, claims, hasAccess };
}

/** Where what was read last has ended: the readers below look at each byte once. */
let ended = 0;

function readClaims(bytes: Buffer, from: number, to: number): ClaimOutline[] {
  if (bytes[from] !== ARRAY) throw misfit(from);
  const claims: ClaimOutline[] = [];
  let at = from + 1;
  while (bytes[at] === OBJECT) {
    claims.push(readClaim(bytes, at, to));
    at = bytes[ended] === COMMA ? ended + 1 : ended;
  }
  if (bytes[at] !== ARRAY_END) throw misfit(at);
  ended = at + 1;
  return claims;
}

function readClaim(bytes: Buffer, from: number, to: number): ClaimOutline {
  // All with the same members in the same order, so that claims share a shape.
  const claim: ClaimOutline = { action: '', amount: 0, source: undefined, target: undefined, wallet: undefined };
  let at = from + 1;
  while (bytes[at] === QUOTE) {
    const colon = stringEnd(bytes, at, to);
    if (bytes[colon] !== COLON) throw misfit(colon);
    const value = colon + 1;
    if (isName(bytes, at, colon, 'source')) claim.source = readReference(bytes, value, to);
    else if (isName(bytes, at, colon, 'target')) claim.target = readReference(bytes, value, to);
    else if (isName(bytes, at, colon, 'wallet')) claim.wallet = readReference(bytes, value, to);
    else {
      ended = valueEnd(bytes, value, to);
      if (isName(bytes, at, colon, 'action')) claim.action = readText(bytes, value, ended);
      else if (isName(bytes, at, colon, 'amount')) claim.amount = Number(textAt(bytes, value, ended));
    }
    at = bytes[ended] === COMMA ? ended + 1 : ended;
  }
  if (bytes[at] !== OBJECT_END) throw misfit(at);
  ended = at + 1;
  return claim;
}

/** The handle in a reference, which is a text itself, or an object with a handle. */
function readReference(bytes: Buffer, from: number, to: number): string {
  if (bytes[from] === QUOTE) {
    ended = stringEnd(bytes, from, to);
    return readText(bytes, from, ended);
  }
  let handle: string | undefined;
  let at = from + 1;
  while (bytes[from] === OBJECT && bytes[at] === QUOTE) {
    const colon = stringEnd(bytes, at, to);
    const end = valueEnd(bytes, colon + 1, to);
    if (isName(bytes, at, colon, 'handle')) handle = readText(bytes, colon + 1, end);
    at = bytes[end] === COMMA ? end + 1 : end;
  }
  if (handle === undefined || bytes[at] !== OBJECT_END) throw misfit(from);
  ended = at + 1;
  return handle;
}

/**
 * The last member of the object at bytes[from, to), where it has this name and is a text without escapes; undefined
 * where it is not so, whatever else there is. Within a text a quote has a backslash before it, so that one without is
 * where a text begins or ends, and after the last of these only the object itself ends.
 */
function lastText(bytes: Buffer, from: number, to: number, name: string): string | undefined {
  const end = to - 2;
  if (bytes[end] !== QUOTE) return undefined;
  let start = end - 1;
  while (start > from && bytes[start] !== QUOTE) if (bytes[start--] === BACKSLASH) return undefined;
  const colon = start - 1;
  const key = colon - name.length - 2;
  if (key <= from || bytes[start - 1] !== COLON || bytes[key] !== QUOTE || bytes[colon - 1] !== QUOTE) return undefined;
  if (bytes[key - 1] !== COMMA || !isName(bytes, key, colon, name)) return undefined;
  return textAt(bytes, start + 1, end);
}

/** Whether the string at bytes[from, to), quotes included, is this name. */
function isName(bytes: Buffer, from: number, to: number, name: string): boolean {
  if (to - from !== name.length + 2) return false;
  for (let index = 0; index < name.length; index++) {
    if (bytes[from + 1 + index] !== name.charCodeAt(index)) return false;
  }
  return true;
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

/** The text whose JSON is bytes[from, to). */
function readText(bytes: Buffer, from: number, to: number): string {
  if (bytes[from] !== QUOTE) throw misfit(from);
  const text = textAt(bytes, from + 1, to - 1);
  if (!text.includes('\\')) return text;
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    throw misfit(from);
  }
}

function misfit(at: number): CodecError {
  return new CodecError(`data that is no canonical JSON, before byte ${at}`);
}
