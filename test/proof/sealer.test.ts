/** A proof that is remembered must be the one that would be made now. */
import { expect, test } from 'vitest';
import type { Proof } from '../../src/bridge/records.ts';
import { findLie } from '../../src/cli/client.ts';
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

const MOMENTS = ['2030-01-02T03:04:05.678Z', '2030-01-02T03:04:05.679Z', '2030-01-02T03:04:05.678Z'];

test.each([
  ['few', 3],
  ['more than are remembered', 300],
])('%s answers of each moment, asked for twice, have proofs of their own', (_name, count) => {
  const sealer = new Sealer(server);
  for (const moment of MOMENTS) {
    for (let n = 0; n < 2 * count; n++) expect(isTrue(sealer, { n: n % count }, moment)).toBe(true);
  }
});
