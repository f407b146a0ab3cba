/**
 * apply: the only writer of the state. Live traffic and recovery come through the same function with the same entries
 * in the same order, so both end in the same state. It decides nothing and cannot fail; an assert here is our own bug
 * or books that lie.
 */
import { type Entry, EntryType, type IntentEntry, LIMIT_WIDTH, POSTING_WIDTH } from './entry.ts';
import { Kind, kindRow } from './kinds.ts';
import { assert } from './refusal.ts';
import {
  ANY_STATUS,
  countKey,
  DROPPED,
  dataOf,
  HAS_BRIDGE,
  HAS_ROUTES,
  indexHandle,
  indexLuid,
  ledgerInfo,
  SERVER_LEDGER,
  type State,
  unindexHandle,
  type VersionEntry,
} from './state.ts';
import { pushTerms } from './terms.ts';

/** Brings the entry, whose bytes are `bytes[from, to)`, into the state. `value` is its data, where the caller has it at hand. */
export function apply(
  state: State,
  entry: Entry,
  bytes: Uint8Array,
  from: number,
  to: number,
  value?: Record<string, unknown>,
): void {
  switch (entry.type) {
    case EntryType.create:
    case EntryType.intent:
      return applyCreate(state, entry, bytes, from, to, value ?? dataOf(entry));
    case EntryType.update: {
      const { row, ledger, kind, handle } = entry;
      const before = handleOfRow(state, row);
      append(state, row, bytes, from, to);
      if (handle !== before) {
        unindexHandle(state, ledger, kind, before, row);
        indexHandle(state, ledger, kind, handle, row);
      }
      return applyVersion(state, row, entry, value ?? dataOf(entry));
    }
    case EntryType.drop: {
      const { row, ledger, kind, handle } = entry;
      append(state, row, bytes, from, to);
      unindexHandle(state, ledger, kind, handle, row);
      count(state, ledger, kind, state.rows.status.get(row), -1);
      state.rows.flags.set(row, state.rows.flags.get(row) | DROPPED);
      return;
    }
    case EntryType.proof: {
      const { row, ledger, kind } = entry;
      append(state, row, bytes, from, to);
      if (entry.status === null) return;
      count(state, ledger, kind, state.rows.status.get(row), -1);
      const status = statusNumber(state, entry.status);
      state.rows.status.set(row, status);
      count(state, ledger, kind, status, 1);
    }
  }
}

function applyCreate(
  state: State,
  entry: Exclude<VersionEntry, { row: number }>,
  bytes: Uint8Array,
  from: number,
  to: number,
  value: Record<string, unknown>,
): void {
  const { rows } = state;
  const { ledger, kind } = entry;
  const row = rows.at.push(state.heap.append(bytes, from, to, 0));
  const status = statusNumber(state, entry.type === EntryType.intent ? entry.status : kindRow(kind).status);
  rows.kind.push(kind);
  rows.ledger.push(ledger);
  rows.status.push(status);
  rows.flags.push(0);
  rows.place.push(0);
  rows.aux.push(0);
  indexHandle(state, ledger, kind, entry.handle, row);
  indexLuid(state, entry.luid, row);
  count(state, ledger, kind, status, 1);
  applyVersion(state, row, entry, value);
  if (entry.type === EntryType.intent) applyOutcome(state, entry);
}

/** What holds for every new version of a record, the first included. */
function applyVersion(state: State, row: number, entry: VersionEntry, value: Record<string, unknown>): void {
  const { rows } = state;
  const { ledger, kind } = entry;
  const place = state.order.push(row);
  rows.place.set(row, place);
  pushTerms(state, ledger, kind, value, place);
  if (kind === Kind.wallet) {
    const routes = Array.isArray(value.routes) && value.routes.length > 0;
    rows.flags.set(row, (value.bridge === undefined ? 0 : HAS_BRIDGE) | (routes ? HAS_ROUTES : 0));
  } else if (kind === Kind.ledger) {
    assert(ledger === SERVER_LEDGER, 'ledgers live in the ledger of ledgers');
    const info = ledgerInfo(row, entry);
    if (entry.type === EntryType.create) rows.aux.set(row, state.ledgers.push(info) - 1);
    else state.ledgers[rows.aux.get(row)] = info;
  }
}

/** Moves the money of an accepted intent, then sets its limits. */
function applyOutcome(state: State, { postings, limits, moment }: IntentEntry): void {
  for (let i = 0; i < limits.length; i += LIMIT_WIDTH) {
    state.balances.setLimit(slotOf(state, limits[i]!, limits[i + 1]!), limits[i + 2]!, limits[i + 3]!, moment);
  }
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    const symbol = postings[i + 1]!;
    const delta = postings[i + 2]!;
    const moved = postings[i + 3]!;
    const slot = slotOf(state, postings[i]!, symbol);
    state.balances.add(slot, delta, moment);
    assert(Number.isSafeInteger(state.balances.available(slot)), 'a balance stays within ±(2^53-1)');
    // Counted after the intent's limits are set: daily limits count from the intent that sets them on.
    if (moved !== 0 && state.balances.isLimited(slot)) state.balances.countMoved(slot, moved, moment);
  }
  addSupply(state, postings);
}

/** Transfers cancel out; what remains per symbol was issued or destroyed. */
function addSupply(state: State, postings: number[]): void {
  if (postings.length === 2 * POSTING_WIDTH && postings[1] === postings[POSTING_WIDTH + 1]) {
    if (postings[2]! + postings[POSTING_WIDTH + 2]! === 0) return;
  }
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    const symbol = postings[i + 1]!;
    state.supply.set(symbol, (state.supply.get(symbol) ?? 0n) + BigInt(postings[i + 2]!));
  }
}

function slotOf(state: State, wallet: number, symbol: number): number {
  const { balances, rows } = state;
  const slot = balances.find(wallet, symbol);
  if (slot >= 0) return slot;
  const made = balances.create(wallet, symbol, rows.aux.get(wallet));
  rows.aux.set(wallet, made + 1);
  return made;
}

function append(state: State, row: number, bytes: Uint8Array, from: number, to: number): void {
  const { at } = state.rows;
  at.set(row, state.heap.append(bytes, from, to, at.get(row)));
}

function handleOfRow(state: State, row: number): string {
  const { heap, codec, rows } = state;
  const at = rows.at.get(row);
  const from = heap.offset(at);
  return codec.decode(heap.chunk(at), from, from + heap.length(at)).handle;
}

function statusNumber(state: State, status: string): number {
  const known = state.statuses.indexOf(status);
  if (known >= 0) return known;
  assert(state.statuses.length < ANY_STATUS, 'status texts fit a byte');
  return state.statuses.push(status) - 1;
}

function count(state: State, ledger: number, kind: Kind, status: number, change: number): void {
  for (const key of [countKey(ledger, kind, status), countKey(ledger, kind, ANY_STATUS)]) {
    state.counts.set(key, (state.counts.get(key) ?? 0) + change);
  }
}
