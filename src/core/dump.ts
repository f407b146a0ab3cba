/**
 * The state as a snapshot takes it, and back: parts, which are its memory as it is, and the few things of the V8 heap
 * that do not follow from rows. What does follow (threads, norms, ranks, used proofs …) lies in no snapshot: it is
 * restored here, from the entries.
 */
import { type FinalPart, type MemorySizes, type Part, type Parts, rowsOf } from '../memory/index.ts';
import type { EntryCodec } from './codec.ts';
import { addCount, addOwnStatus } from './counts.ts';
import { EntryType, POSTING_WIDTH, throughAt } from './entry.ts';
import { findSlot } from './finding.ts';
import { heldBy } from './intents.ts';
import { Kind } from './kinds.ts';
import { pushMembership } from './memberships.ts';
import { NONE, type OpenIntent } from './open-intents.ts';
import { walletsNotHeld } from './postings.ts';
import {
  countOfRows,
  dataOf,
  entryAt,
  intentIn,
  keyOf,
  ledgerInfo,
  namesOf,
  readRow,
  typeAt,
  versionAddress,
  versionAt,
} from './records.ts';
import { DROPPED, emptyState, type Feed, type State, structures } from './state.ts';
import type { UsedTokensExtra } from './used-tokens.ts';

export { bytesOf, dropParts, type FinalPart, type Part, type Parts, piecesOf } from '../memory/index.ts';

/** The few things of the V8 heap that do not follow from rows. Plain data. */
export interface StateExtra {
  hashSeed: number;
  statuses: string[];
  ledgerRows: number[];
  tokens: UsedTokensExtra;
}

/** In books of earlier versions more was there; now these are parts. */
interface OlderExtra extends StateExtra {
  supply: SupplyRow[];
  counts: CountRow[];
  labels?: LabelRow[];
  feeds: FeedRow[];
  open?: [number, OpenIntent][];
}

type SupplyRow = [symbol: number, amount: string];
type CountRow = [key: number, count: number];
type LabelRow = [key: string, count: number];
type FeedRow = [row: number, feed: Feed];

/** The state as it is now: `extra` is small and a copy, `parts` are read later, whatever changes until then. */
export function dumpState(state: State): { extra: StateExtra; parts: Part[] } {
  return {
    extra: {
      hashSeed: state.hashSeed,
      statuses: [...state.statuses],
      ledgerRows: state.ledgers.slice(1).map((ledger) => ledger.row),
      tokens: state.tokens.extra(),
    },
    parts: [
      ...[state.open, state.supply, state.counts, state.labels, state.feeds].map((map) => map.dump()),
      ...[...structures(state), state.tokens].flatMap((structure) => structure.dump()),
    ],
  };
}

/** Those parts of which a dump would have no other bytes, now or ever again. */
export function finalParts(state: State): FinalPart[] {
  return structures(state).flatMap<FinalPart>((structure) => ('finals' in structure ? structure.finals : []));
}

/** The state of which this is a dump. Throws where parts are missing or do not fit. */
export function loadState(codec: EntryCodec, extra: StateExtra | OlderExtra, parts: Parts, sizes?: MemorySizes): State {
  const state = emptyState(codec, extra.hashSeed, sizes);
  for (const structure of structures(state)) structure.load(parts);
  state.tokens.load(parts, extra.tokens);
  state.statuses.push(...extra.statuses);
  const { supply, counts, labels, feeds } = mapsIn(extra, parts);
  for (const [symbol, amount] of supply) state.supply.set(symbol, BigInt(amount));
  // One that changed while it was dumped may come twice.
  for (const [key, count] of counts) addCount(state, key, count - (state.counts.get(key) ?? 0));
  for (const [key, count] of labels) state.labels.set(key, count);
  for (const [row, feed] of feeds) state.feeds.set(row, feed);
  const walletsOf = (row: number) => walletsNotHeld(heldBy(readRow(state, row))!);
  if (!('open' in extra)) state.open.load(parts, walletsOf);
  else {
    for (const [row, intent] of extra.open ?? []) {
      const wallets = intent.isHolding ? walletsOf(row) : NONE;
      state.open.set(row, { ...intent, bridges: intent.bridges ?? NONE, wallets });
    }
  }
  restoreThreads(state);
  for (const row of extra.ledgerRows) state.ledgers.push(ledgerInfo(row, readRow(state, row).entry));
  restoreOwnStatuses(state);
  restoreNorms(state);
  restoreByPlace(state);
  restoreRekeyed(state);
  restoreUsedProofs(state);
  return state;
}

function mapsIn(extra: StateExtra | OlderExtra, parts: Parts) {
  if ('supply' in extra) return { ...extra, labels: extra.labels ?? [] };
  return {
    supply: rowsOf<SupplyRow>(parts, 'supply'),
    counts: rowsOf<CountRow>(parts, 'counts'),
    labels: rowsOf<LabelRow>(parts, 'labels'),
    feeds: rowsOf<FeedRow>(parts, 'feeds'),
  };
}

/** Threads, and what passes through them, follow from the open intents, which stand in the order they came. */
function restoreThreads(state: State): void {
  const { open, threads } = state;
  for (const [row, { thread, isHolding }] of open) {
    if (thread === '') continue;
    const rows = threads.get(thread);
    if (rows === undefined) threads.set(thread, [row]);
    else rows.push(row);
    if (isHolding) restorePassing(state, row);
  }
}

/** What an intent takes on that others of its thread bring stands in the entry it began with. */
function restorePassing(state: State, row: number): void {
  const { outcome } = intentIn(versionAt(state, state.rows.at.get(row)));
  const { postings } = outcome;
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    const amount = throughAt(outcome, i);
    if (amount > 0) state.balances.pass(findSlot(state, postings[i]!, postings[i + 1]!), amount);
  }
}

/** What statuses ledgers' own records had stands in the proofs that gave them. */
function restoreOwnStatuses(state: State): void {
  for (let ledger = 1; ledger < state.ledgers.length; ledger++) {
    const { row } = state.ledgers[ledger]!;
    for (let at = state.rows.at.get(row); at !== 0; at = state.heap.prev(at)) {
      const entry = typeAt(state, at) === EntryType.proof ? entryAt(state, at) : null;
      if (entry?.type === EntryType.proof && entry.status !== null) addOwnStatus(state, ledger, entry.status);
    }
  }
}

/** Norms follow from the schemas and policies there are. */
function restoreNorms(state: State): void {
  const { kind, ledger, flags, at } = state.rows;
  for (let row = 0; row < kind.length; row++) {
    const number = kind.get(row);
    if (number !== Kind.schema && number !== Kind.policy) continue;
    if ((flags.get(row) & DROPPED) !== 0) continue;
    state.norms.changed(row, ledger.get(row), number, dataOf(versionAt(state, at.get(row)).entry));
  }
}

/** Ranks, and memberships by their circle, follow from the order of changes. */
function restoreByPlace(state: State): void {
  const { order, rows, ranks } = state;
  for (let place = 0; place < order.length; place++) {
    const row = order.get(place);
    const kind = rows.kind.get(row);
    ranks.push(rows.ledger.get(row), kind, place, rows.status.get(row));
    if (kind === Kind['circle-signer']) pushMembership(state, namesOf(state, row).handle, place);
  }
}

/** When signers came to have their keys stands in their versions: most have had one, and one key. */
function restoreRekeyed(state: State): void {
  const { rows, heap } = state;
  const rowsBefore = countOfRows(state);
  for (let row = 0; row < rows.kind.length; row++) {
    if (rows.kind.get(row) !== Kind.signer) continue;
    let at = versionAddress(state, rows.at.get(row));
    const key = heap.prev(at) === 0 ? '' : keyOf(state, at);
    for (let before = heap.prev(at); before !== 0; before = heap.prev(at)) {
      if (keyOf(state, before) !== key) {
        state.rekeyed.set(row, { rows: rowsBefore(at), at });
        break;
      }
      at = versionAddress(state, before);
    }
  }
}

/** Used proofs follow from the entries of records that are no intents. */
function restoreUsedProofs({ rows, usedProofs }: State): void {
  for (let row = 0; row < rows.kind.length; row++) {
    const kind = rows.kind.get(row);
    if (kind !== Kind.intent) usedProofs.useAll(rows.ledger.get(row), kind, rows.at.get(row));
  }
}
