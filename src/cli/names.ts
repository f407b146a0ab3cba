/** Ledgers and records as they are named on a command line, found in the books. */
import { findHandle, findLedger, findLuid } from '../core/finding.ts';
import { KINDS, Kind } from '../core/kinds.ts';
import { isLuid } from '../core/luid.ts';
import { SERVER_LEDGER, type State } from '../core/state.ts';

export interface RecordName {
  ledger: string;
  kind: Kind;
  id: string;
}

/** The row of a record, of a dropped one too where its luid is given. Throws where there is none. */
export function rowOf(state: State, { ledger, kind, id }: RecordName): number {
  const selected = ledgerOf(state, ledger);
  const index = kind === Kind.ledger ? SERVER_LEDGER : selected;
  const row = isLuid(id) ? findLuid(state, index, kind, id) : findHandle(state, index, kind, id);
  if (row < 0) throw new Error(`ledger ${ledger} has no ${KINDS[kind].name} ${id}`);
  return row;
}

/** The number of a ledger. Throws where there is none of this handle or luid. */
export function ledgerOf(state: State, ledger: string): number {
  const index = findLedger(state, ledger);
  if (index < 0) throw new Error(`the books have no ledger ${ledger}`);
  return index;
}
