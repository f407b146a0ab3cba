/**
 * What the claims of an intent meant when it was cleared. They name wallets and symbols by words, postings by rows, and
 * words may mean others by now. Each side of a claim is part of some posting, so of the records that its words may
 * stand for it means the nearest that has one; where a route led elsewhere, the outcome says to whom.
 */
import { fallbackAddresses } from './address.ts';
import {
  EntryType,
  type IntentEntry,
  type Outcome,
  POSTING_WIDTH,
  ROUTED_WIDTH,
  type Side,
  type StepEntry,
} from './entry.ts';
import { findHandle } from './finding.ts';
import { Kind } from './kinds.ts';
import { nameAt } from './past.ts';
import { entryAt } from './records.ts';
import type { State } from './state.ts';

/** Rows; -1 where no posting is about such a record. */
interface Meanings {
  /** The wallet that a side of the claim with this number came to, which the claim names by these words. */
  wallet(claim: number, side: Side, words: string): number;
  symbol(words: string): number;
}

/** Those of an intent whose money has moved by the entry at this address. */
export function meaningsOf(state: State, address: number, entry: IntentEntry | StepEntry): Meanings {
  const cleared = clearedBy(state, address, entry);
  const routed = routedBy(cleared.outcome);
  const find = finder(state, entry, cleared.address);
  return {
    wallet: (claim, side, words) => routed.get(placeOf(claim, side)) ?? find(Kind.wallet, words),
    symbol: (words) => find(Kind.symbol, words),
  };
}

/** What said what its claims come to, and where that lies: the same entry, or the one that set its money aside. */
function clearedBy(
  state: State,
  address: number,
  { type, outcome }: IntentEntry | StepEntry,
): { address: number; outcome: Outcome } {
  let cleared = { address, outcome };
  if (type === EntryType.intent) return cleared;
  for (let at = state.heap.prev(address); at !== 0; at = state.heap.prev(at)) {
    const before = entryAt(state, at);
    if ('outcome' in before && before.outcome.postings.length > 0) cleared = { address: at, outcome: before.outcome };
  }
  return cleared;
}

/** The wallets that routes led to, by claim and side. */
function routedBy({ links }: Outcome): Map<number, number> {
  const rows = links?.routed ?? [];
  const routed = new Map<number, number>();
  for (let i = 0; i < rows.length; i += ROUTED_WIDTH) {
    routed.set(placeOf(rows[i]!, rows[i + 1]! as Side), rows[i + 2]!);
  }
  return routed;
}

function placeOf(claim: number, side: Side): number {
  return 2 * claim + side;
}

/**
 * Finds which of the rows that the postings name was meant by words, as they were named right after the entry at
 * `cleared`.
 */
function finder(state: State, { ledger, outcome: { postings } }: IntentEntry | StepEntry, cleared: number) {
  const rows = new Set<number>();
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) rows.add(postings[i]!).add(postings[i + 1]!);
  const names = new Map<number, string>();
  // Thousands of claims may name one wallet, and that may be large: its name is looked up once, and nothing else of it.
  const nameOf = (row: number) => {
    const name = names.get(row) ?? nameAt(state, row, cleared);
    names.set(row, name);
    return name;
  };
  let changed: Map<string, number> | null = null;
  return (kind: Kind, words: string): number => {
    for (const name of [words, ...fallbackAddresses(words)]) {
      // Mostly a name still means what it meant; else the record that had it has changed since.
      const row = findHandle(state, ledger, kind, name);
      if (rows.has(row) && nameOf(row) === name) return row;
      changed ??= new Map(
        [...rows]
          .filter((each) => state.rows.at.get(each) > cleared)
          .map((each) => [`${state.rows.kind.get(each)} ${nameOf(each)}`, each]),
      );
      const meant = changed.get(`${kind} ${name}`);
      if (meant !== undefined) return meant;
    }
    return -1;
  };
}
