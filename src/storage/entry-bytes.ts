/**
 * The bytes of an entry: how they are laid out, and what is asked of them where they lie, in the journal and in the
 * record heap, without an entry being made of them. codec.ts makes them of entries, and entries of them.
 *
 * An entry is one array. What is written now, version 3, has these elements in this order:
 *
 *     luid (22 ASCII characters), handle, type + 16, ledger, kind, moment, then by type
 *     create:  hash, data, proofs, seal
 *     update:  hash, data, proofs, seal, row
 *     drop:    hash, data, proofs, row
 *     proof:   row, proof, status | nil, and where it changed them, labels
 *     intent:  data, proofs, seal, thread | nil, outcome
 *     step:    row, outcome
 *     token:   exp
 *     delivery: row, seq, index, attempts, delivered (1) or not (0), detail
 *
 * with proof = [public | place, result, custom | nil | moment], and outcomes as outcomes.ts tells; strings as str;
 * keys, hashes and signatures as bin. Never more than 15 elements, so the array's header is one byte, the luid's
 * another, and both luid and handle are compared where they lie.
 *
 * Intents are many, and what follows from the rest of one is left out of it: of moments all but what they are after
 * another (an entry's after the second its luid counts, a proof's and an outcome's after the entry's); an intent's
 * hash, which is the SHA-256 of its data; a thread that is named after the intent itself (nil); and of what nearly all
 * clients say beside their signature all but its moment (customs.ts). A key that stands in the data which it signed is
 * told by its place there (keys-in-data.ts). The frame's hash covers data, so nothing is proven less.
 *
 * All versions are read for ever, and may lie in one journal and one heap: each entry says by its type of which it is.
 *
 * - Version 2, written until 0.2.0: type + 8. Its bytes are the same otherwise; its outcomes are early ones
 *   (core/entry.ts).
 * - Version 1, written until 0.1.0: type is the type itself, 1 to 8; all moments are milliseconds since 1970; an intent
 *   has its hash, before data, and always its thread; a proof has its key, and its custom is a text or nil; outcomes
 *   are whole, and early ones.
 */
import type { Names } from '../core/codec.ts';
import { EntryType } from '../core/entry.ts';
import type { Kind } from '../core/kinds.ts';
import { isDated } from '../core/used-proofs.ts';
import { HASH_BYTES, SIGNATURE_BYTES } from './format.ts';
import * as msgpack from './msgpack.ts';
import { noteHashes, noteOutline } from './outline.ts';

export const LUID_CHARS = 22;
export const KEY_BYTES = 32;
/** Where the luid's characters begin, and the handle's header, counted from the entry's first byte. */
const LUID_AT = 2;
export const HANDLE_AT = LUID_AT + LUID_CHARS;
/** Luid, handle and type, with which every entry begins. */
const HEAD_ELEMENTS = 3;
/** Ledger, kind and moment, which every entry has next. */
const NEXT_ELEMENTS = 3;
export const PROOF_ELEMENTS = 3;
/** So many types there are; those of each version lie so far behind those of the one before. */
export const TYPES = 8;

/** An entry's version and type, by the number that tells both. */
export function versionIn(code: number): number {
  return Math.ceil(code / TYPES);
}

export function typeIn(code: number): EntryType {
  return (((code - 1) % TYPES) + 1) as EntryType;
}

/**
 * Moves `cursor.at` behind the entry there, and looks no closer. Throws CodecError where it does not end before `to`.
 */
export function passNext(bytes: Uint8Array, cursor: { at: number }, to: number): void {
  const reader = msgpack.open(bytes, cursor.at, to);
  msgpack.skip(reader);
  cursor.at = reader.at;
}

/**
 * `passNext` that notes the outline of an intent in the words from `at` on, where there is room, and the hashes of its
 * names, where there is a seed. Returns where the next note goes.
 */
export function passNextNoting(
  bytes: Uint8Array,
  cursor: { at: number },
  to: number,
  words: Int32Array,
  at: number,
  hashSeed?: number,
): number {
  const reader = msgpack.open(bytes, cursor.at, to);
  let left = msgpack.readArrayHead(reader) - HEAD_ELEMENTS;
  const luid = { from: msgpack.skipText(reader), to: reader.at };
  const handle = { from: msgpack.skipText(reader), to: reader.at };
  const code = msgpack.readCount(reader);
  let next = at;
  if (typeIn(code) === EntryType.intent) {
    // Of version 1 the hash stands before the data.
    const before = NEXT_ELEMENTS + (versionIn(code) === 1 ? 1 : 0);
    for (let index = 0; index < before; index++) msgpack.skip(reader);
    const from = msgpack.skipText(reader);
    left -= before + 1;
    next = noteOutline(reader.bytes, from, reader.at, words, at) || at;
    if (next !== at && hashSeed !== undefined) noteHashes(reader.bytes, words, at, hashSeed, luid, handle);
  }
  for (; left > 0; left--) msgpack.skip(reader);
  cursor.at = reader.at;
  return next;
}

// ---------------------------------------------------------------- what the core asks (EntryCodec)

// Of entries that were checked when they came in: these trust them.

export function luidEquals(bytes: Uint8Array, from: number, luid: string): boolean {
  if (luid.length !== LUID_CHARS) return false;
  const start = from + LUID_AT;
  // From the back: luids of one second differ only there.
  for (let index = LUID_CHARS - 1; index >= 0; index--) {
    if (bytes[start + index] !== luid.charCodeAt(index)) return false;
  }
  return true;
}

export function isNamed(bytes: Uint8Array, from: number, ledger: number, kind: Kind, handle: string): boolean {
  if (!msgpack.textEquals(bytes, from + HANDLE_AT, handle)) return false;
  const at = ledgerAt(bytes, from);
  if (msgpack.countAt(bytes, at) !== ledger) return false;
  return msgpack.countAt(bytes, msgpack.countEnd(bytes, at)) === kind;
}

export function ledgerOf(bytes: Uint8Array, from: number): number {
  return msgpack.countAt(bytes, ledgerAt(bytes, from));
}

function ledgerAt(bytes: Uint8Array, from: number): number {
  return msgpack.countEnd(bytes, msgpack.textEnd(bytes, from + HANDLE_AT));
}

export function typeOf(bytes: Uint8Array, from: number): EntryType {
  return typeIn(codeOf(bytes, from));
}

/** The format version that the entry is of. */
export function versionOf(bytes: Uint8Array, from: number): number {
  return versionIn(codeOf(bytes, from));
}

function codeOf(bytes: Uint8Array, from: number): number {
  return msgpack.countAt(bytes, msgpack.textEnd(bytes, from + HANDLE_AT));
}

export function names(bytes: Uint8Array, from: number, to: number): Names {
  const reader = msgpack.open(bytes, from + LUID_AT - 1, to);
  return { luid: msgpack.readText(reader), handle: msgpack.readText(reader) };
}

export function signatures(bytes: Uint8Array, from: number, to: number): readonly number[] {
  return signaturesWhere(bytes, from, to, (reader) => {
    msgpack.skipTextNilOrNumber(reader);
    return true;
  });
}

export function datedSignatures(bytes: Uint8Array, from: number, to: number): readonly number[] {
  return signaturesWhere(bytes, from, to, (reader) => {
    const custom = msgpack.readTextNilOrNumber(reader);
    return typeof custom === 'number' || isDated(custom);
  });
}

/**
 * Where the signatures of an entry's proofs lie, as far as what is said beside them, which `passesCustom` reads, is
 * wanted.
 */
function signaturesWhere(
  bytes: Uint8Array,
  from: number,
  to: number,
  passesCustom: (reader: msgpack.Reader) => boolean,
): number[] {
  const found: number[] = [];
  if (typeOf(bytes, from) > EntryType.proof) return found;
  const reader = msgpack.open(bytes, from, to);
  for (let count = passToProofs(reader); count > 0; count--) {
    msgpack.readArrayHead(reader);
    msgpack.skipBinaryOrNumber(reader, KEY_BYTES);
    const signature = msgpack.skipBinary(reader, SIGNATURE_BYTES);
    if (passesCustom(reader)) found.push(signature);
  }
  return found;
}

export function proofCount(bytes: Uint8Array, from: number, to: number): number {
  return passToProofs(msgpack.open(bytes, from, to));
}

/** Moves the reader of an entry to its first proof, of which it has so many; of one that can have none anywhere. */
function passToProofs(reader: msgpack.Reader): number {
  msgpack.readArrayHead(reader);
  msgpack.skipText(reader);
  msgpack.skipText(reader);
  const code = msgpack.readCount(reader);
  const type = typeIn(code);
  const isVersion = type < EntryType.proof || type === EntryType.intent;
  if (!isVersion && type !== EntryType.proof) return 0;
  for (let index = 0; index < NEXT_ELEMENTS; index++) msgpack.skip(reader);
  if (!isVersion) {
    msgpack.readCount(reader);
    return 1;
  }
  if (type !== EntryType.intent || versionIn(code) === 1) msgpack.skipBinary(reader, HASH_BYTES);
  msgpack.skipText(reader);
  return msgpack.readArrayHead(reader);
}
