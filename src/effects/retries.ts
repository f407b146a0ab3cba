/**
 * Retries: what was given up of an effect's events, and which effects are concerned when a bridge is there again. There
 * may be very many effects, and anybody who may activate a bridge may ask at any time: they are looked through in slices,
 * once for all who have asked until then.
 */
import type { DeliveryEntry } from '../core/entry.ts';
import { Kind } from '../core/kinds.ts';
import { dataOf, entryAt, namesOf, readRow } from '../core/records.ts';
import type { State } from '../core/state.ts';
import type { Queued } from './deliveries.ts';
import { inSlices } from './slices.ts';
import type { Timers } from './timers.ts';

/** How far back what was given up is looked for. */
const FAILED_MAX = 1000;

/** What was given up and not delivered since, oldest first. */
export function failedOf(state: State, row: number): Queued[] {
  const settled = new Set<string>();
  const failed: Queued[] = [];
  let left = FAILED_MAX;
  for (let at = state.feeds.get(row)?.last ?? 0; at !== 0 && left-- > 0; at = state.heap.prev(at)) {
    const { seq, index, isDelivered, luid } = entryAt(state, at) as DeliveryEntry;
    const key = `${seq} ${index}`;
    if (!settled.has(key) && !isDelivered) failed.push({ seq, index, before: luid });
    settled.add(key);
  }
  return failed.reverse();
}

export class Retries {
  readonly #state: State;
  readonly #timers: Timers;
  readonly #retry: (row: number) => void;
  /** Bridges that are there again, and whose effects are still to be looked for. */
  #woken = new Set<number>();
  #isWalking = false;

  /** `retry` is called for each effect whose events go to a bridge that is there again. */
  constructor({ state, timers }: { state: State; timers: Timers }, retry: (row: number) => void) {
    this.#state = state;
    this.#timers = timers;
    this.#retry = retry;
  }

  /** The bridge is there again. */
  wake(bridge: number): void {
    this.#woken.add(bridge);
    this.#walk();
  }

  /** One walk for all that were woken; whoever is woken meanwhile has to wait for the next. */
  #walk(): void {
    if (this.#isWalking || this.#woken.size === 0) return;
    this.#isWalking = true;
    const state = this.#state;
    const bridges = [...this.#woken];
    this.#woken = new Set();
    const ledgers = new Set(bridges.map((bridge) => state.rows.ledger.get(bridge)));
    const names = new Set(bridges.map((bridge) => nameIn(state, bridge, namesOf(state, bridge).handle)));
    const retryEffect = (row: number) => {
      if (ledgers.has(state.rows.ledger.get(row)) && names.has(nameIn(state, row, bridgeOf(state, row)))) {
        this.#retry(row);
      }
    };
    inSlices(this.#timers, [...state.feeds.keys()], retryEffect, () => {
      this.#isWalking = false;
      this.#walk();
    });
  }
}

/** A bridge as records in the ledger of `row` name it. */
function nameIn({ rows }: State, row: number, handle: string): string {
  return `${rows.ledger.get(row)} ${handle}`;
}

/** Handle of the bridge that an effect's events go to; empty where they go elsewhere. */
function bridgeOf(state: State, row: number): string {
  if (state.rows.kind.get(row) !== Kind.effect) return '';
  const { action } = dataOf(readRow(state, row).entry) as { action: { bridge?: string } };
  return action.bridge ?? '';
}
