/**
 * Tokens got with client credentials, from a token endpoint that keeps its word and one that does not.
 */
import { describe, expect, test } from 'vitest';
import type { Answer, Outgoing } from '../../src/effects/outgoing.ts';
import { type SecureRule, Tokens } from '../../src/effects/secure.ts';
import { heldBytes } from '../support/collect.ts';
import { open, type Seen, serve, serveRaw } from './others.ts';

const SECRET = 'open sesame: ñ';

/** A bank that takes any token of its issuer not yet revoked, and the issuer: each token a new one. */
async function openBank(issue: (seen: Seen, nth: number) => { status?: number; body: unknown }) {
  const revoked = new Set<string>();
  const issuer = await serve((seen, response, nth) => {
    const { status = 200, body } = issue(seen, nth);
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body));
  });
  const bank = await serve((seen, response) => {
    const token = seen.headers.authorization ?? '';
    response.writeHead(revoked.has(token) ? 401 : 202).end();
  });
  const rule: SecureRule = {
    schema: 'oauth2',
    tokenUrl: `${issuer.url}/token`,
    clientId: 'ayni',
    clientSecret: SECRET,
  };
  const call = (outgoing: Outgoing, more: Partial<SecureRule> = {}): Promise<Answer> =>
    outgoing.call({ method: 'POST', url: bank.url, body: '{}', secure: [{ ...rule, ...more } as SecureRule] });
  const tokens = () => bank.seen.map((seen) => seen.headers.authorization);
  return { issuer, bank, revoked, rule, call, tokens };
}

const numbered = (_: Seen, nth: number) => ({
  body: { access_token: `t${nth}`, token_type: 'Bearer', expires_in: 3600 },
});

describe('a token', () => {
  test('is asked for with the credentials, once, and used again', async () => {
    const { issuer, call, tokens } = await openBank(numbered);
    const outgoing = open();
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => call(outgoing, { scope: 'debits credits', audience: 'bank' })),
    );
    expect(answers).toEqual(Array(4).fill({ status: 202 }));
    expect(await call(outgoing, { scope: 'debits credits', audience: 'bank' })).toEqual({ status: 202 });
    expect(tokens()).toEqual(Array(5).fill('Bearer t1'));
    expect(issuer.seen).toHaveLength(1);
    const [asked] = issuer.seen;
    expect(asked).toMatchObject({ method: 'POST', url: '/token' });
    expect(asked!.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(asked!.body).toBe('grant_type=client_credentials&scope=debits+credits&audience=bank');
    expect(asked!.headers.authorization).toBe(`Basic ${btoa('ayni:open+sesame%3A+%C3%B1')}`);
  });

  test('is asked for with the credentials in the form where the header is not taken', async () => {
    for (const status of [400, 401]) {
      const { issuer, call } = await openBank((seen, nth) =>
        seen.headers.authorization === undefined ? numbered(seen, nth) : { status, body: {} },
      );
      expect(await call(open())).toEqual({ status: 202 });
      expect(issuer.seen[1]!.body).toBe(
        'grant_type=client_credentials&client_id=ayni&client_secret=open+sesame%3A+%C3%B1',
      );
      expect(issuer.seen).toHaveLength(2);
    }
  });

  test('is one for each rule', async () => {
    const { issuer, call, tokens } = await openBank(numbered);
    const outgoing = open();
    for (const scope of ['a', 'b', 'a']) await call(outgoing, { scope });
    expect(tokens()).toEqual(['Bearer t1', 'Bearer t2', 'Bearer t1']);
    expect(issuer.seen).toHaveLength(2);
  });

  test('that the bank refuses is renewed, and the call made again at once', async () => {
    const { issuer, revoked, call, tokens } = await openBank(numbered);
    const outgoing = open();
    await call(outgoing);
    revoked.add('Bearer t1');
    const answers = await Promise.all([1, 2, 3].map(() => call(outgoing)));
    expect(answers).toEqual(Array(3).fill({ status: 202 }));
    expect(issuer.seen, 'one renewal for all of them').toHaveLength(2);
    expect(tokens().slice(-3)).toEqual(Array(3).fill('Bearer t2'));
  });

  test('that the bank refuses again is not renewed again', async () => {
    const { issuer, bank, revoked, call } = await openBank(numbered);
    for (const nth of [1, 2, 3, 4]) revoked.add(`Bearer t${nth}`);
    expect(await call(open())).toEqual({ status: 401 });
    expect([issuer.seen.length, bank.seen.length]).toEqual([2, 2]);
  });

  test('may be asked for under the name url', async () => {
    const { rule, call } = await openBank(numbered);
    expect(await call(open(), { tokenUrl: undefined, url: rule.tokenUrl })).toEqual({ status: 202 });
  });

  test.each([
    '{"access_token":"t","scope":"a\\\\b","x\\"y":":\\\\"}',
    '{"scope":"\\u005c","access_token":"t","\\u006e":["\\\\:",":"]}',
  ])('may come with a backslash in what is no name: %s', async (body) => {
    const { call, tokens } = await openBank(() => ({ body }));
    expect(await call(open())).toEqual({ status: 202 });
    expect(tokens()).toEqual(['Bearer t']);
  });

  test.each([
    ['is refused', { status: 403, body: { error: SECRET } }, 'token: status 403'],
    ['is refused in both ways', { status: 401, body: { error: SECRET } }, 'token: status 401'],
    ['comes with a redirect', { status: 302, body: '' }, 'token: status 302'],
    ['is no JSON', { body: `token=${SECRET}` }, 'token: the answer holds no bearer token'],
    ['is null', { body: 'null' }, 'token: the answer holds no bearer token'],
    ['is missing', { body: { token: 't' } }, 'token: the answer holds no bearer token'],
    ['is no text', { body: { access_token: 7 } }, 'token: the answer holds no bearer token'],
    ['is empty', { body: { access_token: '' } }, 'token: the answer holds no bearer token'],
    ['carries a line end', { body: { access_token: 't\r\nx-evil: 1' } }, 'token: the answer holds no bearer token'],
    [
      'is of another type',
      { body: { access_token: 't', token_type: 'mac' } },
      'token: the answer holds no bearer token',
    ],
    [
      'has a member named so that JSON.parse spoils what others send',
      { body: '{"access_token":"t","a\\\\":1}' },
      'token: the answer holds no bearer token',
    ],
    [
      'has one, its name in another writing',
      { body: '{"access_token":"t","\\u005C" :1}' },
      'token: the answer holds no bearer token',
    ],
    [
      'is endless',
      { body: { access_token: 't', pad: 'x'.repeat(100_000) } },
      'token: the answer holds no bearer token',
    ],
  ])('that %s: the call fails without a word of the other side', async (_, answer, error) => {
    const { bank, call } = await openBank(() => answer);
    expect(await call(open())).toEqual({ error });
    expect(bank.seen).toEqual([]);
  });

  test('that breaks off is not used, however whole it looks', async () => {
    const { bank, call } = await openBank(numbered);
    const half = await serveRaw((socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"access_token":"t"}');
    });
    expect(await call(open(), { tokenUrl: half.url })).toEqual({ error: 'token: the answer holds no bearer token' });
    expect(bank.seen).toEqual([]);
  });

  test('that does not come in time, or is called off', async () => {
    const issuer = await serve(() => {});
    const secure = [{ schema: 'oauth2', tokenUrl: issuer.url, clientId: 'a', clientSecret: SECRET }];
    const request = { method: 'POST', url: issuer.url, body: '{}', secure };
    const error = expect.stringMatching(/^(token: )?no answer within 200 ms$/);
    expect(await open({ callMsMax: 200 }).call(request)).toEqual({ error });
    const off = new AbortController();
    const called = open().call({ ...request, signal: off.signal });
    setTimeout(() => off.abort(), 50);
    expect(await called).toEqual({ error: 'called off' });
  });

  test('that one call was called off from still reaches the others', async () => {
    const { issuer, bank, rule, call } = await openBank(numbered);
    const outgoing = open();
    const off = new AbortController();
    const secure = [rule];
    const first = outgoing.call({ method: 'POST', url: bank.url, body: '{}', secure, signal: off.signal });
    const second = call(outgoing);
    off.abort();
    expect(await Promise.all([first, second])).toEqual([{ error: 'called off' }, { status: 202 }]);
    expect(issuer.seen).toHaveLength(1);
  });

  test('is fetched along the guarded road', async () => {
    const { issuer, bank, rule } = await openBank(numbered);
    const outgoing = open({ allowPrivate: false, callsAllow: new URL(bank.url).host });
    const answer = await outgoing.call({ method: 'POST', url: bank.url, body: '{}', secure: [rule] });
    expect(answer).toEqual({ error: 'token: address not allowed' });
    expect([issuer.seen, bank.seen]).toEqual([[], []]);
  });

  test.each(['tokenUrl', 'clientId', 'clientSecret'])('without %s: refused', async (member) => {
    const { bank, call } = await openBank(numbered);
    const error = 'secure rule 0 lacks tokenUrl, clientId or clientSecret';
    for (const value of [undefined, '', 7, null]) expect(await call(open(), { [member]: value })).toEqual({ error });
    expect(bank.seen).toEqual([]);
  });
});

describe('the life of a token', () => {
  const credentials = { tokenUrl: 'x', clientId: 'a', clientSecret: 'b', scope: null, audience: null };

  test.each<[unknown, number]>([
    [3600, 3570],
    ['3600', 3570],
    [60, 54],
    [1, 0.9],
    [undefined, 270],
    [1e12, 86_370],
    [0, 0],
    [-5, 0],
    ['never', 0],
    [null, 0],
    [[3600], 0],
    [{ valueOf: 3600, toString: 3600 }, 0],
  ])('expires_in %j: used for %d seconds', async (expires_in, seconds) => {
    let now = 1_000_000;
    let fetched = 0;
    const answer = () => ({ status: 200, text: JSON.stringify({ access_token: `t${++fetched}`, expires_in }) });
    const tokens = new Tokens(
      async () => answer(),
      () => now,
    );
    expect(await tokens.get(credentials, 'ana')).toEqual({ token: 't1' });
    now += Math.max(0, seconds * 1000 - 1);
    expect(await tokens.get(credentials, 'ana')).toEqual({ token: seconds === 0 ? 't2' : 't1' });
    now += 1;
    expect(await tokens.get(credentials, 'ana')).toEqual({ token: seconds === 0 ? 't3' : 't2' });
  });

  test('those least used are forgotten', async () => {
    let fetched = 0;
    const tokens = new Tokens(
      async () => ({ status: 200, text: `{"access_token":"t${++fetched}"}` }),
      () => 0,
    );
    for (let i = 0; i < 1_000; i++) await tokens.get({ ...credentials, clientId: `${i}` }, 'ana');
    expect(await tokens.get({ ...credentials, clientId: '0' }, 'ana')).toEqual({ token: 't1' });
    await tokens.get({ ...credentials, clientId: 'one more' }, 'ana');
    expect(await tokens.get({ ...credentials, clientId: '0' }, 'ana')).toEqual({ token: 't1' });
    expect(await tokens.get({ ...credentials, clientId: '1' }, 'ana')).toEqual({ token: 't1002' });
  });

  test('of rules of a megabyte a token and no more is held', async () => {
    const tokens = new Tokens(
      async () => ({ status: 200, text: '{"access_token":"t"}' }),
      () => 0,
    );
    const before = heldBytes();
    for (let i = 0; i < 40; i++) {
      await tokens.get({ ...credentials, clientSecret: `${i}`.padEnd(1_000_000, 'x') }, 'ana');
    }
    expect(heldBytes() - before).toBeLessThan(10e6);
  });
});
