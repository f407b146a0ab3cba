/**
 * What must hold whatever anybody sends, checked as the books are written and again as they are read.
 */
import type { Claim } from './claims/index.ts';
import { handleOf } from './claims/index.ts';
import { LIMIT_WIDTH, type Outcome, POSTING_WIDTH, statusAfter } from './entry.ts';
import { Kind } from './kinds.ts';
import { assert } from './refusal.ts';
import { findHandle, type State } from './state.ts';

/**
 * Value is neither made nor lost: per symbol, the postings of an outcome add up to what the intent's claims issue minus
 * what they destroy, and one that never was prepared moves nothing when it fails.
 */
export function assertBalanced(state: State, ledger: number, outcome: Outcome, claims: readonly Claim[]): void {
  const { postings, limits } = outcome;
  if (postings.length === 0) {
    const moves = statusAfter(outcome) !== 'rejected' && outcome.steps.length > 0;
    assert(!moves || claims.every((claim) => claim.action === 'limit'), 'an intent that is prepared moves its money');
    return;
  }
  assert(outcome.steps.length > 0 && limits.length % LIMIT_WIDTH === 0, 'a waiting intent moves nothing');
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
    if (sign !== 0) add(findHandle(state, ledger, Kind.symbol, handleOf(claim.symbol)), sign * claim.amount);
  }
  for (const sum of sums.values()) assert(sum === 0n, UNBALANCED);
}

const UNBALANCED = 'the postings of an intent add up to what it issues minus what it destroys';
