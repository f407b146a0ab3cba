/** A proof that is remembered must be the one that would be made now. */
import { expect, test } from 'vitest';
import { findLie, type Proof } from '../../src/cli/client.ts';
import { sha256Hex } from '../../src/proof/digest.ts';
import { createKeyPair } from '../../src/proof/keys.ts';
import { Sealer } from '../../src/proof/sealer.ts';

const server = createKeyPair();

/** Whether the sealer's proof speaks of this data and this moment, and verifies. */
function isTrue(sealer: Sealer, data: Record<string, unknown>, moment: string): boolean {
  const hash = sha256Hex(JSON.stringify(data));
  const proof = JSON.parse(sealer.proof(hash, `{"moment":"${moment}"}`)) as Proof;
  return proof.custom?.moment === moment && findLie({ hash, data, meta: { proofs: [proof] } }) === null;
}

test('answers of one moment and of several have proofs of their own', () => {
  const sealer = new Sealer(server);
  for (const moment of ['2030-01-02T03:04:05.678Z', '2030-01-02T03:04:05.679Z', '2030-01-02T03:04:05.678Z']) {
    // More than are remembered, and each of them twice.
    for (let n = 0; n < 600; n++) expect(isTrue(sealer, { n: n % 300 }, moment)).toBe(true);
  }
});
