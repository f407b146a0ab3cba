/**
 * How names become addresses. The system is asked, so that its hosts file counts. Where no name server answers it takes
 * ten seconds or more to say so, and it takes two questions at a time (libuv gives them half of its four threads): two
 * such names would hold up the calls of all others.
 *
 * What always holds: a name is asked for once at a time, however many wait for it; of names that were slow the last time
 * one at a time, and after all others; where an answer is late, or none comes, the addresses found last are given. Who
 * waits for a late one is told that there is none once somebody else asks, or where other slow names are before it: so
 * no more wait for a name than came within a second, and one more.
 */
import { Recent } from '../recent.ts';
import type { Timer, Timers } from './timers.ts';

export type Addresses = readonly { address: string; family: number }[];
export type Found = (error: NodeJS.ErrnoException | null, addresses: Addresses) => void;
/** Asks the system. */
export type Resolve = (name: string, done: Found) => void;

/** As many as are really looked up at once, so that the time one takes is its own. */
const ASKED_MAX = 2;
/** Names that are remembered, and addresses of all that were found: whoever has a name may have it lead to thousands. */
const NAMES_MAX = 10_000;
const ADDRESSES_MAX = 20_000;
/** An answer that takes longer is late, and its name slow. */
const LATE_MS = 1_000;
/** What the system says where nobody answered; anything else is an answer. */
const NO_ANSWER = 'EAI_AGAIN';

/** Whoever waits for a name. */
interface Question {
  waiting: Found[];
  late: Timer;
  isLate: boolean;
}

export class Names {
  readonly #resolve: Resolve;
  readonly #timers: Timers;
  readonly #questions = new Map<string, Question>();
  /** Names to be asked for. */
  readonly #quick = new Set<string>();
  readonly #slow = new Set<string>();
  #asked = 0;
  #isSlowAsked = false;
  readonly #found = new Recent<string, Addresses>(ADDRESSES_MAX, ({ length }) => 1 + length);
  readonly #wasSlow = new Recent<string, true>(NAMES_MAX);

  constructor(resolve: Resolve, timers: Timers) {
    this.#resolve = resolve;
    this.#timers = timers;
  }

  /** `done` is called once. */
  find(name: string, done: Found): void {
    const known = this.#questions.get(name);
    if (known !== undefined) {
      if (known.isLate) giveUp(known);
      known.waiting.push(done);
      if (known.isLate) this.#late(name, known);
      return;
    }
    const late = this.#timers.after(LATE_MS, () => this.#late(name, question));
    const question: Question = { waiting: [done], isLate: false, late };
    this.#questions.set(name, question);
    (this.#wasSlow.get(name) === undefined ? this.#quick : this.#slow).add(name);
    this.#askNext();
  }

  #late(name: string, question: Question): void {
    question.isLate = true;
    this.#giveFound(name, question);
    if (this.#slow.has(name)) giveUp(question);
  }

  #askNext(): void {
    while (this.#asked < ASKED_MAX) {
      const [quick] = this.#quick;
      const [slow] = this.#slow;
      if (quick !== undefined) this.#ask(quick, false);
      else if (slow !== undefined && !this.#isSlowAsked) this.#ask(slow, true);
      else return;
    }
  }

  #ask(name: string, isSlow: boolean): void {
    (isSlow ? this.#slow : this.#quick).delete(name);
    if (isSlow) this.#isSlowAsked = true;
    this.#asked++;
    const began = this.#timers.now();
    this.#resolve(name, (error, addresses) => {
      this.#asked--;
      if (isSlow) this.#isSlowAsked = false;
      if (this.#timers.now() - began > LATE_MS) this.#wasSlow.set(name, true);
      else this.#wasSlow.delete(name);
      if (error === null) this.#found.set(name, addresses);
      else if (error.code !== NO_ANSWER) this.#found.delete(name);
      this.#answer(name, error, addresses);
      this.#askNext();
    });
  }

  #answer(name: string, error: NodeJS.ErrnoException | null, addresses: Addresses): void {
    const question = this.#questions.get(name)!;
    this.#questions.delete(name);
    this.#timers.cancel(question.late);
    this.#giveFound(name, question);
    for (const done of question.waiting) done(error, addresses);
  }

  #giveFound(name: string, question: Question): void {
    const last = this.#found.get(name);
    if (last !== undefined) for (const done of question.waiting.splice(0)) done(null, last);
  }
}

function giveUp({ waiting }: Question): void {
  for (const done of waiting.splice(0)) done(Object.assign(new Error(), { code: NO_ANSWER }), []);
}
