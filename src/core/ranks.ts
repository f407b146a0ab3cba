/**
 * Where in the order of all changes a kind's n-th change stands, for every STRIDE-th: a deep page of a list begins at
 * the mark next to it, instead of at the end of the list.
 *
 * Changes are counted from 0, the oldest, per ledger and kind. Not part of the books: it follows from `order`.
 */
import type { Kind } from './kinds.ts';

const STRIDE = 256;

interface Row {
  count: number;
  /** Places of the changes 0, STRIDE, 2 × STRIDE … */
  marks: number[];
}

export class Ranks {
  readonly #rows = new Map<number, Row>();

  /** One more change of this kind in this ledger, at a place after all before. */
  push(ledger: number, kind: Kind, place: number): void {
    const key = ledger * 16 + kind;
    let row = this.#rows.get(key);
    if (row === undefined) {
      row = { count: 0, marks: [] };
      this.#rows.set(key, row);
    }
    if (row.count % STRIDE === 0) row.marks.push(place);
    row.count++;
  }

  /** Changes there have been. */
  count(ledger: number, kind: Kind): number {
    return this.#rows.get(ledger * 16 + kind)?.count ?? 0;
  }

  /** Place of the first change, -1 where there is none. */
  first(ledger: number, kind: Kind): number {
    return this.#rows.get(ledger * 16 + kind)?.marks[0] ?? -1;
  }

  /** The next marked change from `change` on, and its place; null where none follows. */
  markFrom(ledger: number, kind: Kind, change: number): { change: number; place: number } | null {
    const mark = Math.ceil(change / STRIDE);
    const place = this.#rows.get(ledger * 16 + kind)?.marks[mark];
    return place === undefined ? null : { change: mark * STRIDE, place };
  }
}
