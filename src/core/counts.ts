/** Counts of live records, and what is counted of each ledger, kept as entries are applied. */
import { type Kind, SCOPES, scopeOf } from './kinds.ts';
import type { State } from './state.ts';

/** Keys of one ledger and kind: the number of each status, and the last for all of them. */
const KIND_KEYS = 65_536;
const LEDGER_KEYS = SCOPES * KIND_KEYS;
/** Above the number of any status. */
export const ANY_STATUS = KIND_KEYS - 1;

/** Key of state.counts, see `liveCount`. */
export function countKey(ledger: number, kind: Kind, status: number): number {
  return scopeOf(ledger, kind) * KIND_KEYS + status;
}

/** The number of the map that a key of state.counts lies in: 64 ledgers share one, most of which have had some thirty. */
export function mapOfCount(key: number): number {
  return Math.floor(key / (64 * LEDGER_KEYS));
}

/** Live records of a ledger and kind in a status (its number), or in all. */
export function liveCount({ counts }: State, ledger: number, kind: Kind, status: number): number {
  return counts.get(countKey(ledger, kind, status)) ?? 0;
}

/** So many more live records under a key, or fewer. A key once there stays. */
export function addCount({ counts, variety }: State, key: number, change: number): void {
  const known = counts.get(key);
  if (known === undefined) {
    const ledger = Math.floor(key / LEDGER_KEYS);
    variety.set(ledger, (variety.get(ledger) ?? 0) + 1);
  }
  counts.set(key, (known ?? 0) + change);
}

/** A proof gave the own record of this ledger a status. */
export function addOwnStatus({ ownStatuses }: State, ledger: number, status: string): void {
  const known = ownStatuses.get(ledger);
  if (known === undefined) ownStatuses.set(ledger, new Set([status]));
  else known.add(status);
}

/** Key of state.labels. */
export function labelKey(ledger: number, kind: Kind, label: string): string {
  return `${ledger} ${kind} ${label}`;
}
