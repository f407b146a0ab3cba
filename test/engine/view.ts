/**
 * Everything a state shows, as text that two states can be compared by: each record with every entry of its chain,
 * names as look-ups find them, lists, balances, limits, counters, supply. It reads through the functions the server
 * reads with, so an index that lost something shows as well as a column.
 */
import { METRICS } from '../../src/core/balances.ts';
import { type Entry, EntryType } from '../../src/core/entry.ts';
import { findHandle, findLedger, findLuid } from '../../src/core/finding.ts';
import { KINDS, type Kind, Kind as KindNumber } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { entryAt, readRow } from '../../src/core/records.ts';
import type { State } from '../../src/core/state.ts';
import { sha256Hex } from '../../src/proof/digest.ts';

/** One line per thing. Equal states give equal lines whatever their hash seeds. */
export function viewOf(state: State): string[] {
  const lines: string[] = [];
  for (let row = 0; row < state.rows.at.length; row++) lines.push(rowLine(state, row));
  for (let slot = 0; slot < state.balances.size; slot++) lines.push(slotLine(state, slot));
  for (const [symbol, amount] of [...state.supply].sort(([a], [b]) => a - b)) lines.push(`supply ${symbol}: ${amount}`);
  for (const [key, count] of [...state.counts].sort(([a], [b]) => a - b)) lines.push(`count ${key}: ${count}`);
  for (const [index, { row, handle, config }] of state.ledgers.entries()) {
    lines.push(`ledger ${index}: ${row} ${handle} ${JSON.stringify(config)} ${findLedger(state, handle)}`);
    for (const kind of KINDS.keys()) lines.push(...listLines(state, index, kind as Kind));
  }
  return lines;
}

function rowLine(state: State, row: number): string {
  const { rows } = state;
  const ledger = rows.ledger.get(row);
  const kind = rows.kind.get(row) as Kind;
  const { entry, status, owners, added } = readRow(state, row);
  const found = [findHandle(state, ledger, kind, entry.handle), findLuid(state, ledger, kind, entry.luid)];
  const changing = [
    rows.status,
    rows.flags,
    rows.place,
    kind === KindNumber.ledger ? rows.ledgerIndex : rows.firstSlot,
  ];
  const columns = [kind, ledger, ...changing.map((field) => field.get(row))];
  const chain = entryBytesOf(state, row).map((bytes) => sha256Hex(bytes).slice(0, 16));
  return `row ${row}: ${columns} ${status} ${entry.handle} found ${found} ${owners.length} owners ${added.length} added ${chain}`;
}

/** The bytes of every entry of the record, newest first. */
function entryBytesOf(state: State, row: number): Uint8Array[] {
  const entries: Uint8Array[] = [];
  for (let at = state.rows.at.get(row); at !== 0; at = state.heap.prev(at)) entries.push(state.heap.bytes(at));
  return entries;
}

function slotLine(state: State, slot: number): string {
  const { balances } = state;
  const [wallet, symbol] = [balances.wallet(slot), balances.symbol(slot)];
  const line = `slot ${slot}: ${wallet} ${symbol} ${balances.available(slot)} and ${balances.reserved(slot)} at ${balances.moment(slot)}, next ${balances.next(slot)}, found ${balances.find(wallet, symbol)}`;
  if (!balances.isLimited(slot)) return line;
  const limits = METRICS.map((_, metric) => `${balances.limit(slot, metric)} ${balances.limitMoment(slot, metric)}`);
  return `${line}, limits ${limits}, moved ${JSON.stringify(balances.movedOn(slot, balances.moment(slot)))}`;
}

function listLines(state: State, ledger: number, kind: Kind): string[] {
  const lines: string[] = [];
  for (const order of ['newest', 'oldest'] as const) {
    const listing = new Listing(state, { ledger, kind, filters: [], order, skip: 0, limit: 1e6 });
    listing.step(() => false);
    if (listing.rows.length > 0) lines.push(`list ${ledger} ${KINDS[kind].name} ${order}: ${listing.rows}`);
  }
  if (kind !== KindNumber.intent) return lines;
  for (const wallet of ['a', 'b', 'c']) {
    const filters = [{ path: ['data', 'claims', 'source'], operator: 'eq', value: wallet } as const];
    const request = { ledger, kind, filters: filters.map((one) => ({ ...one, path: [...one.path] })) };
    const listing = new Listing(state, { ...request, order: 'newest', skip: 0, limit: 1e6 });
    listing.step(() => false);
    lines.push(`list ${ledger} intents of ${wallet}: ${listing.rows}`);
  }
  return lines;
}

/** Every entry of the books, record by record. */
export function entriesOf(state: State): Entry[] {
  const entries: Entry[] = [];
  for (let row = 0; row < state.rows.at.length; row++) {
    for (let at = state.rows.at.get(row); at !== 0; at = state.heap.prev(at)) entries.push(entryAt(state, at));
  }
  return entries;
}

/** What tells one entry or command from another: luids are never given twice, contents differ by test. */
export function keyOf(one: Entry | { op: string; luid: string; hash?: Uint8Array; proof?: { custom: string | null } }) {
  const op = 'op' in one ? one.op : one.type === EntryType.intent ? 'create' : OPS[one.type];
  const what = op === 'proof' ? (one as { proof: { custom: string } }).proof.custom : hexOf(one);
  return `${op} ${one.luid} ${what}`;
}

const OPS = {
  [EntryType.create]: 'create',
  [EntryType.update]: 'update',
  [EntryType.drop]: 'drop',
  [EntryType.proof]: 'proof',
} as Record<EntryType, string>;

function hexOf(one: object): string {
  const { hash } = one as { hash?: Uint8Array };
  return hash === undefined ? '' : Buffer.from(hash).toString('hex');
}

/** Throws unless, per symbol, what all wallets have is what was issued and not destroyed. */
export function checkSupply(state: State): void {
  const sums = new Map<number, bigint>();
  for (let slot = 0; slot < state.balances.size; slot++) {
    const symbol = state.balances.symbol(slot);
    sums.set(symbol, (sums.get(symbol) ?? 0n) + BigInt(state.balances.available(slot) + state.balances.reserved(slot)));
  }
  for (const [symbol, sum] of sums) {
    if (sum !== (state.supply.get(symbol) ?? 0n))
      throw new Error(`symbol ${symbol}: ${sum}, ${state.supply.get(symbol)}`);
  }
}
