/** Walks over very many things, in slices: whoever waits for something else has a turn in between. */
import type { Timers } from './timers.ts';

/**
 * Walks for bridges that are there again: one for all that were woken; whoever is woken meanwhile waits for the next.
 */
export class WokenWalks {
  /** `walk` calls `done` when it is over. */
  readonly #walk: (woken: ReadonlySet<number>, done: () => void) => void;
  #woken = new Set<number>();
  #isWalking = false;

  constructor(walk: (woken: ReadonlySet<number>, done: () => void) => void) {
    this.#walk = walk;
  }

  /** However often it is. */
  wake(bridge: number): void {
    this.#woken.add(bridge);
    this.#next();
  }

  #next(): void {
    if (this.#isWalking || this.#woken.size === 0) return;
    const woken = this.#woken;
    this.#woken = new Set();
    this.#isWalking = true;
    this.#walk(woken, () => {
      this.#isWalking = false;
      this.#next();
    });
  }
}

/** What took long rests so many times as long: making a body may, or holding one event to its filter. */
export const REST = 4;

const SLICE_MS = 2;

/**
 * Visits each of these, some of them at once and the others in later turns, which may meet what has come since; then
 * calls `done`.
 */
export function inSlices<T>(
  timers: Timers,
  all: Iterator<T, unknown>,
  visit: (one: T) => void,
  done: () => void,
): void {
  const slice = () => {
    const end = timers.now() + SLICE_MS;
    for (let next = all.next(); next.done !== true; next = all.next()) {
      visit(next.value);
      if (timers.now() < end) continue;
      timers.after(0, slice);
      return;
    }
    done();
  };
  slice();
}
