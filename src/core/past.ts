/** Records as they were: entries stay where they are, so what followed one of them is simply not looked at. */
import { equalBytes } from './bytes.ts';
import { EntryType, type IntentStatus, type StoredProof, statusAfter } from './entry.ts';
import { lastGiven } from './history.ts';
import { kindRow } from './kinds.ts';
import { WAYMARK_STEPS } from './long-versions.ts';
import {
  isSameProof,
  labelsBy,
  lastBy,
  namesAt,
  namesOf,
  ownersOf,
  type RecordView,
  readRow,
  type Version,
  type VersionEntry,
  versionAt,
} from './records.ts';
import { assert } from './refusal.ts';
import type { State } from './state.ts';

/** The record in a row as it was right after the entry at this address of the heap; a dropped one as it was before. */
export function recordAt(state: State, row: number, address: number): RecordView {
  if (state.rows.at.get(row) <= address) return readRow(state, row);
  const version = versionAt(state, isEntryOf(state, row, address) ? address : lastBefore(state, row, address));
  return viewBy(state, row, version);
}

/**
 * The record in a row as it was with this proof of its version with this hash, and nothing of what became of it since:
 * as it came, where it began with that proof. It may have been changed meanwhile.
 */
export function recordWith(state: State, row: number, hash: Uint8Array, proof: StoredProof): RecordView {
  let whole = versionAt(state, state.rows.at.get(row));
  while (!equalBytes(whole.entry.hash, hash)) whole = versionAt(state, whole.before);
  const { entry, added, before } = whole;
  const at = added.findIndex((each) => each.type === EntryType.proof && isSameProof(each.proof, proof));
  const version = { entry: at < 0 ? undecided(entry) : entry, added: added.slice(0, at + 1), before };
  return viewBy(state, row, version);
}

/**
 * The intent in a row as it was sent, and where `isMoved` with what became of it: nothing that others have said of it,
 * whose proofs and labels are left out.
 */
export function intentAsSent(state: State, row: number, isMoved: boolean): RecordView {
  const { entry, added, before } = versionAt(state, state.rows.at.get(row));
  const steps = added.filter((each) => each.type === EntryType.step);
  return viewBy(state, row, isMoved ? { entry, added: steps, before } : { entry: undecided(entry), added: [], before });
}

/** The record in a row with what this version, which it had once, came to. */
function viewBy(state: State, row: number, version: Version): RecordView {
  const status = intentStatus(version) ?? statusBy(state, row, version);
  const labels = lastGiven(version).labels ?? labelsBy(state, row, version.before);
  return { ...version, row, status, owners: ownersOf(state, version), labels };
}

/** What a version was before anything was decided about it, which of an intent is in the entry it comes with. */
export function undecided(entry: VersionEntry): VersionEntry {
  if (entry.type !== EntryType.intent) return entry;
  const { links: _, ...decided } = entry.outcome;
  return { ...entry, outcome: { ...decided, steps: [] } };
}

/** Whether the entry at this address is one of the record in this row, which may have had very many since. */
function isEntryOf(state: State, row: number, address: number): boolean {
  const { heap, codec } = state;
  return codec.luidEquals(heap.chunk(address), heap.offset(address), namesOf(state, row).luid);
}

/**
 * Address of the last entry of the record in this row that came before what lies at `address`, or lies there. A record
 * may have had millions of entries since: they are passed by once.
 */
function lastBefore({ rows, heap, longVersions: { entries } }: State, row: number, address: number): number {
  const passed: number[] = [];
  let at = entries.behind(row, address)?.address ?? rows.at.get(row);
  for (let steps = 0; at > address; at = heap.prev(at), steps++) {
    if (steps > 0 && steps % WAYMARK_STEPS === 0) passed.push(at);
  }
  assert(at !== 0, 'a record is not looked for before it was made');
  entries.keep(row, passed, null);
  return at;
}

/** Address of the record's entry that has `count` of its entries between itself and `address`, that one included. */
export function addressBefore(state: State, row: number, address: number, count: number): number {
  let at = lastBefore(state, row, address);
  for (let passed = 0; passed < count; passed++) at = state.heap.prev(at);
  return at;
}

/** The handle that the record in a row had right after the entry at this address; nothing else of it is read. */
export function nameAt(state: State, row: number, address: number): string {
  return namesAt(state, lastBefore(state, row, address)).handle;
}

/** The handle of a ledger, by its index, as it was right after the entry at this address. */
export function ledgerAt(state: State, ledger: number, address: number): string {
  const { row, handle } = state.ledgers[ledger]!;
  return state.rows.at.get(row) <= address ? handle : nameAt(state, row, address);
}

/** The status of an intent by what became of it in this version; null for other kinds. */
function intentStatus({ entry, added }: Version): IntentStatus | null {
  if (!('outcome' in entry)) return null;
  let status = statusAfter(entry.outcome);
  for (const each of added) if ('outcome' in each) status = statusAfter(each.outcome, status);
  return status;
}

/** The status that a record which is no intent had in this version: what a proof gave last, in it or one before. */
function statusBy(state: State, row: number, version: Version): string {
  const given = lastGiven(version).status;
  if (given !== null) return given;
  const { statuses } = state.longVersions;
  const before = lastBy(state, row, version.before, statuses, ({ status }) => status ?? undefined);
  return before ?? kindRow(state.rows.kind.get(row)).status;
}
