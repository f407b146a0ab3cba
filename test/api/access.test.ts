/**
 * Who may do what, from outside: circles and policies give and take rights at once, each claim and command needs its own.
 * What a caller may not see is in hidden.test.ts.
 */
import { describe, expect, test } from 'vitest';
import { bearer, type Client, connect, hashOf, type Json, type Keys, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import {
  issue,
  type Kit,
  ledgerWith,
  luidOf,
  makeKit,
  openLedger,
  proofFor,
  reasonOf,
  transfer,
  unique,
} from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { serverOfTest } from '../support/of-test.ts';
import { startRefused } from '../support/server.ts';

const owner = makeKeys();
const anna = makeKeys();
const ben = makeKeys();

const { server } = await serverOfFile();
const openWith = (rules: Json[]) => ledgerWith(server, owner, rules);

const GATE = { action: 'access', record: 'any' };
const FORBIDDEN = [403, 'auth.forbidden'];

describe('circles', () => {
  const assignment = (circle: string, signer: string, by: Keys): Json => record({ circle, signer }, by);

  test('give their members rights, and take them again', async () => {
    const { there, kit, asOwner } = await openWith([
      GATE,
      { action: 'create', record: 'wallet', signer: { $circle: 'ops' } },
    ]);
    await kit.make('circles', { handle: 'ops' });
    await kit.make('signers', { handle: 'anna', public: anna.public, format: 'ed25519-raw' });
    const create = async (keys: Keys): Promise<number> =>
      (await there.post('/wallets', record({ handle: unique('wallet') }, keys))).status;
    expect(await create(anna)).toBe(403);
    expect(reasonOf(await there.post('/circles/ops/signers', assignment('ops', 'anna', anna)))).toEqual(FORBIDDEN);
    const joined = await there.post('/circles/ops/signers', assignment('ops', 'anna', owner));
    expect(joined.status, joined.text).toBe(200);
    expect(joined.body.luid).toMatch(luidOf('csn'));
    expect(joined.body.data).toEqual({ circle: 'ops', signer: 'anna' });
    expect(await create(anna)).toBe(201);
    expect(await create(ben)).toBe(403);
    await kit.make('circles', { handle: 'other' });
    const elsewhere = await there.post('/circles/other/signers', assignment('other', 'anna', owner));
    expect((await there.get('/circles/ops/signers', asOwner)).body.data).toEqual([joined.body]);
    expect((await there.get('/circles/other/signers', asOwner)).body.data).toEqual([elsewhere.body]);
    expect(reasonOf(await there.get('/circles/ops/signers'))).toEqual(FORBIDDEN);
    expect(reasonOf(await there.post('/circles/ops/signers', assignment('ops', 'anna', owner)))).toEqual([
      409,
      'record.duplicated',
    ]);
    expect(reasonOf(await there.del('/circles/ops/signers/anna', assignment('ops', 'anna', anna)))).toEqual(FORBIDDEN);
    expect(reasonOf(await there.del('/circles/ops/signers/ben', assignment('ops', 'anna', owner)))).toEqual([
      422,
      'record.invalid',
    ]);
    const other = { ...assignment('ops', 'anna', owner), luid: elsewhere.body.luid };
    expect(reasonOf(await there.del('/circles/ops/signers/anna', other))).toEqual([422, 'record.invalid']);
    const named = { ...assignment('ops', 'anna', owner), luid: joined.body.luid };
    expect((await there.del('/circles/ops/signers/anna', named)).status).toBe(204);
    expect(await create(anna)).toBe(403);
    expect(reasonOf(await there.del('/circles/ops/signers/anna', assignment('ops', 'anna', owner)))).toEqual([
      404,
      'record.not-found',
    ]);
    expect((await there.post('/circles/ops/signers', assignment('ops', 'anna', owner))).status).toBe(200);
    expect(await create(anna)).toBe(201);
  });
  test('take no signer, no circle and no path that is not there', async () => {
    const { there, kit } = await openWith([GATE]);
    const circle = await kit.make('circles', { handle: 'ops' });
    await kit.make('circles', { handle: 'other' });
    await kit.make('signers', { handle: 'anna', public: anna.public, format: 'ed25519-raw' });
    const post = async (path: string, body: Json): Promise<unknown> => reasonOf(await there.post(path, body));
    expect(await post('/circles/ops/signers', assignment('ops', 'nobody', owner))).toEqual([
      422,
      'record.relation-not-found',
    ]);
    expect(await post('/circles/nowhere/signers', assignment('nowhere', 'anna', owner))).toEqual([
      404,
      'record.not-found',
    ]);
    expect(await post('/circles/other/signers', assignment('ops', 'anna', owner))).toEqual([422, 'record.invalid']);
    expect(await post('/circles/ops/signers', { ...assignment('ops', 'anna', owner), meta: { proofs: [] } })).toEqual([
      422,
      'crypto.signature-missing',
    ]);
    expect(await post('/circles/ops/signers', record({ circle: 'ops' }, owner))).toEqual([
      422,
      'record.schema-invalid',
    ]);
    expect((await there.post(`/circles/${circle.luid}/signers`, assignment('ops', 'anna', owner))).status).toBe(200);
    expect((await there.get('/circle-signers')).status).toBe(404);
  });
});

describe('policies', () => {
  test('stand where they are named, and a change of one holds at once', async () => {
    const { there, kit } = await openWith([GATE, { policy: 'tellers' }]);
    const policy = await kit.make('policies', {
      handle: 'tellers',
      schema: 'access',
      record: 'wallet',
      values: [{ action: 'create', signer: { public: anna.public } }],
      filter: { 'data.schema': 'savings' },
    });
    const create = async (keys: Keys, schema: string): Promise<number> =>
      (await there.post('/wallets', record({ handle: unique('wallet'), schema }, keys))).status;
    expect([await create(anna, 'savings'), await create(anna, 'credit'), await create(ben, 'savings')]).toEqual([
      201, 403, 403,
    ]);
    const changed = { ...policy.data, values: [{ action: 'create', signer: { public: ben.public } }] };
    expect((await kit.change('policies', policy, changed)).status).toBe(200);
    expect([await create(anna, 'savings'), await create(ben, 'savings')]).toEqual([403, 201]);
  });
  test('keep a record within their filter as it is changed: who might not make a wallet that owes made it in two steps', async () => {
    const mine = [{ action: { $in: ['create', 'update'] }, signer: { public: anna.public } }];
    const { there, kit } = await openWith([GATE, { policy: { $in: ['modest', 'south'] } }]);
    const modest = { 'data.schema': 'modest', 'data.access.action': { $nin: ['any', 'limit'] } };
    const south = { 'data.schema': 'south' };
    for (const [handle, filter] of Object.entries({ modest, south })) {
      await kit.make('policies', { handle, schema: 'access', record: 'wallet', values: mine, filter });
    }
    const rules = (action: string): Json[] => [{ action, signer: { public: anna.public } }];
    const data = { handle: unique('wallet'), schema: 'modest', access: rules('spend') };
    const greedy = { ...data, access: rules('limit') };
    expect(reasonOf(await there.post('/wallets', record(greedy, anna)))).toEqual(FORBIDDEN);
    const made = await there.post('/wallets', record(data, anna));
    expect(made.status, made.text).toBe(201);
    const change = (from: Json, to: Json): Promise<Json> =>
      there.put(`/wallets/${data.handle}`, record({ ...to, parent: from.hash }, anna));
    expect(reasonOf(await change(made.body, greedy))).toEqual(FORBIDDEN);
    const changed = await change(made.body, { ...data, custom: { city: 'Lima' } });
    expect(changed.status, changed.text).toBe(200);
    const moved = await change(changed.body, { ...data, schema: 'south' });
    expect(moved.status, 'from what one of them lets be to what another does').toBe(200);
  });

  test('are all that counts where the ledger says so', async () => {
    const { there, kit, asOwner } = await openWith([GATE]);
    const open = await kit.wallet({ access: [{ action: 'any' }] });
    const values = [
      { action: 'any', signer: { public: owner.public } },
      { action: 'any', bearer: { $signer: { public: owner.public } } },
    ];
    await kit.make('policies', { handle: 'all', schema: 'access', record: 'any', values });
    expect((await there.get(`/wallets/${open}`)).status).toBe(200);
    const ledger = (await there.get('/ledger', asOwner)).body;
    const data = { ...ledger.data, config: { 'access.strategy': 'policy-based' }, parent: ledger.hash };
    const put = await there.put('/ledger', record(data, owner));
    expect(put.status, put.text).toBe(200);
    expect(reasonOf(await there.get(`/wallets/${open}`))).toEqual(FORBIDDEN);
    expect((await there.get(`/wallets/${open}`, asOwner)).status).toBe(200);
  });
});

describe('may I', () => {
  const ask = (there: Client, path: string, data: Json, keys: Keys, headers = {}): Promise<Json> =>
    there.post(`${path}/access/!check`, record(data, keys), headers);

  test('the ledger’s rules, then the record’s, policies as their values, and nobody named', async () => {
    const { there, kit, handle } = await openWith([
      GATE,
      { action: { $in: ['update', 'drop'] }, record: 'wallet', signer: { public: anna.public } },
      { policy: 'p' },
    ]);
    await kit.make('policies', {
      handle: 'p',
      schema: 'access',
      record: 'wallet',
      values: [{ action: 'update', bearer: { $signer: { public: ben.public } } }],
    });
    const wallet = await kit.wallet({ access: [{ action: 'any', signer: { $in: [{ public: anna.public }] } }] });
    const path = `/wallets/${wallet}`;
    const of = async (data: Json, keys: Keys, headers = {}): Promise<Json> => {
      const reply = await ask(there, path, data, keys, headers);
      expect(reply.status, reply.text).toBe(200);
      expect(reply.body).not.toHaveProperty('page');
      return reply.body.data;
    };
    const some = { action: { $in: ['update', 'drop'] }, record: 'wallet' };
    expect(await of({ action: 'update' }, anna)).toEqual([some, { action: 'any' }]);
    expect(await of({ action: 'update' }, anna, bearer(ben, handle))).toEqual([
      some,
      { action: 'update' },
      { action: 'any' },
    ]);
    expect(await of({ action: 'update' }, ben)).toEqual([]);
    expect(await of({ action: 'read' }, anna), 'a signature opens no read').toEqual([]);
    expect(await of({ action: 'create', record: 'wallet-proof' }, anna)).toEqual([{ action: 'any' }]);
    expect(reasonOf(await ask(there, '/wallets/nobody', { action: 'read' }, anna))).toEqual([404, 'record.not-found']);
    const unsigned = { ...record({ action: 'read' }, anna), meta: { proofs: [] } };
    expect(reasonOf(await there.post(`${path}/access/!check`, unsigned))).toEqual([422, 'crypto.signature-missing']);
    const forged = record({ action: 'update' }, ben);
    forged.meta.proofs[0].public = anna.public;
    expect(reasonOf(await there.post(`${path}/access/!check`, forged))).toEqual([422, 'crypto.signature-invalid']);
  });
  test('of the ledger itself', async () => {
    const { there } = await openWith([{ action: 'access' }, { action: 'create', record: 'symbol', signer: {} }]);
    const reply = await ask(there, '/ledger', { action: 'create', record: 'symbol' }, anna);
    expect([reply.status, reply.body.data]).toEqual([200, [{ action: 'create', record: 'symbol' }]]);
  });
  test('of nothing but a kind of record', async () => {
    const { there, kit } = await openWith([{ action: 'any', record: 'any' }]);
    const path = `/wallets/${await kit.wallet()}`;
    for (const [record, reason] of [
      ['server', 'record.invalid'],
      ['wallets', 'record.schema-invalid'],
      ['toString', 'record.schema-invalid'],
      [{ $in: ['wallet'] }, 'record.schema-invalid'],
    ]) {
      expect(reasonOf(await ask(there, path, { action: 'read', record }, anna)), `${record}`).toEqual([422, reason]);
    }
    expect((await ask(there, path, { action: 'read', record: 'wallet' }, anna)).body.data).toHaveLength(1);
  });
  test('of a ledger by its name, asked from within another, is about the one that is named', async () => {
    const rules = (record: string) => [GATE, { action: 'create', record, signer: { public: anna.public } }];
    const [mine, theirs] = [await openWith(rules('symbol')), await openWith(rules('wallet'))];
    for (const record of ['symbol', 'wallet']) {
      const told = record === 'wallet' ? [{ action: 'create', record }] : [];
      const reply = await ask(mine.there, `/ledgers/${theirs.handle}`, { action: 'create', record }, anna);
      expect([reply.status, reply.body.data], record).toEqual([200, told]);
    }
  });
  test('of the ledger, asked of a wallet, is about no ledger but the own: the rules of others’ were told', async () => {
    const mine = [GATE, { action: 'update', signer: { public: anna.public } }];
    const { there, kit } = await openWith(mine);
    const symbol = await kit.symbol();
    const wallets = [await kit.wallet()];
    // Balances are counted over all ledgers, as ledgers are.
    for (let i = 0; i < 4; i++) {
      const wallet = await kit.wallet();
      await kit.done([issue(wallet, symbol, 1)]);
      wallets.push(wallet);
    }
    for (const wallet of wallets) {
      for (const record of ['ledger', 'ledger-proof']) {
        const reply = await ask(there, `/wallets/${wallet}`, { action: 'update', record }, anna);
        expect([reply.status, reply.body.data], `${record} of ${wallet}`).toEqual([200, [{ action: 'update' }]]);
      }
    }
  });
});

describe('claims and commands', () => {
  test('each needs its own right', async () => {
    const { there, kit } = await openWith([
      GATE,
      { action: 'create', record: 'any' },
      { action: 'read', record: 'any' },
    ]);
    const symbol = await kit.symbol({ access: [{ action: 'issue', signer: { public: anna.public } }] });
    const mine = await kit.wallet({ access: [{ action: 'spend', signer: { public: ben.public } }] });
    const other = await kit.wallet();
    const as = (keys: Keys): Kit => makeKit(there, keys);
    expect((await as(ben).clear([issue(mine, symbol, 5)])).meta.status).toBe('pending');
    await as(anna).done([issue(mine, symbol, 5)]);
    expect((await as(anna).clear([transfer(mine, other, symbol, 1)])).meta.status).toBe('pending');
    await as(ben).done([transfer(mine, other, symbol, 1)]);
    const limit = {
      action: 'limit',
      wallet: { handle: mine },
      symbol: { handle: symbol },
      metric: 'maxBalance',
      amount: 9,
    };
    expect((await as(ben).clear([limit])).meta.status).toBe('pending');
    const both = await as(anna).clear([issue(mine, symbol, 1), transfer(mine, other, symbol, 1)]);
    expect(both.meta.status).toBe('pending');
    await there.post(`/intents/${both.data.handle}/proofs`, proofFor(both, ben, { moment: new Date().toISOString() }));
    expect((await there.get(`/intents/${both.data.handle}`)).body.meta.status).toBe('completed');
  });
  test('a prepared intent is committed by whoever may, and by nobody else', async () => {
    const { there, kit } = await openWith([GATE, { action: { $in: ['create', 'read', 'issue'] }, record: 'any' }]);
    const [symbol, wallet] = [await kit.symbol(), await kit.wallet()];
    const data = { config: { commit: 'manual' }, access: [{ action: 'commit', signer: { public: anna.public } }] };
    const stored = await makeKit(there, ben).clear([issue(wallet, symbol, 5)], { data });
    expect(stored.meta.status).toBe('prepared');
    const path = `/intents/${stored.data.handle}`;
    for (const [keys, action, status] of [
      [ben, 'commit', 'prepared'],
      [anna, 'abort', 'prepared'],
      [anna, 'commit', 'completed'],
    ] as const) {
      const moment = new Date().toISOString();
      expect((await there.post(`${path}/proofs`, proofFor(stored, keys, { action, moment }))).status).toBe(200);
      expect((await there.get(path)).body.meta.status).toBe(status);
    }
  });
  test.each([
    ['bridges', 'activate', 'activate', { config: { server: 'http://127.0.0.1:9' } }],
    ['effects', 'retry-event', 'events/retry', { signal: 'wallet-created', action: { schema: 'rest', bridge: 'b' } }],
  ])('what waits for %s is tried again by whoever may %s, and by nobody else', async (kind, action, path, data) => {
    const { there, kit } = await openWith([GATE, { action: 'read', record: 'any' }]);
    const access = [{ action, signer: { public: anna.public } }];
    await kit.make(kind, { handle: 'it', ...data, access });
    const ask = async (body?: Json) => {
      const reply = await there.post(`/${kind}/it/${path}`, body);
      return reply.status === 202 ? 202 : reasonOf(reply);
    };
    expect(await ask()).toEqual(FORBIDDEN);
    expect(await ask(record({ action }, ben))).toEqual(FORBIDDEN);
    expect(await ask(record({ action: 'read' }, anna)), 'signed for something else').toEqual([422, 'record.invalid']);
    const forged = record({ action }, ben);
    forged.meta.proofs[0].public = anna.public;
    expect(await ask(forged)).toEqual([422, 'crypto.signature-invalid']);
    expect(await ask(record({ action }, anna))).toBe(202);
  });
  test('and by whom only a signature lets in', async () => {
    const rule = { action: { $in: ['access', 'activate'] }, record: 'any', signer: { public: anna.public } };
    const { there, kit } = await openWith([rule]);
    await kit.make('bridges', { handle: 'it', config: { server: 'http://127.0.0.1:1/' } });
    const ask = (body?: Json) => there.post('/bridges/it/activate', body);
    expect(reasonOf(await ask())).toEqual(FORBIDDEN);
    expect(reasonOf(await ask(record({ action: 'activate' }, ben)))).toEqual(FORBIDDEN);
    expect((await ask(record({ action: 'activate' }, anna))).status).toBe(202);
  });
});

test('a rule that wants a token of one request lets in no other, nor one of another request', async () => {
  const { there, handle } = await openWith([
    GATE,
    { action: 'read', record: 'any', bearer: { hsh: true, $signer: { public: anna.public } } },
  ]);
  const ask = (more?: Json) => there.get('/ledger', bearer(anna, handle, more));
  const ofThis = hashOf({ method: 'GET', url: `${server.url}/ledger`, headers: null, body: null });
  expect(reasonOf(await ask())).toEqual(FORBIDDEN);
  expect(reasonOf(await ask({ hsh: null }))).toEqual(FORBIDDEN);
  expect(reasonOf(await ask({ hsh: hashOf({}) }))).toEqual([401, 'auth.unauthorized']);
  expect((await ask({ hsh: ofThis })).status).toBe(200);
});

test('the start line says to whom the ledger is open', async () => {
  expect(server.log()).toContain('ledger main open to all who reach 127.0.0.1');
  const directory = freshDirectory();
  const flags = ['--owner', owner.public];
  const own = await serverOfTest({ directory, flags, headers: bearer(owner, 'main') });
  await own.stop();
  expect(own.log()).toContain(`ledger main open to whom its rules name, owner ${owner.public}`);
  // It is the books that say who may: another owner at a later start is none.
  const other = ['--owner', anna.public];
  const again = await serverOfTest({ directory, flags: other, headers: bearer(owner, 'main') });
  expect(again.log()).toContain('ledger main open to whom its rules name, data');
  expect(reasonOf(await connect(again).get('/wallets'))).toEqual(FORBIDDEN);
});

describe('rules of the server', () => {
  const rules = (list: Json[]): string[] => ['--access-rules', JSON.stringify(list)];

  test('say who makes ledgers', async () => {
    const mine = [{ action: 'access' }, { action: 'create', record: 'ledger', signer: { public: owner.public } }];
    const there = connect(await serverOfTest({ flags: rules(mine) }));
    const ledger = (keys: Keys): Json =>
      record({ handle: unique('ledger'), access: [{ action: 'any', record: 'any' }] }, keys);
    expect(reasonOf(await there.post('/ledgers', ledger(anna)))).toEqual(FORBIDDEN);
    expect((await there.post('/ledgers', ledger(owner))).status).toBe(201);
    expect((await there.post('/wallets', record({ handle: 'w' }, anna))).status).toBe(201);
  });
  test('that let everybody do everything open no ledger: of one that is shut a list shows nothing either', async () => {
    const there = connect(await serverOfTest({ flags: rules([{ action: 'any', record: 'any' }]) }));
    const { data } = await openLedger(there, owner, { access: [] });
    const open = await openLedger(there, owner);
    expect(reasonOf(await there.get(`/ledgers/${data.handle}`))).toEqual(FORBIDDEN);
    const shown = (await there.get('/ledgers')).body.data.map((ledger: Json) => ledger.data.handle);
    expect(shown.sort()).toEqual(['main', open.data.handle].sort());
  });
  test.each<[string, Json[]]>([
    ['an action nobody knows', [{ action: 'fly' }]],
    ['a signer by handle', [{ action: 'any', signer: { handle: 'anna' } }]],
    ['a policy', [{ policy: 'p' }]],
  ])('%s stops the start', async (_name, list) => {
    const ended = await startRefused({ directory: freshDirectory(), flags: rules(list) });
    expect(ended.code).toBe(2);
    expect(ended.log).toContain('--access-rules');
  });
});
