/**
 * Every refusal that can be met from outside: its status, its one reason, its envelope. That an error is hashed,
 * signed and shows nothing of the inside is checked on every answer by the client.
 */
import { describe, expect, test } from 'vitest';
import { hashOf, type Json, makeKeys, type Reply, record } from '../support/client.ts';
import { MOMENT, pause, reasonOf, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { head, rawRequest } from '../support/raw.ts';

const keys = makeKeys();
const BODY_MAX = 1024 * 1024;

const { server, client, kit } = await serverOfFile(keys);

describe('the error envelope', () => {
  test('hash over data, reason, detail, one proof of the server with a moment', async () => {
    const { status, body } = await client.get('/wallets/nobody');
    expect(status).toBe(404);
    expect(body.hash).toBe(hashOf(body.data));
    expect(body.data).toMatchObject({ reason: 'record.not-found', detail: expect.any(String) });
    expect(body.meta.proofs).toHaveLength(1);
    expect(body.meta.proofs[0].public).toBe(server.publicKey);
    expect(body.meta.proofs[0].custom.moment).toMatch(MOMENT);
    expect(body.meta.moment).toMatch(MOMENT);
  });
});

describe('400 api.body-malformed', () => {
  const malformed = [
    '',
    ' ',
    '{',
    '}',
    '[',
    '{"hash":}',
    '{"hash":1,}',
    "{'hash':1}",
    '{hash:1}',
    '{"a":01}',
    '{"a":+1}',
    '{"a":.5}',
    '{"a":1.}',
    '{"a":NaN}',
    '{"a":Infinity}',
    '{"a":"\n"}',
    '{"a":"\\x"}',
    '{"a":"\\u12"}',
    '{"a":1}{"b":2}',
    '{"a":1} x',
    '{"a":1 // no\n}',
    '[1,]',
    'undefined',
    'nul',
    '"open',
    '{"a" 1}',
  ];
  test.each(malformed)('%j', async (body) => {
    expect(reasonOf(await client.post('/wallets', body))).toEqual([400, 'api.body-malformed']);
    expect(reasonOf(await client.post('/intents', body))).toEqual([400, 'api.body-malformed']);
  });
  test.each<[string, number[]]>([
    ['a lone continuation byte', [0x80]],
    ['a byte that never occurs', [0xff]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['a surrogate', [0xed, 0xa0, 0x80]],
    ['a cut sequence', [0xe2, 0x82]],
    ['beyond the last code point', [0xf4, 0x90, 0x80, 0x80]],
  ])('not UTF-8: %s', async (_name, bytes) => {
    const body = Buffer.concat([Buffer.from('{"hash":"'), Buffer.from(bytes), Buffer.from('"}')]);
    expect(reasonOf(await client.post('/wallets', body))).toEqual([400, 'api.body-malformed']);
  });
  test.each(['[', '{"a":'])('nested without end: %s', async (opening) => {
    expect(reasonOf(await client.post('/wallets', opening.repeat(100_000)))).toEqual([400, 'api.body-malformed']);
  });
  const nested = (depth: number): Json => {
    let value: Json = 1;
    for (let n = 0; n < depth; n += 1) value = n % 2 ? [value] : { a: value };
    return value;
  };
  test('nested deeper than 64', async () => {
    const deep = record({ handle: unique('wallet'), custom: { a: nested(66) } }, keys);
    expect(reasonOf(await client.post('/wallets', deep))).toEqual([400, 'api.body-malformed']);
  });
  test('nested less deep is fine', async () => {
    const deep = record({ handle: unique('wallet'), custom: { a: nested(58) } }, keys);
    expect((await client.post('/wallets', deep)).status).toBe(201);
  });
  test('braces inside strings are not nesting', async () => {
    const flat = record({ handle: unique('wallet'), custom: { a: `${'[{"\\'.repeat(200)}` } }, keys);
    expect((await client.post('/wallets', flat)).status).toBe(201);
  });
  test('on PUT, DELETE and the proofs of a record as well', async () => {
    const handle = await kit.wallet();
    for (const [method, path] of [
      ['PUT', `/wallets/${handle}`],
      ['DELETE', `/wallets/${handle}`],
      ['POST', `/wallets/${handle}/drop`],
      ['POST', `/wallets/${handle}/proofs`],
    ]) {
      expect(reasonOf(await client.call(method!, path!, '{'))).toEqual([400, 'api.body-malformed']);
    }
  });
});

describe('413 for a body beyond 1 MiB', () => {
  /** A true wallet whose body has exactly so many bytes. */
  function sized(bytes: number): string {
    const make = (fill: number): string =>
      JSON.stringify(record({ handle: `big-${bytes}`, custom: { fill: 'x'.repeat(fill) } }, keys));
    const body = make(bytes - make(0).length);
    expect(body.length).toBe(bytes);
    return body;
  }
  const post = (length: string | number, ...parts: string[]): Promise<Reply> =>
    rawRequest(server, [head('POST', '/v2/wallets', { 'content-length': length }), ...parts]);

  test('exactly 1 MiB is taken', async () => {
    const reply = await post(BODY_MAX, sized(BODY_MAX));
    expect(reply.status, reply.text.slice(0, 300)).toBe(201);
  });
  test.each([BODY_MAX + 1, 3 * BODY_MAX])('%i bytes are not', async (bytes) => {
    expect(reasonOf(await post(bytes, sized(bytes)))).toEqual([413, 'api.body-malformed']);
    expect((await client.get(`/wallets/big-${bytes}`)).status).toBe(404);
  });
  test('neither in chunks without a length', async () => {
    const parts = Array.from({ length: 40 }, () => `10000\r\n${'x'.repeat(0x10000)}\r\n`);
    const start = head('POST', '/v2/wallets', { 'transfer-encoding': 'chunked' });
    const reply = await rawRequest(server, [start, ...parts, '0\r\n\r\n']);
    expect(reasonOf(reply)).toEqual([413, 'api.body-malformed']);
  });
  test('a body in several pieces is one body', async () => {
    const body = JSON.stringify(record({ handle: unique('wallet'), custom: { a: 'é😀'.repeat(50) } }, keys));
    const bytes = Buffer.from(body);
    const pieces = Array.from({ length: bytes.length }, (_, n) => bytes.subarray(n, n + 1));
    const start = head('POST', '/v2/wallets', { 'content-length': bytes.length });
    expect((await rawRequest(server, [start, ...pieces])).status).toBe(201);
  });
  test('the server lives on', async () => expect((await client.get('')).status).toBe(200));
});

describe('404 api.route-not-found', () => {
  test.each([
    '/nope',
    '/wallets/a/nope',
    '/wallets/a/anchors/b',
    '/wallet',
    '/Wallets',
    '/intents/a/balances',
    '/symbols/a/anchors',
    '/__proto__',
    '/constructor',
    '/wallets/a/constructor',
  ])('GET /v2%s', async (path) => {
    expect(reasonOf(await client.get(path))).toEqual([404, 'api.route-not-found']);
  });
  test.each(['/nope', '/wallets/a/nope'])('POST /v2%s', async (path) => {
    expect(reasonOf(await client.post(path, record({}, keys)))).toEqual([404, 'api.route-not-found']);
  });
  test.each(['/', '/v1/wallets', '/v3', '/wallets'])('outside /v2: %s', async (path) => {
    expect(reasonOf(await rawRequest(server, [head('GET', path, {})]))).toEqual([404, 'api.route-not-found']);
  });
});

describe('405 with Allow', () => {
  const table: [string, string, string[]][] = [
    ['DELETE', '/wallets', ['GET', 'POST']],
    ['PUT', '/wallets', ['GET', 'POST']],
    ['PATCH', '/anchors', ['GET', 'POST']],
    ['PUT', '/intents', ['GET', 'POST']],
    ['PATCH', '/wallets/a', ['GET', 'PUT', 'DELETE']],
    ['POST', '/wallets/a', ['GET', 'PUT', 'DELETE']],
    ['POST', '/effects/a', ['GET', 'PUT', 'DELETE']],
    ['PUT', '/intents/a', ['GET']],
    ['DELETE', '/intents/a', ['GET']],
    ['DELETE', '/symbols/a', ['GET', 'PUT']],
    ['DELETE', '/signers/a', ['GET', 'PUT']],
    ['DELETE', '/ledgers/a', ['GET', 'PUT']],
    ['POST', '/wallets/a/balances', ['GET']],
    ['POST', '/wallets/a/anchors', ['GET']],
    ['PUT', '/wallets/a/limits', ['GET']],
    ['DELETE', '/wallets/a/changes', ['GET']],
    ['GET', '/wallets/a/proofs', ['POST']],
    ['GET', '/wallets/a/drop', ['POST']],
    ['GET', '/intents/a/sign', ['POST']],
    ['DELETE', '/ledger', ['GET', 'PUT']],
    ['POST', '', ['GET']],
  ];
  test.each(table)('%s %s', async (method, path, allowed) => {
    const reply = await client.call(method, path, method === 'GET' ? undefined : record({}, keys));
    expect(reasonOf(reply)).toEqual([405, 'api.route-not-found']);
    const allow = (reply.headers.get('allow') ?? '').split(/\s*,\s*/);
    expect(allow).toEqual(expect.arrayContaining(allowed));
    expect(allow).not.toContain(method);
  });
});

describe('OPTIONS names the methods that there are, and those alone', () => {
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH'];
  test.each([
    '',
    '/head',
    '/events',
    '/wallets',
    '/wallets/a',
    '/intents/a',
    '/symbols/a',
    '/wallets/a/balances',
    '/wallets/a/proofs',
    '/bridges/a/activate',
    '/circles/a/signers',
    '/circles/a/signers/b',
    '/ledger',
  ])('at %s: all were said to be, at each path', async (path) => {
    const reply = await client.call('OPTIONS', path);
    expect([reply.status, reply.text]).toEqual([204, '']);
    const allow = (reply.headers.get('allow') ?? '').split(', ');
    expect(allow).toContain('OPTIONS');
    for (const method of METHODS) {
      const { status } = await fetch(client.url + path, { method });
      expect([method, status === 405]).toEqual([method, !allow.includes(method)]);
    }
    const other = await client.call('PATCH', path);
    expect([other.status, other.headers.get('allow')]).toEqual([405, reply.headers.get('allow')]);
  });
  test('404 where there is nothing', async () => {
    expect(reasonOf(await client.call('OPTIONS', '/nothing'))).toEqual([404, 'api.route-not-found']);
  });
});

describe('422 record.schema-invalid', () => {
  const good = (): Json => record({ handle: unique('wallet') }, keys);
  const table: [string, (body: Json) => Json][] = [
    ['null', () => null],
    ['an array', () => []],
    ['a string', () => '"text"'],
    ['a number', () => '7'],
    ['an empty object', () => ({})],
    ['no data', ({ data: _, ...body }) => body],
    ['data that is no object', (body) => ({ ...body, data: [] })],
    ['no meta', ({ meta: _, ...body }) => body],
    ['a luid that is none', (body) => ({ ...body, luid: 7 })],
  ];
  test.each(table)('%s, with errors that say where', async (_name, change) => {
    const reply = await client.post('/wallets', change(good()));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
    const { errors } = reply.body.data.custom;
    expect(errors.length).toBeGreaterThan(0);
    for (const one of errors) {
      expect(one).toEqual({
        instancePath: expect.any(String),
        schemaPath: expect.any(String),
        keyword: expect.any(String),
        params: expect.any(Object),
        message: expect.any(String),
      });
    }
  });
  test.each(['%', '%zz', '%E0%A4%A', 'a%2', '%C3', 'a%20b', '%C3%B1'])(
    'an id that is neither handle nor luid: %s',
    async (id) => {
      for (const path of [
        `/wallets/${id}`,
        `/intents/${id}`,
        `/ledgers/${id}`,
        `/wallets/${id}/balances`,
        `/effects/${id}/changes/1`,
      ]) {
        const reply = await client.get(path);
        expect([path, ...reasonOf(reply)]).toEqual([path, 422, 'record.schema-invalid']);
        expect(reply.body.data.custom.errors).toHaveLength(1);
      }
    },
  );
  test('a thousand mistakes do not make an endless answer', async () => {
    const claims = Array.from({ length: 5000 }, () => ({ action: 'issue' }));
    const reply = await client.post('/intents', record({ handle: unique('intent'), claims }, keys));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
    expect(reply.text.length).toBeLessThan(BODY_MAX);
  });
});

describe('other clients are unharmed', () => {
  test('by one that goes away before its answer', async () => {
    const handle = unique('wallet');
    const body = JSON.stringify(record({ handle }, keys));
    const start = head('POST', '/v2/wallets', { 'content-length': body.length });
    for (const parts of [[start], [start, body.slice(0, 20)], [start, body]]) {
      const lost = rawRequest(server, parts).catch(() => undefined);
      await Promise.race([lost, pause(50)]);
    }
    expect((await client.get('')).status).toBe(200);
    const reply = await client.post('/wallets', body);
    expect([201, 409]).toContain(reply.status);
  });
});
