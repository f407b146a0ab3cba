/** Walks over very many things, in slices: whoever waits for something else has a turn in between. */
import type { Timers } from './timers.ts';

const SLICE_MS = 2;

/** Visits each of these, some of them at once and the others in later turns; then calls `done`. */
export function inSlices<T>(timers: Timers, all: readonly T[], visit: (one: T) => void, done: () => void): void {
  // An iterator of an array goes on where a loop over it was left.
  const rest = all.values();
  const slice = () => {
    const end = timers.now() + SLICE_MS;
    for (const one of rest) {
      visit(one);
      if (timers.now() < end) continue;
      timers.after(0, slice);
      return;
    }
    done();
  };
  slice();
}
