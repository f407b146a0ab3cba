/**
 * Bearer tokens: none is needed in an open ledger, but one that is sent is checked in every part, and only what
 * its owner signed is believed.
 */
import { createHmac, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { canon, type Json, makeKeys, makeToken, type Reply, record, sha256 } from '../support/client.ts';
import { freshLedger, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { head, rawRequest } from '../support/raw.ts';

const keys = makeKeys();
const other = makeKeys();
const { server, client, kit } = await serverOfFile(keys);
const wallet = await kit.wallet();
const signer = unique('signer');
await kit.make('signers', { handle: signer, format: 'ed25519-raw', public: keys.public });

const now = (): number => Math.floor(Date.now() / 1000);
const claims = (more: Json = {}): Json => {
  const all = { iss: 'judge', sub: 'judge', aud: 'main', iat: now(), exp: now() + 240, ...more };
  return JSON.parse(JSON.stringify(all));
};
const withToken = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const ask = (token: string): Promise<Reply> => client.get(`/wallets/${wallet}`, withToken(token));
async function expectRefused(token: string): Promise<void> {
  const reply = await ask(token);
  expect([reply.status, reply.body.data.reason]).toEqual([401, 'auth.unauthorized']);
}
const part = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');

describe('accepted', () => {
  test.each<[string, () => string]>([
    ['a kid that is a raw key', () => makeToken(claims(), keys)],
    ['a raw key nobody registered', () => makeToken(claims(), other)],
    ['a kid that is the handle of a signer', () => makeToken(claims(), keys, { kid: signer })],
    ['a typ', () => makeToken(claims(), keys, { typ: 'JWT' })],
    ['an exp far off, without jti', () => makeToken(claims({ exp: now() + 86_400 }), keys)],
    ['an iat a little ahead', () => makeToken(claims({ iat: now() + 30 }), keys)],
    ['a jti seen for the first time', () => makeToken(claims({ jti: unique('jti') }), keys)],
    ['further claims', () => makeToken(claims({ custom: { a: 1 } }), keys)],
  ])('%s', async (_name, token) => {
    const reply = await ask(token());
    expect(reply.status, reply.text).toBe(200);
  });
  test('for every method', async () => {
    const token = makeToken(claims(), keys);
    const made = await client.post('/wallets', record({ handle: unique('wallet') }, keys), withToken(token));
    expect(made.status, made.text).toBe(201);
    const next = record({ ...made.body.data, custom: {}, parent: made.body.hash }, keys);
    expect((await client.put(`/wallets/${made.body.data.handle}`, next, withToken(token))).status).toBe(200);
    expect((await client.get('/wallets', withToken(token))).status).toBe(200);
  });
  test('in another ledger under its handle', async () => {
    const { there, handle } = await freshLedger(server, keys);
    const fine = withToken(makeToken(claims({ aud: handle }), keys));
    expect((await there.get('/wallets', fine)).status).toBe(200);
    expect((await there.get('/wallets', withToken(makeToken(claims(), keys)))).status).toBe(401);
  });
});

describe('refused, though nothing asks for a token here', () => {
  test.each<[string, () => string]>([
    ['nothing like a token', () => 'nonsense'],
    ['three empty parts', () => '..'],
    ['two parts', () => makeToken(claims(), keys).split('.').slice(0, 2).join('.')],
    ['four parts', () => `${makeToken(claims(), keys)}.x`],
    ['parts that are no JSON', () => 'YQ.YQ.YQ'],
    ['claims that are no object', () => makeToken([], keys)],
    ['alg none without signature', () => `${part({ alg: 'none', kid: keys.public })}.${part(claims())}.`],
    ['alg none with a signature', () => makeToken(claims(), keys, { alg: 'none' })],
    ['alg RS256', () => makeToken(claims(), keys, { alg: 'RS256' })],
    ['no alg', () => makeToken(claims(), keys, { alg: undefined })],
    ['no kid', () => makeToken(claims(), keys, { kid: undefined })],
    ['a kid that is no text', () => makeToken(claims(), keys, { kid: 7 })],
    ['signed by another key', () => makeToken(claims(), other, { kid: keys.public })],
    ['signed by another key than the signer has', () => makeToken(claims(), other, { kid: signer })],
    ['expired', () => makeToken(claims({ iat: now() - 100, exp: now() - 5 }), keys)],
    ['issued in the future', () => makeToken(claims({ iat: now() + 120, exp: now() + 240 }), keys)],
    ['for another ledger', () => makeToken(claims({ aud: 'elsewhere' }), keys)],
    ['no iss', () => makeToken(claims({ iss: undefined }), keys)],
    ['no sub', () => makeToken(claims({ sub: undefined }), keys)],
    ['no aud', () => makeToken(claims({ aud: undefined }), keys)],
    ['no iat', () => makeToken(claims({ iat: undefined }), keys)],
    ['no exp', () => makeToken(claims({ exp: undefined }), keys)],
    ['an exp that is text', () => makeToken(claims({ exp: String(now() + 60) }), keys)],
    ['an exp in milliseconds before now', () => makeToken(claims({ exp: 1 }), keys)],
    [
      'a jti that lives longer than five minutes',
      () => makeToken(claims({ jti: unique('jti'), exp: now() + 400 }), keys),
    ],
    ['an hsh of something else', () => makeToken(claims({ hsh: sha256('x') }), keys)],
    ['an hsh that is none', () => makeToken(claims({ hsh: 'x' }), keys)],
  ])('%s', async (_name, token) => expectRefused(token()));

  test('times in milliseconds, and why is told', async () => {
    const reply = await ask(makeToken(claims({ iat: now() * 1000, exp: now() * 1000 + 60_000 }), keys));
    expect([reply.status, reply.body.data.detail]).toEqual([
      401,
      'token is issued in the future: its times are to be in seconds',
    ]);
  });

  test('HS256 keyed with the public key', async () => {
    const text = `${part({ alg: 'HS256', kid: keys.public })}.${part(claims())}`;
    for (const secret of [keys.public, Buffer.from(keys.public, 'base64')]) {
      await expectRefused(`${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`);
    }
  });
  test('a flipped bit in any part', async () => {
    const token = makeToken(claims({ sub: 'somebody-else' }), keys);
    const [top, middle, end] = token.split('.') as [string, string, string];
    await expectRefused(`${top}.${part(claims({ sub: 'root' }))}.${end}`);
    const bytes = Buffer.from(end, 'base64url');
    bytes[10] = bytes[10]! ^ 1;
    await expectRefused(`${top}.${middle}.${bytes.toString('base64url')}`);
    await expectRefused(`${part({ alg: 'EdDSA', kid: keys.public, x: 1 })}.${middle}.${end}`);
  });
  test('a small-order key, good for every message', async () => {
    const point = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]);
    const text = `${part({ alg: 'EdDSA', kid: point.toString('base64') })}.${part(claims())}`;
    await expectRefused(`${text}.${Buffer.concat([point, Buffer.alloc(32)]).toString('base64url')}`);
  });
  test('a signature over something that is not the token', async () => {
    const [top, middle] = makeToken(claims(), keys).split('.');
    const foreign = sign(null, Buffer.from(`${top}`), keys.key).toString('base64url');
    await expectRefused(`${top}.${middle}.${foreign}`);
  });
  test('a jti for the second time', async () => {
    const token = makeToken(claims({ jti: unique('jti') }), keys);
    expect((await ask(token)).status).toBe(200);
    await expectRefused(token);
  });
  test('a refused create leaves nothing behind', async () => {
    const data = { handle: unique('wallet') };
    const reply = await client.post('/wallets', record(data, keys), withToken('nonsense'));
    expect(reply.status).toBe(401);
    expect((await client.get(`/wallets/${data.handle}`)).status).toBe(404);
  });
});

test('a kid that names no signer is 404', async () => {
  const reply = await ask(makeToken(claims(), keys, { kid: 'nobody' }));
  expect([reply.status, reply.body.data.reason]).toEqual([404, 'record.not-found']);
});

describe('hsh binds a token to one request', () => {
  const hsh = (method: string, path: string, body: Json = null, headers: Json = null): string =>
    sha256(canon({ method, url: server.url + path, headers, body }));
  const send = (claim: string, method: string, path: string, body?: Json, headers: Json = {}): Promise<Reply> =>
    client.call(method, path, body, { ...headers, ...withToken(makeToken(claims({ hsh: claim }), keys)) });

  test('GET with a query', async () => {
    const path = '/wallets?page.index=0&page.limit=2';
    expect((await send(hsh('GET', path), 'GET', path)).status).toBe(200);
    expect((await send(hsh('GET', '/wallets'), 'GET', path)).status).toBe(401);
    expect((await send(hsh('POST', path), 'GET', path)).status).toBe(401);
    expect((await send(hsh('GET', path, {}), 'GET', path)).status).toBe(401);
  });
  test('GET with a query of nothing: a URL that ends in ? was taken for one without', async () => {
    const answers = [
      ['/wallets?', '/wallets?'],
      ['/wallets', '/wallets?'],
      ['/wallets?', '/wallets'],
    ].map(([signed, sent]) => {
      const headers = {
        host: `127.0.0.1:${server.port}`,
        ...withToken(makeToken(claims({ hsh: hsh('GET', signed!) }), keys)),
      };
      return rawRequest(server, [head('GET', `/v2${sent}`, headers)]);
    });
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 401, 401]);
  });
  test('and to the scheme that its client sees, which whoever ends TLS before the server tells', async () => {
    const secure = sha256(
      canon({ method: 'GET', url: `https${server.url.slice(4)}/wallets`, headers: null, body: null }),
    );
    const forwarded = { 'x-forwarded-proto': 'https' };
    expect((await send(secure, 'GET', '/wallets', undefined, forwarded)).status).toBe(200);
    expect((await send(secure, 'GET', '/wallets')).status).toBe(401);
    expect((await send(hsh('GET', '/wallets'), 'GET', '/wallets', undefined, forwarded)).status).toBe(401);
  });
  test('not to what a Host, or a scheme, puts before the path of another request', async () => {
    const url = `http://good/v2/wallets?a=http://x/v2/wallets`;
    const token = withToken(
      makeToken(claims({ hsh: sha256(canon({ method: 'GET', url, headers: null, body: null })) }), keys),
    );
    const answers = [
      { host: 'good/v2/wallets?a=http://x' },
      { host: 'x', 'x-forwarded-proto': 'http://good/v2/wallets?a=http' },
    ].map((headers) => rawRequest(server, [head('GET', '/v2/wallets', { ...headers, ...token })]));
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 401]);
  });
  test('POST with a body', async () => {
    const body = record({ handle: unique('wallet'), custom: { z: 1, a: 'é' } }, keys);
    const changed = record({ handle: unique('wallet') }, keys);
    expect((await send(hsh('POST', '/wallets', body), 'POST', '/wallets', changed)).status).toBe(401);
    const reply = await send(hsh('POST', '/wallets', body), 'POST', '/wallets', body);
    expect(reply.status, reply.text).toBe(201);
  });
  test('protected headers', async () => {
    const path = `/wallets/${wallet}`;
    const one = `${hsh('GET', path, null, { 'x-ledger': 'main' })}:x-ledger`;
    expect((await send(one, 'GET', path, undefined, { 'x-ledger': 'main' })).status).toBe(200);
    expect((await send(one, 'GET', path)).status).toBe(401);
    const two = `${hsh('GET', path, null, { 'x-ledger': 'main', 'x-other': 'b' })}:x-ledger,x-other`;
    expect((await send(two, 'GET', path, undefined, { 'x-ledger': 'main', 'x-other': 'b' })).status).toBe(200);
    expect((await send(two, 'GET', path, undefined, { 'x-ledger': 'main', 'x-other': 'c' })).status).toBe(401);
  });
});
