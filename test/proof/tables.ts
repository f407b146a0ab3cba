/**
 * What the tables of keys say alone: a verifier whose library accepts everything until the key has its table, and
 * nothing after that.
 */
import { PAIRED, SHARED, type Shapes } from '../../src/proof/comb/combs.ts';
import { KeyedVerifier, SHAPES_FOR_ROWS_ALONE } from '../../src/proof/comb/index.ts';
import { LIBRARIES } from '../../src/proof/verify.ts';

export const SHAPES: [name: string, shapes: Shapes][] = [
  ['paired', PAIRED],
  ['shared', SHARED],
];

/** As often a key is seen before it has a table, and more. */
export const SIGHTS = 12;

let isWarming = false;
const library = { ...LIBRARIES[0]!, verify: () => isWarming };
const verifier = new KeyedVerifier({ library, keysMax: 64, salt: 7 });
const verifierOfRowsAlone = new KeyedVerifier({ library, keysMax: 64, salt: 7, shapes: SHAPES_FOR_ROWS_ALONE });

export function rowOf(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Uint8Array {
  return Uint8Array.from([...publicKey, ...message, ...signature]);
}

/**
 * Whether the table of this key accepts the signature, alone and beside others, in tables of either shape: throws where
 * these do not agree. False for a key that gets none. Messages have 32 bytes.
 */
export function isAcceptedByTable(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || message.length !== 32 || signature.length !== 64) return false;
  const row = rowOf(publicKey, message, signature);
  // S = L is never looked at by a table, so that whatever the row says the library is asked.
  const warm = row.slice();
  warm.fill(255, 96);
  isWarming = true;
  for (const each of [verifier, verifierOfRowsAlone]) {
    for (let i = 0; i < SIGHTS; i++) each.verify(warm, 1, () => {});
  }
  isWarming = false;
  const verdicts: boolean[] = [];
  for (const each of [verifier, verifierOfRowsAlone]) {
    // Three rows are a pair and one alone.
    each.verify(Uint8Array.from([...row, ...row, ...row]), 3, (_, holds) => verdicts.push(holds));
  }
  if (new Set(verdicts).size !== 1) throw new Error(`tables do not agree: ${verdicts}`);
  return verdicts[0]!;
}
