/**
 * The registry of requests and answers under way in one server, without its sockets: how many, how long bodies may
 * still take, who has to make room (load shedding), and when all have left (draining).
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Histogram, timesInMs } from '../histogram.ts';
import { type Refusal, refuse } from './errors.ts';
import { Held } from './held.ts';
import type { Sort } from './request.ts';

export interface HallOptions {
  /** Time from the end of the headers to the end of the body; beyond: 408 and the connection is closed. */
  readonly bodyMsMax: number;
  /** Bytes of all bodies that have not arrived whole; beyond, the oldest of them get 429 and are closed. */
  readonly arrivingBytesMax: number;
  /** Bytes of all long heads of requests that are not answered; beyond, the oldest of them get 429 and are closed. */
  readonly headBytesMax: number;
  /** Bytes of all answers that their clients have not taken yet; beyond, the oldest of them are cut off. */
  readonly unreadBytesMax: number;
}

/** A request that has no answer yet. */
export interface Guest {
  /** When the body's time is over, as performance.now() tells it: the machine's clock may be set meanwhile. */
  due: number;
  refuseAndClose(refusal: Refusal): void;
  /** Answers, though of a body that is refused not all has come. */
  endLingering(): void;
}

/** An answer that its client has not taken whole. */
export interface UnreadAnswer {
  cut(): void;
}

const TICK_MS = 250;
export const HEADS_FULL = refuse(
  'api.rate-limit-exceeded',
  'Too many requests with long URLs or headers wait, and this one has waited longer than the others, or is one too many',
);
const BODIES_FULL = refuse(
  'api.rate-limit-exceeded',
  'Too many bodies are on their way, and this one takes longer than the others',
);
/** How long the rest of a refused body is read and dropped. */
const LINGER_MS_MAX = 1000;
/** How long the last answers may take to leave when the server closes. Idle connections use it up in vain. */
const FLUSH_MS_MAX = 250;
/** The same where a client is known not to have taken the whole of its answer. */
const UNREAD_MS_MAX = 5000;
const FLUSH_TICK_MS = 10;

const STATUS_MAX = 599;

/** How long requests of a sort took: those that were done, and those that were refused, which mostly takes less. */
export interface RequestTimes {
  readonly done: Histogram;
  readonly refused: Histogram;
}

const newTimes = (): RequestTimes => ({ done: timesInMs(), refused: timesInMs() });

export class Hall {
  running = 0;
  connections = 0;
  isDraining = false;
  readonly bodies: Held<Guest>;
  readonly heads: Held<Guest>;
  readonly unread: Held<UnreadAnswer>;
  readonly #bodyMsMax: number;
  /** By status, how often it was answered. */
  readonly #answers = new Float64Array(STATUS_MAX + 1);
  readonly times: Readonly<Record<Sort, RequestTimes>> = {
    write: newTimes(),
    read: newTimes(),
    list: newTimes(),
    wait: newTimes(),
  };
  /** When this turn of the event loop came to its first request; NaN before. */
  #turnBegan = Number.NaN;
  /** Pieces of bodies that come in very small ones, in this turn. */
  crumbs = 0;
  /** Bodies on their way, oldest first, and bodies being read away; the first of each is due first. */
  readonly #arriving = new Set<Guest>();
  readonly #lingering = new Set<Guest>();
  readonly #ticker: NodeJS.Timeout;
  #onIdle: (() => void) | undefined;

  constructor({ bodyMsMax, arrivingBytesMax, headBytesMax, unreadBytesMax }: HallOptions) {
    this.#bodyMsMax = bodyMsMax;
    this.bodies = new Held(arrivingBytesMax, (guest) => guest.refuseAndClose(BODIES_FULL));
    this.heads = new Held(headBytesMax, (guest) => guest.refuseAndClose(HEADS_FULL));
    this.unread = new Held(unreadBytesMax, (answer) => answer.cut());
    this.#ticker = setInterval(() => this.#tick(performance.now()), Math.min(TICK_MS, bodyMsMax));
    this.#ticker.unref();
  }

  /** Bytes, by what they are of. */
  held(): [of: string, bytes: number][] {
    const { bodies, heads, unread } = this;
    return Object.entries({ bodies, heads, answers: unread }).map(([of, { total }]) => [of, total]);
  }

  /** Of each HTTP status that was answered, how often. */
  answers(): [status: number, count: number][] {
    return [...this.#answers].map((count, status): [number, number] => [status, count]).filter(([, n]) => n > 0);
  }

  /**
   * When this turn of the event loop came to its first request: what the others of the turn sent lay there by then, and
   * they have waited since. One look at the clock does for all of them.
   */
  turn(): number {
    if (Number.isNaN(this.#turnBegan)) {
      this.#turnBegan = performance.now();
      setImmediate(this.#endTurn);
    }
    return this.#turnBegan;
  }

  readonly #endTurn = () => {
    this.#turnBegan = Number.NaN;
    this.crumbs = 0;
  };

  /** Its body is on its way. */
  arrive(guest: Guest): void {
    guest.due = performance.now() + this.#bodyMsMax;
    this.#arriving.add(guest);
  }

  /** Its body is here, or nobody wants it any more. */
  arrived(guest: Guest): void {
    this.#arriving.delete(guest);
    this.bodies.forget(guest);
  }

  /** Its body is refused, and read away for a while. */
  linger(guest: Guest): void {
    this.arrived(guest);
    guest.due = performance.now() + LINGER_MS_MAX;
    this.#lingering.add(guest);
  }

  /** A request that was here whole `since` then is answered. */
  count(status: number, sort: Sort | null, since: number): void {
    this.#answers[status]!++;
    if (sort === null) return;
    const { done, refused } = this.times[sort];
    (status < 400 ? done : refused).add(performance.now() - since);
  }

  /** It is over, answered or not. */
  leave(guest: Guest): void {
    this.#arriving.delete(guest);
    this.#lingering.delete(guest);
    this.bodies.forget(guest);
    this.heads.forget(guest);
    if (--this.running === 0) this.#onIdle?.();
  }

  /** One timer for all: ends bodies that take too long. */
  #tick(now: number): void {
    for (const guest of this.#arriving) {
      if (guest.due > now) break;
      guest.refuseAndClose(refuse('api.request-timeout', 'body did not arrive in time'));
    }
    for (const guest of this.#lingering) {
      if (guest.due > now) break;
      guest.endLingering();
    }
  }

  /** Waits until all have left, for so long at most. */
  async drain(msMax: number): Promise<void> {
    this.isDraining = true;
    if (this.running > 0) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
        timer = setTimeout(resolve, msMax);
      });
      clearTimeout(timer);
    }
    clearInterval(this.#ticker);
    // Closing drops what the network has not taken yet; connections that were answered close by themselves.
    const began = performance.now();
    const isWithin = (msMax: number) => performance.now() - began < msMax;
    while ((this.connections > 0 && isWithin(FLUSH_MS_MAX)) || (this.unread.total > 0 && isWithin(UNREAD_MS_MAX))) {
      await pause(FLUSH_TICK_MS);
    }
  }
}
