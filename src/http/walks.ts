/**
 * Walks: what takes looking for, in slices. However many look at once, all of them together take about one slice of each
 * turn of the event loop, so long lists delay nobody for longer, whoever asks for them and however often.
 *
 * What is soon found is found at once, as long as this turn has time for it. The others wait for the next turns, and
 * ledgers take turns in those, so a hundred long lists of one ledger are as one to the others. Within a ledger slices go
 * by turns to whoever has had none and to whoever began first: what is short does not wait for what is long, and of many
 * long ones some come to their end, where all of them by turns would all run out of time.
 *
 * Whoever runs out of time is told so in the next turn, which takes next to nothing: in turns with those who go on, of
 * whom one may take all of a turn, it would be one a turn, and a client would hear seconds or minutes later that a
 * second is over.
 *
 * What is owed has every other slice of its ledger, until it is over: it does not stand behind all who ask for something.
 * That is what is told of something that was done, and cannot be asked for again as it was; and an answer that is begun,
 * and takes room that others wait for, of all ledgers.
 */

const SLICE_MS = 2;

/** Goes on, at least a little, until `pause` as `performance.now()` tells it; whether it is over. */
export type Walk = (pause: number) => boolean;

/** Those of one ledger who wait; who is next stands first. Those that are owed go on where they stand. */
interface Line {
  readonly owed: Set<Walk>;
  readonly fresh: Set<Walk>;
  readonly begun: Set<Walk>;
  isOwedNext: boolean;
  isFreshNext: boolean;
}

export class Walks {
  /** By ledger, whose turn is next first. */
  readonly #lines = new Map<number, Line>();
  /** Those that have an end: when that is, and whose they are. As all are given as long, it comes in the order they began. */
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
  begin(ledger: number, walk: Walk, end = Number.POSITIVE_INFINITY, isOwed = false): void {
    const isFresh = this.#takenMs >= SLICE_MS;
    if (isFresh || !this.#go(walk)) {
      const { owed, fresh, begun } = this.#line(ledger);
      (isOwed ? owed : isFresh ? fresh : begun).add(walk);
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
      line = { owed: new Set(), fresh: new Set(), begun: new Set(), isOwedNext: true, isFreshNext: true };
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
      line.owed.delete(walk);
      line.fresh.delete(walk);
      line.begun.delete(walk);
      if (!this.#go(walk)) line.begun.add(walk);
      if (sizeOf(line) === 0) this.#lines.delete(ledger);
    }
  }

  #goOn(line: Line): void {
    const queue = nextOf(line);
    const walk = queue.values().next().value!;
    const isOver = this.#go(walk);
    const goesOnIn = queue === line.fresh ? line.begun : queue;
    // Whoever goes on keeps the place, but for who has something left of the slice: what it waits for others may have to bring.
    if (isOver || this.#isEarly || queue !== goesOnIn) queue.delete(walk);
    if (isOver) this.#ends.delete(walk);
    else goesOnIn.add(walk);
  }
}

function sizeOf({ owed, fresh, begun }: Line): number {
  return owed.size + fresh.size + begun.size;
}

/** Whose slice the next one of a line is. */
function nextOf(line: Line): Set<Walk> {
  const { owed, fresh, begun } = line;
  const isOwed = owed.size > 0 && (line.isOwedNext || fresh.size + begun.size === 0);
  line.isOwedNext = !isOwed;
  if (isOwed) return owed;
  const isFresh = begun.size === 0 || (line.isFreshNext && fresh.size > 0);
  line.isFreshNext = !isFresh;
  return isFresh ? fresh : begun;
}
