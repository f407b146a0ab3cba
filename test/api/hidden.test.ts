/**
 * What a caller may not see it does not learn of: what is there and what is not look alike to it, lists leave it out and
 * still turn their pages.
 */
import { describe, expect, test } from 'vitest';
import { bearer, hashOf, type Json, type Keys, makeKeys, proof, record } from '../support/client.ts';
import { issue, ledgerWith, proofFor, reasonOf, transfer, unique, until } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';

const owner = makeKeys();
const anna = makeKeys();
const ben = makeKeys();
const carl = makeKeys();

const { server, client } = await serverOfFile();
const openWith = (rules: Json[]) => ledgerWith(server, owner, rules);

const GATE = { action: 'access', record: 'any' };
const FORBIDDEN = [403, 'auth.forbidden'];

describe('before a closed gate', () => {
  test('what is there and what is not look alike', async () => {
    const { there, kit } = await openWith([]);
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
    const { there, kit, asOwner } = await openWith([{ action: { $in: ['access', 'create'] }, record: 'any' }]);
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
    const { there, kit, asOwner } = await openWith([
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

  test('who waits for an intent and may not read it hears its end, and nothing that others said of it', async () => {
    const rules = [
      { ...GATE, bearer: { $signer: { public: anna.public } } },
      { action: 'create', record: 'intent', bearer: { $signer: { public: anna.public } } },
      { action: { $in: ['access', 'create', 'read'] }, record: 'any', bearer: { $signer: { public: carl.public } } },
    ];
    const { there, kit, asOwner, handle } = await openWith(rules);
    const asAnna = bearer(anna, handle);
    const values = [{ label: 'risky', signer: { public: owner.public } }];
    await kit.make('policies', { handle: unique('policy'), schema: 'labels', record: 'intent', values });
    const symbol = await kit.symbol();
    const spend = [{ action: 'spend', signer: { public: ben.public } }];
    const [from, to] = [await kit.funded(symbol, 5, { access: spend }), await kit.wallet()];
    /** What the one who waits is told, after others' proofs, and what the owner reads then. */
    const heard = async (before: () => Promise<unknown>, headers: Record<string, string> = asAnna, amount = 1) => {
      const body = record({ handle: unique('intent'), claims: [transfer(from, to, symbol, amount)] }, anna, [{ a: 1 }]);
      const path = `/intents/${body.data.handle}`;
      const waits = there.post('/intents', body, { ...headers, prefer: 'wait=30' });
      await until(async () => (await there.get(path, asOwner)).status === 200);
      const post = async (keys: Keys, custom: Json) => {
        const reply = await there.post(`${path}/proofs`, proof(body.hash, keys, custom), asOwner);
        expect(reply.status, reply.text).toBe(200);
      };
      await post(owner, { labels: ['risky'], note: 'of the others' });
      await before();
      await post(ben, { note: 'of the others' });
      const reply = await waits;
      expect([reply.status, reply.headers.get('preference-applied')]).toEqual([201, 'wait=30']);
      const now = (await there.get(path, asOwner)).body;
      expect([now.data, now.meta.labels]).toEqual([body.data, ['risky']]);
      return { told: reply.body, now, sent: body.meta.proofs };
    };
    const nothing = async () => {};
    const isOthers = ({ custom }: Json) => custom?.note === 'of the others';

    const all = await heard(nothing, bearer(carl, handle));
    expect(all.told, 'who may read it').toEqual(all.now);

    for (const [amount, end] of [
      [1, 'completed'],
      [10, 'rejected'],
    ] as const) {
      const { told, now, sent } = await heard(nothing, asAnna, amount);
      const { labels, ...meta } = now.meta;
      const proofs = meta.proofs.filter((one: Json) => !isOthers(one));
      expect([proofs.length, proofs[0], meta.status]).toEqual([meta.proofs.length - 2, sent[0], end]);
      expect(told, 'who may not').toEqual({ ...now, meta: { ...meta, proofs } });
    }
    const { told, now, sent } = await heard(async () => {
      const { body: ledger } = await there.get('/ledger', asOwner);
      const access = ledger.data.access.slice(rules.length);
      const taken = await there.put('/ledger', record({ ...ledger.data, access, parent: ledger.hash }, owner), asOwner);
      expect(taken.status, taken.text).toBe(200);
    });
    const { labels, ...meta } = now.meta;
    expect(meta.status).toBe('completed');
    const proofs = [sent[0], meta.proofs[1]];
    expect(told, 'who may not come in any more').toEqual({ ...now, meta: { ...meta, status: 'pending', proofs } });
  });

  test('a forged signature of whoever may is no way to look', async () => {
    const { there, kit } = await openWith([]);
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
      const { there, kit, asOwner, handle } = await openWith(rules);
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
    const { there, kit } = await openWith([]);
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
    const { there, kit } = await openWith([]);
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
    const { there, asOwner } = await openWith([]);
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
    const { there, kit, asOwner } = await openWith([GATE]);
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
    const { there, kit } = await openWith([{ policy: 'gate' }, { action: 'read', record: 'wallet' }]);
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
    const { handle: shut } = await openWith([]);
    const { handle: open } = await openWith([{ action: { $in: ['access', 'read'] } }]);
    const { body } = await client.get('/ledgers?page.limit=100');
    const handles = body.data.map((row: Json) => row.data.handle);
    expect([handles.includes(shut), handles.includes(open)]).toEqual([false, true]);
    expect(body.page).not.toHaveProperty('total');
    expect(reasonOf(await client.get(`/ledgers/${shut}`))).toEqual(FORBIDDEN);
    expect((await client.get(`/ledgers/${open}`)).status).toBe(200);
  });
  test('of a wallet’s anchors are for whoever may come in for anchors', async () => {
    const rights = { action: { $in: ['access', 'read'] } };
    const { there, kit } = await openWith([{ ...rights, record: 'wallet' }]);
    const wallet = await kit.wallet();
    expect((await there.get(`/wallets/${wallet}`)).status).toBe(200);
    expect(reasonOf(await there.get(`/wallets/${wallet}/anchors`))).toEqual(FORBIDDEN);
  });
  test('of a wallet’s anchors, and nothing of a wallet that may not be read', async () => {
    const { there, kit, asOwner } = await openWith([GATE]);
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

test('what became of the events of an effect is told to whoever may query them, and not to all its readers', async () => {
  const { there, kit, handle } = await openWith([GATE, { action: 'read', record: 'any' }]);
  const access = [{ action: 'query-event', bearer: { $signer: { public: anna.public } } }];
  const action = { schema: 'rest', bridge: 'b' };
  await kit.make('effects', { handle: 'it', signal: 'wallet-created', action, access });
  expect((await there.get('/effects/it')).status).toBe(200);
  expect(reasonOf(await there.get('/effects/it/events'))).toEqual(FORBIDDEN);
  expect((await there.get('/effects/it/events', bearer(anna, handle))).status).toBe(200);
});
