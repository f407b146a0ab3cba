/** Where luids come from: of random bytes that are asked for many at a time. */
import { randomFillSync } from 'node:crypto';
import { type Kind, kindRow } from './core/kinds.ts';
import { makeLuid } from './core/luid.ts';

const RANDOM_PER_LUID = 11;
const RANDOM_BLOCK = RANDOM_PER_LUID * 512;

export class Luids {
  readonly #random = new Uint8Array(RANDOM_BLOCK);
  #at = RANDOM_BLOCK;

  next(kind: Kind, moment: number): string {
    if (this.#at >= RANDOM_BLOCK) {
      randomFillSync(this.#random);
      this.#at = 0;
    }
    const luid = makeLuid(kindRow(kind).prefix, moment, this.#random, this.#at);
    this.#at += RANDOM_PER_LUID;
    return luid;
  }
}
