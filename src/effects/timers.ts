/**
 * The clock as an interface, so that a test can turn it by hand, and the real one.
 */

export interface Timers {
  /** Milliseconds; only differences mean something. */
  now(): number;
  /** Calls `run` once, after `ms` milliseconds and never inside this call. */
  after(ms: number, run: () => void): Timer;
  /** After this, `run` is not called any more. */
  cancel(timer: Timer): void;
}

/** What `after` hands out; only the timers it came from look into it. */
export type Timer = object;

/**
 * Timers for what reads the state. That may be ahead of what the disk, or copies, have, and whom it names must not be
 * called then: `whenSettled` has what is due wait until all of it is there. What is called off meanwhile does not come.
 */
export function settledTimers(timers: Timers, whenSettled: (work: () => void) => void): Timers {
  interface Waiting {
    isCancelled: boolean;
    timer: Timer | null;
  }
  return {
    now: () => timers.now(),
    after(ms, run) {
      const waiting: Waiting = { isCancelled: false, timer: null };
      const runOnce = () => {
        if (!waiting.isCancelled) run();
      };
      waiting.timer = timers.after(ms, () => whenSettled(runOnce));
      return waiting;
    },
    cancel(timer) {
      const waiting = timer as Waiting;
      waiting.isCancelled = true;
      timers.cancel(waiting.timer!);
    },
  };
}

export const realTimers: Timers = {
  now: () => performance.now(),
  after: (ms, run) => (ms <= 0 ? setImmediate(run) : setTimeout(run, ms)),
  cancel(timer) {
    clearTimeout(timer as NodeJS.Timeout);
    clearImmediate(timer as NodeJS.Immediate);
  },
};
