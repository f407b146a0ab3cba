/**
 * What is looked at and done beside the requests while the server runs: intents that have waited too long, the clock,
 * threads that may hang or are missing, a disk and copies that answers wait for, the lock, the room that is left, what
 * lies on the disk; and soon after the start, what the first burst would have to wait for. None of its timers keeps the
 * process alive.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Engine } from './engine.ts';
import { prepareSchemas } from './http/schemas.ts';
import type { Log } from './log.ts';
import type { ProofPool } from './proof/pool.ts';
import type { Lock } from './storage/lock.ts';
import type { Scrub } from './storage/scrub.ts';
import { loadPacking } from './storage/values.ts';
import { type LookAtClock, watchFullness, watchStillness, watchThreads } from './trouble.ts';
import type { Wait } from './wait.ts';

const TICK_MS = 1000;
/** So long after the start, which is not to wait for it, and with such pauses the rest is loaded. */
const PREPARE_AFTER_MS = 1000;
const PREPARE_PAUSE_MS = 20;
/** How often the event loop is looked at, where figures are asked for. */
const LOOP_RESOLUTION_MS = 1;

/** Where there is nothing to look through yet. */
const SCRUB_PAUSE_MS = 60_000;

interface Watched {
  engine: Engine;
  pool: ProofPool;
  lock: Lock;
  lookAtClock: LookAtClock;
  /** Null where nothing on the disk is looked through again. */
  scrub: Scrub | null;
  /** What answers wait for. */
  waits: readonly Pick<Wait, 'look'>[];
  /** Whether intents that have waited too long end. */
  expires: boolean;
}

/** Begins; what it returns ends what a server that stops does no more. */
export function startWatch(watched: Watched, { tell, defect }: Log): () => void {
  const { engine, pool, lock, lookAtClock, scrub, waits, expires } = watched;
  const ticker = setInterval(() => {
    // Before anything ends by it.
    lookAtClock(engine.now(), Date.now(), performance.now());
    if (expires) engine.tick();
  }, TICK_MS).unref();
  const goesOn = watchStillness(tell, performance.now(), computedMs());
  // Goes on while the server stops, which waits for threads, the disk and copies too.
  setInterval(() => {
    goesOn(performance.now(), computedMs());
    for (const wait of waits) wait.look();
    lookAt(pool, lock, engine);
  }, TICK_MS).unref();
  const lookAtFullness = watchFullness(tell);
  const lookAtThreads = watchThreads(tell);
  setInterval(() => {
    lookAtThreads(pool.threadsMissing);
    const { room, state } = engine;
    const { recordsBytesMax: bytesMax, bothBytesMax } = room;
    lookAtFullness(room.whatIsFull(true), { bytesMax, bothBytesMax, openIntents: state.open.size });
  }, TICK_MS).unref();
  const preparing = setTimeout(() => prepare(pool).catch(defect), PREPARE_AFTER_MS).unref();
  if (scrub !== null) goOnScrubbing(scrub).catch((error: Error) => engine.fail(error));
  return () => {
    clearInterval(ticker);
    clearTimeout(preparing);
  };
}

async function goOnScrubbing(scrub: Scrub): Promise<never> {
  for (;;) if ((await scrub.round()) === 0) await sleep(SCRUB_PAUSE_MS, undefined, { ref: false });
}

/** Of all threads: the main thread has no figure of its own in every Node that ayni runs on. */
function computedMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Ends the process where a thread hangs, or where the books are another server's by now. */
function lookAt(pool: ProofPool, lock: Lock, engine: Engine): void {
  try {
    pool.look();
    lock.check();
  } catch (error) {
    engine.fail(error as Error);
  }
}

/**
 * Does in small steps what the first burst, the first body of each kind, and the first snapshot would have to wait for.
 */
async function prepare(pool: ProofPool): Promise<void> {
  const pause = () => sleep(PREPARE_PAUSE_MS, undefined, { ref: false });
  await pool.prepare(pause);
  await prepareSchemas(pause);
  await pause();
  loadPacking();
}

/**
 * Counts how long the event loop was kept from its timers, and tells all figures on SIGWINCH and when called: one line
 * of JSON. Sums go on from the start; the event loop's delays are those since the last line.
 */
export function watchFigures(engine: Engine, pool: ProofPool, { tell }: Log): () => void {
  const delays = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delays.enable();
  // The monitor tells how long its own timer took, its interval included.
  const lateMs = (nanoseconds: number) => Math.max(0, nanoseconds / 1e6 - LOOP_RESOLUTION_MS);
  const tellFigures = () => {
    const [p50, p99, p999] = [50, 99, 99.9].map((share) => lateMs(delays.percentile(share)));
    const loopLateMs = { p50, p99, p999, max: lateMs(delays.max) };
    delays.reset();
    const memory = process.memoryUsage();
    tell(`Figures ${JSON.stringify({ engine: engine.stats, proofs: pool.stats, loopLateMs, memory })}`);
  };
  // Of the signals that end no process that does not know them, so that asking the wrong one does no harm.
  process.on('SIGWINCH', tellFigures);
  return tellFigures;
}
