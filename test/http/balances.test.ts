/** Balances of a wallet in very many symbols: looked for in turns, and each of them told on one page. */
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { setServerRules } from '../../src/core/access/index.ts';
import { Desk } from '../fuzz/desk.ts';
import { type Json, makeKeys, proof, record } from '../support/client.ts';

const keys = makeKeys();
const SYMBOLS = 1100;
const names = Array.from({ length: SYMBOLS }, (_, n) => `s-${n}`);
const there = { 'x-ledger': 'other' };
let desk: Desk;

beforeAll(async () => {
  desk = await Desk.open();
  const send = async (path: string, value: Json, headers = {}) => {
    const body = Buffer.from(JSON.stringify(record(value, keys)));
    const { status } = await desk.ask({ method: 'POST', path: `/v2${path}`, body, headers }, false);
    expect(status).toBe(201);
  };
  await send('/ledgers', { handle: 'other', access: [{ action: 'any', record: 'any' }] });
  await send('/wallets', { handle: 'few' }, there);
  await send('/wallets', { handle: 'many' });
  for (const name of names) await send('/symbols', { handle: name, factor: 1 });
  const claims = names.map((handle, n) => ({ action: 'issue', amount: 1 + n, symbol: { handle }, target: 'many' }));
  await send('/intents', { handle: 'issue', claims });
});
afterAll(() => desk.close());
afterEach(() => void vi.restoreAllMocks());

const balances = (wallet: string, query = '', headers = {}) =>
  desk.ask({ method: 'GET', path: `/v2/wallets/${wallet}/balances${query}`, headers }, false);

test('each stands on one page, with the number of all', async () => {
  const seen: [string, number][] = [];
  for (let index = 0; index * 64 < SYMBOLS; index++) {
    const { body } = await balances('many', `?page.limit=64&page.index=${index}`);
    expect([body.page.index, body.page.total]).toEqual([index, SYMBOLS]);
    seen.push(...body.data.map(({ data }: Json): [string, number] => [data.symbol, data.amount]));
  }
  const sorted = (list: [string, number][]) => list.toSorted(([, one], [, other]) => one - other);
  expect(sorted(seen)).toEqual(names.map((name, n) => [name, 1 + n]));
});

test('limits, each with a luid of its own, and what is still to come make no balance', async () => {
  await desk.post('wallets', { handle: 'empty' }, keys);
  const wallet = { handle: 'empty' };
  const limit = (metric: string) => ({ action: 'limit', wallet, symbol: { handle: 's-0' }, metric, amount: 5 });
  const issue = { action: 'issue', target: wallet, symbol: { handle: 's-1' }, amount: 5 };
  for (const [handle, claims, commit] of [
    ['limited', [limit('maxBalance'), limit('dailyCount')], 'auto'],
    ['to-come', [issue], 'manual'],
  ] as const) {
    const { body } = await desk.post('intents', { handle, claims, config: { commit } }, keys);
    expect(body.meta.status).toBe('pending');
  }
  expect((await balances('empty')).body.data).toEqual([]);
  const { data } = (await desk.get('/v2/wallets/empty/limits')).body;
  expect(data.map(({ data }: Json) => data.amount)).toEqual([5, 5]);
  expect(new Set(data.map(({ luid }: Json) => luid)).size).toBe(2);
});

test('filters leave pages of what they let through', async () => {
  const wanted = names.slice(SYMBOLS - 100);
  const seen: string[] = [];
  for (let index = 0; index < 4; index++) {
    const { body } = await balances('many', `?data.amount.$gt=${SYMBOLS - 100}&page.limit=30&page.index=${index}`);
    expect(body.page.total).toBe(wanted.length);
    seen.push(...body.data.map(({ data }: Json): string => data.symbol));
  }
  expect(seen.sort()).toEqual([...wanted].sort());
});

test('what changes while they are looked for is told as it is by then, where the filters still let it through', async () => {
  const send = async (value: Json) => {
    const body = Buffer.from(JSON.stringify(record(value, keys)));
    expect((await desk.ask({ method: 'POST', path: '/v2/intents', body }, false)).status).toBe(201);
  };
  const limit = (name: string, metric: string, amount: number) => ({
    action: 'limit',
    wallet: 'many',
    symbol: name,
    metric,
    amount,
  });
  const [first, second] = [names.at(-1)!, names.at(-2)!];
  const limited = [limit(first, 'maxBalance', 10_000), limit(second, 'maxBalance', 10_000)];
  await send({ handle: 'limit', claims: limited });
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 3;
    return now;
  });
  const told: string[] = [];
  const listed = async (path: string) => {
    const { body } = await desk.ask({ method: 'GET', path: `/v2/wallets/many${path}`, headers: {} }, false);
    told.push('listed');
    return body.data.map(({ data }: Json) => [data.symbol, data.metric ?? data.amount]);
  };
  const limits = listed('/limits?data.metric=maxBalance&data.amount.$gt=9999');
  const balances = listed(`/balances?data.amount.$gt=${SYMBOLS - 3}`);
  // Those of the newest symbols were looked at by now.
  const changes = [
    limit(first, 'minBalance', 0),
    limit(second, 'maxBalance', 9000),
    { action: 'destroy', source: 'many', symbol: { handle: first }, amount: 100 },
  ];
  await send({ handle: 'change', claims: changes });
  told.push('changed');
  expect(await limits).toEqual([[first, 'maxBalance']]);
  expect((await balances).sort()).toEqual([
    [names.at(-3), SYMBOLS - 2],
    [second, SYMBOLS - 1],
  ]);
  expect(told).toEqual(['changed', 'listed', 'listed']);
});

test('a page from which one falls while they are looked for is full', async () => {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 3;
    return now;
  });
  const asked = balances('many', '?data.amount.$gt=500&page.limit=5');
  // The first that is looked at.
  const gone = names.at(-1)!;
  const claims = [{ action: 'destroy', source: 'many', symbol: { handle: gone }, amount: SYMBOLS - 500 - 100 }];
  const body = Buffer.from(JSON.stringify(record({ handle: 'meanwhile', claims }, keys)));
  expect((await desk.ask({ method: 'POST', path: '/v2/intents', body }, false)).status).toBe(201);
  const symbols = (await asked).body.data.map((row: Json) => row.data.symbol);
  expect(symbols).toEqual([-2, -3, -4, -5, -6].map((at) => names.at(at)));
});

test('what is held no more once the holds are found is not told', async () => {
  const post = async (path: string, value: Json) => {
    const answer = await desk.ask({ method: 'POST', path, body: Buffer.from(JSON.stringify(value)) }, false);
    expect(answer.status).toBeLessThan(300);
    return answer.body;
  };
  const held = async (handle: string, symbol: string) => {
    const claims = [{ action: 'destroy', source: 'many', symbol: { handle: symbol }, amount: 1 }];
    return post('/v2/intents', record({ handle, claims, config: { commit: 'manual' } }, keys));
  };
  const [first, second] = [names.at(-1)!, names.at(-2)!];
  const { hash } = await held('released', first);
  await held('kept', second);
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 3;
    return now;
  });
  const asked = balances('many', '?data.schema=reserved');
  await post('/v2/intents/released/proofs', proof(hash, keys, { status: 'aborted' }));
  expect((await asked).body.data.map(({ data }: Json) => [data.symbol, data.amount])).toEqual([[second, 1]]);
});

test('what may not be read any more once they are found is not told', async () => {
  const { state } = desk.house;
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 3;
    return now;
  });
  const asked = balances('many');
  setServerRules(state, []);
  expect((await asked).status).toBe(403);
  setServerRules(state, [{ action: { $in: ['access', 'create'] } }]);
  expect((await balances('many')).status).toBe(200);
});

test('who asks for very many holds up nobody of another ledger, and is told in the end', async () => {
  let now = 0;
  // By this clock each step takes long.
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 3;
    return now;
  });
  const told: string[] = [];
  const ask = async (name: string, wallet: string, headers = {}) => {
    expect((await balances(wallet, '', headers)).status).toBe(200);
    told.push(name);
  };
  const flood = Array.from({ length: 100 }, () => ask('flood', 'many'));
  await Promise.all([...flood, ask('guest', 'few', there)]);
  expect(told.indexOf('guest')).toBeLessThan(10);
  expect(told.length).toBe(101);
});
