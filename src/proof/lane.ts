/**
 * A lane: how this thread and one proof worker hand each other slabs without messages. Both sides count in shared
 * memory and wait for the other's count to move, so a trip costs one wake-up each way, and a worker that finds its
 * next slab posted when it is done with one does not wait at all.
 *
 * What always holds: a slab belongs to the side its state names. This thread posts what is free or done, the worker
 * turns posted into done or failed, and nobody touches the other's. Whoever waits has read the count before it looked
 * at the states, so that no change between the two is missed.
 */

/** Slabs of a lane: one that is worked on and one that waits behind it. */
export const SLABS_PER_LANE = 2;

export const SlabState = { free: 0, posted: 1, done: 2, failed: 3 } as const;

const POSTED = 0;
const DONE = 1;
const SERVED = 2;
const STATES = 3;
const WORDS_PER_SLAB = 3;
const WORDS = STATES + SLABS_PER_LANE * WORDS_PER_SLAB;

/** The words begin behind the times, which must lie at multiples of eight. */
const WORDS_AT = SLABS_PER_LANE * 8;
export const LANE_BYTES = WORDS_AT + WORDS * 4;

export class Lane {
  readonly #words: Int32Array;
  readonly #times: Float64Array;

  constructor(memory: SharedArrayBuffer) {
    this.#times = new Float64Array(memory, 0, SLABS_PER_LANE);
    this.#words = new Int32Array(memory, WORDS_AT, WORDS);
  }

  state(slab: number): number {
    return Atomics.load(this.#words, STATES + slab * WORDS_PER_SLAB);
  }

  /** How long the worker worked on it, milliseconds. */
  workMs(slab: number): number {
    return this.#times[slab]!;
  }

  /** Gives the worker a slab of so many rows. */
  post(slab: number, checks: number, seals: number): void {
    const at = STATES + slab * WORDS_PER_SLAB;
    this.#words[at + 1] = checks;
    this.#words[at + 2] = seals;
    Atomics.store(this.#words, at, SlabState.posted);
    Atomics.add(this.#words, POSTED, 1);
    Atomics.notify(this.#words, POSTED);
  }

  /** Takes a slab back: from a worker that is done with it, or that is no more. */
  free(slab: number): void {
    Atomics.store(this.#words, STATES + slab * WORDS_PER_SLAB, SlabState.free);
  }

  /** How many slabs the worker has given back so far. */
  get done(): number {
    return Atomics.load(this.#words, DONE);
  }

  /** How many workers have come to serve it so far, one after another. */
  get served(): number {
    return Atomics.load(this.#words, SERVED);
  }

  /** Waits until `done` is no longer `seen`; null where it is not already. */
  whenDone(seen: number): Promise<unknown> | null {
    const { async: waits, value } = waitAsync(this.#words, DONE, seen);
    return waits ? (value as Promise<unknown>) : null;
  }

  /** The worker's side: works off what is posted, for ever. `work` returns the milliseconds it took. */
  serve(work: (slab: number, checks: number, seals: number) => number): never {
    const words = this.#words;
    Atomics.add(words, SERVED, 1);
    for (;;) {
      const posted = Atomics.load(words, POSTED);
      for (let slab = 0; slab < SLABS_PER_LANE; slab++)
        if (this.state(slab) === SlabState.posted) this.#work(slab, work);
      Atomics.wait(words, POSTED, posted);
    }
  }

  #work(slab: number, work: (slab: number, checks: number, seals: number) => number): void {
    const at = STATES + slab * WORDS_PER_SLAB;
    let state: number = SlabState.failed;
    try {
      this.#times[slab] = work(slab, this.#words[at + 1]!, this.#words[at + 2]!);
      state = SlabState.done;
    } catch {
      // The slab's state tells of it: whoever posted the slab has its work done elsewhere.
    }
    Atomics.store(this.#words, at, state);
    Atomics.add(this.#words, DONE, 1);
    Atomics.notify(this.#words, DONE);
  }
}

/** ES2024, which the library of types named in tsconfig.json does not have yet. */
const { waitAsync } = Atomics as unknown as {
  waitAsync(words: Int32Array, index: number, value: number): { async: boolean; value: unknown };
};
