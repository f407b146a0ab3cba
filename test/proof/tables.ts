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

export function rowOf(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Uint8Array {
  return Uint8Array.from([...publicKey, ...message, ...signature]);
}

/**
 * Tells whether the table of a key accepts a signature, alone and beside others, in tables of either shape: throws where
 * these do not agree. False for a key that gets none, which those may be that come after many others that were seen as
 * often. Messages have 32 bytes.
 */
export function startTables(): (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean {
  let isWarming = false;
  const library = { ...LIBRARIES[0]!, verify: () => isWarming };
  const verifiers = [PAIRED, SHAPES_FOR_ROWS_ALONE].map(
    (shapes) => new KeyedVerifier({ library, keysMax: 512, salt: 7, shapes }),
  );
  return (publicKey, message, signature) => {
    if (publicKey.length !== 32 || message.length !== 32 || signature.length !== 64) return false;
    const row = rowOf(publicKey, message, signature);
    // S = L is never looked at by a table, so that whatever the row says the library is asked.
    const warm = row.slice();
    warm.fill(255, 96);
    isWarming = true;
    for (const each of verifiers) for (let i = 0; i < SIGHTS; i++) each.verify(warm, 1, () => {});
    isWarming = false;
    const verdicts: boolean[] = [];
    for (const each of verifiers) {
      // Three rows are a pair and one alone.
      each.verify(Uint8Array.from([...row, ...row, ...row]), 3, (_, holds) => verdicts.push(holds));
    }
    if (new Set(verdicts).size !== 1) throw new Error(`tables do not agree: ${verdicts}`);
    return verdicts[0]!;
  };
}
