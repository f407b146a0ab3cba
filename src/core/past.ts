/** Records as they were: entries stay where they are, so what followed one of them is simply not looked at. */
import { equalBytes } from './bytes.ts';
import { EntryType, type IntentStatus, type StoredProof, statusAfter } from './entry.ts';
import { lastGiven } from './history.ts';
import { kindRow } from './kinds.ts';
import {
  beginsVersion,
  isSameProof,
  labelsBy,
  lastBy,
  namesAt,
  namesOf,
  ownersOf,
  type RecordView,
  readRow,
  typeAt,
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
 * The record in a row as it was with this proof of its version with this hash, and nothing of what became of it since: as
 * it came, where it began with that proof. It may have been changed meanwhile.
 */
export function recordWith(state: State, row: number, hash: Uint8Array, proof: StoredProof): RecordView {
  let whole = versionAt(state, state.rows.at.get(row));
  while (!equalBytes(whole.entry.hash, hash)) whole = versionAt(state, whole.before);
  const { entry, added, before } = whole;
  const at = added.findIndex((each) => each.type === EntryType.proof && isSameProof(each.proof, proof));
  const version = { entry: at < 0 ? undecided(entry) : entry, added: added.slice(0, at + 1), before };
  return viewBy(state, row, version);
}

/** The record in a row with what this version, which it had once, came to. */
function viewBy(state: State, row: number, version: Version): RecordView {
  const status = intentStatus(version) ?? statusBy(state, row, version);
  const { pastLabels } = state.longVersions;
  const labels = lastGiven(version).labels ?? labelsBy(state, row, version.before, pastLabels);
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

/** Address of the last entry of the record in this row that came before what lies at `address`, or lies there. */
function lastBefore(state: State, row: number, address: number): number {
  let at = state.rows.at.get(row);
  while (at > address) at = state.heap.prev(at);
  assert(at !== 0, 'a record is not looked for before it was made');
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

/**
 * Handles that records had in the past, for whoever asks for very many of them: a record may have had millions of entries
 * since, and here each is passed by once in all. For books to which nothing is added meanwhile.
 */
export class PastNames {
  readonly #state: State;
  /** By row. */
  readonly #begun = new Map<number, Begun>();

  constructor(state: State) {
    this.#state = state;
  }

  /** What `nameAt` says. */
  at(row: number, address: number): string {
    const newest = this.#state.rows.at.get(row);
    return namesAt(this.#state, newest <= address ? newest : this.#beginBefore(row, address)).handle;
  }

  /** Where the version begins that the record in this row had then: within one, its name stays. */
  #beginBefore(row: number, address: number): number {
    const { heap, rows } = this.#state;
    const begun = this.#begun.get(row) ?? { versions: [], before: rows.at.get(row) };
    this.#begun.set(row, begun);
    const { versions } = begun;
    while (versions.length === 0 || versions.at(-1)! > address) {
      const { before } = begun;
      assert(before !== 0, 'a record is not looked for before it was made');
      if (beginsVersion(typeAt(this.#state, before))) versions.push(before);
      begun.before = heap.prev(before);
    }
    let [from, to] = [0, versions.length - 1];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (versions[middle]! <= address) to = middle;
      else from = middle + 1;
    }
    return versions[to]!;
  }
}

/** Where versions of a record begin, the newest first, and the next of its entries to be looked at for them (0: none). */
interface Begun {
  readonly versions: number[];
  before: number;
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
  const { pastStatuses } = state.longVersions;
  const before = lastBy(state, row, version.before, pastStatuses, ({ status }) => status ?? undefined);
  return before ?? kindRow(state.rows.kind.get(row)).status;
}
