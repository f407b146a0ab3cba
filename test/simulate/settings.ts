/** What an operator may change from one start to the next, as dice have it. */
import type { EntryFormat } from '../../src/storage/journal.ts';
import type { Dice } from '../support/dice.ts';

export interface Settings {
  readonly batchEntriesMax: number;
  readonly batchBytesMax: number;
  readonly segmentBytesMax: number;
  readonly reserveBytes: number;
  readonly snapshotEvery: number;
  readonly inboxMax: number;
  readonly pipelineMax: number;
  readonly bridgeAttemptsMax: number;
  readonly threads: number;
  readonly inlineRowsMax: number;
  /** Share of the tasks of proof workers that go wrong. */
  readonly threadFaults: number;
  /** By its stopwatch clearing a request takes so many milliseconds, and one of so many far longer. */
  readonly clearMs: number;
  readonly dearEvery: number;
  /** What it writes, where its build is an old one. */
  readonly oldFormat: EntryFormat | null;
}

/** `slow` are the dice of a life in which clearing takes long. */
export function throwSettings(dice: Dice, slow: Dice | null, oldFormat: EntryFormat | null): Settings {
  return {
    batchEntriesMax: dice.pick([1, 3, 20, 1000]),
    batchBytesMax: dice.pick([2000, 1 << 20]),
    segmentBytesMax: dice.pick([1500, 6000, 40_000]),
    reserveBytes: dice.pick([0, 2000, 10_000]),
    snapshotEvery: dice.weigh([
      [1e9, 2],
      [dice.between(4, 40), 5],
    ]),
    inboxMax: dice.weigh([
      [1000, 8],
      [dice.between(2, 12), 1],
    ]),
    threads: dice.pick([0, 1, 2, 3]),
    pipelineMax: dice.pick([1, 4, 1000, 1000]),
    bridgeAttemptsMax: dice.pick([2, 8, 1000, 1000]),
    inlineRowsMax: dice.pick([0, 3]),
    threadFaults: dice.pick([0, 0, 0.05, 0.3]),
    clearMs: slow?.pick([0.2, 3, 15]) ?? 0,
    dearEvery: slow?.pick([5, 25, Number.POSITIVE_INFINITY]) ?? Number.POSITIVE_INFINITY,
    oldFormat,
  };
}
