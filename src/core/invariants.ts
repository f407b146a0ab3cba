/**
 * What must hold whatever anybody sends, checked as the books are written and again as they are read.
 */
import type { Claim } from './claims/index.ts';
import { handleOf } from './claims/index.ts';
import { type IntentEntry, POSTING_WIDTH } from './entry.ts';
import { Kind } from './kinds.ts';
import { assert } from './refusal.ts';
import { findHandle, type State } from './state.ts';

/**
 * Value is neither made nor lost: per symbol, an intent's postings add up to what its claims issue minus what they
 * destroy, and a refused intent has none. Asked after `apply`, when its symbols surely exist.
 */
export function assertBalanced(state: State, entry: IntentEntry, claims: readonly Claim[]): void {
  const { postings } = entry;
  if (entry.reason !== '') {
    assert(postings.length === 0 && entry.limits.length === 0, 'a refused intent moves nothing');
    return;
  }
  // One transfer between two wallets, the common case, needs no sums per symbol.
  if (claims.length === 1 && claims[0]!.action === 'transfer' && postings.length === 2 * POSTING_WIDTH) {
    assert(postings[1] === postings[POSTING_WIDTH + 1] && postings[2] === -postings[POSTING_WIDTH + 2]!, UNBALANCED);
    return;
  }
  const sums = new Map<number, bigint>();
  const add = (symbol: number, amount: number) => sums.set(symbol, (sums.get(symbol) ?? 0n) + BigInt(amount));
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) add(postings[i + 1]!, postings[i + 2]!);
  for (const claim of claims) {
    const sign = claim.action === 'issue' ? -1 : claim.action === 'destroy' ? 1 : 0;
    if (sign !== 0) add(findHandle(state, entry.ledger, Kind.symbol, handleOf(claim.symbol)), sign * claim.amount);
  }
  for (const sum of sums.values()) assert(sum === 0n, UNBALANCED);
}

const UNBALANCED = 'the postings of an intent add up to what it issues minus what it destroys';
