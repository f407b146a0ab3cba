/**
 * Bearer tokens: those of the public package pass, and every rule has a token that breaks it.
 */
import { createPrivateKey, sign as nodeSign } from 'node:crypto';
import { createRequire } from 'node:module';
import { signJWT } from '@minka/ledger-sdk/crypto/src/index.js';
import { describe, expect, test } from 'vitest';
import { isRefusal } from '../../src/core/refusal.ts';
import {
  absoluteUrl,
  checkRequestHash,
  createTokenChecker,
  type HashedRequest,
  hashedBody,
  isUnverified,
  type Token,
  type TokenContext,
} from '../../src/http/tokens.ts';
import { canon } from '../../src/proof/canon.ts';
import { sha256Hex } from '../../src/proof/digest.ts';
import { decodePublic } from '../../src/proof/keys.ts';
import { verify } from '../../src/proof/verify.ts';
import { readData } from '../proof/data.ts';
import { collect, heldBytes } from '../support/collect.ts';
import { turn } from '../support/turns.ts';

interface Vectors {
  keys: { public: string; secret: string }[];
  hsh: { method: string; url: string; body: unknown; headers: Record<string, string> | null; hsh: string }[];
}
const vectors = readData<Vectors>('crypto.json');
const [first, second] = vectors.keys as [Vectors['keys'][0], Vectors['keys'][0]];
const NOW = 1_900_000_000;
const CLAIMS = { iss: 'me', sub: 'me', aud: 'main', iat: NOW - 10, exp: NOW + 60 };

const signers = new Map([['owner', first.public]]);
const context: TokenContext = {
  now: NOW,
  audience: 'main',
  keyOf: (handle) => decodePublic(signers.get(handle) ?? ''),
};

let verified = 0;
const verifying: typeof verify = (...args) => {
  verified++;
  return verify(...args);
};

/** What a checker remembers where there is room for all of it. */
const REMEMBERED_BYTES_MAX = 8 * 1024 * 1024;

/** A checker, what it leaves to the proof pool done at once. */
function newChecker(rememberedBytesMax = REMEMBERED_BYTES_MAX) {
  const checker = createTokenChecker(verifying, rememberedBytesMax / REMEMBERED_BYTES_MAX);
  return {
    check(authorization: string, given: TokenContext) {
      const token = checker.check(authorization, given);
      if (isRefusal(token) || !isUnverified(token)) return token;
      const { checks, text, settle } = token;
      expect([checks.length, text.length <= 1024]).toEqual([128, true]);
      return settle(verifying(checks.subarray(0, 32), text, checks.subarray(64)), given);
    },
  };
}

/** What is counted of a token that is remembered. */
function remembered(authorization: string): number {
  return 512 + 3 * (authorization.length - 'Bearer '.length);
}

/** What is said of a header: a reason, or 'good'. */
function judge(authorization: string, checker = newChecker(), change: Partial<TokenContext> = {}): string {
  const token = checker.check(authorization, { ...context, ...change });
  return isRefusal(token) ? token.reason : 'good';
}

/** A token signed by hand, so that its parts can be wrong. */
function forge(header: unknown, payload: unknown, secret = first.secret): string {
  const part = (value: unknown) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
  const text = `${part(header)}.${part(payload)}`;
  return `Bearer ${text}.${signText(text, secret)}`;
}
function signText(text: string, secret = first.secret): string {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.from(secret, 'base64')]);
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return nodeSign(null, Buffer.from(text), key).toString('base64url');
}
const HEADER = { alg: 'EdDSA', kid: first.public };

test('a token is as long as it may be, and no longer', () => {
  const reasons = new Map<number, string>();
  for (let more = 0; more < 10; more++) {
    const token = forge({ ...HEADER, typ: 'JW' }, { ...CLAIMS, sub: 'x'.repeat(5_925 + more) });
    reasons.set(token.length - 'Bearer '.length, judge(token));
  }
  expect([reasons.get(8192), reasons.get(8193)]).toEqual(['good', 'auth.unauthorized']);
});

test('what a token signs goes to the proof pool as long as it fits there, and is verified at once where it is longer', () => {
  const places = new Map<number, string>();
  for (let more = 0; more < 10; more++) {
    const token = forge({ ...HEADER, typ: 'J' }, { ...CLAIMS, sub: 'x'.repeat(614 + more) });
    const read = createTokenChecker(verify, 1).check(token, context);
    const isLeft = !isRefusal(read) && isUnverified(read);
    places.set(token.lastIndexOf('.') - 'Bearer '.length, isLeft ? 'left to the pool' : 'verified');
  }
  expect([places.get(1024), places.get(1025)]).toEqual(['left to the pool', 'verified']);
});

describe('tokens of the public package', () => {
  test('signed with a key named by itself', async () => {
    const token = newChecker().check(`Bearer ${await signJWT(CLAIMS, first.secret, first.public)}`, context) as Token;
    expect(token).toMatchObject({ ...CLAIMS, jti: null, hsh: null, public: first.public });
    expect(Buffer.from(token.key).toString('base64')).toBe(first.public);
  });

  test('signed with a key named by a signer', async () => {
    const token = newChecker().check(`Bearer ${await signJWT(CLAIMS, first.secret, 'owner')}`, context);
    expect(token).toMatchObject({ public: first.public });
  });

  test('signed with another key than the one it names', async () => {
    expect(judge(`Bearer ${await signJWT(CLAIMS, second.secret, first.public)}`)).toBe('auth.unauthorized');
    expect(judge(`Bearer ${await signJWT(CLAIMS, second.secret, 'owner')}`)).toBe('auth.unauthorized');
  });

  test('a signer nobody knows', async () => {
    expect(judge(`Bearer ${await signJWT(CLAIMS, first.secret, 'nobody')}`)).toBe('record.not-found');
  });
});

describe('claims', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['as they are', {}, 'good'],
    ['no iss', { iss: undefined }, 'auth.unauthorized'],
    ['no sub', { sub: undefined }, 'auth.unauthorized'],
    ['no aud', { aud: undefined }, 'auth.unauthorized'],
    ['no iat', { iat: undefined }, 'auth.unauthorized'],
    ['no exp', { exp: undefined }, 'auth.unauthorized'],
    ['empty iss', { iss: '' }, 'auth.unauthorized'],
    ['iss as number', { iss: 1 }, 'auth.unauthorized'],
    ['aud as list', { aud: ['main'] }, 'auth.unauthorized'],
    ['another ledger', { aud: 'other' }, 'auth.unauthorized'],
    ['a ledger of the same letters, one of them larger', { aud: 'Main' }, 'auth.unauthorized'],
    ['exp as text', { exp: String(NOW + 60) }, 'auth.unauthorized'],
    ['exp now', { exp: NOW }, 'good'],
    ['exp a second ago', { exp: NOW - 1 }, 'auth.unauthorized'],
    ['exp before iat', { iat: NOW + 50, exp: NOW + 40 }, 'auth.unauthorized'],
    ['an iat of nought', { iat: 0 }, 'good'],
    ['an iat below nought', { iat: -1 }, 'auth.unauthorized'],
    ['iat a minute ahead', { iat: NOW + 60 }, 'good'],
    ['iat more than a minute ahead', { iat: NOW + 61, exp: NOW + 100 }, 'auth.unauthorized'],
    ['times in milliseconds', { iat: NOW * 1000, exp: NOW * 1000 + 60 }, 'auth.unauthorized'],
    ['not before now', { nbf: NOW }, 'good'],
    ['not before a minute from now', { nbf: NOW + 60 }, 'good'],
    ['not before long', { nbf: NOW + 61 }, 'auth.unauthorized'],
    ['nbf as text', { nbf: 'x' }, 'auth.unauthorized'],
    ['jti for five minutes', { jti: 'a', iat: NOW - 10, exp: NOW + 290 }, 'good'],
    ['jti for longer', { jti: 'a', iat: NOW - 10, exp: NOW + 291 }, 'auth.unauthorized'],
    ['jti for less than a second longer', { jti: 'a', iat: NOW - 10, exp: NOW + 290.5 }, 'auth.unauthorized'],
    ['an empty jti', { jti: '' }, 'auth.unauthorized'],
    ['jti as number', { jti: 5 }, 'auth.unauthorized'],
    ['hsh as number', { hsh: 5 }, 'auth.unauthorized'],
    ['a long life without jti', { exp: NOW + 1e9 }, 'good'],
    ['more than needed', { other: { deep: [1] } }, 'good'],
  ])('%s', (_, change, expected) => {
    expect(judge(forge(HEADER, { ...CLAIMS, ...change }))).toBe(expected);
  });

  test('the last of two claims of one name counts, as everywhere in JSON', () => {
    const payload = JSON.stringify(CLAIMS).replace('{', '{"aud":"other",');
    expect(judge(forge(HEADER, payload))).toBe('good');
  });
});

describe('form', () => {
  const good = forge(HEADER, CLAIMS);
  const [head, body, signature] = good.slice(7).split('.') as [string, string, string];
  test.each([
    ['as it is', good, 'good'],
    ['lower-case scheme', good.replace('Bearer', 'bearer'), 'good'],
    ['blanks around', ` ${good} `, 'good'],
    ['blanks between', good.replace(' ', '   '), 'good'],
    ['nothing', '', 'auth.unauthorized'],
    ['no scheme', good.slice(7), 'auth.unauthorized'],
    ['basic', 'Basic YTpi', 'auth.unauthorized'],
    ['no token', 'Bearer ', 'auth.unauthorized'],
    ['two tokens', `${good} ${good.slice(7)}`, 'auth.unauthorized'],
    ['two parts', `Bearer ${head}.${body}`, 'auth.unauthorized'],
    ['four parts', `${good}.`, 'auth.unauthorized'],
    [
      'four parts, signed up to where the third begins',
      `Bearer ${head}.${body}.${signText(`${head}.${body}.`)}.`,
      'auth.unauthorized',
    ],
    ['no signature', `Bearer ${head}.${body}.`, 'auth.unauthorized'],
    [
      'a byte behind the signature',
      `Bearer ${head}.${body}.${Buffer.concat([Buffer.from(signature, 'base64url'), Buffer.alloc(1)]).toString('base64url')}`,
      'auth.unauthorized',
    ],
    ['padding', `${good}==`, 'auth.unauthorized'],
    ['padding within', `Bearer ${head}=.${body}.${signature}`, 'auth.unauthorized'],
    [
      'unused bits',
      `Bearer ${head}.${body}.${signature.slice(0, -1)}${signature.endsWith('A') ? 'B' : 'z'}`,
      'auth.unauthorized',
    ],
    ['a foreign character', `Bearer ${head}.${body}.+${signature.slice(1)}`, 'auth.unauthorized'],
    [
      'another payload',
      `Bearer ${head}.${forge(HEADER, { ...CLAIMS, sub: 'you' }).split('.')[1]}.${signature}`,
      'auth.unauthorized',
    ],
    ['alg none', forge({ ...HEADER, alg: 'none' }, CLAIMS), 'auth.unauthorized'],
    ['alg HS256', forge({ ...HEADER, alg: 'HS256' }, CLAIMS), 'auth.unauthorized'],
    ['alg in lower case', forge({ ...HEADER, alg: 'eddsa' }, CLAIMS), 'auth.unauthorized'],
    ['no alg', forge({ kid: first.public }, CLAIMS), 'auth.unauthorized'],
    ['no kid', forge({ alg: 'EdDSA' }, CLAIMS), 'auth.unauthorized'],
    ['kid as number', forge({ alg: 'EdDSA', kid: 7 }, CLAIMS), 'auth.unauthorized'],
    ['an empty kid', forge({ alg: 'EdDSA', kid: '' }, CLAIMS), 'auth.unauthorized'],
    [
      'a key of its own beside',
      forge({ ...HEADER, jwk: { x: second.public } }, CLAIMS, second.secret),
      'auth.unauthorized',
    ],
    ['crit', forge({ ...HEADER, crit: ['b64'], b64: false }, CLAIMS), 'auth.unauthorized'],
    ['crit of nothing', forge({ ...HEADER, crit: null }, CLAIMS), 'auth.unauthorized'],
    ['typ', forge({ ...HEADER, typ: 'JWT' }, CLAIMS), 'good'],
    ['a header that is a list', forge('[]', CLAIMS), 'auth.unauthorized'],
    ['a payload that is null', forge(HEADER, 'null'), 'auth.unauthorized'],
    [
      'an exp beyond all numbers',
      forge(HEADER, JSON.stringify({ ...CLAIMS, exp: 0 }).replace(':0', ':1e999')),
      'auth.unauthorized',
    ],
    ['a payload that is not JSON', forge(HEADER, '{iss:1}'), 'auth.unauthorized'],
    ['a payload too deep', forge(HEADER, `{"a":${'['.repeat(20)}${']'.repeat(20)}}`), 'auth.unauthorized'],
    ['claims of a prototype', forge(HEADER, `{"__proto__":${JSON.stringify(CLAIMS)}}`), 'auth.unauthorized'],
    ['too large', forge(HEADER, { ...CLAIMS, pad: 'x'.repeat(8192) }), 'auth.unauthorized'],
  ])('%s', (_, authorization, expected) => {
    expect(judge(authorization)).toBe(expected);
  });

  test('a signature without its last byte is none, though that byte is zero', () => {
    let token: string;
    let n = 0;
    do token = forge(HEADER, { ...CLAIMS, sub: `${n++}` });
    while (Buffer.from(token.split('.')[2]!, 'base64url')[63] !== 0);
    const end = token.lastIndexOf('.') + 1;
    const short = Buffer.from(token.slice(end), 'base64url').subarray(0, 63).toString('base64url');
    expect([judge(token), judge(token.slice(0, end) + short)]).toEqual(['good', 'auth.unauthorized']);
  });

  test.each([...['a b', 'é', 'a:b:c', '$snr.AAAAAAAAAAAAAAAAA', `${first.public.slice(0, -2)}/`, 'a'.repeat(257)]])(
    'a kid that is neither key nor handle was told as a signer that is not found: %s',
    (kid) => {
      expect(judge(forge({ alg: 'EdDSA', kid }, CLAIMS))).toBe('auth.unauthorized');
      expect(judge(forge({ alg: 'EdDSA', kid: 's:nobody@x' }, CLAIMS))).toBe('record.not-found');
    },
  );

  test('a kid that is a key is that key, though a signer is called so', () => {
    const keyOf = () => decodePublic(second.public);
    expect(judge(good, newChecker(), { keyOf })).toBe('good');
    expect(judge(forge(HEADER, CLAIMS, second.secret), newChecker(), { keyOf })).toBe('auth.unauthorized');
  });

  test('any flipped bit of any part', () => {
    for (let at = 7; at < good.length; at += 5) {
      const flipped = good.slice(0, at) + (good[at] === 'A' ? 'B' : 'A') + good.slice(at + 1);
      expect(judge(flipped)).not.toBe('good');
    }
  });
});

describe('the cache', () => {
  test('a token that comes again is not verified again, but its times and ledger are looked at', () => {
    const checker = newChecker();
    const token = forge(HEADER, CLAIMS);
    verified = 0;
    for (let i = 0; i < 5; i++) expect(judge(token, checker)).toBe('good');
    expect(verified).toBe(1);
    expect(judge(token, checker, { now: NOW + 61 })).toBe('auth.unauthorized');
    expect(judge(token, checker, { audience: 'other' })).toBe('auth.unauthorized');
    expect(judge(token, checker)).toBe('good');
    expect(verified).toBe(1);
  });

  test('a signer that is gone, or got another key, does not live on in the cache', () => {
    const checker = newChecker();
    const token = forge({ alg: 'EdDSA', kid: 'owner' }, CLAIMS);
    expect(judge(token, checker)).toBe('good');
    expect(judge(token, checker, { keyOf: () => null })).toBe('record.not-found');
    expect(judge(token, checker, { keyOf: () => decodePublic(second.public) })).toBe('auth.unauthorized');
    expect(judge(token, checker)).toBe('good');
  });

  test('it is bounded: the oldest goes', () => {
    const [a, b, c] = ['a', 'b', 'c'].map((sub) => forge(HEADER, { ...CLAIMS, sub })) as [string, string, string];
    const checker = newChecker(2 * remembered(a));
    verified = 0;
    for (const token of [a, b, c, c, b]) judge(token, checker);
    expect(verified).toBe(3);
    judge(a, checker);
    expect(verified).toBe(4);
  });

  test('nothing is left of what is forgotten, nor of the header that led to its key', async () => {
    const checker = newChecker(4 * remembered(forge({ ...HEADER, n: 19 }, CLAIMS)));
    const keys = Array.from({ length: 20 }, (_, n) => {
      const token = checker.check(forge({ ...HEADER, n }, CLAIMS), context) as Token;
      return new WeakRef(token.key);
    });
    await turn();
    collect();
    expect(keys.filter((key) => key.deref() !== undefined).length).toBeLessThanOrEqual(4);
    expect(judge(forge({ ...HEADER, n: 19 }, CLAIMS), checker)).toBe('good');
  });

  test('tokens of a stranger who fills them as far as they go take no more than is counted, and usual ones find room', () => {
    const checker = newChecker();
    const usual = Array.from({ length: 1000 }, (_, n) => forge(HEADER, { ...CLAIMS, sub: `${n}` }));
    for (const token of usual) judge(token, checker);
    verified = 0;
    for (const token of usual) judge(token, checker);
    expect(verified).toBe(0);
    const before = heldBytes();
    for (let n = 0; n < 1500; n++) {
      // One wide character, and all of a text are.
      const token = forge(HEADER, { ...CLAIMS, iss: `${'a'.repeat(5_750)}\u20ac${n}` });
      expect(judge(Buffer.from(token).toString('latin1'), checker)).toBe('good');
    }
    expect(heldBytes() - before).toBeLessThan(10e6);
  });

  test('of a header that is longer than its token nothing is remembered but that', () => {
    const checker = newChecker();
    const before = heldBytes();
    for (let n = 0; n < 400; n++) {
      const [token] = forge(HEADER, { ...CLAIMS, sub: `${n}` })
        .split(' ')
        .slice(1);
      // As it comes: one text, not one put together of others.
      const sent = Buffer.from(`Bearer${' '.repeat(7_500)}${token}`).toString('latin1');
      expect(judge(sent, checker)).toBe('good');
    }
    expect(heldBytes() - before).toBeLessThan(1.8e6);
    expect(judge(`Bearer${' '.repeat(8_250)}${forge(HEADER, CLAIMS).split(' ')[1]}`, checker)).toBe(
      'auth.unauthorized',
    );
  });

  test('a refused token is not remembered', () => {
    const checker = newChecker();
    const token = forge(HEADER, CLAIMS, second.secret);
    verified = 0;
    for (let i = 0; i < 3; i++) expect(judge(token, checker)).toBe('auth.unauthorized');
    expect(verified).toBe(3);
  });
});

describe('a signer that is looked up again once its token is verified', () => {
  test.each<[string, (handle: string) => Uint8Array | null, string]>([
    ['is still the same', context.keyOf, 'good'],
    ['is gone', () => null, 'record.not-found'],
    ['has another key', () => decodePublic(second.public), 'auth.unauthorized'],
  ])('%s', (_, keyOf, expected) => {
    const read = createTokenChecker(verify, 1).check(forge({ alg: 'EdDSA', kid: 'owner' }, CLAIMS), context);
    if (isRefusal(read) || !isUnverified(read)) throw new Error('it was not left to be verified');
    const token = read.settle(true, { ...context, keyOf });
    expect(isRefusal(token) ? token.reason : 'good').toBe(expected);
  });
});

describe('hsh', () => {
  const tokenWith = (hsh: string | null) =>
    ({ ...CLAIMS, jti: null, hsh, key: new Uint8Array(32), public: '' }) as Token;
  const refusalOf = (token: Token, request: Omit<HashedRequest, 'body'> & { body: unknown }) =>
    checkRequestHash(token, { ...request, body: () => hashedBody(request.body) });
  const requestOf = ({ method, url, body, headers }: Vectors['hsh'][0]) => ({
    method,
    url,
    body,
    header: (name: string) => headers?.[name] ?? '',
  });

  test.each(vectors.hsh)('of the public package: $method $url', (vector) => {
    const request = requestOf(vector);
    const reason = (change: object, hsh = vector.hsh) =>
      refusalOf(tokenWith(hsh), { ...request, ...change })?.reason ?? 'good';
    expect(reason({})).toBe('good');
    expect(reason({}, vector.hsh.toUpperCase())).toBe('good');
    expect(reason({ method: 'PUT' })).toBe('auth.unauthorized');
    expect(reason({ url: `${vector.url}x` })).toBe('auth.unauthorized');
    expect(reason({ body: { a: 1 } })).toBe('auth.unauthorized');
    expect(
      reason(
        {},
        vector.hsh.replace(/^./, (c) => (c === '0' ? '1' : '0')),
      ),
    ).toBe('auth.unauthorized');
  });

  test('a covered header must be there and be the same; which are covered cannot be changed', () => {
    const vector = vectors.hsh.find(({ headers }) => headers !== null)!;
    const request = requestOf(vector);
    const reason = (hsh: string, header = request.header) => refusalOf(tokenWith(hsh), { ...request, header })?.reason;
    expect(reason(vector.hsh, () => '')).toBe('auth.unauthorized');
    expect(reason(vector.hsh, () => 'other')).toBe('auth.unauthorized');
    expect(reason(vector.hsh.slice(0, 64))).toBe('auth.unauthorized');
    expect(reason(`${vector.hsh},host`, () => 'main')).toBe('auth.unauthorized');
    const { method, url, body } = request;
    const ofNone = sha256Hex(canon({ method, url, headers: { 'x-none': '' }, body }));
    expect(
      reason(`${ofNone}:x-none`, () => ''),
      'one that is not there is not an empty one',
    ).toBe('auth.unauthorized');
  });

  test('covers 32 headers, and no more', () => {
    const reason = (count: number) => {
      const names = Array.from({ length: count }, (_, n) => `h${n}`);
      const headers = Object.fromEntries(names.map((name) => [name, 'v']));
      const hsh = sha256Hex(canon({ method: 'GET', url: '/', headers, body: null }));
      const request = { method: 'GET', url: '/', body: null, header: (name: string) => headers[name] ?? '' };
      return refusalOf(tokenWith(`${hsh}:${names.join(',')}`), request)?.reason ?? 'good';
    };
    expect([reason(32), reason(33)]).toEqual(['good', 'auth.unauthorized']);
  });

  test('covers a header with the name of what all objects have', () => {
    const reason = (headers: string) => {
      const hsh = sha256Hex(`{"body":null,"headers":${headers},"method":"GET","url":"/"}`);
      const request = { method: 'GET', url: '/', body: null, header: () => 'v' };
      return refusalOf(tokenWith(`${hsh}:__proto__`), request)?.reason ?? 'good';
    };
    expect([reason('{"__proto__":"v"}'), reason('{}')]).toEqual(['good', 'auth.unauthorized']);
  });

  test('covers a header that the request lacks, and does not say which', () => {
    const request = { method: 'GET', url: '/', body: null, header: (name: string) => (name === 'x-ledger' ? 'a' : '') };
    const { detail } = refusalOf(tokenWith(`${'0'.repeat(64)}:x-ledger,Prefer`), request)!;
    expect(detail).toBe('token covers the header prefer, which the request does not have');
  });

  test('covers names of 1024 characters together, and no more', () => {
    const reason = (length: number) => {
      const name = 'h'.repeat(length);
      const hsh = sha256Hex(canon({ method: 'GET', url: '/', headers: { [name]: 'v' }, body: null }));
      const request = { method: 'GET', url: '/', body: null, header: () => 'v' };
      return refusalOf(tokenWith(`${hsh}:${name}`), request)?.reason ?? 'good';
    };
    expect([reason(1024), reason(1025)]).toEqual(['good', 'auth.unauthorized']);
  });

  test('an empty body counts as none', () => {
    const vector = vectors.hsh.find(({ body }) => body === null)!;
    for (const body of [null, {}, []]) {
      expect(refusalOf(tokenWith(vector.hsh), { ...requestOf(vector), body })).toBeNull();
    }
  });

  test('a token without one says nothing of the request', () => {
    expect(refusalOf(tokenWith(null), requestOf(vectors.hsh[0]!))).toBeNull();
  });

  test.each(['x', '', 'a'.repeat(63), `${'a'.repeat(64)}:`, `${'a'.repeat(64)}:a b`, `${'a'.repeat(64)}:__proto__`])(
    'malformed: %j',
    (hsh) => {
      const refusal = refusalOf(tokenWith(hsh), requestOf(vectors.hsh[0]!));
      expect(refusal?.reason).toBe('auth.unauthorized');
    },
  );

  test('made by the public package for a list request, read from the wire', () => {
    const sdk = createRequire(import.meta.resolve('@minka/ledger-sdk'));
    const axios = sdk('axios') as { create(config: object): { getUri(config: object): string } };
    const client = axios.create({ baseURL: 'http://127.0.0.1:4000/v2' });
    const params = { page: { index: 0, limit: 2 } };
    const sent = client.getUri({ url: '/wallets/tel%3A%2B57/balances', params, paramsSerializer: { dots: true } });
    const { host, pathname, search } = new URL(sent);
    expect(absoluteUrl('', 'http', host, pathname, search.slice(1))).toBe(sent);
  });
});

test.each([
  ['', 'http://h:1/v2/x?a=1'],
  ['https://l.example', 'https://l.example/v2/x?a=1'],
  ['https://l.example/', 'https://l.example/v2/x?a=1'],
  ['https://l.example/api', 'https://l.example/api/v2/x?a=1'],
  ['https://l.example/api/v2', 'https://l.example/api/v2/x?a=1'],
  ['https://l.example/api/v2/', 'https://l.example/api/v2/x?a=1'],
  ['https://l.example/v2', 'https://l.example/v2/x?a=1'],
])('absolute under public URL %s', (publicUrl, expected) => {
  expect(absoluteUrl(publicUrl, 'http', 'h:1', '/v2/x', 'a=1')).toBe(expected);
  expect(absoluteUrl(publicUrl, 'http', 'h:1', '/v2/x', null)).toBe(expected.slice(0, -4));
});

test('a host that is mostly slashes takes no more than a look at each', () => {
  const host = `${'/'.repeat(1_000_000)}h//`;
  expect(absoluteUrl('', 'http', host, '/v2/x', null)).toBe(`http://${host.slice(0, -2)}/v2/x`);
});
