/**
 * Hash and signatures at the door: whatever is not signed exactly so is refused by name, and the checks stand in
 * their order, so that a client always hears of the first thing that is wrong.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bearer, type Client, connect, hashOf, type Json, makeKeys, proof, record, sha256 } from '../support/client.ts';
import { issue, type Kit, makeKit, reasonOf, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { type Server, startServer } from '../support/server.ts';

const keys = makeKeys();
const other = makeKeys();
const { client, kit } = await serverOfFile(keys);
const symbol = await kit.symbol();
const wallet = await kit.wallet();

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** S + L instead of S: the same point, another signature. */
function malleate(result: string): string {
  const bytes = Buffer.from(result, 'base64');
  let s = 0n;
  for (let n = 63; n >= 32; n -= 1) s = s * 256n + BigInt(bytes[n]!);
  s += ORDER;
  for (let n = 32; n < 64; n += 1) {
    bytes[n] = Number(s % 256n);
    s /= 256n;
  }
  return bytes.toString('base64');
}

function flip(base64: string, byte: number): string {
  const bytes = Buffer.from(base64, 'base64');
  bytes[byte] = bytes[byte]! ^ 1;
  return bytes.toString('base64');
}

const identity = Buffer.concat([Buffer.from([1]), Buffer.alloc(31)]);
const nothing = Buffer.alloc(32);
const changed = (body: Json, change: Json): Json => ({
  ...body,
  meta: { proofs: [{ ...body.meta.proofs[0], ...change }] },
});

const paths: [string, () => Json][] = [
  ['wallets', () => ({ handle: unique('wallet') })],
  ['intents', () => ({ handle: unique('intent'), claims: [issue(wallet, symbol, 1)] })],
];

describe.each(paths)('POST /%s', (path, data) => {
  const body = (): Json => record(data(), keys, [{ moment: '2026-01-02T03:04:05.678Z', status: 'created' }]);

  async function expectRefused(sent: Json, reason: string): Promise<void> {
    const reply = await client.post(`/${path}`, sent);
    expect(reasonOf(reply)).toEqual([422, reason]);
    expect((await client.get(`/${path}/${sent.data.handle}`)).status).toBe(404);
  }

  test('a hash in upper case is the same hash', async () => {
    const sent = body();
    const reply = await client.post(`/${path}`, { ...sent, hash: sent.hash.toUpperCase() });
    expect(reply.status, reply.text).toBe(201);
    expect(reply.body.hash).toBe(sent.hash);
    expect(reply.body.meta.proofs[0]).toEqual(sent.meta.proofs[0]);
  });

  test('a proof without custom signs the hash alone', async () => {
    const sent = record(data(), keys);
    const reply = await client.post(`/${path}`, sent);
    expect(reply.status, reply.text).toBe(201);
    expect(reply.body.meta.proofs[0]).toEqual(sent.meta.proofs[0]);
  });

  test.each<[string, (sent: Json) => Json, string]>([
    ['the hash of other data', (sent) => ({ ...sent, hash: hashOf({}) }), 'crypto.hash-invalid'],
    ['changed data', (sent) => ({ ...sent, data: { ...sent.data, custom: { n: 1 } } }), 'crypto.hash-invalid'],
    ['a short hash', (sent) => ({ ...sent, hash: sent.hash.slice(1) }), 'record.schema-invalid'],
    ['a hash that is not hex', (sent) => ({ ...sent, hash: `g${sent.hash.slice(1)}` }), 'record.schema-invalid'],
    ['no hash', (sent) => ({ ...sent, hash: undefined }), 'record.schema-invalid'],
    ['another digest', (sent) => changed(sent, { digest: hashOf('x') }), 'crypto.signature-invalid'],
    ['a digest of the hash alone', (sent) => changed(sent, { digest: sha256(sent.hash) }), 'crypto.signature-invalid'],
    ['another custom', (sent) => changed(sent, { custom: { status: 'created' } }), 'crypto.signature-invalid'],
    ['no custom where one was signed', (sent) => changed(sent, { custom: undefined }), 'crypto.signature-invalid'],
    ['a custom nobody signed', (sent) => changed(record(sent.data, keys), { custom: {} }), 'crypto.signature-invalid'],
    [
      'a flipped bit in R',
      (sent) => changed(sent, { result: flip(sent.meta.proofs[0].result, 0) }),
      'crypto.signature-invalid',
    ],
    [
      'a flipped bit in S',
      (sent) => changed(sent, { result: flip(sent.meta.proofs[0].result, 40) }),
      'crypto.signature-invalid',
    ],
    ['S + L', (sent) => changed(sent, { result: malleate(sent.meta.proofs[0].result) }), 'crypto.signature-invalid'],
    ['the key of somebody else', (sent) => changed(sent, { public: other.public }), 'crypto.signature-invalid'],
    [
      'a signature of zeros',
      (sent) => changed(sent, { result: Buffer.alloc(64).toString('base64') }),
      'crypto.signature-invalid',
    ],
    [
      'a small-order key, good for every message',
      (sent) =>
        changed(sent, {
          public: identity.toString('base64'),
          result: Buffer.concat([identity, nothing]).toString('base64'),
        }),
      'crypto.signature-invalid',
    ],
    ['a method that is not ed25519-v2', (sent) => changed(sent, { method: 'ed25519' }), 'record.schema-invalid'],
    ['a short result', (sent) => changed(sent, { result: 'AAAA' }), 'record.schema-invalid'],
    ['a short key', (sent) => changed(sent, { public: 'AAAA' }), 'record.schema-invalid'],
    [
      'a digest in upper case, which would come back as another text than all others',
      (sent) => changed(sent, { digest: sent.meta.proofs[0].digest.toUpperCase() }),
      'record.schema-invalid',
    ],
    ['a digest that is not hex', (sent) => changed(sent, { digest: 'zz' }), 'record.schema-invalid'],
    ['proofs that are no array', (sent) => ({ ...sent, meta: { proofs: {} } }), 'record.schema-invalid'],
    ['a member beyond the envelope in data', (sent) => record({ ...sent.data, x: 1 }, keys), 'record.schema-invalid'],
  ])('%s', async (_name, lie, reason) => expectRefused(JSON.parse(JSON.stringify(lie(body()))), reason));

  test('one false proof among true ones', async () => {
    const sent = record(data(), [keys, other]);
    sent.meta.proofs[1].result = sent.meta.proofs[0].result;
    await expectRefused(sent, 'crypto.signature-invalid');
  });

  test.each<[string, Json]>([
    ['digest', { digest: hashOf('x') }],
    ['signature', { result: Buffer.alloc(64).toString('base64') }],
  ])('which of several proofs has a false %s is told', async (_name, lie) => {
    const sent = record(data(), [keys, other, keys], [{ n: 1 }, { n: 2 }, { n: 3 }]);
    Object.assign(sent.meta.proofs[1], lie);
    const reply = await client.post(`/${path}`, sent);
    expect([reply.status, reply.body.data.custom]).toEqual([422, { proof: 1 }]);
  });

  test.each<[string, Json, string]>([
    ['no proofs', { proofs: [] }, 'crypto.signature-missing'],
    ['an empty meta', {}, 'record.schema-invalid'],
  ])('%s', async (_name, meta, reason) => {
    const sent = { ...body(), meta };
    const reply = await client.post(`/${path}`, sent);
    expect(reasonOf(reply)).toEqual([422, reason]);
    expect((await client.get(`/${path}/${sent.data.handle}`)).status).toBe(404);
  });
});

test.each<[string, Json]>([
  ['digest', { digest: hashOf('x') }],
  ['signature', { result: Buffer.alloc(64).toString('base64') }],
])('a false %s is told by its place among all that were sent, the server’s own too', async (_name, lie) => {
  const made = await kit.make('wallets', { handle: unique('wallet') });
  const path = `/wallets/${made.data.handle}`;
  const own = made.meta.proofs.at(-1);
  const bodyOf = (data: Json): Json => {
    const sent = record(data, [keys, other], [{ n: 1 }, { n: 2 }]);
    Object.assign(sent.meta.proofs[1], lie);
    sent.meta.proofs = [own, sent.meta.proofs[0], own, sent.meta.proofs[1]];
    return sent;
  };
  const replies = [
    await client.post('/wallets', bodyOf({ handle: unique('wallet') })),
    await client.put(path, bodyOf({ ...made.data, custom: { n: 1 } })),
    await client.del(path, bodyOf(made.data)),
    await client.post(`${path}/access/!check`, bodyOf({ action: 'read' })),
  ];
  expect(replies.map((reply) => reply.body.data.custom)).toEqual(replies.map(() => ({ proof: 3 })));
});

test('a change that nobody signed is refused, a drop is taken: nothing of it is kept', async () => {
  const made = await kit.make('wallets', { handle: unique('wallet') });
  const path = `/wallets/${made.data.handle}`;
  const unsigned = (data: Json): Json => ({ ...record(data, keys), meta: { proofs: [] } });
  const change = unsigned({ ...made.data, custom: { n: 1 }, parent: made.hash });
  expect(reasonOf(await client.put(path, change))).toEqual([422, 'crypto.signature-missing']);
  expect((await client.get(path)).body.hash).toBe(made.hash);
  expect((await client.del(path, unsigned({ parent: made.hash }))).status).toBe(204);
});

describe('the checks come in their order', () => {
  const badToken = { authorization: 'Bearer nonsense' };
  const taken = (): Json => record({ handle: wallet }, keys);
  const falseHash = (body: Json): Json => ({ ...body, hash: hashOf('x') });
  const falseProof = (body: Json): Json => changed(body, { public: other.public });
  const falseShape = (body: Json): Json => ({ ...body, data: { ...body.data, surplus: 1 } });

  test('ledger before token', async () => {
    const reply = await client.post('/wallets', '{', { ...badToken, 'x-ledger': 'nobody' });
    expect(reasonOf(reply)).toEqual([404, 'api.route-not-found']);
  });
  test('token before JSON', async () => {
    expect(reasonOf(await client.post('/wallets', '{', badToken))).toEqual([401, 'auth.unauthorized']);
  });
  test('JSON before what the token covers, and that before the id', async () => {
    const token = bearer(keys, 'main', { hsh: sha256('x') });
    expect(reasonOf(await client.post('/wallets', '{', token))).toEqual([400, 'api.body-malformed']);
    expect(reasonOf(await client.get('/wallets/%20', token))).toEqual([401, 'auth.unauthorized']);
    expect(reasonOf(await client.get('/wallets/%20'))).toEqual([422, 'record.schema-invalid']);
  });
  test('JSON before schema', async () => {
    expect(reasonOf(await client.post('/wallets', '{"hash":1,'))).toEqual([400, 'api.body-malformed']);
  });
  test('schema before hash', async () => {
    expect(reasonOf(await client.post('/wallets', falseShape(falseHash(falseProof(taken())))))).toEqual([
      422,
      'record.schema-invalid',
    ]);
  });
  test('hash before signatures', async () => {
    expect(reasonOf(await client.post('/wallets', falseHash(falseProof(taken()))))).toEqual([
      422,
      'crypto.hash-invalid',
    ]);
  });
  test('signatures before duplicate', async () => {
    expect(reasonOf(await client.post('/wallets', falseProof(taken())))).toEqual([422, 'crypto.signature-invalid']);
  });
  test('signatures before relations', async () => {
    const body = falseProof(record({ handle: unique(), bridge: 'nobody' }, keys));
    expect(reasonOf(await client.post('/wallets', body))).toEqual([422, 'crypto.signature-invalid']);
  });
  test('relations before duplicate', async () => {
    const body = record({ handle: wallet, bridge: 'nobody' }, keys);
    expect(reasonOf(await client.post('/wallets', body))).toEqual([422, 'record.relation-not-found']);
  });
  test('a true token, a true body and a taken handle end at the duplicate', async () => {
    const reply = await client.post('/wallets', taken(), bearer(keys));
    expect(reasonOf(reply)).toEqual([409, 'record.duplicated']);
  });
});

describe('a signature is worth nothing elsewhere', () => {
  test('the proof of one record on another', async () => {
    const first = record({ handle: unique('wallet') }, keys);
    const second = record({ handle: unique('wallet') }, keys);
    const reply = await client.post('/wallets', { ...second, meta: first.meta });
    expect(reasonOf(reply)).toEqual([422, 'crypto.signature-invalid']);
  });
  test('a bare proof keeps exactly the members it came with', async () => {
    const stored = await kit.make('wallets', { handle: unique('wallet') });
    const custom = { moment: '2026-01-02T03:04:05.678Z', coreId: 'CB-991', ünï: ['ø', 1.5], '': { a: [] } };
    const added = proof(stored.hash, other, custom);
    const reply = await client.post(`/wallets/${stored.data.handle}/proofs`, added);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.meta.proofs[2]).toEqual(added);
  });
});

describe('the proof that the server gave to the same record in another ledger', () => {
  const rules = [
    { action: { $in: ['access', 'create', 'read'] }, record: 'any' },
    { action: { $in: ['issue', 'spend', 'commit'] }, record: 'any', signer: { $ledger: 'owner' } },
    { action: { $in: ['issue', 'spend'] }, record: 'any', signer: { public: keys.public } },
  ];
  const open = [{ action: 'any', record: 'any' }];
  let own: Server;
  let there: Kit;
  let root: Client;
  let victim: string;
  let usd: string;

  /** A server whose default ledger is its own, and a thief who is free in a ledger beside it. */
  beforeAll(async () => {
    own = await startServer();
    root = connect(own);
    const main = (await root.get('/ledgers/main')).body;
    const kit = makeKit(root, keys);
    usd = await kit.symbol();
    victim = await kit.funded(usd, 100);
    await kit.wallet({ handle: 'thief' });
    const closed = record({ handle: 'main', access: rules, parent: main.hash }, keys);
    expect((await root.put('/ledgers/main', closed)).status).toBe(200);
    await makeKit(root, other).make('ledgers', { handle: 'free', access: open });
    there = makeKit(connect(own, { 'x-ledger': 'free' }), other);
    await there.symbol({ handle: usd });
    for (const handle of [victim, 'thief']) await there.wallet({ handle });
    await there.clear([issue(victim, usd, 1000)]);
  });
  afterAll(() => own?.stop());

  const theft = (): Json => ({
    handle: unique('theft'),
    claims: [
      {
        action: 'transfer',
        source: { handle: victim },
        target: { handle: 'thief' },
        symbol: { handle: usd },
        amount: 100,
      },
    ],
  });

  test('is nobody’s word where a body brings it: it spent the money of whoever trusts the owner of the ledger', async () => {
    const made = await there.make('intents', theft());
    const { hash, data, meta } = made;
    expect(meta.proofs.some((one: Json) => one.public === own.publicKey)).toBe(true);
    const brought = await root.post('/intents', { hash, data, meta: { proofs: meta.proofs } });
    expect(brought.status).toBe(201);
    expect(brought.body.meta.owners).toEqual([other.public]);
    expect((await root.get(`/intents/${data.handle}`)).body.meta.status).toBe('pending');
    expect(await makeKit(root, keys).balance(victim, usd)).toBe(100);
  });

  test('is no signature where a body brings nothing else', async () => {
    const { hash, data, meta } = await there.make('intents', theft());
    const proofs = meta.proofs.filter((one: Json) => one.public === own.publicKey);
    const brought = await root.post('/intents', { hash, data, meta: { proofs } });
    expect(reasonOf(brought)).toEqual([422, 'crypto.signature-missing']);
  });

  test('is not added to a record', async () => {
    const data = theft();
    expect((await root.post('/intents', record(data, other))).status).toBe(201);
    const { meta } = await there.make('intents', data);
    const seal = meta.proofs.find((one: Json) => one.public === own.publicKey);
    expect(reasonOf(await root.post(`/intents/${data.handle}/proofs`, seal))).toEqual([403, 'auth.forbidden']);
    expect((await root.get(`/intents/${data.handle}`)).body.meta.status).toBe('pending');
  });
});
