/** Status and labels policies, as clients meet them: who may say what by a proof, and what records then show. */
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Client, connect, type Json, type Keys, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { freshLedger, type Kit, proofFor, reasonOf, unique } from '../support/kit.ts';
import { startServer } from '../support/server.ts';

const [owner, anna, bert, carl] = [makeKeys(), makeKeys(), makeKeys(), makeKeys()];
const directory = freshDirectory();
let server = await startServer({ directory, flags: ['--snapshot-every', '30'] });
afterAll(() => server.stop());
let there: Client;
let kit: Kit;
let ledger: string;

beforeEach(async () => {
  ({ there, kit, handle: ledger } = await freshLedger(server, owner));
});

const VIOLATION = [422, 'record.status-policy-violation'];
let said = 0;

/** Adds a proof to the wallet; its custom is never the same. */
async function prove(handle: string, keys: Keys, custom: Json) {
  const stored = (await there.get(`/wallets/${handle}`)).body;
  const moment = new Date(Date.UTC(2030, 0, 1) + said++).toISOString();
  return there.post(`/wallets/${handle}/proofs`, proofFor(stored, keys, { moment, ...custom }));
}

async function policy(schema: string, values: Json[], more: Json = {}): Promise<Json> {
  return kit.make('policies', { handle: unique('policy'), schema, record: 'wallet', values, ...more });
}

const by = (...keys: Keys[]) => ({ $in: keys.map((one) => ({ public: one.public })) });

describe('status', () => {
  test('is set by whom a policy names, from where it says, and by nobody else', async () => {
    await policy('status', [
      { status: 'active', from: ['created'], signer: by(anna) },
      { status: 'closed', from: ['active'], signer: { $record: 'owner' } },
    ]);
    const wallet = await kit.wallet();
    expect(reasonOf(await prove(wallet, bert, { status: 'active' }))).toEqual(VIOLATION);
    expect(reasonOf(await prove(wallet, owner, { status: 'closed' }))).toEqual(VIOLATION);
    expect(reasonOf(await prove(wallet, anna, { status: 'frozen' }))).toEqual(VIOLATION);
    const active = await prove(wallet, anna, { status: 'active' });
    expect([active.status, active.body.meta.status, active.body.meta.proofs.length]).toEqual([200, 'active', 3]);
    expect((await prove(wallet, owner, { status: 'closed' })).body.meta.status).toBe('closed');
    expect((await prove(wallet, carl, { note: 'seen' })).status).toBe(200);
  });

  test('changes with the proof that completes a quorum', async () => {
    await policy('status', [{ status: 'active', quorum: [{ signer: by(anna, bert, carl), count: 2 }] }]);
    const wallet = await kit.wallet();
    const statuses: string[] = [];
    for (const keys of [anna, anna, bert])
      statuses.push((await prove(wallet, keys, { status: 'active' })).body.meta.status);
    expect(statuses).toEqual(['created', 'created', 'active']);
    expect((await there.get('/wallets?meta.status=active')).body.data).toHaveLength(1);
  });

  test('is free again once the policy is gone', async () => {
    const only = await policy('status', []);
    const wallet = await kit.wallet();
    expect(reasonOf(await prove(wallet, anna, { status: 'active' }))).toEqual(VIOLATION);
    expect((await there.del(`/policies/${only.data.handle}`, kit.dropBody(only))).status).toBe(204);
    expect((await prove(wallet, anna, { status: 'active' })).body.meta.status).toBe('active');
  });
});

describe('labels', () => {
  test('stand sorted in meta, are found by lists, stay over an update, and go by a minus', async () => {
    await policy('labels', ['vip', { label: 'known', signer: by(anna) }]);
    const wallet = await kit.wallet();
    await kit.wallet();
    expect(reasonOf(await prove(wallet, bert, { labels: ['known'] }))).toEqual(VIOLATION);
    expect(reasonOf(await prove(wallet, bert, { labels: ['other'] }))).toEqual(VIOLATION);
    const labelled = await prove(wallet, anna, { labels: ['vip', 'known'] });
    expect(labelled.body.meta.labels).toEqual(['known', 'vip']);
    expect(labelled.text).toContain('"meta":{"labels":["known","vip"],"moment":');
    const found = await there.get('/wallets?meta.labels=vip');
    expect(found.body.data.map((one: Json) => one.data.handle)).toEqual([wallet]);
    const changed = await kit.change('wallets', labelled.body, { handle: wallet, custom: { n: 1 } });
    expect(changed.body.meta.labels).toEqual(['known', 'vip']);
    expect((await there.get(`/wallets/${wallet}`)).body).toEqual(changed.body);
    const less = await prove(wallet, anna, { labels: ['-known'] });
    expect(less.body.meta.labels).toEqual(['vip']);
    const none = await prove(wallet, anna, { labels: ['-vip'] });
    expect(Object.keys(none.body.meta)).not.toContain('labels');
    const history = (await there.get(`/wallets/${wallet}/changes`)).body.data;
    expect(history.map((one: Json) => one.meta.labels)).toEqual([undefined, ['known', 'vip']]);
  });

  test('for one only are refused to a second', async () => {
    await policy('labels', [{ label: 'main', unique: true }]);
    const [one, other] = [await kit.wallet(), await kit.wallet()];
    expect((await prove(one, anna, { labels: ['main'] })).body.meta.labels).toEqual(['main']);
    expect(reasonOf(await prove(other, anna, { labels: ['main'] }))).toEqual(VIOLATION);
    const stored = (await there.get(`/wallets/${one}`)).body;
    expect((await there.del(`/wallets/${one}`, kit.dropBody(stored))).status).toBe(204);
    expect((await prove(other, anna, { labels: ['main'] })).body.meta.labels).toEqual(['main']);
  });

  test('mean nothing where no policy speaks of them', async () => {
    const wallet = await kit.wallet();
    const reply = await prove(wallet, anna, { labels: ['vip'] });
    expect([reply.status, reply.body.meta.labels]).toEqual([200, undefined]);
  });
});

test.each<[string, Json]>([
  ['status', { 'data.schema': ['bank', 'till'] }],
  ['status', { 'data.schema': { $like: 'bank' } }],
  ['status', { data: { schema: 'bank' } }],
  ['status', { 'data.schema': null }],
  ['labels', { 'data.schema': { $regex: 'bank' } }],
  ['access', { 'data.schema': {} }],
])(
  'a %s policy whose filter cannot be read, %j, is refused: it left all records free, or none out',
  async (schema, filter) => {
    const data = { handle: unique('policy'), schema, record: 'wallet', values: [], filter };
    const reply = await there.post('/policies', record(data, owner));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
  },
);

test('a policy is for the records that pass its filter, by operators too', async () => {
  await policy('status', [], { filter: { 'data.schema': { $in: ['bank', 'till'] }, 'meta.labels': { $ne: 'free' } } });
  const [bank, other] = [await kit.wallet({ schema: 'bank' }), await kit.wallet({ schema: 'shop' })];
  expect(reasonOf(await prove(bank, anna, { status: 'active' }))).toEqual(VIOLATION);
  expect((await prove(other, anna, { status: 'active' })).body.meta.status).toBe('active');
});

test.each<[string, string, Json]>([
  ['a status of no form', 'status', { status: 'on hold' }],
  ['an unknown member', 'status', { status: 'active', who: {} }],
  ['signer and quorum at once', 'status', { status: 'active', signer: {}, quorum: [{ signer: {} }] }],
  ['an empty quorum', 'status', { status: 'active', quorum: [] }],
  ['a count of none', 'status', { status: 'active', quorum: [{ signer: {}, count: 0 }] }],
  ['no status', 'status', {}],
  ['a label that begins with a minus', 'labels', { label: '-vip' }],
  ['a label that is empty', 'labels', ''],
])('a policy with %s is 422', async (_, schema, value) => {
  const data = { handle: unique('policy'), schema, record: 'wallet', values: [value] };
  expect(reasonOf(await there.post('/policies', record(data, owner)))).toEqual([422, 'record.schema-invalid']);
});

test('statuses, labels and policies are the same after a restart, from snapshot and journal', async () => {
  await policy('labels', [{ label: 'main', unique: true }, 'vip']);
  await policy('status', [{ status: 'active', quorum: [{ signer: by(anna, bert), count: 2 }] }]);
  const [one, other] = [await kit.wallet(), await kit.wallet()];
  await prove(one, anna, { labels: ['main', 'vip'], status: 'active' });
  for (let i = 0; i < 30; i++) await kit.wallet();
  const before = (await prove(other, anna, { labels: ['vip'] })).text;
  await server.stop();
  server = await startServer({ directory });
  there = connect(server, { 'x-ledger': ledger });
  expect((await there.get(`/wallets/${other}`)).text).toBe(before);
  expect(reasonOf(await prove(other, anna, { labels: ['main'] }))).toEqual(VIOLATION);
  expect(reasonOf(await prove(other, carl, { status: 'active' }))).toEqual(VIOLATION);
  const done = await prove(one, bert, { status: 'active' });
  expect([done.body.meta.status, done.body.meta.labels]).toEqual(['active', ['main', 'vip']]);
});
