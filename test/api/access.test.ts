/**
 * Who may do what, from outside: what a caller may not see it does not learn of, lists leave it out and still turn
 * their pages, circles and policies give and take rights at once, and a token good only once is good only once even
 * after a restart.
 */
import { describe, expect, test } from 'vitest';
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
import { freshDirectory } from '../support/directory.ts';
import { issue, type Kit, luidOf, makeKit, openLedger, proofFor, reasonOf, transfer, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { serverOfTest } from '../support/of-test.ts';
import { startRefused } from '../support/server.ts';

const owner = makeKeys();
const anna = makeKeys();
const ben = makeKeys();

const { server, client } = await serverOfFile();

/** A ledger with these rules, and everything for its owner, by signature and by token. */
async function ledgerWith(
  rules: Json[],
): Promise<{ there: Client; kit: Kit; handle: string; asOwner: Record<string, string> }> {
  const all = { action: 'any', record: 'any' };
  const access = [
    ...rules,
    { ...all, signer: { public: owner.public } },
    { ...all, bearer: { $signer: { public: owner.public } } },
  ];
  const ledger = await openLedger(client, owner, { access });
  const { handle } = ledger.data;
  const there = connect(server, { 'x-ledger': handle });
  const asOwner = bearer(owner, handle);
  return { there, kit: makeKit(connect(server, { 'x-ledger': handle, ...asOwner }), owner), handle, asOwner };
}
const GATE = { action: 'access', record: 'any' };
const FORBIDDEN = [403, 'auth.forbidden'];

describe('before a closed gate', () => {
  test('what is there and what is not look alike', async () => {
    const { there, kit } = await ledgerWith([]);
    const made = await kit.make('wallets', { handle: unique('wallet') });
    const { handle } = made.data;
    for (const id of [handle, made.luid, 'nobody', '$wlt.00000000000000000']) {
      for (const part of ['', '/balances', '/limits', '/anchors', '/changes', '/changes/1']) {
        expect(reasonOf(await there.get(`/wallets/${id}${part}`)), id + part).toEqual(FORBIDDEN);
      }
      const change = record({ handle, custom: {}, parent: made.hash }, anna);
      expect(reasonOf(await there.put(`/wallets/${id}`, change))).toEqual(FORBIDDEN);
      expect(reasonOf(await there.put(`/wallets/${id}`, { ...change, luid: '$wlt.00000000000000000' }))).toEqual(
        FORBIDDEN,
      );
      expect(reasonOf(await there.del(`/wallets/${id}`, record({ parent: made.hash }, anna)))).toEqual(FORBIDDEN);
      expect(reasonOf(await there.post(`/wallets/${id}/proofs`, proof(hashOf({}), anna)))).toEqual(FORBIDDEN);
      expect(reasonOf(await there.post(`/wallets/${id}/access/!check`, record({ action: 'read' }, anna)))).toEqual(
        FORBIDDEN,
      );
    }
    expect(reasonOf(await there.post(`/wallets/${handle}/proofs`, proofFor(made, anna)))).toEqual(FORBIDDEN);
    expect(reasonOf(await there.post('/wallets', record({ handle }, anna))), 'no duplicate is told of').toEqual(
      FORBIDDEN,
    );
    for (const path of ['/wallets', '/intents', '/ledger', '/signers/system']) {
      expect(reasonOf(await there.get(path)), path).toEqual(FORBIDDEN);
    }
  });
  test('who may make records and proofs, and not read them, learns none: the hash of what was there led to all of it', async () => {
    const { there, kit, asOwner } = await ledgerWith([{ action: { $in: ['access', 'create'] }, record: 'any' }]);
    const wallet = await kit.make('wallets', { handle: unique('wallet'), custom: { name: 'Luz' } });
    const intent = await kit.done([issue(wallet.data.handle, await kit.symbol(), 5)]);
    const { claims } = intent.data;
    for (const [kind, { data, hash, luid }, other] of [
      ['wallets', wallet, { handle: wallet.data.handle }],
      ['intents', intent, { handle: intent.data.handle, claims: [{ ...claims[0], amount: 1 }] }],
    ] as const) {
      const told = async (body: Json, headers = {}): Promise<Json> => {
        const reply = await there.post(`/${kind}`, body, headers);
        expect(reasonOf(reply)).toEqual([409, 'record.duplicated']);
        return reply.body.data.custom;
      };
      expect(await told(record(other, anna)), kind).toEqual({ luid });
      expect(await told(record(other, owner), asOwner), 'who may read it is told').toEqual({ luid, hash });
      expect(await told(record(data, anna)), 'who has sent the same knows it').toEqual({ luid, hash });
    }
    const free = await kit.make('wallets', { handle: unique('wallet') });
    const path = `/wallets/${free.data.handle}`;
    const renamed = record({ handle: wallet.data.handle, parent: free.hash }, owner);
    expect((await there.put(path, renamed)).body.data.custom, 'nor by a change').toEqual({ luid: wallet.luid });
  });
  test('a proof that was recorded is no way to hear what became of its record', async () => {
    const { there, kit, asOwner } = await ledgerWith([
      GATE,
      { action: 'create', record: 'wallet', signer: { public: anna.public } },
      { action: 'create', record: 'wallet-proof', signer: { public: anna.public } },
      { action: 'create', record: 'intent', signer: { public: anna.public } },
      { action: 'create', record: 'intent-proof', signer: { public: anna.public } },
    ]);
    const symbol = await kit.symbol();
    const [from, to] = [await kit.funded(symbol, 5), await kit.wallet()];
    const intents = [3, 30].map((amount) => ({
      handle: unique('intent'),
      claims: [transfer(from, to, symbol, amount)],
    }));
    const samples: [string, Json][] = [...intents.map((data): [string, Json] => ['intents', data])];
    samples.push(['wallets', { handle: unique('wallet') }]);
    for (const [path, data] of samples) {
      const body = record(data, anna);
      const made = await there.post(`/${path}`, body);
      expect(made.status, made.text).toBe(201);
      const at = `/${path}/${data.handle}`;
      const late = proof(body.hash, anna, { note: 'late' });
      const added = await there.post(`${at}/proofs`, late);
      expect(added.body.meta.proofs.slice(-1)).toEqual([late]);
      const end = proof(body.hash, owner, { status: path === 'wallets' ? 'closed' : 'created' });
      expect((await there.post(`${at}/proofs`, end)).status).toBe(200);
      const known = (await there.get(at, asOwner)).body;
      expect(['completed', 'rejected', 'closed']).toContain(known.meta.status);
      for (const [recorded, first] of [
        [late, added],
        [body.meta.proofs[0], made],
      ]) {
        const again = await there.post(`${at}/proofs`, recorded);
        expect([again.status, again.body], 'what was heard when it was recorded').toEqual([200, first.body]);
        expect((await there.post(`${at}/proofs`, recorded, asOwner)).body).toEqual(known);
      }
    }
  });

  test('a forged signature of whoever may is no way to look', async () => {
    const { there, kit } = await ledgerWith([]);
    const made = await kit.make('wallets', { handle: unique('wallet') });
    const forged = (id: string): Json => {
      const body = record({ handle: id, custom: {}, parent: made.hash }, anna);
      body.meta.proofs[0].public = owner.public;
      return body;
    };
    const answers = [];
    for (const id of [made.data.handle, 'nobody'])
      answers.push(reasonOf(await there.put(`/wallets/${id}`, forged(id))));
    expect(answers).toEqual([
      [422, 'crypto.signature-invalid'],
      [422, 'crypto.signature-invalid'],
    ]);
  });
  test('a proof is no way to find out what a record says: who guessed right was told another thing', async () => {
    const guesses = (made: Json): [string, string][] => [
      [made.data.handle, made.hash],
      [made.data.handle, hashOf({ ...made.data, custom: { pin: '1234' } })],
      ['nobody', made.hash],
      [made.luid, made.hash],
      ['$wlt.00000000000000000', made.hash],
    ];
    const rulesOf: Json[][] = [[], [GATE], [{ ...GATE, signer: { public: anna.public } }]];
    for (const rules of rulesOf) {
      const { there, kit, asOwner, handle } = await ledgerWith(rules);
      const made = await kit.make('wallets', { handle: unique('wallet') });
      const isMissing = (id: string) => id === 'nobody' || id === '$wlt.00000000000000000';
      for (const headersOf of [
        () => ({}),
        () => bearer(anna, handle),
        () => bearer(anna, handle, { jti: unique('once') }),
      ]) {
        for (const [id, hash] of guesses(made)) {
          const sent = proof(hash, anna, { status: 'seen' });
          const forged = { ...sent, public: ben.public };
          const post = (body: Json) => there.post(`/wallets/${id}/proofs`, body, headersOf());
          const told = await post(sent);
          const isIn = rules.length > 0;
          expect(reasonOf(told), id + hash).toEqual(isIn && isMissing(id) ? [404, 'record.not-found'] : FORBIDDEN);
          if (told.status === 403) expect(told.body.data.detail).toMatch(/access and create on wallet-proof$/);
          const isTold = rules[0] === GATE && isMissing(id);
          expect(reasonOf(await post(forged)), id + hash).toEqual(
            isTold ? [404, 'record.not-found'] : [422, 'crypto.signature-invalid'],
          );
        }
      }
      const { body: ledger } = await there.get('/ledger', asOwner);
      for (const data of [ledger.data, { handle: 'other' }]) {
        const told = await there.post('/ledger/proofs', proof(hashOf(data), anna));
        expect([reasonOf(told), told.body.data.detail]).toEqual([
          FORBIDDEN,
          'Request is not authorized: it takes access and create on ledger-proof',
        ]);
      }
    }
  });
  test('nor is it told to whom the luid of a circle or signer belongs', async () => {
    const { there, kit } = await ledgerWith([]);
    const circle = await kit.make('circles', { handle: unique('circle') });
    const signer = await kit.make('signers', { handle: unique('signer'), public: ben.public, format: 'ed25519-raw' });
    const others = await kit.make('signers', { handle: unique('signer'), public: ben.public, format: 'ed25519-raw' });
    const names = { circle: circle.data.handle, signer: signer.data.handle };
    const assign = (id: string, data: Json, keys: Keys) => there.post(`/circles/${id}/signers`, record(data, keys));
    const remove = (id: string, part: string, data: Json, keys: Keys) =>
      there.del(`/circles/${id}/signers/${part}`, record(data, keys));
    const missing = ['$crc.00000000000000000', '$snr.00000000000000000'] as const;
    for (const id of [circle.luid, missing[0]]) {
      for (const name of [names.circle, 'others']) {
        const data = { ...names, circle: name };
        for (const reply of [await assign(id, data, anna), await remove(id, signer.luid, data, anna)]) {
          expect(reasonOf(reply)).toEqual(FORBIDDEN);
          expect(reply.body.data.detail).toMatch(/access and (?:assign|remove)-signer on circle$/);
        }
        if (id !== circle.luid || name !== names.circle) {
          expect(reasonOf(await assign(id, data, owner))).toEqual([404, 'record.not-found']);
          expect(reasonOf(await remove(id, signer.luid, data, owner))).toEqual([404, 'record.not-found']);
        }
      }
    }
    expect((await assign(circle.luid, names, owner)).status).toBe(200);
    for (const part of [signer.luid, others.luid, missing[1]]) {
      for (const name of [names.signer, 'others']) {
        expect(reasonOf(await remove(circle.luid, part, { ...names, signer: name }, anna))).toEqual(FORBIDDEN);
        if (part === signer.luid && name === names.signer) continue;
        const told = await remove(circle.luid, part, { ...names, signer: name }, owner);
        expect(reasonOf(told)).toEqual([404, 'record.not-found']);
      }
    }
    for (const other of [
      { ...names, circle: 'others' },
      { ...names, signer: 'others' },
    ]) {
      const told = await remove(names.circle, names.signer, other, anna);
      expect(reasonOf(told), 'the request alone shows it').toEqual([422, 'record.invalid']);
    }
    expect((await remove(circle.luid, signer.luid, names, owner)).status).toBe(204);
  });
  test('whom only a signature lets in is told what is wrong with a proof', async () => {
    const { there, kit } = await ledgerWith([]);
    const made = await kit.make('wallets', { handle: unique('wallet') });
    const post = async (id: string, hash: string) =>
      reasonOf(await there.post(`/wallets/${id}/proofs`, proof(hash, owner)));
    expect(await post('nobody', made.hash)).toEqual([404, 'record.not-found']);
    expect(await post(made.data.handle, hashOf({}))).toEqual([422, 'crypto.signature-invalid']);
    expect(await post(made.data.handle, made.hash)).toEqual([200, undefined]);
    const unlike = { ...proof(made.hash, owner, { status: 'seen' }), custom: { status: 'other' } };
    for (const sent of [proof(hashOf({}), owner), unlike]) {
      const told = await there.post(`/wallets/${made.data.handle}/proofs`, sent);
      expect(told.body.data.detail).toMatch(/^The digest of proof 0 is not that of/);
    }
  });
  test('the owner is told the truth', async () => {
    const { there, asOwner } = await ledgerWith([]);
    expect(reasonOf(await there.get('/wallets/nobody', asOwner))).toEqual([404, 'record.not-found']);
    const change = record({ handle: 'nobody', parent: hashOf({}) }, owner);
    expect(reasonOf(await there.put('/wallets/nobody', change))).toEqual([404, 'record.not-found']);
    expect(reasonOf(await there.post('/wallets/nobody/proofs', proof(hashOf({}), owner), asOwner))).toEqual([
      404,
      'record.not-found',
    ]);
  });
});

describe('lists', () => {
  test('leave out what may not be read, fill their pages, and tell no total', async () => {
    const { there, kit, asOwner } = await ledgerWith([GATE]);
    const open: string[] = [];
    for (let n = 0; n < 23; n++) {
      const isOpen = n % 3 === 0;
      const handle = unique('wallet');
      await kit.make('wallets', { handle, schema: 'kept', ...(isOpen ? { access: [{ action: 'read' }] } : {}) });
      if (isOpen) open.unshift(handle);
    }
    for (const query of ['', '&sort.meta.moment=1', '&data.schema=kept']) {
      const seen: string[] = [];
      for (let index = 0; index < 4; index++) {
        const { body } = await there.get(`/wallets?page.index=${index}&page.limit=3${query}`);
        expect(body.page).toEqual({ index, limit: 3 });
        seen.push(...body.data.map((row: Json) => row.data.handle));
      }
      expect(seen).toEqual(query.includes('sort') ? [...open].reverse() : open);
    }
    const all = await there.get('/wallets?page.limit=100', asOwner);
    expect([all.body.data.length, all.body.page.total]).toEqual([23, 23]);
  });
  test('leave out records for which the gate is closed, though it is open for others of the kind', async () => {
    const { there, kit } = await ledgerWith([{ policy: 'gate' }, { action: 'read', record: 'wallet' }]);
    const values = [{ action: 'access' }];
    const gate = { handle: 'gate', schema: 'access', record: 'wallet', filter: { 'data.custom.city': 'Lima' }, values };
    await kit.make('policies', gate);
    const inside = await kit.wallet({ custom: { city: 'Lima' } });
    const outside = await kit.wallet({ custom: { city: 'Cusco' } });
    expect(reasonOf(await there.get(`/wallets/${outside}`))).toEqual(FORBIDDEN);
    for (const query of ['', 'sort.meta.moment=1', `data.handle.$in[0]=${outside}&data.handle.$in[1]=${inside}`]) {
      const { body } = await there.get(`/wallets?${query}`);
      expect([body.data.map((row: Json) => row.data.handle), body.page.total], query).toEqual([[inside], undefined]);
    }
  });
  test('of ledgers show those that may be read', async () => {
    const { handle: shut } = await ledgerWith([]);
    const { handle: open } = await ledgerWith([{ action: { $in: ['access', 'read'] } }]);
    const { body } = await client.get('/ledgers?page.limit=100');
    const handles = body.data.map((row: Json) => row.data.handle);
    expect([handles.includes(shut), handles.includes(open)]).toEqual([false, true]);
    expect(body.page).not.toHaveProperty('total');
    expect(reasonOf(await client.get(`/ledgers/${shut}`))).toEqual(FORBIDDEN);
    expect((await client.get(`/ledgers/${open}`)).status).toBe(200);
  });
  test('of a wallet’s anchors are for whoever may come in for anchors', async () => {
    const rights = { action: { $in: ['access', 'read'] } };
    const { there, kit } = await ledgerWith([{ ...rights, record: 'wallet' }]);
    const wallet = await kit.wallet();
    expect((await there.get(`/wallets/${wallet}`)).status).toBe(200);
    expect(reasonOf(await there.get(`/wallets/${wallet}/anchors`))).toEqual(FORBIDDEN);
  });
  test('of a wallet’s anchors, and nothing of a wallet that may not be read', async () => {
    const { there, kit, asOwner } = await ledgerWith([GATE]);
    const open = await kit.wallet({ access: [{ action: 'read' }] });
    const shut = await kit.wallet();
    const anchor = (wallet: string, more: Json = {}): Json => ({
      handle: unique('anchor'),
      wallet,
      target: wallet,
      ...more,
    });
    const shown = await kit.make('anchors', anchor(open, { access: [{ action: 'read' }] }));
    await kit.make('anchors', anchor(open));
    expect((await there.get(`/wallets/${open}/anchors`)).body.data).toEqual([shown]);
    expect((await there.get(`/wallets/${open}/anchors`, asOwner)).body.data.length).toBe(2);
    for (const part of ['', '/balances', '/limits', '/anchors', '/changes', '/changes/1']) {
      expect(reasonOf(await there.get(`/wallets/${shut}${part}`)), part).toEqual(FORBIDDEN);
      expect((await there.get(`/wallets/${open}${part}`)).status, part).toBe(200);
    }
  });
});

describe('circles', () => {
  const assignment = (circle: string, signer: string, by: Keys): Json => record({ circle, signer }, by);

  test('give their members rights, and take them again', async () => {
    const { there, kit, asOwner } = await ledgerWith([
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
    const { there, kit } = await ledgerWith([GATE]);
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
    const { there, kit } = await ledgerWith([GATE, { policy: 'tellers' }]);
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
    const { there, kit } = await ledgerWith([GATE, { policy: { $in: ['modest', 'south'] } }]);
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
    const { there, kit, asOwner } = await ledgerWith([GATE]);
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
    const { there, kit, handle } = await ledgerWith([
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
    const { there } = await ledgerWith([{ action: 'access' }, { action: 'create', record: 'symbol', signer: {} }]);
    const reply = await ask(there, '/ledger', { action: 'create', record: 'symbol' }, anna);
    expect([reply.status, reply.body.data]).toEqual([200, [{ action: 'create', record: 'symbol' }]]);
  });
  test('of nothing but a kind of record', async () => {
    const { there, kit } = await ledgerWith([{ action: 'any', record: 'any' }]);
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
    const [mine, theirs] = [await ledgerWith(rules('symbol')), await ledgerWith(rules('wallet'))];
    for (const record of ['symbol', 'wallet']) {
      const told = record === 'wallet' ? [{ action: 'create', record }] : [];
      const reply = await ask(mine.there, `/ledgers/${theirs.handle}`, { action: 'create', record }, anna);
      expect([reply.status, reply.body.data], record).toEqual([200, told]);
    }
  });
  test('of the ledger, asked of a wallet, is about no ledger but the own: the rules of others’ were told', async () => {
    const mine = [GATE, { action: 'update', signer: { public: anna.public } }];
    const { there, kit } = await ledgerWith(mine);
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
    const { there, kit } = await ledgerWith([
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
    const { there, kit } = await ledgerWith([GATE, { action: { $in: ['create', 'read', 'issue'] }, record: 'any' }]);
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
    const { there, kit } = await ledgerWith([GATE, { action: 'read', record: 'any' }]);
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
    const { there, kit } = await ledgerWith([rule]);
    await kit.make('bridges', { handle: 'it', config: { server: 'http://127.0.0.1:1/' } });
    const ask = (body?: Json) => there.post('/bridges/it/activate', body);
    expect(reasonOf(await ask())).toEqual(FORBIDDEN);
    expect(reasonOf(await ask(record({ action: 'activate' }, ben)))).toEqual(FORBIDDEN);
    expect((await ask(record({ action: 'activate' }, anna))).status).toBe(202);
  });
});

test('what became of the events of an effect is told to whoever may query them, and not to all its readers', async () => {
  const { there, kit, handle } = await ledgerWith([GATE, { action: 'read', record: 'any' }]);
  const access = [{ action: 'query-event', bearer: { $signer: { public: anna.public } } }];
  const action = { schema: 'rest', bridge: 'b' };
  await kit.make('effects', { handle: 'it', signal: 'wallet-created', action, access });
  expect((await there.get('/effects/it')).status).toBe(200);
  expect(reasonOf(await there.get('/effects/it/events'))).toEqual(FORBIDDEN);
  expect((await there.get('/effects/it/events', bearer(anna, handle))).status).toBe(200);
});

test('a rule that wants a token of one request lets in no other, nor one of another request', async () => {
  const { there, handle } = await ledgerWith([
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
    const { handle } = (await openLedger(client, owner)).data;
    const there = connect(server, { 'x-ledger': handle });
    expect((await client.get('/wallets', bearer(anna, 'main', { jti }))).status).toBe(200);
    expect((await client.get('/wallets', bearer(ben, 'main', { jti }))).status).toBe(200);
    expect((await there.get('/wallets', bearer(anna, handle, { jti }))).status).toBe(200);
    expect((await client.get('/wallets', bearer(anna, 'main', { jti, sub: 'another' }))).status).toBe(401);
  });
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
