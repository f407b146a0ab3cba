/**
 * The part of MessagePack that entries use, written and read by hand: nil, integers, float 64, str, bin,
 * array (https://github.com/msgpack/msgpack/blob/master/spec.md).
 *
 * Writers take the bytes and where to write, return where the next value goes, and trust the caller to
 * have made room. Readers move a Reader forward and throw CodecError on anything but the type asked for;
 * lengths are compared with the bytes that are left before memory is taken for them.
 */

/** Bytes that are not what they should be: damage that a CRC did not see, or our own mistake. */
export class CodecError extends Error {
  override name = 'CodecError';
}

export interface Reader {
  bytes: Buffer;
  at: number;
  to: number;
}

/** Characters up to here are written one by one: a call out of JavaScript costs more than they do. */
const SHORT_CHARS = 24;
const TWO_32 = 0x1_0000_0000;

export function writeArrayHead(bytes: Buffer, at: number, count: number): number {
  if (count > 15) return writeLongHead(bytes, at, count, 0xdc);
  bytes[at] = 0x90 + count;
  return at + 1;
}

export function writeText(bytes: Buffer, at: number, text: string): number {
  const chars = text.length;
  if (chars <= SHORT_CHARS) {
    const end = writeShortAscii(bytes, at, text);
    if (end !== 0) return end;
  }
  // Most text is ASCII: the header is sized for that, and the text moved on where it was not.
  const guess = at + textHeadBytes(chars);
  const count = bytes.write(text, guess, 'utf8');
  const start = at + textHeadBytes(count);
  if (start !== guess) bytes.copyWithin(start, guess, guess + count);
  writeTextHead(bytes, at, count);
  return start + count;
}

export function writeTextOrNil(bytes: Buffer, at: number, text: string | null): number {
  if (text !== null) return writeText(bytes, at, text);
  bytes[at] = 0xc0;
  return at + 1;
}

export function writeTexts(bytes: Buffer, start: number, texts: readonly string[]): number {
  let at = writeArrayHead(bytes, start, texts.length);
  for (const text of texts) at = writeText(bytes, at, text);
  return at;
}

/** `value` must have `length` bytes, at most 255. */
export function writeBinary(bytes: Buffer, at: number, value: Uint8Array, length: number): number {
  if (value.length !== length) throw new CodecError(`${value.length} bytes where ${length} belong`);
  bytes[at] = 0xc4;
  bytes[at + 1] = length;
  bytes.set(value, at + 2);
  return at + 2 + length;
}

export function writeNumbers(bytes: Buffer, start: number, values: readonly number[]): number {
  let at = writeArrayHead(bytes, start, values.length);
  // Not with an iterator: lists of small integers and of doubles both come by, and V8 would make an object for each
  // step.
  for (let index = 0; index < values.length; index++) at = writeNumber(bytes, at, values[index]!);
  return at;
}

/** An integer of 0 at least. */
export function writeCount(bytes: Buffer, at: number, value: number): number {
  if (!Number.isSafeInteger(value) || value < 0) throw new CodecError(`${value} is no count`);
  return writeUnsigned(bytes, at, value);
}

/** Integers in their shortest encoding, others as float 64. */
export function writeNumber(bytes: Buffer, at: number, value: number): number {
  if (!Number.isSafeInteger(value)) {
    bytes[at] = 0xcb;
    bytes.writeDoubleBE(value, at + 1);
    return at + 9;
  }
  return value >= 0 ? writeUnsigned(bytes, at, value) : writeNegative(bytes, at, value);
}

function writeUnsigned(bytes: Buffer, at: number, value: number): number {
  if (value < 0x80) {
    bytes[at] = value;
    return at + 1;
  }
  if (value < 0x100) {
    bytes[at] = 0xcc;
    bytes[at + 1] = value;
    return at + 2;
  }
  if (value < 0x1_0000) {
    bytes[at] = 0xcd;
    bytes[at + 1] = value >>> 8;
    bytes[at + 2] = value;
    return at + 3;
  }
  if (value < TWO_32) {
    bytes[at] = 0xce;
    write32(bytes, at + 1, value);
    return at + 5;
  }
  bytes[at] = 0xcf;
  write32(bytes, at + 1, Math.floor(value / TWO_32));
  write32(bytes, at + 5, value % TWO_32);
  return at + 9;
}

function writeNegative(bytes: Buffer, at: number, value: number): number {
  if (value >= -0x20) {
    bytes[at] = value;
    return at + 1;
  }
  if (value >= -0x80) {
    bytes[at] = 0xd0;
    bytes[at + 1] = value;
    return at + 2;
  }
  if (value >= -0x8000) {
    bytes[at] = 0xd1;
    bytes[at + 1] = value >> 8;
    bytes[at + 2] = value;
    return at + 3;
  }
  if (value >= -0x8000_0000) {
    bytes[at] = 0xd2;
    write32(bytes, at + 1, value);
    return at + 5;
  }
  const high = Math.floor(value / TWO_32);
  bytes[at] = 0xd3;
  write32(bytes, at + 1, high);
  write32(bytes, at + 5, value - high * TWO_32);
  return at + 9;
}

// Typed arrays keep the low 8 bits of what is stored in them, so no masks are needed below.
function write32(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Writes as many bytes as `textHeadBytes` says. */
function writeTextHead(bytes: Buffer, at: number, count: number): void {
  if (count < 0x20) bytes[at] = 0xa0 + count;
  else if (count >= 0x100) writeLongHead(bytes, at, count, 0xda);
  else {
    bytes[at] = 0xd9;
    bytes[at + 1] = count;
  }
}

/** A count in 16 bits behind this code, or in 32 behind the next. */
function writeLongHead(bytes: Buffer, at: number, count: number, code16: number): number {
  if (count < 0x1_0000) {
    bytes[at] = code16;
    bytes[at + 1] = count >>> 8;
    bytes[at + 2] = count;
    return at + 3;
  }
  bytes[at] = code16 + 1;
  write32(bytes, at + 1, count);
  return at + 5;
}

function textHeadBytes(count: number): number {
  if (count < 0x20) return 1;
  if (count < 0x100) return 2;
  return count < 0x1_0000 ? 3 : 5;
}

/** Writes a fixstr; returns 0 where the text is not ASCII after all. */
function writeShortAscii(bytes: Buffer, at: number, text: string): number {
  const chars = text.length;
  bytes[at] = 0xa0 + chars;
  for (let index = 0; index < chars; index++) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return 0;
    bytes[at + 1 + index] = code;
  }
  return at + 1 + chars;
}

// One reader serves all: reading is synchronous and nothing below calls back out.
const shared: Reader = { bytes: Buffer.alloc(0), at: 0, to: 0 };
let wrapped: Uint8Array = shared.bytes;

/** The reader, at `from`; good until the next `open`. */
export function open(bytes: Uint8Array, from: number, to: number): Reader {
  if (!(from >= 0 && from <= to && to <= bytes.length)) throw new CodecError(`no bytes ${from} to ${to}`);
  if (bytes !== wrapped) {
    wrapped = bytes;
    shared.bytes = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }
  shared.at = from;
  shared.to = to;
  return shared;
}

export function misfit(reader: Reader, what: string): CodecError {
  return new CodecError(`${what}, before byte ${reader.at}`);
}

/** Moves past `count` bytes and returns where they begin. */
function take(reader: Reader, count: number): number {
  const from = reader.at;
  if (count > reader.to - from) throw misfit(reader, `${count} bytes wanted, ${reader.to - from} left`);
  reader.at = from + count;
  return from;
}

function take8(reader: Reader): number {
  return reader.bytes[take(reader, 1)]!;
}

function take16(reader: Reader): number {
  const from = take(reader, 2);
  return (reader.bytes[from]! << 8) | reader.bytes[from + 1]!;
}

function take32(reader: Reader): number {
  const from = take(reader, 4);
  const { bytes } = reader;
  return ((bytes[from]! << 24) | (bytes[from + 1]! << 16) | (bytes[from + 2]! << 8) | bytes[from + 3]!) >>> 0;
}

export function readArrayHead(reader: Reader): number {
  const code = take8(reader);
  let count: number;
  if ((code & 0xf0) === 0x90) count = code & 0x0f;
  else if (code === 0xdc) count = take16(reader);
  else if (code === 0xdd) count = take32(reader);
  else throw misfit(reader, `0x${code.toString(16)} is no array`);
  // Every element takes a byte at least.
  if (count > reader.to - reader.at) throw misfit(reader, `an array of ${count} elements`);
  return count;
}

export function readText(reader: Reader): string {
  return textAfter(reader, take8(reader));
}

export function readTextOrNil(reader: Reader): string | null {
  const code = take8(reader);
  return code === 0xc0 ? null : textAfter(reader, code);
}

/** A text, nil or a number. */
export function readTextNilOrNumber(reader: Reader): string | null | number {
  const code = take8(reader);
  if (code === 0xc0) return null;
  return isTextCode(code) ? textAfter(reader, code) : numberAfter(reader, code);
}

export function readTexts(reader: Reader): string[] {
  const count = readArrayHead(reader);
  const texts: string[] = [];
  for (let index = 0; index < count; index++) texts.push(readText(reader));
  return texts;
}

function isTextCode(code: number): boolean {
  return (code & 0xe0) === 0xa0 || (code >= 0xd9 && code <= 0xdb);
}

function textAfter(reader: Reader, code: number): string {
  if (code === 0xa0) return '';
  const from = takeText(reader, code);
  return textAt(reader.bytes, from, reader.at);
}

/** Moves past a text; returns where its bytes begin. They end where the reader then is. */
export function skipText(reader: Reader): number {
  return takeText(reader, take8(reader));
}

export function skipTextNilOrNumber(reader: Reader): void {
  const code = take8(reader);
  if (isTextCode(code)) takeText(reader, code);
  else if (code !== 0xc0) numberAfter(reader, code);
}

function takeText(reader: Reader, code: number): number {
  let count: number;
  if ((code & 0xe0) === 0xa0) count = code & 0x1f;
  else if (code === 0xd9) count = take8(reader);
  else if (code === 0xda) count = take16(reader);
  else if (code === 0xdb) count = take32(reader);
  else throw misfit(reader, `0x${code.toString(16)} is no text`);
  return take(reader, count);
}

/** The text whose UTF-8 is bytes[from, to). */
export function textAt(bytes: Buffer, from: number, to: number): string {
  return bytes.toString('utf8', from, to);
}

/** Moves past `length` bytes, the only length taken; returns where they begin. */
export function skipBinary(reader: Reader, length: number): number {
  if (take8(reader) !== 0xc4 || take8(reader) !== length) throw misfit(reader, `no binary of ${length} bytes`);
  return take(reader, length);
}

/** A copy of `length` bytes, the only length taken. */
export function readBinary(reader: Reader, length: number): Uint8Array {
  const from = skipBinary(reader, length);
  const { bytes } = reader;
  const value = new Uint8Array(length);
  // A plain loop: for 32 or 64 bytes it is faster than `slice` or `set`, which also leave Buffers.
  for (let index = 0; index < length; index++) value[index] = bytes[from + index]!;
  return value;
}

/** The same, or a number. */
export function readBinaryOrNumber(reader: Reader, length: number): Uint8Array | number {
  return reader.bytes[reader.at] === 0xc4 ? readBinary(reader, length) : readNumber(reader);
}

export function skipBinaryOrNumber(reader: Reader, length: number): void {
  if (reader.bytes[reader.at] === 0xc4) skipBinary(reader, length);
  else readNumber(reader);
}

/** An integer of 0 at least. */
export function readCount(reader: Reader): number {
  const value = readNumber(reader);
  if (!Number.isSafeInteger(value) || value < 0) throw misfit(reader, `${value} is no count`);
  return value;
}

export function readNumbers(reader: Reader): number[] {
  const count = readArrayHead(reader);
  const values: number[] = [];
  for (let index = 0; index < count; index++) values.push(readNumber(reader));
  return values;
}

export function readNumber(reader: Reader): number {
  return numberAfter(reader, take8(reader));
}

function numberAfter(reader: Reader, code: number): number {
  if (code < 0x80) return code;
  if (code >= 0xe0) return code - 0x100;
  switch (code) {
    case 0xcc:
      return take8(reader);
    case 0xcd:
      return take16(reader);
    case 0xce:
      return take32(reader);
    case 0xcf:
      return take32(reader) * TWO_32 + take32(reader);
    case 0xd0:
      return (take8(reader) << 24) >> 24;
    case 0xd1:
      return (take16(reader) << 16) >> 16;
    case 0xd2:
      return take32(reader) | 0;
    case 0xd3:
      return (take32(reader) | 0) * TWO_32 + take32(reader);
    case 0xcb:
      return reader.bytes.readDoubleBE(take(reader, 8));
    default:
      throw misfit(reader, `0x${code.toString(16)} is no number`);
  }
}

/** Moves past one value, whatever it is. */
export function skip(reader: Reader): void {
  // Values still to be passed; those of an array take its place.
  for (let left = 1; left > 0; left--) {
    const code = reader.bytes[reader.at]!;
    if (code === 0xc4) {
      take(reader, 1);
      take(reader, take8(reader));
    } else if (code === 0xc0) take(reader, 1);
    else if (isTextCode(code)) skipText(reader);
    else if ((code & 0xf0) === 0x90 || code === 0xdc || code === 0xdd) left += readArrayHead(reader);
    else readNumber(reader);
  }
}

/** Whether the str at `at` is this text, compared where it lies. */
export function textEquals(bytes: Uint8Array, at: number, text: string): boolean {
  const code = bytes[at]!;
  let count = code & 0x1f;
  let start = at + 1;
  if (code === 0xd9) {
    count = bytes[at + 1]!;
    start = at + 2;
  } else if (code === 0xda) {
    count = (bytes[at + 1]! << 8) | bytes[at + 2]!;
    start = at + 3;
  } else if ((code & 0xe0) !== 0xa0) return false;
  // UTF-8 never takes fewer bytes than UTF-16 takes units.
  if (text.length > count) return false;
  for (let index = text.length - 1; index >= 0; index--) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) return Buffer.from(text, 'utf8').equals(bytes.subarray(start, start + count));
    if (text.length === count && bytes[start + index] !== unit) return false;
  }
  return text.length === count;
}

/** Where the str at `at` ends. */
export function textEnd(bytes: Uint8Array, at: number): number {
  const code = bytes[at]!;
  if (code === 0xd9) return at + 2 + bytes[at + 1]!;
  if (code === 0xda) return at + 3 + ((bytes[at + 1]! << 8) | bytes[at + 2]!);
  return at + 1 + (code & 0x1f);
}

/** The count at `at`, where it takes four bytes at most. */
export function countAt(bytes: Uint8Array, at: number): number {
  const code = bytes[at]!;
  if (code < 0x80) return code;
  const size = countEnd(bytes, at) - at;
  let count = 0;
  for (let index = 1; index < size; index++) count = count * 0x100 + bytes[at + index]!;
  return count;
}

/** Where it ends. */
export function countEnd(bytes: Uint8Array, at: number): number {
  const code = bytes[at]!;
  // One, two or four bytes behind the code.
  return at + 1 + (code < 0x80 ? 0 : 1 << (code - 0xcc));
}
