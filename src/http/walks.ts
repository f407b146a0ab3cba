/**
 * A cooperative scheduler of walks: of what takes looking for, in slices. However many look at once, all of them
 * together take about one slice of each turn of the event loop, so long lists delay nobody for longer, whoever asks for
 * them and however often.
 *
 * What is soon found is found at once, as long as this turn has time for it. The others wait for the next turns, and
 * ledgers take turns in those, so a hundred long lists of one ledger are as one to the others. Within a ledger slices
 * go by turns to whoever has had none and to whoever began first: what is short does not wait for what is long, and of
 * many long ones some come to their end, where all of them by turns would all run out of time.
 *
 * Whoever runs out of time is told so in the next turn, which takes next to nothing: in turns with those who go on, of
 * whom one may take all of a turn, it would be one a turn, and a client would hear seconds or minutes later that a
 * second is over.
 *
 * What is told of something that was done, and cannot be asked for again as it was, is owed: it has every other slice
 * of its ledger, and does not stand behind all who ask for something. Of the slices left, every other one goes on with
 * an answer that is made already, and takes room that others wait for, of all ledgers: it does not stand behind them
 * either.
 */

const SLICE_MS = 2;

/** Goes on, at least a little, until `pause` as `performance.now()` tells it; whether it is over. */
export type Walk = (pause: number) => boolean;

/**
 * Where those stand who wait; each has every other of the slices that those before it leave, all where nobody else
 * waits.
 */
const QUEUES = ['owed', 'made', 'fresh', 'begun'] as const;
type Queue = (typeof QUEUES)[number];
/** And where those do who were not over after a slice. */
const GOES_ON_IN = { owed: 'made', made: 'made', fresh: 'begun', begun: 'begun' } as const satisfies Record<
  Queue,
  Queue
>;

/** What a walk is begun for. */
export type Standing = Exclude<Queue, 'begun'>;

/** Those of one ledger who wait; who is next stands first. */
interface Line extends Readonly<Record<Queue, Set<Walk>>> {
  /** Whose slice is the next that comes to them. */
  readonly isNext: Set<Queue>;
}

export class Walks {
  /** By ledger, whose turn is next first. */
  readonly #lines = new Map<number, Line>();
  /**
   * Those that have an end: when that is, and whose they are. As all are given as long, it comes in the order they
   * began.
   */
  readonly #ends = new Map<Walk, { ledger: number; end: number }>();
  /** What walks have taken of this turn. */
  #takenMs = 0;
  /** Whether the walk that went last did so before its slice was over. */
  #isEarly = false;
  #isTurnDue = false;

  /** How many wait for a later turn. */
  get waiting(): number {
    let count = 0;
    for (const line of this.#lines.values()) count += sizeOf(line);
    return count;
  }

  /** From `end` on, as `performance.now()` tells it, the walk does no more than to tell that its time is over. */
  begin(ledger: number, walk: Walk, end = Number.POSITIVE_INFINITY, standing: Standing = 'fresh'): void {
    const isLater = this.#takenMs >= SLICE_MS;
    if (isLater || !this.#go(walk)) {
      this.#line(ledger)[isLater ? standing : GOES_ON_IN[standing]].add(walk);
      if (end < Number.POSITIVE_INFINITY) this.#ends.set(walk, { ledger, end });
    }
    if (this.#takenMs > 0 || this.#lines.size > 0) this.#turnLater();
  }

  #go(walk: Walk): boolean {
    const began = performance.now();
    const pause = began + SLICE_MS - this.#takenMs;
    const isOver = walk(pause);
    const ended = performance.now();
    this.#takenMs += ended - began;
    this.#isEarly = ended < pause;
    return isOver;
  }

  #line(ledger: number): Line {
    let line = this.#lines.get(ledger);
    if (line === undefined) {
      line = { owed: new Set(), made: new Set(), fresh: new Set(), begun: new Set(), isNext: new Set(QUEUES) };
      this.#lines.set(ledger, line);
    }
    return line;
  }

  #turnLater(): void {
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    this.#isTurnDue = false;
    this.#takenMs = 0;
    this.#endLate();
    // A Map is walked in the order of adding, what is added on the way included.
    for (const [ledger, line] of this.#lines) {
      if (this.#takenMs >= SLICE_MS) break;
      // A walk may begin another one, in this line.
      this.#goOn(line);
      this.#lines.delete(ledger);
      if (sizeOf(line) > 0) this.#lines.set(ledger, line);
    }
    if (this.#lines.size > 0) this.#turnLater();
  }

  /** Lets those go whose time is over, as far as a slice reaches. */
  #endLate(): void {
    for (const [walk, { ledger, end }] of this.#ends) {
      if (performance.now() <= end || this.#takenMs >= SLICE_MS) return;
      this.#ends.delete(walk);
      const line = this.#line(ledger);
      for (const queue of QUEUES) line[queue].delete(walk);
      if (!this.#go(walk)) line.begun.add(walk);
      if (sizeOf(line) === 0) this.#lines.delete(ledger);
    }
  }

  #goOn(line: Line): void {
    const queue = nextOf(line);
    const goesOnIn = GOES_ON_IN[queue];
    const walk = line[queue].values().next().value!;
    const isOver = this.#go(walk);
    // Whoever goes on keeps the place, but for who has something left of the slice: what it waits for others may have
    // to bring.
    if (isOver || this.#isEarly || queue !== goesOnIn) line[queue].delete(walk);
    if (isOver) this.#ends.delete(walk);
    else line[goesOnIn].add(walk);
  }
}

function sizeOf(line: Line): number {
  return QUEUES.reduce((sum, queue) => sum + line[queue].size, 0);
}

/** Whose slice the next one of a line is, in which somebody waits. */
function nextOf(line: Line): Queue {
  const waiting = QUEUES.filter((queue) => line[queue].size > 0);
  const last = waiting.at(-1)!;
  for (const queue of waiting) {
    if (queue === last || line.isNext.delete(queue)) return queue;
    line.isNext.add(queue);
  }
  return last;
}
