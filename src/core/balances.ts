/**
 * Balances and limits: one slot per wallet and symbol, its numbers in a line, the slots of a wallet in a chain.
 *
 * Always holds: balances and limits are integers within ±(2^53−1); a slot, once made, stays. What a day moved may be
 * more, where the limit that counts it came with it: it is beyond any limit then, and its last digits are lost.
 */
import {
  F64Column,
  F64Field,
  hashRows,
  Lines,
  LongMap,
  type MemorySizes,
  near,
  type Part,
  type Parts,
  Table,
  U32Field,
} from '../memory/index.ts';

/** The limits a wallet may carry, in the order of their numbers on disk. */
export const METRICS = ['minBalance', 'maxBalance', 'dailyAmount', 'dailyCount'] as const;
export type Metric = (typeof METRICS)[number];
export const MIN_BALANCE = 0;
export const MAX_BALANCE = 1;
export const DAILY_AMOUNT = 2;
export const DAILY_COUNT = 3;

const DAY_MS = 86_400_000;
/** Per limit row: the four amounts, NaN where not set, the moments they were set at, and the day's counters. */
const LIMIT_COLUMNS = METRICS.length * 2 + 3;
const SET_AT = METRICS.length;
const DAY = METRICS.length * 2;
const DAY_AMOUNT = DAY + 1;
const DAY_COUNT = DAY + 2;

/**
 * Bytes of a slot: one line of the processor's caches. What is used lies in the first 48 of them, since memory for
 * pages mostly begins 16 bytes behind the start of such a line.
 */
const SLOT_BYTES = 64;

const SEGMENTS = 256;
const INDEX = 'balance-slots';
/** What snapshots before version 5 have of it: hashes that anybody can work out. */
const UNSEEDED_INDEX = 'balances';
/** Slots of a wallet that are walked before the table is asked. */
const HOPS_MAX = 4;

export class Balances {
  readonly #hashSeed: number;
  readonly #table: Table;
  readonly #slots: Lines;
  readonly #available: F64Field;
  /** Spoken for by prepared intents: taken from what is available, not yet gone. */
  readonly #reserved: F64Field;
  /** What prepared intents will bring, so that a maxBalance still holds when they are committed. */
  readonly #incoming: F64Field;
  /**
   * By slot, what prepared intents of a thread bring to it that others of the thread take on at once; it counts as
   * incoming no more. Nobody ever has it; but the thread ends one intent after the other, so room is kept for it.
   * Follows from the open intents, so it is in no dump.
   */
  readonly #passing = new LongMap<number, number>(near);
  readonly #moment: F64Field;
  readonly #wallet: U32Field;
  readonly #symbol: U32Field;
  /** Next slot of the same wallet, plus one; 0 ends. */
  readonly #next: U32Field;
  /** Row of #limits, plus one; 0 where the slot has none. */
  readonly #limit: U32Field;
  /** LIMIT_COLUMNS numbers per limited slot. */
  readonly #limits: F64Column;

  constructor(hashSeed: number, { pageRows, segments = SEGMENTS }: MemorySizes) {
    this.#hashSeed = hashSeed;
    this.#table = new Table(INDEX, { segments });
    this.#slots = new Lines(SLOT_BYTES, pageRows);
    this.#available = new F64Field(this.#slots, 'balance-available', 0);
    this.#reserved = new F64Field(this.#slots, 'balance-reserved', 8);
    this.#incoming = new F64Field(this.#slots, 'balance-incoming', 16);
    this.#moment = new F64Field(this.#slots, 'balance-moment', 24);
    this.#wallet = new U32Field(this.#slots, 'balance-wallet', 32);
    this.#symbol = new U32Field(this.#slots, 'balance-symbol', 36);
    this.#next = new U32Field(this.#slots, 'balance-next', 40);
    this.#limit = new U32Field(this.#slots, 'balance-limit', 44);
    this.#limits = new F64Column('balance-limits', false, pageRows);
  }

  get size(): number {
    return this.#slots.length;
  }

  /** The slot of this wallet row and symbol row, or -1. */
  find(wallet: number, symbol: number): number {
    for (let slot = this.#table.first(hashRows(this.#hashSeed, wallet, symbol)); slot >= 0; slot = this.#table.next()) {
      if (this.#wallet.get(slot) === wallet && this.#symbol.get(slot) === symbol) return slot;
    }
    return -1;
  }

  /**
   * The same, where the wallet's first slot is known: `first` is that plus one, 0 for none. Most wallets have one slot
   * or two, and need no table.
   */
  findFrom(first: number, wallet: number, symbol: number): number {
    let next = first;
    for (let hops = 0; hops < HOPS_MAX; hops++) {
      if (next === 0) return -1;
      if (this.#symbol.get(next - 1) === symbol) return next - 1;
      next = this.#next.get(next - 1);
    }
    return this.find(wallet, symbol);
  }

  /** A new slot with nothing in it; `next` is the wallet's first slot so far plus one, 0 for none. */
  create(wallet: number, symbol: number, next: number): number {
    const slot = this.#slots.push();
    this.#wallet.set(slot, wallet);
    this.#symbol.set(slot, symbol);
    this.#next.set(slot, next);
    this.#index(slot);
    return slot;
  }

  #index(slot: number): void {
    this.#table.insert(hashRows(this.#hashSeed, this.wallet(slot), this.symbol(slot)), slot);
  }

  wallet(slot: number): number {
    return this.#wallet.get(slot);
  }
  symbol(slot: number): number {
    return this.#symbol.get(slot);
  }
  available(slot: number): number {
    return this.#available.get(slot);
  }
  reserved(slot: number): number {
    return this.#reserved.get(slot);
  }
  incoming(slot: number): number {
    return this.#incoming.get(slot);
  }
  /** What will come, and go on with what brings it. */
  passing(slot: number): number {
    return this.#passing.size === 0 ? 0 : (this.#passing.get(slot) ?? 0);
  }
  /** Whether prepared intents will still change it, be it that all they bring goes on at once. */
  isHeld(slot: number): boolean {
    return this.#reserved.get(slot) !== 0 || this.#incoming.get(slot) !== 0 || this.passing(slot) !== 0;
  }
  moment(slot: number): number {
    return this.#moment.get(slot);
  }
  next(slot: number): number {
    return this.#next.get(slot);
  }

  add(slot: number, delta: number, moment: number): void {
    this.#available.set(slot, this.#available.get(slot) + delta);
    this.#moment.set(slot, moment);
  }

  /**
   * Sets aside a change of the slot. Of what leaves, `through` comes with a thread and goes on with it; of the rest,
   * what leaves is no longer available.
   */
  hold(slot: number, change: number, through: number, moment: number): void {
    const leaves = this.#keep(slot, change, through, 1);
    if (leaves > 0) this.add(slot, -leaves, moment);
  }

  /** Ends that hold: all is as before, and where it moves, changes by `change`. */
  endHold(slot: number, change: number, through: number, moves: boolean, moment: number): void {
    const leaves = this.#keep(slot, change, through, -1);
    this.add(slot, leaves + (moves ? change : 0), moment);
  }

  /**
   * Notes what is set aside (`sign` 1), or no longer (-1): what leaves is reserved, what comes is incoming, and what
   * passes is incoming no more. Returns how much leaves beside what passes.
   */
  #keep(slot: number, change: number, through: number, sign: 1 | -1): number {
    const rest = change + through;
    const leaves = Math.max(0, -rest);
    this.#reserved.set(slot, this.#reserved.get(slot) + sign * leaves);
    this.#incoming.set(slot, this.#incoming.get(slot) + sign * (Math.max(0, rest) - through));
    if (through > 0) this.pass(slot, sign * through);
    return leaves;
  }

  /** So much more passes through the slot. */
  pass(slot: number, amount: number): void {
    const sum = this.passing(slot) + amount;
    if (sum === 0) this.#passing.delete(slot);
    else this.#passing.set(slot, sum);
  }

  isLimited(slot: number): boolean {
    return this.#limit.get(slot) !== 0;
  }

  /** The limit of this metric, NaN where none is set. */
  limit(slot: number, metric: number): number {
    const row = this.#limit.get(slot);
    return row === 0 ? Number.NaN : this.#limits.get((row - 1) * LIMIT_COLUMNS + metric);
  }

  limitMoment(slot: number, metric: number): number {
    return this.#limits.get((this.#limit.get(slot) - 1) * LIMIT_COLUMNS + SET_AT + metric);
  }

  setLimit(slot: number, metric: number, amount: number, moment: number): void {
    let row = this.#limit.get(slot);
    if (row === 0) {
      for (let i = 0; i < LIMIT_COLUMNS; i++) this.#limits.push(i < SET_AT ? Number.NaN : 0);
      row = this.#limits.length / LIMIT_COLUMNS;
      this.#limit.set(slot, row);
    }
    const at = (row - 1) * LIMIT_COLUMNS;
    this.#limits.set(at + metric, amount);
    this.#limits.set(at + SET_AT + metric, moment);
  }

  /**
   * What transfers moved through the slot on the UTC day of `moment`, since a daily limit counts them. Counters of past
   * days are not kept: an intent that waited over midnight is judged, and counted, on the day they have gone on to.
   */
  movedOn(slot: number, moment: number): { amount: number; count: number } {
    const at = (this.#limit.get(slot) - 1) * LIMIT_COLUMNS;
    return this.countedDay(slot) >= Math.floor(moment / DAY_MS)
      ? { amount: this.#limits.get(at + DAY_AMOUNT), count: this.#limits.get(at + DAY_COUNT) }
      : { amount: 0, count: 0 };
  }

  /** The day of a limited slot's counters, in days since 1970. */
  countedDay(slot: number): number {
    return this.#limits.get((this.#limit.get(slot) - 1) * LIMIT_COLUMNS + DAY);
  }

  /** Counts one intent that moved `amount` through a limited slot; each counter runs only while its limit is set. */
  countMoved(slot: number, amount: number, moment: number): void {
    const counts = (metric: number) => !Number.isNaN(this.limit(slot, metric));
    this.addMoved(slot, counts(DAILY_AMOUNT) ? amount : 0, counts(DAILY_COUNT) ? 1 : 0, moment);
  }

  /**
   * Adds to the counters of the day of `moment`, which begin at zero where theirs was an earlier one; never goes back.
   */
  addMoved(slot: number, amount: number, count: number, moment: number): void {
    const at = (this.#limit.get(slot) - 1) * LIMIT_COLUMNS;
    const before = this.movedOn(slot, moment);
    this.#limits.set(at + DAY, Math.max(this.countedDay(slot), Math.floor(moment / DAY_MS)));
    this.#limits.set(at + DAY_AMOUNT, before.amount + amount);
    this.#limits.set(at + DAY_COUNT, before.count + count);
  }

  /** Bytes of memory they take. */
  get taken(): number {
    return this.#parts().reduce((sum, part) => sum + part.taken, 0);
  }

  #parts() {
    return [this.#table, this.#slots, this.#limits];
  }

  dump(): Part[] {
    return this.#parts().flatMap((part) => part.dump());
  }

  load(parts: Parts): void {
    const isIndexed = !parts.has(`${UNSEEDED_INDEX}.head`);
    for (const part of this.#parts()) if (isIndexed || part !== this.#table) part.load(parts);
    if (!isIndexed) for (let slot = 0; slot < this.size; slot++) this.#index(slot);
  }
}
