/**
 * Clients who asked to hear how their intent ends (`Prefer: wait`), or of what comes next in the log. Told by what the
 * engine publishes, or by time; whoever is gone is not waited for.
 */
import { type Entry, EntryType, isFinal, statusAfter } from '../core/entry.ts';
import { Kind } from '../core/kinds.ts';
import { signalsOf } from '../events.ts';

/**
 * Whoever waits no longer: what `tell` would have told is not told. Once it was, this does nothing: the answer may be
 * on its way.
 */
type GiveUp = () => void;

/** Which entries may have the events that somebody waits for. */
export interface Concern {
  /** The ledger, and the luid of its own record, which lives in the server. */
  ledger: number;
  luid: string;
  /** Which signal; all where it is empty. */
  signal: string;
  /** Entries up to this sequence number were looked at. */
  seq: number;
}

interface LogWaiter {
  readonly seq: number;
  readonly tell: (passed: number) => void;
}

/** What is called once; with no number where time is over. */
type Once = (passed?: number) => void;

export class Waiters {
  readonly #byLuid = new Map<string, Set<() => void>>();
  /** By where and what: of an entry only those are told whom it concerns, however many wait for something else. */
  readonly #log = new Map<string, Set<LogWaiter>>();
  /** The last entry that was published. */
  #seq = 0;
  #isEnded = false;

  /** The server stops: nobody waits any longer. */
  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** How many wait. */
  get size(): number {
    let size = 0;
    for (const tellers of this.#byLuid.values()) size += tellers.size;
    // Each stands under two keys.
    for (const waiting of this.#log.values()) size += waiting.size / 2;
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

  /**
   * Calls `tell` once, when an entry that concerns it is on disk or the time is over, with the sequence number up to
   * which no entry did.
   */
  watchLog(ms: number, { ledger, luid, signal, seq }: Concern, tell: (passed: number) => void): GiveUp {
    const keys = [keyOf(ledger, signal), keyOf(luid, signal)];
    let waiter: LogWaiter;
    const add = (once: Once) => {
      waiter = { seq, tell: once };
      for (const key of keys) this.#log.set(key, (this.#log.get(key) ?? new Set()).add(waiter));
    };
    const leave = () => {
      for (const key of keys) {
        const waiting = this.#log.get(key);
        waiting?.delete(waiter);
        if (waiting?.size === 0) this.#log.delete(key);
      }
    };
    // In vain: of what came meanwhile, nothing concerned it.
    return this.#wait(ms, (passed = Math.max(seq, this.#seq)) => tell(passed), add, leave);
  }

  #wait(ms: number, tell: Once, add: (once: Once) => void, leave: (once: Once) => void): GiveUp {
    if (this.#isEnded) {
      tell();
      return () => {};
    }
    const giveUp = () => {
      clearTimeout(timer);
      leave(once);
    };
    const once: Once = (passed) => {
      giveUp();
      tell(passed);
    };
    const timer = setTimeout(() => once(), ms);
    add(once);
    return giveUp;
  }

  /** Takes entries that are on disk; the last of them has this sequence number. */
  publish(entries: readonly Entry[], seq: number): void {
    this.#seq = seq;
    for (let index = 0; index < entries.length && this.#log.size > 0; index++) {
      this.#tellOf(entries[index]!, seq - entries.length + 1 + index);
    }
    if (this.#byLuid.size === 0) return;
    for (const entry of entries) {
      if (entry.type !== EntryType.step || !isFinal(statusAfter(entry.outcome))) continue;
      for (const tell of [...(this.#byLuid.get(entry.luid) ?? [])]) tell();
    }
  }

  #tellOf(entry: Entry, seq: number): void {
    const where = entry.kind === Kind.ledger ? entry.luid : entry.ledger;
    const signals = signalsOf(entry);
    if (signals.length > 0) this.#tell(keyOf(where, ''), seq);
    for (const signal of signals) this.#tell(keyOf(where, signal), seq);
  }

  #tell(key: string, seq: number): void {
    for (const waiter of [...(this.#log.get(key) ?? [])]) if (waiter.seq < seq) waiter.tell(seq - 1);
  }

  end(): void {
    this.#isEnded = true;
    for (const waiting of [...this.#log.values()]) for (const { tell, seq } of [...waiting]) tell(seq);
    for (const tellers of [...this.#byLuid.values()]) for (const tell of [...tellers]) tell();
  }
}

function keyOf(where: number | string, signal: string): string {
  return `${where} ${signal}`;
}
