/**
 * The postings of an intent, which are sums, told apart again by its claims: what each claim took from a wallet or gave to
 * one. A claim names wallets and symbols by words, a posting by rows. Each side of a claim is part of some posting, so of
 * the records that its words may stand for it means the nearest that has one; where a route led elsewhere, the outcome
 * says to whom. What no posting is meant by is left out: then the bookings do not come to what the postings do, which is for
 * those to find who add them up.
 */
import { fallbackAddresses } from '../../core/address.ts';
import {
  actionNumber,
  CLAIM_ACTIONS,
  type Claim,
  type ClaimAction,
  handleOf,
  type WalletMember,
  walletIn,
} from '../../core/claims/index.ts';
import { EntryType, type IntentEntry, POSTING_WIDTH, ROUTED_WIDTH, Side } from '../../core/entry.ts';
import { nameAt } from '../../core/past.ts';
import { dataOf, entryAt, intentIn, versionAt } from '../../core/records.ts';
import type { State } from '../../core/state.ts';
import type { Moved } from './past.ts';

/** One side of a claim: the wallet it came to, and what that has more or, below zero, less of the symbol. */
export interface Booking {
  action: ClaimAction;
  /** Rows. */
  wallet: number;
  symbol: number;
  change: bigint;
  /** How the claim names whoever is on its other side; null where nobody is. */
  counterparty: string | null;
}

/** In the order of the claims, the source of each before its target. */
export function bookingsOf(state: State, moved: Moved): Booking[] {
  const { claims } = dataOf(intentOf(state, moved)) as { claims: readonly Claim[] };
  const { postings } = moved.entry.outcome;
  const walletOf = resolver(state, moved.clearedAt, column(postings, 0));
  const symbolOf = resolver(state, moved.clearedAt, column(postings, 1));
  const routed = routedIn(state, moved);
  const bookings: Booking[] = [];
  for (const [index, claim] of claims.entries()) {
    const action = CLAIM_ACTIONS[actionNumber(claim.action)]!;
    for (const member of action.wallets) {
      const side = SIDES[member];
      if (side === null) continue;
      const wallet = routed.get(placeOf(index, side)) ?? walletOf(handleOf(walletIn(claim, member)!));
      const symbol = symbolOf(handleOf(claim.symbol));
      const amount = BigInt(claim.amount);
      if (wallet < 0 || symbol < 0) continue;
      const other = walletIn(claim, member === 'source' ? 'target' : 'source');
      const counterparty = other === undefined ? null : handleOf(other);
      bookings.push({ action, wallet, symbol, change: side === Side.debit ? -amount : amount, counterparty });
    }
  }
  return bookings;
}

/** What a claim does to the wallet that each member names. */
const SIDES: Readonly<Record<WalletMember, Side | null>> = { source: Side.debit, target: Side.credit, wallet: null };

/** The intent whose money has moved. */
export function intentOf(state: State, { entry }: Moved): IntentEntry {
  return entry.type === EntryType.intent ? entry : intentIn(versionAt(state, state.rows.at.get(entry.row)));
}

function column(postings: readonly number[], at: number): Set<number> {
  const rows = new Set<number>();
  for (let i = at; i < postings.length; i += POSTING_WIDTH) rows.add(postings[i]!);
  return rows;
}

/** Says which of these rows a claim means by its words, as they were named then; -1 for none. */
function resolver(state: State, address: number, rows: ReadonlySet<number>): (words: string) => number {
  const named = new Map<string, number>();
  for (const row of rows) named.set(nameAt(state, row, address), row);
  return (words) => {
    const nearest = [words, ...fallbackAddresses(words)].find((name) => named.has(name));
    return nearest === undefined ? -1 : named.get(nearest)!;
  };
}

/** The wallets that routes led to, by claim and side. */
function routedIn(state: State, { clearedAt }: Moved): Map<number, number> {
  const cleared = entryAt(state, clearedAt);
  const rows = ('outcome' in cleared && cleared.outcome.links?.routed) || [];
  const routed = new Map<number, number>();
  for (let i = 0; i < rows.length; i += ROUTED_WIDTH) {
    routed.set(placeOf(rows[i]!, rows[i + 1]! as Side), rows[i + 2]!);
  }
  return routed;
}

function placeOf(claim: number, side: Side): number {
  return 2 * claim + side;
}
