/**
 * What holds of a server whose lock another has taken, one that it cannot see. The books are the other's by now, and it
 * may not have noticed: what it was asked before may be answered as it was decided then, what it reads may be old; but
 * nothing that it writes is acknowledged or heard of, and nobody is shown what its disk does not have.
 */
import type { Command } from '../../src/core/command.ts';
import type { Entry } from '../../src/core/entry.ts';
import { isRefusal, type Refusal } from '../../src/core/refusal.ts';
import type { Watch } from './border.ts';
import { must } from './must.ts';
import type { Oracle } from './oracle.ts';
import { newVisit, type Passage, type Visit } from './visit.ts';
import type { Ask, Wish } from './wish.ts';

const CHANGES: readonly string[] = ['create', 'update', 'drop', 'proof', 'assign', 'remove'];
/** What shows the books as they are in memory. */
const SHOWN: readonly string[] = ['read', 'changes', 'list', 'balances', 'limits'];

export class Ousted implements Watch {
  readonly #oracle: Oracle;
  readonly #server: { readonly isFailed: boolean; readonly isCutOff: boolean };
  readonly #name: string;
  /** Whether its memory has what was not on its disk when it lost the lock, or what it has cleared since. */
  #isAhead: boolean;
  /** Frames that its disk had. */
  readonly #durable: number;
  /** Requests that change something, and came to nothing new: what they ask for was there. */
  readonly #idle = new Set<Visit>();
  /** Looks at a memory that is ahead. */
  readonly #ahead = new Set<Visit>();

  /** To be called before the oracle turns to the next. */
  constructor(oracle: Oracle, server: { readonly isFailed: boolean; readonly isCutOff: boolean }, name: string) {
    this.#oracle = oracle;
    this.#server = server;
    this.#name = name;
    this.#durable = oracle.durable;
    this.#isAhead = oracle.frames > oracle.durable;
  }

  arrives(ask: Ask): Visit {
    return newVisit(++this.#oracle.visits, ask, -1);
  }

  looked(): void {}

  waits(): void {}

  hasTurn(): void {}

  begins(visit: Visit): void {
    if (this.#isAhead && SHOWN.includes(visit.ask.wish.op)) this.#ahead.add(visit);
  }

  shows(visit: Visit): void {
    visit.expected = null;
  }

  hasShown(visit: Visit): void {
    this.begins(visit);
  }

  submitted(command: Command, visit: Visit | null, wish: Wish | null): Passage {
    return { visit, wish, command, verdict: null };
  }

  goesBack(): void {}

  comesAgain(): void {}

  cleared(): void {
    this.#isAhead = true;
  }

  published(entries: readonly Entry[]): void {
    must(entries.length === 0, `${this.#name} has lost the lock, and tells what it wrote`);
  }

  synced(): void {
    must(false, `${this.#name} has lost the lock, and a sync of it counts`);
  }

  answered({ visit, command }: Passage, outcome: Entry[] | Refusal): void {
    if (isRefusal(outcome)) return;
    must(outcome.length === 0, `${this.#name} has lost the lock, and acknowledges the ${command.op} ${command.luid}`);
    if (visit !== null) this.#idle.add(visit);
  }

  leaves(visit: Visit, status: number, text: string): void {
    const { ask, expected, frame } = visit;
    must(!visit.isTold, 'a request is answered twice');
    visit.isTold = true;
    if ((this.#server.isFailed || this.#server.isCutOff) && status === 503) return;
    const what = `${this.#name} has lost the lock, and tells ${ask.method} ${ask.path} ${status}`;
    if (expected !== null) {
      // Decided while the lock was held.
      must(frame <= this.#durable, `${what} of a frame that its disk does not have`);
      const reason: string = status >= 400 ? JSON.parse(text).data.reason : '';
      must(
        status === expected.status && reason === expected.reason,
        `${what} ${reason}, and ${expected.status} before`,
      );
      return;
    }
    if (status >= 400) return;
    must(!this.#ahead.has(visit), `${what} of what its disk does not have`);
    if (CHANGES.includes(ask.wish.op)) must(this.#idle.has(visit), `${what}: that is no more its to do`);
  }
}
