/**
 * A line: who has stood in it longest is first. Whoever comes, is next or leaves does so at once, however long it is;
 * of a Set that is used so V8 passes by all that have left before it finds the first.
 *
 * What always holds: nobody stands in a line twice, nor in two at a time.
 */

/** Whoever may stand in a line, with who stands next to it there. Only the line writes these. */
export interface Standing<T extends Standing<T>> {
  line: Line<T> | null;
  before: T | null;
  behind: T | null;
}

export class Line<T extends Standing<T>> {
  #first: T | null = null;
  #last: T | null = null;

  get first(): T | null {
    return this.#first;
  }

  /** It comes last, unless it stands in a line already. */
  add(one: T): void {
    if (one.line !== null) return;
    Object.assign(one, { line: this, before: this.#last, behind: null });
    if (this.#last === null) this.#first = one;
    else this.#last.behind = one;
    this.#last = one;
  }

  /** Whoever stands elsewhere, or nowhere, stays as it is. */
  delete(one: T): void {
    if (one.line !== this) return;
    const { before, behind } = one;
    if (before === null) this.#first = behind;
    else before.behind = behind;
    if (behind === null) this.#last = before;
    else behind.before = before;
    Object.assign(one, { line: null, before: null, behind: null });
  }
}
