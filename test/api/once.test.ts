/**
 * A token good only once is good only once, after a restart too: it is written down when it is used, which the disk and a
 * table have to bear. So it is written down for whoever may come in, by the token or by what was signed beside it; strangers
 * leave no trace by sending some.
 */
import { describe, expect, test } from 'vitest';
import { bearer, connect, type Json, type Keys, makeKeys, proof, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { freshLedger, openLedger, reasonOf, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { serverOfTest } from '../support/of-test.ts';

const owner = makeKeys();
const anna = makeKeys();
const ben = makeKeys();
const stranger = makeKeys();

const { server, client } = await serverOfFile();

const FORBIDDEN = [403, 'auth.forbidden'];
const USED_UP = [401, 'auth.unauthorized'];
const everything = { action: 'any', record: 'any' };
const byToken = ({ public: key }: Keys) => ({ $signer: { public: key } });
const bySignature = ({ public: key }: Keys) => ({ public: key });
const wallet = (...keys: Keys[]) => record({ handle: unique('wallet') }, keys);
const seq = async (): Promise<number> => (await client.get('/head')).body.data.seq;

/** A ledger under these rules, where the owner's signature does everything. */
async function ledgerWith(...rules: Json[]) {
  const access = [...rules, { ...everything, signer: bySignature(owner) }];
  const { handle } = (await openLedger(client, owner, { access })).data;
  const there = connect(server, { 'x-ledger': handle });
  const once = (keys: Keys) => bearer(keys, handle, { jti: unique('jti') });
  return { there, once };
}

describe('a token good only once', () => {
  test('is used up by a read, by a write, by a refused write, and after a restart', async () => {
    const directory = freshDirectory();
    let own = await serverOfTest({ directory, flags: ['--snapshot-every', '5'] });
    const used: Record<string, string>[] = [];
    const once = (): Record<string, string> => {
      const token = bearer(anna, 'main', { jti: unique('jti') });
      used.push(token);
      return token;
    };
    const send = () => connect(own);
    expect((await send().get('/wallets', once())).status).toBe(200);
    expect((await send().post('/wallets', record({ handle: 'w' }, anna), once())).status).toBe(201);
    expect((await send().post('/wallets', record({ handle: 'w' }, anna), once())).status).toBe(409);
    for (const token of used) expect(reasonOf(await send().get('/wallets', token))).toEqual([401, 'auth.unauthorized']);
    for (let n = 0; n < 8; n++) await send().post('/wallets', record({ handle: `w${n}` }, anna));
    await own.kill();
    own = await serverOfTest({ directory });
    for (const token of used) expect(reasonOf(await send().get('/wallets', token))).toEqual([401, 'auth.unauthorized']);
    expect((await send().get('/wallets', once())).status).toBe(200);
  });
  test('of two that race, one gets through', async () => {
    const token = bearer(anna, 'main', { jti: unique('jti') });
    const replies = await Promise.all(Array.from({ length: 8 }, () => client.get('/wallets', token)));
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, ...Array(7).fill(401)]);
  });
  test('a jti of one key is not that of another, nor of another ledger', async () => {
    const jti = unique('jti');
    const { there, handle } = await freshLedger(server, owner);
    expect((await client.get('/wallets', bearer(anna, 'main', { jti }))).status).toBe(200);
    expect((await client.get('/wallets', bearer(ben, 'main', { jti }))).status).toBe(200);
    expect((await there.get('/wallets', bearer(anna, handle, { jti }))).status).toBe(200);
    expect((await client.get('/wallets', bearer(anna, 'main', { jti, sub: 'another' }))).status).toBe(401);
  });
});

describe('before a closed gate', () => {
  test('whatever a stranger asks for with such tokens is refused, and leaves no trace', async () => {
    const { there, once } = await ledgerWith();
    await there.post('/wallets', record({ handle: 'w' }, owner));
    const before = await seq();
    const asks: [string, string, Json?][] = [
      ['GET', '/wallets'],
      ['GET', '/wallets/w'],
      ['GET', '/wallets/nobody/balances'],
      ['GET', '/events'],
      ['GET', '/ledger'],
      ['PUT', '/ledger', record({ handle: 'w', parent: '0'.repeat(64) }, stranger)],
      ['POST', '/wallets', wallet(stranger)],
      ['POST', '/intents', record({ handle: unique('intent'), claims: [] }, stranger)],
      ['PUT', '/wallets/w', record({ handle: 'w', parent: '0'.repeat(64) }, stranger)],
      ['DELETE', '/wallets/w', record({ parent: '0'.repeat(64) }, stranger)],
      ['POST', '/wallets/w/proofs', proof('0'.repeat(64), stranger)],
      ['POST', '/wallets/w/access/!check', record({ action: 'read' }, stranger)],
      ['POST', '/circles/c/signers', record({ circle: 'c', signer: 's' }, stranger)],
      ['POST', '/bridges/b/activate'],
      ['POST', '/bridges/b/activate', record({ action: 'activate' }, stranger)],
    ];
    for (const [method, path, body] of asks) {
      const reply = await there.call(method, path, body, once(stranger));
      if (path !== '/intents') expect(reasonOf(reply), `${method} ${path}`).toEqual(FORBIDDEN);
    }
    expect(await seq()).toBe(before);
  });
  test('nor does a body that claims to be signed by one who may', async () => {
    const { there, once } = await ledgerWith();
    const before = await seq();
    const forged = wallet(owner);
    const result = Buffer.from(forged.meta.proofs[0].result, 'base64');
    result[7]! ^= 1;
    forged.meta.proofs[0].result = result.toString('base64');
    const reply = await there.post('/wallets', forged, once(stranger));
    expect(reasonOf(reply)).toEqual([422, 'crypto.signature-invalid']);
    expect(await seq()).toBe(before);
  });
  test('nor does what a ledger has nothing to do with', async () => {
    const { there, once } = await ledgerWith();
    const before = await seq();
    expect((await there.get('/ledgers', once(stranger))).status).toBe(200);
    expect((await there.get('/ledgers/nobody', once(stranger))).status).toBe(404);
    const change = record({ handle: 'nobody', parent: '0'.repeat(64) }, stranger);
    expect((await there.put('/ledgers/nobody', change, once(stranger))).status).toBe(404);
    expect(await seq()).toBe(before);
  });
  test('nor is it heard where it leaves none: what it opens beside the ledger it would open as often as it is sent', async () => {
    const rules = [
      { action: 'access' },
      { action: 'create', record: 'ledger' },
      { action: 'read', record: 'ledger', bearer: byToken(anna) },
    ];
    const own = await serverOfTest({ flags: ['--access-rules', JSON.stringify(rules)] });
    const shut = (await openLedger(connect(own), owner, { access: [] })).data.handle;
    const access = [{ action: 'access', record: 'any' }];
    const other = (await openLedger(connect(own), owner, { access })).data.handle;
    const shown = async (token: Record<string, string>): Promise<string[]> => {
      const list = await connect(own, { 'x-ledger': shut }).get('/ledgers', token);
      return list.body.data.map(({ data }: Json): string => data.handle);
    };
    expect(await shown(bearer(anna, shut))).toContain(other);
    expect(await shown(bearer(anna, shut, { jti: unique('jti') }))).not.toContain(other);
  });
  test('what is open to all is open with such a token too', async () => {
    const { there, once } = await ledgerWith();
    expect((await there.get('', once(stranger))).status).toBe(200);
    expect((await there.get('/head', once(stranger))).status).toBe(200);
  });
});

describe('whoever may come in uses the token up', () => {
  test('by the token alone, though the request is refused', async () => {
    const { there, once } = await ledgerWith({ action: 'access', record: 'any', bearer: byToken(anna) });
    const token = once(anna);
    expect(reasonOf(await there.post('/wallets', wallet(stranger), token))).toEqual(FORBIDDEN);
    expect(reasonOf(await there.get('/wallets', token))).toEqual(USED_UP);
  });
  test('by what is signed beside it', async () => {
    const { there, once } = await ledgerWith();
    const token = once(stranger);
    expect((await there.post('/wallets', wallet(owner), token)).status).toBe(201);
    expect(reasonOf(await there.post('/wallets', wallet(owner), token))).toEqual(USED_UP);
    expect(reasonOf(await there.get('/wallets', token))).toEqual(USED_UP);
  });
  test('and hears of nothing else once it is used: neither of the body nor of the id', async () => {
    const { there, once } = await ledgerWith({ action: 'access', record: 'any', bearer: byToken(anna) });
    const token = once(anna);
    await there.get('/wallets', token);
    for (const [method, path, body] of [
      ['POST', '/wallets', '{'],
      ['POST', '/wallets', {}],
      ['GET', '/wallets/%20', undefined],
    ] as const) {
      expect(reasonOf(await there.call(method, path, body, token)), `${method} ${path}`).toEqual(USED_UP);
    }
  });
  test('by both together, also where requests with it race', async () => {
    const both = { ...everything, signer: bySignature(ben), bearer: byToken(anna) };
    const { there, once } = await ledgerWith(both);
    const token = once(anna);
    const replies = await Promise.all(Array.from({ length: 8 }, () => there.post('/wallets', wallet(ben), token)));
    expect(replies.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(401)]);
    expect((await there.post('/wallets', wallet(ben), once(anna))).status).toBe(201);
    expect(reasonOf(await there.post('/wallets', wallet(ben), once(ben)))).toEqual(FORBIDDEN);
  });
  test('to prove, to change, to drop, to ask, to join: each with a token of its own, once', async () => {
    const both = { ...everything, signer: bySignature(ben), bearer: byToken(anna) };
    const { there, once } = await ledgerWith(both);
    const old = wallet(ben);
    const path = `/wallets/${old.data.handle}`;
    const next = record({ ...old.data, custom: { a: 1 }, parent: old.hash }, ben);
    const asks: [string, string, Json, number][] = [
      ['POST', '/wallets', old, 201],
      ['POST', `${path}/proofs`, proof(old.hash, ben, { status: 'active' }), 200],
      ['POST', `${path}/access/!check`, record({ action: 'read' }, ben), 200],
      ['PUT', path, next, 200],
      ['DELETE', path, record({ parent: next.hash }, ben), 204],
      ['POST', '/circles', record({ handle: 'c' }, ben), 201],
      ['POST', '/signers', record({ handle: 's', format: 'ed25519-raw', public: ben.public }, ben), 201],
      ['POST', '/circles/c/signers', record({ circle: 'c', signer: 's' }, ben), 200],
      ['DELETE', '/circles/c/signers/s', record({ circle: 'c', signer: 's' }, ben), 204],
    ];
    for (const [method, where, body, status] of asks) {
      const token = once(anna);
      const first = await there.call(method, where, body, token);
      expect(first.status, `${method} ${where} ${first.text}`).toBe(status);
      expect(reasonOf(await there.call(method, where, body, token)), `${method} ${where}`).toEqual(USED_UP);
    }
  });
});
