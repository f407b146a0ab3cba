/** Books that can hold no more: nothing new comes in, what is there is told and brought to its end, and nothing breaks. */
import { expect, test } from 'vitest';
import { Desk } from '../fuzz/desk.ts';
import { bearer, type Json, makeKeys, record } from '../support/client.ts';
import { issue, proofFor, transfer } from '../support/kit.ts';

const keys = makeKeys();
const LONG = 'x'.repeat(3000);
const SMALL = { pageRows: 64, segments: 2 };

// Records that took more than the machine had ended the process, and each start that read as many.
test.each([
  ['their heap reaches no further', { chunkBytes: 1 << 14, heapBytesMax: 1 << 19 }, {}],
  ['they may take no more', { chunkBytes: 1 << 14, ...SMALL }, { recordsBytesMax: 1 << 20 }],
])('full books, where %s, take nothing new, and bring to its end what is in them', async (_why, sizes, options) => {
  const desk = await Desk.open(sizes, options);
  const post = (path: string, data: Json) => desk.post(path, data, keys);
  const amountOf = async (wallet: string) =>
    (await desk.get(`/v2/wallets/${wallet}/balances`)).body.data[0]?.data.amount;
  await post('symbols', { handle: 'usd', factor: 100 });
  for (const handle of ['a', 'b']) await post('wallets', { handle });
  await post('intents', { handle: 'funds', claims: [issue('a', 'usd', 100)] });
  const config = { commit: 'manual' };
  const held = (await post('intents', { handle: 'held', claims: [transfer('a', 'b', 'usd', 40)], config })).body;

  let last = await post('wallets', { handle: 'w0', custom: { LONG } });
  let made = 0;
  while (last.status === 201) last = await post('wallets', { handle: `w${++made}`, custom: { LONG } });
  expect([last.status, last.body.data.reason, last.headers.get('retry-after')]).toEqual([
    503,
    'api.unexpected-error',
    // There is nothing to wait for.
    null,
  ]);
  expect(last.body.data.detail).toMatch(/^The books are full/);
  expect(made).toBeGreaterThan(100);
  expect((await desk.get(`/v2/wallets/w${made - 1}`)).status).toBe(200);
  expect((await desk.get(`/v2/wallets/w${made}`)).status).toBe(404);
  const { body: wallet } = await desk.get('/v2/wallets/b');
  const change = { luid: wallet.luid, ...record({ handle: 'b', custom: { LONG }, parent: wallet.hash }, keys) };
  expect((await desk.send('PUT', '/v2/wallets/b', change)).status).toBe(503);

  const prove = (custom: Json) => desk.send('POST', '/v2/intents/held/proofs', proofFor(held, keys, custom));
  expect((await prove({ action: 'commit' })).status).toBe(200);
  expect(await amountOf('b')).toBe(40);
  let proven = (await prove({ LONG })).status;
  for (let n = 0; n < 100 && proven === 200; n++) proven = (await prove({ LONG, n })).status;
  expect(proven).toBe(503);
  expect(await amountOf('b')).toBe(40);
  await desk.close();
});

// Open intents had outgrown V8's heap: the process ended, and so did each start.
test("where V8's heap has no more room nothing new comes in, and what waits comes to its end while it can", async () => {
  let share = 0;
  const desk = await Desk.open({}, { v8Share: () => share });
  const { engine, state } = desk.house;
  const post = (path: string, data: Json) => desk.post(path, data, keys);
  await post('symbols', { handle: 'usd', factor: 100 });
  await post('wallets', { handle: 'a' });
  const held = async (handle: string) =>
    (await post('intents', { handle, claims: [issue('a', 'usd', 100)], config: { commit: 'manual' } })).body;
  const [one, two] = [await held('one'), await held('two')];
  const commit = async (intent: Json) => {
    const proof = proofFor(intent, keys, { action: 'commit' });
    return (await desk.send('POST', `/v2/intents/${intent.luid}/proofs`, proof)).status;
  };

  // However many there are of anything: none of the maps has an end.
  for (const map of [state.open, state.supply, state.counts])
    Object.defineProperty(map, 'size', { get: () => 2 ** 25 });
  share = 0.69;
  expect((await post('wallets', { handle: 'b' })).status).toBe(201);
  share = 0.71;
  expect(engine.room.whatIsFull(true)).toBe('v8');
  const refused = await post('wallets', { handle: 'c' });
  expect([refused.status, refused.body.data.reason]).toEqual([503, 'api.unexpected-error']);
  expect(await commit(one)).toBe(200);
  share = 0.86;
  expect(await commit(two)).toBe(503);
  expect((await desk.get('/v2/intents/one')).body.meta.status).toBe('completed');
  expect((await desk.get('/v2/intents/two')).body.meta.status).toBe('prepared');
  await desk.close();
});

// Each had room, and both together more than the machine has: the system ended the process, and each start.
test("records and V8's heap together take no more than the machine has, and what waits comes to its end", async () => {
  let share = 0;
  const [v8BytesMax, bothBytesMax] = [64 << 20, 24 << 20];
  const desk = await Desk.open({ chunkBytes: 1 << 14, ...SMALL }, { v8Share: () => share, v8BytesMax, bothBytesMax });
  const post = (path: string, data: Json) => desk.post(path, data, keys);
  await post('symbols', { handle: 'usd', factor: 100 });
  await post('wallets', { handle: 'a' });
  const claims = [issue('a', 'usd', 100)];
  const held = (await post('intents', { handle: 'held', claims, config: { commit: 'manual' } })).body;
  const { room } = desk.house.engine;
  const records = room.recordsBytes;
  expect(records).toBeLessThan(bothBytesMax / 2);
  share = ((bothBytesMax * 30) / 32 - records) / 1.5 / v8BytesMax;
  expect((await post('wallets', { handle: 'b' })).status).toBe(201);
  share = ((bothBytesMax * 63) / 64 - records) / 1.5 / v8BytesMax;
  expect(room.whatIsFull(true)).toBe('memory');
  const refused = await post('wallets', { handle: 'c' });
  expect([refused.status, refused.body.data.reason]).toEqual([503, 'api.unexpected-error']);
  const proof = proofFor(held, keys, { action: 'commit' });
  expect(refused.headers.get('retry-after')).not.toBeNull();
  expect((await desk.send('POST', `/v2/intents/${held.luid}/proofs`, proof)).status).toBe(200);
  // Nothing waits any more, so nobody need wait for it.
  const forGood = await post('wallets', { handle: 'c' });
  expect([forGood.status, forGood.headers.get('retry-after')]).toEqual([503, null]);
  share = 0;
  expect((await post('wallets', { handle: 'c' })).status).toBe(201);
  await desk.close();
});

// Balances of very many wallets in very many symbols took more than the records that made them.
test('what records may take is also for their indexes and balances', async () => {
  const room = 4 << 20;
  const desk = await Desk.open({ chunkBytes: 1 << 14, ...SMALL }, { recordsBytesMax: room });
  const post = (path: string, data: Json) => desk.post(path, data, keys);
  const wallets = Array.from({ length: 50 }, (_, n) => `w${n}`);
  for (const handle of wallets) await post('wallets', { handle });
  let status = 201;
  for (let n = 0; status === 201; n++) {
    status = (await post('symbols', { handle: `s${n}`, factor: 1 })).status;
    const claims = wallets.map((handle) => issue(handle, `s${n}`, 1));
    if (status === 201) status = (await post('intents', { handle: `i${n}`, claims })).status;
  }
  expect(status).toBe(503);
  const { engine, state } = desk.house;
  // Tables take a mebibyte at a time.
  expect(engine.room.recordsBytes).toBeLessThan(room + (1 << 20));
  expect(state.heap.used).toBeLessThan(room / 2);
  expect(state.balances.size).toBeGreaterThan(1000);
  await desk.close();
});

// The log has a row for each entry, tokens too, which take no memory for good: at the end of its rows a batch broke in its midst.
test.each(['log', 'terms', 'balances'] as const)('with no more rows for its %s nothing new is taken', async (which) => {
  const desk = await Desk.open();
  const { engine, state } = desk.house;
  const post = (path: string, data: Json) => desk.post(path, data, keys);
  const count = (rows: number) =>
    which === 'log'
      ? Object.defineProperty(state.log, 'length', { get: () => rows, configurable: true })
      : Object.defineProperty(state[which], 'size', {
          get: () => (which === 'terms' ? rows / 2 : rows),
          configurable: true,
        });
  count(0.96 * 2 ** 32);
  expect((await post('wallets', { handle: 'a' })).status).toBe(201);
  count(0.98 * 2 ** 32);
  expect([engine.room.whatIsFull(true), engine.room.whatIsFull(false)]).toEqual(['entries', null]);
  const refused = await post('wallets', { handle: 'b' });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, null]);
  count(0.995 * 2 ** 32);
  expect(engine.room.whatIsFull(false)).toBe('entries');
  // Reads go on, but for those that would write an entry.
  const iat = Math.floor(desk.world.now / 1000);
  const ask = async (more: Json) =>
    (await desk.get('/v2/wallets/a', bearer(keys, 'main', { iat, exp: iat + 60, ...more }))).status;
  expect([await ask({}), await ask({ jti: 'once' })]).toEqual([200, 503]);
  await desk.close();
});
