/**
 * What is passed by in the chains of an index, remembered: whoever changes one record without end leaves nodes there
 * that lead to nothing any more, hundreds of thousands of them, and each look at the chain would come by all of them
 * again.
 *
 * Not part of the books: without it the same is found, only slower.
 */
import type { Chains } from '../memory/index.ts';

/** Stretches that are remembered; with one more all go. */
const STRETCHES_MAX = 20_000;

export class Skips {
  /** By the first node of a stretch that is passed by, the node behind it. */
  readonly #behind = new Map<number, number>();
  readonly #min: number;

  /** `min`: stretches of so many nodes are worth remembering. */
  constructor(min: number) {
    this.#min = min;
  }

  /**
   * The first node of a chain, from this one on, that is of use; 0 where there is none. What is of no use never is
   * again.
   */
  past(chains: Chains, from: number, isUseless: (node: number) => boolean): number {
    const behind = this.#behind;
    const inner: number[] = [];
    let steps = 0;
    let node = from;
    while (node !== 0 && isUseless(node)) {
      const next = behind.get(node);
      if (next !== undefined) inner.push(node);
      node = next ?? chains.next(node);
      steps++;
    }
    if (steps >= this.#min && behind.get(from) !== node) this.#remember(from, node, inner);
    return node;
  }

  /** Whoever comes to the stretch comes to its first node: what was remembered within it is asked for no more. */
  #remember(from: number, to: number, inner: readonly number[]): void {
    for (const node of inner) this.#behind.delete(node);
    if (this.#behind.size >= STRETCHES_MAX) this.#behind.clear();
    this.#behind.set(from, to);
  }
}
