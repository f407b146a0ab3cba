/**
 * What clients have signed brings about one thing.
 *
 * Signatures name no ledger, no kind and no operation, so whoever has read a body could send it again: once its record
 * was dropped, or as a record of another kind, in the name of who signed it. Ed25519 is deterministic: a client whose
 * proof says when it was made never means the same signature twice, and one that says nothing may well. So in a ledger
 * a dated proof that stands on something, whatever became of that since, is good for nothing else; others are as good
 * as ever.
 */
import { NO_ROW } from './access/index.ts';
import { hex } from './bytes.ts';
import type { DropCommand } from './command.ts';
import { findHandle } from './finding.ts';
import { KINDS, Kind } from './kinds.ts';
import { namesAt } from './records.ts';
import { type Refusal, refuse } from './refusal.ts';
import { SERVER_LEDGER, type State } from './state.ts';
import { isDated, type Signatures } from './used-proofs.ts';

type Signed = Pick<DropCommand, 'ledger' | 'kind' | 'hash' | 'proofs'>;

/**
 * Why what was signed so brings about nothing more, or null. To be asked last: a request that is only sent again is
 * told first what else there is to say of it. `handle` is that in the data, where it has one; `row` that of the record
 * that is changed, or NO_ROW.
 */
export function replayed(
  state: State,
  { ledger, kind, hash, proofs }: Signed,
  handle: unknown,
  row = NO_ROW,
): Refusal | null {
  if (kind === Kind.intent) return null;
  const { usedProofs } = state;
  // What was signed for a record of a ledger changes not the ledger itself either, whose data may be the same.
  const inside = kind === Kind.ledger && row !== NO_ROW ? state.rows.ledgerIndex.get(row) : ledger;
  let named: Signatures | null = null;
  for (let index = 0; index < proofs.length; index++) {
    const { result, custom } = proofs[index]!;
    if (!isDated(custom)) continue;
    named ??= usedProofs.gather(firstEntries(state, inside, handle));
    const at = usedProofs.find(inside, result) || usedProofs.find(SERVER_LEDGER, result) || named.find(result);
    if (at === 0) continue;
    const { luid } = namesAt(state, at);
    const what = `Proof ${index} stands on ${luid} already, and is good for nothing else: sign again`;
    // Where the signature is the same, so is what was signed.
    return refuse('record.duplicated', what, { luid, hash: hex(hash) });
  }
  return null;
}

/**
 * Addresses of what the index does not have: the entries of records with this handle that have had one, in this ledger.
 * A ledger's own record counts in all of them: what makes or changes it makes nothing in any.
 */
function firstEntries(state: State, ledger: number, handle: unknown): number[] {
  const found: number[] = [];
  if (typeof handle !== 'string') return found;
  const { rows, heap } = state;
  for (let kind = 0; kind < KINDS.length; kind++) {
    if (kind === Kind.intent) continue;
    const row = findHandle(state, kind === Kind.ledger ? SERVER_LEDGER : ledger, kind as Kind, handle);
    if (row >= 0 && heap.prev(rows.at.get(row)) === 0) found.push(rows.at.get(row));
  }
  return found;
}
