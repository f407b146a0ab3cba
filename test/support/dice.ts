/** Chance, from a seed: whoever throws the same dice in the same order gets the same. */
import { randomFrom } from '../storage/fake-disk.ts';

export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  /** From 0 up to 1, which is not reached. */
  roll(): number {
    return this.#random();
  }

  /** 0, 1, … limit - 1. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  /** From `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** True for this share of the throws. */
  chance(share: number): boolean {
    return this.#random() < share;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** One of the list, the one before the number as often as that says. */
  weigh<T>(list: readonly (readonly [T, number])[]): T {
    let at = this.#random() * list.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [one, weight] of list) {
      at -= weight;
      if (at < 0) return one;
    }
    return list[0]![0];
  }

  bytes(length: number): Buffer {
    return Buffer.from(Uint8Array.from({ length }, () => this.below(256)));
  }

  /** Few more often than many. */
  few(max: number): number {
    return Math.floor(this.#random() ** 3 * (max + 1));
  }

  shuffled<T>(list: readonly T[]): T[] {
    const left = [...list];
    return list.map(() => left.splice(this.below(left.length), 1)[0]!);
  }
}
