/**
 * Everything the server knows, as data: records in a heap outside V8's, one row of small columns per record, and the
 * indexes that find rows. Only `apply` changes it.
 *
 * A record's entries form a chain in the heap, newest first: versions, and between them the proofs added to each.
 * Its row's address is that of the newest entry, and every entry begins with the record's luid and handle, so a
 * look-up compares names in place and decodes nothing.
 *
 * `order` numbers all changes of data over all ledgers; a row's place in it is its latest change. Lists walk chains of
 * places from the newest back and skip places their row has left.
 */
import {
  Chains,
  Heap,
  hashMix,
  hashText,
  Lines,
  type MemorySizes,
  Table,
  U8Column,
  U8Field,
  U16Field,
  U32Column,
  U32Field,
} from '../memory/index.ts';
import { AccessMemo } from './access/memo.ts';
import { Balances } from './balances.ts';
import type { EntryCodec, Names } from './codec.ts';
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
import { Kind } from './kinds.ts';
import { LongVersions } from './long-versions.ts';
import { isLuid } from './luid.ts';
import { NameMemo } from './name-memo.ts';
import { Norms } from './norms.ts';
import { OpenIntents } from './open-intents.ts';
import type { NameHashes } from './outline.ts';
import { Ranks } from './ranks.ts';
import { AssertionError, assert } from './refusal.ts';
import { UsedProofs } from './used-proofs.ts';
import { UsedTokens } from './used-tokens.ts';
import type { CompileSchema } from './user-schemas.ts';

export type { MemorySizes } from '../memory/index.ts';
export type { OpenIntent } from './open-intents.ts';

/** What is few lives on the V8 heap: a ledger's row, and its settings as its record gives them. */
export interface LedgerInfo {
  row: number;
  handle: string;
  config: Readonly<Record<string, unknown>>;
}

/** How far an effect, or a bridge that is told of statuses, has been told what happened. */
export interface Feed {
  /** All events up to this one are settled: the sequence number of its entry, its number there. */
  seq: number;
  index: number;
  /** Address of the newest delivery, 0 for none; each leads to the one before. */
  last: number;
}

/** The ledger of ledgers: where ledger records themselves live. */
export const SERVER_LEDGER = 0;

export const DROPPED = 1;
/** A wallet that other systems or rules take part in, see clearing. */
export const HAS_BRIDGE = 2;
export const HAS_ROUTES = 4;
/** A record that brings access rules of its own. */
export const HAS_ACCESS = 8;
/** Proofs gave it labels. */
export const HAS_LABELS = 16;

interface Rows {
  /** What changes of a row lies in one line of memory. */
  readonly lines: Lines;
  readonly at: U32Field;
  readonly place: U32Field;
  /** Wallets: first balance slot plus one. */
  readonly aux: U32Field;
  readonly status: U16Field;
  readonly flags: U8Field;
  readonly kind: U8Column;
  readonly ledger: U32Column;
}

/** Bytes of what changes of a row. */
const ROW_BYTES = 16;

export interface State {
  readonly codec: EntryCodec;
  /** Seeds the hashes of names, so that nobody outside can choose colliding ones. */
  readonly hashSeed: number;
  readonly heap: Heap;
  readonly rows: Rows;
  readonly handles: Table;
  readonly luids: Table;
  /** Place → row. */
  readonly order: U32Column;
  /** Sequence number − 1 → address of the entry in the heap; 0 for those that are not kept there. */
  readonly log: U32Column;
  /** Hashed terms (a ledger's kind, a schema, a claim's wallet …) → places, newest first. */
  readonly terms: Chains;
  readonly balances: Balances;
  /** Status texts by number. */
  readonly statuses: string[];
  /** By index; 0 is the server. */
  readonly ledgers: LedgerInfo[];
  /** Symbol row → issued minus destroyed. */
  readonly supply: Map<number, bigint>;
  /** Live records by countKey. */
  readonly counts: Map<number, number>;
  /** How many kinds, and statuses of a kind, a ledger has had: its keys in `counts`. */
  readonly variety: Map<number, number>;
  /** Statuses that a ledger's own record was given, by the ledger it is: in `counts` they stand with those of all ledgers. */
  readonly ownStatuses: Map<number, Set<string>>;
  /** How many live records have a label, by labelKey. */
  readonly labels: Map<string, number>;
  readonly open: OpenIntents;
  /** Rows of the open intents of each thread that has more than one, in the order they came. */
  readonly threads: Map<string, number[]>;
  /** By row of the effect or bridge. */
  readonly feeds: Map<number, Feed>;
  readonly tokens: UsedTokens;
  /** What clients' proofs have brought about; follows from the entries in the heap. */
  readonly usedProofs: UsedProofs;
  /** These are not part of the books. */
  readonly memo: AccessMemo;
  readonly names: NameMemo;
  readonly longVersions: LongVersions;
  /** What the ledgers ask of their records. */
  readonly norms: Norms;
  /** Follows from `order`. */
  readonly ranks: Ranks;
  /** Handed in by whoever decides; applying never asks. */
  compileSchema: CompileSchema;
  /**
   * The ledger of requests that name none, and the handle that a start finds it by: nobody else's, though it may have been
   * renamed. Handed in like the above; null where nobody asks.
   */
  home: { readonly handle: string; readonly luid: string } | null;
}

export function emptyState(codec: EntryCodec, hashSeed: number, sizes: MemorySizes = {}): State {
  const { chunkBytes, heapBytesMax, pageRows, segments } = sizes;
  const heap = new Heap('records', chunkBytes, heapBytesMax);
  return {
    codec,
    hashSeed,
    heap,
    rows: emptyRows(pageRows),
    handles: new Table('handles', { segments }),
    luids: new Table('luids', { segments }),
    order: new U32Column('order', true, pageRows),
    log: new U32Column('log', true, pageRows),
    terms: new Chains('terms', { segments }, pageRows),
    balances: new Balances(sizes),
    statuses: [],
    ledgers: [{ row: -1, handle: '', config: {} }],
    supply: new Map(),
    counts: new Map(),
    variety: new Map(),
    ownStatuses: new Map(),
    labels: new Map(),
    open: new OpenIntents(),
    threads: new Map(),
    feeds: new Map(),
    tokens: new UsedTokens(hashSeed, sizes),
    usedProofs: new UsedProofs(heap, codec, hashSeed, sizes),
    memo: new AccessMemo(),
    names: new NameMemo(hashSeed),
    longVersions: new LongVersions(),
    norms: new Norms(),
    ranks: new Ranks(),
    compileSchema: () => {
      throw new AssertionError('whoever decides hands in what compiles schemas');
    },
    home: null,
  };
}

function emptyRows(pageRows: number | undefined): Rows {
  const lines = new Lines(ROW_BYTES, pageRows);
  return {
    lines,
    at: new U32Field(lines, 'row-at', 0),
    place: new U32Field(lines, 'row-place', 4),
    aux: new U32Field(lines, 'row-aux', 8),
    status: new U16Field(lines, 'row-status', 12),
    flags: new U8Field(lines, 'row-flags', 14),
    kind: new U8Column('row-kind', true, pageRows),
    ledger: new U32Column('row-ledger', true, pageRows),
  };
}

// ---------------------------------------------------------------- names → rows

/** A ledger and kind as one number. */
export function scopeOf(ledger: number, kind: Kind): number {
  return ledger * 16 + kind;
}

export function handleHash(state: State, ledger: number, kind: Kind, handle: string): number {
  // The handle of an intent hardly comes up again: it would only drive out one that does.
  const hash = kind === Kind.intent ? state.names.lastHash(handle) : nameHash(state, handle);
  return hashMix(hash, scopeOf(ledger, kind));
}

export function nameHash({ names }: State, name: string): number {
  return names.hash(names.place(name));
}

export function luidHash({ hashSeed }: State, luid: string): number {
  return hashText(hashSeed, luid);
}

/** The row of the live record with exactly this handle, or -1. */
export function findHandle(state: State, ledger: number, kind: Kind, handle: string): number {
  const scope = scopeOf(ledger, kind);
  if (kind === Kind.intent) return lookUp(state, ledger, kind, handle, state.names.lastHash(handle));
  const { names } = state;
  const place = names.place(handle);
  const known = names.row(place, scope);
  if (known >= 0) return known;
  const row = lookUp(state, ledger, kind, handle, names.hash(place));
  if (row >= 0) names.keepRow(place, scope, row);
  return row;
}

function lookUp(state: State, ledger: number, kind: Kind, handle: string, hash: number): number {
  const { rows, heap, codec, handles } = state;
  for (let row = handles.first(hashMix(hash, scopeOf(ledger, kind))); row >= 0; row = handles.next()) {
    const at = rows.at.get(row);
    if (codec.isNamed(heap.chunk(at), heap.offset(at), ledger, kind, handle)) return row;
  }
  return -1;
}

/** The row of the record with this luid in this ledger, dropped or not, or -1. */
export function findLuid(state: State, ledger: number, kind: Kind, luid: string): number {
  const { rows, heap, codec } = state;
  for (let row = state.luids.first(luidHash(state, luid)); row >= 0; row = state.luids.next()) {
    if (rows.kind.get(row) !== kind || rows.ledger.get(row) !== ledger) continue;
    const at = rows.at.get(row);
    if (codec.luidEquals(heap.chunk(at), heap.offset(at), luid)) return row;
  }
  return -1;
}

/** The row of the live record that a path's id names (a handle or a luid), or -1. */
export function findRecord(state: State, ledger: number, kind: Kind, id: string): number {
  if (!isLuid(id)) return findHandle(state, ledger, kind, id);
  const row = findLuid(state, ledger, kind, id);
  return row >= 0 && (state.rows.flags.get(row) & DROPPED) === 0 ? row : -1;
}

export function indexHandle(state: State, ledger: number, kind: Kind, handle: string, row: number): void {
  // Nobody remembers the rows of intents.
  if (kind !== Kind.intent) state.names.forgetRow(handle);
  state.handles.insert(handleHash(state, ledger, kind, handle), row);
}

export function unindexHandle(state: State, ledger: number, kind: Kind, handle: string, row: number): void {
  state.names.forgetRow(handle);
  const removed = state.handles.remove(handleHash(state, ledger, kind, handle), row);
  assert(removed, 'a live record has its handle in the index');
}

export function indexLuid(state: State, luid: string, row: number): void {
  state.luids.insert(luidHash(state, luid), row);
}

/** Both for a new intent whose names' hashes are known. */
export function indexHashes(state: State, ledger: number, { handle, luid }: NameHashes, row: number): void {
  state.handles.insert(hashMix(handle, scopeOf(ledger, Kind.intent)), row);
  state.luids.insert(luid, row);
}

/** The balance slot of this wallet row and symbol row, or -1. */
export function findSlot({ balances, rows }: State, wallet: number, symbol: number): number {
  return balances.findFrom(rows.aux.get(wallet), wallet, symbol);
}

// ---------------------------------------------------------------- counts

/** Above the number of any status. */
export const ANY_STATUS = 65_535;

/** Key of state.counts: live records of a ledger and kind in a status (its number), or in all. */
export function countKey(ledger: number, kind: Kind, status: number): number {
  return (ledger * 16 + kind) * 65_536 + status;
}

/** So many more live records under a key, or fewer. A key once there stays. */
export function addCount({ counts, variety }: State, key: number, change: number): void {
  const known = counts.get(key);
  if (known === undefined) {
    const ledger = Math.floor(key / (16 * 65_536));
    variety.set(ledger, (variety.get(ledger) ?? 0) + 1);
  }
  counts.set(key, (known ?? 0) + change);
}

/** A proof gave the own record of this ledger a status. */
export function addOwnStatus({ ownStatuses }: State, ledger: number, status: string): void {
  const known = ownStatuses.get(ledger);
  if (known === undefined) ownStatuses.set(ledger, new Set([status]));
  else known.add(status);
}

/** Key of state.labels. */
export function labelKey(ledger: number, kind: Kind, label: string): string {
  return `${ledger} ${kind} ${label}`;
}

// ---------------------------------------------------------------- rows → records

export type VersionEntry = CreateEntry | UpdateEntry | IntentEntry;

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
  for (let address = at; address !== 0; address = heap.prev(address)) {
    const known = longVersions.at(address);
    if (known !== undefined) return longer(state, at, known, added.reverse(), address);
    const entry = entryAt(state, address);
    if (entry.type === EntryType.proof || entry.type === EntryType.step) added.push(entry);
    else if (entry.type !== EntryType.drop && entry.type !== EntryType.token && entry.type !== EntryType.delivery) {
      const version = { entry, added: added.reverse(), before: heap.prev(address) };
      longVersions.keep(at, version, 0);
      return version;
    }
  }
  throw new AssertionError('a record begins with a version');
}

/** A version that was known as far as `address`, with what was added since. */
function longer(
  { longVersions }: State,
  at: number,
  known: Version,
  added: Version['added'],
  address: number,
): Version {
  if (added.length === 0) return known;
  const version = { ...known, added: [...known.added, ...added] };
  longVersions.keep(at, version, address);
  return version;
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

/** About how many characters a version is in an answer: its data and its proofs. */
export function sizeOf({ entry, added }: Version): number {
  let size = entry.data.length;
  for (const proof of entry.proofs) size += proofSize(proof);
  for (const each of added) size += each.type === EntryType.proof ? proofSize(each.proof) : PROOF_SIZE;
  return size;
}

export function proofSize({ custom }: StoredProof): number {
  return PROOF_SIZE + (custom?.length ?? 0);
}

/** A proof without its custom. */
const PROOF_SIZE = 256;

/** The labels of the record in this row, in order: those of the last proof that changed them. */
export function labelsOf(state: State, row: number): readonly string[] {
  const { heap, rows } = state;
  if ((rows.flags.get(row) & HAS_LABELS) === 0) return NO_LABELS;
  for (let at = rows.at.get(row); at !== 0; at = heap.prev(at)) {
    if (typeAt(state, at) !== EntryType.proof) continue;
    const entry = entryAt(state, at);
    if (entry.type === EntryType.proof && entry.labels !== undefined) return entry.labels;
  }
  return NO_LABELS;
}

export const NO_LABELS: readonly string[] = [];

/** The content of a version as a value. */
export function dataOf(entry: { data: string }): Record<string, unknown> {
  return JSON.parse(entry.data);
}

export function ledgerInfo(row: number, entry: VersionEntry): LedgerInfo {
  const { config = {} } = dataOf(entry) as { config?: Record<string, unknown> };
  return { row, handle: entry.handle, config };
}

/** Index of the ledger with this handle or luid, or -1. */
export function findLedger(state: State, id: string): number {
  const row = findRecord(state, SERVER_LEDGER, Kind.ledger, id);
  return row < 0 ? -1 : state.rows.aux.get(row);
}
