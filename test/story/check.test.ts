/**
 * What the checker in a browser takes for proven of texts that somebody made to mislead it, or another reader. Stories are
 * held against check-story.py wherever tests ask that (support/stories.ts); here they are forged by those who know how
 * it reads.
 */
import { createHash } from 'node:crypto';
import { Point } from '@noble/ed25519';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canon } from '../../src/proof/canon.ts';
import { bytesOfHex, sha256 as hashOf, hexOf, textOfUtf8 } from '../../src/story/bytes.ts';
import { checkText } from '../../src/story/check.ts';
import { readEntry } from '../../src/story/entries.ts';
import { parseJson } from '../../src/story/json.ts';
import { brief, plain, pretty } from '../../src/story/shown.ts';
import { readData } from '../proof/data.ts';
import { type Json, type Keys, makeKeys, proof, sha256 } from '../support/client.ts';

/** A file of the test suite: base64, or a text repeated. */
type Packed = string | { repeat: string; times: number; then?: string };

const bytesIn = (packed: Packed): Uint8Array =>
  typeof packed === 'string'
    ? Buffer.from(packed, 'base64')
    : Buffer.from(packed.repeat.repeat(packed.times) + (packed.then ?? ''));

const keys = makeKeys();
const MOMENT = '2026-11-20T19:37:28.431Z';
const sealed = { luid: '$wlt.0rZ3aaaaaaaaaaaaa', moment: MOMENT, status: 'created' };

/** A record as a server gives it, of which the canonical data are these. */
function answerOf(data: string, custom: Json = sealed, luid = sealed.luid): string {
  const hash = sha256(data);
  const meta = JSON.stringify({ moment: MOMENT, proofs: [proof(hash, keys, custom)], status: 'created' });
  return `{"data":${data},"hash":"${hash}","luid":"${luid}","meta":${meta}}`;
}

const verdictOf = (text: string, key = keys.public) => checkText(text, key).verdict;
const honest = answerOf('{"custom":{"n":1},"handle":"ana"}');

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
    const texts = beside.map((one) =>
      JSON.stringify({ ...whole, meta: { ...whole.meta, proofs: [...whole.meta.proofs, one] } }),
    );
    for (const each of [text, ...texts])
      expect(checkText(each, keys.public).said).toBe('NOT PROVEN: the server signed it as another record');
  });

  test('is what the server signed it as, not what it looks like', () => {
    // Anybody may have such data signed: as a record.
    const looks = ['[]', '{"chain":"00","moment":"x","seq":1}', '{"handle":"x","signal":"intent-created"}'];
    for (const data of looks) {
      const { said, parts } = checkText(answerOf(data), keys.public);
      expect(said).toMatch(/^Proven is each signature/);
      expect(parts[0]!.title).toMatch(/^wallet/);
    }
    const { parts } = checkText(answerOf('[]', { moment: MOMENT }, 'x'), keys.public);
    expect(parts[0]!.title).toBe('a list of 0');
    expect(verdictOf(answerOf('[]', { other: MOMENT }, 'x'))).toBe('wrong');
  });

  test('is what the server signed it as, whatever others say of it, and whichever of its proofs says so', () => {
    const stranger = makeKeys();
    const others: [Keys, Json][] = [
      [stranger, { luid: '$sym.0rZ3bbbbbbbbbbbbb', ledger: 'main', moment: '1999', status: 'created' }],
      [stranger, undefined],
      [keys, undefined],
      [keys, 'created'],
    ];
    const shown = [{ moment: MOMENT }, { moment: MOMENT, ledger: 'main' }, sealed].map((custom) => {
      const whole = JSON.parse(answerOf('{"handle":"x"}', custom));
      const more = others.map(([by, said]) => proof(whole.hash, by, said));
      const texts = [
        [...whole.meta.proofs, ...more],
        [...more, ...whole.meta.proofs],
      ];
      return texts.map((proofs) => {
        const { verdict, parts } = checkText(
          JSON.stringify({ ...whole, meta: { ...whole.meta, proofs } }),
          keys.public,
        );
        return [verdict, parts[0]!.title];
      });
    });
    expect(shown.map((titles) => titles.map(([verdict, title]) => `${verdict} ${title}`))).toEqual([
      ['signed an answer', 'signed an answer'],
      ['signed event ', 'signed event '],
      ['signed wallet x', 'signed wallet x'],
    ]);
  });

  test('tells of each member whose word it is', () => {
    const whole = JSON.parse(honest);
    const text = JSON.stringify({ ...whole, meta: { ...whole.meta, status: 'active', labels: ['vip'] } });
    const facts = Object.fromEntries(checkText(text, keys.public).parts[0]!.facts.map(({ name, by }) => [name, by]));
    expect(facts.luid).toBe('signed by the server');
    expect(facts.hash).toBe('follows from the data');
    expect(facts.moment).toBe('signed by the server, with the status created');
    expect(facts.status).toMatch(/^nobody/);
    expect(facts.labels).toMatch(/^nobody/);
  });

  test('tells of a member beside the data that somebody signed it where he said it of just that', () => {
    const stranger = makeKeys();
    const factsOf = (meta: Json, customs: [Keys, Json][], more: Json = {}) => {
      const { luid, ...whole } = JSON.parse(honest);
      const proofs = customs.map(([by, custom]) => proof(whole.hash, by, custom));
      const text = JSON.stringify({ ...whole, ...more, meta: { ...meta, proofs } });
      const { facts } = checkText(text, keys.public).parts[0]!;
      return facts.filter(({ name }) => name !== 'hash').map(({ name, by }) => `${name}: ${by}`);
    };
    const nobody = 'nobody has signed this: the word of whoever gave you the text';
    const own: [Keys, Json] = [keys, sealed];
    const named = { luid: sealed.luid };
    // The last word of the server's is not known; a moment has a status.
    expect(factsOf({ status: 'created', moment: MOMENT }, [own], named)).toEqual([
      'luid: signed by the server',
      'status: signed by the server; what followed may be left out',
      'moment: signed by the server, with the status created',
    ]);
    expect(factsOf({ moment: '1999', status: 'gone' }, [own], named)).toEqual([
      'luid: signed by the server',
      `moment: ${nobody}`,
      `status: ${nobody}`,
    ]);
    // Somebody's own clock tells no moment of the record, nor his word its luid; his status is told as his.
    const word: [Keys, Json] = [stranger, { luid: sealed.luid, moment: '1999', status: 'gone', note: 'x' }];
    const first: [Keys, Json] = [keys, { status: 'created' }];
    const said = `signed by the key ${stranger.public}; that it became the status, nobody has signed`;
    expect(factsOf({ moment: '1999', status: 'gone', note: 'x' }, [first, word, word], named)).toEqual([
      `luid: ${nobody}`,
      `moment: ${nobody}`,
      `status: ${said}`,
      `note: ${nobody}`,
    ]);
    // A record without a luid has none; of several who say a status the last is named.
    const later = makeKeys();
    expect(factsOf({ status: 'gone' }, [first, word, word, [later, { status: 'gone' }]])).toEqual([
      `status: ${said.replace(stranger.public, later.public)}`,
    ]);
    // What both say is the server's; and it says nothing of members that have the name of something in a proof.
    const both: [Keys, Json][] = [word, [keys, { ...sealed, status: 'gone', note: 'x' }], [keys, 'gone']];
    expect(factsOf({ status: 'gone', note: 'x' }, both, named)).toEqual([
      'luid: signed by the server',
      'status: signed by the server; what followed may be left out',
      `note: ${nobody}`,
    ]);
  });

  test('is called by the kind that its luid tells only where the server signed that', () => {
    // The first proof of what a server made itself, the signer `system` say, names no luid.
    const [own, named] = [
      answerOf('{"handle":"x"}', { moment: MOMENT, status: 'created' }),
      answerOf('{"handle":"x"}'),
    ];
    expect([own, named].map((text) => checkText(text, keys.public).parts[0]!.title)).toEqual(['record x', 'wallet x']);
  });

  test.each([
    ['ldg', 'ledger'],
    ['snr', 'signer'],
    ['sym', 'symbol'],
    ['wlt', 'wallet'],
    ['anc', 'anchor'],
    ['int', 'intent'],
    ['eff', 'effect'],
    ['brg', 'bridge'],
    ['crc', 'circle'],
    ['csn', 'signer of a circle'],
    ['plc', 'policy'],
    ['sch', 'schema'],
    ['xyz', 'record'],
  ])('of which the luid begins with $%s is called a %s', (prefix, kind) => {
    const luid = `$${prefix}.0rZ3aaaaaaaaaaaaa`;
    const titleOf = (data: string) => checkText(answerOf(data, { luid }, luid), keys.public).parts[0]!.title;
    expect(['{"handle":"x"}', '{"handle":7}', '[]', 'null'].map(titleOf)).toEqual([`${kind} x`, kind, kind, kind]);
  });

  test('says of a moment with which status the server signed it', () => {
    const by = (status?: string) => {
      const text = answerOf('{"handle":"x"}', { luid: sealed.luid, moment: MOMENT, status });
      return checkText(text, keys.public).parts[0]!.facts.find(({ name }) => name === 'moment')!.by;
    };
    expect([by('completed'), by()]).toEqual([
      'signed by the server, with the status completed',
      'signed by the server',
    ]);
  });

  test('by its bridge is a call, by its ledger alone an event: that is what the server says outward', () => {
    const data = '{"handle":"x","signal":"intent-updated"}';
    const told = [{}, { bridge: 'bank' }].map((more) => {
      const text = answerOf(data, { ledger: 'main', moment: MOMENT, ...more }, 'x');
      const { said, parts } = checkText(text, keys.public);
      return [parts[0]!.title, said];
    });
    const saidAs = (what: string) => `Proven is that the server said this, as ${what} of the ledger that stands below`;
    expect(told).toEqual([
      ['event intent-updated', saidAs('an event')],
      ['call of a bridge', saidAs('a call of the bridge')],
    ]);
  });

  test('that says something outward shows for whom it is, and what stands beside it, whatever its data are', () => {
    const custom = { ledger: 'main', moment: MOMENT };
    const told = ['{"handle":"x","signal":"a\u202eb"}', '{"signal":7}', '{}', '[]', '7', 'null'].map((data) =>
      checkText(answerOf(data, custom, 'x'), keys.public),
    );
    expect(told.map(({ parts }) => parts[0]!.title)).toEqual(['event a\\u202eb', ...Array(5).fill('event ')]);
    for (const { verdict, notes, parts } of told) {
      expect([verdict, parts.length]).toEqual(['signed', 1]);
      expect(notes).toEqual(['Of the records in it, what they were then: what happened since, it cannot say.']);
      expect(parts[0]!.facts.map(({ name, value, by }) => [`${name} ${value}`, by.slice(0, 20)])).toEqual([
        ['ledger main', 'signed by the server'],
        [`moment ${MOMENT}`, 'signed by the server'],
        ['status created', 'nobody has signed th'],
        ['luid x', 'nobody has signed th'],
      ]);
    }
  });

  test('that the server said of its own accord is called what it is, with what nobody has signed of it', () => {
    const told = [
      '[1,2]',
      '{"chain":"00","moment":"x","seq":1}',
      '{"chain":"00","seq":1}',
      '{"detail":"x","reason":"record.not-found"}',
      '{"version":"2"}',
      '7',
      'null',
    ].map((data) => {
      const { verdict, said, notes, parts } = checkText(answerOf(data, { moment: MOMENT }, 'x'), keys.public);
      expect([verdict, notes.length, parts.length]).toEqual(['signed', 1, 1]);
      expect(said).toBe(`Proven is that the server said this at the moment that stands below: ${parts[0]!.title}`);
      return [parts[0]!.title, notes[0]];
    });
    const question = 'Which question it answers, and which ledger, nobody has signed';
    expect(told).toEqual([
      ['a list of 2', `${question}: it may be a list of something else.`],
      [
        'a head, the end of its books',
        'Keep it: `ayni verify --head` tells whether the history up to it was changed since.',
      ],
      ['an answer', `${question}.`],
      ['a refusal', 'What was refused, nobody has signed.'],
      ['an answer', `${question}.`],
      ['an answer', `${question}.`],
      ['an answer', `${question}.`],
    ]);
    // In whichever order its members stand.
    const head = answerOf('{"chain":"00","moment":"x","seq":1}', { moment: MOMENT }, 'x');
    const turned = head.replace('{"chain":"00","moment":"x","seq":1}', '{"seq":1,"moment":"x","chain":"00"}');
    expect(checkText(turned, keys.public).parts[0]!.title).toBe('a head, the end of its books');
  });

  test('shows each record in it with what stands beside that, on the word of whoever signed the whole', () => {
    const stranger = makeKeys();
    const inner = JSON.parse(answerOf('{"handle":"ana"}'));
    inner.meta.proofs.push(proof(inner.hash, stranger));
    const { luid: _, ...nameless } = inner;
    const { proofs: __, ...unsigned } = inner.meta;
    const items = [inner, nameless, { ...inner, meta: unsigned }, { ...inner, data: undefined }, 'x', null];
    const { hash } = inner;
    const whole = 'signed by the server, with the whole';
    const rows = [
      { by: 'the server', moment: MOMENT, status: 'created', says: canon(sealed) },
      { by: `the key ${stranger.public}`, moment: '', status: '', says: '' },
    ];
    const partOf = (title: string, luid: string) => ({
      title,
      facts: Object.entries({ luid, hash, moment: MOMENT, status: 'created' }).map(([name, value]) => ({
        name,
        value,
        by: whole,
      })),
      data: { text: '{\n  "handle": "ana"\n}', isCut: false },
      proofs: rows,
      proofsLeftOut: 0,
    });
    const parts = [partOf('in it: wallet ana', sealed.luid), partOf('in it: record ana', 'null')];
    const listed = checkText(answerOf(canon(items), { moment: MOMENT }, 'x'), keys.public);
    expect(listed.parts.slice(1)).toEqual(parts);
    const event = { handle: 'x', wallet: inner, other: { deeper: inner }, signal: 'wallet-created' };
    const heard = checkText(answerOf(canon(event), { ledger: 'main', moment: MOMENT }, 'x'), keys.public);
    expect(heard.parts.slice(1)).toEqual([parts[0]]);
    // Of a record that is asked for, whatever lies in its data is its own word.
    const kept = checkText(answerOf(canon({ handle: 'x', kept: inner })), keys.public);
    expect(kept.parts).toHaveLength(1);
  });

  test('with a moment beside it that the server did not sign shows both, and whose word each is', () => {
    const factsOf = (moment: string) =>
      checkText(answerOf('[]', { moment }, 'x'), keys.public).parts[0]!.facts.map(({ name, value, by }) => [
        `${name} ${value}`,
        by.slice(0, 6),
      ]);
    const others = [
      ['status created', 'nobody'],
      ['luid x', 'nobody'],
    ];
    expect(factsOf(MOMENT)).toEqual([[`moment ${MOMENT}`, 'signed'], ...others]);
    const later = '2026-11-21T19:37:28.431Z';
    expect(factsOf(later)).toEqual([[`moment ${later}`, 'signed'], [`moment ${MOMENT}`, 'nobody'], ...others]);
    // The same text under another name is not what the server signed.
    const whole = JSON.parse(answerOf('[]', { moment: MOMENT }, MOMENT));
    const { facts } = checkText(JSON.stringify({ ...whole, meta: { ...whole.meta, read: MOMENT } }), keys.public)
      .parts[0]!;
    expect(facts.filter(({ by }) => by.startsWith('nobody')).map(({ name }) => name)).toEqual([
      'status',
      'read',
      'luid',
    ]);
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

describe('texts that readers read differently are wrong', () => {
  // The hash is that of what JSON.parse makes of it: it would have said nothing.
  const data = (text: string) => answerOf('X').replace('"data":X', `"data":${text}`);
  const hashed = (text: string) => {
    const hash = sha256(canon(JSON.parse(text)));
    const meta = JSON.stringify({ proofs: [proof(hash, keys, sealed)] });
    return `{"data":${text},"hash":"${hash}","luid":"${sealed.luid}","meta":${meta}}`;
  };
  test.each([
    ['a member twice', '{"a":1,"a":2}'],
    ['a member twice, once written otherwise', '{"a":1,"\\u0061":2}'],
    ['a whole number past 2^53', '{"a":9007199254740993}'],
    ['a whole number that is written with an exponent', '{"a":1000000000000000000000}'],
    ['a number past the double', '{"a":1e999}'],
    ['a number nearer to nothing than a double', '{"a":1e-400}'],
    ['an amount that is a little less to all who read decimals', '{"a":249.99999999999999}'],
    ['a fraction of which the last digit is another one to a double', '{"a":0.12345678901234567}'],
    ['a whole number past 2^53 with a point', '{"a":12345678901234567999.0}'],
    ['a fraction with digits that no double has', '{"a":0.49999999999999999999}'],
  ])('%s', (_, text) => {
    expect(verdictOf(hashed(text))).toBe('wrong');
  });

  test.each([
    '{"a":-0}',
    '{"a":1e21}',
    '{"a":1.0}',
    '{"a":[0.0,-0.0,0e5,250.50,1E-07,1.5e+3,-2.50e-300,0.1,5e-324,1.7976931348623157e308]}',
    '{"a":123456789012345680000}',
    '{"a":"\\ud800"}',
    '{"__proto__":{"a":1}}',
    ' { "a" : [ 1 , 2 ] , "b" : { } } ',
  ])('%s is read alike', (text) => {
    expect(verdictOf(hashed(text))).toBe('signed');
  });

  test.each([
    '',
    ' ',
    '{',
    '[1',
    'nul',
    'NaN',
    '01',
    '1.',
    '.5',
    '+1',
    '"\n"',
    '"\\x"',
    "{'a':1}",
    '{"a":1,}',
    '[1,]',
    '"\ud800"',
    '\ufeff{}',
    '{} {}',
  ])('no JSON: %j', (text) => {
    expect(() => parseJson(text)).toThrow();
    expect(verdictOf(data(text))).toBe('wrong');
  });

  test.each([
    ['[1}', 3],
    ['{"a":1]', 7],
    ['[1 2]', 4],
    ['{a":1}', 2],
    ['{"a"1}', 5],
    ['{"a":1,b":2}', 8],
    ['"\nn"', 2],
    ['"\u0000', 2],
    ['"\\u12g4"', 4],
    ['"\\q"', 4],
    ['"\\', 4],
    ['"abc', 5],
    [' tru', 2],
    ['', 1],
  ])('no JSON: %j from character %i on', (text, at) => {
    expect(() => parseJson(text)).toThrow(`it is no JSON, from character ${at} on`);
  });

  test('a number of very many zeros, at once', () => {
    const long = `{"a":0.1${'0'.repeat(2_000_000)}1}`;
    expect(() => parseJson(long)).toThrow('readers take for different ones');
    expect(parseJson(`{"a":0.1${'0'.repeat(2_000_000)}}`)).toEqual({ a: 0.1 });
  });

  test('a nesting that no server takes', () => {
    const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(parseJson(deep(640))).toEqual(JSON.parse(deep(640)));
    expect(() => parseJson(deep(641))).toThrow('nested deeper');
    const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(canon(parseJson(deepObject(640)))).toBe(deepObject(640));
    expect(() => parseJson(deepObject(641))).toThrow('it is nested deeper than 640 levels');
    expect(verdictOf('['.repeat(1_000_000))).toBe('wrong');
    expect(verdictOf('{"a":'.repeat(1_000_000))).toBe('wrong');
  });

  test('nor is one of more parts than a page has memory for: nobody has looked', () => {
    const many = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
    expect([verdictOf(many(4_000_000)), verdictOf(many(4_000_001))]).toEqual(['wrong', 'unchecked']);
  });

  test('names that every object has in JavaScript are members as any', () => {
    const value = parseJson('{"__proto__":{"x":1},"constructor":2,"toString":3}') as Record<string, unknown>;
    expect(canon(value)).toBe('{"__proto__":{"x":1},"constructor":2,"toString":3}');
    expect(value.x).toBeUndefined();
    // A member that is not there is not taken from there.
    for (const name of ['hash', 'data', 'meta', 'luid']) {
      const text = JSON.stringify({ ...JSON.parse(honest), [name]: undefined });
      expect(verdictOf(`${text.slice(0, -1)},"__proto__":${honest}}`), name).toBe('wrong');
    }
  });

  test('what JSON.parse reads alike is the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(canon(parseJson(text))).toBe(canon(JSON.parse(text)));
      }),
    );
  });

  test('the JSON test suite: what must be taken is, but for members that are there twice, what must be refused is', () => {
    const { files } = readData<{ files: Record<string, Packed> }>('jsontestsuite.json');
    const read = (packed: Packed) => {
      try {
        return canon(parseJson(textOfUtf8(bytesIn(packed))));
      } catch {
        return 'refused';
      }
    };
    const verdicts = Object.entries(files).map(([name, packed]) => [name, read(packed)] as const);
    const taken = verdicts.filter(([, text]) => text !== 'refused').map(([name]) => name);
    expect(taken.filter((name) => name.startsWith('n_'))).toEqual([]);
    const missing = verdicts
      .filter(([name, text]) => name.startsWith('y_') && text === 'refused')
      .map(([name]) => name);
    expect(missing).toEqual(['y_object_duplicated_key', 'y_object_duplicated_key_and_value']);
    for (const [name, text] of verdicts) {
      if (text !== 'refused') expect(text, name).toBe(canon(JSON.parse(textOfUtf8(bytesIn(files[name]!)))));
    }
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

describe('an entry', () => {
  const entryAt = (moment: Uint8Array, proofs = Buffer.from([0x90])) => {
    const head = Buffer.concat([Buffer.from([0x9a, 0xb6]), Buffer.from(sealed.luid), Buffer.from([1, 17, 1, 1])]);
    const rest = [Buffer.from([0xc0, 0xa2]), Buffer.from('{}'), proofs, Buffer.from([0xc4, 64]), Buffer.alloc(64)];
    return Buffer.concat([head, moment, ...rest]);
  };

  test('has no whole number that is written as a double: the other program takes its bits for one', () => {
    const five = Buffer.alloc(9, 0xcb);
    five.writeDoubleBE(5, 1);
    expect(readEntry(entryAt(Buffer.from([5]))).moment % 1000).toBe(5);
    expect(() => readEntry(entryAt(five))).toThrow('an entry as no server writes it');
  });

  test('tells of no moment before all, nor of a proof in a year that has no four digits', () => {
    const wide = (value: number) => {
      const bytes = Buffer.alloc(9, 0xd3);
      bytes.writeBigInt64BE(BigInt(value), 1);
      return bytes;
    };
    const received = readEntry(entryAt(wide(0))).moment;
    expect(readEntry(entryAt(wide(-received))).moment).toBe(0);
    expect(() => readEntry(entryAt(wide(-received - 1)))).toThrow('an entry as no server writes it');
    const signedAt = (moment: number) => {
      const key = Buffer.from([0xc4, 32, ...Buffer.alloc(32), 0xc4, 64, ...Buffer.alloc(64)]);
      const proofs = Buffer.concat([Buffer.from([0x91, 0x93]), key, wide(moment - received)]);
      return () => readEntry(entryAt(wide(0), proofs)).proofs[0]!.custom;
    };
    const [first, last] = [-62_167_219_200_000, 253_402_300_799_999];
    expect(signedAt(first)()).toContain('"0000-01-01T00:00:00.000Z"');
    expect(signedAt(last)()).toContain('"9999-12-31T23:59:59.999Z"');
    for (const moment of [first - 1, last + 1]) expect(signedAt(moment)).toThrow('an entry as no server writes it');
  });
});

describe('bytes', () => {
  test('are read from hexadecimal digits as one writes them, so many and no others', () => {
    expect([...bytesOfHex('00ff1a', 3)]).toEqual([0, 255, 26]);
    expect([...bytesOfHex('', 0)]).toEqual([]);
    for (const text of ['00ff1', '00ff1a00', '00FF1A', '00ff1g', ' 0ff1a', '', 7, null, undefined, ['00ff1a']])
      expect(() => bytesOfHex(text, 3), `${text}`).toThrow('hexadecimal as nobody writes it');
  });

  test('are hashed as they are, a text as UTF-8; no mark at the beginning of a text is passed over', () => {
    const bytes = Uint8Array.of(0xef, 0xbb, 0xbf, 0xc3, 0xb1);
    expect(textOfUtf8(bytes)).toBe('\ufeffñ');
    const right = createHash('sha256').update(bytes).digest('hex');
    expect([hexOf(hashOf(bytes)), hexOf(hashOf('\ufeffñ'))]).toEqual([right, right]);
    expect(hexOf(hashOf('\ufeffñ'))).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('what is shown', () => {
  test('has no character that is not seen, or that turns others around', () => {
    const odd = 'a\u202eb\u200bc\u0000d\u00ade\ud800f\u2028g\u00a0h\u3164i\u{e0041}\ufeff';
    expect(plain(odd)).toBe('a\\u202eb\\u200bc\\u0000d\\u00ade\\ud800f\\u2028g\\u00a0h\\u3164i\\udb40\\udc41\\ufeff');
    expect(plain('a\u2800b\ufffcc')).toBe('a\\u2800b\\ufffcc');
    expect(plain('ñandú ☀ 😀 <b>')).toBe('ñandú ☀ 😀 <b>');
    const shown = pretty(parseJson(JSON.stringify({ [odd]: [odd, 1, null, {}, []] })), 1000);
    expect(shown.text.split('\n').every((line) => plain(line) === line)).toBe(true);
    expect(JSON.parse(shown.text)).toEqual({ [odd]: [odd, 1, null, {}, []] });
  });

  test('is cut where it is said to be, at whatever place, and shown whole where it has room', () => {
    const value = {
      b: ['x', 1, null, true, {}, [], ''],
      a: { '\u0000': 'ñ "q" \u202e', c: Array.from({ length: 12 }, (_, n) => [n]) },
    };
    // What is not seen is written as it could stand in JSON; members come in their canonical order.
    const whole = JSON.stringify({ a: value.a, b: value.b }, null, 2).replace('\u202e', '\\u202e');
    for (let room = 0; room <= whole.length + 1; room++) {
      expect(pretty(parseJson(JSON.stringify(value)), room)).toEqual({
        text: whole.slice(0, room),
        isCut: room < whole.length,
      });
    }
    expect(['x'.repeat(10), 'x'.repeat(11), ''].map((text) => brief(text, 10))).toEqual([
      'xxxxxxxxxx',
      'xxxxxxxxxx …',
      '',
    ]);
  });

  test('ends somewhere', () => {
    expect(brief('x'.repeat(1000), 10)).toBe('xxxxxxxxxx …');
    const many = pretty(parseJson(`[${'[1],'.repeat(100_000)}1]`), 100);
    expect([many.text.length <= 120, many.isCut]).toEqual([true, true]);
    const long = pretty(parseJson(JSON.stringify('x'.repeat(1_000_000))), 100);
    expect([long.text.length <= 120, long.isCut]).toEqual([true, true]);
    expect(pretty(parseJson('[1]'), 100).isCut).toBe(false);
  });
});
