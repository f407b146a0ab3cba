/**
 * What a client signed and dated brings about one thing in its ledger: whoever kept the body cannot put back what was
 * dropped, make another kind of it, or take away with it what it gave. What is not dated is left as it is, and a request
 * that is only sent again is answered as ever.
 */
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { connect, hashOf, type Json, type Keys, makeKeys, proof, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { freshLedger, issue, reasonOf, segment, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { serverOfTest } from '../support/of-test.ts';
import { SAMPLES } from '../support/samples.ts';

const keys = makeKeys();
const stranger = makeKeys();
const DUPLICATED = [409, 'record.duplicated'];

const { server, client, kit } = await serverOfFile(keys);

let millisecond = Date.UTC(2026, 0);

/** As the public package signs: each body at its own moment. */
function dated(data: Json): Json {
  return record(data, keys, [{ moment: new Date(millisecond++).toISOString() }]);
}

async function makeMember(there = client): Promise<{ path: string; data: Json }> {
  const [circle, signer] = [unique('circle'), unique('signer')];
  const data = { handle: signer, format: 'ed25519-raw', public: makeKeys().public };
  expect((await there.post('/signers', record(data, keys))).status).toBe(201);
  expect((await there.post('/circles', record({ handle: circle }, keys))).status).toBe(201);
  return { path: `/circles/${circle}/signers`, data: { circle, signer } };
}

describe('a dated body', () => {
  test('does not put back the member that was removed, nor take away again', async () => {
    const { path, data } = await makeMember();
    const [add, remove] = [dated(data), dated(data)];
    const added = await client.post(path, add);
    expect(added.status).toBe(200);
    expect(reasonOf(await client.del(`${path}/${data.signer}`, add)), 'what adds does not remove').toEqual(DUPLICATED);
    expect((await client.del(`${path}/${data.signer}`, remove)).status).toBe(204);
    const back = await client.post(path, add);
    expect(reasonOf(back)).toEqual(DUPLICATED);
    expect(back.body.data.custom).toEqual({ luid: added.body.luid, hash: added.body.hash });
    expect(reasonOf(await client.post(path, remove)), 'what removes does not add').toEqual(DUPLICATED);
    expect((await client.get(path)).body.data).toEqual([]);
    expect((await client.post(path, dated(data))).status, 'signed again').toBe(200);
    expect(reasonOf(await client.del(`${path}/${data.signer}`, remove)), 'nor a second time').toEqual(DUPLICATED);
  });

  test.each(SAMPLES.filter(({ drop }) => drop))('of $path does not make again what was dropped', async (sample) => {
    const data = await sample.data(kit);
    const body = dated(data);
    const made = (await client.post(`/${sample.path}`, body)).body;
    const at = `/${sample.path}/${segment(data.handle)}`;
    expect((await client.del(at, kit.dropBody(made))).status).toBeLessThan(300);
    const again = await client.post(`/${sample.path}`, body);
    expect(reasonOf(again)).toEqual(DUPLICATED);
    expect(again.body.data.custom).toEqual({ luid: made.luid, hash: made.hash });
    expect(reasonOf(await client.get(at))).toEqual([404, 'record.not-found']);
    expect((await client.post(`/${sample.path}`, dated(data))).status, 'signed again').toBe(201);
  });

  test('of a circle makes no wallet with its rules in the name of who signed it', async () => {
    const access = [{ action: 'any', signer: { public: stranger.public } }];
    const body = dated({ handle: unique('circle'), access });
    const circle = (await client.post('/circles', body)).body;
    const refused = await client.post('/wallets', body);
    expect(reasonOf(refused)).toEqual(DUPLICATED);
    expect(refused.body.data.custom).toEqual({ luid: circle.luid, hash: circle.hash });
    expect(refused.body.data.detail).toContain(circle.luid);
    expect((await client.get(`/wallets/${body.data.handle}`)).status).toBe(404);
  });

  test('counts wherever one of its proofs stands, beside others that are new', async () => {
    const body = dated({ handle: unique('both') });
    await client.post('/circles', body);
    const more = proof(body.hash, stranger, { moment: new Date().toISOString() });
    const both = { ...body, meta: { proofs: [more, ...body.meta.proofs] } };
    expect(reasonOf(await client.post('/wallets', both))).toEqual(DUPLICATED);
    expect((await client.post('/wallets', { ...body, meta: { proofs: [more] } })).status).toBe(201);
  });

  test('changes and drops one record, though another with the same hash takes its place', async () => {
    const handle = unique('twin');
    // Not dated: its client may make it again.
    const create = record({ handle }, keys);
    const path = `/wallets/${handle}`;
    const first = (await client.post('/wallets', create)).body;
    const change = dated({ handle, custom: { n: 1 }, parent: first.hash });
    const changed = (await client.put(path, change)).body;
    const drop = dated({ parent: changed.hash });
    expect((await client.del(path, drop)).status).toBe(204);
    const second = (await client.post('/wallets', create)).body;
    expect(second.hash).toBe(first.hash);
    const late = await client.put(path, change);
    expect(reasonOf(late)).toEqual(DUPLICATED);
    expect(late.body.data.custom).toEqual({ luid: first.luid, hash: changed.hash });
    const undated = record(change.data, keys);
    expect((await client.put(path, undated)).body.hash).toBe(changed.hash);
    expect(reasonOf(await client.del(path, drop))).toEqual(DUPLICATED);
    expect((await client.del(path, dated(drop.data))).status).toBe(204);
  });

  test('is as used up where a later version took its place, and its handle is free', async () => {
    const body = dated({ handle: unique('before') });
    const made = (await client.post('/wallets', body)).body;
    const renamed = await client.put(
      `/wallets/${made.data.handle}`,
      dated({ handle: unique('after'), parent: made.hash }),
    );
    expect(renamed.status).toBe(200);
    const again = await client.post('/wallets', body);
    expect(reasonOf(again)).toEqual(DUPLICATED);
    expect(again.body.data.custom).toEqual({ luid: made.luid, hash: made.hash });
  });

  test('is one thing where it comes twice at once', async () => {
    for (let round = 0; round < 10; round++) {
      const body = dated({ handle: unique('race') });
      const answers = await Promise.all(['circles', 'wallets'].map((path) => client.post(`/${path}`, body)));
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    }
  });

  test('of a ledger makes no record in any', async () => {
    const data = { handle: unique('ledger'), access: [{ action: 'any', record: 'any' }] };
    const body = dated(data);
    expect((await client.post('/ledgers', body)).status).toBe(201);
    for (const there of [client, connect(server, { 'x-ledger': data.handle })]) {
      expect(reasonOf(await there.post('/circles', body))).toEqual(DUPLICATED);
    }
  });

  test('of a record in a ledger changes not the ledger, whose data is the same, nor proves it', async () => {
    const access = [{ action: 'any', record: 'any', signer: { public: keys.public } }];
    const data = { handle: unique('ledger'), access };
    const ledger = (await client.post('/ledgers', dated(data))).body;
    const there = connect(server, { 'x-ledger': data.handle });
    const wallet = (await there.post('/wallets', dated(data))).body;
    expect(wallet.hash).toBe(ledger.hash);
    const late = proof(wallet.hash, keys, { moment: new Date().toISOString(), status: 'closed' });
    expect((await there.post(`/wallets/${data.handle}/proofs`, late)).body.meta.status).toBe('closed');
    const toStranger = [{ action: 'any', record: 'any', signer: { public: stranger.public } }];
    const change = dated({ ...data, access: toStranger, parent: wallet.hash });
    expect((await there.put(`/wallets/${data.handle}`, change)).status).toBe(200);
    for (const method of ['post', 'put'] as const) {
      const path = `/ledgers/${data.handle}`;
      const answer = await (method === 'put' ? client.put(path, change) : client.post(`${path}/proofs`, late));
      expect(reasonOf(answer), method).toEqual(DUPLICATED);
      expect(answer.body.data.custom.luid).toBe(wallet.luid);
    }
    const mine = dated({ ...data, custom: { n: 1 }, parent: ledger.hash });
    expect((await client.put(`/ledgers/${data.handle}`, mine)).status, 'signed for the ledger').toBe(200);
  });
});

describe('a dated proof', () => {
  test('that was added stands on that record alone', async () => {
    const handle = unique('proven');
    const create = record({ handle }, keys);
    const hash = hashOf({ handle });
    const late = proof(hash, keys, { moment: new Date().toISOString(), status: 'verified' });
    const wallet = (await client.post('/wallets', create)).body;
    await client.post('/circles', create);
    expect((await client.post(`/wallets/${handle}/proofs`, late)).body.meta.status).toBe('verified');
    const elsewhere = await client.post(`/circles/${handle}/proofs`, late);
    expect(reasonOf(elsewhere)).toEqual(DUPLICATED);
    expect(elsewhere.body.data.custom).toEqual({ luid: wallet.luid, hash });
    await client.del(`/wallets/${handle}`, dated({ parent: hash }));
    const withLate = { ...create, meta: { proofs: [late] } };
    expect(reasonOf(await client.post('/wallets', withLate)), 'nor does it make one').toEqual(DUPLICATED);
    expect((await client.post('/wallets', create)).status).toBe(201);
    expect(reasonOf(await client.post(`/wallets/${handle}/proofs`, late))).toEqual(DUPLICATED);
    expect((await client.get(`/wallets/${handle}`)).body.meta.status).toBe('created');
  });

  test('that made a record is no proof of another', async () => {
    const body = dated({ handle: unique('maker') });
    await client.post('/circles', body);
    await client.post('/wallets', record(body.data, stranger));
    const added = await client.post(`/wallets/${body.data.handle}/proofs`, body.meta.proofs[0]);
    expect(reasonOf(added)).toEqual(DUPLICATED);
  });
});

describe('a request that is only sent again', () => {
  test.each(SAMPLES)('to make $path hears that it is there, in the same words', async (sample) => {
    const body = dated(await sample.data(kit));
    const made = (await client.post(`/${sample.path}`, body)).body;
    for (const again of [body, dated(body.data), record(body.data, keys)]) {
      const { body: error, status } = await client.post(`/${sample.path}`, again);
      expect(status).toBe(409);
      expect(error.data).toEqual({
        reason: 'record.duplicated',
        detail: `A record with handle ${body.data.handle} already exists`,
        custom: { luid: made.luid, hash: made.hash },
      });
    }
  });

  test('is told that it is in, though it could not come in any more: a payment that was made was told as refused', async () => {
    const { there, kit: own } = await freshLedger(server, keys);
    const [symbol, wallet, named] = [
      await own.symbol(),
      await own.wallet(),
      await own.make('wallets', { handle: 'a' }),
    ];
    const { path, data } = await makeMember(there);
    const sent: [string, Json][] = [
      ['/intents', { handle: 'i', schema: 'for-intent', claims: [issue(wallet, symbol, 1)] }],
      ['/wallets', { handle: 'w' }],
      ['/anchors', { handle: 'n', wallet: 'a', target: 'elsewhere' }],
      [path, data],
    ];
    const bodies = sent.map(([path, data]) => [path, dated(data)] as const);
    const made: Json[] = [];
    for (const [path, body] of bodies) made.push((await there.post(path, body)).body);
    // Since then: both kinds have schemas that what was sent does not fit, and what it names is called otherwise.
    await there.del('/anchors/n', own.dropBody(made[2]!));
    await own.change('wallets', named, { handle: 'b' });
    await own.change('signers', (await there.get(`/signers/${data.signer}`)).body, { ...data, handle: 'renamed' });
    for (const kind of ['wallet', 'intent']) {
      const schema = { required: ['custom'] };
      await own.make('schemas', { handle: `for-${kind}`, record: kind, format: 'json-schema', schema });
    }
    for (const [n, [path, body]] of bodies.entries()) {
      const again = await there.post(path, body);
      expect(reasonOf(again), path).toEqual(DUPLICATED);
      expect(again.body.data.custom).toEqual({ luid: made[n]!.luid, hash: made[n]!.hash });
      const other = await there.post(path, dated({ ...body.data, access: [] }));
      expect(other.status, `${path}: anything else is held to what there is now`).toBe(422);
    }
  });

  test('to change, to drop, or to add a proof is answered as ever', async () => {
    const wallet = (await client.post('/wallets', dated({ handle: unique('retry') }))).body;
    const path = `/wallets/${wallet.data.handle}`;
    const change = dated({ ...wallet.data, custom: { n: 1 }, parent: wallet.hash });
    expect((await client.put(path, change)).status).toBe(200);
    expect(reasonOf(await client.put(path, change))).toEqual([422, 'crypto.parent-hash-invalid']);
    const late = proof(change.hash, keys, { moment: new Date().toISOString(), note: 'x' });
    const proven = (await client.post(`${path}/proofs`, late)).body;
    for (const again of [late, change.meta.proofs[0]]) {
      const answer = await client.post(`${path}/proofs`, again);
      expect([answer.status, answer.body.meta.proofs]).toEqual([200, proven.meta.proofs]);
    }
    const drop = dated({ parent: change.hash });
    expect((await client.del(path, drop)).status).toBe(204);
    expect(reasonOf(await client.del(path, drop))).toEqual([404, 'record.not-found']);
  });

  test('to move money, or to prove that it may move, is answered as ever', async () => {
    const symbol = await kit.symbol();
    const wallet = await kit.wallet();
    const body = dated({ handle: unique('intent'), claims: [issue(wallet, symbol, 1)] });
    const made = (await client.post('/intents', body)).body;
    const again = await client.post('/intents', body);
    expect(reasonOf(again)).toEqual(DUPLICATED);
    expect(again.body.data.custom).toEqual({ luid: made.luid, hash: made.hash });
    const late = proof(body.hash, stranger, { moment: new Date().toISOString() });
    for (let time = 0; time < 2; time++) {
      expect((await client.post(`/intents/${made.luid}/proofs`, late)).status).toBe(200);
    }
  });
});

describe('left as they are', () => {
  test('bodies without a moment: who signs the same again means it', async () => {
    const { path, data } = await makeMember();
    const body = record(data, keys, [{ note: 'no "moment":', of: { moment: 'another' } }]);
    for (let time = 0; time < 3; time++) {
      expect((await client.post(path, body)).status).toBe(200);
      expect((await client.del(`${path}/${data.signer}`, body)).status).toBe(204);
    }
  });

  test('other ledgers, which the same body speaks to as well', async () => {
    const body = dated({ handle: unique('everywhere') });
    for (let n = 0; n < 3; n++) {
      const { there } = await freshLedger(server, keys);
      expect((await there.post('/wallets', body)).status).toBe(201);
      expect(reasonOf(await there.post('/circles', body))).toEqual(DUPLICATED);
    }
  });

  test("bodies that carry the server's proofs of another record", async () => {
    const circle = (await client.post('/circles', dated({ handle: unique('forwarded') }))).body;
    const mine = dated(circle.data);
    const own = circle.meta.proofs.filter((each: Json) => each.public === server.publicKey);
    expect(own).toHaveLength(1);
    const forwarded = { ...mine, meta: { proofs: [...mine.meta.proofs, ...own] } };
    expect((await client.post('/wallets', forwarded)).status).toBe(201);
  });

  test('bodies that were refused: they may be sent again once they can be done', async () => {
    const handle = unique('later');
    const anchor = dated({ handle, wallet: `${handle}-w`, target: `${handle}-w` });
    expect(reasonOf(await client.post('/anchors', anchor))).toEqual([422, 'record.relation-not-found']);
    await kit.wallet({ handle: `${handle}-w` });
    expect((await client.post('/anchors', anchor)).status).toBe(201);
  });
});

describe('users of the public package', () => {
  const { LedgerSdk } = createRequire(import.meta.url)('@minka/ledger-sdk') as typeof import('@minka/ledger-sdk');
  const pairOf = ({ public: open, secret }: Keys) => ({ format: 'ed25519-raw' as const, public: open, secret });
  const both = [keys, stranger].map((each) => ({ keyPair: pairOf(each) }));

  test('make, change, drop and make again as ever, and nobody else does with what they signed', async () => {
    const signer = { format: 'ed25519-raw' as const, public: server.publicKey };
    const sdk = new LedgerSdk({ server: server.url, signer, verifyResponseProofs: true });
    const handle = unique('sdk');
    const built = sdk.wallet.init().data({ handle }).hash().sign(both);
    const kept: Json = await built.read();
    const made: Json = (await built.send()).response.data;
    await expect(built.send(), 'after a timeout').rejects.toMatchObject({ reason: 'record.duplicated' });
    const change = sdk.wallet
      .from(made)
      .data({ custom: { n: 1 } } as Json)
      .hash()
      .sign(both);
    const keptChange: Json = await change.read();
    const changed = (await change.send()).response.data;
    expect(changed.hash).toBe(keptChange.hash);
    expect((await client.del(`/wallets/${handle}`, dated({ parent: changed.hash }))).status).toBe(204);
    for (const path of ['wallets', 'circles']) {
      for (const body of [kept, { ...keptChange, luid: undefined }]) {
        expect(reasonOf(await client.post(`/${path}`, body)), path).toEqual(DUPLICATED);
      }
    }
    const again: Json = (await sdk.wallet.init().data({ handle }).hash().sign(both).send()).response.data;
    expect(again.hash).toBe(kept.hash);
    expect(again.luid).not.toBe(made.luid);
  });
});

describe('a drop that was refused', () => {
  test('changes nothing where the parent alone was signed; with the handle it is a change to a bare record', async () => {
    const symbol = await kit.symbol();
    const handle = await kit.funded(symbol, 1, { access: [{ action: 'spend' }] });
    const path = `/wallets/${handle}`;
    const { hash: parent } = (await client.get(path)).body;
    const [alone, named] = [dated({ parent }), dated({ handle, parent })];
    for (const body of [alone, named]) {
      expect(reasonOf(await client.del(path, body))).toEqual([422, 'record.drop-rejected']);
    }
    expect(reasonOf(await client.put(path, alone))).toEqual([422, 'record.schema-invalid']);
    expect((await client.put(path, named)).body.data).toEqual({ handle, parent });
  });

  test('nor does a change drop anything that says more than the handle', async () => {
    const handle = await kit.wallet({ access: [{ action: 'spend' }] });
    const { hash: parent } = (await client.get(`/wallets/${handle}`)).body;
    const change = dated({ handle, parent, access: [] });
    expect(reasonOf(await client.del(`/wallets/${handle}`, change))).toEqual([422, 'record.schema-invalid']);
    expect((await client.put(`/wallets/${handle}`, change)).status).toBe(200);
  });
});

describe('after a start', () => {
  test.each([
    ['from the journal', '1000000'],
    ['from a snapshot', '10'],
  ])('%s it is known what was used', async (_, every) => {
    const directory = freshDirectory();
    const flags = ['--snapshot-every', every];
    const first = await serverOfTest({ directory, flags });
    const there = connect(first);
    const { path, data } = await makeMember(there);
    const bodies: Json[] = [];
    for (let n = 0; n < 20; n++) bodies.push(dated({ handle: unique('used') }));
    for (const body of bodies) expect((await there.post('/circles', body)).status).toBe(201);
    const [add, remove] = [dated(data), dated(data)];
    expect((await there.post(path, add)).status).toBe(200);
    expect((await there.del(`${path}/${data.signer}`, remove)).status).toBe(204);
    await first.kill();
    const second = await serverOfTest({ directory, flags });
    const again = connect(second);
    expect(second.log().includes('Read the snapshot')).toBe(every === '10');
    for (const body of bodies) expect(reasonOf(await again.post('/wallets', body))).toEqual(DUPLICATED);
    for (const body of [add, remove]) expect(reasonOf(await again.post(path, body))).toEqual(DUPLICATED);
    expect((await again.post(path, dated(data))).status).toBe(200);
  });
});
