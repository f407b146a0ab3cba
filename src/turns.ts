/**
 * A fair queue with admission control: who comes in next, and who may wait at all, so that one ledger that sends more
 * than the server can do is what waits, and the others hardly notice.
 *
 * Turns are deficit round robin (Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit Round Robin", 1995): the
 * ledgers in which somebody waits stand in a ring; whose turn it is gets an allowance of bytes, and goes on to the end
 * of the ring when that does not reach for its next request. Within a ledger it is first come, first served. A request
 * costs its bytes, and as many as would take so long to clear as the ledger's last requests took: one that is short may
 * keep the server for a second. Where requests turn out to be far dearer than those before them, what of their ledger
 * has had its turn and is not cleared yet waits for another one.
 *
 * Places are shared by what is left of them (Choudhury and Hahne, "Dynamic Queue Length Thresholds", 1998): a ledger
 * may hold so many times what is free, so that whoever floods the server leaves room for those who do not.
 *
 * What always holds: whatever waits gets its turn; a turn costs as much work for one ledger waiting as for a thousand.
 */

/** What a request costs beside its bytes. */
const REQUEST_BYTES = 1024;
/**
 * So many cost as much as a millisecond of clearing: ten usual requests take that from their first byte to their
 * answer.
 */
const CLEAR_BYTES = 20 * 1024;
/** Allowance of one turn: a few usual requests. */
const TURN_BYTES = 4096;
/** Nobody holds more than so many times the places that are free: alone, a ledger has four fifths of all. */
export const SHARE = 4;

/**
 * What is thought of a ledger none of whose requests was cleared yet: dearer than most, so that few are let in at once.
 */
const CLEAR_MS = 1;
/**
 * The same where the first ones of other ledgers were quick lately: no less, for who made those may make dear ones
 * next.
 */
const CLEAR_MS_LEAST = 0.25;
/** So many requests make most of what is known of a ledger. */
const RECENT = 32;
/** And so many make most of what is thought of new ones, where they turn out to be dear. */
const DEAR_RECENT = 4;
/**
 * One counts as so many times what was known at most: it may have met a collection, or a thread that took its
 * processor.
 */
const SURPRISE = 16;
const SURPRISE_MS = 0.05;

interface Known {
  ms: number;
  /** It is the average of so many, then of about the last so many. */
  count: number;
}

/** What it takes to clear a request of each ledger, as its last ones have shown. */
export class ClearTimes {
  readonly #known = new Map<number, Known>();
  /** Of a ledger that is not known, as the first requests of others have shown. */
  #first = CLEAR_MS;

  /** Milliseconds that its next request will take, most likely. */
  of(ledger: number): number {
    return this.#known.get(ledger)?.ms ?? this.#first;
  }

  learn(ledger: number, ms: number): void {
    let known = this.#known.get(ledger);
    if (known === undefined) {
      known = { ms: this.#first, count: 1 };
      this.#known.set(ledger, known);
      this.#learnFirst(ms);
    }
    const counted = Math.min(ms, SURPRISE * known.ms + SURPRISE_MS);
    known.count = Math.min(known.count + 1, RECENT);
    known.ms += (counted - known.ms) / known.count;
  }

  #learnFirst(ms: number): void {
    const first = this.#first + (ms - this.#first) / (ms > this.#first ? DEAR_RECENT : RECENT);
    this.#first = Math.min(Math.max(first, CLEAR_MS_LEAST), CLEAR_MS);
  }

  /** Its next requests will take so long at least, until they have shown otherwise. */
  expect(ledger: number, ms: number): void {
    this.#known.set(ledger, { ms: Math.max(ms, this.#known.get(ledger)?.ms ?? CLEAR_MS), count: RECENT });
  }
}

/**
 * What a request of each ledger took in a batch that took long, on the average; told of those alone that took longer
 * than a stall of the whole process may have been.
 */
export function dearIn(cleared: Iterable<readonly [ledger: number, ms: number]>, stallMs: number): Map<number, number> {
  const sums = new Map<number, { ms: number; count: number }>();
  for (const [ledger, ms] of cleared) {
    const sum = sums.get(ledger);
    if (sum === undefined) sums.set(ledger, { ms, count: 1 });
    else {
      sum.ms += ms;
      sum.count++;
    }
  }
  const dear = new Map<number, number>();
  for (const [ledger, { ms, count }] of sums) if (ms > stallMs) dear.set(ledger, (ms - stallMs) / count);
  return dear;
}

interface Waiting {
  bytes: number;
  begin: () => void;
}

interface Lane {
  readonly ledger: number;
  /** Whose turn it is after this one; the last one's is the first. */
  next: Lane | null;
  queue: Waiting[];
  /** Those before this one have had their turn. */
  at: number;
  allowance: number;
}

/** The deficit round robin queue: requests that wait for their ledger's turn. */
export class Turns {
  /** Of the ledgers in which somebody waits. */
  readonly #lanes = new Map<number, Lane>();
  readonly #clearTimes: ClearTimes;
  /** The end of their ring: whose turn it is comes next. */
  #last: Lane | null = null;
  length = 0;

  constructor(clearTimes: ClearTimes) {
    this.#clearTimes = clearTimes;
  }

  push(ledger: number, bytes: number, begin: () => void): void {
    const lane = this.#lanes.get(ledger) ?? this.#open(ledger);
    lane.queue.push({ bytes, begin });
    this.length++;
  }

  /** These have had a turn in vain, and come before all others of their ledger. */
  putBack(ledger: number, waiting: readonly Waiting[]): void {
    const lane = this.#lanes.get(ledger) ?? this.#open(ledger);
    lane.queue = [...waiting, ...lane.queue.slice(lane.at)];
    lane.at = 0;
    this.length += waiting.length;
  }

  #open(ledger: number): Lane {
    const lane: Lane = { ledger, next: null, queue: [], at: 0, allowance: TURN_BYTES };
    lane.next = this.#last === null ? lane : this.#last.next;
    if (this.#last !== null) this.#last.next = lane;
    this.#last = lane;
    this.#lanes.set(ledger, lane);
    return lane;
  }

  /** Takes out who is next; there must be somebody. */
  next(): () => void {
    for (;;) {
      const lane = this.#last!.next!;
      const { bytes, begin } = lane.queue[lane.at]!;
      // Not when it came: what is known of its ledger may be from before the flood it is part of.
      const cost = REQUEST_BYTES + bytes + CLEAR_BYTES * this.#clearTimes.of(lane.ledger);
      if (cost <= lane.allowance) {
        lane.allowance -= cost;
        this.#pass(lane);
        return begin;
      }
      lane.allowance += TURN_BYTES;
      this.#last = lane;
    }
  }

  #pass(lane: Lane): void {
    this.length--;
    lane.at++;
    if (lane.at === lane.queue.length) this.#close(lane);
    else if (lane.at * 2 > lane.queue.length) {
      lane.queue = lane.queue.slice(lane.at);
      lane.at = 0;
    }
  }

  /** Takes out the lane whose turn it is. */
  #close(lane: Lane): void {
    this.#lanes.delete(lane.ledger);
    if (lane === this.#last) this.#last = null;
    else this.#last!.next = lane.next;
  }
}

interface Held {
  requests: number;
  bytes: number;
}

/** How many requests, or events, there are on their way, and of which ledgers. */
export class Places {
  readonly #max: Held;
  readonly #held = new Map<number, Held>();
  requests = 0;
  bytes = 0;

  constructor(requestsMax: number, bytesMax: number) {
    this.#max = { requests: requestsMax, bytes: bytesMax };
  }

  /** Whether there is a place for one more of this ledger. */
  hasRoom(ledger: number): boolean {
    const requests = this.#max.requests - this.requests;
    const bytes = this.#max.bytes - this.bytes;
    if (requests <= 0 || bytes <= 0) return false;
    const held = this.#held.get(ledger);
    return held === undefined || (held.requests < SHARE * requests && held.bytes < SHARE * bytes);
  }

  take(ledger: number, bytes: number): void {
    const held = this.#held.get(ledger);
    if (held === undefined) this.#held.set(ledger, { requests: 1, bytes });
    else {
      held.requests++;
      held.bytes += bytes;
    }
    this.requests++;
    this.bytes += bytes;
  }

  leave(ledger: number, bytes: number): void {
    const held = this.#held.get(ledger)!;
    if (--held.requests === 0) this.#held.delete(ledger);
    else held.bytes -= bytes;
    this.requests--;
    this.bytes -= bytes;
  }
}

/** How many requests are let in, and how long clearing them will take, most likely. */
export class Pipeline {
  readonly #requestsMax: number;
  readonly #bytesMax: number;
  readonly #msMax: number;
  #requests = 0;
  #bytes = 0;
  #ms = 0;

  constructor(requestsMax: number, bytesMax: number, msMax: number) {
    this.#requestsMax = requestsMax;
    this.#bytesMax = bytesMax;
    this.#msMax = msMax;
  }

  get hasRoom(): boolean {
    return this.#requests < this.#requestsMax && this.#bytes < this.#bytesMax && this.#ms < this.#msMax;
  }

  take(bytes: number, ms: number): void {
    this.#requests++;
    this.#bytes += bytes;
    this.#ms += ms;
  }

  leave(bytes: number, ms: number): void {
    this.#requests--;
    this.#bytes -= bytes;
    // Sums of fractions do not come back to nothing by themselves.
    this.#ms = this.#requests === 0 ? 0 : this.#ms - ms;
  }
}
