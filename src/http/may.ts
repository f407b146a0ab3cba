/**
 * Access at reads: nothing of a record leaves that the caller may not read, and whoever may not come in for a kind of
 * record does not learn what there is of it. Writes are judged in the sequence, once their signatures are verified.
 */
import {
  type AccessAction,
  type Caller,
  EVERY_ROW,
  forbidden,
  isAllowed,
  mayEnter,
  NO_ROW,
} from '../core/access/index.ts';
import { notFound } from '../core/decide.ts';
import { Kind } from '../core/kinds.ts';
import type { Refusal } from '../core/refusal.ts';
import { type Call, callerOf, ledgerOf, refuseDurable, rowOf } from './call.ts';

/** Why this caller may not do that to the record in `row`, which the request speaks of, or null. */
export function whyNot(call: Call, action: AccessAction, row: number, caller: Caller): Refusal | null {
  const { state } = call.house;
  const { kind } = call.route;
  const ledger = ledgerOf(call);
  if (row >= 0 && isAllowed(state, ledger, action, kind, row, caller)) return null;
  const isMissing = row < 0 && mayEnter(state, ledger, kind, NO_ROW, caller);
  return isMissing ? notFound(kind) : forbidden(action, kind);
}

/** The row the request speaks of; -1 once it has been told that there is none, or that it is not for this caller. */
export function readableRow(call: Call, action: 'read' | 'query-event' = 'read'): number {
  const row = rowOf(call);
  const refusal = whyNot(call, action, row, callerOf(call, []));
  if (refusal === null) return row;
  refuseDurable(call, refusal);
  return -1;
}

/** Whether the caller may come in for records of this kind; told where not. */
export function entersFor(call: Call, kind: Kind): boolean {
  const isIn = mayEnter(call.house.state, ledgerOf(call), kind, NO_ROW, callerOf(call, []));
  if (!isIn) refuseDurable(call, forbidden('access', kind));
  return isIn;
}

/** Which rows of a kind the caller may read; undefined where it is all of them. */
export function visibleRows(call: Call, kind: Kind): ((row: number) => boolean) | undefined {
  const { state } = call.house;
  const caller = callerOf(call, []);
  const mayRead = (row: number) => isAllowed(state, ledgerOf(call), 'read', kind, row, caller);
  return kind !== Kind.ledger && mayRead(EVERY_ROW) ? undefined : mayRead;
}
