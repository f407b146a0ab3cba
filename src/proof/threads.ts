/**
 * The threads of the proof pool: one for each lane, with a single task that never ends: to serve the lane. piscina
 * starts and ends a thread. One that dies is replaced here: once a thread has died while it started, piscina starts no
 * more and tells nobody who waits.
 *
 * What always holds: each task handed in is answered or rejected once; a thread that dies gives back, as failed, all
 * that it had; a lane without a thread takes no task.
 */
import { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type { Piscina } from 'piscina';
import { LANE_BYTES, Lane, SLABS_PER_LANE, SlabState } from './lane.ts';
import type { ProofTask, ProofWorkData, ProofWorkerData } from './work.ts';

/** Threads as the pool uses them. */
export interface Threads {
  /** The threads that run. */
  readonly threads: readonly unknown[];
  /**
   * Has the thread of the slab's lane work the task off; rejects where it died or threw: with a NoThreadError where
   * there is none.
   */
  run(task: ProofTask): Promise<number>;
  /** Told when a thread is lost, whether it had a task or not. */
  on(event: 'lost', listener: () => void): unknown;
  destroy(): Promise<void>;
}

/** For a lane whose thread died, or never was, and that gets no other. */
export class NoThreadError extends Error {
  override name = 'NoThreadError';
}

interface Waiting {
  resolve(workMs: number): void;
  reject(error: Error): void;
}

const THREAD = new URL('../proof/thread.cjs', import.meta.url);

/** After so many threads in a row that ended before they came to serve their lane, it gets no other. */
const UNSERVING_MAX = 2;

/** Loaded with the first threads, which a start does not need. */
const loadPiscina = () => createRequire(import.meta.url)('piscina') as typeof import('piscina');

/** The same for a caller who has time: file by file, with the turns of others between. */
export async function loadAhead(): Promise<void> {
  await import('piscina');
}

export function startThreads(
  data: ProofWorkData,
  workers: number,
  workerUrl = new URL('../proof/worker.js', import.meta.url),
): Threads {
  const { Piscina } = loadPiscina();
  const memories = Array.from({ length: workers }, () => new SharedArrayBuffer(LANE_BYTES));
  const workerData: ProofWorkerData = { ...data, lanes: memories };
  const begin = () =>
    new Piscina({
      filename: THREAD.href,
      workerData: { ...workerData, module: workerUrl.href },
      // With more, piscina would replace a thread where nobody can catch that the system has none.
      minThreads: 0,
      maxThreads: 1,
      idleTimeout: Infinity,
      concurrentTasksPerWorker: 1,
      maxQueue: Infinity,
      atomics: 'disabled',
      recordTiming: false,
    });
  const losses = new EventEmitter<{ lost: [] }>();
  const lost = () => losses.emit('lost');
  const lanes = memories.map((memory, number) => new LaneServer(new Lane(memory), { number, begin, lost }));
  return {
    get threads() {
      return lanes.filter((lane) => lane.hasThread);
    },
    run: ({ slab, checks, seals }) =>
      lanes[Math.floor(slab / SLABS_PER_LANE)]!.run(slab % SLABS_PER_LANE, checks, seals),
    on: (event, listener) => losses.on(event, listener),
    destroy: async () => {
      await Promise.all(lanes.map((lane) => lane.end()));
    },
  };
}

interface LaneOptions {
  readonly number: number;
  /** A pool for one thread, which is started with the task to serve the lane of a number. */
  begin(): Piscina;
  /** Told when the lane's thread is lost. */
  lost(): void;
}

/** This thread's side of a lane. */
class LaneServer {
  readonly #lane: Lane;
  readonly #options: LaneOptions;
  readonly #waiting: (Waiting | null)[] = Array.from({ length: SLABS_PER_LANE }, () => null);
  /** Null where there is none, nor will be. */
  #thread: Piscina | null = null;
  /** How many ended since the last that served. */
  #unserving = 0;
  #isWatched = false;

  constructor(lane: Lane, options: LaneOptions) {
    this.#lane = lane;
    this.#options = options;
    this.#start();
  }

  get hasThread(): boolean {
    return this.#thread !== null;
  }

  run(slab: number, checks: number, seals: number): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#thread === null) return reject(new NoThreadError('there is no proof worker'));
      this.#waiting[slab] = { resolve, reject };
      this.#lane.post(slab, checks, seals);
      if (!this.#isWatched) this.#watch();
    });
  }

  /** Ends the thread; there will be no other. */
  async end(): Promise<void> {
    const thread = this.#thread;
    this.#thread = null;
    await thread?.destroy();
    this.#giveBack(new Error('the proof workers were ended'));
  }

  #start(): void {
    const { number, begin } = this.#options;
    const { served } = this.#lane;
    const thread = begin();
    const onEnd = (error = new Error('a proof worker ended')) => {
      if (thread === this.#thread) this.#onEnd(thread, served, error);
    };
    // The promise below is not settled for a thread that ends before it has taken its task.
    const onLost = () => setImmediate(onEnd);
    thread.on('error', onLost).on('workerDestroy', onLost);
    this.#thread = thread;
    try {
      thread.run(number).then(() => onEnd(), onEnd);
    } catch {
      // The system has none for us.
      this.#thread = null;
    }
  }

  /** The thread is gone: gives back what it had, and starts another. `served`: the count before it was started. */
  #onEnd(thread: Piscina, served: number, error: Error): void {
    this.#thread = null;
    thread.destroy().catch(() => {});
    this.#unserving = this.#lane.served > served ? 0 : this.#unserving + 1;
    this.#giveBack(error);
    if (this.#unserving < UNSERVING_MAX) this.#start();
    this.#options.lost();
  }

  #giveBack(error: Error): void {
    this.#collect();
    for (let slab = 0; slab < SLABS_PER_LANE; slab++) {
      const waiting = this.#waiting[slab]!;
      if (waiting === null) continue;
      this.#lane.free(slab);
      this.#waiting[slab] = null;
      waiting.reject(error);
    }
  }

  /** Waits for the worker's count to move, as long as it has something. */
  #watch(): void {
    for (;;) {
      const seen = this.#lane.done;
      this.#collect();
      this.#isWatched = this.#waiting.some((waiting) => waiting !== null);
      if (!this.#isWatched) return;
      const moved = this.#lane.whenDone(seen);
      if (moved !== null) {
        moved.then(() => this.#watch());
        return;
      }
    }
  }

  #collect(): void {
    for (let slab = 0; slab < SLABS_PER_LANE; slab++) {
      const state = this.#lane.state(slab);
      const waiting = this.#waiting[slab]!;
      if (waiting === null || state === SlabState.posted) continue;
      this.#lane.free(slab);
      this.#waiting[slab] = null;
      if (state === SlabState.done) waiting.resolve(this.#lane.workMs(slab));
      else waiting.reject(new Error('a proof worker threw'));
    }
  }
}
