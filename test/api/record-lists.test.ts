/**
 * Lists of what belongs to one record: a wallet's balances and limits, and versions. They are filtered, ordered and given in
 * pages as lists of records are.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Client, type Json, makeKeys } from '../support/client.ts';
import { freshLedger, issue, type Kit, limit, pause, reasonOf, transfer, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();

const { server } = await serverOfFile();

test('of a balance that is spent it is told that nothing is available, of what is reserved only while there is some', async () => {
  const { there, kit } = await freshLedger(server, keys);
  const [symbol, wallet, other] = [await kit.symbol(), await kit.wallet(), await kit.wallet()];
  await kit.clear([issue(wallet, symbol, 5)]);
  await kit.clear([transfer(wallet, other, symbol, 5)]);
  const { body } = await there.get(`/wallets/${wallet}/balances`);
  expect(body.data.map(({ data }: Json) => data)).toEqual([{ wallet, symbol, schema: 'available', amount: 0 }]);
  expect(body.page.total).toBe(1);
});

test('a wallet that is limited, or is to get something, has no balance before any money moved', async () => {
  const { there, kit } = await freshLedger(server, keys);
  const [symbol, wallet, other] = [await kit.symbol(), await kit.wallet(), await kit.wallet()];
  await kit.clear([limit(wallet, symbol, 'dailyCount', 5), issue(other, symbol, 5)]);
  await kit.clear([transfer(other, wallet, symbol, 5)], { data: { config: { commit: 'manual' } } });
  const { body } = await there.get(`/wallets/${wallet}/balances`);
  expect([body.data, body.page.total]).toEqual([[], 0]);
  expect((await there.get(`/wallets/${wallet}/limits`)).body.data).toHaveLength(1);
});

describe('rows of balances and limits are filtered as records are', () => {
  let there: Client;
  let wallet: string;
  let usd: string;
  let eur: string;
  beforeAll(async () => {
    const fresh = await freshLedger(server, keys);
    ({ there } = fresh);
    const { kit } = fresh;
    [usd, eur, wallet] = [await kit.symbol(), await kit.symbol(), await kit.wallet()];
    const other = await kit.wallet();
    await kit.clear([issue(wallet, usd, 100), issue(wallet, eur, 7)]);
    await kit.make('intents', {
      handle: unique('held'),
      claims: [transfer(wallet, other, usd, 30)],
      config: { commit: 'manual' },
    });
    const bounds: [string, string, number][] = [
      [usd, 'maxBalance', 500],
      [usd, 'minBalance', 0],
      [eur, 'maxBalance', 50],
    ];
    await kit.clear(bounds.map((bound) => limit(wallet, ...bound)));
  });
  const rows = async (what: string, query: string) => {
    const { status, body, text } = await there.get(`/wallets/${wallet}/${what}?${query}`);
    expect(status, text).toBe(200);
    return { data: body.data.map((one: Json) => one.data), total: body.page.total };
  };
  const balance = (symbol: string, schema: string, amount: number) => ({ wallet, symbol, schema, amount });

  test('by symbol, schema, amount and moment, with pages of what is left', async () => {
    const [available, reserved] = [balance(usd, 'available', 70), balance(usd, 'reserved', 30)];
    expect(await rows('balances', `data.symbol=${usd}`)).toEqual({ data: [available, reserved], total: 2 });
    expect(await rows('balances', 'data.schema=reserved')).toEqual({ data: [reserved], total: 1 });
    expect(await rows('balances', 'filter.data.amount.$lt=10')).toEqual({
      data: [balance(eur, 'available', 7)],
      total: 1,
    });
    expect(await rows('balances', `filter[data.symbol][$in][0]=${eur}&data.schema=reserved`)).toEqual({
      data: [],
      total: 0,
    });
    expect(await rows('balances', `data.symbol=${usd}&page.limit=1&page.index=1`)).toEqual({
      data: [reserved],
      total: 2,
    });
    expect((await rows('balances', 'meta.moment.$lte=2020-01-01')).total).toBe(0);
    expect((await rows('balances', 'meta.moment.$gt=2020-01-01')).total).toBe(3);
  });
  test('limits by symbol and metric', async () => {
    const max = { wallet, symbol: usd, metric: 'maxBalance', amount: 500 };
    expect(await rows('limits', `data.symbol=${usd}&data.metric=maxBalance`)).toEqual({ data: [max], total: 1 });
    expect((await rows('limits', 'data.metric=maxBalance')).total).toBe(2);
    expect((await rows('limits', 'data.amount=50')).data[0].symbol).toBe(eur);
  });
  test('each with a luid of its own, whatever there is of a wallet in one symbol', async () => {
    const luids = async (what: string) =>
      (await there.get(`/wallets/${wallet}/${what}`)).body.data.map((one: Json) => one.luid);
    const all = [...(await luids('balances')), ...(await luids('limits'))];
    expect(all).toHaveLength(6);
    expect(new Set(all).size).toBe(6);
  });
  test('by nothing else', async () => {
    for (const query of ['data.handle=x', 'data.metric=x', 'data.custom.a=1', 'meta.status=created']) {
      const refused = await there.get(`/wallets/${wallet}/balances?${query}`);
      expect(reasonOf(refused), query).toEqual([400, 'api.query-malformed']);
    }
    expect(reasonOf(await there.get(`/wallets/${wallet}/limits?data.schema=x`))).toEqual([400, 'api.query-malformed']);
  });
});

describe('what belongs to one record is listed as records are: newest first, the oldest where that is asked for', () => {
  const OLDEST = 'sort.meta.moment=1';
  let there: Client;
  let kit: Kit;
  beforeAll(async () => {
    ({ there, kit } = await freshLedger(server, keys));
  });

  /** What `look` sees of the rows, page after page. */
  async function pages(path: string, query: string, limit: number, look: (row: Json) => unknown): Promise<unknown[]> {
    const seen: unknown[] = [];
    for (let index = 0; ; index += 1) {
      const reply = await there.get(`${path}?${query}&page.index=${index}&page.limit=${limit}`);
      expect(reply.status, reply.text).toBe(200);
      seen.push(...reply.body.data.map(look));
      if (reply.body.data.length < limit) return seen;
    }
  }

  /** The whole list and all its pages, one way and the other. */
  async function expectBothWays(
    path: string,
    newest: unknown[],
    look: (row: Json) => unknown,
    query = '',
  ): Promise<void> {
    for (const limit of [100, 3, 2, 1]) {
      expect(await pages(path, query, limit, look)).toEqual(newest);
      expect(await pages(path, `${query}&sort.meta.moment=-1`, limit, look)).toEqual(newest);
      expect(await pages(path, `${query}&${OLDEST}`, limit, look)).toEqual(newest.toReversed());
    }
  }

  test('versions', async () => {
    let stored = await kit.make('wallets', { handle: unique('wallet') });
    const { handle } = stored.data;
    for (let n = 0; n < 4; n += 1) stored = (await kit.change('wallets', stored, { handle, custom: { n } })).body;
    await expectBothWays(`/wallets/${handle}/changes`, [5, 4, 3, 2, 1], (row) => row.meta.change);
  });

  test('balances: one that moves goes to the front', async () => {
    const [wallet, other] = [await kit.wallet(), await kit.wallet()];
    const symbols: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      symbols.push(await kit.symbol());
      await kit.done([issue(wallet, symbols[n]!, 10 + n)]);
      await pause(2);
    }
    const [a, b, c, d, e] = symbols;
    const look = ({ data }: Json) => `${data.symbol} ${data.schema}`;
    const available = (names: unknown[]) => names.map((name) => `${name} available`);
    await expectBothWays(`/wallets/${wallet}/balances`, available([e, d, c, b, a]), look);
    await kit.done([transfer(wallet, other, b!, 1)]);
    await pause(2);
    await kit.clear([transfer(wallet, other, a!, 1)], { data: { config: { commit: 'manual' } } });
    const held = [`${a} available`, `${a} reserved`, ...available([b, e, d, c])];
    await expectBothWays(`/wallets/${wallet}/balances`, held, look);
    await expectBothWays(`/wallets/${wallet}/balances`, available([b, e, d, c]), look, 'data.amount.$gt=9');
  });

  test('limits: one that is set again goes to the front', async () => {
    const wallet = await kit.wallet();
    const symbols = [await kit.symbol(), await kit.symbol()];
    for (const metric of ['maxBalance', 'minBalance', 'dailyCount']) {
      for (const symbol of symbols) {
        await kit.done([limit(wallet, symbol, metric, 0)]);
        await pause(2);
      }
    }
    const [a, b] = symbols;
    await kit.done([limit(wallet, a!, 'minBalance', -1)]);
    const rows = [
      `${a} minBalance`,
      `${b} dailyCount`,
      `${a} dailyCount`,
      `${b} minBalance`,
      `${b} maxBalance`,
      `${a} maxBalance`,
    ];
    await expectBothWays(`/wallets/${wallet}/limits`, rows, ({ data }) => `${data.symbol} ${data.metric}`);
  });
});
