/**
 * A batch while it is cleared: each command is decided against all before it, so what was decided, and what follows
 * from that, goes into the frame and the state at once. Whose command is next, and what becomes of the frame, is the
 * engine's.
 */
import { apply } from './core/apply.ts';
import type { Command, CreateCommand } from './core/command.ts';
import { decide } from './core/decide.ts';
import type { Entry } from './core/entry.ts';
import { stepsDue } from './core/intents.ts';
import { AssertionError, DEFECT, isRefusal, type Refusal } from './core/refusal.ts';
import type { State } from './core/state.ts';
import { follow, type MakeIntent } from './core/threads.ts';
import type { Journal } from './storage/journal.ts';

export interface BatchOptions {
  state: State;
  journal: Journal;
  /** Milliseconds from any starting point, by which clearing is timed. */
  stopwatch: () => number;
  /**
   * Commands of a batch, most of which make one entry; and as many ends, before them, of intents that have waited too
   * long.
   */
  batchEntriesMax: number;
  batchBytesMax: number;
  /** After so much clearing a batch ends. */
  batchMsMax: number;
  /** Told of a defect of ours that one command has met. */
  defect: (error: Error) => void;
}

export class Batch {
  readonly moment: number;
  /** All that the frame holds, in order. */
  readonly entries: Entry[] = [];
  readonly #options: BatchOptions;
  readonly #makeIntent: MakeIntent;

  constructor(options: BatchOptions, moment: number, makeIntent: MakeIntent) {
    this.#options = options;
    this.moment = moment;
    this.#makeIntent = makeIntent;
  }

  /** Whether there is no room for another command behind this many. */
  isFull(commands: number): boolean {
    const { journal, batchEntriesMax, batchBytesMax } = this.#options;
    return commands >= batchEntriesMax || journal.frameBytes >= batchBytesMax;
  }

  /**
   * Ends intents that have waited too long. However many are due at once, they take `batchMsMax` and half a frame at
   * most, so that commands fit in beside them. Returns whether the rest is left to the next batch.
   */
  expire(): boolean {
    const { state, journal, stopwatch, batchMsMax, batchEntriesMax, batchBytesMax } = this.#options;
    const { moment, entries } = this;
    let end = Number.POSITIVE_INFINITY;
    for (const step of stepsDue(state, moment)) {
      const now = stopwatch();
      // Very many may wait before the first that is due.
      if (entries.length === 0) end = now + batchMsMax;
      const isFull = entries.length >= batchEntriesMax || journal.frameBytes >= batchBytesMax / 2;
      if (isFull || now > end) return true;
      this.#record(step);
      this.#follow(step, moment);
    }
    return false;
  }

  /** Decides a command, and brings in what was decided, which is returned, and what follows from it. */
  clear(command: Command): Entry[] | Refusal {
    const outcome = this.#decide(command);
    if (isRefusal(outcome)) return outcome;
    for (let index = 0; index < outcome.length; index++) {
      const entry = outcome[index]!;
      this.#record(entry, command.op === 'create' && index === 0 ? command : undefined);
      this.#follow(entry, command.moment);
    }
    return outcome;
  }

  /**
   * Deciding only reads, so a defect of ours in it has changed nothing: the command that throws is refused, and does
   * not end the server for all. A failed assertion says that the books may be wrong: it still ends the server.
   */
  #decide(command: Command): Entry[] | Refusal {
    try {
      return decide(this.#options.state, command, this.moment);
    } catch (error) {
      if (error instanceof AssertionError) throw error;
      this.#options.defect(error as Error);
      return DEFECT;
    }
  }

  /** Brings in what follows from an entry, such as the rest of its thread, in the same frame. */
  #follow(first: Entry, received: number): void {
    const following = { received, now: this.moment, makeIntent: this.#makeIntent };
    for (const entry of follow(this.#options.state, first, following)) this.#record(entry);
  }

  /** Below this line nothing can be refused: the entry is in the frame and in the state. */
  #record(entry: Entry, command?: CreateCommand): void {
    const { state, journal } = this.#options;
    const bytes = journal.add(entry);
    apply(state, entry, bytes, 0, bytes.length, command);
    this.entries.push(entry);
  }
}
