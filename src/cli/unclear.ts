/**
 * Whether JSON says what it is read as. JSON.parse takes the last of two members of one name, and of a number what a
 * double can hold: who signs that has signed something else than what was written, an account's number with other
 * digits say.
 */
import { isObject, type JsonObject } from '../client/json.ts';

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const NUMBERS = /-?\d[\d.eE+-]*/g;

/** What of this text is not in the value that JSON.parse made of it, or null. */
export function findUnclear(text: string, value: JsonObject): string | null {
  const bare = withoutTexts(text);
  for (const [number] of bare.matchAll(NUMBERS)) {
    if (digitsOf(number) !== digitsOf(`${Number(number)}`))
      return `${number} is more than a number keeps: no amount, and anything else is best a text`;
  }
  // Each member has one colon.
  return bare.split(':').length - 1 === countMembers(value) ? null : 'an object has two members of one name';
}

/**
 * What is left of JSON has numbers, words and signs. Not by a pattern: of a text with millions of escapes V8 has none.
 */
function withoutTexts(json: string): string {
  let [bare, from] = ['', 0];
  for (let open = json.indexOf('"'); open >= 0; open = json.indexOf('"', from)) {
    bare += json.slice(from, open);
    from = endOfText(json, open + 1);
  }
  return bare + json.slice(from);
}

/** Behind the quote that ends a text, of which the first character is at `from`. */
function endOfText(json: string, from: number): number {
  let at = from;
  while (json.charCodeAt(at) !== QUOTE) at += json.charCodeAt(at) === BACKSLASH ? 2 : 1;
  return at + 1;
}

/** Without sign, point and exponent, and the zeros at both ends. */
function digitsOf(number: string): string {
  return number
    .replace(/e.*$/i, '')
    .replace(/[-.]/g, '')
    .replace(/^0+|0+$/g, '');
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const inner = Object.values(value).reduce((sum: number, each) => sum + countMembers(each), 0);
  return isObject(value) ? inner + Object.keys(value).length : inner;
}
