/**
 * Ledger unique identifiers: `$` prefix `.` and 17 characters, of which the first six count seconds in an
 * alphabet sorted by ASCII, so that luids sort by the second they were made in; the other eleven are random.
 */
const ALPHABET = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
export const LUID_LENGTH = 22;
/** A character is made of each. */
export const LUID_RANDOM_BYTES = 11;
const TIME_CHARACTERS = 6;
const TIME_AT = 5;
const RANDOM_AT = TIME_AT + TIME_CHARACTERS;
const SHAPE = /^\$([a-z]{3})\.[A-Za-z0-9_-]{17}$/;

export function isLuid(text: string): boolean {
  return text.length === LUID_LENGTH && SHAPE.test(text);
}

/** The six characters of the second that `moment` (milliseconds since 1970) lies in. */
function timePart(moment: number): string {
  let seconds = Math.floor(moment / 1000);
  let text = '';
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    text = ALPHABET[seconds % 64] + text;
    seconds = Math.floor(seconds / 64);
  }
  return text;
}

const CODES = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0));
/** By character code, which of the ALPHABET it is; 0 for what is not in it. */
const DIGITS = new Uint8Array(128);
for (const [digit, code] of CODES.entries()) DIGITS[code] = digit;

/**
 * When the second began that a luid's characters count, in milliseconds since 1970. A number for whatever text of its
 * length.
 */
export function secondOf(luid: string): number {
  let seconds = 0;
  for (let i = TIME_AT; i < RANDOM_AT; i++) seconds = seconds * 64 + (DIGITS[luid.charCodeAt(i)] ?? 0);
  return seconds * 1000;
}

const pairCodes = new Array<number>(LUID_RANDOM_BYTES).fill(0);
/** The characters of the luid that is being made: of one piece, a text need not be put together again to be read. */
const codes = new Array<number>(LUID_LENGTH).fill(0);
let timeOf = Number.NaN;

/**
 * A luid for a record received at `moment`. `random` supplies LUID_RANDOM_BYTES from `from` on, of which six bits each
 * are used; they are handed in because the core has no randomness of its own.
 */
export function makeLuid(prefix: string, moment: number, random: Uint8Array, from = 0): string {
  const second = Math.floor(moment / 1000);
  if (second !== timeOf) {
    timeOf = second;
    put(TIME_AT, timePart(moment));
  }
  put(0, `$${prefix}.`);
  for (let i = 0; i < LUID_RANDOM_BYTES; i++) codes[RANDOM_AT + i] = CODES[random[from + i]! & 63]!;
  return String.fromCharCode.apply(null, codes);
}

function put(at: number, text: string): void {
  for (let i = 0; i < text.length; i++) codes[at + i] = text.charCodeAt(i);
}

/** The salts of what there is of a wallet in a symbol: two balances, then a limit of each metric. They never change. */
export const BALANCE_SALT = 0;
export const LIMIT_SALT = 2;

/**
 * The luid of a row that exists because two records do (a wallet's balance in a symbol): stable without being stored,
 * as different as the records' own. `salt` tells apart several rows of one pair.
 */
export function pairLuid(one: string, other: string, salt: number): string {
  for (let i = 0; i < LUID_RANDOM_BYTES; i++) {
    const at = RANDOM_AT + i;
    const mixed = DIGITS[one.charCodeAt(at)]! ^ ((DIGITS[other.charCodeAt(at)]! * 5 + 3) & 63);
    pairCodes[i] = CODES[i === LUID_RANDOM_BYTES - 1 ? mixed ^ salt : mixed]!;
  }
  return `$wbl${one.slice(TIME_AT - 1, RANDOM_AT)}${String.fromCharCode.apply(null, pairCodes)}`;
}
