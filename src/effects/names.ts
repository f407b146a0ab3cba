/**
 * How names become addresses. The system is asked, so that its hosts file counts. Where no name server answers it takes
 * ten seconds or more to say so, and it takes two questions at a time (libuv gives them half of its four threads): two
 * such names would hold up the calls of all others.
 *
 * So each party stands in line by itself. Who has none on its way goes first, and of these, whose questions took the
 * least time: whoever has many names, or slow ones, waits for himself. What they took counts on when a party comes
 * back: else those with one name each would stand level with who waits each time, and two of them take all turns. Of
 * names that were slow the last time one at a time is asked for, after all others; and so of new names of a party of
 * whose last new ones none was quick.
 *
 * What always holds: a name is asked for once at a time, however many wait for it; where an answer is late, or none
 * comes, the addresses found last are given. Who waits for a late one is told that there is none once somebody else
 * asks, or where it stands among the slow: so no more wait for a name than came within a second, and one more. What
 * stands in line when the last who waits for it calls it off is not asked.
 */
import { ownText } from '../core/own-text.ts';
import { Recent } from '../memory/index.ts';
import type { Timer, Timers } from './timers.ts';

export type Addresses = readonly { address: string; family: number }[];
export type Found = (error: NodeJS.ErrnoException | null, addresses: Addresses) => void;
/** Asks the system. */
export type Resolve = (name: string, done: Found) => void;

/** Whose turn it takes, and what calls it off. */
export interface Asking {
  readonly party: string;
  readonly signal: AbortSignal;
}

/** As many as are really looked up at once, so that the time one takes is its own. */
const ASKED_MAX = 2;
/**
 * Names that are remembered, and addresses of all that were found: whoever has a name may have it lead to thousands.
 */
const NAMES_MAX = 10_000;
const ADDRESSES_MAX = 20_000;
/** An answer that takes longer is late, and its name slow. */
const LATE_MS = 1_000;
/**
 * So many new names of a party in a row were slow where its next ones are taken to be. A dead one or two tell nothing
 * yet.
 */
const SLOW_NEW_MAX = 3;
/** What the system says where nobody answered; anything else is an answer. */
const NO_ANSWER = 'EAI_AGAIN';

/** A name that is asked for, and whoever waits for it. */
interface Question {
  readonly name: string;
  readonly waiting: Set<Found>;
  /** In whose lines it stands: nobody's once it is asked. */
  readonly parties: Set<Party>;
  readonly late: Timer;
  isLate: boolean;
}

interface Party {
  readonly name: string;
  readonly quick: Set<Question>;
  /** Those that are taken to be slow: new names, which go first, and those that were. */
  readonly doubtful: Set<Question>;
  readonly slow: Set<Question>;
  /** On their way. */
  asked: number;
  /** Milliseconds that its questions took, counted from where others were when it came. */
  tookMs: number;
}

/** Lines of a party, the first to be asked from before the second. */
const QUICK = ['quick'] as const;
const SLOW = ['doubtful', 'slow'] as const;
type Lines = typeof QUICK | typeof SLOW;

export class Names {
  readonly #resolve: Resolve;
  readonly #timers: Timers;
  readonly #questions = new Map<string, Question>();
  /** Those that have something in line or on its way. */
  readonly #parties = new Map<string, Party>();
  #asked = 0;
  #isSlowAsked = false;
  /** The most that any party had taken when it went: one that is new begins there. */
  #levelMs = 0;
  /** By party that left, what it had taken: where that is more, it begins there. */
  readonly #keptMs = new Recent<string, number>(NAMES_MAX);
  readonly #found = new Recent<string, Addresses>(ADDRESSES_MAX, ({ length }) => 1 + length);
  /** Names that were asked for, and whether they were slow. */
  readonly #wasSlow = new Recent<string, boolean>(NAMES_MAX);
  /** By party, how many new names in a row were slow. */
  readonly #slowNew = new Recent<string, number>(NAMES_MAX);

  constructor(resolve: Resolve, timers: Timers) {
    this.#resolve = resolve;
    this.#timers = timers;
  }

  /** `done` is called once, and not at all where it is called off before. */
  find(called: string, { party, signal }: Asking, done: Found): void {
    if (signal.aborted) return;
    // A piece of a URL.
    const name = ownText(called);
    const question = this.#questions.get(name) ?? this.#open(name, party);
    if (question.isLate) giveUp(question);
    const told: Found = (error, addresses) => {
      signal.removeEventListener('abort', callOff);
      done(error, addresses);
    };
    const callOff = () => {
      question.waiting.delete(told);
      if (question.waiting.size === 0 && question.parties.size > 0) this.#drop(question);
    };
    signal.addEventListener('abort', callOff, { once: true });
    question.waiting.add(told);
    // Whoever asks for what waits in the line of another has it wait in his own as well.
    if (question.parties.size > 0) this.#stand(question, party);
    if (question.isLate) this.#late(question);
    this.#askNext();
  }

  #open(name: string, party: string): Question {
    const late = this.#timers.after(LATE_MS, () => this.#late(question));
    const question: Question = { name, waiting: new Set(), parties: new Set(), late, isLate: false };
    this.#questions.set(name, question);
    this.#stand(question, party);
    return question;
  }

  #stand(question: Question, name: string): void {
    const party = this.#parties.get(name) ?? this.#begin(name);
    if (question.parties.has(party)) return;
    question.parties.add(party);
    const wasSlow = this.#wasSlow.get(question.name);
    const isDoubtful = wasSlow === undefined && (this.#slowNew.get(name) ?? 0) >= SLOW_NEW_MAX;
    party[wasSlow === true ? 'slow' : isDoubtful ? 'doubtful' : 'quick'].add(question);
  }

  #begin(name: string): Party {
    const lines = { quick: new Set<Question>(), doubtful: new Set<Question>(), slow: new Set<Question>() };
    const tookMs = Math.max(this.#levelMs, this.#keptMs.get(name) ?? 0);
    const party = { name, ...lines, asked: 0, tookMs };
    this.#parties.set(name, party);
    return party;
  }

  /** Takes a question out of all lines. */
  #leave(question: Question): void {
    for (const party of question.parties) {
      for (const line of [...QUICK, ...SLOW]) party[line].delete(question);
      this.#forgetIdle(party);
    }
    question.parties.clear();
  }

  #forgetIdle(party: Party): void {
    if (party.asked > 0 || hasAny(party, QUICK) || hasAny(party, SLOW)) return;
    this.#parties.delete(party.name);
    this.#keptMs.set(party.name, party.tookMs);
  }

  #drop(question: Question): void {
    this.#questions.delete(question.name);
    this.#timers.cancel(question.late);
    this.#leave(question);
  }

  #late(question: Question): void {
    question.isLate = true;
    this.#giveFound(question);
    const { parties } = question;
    if (parties.size > 0 && ![...parties].some(({ quick }) => quick.has(question))) giveUp(question);
  }

  #askNext(): void {
    while (this.#asked < ASKED_MAX) {
      const quick = this.#next(QUICK);
      const party = quick ?? (this.#isSlowAsked ? undefined : this.#next(SLOW));
      if (party === undefined) return;
      this.#ask(party, quick === undefined);
    }
  }

  /** Who has none on its way, or else fewer, goes before others; of these, who took the least time, or came last. */
  #next(lines: Lines): Party | undefined {
    let next: Party | undefined;
    for (const party of this.#parties.values()) {
      if (!hasAny(party, lines)) continue;
      if (next === undefined || (party.asked - next.asked || party.tookMs - next.tookMs) <= 0) next = party;
    }
    return next;
  }

  #ask(party: Party, isSlow: boolean): void {
    const question = firstOf(party, isSlow ? SLOW : QUICK)!;
    const { name } = question;
    party.asked++;
    this.#leave(question);
    this.#levelMs = Math.max(this.#levelMs, party.tookMs);
    if (isSlow) this.#isSlowAsked = true;
    this.#asked++;
    const began = this.#timers.now();
    this.#resolve(name, (error, addresses) => {
      const tookMs = this.#timers.now() - began;
      this.#asked--;
      if (isSlow) this.#isSlowAsked = false;
      party.asked--;
      party.tookMs += tookMs;
      this.#remember(name, party, tookMs > LATE_MS);
      this.#forgetIdle(party);
      if (error === null) this.#found.set(name, addresses);
      else if (error.code !== NO_ANSWER) this.#found.delete(name);
      this.#answer(question, error, addresses);
      this.#askNext();
    });
  }

  #remember(name: string, party: Party, isSlow: boolean): void {
    const isNew = this.#wasSlow.get(name) === undefined;
    this.#wasSlow.set(name, isSlow);
    if (!isNew) return;
    const slowNew = isSlow ? (this.#slowNew.get(party.name) ?? 0) + 1 : 0;
    this.#slowNew.set(party.name, slowNew);
    if (slowNew === SLOW_NEW_MAX) this.#doubt(party);
  }

  /** What stands in line already is no better than what comes. */
  #doubt({ quick, doubtful }: Party): void {
    for (const question of quick) {
      if (this.#wasSlow.get(question.name) !== undefined) continue;
      quick.delete(question);
      doubtful.add(question);
      if (question.isLate) this.#late(question);
    }
  }

  #answer(question: Question, error: NodeJS.ErrnoException | null, addresses: Addresses): void {
    this.#questions.delete(question.name);
    this.#timers.cancel(question.late);
    this.#giveFound(question);
    tell(question, error, addresses);
  }

  #giveFound(question: Question): void {
    const last = this.#found.get(question.name);
    if (last !== undefined) tell(question, null, last);
  }
}

function hasAny(party: Party, lines: Lines): boolean {
  return lines.some((line) => party[line].size > 0);
}

function firstOf(party: Party, lines: Lines): Question | undefined {
  for (const line of lines) for (const question of party[line]) return question;
  return undefined;
}

function giveUp(question: Question): void {
  tell(question, Object.assign(new Error(), { code: NO_ANSWER }), []);
}

/** Whoever is told may ask again: what comes then waits for the next answer. */
function tell({ waiting }: Question, error: NodeJS.ErrnoException | null, addresses: Addresses): void {
  const all = [...waiting];
  waiting.clear();
  for (const told of all) told(error, addresses);
}
