/**
 * What an outcome's postings and limits do to balances, daily counters and supply. Whether and when they do it is
 * apply's matter (apply.ts).
 */
import { DAILY_AMOUNT, DAILY_COUNT, METRICS } from './balances.ts';
import { CHANGE, LIMIT_WIDTH, MOVED, type Outcome, POSTING_WIDTH, throughAt } from './entry.ts';
import { findSlot } from './finding.ts';
import { COUNTED_WIDTH, listOf } from './open-intents.ts';
import { assert } from './refusal.ts';
import type { OpenIntent, State } from './state.ts';

/** The limits that an outcome sets hold from now on. */
export function setLimits(state: State, { limits, moment }: Outcome): void {
  for (let i = 0; i < limits.length; i += LIMIT_WIDTH) {
    state.balances.setLimit(slotOf(state, limits, i), limits[i + 2]!, limits[i + 3]!, moment);
  }
}

/** Moves money at once, and counts it towards daily limits, from the intent that sets them on. */
export function move(state: State, { postings, moment }: Outcome, received: number): void {
  const { balances } = state;
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    const slot = slotOf(state, postings, i);
    const moved = postings[i + MOVED]!;
    balances.add(slot, postings[i + CHANGE]!, moment);
    assert(Number.isSafeInteger(balances.available(slot)), 'a balance stays within ±(2^53-1)');
    if (moved !== 0 && balances.isLimited(slot)) balances.countMoved(slot, moved, received);
  }
}

/**
 * Sets money aside; what that adds to daily counters is noted in `counted`. Of what a thread brings to a wallet and
 * takes on from there nothing is set aside, or to come: a gives c 40, which c passes on to d, so the first intent of
 * the thread has the postings a −40, c +40, the second c −40, of which 40 come with the thread, d +40.
 *
 *                    a                c                          d
 *     the first      reserved 40      incoming 40
 *     the second                      incoming 0, passing 40     incoming 40
 */
export function hold(state: State, outcome: Outcome, received: number, counted: number[]): void {
  const { balances } = state;
  const { postings, moment } = outcome;
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    const slot = slotOf(state, postings, i);
    const moved = postings[i + MOVED]!;
    balances.hold(slot, postings[i + CHANGE]!, throughAt(outcome, i), moment);
    if (moved === 0 || !balances.isLimited(slot)) continue;
    const before = balances.movedOn(slot, received);
    balances.countMoved(slot, moved, received);
    const after = balances.movedOn(slot, received);
    counted.push(slot, balances.countedDay(slot), after.amount - before.amount, after.count - before.count);
  }
}

/**
 * Wallets that the outcome of a hold is about though it sets nothing aside there: limited, or left with what they had.
 */
export function walletsNotHeld({ postings, limits }: Outcome): readonly number[] {
  const wallets = new Set<number>();
  for (let i = 0; i < limits.length; i += LIMIT_WIDTH) wallets.add(limits[i]!);
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) if (postings[i + CHANGE] === 0) wallets.add(postings[i]!);
  return listOf([...wallets]);
}

/** Ends a hold, for good or as if it had never been. */
export function release(
  state: State,
  { moment: received, counted }: OpenIntent,
  outcome: Outcome,
  moves: boolean,
): void {
  const { balances } = state;
  const { postings, moment } = outcome;
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    const slot = slotOf(state, postings, i);
    balances.endHold(slot, postings[i + CHANGE]!, throughAt(outcome, i), moves, moment);
    assert(Number.isSafeInteger(balances.available(slot)), 'a balance stays within ±(2^53-1)');
  }
  if (moves) return;
  for (let i = 0; i < counted.length; i += COUNTED_WIDTH) {
    const [slot, day, amount, count] = counted.slice(i, i + COUNTED_WIDTH) as [number, number, number, number];
    // A counter that has gone on to another day keeps nothing of this one.
    if (balances.countedDay(slot) === day) balances.addMoved(slot, -amount, -count, received);
  }
}

/**
 * Daily limits count from the intent on that sets them. What that had set aside before they were there, `hold` did not
 * count, and it counts once it has moved.
 */
export function countNewlyLimited(
  state: State,
  { moment: received, counted }: OpenIntent,
  { postings, limits }: Outcome,
): void {
  const { balances } = state;
  const counterOf = (slot: number, metric: number) => slot * METRICS.length + metric;
  const begun = new Set<number>();
  for (let i = 0; i < limits.length; i += LIMIT_WIDTH) {
    const metric = limits[i + 2]!;
    if (metric === DAILY_AMOUNT || metric === DAILY_COUNT) begun.add(counterOf(slotOf(state, limits, i), metric));
  }
  if (begun.size === 0) return;
  for (let i = 0; i < counted.length; i += COUNTED_WIDTH) {
    if (counted[i + 2] !== 0) begun.delete(counterOf(counted[i]!, DAILY_AMOUNT));
    if (counted[i + 3] !== 0) begun.delete(counterOf(counted[i]!, DAILY_COUNT));
  }
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    const moved = postings[i + MOVED]!;
    if (moved === 0) continue;
    const slot = slotOf(state, postings, i);
    const amount = begun.has(counterOf(slot, DAILY_AMOUNT)) ? moved : 0;
    const count = begun.has(counterOf(slot, DAILY_COUNT)) ? 1 : 0;
    if (amount + count > 0) balances.addMoved(slot, amount, count, received);
  }
}

/** Transfers cancel out; what remains per symbol was issued or destroyed. */
export function addSupply(state: State, postings: number[]): void {
  if (postings.length === 2 * POSTING_WIDTH && postings[1] === postings[POSTING_WIDTH + 1]) {
    if (postings[CHANGE]! + postings[POSTING_WIDTH + CHANGE]! === 0) return;
  }
  for (let i = 0; i < postings.length; ) {
    const symbol = postings[i + 1]!;
    // Postings of one symbol mostly stand together: as long as numbers are exact, they are summed before BigInt is.
    let sum = 0;
    let at = i;
    do {
      sum += postings[at + CHANGE]!;
      at += POSTING_WIDTH;
    } while (postings[at + 1] === symbol && Number.isSafeInteger(sum + postings[at + CHANGE]!));
    addToSupply(state, symbol, sum);
    i = at;
  }
}

function addToSupply({ supply }: State, symbol: number, sum: number): void {
  const before = supply.get(symbol);
  if (before === undefined || sum !== 0) supply.set(symbol, (before ?? 0n) + BigInt(sum));
}

/**
 * The slot of the wallet and symbol with which the row of a posting or limit begins at `at`; a new one where there is
 * none.
 */
function slotOf(state: State, postings: readonly number[], at: number): number {
  const { balances, rows } = state;
  const [wallet, symbol] = [postings[at]!, postings[at + 1]!];
  const slot = findSlot(state, wallet, symbol);
  if (slot >= 0) return slot;
  const made = balances.create(wallet, symbol, rows.firstSlot.get(wallet));
  rows.firstSlot.set(wallet, made + 1);
  return made;
}
