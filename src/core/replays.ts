/**
 * What clients have signed brings about one thing.
 *
 * Signatures name no ledger, no kind and no operation, so whoever has read a body could send it again: once its record was
 * dropped, or as a record of another kind, in the name of who signed it. Ed25519 is deterministic: a client whose proof
 * says when it was made never means the same signature twice, and one that says nothing may well. So in a ledger a dated
 * proof that stands on something, whatever became of that since, is good for nothing else; others are as good as ever.
 */
import { hex } from './bytes.ts';
import type { DropCommand } from './command.ts';
import { KINDS, Kind } from './kinds.ts';
import { type Refusal, refuse } from './refusal.ts';
import { findHandle, namesAt, SERVER_LEDGER, type State } from './state.ts';
import { isDated } from './used-proofs.ts';

type Signed = Pick<DropCommand, 'ledger' | 'kind' | 'hash' | 'proofs'>;

/**
 * Why what was signed so brings about nothing more, or null. To be asked last: a request that is only sent again is told
 * first what else there is to say of it. `handle` is that in the data, where it has one.
 */
export function replayed(state: State, { ledger, kind, hash, proofs }: Signed, handle: unknown): Refusal | null {
  if (kind === Kind.intent) return null;
  for (let index = 0; index < proofs.length; index++) {
    const { result, custom } = proofs[index]!;
    const at = isDated(custom) ? findUse(state, ledger, handle, result) : 0;
    if (at === 0) continue;
    const { luid } = namesAt(state, at);
    const what = `Proof ${index} stands on ${luid} already, and is good for nothing else: sign again`;
    // Where the signature is the same, so is what was signed.
    return refuse('record.duplicated', what, { luid, hash: hex(hash) });
  }
  return null;
}

/**
 * Address of an entry of this ledger with this signature, or 0. A ledger's own record counts in all of them: what makes
 * or changes it makes nothing in any.
 */
function findUse(state: State, ledger: number, handle: unknown, signature: Uint8Array): number {
  const { usedProofs, rows } = state;
  const at = usedProofs.find(ledger, signature) || usedProofs.find(SERVER_LEDGER, signature);
  if (at !== 0 || typeof handle !== 'string') return at;
  for (let kind = 0; kind < KINDS.length; kind++) {
    if (kind === Kind.intent) continue;
    const row = findHandle(state, kind === Kind.ledger ? SERVER_LEDGER : ledger, kind as Kind, handle);
    if (row >= 0 && usedProofs.isAt(rows.at.get(row), signature)) return rows.at.get(row);
  }
  return 0;
}
