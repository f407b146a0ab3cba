/** A proof that is remembered must be the one that would be made now, or was made lately. */
import { expect, test } from 'vitest';
import { findLie } from '../../src/cli/client.ts';
import type { Proof } from '../../src/client/records.ts';
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

test('what was said of a list is said again between two moments, both of them included', () => {
  const sealer = new Sealer(server);
  const signed = { moment: 100, proof: '{}' };
  sealer.keepList('a', signed);
  const between = [
    [100, 100],
    [50, 100],
    [100, 200],
    [101, 200],
    [50, 99],
  ].map(([since, now]) => sealer.listBetween('a', since!, now!));
  expect(between).toEqual([signed, signed, signed, undefined, undefined]);
  expect(sealer.listBetween('b', 0, 200)).toBeUndefined();
});

test('late proofs of a page are kept until it is told, however little room there is', () => {
  const sealer = new Sealer(server, 1 / 1024);
  const proof = 'x'.repeat(600);
  for (let n = 0; n < 400; n++) sealer.keepLate(`${n}`, proof);
  expect(Array.from({ length: 400 }, (_, n) => sealer.hasLate(`${n}`))).not.toContain(false);
  for (let n = 400; n < 4000; n++) sealer.keepLate(`${n}`, proof);
  expect(sealer.hasLate('0')).toBe(false);
});

test('late proofs are those of their customs, in order, and made once', () => {
  const sealer = new Sealer(server);
  const hash = sha256Hex('{}');
  const customs = MOMENTS.map((moment) => `{"moment":"${moment}"}`);
  expect(sealer.hasLate('one')).toBe(false);
  const text = sealer.late('one', hash, () => customs);
  expect(text).toBe(customs.map((custom) => new Sealer(server).proof(hash, custom)).join(','));
  expect(sealer.hasLate('one')).toBe(true);
  expect(sealer.late('one', hash, () => expect.fail('made again'))).toBe(text);
  sealer.keepLate('two', text);
  expect([sealer.hasLate('two'), sealer.hasLate('three')]).toEqual([true, false]);
});
