/**
 * Clients who asked to hear how their intent ends (`Prefer: wait`), or of what comes next in the log. Told by what the
 * engine publishes, or by time; whoever is gone is not waited for.
 */
import { type Entry, EntryType, statusAfter } from '../core/entry.ts';

const FINAL = new Set(['completed', 'rejected']);

/** Whether these entries, the last with this sequence number, may be what somebody waits for. Asked of all, in order. */
export type Concerns = (entries: readonly Entry[], seq: number) => boolean;

/** Whoever waits no longer: what `tell` would have told is not told. */
export type GiveUp = () => void;

interface LogWaiter {
  concerns: Concerns;
  tell: () => void;
}

export class Waiters {
  readonly #byLuid = new Map<string, Set<() => void>>();
  readonly #log = new Set<LogWaiter>();
  #isEnded = false;

  /** The server stops: nobody waits any longer. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** How many wait. */
  get size(): number {
    let size = this.#log.size;
    for (const tellers of this.#byLuid.values()) size += tellers.size;
    return size;
  }

  /** Calls `tell` once, when the intent is final or the time is over. */
  watch(luid: string, ms: number, tell: () => void): GiveUp {
    const tellers = this.#byLuid.get(luid) ?? new Set();
    const add = (once: () => void) => this.#byLuid.set(luid, tellers.add(once));
    const leave = (once: () => void) => {
      tellers.delete(once);
      if (tellers.size === 0 && this.#byLuid.get(luid) === tellers) this.#byLuid.delete(luid);
    };
    return this.#wait(ms, tell, add, leave);
  }

  /** Calls `tell` once, when entries that concern it are on disk or the time is over. */
  watchLog(ms: number, concerns: Concerns, tell: () => void): GiveUp {
    const waiter: LogWaiter = { concerns, tell };
    const add = (once: () => void) => {
      waiter.tell = once;
      this.#log.add(waiter);
    };
    return this.#wait(ms, tell, add, () => this.#log.delete(waiter));
  }

  #wait(ms: number, tell: () => void, add: (once: () => void) => void, leave: (once: () => void) => void): GiveUp {
    if (this.#isEnded) {
      tell();
      return () => {};
    }
    const giveUp = () => {
      clearTimeout(timer);
      leave(once);
    };
    const once = () => {
      giveUp();
      tell();
    };
    const timer = setTimeout(once, ms);
    add(once);
    return giveUp;
  }

  /** Takes entries that are on disk; the last of them has this sequence number. */
  publish(entries: readonly Entry[], seq: number): void {
    for (const waiter of [...this.#log]) if (waiter.concerns(entries, seq)) waiter.tell();
    for (const entry of entries) {
      if (entry.type !== EntryType.step || !FINAL.has(statusAfter(entry.outcome))) continue;
      for (const tell of [...(this.#byLuid.get(entry.luid) ?? [])]) tell();
    }
  }

  end(): void {
    this.#isEnded = true;
    for (const { tell } of [...this.#log]) tell();
    for (const tellers of [...this.#byLuid.values()]) for (const tell of [...tellers]) tell();
  }
}
