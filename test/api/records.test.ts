/**
 * What holds of every kind of record: made, read by handle or luid, listed, changed, signed again, its history,
 * dropped; and the handles and members a kind allows.
 */
import { describe, expect, test } from 'vitest';
import { hashOf, type Json, makeKeys, proof, record } from '../support/client.ts';
import {
  freshLedger,
  HASH,
  issue,
  luidOf,
  MOMENT,
  proofFor,
  reasonOf,
  segment,
  transfer,
  unique,
} from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { NOWHERE, SAMPLES, type Sample } from '../support/samples.ts';

const keys = makeKeys();
const stranger = makeKeys();

const { server, client, kit } = await serverOfFile(keys);

const droppable = SAMPLES.filter((sample) => sample.drop);
const kept = [...SAMPLES.filter((sample) => !sample.drop).map((sample) => sample.path), 'intents'];

describe.each(SAMPLES)('$path', (sample: Sample) => {
  const { path, prefix, status } = sample;
  const make = async (): Promise<Json> => kit.make(path, await sample.data(kit));

  test('create answers 201 with luid, status, owners and the proof of the server last', async () => {
    const custom = { moment: new Date().toISOString() };
    const body = record({ ...(await sample.data(kit)), custom: { note: 'ñ', deep: [{ a: null }] } }, keys, [custom]);
    const reply = await client.post(`/${path}`, body);
    expect(reply.status, reply.text).toBe(201);
    const stored = reply.body;
    expect(stored.hash).toBe(body.hash);
    expect(stored.data).toEqual(body.data);
    expect(stored.luid).toMatch(luidOf(prefix));
    expect(stored.meta).toMatchObject({ status, owners: [keys.public] });
    expect(stored.meta.moment).toMatch(MOMENT);
    expect(stored.meta.proofs).toHaveLength(2);
    expect(stored.meta.proofs[0]).toEqual(body.meta.proofs[0]);
    expect(stored.meta.proofs[1].public).toBe(server.publicKey);
    expect(stored.meta.proofs[1].custom).toMatchObject({ luid: stored.luid, moment: stored.meta.moment });
    expect(Object.keys(stored.meta.proofs[1].custom).sort()).toEqual(['luid', 'moment', 'status']);
  });

  test('read by handle and by luid gives the same bytes as create did', async () => {
    const stored = await make();
    const byHandle = await client.get(`/${path}/${stored.data.handle}`);
    const byLuid = await client.get(`/${path}/${segment(stored.luid)}`);
    expect([byHandle.status, byLuid.status]).toEqual([200, 200]);
    expect(byHandle.body).toEqual(stored);
    expect(byLuid.text).toBe(byHandle.text);
  });

  test('the list begins with the newest', async () => {
    const stored = await make();
    const reply = await client.get(`/${path}`);
    expect(reply.status).toBe(200);
    expect(reply.body.data[0]).toEqual(stored);
  });

  test('404 for a handle or luid nobody has, 422 for what is neither', async () => {
    expect(reasonOf(await client.get(`/${path}/nobody`))).toEqual([404, 'record.not-found']);
    expect(reasonOf(await client.get(`/${path}/${segment(`$${prefix}.AAAAAAAAAAAAAAAAA`)}`))).toEqual([
      404,
      'record.not-found',
    ]);
    for (const id of ['a b', 'a/b', 'é', '$wlt.short', 'a:b:c', 'x'.repeat(257)]) {
      const reply = await client.get(`/${path}/${segment(id)}`);
      expect(reasonOf(reply), id).toEqual([422, 'record.schema-invalid']);
    }
  });

  test('a taken handle is 409 and names luid and hash of the first', async () => {
    const first = await make();
    const data = { ...(await sample.data(kit)), handle: first.data.handle };
    const reply = await client.post(`/${path}`, record(data, keys));
    expect(reasonOf(reply)).toEqual([409, 'record.duplicated']);
    expect(reply.body.data.custom).toMatchObject({ luid: first.luid, hash: first.hash });
    expect((await client.get(`/${path}/${first.data.handle}`)).body).toEqual(first);
  });

  test('update: new data, same luid, status and owners; the proofs are those of the new version', async () => {
    const old = await make();
    const data = { ...old.data, custom: { version: 2 }, parent: old.hash };
    const body = { luid: old.luid, ...record(data, [stranger, keys], [{ n: 1 }, { n: 2 }]) };
    const reply = await client.put(`/${path}/${old.data.handle}`, body);
    expect(reply.status, reply.text).toBe(200);
    const stored = reply.body;
    expect(stored).toMatchObject({ hash: body.hash, luid: old.luid, data });
    expect(stored.meta).toMatchObject({ status: old.meta.status, owners: old.meta.owners });
    expect(stored.meta.proofs).toHaveLength(3);
    expect(stored.meta.proofs.slice(0, 2)).toEqual(body.meta.proofs);
    expect(stored.meta.proofs[2].custom).toEqual({ luid: old.luid, moment: stored.meta.moment });
    expect((await client.get(`/${path}/${segment(old.luid)}`)).body).toEqual(stored);
    expect((await client.get(`/${path}?page.limit=1`)).body.data[0]).toEqual(stored);
  });

  test('update without a luid is accepted, with a wrong one refused', async () => {
    const old = await make();
    const other = await make();
    const bare = record({ ...old.data, custom: { n: 1 }, parent: old.hash }, keys);
    const wrong = await client.put(`/${path}/${old.data.handle}`, { ...bare, luid: other.luid });
    expect(wrong.status).toBe(422);
    const fine = await client.put(`/${path}/${old.data.handle}`, bare);
    expect(fine.status, fine.text).toBe(200);
  });

  test('update needs the hash of the current version as parent', async () => {
    const old = await make();
    const url = `/${path}/${old.data.handle}`;
    const missing = await client.put(url, { luid: old.luid, ...record({ ...old.data, custom: {} }, keys) });
    expect(reasonOf(missing)).toEqual([422, 'crypto.parent-hash-invalid']);
    const other = { luid: old.luid, ...record({ ...old.data, parent: hashOf('other') }, keys) };
    expect(reasonOf(await client.put(url, other))).toEqual([422, 'crypto.parent-hash-invalid']);
    expect((await client.get(url)).body).toEqual(old);
    const next = await kit.change(path, old, old.data);
    expect(next.status, next.text).toBe(200);
    expect(reasonOf(await kit.change(path, old, old.data))).toEqual([422, 'crypto.parent-hash-invalid']);
    const loud = { ...record({ ...next.body.data, parent: next.body.hash.toUpperCase() }, keys) };
    expect((await client.put(url, loud)).status, 'in upper case it is the same').toBe(200);
  });

  test('update of what is not there is 404', async () => {
    const data = { ...(await sample.data(kit)), parent: hashOf({}) };
    expect(reasonOf(await client.put(`/${path}/${data.handle}`, record(data, keys)))).toEqual([
      404,
      'record.not-found',
    ]);
  });

  test('update may move to a free handle, never to a taken one', async () => {
    const old = await make();
    const other = await make();
    const taken = await kit.change(path, old, { ...old.data, handle: other.data.handle }, old.data.handle);
    expect(reasonOf(taken)).toEqual([409, 'record.duplicated']);
    const handle = unique('moved');
    const moved = await kit.change(path, old, { ...old.data, handle }, old.data.handle);
    expect(moved.status, moved.text).toBe(200);
    expect(moved.body.luid).toBe(old.luid);
    expect((await client.get(`/${path}/${old.data.handle}`)).status).toBe(404);
    expect((await client.get(`/${path}/${handle}`)).body).toEqual(moved.body);
    expect((await client.get(`/${path}/${segment(old.luid)}`)).body).toEqual(moved.body);
    const free = { ...(await sample.data(kit)), handle: old.data.handle };
    expect((await client.post(`/${path}`, record(free, keys))).status).toBe(201);
  });

  test('a proof added later stands behind the others, byte for byte', async () => {
    const stored = await make();
    const added = proofFor(stored, stranger, { moment: new Date().toISOString(), note: ['ü', 1.5] });
    const reply = await client.post(`/${path}/${stored.data.handle}/proofs`, added);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body).toMatchObject({ hash: stored.hash, luid: stored.luid, data: stored.data });
    expect(reply.body.meta.proofs.slice(0, 3)).toEqual([...stored.meta.proofs, added]);
    expect(reply.body.meta.owners).toEqual(stored.meta.owners);
    expect((await client.get(`/${path}/${stored.data.handle}`)).body).toEqual(reply.body);
    const byLuid = await client.post(`/${path}/${segment(stored.luid)}/proofs`, proofFor(stored, stranger, { n: 2 }));
    expect(byLuid.status).toBe(200);
  });

  test('an added proof that does not hold is refused and leaves no trace', async () => {
    const stored = await make();
    const url = `/${path}/${stored.data.handle}`;
    const foreign = proof(hashOf({ handle: 'other' }), stranger);
    expect(reasonOf(await client.post(`${url}/proofs`, foreign))).toEqual([422, 'crypto.signature-invalid']);
    const stolen = { ...proofFor(stored, stranger), public: keys.public };
    expect(reasonOf(await client.post(`${url}/proofs`, stolen))).toEqual([422, 'crypto.signature-invalid']);
    expect(reasonOf(await client.post(`/${path}/nobody/proofs`, foreign))).toEqual([404, 'record.not-found']);
    expect((await client.get(url)).body).toEqual(stored);
  });

  test('history: every version with its own proofs, newest first', async () => {
    const first = await make();
    const second = (await kit.change(path, first, { ...first.data, custom: { n: 2 } })).body;
    const third = (await kit.change(path, second, { ...second.data, custom: { n: 3 } })).body;
    const reply = await client.get(`/${path}/${first.data.handle}/changes`);
    expect(reply.status, reply.text).toBe(200);
    const rows: Json[] = reply.body.data;
    expect(rows.map((row) => row.hash)).toEqual([third.hash, second.hash, first.hash]);
    expect(rows.map((row) => row.data)).toEqual([third.data, second.data, first.data]);
    expect(rows[2].meta.proofs).toEqual(first.meta.proofs);
    for (const row of rows) {
      expect(typeof row.meta.action).toBe('string');
      const one = await client.get(`/${path}/${segment(first.luid)}/changes/${row.meta.change}`);
      expect([one.status, one.body.hash]).toEqual([200, row.hash]);
    }
    expect(rows.map((row) => row.meta.change).sort()).toEqual([1, 2, 3]);
    expect((await client.get(`/${path}/nobody/changes`)).status).toBe(404);
    expect((await client.get(`/${path}/${first.data.handle}/changes/99`)).status).toBe(404);
  });

  test('an unknown member of data is refused and named', async () => {
    const reply = await client.post(`/${path}`, record({ ...(await sample.data(kit)), surplus: 1 }, keys));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
    expect(JSON.stringify(reply.body.data.custom.errors)).toContain('surplus');
  });

  test.each<[string, Json]>([
    ['handle', undefined],
    ['handle', 7],
    ['handle', 'not a handle'],
    ['custom', 'text'],
    ['custom', []],
    ['access', {}],
    ['access', [{}]],
    ['access', [{ action: 'fly' }]],
    ['schema', 7],
  ])('%s: %j is refused', async (member, value) => {
    const data = { ...(await sample.data(kit)), [member]: value };
    const reply = await client.post(`/${path}`, record(JSON.parse(JSON.stringify(data)), keys));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
    for (const one of reply.body.data.custom.errors) {
      expect(one).toMatchObject({ instancePath: expect.any(String), schemaPath: expect.any(String) });
      expect(one).toMatchObject({
        keyword: expect.any(String),
        params: expect.any(Object),
        message: expect.any(String),
      });
    }
  });
});

describe.each(droppable)('dropping $path', (sample: Sample) => {
  const { path } = sample;
  const make = async (): Promise<Json> => kit.make(path, await sample.data(kit));
  const ways: [string, (id: string, body: Json) => Promise<Json>][] = [
    ['DELETE', (id, body) => client.del(`/${path}/${segment(id)}`, body)],
    ['POST drop', (id, body) => client.post(`/${path}/${segment(id)}/drop`, body)],
  ];
  test.each(ways)('%s takes it away', async (name, drop) => {
    const stored = await make();
    const reply = await drop(stored.data.handle, kit.dropBody(stored));
    const isTold = path === 'effects' && name === 'DELETE';
    if (isTold) expect([reply.status, reply.body]).toEqual([200, `Effect ${stored.data.handle} dropped`]);
    else expect([reply.status, reply.text]).toEqual([204, '']);
    expect(reasonOf(await client.get(`/${path}/${stored.data.handle}`))).toEqual([404, 'record.not-found']);
    expect(reasonOf(await client.get(`/${path}/${segment(stored.luid)}`))).toEqual([404, 'record.not-found']);
    const list = await client.get(`/${path}?page.limit=100`);
    expect(list.body.data.map((one: Json) => one.luid)).not.toContain(stored.luid);
    expect((await drop(stored.data.handle, kit.dropBody(stored))).status).toBe(404);
  });
  test.each(ways)(
    '%s wants the current hash, the right luid and handle, a true hash and true signatures',
    async (_name, drop) => {
      const stored = await make();
      const other = await make();
      const good = kit.dropBody(stored);
      const { handle } = stored.data;
      const old = { luid: stored.luid, ...record({ parent: other.hash }, keys) };
      expect(reasonOf(await drop(handle, old))).toEqual([422, 'crypto.parent-hash-invalid']);
      expect((await drop(handle, { ...good, luid: other.luid })).status).toBe(422);
      expect(reasonOf(await drop(handle, { ...good, hash: hashOf({}) }))).toEqual([422, 'crypto.hash-invalid']);
      const renaming = { luid: stored.luid, ...record({ handle: other.data.handle, parent: stored.hash }, keys) };
      expect(reasonOf(await drop(handle, renaming))).toEqual([422, 'record.invalid']);
      const forged = { ...good, meta: { proofs: [{ ...good.meta.proofs[0], public: stranger.public }] } };
      expect(reasonOf(await drop(handle, forged))).toEqual([422, 'crypto.signature-invalid']);
      expect((await client.get(`/${path}/${handle}`)).body).toEqual(stored);
      const bare = record({ parent: stored.hash, handle }, keys);
      expect((await drop(handle, bare)).status).toBeLessThan(300);
    },
  );
});

test.each(kept)('%s cannot be dropped: 405 with Allow', async (path) => {
  const reply = await client.del(`/${path}/whatever`, record({ parent: hashOf({}) }, keys));
  expect(reasonOf(reply)).toEqual([405, 'api.route-not-found']);
  expect(reply.headers.get('allow')).toMatch(/\bGET\b/);
});

describe('what may not be dropped', () => {
  test('a wallet with money, until it is empty', async () => {
    const symbol = await kit.symbol();
    const [wallet, other] = [await kit.wallet(), await kit.wallet()];
    await kit.done([issue(wallet, symbol, 5)]);
    const stored = (await client.get(`/wallets/${wallet}`)).body;
    const refused = await client.del(`/wallets/${wallet}`, kit.dropBody(stored));
    expect(reasonOf(refused)).toEqual([422, 'record.drop-rejected']);
    await kit.done([transfer(wallet, other, symbol, 5)]);
    expect((await client.del(`/wallets/${wallet}`, kit.dropBody(stored))).status).toBe(204);
  });
  test('a wallet an anchor names, until that is gone', async () => {
    const wallet = await kit.wallet();
    const stored = (await client.get(`/wallets/${wallet}`)).body;
    const anchor = await kit.make('anchors', { handle: unique('anchor'), wallet, target: await kit.wallet() });
    const refused = await client.del(`/wallets/${wallet}`, kit.dropBody(stored));
    expect(reasonOf(refused)).toEqual([422, 'record.drop-rejected']);
    expect((await client.del(`/anchors/${anchor.data.handle}`, kit.dropBody(anchor))).status).toBe(204);
    expect((await client.del(`/wallets/${wallet}`, kit.dropBody(stored))).status).toBe(204);
  });
  test('a bridge a wallet names, until that is gone', async () => {
    const bridge = await kit.make('bridges', { handle: unique('bridge'), schema: 'rest', config: { server: NOWHERE } });
    const wallet = await kit.make('wallets', { handle: unique('wallet'), bridge: bridge.data.handle });
    const refused = await client.del(`/bridges/${bridge.data.handle}`, kit.dropBody(bridge));
    expect(reasonOf(refused)).toEqual([422, 'record.drop-rejected']);
    expect((await client.del(`/wallets/${wallet.data.handle}`, kit.dropBody(wallet))).status).toBe(204);
    expect((await client.del(`/bridges/${bridge.data.handle}`, kit.dropBody(bridge))).status).toBe(204);
  });
});

describe('relations', () => {
  test('a wallet of a bridge that is not there', async () => {
    const reply = await client.post('/wallets', record({ handle: unique(), bridge: 'nobody' }, keys));
    expect(reasonOf(reply)).toEqual([422, 'record.relation-not-found']);
  });
  test('an anchor of a wallet that is not there, unless the ledger says otherwise', async () => {
    const data = { handle: unique('anchor'), wallet: 'nobody', target: await kit.wallet() };
    expect(reasonOf(await client.post('/anchors', record(data, keys)))).toEqual([422, 'record.relation-not-found']);
    const { there } = await freshLedger(server, keys, { config: { 'anchor.walletRequired': false } });
    expect((await there.post('/anchors', record({ ...data, target: 'elsewhere' }, keys))).status).toBe(201);
  });
  test('an anchor is not changed to a wallet that is not there', async () => {
    const wallet = await kit.wallet();
    const anchor = await kit.make('anchors', { handle: unique('anchor'), wallet, target: 'elsewhere' });
    const changed = await kit.change('anchors', anchor, { ...anchor.data, wallet: 'nobody' });
    expect(reasonOf(changed)).toEqual([422, 'record.relation-not-found']);
  });
  test('a schema of the ledger holds the records that name it', async () => {
    const schema = { type: 'object', required: ['custom'], properties: { custom: { required: ['name'] } } };
    const strict = { handle: unique('schema'), record: 'wallet', format: 'json-schema', schema };
    const { there, kit: own } = await freshLedger(server, keys);
    await own.make('schemas', strict);
    const named = (custom: Json): Json => record({ handle: unique('wallet'), schema: strict.handle, custom }, keys);
    expect((await there.post('/wallets', named({ name: 'Ana' }))).status).toBe(201);
    const reply = await there.post('/wallets', named({}));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
    await own.make('circles', { handle: unique('circle'), schema: strict.handle });
  });
  test('members of a circle', async () => {
    const circle = await kit.make('circles', { handle: unique('circle') });
    const signer = unique('signer');
    await kit.make('signers', { handle: signer, format: 'ed25519-raw', public: stranger.public });
    const body = record({ circle: circle.data.handle, signer }, keys);
    const reply = await client.post(`/circles/${circle.data.handle}/signers`, body);
    expect(reply.status, reply.text).toBe(200);
  });
});

describe('handles', () => {
  const good = [
    'a',
    'svgs:a',
    'a@bank',
    'svgs:1001@bank-a',
    'A.b-c_d+e:F.g@H.i',
    '+57300',
    '..a',
    '...',
    `x${'y'.repeat(255)}`,
  ];
  test.each(good.map((base, n) => [n, base] as const))('%i: %s is one', async (n, base) => {
    const handle = base.length > 200 ? base : `${base}${n}`;
    const stored = await kit.make('wallets', { handle });
    for (const id of [handle, segment(handle)]) {
      if (/^\.+$/.test(id)) continue;
      const reply = await client.get(`/wallets/${id}`);
      expect([reply.status, reply.body]).toEqual([200, stored]);
    }
    expect(stored.data.handle).toBe(handle);
  });

  const bad = [
    '',
    ' ',
    'a b',
    'a/b',
    'á',
    '.',
    '..',
    'a:b:c',
    'a@b@c',
    ':a',
    'a:',
    '@a',
    'a@',
    'a@b:c',
    'a,b',
    'a#b',
    'a%20b',
    'a\n',
    '$wlt.AAAAAAAAAAAAAAAAA',
    'x'.repeat(257),
  ];
  test.each(bad)('%j is none', async (handle) => {
    const reply = await client.post('/wallets', record({ handle }, keys));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
  });

  test('the message of a bad handle says what a handle is', async () => {
    const reply = await client.post('/wallets', record({ handle: 'not ok!' }, keys));
    const messages = reply.body.data.custom.errors.map((one: Json) => one.message);
    expect(messages).toContain('handle must consist of letters, digits, underscore, hyphen, plus and period');
  });

  test.each<[string, string]>([
    ['__proto__', 'wallets'],
    ['constructor', 'wallets'],
    ['toString', 'symbols'],
    ['hasOwnProperty', 'circles'],
  ])('%s is a plain handle in %s', async (handle, path) => {
    expect((await client.get(`/${path}/${handle}`)).status).toBe(404);
    const stored = await kit.make(path, path === 'symbols' ? { handle, factor: 1 } : { handle });
    expect((await client.get(`/${path}/${handle}`)).body).toEqual(stored);
  });
});

describe('members of kinds', () => {
  test.each([1, 10, 1e15])('a symbol keeps the factor %d', async (factor) => {
    const { data } = await kit.make('symbols', { handle: unique('symbol'), factor });
    expect((await client.get(`/symbols/${data.handle}`)).body.data.factor).toBe(factor);
  });
  const key = makeKeys().public;
  const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const unused = `${key.slice(0, 42)}${last[last.indexOf(key[42]!) + 1]}=`;
  const signer = { format: 'ed25519-raw', public: key };
  const anchor = { wallet: 'a', target: 'b' };
  const effect = { signal: 'wallet-created', action: { schema: 'webhook', endpoint: NOWHERE } };
  const policy = { schema: 'access', record: 'wallet', values: [] };
  const userSchema = { record: 'wallet', format: 'json-schema', schema: {} };
  const table: [string, Json][] = [
    ['symbols', { factor: 0 }],
    ['symbols', { factor: 2 }],
    ['symbols', { factor: -10 }],
    ['symbols', { factor: 0.1 }],
    ['symbols', { factor: 1e16 }],
    ['symbols', { factor: '100' }],
    ['signers', { ...signer, public: undefined }],
    ['signers', { ...signer, public: 'abc' }],
    ['signers', { ...signer, public: key.slice(0, 43) }],
    ['signers', { ...signer, public: `${key.slice(0, 40)}-_A=` }],
    ['signers', { ...signer, public: unused }],
    ['signers', { ...signer, format: 'rsa' }],
    ['wallets', { bridge: 7 }],
    ['wallets', { routes: {} }],
    ['wallets', { routes: [{ action: 'fly' }] }],
    ['anchors', { ...anchor, wallet: undefined }],
    ['anchors', { ...anchor, target: undefined }],
    ['anchors', { ...anchor, wallet: 'no good' }],
    ['anchors', { ...anchor, symbol: 7 }],
    ['effects', { ...effect, signal: undefined }],
    ['effects', { ...effect, action: undefined }],
    ['effects', { ...effect, filter: [] }],
    ['bridges', {}],
    ['bridges', { config: {} }],
    ['bridges', { config: { server: 7 } }],
    ['policies', { ...policy, values: {} }],
    ['policies', { ...policy, schema: 'magic' }],
    ['policies', { ...policy, record: undefined }],
    ['schemas', { ...userSchema, format: 'xml' }],
    ['schemas', { ...userSchema, record: undefined }],
    ['schemas', { ...userSchema, schema: 'x' }],
  ];
  test.each(table)('%s refuse %j', async (path, members) => {
    const data = JSON.parse(JSON.stringify({ handle: unique(), ...members }));
    const reply = await client.post(`/${path}`, record(data, keys));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
  });
  test('custom keeps every plain JSON value, __proto__ among the keys', async () => {
    const text = `{"__proto__":{"x":1},"constructor":null,"b":[1e21,1e-7,0,true,"\\u2028é😀"],"":"","max":9007199254740991}`;
    const data = { handle: unique('wallet'), custom: JSON.parse(text) };
    const stored = await kit.make('wallets', data);
    expect(stored.hash).toBe(hashOf(data));
    expect(stored.hash).toMatch(HASH);
    expect(JSON.stringify(stored.data.custom)).toContain('__proto__');
  });
});
