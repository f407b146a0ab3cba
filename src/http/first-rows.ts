/**
 * The rows that come first in an order of moments, out of very many that are looked at one after another.
 *
 * They stand in a heap, the last of them on top: one that comes later than all of them is passed over at once, and a
 * page is taken from its end. Who asks for a page far behind has as many rows kept, so a row is two numbers and no
 * more: its moment, and its place, by which those of one moment stand in order.
 */
export class FirstRows {
  /** How many were looked at. */
  total = 0;
  readonly #max: number;
  readonly #isNewest: boolean;
  readonly #moments: number[] = [];
  readonly #places: number[] = [];

  constructor(max: number, order: 'newest' | 'oldest') {
    this.#max = max;
    this.#isNewest = order === 'newest';
  }

  /** No two rows may have the same place; of one moment, that of the higher place is the newer one. */
  add(moment: number, place: number): void {
    this.total++;
    if (this.#places.length < this.#max) this.#rise(moment, place);
    else if (this.#max > 0 && this.#isBefore(moment, place, 0)) this.#sink(moment, place);
  }

  /** The places of those behind the first `skip`, in order. Nothing may be added any more. */
  from(skip: number): number[] {
    const places: number[] = [];
    while (this.#places.length > skip) {
      places.push(this.#places[0]!);
      const [moment, place] = [this.#moments.pop()!, this.#places.pop()!];
      if (this.#places.length > 0) this.#sink(moment, place);
    }
    return places.reverse();
  }

  /** Whether a row comes before the one that stands at `at`. */
  #isBefore(moment: number, place: number, at: number): boolean {
    const other = this.#moments[at]!;
    const isNewer = moment === other ? place > this.#places[at]! : moment > other;
    return isNewer === this.#isNewest;
  }

  #put(moment: number, place: number, at: number): void {
    this.#moments[at] = moment;
    this.#places[at] = place;
  }

  /** Adds one more at the end, and brings it to where it belongs. */
  #rise(moment: number, place: number): void {
    let at = this.#places.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      if (this.#isBefore(moment, place, above)) break;
      this.#put(this.#moments[above]!, this.#places[above]!, at);
      at = above;
    }
    this.#put(moment, place, at);
  }

  /** Puts one in place of that on top. */
  #sink(moment: number, place: number): void {
    const { length } = this.#places;
    let at = 0;
    for (let below = 1; below < length; below = 2 * at + 1) {
      const [one, other] = [this.#moments[below + 1]!, this.#places[below + 1]!];
      if (below + 1 < length && !this.#isBefore(one, other, below)) below++;
      if (!this.#isBefore(moment, place, below)) break;
      this.#put(this.#moments[below]!, this.#places[below]!, at);
      at = below;
    }
    this.#put(moment, place, at);
  }
}
