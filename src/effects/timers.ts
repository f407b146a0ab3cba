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

export const realTimers: Timers = {
  now: () => performance.now(),
  after: (ms, run) => (ms <= 0 ? setImmediate(run) : setTimeout(run, ms)),
  cancel(timer) {
    clearTimeout(timer as NodeJS.Timeout);
    clearImmediate(timer as NodeJS.Immediate);
  },
};
