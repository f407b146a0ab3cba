/**
 * Lists: which records of a ledger and kind pass the filters, in order of their latest change. Candidates are those
 * that may; each of them is checked against all filters.
 *
 * A list can be long to look for. That is done in steps, each ended by whoever holds the clock, and records change
 * meanwhile. What always holds, as of its last step: no record stands on a page twice, or in a state that does not
 * pass, or behind its place; and none that passed all along is missing from the first page, though it moved to where
 * the walk had been.
 */
import { ANY_STATUS, liveCount } from './counts.ts';
import { isFinal } from './entry.ts';
import { type Filter, isStatus, matchesAll, nameOf, passesAll } from './filters.ts';
import { findHandle } from './finding.ts';
import { Kind, kindRow } from './kinds.ts';
import { membershipsHead } from './memberships.ts';
import { isoMoment } from './proofs.ts';
import { dataOf, labelsOf, versionAt } from './records.ts';
import type { State } from './state.ts';
import { ALL_TERM, CLAIM_WALLET_TERM, memberTerms, rowAtPlace, termHash } from './terms.ts';

interface ListRequest {
  ledger: number;
  kind: Kind;
  filters: readonly Filter[];
  order: 'newest' | 'oldest';
  skip: number;
  limit: number;
  /** The luid of a circle, whose memberships alone are shown to anybody. */
  circle?: string | undefined;
  /** Which rows are shown to whoever asks; all where it is left out. */
  isVisible?: ((row: number) => boolean) | undefined;
}

/** Candidates between two looks at the clock, where none needs its content read. */
const STRIDE = 64;

/** A record as it was right after the entry at an address. */
export interface Stand {
  readonly row: number;
  readonly at: number;
}

/** One that was found: it passed as it is after that entry, its latest. */
interface Listed extends Stand {
  /** Where that stands in the order of changes. */
  readonly place: number;
  at: number;
}

/** One list on its way. `page` is that once `step` has returned true. */
export class Listing {
  /** In order. */
  page: readonly Stand[] = [];
  #found: Listed[] = [];
  /** Of a first page that begins with the newest: what has come to stand before where the walk began, oldest first. */
  #front: Listed[] = [];
  /** What has changed since the walk began stands from this place on, and from the other on what was not looked at. */
  readonly #from: number;
  #next: number;
  readonly #state: State;
  readonly #request: ListRequest;
  /** Filters a candidate's columns answer; the others need its content. */
  readonly #statuses: readonly Filter[];
  readonly #contents: readonly Filter[];
  readonly #candidates: Candidates;

  constructor(state: State, request: ListRequest) {
    this.#state = state;
    this.#request = request;
    this.#statuses = request.filters.filter(isStatus);
    this.#contents = request.filters.filter((filter) => !isStatus(filter));
    this.#from = state.order.length;
    this.#next = this.#from;
    this.#candidates = new Candidates(state, request);
  }

  /** The rows of the page. */
  get rows(): number[] {
    return this.page.map(({ row }) => row);
  }

  /** How many records there are in all, where that is known without looking: no filters, nothing left out. */
  get total(): number | undefined {
    const { ledger, kind, filters, isVisible } = this.#request;
    return filters.length > 0 || isVisible !== undefined ? undefined : liveCount(this.#state, ledger, kind, ANY_STATUS);
  }

  /**
   * Goes on until the page is full, or the end is reached, and it is right as of now (true), or `expired` says to pause
   * (false).
   */
  step(expired: () => boolean): boolean {
    // What was found in this very step cannot have changed; before it may have, and something else takes its place.
    do {
      if (!this.#walk(expired) || !this.#walkOn(expired)) return false;
    } while (!this.#isAsFound());
    this.page = [...this.#front.toReversed(), ...this.#found].slice(0, this.#request.limit);
    return true;
  }

  get #isFull(): boolean {
    return this.#front.length + this.#found.length >= this.#request.limit;
  }

  /** Looks at what had changed last before the walk began. */
  #walk(expired: () => boolean): boolean {
    const { rows } = this.#state;
    const isRead = this.#contents.length > 0 || this.#request.isVisible !== undefined;
    for (let seen = 1; !this.#isFull; seen++) {
      const row = this.#candidates.next();
      if (row === END) return true;
      if (row >= 0 && rows.place.get(row) < this.#from && this.#passes(row)) this.#add(row);
      // One content can be a megabyte, and a pattern over it takes its time.
      if (((isRead && row >= 0) || seen % STRIDE === 0) && expired()) return false;
    }
    return true;
  }

  /** And at what has changed since, where that comes on this page: before all else, or behind it. */
  #walkOn(expired: () => boolean): boolean {
    const { order } = this.#state;
    const { ledger, kind, skip } = this.#request;
    const isNewest = this.#request.order === 'newest';
    if (isFixed(kind) || (isNewest && skip > 0)) return true;
    while (this.#next < order.length && (isNewest || !this.#isFull)) {
      const row = rowAtPlace(this.#state, ledger, kind, this.#next++);
      if (row >= 0 && this.#passes(row)) {
        if (isNewest) this.#front.push(this.#listed(row));
        else this.#add(row);
      }
      if (expired()) return false;
    }
    return true;
  }

  #add(row: number): void {
    if (this.#candidates.toSkip > 0) this.#candidates.toSkip--;
    else this.#found.push(this.#listed(row));
  }

  #listed(row: number): Listed {
    const { rows } = this.#state;
    return { row, place: rows.place.get(row), at: rows.at.get(row) };
  }

  /** Lets go of what has moved on, or does not pass any more; whether that was nothing. */
  #isAsFound(): boolean {
    const before = this.#front.length + this.#found.length;
    this.#front = this.#front.filter((listed) => this.#isStill(listed));
    this.#found = this.#found.filter((listed) => this.#isStill(listed));
    return this.#front.length + this.#found.length === before;
  }

  #isStill(listed: Listed): boolean {
    const { ledger, kind } = this.#request;
    const { row, place, at } = listed;
    if (rowAtPlace(this.#state, ledger, kind, place) !== row) return false;
    listed.at = this.#state.rows.at.get(row);
    return listed.at === at || this.#passes(row);
  }

  #passes(row: number): boolean {
    // Asked before any filter: what a hidden record says would show in the time that the filters take where it is
    // guessed, as of a pattern over its text behind a guess of its number.
    if (this.#request.isVisible?.(row) === false) return false;
    const { rows, statuses } = this.#state;
    if (this.#statuses.length > 0) {
      const status = statuses[rows.status.get(row)]!;
      if (!matchesAll({ meta: { status } }, this.#statuses)) return false;
    }
    return this.#contents.length === 0 || passesAll(filterView(this.#state, row), this.#contents);
  }
}

/** A record as filters see it. */
function filterView(state: State, row: number): object {
  const { entry } = versionAt(state, state.rows.at.get(row));
  const meta: Record<string, unknown> = { moment: isoMoment(entry.moment) };
  if ('thread' in entry) meta.thread = entry.thread;
  const labels = labelsOf(state, row);
  if (labels.length > 0) meta.labels = labels;
  return { data: dataOf(entry), meta };
}

// ---------------------------------------------------------------- candidates

/*
 * Candidates of a list: every record that can pass its filters, and as few others as an index allows, in the order that
 * is asked for. Each is checked against all filters, so an index can only save time, never change an answer.
 *
 * Where a filter asks for equality with a term, a list walks the chain of that, or what the chains of several terms
 * have in common; of memberships that of their circle; else all records of the kind, block by block, but for those
 * where nobody has had the status that is asked for. A chain leads from the newest to the oldest: for the other order
 * it is turned round, a stretch at a time, and so is each block. Intents on their way, where they are few, are looked
 * through one by one.
 *
 * Records of a kind that never changes (intents) stand where they were put: with no filters and nothing left out, the
 * n-th of them is known by its number, and a page begins with the block it is in, however deep.
 */

/** No candidate at this step; and none any more. */
const NONE = -1;
const END = -2;

class Candidates {
  /** The next one's row, a negative number where this step has met none, END where there are no more. */
  readonly next: () => number;
  /**
   * Of those to come that pass, so many stand before the page: all to be skipped at first, or fewer where this begins
   * nearer.
   */
  toSkip: number;
  readonly #state: State;
  readonly #request: ListRequest;
  /** The one status that is asked for; null where several will do. */
  readonly #asked: { readonly status: string; readonly number: number } | null;

  constructor(state: State, request: ListRequest) {
    this.#state = state;
    this.#request = request;
    this.#asked = this.#askedStatus();
    this.toSkip = request.skip;
    this.next = this.#isHopeless() ? () => END : this.#begin();
  }

  #askedStatus(): { status: string; number: number } | null {
    const equal = this.#request.filters.find((filter) => isStatus(filter) && filter.operator === 'eq');
    if (equal === undefined) return null;
    const status = String(equal.value);
    return { status, number: this.#state.statuses.indexOf(status) };
  }

  /** A status nobody has needs no walk. */
  #isHopeless(): boolean {
    const { ledger, kind } = this.#request;
    const asked = this.#asked;
    return asked !== null && (asked.number < 0 || liveCount(this.#state, ledger, kind, asked.number) === 0);
  }

  /** The cheapest way to meet every record that can pass: a function that gives row, NONE or END. */
  #begin(): () => number {
    const { ledger, kind, filters, order, circle } = this.#request;
    const handle = filters.find((filter) => filter.operator === 'eq' && nameOf(filter) === 'data.handle');
    if (handle !== undefined) return each([findHandle(this.#state, ledger, kind, String(handle.value))]);
    if (circle !== undefined) return this.#inOrder(this.#ofCircle(circle));
    const open = this.#openRows();
    if (open !== null) return each(order === 'newest' ? open.reverse() : open);
    const terms = filters.map((filter) => termOf(kind, filter)).filter((term) => term !== null);
    const hashes = terms.map(([member, value]) => termHash(this.#state, ledger, kind, member, value));
    const heads = hashes.map((hash) => this.#state.terms.head(hash));
    const asked = this.#asked;
    const short = heads.length > 1 || asked !== null ? this.#shortest(heads) : -1;
    if (short >= 0) return this.#inOrder(this.#chain(short));
    if (heads.length === 0 || (asked !== null && this.#isRare(asked.number))) {
      return this.#blocksOf(asked?.number ?? ANY_STATUS);
    }
    if (heads.length > 1) return this.#inOrder(this.#common(heads));
    return order === 'newest' ? this.#chain(heads[0]!) : this.#fromOldest(hashes[0]!);
  }

  /** What is given newest first, in the order that is asked for. */
  #inOrder(newestFirst: () => number): () => number {
    return this.#request.order === 'newest' ? newestFirst : turned(newestFirst);
  }

  /** Whether the status is that of so few records that most blocks are passed by. */
  #isRare(status: number): boolean {
    const { ledger, kind } = this.#request;
    return RARE * liveCount(this.#state, ledger, kind, status) < this.#state.ranks.count(ledger, kind);
  }

  /** All records of the kind, but for blocks where none may have the status. */
  #blocksOf(status: number): () => number {
    const { ledger, kind, order } = this.#request;
    const { ranks, terms } = this.#state;
    const all = termHash(this.#state, ledger, kind, ALL_TERM, '');
    const by = order === 'newest' ? -1 : 1;
    let at = this.#blockBefore();
    let inBlock = () => END;
    return () => {
      const row = inBlock();
      if (row !== END) return row;
      const next = ranks.nextBlock(ledger, kind, status, at, by);
      if (next === null) return END;
      at = next.block;
      const newest = Number.isFinite(next.to) ? terms.next(terms.firstOf(next.to)) : terms.head(all);
      inBlock = this.#inOrder(this.#chain(newest, next.from));
      return NONE;
    };
  }

  /**
   * After which block the walk begins: in lists of all records that never change next to the page, in others at the
   * end.
   */
  #blockBefore(): number {
    const { ledger, kind, filters, isVisible, order, skip } = this.#request;
    const isNewest = order === 'newest';
    if (filters.length > 0 || isVisible !== undefined || !isFixed(kind))
      return isNewest ? Number.POSITIVE_INFINITY : -1;
    const { ranks } = this.#state;
    const number = isNewest ? ranks.count(ledger, kind) - 1 - skip : skip;
    const { block, older, newer } = ranks.blockOf(ledger, kind, number);
    this.toSkip = isNewest ? newer : older;
    return isNewest ? block + 1 : block - 1;
  }

  /** The intents on their way with the status that is asked for, oldest first; null where that is no short cut. */
  #openRows(): number[] | null {
    const { ledger, kind } = this.#request;
    const { open } = this.#state;
    const status = this.#asked?.status;
    if (kind !== Kind.intent || status === undefined || isFinal(status) || open.size > OPEN_FEW) return null;
    const rows: number[] = [];
    for (const [row, intent] of open) if (intent.ledger === ledger && intent.status === status) rows.push(row);
    return rows;
  }

  /**
   * The head of a chain that has few nodes, if one of these does: what stands there is all to look through. Else -1.
   */
  #shortest(heads: readonly number[]): number {
    const { terms } = this.#state;
    let ends = heads;
    for (let steps = 0; heads.length > 0 && steps <= FEW; steps++) {
      const shortest = ends.indexOf(0);
      if (shortest >= 0) return heads[shortest]!;
      ends = ends.map((node) => terms.next(node));
    }
    return -1;
  }

  /** What stands on all of these long chains: whichever is behind goes on, so that only what they share is read. */
  #common(heads: readonly number[]): () => number {
    const { terms } = this.#state;
    const { ledger, kind } = this.#request;
    const nodes = [...heads];
    return () => {
      let [newest, oldest] = [-1, Number.POSITIVE_INFINITY];
      for (const node of nodes) {
        if (node === 0) return END;
        newest = Math.max(newest, terms.value(node));
        oldest = Math.min(oldest, terms.value(node));
      }
      // A chain leads from the newest place, which is the greatest, to the oldest.
      for (let i = 0; i < nodes.length; i++) if (terms.value(nodes[i]!) === newest) nodes[i] = terms.next(nodes[i]!);
      return oldest < newest ? NONE : rowAtPlace(this.#state, ledger, kind, newest);
    };
  }

  /**
   * What stands on a chain, the oldest first. It leads from the newest on, but what lies behind stays as it is: where
   * it is long, so are stretches of it remembered, of which one alone is turned round at a time.
   */
  #fromOldest(hash: number): () => number {
    const { terms, stretches } = this.#state;
    const known = stretches.get(hash) ?? [];
    const newer: number[] = [];
    let node = terms.head(hash);
    let nodes = 0;
    const goOn = () => {
      if (nodes++ % STRETCH === 0) newer.push(node);
      node = terms.next(node);
      return NONE;
    };
    let all: readonly number[] | null = null;
    let next = 0;
    let inStretch = () => END;
    return () => {
      if (node !== (known.at(-1) ?? 0)) return goOn();
      if (all === null) {
        all = [...known, ...newer.reverse()];
        if (newer.length > 0 && all.length > 1) stretches.set(hash, all);
      }
      const row = inStretch();
      if (row !== END || next === all.length) return row;
      const older = all[next - 1];
      inStretch = turned(this.#chain(all[next++]!, older === undefined ? 0 : terms.value(older) + 1));
      return NONE;
    };
  }

  #ofCircle(circle: string): () => number {
    const { memberships } = this.#state;
    return this.#chain(membershipsHead(this.#state, circle), 0, memberships);
  }

  /** What stands on a chain from this node on, down to this place. */
  #chain(from: number, least = 0, chains = this.#state.terms): () => number {
    const { ledger, kind } = this.#request;
    let node = from;
    return () => {
      if (node === 0) return END;
      const place = chains.value(node);
      if (place < least) return END;
      node = chains.next(node);
      return rowAtPlace(this.#state, ledger, kind, place);
    };
  }
}

/** Whether records of the kind stay where they were put in the order of changes. */
function isFixed(kind: Kind): boolean {
  const { update, drop } = kindRow(kind);
  return !update && !drop;
}

/** A chain of so few nodes is looked through one by one, whatever else is asked for: some milliseconds at most. */
const FEW = 256;

/** Nodes of a stretch of a long chain. */
const STRETCH = 1024;

/** Where one record in so many has a status, other indexes are the longer way. */
const RARE = 1024;

/** So many intents on their way are picked from by status at once, in a fraction of a millisecond. */
const OPEN_FEW = 4096;

/** The rows that `newestFirst` gives, the last one first. */
function turned(newestFirst: () => number): () => number {
  const rows: number[] = [];
  let isTurned = false;
  return () => {
    if (isTurned) return rows.pop() ?? END;
    const row = newestFirst();
    if (row >= 0) rows.push(row);
    isTurned = row === END;
    return NONE;
  };
}

function each(rows: readonly number[]): () => number {
  let next = 0;
  return () => (next < rows.length ? rows[next++]! : END);
}

/** The term, member and value, under which every record that passes this filter is found; null where none is. */
function termOf(kind: Kind, filter: Filter): [string, string] | null {
  if (filter.operator !== 'eq') return null;
  const [root, member, part] = filter.path;
  const value = String(filter.value);
  if (root !== 'data' || member === undefined) return null;
  if (kind === Kind.intent && member === 'claims') {
    return part === 'source' || part === 'target' || part === 'wallet' ? [CLAIM_WALLET_TERM, value] : null;
  }
  if (filter.path.length !== 2) return null;
  return member === 'schema' || memberTerms(kind).includes(member) ? [member, value] : null;
}
