/**
 * What the checker in a browser takes for proven of texts that somebody made to mislead it, or another reader. Stories are
 * held against check-story.py wherever tests ask that (support/stories.ts); here they are forged by those who know how
 * it reads.
 */
import { createHash } from 'node:crypto';
import { Point } from '@noble/ed25519';
import { describe, expect, test } from 'vitest';
import { canon } from '../../src/proof/canon.ts';
import { checkText } from '../../src/story/check.ts';
import { type Json, makeKeys, proof } from '../support/client.ts';
import { answerOf, honest, keys, MOMENT, sealed, verdictOf } from './forged.ts';

describe('an answer', () => {
  test('is never called proven, only signed', () => {
    const { verdict, said, parts } = checkText(honest, keys.public);
    expect([verdict, said.slice(0, 15), parts.length]).toEqual(['signed', 'Proven is each ', 1]);
    expect(parts[0]!.title).toBe('wallet ana');
    expect(parts[0]!.proofs).toMatchObject([{ by: 'the server', moment: MOMENT, status: 'created' }]);
  });

  test('of another server, or of none, is wrong; without a key nothing is said', () => {
    expect(verdictOf(honest, makeKeys().public)).toBe('wrong');
    for (const key of ['', 'abc', keys.public.slice(0, -1), `${keys.public}=`, '!'.repeat(43)])
      expect(verdictOf(honest, key)).toBe('unchecked');
  });

  test('with the proofs of another record is wrong, whoever signed it beside', () => {
    const other = '$wlt.0rZ3bbbbbbbbbbbbb';
    const text = answerOf('{"handle":"ana"}', sealed, other);
    const whole = JSON.parse(text);
    const beside = [proof(whole.hash, makeKeys()), proof(whole.hash, keys, { ...sealed, luid: other })];
    // Of a record's proofs those of clients come first.
    const orders = beside.flatMap((one) => [
      [...whole.meta.proofs, one],
      [one, ...whole.meta.proofs],
    ]);
    const texts = orders.map((proofs) => JSON.stringify({ ...whole, meta: { ...whole.meta, proofs } }));
    for (const each of [text, ...texts])
      expect(checkText(each, keys.public).said).toBe('NOT PROVEN: the server signed it as another record');
  });

  test('with more members than anybody reads is wrong: none is hidden behind others', () => {
    const whole = JSON.parse(honest);
    const withMore = (count: number) => {
      const more = Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]));
      const texts = [
        { ...whole, meta: { ...more, ...whole.meta } },
        { ...whole, ...more },
      ].map((one) => JSON.stringify(one));
      return texts.map((text) => checkText(text, keys.public));
    };
    // Beside them luid, hash, moment and status.
    expect(withMore(96).map(({ verdict, parts }) => [verdict, parts[0]!.facts.length])).toEqual([
      ['signed', 100],
      ['signed', 100],
    ]);
    const said = 'NOT PROVEN: it has more than 100 members beside its data, as nobody writes it';
    expect(withMore(97)).toEqual([said, said].map((one) => ({ verdict: 'wrong', said: one, notes: [], parts: [] })));
  });

  test('that is nothing of the sort, or signed as nothing that is known, is told so', () => {
    const saidOf = (text: string) => checkText(text, keys.public).said;
    for (const text of ['[]', '1', '"x"', 'null'])
      expect(saidOf(text)).toBe('NOT PROVEN: it is no story, record, list, event or head');
    const unknown = 'NOT PROVEN: it: the server signed it as something that nobody here knows';
    for (const custom of [{}, { other: MOMENT }, 'luid', null]) expect(saidOf(answerOf('[]', custom))).toBe(unknown);
  });

  test('that is longer than a browser has room for is not looked at', () => {
    const larger = 'Nobody has looked: it is larger than this takes. check-story.py takes stories of any size';
    const report = checkText('x'.repeat(2 ** 28 + 1), keys.public);
    expect(report).toEqual({ verdict: 'unchecked', said: larger, notes: [], parts: [] });
  });

  test('is looked at, however many signatures came before it', () => {
    const forged = honest.replace(/"digest":"../, '"digest":"zz');
    const saidOf = () => checkText(forged, keys.public).said;
    const said = Array.from({ length: 50_001 }, saidOf);
    expect([...new Set(said)]).toEqual(['NOT PROVEN: it: a digest of something else']);
  });

  test('shows nothing where anything is wrong', () => {
    const report = checkText(honest.replace('"n":1', '"n":2'), keys.public);
    expect(report).toMatchObject({ verdict: 'wrong', notes: [], parts: [] });
    // Signed as a whole, with a record in it that says what looks like a verdict.
    const item = answerOf('{"handle":"Proven"}').replace('"handle":"Proven"', '"handle":"Proven!"');
    const list = checkText(answerOf(canon([JSON.parse(item)]), { moment: MOMENT }, 'x'), keys.public);
    expect(list).toMatchObject({
      verdict: 'wrong',
      said: 'NOT PROVEN: a record in it: its hash is not that of its data',
    });
  });
});

describe('what is wrong is said', () => {
  const whole = JSON.parse(honest);
  const [own] = whole.meta.proofs;
  const ofProof = (more: Json) => ({ ...whole, meta: { ...whole.meta, proofs: [{ ...own, ...more }] } });
  const ofProofs = (proofs: Json) => ({ ...whole, meta: { ...whole.meta, proofs } });
  const other = makeKeys();
  const lacking = 'it has no data, no hash or no proofs';
  test.each<[string, Json]>([
    [lacking, { ...whole, data: undefined }],
    [lacking, { ...whole, hash: undefined }],
    [lacking, { ...whole, meta: undefined }],
    [lacking, { ...whole, meta: null }],
    [lacking, { ...whole, meta: 'proofs' }],
    [lacking, ofProofs(undefined)],
    ['its hash is not that of its data', { ...whole, hash: whole.hash.toUpperCase() }],
    ['its proofs are no list', ofProofs({ 0: own, length: 1 })],
    ['its proofs are no list', ofProofs(null)],
    ['a proof that is none', ofProofs([own, null])],
    ['a proof that is none', ofProofs(['x'])],
    ['a proof that is none', ofProofs([[]])],
    ['a digest of something else', ofProof({ digest: own.digest.toUpperCase() })],
    ['a digest of something else', ofProof({ digest: undefined })],
    ['a digest of something else', ofProof({ custom: undefined })],
    ['a digest of something else', ofProof({ method: 'ed25519' })],
    ['a digest of something else', ofProof({ method: undefined })],
    ['a member of a proof that is not signed', ofProof({ note: 'x' })],
    ['a signature does not hold', ofProof({ public: other.public })],
    ['the server has not signed it', ofProofs([proof(whole.hash, other, sealed)])],
    ['the server has not signed it', ofProofs([])],
  ])('it: %s: %#', (said, value) => {
    const report = checkText(JSON.stringify(value), keys.public);
    expect(report).toEqual({ verdict: 'wrong', said: `NOT PROVEN: it: ${said}`, notes: [], parts: [] });
  });

  test.each<[string, Json]>([
    ['key', { public: own.public.slice(1) }],
    ['key', { public: `${own.public.slice(0, -4)}AAB=` }],
    ['key', { public: 7 }],
    ['key', { public: own.result }],
    ['signature', { result: own.result.slice(0, -1) }],
    ['signature', { result: own.public }],
    ['signature', { result: null }],
    ['signature', { result: own.result.replace(/^./, '-') }],
    ['signature', { result: `${own.result}====` }],
  ])('base64 of a %s as nobody writes it: %#', (_, more) => {
    expect(checkText(JSON.stringify(ofProof(more)), keys.public).said).toBe('NOT PROVEN: base64 as nobody writes it');
  });

  test.each<[string, Json]>([
    ['it is of another format', { format: 'ayni-story-4' }],
    ['it is of another format', { format: null }],
    ['a member that nothing proves', { format: 'ayni-story-3', note: 'x' }],
    ['it is of another server', { format: 'ayni-story-1', server: other.public }],
    ['base64 as nobody writes it', { format: 'ayni-story-2' }],
    ['it is no story as `ayni export` writes it', { format: 'ayni-story-3', server: own.public }],
    ['it is no story as `ayni export` writes it', { format: 'ayni-story-3', server: own.public, entries: [null] }],
    ['more or fewer versions than the journal has', { format: 'ayni-story-3', server: own.public, entries: [] }],
    // What is no text in UTF-8, by the decoder's own word.
    [
      'no story as `ayni export` writes it: TypeError',
      { format: 'ayni-story-3', server: own.public, entries: [{ seq: 1, bytes: 'of8=' }] },
    ],
  ])('of a story: %s: %#', (said, value) => {
    const report = checkText(JSON.stringify(value), keys.public);
    expect(report).toEqual({ verdict: 'wrong', said: `NOT PROVEN: ${said}`, notes: [], parts: [] });
  });
});

describe('signatures', () => {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  /** The record with the one proof that these bytes are of, and of their key. */
  const signedBy = (key: Uint8Array, result: Uint8Array): [text: string, key: string] => {
    const whole = JSON.parse(honest);
    const [own] = whole.meta.proofs;
    own.public = Buffer.from(key).toString('base64');
    own.result = Buffer.from(result).toString('base64');
    return [JSON.stringify(whole), own.public];
  };
  const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'));
  const base = Point.BASE.toBytes();
  const one = bytes(`01${'00'.repeat(31)}`);

  test('by keys of small order, which anybody makes, are none', () => {
    const identities = [
      one,
      bytes(`01${'00'.repeat(30)}80`),
      bytes(`ee${'ff'.repeat(30)}7f`),
      bytes(`ee${'ff'.repeat(31)}`),
    ];
    // With A = 0 the equation is SB = R, whatever is signed.
    for (const key of identities) expect(verdictOf(...signedBy(key, Uint8Array.from([...base, ...one])))).toBe('wrong');
  });

  test('with S + L, in other bytes, or of another length are none', () => {
    const [own] = JSON.parse(honest).meta.proofs;
    const [key, result] = [Buffer.from(own.public, 'base64'), Buffer.from(own.result, 'base64')];
    expect(verdictOf(...signedBy(key, result))).toBe('signed');
    const s = BigInt(`0x${Buffer.from(result.subarray(32)).reverse().toString('hex')}`) + Point.CURVE().n;
    const above = bytes(s.toString(16).padStart(64, '0')).reverse();
    expect(verdictOf(...signedBy(key, Uint8Array.from([...result.subarray(0, 32), ...above])))).toBe('wrong');
    expect(verdictOf(...signedBy(key, Uint8Array.from([...result, 0])))).toBe('wrong');
    expect(verdictOf(...signedBy(key, result.subarray(0, 63)))).toBe('wrong');
    for (let bit = 0; bit < 512; bit += 37) {
      const other = Uint8Array.from(result);
      other[bit >> 3]! ^= 1 << (bit & 7);
      expect(verdictOf(...signedBy(key, other)), `bit ${bit}`).toBe('wrong');
    }
  });

  test('in base64 that is not the only one of its bytes are none', () => {
    const [own] = JSON.parse(honest).meta.proofs;
    const others = [
      own.result.replace(/=+$/, ''),
      ` ${own.result}`,
      `${own.result}\n`,
      // Of the last character four bits are of no byte.
      own.result.replace(/.==$/, (end: string) => `${String.fromCharCode(end.charCodeAt(0) + 1)}==`),
    ];
    for (const other of others) {
      expect(verdictOf(honest.replace(JSON.stringify(own.result), JSON.stringify(other))), other).toBe('wrong');
    }
  });

  test('the digest is the one of hash and custom', () => {
    const hash = JSON.parse(honest).hash as string;
    expect(digestOf(hash + canon(sealed)).toString('hex')).toBe(JSON.parse(honest).meta.proofs[0].digest);
    expect(verdictOf(honest.replace('"status":"created"}', '"status":"creates"}'))).toBe('wrong');
  });
});
