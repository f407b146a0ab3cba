/**
 * A clock turned by hand, and a network beside it: answers come when the clock says so. Between two timers everything
 * that promises have to do is done, as it would be between two turns of the real loop.
 */
import type { Answer, Call } from '../../src/effects/outgoing.ts';
import type { Timers } from '../../src/effects/timers.ts';

interface Due {
  at: number;
  run: () => void;
}

export class Clock implements Timers {
  #now = 0;
  /** In the order in which they are due; of one moment, in that in which they were set. */
  readonly #due: Due[] = [];

  now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Due {
    const due = { at: this.#now + Math.max(0, ms), run };
    let [place, end] = [0, this.#due.length];
    while (place < end) {
      const middle = (place + end) >> 1;
      if (this.#due[middle]!.at <= due.at) place = middle + 1;
      else end = middle;
    }
    this.#due.splice(place, 0, due);
    return due;
  }

  cancel(timer: object): void {
    const at = this.#due.indexOf(timer as Due);
    if (at >= 0) this.#due.splice(at, 1);
  }

  /** The longest that one timer has taken, by what was passed while it ran. */
  longestMs = 0;

  /** Time goes by while something is done. */
  pass(ms: number): void {
    this.#now += ms;
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#due.length;
  }

  /** Runs what is due within `ms`, in order, and stands there. */
  async run(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await settled();
      const next = this.#due[0];
      if (next === undefined || next.at > end) break;
      this.#due.shift();
      this.#now = Math.max(this.#now, next.at);
      const began = this.#now;
      next.run();
      this.longestMs = Math.max(this.longestMs, this.#now - began);
    }
    this.#now = Math.max(this.#now, end);
  }
}

/** Long enough for the few promises a call goes through. */
async function settled(): Promise<void> {
  for (let i = 0; i < 10; i++) await Promise.resolve();
}

export type Said = Answer & { afterMs: number };

interface Sent {
  url: string;
  at: number;
  /** -1 while it is on its way. */
  endedAt: number;
  aborted: boolean;
}

/** A network that answers as `say` says, and keeps what was sent. `afterMs` of Infinity: never, until called off. */
export function makeNetwork(
  clock: Clock,
  say: (url: string, attempt: number) => Said,
): { call: Call; sent: Sent[]; onWay: () => number; onWayMax: () => number } {
  const sent: Sent[] = [];
  const attempts = new Map<string, number>();
  let [onWay, onWayMax] = [0, 0];
  const call: Call = ({ url, signal }) =>
    new Promise<Answer>((resolve) => {
      const attempt = (attempts.get(url) ?? 0) + 1;
      attempts.set(url, attempt);
      const one: Sent = { url, at: clock.now(), endedAt: -1, aborted: false };
      sent.push(one);
      onWayMax = Math.max(onWayMax, ++onWay);
      const end = (answer: Answer) => {
        if (one.endedAt >= 0) return;
        one.endedAt = clock.now();
        onWay--;
        resolve(answer);
      };
      const { afterMs, ...answer } = say(url, attempt);
      if (afterMs !== Infinity) clock.after(afterMs, () => end(answer));
      signal?.addEventListener('abort', () => {
        one.aborted = true;
        // What was called off does not end in the same moment.
        clock.after(1, () => end({ error: 'called off' }));
      });
    });
  return { call, sent, onWay: () => onWay, onWayMax: () => onWayMax };
}
