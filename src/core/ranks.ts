/**
 * Where in the order of all changes a kind's n-th change stands, for every STRIDE-th, and which statuses are met from
 * there to the next: a list that goes through all records of a kind passes by what stands before a deep page, and what
 * has none of the status that is asked for.
 *
 * Changes are counted from 0, the oldest, per ledger and kind; STRIDE of them are a block. Not part of the books: it
 * follows from `order` and the rows.
 */
import { LongMap, near } from '../memory/index.ts';
import { ANY_STATUS } from './counts.ts';
import { type Kind, scopeOf } from './kinds.ts';

const STRIDE = 256;

interface Row {
  count: number;
  /** Places of the changes 0, STRIDE, 2 × STRIDE … */
  marks: number[];
  /** Of each block a bit for every status that a record which stands there has had, of 32 statuses the same. */
  statuses: number[];
}

export class Ranks {
  /** By scope. */
  readonly #rows = new LongMap<number, Row>(near);

  /** One more change of this kind in this ledger, at a place after all before, of a record with this status. */
  push(ledger: number, kind: Kind, place: number, status: number): void {
    const key = scopeOf(ledger, kind);
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { count: 0, marks: [], statuses: [] };
      this.#rows.set(key, row);
    }
    if (row.count % STRIDE === 0) {
      row.marks.push(place);
      row.statuses.push(0);
    }
    row.count++;
    row.statuses[row.statuses.length - 1]! |= bitOf(status);
  }

  /** A record that stands at this place has another status. */
  addStatus(ledger: number, kind: Kind, place: number, status: number): void {
    const { marks, statuses } = this.#rows.get(scopeOf(ledger, kind))!;
    let block = marks.length - 1;
    if (marks[block]! > place) {
      let from = 0;
      while (from < block) {
        const middle = (from + block + 1) >>> 1;
        if (marks[middle]! > place) block = middle - 1;
        else from = middle;
      }
    }
    statuses[block]! |= bitOf(status);
  }

  /** Changes there have been. */
  count(ledger: number, kind: Kind): number {
    return this.#rows.get(scopeOf(ledger, kind))?.count ?? 0;
  }

  /** The block that a change is in, and how many of that are older, and how many newer. */
  blockOf(ledger: number, kind: Kind, change: number): { block: number; older: number; newer: number } {
    const block = Math.floor(change / STRIDE);
    const first = block * STRIDE;
    const last = Math.min(first + STRIDE, this.count(ledger, kind)) - 1;
    return { block, older: change - first, newer: last - change };
  }

  /**
   * The next block where a record may have this status, or any, in the direction of `by` (1 or -1) from block `after`
   * on, without that: where it begins, and where the block behind it does, infinity for none. Null where there is no
   * such block.
   */
  nextBlock(ledger: number, kind: Kind, status: number, after: number, by: 1 | -1): Block | null {
    const row = this.#rows.get(scopeOf(ledger, kind));
    if (row === undefined) return null;
    const { marks, statuses } = row;
    const bit = bitOf(status);
    let block = by < 0 ? Math.min(after, statuses.length) - 1 : after + 1;
    while (block >= 0 && block < statuses.length && (statuses[block]! & bit) === 0) block += by;
    if (block < 0 || block >= statuses.length) return null;
    return { block, from: marks[block]!, to: marks[block + 1] ?? Number.POSITIVE_INFINITY };
  }
}

interface Block {
  block: number;
  from: number;
  to: number;
}

function bitOf(status: number): number {
  return status === ANY_STATUS ? -1 : 1 << (status & 31);
}
