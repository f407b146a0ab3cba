/**
 * From names to rows: handles and luids are hashed, the tables give the rows of that hash, and the names are compared
 * where they lie in the heap.
 */
import { hashMix, hashText } from '../memory/index.ts';
import { ADDRESS_MAX } from './address.ts';
import { Kind, scopeOf } from './kinds.ts';
import { isLuid } from './luid.ts';
import type { NameHashes } from './outline.ts';
import { assert } from './refusal.ts';
import { DROPPED, SERVER_LEDGER, type State } from './state.ts';

/** Under which the index of handles has this one; that of luids has a luid under `luidHash`. */
export function handleHash(state: State, ledger: number, kind: Kind, handle: string): number {
  // The handle of an intent hardly comes up again: it would only drive out one that does.
  const hash = kind === Kind.intent ? state.names.lastHash(handle) : nameHash(state, handle);
  return hashMix(hash, scopeOf(ledger, kind));
}

/** `hashText` of a name, remembered while it comes up. */
export function nameHash({ names }: State, name: string): number {
  return isTooLong(name) ? names.lastHash(name) : names.hash(names.place(name));
}

/** No record has such a handle: whoever asks for thousands of them is not to fill the memo with them. */
function isTooLong(name: string): boolean {
  return name.length > ADDRESS_MAX;
}

export function luidHash({ hashSeed }: State, luid: string): number {
  return hashText(hashSeed, luid);
}

/** The row of the live record with exactly this handle, or -1. */
export function findHandle(state: State, ledger: number, kind: Kind, handle: string): number {
  const scope = scopeOf(ledger, kind);
  if (kind === Kind.intent || isTooLong(handle))
    return lookUp(state, ledger, kind, handle, state.names.lastHash(handle));
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

/** The row is found by this handle from now on. */
export function indexHandle(state: State, ledger: number, kind: Kind, handle: string, row: number): void {
  // Nobody remembers the rows of intents.
  if (kind !== Kind.intent) state.names.forgetRow(handle);
  state.handles.insert(handleHash(state, ledger, kind, handle), row);
}

/** And no more: it was dropped, or has another. Asserts that it was. */
export function unindexHandle(state: State, ledger: number, kind: Kind, handle: string, row: number): void {
  state.names.unbind(handle, ledger);
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
  return balances.findFrom(rows.firstSlot.get(wallet), wallet, symbol);
}

/** Index of the ledger with this handle or luid, or -1. */
export function findLedger(state: State, id: string): number {
  const row = findRecord(state, SERVER_LEDGER, Kind.ledger, id);
  return row < 0 ? -1 : state.rows.ledgerIndex.get(row);
}
