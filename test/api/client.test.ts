/**
 * The suite's own client against vectors made by another program: a judge whose scales are off judges nothing.
 */
import { describe, expect, test } from 'vitest';
import { readData } from '../proof/data.ts';
import {
  canon,
  hashOf,
  type Json,
  makeKeys,
  proof,
  proofHolds,
  record,
  sha256,
  verifyError,
  verifyList,
  verifyRecord,
} from '../support/client.ts';

const vectors = readData<Json>('crypto.json');
const seeds: Json[] = vectors.keys;
const keysOf = (given: Json) => makeKeys(Buffer.from(given.secret, 'base64'));

describe('the test client computes what the public package computes', () => {
  test.each(seeds)('key $public', (given) => expect(keysOf(given).public).toBe(given.public));

  test.each(vectors.records as Json[])('record $data.handle', ({ data, canon: text, hash, proofs }) => {
    expect(canon(data)).toBe(text);
    expect(hashOf(data)).toBe(hash);
    for (const one of proofs) {
      expect(proofHolds(hash, one)).toBe(true);
      const owner = keysOf(seeds.find((seed) => seed.public === one.public));
      expect(proof(hash, owner, one.custom)).toEqual(one);
    }
  });

  test.each(vectors.fixed as Json[])('hash $hash', ({ data, hash }) => expect(hashOf(data)).toBe(hash));

  test.each(vectors.hsh as Json[])('request hash of $url', ({ method, url, body, headers, hsh }) => {
    expect(sha256(canon({ method, url, body, headers }))).toBe(hsh.split(':')[0]);
  });
});

describe('the test client finds what is false', () => {
  const keys = makeKeys();
  const server = makeKeys();
  const honest = record({ handle: 'a', custom: { n: 1 } }, [keys, server], [{ status: 'created' }]);
  const copy = (): Json => structuredClone(honest);
  const first = (given: Json, change: Json): Json => Object.assign(given.meta.proofs[0], change);
  const lies: [string, (given: Json) => unknown][] = [
    ['another hash', (given) => Object.assign(given, { hash: hashOf({ handle: 'b' }) })],
    ['upper case hash', (given) => Object.assign(given, { hash: given.hash.toUpperCase() })],
    ['changed data', (given) => Object.assign(given.data.custom, { n: 2 })],
    ['changed custom', (given) => first(given, { custom: { status: 'x' } })],
    ['changed digest', (given) => first(given, { digest: given.hash })],
    ['changed key', (given) => first(given, { public: server.public })],
    ['changed method', (given) => first(given, { method: 'ed25519' })],
    ['no proof of the server', (given) => given.meta.proofs.pop()],
    ['no proofs', (given) => Object.assign(given, { meta: {} })],
  ];
  test('nothing in an honest record', () => expect(() => verifyRecord(honest, server.public)).not.toThrow());
  test.each(lies)('%s', (_name, lie) => {
    const given = copy();
    lie(given);
    expect(() => verifyRecord(given, server.public)).toThrow();
  });
  test('a false row in a true list', () => {
    const row = copy();
    row.data.custom.n = 2;
    expect(() => verifyList(record([honest], server), server.public)).not.toThrow();
    expect(() => verifyList(record([row], server), server.public)).toThrow();
  });
  test('a stack in an error', () => {
    const moment = new Date().toISOString();
    const clean = record({ reason: 'record.not-found', detail: 'no' }, server, [{ moment }]);
    expect(() => verifyError(clean, JSON.stringify(clean), server.public)).not.toThrow();
    const stack = 'no\n    at read (/work/main/dist/src/http/server.js:3:1)';
    const dirty = record({ reason: 'record.not-found', detail: stack }, server, [{ moment }]);
    expect(() => verifyError(dirty, JSON.stringify(dirty), server.public)).toThrow();
  });
});
