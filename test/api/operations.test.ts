/**
 * The eleven operations of the ledger service, to the letter: paths, members, statuses, the proofs that come
 * back, what is not there, and what may not be there twice.
 */
import { describe, expect, test } from 'vitest';
import { connect, hashOf, type Json, makeKeys, record } from '../support/client.ts';
import {
  HASH,
  issue,
  luidOf,
  MOMENT,
  makeKit,
  openLedger,
  segment,
  statuses,
  transfer,
  unique,
} from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();
const { server, client, kit } = await serverOfFile(keys);
const usd = await kit.symbol();
const alice = await kit.wallet({ custom: { name: 'Alice' }, schema: 'user-wallet' });
const bob = await kit.wallet({ schema: 'bank-wallet' });

const anchorData = (more: Json = {}): Json => ({
  handle: unique('anchor'),
  wallet: alice,
  target: bob,
  symbol: usd,
  custom: { name: 'Alice', idType: 'cc', idNumber: '1', entityType: 'person', status: 'ok', lastUpdated: '2026-01-01' },
  access: [
    { action: 'any', signer: { public: keys.public } },
    { action: 'read', bearer: { $signer: { $record: 'owner' } } },
  ],
  ...more,
});
const effectData = (more: Json = {}): Json => ({
  handle: unique('effect'),
  signal: 'signer-updated',
  filter: { 'signer.data.schema': 'nobody', 'signer.meta.status': 'created' },
  action: { bridge: 'no-bridge-at-all', schema: 'rest' },
  ...more,
});

/** An effect needs a bridge to name. */
async function makeEffect(): Promise<Json> {
  const handle = unique('bridge');
  await kit.make('bridges', { handle, schema: 'rest', config: { server: 'http://127.0.0.1:9' } });
  return kit.make('effects', effectData({ action: { bridge: handle, schema: 'rest' } }));
}

function expectStored(stored: Json, prefix: string, status: string): void {
  expect(stored.hash).toMatch(HASH);
  expect(stored.luid).toMatch(luidOf(prefix));
  expect(stored.meta.status).toBe(status);
  expect(stored.meta.moment).toMatch(MOMENT);
  expect(stored.meta.owners).toEqual([keys.public]);
  expect(stored.meta.proofs.length).toBeGreaterThanOrEqual(2);
  for (const one of stored.meta.proofs) {
    expect(one.method).toBe('ed25519-v2');
    expect(one.digest).toMatch(HASH);
  }
}

function expectEnvelope(body: Json): void {
  expect(body.hash).toBe(hashOf(body.data));
  expect(body.meta.moment).toMatch(MOMENT);
  expect(Array.isArray(body.data)).toBe(true);
  expect(body.page).toMatchObject({ index: 0, limit: 20 });
}

describe('1 GET /wallets', () => {
  test('a signed envelope of wallet records', async () => {
    const reply = await client.get('/wallets');
    expect(reply.status).toBe(200);
    expectEnvelope(reply.body);
    const found = reply.body.data.find((one: Json) => one.data.handle === alice);
    expectStored(found, 'wlt', 'created');
  });
  test('page.index and page.limit come back as integers', async () => {
    const reply = await client.get('/wallets?page.index=1&page.limit=1');
    expect(reply.body.page).toMatchObject({ index: 1, limit: 1 });
    expect(reply.body.data).toHaveLength(1);
  });
  test('a base filter narrows it', async () => {
    const reply = await client.get(`/wallets?filter.data.handle=${alice}`);
    expect(reply.body.data.map((one: Json) => one.data.handle)).toEqual([alice]);
  });
});

describe('2 GET /wallets/{id}', () => {
  test('by address and by luid, the same record', async () => {
    const byHandle = await client.get(`/wallets/${alice}`);
    expect(byHandle.status).toBe(200);
    expectStored(byHandle.body, 'wlt', 'created');
    expect(byHandle.body.data).toEqual({ handle: alice, schema: 'user-wallet', custom: { name: 'Alice' } });
    const byLuid = await client.get(`/wallets/${segment(byHandle.body.luid)}`);
    expect(byLuid.status).toBe(200);
    expect(byLuid.body).toEqual(byHandle.body);
    const bare = await client.get(`/wallets/${byHandle.body.luid}`);
    expect(bare.body).toEqual(byHandle.body);
  });
  test.each(['nobody', 'svgs:nobody@bank', '$wlt.AAAAAAAAAAAAAAAAA'])('404 for %s', async (id) => {
    const reply = await client.get(`/wallets/${segment(id)}`);
    expect(reply.status).toBe(404);
    expect(reply.body.data.reason).toBe('record.not-found');
  });
  test('an optional token and an optional ledger header change nothing', async () => {
    const plain = await client.get(`/wallets/${alice}`);
    const named = await client.get(`/wallets/${alice}`, { 'x-ledger': 'main' });
    expect(named.body).toEqual(plain.body);
  });
});

describe('3 GET /wallets/{id}/anchors', () => {
  test('the anchors of that wallet, without page', async () => {
    const wallet = await kit.wallet();
    const other = await kit.wallet();
    const first = await kit.make('anchors', anchorData({ wallet }));
    const second = await kit.make('anchors', anchorData({ wallet }));
    await kit.make('anchors', anchorData({ wallet: other }));
    const reply = await client.get(`/wallets/${wallet}/anchors`);
    expect(reply.status).toBe(200);
    expect(reply.body).not.toHaveProperty('page');
    expect(reply.body.meta.moment).toMatch(MOMENT);
    const luids = reply.body.data.map((one: Json) => one.luid);
    expect(luids.sort()).toEqual([first.luid, second.luid].sort());
    for (const one of reply.body.data) expectStored(one, 'anc', 'created');
  });
  test('by luid of the wallet too', async () => {
    const wallet = await kit.wallet();
    const anchor = await kit.make('anchors', anchorData({ wallet }));
    const { luid } = (await client.get(`/wallets/${wallet}`)).body;
    const reply = await client.get(`/wallets/${segment(luid)}/anchors`);
    expect(reply.body.data.map((one: Json) => one.luid)).toEqual([anchor.luid]);
  });
  test('an empty array for a wallet without anchors, 404 for a wallet that is not there', async () => {
    const wallet = await kit.wallet();
    const empty = await client.get(`/wallets/${wallet}/anchors`);
    expect([empty.status, empty.body.data]).toEqual([200, []]);
    const reply = await client.get('/wallets/nobody/anchors');
    expect([reply.status, reply.body.data.reason]).toEqual([404, 'record.not-found']);
  });
});

describe('4 GET /anchors', () => {
  test('a signed envelope of anchor records', async () => {
    const anchor = await kit.make('anchors', anchorData());
    const reply = await client.get('/anchors');
    expect(reply.status).toBe(200);
    expectEnvelope(reply.body);
    expect(reply.body.data[0]).toEqual(anchor);
  });
});

describe('5 POST /anchors', () => {
  test('201, created, the client proof untouched, then the proof of the server with the luid', async () => {
    const body = record(anchorData(), keys, [
      { moment: '2026-01-02T03:04:05.678Z', operation: 'connection', x: [1, 'é'] },
    ]);
    const { status, body: stored } = await client.post('/anchors', body);
    expect(status).toBe(201);
    expectStored(stored, 'anc', 'created');
    expect(stored.hash).toBe(body.hash);
    expect(stored.data).toEqual(body.data);
    expect(stored.meta.proofs).toHaveLength(2);
    expect(stored.meta.proofs[0]).toEqual(body.meta.proofs[0]);
    expect(stored.meta.proofs[1].public).toBe(server.publicKey);
    expect(stored.meta.proofs[1].custom).toEqual({ luid: stored.luid, moment: stored.meta.moment, status: 'created' });
    expect((await client.get(`/anchors/${stored.data.handle}`)).body).toEqual(stored);
  });
  test('several signers are all kept in order and all own it', async () => {
    const second = makeKeys();
    const body = record(anchorData({ access: [] }), [second, keys], [{ n: 1 }, { n: 2 }]);
    const { body: stored } = await client.post('/anchors', body);
    expect(stored.meta.proofs.slice(0, 2)).toEqual(body.meta.proofs);
    expect([...stored.meta.owners].sort()).toEqual([second.public, keys.public].sort());
  });
  test('members of meta that belong to the server are ignored', async () => {
    const body = record(anchorData(), keys);
    const forged = {
      status: 'connected',
      moment: '2001-01-01T00:00:00.000Z',
      owners: ['x'],
      thread: 'y',
      labels: ['z'],
    };
    const { status, body: stored } = await client.post('/anchors', { ...body, meta: { ...body.meta, ...forged } });
    expect(status).toBe(201);
    expectStored(stored, 'anc', 'created');
    expect(stored.meta.moment.slice(0, 4)).not.toBe('2001');
    expect(stored.meta).not.toHaveProperty('thread');
  });
  test('a handle that exists is 409 and names the record that has it', async () => {
    const first = await kit.make('anchors', anchorData());
    const again = await client.post('/anchors', record(anchorData({ handle: first.data.handle, custom: {} }), keys));
    expect([again.status, again.body.data.reason]).toEqual([409, 'record.duplicated']);
    expect(again.body.data.custom).toMatchObject({ luid: first.luid, hash: first.hash });
  });
});

describe('6 PUT /anchors/{id}', () => {
  test('created stays created, the data is new, a proof of the server is appended', async () => {
    const old = await kit.make('anchors', anchorData());
    const data = { ...old.data, custom: { name: 'changed' }, parent: old.hash };
    const body = { luid: old.luid, ...record(data, keys, [{ moment: new Date().toISOString() }]) };
    const { status, body: stored } = await client.put(`/anchors/${old.data.handle}`, body);
    expect(status).toBe(200);
    expectStored(stored, 'anc', 'created');
    expect(stored.luid).toBe(old.luid);
    expect(stored.hash).toBe(body.hash);
    expect(stored.data).toEqual(data);
    expect(stored.meta.proofs).toHaveLength(2);
    expect(stored.meta.proofs[0]).toEqual(body.meta.proofs[0]);
    expect(stored.meta.proofs[1].custom).toEqual({ luid: old.luid, moment: stored.meta.moment });
    expect((await client.get(`/anchors/${old.data.handle}`)).body).toEqual(stored);
  });
  test('by luid, and owners stay those of the creation', async () => {
    const old = await kit.make('anchors', anchorData());
    const body = { luid: old.luid, ...record({ ...old.data, custom: {}, parent: old.hash }, [keys, makeKeys()]) };
    const { status, body: stored } = await client.put(`/anchors/${segment(old.luid)}`, body);
    expect(status).toBe(200);
    expect(stored.meta.owners).toEqual([keys.public]);
  });
  test('404 for an anchor that is not there', async () => {
    const data = anchorData({ parent: hashOf({}) });
    const reply = await client.put(`/anchors/${data.handle}`, record(data, keys));
    expect([reply.status, reply.body.data.reason]).toEqual([404, 'record.not-found']);
  });
  test('an old parent is refused and changes nothing', async () => {
    const old = await kit.make('anchors', anchorData());
    const next = (await kit.change('anchors', old, { ...old.data, custom: { n: 1 } })).body;
    const late = await kit.change('anchors', old, { ...old.data, custom: { n: 2 } });
    expect([late.status, late.body.data.reason]).toEqual([422, 'crypto.parent-hash-invalid']);
    expect((await client.get(`/anchors/${old.data.handle}`)).body).toEqual(next);
  });
  test('renaming to a handle that is taken is 409', async () => {
    const one = await kit.make('anchors', anchorData());
    const two = await kit.make('anchors', anchorData());
    const reply = await kit.change('anchors', two, { ...two.data, handle: one.data.handle }, two.data.handle);
    expect([reply.status, reply.body.data.reason]).toEqual([409, 'record.duplicated']);
  });
});

describe('7 GET /intents', () => {
  test('a signed envelope of intent records', async () => {
    const intent = await kit.done([issue(alice, usd, 5)]);
    const reply = await client.get('/intents');
    expect(reply.status).toBe(200);
    expectEnvelope(reply.body);
    expect(reply.body.data[0]).toEqual(intent);
  });
});

describe('8 GET /intents/{id}', () => {
  test('by handle and by luid, final for a local intent', async () => {
    const intent = await kit.clear([issue(alice, usd, 7)]);
    expectStored(intent, 'int', 'completed');
    expect(statuses(intent)).toEqual(['created', 'pending', 'prepared', 'committed', 'completed']);
    for (const one of intent.meta.proofs.slice(1)) expect(one.public).toBe(server.publicKey);
    for (const one of intent.meta.proofs.slice(1)) expect(one.custom.moment).toMatch(MOMENT);
    expect((await client.get(`/intents/${segment(intent.luid)}`)).body).toEqual(intent);
  });
  test.each(['nobody', '$int.AAAAAAAAAAAAAAAAA'])('404 for %s', async (id) => {
    const reply = await client.get(`/intents/${segment(id)}`);
    expect([reply.status, reply.body.data.reason]).toEqual([404, 'record.not-found']);
  });
});

describe('9 POST /intents', () => {
  test('201 pending, with a thread, proofs created then pending', async () => {
    const data = {
      handle: unique('intent'),
      schema: 'issue',
      claims: [issue(alice, usd, 11)],
      access: [
        { action: 'any', signer: { $record: 'owner' } },
        { action: 'read', bearer: { $signer: { $record: 'owner' } } },
      ],
      config: { commit: 'auto' },
    };
    const body = record(data, keys, [{ moment: new Date().toISOString(), status: 'created' }]);
    const { status, body: stored } = await client.post('/intents', body);
    expect(status).toBe(201);
    expectStored(stored, 'int', 'pending');
    expect(stored.hash).toBe(body.hash);
    expect(stored.data).toEqual(data);
    expect(typeof stored.meta.thread).toBe('string');
    expect(stored.meta.thread).not.toBe('');
    expect(statuses(stored)).toEqual(['created', 'pending']);
    expect(stored.meta.proofs[0]).toEqual(body.meta.proofs[0]);
    const { luid, moment } = { luid: stored.luid, moment: stored.meta.moment };
    expect(stored.meta.proofs[1].custom).toEqual({ luid, moment, status: 'pending' });
    const later = (await client.get(`/intents/${data.handle}`)).body;
    expect(later).toMatchObject({ hash: stored.hash, luid, data });
    expect(later.meta).toMatchObject({ thread: stored.meta.thread, moment, owners: stored.meta.owners });
    expect(later.meta.proofs.slice(0, 2)).toEqual(stored.meta.proofs);
  });
  test('two intents run in threads of their own', async () => {
    const one = await kit.send([issue(alice, usd, 1)]);
    const two = await kit.send([issue(alice, usd, 1)]);
    expect(one.body.meta.thread).not.toBe(two.body.meta.thread);
  });
  test('clearing that fails is 201 and speaks in the proofs', async () => {
    const reply = await kit.send([transfer(await kit.wallet(), bob, usd, 1)]);
    expect([reply.status, reply.body.meta.status]).toEqual([201, 'pending']);
    const later = (await client.get(`/intents/${reply.body.data.handle}`)).body;
    expect(later.meta.status).toBe('rejected');
    expect(statuses(later)).toEqual(['created', 'pending', 'failed', 'aborted', 'rejected']);
    const failed = later.meta.proofs[2].custom;
    expect(failed.reason).toBe('core.insufficient-balance');
    expect(failed.detail).toMatch(/./);
  });
  test('a handle that exists is 409 with the luid and hash of the first', async () => {
    const first = await kit.done([issue(alice, usd, 1)]);
    const again = await kit.send([issue(alice, usd, 2)], { data: { handle: first.data.handle } });
    expect([again.status, again.body.data.reason]).toEqual([409, 'record.duplicated']);
    expect(again.body.data.custom).toMatchObject({ luid: first.luid, hash: first.hash });
  });
  test('a client that sends the same bytes again learns that they are in', async () => {
    const body = record({ handle: unique('intent'), claims: [issue(alice, usd, 1)] }, keys);
    expect((await client.post('/intents', body)).status).toBe(201);
    const before = await kit.balance(alice, usd);
    const again = await client.post('/intents', body);
    expect(again.status).toBe(409);
    expect(again.body.data.custom.hash).toBe(body.hash);
    expect(await kit.balance(alice, usd)).toBe(before);
  });
});

describe('10 GET /effects/{id}', () => {
  test('active, by handle and luid', async () => {
    const effect = await makeEffect();
    const reply = await client.get(`/effects/${effect.data.handle}`);
    expect(reply.status).toBe(200);
    expectStored(reply.body, 'eff', 'active');
    expect(reply.body).toEqual(effect);
    expect((await client.get(`/effects/${segment(effect.luid)}`)).body).toEqual(effect);
  });
  test.each(['nobody', '$eff.AAAAAAAAAAAAAAAAA'])('404 for %s', async (id) => {
    const reply = await client.get(`/effects/${segment(id)}`);
    expect([reply.status, reply.body.data.reason]).toEqual([404, 'record.not-found']);
  });
});

describe('11 DELETE /effects/{id}', () => {
  test.each(['handle', 'luid'])('by %s: 200 with a JSON string, and it is gone', async (by) => {
    const effect = await makeEffect();
    const id = by === 'luid' ? effect.luid : effect.data.handle;
    const reply = await client.del(`/effects/${segment(id)}`, kit.dropBody(effect));
    expect(reply.status).toBe(200);
    expect(typeof reply.body).toBe('string');
    expect(reply.body).not.toBe('');
    expect((await client.get(`/effects/${effect.data.handle}`)).status).toBe(404);
    expect((await client.get(`/effects/${segment(effect.luid)}`)).status).toBe(404);
    const list = await client.get('/effects?page.limit=100');
    expect(list.body.data.map((one: Json) => one.luid)).not.toContain(effect.luid);
    const again = await client.del(`/effects/${segment(id)}`, kit.dropBody(effect));
    expect([again.status, again.body.data.reason]).toEqual([404, 'record.not-found']);
  });
  test('an empty meta is enough where the rules ask for no signer', async () => {
    const effect = await makeEffect();
    const data = { parent: effect.hash };
    const reply = await client.del(`/effects/${effect.data.handle}`, {
      hash: hashOf(data),
      data,
      meta: {},
      luid: effect.luid,
    });
    expect([reply.status, typeof reply.body]).toEqual([200, 'string']);
  });
  test('a parent that is not the current hash is refused', async () => {
    const effect = await makeEffect();
    const body = { luid: effect.luid, ...record({ parent: hashOf({}) }, keys) };
    const reply = await client.del(`/effects/${effect.data.handle}`, body);
    expect([reply.status, reply.body.data.reason]).toEqual([422, 'crypto.parent-hash-invalid']);
    expect((await client.get(`/effects/${effect.data.handle}`)).status).toBe(200);
  });
  test('a luid of another effect is refused', async () => {
    const effect = await makeEffect();
    const other = await makeEffect();
    const reply = await client.del(`/effects/${effect.data.handle}`, { ...kit.dropBody(effect), luid: other.luid });
    expect(reply.status).toBe(422);
  });
  test('a hash that is not that of the data is refused', async () => {
    const effect = await makeEffect();
    const reply = await client.del(`/effects/${effect.data.handle}`, { ...kit.dropBody(effect), hash: hashOf({}) });
    expect([reply.status, reply.body.data.reason]).toEqual([422, 'crypto.hash-invalid']);
    // In another language there is nothing else to see by which member it was that was written otherwise.
    expect(reply.body.data.custom).toEqual({ expected: kit.dropBody(effect).hash });
  });
  test('404 for an effect that is not there', async () => {
    const reply = await client.del('/effects/nobody', record({ parent: hashOf({}) }, keys));
    expect([reply.status, reply.body.data.reason]).toEqual([404, 'record.not-found']);
  });
});

describe('the header x-ledger', () => {
  test('selects a ledger by handle or luid in every operation', async () => {
    const ledger = await openLedger(client, keys);
    for (const id of [ledger.data.handle, ledger.luid]) {
      const there = connect(server, { 'x-ledger': id });
      const inside = makeKit(there, keys);
      const symbol = await inside.symbol();
      const wallet = await inside.wallet();
      await inside.done([issue(wallet, symbol, 3)]);
      expect(await inside.balance(wallet, symbol)).toBe(3);
      const anchor = await inside.make('anchors', anchorData({ wallet, target: wallet, symbol }));
      expect((await there.get(`/wallets/${wallet}/anchors`)).body.data).toHaveLength(1);
      expect((await inside.change('anchors', anchor, anchor.data)).status).toBe(200);
      for (const path of [`/wallets/${wallet}`, `/anchors/${anchor.data.handle}`]) {
        expect((await there.get(path)).status).toBe(200);
        expect((await client.get(path)).status).toBe(404);
      }
    }
  });
  test.each(['no-such-ledger', '$ldg.AAAAAAAAAAAAAAAAA'])('%s is not hosted', async (id) => {
    for (const [method, path] of [
      ['GET', '/wallets'],
      ['GET', '/wallets/x'],
      ['POST', '/intents'],
      ['GET', ''],
    ]) {
      const reply = await client.call(method!, path!, method === 'POST' ? {} : undefined, { 'x-ledger': id });
      expect([reply.status, reply.body.data.reason]).toEqual([404, 'api.route-not-found']);
    }
  });
});

describe('the status record', () => {
  test.each(['', '/'])('GET /v2%s', async (path) => {
    const { status, body } = await client.get(path);
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ ledger: 'main', status: 'UP' });
    for (const member of ['handle', 'server', 'semver']) expect(typeof body.data[member]).toBe('string');
    expect(typeof body.data.uptime).toBe('number');
    expect(typeof body.data.dependencies).toBe('object');
  });
  test('names the selected ledger', async () => {
    const ledger = await openLedger(client, keys);
    const { body } = await client.get('', { 'x-ledger': ledger.data.handle });
    expect(body.data.ledger).toBe(ledger.data.handle);
  });
});
