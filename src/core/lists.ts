/**
 * Lists: which records of a ledger and kind pass the filters, in order of their latest change. candidates.ts says which
 * may; each of those is checked against all filters here.
 *
 * A list can be long to look for. That is done in steps, each ended by whoever holds the clock.
 */
import { Candidates, END } from './candidates.ts';
import { ANY_STATUS, liveCount } from './counts.ts';
import { type Filter, isStatus, matchesAll } from './filters.ts';
import type { Kind } from './kinds.ts';
import { isoMoment } from './proofs.ts';
import { dataOf, labelsOf, versionAt } from './records.ts';
import type { State } from './state.ts';

export interface ListRequest {
  ledger: number;
  kind: Kind;
  filters: readonly Filter[];
  order: 'newest' | 'oldest';
  skip: number;
  limit: number;
  /** Which rows are shown to whoever asks; all where it is left out. */
  isVisible?: ((row: number) => boolean) | undefined;
}

/** Candidates between two looks at the clock, where none needs its content read. */
const STRIDE = 64;

/** One list on its way. `rows` is the page once `step` has returned true. */
export class Listing {
  readonly rows: number[] = [];
  readonly #state: State;
  readonly #request: ListRequest;
  /** Filters a candidate's columns answer; the others need its content. */
  readonly #statuses: readonly Filter[];
  readonly #contents: readonly Filter[];
  readonly #candidates: Candidates;
  /** Of what passes, so many more are left out. */
  #toSkip: number;

  constructor(state: State, request: ListRequest) {
    this.#state = state;
    this.#request = request;
    this.#statuses = request.filters.filter(isStatus);
    this.#contents = request.filters.filter((filter) => !isStatus(filter));
    this.#candidates = new Candidates(state, request);
    this.#toSkip = this.#candidates.toSkip;
  }

  /** How many records there are in all, where that is known without looking: no filters, nothing left out. */
  get total(): number | undefined {
    const { ledger, kind, filters, isVisible } = this.#request;
    return filters.length > 0 || isVisible !== undefined ? undefined : liveCount(this.#state, ledger, kind, ANY_STATUS);
  }

  /** Goes on until the page is full, the end is reached (true), or `expired` says to pause (false). */
  step(expired: () => boolean): boolean {
    const { limit } = this.#request;
    const isRead = this.#contents.length > 0 || this.#request.isVisible !== undefined;
    for (let seen = 1; this.rows.length < limit; seen++) {
      const row = this.#candidates.next();
      if (row === END) return true;
      if (row >= 0 && this.#passes(row)) {
        if (this.#toSkip > 0) this.#toSkip--;
        else this.rows.push(row);
      }
      // One content can be a megabyte, and a pattern over it takes its time.
      if (((isRead && row >= 0) || seen % STRIDE === 0) && expired()) return false;
    }
    return true;
  }

  #passes(row: number): boolean {
    const { rows, statuses } = this.#state;
    if (this.#statuses.length > 0) {
      const status = statuses[rows.status.get(row)]!;
      if (!matchesAll({ meta: { status } }, this.#statuses)) return false;
    }
    if (this.#contents.length > 0 && !matchesAll(filterView(this.#state, row), this.#contents)) return false;
    const { isVisible } = this.#request;
    return isVisible === undefined || isVisible(row);
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
