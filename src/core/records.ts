/** From rows to records: a row's chain of entries, read as versions with the proofs and steps added to each. */
import { LongMap, near } from '../memory/index.ts';
import { equalBytes } from './bytes.ts';
import type { Names } from './codec.ts';
import {
  type CreateEntry,
  type Entry,
  EntryType,
  type IntentEntry,
  type ProofEntry,
  type StepEntry,
  type StoredProof,
  type UpdateEntry,
} from './entry.ts';
import { LONG_ENTRIES_MIN, WAYMARK_STEPS, type Waymarks } from './long-versions.ts';
import { membersOf } from './members.ts';
import { AssertionError, assert } from './refusal.ts';
import { HAS_LABELS, type LedgerInfo, type State } from './state.ts';

export type VersionEntry = CreateEntry | UpdateEntry | IntentEntry;

/** The entry at this address of the heap, decoded. */
export function entryAt(state: State, at: number): Entry {
  const { heap } = state;
  const from = heap.offset(at);
  return state.codec.decode(heap.chunk(at), from, from + heap.length(at));
}

export function typeAt({ heap, codec }: State, at: number): EntryType {
  return codec.type(heap.chunk(at), heap.offset(at));
}

/** A version of a record: its entry, the proofs and steps added to it in order, and the address before it (0: none). */
export interface Version {
  entry: VersionEntry;
  added: (ProofEntry | StepEntry)[];
  before: number;
}

/** The version whose last entry lies at `at`. */
export function versionAt(state: State, at: number): Version {
  const { heap, longVersions } = state;
  const added: Version['added'] = [];
  let bytes = 0;
  for (let address = at; address !== 0; address = heap.prev(address)) {
    const known = longVersions.at(address);
    if (known !== undefined) return longer(state, at, known.version, { added: added.reverse(), bytes }, address);
    const entry = entryAt(state, address);
    bytes += toldBytes(heap.length(address), 'proofs' in entry ? entry.proofs.length : 1);
    if (entry.type === EntryType.proof || entry.type === EntryType.step) added.push(entry);
    else if (entry.type !== EntryType.drop && entry.type !== EntryType.token && entry.type !== EntryType.delivery) {
      const version = { entry, added: added.reverse(), before: heap.prev(address) };
      longVersions.keep(at, version, bytes, 0);
      return version;
    }
  }
  throw new AssertionError('a record begins with a version');
}

/** Where the entry of the version lies whose last entry lies at `at`: what was added to it is passed by. */
export function versionAddress(state: State, at: number): number {
  let address = at;
  for (;;) {
    const type = typeAt(state, address);
    if (type !== EntryType.proof && type !== EntryType.step) return address;
    address = state.heap.prev(address);
  }
}

/** A version that was known as far as `address`, with what was added since. */
function longer(
  { longVersions }: State,
  at: number,
  known: Version,
  { added, bytes }: { added: Version['added']; bytes: number },
  address: number,
): Version {
  if (added.length === 0) return known;
  const version = { ...known, added: [...known.added, ...added] };
  longVersions.keep(at, version, bytes, address);
  return version;
}

/** The one version of an intent. */
export function intentIn({ entry }: Version): IntentEntry {
  assert(entry.type === EntryType.intent, 'this record is an intent');
  return entry;
}

/** A stored record as it is now. */
export interface RecordView extends Version {
  row: number;
  status: string;
  /** Public keys of the proofs it was created with. */
  owners: Uint8Array[];
  /** In order. */
  labels: readonly string[];
}

/** The record in a row as it is now, a dropped one as it was last. */
export function readRow(state: State, row: number): RecordView {
  const version = versionAt(state, state.rows.at.get(row));
  // Each member by its name: spreading the version into the record costs more than all the rest here.
  return {
    entry: version.entry,
    added: version.added,
    before: version.before,
    row,
    status: state.statuses[state.rows.status.get(row)]!,
    owners: ownersOf(state, version),
    labels: labelsOf(state, row),
  };
}

/** Luid and handle of the record in a row. */
export function namesOf(state: State, row: number): Names {
  return namesAt(state, state.rows.at.get(row));
}

/** Those that the entry at this address has. */
export function namesAt({ heap, codec }: State, at: number): Names {
  const from = heap.offset(at);
  return codec.names(heap.chunk(at), from, from + heap.length(at));
}

/** Public keys of the proofs that the record of this version was created with. */
export function ownersOf(state: State, version: Version): Uint8Array[] {
  return firstEntry(state, version).proofs.map((proof) => proof.public);
}

/** What a record was created with. Versions in between are passed by, not read: there may be very many. */
function firstEntry(state: State, { entry, before }: Version): VersionEntry {
  if (before === 0) return entry;
  return entryAt(state, state.longVersions.first(entry.luid) ?? walkToFirst(state, entry.luid, before)) as VersionEntry;
}

function walkToFirst({ heap, longVersions }: State, luid: string, from: number): number {
  let at = from;
  let entries = 1;
  for (let prev = heap.prev(at); prev !== 0; prev = heap.prev(at)) {
    at = prev;
    entries++;
  }
  longVersions.keepFirst(luid, at, entries);
  return at;
}

/**
 * About how many bytes the version whose last entry lies at `at` is in an answer: no entry is read, only how long it
 * is.
 */
export function bytesOf(state: State, at: number): number {
  const { heap, codec, longVersions } = state;
  let bytes = 0;
  for (let address = at; address !== 0; address = heap.prev(address)) {
    const known = longVersions.at(address);
    if (known !== undefined) return bytes + known.bytes;
    const [from, length] = [heap.offset(address), heap.length(address)];
    bytes += toldBytes(length, codec.proofCount(heap.chunk(address), from, from + length));
    if (beginsVersion(typeAt(state, address))) break;
  }
  return bytes;
}

/** About how many bytes an entry is in an answer: a proof takes more than twice as much there. */
function toldBytes(length: number, proofs: number): number {
  return PROOF_SIZE * Math.max(1, proofs) + length;
}

/** Whether an entry of this type is what a version says, all that follow until the next one being about it. */
export function beginsVersion(type: EntryType): boolean {
  return type === EntryType.create || type === EntryType.update || type === EntryType.intent;
}

/** About how many characters it takes as text. */
export function proofSize({ custom }: StoredProof): number {
  return PROOF_SIZE + (custom?.length ?? 0);
}

/** Whether they are one proof, sent again: a key makes one signature of one thing. */
export function isSameProof(one: StoredProof, other: StoredProof): boolean {
  return equalBytes(one.result, other.result) && one.custom === other.custom;
}

/** A proof without its custom. */
const PROOF_SIZE = 256;

/** The labels of the record in this row, in order: those of the last proof that changed them. */
export function labelsOf(state: State, row: number): readonly string[] {
  return labelsBy(state, row, state.rows.at.get(row));
}

/** Those that it had when the entry at `from` was its newest; none where that is 0. */
export function labelsBy(state: State, row: number, from: number): readonly string[] {
  if ((state.rows.flags.get(row) & HAS_LABELS) === 0) return NO_LABELS;
  return lastBy(state, row, from, state.longVersions.labels, ({ labels }) => labels) ?? NO_LABELS;
}

/**
 * What the last proof that gave any gave to the record in this row, from the entry at `from` back. There may be very
 * many entries in between: only those are passed by that were not before, as far as `known` has kept that.
 */
export function lastBy<T extends string | readonly string[]>(
  state: State,
  row: number,
  from: number,
  known: Waymarks<T | undefined>,
  give: (proof: ProofEntry) => T | undefined,
): T | undefined {
  const waymark = known.upTo(row, from);
  const passed: number[] = [];
  let value: T | undefined;
  let steps = 0;
  for (let at = from; at !== 0 && value === undefined; at = state.heap.prev(at), steps++) {
    if (at === waymark?.address) {
      value = waymark.value;
      break;
    }
    if (steps % WAYMARK_STEPS === 0) passed.push(at);
    if (typeAt(state, at) === EntryType.proof) value = give(entryAt(state, at) as ProofEntry);
  }
  if (steps >= LONG_ENTRIES_MIN) known.keep(row, passed, value);
  return value;
}

export const NO_LABELS: readonly string[] = [];

/** The content of a version as a value. */
export function dataOf(entry: { data: string }): Record<string, unknown> {
  return JSON.parse(entry.data);
}

/** The key of the signer whose version ends at `at`, base64. */
export function keyOf(state: State, at: number): string {
  const { data } = entryAt(state, versionAddress(state, at)) as VersionEntry;
  return membersOf(data, ['public']).public as string;
}

/**
 * Tells how many rows there were before the entry at an address. Of a record with very many entries it is looked for
 * where it begins, and many may ask for what came beside that one: so it is looked for once.
 */
export function countOfRows(state: State): (address: number) => number {
  const beginnings = new LongMap<number, number>(near);
  const beginningOf = (row: number): number => {
    const known = beginnings.get(row) ?? firstAddress(state, row);
    beginnings.set(row, known);
    return known;
  };
  return (address) => {
    let [from, to] = [0, state.rows.lines.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (beginningOf(middle) < address) from = middle + 1;
      else to = middle;
    }
    return from;
  };
}

/** Where the record in a row begins. */
function firstAddress({ rows, heap }: State, row: number): number {
  let at = rows.at.get(row);
  for (let prev = heap.prev(at); prev !== 0; prev = heap.prev(at)) at = prev;
  return at;
}

export function ledgerInfo(row: number, entry: VersionEntry): LedgerInfo {
  const { config = {} } = dataOf(entry) as { config?: Record<string, unknown> };
  return { row, handle: entry.handle, config };
}
