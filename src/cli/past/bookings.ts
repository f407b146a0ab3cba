/**
 * The postings of an intent, which are sums, told apart again by its claims: what each claim took from a wallet or gave
 * to one. A claim that no posting fits is left out: the bookings then do not add up to the postings, which whoever adds
 * them up will find.
 */
import {
  actionNumber,
  CLAIM_ACTIONS,
  type Claim,
  type ClaimAction,
  handleOf,
  type WalletMember,
  walletIn,
} from '../../core/claims/index.ts';
import { EntryType, type IntentEntry, Side } from '../../core/entry.ts';
import { meaningsOf } from '../../core/meaning.ts';
import { dataOf, intentIn, versionAt } from '../../core/records.ts';
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
  const meant = meaningsOf(state, moved.address, moved.entry);
  const bookings: Booking[] = [];
  for (const [index, claim] of claims.entries()) {
    const action = CLAIM_ACTIONS[actionNumber(claim.action)]!;
    for (const member of action.wallets) {
      const side = SIDES[member];
      if (side === null) continue;
      const wallet = meant.wallet(index, side, handleOf(walletIn(claim, member)!));
      const symbol = meant.symbol(handleOf(claim.symbol));
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
