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

/** Calls `retry` for each effect whose events go to one of these bridges, then `done`. */
export function retryWoken(
  state: State,
  timers: Timers,
  bridges: ReadonlySet<number>,
  retry: (row: number) => void,
  done: () => void,
): void {
  const ledgers = new Set([...bridges].map((bridge) => state.rows.ledger.get(bridge)));
  const names = new Set([...bridges].map((bridge) => nameIn(state, bridge, namesOf(state, bridge).handle)));
  const retryEffect = (row: number) => {
    if (ledgers.has(state.rows.ledger.get(row)) && names.has(nameIn(state, row, bridgeOf(state, row)))) retry(row);
  };
  inSlices(timers, state.feeds.keys(), retryEffect, done);
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
