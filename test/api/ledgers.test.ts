/**
 * Many ledgers in one server: made, read, changed, and closed to each other in every way that can be seen from
 * outside; and the rules of a ledger that is not open to everybody.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import {
  bearer,
  type Client,
  connect,
  hashOf,
  type Json,
  type Keys,
  makeKeys,
  proof,
  record,
} from '../support/client.ts';
import {
  issue,
  type Kit,
  luidOf,
  makeKit,
  openLedger,
  proofFor,
  reasonOf,
  segment,
  statuses,
  transfer,
  unique,
} from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { SAMPLES } from '../support/samples.ts';

const keys = makeKeys();
const stranger = makeKeys();

const { server, client } = await serverOfFile();

const inside = (ledger: Json): Client => connect(server, { 'x-ledger': ledger.data.handle });

describe('ledger records', () => {
  const data = (more: Json = {}): Json => ({
    handle: unique('ledger'),
    access: [{ action: 'any', record: 'any' }],
    ...more,
  });

  test('create, read, list', async () => {
    const body = record(data({ custom: { name: 'x' } }), keys, [{ moment: new Date().toISOString() }]);
    const reply = await client.post('/ledgers', body);
    expect(reply.status, reply.text).toBe(201);
    expect(reply.body).toMatchObject({ hash: body.hash, data: body.data });
    expect(reply.body.luid).toMatch(luidOf('ldg'));
    expect(reply.body.meta).toMatchObject({ status: 'created', owners: [keys.public] });
    expect(reply.body.meta.proofs).toHaveLength(2);
    const read = await client.get(`/ledgers/${body.data.handle}`);
    expect([read.status, read.body]).toEqual([200, reply.body]);
    const list = await client.get('/ledgers?page.limit=100');
    expect(list.body.data.map((one: Json) => one.data.handle)).toEqual(
      expect.arrayContaining(['main', body.data.handle]),
    );
  });
  test.each([
    ['left out', {}],
    ['empty', { access: [] }],
  ])('one whose rules are %s lets nobody in, who made it neither, and stays so', async (_name, access) => {
    const made = (await client.post('/ledgers', record({ handle: unique('ledger'), ...access }, keys))).body;
    const there = inside(made);
    const token = bearer(keys, made.data.handle);
    const open = record({ ...data({ handle: made.data.handle }), parent: made.hash }, keys);
    for (const reply of [
      await there.get('/ledger', token),
      await there.get('/wallets', token),
      await there.post('/wallets', record({ handle: unique('wallet') }, keys), token),
      await there.put('/ledger', open, token),
      await client.put(`/ledgers/${made.data.handle}`, open),
    ]) {
      expect(reasonOf(reply)).toEqual([403, 'auth.forbidden']);
    }
  });
  test('a handle that is taken is 409', async () => {
    const first = await openLedger(client, keys);
    const reply = await client.post('/ledgers', record(data({ handle: first.data.handle }), keys));
    expect(reasonOf(reply)).toEqual([409, 'record.duplicated']);
    expect(reply.body.data.custom).toMatchObject({ luid: first.luid, hash: first.hash });
    expect(reasonOf(await client.post('/ledgers', record(data({ handle: 'main' }), keys)))[0]).toBe(409);
  });
  test('making a ledger inside a ledger is refused', async () => {
    const reply = await client.post('/ledgers', record(data(), keys), { 'x-ledger': 'main' });
    expect(reasonOf(reply)).toEqual([422, 'api.no-tenant-allowed']);
  });
  test('so is making it inside itself, before there is one', async () => {
    const body = record(data(), keys);
    const reply = await client.post('/ledgers', body, { 'x-ledger': body.data.handle });
    expect(reasonOf(reply)).toEqual([422, 'api.no-tenant-allowed']);
  });
  test.each(['a b', 'a:b', 'a@b', '', 'x'.repeat(129), 'é'])('%j is no ledger handle', async (handle) => {
    expect(reasonOf(await client.post('/ledgers', record(data({ handle }), keys)))).toEqual([
      422,
      'record.schema-invalid',
    ]);
  });
  test('128 characters are', async () => {
    const reply = await client.post('/ledgers', record(data({ handle: 'y'.repeat(128) }), keys));
    expect(reply.status, reply.text).toBe(201);
  });
  test('PUT /ledgers/{handle} and PUT /ledger change the same record', async () => {
    const first = await openLedger(client, keys);
    const { handle } = first.data;
    const next = { luid: first.luid, ...record({ ...first.data, custom: { n: 2 }, parent: first.hash }, keys) };
    const one = await client.put(`/ledgers/${handle}`, next);
    expect(one.status, one.text).toBe(200);
    expect(one.body.luid).toBe(first.luid);
    const last = { luid: first.luid, ...record({ ...first.data, custom: { n: 3 }, parent: one.body.hash }, keys) };
    const two = await inside(first).put('/ledger', last);
    expect(two.status, two.text).toBe(200);
    expect((await client.get(`/ledgers/${handle}`)).body).toEqual(two.body);
    expect((await inside(first).get('/ledger')).body).toEqual(two.body);
    const late = await inside(first).put('/ledger', last);
    expect(reasonOf(late)).toEqual([422, 'crypto.parent-hash-invalid']);
    const changes = await inside(first).get('/ledger/changes');
    expect(changes.body.data.map((row: Json) => row.hash)).toEqual([two.body.hash, one.body.hash, first.hash]);
    for (const row of changes.body.data) {
      expect((await inside(first).get(`/ledger/changes/${row.meta.change}`)).body.hash).toBe(row.hash);
    }
  });
  test('GET /ledger without a header is the default ledger, open and signed', async () => {
    const { status, body } = await client.get('/ledger');
    expect([status, body.data.handle]).toEqual([200, 'main']);
    expect(body.data.access).toEqual([{ action: 'any', record: 'any' }]);
  });
  test('POST /ledger/proofs adds a proof', async () => {
    const first = await openLedger(client, keys);
    const added = proofFor(first, stranger, { moment: new Date().toISOString() });
    const reply = await inside(first).post('/ledger/proofs', added);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.meta.proofs).toEqual([...first.meta.proofs, added]);
  });
  test('404 for a ledger nobody made', async () => {
    expect((await client.get('/ledgers/nobody')).status).toBe(404);
  });
  test('the server is the signer system in every ledger, and nobody makes another of it', async () => {
    const there = inside(await openLedger(client, keys));
    const reply = await there.get('/signers/system');
    expect([reply.status, reply.body.data.public]).toEqual([200, server.publicKey]);
    expect(reply.body.data).toMatchObject({ handle: 'system', format: 'ed25519-raw' });
    for (const changed of [{ public: keys.public }, { handle: 'other' }]) {
      const change = await makeKit(there, keys).change('signers', reply.body, { ...reply.body.data, ...changed });
      expect(reasonOf(change)).toEqual([422, 'record.invalid']);
    }
    expect((await there.get('/signers/system')).body).toEqual(reply.body);
  });
});

describe('two ledgers know nothing of each other', () => {
  let one: Client;
  let two: Client;
  let kitOne: Kit;
  let kitTwo: Kit;
  beforeAll(async () => {
    one = inside(await openLedger(client, keys));
    two = inside(await openLedger(client, keys));
    kitOne = makeKit(one, keys);
    kitTwo = makeKit(two, stranger);
  });

  test.each(SAMPLES)('equal handles in $path', async (sample) => {
    const { path } = sample;
    const first = await kitOne.make(path, { ...(await sample.data(kitOne)), custom: { side: 1 } });
    const { handle } = first.data;
    expect((await two.get(`/${path}/${handle}`)).status).toBe(404);
    const second = await kitTwo.make(path, { ...(await sample.data(kitTwo)), handle, custom: { side: 2 } });
    expect(second.luid).not.toBe(first.luid);
    expect((await one.get(`/${path}/${handle}`)).body).toEqual(first);
    expect((await two.get(`/${path}/${handle}`)).body).toEqual(second);
    expect((await one.get(`/${path}/${segment(second.luid)}`)).status).toBe(404);
    expect((await two.get(`/${path}/${segment(first.luid)}`)).status).toBe(404);
    const list = await two.get(`/${path}?filter.data.handle=${handle}`);
    expect(list.body.data.map((row: Json) => row.luid)).toEqual([second.luid]);
    const wrong = await two.put(`/${path}/${segment(first.luid)}`, record({ ...first.data, parent: first.hash }, keys));
    expect(wrong.status).toBe(404);
  });
  test('balances', async () => {
    const [symbol, wallet] = [unique('symbol'), unique('wallet')];
    for (const side of [kitOne, kitTwo]) {
      await side.symbol({ handle: symbol });
      await side.wallet({ handle: wallet });
    }
    await kitOne.done([issue(wallet, symbol, 7)]);
    expect([await kitOne.balance(wallet, symbol), await kitTwo.balance(wallet, symbol)]).toEqual([7, 0]);
  });
  test('claims reach no wallet and no symbol of another ledger', async () => {
    const [symbol, wallet] = [await kitOne.symbol(), await kitOne.wallet()];
    expect(await kitTwo.refused([issue(wallet, await kitTwo.symbol(), 1)])).toBe('core.target-invalid');
    expect(await kitTwo.refused([issue(await kitTwo.wallet(), symbol, 1)])).toBe('core.symbol-invalid');
  });
  test('relations and handles of intents', async () => {
    const wallet = await kitOne.wallet();
    const anchor = { handle: unique('anchor'), wallet, target: wallet };
    expect(reasonOf(await two.post('/anchors', record(anchor, keys)))).toEqual([422, 'record.relation-not-found']);
    const handle = unique('intent');
    await kitOne.done([issue(await kitOne.wallet(), await kitOne.symbol(), 1)], { data: { handle } });
    expect((await two.get(`/intents/${handle}`)).status).toBe(404);
    await kitTwo.done([issue(await kitTwo.wallet(), await kitTwo.symbol(), 1)], { data: { handle } });
  });
  test('lists hold only what is in the ledger', async () => {
    const fresh = inside(await openLedger(client, keys));
    for (const { path } of SAMPLES.filter((sample) => sample.path !== 'signers')) {
      const reply = await fresh.get(`/${path}`);
      expect([reply.status, reply.body.data], path).toEqual([200, []]);
    }
    expect((await fresh.get('/intents')).body.data).toEqual([]);
  });
});

describe('a ledger with rules', () => {
  test('what only one signer may, a stranger may not', async () => {
    const rule = { action: 'any', record: 'any', signer: { public: keys.public } };
    const ledger = await openLedger(client, keys, { access: [rule] });
    const there = inside(ledger);
    const data = { handle: unique('wallet') };
    expect(reasonOf(await there.post('/wallets', record(data, stranger)))).toEqual([403, 'auth.forbidden']);
    expect((await there.post('/wallets', record(data, keys))).status).toBe(201);
    expect(reasonOf(await there.get(`/wallets/${data.handle}`)), 'a signer rule grants no read').toEqual([
      403,
      'auth.forbidden',
    ]);
  });
  test('what a token opens stays shut without it and to another key', async () => {
    const rule = { action: 'any', record: 'any', bearer: { $signer: { public: keys.public } } };
    const ledger = await openLedger(client, keys, { access: [rule] });
    const there = inside(ledger);
    const { handle } = ledger.data;
    const data = { handle: unique('wallet') };
    expect(reasonOf(await there.post('/wallets', record(data, keys)))).toEqual([403, 'auth.forbidden']);
    const made = await there.post('/wallets', record(data, keys), bearer(keys, handle));
    expect(made.status, made.text).toBe(201);
    const path = `/wallets/${data.handle}`;
    expect(reasonOf(await there.get(path))).toEqual([403, 'auth.forbidden']);
    expect(reasonOf(await there.get(path, bearer(stranger, handle)))).toEqual([403, 'auth.forbidden']);
    expect((await there.get(path, bearer(keys, handle))).body).toEqual(made.body);
    expect((await there.get('/wallets', bearer(keys, handle))).body.data).toEqual([made.body]);
    expect(reasonOf(await there.get('/wallets'))).toEqual([403, 'auth.forbidden']);
  });
  test('what its own tokens open is no other’s: a token for one ledger read, and changed, that of who holds it', async () => {
    const rule = { action: 'any', record: 'any', bearer: { $signer: { public: keys.public } } };
    const theirs = await openLedger(client, keys, { access: [rule] });
    const path = `/ledgers/${theirs.data.handle}`;
    const other = await openLedger(client, stranger);
    const shown = bearer(keys, other.data.handle);
    const change = record(
      { ...theirs.data, access: [{ action: 'any', record: 'any' }], parent: theirs.hash },
      stranger,
    );
    const ask = record({ action: 'create', record: 'wallet' }, stranger);
    const at = inside(other);
    for (const reply of [
      await client.get(path, bearer(keys, 'main')),
      await at.get(path, shown),
      await at.get(`${path}/changes`, shown),
      await at.put(path, change, shown),
      await at.post(`${path}/proofs`, proof(theirs.hash, stranger, { status: 'closed' }), shown),
      await at.post(`${path}/access/!check`, ask, shown),
    ]) {
      expect(reasonOf(reply)).toEqual([403, 'auth.forbidden']);
    }
    const listed = async (there: Client, aud: string): Promise<string[]> =>
      (await there.get(`/ledgers?data.handle=${theirs.data.handle}`, bearer(keys, aud))).body.data.map(
        ({ luid }: Json) => luid,
      );
    expect(await listed(at, other.data.handle)).toEqual([]);
    expect(await listed(inside(theirs), theirs.data.handle)).toEqual([theirs.luid]);
    expect((await inside(theirs).get(path, bearer(keys, theirs.data.handle))).body).toEqual(theirs);
  });
  test('rules that ask for a signer and a bearer want both', async () => {
    const both = { signer: { public: keys.public }, bearer: { $signer: { public: keys.public } } };
    const ledger = await openLedger(client, keys, { access: [{ action: 'any', record: 'any', ...both }] });
    const there = inside(ledger);
    const token = bearer(keys, ledger.data.handle);
    const body = (owner: Keys): Json => record({ handle: unique('wallet') }, owner);
    expect((await there.post('/wallets', body(stranger), token)).status).toBe(403);
    expect((await there.post('/wallets', body(keys))).status).toBe(403);
    expect((await there.post('/wallets', body(keys), token)).status).toBe(201);
  });
  test('$in names several signers', async () => {
    const signer = { $in: [{ public: keys.public }, { public: stranger.public }] };
    const ledger = await openLedger(client, keys, { access: [{ action: 'any', record: 'any', signer }] });
    for (const [owner, status] of [
      [keys, 201],
      [stranger, 201],
      [makeKeys(), 403],
    ] as const) {
      expect((await inside(ledger).post('/wallets', record({ handle: unique('wallet') }, owner))).status).toBe(status);
    }
  });
  test('the gate alone gives empty lists', async () => {
    const access = [
      { action: 'access', record: 'any' },
      { action: 'create', record: 'wallet' },
    ];
    const there = inside(await openLedger(client, keys, { access }));
    const made = await there.post('/wallets', record({ handle: unique('wallet') }, keys));
    expect(made.status, made.text).toBe(201);
    const list = await there.get('/wallets');
    expect([list.status, list.body.data]).toEqual([200, []]);
    expect(reasonOf(await there.get(`/wallets/${made.body.data.handle}`))).toEqual([403, 'auth.forbidden']);
    expect((await there.post('/symbols', record({ handle: unique('symbol'), factor: 1 }, keys))).status).toBe(403);
  });
  test('a rule of a record opens that record, lists leave the others out', async () => {
    const access = [
      { action: 'access', record: 'any' },
      { action: 'create', record: 'wallet' },
    ];
    const there = inside(await openLedger(client, keys, { access }));
    const open = { handle: unique('wallet'), access: [{ action: 'read' }] };
    const made = await there.post('/wallets', record(open, keys));
    await there.post('/wallets', record({ handle: unique('wallet') }, keys));
    expect((await there.get('/wallets')).body.data).toEqual([made.body]);
    expect((await there.get(`/wallets/${open.handle}`)).body).toEqual(made.body);
    const next = record({ ...open, custom: {}, parent: made.body.hash }, keys);
    expect(reasonOf(await there.put(`/wallets/${open.handle}`, next))).toEqual([403, 'auth.forbidden']);
  });
  test('$record owner is whoever signed the creation', async () => {
    const access = [{ action: { $in: ['access', 'create', 'read'] }, record: 'any' }];
    const there = inside(await openLedger(client, keys, { access }));
    const data = { handle: unique('wallet'), access: [{ action: 'any', signer: { $record: 'owner' } }] };
    const made = (await there.post('/wallets', record(data, keys))).body;
    const next = (owner: Keys): Json => record({ ...data, custom: { n: 1 }, parent: made.hash }, owner);
    expect(reasonOf(await there.put(`/wallets/${data.handle}`, next(stranger)))).toEqual([403, 'auth.forbidden']);
    expect((await there.put(`/wallets/${data.handle}`, next(keys))).status).toBe(200);
    const foreign = (await there.get(`/wallets/${data.handle}`)).body;
    const drop = (owner: Keys): Json => record({ parent: foreign.hash }, owner);
    expect((await there.del(`/wallets/${data.handle}`, drop(stranger))).status).toBe(403);
    expect(
      (
        await there.del(`/wallets/${data.handle}`, {
          hash: hashOf({ parent: foreign.hash }),
          data: { parent: foreign.hash },
          meta: {},
        })
      ).status,
    ).toBe(403);
    expect((await there.del(`/wallets/${data.handle}`, drop(keys))).status).toBe(204);
  });
  test('an intent without leave to spend waits until the owner of the wallet signs', async () => {
    const actions = ['access', 'create', 'read', 'issue'];
    const ledger = await openLedger(client, keys, { access: [{ action: { $in: actions }, record: 'any' }] });
    const there = inside(ledger);
    const kit = makeKit(there, stranger);
    const symbol = await kit.symbol();
    const source = await kit.wallet({ access: [{ action: 'spend', signer: { public: keys.public } }] });
    const target = await kit.wallet();
    await kit.done([issue(source, symbol, 100)]);
    const waiting = await kit.clear([transfer(source, target, symbol, 60)]);
    expect(waiting.meta.status).toBe('pending');
    expect(statuses(waiting)).toEqual(['created', 'pending']);
    expect(await kit.balance(target, symbol)).toBe(0);
    const path = `/intents/${waiting.data.handle}`;
    const useless = await there.post(
      `${path}/proofs`,
      proofFor(waiting, makeKeys(), { moment: new Date().toISOString() }),
    );
    expect(useless.body.meta.status).toBe('pending');
    const signed = await there.post(`${path}/sign`, proofFor(waiting, keys, { moment: new Date().toISOString() }));
    expect(signed.status, signed.text).toBe(200);
    const final = (await there.get(path)).body;
    expect(final.meta.status).toBe('completed');
    expect([await kit.balance(source, symbol), await kit.balance(target, symbol)]).toEqual([40, 60]);
    await kit.done([transfer(source, target, symbol, 40)], { keys: [stranger, keys] });
  });
});
