/** Who is late: by ticks that stand still where the whole process does, so that a machine that stood still makes nobody late. */

const TICK_MS = 100;

/** Has `tell` called after so many milliseconds of ticks; returns what calls that off. */
export function whenLate(ms: number, tell: () => void): () => void {
  let left = ms;
  const watch = setInterval(() => {
    left -= TICK_MS;
    if (left > 0) return;
    clearInterval(watch);
    tell();
  }, TICK_MS);
  return () => clearInterval(watch);
}
