/**
 * Of all that is noted as in, what the ledger is asked for: books that are older lack their end, so whatever they lack,
 * they lack the youngest of all. Which one that is nobody knows, for answers come in no order; but it is among these.
 */
import { isLuid, secondOf } from '../../core/luid.ts';
import type { SentAnswer } from './answers.ts';

/** Lines on their way at once, at most: so many may be noted behind one that is younger. */
export const WIDTH_MAX = 512;

export class Witnesses {
  /** In order of noting: who is answered behind the youngest was on its way with it. */
  readonly #taken = new Last(() => 0);
  /** By the second they were made in, since one that is there may be of any age. */
  readonly #there = new Last(madeAt);

  add(answer: SentAnswer): void {
    (answer.outcome === 'taken' ? this.#taken : this.#there).add(answer);
  }

  /** Those among which is the youngest, where so many lines at most were on their way at once. */
  youngest(width: number): SentAnswer[] {
    return [...this.#there.last(width), ...this.#taken.last(width)];
  }
}

/** The last WIDTH_MAX of many by what a key says, and of one key those that came last. */
class Last {
  readonly #key: (answer: SentAnswer) => number;
  #kept: SentAnswer[] = [];

  constructor(key: (answer: SentAnswer) => number) {
    this.#key = key;
  }

  add(answer: SentAnswer): void {
    if (this.#kept.push(answer) >= 2 * WIDTH_MAX) this.#kept = this.last(WIDTH_MAX);
  }

  last(count: number): SentAnswer[] {
    return this.#kept.sort((one, other) => this.#key(one) - this.#key(other)).slice(-count);
  }
}

/** Before all others where that is not told. */
function madeAt({ luid }: SentAnswer): number {
  return typeof luid === 'string' && isLuid(luid) ? secondOf(luid) : -1;
}
