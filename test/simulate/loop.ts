/**
 * Virtual time: one queue of events that takes the place of timers and of `setImmediate`, so that a life of hours takes
 * milliseconds and happens the same way each time.
 *
 * Every event belongs to an owner: a server process, or the world around it. When a process dies its events die with
 * it, as in truth. What an event sets off belongs to the same owner unless it says otherwise.
 *
 * Always holds: events run in order of their time, those of one time in the order they were made; between two events
 * every promise that can go on has gone on; no time passes while one runs.
 */

export interface Owner {
  readonly name: string;
  isGone: boolean;
  /** Until then it stands still: its events wait, those of others go on. */
  standsUntil?: number;
}

export class Timer {
  /** When it was to run, and when it will. */
  readonly due: number;
  at: number;
  readonly order: number;
  readonly owner: Owner;
  readonly run: () => void;
  isCancelled = false;

  constructor(at: number, order: number, owner: Owner, run: () => void) {
    this.due = at;
    this.at = at;
    this.order = order;
    this.owner = owner;
    this.run = run;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

const DONE = Promise.resolve();
/** In the busiest of thousands of lives there were some 10 000 events. */
const EVENTS_MAX = 1_000_000;

type Run = (...values: unknown[]) => void;

/** What a life takes the place of. */
const REAL = {
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
};

export class Loop {
  readonly world: Owner = { name: 'world', isGone: false };
  /** Milliseconds since the life began. */
  now = 0;
  events = 0;
  /** Whose event runs. */
  owner: Owner = this.world;
  #order = 0;
  readonly #heap: Timer[] = [];
  #failure: Error | null = null;

  /** Runs something `ms` from now. */
  after(ms: number, run: () => void, owner: Owner = this.owner): Timer {
    const timer = new Timer(this.now + Math.max(0, ms), this.#order++, owner, run);
    this.#push(timer);
    return timer;
  }

  /** Resolves `ms` from now, whatever dies meanwhile. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve, this.world));
  }

  /** Somebody works for so long that everybody else has to wait. */
  stall(ms: number): void {
    this.now += ms;
  }

  /** Somebody stands still; everybody else goes on. */
  hold(owner: Owner, ms: number): void {
    owner.standsUntil = this.now + ms;
  }

  /** What is begun in the name of somebody belongs to that one. */
  as(owner: Owner, begin: () => void): void {
    const before = this.owner;
    this.owner = owner;
    begin();
    this.owner = before;
  }

  /** Ends the life: something is wrong. The first word counts. */
  fail(error: Error): void {
    this.#failure ??= error;
  }

  /** Runs events until the story told by `tell` has ended; its result, or throws what went wrong. */
  async run<T>(tell: () => Promise<T>): Promise<T> {
    this.#install();
    const unhandled = (error: unknown) => this.fail(error as Error);
    process.on('unhandledRejection', unhandled);
    process.on('uncaughtException', unhandled);
    try {
      let isOver = false;
      const story = tell().finally(() => {
        isOver = true;
      });
      story.catch(() => {});
      await this.#pump(() => isOver);
      return await story;
    } finally {
      process.off('unhandledRejection', unhandled);
      process.off('uncaughtException', unhandled);
      Object.assign(globalThis, REAL);
      Reflect.deleteProperty(performance, 'now');
    }
  }

  #pump(isOver: () => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const step = () => {
        if (this.#failure !== null) return reject(this.#failure);
        if (isOver()) return resolve();
        if (this.events >= EVENTS_MAX) return reject(new Error('a life does not end: ever more happens in it'));
        const timer = this.#pop();
        if (timer === null) return reject(new Error('nothing is left to happen, and the life has not ended'));
        this.now = Math.max(this.now, timer.at);
        this.owner = timer.owner;
        this.events++;
        try {
          timer.run();
        } catch (error) {
          this.fail(error as Error);
        }
        // A tick that is asked for by a promise comes after all promises.
        DONE.then(next);
      };
      const next = () => process.nextTick(step);
      DONE.then(next);
    });
  }

  #install(): void {
    const clear = (timer: unknown) => {
      if (timer instanceof Timer) timer.isCancelled = true;
    };
    const repeat = (run: Run, ms: number): Timer => {
      const again = () => {
        if (first.isCancelled) return;
        run();
        this.after(ms, again);
      };
      const first = this.after(ms, again);
      return first;
    };
    const virtual = {
      setImmediate: (run: Run, ...values: unknown[]) => this.after(0, () => run(...values)),
      clearImmediate: clear,
      setTimeout: (run: Run, ms = 0, ...values: unknown[]) => this.after(ms, () => run(...values)),
      clearTimeout: clear,
      setInterval: repeat,
      clearInterval: clear,
    };
    Object.assign(globalThis, virtual);
    Object.defineProperty(performance, 'now', { value: () => this.now, configurable: true });
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = timer;
  }

  /** The next event of somebody who lives, or null. */
  #pop(): Timer | null {
    for (;;) {
      const first = this.#heap[0];
      if (first === undefined) return null;
      this.#sink(this.#heap.pop()!);
      if (first.isCancelled || first.owner.isGone) continue;
      const { standsUntil = 0 } = first.owner;
      if (first.at >= standsUntil) return first;
      first.at = standsUntil;
      this.#push(first);
    }
  }

  /** Puts what was last in the place of what was first. */
  #sink(timer: Timer): void {
    const heap = this.#heap;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, timer)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = timer;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  if (one.at !== other.at) return one.at < other.at;
  return one.due < other.due || (one.due === other.due && one.order < other.order);
}
