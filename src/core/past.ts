/** Records as they were: entries stay where they are, so what followed one of them is simply not looked at. */
import { EntryType, type IntentStatus, statusAfter } from './entry.ts';
import { type Given, giveBefore, lastGiven } from './history.ts';
import { type Kind, kindRow } from './kinds.ts';
import {
  entryAt,
  NO_LABELS,
  namesAt,
  ownersOf,
  type RecordView,
  readRow,
  typeAt,
  type Version,
  versionAt,
} from './records.ts';
import { assert } from './refusal.ts';
import type { State } from './state.ts';

/** The record in a row as it was right after the entry at this address of the heap; a dropped one as it was before. */
export function recordAt(state: State, row: number, address: number): RecordView {
  let at = state.rows.at.get(row);
  if (at <= address) return readRow(state, row);
  while (at > address) at = state.heap.prev(at);
  assert(at !== 0, 'a record is not looked for before it was made');
  const version = versionAt(state, at);
  const first = kindRow(state.rows.kind.get(row) as Kind).status;
  const { status, labels } = givenBy(state, version);
  const now = intentStatus(version) ?? status ?? first;
  return { ...version, row, status: now, owners: ownersOf(state, version), labels: labels ?? NO_LABELS };
}

/** The handle that the record in a row had right after the entry at this address; nothing else of it is read. */
export function nameAt(state: State, row: number, address: number): string {
  let at = state.rows.at.get(row);
  while (at > address) at = state.heap.prev(at);
  assert(at !== 0, 'a record is not looked for before it was made');
  return namesAt(state, at).handle;
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

/** The status and labels that proofs gave last, in this version or one before. Of those only proofs are read: they may be very many. */
function givenBy(state: State, last: Version): Given {
  const given = lastGiven(last);
  for (let at = last.before; at !== 0 && !isGiven(given); at = state.heap.prev(at)) {
    if (typeAt(state, at) === EntryType.proof) giveBefore(given, entryAt(state, at));
  }
  return given;
}

function isGiven({ status, labels }: Given): boolean {
  return status !== null && labels !== undefined;
}
