/**
 * How intents go on, as the rules have it: who asks for them and who refuses, when their time is over, and what follows
 * for others of a thread.
 */
import { type Content, contentOf, SERVER } from '../wish.ts';
import { isGranted } from './access.ts';
import type { Books } from './books.ts';
import { isConsent, isNo, willing } from './consent.ts';
import type { Fact, Given } from './facts.ts';
import { legHandle } from './legs.ts';
import { type Keys, planOf } from './plan.ts';
import { type Ending, type Forward, NOTHING, type Progress } from './progress.ts';
import type { Rec } from './record.ts';
import { attempt, commit, isManual, isOverdue, noted, reported, undo } from './steps.ts';

const THREAD_MAX = 10;

/** An intent, and how far it came: its thread goes where it went. */
type Went = Pick<Ending, 'steps' | 'reason'> & { readonly luid: string };

export class Intents {
  readonly #books: Books;

  constructor(books: Books) {
    this.#books = books;
  }

  /** A new intent, and all that follows from it at once. */
  begin(ledger: number, content: Content, given: Given): Fact[] {
    const keys = [...willing(content.proofs), ...given.bearer];
    const fact = this.#add(ledger, content, given.luid, given, keys, null);
    return [fact, ...this.#follow(given.luid, fact.ending!, given, 1)];
  }

  #add(ledger: number, content: Content, luid: string, { moment, now }: Given, keys: Keys, origin: Rec | null): Fact {
    const books = this.#books;
    const handle = content.value.handle as string;
    books.add({ luid, ledger, kind: 'intent', handle, content, moment });
    const thread = origin === null ? luid : origin.progress!.thread;
    const progress: Progress = {
      ...{ stage: 'pending', isHolding: false, received: moment, order: books.nextPlace() },
      ...{ thread, origin: origin?.luid ?? '' },
      ...{ nets: [], limits: [], legs: [], forwards: [], routed: [], counted: [], states: [], credits: new Map() },
    };
    books.change(luid, { progress });
    const ending = attempt(books, luid, keys, now) ?? NOTHING;
    return books.tell({ type: 'intent', luid, handle, moment, hash: content.hash, ending });
  }

  /** What a proof moves; null for nothing, a reason where the proof must not be. */
  proved(record: Rec, custom: Record<string, unknown>, key: string, { bearer, now }: Given): Ending | string | null {
    const { stage, isHolding, legs } = record.progress!;
    if (stage === 'final') return null;
    const by = [key, ...bearer];
    const leg = legs.findIndex((_, n) => legHandle(record, n) === custom.handle);
    if (leg >= 0) return reported(this.#books, record, leg, custom.status, by, now);
    if (stage === 'prepared' || (stage === 'pending' && isHolding)) return this.#decided(record, custom, by, now);
    if (stage !== 'pending' || !isConsent(custom)) return null;
    return this.#consented(record, by, now);
  }

  /** Somebody has an intent that is prepared, or waits for bridges, committed, or aborted. */
  #decided(record: Rec, custom: Record<string, unknown>, by: readonly string[], now: number): Ending | string | null {
    const books = this.#books;
    const { luid, ledger } = record;
    const { thread, stage } = record.progress!;
    const said = custom.handle === undefined ? custom.status : undefined;
    const isCommit = custom.action === 'commit' || said === 'committed';
    const isAbort = custom.action === 'abort' || said === 'aborted';
    if (isCommit === isAbort || (isCommit && isNo({ status: said }))) return null;
    const action = isCommit ? 'commit' : 'abort';
    // Who says so of one intent of a thread says it of the one that began it.
    const asked = [record, books.records.get(thread)!];
    if (!asked.every((each) => isGranted(books, ledger, action, 'intent', each, by))) return null;
    if (isAbort && stage === 'prepared') return undo(books, luid, '', now);
    const isReady = books.threadIntents(thread).every((each) => each.progress!.stage === 'prepared');
    if (isReady) return commit(books, luid, now);
    // A thread that waits for nobody's word goes on without one; else whoever says it is told that it comes too early.
    return isManual(books.records.get(thread)!) ? 'record.invalid' : null;
  }

  /** One more asks for an intent that waits, beside those who have and did not refuse since. */
  #consented(record: Rec, by: readonly string[], now: number): Ending | null {
    const books = this.#books;
    const asking = new Set(willing(record.content.proofs));
    for (const { public: other, custom } of record.added) {
      const words = JSON.parse(custom ?? '{}');
      if (isNo(words)) {
        if (words.handle === undefined) asking.delete(other);
      } else if (isConsent(words)) asking.add(other);
    }
    const keys = [...asking, ...by];
    if (!isOverdue(books, record, now)) return attempt(books, record.luid, keys, now);
    // What would have moved it in time ends it now.
    const { reason, isPermitted } = planOf(books, record, keys);
    return reason !== '' || isPermitted ? undo(books, record.luid, 'core.intent-expired', now) : null;
  }

  /** What the server itself notes of a call to a bank. */
  noted(luid: string, leg: number, state: string, result: 'told' | 'lost', given: Given): Fact[] {
    const ending = noted(this.#books, luid, leg, state, result, given.now);
    return ending === null ? [] : this.step(luid, ending, given, 0);
  }

  /** Intents that have waited longer than their ledger lets them, in the order they came. */
  overdue(now: number): Rec[] {
    return this.#books.openIntents().filter((record) => isOverdue(this.#books, record, now));
  }

  /** Its time is over. */
  expire({ luid }: Rec, given: Given): Fact[] {
    return this.step(luid, undo(this.#books, luid, 'core.intent-expired', given.now), given, 0);
  }

  /** The entry that says so, and what follows from it. `own` counts the entries before it in the frame. */
  step(luid: string, ending: Ending, given: Given, own: number): Fact[] {
    return [this.#told(luid, ending, given), ...this.#follow(luid, ending, given, own + 1)];
  }

  #told(luid: string, ending: Ending, { now }: Given): Fact {
    const { handle } = this.#books.records.get(luid)!;
    return this.#books.tell({ type: 'step', luid, handle, moment: now, ending });
  }

  // ---------------------------------------------------------------- threads

  /** What follows from an intent's ending; `own` entries of the frame come before. */
  #follow(luid: string, { steps, reason }: Ending, given: Given, own: number): Fact[] {
    const facts: Fact[] = [];
    if (steps.length === 0) return facts;
    this.#settle(this.#forward(luid, steps, given, facts, own) ?? { luid, steps, reason }, given, facts);
    return facts;
  }

  /** Makes the intents that a prepared one needs, and theirs; the one that could not be, if any. */
  #forward(luid: string, steps: readonly string[], given: Given, facts: Fact[], own: number): Went | null {
    const books = this.#books;
    const record = books.records.get(luid)!;
    const { stage, forwards, thread } = record.progress!;
    if (!steps.includes('prepared') || stage !== 'prepared') return null;
    for (const forward of forwards) {
      const isCrowded = books.threadIntents(thread).length >= THREAD_MAX;
      // Whoever its name means by now has passed nothing on.
      if (isCrowded || books.records.get(forward.wallet)!.isDropped) {
        const reason = isCrowded ? 'core.thread-size-exceeded' : 'core.routing-failed';
        const ending = undo(books, luid, reason, given.now);
        facts.push(this.#told(luid, ending, given));
        return { luid, steps: ending.steps, reason };
      }
      const made = given.luidAt(own + facts.length);
      const content = this.#forwardContent(forward, made, record, given);
      const child = this.#add(record.ledger, content, made, given, 'server', record);
      facts.push(child);
      const { steps: childSteps, reason } = child.ending!;
      if (childSteps.includes('rejected')) return { luid: made, steps: childSteps, reason };
      const failed = this.#forward(made, childSteps, given, facts, own);
      if (failed !== null) return failed;
    }
    return null;
  }

  /** An intent of the server's own, by which a wallet passes on what came to it. */
  #forwardContent({ wallet, symbol, amount, target }: Forward, luid: string, origin: Rec, { moment }: Given): Content {
    const named = (of: string) => ({ handle: this.#books.records.get(of)!.handle });
    const claim = {
      ...{ action: 'transfer', amount, symbol: named(symbol) },
      ...{ source: named(wallet), target: { handle: target } },
    };
    const value = { claims: [claim], handle: `fwd_${luid.slice(5)}`, origin: origin.handle };
    return contentOf(value, [SERVER], { moment: new Date(moment).toISOString(), status: 'created' });
  }

  /** The thread goes where one of its intents went. */
  #settle({ luid, steps, reason }: Went, given: Given, facts: Fact[]): void {
    const books = this.#books;
    const members = books.threadIntents(books.records.get(luid)!.progress!.thread);
    const isPrepared = ({ progress }: Rec) => progress!.stage === 'prepared';
    if (steps.includes('aborted')) {
      const left = members.filter((each) => isPrepared(each) || each.progress!.stage === 'pending');
      for (const { luid: of } of left) facts.push(this.#told(of, undo(books, of, reason, given.now), given));
      return;
    }
    const [first] = members;
    const isDue = first !== undefined && !isManual(first) && members.every(isPrepared);
    if (!steps.includes('committed') && !(steps.includes('prepared') && isDue)) return;
    for (const { luid: of } of members.filter(isPrepared)) {
      facts.push(this.#told(of, commit(books, of, given.now), given));
    }
  }
}
