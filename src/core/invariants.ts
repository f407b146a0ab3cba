/**
 * What must hold whatever anybody sends, checked as the books are written and again as they are read.
 */
import { AMOUNT, actionAt, CLAIM_WIDTH, type ClaimAction } from './claims/index.ts';
import { CHANGE, LIMIT_WIDTH, type Outcome, POSTING_WIDTH } from './entry.ts';
import { assert } from './refusal.ts';

/**
 * Value is neither made nor lost: the postings of an intent add up to what its claims issue minus what they destroy, per
 * symbol to nothing where they do neither.
 *
 * Symbols are compared by row alone: a claim's words may have come to mean another record since the intent was prepared.
 * `claims`: flat rows of CLAIM_WIDTH.
 */
export function assertBalanced({ postings, limits }: Outcome, claims: readonly number[]): void {
  assert(limits.length % LIMIT_WIDTH === 0, 'limits are whole rows');
  if (postings.length === 0) {
    assert(
      isAll(claims, ({ name }) => name === 'limit'),
      'an intent that is prepared moves its money',
    );
    return;
  }
  // One transfer between two wallets, the common case, needs no sums.
  if (
    claims.length === CLAIM_WIDTH &&
    actionAt(claims, 0).name === 'transfer' &&
    postings.length === 2 * POSTING_WIDTH
  ) {
    assert(isStillInOne(postings), UNBALANCED);
    return;
  }
  if (!isAll(claims, ({ supply }) => supply === 0)) {
    assert(sumOf(deltasOf(postings, -1)) === sumOf(madeBy(claims)), UNBALANCED);
    return;
  }
  if (isStillInOne(postings)) return;
  const symbols = new Set<number>();
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) symbols.add(postings[i + 1]!);
  for (const symbol of symbols) assert(sumOf(deltasOf(postings, symbol)) === 0n, UNBALANCED);
}

/** An outcome that only says how far something else is moves nothing. */
export function assertStill({ postings, limits }: Outcome): void {
  assert(postings.length === 0 && limits.length === 0, 'an intent that waits moves nothing');
}

const UNBALANCED = 'the postings of an intent add up to what it issues minus what it destroys';

function isAll(claims: readonly number[], holds: (action: ClaimAction) => boolean): boolean {
  for (let at = 0; at < claims.length; at += CLAIM_WIDTH) if (!holds(actionAt(claims, at))) return false;
  return true;
}

/** What each claim adds to supply. */
function madeBy(claims: readonly number[]): number[] {
  const made: number[] = [];
  for (let at = 0; at < claims.length; at += CLAIM_WIDTH) made.push(actionAt(claims, at).supply * claims[at + AMOUNT]!);
  return made;
}

/** Whether all changes are of one symbol and add up to nothing, told without leaving numbers; mostly they are. */
function isStillInOne(postings: readonly number[]): boolean {
  let sum = 0;
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    sum += postings[i + CHANGE]!;
    if (postings[i + 1] !== postings[1] || !Number.isSafeInteger(sum)) return false;
  }
  return sum === 0;
}

/** The changes of one symbol's balances, or of all (-1). */
function deltasOf(postings: readonly number[], symbol: number): number[] {
  const deltas: number[] = [];
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    if (symbol < 0 || postings[i + 1] === symbol) deltas.push(postings[i + CHANGE]!);
  }
  return deltas;
}

/** The exact sum of integers: as numbers while that is exact, else in BigInt. */
function sumOf(values: readonly number[]): bigint {
  let sum = 0;
  for (const value of values) {
    sum += value;
    if (!Number.isSafeInteger(sum)) return values.reduce((total, each) => total + BigInt(each), 0n);
  }
  return BigInt(sum);
}
