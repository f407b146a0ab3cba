/**
 * Entries as MessagePack, and back. The same bytes lie in the journal and in the record heap, so this is
 * the hottest code of the room: entries are written and read by hand, field by field in one fixed order,
 * which was measured against msgpackr (bench/journal.ts) and needs no intermediate objects. What is
 * written is plain MessagePack with the shortest encodings; any reader of it reads an entry.
 *
 * Bytes being read are checked against their end and for the exact shape before anything is allocated;
 * what does not fit throws CodecError. Strings are UTF-8: a lone surrogate would not survive, and
 * canonical JSON has none.
 */
import assert from 'node:assert/strict';
import type { EntryCodec } from '../core/codec.ts';
import {
  type CreateEntry,
  type CreateFacts,
  type DeliveryEntry,
  type DropEntry,
  type Entry,
  EntryType,
  type Facts,
  type IntentEntry,
  type IntentFacts,
  type ProofEntry,
  type StepEntry,
  type StoredProof,
  type TokenEntry,
  threadOf,
  type UpdateEntry,
} from '../core/entry.ts';
import { KINDS, type Kind } from '../core/kinds.ts';
import { secondOf } from '../core/luid.ts';
import { isAskedWhole } from '../core/outline.ts';
import { createdText, momentIn } from './customs.ts';
import {
  datedSignatures,
  HANDLE_AT,
  isNamed,
  KEY_BYTES,
  LUID_CHARS,
  ledgerOf,
  luidEquals,
  names,
  PROOF_ELEMENTS,
  proofCount,
  signatures,
  TYPES,
  typeIn,
  typeOf,
  versionIn,
} from './entry-bytes.ts';
import { FORMAT_VERSION, HASH_BYTES, SIGNATURE_BYTES, sha256 } from './format.ts';
import type { FrameBuffer } from './frame-buffer.ts';
import { keyAt, placeOf } from './keys-in-data.ts';
import * as msgpack from './msgpack.ts';
import { outcomeBytesMax, readMoment, readOutcome, writeMoment, writeOutcome } from './outcomes.ts';
import { type OutlineNotes, readAsked, readIntentOutline } from './outline.ts';

/** More than the headers and numbers of any entry's fixed fields take together. */
const FIXED_BYTES_MAX = 256;
const PROOF_BYTES_MAX = 128;

/** Entries lie in frames of the same version. */
const TYPE_BASE = (FORMAT_VERSION - 1) * TYPES;
const ELEMENTS = { 1: 10, 2: 11, 3: 10, 4: 9, 5: 11, 6: 8, 7: 7, 8: 12 } as const satisfies Record<EntryType, number>;
/** Where a proof changed labels, they come last. */
const LABELLED_ELEMENTS = ELEMENTS[EntryType.proof] + 1;
/** Version 1 has their hash. */
const FIRST_INTENT_ELEMENTS = ELEMENTS[EntryType.intent] + 1;

/** Appends the entry to the buffer. The hash of an intent is trusted to be that of its data. */
export function encode(entry: Entry, buffer: FrameBuffer): void {
  assert(entry.luid.length === LUID_CHARS, 'a luid has 22 characters');
  buffer.reserve(encodedBytesMax(entry));
  const bytes = buffer.bytes;
  let at = buffer.end;
  bytes[at++] = 0x90 + (isLabelled(entry) ? LABELLED_ELEMENTS : ELEMENTS[entry.type]);
  at = msgpack.writeText(bytes, at, entry.luid);
  assert(at === buffer.end + HANDLE_AT, 'a luid is ASCII');
  at = msgpack.writeText(bytes, at, entry.handle);
  at = msgpack.writeCount(bytes, at, TYPE_BASE + entry.type);
  at = msgpack.writeCount(bytes, at, entry.ledger);
  at = msgpack.writeCount(bytes, at, entry.kind);
  at = writeMoment(bytes, at, entry.moment, secondOf(entry.luid));
  buffer.end = writeBody(bytes, at, entry);
}

function isLabelled(entry: Entry): boolean {
  return entry.type === EntryType.proof && entry.labels !== undefined;
}

function writeBody(bytes: Buffer, start: number, entry: Entry): number {
  let at = start;
  const { moment } = entry;
  if (entry.type === EntryType.intent) {
    at = msgpack.writeText(bytes, at, entry.data);
    at = writeProofs(bytes, at, entry.proofs, entry.data, moment);
    at = msgpack.writeBinary(bytes, at, entry.seal, SIGNATURE_BYTES);
    at = msgpack.writeTextOrNil(bytes, at, entry.thread === threadOf(entry.luid) ? null : entry.thread);
    return writeOutcome(bytes, at, entry.outcome, moment);
  }
  if (entry.type === EntryType.proof) {
    at = msgpack.writeCount(bytes, at, entry.row);
    at = writeProof(bytes, at, entry.proof, '', moment);
    at = msgpack.writeTextOrNil(bytes, at, entry.status);
    return entry.labels === undefined ? at : msgpack.writeTexts(bytes, at, entry.labels);
  }
  if (entry.type === EntryType.token) return msgpack.writeCount(bytes, at, entry.exp);
  if (entry.type === EntryType.step)
    return writeOutcome(bytes, msgpack.writeCount(bytes, at, entry.row), entry.outcome, moment);
  if (entry.type === EntryType.delivery) {
    at = msgpack.writeCount(bytes, at, entry.row);
    at = msgpack.writeCount(bytes, at, entry.seq);
    at = msgpack.writeCount(bytes, at, entry.index);
    at = msgpack.writeCount(bytes, at, entry.attempts);
    at = msgpack.writeCount(bytes, at, entry.isDelivered ? 1 : 0);
    return msgpack.writeText(bytes, at, entry.detail);
  }
  at = msgpack.writeBinary(bytes, at, entry.hash, HASH_BYTES);
  at = msgpack.writeText(bytes, at, entry.data);
  at = writeProofs(bytes, at, entry.proofs, entry.data, moment);
  if (entry.type === EntryType.drop) return msgpack.writeCount(bytes, at, entry.row);
  at = msgpack.writeBinary(bytes, at, entry.seal, SIGNATURE_BYTES);
  return entry.type === EntryType.update ? msgpack.writeCount(bytes, at, entry.row) : at;
}

function writeProofs(
  bytes: Buffer,
  start: number,
  proofs: readonly StoredProof[],
  data: string,
  moment: number,
): number {
  let at = msgpack.writeArrayHead(bytes, start, proofs.length);
  // Not with an iterator: nearly all have one.
  for (let index = 0; index < proofs.length; index++) at = writeProof(bytes, at, proofs[index]!, data, moment);
  return at;
}

/** `data`: what was signed, where the entry has it. */
function writeProof(bytes: Buffer, start: number, proof: StoredProof, data: string, moment: number): number {
  const { custom } = proof;
  let at = start;
  bytes[at++] = 0x90 + PROOF_ELEMENTS;
  const place = placeOf(data, proof.public);
  if (place < 0) at = msgpack.writeBinary(bytes, at, proof.public, KEY_BYTES);
  else at = msgpack.writeCount(bytes, at, place);
  at = msgpack.writeBinary(bytes, at, proof.result, SIGNATURE_BYTES);
  const after = custom === null ? Number.NaN : momentIn(custom) - moment;
  if (Number.isSafeInteger(after)) return msgpack.writeNumber(bytes, at, after);
  return msgpack.writeTextOrNil(bytes, at, custom);
}

/** An upper bound of what `encode` appends: three bytes a character, nine a number. */
function encodedBytesMax(entry: Entry): number {
  let chars = entry.handle.length;
  let rest = FIXED_BYTES_MAX;
  if (entry.type === EntryType.proof) {
    chars += (entry.proof.custom?.length ?? 0) + (entry.status?.length ?? 0);
    // Two more characters have room for the five bytes that a text's own header takes at most.
    for (const label of entry.labels ?? []) chars += label.length + 2;
    return rest + PROOF_BYTES_MAX + 3 * chars;
  }
  if (entry.type === EntryType.token) return rest + 3 * chars;
  if (entry.type === EntryType.delivery) return rest + 3 * (chars + entry.detail.length);
  if (entry.type === EntryType.step) return rest + outcomeBytesMax(entry.outcome) + 3 * chars;
  chars += entry.data.length;
  for (const proof of entry.proofs) {
    chars += proof.custom?.length ?? 0;
    rest += PROOF_BYTES_MAX;
  }
  if (entry.type === EntryType.intent) {
    chars += entry.thread.length;
    rest += outcomeBytesMax(entry.outcome);
  }
  return rest + 3 * chars;
}

/** The entry whose bytes are bytes[from, to); it shares no memory with them. Throws CodecError. */
export function decode(bytes: Uint8Array, from: number, to: number): Entry {
  const reader = msgpack.open(bytes, from, to);
  const entry = readEntry<Entry>(reader, readIntent);
  if (reader.at !== to) throw msgpack.misfit(reader, 'bytes after the entry');
  return entry;
}

/** Like `decode` for entries that lie one after the other: reads one at `cursor.at` and moves that behind it. */
export function decodeNext(bytes: Uint8Array, cursor: { at: number }, to: number): Entry {
  const reader = msgpack.open(bytes, cursor.at, to);
  const entry = readEntry<Entry>(reader, readIntent);
  cursor.at = reader.at;
  return entry;
}

/**
 * `decodeNext` for replay: of intents, and of most new records, only what changes the state, and nothing of what they
 * were signed with. `notes`: of the intents from here on, where somebody made them ahead.
 */
export function decodeNextFacts(bytes: Uint8Array, cursor: { at: number }, to: number, notes?: OutlineNotes): Facts {
  const reader = msgpack.open(bytes, cursor.at, to);
  const facts = readEntry<Facts>(reader, readIntentFacts, readCreateFacts, notes);
  cursor.at = reader.at;
  return facts;
}

/** How what follows an intent's head is read. */
type ReadIntent<E> = (...args: Parameters<typeof readIntentFacts>) => E;
/** The same for a new record, of a kind that is not asked for whole. */
type ReadCreate<E> = (...args: Parameters<typeof readCreateFacts>) => E;

function readEntry<E>(
  reader: msgpack.Reader,
  readsIntent: ReadIntent<E>,
  readsCreate?: ReadCreate<E>,
  notes?: OutlineNotes,
): Exclude<Entry, IntentEntry> | E {
  const elements = msgpack.readArrayHead(reader);
  const luid = msgpack.readText(reader);
  if (luid.length !== LUID_CHARS) throw msgpack.misfit(reader, 'a luid of another length');
  const handle = msgpack.readText(reader);
  const code = msgpack.readCount(reader);
  const version = versionIn(code);
  const type = typeIn(code);
  if (version > FORMAT_VERSION || !isLength(elements, type, version))
    throw msgpack.misfit(reader, `no entry of type ${code}`);
  const ledger = msgpack.readCount(reader);
  const kind = msgpack.readCount(reader);
  if (kind >= KINDS.length) throw msgpack.misfit(reader, `no kind ${kind}`);
  const moment = readMoment(reader, version === 1 ? 0 : secondOf(luid));
  if (type === EntryType.intent) return readsIntent(reader, version, ledger, kind as Kind, luid, handle, moment, notes);
  if (type === EntryType.create && readsCreate !== undefined && !isAskedWhole(kind as Kind))
    return readsCreate(reader, ledger, kind as Kind, luid, handle, moment);
  const entry = readBody(reader, version, type, ledger, kind as Kind, luid, handle, moment);
  if (elements === LABELLED_ELEMENTS && type === EntryType.proof) {
    (entry as ProofEntry).labels = msgpack.readTexts(reader);
  }
  return entry;
}

/** Whether an entry of this type may have so many elements. */
function isLength(elements: number, type: EntryType, version: number): boolean {
  if (type === EntryType.intent) return elements === (version === 1 ? FIRST_INTENT_ELEMENTS : ELEMENTS[type]);
  return elements === ELEMENTS[type] || (type === EntryType.proof && elements === LABELLED_ELEMENTS);
}

type OtherType = Exclude<EntryType, typeof EntryType.intent>;

// Each literal names its fields in the order of its interface, so that all entries of a type share a shape.
function readBody(
  reader: msgpack.Reader,
  version: number,
  type: OtherType,
  ledger: number,
  kind: Kind,
  luid: string,
  handle: string,
  moment: number,
): Exclude<Entry, IntentEntry> {
  if (type === EntryType.proof) {
    const row = msgpack.readCount(reader);
    const proof = readProof(reader, version, '', moment);
    const status = msgpack.readTextOrNil(reader);
    return { type, ledger, kind, luid, handle, moment, row, proof, status } satisfies ProofEntry;
  }
  if (type === EntryType.step) {
    const row = msgpack.readCount(reader);
    const outcome = readOutcome(reader, version, moment);
    return { type, ledger, kind, luid, handle, moment, row, outcome } satisfies StepEntry;
  }
  if (type === EntryType.token) {
    return { type, ledger, kind, luid, handle, moment, exp: msgpack.readCount(reader) } satisfies TokenEntry;
  }
  if (type === EntryType.delivery) {
    const row = msgpack.readCount(reader);
    const seq = msgpack.readCount(reader);
    const index = msgpack.readCount(reader);
    const attempts = msgpack.readCount(reader);
    const isDelivered = readFlag(reader);
    const detail = msgpack.readText(reader);
    const event = { row, seq, index, attempts, isDelivered, detail };
    return { type, ledger, kind, luid, handle, moment, ...event } satisfies DeliveryEntry;
  }
  const hash = msgpack.readBinary(reader, HASH_BYTES);
  const data = msgpack.readText(reader);
  const proofs = readProofs(reader, version, data, moment);
  if (type === EntryType.drop) {
    const row = msgpack.readCount(reader);
    return { type, ledger, kind, luid, handle, moment, row, hash, data, proofs } satisfies DropEntry;
  }
  const seal = msgpack.readBinary(reader, SIGNATURE_BYTES);
  if (type === EntryType.create) {
    return { type, ledger, kind, luid, handle, moment, hash, data, proofs, seal } satisfies CreateEntry;
  }
  const row = msgpack.readCount(reader);
  return { type, ledger, kind, luid, handle, moment, hash, data, proofs, seal, row } satisfies UpdateEntry;
}

function readFlag(reader: msgpack.Reader): boolean {
  const value = msgpack.readCount(reader);
  if (value > 1) throw msgpack.misfit(reader, `${value} is neither yes nor no`);
  return value === 1;
}

function readIntent(
  reader: msgpack.Reader,
  version: number,
  ledger: number,
  kind: Kind,
  luid: string,
  handle: string,
  moment: number,
): IntentEntry {
  const type = EntryType.intent;
  const stated = version === 1 ? msgpack.readBinary(reader, HASH_BYTES) : null;
  const data = msgpack.readText(reader);
  const proofs = readProofs(reader, version, data, moment);
  const seal = msgpack.readBinary(reader, SIGNATURE_BYTES);
  const thread = readThread(reader, version, luid);
  const outcome = readOutcome(reader, version, moment);
  const hash = stated ?? sha256(data);
  return { type, ledger, kind, luid, handle, moment, hash, data, proofs, seal, thread, outcome };
}

function readIntentFacts(
  reader: msgpack.Reader,
  version: number,
  ledger: number,
  kind: Kind,
  luid: string,
  handle: string,
  moment: number,
  notes: OutlineNotes | undefined,
): IntentFacts {
  const type = EntryType.intent;
  if (version === 1) msgpack.skipBinary(reader, HASH_BYTES);
  const outline = readIntentOutline(reader.bytes, msgpack.skipText(reader), reader.at, notes);
  for (let left = msgpack.readArrayHead(reader); left > 0; left--) skipProof(reader);
  msgpack.skipBinary(reader, SIGNATURE_BYTES);
  const thread = readThread(reader, version, luid);
  const outcome = readOutcome(reader, version, moment);
  return { type, ledger, kind, luid, handle, moment, thread, outcome, outline };
}

function readCreateFacts(
  reader: msgpack.Reader,
  ledger: number,
  kind: Kind,
  luid: string,
  handle: string,
  moment: number,
): CreateFacts {
  msgpack.skipBinary(reader, HASH_BYTES);
  const asked = readAsked(reader.bytes, msgpack.skipText(reader), reader.at);
  for (let left = msgpack.readArrayHead(reader); left > 0; left--) skipProof(reader);
  msgpack.skipBinary(reader, SIGNATURE_BYTES);
  return { type: EntryType.create, ledger, kind, luid, handle, moment, asked };
}

function readThread(reader: msgpack.Reader, version: number, luid: string): string {
  const thread = (version === 1 ? msgpack.readText(reader) : msgpack.readTextOrNil(reader)) ?? threadOf(luid);
  if (thread === '') throw msgpack.misfit(reader, 'a thread without a name');
  return thread;
}

function readProofs(reader: msgpack.Reader, version: number, data: string, moment: number): StoredProof[] {
  const count = msgpack.readArrayHead(reader);
  const proofs: StoredProof[] = [];
  for (let index = 0; index < count; index++) proofs.push(readProof(reader, version, data, moment));
  return proofs;
}

function readProof(reader: msgpack.Reader, version: number, data: string, moment: number): StoredProof {
  if (msgpack.readArrayHead(reader) !== PROOF_ELEMENTS) throw msgpack.misfit(reader, 'a proof of another length');
  return {
    public: version === 1 ? msgpack.readBinary(reader, KEY_BYTES) : readKey(reader, data),
    result: msgpack.readBinary(reader, SIGNATURE_BYTES),
    custom: version === 1 ? msgpack.readTextOrNil(reader) : readCustom(reader, moment),
  };
}

function readKey(reader: msgpack.Reader, data: string): Uint8Array {
  const value = msgpack.readBinaryOrNumber(reader, KEY_BYTES);
  if (typeof value !== 'number') return value;
  const key = keyAt(data, value);
  if (key === null) throw msgpack.misfit(reader, `no key at ${value} in the data`);
  return key;
}

function readCustom(reader: msgpack.Reader, moment: number): string | null {
  const value = msgpack.readTextNilOrNumber(reader);
  if (typeof value !== 'number') return value;
  const custom = createdText(moment + value);
  if (custom === null) throw msgpack.misfit(reader, `a proof made ${value} ms later`);
  return custom;
}

function skipProof(reader: msgpack.Reader): void {
  if (msgpack.readArrayHead(reader) !== PROOF_ELEMENTS) throw msgpack.misfit(reader, 'a proof of another length');
  msgpack.skipBinaryOrNumber(reader, KEY_BYTES);
  msgpack.skipBinary(reader, SIGNATURE_BYTES);
  msgpack.skipTextNilOrNumber(reader);
}

/** All that the core asks. */
export const entryCodec: EntryCodec = {
  decode,
  type: typeOf,
  ledger: ledgerOf,
  names,
  isNamed,
  luidEquals,
  signatures,
  proofCount,
  datedSignatures,
};
