/**
 * What became of the money, from the first entry on: the entries of the books once more, in their order, as far as a
 * moment. The record heap holds all of them for good, those too whose segments are gone, so no moment lies too far
 * back.
 *
 * Moments at which outcomes were decided never go back along the books: what happened to money before one of them is
 * always a beginning of the books. A record bears the moment at which it was received, which may lie a batch earlier.
 */
import { decidedAt, EntryType, type IntentEntry, type StepEntry } from '../../core/entry.ts';
import { nameAt } from '../../core/past.ts';
import { isoMoment } from '../../core/proofs.ts';
import { entryAt } from '../../core/records.ts';
import type { State } from '../../core/state.ts';
import { Money } from '../audit/money.ts';
import { NEVER } from './moment.ts';

/** An intent has moved its money for good. */
export interface Moved {
  /** Of the entry that says so, and where in the heap that lies. */
  seq: number;
  address: number;
  entry: IntentEntry | StepEntry;
}

/** When the last entry there was decided: what books of later would say of the time since, nobody knows from these. */
export function endOf(state: State): number {
  for (let seq = state.log.length - 1; seq >= 0; seq--) {
    const address = state.log.get(seq);
    if (address !== 0) return decidedAt(entryAt(state, address));
  }
  return 0;
}

/** Says so where a moment is asked for that these books do not reach: it is to come, or they are a copy from before. */
export function shortOf(state: State, moment: number): string[] {
  const end = endOf(state);
  if (moment === NEVER || moment <= end) return [];
  return [`The last entry here is of ${isoMoment(end)}: what was decided after it is not in this.`];
}

export class Past {
  /** What those entries come to that were gone through. */
  readonly money = new Money();
  /** How many they are, and where the last of them lies. */
  seq = 0;
  address = 0;
  readonly #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  /** How the record in this row was called when the last of those entries came. */
  nameOf(row: number): string {
    return nameAt(this.#state, row, this.address);
  }

  /** Goes on with all that was decided before this moment; whoever asks goes through all of it. */
  *upTo(moment: number): Generator<Moved> {
    const { log } = this.#state;
    for (; this.seq < log.length; this.seq++) {
      const address = log.get(this.seq);
      // Of tokens nothing is kept, and they move nothing.
      if (address === 0) continue;
      const entry = entryAt(this.#state, address);
      if (decidedAt(entry) >= moment) return;
      this.address = address;
      this.money.add(entry);
      if (entry.type !== EntryType.intent && entry.type !== EntryType.step) continue;
      if (entry.outcome.steps.includes('committed')) yield { seq: this.seq + 1, address, entry };
    }
  }
}
