/** The wall clock of a machine: it runs with the life, jumps, is off for a moment, and stands still. */
import type { Dice } from '../support/dice.ts';
import type { Loop } from './loop.ts';

export const NOON = Date.UTC(2030, 0, 2, 12);
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Shorter than between two looks for what is due. */
const BLINK_MS_MAX = 1000;

export class Clock {
  readonly #loop: Loop;
  #offset: number;
  #stands: number | null = null;
  /** How far it was set last. */
  #jumped = 0;

  constructor(loop: Loop, offset = NOON) {
    this.#loop = loop;
    this.#offset = offset;
  }

  /** Milliseconds since 1970. */
  now(): number {
    return this.#stands ?? Math.floor(this.#offset + this.#loop.now);
  }

  /** It is set, by so many milliseconds; what was set wrong is put right again, and the other way round. */
  jump(dice: Dice): number {
    const ms = dice.chance(0.5) ? -this.#jumped : dice.pick([-HOUR_MS, -5000, -1, 1, 1000, 600_000, DAY_MS]);
    this.#offset += ms;
    this.#jumped = ms;
    return ms;
  }

  /** It goes wrong for a moment only. */
  blink(dice: Dice): number {
    const ms = dice.pick([-HOUR_MS, 600_000, 600_000, DAY_MS]);
    this.#offset += ms;
    this.#loop.after(dice.roll() * BLINK_MS_MAX, () => (this.#offset -= ms), this.#loop.world);
    return ms;
  }

  /** Stands still, or goes on where it would be. */
  stop(): void {
    this.#stands = this.#stands === null ? this.now() : null;
  }

  goOn(): void {
    this.#stands = null;
  }
}
