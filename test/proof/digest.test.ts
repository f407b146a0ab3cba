/**
 * Hashes, digests, keys and signatures, against what the public package made, and against node:crypto.
 */
import { createHash, createPrivateKey, createPublicKey, verify as nodeVerify } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { canon } from '../../src/proof/canon.ts';
import { proofDigest, proofDigestHex, sha256, sha256Hex } from '../../src/proof/digest.ts';
import { createKeyPair, decodePublic, decodeSignature, encodeBase64, keyPairFromSecret } from '../../src/proof/keys.ts';
import { LIBRARIES, sign, verify } from '../../src/proof/verify.ts';
import { bytesOf, hexOf, readData } from './data.ts';

interface CryptoFile {
  keys: { public: string; secret: string }[];
  records: {
    data: unknown;
    canon: string;
    hash: string;
    proofs: { public: string; digest: string; result: string; custom?: unknown }[];
  }[];
  hsh: { method: string; url: string; body: unknown; headers: unknown; hsh: string }[];
  fixed: { data: unknown; hash: string }[];
}

const vectors = readData<CryptoFile>('crypto.json');
const pairs = new Map(vectors.keys.map((key) => [key.public, keyPairFromSecret(Buffer.from(key.secret, 'base64'))]));

describe('what the public package made', () => {
  test.each(vectors.keys)('the key of $public', (key) => {
    expect(encodeBase64(pairs.get(key.public)!.public)).toBe(key.public);
  });

  test.each(vectors.records)('record $hash', ({ data, canon: text, hash, proofs }) => {
    expect(canon(data)).toBe(text);
    expect(sha256Hex(text)).toBe(hash);
    for (const proof of proofs) {
      const custom = proof.custom === undefined ? null : canon(proof.custom);
      expect(proofDigestHex(hash, custom)).toBe(proof.digest);
      expect(hexOf(proofDigest(hash, custom))).toBe(proof.digest);
      const signature = decodeSignature(proof.result)!;
      expect(verify(decodePublic(proof.public)!, bytesOf(proof.digest), signature)).toBe(true);
      for (const { sign: signBy } of LIBRARIES) {
        expect(encodeBase64(signBy(bytesOf(proof.digest), pairs.get(proof.public)!))).toBe(proof.result);
      }
    }
  });

  test.each(vectors.hsh)('request hash $hsh', ({ hsh, method, url, headers, body }) => {
    expect(sha256Hex(canon({ method, url, headers, body }))).toBe(hsh.split(':')[0]);
  });

  test.each(vectors.fixed)('hash $hash', ({ data, hash }) => expect(sha256Hex(canon(data))).toBe(hash));
});

test.each(['', 'abc', 'Ñandú', '\ud83d\ude00', 'x'.repeat(10_000)])(
  'SHA-256 of text and of its UTF-8 bytes',
  (text) => {
    const hex = createHash('sha256').update(text, 'utf8').digest('hex');
    expect(sha256Hex(text)).toBe(hex);
    expect(sha256Hex(new TextEncoder().encode(text))).toBe(hex);
    expect(hexOf(sha256(text))).toBe(hex);
    expect(hexOf(sha256(new TextEncoder().encode(text)))).toBe(hex);
  },
);

test('SHA-256 of a view hashes the view, not its buffer', () => {
  const bytes = new TextEncoder().encode('xxabcxx').subarray(2, 5);
  expect(sha256Hex(bytes)).toBe(sha256Hex('abc'));
});

test('a new key pair signs what node:crypto verifies, and is the pair of its secret', () => {
  const pair = createKeyPair();
  const other = createKeyPair();
  expect(hexOf(pair.secret)).not.toBe(hexOf(other.secret));
  expect(keyPairFromSecret(pair.secret)).toStrictEqual(pair);
  const pkcs8 = Buffer.concat([bytesOf('302e020100300506032b657004220420'), pair.secret]);
  const publicKey = createPublicKey(createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' }));
  const message = sha256('message');
  for (const library of LIBRARIES) {
    const signature = library.sign(message, pair);
    expect(nodeVerify(null, message, publicKey, signature)).toBe(true);
    expect(verify(pair.public, message, signature)).toBe(true);
    expect(verify(other.public, message, signature)).toBe(false);
  }
  expect(hexOf(sign(message, pair))).toBe(hexOf(LIBRARIES[0]!.sign(message, pair)));
});

test('a secret is copied, so that clearing the source leaves the pair whole', () => {
  const seed = new Uint8Array(32).fill(7);
  const pair = keyPairFromSecret(seed);
  seed.fill(0);
  expect(pair.secret[0]).toBe(7);
});

test('a secret of another length is refused without being shown', () => {
  expect(() => keyPairFromSecret(new Uint8Array(31).fill(0xab))).toThrow(/^a secret has 32 bytes, not 31$/);
  expect(() => keyPairFromSecret(new Uint8Array(64))).toThrow(RangeError);
});

describe('base64 of keys and signatures', () => {
  const key = encodeBase64(new Uint8Array(32).map((_, i) => 255 - i * 5));
  const signature = encodeBase64(new Uint8Array(64).map((_, i) => i * 37));

  test('decodes what it encodes, as node does', () => {
    for (let round = 0; round < 200; round++) {
      const bytes = sha256(`${round}`);
      const long = Uint8Array.from([...bytes, ...sha256(bytes)]);
      expect(encodeBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
      expect(decodePublic(encodeBase64(bytes))).toStrictEqual(bytes);
      expect(decodeSignature(encodeBase64(long))).toStrictEqual(long);
      expect(encodeBase64(long.subarray(3, 20))).toBe(Buffer.from(long.subarray(3, 20)).toString('base64'));
    }
  });

  const at = (text: string, index: number, char: string) => text.slice(0, index) + char + text.slice(index + 1);
  test.each([
    ['empty', ''],
    ['no padding', key.slice(0, 43)],
    ['two paddings', at(key, 42, '=')],
    ['padding elsewhere', at(key, 10, '=')],
    ['something for the padding', at(key, 43, 'A')],
    ['a space before', ` ${key.slice(0, 43)}`],
    ['a line feed after', `${key}\n`],
    ['the other alphabet: -', at(key, 3, '-')],
    ['the other alphabet: _', at(key, 3, '_')],
    ['a character beyond ASCII', at(key, 5, 'é')],
    ['a character whose low byte is in the alphabet', at(key, 5, '\u0141')],
    ['a character in the last place', at(key, 42, '!')],
    ['unused bits: 1', at(key, 42, String.fromCharCode(key.charCodeAt(42) + 1))],
    ['a signature', signature],
    ['33 bytes', encodeBase64(new Uint8Array(33))],
    ['31 bytes', encodeBase64(new Uint8Array(31))],
  ])('no key: %s', (_, text) => expect(decodePublic(text)).toBeNull());

  test.each([
    ['a key', key],
    ['one padding', at(signature, 86, 'A')],
    ['no padding', signature.slice(0, 86)],
    ['something for the padding', at(signature, 87, 'A')],
    ['unused bits', at(signature, 85, String.fromCharCode(signature.charCodeAt(85) + 1))],
    ['63 bytes', encodeBase64(new Uint8Array(63))],
    ['65 bytes', encodeBase64(new Uint8Array(65))],
    ['66 bytes', encodeBase64(new Uint8Array(66))],
    ['a character outside the alphabet', at(signature, 50, '*')],
    ['a character outside the alphabet in the last group', at(signature, 84, '*')],
  ])('no signature: %s', (_, text) => expect(decodeSignature(text)).toBeNull());

  test('a character outside the alphabet is refused in every place', () => {
    for (const char of ['!', '=', '-', '\u0141']) {
      for (let index = 0; index < 43; index++) expect(decodePublic(at(key, index, char)), `${index}`).toBeNull();
      for (let index = 0; index < 86; index++)
        expect(decodeSignature(at(signature, index, char)), `${index}`).toBeNull();
    }
  });

  test('every last character but those with unused bits at zero is refused', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    const taken = [...alphabet].filter((char) => decodePublic(at(key, 42, char)) !== null);
    expect(taken.join('')).toBe([...alphabet].filter((_, i) => i % 4 === 0).join(''));
    const signatures = [...alphabet].filter((char) => decodeSignature(at(signature, 85, char)) !== null);
    expect(signatures.join('')).toBe('AQgw');
  });
});
