/**
 * The trial balance: per symbol, what all wallets have, and what was issued and destroyed. It is found in two ways that
 * share no number: what wallets have is added up from postings, what was issued and destroyed from the claims that
 * clients signed.
 */
import { CLAIM_ACTIONS } from '../../core/claims/index.ts';
import type { IntentEntry } from '../../core/entry.ts';
import type { State } from '../../core/state.ts';
import { bookingsOf, intentOf } from './bookings.ts';
import { Past } from './past.ts';
import { type Unit, unitAt } from './unit.ts';

/** What all wallets have of a symbol, and where it came from. */
export interface Sum {
  /** Its row. */
  symbol: number;
  unit: Unit;
  issued: bigint;
  destroyed: bigint;
  available: bigint;
  reserved: bigint;
  agrees: boolean;
}

export interface Trial {
  /** As it was at that moment. */
  past: Past;
  /** Of every symbol that was ever moved. */
  sums: Sum[];
}

/** That of a ledger, of all that was decided before the moment. */
export function trialAt(state: State, ledger: number, moment: number): Trial {
  const past = new Past(state);
  const issued = new Map<number, bigint>();
  const destroyed = new Map<number, bigint>();
  for (const moved of past.upTo(moment)) {
    // Most intents do neither, and their claims need not be read for it.
    if (moved.entry.ledger !== ledger || !makesOrDestroys(intentOf(state, moved))) continue;
    for (const { action, symbol, change } of bookingsOf(state, moved)) {
      if (action.supply > 0) issued.set(symbol, (issued.get(symbol) ?? 0n) + change);
      if (action.supply < 0) destroyed.set(symbol, (destroyed.get(symbol) ?? 0n) - change);
    }
  }
  const sums: Sum[] = [];
  for (const [symbol, wallets] of past.money.bySymbol) {
    if (state.rows.ledger.get(symbol) !== ledger) continue;
    const sum = {
      issued: issued.get(symbol) ?? 0n,
      destroyed: destroyed.get(symbol) ?? 0n,
      available: 0n,
      reserved: 0n,
    };
    for (const { available, reserved } of wallets.values()) {
      sum.available += available;
      sum.reserved += reserved;
    }
    const agrees = sum.issued - sum.destroyed === sum.available + sum.reserved;
    sums.push({ symbol, unit: unitAt(state, symbol, moment), ...sum, agrees });
  }
  return { past, sums };
}

function makesOrDestroys({ data }: IntentEntry): boolean {
  return MAKING.some((word) => data.includes(word));
}

/** How the claims that change a supply say so, in data, which is canonical. */
const MAKING = CLAIM_ACTIONS.filter(({ supply }) => supply !== 0).map(({ name }) => `"action":"${name}"`);
