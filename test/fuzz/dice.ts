/** Chance from one seed: the same seed, the same run. */
import { randomFrom } from '../storage/fake-disk.ts';

export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  /** From 0 up to 1. */
  roll(): number {
    return this.#random();
  }

  /** A whole number from 0 up to `limit`, which is not reached. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
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
