/**
 * Tokens that were used, remembered until by what other tokens say they are over; a few go with each that comes.
 */
import { Kept } from '../../core/model.ts';

/** By their ends in seconds, in the order in which the ends first came. */
type Ends = readonly (readonly [end: number, keys: readonly string[]])[];

/** A token that lives longest, with the clock that may be furthest ahead, ends so long after it is taken. */
const SPAN_SECONDS = 360;
const FORGOTTEN_PER_USE = 8;

export class UsedTokens {
  readonly #kept: Kept<{ readonly ends: Ends; readonly forgotten: number }>;

  constructor(undo: (() => void)[]) {
    this.#kept = new Kept(undo);
  }

  get #now() {
    return this.#kept.get('') ?? { ends: [], forgotten: 0 };
  }

  has(key: string): boolean {
    return this.#now.ends.some(([, keys]) => keys.includes(key));
  }

  get size(): number {
    return this.#now.ends.reduce((sum, [, keys]) => sum + keys.length, 0);
  }

  /** What ends no later may have been used, and nobody knows. */
  get forgotten(): number {
    return this.#now.forgotten;
  }

  use(key: string, end: number): void {
    let { forgotten } = this.#now;
    let left = FORGOTTEN_PER_USE;
    const rest = this.#now.ends.map(([other, keys]): Ends[number] => {
      if (other >= end - SPAN_SECONDS || left === 0) return [other, keys];
      forgotten = Math.max(forgotten, other);
      const stay = keys.slice(0, Math.max(0, keys.length - left));
      left -= keys.length - stay.length;
      return [other, stay];
    });
    const known = rest.findIndex(([other]) => other === end);
    if (known < 0) rest.push([end, [key]]);
    else rest[known] = [end, [...rest[known]![1], key]];
    this.#kept.set('', { ends: rest.filter(([, keys]) => keys.length > 0), forgotten });
  }
}
