/**
 * Who may do what. The core asks here before it stores or moves anything, in sequence and against the state, so that a
 * change of rules takes effect with the next decision.
 *
 * Every ledger is open for now: rules are stored with their records and not yet weighed.
 */
import type { State } from './state.ts';

/** Who asks: the keys that signed the body, and the key of the token, if any. */
export interface Caller {
  readonly keys: readonly Uint8Array[];
  readonly bearer: Uint8Array | null;
}

export type AccessAction =
  | 'create'
  | 'read'
  | 'update'
  | 'drop'
  | 'spend'
  | 'issue'
  | 'destroy'
  | 'limit'
  | 'commit'
  | 'abort';

/** Whether the caller may do this to the record in `row` (-1: to one that does not exist yet). */
export function isAllowed(
  _state: State,
  _ledger: number,
  _action: AccessAction,
  _row: number,
  _caller: Caller,
): boolean {
  return true;
}
