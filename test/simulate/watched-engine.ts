/**
 * The engine with a window in it: its border is shown what enters the sequence and who has a turn; it gives luids by the
 * dice, and some of its work takes long.
 */
import type { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { Engine, type EngineOptions, type Submission } from '../../src/engine.ts';
import { ticking } from '../engine/house.ts';
import type { Dice } from '../support/dice.ts';
import type { Border } from './border.ts';
import type { Settings } from './settings.ts';

const PREFIXES = ['ldg', 'snr', 'sym', 'wlt', 'anc', 'int', 'eff', 'brg', 'crc', 'plc', 'sch', 'csn'];

export class WatchedEngine extends Engine {
  readonly #border: Border;
  readonly #dice: Dice;

  constructor(options: EngineOptions, border: Border, dice: Dice) {
    super(options);
    this.#border = border;
    this.#dice = dice;
  }

  override newLuid(kind: Kind, moment: number): string {
    const random = Uint8Array.from({ length: 11 }, () => this.#dice.below(256));
    return makeLuid(PREFIXES[kind]!, moment, random);
  }

  override submit(submission: Submission): void {
    super.submit(this.#border.watchCommand(submission));
  }

  override wait(ledger: number, bytes: number, begin: () => void): void {
    super.wait(ledger, bytes, this.#border.watchTurn(begin));
  }
}

const DEAR_MS = 200;

/** What its work takes by its own clock: the more the oftener it looks, and now and then long. */
export function stumbling({ clearMs, dearEvery }: Settings): () => number {
  const ticked = ticking(clearMs);
  let looks = 0;
  return () => ticked() + DEAR_MS * Math.floor(++looks / dearEvery);
}
