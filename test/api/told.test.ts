/** What a refusal tells whoever has to do something about it, when its detail is all that they look at. */
import { describe, expect, test } from 'vitest';
import { bearer, connect, type Json, makeKeys, proof, type Reply, record } from '../support/client.ts';
import { freshLedger, issue, openLedger, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();
const { client, server, kit } = await serverOfFile(keys);
const detailOf = ({ body }: Reply): string => body.data.detail;

describe('a body of the wrong shape: the detail names the place', () => {
  const wrong: [path: string, data: Json, detail: string][] = [
    ['/intents', { handle: 'a', claims: [issue('w', 's', 1.5)] }, '/data/claims/0/amount must be integer'],
    ['/wallets', { handle: 'a', name: 'Ana' }, '/data must NOT have additional properties: name'],
    ['/ledgers', { handle: 'a', config: { intent: {} } }, '/data/config must NOT have additional properties: intent'],
    ['/symbols', { handle: 'a' }, "/data must have required property 'factor'"],
    [
      '/intents',
      { handle: 'a', config: { commit: 'by-hand' }, claims: [issue('w', 's', 1)] },
      '/data/config/commit must be equal to one of the allowed values: auto, manual',
    ],
  ];
  test.each(wrong)('%s %j', async (path, data, detail) => {
    const reply = await client.post(path, record(data, keys));
    expect([reply.status, detailOf(reply)]).toEqual([422, detail]);
    // The list of errors stays as validators have it.
    expect(reply.body.data.custom.errors[0].message).toBe(detail.replace(/^\/\S+ /, '').replace(/: .*/, ''));
  });

  test('what comes from the sender is cut short', async () => {
    const data = { handle: 'a', ['n'.repeat(5000)]: 1 };
    expect(detailOf(await client.post('/wallets', record(data, keys))).length).toBeLessThan(300);
  });

  test('in a schema of the ledger too', async () => {
    const { there } = await freshLedger(server, keys);
    const schema = { type: 'object', properties: { custom: { properties: { age: { type: 'integer' } } } } };
    const made = { handle: 'person', record: 'wallet', format: 'json-schema', schema };
    expect((await there.post('/schemas', record(made, keys))).status).toBe(201);
    const reply = await there.post('/wallets', record({ handle: 'a', schema: 'person', custom: { age: 'x' } }, keys));
    expect([reply.status, detailOf(reply)]).toEqual([422, '/data/custom/age must be integer']);
  });
});

test('a filter that lists of the kind do not know: the detail names those that they do', async () => {
  const told = async (path: string) => detailOf(await client.get(path));
  expect(await told('/wallets?data.bridge=x')).toBe(
    'filter has an unsupported path; here are data.handle, data.schema, meta.status, meta.moment, meta.labels, data.custom.<member>',
  );
  expect(await told('/intents?data.claims.0.source=x')).toMatch(/, meta\.thread, .*data\.claims\.source/);
  for (const array of ['data.handle[]=x', 'data.handle[0]=x', 'data.handle.0=x']) {
    expect(await told(`/wallets?${array}`), array).toMatch(/data\.custom\.<member>; several values take \$in$/);
  }
  expect(await told('/wallets?data.handle.$like=x')).toBe(
    'filter has an unsupported operator; here are $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $regex',
  );
});

describe('403: the detail names the rights that it takes', () => {
  const stranger = makeKeys();
  const owner = makeKeys();

  test.each([false, true])('whether it may come in: %s', async (mayEnter) => {
    const access = [
      { action: 'any', record: 'any', signer: { public: owner.public } },
      ...(mayEnter ? [{ action: 'access', record: 'any' }] : []),
    ];
    const ledger = (await openLedger(client, owner, { access })).data.handle;
    const there = connect(server, { 'x-ledger': ledger, ...bearer(stranger, ledger) });
    const asOwner = connect(server, { 'x-ledger': ledger });
    const wallet = record({ handle: unique() }, owner);
    expect((await asOwner.post('/wallets', wallet)).status).toBe(201);
    const path = `/wallets/${wallet.data.handle}`;
    const told = async (reply: Promise<Reply>) => [(await reply).status, detailOf(await reply)];
    const no = (rights: string) => [403, `Request is not authorized: it takes ${rights}`];
    expect(await told(there.get(path))).toEqual(no('access and read on wallet'));
    expect(await told(there.post('/symbols', record({ handle: 's', factor: 1 }, stranger)))).toEqual(
      no('access and create on symbol'),
    );
    expect(await told(there.post(`${path}/proofs`, proof(wallet.hash, stranger)))).toEqual(
      no('access and create on wallet-proof'),
    );
    expect(await told(there.del(path, record({ parent: wallet.hash }, stranger)))).toEqual(
      no('access and drop on wallet'),
    );
    if (!mayEnter) expect(await told(there.get('/wallets'))).toEqual(no('access on wallet'));
  });
});

test('a token for another request: the detail says what the hash is over', async () => {
  const wallet = await kit.wallet();
  const headers = bearer(keys, 'main', { hsh: '0'.repeat(64) });
  const reply = await client.get(`/wallets/${wallet}`, headers);
  expect([reply.status, detailOf(reply)]).toEqual([
    401,
    'token hsh does not match the request: its method, body, the headers it names, and its URL as the client sent it',
  ]);
});
