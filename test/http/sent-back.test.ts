/**
 * Requests that are sent back to wait for another turn, since those before them turned out to be dear: whatever was asked
 * for is done once, and told as if it had come at that turn.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { inlinePool, SERVER } from '../engine/house.ts';
import { Desk } from '../fuzz/desk.ts';
import { type Json, makeKeys, makeToken, proof, type Reply, record } from '../support/client.ts';

const owner = makeKeys();
const teller = makeKeys();
let desk: Desk;
/** Whether signatures are verified at some other time, if ever. */
let isBusy = false;
/** What clearing a request takes from here on. */
let ms = 0;

beforeEach(async () => {
  ms = 0;
  isBusy = false;
  let now = 0;
  const stopwatch = () => {
    now += ms;
    return now;
  };
  const pool = inlinePool();
  const submit = pool.submit.bind(pool);
  pool.submit = (job) => {
    if (!isBusy) submit(job);
  };
  desk = await Desk.open({}, { pool, stopwatch, batchMsMax: 10, pipelineMsMax: 10 });
});
afterEach(() => desk.close());

/** All at once, where each takes long. */
async function sendAll(asks: readonly (() => Promise<Reply>)[], isVerified = true): Promise<Reply[]> {
  const { engine, disk } = desk.house;
  const { sentBack } = engine.stats;
  for (let n = 0; n < 300; n++) await desk.post('wallets', { handle: `quick-${n}` }, owner);
  disk.holdSyncs();
  const replies = asks.map((ask, n) => {
    isBusy = !isVerified && n === asks.length - 1;
    return ask();
  });
  expect(engine.isOpen).toBe(true);
  isBusy = false;
  ms = 100;
  disk.releaseSyncs();
  const told = await Promise.all(replies);
  expect(engine.stats.sentBack - sentBack).toBeGreaterThanOrEqual(asks.length - 2);
  return told;
}

/** A body is written and read once more on the way. */
const ODD = JSON.parse(
  '{"__proto__":{"x":1},"2":[{}],"1":1e21,"\u2028\\n\\"":"\\u0000\\ud83d\\ude00é","constructor":-0.5}',
);

const post = (path: string, body: Json, headers?: Record<string, string>) => () =>
  desk.send('POST', `/v2${path}`, body, headers);

describe('sent back', () => {
  test('each is done and told once, whatever it asks for', async () => {
    const wallet = (await post('/wallets', record({ handle: 'w' }, owner))()).body;
    const gone = (await post('/wallets', record({ handle: 'gone' }, owner))()).body;
    await post('/circles', record({ handle: 'tellers' }, owner))();
    await post('/signers', record({ handle: 'ben', format: 'ed25519-raw', public: teller.public }, owner))();
    await post('/symbols', record({ handle: 'usd', factor: 100 }, owner))();
    const issue = { action: 'issue', amount: 5, symbol: { handle: 'usd' }, target: { handle: 'w' } };
    const everything = { action: 'any', record: 'any' };
    const odd = record({ handle: 'k', claims: [issue], custom: ODD }, [owner, teller], [ODD, undefined]);
    odd.hash = odd.hash.toUpperCase();
    const told = await sendAll([
      post('/wallets', record({ handle: 'first' }, owner)),
      post('/wallets', record({ handle: 'second', custom: ODD }, owner)),
      post('/wallets', record({ handle: 'second', custom: { other: true } }, owner)),
      post('/intents', record({ handle: 'i', claims: [issue] }, owner)),
      post('/intents', record({ handle: 'j', claims: [issue] }, owner), { prefer: 'wait=5' }),
      post('/intents', odd),
      () => desk.send('PUT', '/v2/wallets/w', record({ handle: 'w', parent: wallet.hash }, owner)),
      () => desk.send('DELETE', '/v2/wallets/gone', record({ parent: gone.hash }, owner)),
      post('/wallets/w/proofs', proof(wallet.hash, teller)),
      post('/wallets/w/access/!check', record({ action: 'read' }, teller)),
      post('/circles/tellers/signers', record({ circle: 'tellers', signer: 'ben' }, owner)),
      post('/bridges/none/activate', record({ action: 'activate' }, owner)),
      post('/ledgers', record({ handle: 'another', access: [everything] }, owner)),
      post('/ledgers', record({ handle: 'one-more', access: [everything] }, owner)),
    ]);
    const seen = told.map(({ status, body }) => [status, body?.data?.reason ?? body?.meta?.status ?? '']);
    expect(seen).toEqual([
      [201, 'created'],
      [201, 'created'],
      [409, 'record.duplicated'],
      [201, 'pending'],
      [201, 'completed'],
      [201, 'pending'],
      [200, 'created'],
      [204, ''],
      // The update was before it, and what was signed is no more.
      [422, 'crypto.signature-invalid'],
      [200, ''],
      [200, 'created'],
      [404, 'record.not-found'],
      [201, 'created'],
      [201, 'created'],
    ]);
    const { body } = await desk.get('/v2/wallets/w/balances');
    expect(body.data.map(({ data }: Json) => data.amount)).toEqual([15]);
    expect(told[5]!.body.data).toEqual(odd.data);
    expect(told[5]!.body.meta.proofs.slice(0, 2)).toEqual(odd.meta.proofs);
    for (const n of [0, 1]) expect((await desk.get(`/v2/wallets/${told[n]!.body.luid}`)).body).toEqual(told[n]!.body);
  });

  test.each([{}, { prefer: 'wait=0' }])(
    'a proof is told by another number than it was sent as, with %j',
    async (headers) => {
      const issue = { action: 'issue', amount: 5, symbol: 'usd', target: 'w' };
      const own = makeKeys(Buffer.from(SERVER.secret));
      const intent = record({ handle: 'i', claims: [issue] }, [own, owner, teller]);
      // What it signs is something else.
      intent.meta.proofs[2].result = intent.meta.proofs[1].result;
      const first = [1, 2, 3].map((n) => post('/wallets', record({ handle: `w-${n}` }, owner)));
      const told = await sendAll([...first, post('/intents', intent, headers)], false);
      expect(told[3]!.body.data).toMatchObject({ reason: 'crypto.signature-invalid', custom: { proof: 2 } });
    },
  );

  test('a token that is good once is used once, by whom its key lets in and by a stranger’s beside signatures', async () => {
    const access = [{ action: 'any', record: 'any', signer: { public: owner.public } }];
    const rules = [...access, { action: 'access', record: 'any', bearer: { $signer: { public: owner.public } } }];
    await post('/ledgers', record({ handle: 'closed', access: rules }, owner))();
    const iat = Math.floor(desk.world.now / 1000);
    const token = (jti: string, keys = owner) => {
      const claims = { iss: 'me', sub: 'me', aud: 'closed', iat, exp: iat + 60, jti };
      return { 'x-ledger': 'closed', authorization: `Bearer ${makeToken(claims, keys)}` };
    };
    const before = desk.house.engine.stats.entries;
    const told = await sendAll([
      post('/wallets', record({ handle: 'first' }, owner), token('a')),
      post('/wallets', record({ handle: 'second' }, owner), token('b')),
      post('/wallets', record({ handle: 'third' }, owner), token('b')),
      post('/wallets', record({ handle: 'fourth' }, owner), token('c', teller)),
      post('/wallets', record({ handle: 'fifth' }, owner), token('c', teller)),
      post('/wallets', record({ handle: 'sixth' }, teller), token('d', teller)),
    ]);
    expect(told.map(({ status }) => status)).toEqual([201, 201, 401, 201, 401, 403]);
    // Three tokens and three wallets, beside the quick ones.
    expect(desk.house.engine.stats.entries - before - 300).toBe(6);
  });
});
