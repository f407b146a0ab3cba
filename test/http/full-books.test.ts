/** Books that can hold no more: nothing new comes in, what is there is told and brought to its end, and nothing breaks. */
import { expect, test } from 'vitest';
import { Desk } from '../fuzz/desk.ts';
import { type Json, makeKeys, record } from '../support/client.ts';
import { issue, proofFor, transfer } from '../support/kit.ts';

const keys = makeKeys();
const LONG = 'x'.repeat(3000);

// Records that took more than the machine had ended the process, and each start that read as many.
test.each([
  ['their heap reaches no further', { chunkBytes: 1 << 14, heapBytesMax: 1 << 19 }, {}],
  ['they may take no more', { chunkBytes: 1 << 14 }, { recordsBytesMax: 1 << 19 }],
])('full books, where %s, take nothing new, and bring to its end what is in them', async (_why, sizes, options) => {
  const desk = await Desk.open(sizes, options);
  const post = (path: string, data: Json) => desk.send('POST', `/v2/${path}`, record(data, keys));
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
    '1',
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
