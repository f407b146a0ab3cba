/**
 * A usual intent, read where it lies: what is taken so the door takes by way of JSON.parse and the schemas too, and makes
 * the same of it; and what is usual is taken.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import { briefOf, drawUp } from '../../src/core/sheet.ts';
import { emptyState } from '../../src/core/state.ts';
import { openBody } from '../../src/http/door.ts';
import { parseJson } from '../../src/http/json.ts';
import { compileSchemas } from '../../src/http/schemas.ts';
import { UsualIntents } from '../../src/http/usual.ts';
import { canon } from '../../src/proof/canon.ts';
import { proofDigestHex, sha256Hex } from '../../src/proof/digest.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { often } from '../support/long.ts';
import { changed, PROOF, PUBLIC, TRANSFER, USUAL } from './bodies.ts';

const limits = { claimsMax: 20, proofsMax: 3 };
const DEPTH_MAX = 64;
/** The key of the server: what it signed is passed over. */
const SERVER = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';
const doorkeeper = { validate: compileSchemas(limits), sealer: { publicText: SERVER }, bodyBytesMax: 1024 * 1024 };
const usual = new UsualIntents({ ...limits, depthMax: DEPTH_MAX, publicText: SERVER });
const state = emptyState(entryCodec, 1, { chunkBytes: 1 << 20 });

/** Throws where it is taken and the door says otherwise. Returns whether it is taken. */
function hold(bytes: Uint8Array): boolean {
  const content = usual.open(bytes);
  if (content === null) return false;
  const parsed = parseJson(bytes, DEPTH_MAX);
  const told = parsed.refusal ?? openBody(doorkeeper, Kind.intent, 'create', parsed.value);
  if (isRefusal(told)) throw new Error(`taken, and told ${told.reason}: ${Buffer.from(bytes).toString()}`);
  const { brief, value: none, bodyText, ...quick } = content;
  const { value, ...slow } = told;
  expect([quick, none, bodyText]).toEqual([slow, null, null]);
  // For a token that covers the body, all of it; a name that comes twice somewhere is for JSON.parse to read.
  const whole = usual.open(bytes, true);
  if (whole !== null)
    expect(whole).toEqual({ ...content, bodyText: canon(parsed.refusal === undefined && parsed.value) });
  expect(drawUp(state, 1, brief)).toEqual(drawUp(state, 1, briefOf(value)));
  return true;
}

const holdText = (text: string) => hold(Buffer.from(text));

type Json = Record<string, unknown>;

/** A body over this data, hashed and digested as a client does. */
function bodyOf(data: unknown, customs: readonly (Json | undefined)[] = [{ moment: 'm', status: 'created' }]): Json {
  const hash = sha256Hex(canon(data));
  const proofs = customs.map((custom) => {
    const digest = proofDigestHex(hash, custom === undefined ? null : canon(custom));
    return custom === undefined ? { ...PROOF, digest } : { custom, ...PROOF, digest };
  });
  return { hash, data, meta: { proofs } };
}

const DATA = USUAL.data as Json;
const LIMIT = { action: 'limit', wallet: { handle: 'a' }, symbol: { handle: 'usd' }, metric: 'minBalance', amount: 7 };

describe('what is usual is taken', () => {
  const withClaims = (...claims: unknown[]) => ({ ...DATA, claims });
  const issue = { action: 'issue', target: { handle: 'b' }, symbol: { handle: 'usd' }, amount: 1 };
  test.each<[string, unknown]>([
    ['all that intents usually carry', bodyOf(DATA)],
    ['the least of it', bodyOf({ handle: 'h', claims: [TRANSFER] })],
    ['an issue', bodyOf(withClaims(issue))],
    [
      'a destroy',
      bodyOf(withClaims({ action: 'destroy', source: 'a', symbol: 'usd', amount: Number.MAX_SAFE_INTEGER })),
    ],
    ['a limit', bodyOf(withClaims(LIMIT))],
    ['a limit of nothing, and one below', bodyOf(withClaims({ ...LIMIT, amount: 0 }, { ...LIMIT, amount: -5 }))],
    ['money and a limit', bodyOf(withClaims(TRANSFER, { ...LIMIT, wallet: 'a', metric: 'dailyCount' }, TRANSFER))],
    ['as many claims as there may be', bodyOf(withClaims(...Array.from({ length: 20 }, () => TRANSFER)))],
    ['a custom of a reference', bodyOf(withClaims({ ...TRANSFER, source: { handle: 'a', custom: { é: 1 } } }))],
    ['as many proofs as there may be', bodyOf(DATA, [undefined, {}, { b: { d: 1, c: [] }, a: 'é' }])],
    ['a hash in large letters', { ...bodyOf(DATA), hash: sha256Hex(canon(DATA)).toUpperCase() }],
    [
      'what is not looked at',
      { ...bodyOf(DATA), extra: [1], meta: { ...(bodyOf(DATA).meta as Json), status: 'x', owners: {} } },
    ],
    ['committed by hand', bodyOf({ ...DATA, config: { commit: 'manual' } })],
    ['no rules', bodyOf({ ...DATA, access: [] })],
    ['longer characters', bodyOf({ ...DATA, custom: { description: 'Ñandú 🦙' } })],
  ])('%s', (name, body) => {
    // A name of more than ASCII is no usual one.
    expect(holdText(JSON.stringify(body))).toBe(name !== 'a custom of a reference');
    expect(holdText(JSON.stringify(body, null, 2))).toBe(name !== 'a custom of a reference');
    const whole = usual.open(Buffer.from(JSON.stringify(body, null, 2)), true);
    expect(whole?.bodyText).toBe(name === 'a custom of a reference' ? undefined : canon(body));
  });

  test('again and again, whatever was taken before: rules and names are remembered', () => {
    for (const handle of ['a', 'b', 'wallet-1', 'xallet-1', 'wallet-1', '', 'a']) {
      const claim = { ...TRANSFER, source: { handle }, target: 'b' };
      expect(holdText(JSON.stringify(bodyOf(withClaims(claim))))).toBe(handle !== '');
    }
    for (const action of ['any', 'read', 'any', 'eat', 'eat']) {
      const access = [{ action, signer: { public: PUBLIC } }];
      expect(holdText(JSON.stringify(bodyOf({ ...DATA, access })))).toBe(action !== 'eat');
    }
  });

  test('however many addresses and rules came before, of which some are remembered in the same place', () => {
    for (let n = 0; n < 2000; n += 40) {
      const side = (more: number) => ({ handle: `w${(n + more) * 7919}` });
      const claims = Array.from({ length: 20 }, (_, at) => ({
        ...TRANSFER,
        source: side(2 * at),
        target: side(2 * at + 1),
      }));
      expect(holdText(JSON.stringify(bodyOf(withClaims(...claims))))).toBe(true);
    }
    const ruled = (action: string, n: number) => {
      const access = [{ action, signer: { handle: `s${n * 7919}` } }];
      return JSON.stringify(bodyOf({ ...DATA, access }));
    };
    for (let n = 0; n < 300; n++)
      expect([holdText(ruled('read', n)), holdText(ruled('fly', n))]).toEqual([true, false]);
  });
});

describe('what is not is left to the door', () => {
  const [hash, data] = [sha256Hex(canon(DATA)), JSON.stringify(DATA)];
  const proofs = JSON.stringify((bodyOf(DATA).meta as Json).proofs);
  const meta = `{"proofs":${proofs}}`;
  const proof = proofs.slice(1, -1);
  const texts: [string, string][] = [
    ['another hash', `{"hash":"${hash.replace(/^./, (c) => (c === '0' ? '1' : '0'))}","data":${data},"meta":${meta}}`],
    ['a member of data twice', `{"hash":"${hash}","data":${data.replace('{', '{"handle":"x",')},"meta":${meta}}`],
    ['a handle that no URL leads to', JSON.stringify(bodyOf({ ...DATA, handle: '..' }))],
    ['no proof', `{"hash":"${hash}","data":${data},"meta":{"proofs":[]}}`],
    ['proofs that are none', `{"hash":"${hash}","data":${data},"meta":{"proofs":[1]}}`],
    ['a proof too many', `{"hash":"${hash}","data":${data},"meta":{"proofs":[${[proof, proof, proof, proof]}]}}`],
    [
      'the server’s own proof',
      `{"hash":"${hash}","data":${data},"meta":{"proofs":[${proof.replace(PUBLIC, SERVER)}]}}`,
    ],
    [
      'another digest',
      `{"hash":"${hash}","data":${data},"meta":${meta.replace('"status":"created"', '"status":"x"')}}`,
    ],
    ['a luid', `{"hash":"${hash}","luid":"$int.AAAAAAAAAAAAAAAAA","data":${data},"meta":${meta}}`],
    ['an array', `[{"hash":"${hash}","data":${data},"meta":${meta}}]`],
  ];
  test.each(texts)('%s', (_, text) => {
    expect(holdText(text)).toBe(false);
  });

  const last: [string, string][] = [
    ['data twice', `{"hash":"${hash}","data":${data},"data":${data},"meta":${meta}}`],
    ['the hash twice', `{"hash":"${hash}","hash":"${hash}","data":${data},"meta":${meta}}`],
    ['meta twice', `{"hash":"${hash}","data":${data},"meta":${meta},"meta":${meta}}`],
    ['proofs twice', `{"hash":"${hash}","data":${data},"meta":{"proofs":[],"proofs":${proofs}}}`],
    [
      'a member of a proof twice',
      `{"hash":"${hash}","data":${data},"meta":{"proofs":[${proof.replace('{', '{"custom":{},')}]}}`,
    ],
  ];
  test.each(last)('%s: not left, since the last one counts there too', (_, text) => {
    expect(holdText(text)).toBe(true);
  });

  test('a claim too many', () => {
    const claims = Array.from({ length: 21 }, () => TRANSFER);
    expect(holdText(JSON.stringify(bodyOf({ ...DATA, claims })))).toBe(false);
  });
});

test('whatever stands, misses or is added anywhere, what is taken is what the door makes of it', () => {
  let taken = 0;
  let all = 0;
  for (const body of changed(bodyOf(DATA))) {
    all++;
    if (holdText(JSON.stringify(body))) taken++;
  }
  for (const data of [...changed(DATA), ...changed({ ...DATA, claims: [LIMIT] })]) {
    all++;
    if (holdText(JSON.stringify(bodyOf(JSON.parse(JSON.stringify(data)))))) taken++;
  }
  expect([taken > 100, all - taken > 1000]).toEqual([true, true]);
});

const name = fc.constantFrom(
  'a',
  'b',
  's:a',
  'a@p',
  's:a@p',
  'wallet-000001',
  'wallet-000002',
  'x'.repeat(256),
  'é',
  ':a',
);
const plain = fc.oneof(
  fc.stringMatching(/^[ -~é]{0,8}$/),
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.constant([]),
);
const odd = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 5 });
const custom = fc.oneof(
  { weight: 20, arbitrary: fc.dictionary(fc.stringMatching(/^[a-c]{0,3}$/), plain, { maxKeys: 3 }) },
  odd,
);
const reference = fc.oneof(name, fc.record({ handle: name, custom }, { requiredKeys: ['handle'] }));
const amount = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1 }) }, fc.constantFrom(0, -1, 1.5, 2 ** 53));
const source = reference;
const target = reference;
const symbol = reference;
const wallet = reference;
const metric = fc.constantFrom<unknown>('minBalance', 'maxBalance', 'dailyAmount', 'dailyCount', 'daily', '', 7);
const limitAmount = fc.oneof(
  { weight: 9, arbitrary: fc.maxSafeInteger() },
  fc.constantFrom<unknown>(0, -0, 1.5, -(2 ** 53), 2 ** 53, '7', null),
);
const claim = fc.oneof(
  fc.record({ action: fc.constant('transfer'), amount, symbol, source, target }),
  fc.record({ action: fc.constant('issue'), amount, symbol, target }),
  fc.record({ action: fc.constant('destroy'), amount, symbol, source }),
  fc.record({ action: fc.constant('limit'), amount: limitAmount, symbol, wallet, metric }),
  fc.record(
    { action: fc.constantFrom('transfer', 'issue', 'limit'), amount, symbol, source, target, wallet, metric },
    { requiredKeys: [] },
  ),
);
const rules = fc.constantFrom<unknown>(
  [],
  [{ action: 'any' }],
  [{ signer: { handle: 'a' }, action: { $in: ['spend', 'read'] } }, { action: 'any' }],
  [
    { action: 'read', bearer: { $signer: { public: PUBLIC } } },
    { action: 'any', signer: { public: PUBLIC } },
  ],
  [{ action: 'eat' }],
);
const anyData = fc
  .record(
    {
      handle: name,
      schema: name,
      claims: fc.array(claim, { minLength: 1, maxLength: 3 }),
      custom,
      access: rules,
      config: fc.constantFrom<unknown>({ commit: 'auto' }, { commit: 'manual' }, {}, { commit: 'x' }),
    },
    { requiredKeys: ['handle', 'claims'] },
  )
  .chain((data) => fc.shuffledSubarray(Object.entries(data), { minLength: Object.keys(data).length }))
  .map((entries) => Object.fromEntries(entries) as Json);
const anyBody = fc
  .tuple(
    anyData,
    fc.array(fc.option(custom, { nil: undefined }), { minLength: 1, maxLength: 3 }),
    fc.constantFrom(undefined, 1),
  )
  .map(([data, customs, indent]) => Buffer.from(JSON.stringify(bodyOf(data, customs), null, indent)));

test('whatever clients make', () => {
  let taken = 0;
  fc.assert(
    fc.property(anyBody, (bytes) => {
      if (hold(bytes)) taken++;
    }),
    { numRuns: often(1500, 100_000) },
  );
  expect(taken).toBeGreaterThan(40);
});

test('with any byte of it changed', () => {
  const edit = fc.tuple(fc.nat(), fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[]",: 0a\\'))));
  fc.assert(
    fc.property(anyBody, fc.array(edit, { minLength: 1, maxLength: 2 }), (bytes, edits) => {
      for (const [place, byte] of edits) bytes[place % bytes.length] = byte;
      hold(bytes);
    }),
    { numRuns: often(1500, 100_000) },
  );
});
