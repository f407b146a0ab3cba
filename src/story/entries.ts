/**
 * Reads from the bytes of journal entries what they tell of a record: MessagePack as storage/codec.ts writes it, in any
 * format version. That file needs Node and reads for a server. This one reads for whoever has to be convinced, in a
 * browser too, and shares no code with it, so that the two do not misread alike.
 *
 * What always holds: an entry is read whole, to its last byte, with the elements that its type has, or the check ends.
 */
import { decodeBase64, encodeBase64, isoOf, sha256, textOfUtf8 } from './bytes.ts';
import { expect } from './not-proven.ts';

/** A proof as an entry tells of it. Key and signature as base64; the signature is null where no entry holds it. */
export interface ToldProof {
  public: string;
  result: string | null;
  /** Canonical text, or null where it has none. */
  custom: string | null;
}

/** How an intent went on. */
export interface ToldOutcome {
  moment: number;
  steps: string[];
  reason: string;
  detail: string;
  links: ToldLinks | null;
}

interface ToldLinks {
  /** Of each leg, whether it is a credit. */
  legs: boolean[];
  isRouted: boolean;
  failId: string;
  /** Which leg an error speaks of, from 1 on; 0 for none. */
  leg: number;
}

export interface ToldEntry {
  luid: string;
  type: number;
  moment: number;
  /** Written before format version 3: the server's proofs of an outcome do not name the intent. */
  isEarly: boolean;
  /** Canonical data; null where the entry has none. */
  data: string | null;
  /** The server's signature over a version. */
  seal: string | null;
  proofs: ToldProof[];
  status: string | null;
  labels: string[] | null;
  thread: string | null;
  outcome: ToldOutcome | null;
}

export const Type = { create: 1, update: 2, drop: 3, proof: 4, intent: 5, step: 6 } as const;

/**
 * How many elements an entry has, by the number of its type. A proof that changed labels has one more, and so has an
 * intent in version 1.
 */
const ELEMENTS = [0, 10, 11, 10, 9, 11, 8];
const TYPES = 8;
const LAST_VERSION = 3;

const STATUSES = ['pending', 'prepared', 'committed', 'completed', 'failed', 'aborted', 'rejected', 'error'];
const AT_ONCE = STATUSES.slice(1, 4);

/** Characters of a moment whose year has four digits. */
const ISO_CHARS = 24;

/** The alphabet of luids, in the order of its values. */
const LUID_DIGITS = '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz';
const LUID = /^\$[a-z]{3}\.[-0-9A-Z_a-z]{17}$/;

export function readEntry(bytes: Uint8Array): ToldEntry {
  const list = unpackWhole(bytes);
  expect(Array.isArray(list) && list.length > 6, ODD);
  const luid = textIn(list[0]);
  expect(LUID.test(luid), ODD);
  const code = countIn(list[2]);
  const version = Math.ceil(code / TYPES);
  const type = ((code + TYPES - 1) % TYPES) + 1;
  expect(version <= LAST_VERSION, 'an entry of a later format');
  const isFirst = version === 1;
  const hasMore = (type === Type.proof && list.length === 10) || (type === Type.intent && isFirst);
  // An unknown type has 0 elements, which no list here has.
  expect(list.length === (ELEMENTS[type] ?? 0) + (hasMore ? 1 : 0), ODD);
  const moment = momentIn(list[5], isFirst ? 0 : 1000 * secondOf(luid));
  const entry: ToldEntry = {
    luid,
    type,
    moment,
    isEarly: version < 3,
    data: null,
    seal: null,
    proofs: [],
    status: null,
    labels: null,
    thread: null,
    outcome: null,
  };
  const base = isFirst ? 0 : moment;
  const rest = list.slice(6);
  if (type === Type.proof) {
    entry.proofs = [proofIn(rest[1], moment, '')];
    entry.status = rest[2] === null ? null : textIn(rest[2]);
    entry.labels = hasMore ? listIn(rest[3]).map(textIn) : null;
    return entry;
  }
  if (type === Type.step) {
    entry.outcome = outcomeIn(rest[1], base);
    return entry;
  }
  // From version 2 on an intent's hash is not written: it follows from the data.
  const [data, proofs, seal, thread, outcome] = type === Type.intent && !isFirst ? rest : rest.slice(1);
  const text = textIn(data);
  entry.data = text;
  entry.proofs = listIn(proofs).map((proof) => proofIn(proof, moment, text));
  if (type === Type.drop) return entry;
  entry.seal = encodeBase64(binaryIn(seal, 64));
  if (type !== Type.intent) return entry;
  entry.thread = thread === null ? luid.slice(5) : textIn(thread);
  expect(entry.thread !== '', ODD);
  entry.outcome = outcomeIn(outcome, base);
  return entry;
}

function secondOf(luid: string): number {
  let second = 0;
  for (const digit of luid.slice(5, 11)) second = 64 * second + LUID_DIGITS.indexOf(digit);
  return second;
}

/** A key may be given by its place in the data, a custom by its moment alone. */
function proofIn(value: Packed | undefined, moment: number, data: string): ToldProof {
  const [key, result, custom, ...more] = listIn(value);
  expect(more.length === 0, ODD);
  return { public: keyIn(key, data), result: encodeBase64(binaryIn(result, 64)), custom: customIn(custom, moment) };
}

function keyIn(value: Packed | undefined, data: string): string {
  if (typeof value !== 'number') return encodeBase64(binaryIn(value, 32));
  const at = countIn(value);
  return encodeBase64(decodeBase64(data.slice(at, at + 44), 32));
}

function customIn(value: Packed | undefined, moment: number): string | null {
  if (value === null) return null;
  if (typeof value !== 'number') return textIn(value);
  const text = isoOf(moment + numberIn(value));
  // A moment whose year has more digits is written as text.
  expect(text.length === ISO_CHARS, ODD);
  return `{"moment":"${text}","status":"created"}`;
}

/** As storage/outcomes.ts writes them: two or five elements where an intent came to its end at once. */
function outcomeIn(value: Packed | undefined, base: number): ToldOutcome {
  const list = listIn(value);
  const moment = momentIn(list[0], base);
  if (list.length === 2 || list.length === 5) return { moment, steps: AT_ONCE, reason: '', detail: '', links: null };
  expect(list.length === 6 || list.length === 7, ODD);
  const steps = listIn(list[1]).map((step) => STATUSES[countIn(step)] ?? '');
  expect(!steps.includes(''), ODD);
  const links = list.length === 7 ? linksIn(list[6]) : null;
  return { moment, steps, reason: textIn(list[2]), detail: textIn(list[3]), links };
}

function linksIn(value: Packed | undefined): ToldLinks {
  const list = listIn(value);
  expect(list.length === 8, ODD);
  const sides = listIn(list[0]).map((leg) => countIn(listIn(leg)[0]));
  expect(
    sides.every((side) => side < 2),
    ODD,
  );
  const isRouted = listIn(list[3]).length + listIn(list[4]).length > 0;
  return { legs: sides.map((side) => side === 1), isRouted, failId: textIn(list[6]), leg: countIn(list[7]) };
}

// ---------------------------------------------------------------- what is packed is of the type that belongs there

const ODD = 'an entry as no server writes it';

function textIn(value: Packed | undefined): string {
  expect(typeof value === 'string', ODD);
  return value;
}

function numberIn(value: Packed | undefined): number {
  expect(Number.isSafeInteger(value), ODD);
  return value as number;
}

/** No server has written before 1970. */
function momentIn(value: Packed | undefined, base: number): number {
  const moment = base + numberIn(value);
  expect(moment >= 0, ODD);
  return moment;
}

function countIn(value: Packed | undefined): number {
  const count = numberIn(value);
  expect(count >= 0, ODD);
  return count;
}

function binaryIn(value: Packed | undefined, length: number): Uint8Array {
  expect(value instanceof Uint8Array && value.length === length, ODD);
  return value;
}

function listIn(value: Packed | undefined): Packed[] {
  expect(Array.isArray(value), ODD);
  return value;
}

// ---------------------------------------------------------------- MessagePack

type Packed = null | number | string | Uint8Array | Packed[];

interface Reader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at: number;
}

function unpackWhole(bytes: Uint8Array): Packed {
  const reader = { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), at: 0 };
  const value = unpack(reader, 0);
  expect(reader.at === bytes.length, ODD);
  return value;
}

/** Lists in lists: an outcome's links have legs. */
const DEPTH_MAX = 8;

function unpack(reader: Reader, depth: number): Packed {
  const code = take(reader, 1)[0]!;
  if (code < 0x80) return code;
  if (code >= 0xe0) return code - 0x100;
  if (code >> 4 === 9) return unpackList(reader, code & 15, depth);
  if (code >> 5 === 5) return textOfUtf8(take(reader, code & 31));
  switch (code) {
    case 0xc0:
      return null;
    case 0xc4:
      return take(reader, unsigned(reader, 1));
    case 0xcb:
      // Only amounts may have fractions, and nothing here reads amounts; all else is written as integers.
      skip(reader, 8);
      return Number.NaN;
    case 0xcc:
      return unsigned(reader, 1);
    case 0xcd:
      return unsigned(reader, 2);
    case 0xce:
      return unsigned(reader, 4);
    case 0xcf:
      return Number(reader.view.getBigUint64(skip(reader, 8)));
    case 0xd0:
      return reader.view.getInt8(skip(reader, 1));
    case 0xd1:
      return reader.view.getInt16(skip(reader, 2));
    case 0xd2:
      return reader.view.getInt32(skip(reader, 4));
    case 0xd3:
      return Number(reader.view.getBigInt64(skip(reader, 8)));
    case 0xd9:
      return textOfUtf8(take(reader, unsigned(reader, 1)));
    case 0xda:
      return textOfUtf8(take(reader, unsigned(reader, 2)));
    case 0xdb:
      return textOfUtf8(take(reader, unsigned(reader, 4)));
    case 0xdc:
      return unpackList(reader, unsigned(reader, 2), depth);
    case 0xdd:
      return unpackList(reader, unsigned(reader, 4), depth);
  }
  expect(false, ODD);
}

function unpackList(reader: Reader, count: number, depth: number): Packed[] {
  expect(depth < DEPTH_MAX, ODD);
  const values: Packed[] = [];
  for (let left = count; left > 0; left--) values.push(unpack(reader, depth + 1));
  return values;
}

/** Moves past so many bytes; returns where they begin. */
function skip(reader: Reader, count: number): number {
  const from = reader.at;
  expect(count <= reader.bytes.length - from, ODD);
  reader.at = from + count;
  return from;
}

function take(reader: Reader, count: number): Uint8Array {
  const from = skip(reader, count);
  return reader.bytes.subarray(from, reader.at);
}

function unsigned(reader: Reader, bytes: number): number {
  let value = 0;
  for (const byte of take(reader, bytes)) value = 256 * value + byte;
  return value;
}

/** The SHA-256 of an entry, base64: by it a frame lists the entry. */
export function entryHash(bytes: Uint8Array): string {
  return encodeBase64(sha256(bytes));
}
