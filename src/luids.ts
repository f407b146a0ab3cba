/** Where luids come from: of random bytes that are asked for many at a time. */
import { randomFillSync } from 'node:crypto';
import { type Kind, kindRow } from './core/kinds.ts';
import { LUID_RANDOM_BYTES, makeLuid } from './core/luid.ts';

const RANDOM_BLOCK = LUID_RANDOM_BYTES * 512;

export class Luids {
  readonly #random = new Uint8Array(RANDOM_BLOCK);
  #at = RANDOM_BLOCK;

  next(kind: Kind, moment: number): string {
    if (this.#at >= RANDOM_BLOCK) {
      randomFillSync(this.#random);
      this.#at = 0;
    }
    const luid = makeLuid(kindRow(kind).prefix, moment, this.#random, this.#at);
    this.#at += LUID_RANDOM_BYTES;
    return luid;
  }
}
