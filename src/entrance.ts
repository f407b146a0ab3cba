/**
 * Admission control before the sequence, its entrance: who of those that came is let in, and when. Whoever is let in is
 * verified, cleared and written; so many may be on that way at a time, and the others wait for their ledgers' turns
 * (turns.ts). The engine says when there may be room again, and what clearing took.
 */
import { ClearTimes, Pipeline, Places, Turns } from './turns.ts';

export interface EntranceOptions {
  /** Milliseconds since whenever, for how long things take: nothing that is written depends on it. */
  stopwatch: () => number;
  /** Requests that wait or are on their way to the disk, and their bytes. */
  inboxMax: number;
  inboxBytesMax: number;
  /** Of these: let in, that is being verified, cleared or written; and how long clearing them may take, most likely. */
  pipelineMax: number;
  pipelineBytesMax: number;
  pipelineMsMax: number;
}

export interface EntranceStats {
  /** Requests that had to wait for their turn; and those of them that had had one before. */
  waited: number;
  sentBack: number;
  /** Milliseconds until their turn, summed. */
  turnMs: number;
}

/** Somebody who is sent back, and what to do at the next turn. */
export interface SentBack {
  bytes: number;
  /** What clearing it was thought to take. */
  ms: number;
  begin: () => void;
}

/** Time of one turn of the event loop for those who wait, and for those who come in where nobody waits. */
const LET_IN_MS = 2;
const LET_IN_NOW_MS = 5;
/** So many at most of a ledger whose requests have just turned out to be dear. */
const LET_IN_TO_SEE = 4;

export class Entrance {
  readonly #options: EntranceOptions;
  readonly #stats: EntranceStats;
  /** Of everybody from the moment they wait until they are answered. */
  readonly #places: Places;
  /** Of those who had their turn. */
  readonly #pipeline: Pipeline;
  readonly #clearTimes = new ClearTimes();
  readonly #turns = new Turns(this.#clearTimes);
  /** What letting in has taken of this turn of the event loop. */
  #letInMs = 0;
  #isLetInDue = false;

  /** Counts in `stats`. */
  constructor(options: EntranceOptions, stats: EntranceStats) {
    this.#options = options;
    this.#stats = stats;
    this.#places = new Places(options.inboxMax, options.inboxBytesMax);
    this.#pipeline = new Pipeline(options.pipelineMax, options.pipelineBytesMax, options.pipelineMsMax);
  }

  /** Whether there is a place for one more request of this ledger. */
  hasPlace(ledger: number): boolean {
    return this.#places.hasRoom(ledger);
  }

  /** Requests that wait or are on their way. */
  get requests(): number {
    return this.#places.requests;
  }

  /** Those of them that wait for their turn. */
  get queued(): number {
    return this.#turns.length;
  }

  /** Whether one more may be on its way. */
  get hasRoom(): boolean {
    return this.#pipeline.hasRoom;
  }

  /** Whether a request can be let in now, past nobody who waits. */
  get isOpen(): boolean {
    return this.#turns.length === 0 && this.#pipeline.hasRoom && this.#letInMs < LET_IN_NOW_MS;
  }

  /**
   * Lets in who has come, where it is open. So many may have come in one turn of the event loop, each with a long body,
   * that after a while the others are to wait for their ledgers' turns, also where none of them will ever reach the
   * sequence.
   */
  letInNow(begin: () => void): void {
    const { stopwatch } = this.#options;
    const began = stopwatch();
    begin();
    this.#letInMs += stopwatch() - began;
    if (this.#isLetInDue) return;
    this.#isLetInDue = true;
    setImmediate(() => {
      this.#isLetInDue = false;
      this.#letInMs = 0;
    });
  }

  /** Calls `begin` when it is this ledger's turn; the request takes that many bytes meanwhile. */
  wait(ledger: number, bytes: number, begin: () => void): void {
    this.#places.take(ledger, bytes);
    this.#turns.push(ledger, bytes, this.#turnOf(ledger, bytes, begin));
  }

  #turnOf(ledger: number, bytes: number, begin: () => void): () => void {
    const since = this.#options.stopwatch();
    return () => {
      this.#places.leave(ledger, bytes);
      this.#stats.waited++;
      this.#stats.turnMs += this.#options.stopwatch() - since;
      begin();
    };
  }

  /**
   * Lets in who is next, for a while: answers, and those who read, have their turn too. With `isEnding` everybody, room
   * or not. Returns whether others are to be let in later.
   */
  letIn(isEnding: boolean): boolean {
    const end = this.#options.stopwatch() + LET_IN_MS;
    while (this.#turns.length > 0 && (isEnding || this.#pipeline.hasRoom)) {
      this.#turns.next()();
      if (this.#options.stopwatch() > end) return true;
    }
    return false;
  }

  /** A request is on its way. Returns what clearing it will take, most likely; `leave` has to be given the same. */
  enter(ledger: number, bytes: number): number {
    const ms = this.#clearTimes.of(ledger);
    this.#places.take(ledger, bytes);
    this.#pipeline.take(bytes, ms);
    return ms;
  }

  /** It is answered. */
  leave(ledger: number, bytes: number, ms: number): void {
    this.#pipeline.leave(bytes, ms);
    this.#places.leave(ledger, bytes);
  }

  /** What clearing a request of this ledger took. */
  learn(ledger: number, ms: number): void {
    this.#clearTimes.learn(ledger, ms);
  }

  /**
   * These requests of one ledger are on their way no more, but keep their places: it has shown that each takes `ms`.
   */
  sendBack(ledger: number, ms: number, going: readonly SentBack[]): void {
    this.#clearTimes.expect(ledger, Math.min(ms, this.#options.pipelineMsMax / LET_IN_TO_SEE));
    this.#stats.sentBack += going.length;
    const waiting = going.map(({ bytes, ms: thought, begin }) => {
      this.#pipeline.leave(bytes, thought);
      return { bytes, begin: this.#turnOf(ledger, bytes, begin) };
    });
    this.#turns.putBack(ledger, waiting);
  }
}
