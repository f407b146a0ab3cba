/**
 * How long to wait before trying again. A pure function of how often it failed and of what the other side asked for.
 *
 * The waits grow by a fifth each, from a second to an hour: the first fifteen attempts fall within a minute and a
 * half, for a bridge that restarts, and a hundred of them reach over two days, for one that is down for a weekend.
 */

const FIRST_MS = 1_000;
const FACTOR = 1.2;
const WAIT_MS_MAX = 3_600_000;

/**
 * Milliseconds to wait after the `attempts`-th attempt failed, counted from 1. `askedMs` is what the other side asked
 * for (Retry-After): it may lengthen the wait up to the cap, and never shortens it.
 */
export function backoffMs(attempts: number, askedMs = 0): number {
  const grown = Math.round(FIRST_MS * FACTOR ** (attempts - 1));
  return Math.min(WAIT_MS_MAX, Math.max(grown, askedMs));
}
