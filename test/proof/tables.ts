/**
 * What the tables of keys say alone: a verifier whose library accepts everything until the key has its table, and
 * nothing after that.
 */
import { KeyedVerifier } from '../../src/proof/comb/index.ts';
import { LIBRARIES } from '../../src/proof/verify.ts';

/** As often a key is seen before it has a table, and more. */
export const SIGHTS = 12;

let isWarming = false;
const verifier = new KeyedVerifier({
  library: { ...LIBRARIES[0]!, verify: () => isWarming },
  keysMax: 64,
  salt: 7,
});

export function rowOf(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Uint8Array {
  return Uint8Array.from([...publicKey, ...message, ...signature]);
}

/** Whether the table of this key accepts the signature. False for a key that gets none. Messages have 32 bytes. */
export function isAcceptedByTable(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || message.length !== 32 || signature.length !== 64) return false;
  const row = rowOf(publicKey, message, signature);
  let holds = false;
  // S = L is never looked at by a table, so that whatever the row says the library is asked.
  const warm = row.slice();
  warm.fill(255, 96);
  isWarming = true;
  for (let i = 0; i < SIGHTS; i++) verifier.verify(warm, 1, () => {});
  isWarming = false;
  verifier.verify(row, 1, (_, verdict) => {
    holds = verdict;
  });
  return holds;
}
