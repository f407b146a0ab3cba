/**
 * The threads of the proof pool: piscina starts them, replaces those that die, and ends them; each has one task of
 * its own that never ends, which is to serve its lane.
 *
 * What always holds: each task handed in is answered or rejected once; a thread that dies gives back, as failed, all
 * that it had, and its lane is served again when the next task is put there.
 */
import { createRequire } from 'node:module';
import { LANE_BYTES, Lane, SLABS_PER_LANE, SlabState } from './lane.ts';
import type { ProofTask, ProofWorkData, ProofWorkerData } from './work.ts';

/** Threads as the pool uses them. */
export interface Threads {
  /** Those that run. */
  readonly threads: readonly unknown[];
  /** Has whichever thread serves the slab's lane work the task off; rejects where it died or threw. */
  run(task: ProofTask): Promise<number>;
  /** Told when a thread is lost, whether it had a task or not. */
  on(event: 'error' | 'workerDestroy', listener: () => void): unknown;
  destroy(): Promise<void>;
}

interface Waiting {
  resolve(workMs: number): void;
  reject(error: Error): void;
}

const THREAD = new URL('../proof/thread.cjs', import.meta.url);

/** Loaded with the first threads, which a start does not need. */
const loadPiscina = () => createRequire(import.meta.url)('piscina') as typeof import('piscina');

/** The same for who has time: file by file, others get their turn between. */
export async function loadAhead(): Promise<void> {
  await import('piscina');
}

export function startThreads(
  data: ProofWorkData,
  workers: number,
  workerUrl = new URL('../proof/worker.js', import.meta.url),
): Threads {
  const memories = Array.from({ length: workers }, () => new SharedArrayBuffer(LANE_BYTES));
  const workerData: ProofWorkerData = { ...data, lanes: memories };
  const piscina = new (loadPiscina().Piscina)({
    filename: THREAD.href,
    workerData: { ...workerData, module: workerUrl.href },
    minThreads: workers,
    maxThreads: workers,
    idleTimeout: Infinity,
    concurrentTasksPerWorker: 1,
    maxQueue: Infinity,
    atomics: 'disabled',
    recordTiming: false,
  });
  const lanes = memories.map((memory, lane) => new LaneServer(new Lane(memory), () => piscina.run(lane)));
  return {
    get threads() {
      return piscina.threads;
    },
    run: ({ slab, checks, seals }) =>
      lanes[Math.floor(slab / SLABS_PER_LANE)]!.run(slab % SLABS_PER_LANE, checks, seals),
    on: (event, listener) => piscina.on(event, listener),
    destroy: () => piscina.destroy(),
  };
}

/** This thread's side of a lane. */
class LaneServer {
  readonly #lane: Lane;
  readonly #serve: () => Promise<unknown>;
  readonly #waiting: (Waiting | null)[] = Array.from({ length: SLABS_PER_LANE }, () => null);
  #isServed = false;
  #isWatched = false;

  constructor(lane: Lane, serve: () => Promise<unknown>) {
    this.#lane = lane;
    this.#serve = serve;
    this.#start();
  }

  run(slab: number, checks: number, seals: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting[slab] = { resolve, reject };
      this.#lane.post(slab, checks, seals);
      if (!this.#isServed) this.#start();
      if (!this.#isWatched) this.#watch();
    });
  }

  #start(): void {
    this.#isServed = true;
    const onEnd = (error?: Error) => this.#onEnd(error ?? new Error('a proof worker ended'));
    this.#serve().then(() => onEnd(), onEnd);
  }

  /** The thread is gone; what it had is given back. */
  #onEnd(error: Error): void {
    this.#isServed = false;
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
