/**
 * What a snapshot takes from memory and gives back: parts, named pieces of bytes.
 *
 * Every structure of this room lies in pages of shared memory. `dump()` names them as parts without copying
 * them, so it costs microseconds whatever the size; `load()` takes the same parts back.
 *
 * What always holds: a part has the bytes that were there when it was dumped, however late it is read. Pages
 * that were closed for good lie there as they are; of others, what changes after a dump is copied away before
 * (hold.ts).
 *
 * Numbers in parts are little-endian, as typed arrays are on every machine Node runs on today; the magic word
 * of each head would not match on another one.
 */

/** A piece of state for a snapshot. Its name is unique within a dump, and safe as a file name. */
export type Part = FinalPart | OpenPart;

/**
 * A page that was closed for good: each later dump holds it under the same name with the same bytes, so it is written
 * once.
 */
export interface FinalPart {
  name: string;
  final: true;
  /** A view of shared memory that never changes. */
  bytes: Uint8Array;
}

export interface OpenPart {
  name: string;
  final: false;
  /**
   * Its bytes in order, to be gone through once. A piece is good until the next is asked for or the memory changes: who
   * waits copies it.
   */
  pieces: Iterable<Uint8Array>;
  /** Says that it will not be read: until then its memory keeps what changes. */
  drop?: () => void;
}

/** Says that nobody reads what is left of these parts. */
export function dropParts(parts: readonly Part[]): void {
  for (const part of parts) if (!part.final) part.drop?.();
}

/** What is handed out at a time, at most. */
export const RUN_BYTES = 64 * 1024;

/** The pieces of bytes that do not change. */
export function piecesOf(bytes: Uint8Array): Uint8Array[] {
  const count = Math.ceil(bytes.length / RUN_BYTES);
  return Array.from({ length: count }, (_, run) => bytes.subarray(run * RUN_BYTES, (run + 1) * RUN_BYTES));
}

/** A copy of all bytes of a part. */
export function bytesOf(part: Part): Uint8Array {
  const pieces = part.final ? [part.bytes] : Array.from(part.pieces, (piece) => piece.slice());
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/**
 * Where `load` finds parts by name: a Map, or anything that reads them one by one. What `get` gives is good until it is
 * asked for the next, but for a final part: who needs it longer copies it.
 */
export interface Parts {
  has(name: string): boolean;
  get(name: string): Uint8Array | undefined;
}

/** A part-finder over `parts`; it throws where a part is missing, with its name. */
export function finder(parts: Parts): (name: string) => Uint8Array {
  return (name) => {
    const bytes = parts.get(name);
    if (bytes === undefined) throw new Error(`memory: part ${name} is missing`);
    return bytes;
  };
}

/**
 * Our own mistake: a broken promise between this room and its caller. Kept out of line so that hot functions stay
 * small.
 */
export function fail(message: string): never {
  throw new RangeError(`memory: ${message}`);
}

/** The first word of every head part: 'AYM' and the version of the layout. */
const MAGIC = 0x014d5941;

/**
 * Which structure a head part belongs to, so that one is never loaded as another. Tables once had a part for each page.
 */
export const Shape = { heap: 1, column: 2, pagedTable: 3, chains: 4, table: 5 } as const;
export type Shape = (typeof Shape)[keyof typeof Shape];

/** The part that says how the pages of `name` are to be read: magic, shape, then `words`. */
export function headPart(name: string, shape: Shape, words: ArrayLike<number>): Part {
  const all = new Uint32Array(words.length + 2);
  all[0] = MAGIC;
  all[1] = shape;
  all.set(words, 2);
  return { name: `${name}.head`, final: false, pieces: piecesOf(new Uint8Array(all.buffer)) };
}

/** The `count` words `headPart` was given. Throws where the part is no head of that shape, or has not so many. */
export function readHead(find: (name: string) => Uint8Array, name: string, shape: Shape, count: number): Uint32Array {
  const words = headWords(find, name);
  if (words[1] !== shape) throw new Error(`memory: ${name}.head is not of this shape or version`);
  if (words.length !== count + 2) {
    throw new Error(`memory: ${name}.head has ${words.length} words instead of ${count + 2}`);
  }
  return words.subarray(2);
}

export function hasShape(find: (name: string) => Uint8Array, name: string, shape: Shape): boolean {
  return headWords(find, name)[1] === shape;
}

function headWords(find: (name: string) => Uint8Array, name: string): Uint32Array {
  const bytes = find(`${name}.head`);
  if (bytes.length < 8 || bytes.length % 4 !== 0) throw new Error(`memory: ${name}.head has ${bytes.length} bytes`);
  const words = new Uint32Array(bytes.length / 4);
  new Uint8Array(words.buffer).set(bytes);
  if (words[0] !== MAGIC) throw new Error(`memory: ${name}.head is not of this shape or version`);
  return words;
}

/** Number of a page in a name: fixed width, so that names sort as pages do. */
export function pageName(name: string, word: string, page: number): string {
  return `${name}.${word}.${String(page).padStart(6, '0')}`;
}

/** The bytes of part `name`, which must be exactly `bytesCount` long. */
export function exactly(find: (name: string) => Uint8Array, name: string, bytesCount: number): Uint8Array {
  const bytes = find(name);
  if (bytes.length !== bytesCount) {
    throw new Error(`memory: part ${name} has ${bytes.length} bytes instead of ${bytesCount}`);
  }
  return bytes;
}

/** A shared buffer of `size` bytes that begins with `bytes`; the rest is zero. */
export function sharedCopy(bytes: Uint8Array, size: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(size);
  new Uint8Array(buffer).set(bytes);
  return buffer;
}

/**
 * The shared buffer of a page nobody writes any more. Where `bytes` already fill a shared buffer of their own, that
 * one is taken as it is: whoever reads a snapshot straight into shared memory does not pay for the memory twice.
 */
export function sharedPage(bytes: Uint8Array): SharedArrayBuffer {
  const buffer = bytes.buffer;
  if (buffer instanceof SharedArrayBuffer && buffer.byteLength === bytes.length) return buffer;
  return sharedCopy(bytes, bytes.length);
}

/** Whether `n` is a power of two between `min` and `max`. */
export function powerOfTwo(n: number, min: number, max: number): boolean {
  return Number.isInteger(n) && n >= min && n <= max && 2 ** Math.round(Math.log2(n)) === n;
}
