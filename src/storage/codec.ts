/**
 * Entries as MessagePack, and back. The same bytes lie in the journal and in the record heap, so this is
 * the hottest code of the room: entries are written and read by hand, field by field in one fixed order,
 * which was measured against msgpackr (bench/journal.ts) and needs no intermediate objects. What is
 * written is plain MessagePack with the shortest encodings; any reader of it reads an entry. msgpackr is
 * for the few small values without a fixed shape (`packValue`, `unpackValue`).
 *
 * An entry is one array; elements in this order:
 *
 *     luid (22 ASCII characters), handle, type, ledger, kind, moment, then by type
 *     create:  hash, data, proofs, seal
 *     update:  hash, data, proofs, seal, row
 *     drop:    hash, data, proofs, row
 *     proof:   row, proof, status | nil, and where it changed them, labels
 *     intent:  hash, data, proofs, seal, thread, outcome
 *     step:    row, outcome
 *     token:   exp
 *     delivery: row, seq, index, attempts, delivered (1) or not (0), detail
 *
 * with outcome = [moment, steps as rows of INTENT_STATUSES, reason, detail, postings, limits, and where it has
 * them, links], links = [legs, marks, numbers of forwards, their targets, routed, through, failId, leg + 1],
 * leg = [side, bridge, wallet, symbol, amount, claims …] and
 * proof = [public, result, custom | nil]; strings as str; keys, hashes and signatures as bin; postings and
 * limits flat as in core/entry.ts. Never more than 15 elements, so the array's header is one byte, the
 * luid's another, and both luid and handle are compared where they lie, without decoding.
 *
 * Bytes being read are checked against their end and for the exact shape before anything is allocated;
 * what does not fit throws CodecError. Strings are UTF-8: a lone surrogate would not survive, and
 * canonical JSON has none.
 */
import assert from 'node:assert/strict';
import { Packr } from 'msgpackr';
import type { EntryCodec, Names } from '../core/codec.ts';
import {
  type CreateEntry,
  type DeliveryEntry,
  type DropEntry,
  type Entry,
  EntryType,
  type Facts,
  INTENT_STATUSES,
  type IntentEntry,
  type IntentFacts,
  type IntentStatus,
  type Leg,
  type Links,
  type Outcome,
  type ProofEntry,
  Side,
  type StepEntry,
  type StoredProof,
  type TokenEntry,
  type UpdateEntry,
} from '../core/entry.ts';
import { KINDS, type Kind } from '../core/kinds.ts';
import { HASH_BYTES, SIGNATURE_BYTES } from './format.ts';
import { FrameBuffer } from './frame-buffer.ts';
import * as msgpack from './msgpack.ts';
import { readOutline } from './outline.ts';

export { CodecError } from './msgpack.ts';
export { FrameBuffer };

const LUID_CHARS = 22;
const KEY_BYTES = 32;
/** Where the luid's characters begin, and the handle's header, counted from the entry's first byte. */
const LUID_AT = 2;
const HANDLE_AT = LUID_AT + LUID_CHARS;
/** More than the headers and numbers of any entry's fixed fields take together. */
const FIXED_BYTES_MAX = 256;
const PROOF_BYTES_MAX = 128;

const ELEMENTS = { 1: 10, 2: 11, 3: 10, 4: 9, 5: 12, 6: 8, 7: 7, 8: 12 } as const satisfies Record<EntryType, number>;
/** Where a proof changed labels, they come last. */
const LABELLED_ELEMENTS = ELEMENTS[EntryType.proof] + 1;
const OUTCOME_ELEMENTS = 6;
const LINKS_ELEMENTS = 8;
/** Numbers of a leg before its claims, and of a forward beside its target. */
const LEG_NUMBERS = 5;
const FORWARD_NUMBERS = 4;
const PROOF_ELEMENTS = 3;

const packr = new Packr({
  useRecords: false,
  mapsAsObjects: true,
  variableMapSize: true,
  moreTypes: false,
  bundleStrings: false,
  structuredClone: false,
  copyBuffers: true,
  encodeUndefinedAsNil: false,
  int64AsType: 'number',
});

/** A small value of plain data as MessagePack. */
export function packValue(value: unknown): Uint8Array {
  return Uint8Array.prototype.slice.call(packr.pack(value));
}

/** The value whose bytes these are; throws where they are no MessagePack, or more than one value. */
export function unpackValue(bytes: Uint8Array): unknown {
  return packr.unpack(bytes);
}

/** Appends the entry to the buffer. */
export function encode(entry: Entry, buffer: FrameBuffer): void {
  assert(entry.luid.length === LUID_CHARS, 'a luid has 22 characters');
  buffer.reserve(encodedBytesMax(entry));
  const bytes = buffer.bytes;
  let at = buffer.end;
  bytes[at++] = 0x90 + (isLabelled(entry) ? LABELLED_ELEMENTS : ELEMENTS[entry.type]);
  at = msgpack.writeText(bytes, at, entry.luid);
  assert(at === buffer.end + HANDLE_AT, 'a luid is ASCII');
  at = msgpack.writeText(bytes, at, entry.handle);
  at = msgpack.writeCount(bytes, at, entry.type);
  at = msgpack.writeCount(bytes, at, entry.ledger);
  at = msgpack.writeCount(bytes, at, entry.kind);
  at = msgpack.writeCount(bytes, at, entry.moment);
  buffer.end = writeBody(bytes, at, entry);
}

function isLabelled(entry: Entry): boolean {
  return entry.type === EntryType.proof && entry.labels !== undefined;
}

function writeTexts(bytes: Buffer, start: number, texts: readonly string[]): number {
  let at = msgpack.writeArrayHead(bytes, start, texts.length);
  for (const text of texts) at = msgpack.writeText(bytes, at, text);
  return at;
}

function writeBody(bytes: Buffer, start: number, entry: Entry): number {
  let at = start;
  if (entry.type === EntryType.proof) {
    at = msgpack.writeCount(bytes, at, entry.row);
    at = writeProof(bytes, at, entry.proof);
    at = msgpack.writeTextOrNil(bytes, at, entry.status);
    return entry.labels === undefined ? at : writeTexts(bytes, at, entry.labels);
  }
  if (entry.type === EntryType.token) return msgpack.writeCount(bytes, at, entry.exp);
  if (entry.type === EntryType.step)
    return writeOutcome(bytes, msgpack.writeCount(bytes, at, entry.row), entry.outcome);
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
  at = msgpack.writeArrayHead(bytes, at, entry.proofs.length);
  for (const proof of entry.proofs) at = writeProof(bytes, at, proof);
  if (entry.type === EntryType.drop) return msgpack.writeCount(bytes, at, entry.row);
  at = msgpack.writeBinary(bytes, at, entry.seal, SIGNATURE_BYTES);
  if (entry.type === EntryType.update) return msgpack.writeCount(bytes, at, entry.row);
  if (entry.type === EntryType.create) return at;
  return writeOutcome(bytes, msgpack.writeText(bytes, at, entry.thread), entry.outcome);
}

function writeOutcome(bytes: Buffer, start: number, outcome: Outcome): number {
  let at = start;
  bytes[at++] = 0x90 + OUTCOME_ELEMENTS + (outcome.links === undefined ? 0 : 1);
  at = msgpack.writeCount(bytes, at, outcome.moment);
  at = msgpack.writeArrayHead(bytes, at, outcome.steps.length);
  for (const status of outcome.steps) at = msgpack.writeCount(bytes, at, INTENT_STATUSES.indexOf(status));
  at = msgpack.writeText(bytes, at, outcome.reason);
  at = msgpack.writeText(bytes, at, outcome.detail);
  at = msgpack.writeNumbers(bytes, at, outcome.postings);
  at = msgpack.writeNumbers(bytes, at, outcome.limits);
  return outcome.links === undefined ? at : writeLinks(bytes, at, outcome.links);
}

function writeLinks(bytes: Buffer, start: number, links: Links): number {
  let at = start;
  bytes[at++] = 0x90 + LINKS_ELEMENTS;
  at = msgpack.writeArrayHead(bytes, at, links.legs.length);
  for (const { side, bridge, wallet, symbol, amount, claims } of links.legs) {
    at = msgpack.writeNumbers(bytes, at, [side, bridge, wallet, symbol, amount, ...claims]);
  }
  at = msgpack.writeNumbers(bytes, at, links.marks);
  const forwards = links.forwards.flatMap(({ claim, wallet, symbol, amount }) => [claim, wallet, symbol, amount]);
  at = msgpack.writeNumbers(bytes, at, forwards);
  const targets = links.forwards.map(({ target }) => target);
  at = writeTexts(bytes, at, targets);
  at = msgpack.writeNumbers(bytes, at, links.routed);
  at = msgpack.writeNumbers(bytes, at, links.through);
  at = msgpack.writeText(bytes, at, links.failId);
  return msgpack.writeCount(bytes, at, links.leg + 1);
}

function writeProof(bytes: Buffer, start: number, proof: StoredProof): number {
  let at = start;
  bytes[at++] = 0x90 + PROOF_ELEMENTS;
  at = msgpack.writeBinary(bytes, at, proof.public, KEY_BYTES);
  at = msgpack.writeBinary(bytes, at, proof.result, SIGNATURE_BYTES);
  return msgpack.writeTextOrNil(bytes, at, proof.custom);
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

function outcomeBytesMax({ steps, reason, detail, postings, limits, links }: Outcome): number {
  const rest = links === undefined ? 0 : linksBytesMax(links);
  const numbers = postings.length + limits.length;
  return FIXED_BYTES_MAX + steps.length + 3 * (reason.length + detail.length) + 9 * numbers + rest;
}

function linksBytesMax({ legs, marks, forwards, routed, through, failId }: Links): number {
  let numbers = marks.length + routed.length + through.length;
  let chars = failId.length;
  // One number more has room for a list's own header, two characters for a text's.
  for (const { claims } of legs) numbers += LEG_NUMBERS + claims.length + 1;
  for (const { target } of forwards) {
    numbers += FORWARD_NUMBERS;
    chars += target.length + 2;
  }
  return FIXED_BYTES_MAX + 9 * numbers + 3 * chars;
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

/** `decodeNext` for replay: of an intent only what changes the state, and nothing of what it was signed with. */
export function decodeNextFacts(bytes: Uint8Array, cursor: { at: number }, to: number): Facts {
  const reader = msgpack.open(bytes, cursor.at, to);
  const facts = readEntry<Facts>(reader, readIntentFacts);
  cursor.at = reader.at;
  return facts;
}

/** Moves `cursor.at` behind the entry there, and looks no closer. Throws CodecError where it does not end before `to`. */
export function passNext(bytes: Uint8Array, cursor: { at: number }, to: number): undefined {
  const reader = msgpack.open(bytes, cursor.at, to);
  msgpack.skip(reader);
  cursor.at = reader.at;
}

/** How what follows an intent's head is read. */
type ReadIntent<E> = (
  reader: msgpack.Reader,
  ledger: number,
  kind: Kind,
  luid: string,
  handle: string,
  moment: number,
) => E;

function readEntry<E>(reader: msgpack.Reader, readsIntent: ReadIntent<E>): Exclude<Entry, IntentEntry> | E {
  const elements = msgpack.readArrayHead(reader);
  const luid = msgpack.readText(reader);
  if (luid.length !== LUID_CHARS) throw msgpack.misfit(reader, 'a luid of another length');
  const handle = msgpack.readText(reader);
  const type = msgpack.readCount(reader);
  const labelled = type === EntryType.proof && elements === LABELLED_ELEMENTS;
  if (ELEMENTS[type as EntryType] !== elements && !labelled) throw msgpack.misfit(reader, `no entry of type ${type}`);
  const ledger = msgpack.readCount(reader);
  const kind = msgpack.readCount(reader);
  if (kind >= KINDS.length) throw msgpack.misfit(reader, `no kind ${kind}`);
  const moment = msgpack.readCount(reader);
  if (type === EntryType.intent) return readsIntent(reader, ledger, kind as Kind, luid, handle, moment);
  const entry = readBody(reader, type as OtherType, ledger, kind as Kind, luid, handle, moment);
  if (labelled) (entry as ProofEntry).labels = readTexts(reader);
  return entry;
}

type OtherType = Exclude<EntryType, typeof EntryType.intent>;

// Each literal names its fields in the order of its interface, so that all entries of a type share a shape.
function readBody(
  reader: msgpack.Reader,
  type: OtherType,
  ledger: number,
  kind: Kind,
  luid: string,
  handle: string,
  moment: number,
): Exclude<Entry, IntentEntry> {
  if (type === EntryType.proof) {
    const row = msgpack.readCount(reader);
    const proof = readProof(reader);
    const status = msgpack.readTextOrNil(reader);
    return { type, ledger, kind, luid, handle, moment, row, proof, status } satisfies ProofEntry;
  }
  if (type === EntryType.step) {
    const row = msgpack.readCount(reader);
    const outcome = readOutcome(reader);
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
    const isDelivered = msgpack.readCount(reader) === 1;
    const detail = msgpack.readText(reader);
    const event = { row, seq, index, attempts, isDelivered, detail };
    return { type, ledger, kind, luid, handle, moment, ...event } satisfies DeliveryEntry;
  }
  const hash = msgpack.readBinary(reader, HASH_BYTES);
  const data = msgpack.readText(reader);
  const proofs = readProofs(reader);
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

function readIntent(
  reader: msgpack.Reader,
  ledger: number,
  kind: Kind,
  luid: string,
  handle: string,
  moment: number,
): IntentEntry {
  const type = EntryType.intent;
  const hash = msgpack.readBinary(reader, HASH_BYTES);
  const data = msgpack.readText(reader);
  const proofs = readProofs(reader);
  const seal = msgpack.readBinary(reader, SIGNATURE_BYTES);
  const thread = msgpack.readText(reader);
  const outcome = readOutcome(reader);
  return { type, ledger, kind, luid, handle, moment, hash, data, proofs, seal, thread, outcome };
}

function readIntentFacts(
  reader: msgpack.Reader,
  ledger: number,
  kind: Kind,
  luid: string,
  handle: string,
  moment: number,
): IntentFacts {
  const type = EntryType.intent;
  msgpack.skipBinary(reader, HASH_BYTES);
  const outline = readOutline(reader.bytes, msgpack.skipText(reader), reader.at);
  for (let left = msgpack.readArrayHead(reader); left > 0; left--) skipProof(reader);
  msgpack.skipBinary(reader, SIGNATURE_BYTES);
  const thread = msgpack.readText(reader);
  const outcome = readOutcome(reader);
  return { type, ledger, kind, luid, handle, moment, thread, outcome, outline };
}

function readOutcome(reader: msgpack.Reader): Outcome {
  const elements = msgpack.readArrayHead(reader);
  const isLinked = elements === OUTCOME_ELEMENTS + 1;
  if (elements !== OUTCOME_ELEMENTS && !isLinked) throw msgpack.misfit(reader, 'an outcome of another length');
  const outcome: Outcome = {
    moment: msgpack.readCount(reader),
    steps: readSteps(reader),
    reason: msgpack.readText(reader),
    detail: msgpack.readText(reader),
    postings: msgpack.readNumbers(reader),
    limits: msgpack.readNumbers(reader),
  };
  if (isLinked) outcome.links = readLinks(reader);
  return outcome;
}

function readLinks(reader: msgpack.Reader): Links {
  if (msgpack.readArrayHead(reader) !== LINKS_ELEMENTS) throw msgpack.misfit(reader, 'links of another length');
  const legs: Leg[] = [];
  for (let left = msgpack.readArrayHead(reader); left > 0; left--) {
    const [side, bridge, wallet, symbol, amount, ...claims] = msgpack.readNumbers(reader);
    if (amount === undefined || (side !== Side.debit && side !== Side.credit)) throw msgpack.misfit(reader, 'no leg');
    legs.push({ side, bridge: bridge!, wallet: wallet!, symbol: symbol!, amount, claims });
  }
  const marks = msgpack.readNumbers(reader);
  const numbers = msgpack.readNumbers(reader);
  const targets = readTexts(reader);
  if (numbers.length !== targets.length * FORWARD_NUMBERS) throw msgpack.misfit(reader, 'forwards without a target');
  const forwards = targets.map((target, index) => {
    const [claim, wallet, symbol, amount] = numbers.slice(index * FORWARD_NUMBERS);
    return { claim: claim!, wallet: wallet!, symbol: symbol!, amount: amount!, target };
  });
  const routed = msgpack.readNumbers(reader);
  const through = msgpack.readNumbers(reader);
  const failId = msgpack.readText(reader);
  return { legs, marks, forwards, routed, through, failId, leg: msgpack.readCount(reader) - 1 };
}

function readSteps(reader: msgpack.Reader): IntentStatus[] {
  const count = msgpack.readArrayHead(reader);
  const steps: IntentStatus[] = [];
  for (let index = 0; index < count; index++) {
    const status = INTENT_STATUSES[msgpack.readCount(reader)];
    if (status === undefined) throw msgpack.misfit(reader, 'no status of an intent');
    steps.push(status);
  }
  return steps;
}

function readProofs(reader: msgpack.Reader): StoredProof[] {
  const count = msgpack.readArrayHead(reader);
  const proofs: StoredProof[] = [];
  for (let index = 0; index < count; index++) proofs.push(readProof(reader));
  return proofs;
}

function readTexts(reader: msgpack.Reader): string[] {
  const count = msgpack.readArrayHead(reader);
  const texts: string[] = [];
  for (let index = 0; index < count; index++) texts.push(msgpack.readText(reader));
  return texts;
}

function readProof(reader: msgpack.Reader): StoredProof {
  if (msgpack.readArrayHead(reader) !== PROOF_ELEMENTS) throw msgpack.misfit(reader, 'a proof of another length');
  return {
    public: msgpack.readBinary(reader, KEY_BYTES),
    result: msgpack.readBinary(reader, SIGNATURE_BYTES),
    custom: msgpack.readTextOrNil(reader),
  };
}

function skipProof(reader: msgpack.Reader): void {
  if (msgpack.readArrayHead(reader) !== PROOF_ELEMENTS) throw msgpack.misfit(reader, 'a proof of another length');
  msgpack.skipBinary(reader, KEY_BYTES);
  msgpack.skipBinary(reader, SIGNATURE_BYTES);
  msgpack.skipTextOrNil(reader);
}

/** See EntryCodec. These run on entries that were checked when they came in, and trust them. */
function luidEquals(bytes: Uint8Array, from: number, luid: string): boolean {
  if (luid.length !== LUID_CHARS) return false;
  const start = from + LUID_AT;
  // From the back: luids of one second differ only there.
  for (let index = LUID_CHARS - 1; index >= 0; index--) {
    if (bytes[start + index] !== luid.charCodeAt(index)) return false;
  }
  return true;
}

function handleEquals(bytes: Uint8Array, from: number, handle: string): boolean {
  return msgpack.textEquals(bytes, from + HANDLE_AT, handle);
}

function names(bytes: Uint8Array, from: number, to: number): Names {
  const reader = msgpack.open(bytes, from + LUID_AT - 1, to);
  return { luid: msgpack.readText(reader), handle: msgpack.readText(reader) };
}

export const entryCodec: EntryCodec = { decode, names, handleEquals, luidEquals };
