/** What tests of threads make, and ask of what became of it. */
import { expect } from 'vitest';
import { type Caller, GRANTED } from '../../src/core/access/index.ts';
import type { Claim } from '../../src/core/claims/index.ts';
import { type Entry, EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { findLuid } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { readRow } from '../../src/core/records.ts';
import { Books, issue } from './books.ts';

export type Route = { action: string; target?: string; filter?: Record<string, unknown> };

/** Books with `usd`, these wallets, and 100 in `a`. */
export function fresh(wallets: Record<string, readonly Route[]> = {}): Books {
  const books = Books.open().symbols('usd', 'eur').wallets('a', 'b', 'd');
  for (const [handle, routes] of Object.entries(wallets)) books.create(Kind.wallet, { handle, routes });
  books.intent(issue('a', 100));
  return books;
}

export function send(books: Books, claims: Claim[], config?: object): Entry[] {
  const value = { handle: `t${books.entries.length}`, claims, ...(config === undefined ? {} : { config }) };
  return books.create(Kind.intent, value) as Entry[];
}

export const intentsIn = (entries: readonly Entry[]): IntentEntry[] =>
  entries.filter((entry): entry is IntentEntry => entry.type === EntryType.intent);
export const statusOf = (books: Books, { luid }: { luid: string }): string =>
  readRow(books.state, findLuid(books.state, 1, Kind.intent, luid)).status;
export const reasonsOf = (entries: readonly Entry[]): string[] =>
  entries.flatMap((entry) => ('outcome' in entry && entry.outcome.reason !== '' ? [entry.outcome.reason] : []));
export const balances = (books: Books, ...wallets: string[]): number[] =>
  wallets.map((wallet) => books.balance(wallet));

/** What no life may leave behind. */
export function expectNothingHeld({ state }: Books): void {
  expect([...state.open, ...state.threads]).toEqual([]);
  for (let slot = 0; slot < state.balances.size; slot++) {
    expect([state.balances.reserved(slot), state.balances.incoming(slot)]).toEqual([0, 0]);
  }
}

export function prove(books: Books, intent: IntentEntry, custom: object, caller: Caller = GRANTED): Entry[] {
  return books.addProof(intent, custom, { caller }) as Entry[];
}
