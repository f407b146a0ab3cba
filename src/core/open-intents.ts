/**
 * Intents that are not final, by row, in the order they came, which is that of their rows. There may be very many, all
 * of them waiting, so a dump copies none and is read while they go on.
 *
 * What always holds: an intent in here is never changed, only replaced.
 */
import { HeldMap, LongMap, near, type OpenPart, type Parts, rowsOf } from '../memory/index.ts';
import { DueLedgers } from './due-ledgers.ts';
import type { IntentStatus } from './entry.ts';

/** An intent on its way, by what clearing needs to know of it. */
export interface OpenIntent {
  readonly ledger: number;
  /** When it was received: it expires so long after that while it is pending. */
  readonly moment: number;
  readonly status: IntentStatus;
  /** Its postings are set aside. */
  readonly isHolding: boolean;
  /** What its hold added to daily counters: flat rows of COUNTED_WIDTH, balance slot, day counted on, amount, count. */
  readonly counted: readonly number[];
  /** Rows of LEG_STATES, by leg; none before the first is asked. */
  readonly legs: readonly number[];
  /** Rows of the bridges of its legs, each once. */
  readonly bridges: readonly number[];
  /** Its thread, where that has other intents; else empty. */
  readonly thread: string;
  /** While it holds, rows of the wallets that it is about though nothing is set aside there, each once. */
  readonly wallets: readonly number[];
}

export const COUNTED_WIDTH = 4;

/** No numbers: one list for all that have none, since each would take a third of the intent's room. */
export const NONE: readonly number[] = [];

/** The part they are dumped as: rows of row and members in the order above. */
export const OPEN_PART = 'open-intents';

type Row = [
  number,
  number,
  number,
  IntentStatus,
  boolean,
  readonly number[],
  readonly number[],
  readonly number[],
  string,
  // In snapshots of earlier builds there are none.
  (readonly number[])?,
];

export class OpenIntents {
  readonly #intents = new HeldMap<number, OpenIntent>(OPEN_PART, () => new LongMap(near), rowOf);
  /** By ledger, the rows of those that are pending, in the order they came: once prepared, none is pending again. */
  readonly #pending = new LongMap<number, LongMap<number, true>>(near);
  /** By bridge, the rows of those that have a leg there. */
  readonly #byBridge = new LongMap<number, LongMap<number, true>>(near);
  /** By wallet, how many are about it though they set nothing aside there. One intent may have thousands. */
  readonly #about = new LongMap<number, number>(near);
  /** Which of the ledgers may have a pending one whose time is over. */
  readonly due = new DueLedgers();
  /** The highest row there was. */
  #newest = -1;

  get size(): number {
    return this.#intents.size;
  }

  get(row: number): OpenIntent | undefined {
    return this.#intents.get(row);
  }

  has(row: number): boolean {
    return this.#intents.has(row);
  }

  set(row: number, intent: OpenIntent): void {
    const { bridges, wallets } = this.#intents.get(row) ?? { bridges: NONE, wallets: NONE };
    if (bridges !== intent.bridges) {
      for (const bridge of bridges) deleteRow(this.#byBridge, bridge, row);
      for (const bridge of intent.bridges) addRow(this.#byBridge, bridge, row);
    }
    if (wallets !== intent.wallets) {
      for (const wallet of wallets) this.#count(wallet, -1);
      for (const wallet of intent.wallets) this.#count(wallet, 1);
    }
    this.#newest = Math.max(this.#newest, row);
    this.#intents.set(row, intent);
    if (intent.status === 'pending') {
      if (!this.#pending.has(intent.ledger)) this.due.ask(intent.ledger);
      addRow(this.#pending, intent.ledger, row);
    } else deleteRow(this.#pending, intent.ledger, row);
  }

  delete(row: number): void {
    const intent = this.#intents.get(row);
    if (intent === undefined) return;
    for (const bridge of intent.bridges) deleteRow(this.#byBridge, bridge, row);
    for (const wallet of intent.wallets) this.#count(wallet, -1);
    this.#intents.delete(row);
    deleteRow(this.#pending, intent.ledger, row);
  }

  #count(wallet: number, change: 1 | -1): void {
    const count = (this.#about.get(wallet) ?? 0) + change;
    if (count === 0) this.#about.delete(wallet);
    else this.#about.set(wallet, count);
  }

  /** Whether one of them has a leg at this bridge. */
  isTakingPart(bridge: number): boolean {
    return this.#byBridge.has(bridge);
  }

  /** Whether one of them is about this wallet though it set nothing aside there. */
  isAbout(wallet: number): boolean {
    return this.#about.has(wallet);
  }

  /**
   * Rows of those there are now that have a leg at one of the bridges wanted, each once. There may be very many: they
   * are looked for as they are asked for, one of each bridge in turn, so that none waits for all that another has.
   */
  *withLegsAt(isWanted: (bridge: number) => boolean): Generator<number, void, void> {
    // What comes meanwhile may come faster than it is asked for.
    const newest = this.#newest;
    let walks: { bridge: number; rows: Iterator<number, void> }[] = [];
    for (const [bridge, rows] of this.#byBridge) if (isWanted(bridge)) walks.push({ bridge, rows: rows.keys() });
    while (walks.length > 0) {
      const going: typeof walks = [];
      for (const walk of walks) {
        const { done, value: row } = walk.rows.next();
        if (done === true) continue;
        going.push(walk);
        // One with legs at two of them is told of at one.
        if (row <= newest && this.#intents.get(row)!.bridges.find(isWanted) === walk.bridge) yield row;
      }
      walks = going;
    }
  }

  /** Rows of the pending ones of a ledger, which alone can expire: there may be very many that rest at prepared. */
  pendingIn(ledger: number): Iterator<number, void> {
    return (this.#pending.get(ledger) ?? NO_ROWS).keys();
  }

  [Symbol.iterator](): IterableIterator<[number, OpenIntent]> {
    return this.#intents[Symbol.iterator]();
  }

  /** All there are now. */
  dump(): OpenPart {
    return this.#intents.dump();
  }

  /**
   * Takes over what a dump gave, and of those that hold the wallets from elsewhere where it lacks them. There may be so
   * many that V8 could not hold them twice: the few that are late are held.
   */
  load(parts: Parts, walletsOf: (row: number) => readonly number[]): void {
    const late = [...byOrder(parts, true)].sort(([one], [other]) => one - other);
    let taken = 0;
    for (const row of byOrder(parts, false)) {
      while (taken < late.length && late[taken]![0] < row[0]) this.#load(late[taken++]!, walletsOf);
      this.#load(row, walletsOf);
    }
    while (taken < late.length) this.#load(late[taken++]!, walletsOf);
  }

  #load([row, ...rest]: Row, walletsOf: (row: number) => readonly number[]): void {
    const [ledger, moment, status, isHolding, counted, legs, bridges, thread, dumped] = rest;
    const wallets = listOf(dumped ?? (isHolding ? walletsOf(row) : NONE));
    const lists = { counted: listOf(counted), legs: listOf(legs), bridges: listOf(bridges), wallets };
    this.set(row, { ledger, moment, status, isHolding, ...lists, thread });
  }
}

/** By ledger or bridge, rows. */
type Rows = LongMap<number, LongMap<number, true>>;

const NO_ROWS = new LongMap<number, true>(near);

function addRow(all: Rows, key: number, row: number): void {
  const rows = all.get(key) ?? new LongMap<number, true>(near);
  if (rows.size === 0) all.set(key, rows);
  rows.set(row, true);
}

function deleteRow(all: Rows, key: number, row: number): void {
  const rows = all.get(key);
  if (rows?.delete(row) === true && rows.size === 0) all.delete(key);
}

function rowOf(row: number, intent: OpenIntent): Row {
  const { ledger, moment, status, isHolding, counted, legs, bridges, thread, wallets } = intent;
  return [row, ledger, moment, status, isHolding, counted, legs, bridges, thread, wallets];
}

/**
 * Of the rows of a dump those that stand in order, or those that are late: behind a higher one, since they changed
 * meanwhile.
 */
function* byOrder(parts: Parts, isLate: boolean): Generator<Row> {
  let highest = -1;
  for (const row of rowsOf<Row>(parts, OPEN_PART)) {
    if (row[0] <= highest === isLate) yield row;
    highest = Math.max(highest, row[0]);
  }
}

/** The same numbers, in the one list for none where there are none. */
export function listOf(numbers: readonly number[]): readonly number[] {
  return numbers.length === 0 ? NONE : numbers;
}
