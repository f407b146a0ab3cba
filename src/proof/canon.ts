/**
 * The one text of a JSON value: keys sorted by UTF-16 code units, no white space, ECMAScript forms of numbers
 * and strings, non-ASCII left as it is (RFC 8785). Hashes, digests and journal entries are made of it, so two
 * values are equal exactly where their texts are.
 *
 * What always holds: the value is only read; `JSON.parse(canon(x))` is `x` again, but for minus zero and numbers past
 * the double (see `settle`), and its canon is the same text. Lone surrogates, for which RFC 8785 has an error instead,
 * are written as \udXXX, as JSON.stringify does.
 *
 * It runs once per request, so it is written for speed where that costs no clarity elsewhere: a text grows by
 * two concatenations per string member, because what stands between two values is prepared once per key.
 */

/**
 * Canonical JSON text of a value as JSON.parse makes them. Numbers beyond the range of a double (1e999 parses
 * to Infinity) become `null`, members that are undefined are left out, as with JSON.stringify.
 * The depth of the value must be bounded by the caller: the function calls itself once a level.
 */
export function canon(value: unknown): string {
  if (typeof value === 'string') return quote(value);
  if (typeof value === 'number') return canonNumber(value);
  if (typeof value === 'object' && value !== null) {
    return Array.isArray(value) ? canonArray(value) : canonObject(value as Readonly<Record<string, unknown>>);
  }
  if (value === true) return 'true';
  if (value === false) return 'false';
  return 'null';
}

/**
 * The canonical text of a value from outside, and the value that this text stands for. That is the value itself, unless
 * it has a minus zero, which is written 0, or a number past the double, which is written null. Deciding by the one and
 * keeping the other would lead to another decision when it is read again.
 */
export function settle(value: Record<string, unknown>): { text: string; value: Record<string, unknown> } {
  isOther = false;
  const text = canon(value);
  return { text, value: isOther ? JSON.parse(text) : value };
}

/** Whether a number was written as another since `settle` began. */
let isOther = false;

function canonNumber(value: number): string {
  if (Number.isFinite(value) && !Object.is(value, -0)) return `${value}`;
  isOther = true;
  return value === 0 ? '0' : 'null';
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
  // Whether the text ends inside a string, whose closing quote comes with whatever is next.
  let inString = false;
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!;
    const member = record[key];
    if (member === undefined) continue;
    const texts = keyTexts(key);
    if (typeof member === 'string' && isPlain(member)) {
      text = (text === '' ? texts.firstString : text + (inString ? texts.stringString : texts.nextString)) + member;
      inString = true;
    } else {
      text = (text === '' ? texts.first : text + (inString ? texts.string : texts.next)) + canon(member);
      inString = false;
    }
  }
  if (text === '') return '{}';
  return text + (inString ? '"}' : '}');
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

/** What stands between the value before a key and the value after it. */
interface KeyTexts {
  /** `{"key":` */
  readonly first: string;
  /** `{"key":"` */
  readonly firstString: string;
  /** `,"key":` */
  readonly next: string;
  /** `,"key":"` */
  readonly nextString: string;
  /** `","key":` */
  readonly string: string;
  /** `","key":"` */
  readonly stringString: string;
}

// Records of a ledger share their keys. Both bounds keep strangers' keys from filling memory.
const KEYS_CACHED_MAX = 4096;
const KEY_CACHED_CHARS_MAX = 64;
const cachedKeys = new Map<string, KeyTexts>();

function keyTexts(key: string): KeyTexts {
  return cachedKeys.get(key) ?? addKeyTexts(key);
}

function addKeyTexts(key: string): KeyTexts {
  const colon = `${quote(key)}:`;
  const texts: KeyTexts = {
    first: `{${colon}`,
    firstString: `{${colon}"`,
    next: `,${colon}`,
    nextString: `,${colon}"`,
    string: `",${colon}`,
    stringString: `",${colon}"`,
  };
  if (key.length <= KEY_CACHED_CHARS_MAX) {
    if (cachedKeys.size === KEYS_CACHED_MAX) cachedKeys.clear();
    cachedKeys.set(key, texts);
  }
  return texts;
}

function quote(text: string): string {
  return isPlain(text) ? `"${text}"` : JSON.stringify(text);
}

/** Below this many characters a loop over them is quicker than starting the regular expression. */
const LOOP_CHARS_MAX = 32;

/** Quote, backslash, control characters and surrogates: what may need an escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must be found
const ESCAPES = /["\\\u0000-\u001f\ud800-\udfff]/;

/** Whether a string stands in JSON as it is. False for pairs of surrogates too: those are left to JSON.stringify. */
function isPlain(text: string): boolean {
  if (text.length > LOOP_CHARS_MAX) return !ESCAPES.test(text);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff)) return false;
  }
  return true;
}
