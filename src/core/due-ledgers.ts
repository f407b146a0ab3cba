/**
 * Which ledgers may have an intent that has waited too long. Each second somebody asks, and anybody may make ledgers:
 * there may be hundreds of thousands in which one waits. Looked at are those alone of which something has changed since
 * they were looked at last, and those whose time has come.
 *
 * What always holds: in a ledger that is not to be looked at, nothing is over before the time that is noted for it, or
 * ever where none is noted; in one that is noted as due, what is over lies in the row that is noted for it, or a later
 * one. Not part of the books: it follows from the open intents and the ledgers' settings.
 */
import { LongMap, near } from '../memory/index.ts';

/** Of what waits in a ledger, the first: its row, and the last moment at which its time is not over. */
export interface FirstWaiting {
  readonly row: number;
  readonly end: number;
}

export class DueLedgers {
  /** To be looked at when somebody asks next. */
  readonly #asked = new LongMap<number, true>(near);
  /** By the end of the first that waits. */
  readonly #waiting = new Noted();
  /** By the row of the first that is over. */
  readonly #due = new Noted();

  /** Something waits in this ledger where nothing did, or what waits there may do so for another time. */
  ask(ledger: number): void {
    this.#asked.set(ledger, true);
  }

  /**
   * Finds out which are due, as of `now`; `firstOf` tells what waits in a ledger, null where nothing does that may end.
   */
  look(now: number, firstOf: (ledger: number) => FirstWaiting | null): void {
    while (this.#waiting.least < now) this.ask(this.#waiting.take());
    for (const ledger of this.#asked.keys()) {
      this.#asked.delete(ledger);
      const first = firstOf(ledger);
      if (first === null) continue;
      if (first.end < now) this.#due.note(ledger, first.row);
      else this.#waiting.note(ledger, first.end);
    }
  }

  /** No row that is over in one that is due comes before this one. */
  get leastRow(): number {
    return this.#due.least;
  }

  /** The ledger that has it. Whoever takes it may leave it as it is: it is looked at again next time. */
  take(): number {
    const ledger = this.#due.take();
    this.ask(ledger);
    return ledger;
  }
}

/** Ledgers by numbers that each is noted for, one at a time. */
class Noted {
  readonly #queue = new Queue();
  readonly #numbers = new LongMap<number, number>(near);

  /** Where it is noted for a lesser number already, it stays so. */
  note(ledger: number, number: number): void {
    const known = this.#numbers.get(ledger);
    if (known !== undefined && known <= number) return;
    this.#numbers.set(ledger, number);
    this.#queue.push(number, ledger);
  }

  /** The least number of all, Infinity where there is none. */
  get least(): number {
    const queue = this.#queue;
    // What it was noted for before a lesser one is passed by.
    while (queue.size > 0 && this.#numbers.get(queue.first) !== queue.least) queue.take();
    return queue.least;
  }

  /** The ledger that is noted for the least, which is no more noted for it. To be called where there is one. */
  take(): number {
    const ledger = this.#queue.take();
    this.#numbers.delete(ledger);
    return ledger;
  }
}

/** A binary heap of values by numbers, the least number first. */
export class Queue {
  readonly #numbers: number[] = [];
  readonly #values: number[] = [];

  get size(): number {
    return this.#numbers.length;
  }

  /** Infinity where there is none. */
  get least(): number {
    return this.#numbers[0] ?? Number.POSITIVE_INFINITY;
  }

  /** The value of the least number. */
  get first(): number {
    return this.#values[0]!;
  }

  push(number: number, value: number): void {
    let at = this.#numbers.length;
    while (at > 0) {
      const above = (at - 1) >>> 1;
      if (this.#numbers[above]! <= number) break;
      this.#move(above, at);
      at = above;
    }
    this.#numbers[at] = number;
    this.#values[at] = value;
  }

  /** The value of the least number, which goes. */
  take(): number {
    const { first } = this;
    const number = this.#numbers.pop()!;
    const value = this.#values.pop()!;
    const { size } = this;
    if (size === 0) return first;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= size) break;
      if (below + 1 < size && this.#numbers[below + 1]! < this.#numbers[below]!) below++;
      if (this.#numbers[below]! >= number) break;
      this.#move(below, at);
      at = below;
    }
    this.#numbers[at] = number;
    this.#values[at] = value;
    return first;
  }

  #move(from: number, to: number): void {
    this.#numbers[to] = this.#numbers[from]!;
    this.#values[to] = this.#values[from]!;
  }
}
