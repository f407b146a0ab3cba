/**
 * Bounds: whether a wallet can take what an intent comes to for it, by its funds, its limits, and the numbers that its
 * balance may have. Knows the net change alone, and nothing of the claims that it is made of.
 */
import { DAILY_AMOUNT, DAILY_COUNT, MAX_BALANCE, MIN_BALANCE } from './balances.ts';
import { CHANGE, MOVED } from './entry.ts';
import { findSlot } from './finding.ts';
import { namesOf } from './records.ts';
import { type Refusal, refuse } from './refusal.ts';
import type { State } from './state.ts';

/**
 * Why the wallet of the posting at `at` cannot take its change, or null. Bounds are inclusive. `passed` is what of it
 * comes with the thread and need not be there.
 */
export function judge(
  state: State,
  postings: readonly number[],
  at: number,
  passed: number,
  moment: number,
): Refusal | null {
  const { balances } = state;
  const delta = postings[at + CHANGE]!;
  const moved = postings[at + MOVED]!;
  const slot = findSlot(state, postings[at]!, postings[at + 1]!);
  const available = (slot < 0 ? 0 : balances.available(slot)) + passed;
  const after = available + delta;
  if (!Number.isSafeInteger(delta) || !staysWhole(balances, slot, delta, passed)) {
    return exceeded(state, postings, at, `would leave the range of ±(2^53-1): it has ${available}`);
  }
  if (slot < 0 || !balances.isLimited(slot)) return after < 0 ? short(state, postings, at, available, delta) : null;

  const min = balances.limit(slot, MIN_BALANCE);
  if (Number.isNaN(min)) {
    if (after < 0) return short(state, postings, at, available, delta);
  } else if (after < min) {
    const what = `has ${available}, changes by ${delta}, and must not fall below its minBalance ${min}`;
    return exceeded(state, postings, at, what);
  }
  const max = balances.limit(slot, MAX_BALANCE);
  const held = balances.reserved(slot) + balances.incoming(slot) - passed;
  if (after + held > max) {
    const has = available + held;
    const what = `has ${has}, changes by ${delta}, and must not rise above its maxBalance ${max}`;
    return exceeded(state, postings, at, what);
  }
  if (moved === 0) return null;
  const day = balances.movedOn(slot, moment);
  const dailyAmount = balances.limit(slot, DAILY_AMOUNT);
  if (day.amount + moved > dailyAmount) {
    const what = `moved ${day.amount} today, would move ${moved} more, and its dailyAmount is ${dailyAmount}`;
    return exceeded(state, postings, at, what);
  }
  const dailyCount = balances.limit(slot, DAILY_COUNT);
  if (day.count + 1 > dailyCount) {
    const what = `took part in ${day.count} transfers today, and its dailyCount is ${dailyCount}`;
    return exceeded(state, postings, at, what);
  }
  return null;
}

/**
 * Whether all numbers of the slot, -1 for none, stay whole ones in range where `delta` is set aside, of which `passed`
 * comes with the thread. What is held counts as well: whatever becomes of it, and in whatever order. Below zero a
 * balance makes room in the sum of all for more than may be reserved or to come, and while a thread ends, what passes
 * through has come and not gone yet, or gone and not come.
 */
function staysWhole(balances: State['balances'], slot: number, delta: number, passed: number): boolean {
  if (slot < 0) return true;
  const passing = balances.passing(slot);
  const after = balances.available(slot) + delta;
  const reserved = balances.reserved(slot);
  const incoming = balances.incoming(slot);
  const own = delta + passed;
  return (
    Number.isSafeInteger(reserved + Math.max(0, -own)) &&
    Number.isSafeInteger(incoming + Math.max(0, own) + passing) &&
    Number.isSafeInteger(after + passed + reserved + incoming + passing) &&
    Number.isSafeInteger(after - passing)
  );
}

const SHORT = 'core.insufficient-balance';
const EXCEEDED = 'core.limit-exceeded';

/** Whether it is `judge` that gives this reason. */
export function isOfBounds(reason: string): boolean {
  return reason === SHORT || reason === EXCEEDED;
}

function short(state: State, postings: readonly number[], at: number, available: number, delta: number): Refusal {
  return refuse(SHORT, `${nameOf(state, postings, at)} has ${available} available, and ${-delta} is needed`);
}

function exceeded(state: State, postings: readonly number[], at: number, what: string): Refusal {
  return refuse(EXCEEDED, `${nameOf(state, postings, at)} ${what}`);
}

function nameOf(state: State, postings: readonly number[], at: number): string {
  return `Wallet ${namesOf(state, postings[at]!).handle} in ${namesOf(state, postings[at + 1]!).handle}`;
}
