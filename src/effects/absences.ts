/**
 * Which bridges and effects take no calls, for the operator: what waits for one of them waits quietly, for days.
 *
 * A receiver is told of once, when the same call has failed some times in a row, once when one is given up, since
 * nothing is due of it then, and once more when it takes one again.
 * Whoever may make effects may make many that fail, so an hour has an end of lines, and those that were told of are
 * remembered up to a number; who falls out of either is told of at another attempt.
 */
import { kindRow } from '../core/kinds.ts';
import { readRow } from '../core/records.ts';
import type { State } from '../core/state.ts';
import type { Outcome } from './lanes.ts';
import type { Timers } from './timers.ts';

/** The attempt that has failed when a receiver is told of, some five seconds after the first. */
const TOLD_AT_ATTEMPT = 5;
const LINES_PER_HOUR_MAX = 20;
const AWAY_MAX = 1000;
const HOUR_MS = 3_600_000;

interface AbsencesOptions {
  state: State;
  timers: Timers;
  inform: (text: string) => void;
}

export class Absences {
  readonly #options: AbsencesOptions;
  /** Rows of receivers that were told of, the longest ago first, and whether that they were given up. */
  readonly #away = new Map<number, boolean>();
  #hour = 0;
  #lines = 0;

  constructor(options: AbsencesOptions) {
    this.#options = options;
  }

  /** A call of this receiver has failed so often in a row. */
  failed(receiver: number, attempts: number, lastError: string): void {
    if (attempts < TOLD_AT_ATTEMPT || this.#away.has(receiver)) return;
    this.#tell(receiver, false, `(${lastError}); it is asked again, less and less often.`);
  }

  /** A call of this receiver has come to its end. */
  settled(receiver: number, outcome: Outcome, attempts: number, lastError: string | null): void {
    if (outcome === 'delivered') this.#delivered(receiver);
    if (outcome === 'gaveUp') this.#gaveUp(receiver, attempts, lastError!);
  }

  /** Nor is this call of it tried any more. */
  #gaveUp(receiver: number, attempts: number, lastError: string): void {
    if (this.#away.get(receiver) === true) return;
    this.#tell(receiver, true, `(${lastError}); a call was given up after ${attempts} attempts.`);
  }

  #tell(receiver: number, isGivenUp: boolean, what: string): void {
    if (!this.#hasLine()) return;
    this.#away.delete(receiver);
    const [oldest] = this.#away.keys();
    if (this.#away.size >= AWAY_MAX) this.#away.delete(oldest!);
    this.#away.set(receiver, isGivenUp);
    this.#options.inform(`${this.#nameOf(receiver)} takes no calls ${what}`);
  }

  #delivered(receiver: number): void {
    if (this.#away.delete(receiver)) this.#options.inform(`${this.#nameOf(receiver)} takes calls again.`);
  }

  #hasLine(): boolean {
    const hour = Math.floor(this.#options.timers.now() / HOUR_MS);
    if (hour !== this.#hour) [this.#hour, this.#lines] = [hour, 0];
    return this.#lines++ < LINES_PER_HOUR_MAX;
  }

  #nameOf(receiver: number): string {
    const { state } = this.#options;
    const { kind, handle } = readRow(state, receiver).entry;
    const { name } = kindRow(kind);
    const ledger = state.ledgers[state.rows.ledger.get(receiver)]!.handle;
    return `${name[0]!.toUpperCase()}${name.slice(1)} ${handle} of ledger ${ledger}`;
  }
}
