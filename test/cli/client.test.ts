/** The demo's client says "nothing is missing": here is what it must not overlook in a record. */
import { describe, expect, test } from 'vitest';
import { findLie, type SignedRecord, signRecord } from '../../src/cli/client.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';

const keys = keyPairFromSecret(new Uint8Array(32).fill(7));
const others = keyPairFromSecret(new Uint8Array(32).fill(8));

function record(): SignedRecord {
  return signRecord({ handle: 'one', claims: [{ amount: 5 }] }, keys);
}

describe('findLie', () => {
  test('believes a record as it was signed, also after travelling', () => {
    expect(findLie(record())).toBeNull();
    expect(findLie(JSON.parse(JSON.stringify(record())) as SignedRecord)).toBeNull();
  });

  const lies: [string, RegExp, (record: SignedRecord) => void][] = [
    ['data changed', /hash/, (it) => Object.assign(it.data, { handle: 'two' })],
    ['hash changed with the data', /digest of proof 0/, (it) => Object.assign(it, otherContent(it))],
    ['no proof', /no proof/, (it) => it.meta.proofs.splice(0)],
    ['custom changed', /digest of proof 0/, (it) => Object.assign(it.meta.proofs[0]!.custom!, { status: 'completed' })],
    ['custom gone', /digest of proof 0/, (it) => delete it.meta.proofs[0]!.custom],
    ["another's key", /signature of proof 0/, (it) => Object.assign(it.meta.proofs[0]!, { public: otherPublic() })],
    ['a key that is none', /signature of proof 0/, (it) => Object.assign(it.meta.proofs[0]!, { public: 'AAAA' })],
    ['a second proof of another record', /digest of proof 1/, (it) => it.meta.proofs.push(foreignProof())],
  ];
  test.each(lies)('finds the lie: %s', (_, words, tell) => {
    const lying = record();
    tell(lying);
    expect(findLie(lying)).toMatch(words);
  });
});

function otherContent(it: SignedRecord): Pick<SignedRecord, 'hash' | 'data'> {
  const { hash, data } = signRecord({ ...it.data, handle: 'two' }, keys);
  return { hash, data };
}

function otherPublic(): string {
  return signRecord({}, others).meta.proofs[0]!.public;
}

function foreignProof(): SignedRecord['meta']['proofs'][number] {
  return signRecord({ handle: 'foreign' }, others).meta.proofs[0]!;
}
