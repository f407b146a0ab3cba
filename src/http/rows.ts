/** From a path's id to a row of the state, and its record's luid. */

import { findRecord } from '../core/finding.ts';
import { Kind } from '../core/kinds.ts';
import { namesOf } from '../core/records.ts';
import { SERVER_LEDGER } from '../core/state.ts';
import type { Call } from './call.ts';

/** The ledger a kind's records live in: ledgers themselves belong to the server. */
export function ledgerOf({ route, ledger }: Call): number {
  return route.kind === Kind.ledger ? SERVER_LEDGER : ledger;
}

/** The row that the request speaks of, or -1. */
export function rowOf(call: Call): number {
  const { house, route, ledger } = call;
  if (route.id === null) return house.state.ledgers[ledger]!.row;
  return findRecord(house.state, ledgerOf(call), route.kind, route.id);
}

/** The luid of that record, empty for none: what is not there is told once signatures are verified. */
export function luidOf(call: Call): string {
  const row = rowOf(call);
  return row < 0 ? '' : namesOf(call.house.state, row).luid;
}
