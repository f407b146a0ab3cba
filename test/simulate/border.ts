/**
 * What passes between a server and everybody else: requests that come in where sockets hand them over, commands that
 * enter the sequence, answers that leave. Whoever watches the server is shown all of it.
 *
 * Always holds: once the process is gone nothing it still does is seen by anybody.
 */
import type { Submission } from '../../src/engine.ts';
import type { AnswerBody, Handler } from '../../src/http/request.ts';
import type { ProofJob } from '../../src/proof/pool.ts';
import { textIn } from '../support/body.ts';
import type { Loop, Owner } from './loop.ts';
import type { Oracle } from './oracle.ts';
import type { Visit } from './visit.ts';
import type { Ask, Wish } from './wish.ts';

/** Looks at what a server is asked, what it writes and what it answers, and fails where that must not be. */
export type Watch = Pick<
  Oracle,
  | 'arrives'
  | 'looked'
  | 'waits'
  | 'hasTurn'
  | 'begins'
  | 'shows'
  | 'hasShown'
  | 'submitted'
  | 'goesBack'
  | 'comesAgain'
  | 'cleared'
  | 'published'
  | 'synced'
  | 'answered'
  | 'leaves'
>;

interface Bordered {
  readonly loop: Loop;
  readonly owner: Owner;
  /** Made after it. */
  engine(): { readonly isOpen: boolean; readonly isFailed: boolean };
  tell(line: string): void;
}

export class Border {
  watch: Watch;
  /** Null until the door is open. */
  handler: Handler | null = null;
  /** What the server itself wishes for. */
  ownWish: Wish | null = null;
  /** Visits without an answer, their clients still there. */
  readonly unanswered = new Map<Visit, (status: number) => void>();
  /** Who waits until there are none. */
  #idle: (() => void)[] = [];
  /** Who wants to hear that a client has gone. */
  readonly #gone = new Map<Visit, () => void>();
  /** Whose request is being worked on. */
  #visit: Visit | null = null;
  readonly #server: Bordered;

  constructor(server: Bordered, watch: Watch) {
    this.#server = server;
    this.watch = watch;
  }

  /** A request has come in whole. To be called in an event of this process. */
  receive(ask: Ask, done: (status: number) => void): Visit {
    const { method, path, headers, body } = ask;
    const query = ask.query === '' ? null : ask.query;
    const visit = this.watch.arrives(ask);
    this.unanswered.set(visit, done);
    const request = {
      method,
      methodSent: method,
      path,
      query,
      body,
      header: (name: string) => headers[name] ?? '',
      forgetHead() {},
    };
    const reply = {
      get aborted() {
        return visit.isAborted;
      },
      send: (status: number, body: AnswerBody) => this.#leave(visit, status, textIn(body)),
      whenGone: (run: () => void) => this.#gone.set(visit, run),
      stay() {},
    };
    this.#as(visit, () => {
      const refusal = this.handler!.admit(request);
      if (refusal !== null) return this.handler!.refuse(refusal, reply);
      if (method === 'GET' || this.#server.engine().isOpen) this.guard(() => this.watch.begins(visit));
      this.handler!.handle(request, reply);
    });
    return visit;
  }

  /** The client of a request goes away. */
  abort(visit: Visit): void {
    const { loop, owner } = this.#server;
    visit.isAborted = true;
    this.#forget(visit);
    loop.after(0, () => this.#gone.get(visit)?.(), owner);
  }

  /** Resolves once every request is answered, or its client gone. */
  async drained(): Promise<void> {
    if (this.unanswered.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #forget(visit: Visit): void {
    this.unanswered.delete(visit);
    if (this.unanswered.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Work on a request that had to wait begins when it is its ledger's turn. */
  watchTurn(begin: () => void): () => void {
    const visit = this.#visit!;
    this.watch.waits(visit);
    return () => {
      if (this.#server.owner.isGone) return;
      this.watch.hasTurn(visit);
      if (!visit.isAborted) this.guard(() => this.watch.begins(visit));
      this.#as(visit, begin);
    };
  }

  /** The token of a request is verified with what others signed. */
  watchToken(job: ProofJob): ProofJob {
    const visit = this.#visit!;
    this.guard(() => this.watch.shows(visit));
    return {
      ...job,
      done: (result) => {
        if (this.#server.owner.isGone) return;
        this.guard(() => this.watch.hasShown(visit));
        this.#as(visit, () => job.done(result));
      },
    };
  }

  /** A command enters the sequence. */
  watchCommand(submission: Submission): Submission {
    const { owner } = this.#server;
    const visit = this.#visit;
    const { command } = submission;
    // A server that has failed refuses it on the spot.
    if (this.#server.engine().isFailed) return submission;
    const asked = visit?.ask.wish ?? this.ownWish;
    const passage = this.guard(() => this.watch.submitted(command, visit, asked as Wish | null));
    return {
      ...submission,
      answer: (outcome) => {
        if (owner.isGone) return;
        this.guard(() => this.watch.answered(passage, outcome));
        this.#as(visit, () => submission.answer(outcome));
      },
      leave:
        submission.leave &&
        (() => {
          const begin = submission.leave!();
          if (owner.isGone) return begin;
          this.guard(() => this.watch.goesBack(passage));
          return () => {
            if (owner.isGone) return;
            this.guard(() => this.watch.comesAgain(passage));
            this.#as(visit, begin);
          };
        }),
    };
  }

  /** What a watch finds ends the life, whoever may catch it on the way up. */
  guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#server.loop.fail(error as Error);
      throw error;
    }
  }

  #leave(visit: Visit, status: number, text: string): void {
    const { owner, tell } = this.#server;
    if (owner.isGone || visit.isAborted) return;
    const done = this.unanswered.get(visit);
    this.#forget(visit);
    this.#gone.delete(visit);
    this.guard(() => this.watch.leaves(visit, status, text));
    tell(`${visit.number} ${status}`);
    done?.(status);
  }

  #as(visit: Visit | null, work: () => void): void {
    const before = this.#visit;
    this.#visit = visit;
    work();
    this.#visit = before;
  }
}
