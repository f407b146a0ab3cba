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

/**
 * The number of the map that a key of state.counts lies in: 64 ledgers share one, most of which have had some thirty.
 */
export function mapOfCount(key: number): number {
  return Math.floor(key / (64 * LEDGER_KEYS));
}

/** Live records of a ledger and kind in a status (its number), or in all. */
export function liveCount({ counts }: State, ledger: number, kind: Kind, status: number): number {
  return counts.get(countKey(ledger, kind, status)) ?? 0;
}

/** Different status texts that all ledgers may make up as they come; each is two bytes in a record's row. */
export const STATUSES_MAX = 10_000;
/**
 * So many more are kept for a ledger once there are that many: otherwise whoever makes ledgers could use them up for
 * all others.
 */
export const STATUSES_KEPT = 20;
/**
 * And for so many ledgers, the first: for these there is room, whatever the others do. The rest is for those of the
 * server's own.
 */
export const LEDGERS_KEPT = Math.floor((ANY_STATUS - 100 - STATUSES_MAX) / STATUSES_KEPT);

/** So many more live records under a key, or fewer. A key once there stays. */
export function addCount({ counts, variety, lateVariety }: State, key: number, change: number): void {
  const known = counts.get(key);
  if (known === undefined) {
    const ledger = Math.floor(key / LEDGER_KEYS);
    addOne(variety, ledger);
    if (isLate(key % KIND_KEYS)) addOne(lateVariety, ledger);
  }
  counts.set(key, (known ?? 0) + change);
}

/** A proof gave the own record of this ledger a status, which has its number. */
export function addOwnStatus({ statuses, ownStatuses, lateVariety }: State, ledger: number, status: string): void {
  const known = ownStatuses.get(ledger);
  if (known?.has(status) === true) return;
  if (known === undefined) ownStatuses.set(ledger, new Set([status]));
  else known.add(status);
  if (isLate(statuses.indexOf(status))) addOne(lateVariety, ledger);
}

/** Whether a status came when there were as many already as all ledgers may make up. */
function isLate(status: number): boolean {
  return status >= STATUSES_MAX && status !== ANY_STATUS;
}

function addOne(counted: State['variety'], ledger: number): void {
  counted.set(ledger, (counted.get(ledger) ?? 0) + 1);
}

/** Key of state.labels. */
export function labelKey(ledger: number, kind: Kind, label: string): string {
  return `${ledger} ${kind} ${label}`;
}
