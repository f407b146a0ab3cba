/**
 * What must hold whatever anybody sends, checked as the books are written and again as they are read.
 */
import { fallbackAddresses } from './address.ts';
import { AMOUNT, actionAt, CLAIM_WIDTH, type ClaimAction } from './claims/index.ts';
import { CHANGE, LIMIT_WIDTH, type Outcome, POSTING_WIDTH } from './entry.ts';
import { assert } from './refusal.ts';

/**
 * Value is neither made nor lost: what the postings of an intent add up to in each symbol is what its claims issue of
 * it minus what they destroy.
 *
 * Of symbols postings know the rows and claims the names, which may have come to mean other records since the intent
 * was prepared. So the sums are held to each other without saying which symbol is which: as many of each size on both
 * sides. Where two names of those claims may mean one record, all are summed together.
 *
 * `claims`: flat rows of CLAIM_WIDTH. `symbolsOf`: the symbols that they name, asked for only where several are moved
 * and value is made or lost.
 */
export function assertBalanced(
  { postings, limits }: Outcome,
  claims: readonly number[],
  symbolsOf: () => readonly string[],
): void {
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
  if (isAll(claims, ({ supply }) => supply === 0)) {
    assert(isStillInOne(postings) || changesOf(postings).length === 0, UNBALANCED);
    return;
  }
  assert(sumOf(deltasOf(postings)) === sumOf(madeBy(claims)), UNBALANCED);
  if (!isInOne(postings)) assertAlike(changesOf(postings), claims, symbolsOf());
}

/** The supply of symbols changes by so much, each by what claims make of one of the symbols they name. */
function assertAlike(changes: readonly bigint[], claims: readonly number[], symbols: readonly string[]): void {
  const made = new Map<string, number[]>();
  for (const [index, amount] of madeBy(claims).entries()) if (amount !== 0) addTo(made, symbols[index]!, amount);
  const meant = [...made.keys()].flatMap((symbol) => [symbol, ...fallbackAddresses(symbol)]);
  if (new Set(meant).size < meant.length) return;
  const expected = sumsOf(made);
  assert(expected.length === changes.length && expected.every((sum, at) => sum === changes[at]), UNBALANCED);
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

function isInOne(postings: readonly number[]): boolean {
  for (let i = POSTING_WIDTH; i < postings.length; i += POSTING_WIDTH)
    if (postings[i + 1] !== postings[1]) return false;
  return true;
}

/** The changes of all balances. */
function deltasOf(postings: readonly number[]): number[] {
  const deltas: number[] = [];
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) deltas.push(postings[i + CHANGE]!);
  return deltas;
}

/** What the postings add to each symbol's supply, see `sumsOf`. */
function changesOf(postings: readonly number[]): bigint[] {
  const deltas = new Map<number, number[]>();
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) addTo(deltas, postings[i + 1]!, postings[i + CHANGE]!);
  return sumsOf(deltas);
}

function addTo<Key>(lists: Map<Key, number[]>, key: Key, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** The sums of the lists that are not 0, by their size. */
function sumsOf(lists: ReadonlyMap<unknown, readonly number[]>): bigint[] {
  const sums = [...lists.values()].map(sumOf).filter((sum) => sum !== 0n);
  return sums.sort((one, other) => (one < other ? -1 : one > other ? 1 : 0));
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
