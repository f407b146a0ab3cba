/**
 * What is made of records is remembered within a bound, by the heap address of a record's newest entry, whose bytes
 * never change. In two generations: what is asked for again stays, and where the newer one is full the older one goes.
 * Each ledger has a part of the room at most, past which its own goes alone: else one that has much, and asks for it in
 * turns, has everybody's made anew each time.
 */
import { LongMap, scatteredAddress } from '../memory/index.ts';

/** Of the room, what one generation of one ledger takes at most. */
const LEDGER_SHARE = 1 / 8;

interface Kept {
  readonly value: unknown;
  readonly held: number;
}

class Generation {
  readonly kept = new LongMap<number, Kept>(scatteredAddress);
  held = 0;
}

interface Lane {
  newer: Generation;
  older: Generation;
}

export class Remembered {
  readonly #max: number;
  readonly #lanes = new Map<number, Lane>();
  /** Bytes of all newer generations, and of all older ones. */
  #newer = 0;
  #older = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * What `make` makes of a ledger's record whose newest entry lies at `at`, of `held` bytes; made once, as long as
   * there is room.
   */
  get<T>(ledger: number, at: number, make: () => { value: T; held: number }): T {
    const lane = this.#lanes.get(ledger);
    const known = lane?.newer.kept.get(at);
    if (known !== undefined) return known.value as T;
    const kept = (lane === undefined ? undefined : this.#takeOlder(lane, at)) ?? make();
    this.#keep(ledger, at, kept);
    return kept.value as T;
  }

  #takeOlder({ older }: Lane, at: number): Kept | undefined {
    const kept = older.kept.get(at);
    if (kept === undefined) return undefined;
    older.kept.delete(at);
    older.held -= kept.held;
    this.#older -= kept.held;
    return kept;
  }

  #keep(ledger: number, at: number, kept: Kept): void {
    const { held } = kept;
    if (this.#newer + held > this.#max / 2 || this.#newer + this.#older + held > this.#max) this.#turnAll();
    const lane = this.#lanes.get(ledger) ?? this.#open(ledger);
    if (lane.newer.held + held > this.#max * LEDGER_SHARE) this.#turn(lane);
    lane.newer.kept.set(at, kept);
    lane.newer.held += held;
    this.#newer += held;
  }

  #open(ledger: number): Lane {
    const lane = { newer: new Generation(), older: new Generation() };
    this.#lanes.set(ledger, lane);
    return lane;
  }

  #turn(lane: Lane): void {
    this.#newer -= lane.newer.held;
    this.#older += lane.newer.held - lane.older.held;
    lane.older = lane.newer;
    lane.newer = new Generation();
  }

  #turnAll(): void {
    for (const [ledger, lane] of this.#lanes) {
      this.#turn(lane);
      if (lane.older.kept.size === 0) this.#lanes.delete(ledger);
    }
  }
}
