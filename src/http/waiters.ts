/**
 * Clients who asked to hear how their intent ends (`Prefer: wait`). Told by what the engine publishes, or by time.
 */
import { type Entry, EntryType, statusAfter } from '../core/entry.ts';

const FINAL = new Set(['completed', 'rejected']);

export class Waiters {
  readonly #byLuid = new Map<string, Set<() => void>>();
  readonly #any = new Set<() => void>();
  #isEnded = false;

  /** Calls `tell` once, when the intent is final or the time is over. */
  watch(luid: string, ms: number, tell: () => void): void {
    if (this.#isEnded) return tell();
    const tellers = this.#byLuid.get(luid) ?? new Set();
    this.#byLuid.set(luid, tellers);
    const once = () => {
      clearTimeout(timer);
      tellers.delete(once);
      if (tellers.size === 0) this.#byLuid.delete(luid);
      tell();
    };
    const timer = setTimeout(once, ms);
    tellers.add(once);
  }

  /** Calls `tell` once, when anything happens or the time is over. */
  watchAny(ms: number, tell: () => void): void {
    if (this.#isEnded) return tell();
    const once = () => {
      clearTimeout(timer);
      this.#any.delete(once);
      tell();
    };
    const timer = setTimeout(once, ms);
    this.#any.add(once);
  }

  /** Takes entries that are on disk. */
  publish(entries: readonly Entry[]): void {
    if (entries.length > 0) for (const tell of [...this.#any]) tell();
    for (const entry of entries) {
      if (entry.type !== EntryType.step || !FINAL.has(statusAfter(entry.outcome))) continue;
      for (const tell of [...(this.#byLuid.get(entry.luid) ?? [])]) tell();
    }
  }

  /** The server stops: nobody waits any longer. */
  end(): void {
    this.#isEnded = true;
    for (const tell of [...this.#any]) tell();
    for (const tellers of [...this.#byLuid.values()]) for (const tell of [...tellers]) tell();
  }
}
