/**
 * How much of what V8 may take is in use by what lives long. Records, indexes and balances lie outside its heap; open
 * intents, ledgers, and what is counted of symbols and kinds lie in it. Where it has no more room the process ends, and
 * so does each start after it that reads as much: so nothing new is to come in before that.
 */
import { constants, type NodeGCPerformanceDetail, PerformanceObserver } from 'node:perf_hooks';
import { getHeapSpaceStatistics } from 'node:v8';
import { longLivedBytesMax } from './young-generation.ts';

/**
 * Where what lives long may take so much, caches may be as large as they say: as measured, all of them then take less
 * than a seventh of it. Where there is less room they take the same share. That is less than what lies between the
 * share at which what is new is shut out and the one at which what waits cannot end (room.ts): caches that fill
 * meanwhile do not lead from one to the other.
 */
const ROOM_FOR_CACHES = 5.5 * 1024 * 1024 * 1024;
/** Where so many of the open intents have come to their end since the last look, there is room again. */
const GONE_MIN = 1 / 10;

/**
 * Begins to look after each full collection, which alone tells what is garbage. Returns what tells the share in use, 0
 * to 1: 0 before the first such collection. `openIntents`: how many there are.
 */
export function watchV8Heap(openIntents: () => number): () => number {
  let [share, openThen] = [0, 0];
  const observer = new PerformanceObserver((list) => {
    const collections = list.getEntries() as unknown as { detail: NodeGCPerformanceDetail }[];
    if (!collections.some(({ detail }) => detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR)) return;
    share = longLivedBytes() / longLivedBytesMax();
    openThen = openIntents();
  });
  observer.observe({ entryTypes: ['gc'] });
  // While nothing new comes in, the next collection may be hours away.
  return () => (openIntents() < openThen * (1 - GONE_MIN) ? 0 : share);
}

function longLivedBytes(): number {
  const spaces = getHeapSpaceStatistics().filter(({ space_name }) => !space_name.startsWith('new_'));
  return spaces.reduce((sum, { space_used_size }) => sum + space_used_size, 0);
}

/** Of its full size, how much a cache in V8's heap may take, 0 to 1: all of them leave most of it to what is open. */
export function cacheShare(): number {
  return Math.min(1, longLivedBytesMax() / ROOM_FOR_CACHES);
}
