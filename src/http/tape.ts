/**
 * JSON on a tape: where each value of a body begins and ends, as numbers. What is asked of a body that comes often is
 * read where it lies; no object is made of it. (The idea is simdjson's: Langdale and Lemire, "Parsing Gigabytes of JSON
 * per Second", 2019.)
 *
 * A node is four numbers: where its value begins, where that has ended, which node comes after all that is in it, and
 * whether its text is canonical as it stands. An array's node is followed by those of its items, an object's by those
 * of its members, a name and its value in turn.
 *
 * It takes plain JSON only: no escapes, whole numbers up to 2^53 - 1, names in ASCII. Anything else, what is no JSON
 * included, is for JSON.parse to read or to refuse.
 *
 * What always holds: what is taken is JSON, and where a canonical text of it is given, that is of what JSON.parse makes
 * of it.
 */
import { isUtf8 } from 'node:buffer';
import { isTextAt } from '../core/bytes.ts';

type Slice = (this: Uint8Array, from: number, to: number) => string;

// What is behind Buffer's toString, without the looks at its arguments.
const { latin1Slice, utf8Slice } = Buffer.prototype as unknown as Record<'latin1Slice' | 'utf8Slice', Slice>;

/** Of so short a text nobody has to count what it holds: less than UNCOUNTED_BYTES_MAX and BRACKETS_MAX in json.ts. */
export const TAPE_BYTES_MAX = 48 * 1024;
/** Members of one object that have to be put in order: that is done one by one, and their names may be long. */
const SORTED_MAX = 24;
/** So many bytes are copied with those that are asked for, at most. */
const MORE_BYTES = 3;

const NODE = 4;
const FROM = 0;
const TO = 1;
const NEXT = 2;
const IS_CANONICAL = 3;

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const COLON = 0x3a;
const ARRAY = 0x5b;
const ARRAY_END = 0x5d;
const BACKSLASH = 0x5c;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/** What a byte is within a string: as it stands, part of a longer character, or the end of what is plain. */
const STANDS = 1;
const LONGER = 2;
const IN_STRINGS = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte >= 0x80) return LONGER;
  return byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 0 : STANDS;
});
const WORDS = ['true', 'false', 'null'];

/** No value is found, or it is none that is taken. */
const NONE = -1;

export class Tape {
  /** The body, and a zero behind it that ends whatever does not end by itself. */
  readonly bytes = Buffer.alloc(TAPE_BYTES_MAX + 1 + MORE_BYTES);
  /**
   * Of values that end, each takes two bytes, with what stands before or behind it; of others what is too much is lost.
   */
  readonly #nodes = new Int32Array(NODE * (TAPE_BYTES_MAX / 2 + 1));
  readonly #canonical = Buffer.alloc(TAPE_BYTES_MAX + MORE_BYTES);
  readonly #source = viewOf(this.bytes);
  readonly #target = viewOf(this.#canonical);
  /**
   * Names in order, of all objects that were not in order as they came. The shortest member, `"":0,`, takes five bytes.
   */
  readonly #names = new Int32Array(Math.ceil(TAPE_BYTES_MAX / 5));
  #namesEnd = 0;
  #end = 0;
  /** Bytes that are parts of longer characters, as far as it was read. */
  #longer = 0;

  /**
   * Reads a body; its value is node 0. False where it is not taken. No object or array is nested deeper than
   * `depthMax`.
   */
  read(body: Uint8Array, depthMax: number): boolean {
    const { length } = body;
    if (length > TAPE_BYTES_MAX) return false;
    const { bytes } = this;
    bytes.set(body);
    bytes[length] = 0;
    this.#end = 0;
    this.#longer = 0;
    const to = this.#value(skipSpace(bytes, 0), depthMax);
    if (to < 0 || skipSpace(bytes, to) !== length) return false;
    return this.#longer === 0 || isUtf8(body);
  }

  /** The first node within an array or an object; where it has none, the same as `next`. */
  first(node: number): number {
    return node + NODE;
  }

  /** The value of the member with this name. */
  value(name: number): number {
    return name + NODE;
  }

  /** The node after a value and all that is in it. */
  next(node: number): number {
    return this.#nodes[node + NEXT]!;
  }

  isObject(node: number): boolean {
    return this.bytes[this.#nodes[node + FROM]!] === OBJECT;
  }

  isArray(node: number): boolean {
    return this.bytes[this.#nodes[node + FROM]!] === ARRAY;
  }

  isString(node: number): boolean {
    return this.bytes[this.#nodes[node + FROM]!] === QUOTE;
  }

  /** Where a string's text begins in `bytes`. */
  from(string: number): number {
    return this.#nodes[string + FROM]! + 1;
  }

  /** Where it has ended. */
  to(string: number): number {
    return this.#nodes[string + TO]! - 1;
  }

  /** Whether a string, a name for one, is this text, which is ASCII. */
  isText(string: number, text: string): boolean {
    return isTextAt(this.bytes, this.from(string), this.to(string), text);
  }

  /** A string of ASCII as a text. */
  text(string: number): string {
    return latin1Slice.call(this.bytes, this.from(string), this.to(string));
  }

  /** A whole number, or NaN. */
  number(node: number): number {
    const to = this.#nodes[node + TO]!;
    let at = this.#nodes[node + FROM]!;
    const isNegative = this.bytes[at] === MINUS;
    if (isNegative) at++;
    let value = 0;
    for (; at < to; at++) {
      const digit = this.bytes[at]! - 0x30;
      if (digit < 0 || digit > 9) return Number.NaN;
      value = 10 * value + digit;
    }
    return isNegative ? -value : value;
  }

  /**
   * The canonical text of a value, as bytes that are good until the next; null where an object has a name twice, or too
   * many.
   */
  canonical(node: number): Buffer | null {
    const nodes = this.#nodes;
    if (nodes[node + IS_CANONICAL] === 1) return this.bytes.subarray(nodes[node + FROM]!, nodes[node + TO]!);
    this.#namesEnd = 0;
    const to = this.#write(node, 0);
    return to < 0 ? null : this.#canonical.subarray(0, to);
  }

  /** The same as a text. */
  canonicalText(node: number): string | null {
    const bytes = this.canonical(node);
    return bytes === null ? null : this.textOf(bytes);
  }

  /** Some of these bytes as a text. */
  textOf(bytes: Buffer): string {
    return (this.#longer === 0 ? latin1Slice : utf8Slice).call(bytes, 0, bytes.length);
  }

  // ---------------------------------------------------------------- reading: each returns where it has ended, or NONE

  #value(at: number, depth: number): number {
    const node = this.#end;
    const nodes = this.#nodes;
    this.#end = node + NODE;
    nodes[node + FROM] = at;
    nodes[node + IS_CANONICAL] = 1;
    const byte = this.bytes[at]!;
    let to: number;
    if (byte === QUOTE) to = this.#string(at);
    else if (byte === OBJECT) to = depth === 0 ? NONE : this.#members(node, at + 1, depth - 1);
    else if (byte === ARRAY) to = depth === 0 ? NONE : this.#items(node, at + 1, depth - 1);
    else to = wordEnd(this.bytes, at);
    nodes[node + TO] = to;
    nodes[node + NEXT] = this.#end;
    return to;
  }

  #string(at: number): number {
    const { bytes } = this;
    for (;;) {
      const kind = IN_STRINGS[bytes[++at]!];
      if (kind === STANDS) continue;
      if (kind === LONGER) this.#longer++;
      else return bytes[at] === QUOTE ? at + 1 : NONE;
    }
  }

  #members(node: number, from: number, depth: number): number {
    const { bytes } = this;
    const nodes = this.#nodes;
    let spaces = 0;
    let isCanonical = 1;
    let before = NONE;
    let at = skipSpace(bytes, from);
    spaces += at - from;
    if (bytes[at] === OBJECT_END) {
      nodes[node + IS_CANONICAL] = spaces === 0 ? 1 : 0;
      return at + 1;
    }
    for (;;) {
      if (bytes[at] !== QUOTE) return NONE;
      const longer = this.#longer;
      const name = this.#end;
      const nameEnd = this.#value(at, depth);
      if (nameEnd < 0 || this.#longer !== longer) return NONE;
      if (before >= 0 && isCanonical === 1 && this.#compare(before, name) >= 0) isCanonical = 0;
      before = name;
      const colon = skipSpace(bytes, nameEnd);
      if (bytes[colon] !== COLON) return NONE;
      const value = this.#end;
      at = skipSpace(bytes, colon + 1);
      spaces += at - nameEnd - 1;
      const valueEnd = this.#value(at, depth);
      if (valueEnd < 0) return NONE;
      if (nodes[value + IS_CANONICAL] === 0) isCanonical = 0;
      const end = skipSpace(bytes, valueEnd);
      spaces += end - valueEnd;
      if (bytes[end] === OBJECT_END) {
        nodes[node + IS_CANONICAL] = spaces === 0 ? isCanonical : 0;
        return end + 1;
      }
      if (bytes[end] !== COMMA) return NONE;
      at = skipSpace(bytes, end + 1);
      spaces += at - end - 1;
    }
  }

  #items(node: number, from: number, depth: number): number {
    const { bytes } = this;
    const nodes = this.#nodes;
    let isCanonical = 1;
    let at = skipSpace(bytes, from);
    let spaces = at - from;
    if (bytes[at] === ARRAY_END) {
      nodes[node + IS_CANONICAL] = spaces === 0 ? 1 : 0;
      return at + 1;
    }
    for (;;) {
      const item = this.#end;
      const itemEnd = this.#value(at, depth);
      if (itemEnd < 0) return NONE;
      if (nodes[item + IS_CANONICAL] === 0) isCanonical = 0;
      const end = skipSpace(bytes, itemEnd);
      spaces += end - itemEnd;
      if (bytes[end] === ARRAY_END) {
        nodes[node + IS_CANONICAL] = spaces === 0 ? isCanonical : 0;
        return end + 1;
      }
      if (bytes[end] !== COMMA) return NONE;
      at = skipSpace(bytes, end + 1);
      spaces += at - end - 1;
    }
  }

  // ---------------------------------------------------------------- writing: each returns where it goes on, or NONE

  #write(node: number, at: number): number {
    const nodes = this.#nodes;
    if (nodes[node + IS_CANONICAL] === 1) return this.#copy(nodes[node + FROM]!, nodes[node + TO]!, at);
    return this.isObject(node) ? this.#writeMembers(node, at) : this.#writeItems(node, at);
  }

  /** Four bytes at a time; those past the end are written over by what comes next, or not read. */
  #copy(from: number, to: number, at: number): number {
    const source = this.#source;
    const target = this.#target;
    const ahead = at - from;
    for (let next = from; next < to; next += 4) target.setInt32(next + ahead, source.getInt32(next));
    return to + ahead;
  }

  #writeItems(array: number, at: number): number {
    const canonical = this.#canonical;
    const end = this.next(array);
    canonical[at++] = ARRAY;
    for (let item = this.first(array); item < end; item = this.next(item)) {
      if (item !== this.first(array)) canonical[at++] = COMMA;
      at = this.#write(item, at);
      if (at < 0) return NONE;
    }
    canonical[at++] = ARRAY_END;
    return at;
  }

  #writeMembers(object: number, at: number): number {
    const canonical = this.#canonical;
    const nodes = this.#nodes;
    const names = this.#names;
    const base = this.#namesEnd;
    if (!this.#sortNames(object)) return NONE;
    const count = this.#namesEnd;
    canonical[at++] = OBJECT;
    for (let i = base; i < count; i++) {
      const name = names[i]!;
      const value = name + NODE;
      if (i > base) canonical[at++] = COMMA;
      const [from, to] = [nodes[name + FROM]!, nodes[name + TO]!];
      const valueFrom = nodes[value + FROM]!;
      if (valueFrom === to + 1 && nodes[value + IS_CANONICAL] === 1) {
        at = this.#copy(from, nodes[value + TO]!, at);
        continue;
      }
      at = this.#copy(from, to, at);
      canonical[at++] = COLON;
      at = this.#write(value, at);
      if (at < 0) return NONE;
    }
    canonical[at++] = OBJECT_END;
    return at;
  }

  /** Lays the names of an object behind the others, in order; false where one is there twice, or they are too many. */
  #sortNames(object: number): boolean {
    const names = this.#names;
    const base = this.#namesEnd;
    const end = this.next(object);
    let next = base;
    for (let name = this.first(object); name < end; name = this.next(name + NODE)) {
      if (next - base === SORTED_MAX) return false;
      let place = next++;
      for (; place > base; place--) {
        const before = names[place - 1]!;
        const order = this.#compare(before, name);
        if (order === 0) return false;
        if (order < 0) break;
        names[place] = before;
      }
      names[place] = name;
    }
    this.#namesEnd = next;
    return true;
  }

  /**
   * Below 0 where the first string comes before the second, 0 where they are the same; by bytes, which of ASCII is by
   * code units.
   */
  #compare(left: number, right: number): number {
    const { bytes } = this;
    let a = this.from(left);
    let b = this.from(right);
    const aEnd = this.to(left);
    const bEnd = this.to(right);
    while (a < aEnd && b < bEnd) {
      const difference = bytes[a++]! - bytes[b++]!;
      if (difference !== 0) return difference;
    }
    return aEnd - a - (bEnd - b);
  }
}

function viewOf({ buffer, byteOffset, byteLength }: Buffer): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

function skipSpace(bytes: Buffer, at: number): number {
  for (;;) {
    const byte = bytes[at]!;
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/** Where a whole number in its only form has ended, or a word. */
function wordEnd(bytes: Buffer, from: number): number {
  const start = bytes[from] === MINUS ? from + 1 : from;
  let value = 0;
  let at = start;
  for (let digit = bytes[at]! - 0x30; digit >= 0 && digit <= 9; digit = bytes[++at]! - 0x30) value = 10 * value + digit;
  if (at === start) return start === from ? namedEnd(bytes, from) : NONE;
  // One zero alone, and none before other digits. Beyond what is exact a number may be written otherwise than it was
  // sent. What would make it a fraction or a power of ten ends it, and stands then where nothing of the kind can.
  return (bytes[start] === 0x30 && at - from > 1) || value > Number.MAX_SAFE_INTEGER ? NONE : at;
}

function namedEnd(bytes: Buffer, from: number): number {
  for (let i = 0; i < WORDS.length; i++) {
    const word = WORDS[i]!;
    let length = 0;
    while (length < word.length && bytes[from + length] === word.charCodeAt(length)) length++;
    if (length === word.length) return from + length;
  }
  return NONE;
}
