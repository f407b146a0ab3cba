/**
 * The signer records that carry one key, from one change of the ledger's signers to the next.
 *
 * Whoever may make signers can make hundreds of thousands with somebody else's key, and each of them changes what is
 * known of signers. So no change causes a walk over all of them: only nodes that were added to the index since the last
 * look are looked at, and a record that was given up shows by its place. More of the first are remembered than are
 * asked for, so all are walked again only once hundreds of those have gone. What is known of a crowd is not forgotten
 * with the rest that is known of signers, which anybody could bring about.
 *
 * Nothing in here is part of the books: the result is what `rowsUnder` and a sort would find.
 */
import { Kind } from '../kinds.ts';
import type { Rekeyed, State } from '../state.ts';
import { rowAtPlace, termHash } from '../terms.ts';

/** How many of the first are remembered. */
const FIRST_MAX = 1000;
/** So many are sorted at a time to find the first: all that carry a key are never sorted together. */
const SORTED_MAX = 2 * FIRST_MAX;
/** One in so many nodes of the index is remembered, as a way to those between. */
const MARK_EVERY = 64;
/**
 * From so many nodes on a key has a crowd, which takes milliseconds to walk. What is remembered of it is a byte for
 * each node.
 */
const CROWD_MIN = 10_000;

/** What is known of the signers of a key. `wanted`: how many of the first somebody will ask for. */
export function signersOfKey(state: State, ledger: number, key: string, wanted: number): SignersOfKey {
  const hash = termHash(state, ledger, Kind.signer, 'public', key);
  const crowd = state.memo.crowds.get(hash);
  return crowd?.ledger === ledger ? crowd : new SignersOfKey(ledger, hash, wanted);
}

export class SignersOfKey {
  readonly ledger: number;
  readonly #hash: number;
  readonly #wanted: number;
  /**
   * Places of the first records to carry the key, in order; some may have been given up. No other record came before
   * the last of them.
   */
  #first: readonly number[] = NONE;
  /** Since when the last of them has carried it: its signer may have another key by now. */
  #last: Since = BEFORE_ALL;
  /** Whether they are all there are. */
  #isWhole = true;
  /** The newest node of the index that was looked at, and how many there are. */
  #head = 0;
  #nodes = 0;
  /** One in MARK_EVERY of the nodes, the oldest first. */
  readonly #marks: number[] = [];

  constructor(ledger: number, hash: number, wanted: number) {
    this.ledger = ledger;
    this.#hash = hash;
    this.#wanted = wanted;
  }

  /** How many numbers it remembers. */
  get size(): number {
    return this.#first.length + this.#marks.length;
  }

  /** Rows of the first records to carry the key, in order, as many as are wanted. */
  first(state: State): number[] {
    const fresh = this.#nodesSince(state, this.#head);
    if (fresh.length > 0) {
      this.#mark(fresh);
      this.#enter(state, fresh);
      if (this.#nodes >= CROWD_MIN) state.memo.crowds.set(this.#hash, this);
    }
    const rows = this.#kept(state, this.#wanted);
    if (rows.length === this.#wanted || this.#isWhole) return rows;
    this.#first = NONE;
    this.#isWhole = true;
    this.#enter(state, this.#nodesSince(state, 0));
    return this.#kept(state, this.#wanted);
  }

  /** Whether the record in this row carries the key, as of the last look. */
  has({ terms, rows }: State, row: number): boolean {
    const place = rows.place.get(row);
    const marks = this.#marks;
    let from = 0;
    let to = marks.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (terms.value(marks[middle]!) < place) from = middle + 1;
      else to = middle;
    }
    let node = marks[from] ?? this.#head;
    while (node !== 0 && terms.value(node) > place) node = terms.next(node);
    return node !== 0 && terms.value(node) === place;
  }

  /** Nodes of the index that are newer than this one, the newest first. */
  #nodesSince({ terms }: State, before: number): number[] {
    const nodes: number[] = [];
    for (let node = terms.head(this.#hash); node !== before; node = terms.next(node)) nodes.push(node);
    return nodes;
  }

  /** Remembers the newest of these nodes, and the way to the others. */
  #mark(fresh: readonly number[]): void {
    this.#head = fresh[0]!;
    for (let i = fresh.length - 1; i >= 0; i--) {
      if (++this.#nodes % MARK_EVERY === 0) this.#marks.push(fresh[i]!);
    }
  }

  /** Remembers those records of these nodes that come among the first. Each comes once: a record has one place. */
  #enter(state: State, nodes: readonly number[]): void {
    const entering: Carrying[] = [];
    // The oldest first: where most have the key they were made with, all behind the first thousand are skipped.
    for (let i = nodes.length - 1; i >= 0; i--) {
      const place = state.terms.value(nodes[i]!);
      // Nobody has had a key for longer than there is a record.
      if (!this.#isWhole && state.order.get(place) > this.#last.rows) continue;
      const row = this.#rowAt(state, place);
      if (row < 0) continue;
      const since = sinceOf(state, row);
      if (!this.#isWhole && order(since, this.#last) > 0) continue;
      entering.push({ row, since });
      if (entering.length === SORTED_MAX) this.#shorten(entering);
    }
    if (entering.length === 0) return;
    for (const row of this.#kept(state, this.#first.length)) entering.push({ row, since: sinceOf(state, row) });
    this.#shorten(entering);
    this.#first = entering.map(({ row }) => state.rows.place.get(row));
  }

  /** Sorts these and keeps the first; from now on, whatever comes behind the last of them is skipped. */
  #shorten(entering: Carrying[]): void {
    entering.sort((one, other) => order(one.since, other.since));
    if (entering.length > FIRST_MAX) {
      this.#isWhole = false;
      entering.length = FIRST_MAX;
    }
    this.#last = entering.at(-1)!.since;
  }

  #rowAt(state: State, place: number): number {
    return rowAtPlace(state, this.ledger, Kind.signer, place);
  }

  /** Rows of the first that have not been given up, at most `wanted`. */
  #kept(state: State, wanted: number): number[] {
    const rows: number[] = [];
    for (const place of this.#first) {
      if (rows.length === wanted) break;
      const row = this.#rowAt(state, place);
      if (row >= 0) rows.push(row);
    }
    return rows;
  }
}

/**
 * Since when the signer in a row has had its key: since it was made, or since it was given that key. With the time it
 * was made alone, whoever may change old signers could give them the key of a younger one, and take its place.
 */
function sinceOf({ rekeyed }: State, row: number): Since {
  // A record made with its key comes after what was given a key while there were `row` rows, and before what was given
  // one later.
  return rekeyed.get(row) ?? { rows: row + 0.5, at: 0 };
}

/** Below 0 where the first was before the second. */
function order(one: Since, other: Since): number {
  return one.rows - other.rows || one.at - other.at;
}

/** How many rows there were, and of several between two rows the address of the version that gave the key. */
type Since = Rekeyed;

interface Carrying {
  readonly row: number;
  readonly since: Since;
}

const BEFORE_ALL: Since = { rows: 0, at: 0 };
const NONE: readonly number[] = [];
