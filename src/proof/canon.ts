/**
 * The one text of a JSON value: keys sorted by UTF-16 code units, no white space, ECMAScript forms of numbers
 * and strings, non-ASCII left as it is (RFC 8785). Hashes, digests and journal entries are made of it, so two
 * values are equal exactly where their texts are.
 *
 * What always holds: the value is only read; `JSON.parse(canon(x))` is `x` again, and its canon is the same
 * text. Lone surrogates, which RFC 8785 leaves undefined, are written as \udXXX, as JSON.stringify does.
 */

/**
 * Canonical JSON text of a value as JSON.parse makes them. Numbers beyond the range of a double (1e999 parses
 * to Infinity) become `null`, members that are undefined are left out, as with JSON.stringify.
 * The depth of the value must be bounded by the caller: the function calls itself once a level.
 */
export function canon(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null';
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? canonArray(value) : canonObject(value as Readonly<Record<string, unknown>>);
  }
  if (value === true) return 'true';
  if (value === false) return 'false';
  return 'null';
}

function canonArray(values: readonly unknown[]): string {
  if (values.length === 0) return '[]';
  let text = `[${canon(values[0])}`;
  for (let i = 1; i < values.length; i++) text += `,${canon(values[i])}`;
  return `${text}]`;
}

function canonObject(record: Readonly<Record<string, unknown>>): string {
  const keys = Object.keys(record);
  sortKeys(keys);
  let text = '';
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    const member = record[key];
    if (member === undefined) continue;
    text += text === '' ? `{${quote(key)}:` : `,${quote(key)}:`;
    text += canon(member);
  }
  return text === '' ? '{}' : `${text}}`;
}

/** Objects of records have few keys, mostly sorted already: there insertion beats the general sort several times. */
const INSERTION_KEYS_MAX = 24;

function sortKeys(keys: string[]): void {
  if (keys.length > INSERTION_KEYS_MAX) {
    // The default order of Array.prototype.sort is by UTF-16 code units.
    keys.sort();
    return;
  }
  for (let i = 1; i < keys.length; i++) {
    const key = keys[i]!;
    let at = i;
    while (at > 0 && keys[at - 1]! > key) {
      keys[at] = keys[at - 1]!;
      at--;
    }
    if (at !== i) keys[at] = key;
  }
}

/** Below this many characters a loop over them is quicker than starting the regular expression. */
const LOOP_CHARS_MAX = 32;

/** Quote, backslash, control characters and surrogates: what may need an escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must be found
const ESCAPES = /["\\\u0000-\u001f\ud800-\udfff]/;

function quote(text: string): string {
  if (text.length > LOOP_CHARS_MAX) return ESCAPES.test(text) ? JSON.stringify(text) : `"${text}"`;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff))
      return JSON.stringify(text);
  }
  return `"${text}"`;
}
