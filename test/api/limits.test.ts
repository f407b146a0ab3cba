/**
 * The bounds of money: limits a wallet was given, inclusive and judged on the net, and the ends of what an
 * amount and a claim may be.
 */
import { describe, expect, test } from 'vitest';
import { hashOf, type Json, makeKeys } from '../support/client.ts';
import { destroy, issue, limit, luidOf, pause, reasonOf, segment, transfer } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();
const MAX = Number.MAX_SAFE_INTEGER;

const { client, kit } = await serverOfFile(keys);
const usd = await kit.symbol();
await kit.funded(usd, 1000, { handle: 'rich' });

/** A new wallet with `amount` in it. */
const funded = (amount: number): Promise<string> => kit.funded(usd, amount);
const balances = (...wallets: string[]): Promise<number[]> => Promise.all(wallets.map((one) => kit.balance(one, usd)));

/** Daily limits count by UTC day: a test of one does not begin in the last minute of a day. */
async function awayFromMidnight(): Promise<void> {
  const left = 86_400_000 - (Date.now() % 86_400_000);
  if (left < 60_000) await pause(left + 100);
}

describe('limits, bounds inclusive', () => {
  const rows = async (wallet: string): Promise<Json[]> => {
    const reply = await client.get(`/wallets/${segment(wallet)}/limits`);
    expect(reply.status).toBe(200);
    for (const row of reply.body.data) {
      expect(row.luid).toMatch(luidOf('wbl'));
      expect(row.hash).toBe(hashOf(row.data));
    }
    return reply.body.data.map((row: Json) => row.data);
  };

  test('minBalance above zero', async () => {
    const [a, b] = [await funded(100), await funded(0)];
    await kit.done([limit(a, usd, 'minBalance', 50)]);
    expect(await kit.refused([transfer(a, b, usd, 51)])).toBe('core.limit-exceeded');
    await kit.done([transfer(a, b, usd, 50)]);
    expect(await kit.refused([destroy(a, usd, 1)])).toBe('core.limit-exceeded');
    expect(await balances(a, b)).toEqual([50, 50]);
  });
  test('minBalance below zero', async () => {
    const [a, b] = [await funded(0), await funded(0)];
    await kit.done([limit(a, usd, 'minBalance', -500)]);
    await kit.done([transfer(a, b, usd, 500)]);
    expect(await kit.refused([transfer(a, b, usd, 1)])).toBe('core.limit-exceeded');
    expect(await balances(a, b)).toEqual([-500, 500]);
  });
  test('maxBalance', async () => {
    const [a, b] = [await funded(0), await funded(100)];
    await kit.done([limit(a, usd, 'maxBalance', 100)]);
    expect(await kit.refused([issue(a, usd, 101)])).toBe('core.limit-exceeded');
    await kit.done([issue(a, usd, 100)]);
    expect(await kit.refused([transfer(b, a, usd, 1)])).toBe('core.limit-exceeded');
    await kit.done([transfer(b, a, usd, 1), transfer(a, b, usd, 1)]);
    expect(await balances(a, b)).toEqual([100, 100]);
  });
  test('dailyAmount counts both directions, from the intent that set it on', async () => {
    await awayFromMidnight();
    const [a, b] = [await funded(1000), await funded(1000)];
    await kit.done([transfer(a, b, usd, 300)]);
    await kit.done([limit(a, usd, 'dailyAmount', 100)]);
    await kit.done([transfer(a, b, usd, 60)]);
    expect(await kit.refused([transfer(a, b, usd, 41)])).toBe('core.limit-exceeded');
    await kit.done([transfer(b, a, usd, 40)]);
    expect(await kit.refused([transfer(a, b, usd, 1)])).toBe('core.limit-exceeded');
    expect(await kit.refused([transfer(b, a, usd, 1)])).toBe('core.limit-exceeded');
    expect(await balances(a, b)).toEqual([680, 1320]);
  });
  test('dailyCount counts intents, either way', async () => {
    await awayFromMidnight();
    const [a, b] = [await funded(100), await funded(100)];
    await kit.done([limit(a, usd, 'dailyCount', 2)]);
    await kit.done([transfer(a, b, usd, 1), transfer(a, b, usd, 1), transfer(a, b, usd, 1)]);
    await kit.done([transfer(b, a, usd, 1)]);
    expect(await kit.refused([transfer(a, b, usd, 1)])).toBe('core.limit-exceeded');
    expect(await kit.refused([transfer(b, a, usd, 1)])).toBe('core.limit-exceeded');
    expect(await balances(a, b)).toEqual([98, 102]);
  });
  test('a refused intent is not counted', async () => {
    await awayFromMidnight();
    const [a, b] = [await funded(100), await funded(0)];
    await kit.done([limit(a, usd, 'dailyCount', 1), limit(a, usd, 'dailyAmount', 50)]);
    await kit.refused([transfer(a, b, usd, 51)]);
    await kit.refused([transfer(a, b, usd, 101)]);
    await kit.done([transfer(a, b, usd, 50)]);
    expect(await balances(a, b)).toEqual([50, 50]);
  });
  test('limits speak of one symbol only', async () => {
    const eur = await kit.symbol();
    const [a, b] = [await funded(10), await funded(0)];
    await kit.done([issue(a, eur, 10), limit(a, usd, 'minBalance', 10)]);
    await kit.done([transfer(a, b, eur, 10)]);
    expect(await kit.refused([transfer(a, b, usd, 1)])).toBe('core.limit-exceeded');
  });
  test('a limit takes effect after the money of its own intent', async () => {
    const [a, b] = [await funded(120), await funded(0)];
    await kit.done([limit(a, usd, 'minBalance', 100), transfer(a, b, usd, 50)]);
    expect(await kit.refused([transfer(a, b, usd, 1)])).toBe('core.limit-exceeded');
    const [c, d] = [await funded(0), await funded(0)];
    expect(await kit.refused([limit(c, usd, 'minBalance', -50), transfer(c, d, usd, 50)])).toBe(
      'core.insufficient-balance',
    );
  });
  test('the last of two limit claims holds', async () => {
    const a = await funded(0);
    await kit.done([limit(a, usd, 'maxBalance', 5), limit(a, usd, 'maxBalance', 7)]);
    expect(await rows(a)).toEqual([{ wallet: a, symbol: usd, metric: 'maxBalance', amount: 7 }]);
    await kit.done([issue(a, usd, 7)]);
  });
  test('the limits endpoint shows each metric once, the latest amount', async () => {
    const a = await funded(0);
    await kit.done([limit(a, usd, 'minBalance', -5), limit(a, usd, 'maxBalance', 5)]);
    await kit.done([
      limit(a, usd, 'minBalance', -MAX),
      limit(a, usd, 'dailyCount', 3),
      limit(a, usd, 'dailyAmount', MAX),
    ]);
    const found = Object.fromEntries((await rows(a)).map((row) => [row.metric, row.amount]));
    expect(found).toEqual({ minBalance: -MAX, maxBalance: 5, dailyCount: 3, dailyAmount: MAX });
    expect((await client.get('/wallets/nobody/limits')).status).toBe(404);
  });
});

describe('a wallet of many symbols', () => {
  test('tells its balances and limits page by page, cut also within what it has of one symbol', async () => {
    const [a, b] = [await kit.wallet(), await kit.wallet()];
    const symbols = await Promise.all(Array.from({ length: 7 }, () => kit.symbol()));
    await kit.done(symbols.map((symbol) => issue(a, symbol, 10)));
    await kit.done(symbols.slice(1, 5).flatMap((symbol) => [limit(a, symbol, 'maxBalance', 99)]));
    await kit.done(symbols.slice(2, 4).flatMap((symbol) => [limit(a, symbol, 'minBalance', 1)]));
    const held = symbols.filter((_, at) => at % 2 === 0).map((symbol) => transfer(a, b, symbol, 3));
    expect((await kit.send(held, { data: { config: { commit: 'manual' } } })).status).toBe(201);
    for (const [part, count] of [
      ['balances', 11],
      ['limits', 6],
    ] as const) {
      const pageOf = async (index: number, size: number): Promise<Json> =>
        (await client.get(`/wallets/${a}/${part}?page.index=${index}&page.limit=${size}`)).body;
      const { data: all } = await pageOf(0, 100);
      expect(all).toHaveLength(count);
      for (const size of [1, 2, 3, 4, count]) {
        for (let index = 0; index * size <= count + size; index += 1) {
          const { data, page } = await pageOf(index, size);
          expect(data).toEqual(all.slice(index * size, (index + 1) * size));
          expect(page).toEqual({ index, limit: size, total: count });
        }
      }
    }
  });
});

describe('the ends of the range', () => {
  test('2^53-1 is issued, moved and destroyed, one more is refused', async () => {
    const symbol = await kit.symbol();
    const [a, b] = [await kit.wallet(), await kit.wallet()];
    await kit.done([issue(a, symbol, MAX)]);
    expect(await kit.refused([issue(a, symbol, 1)])).toBe('core.limit-exceeded');
    await kit.done([transfer(a, b, symbol, MAX)]);
    expect([await kit.balance(a, symbol), await kit.balance(b, symbol)]).toEqual([0, MAX]);
    await kit.done([destroy(b, symbol, MAX)]);
    expect(await kit.balance(b, symbol)).toBe(0);
  });
  test('sums far beyond 2^53 are judged exactly', async () => {
    const symbol = await kit.symbol();
    const [a, b] = [await kit.wallet(), await kit.wallet()];
    const many = Array.from({ length: 9 }, () => issue(a, symbol, MAX));
    expect(await kit.refused([...many, issue(a, symbol, 1)])).toBe('core.limit-exceeded');
    await kit.done([...many, ...many.map(() => destroy(a, symbol, MAX)), issue(a, symbol, 1)]);
    expect([await kit.balance(a, symbol), await kit.balance(b, symbol)]).toEqual([1, 0]);
  });
  test.each<[string, Json]>([
    ['0', 0],
    ['-1', -1],
    ['1.5', 1.5],
    ['2^53', 2 ** 53],
    ['1e300', 1e300],
    ['"1"', '1'],
    ['null', null],
    ['true', true],
  ])('an amount of %s is refused at the door', async (_name, amount) => {
    for (const claim of [
      issue('rich', usd, amount),
      transfer('rich', 'rich', usd, amount),
      destroy('rich', usd, amount),
    ]) {
      expect(reasonOf(await kit.send([claim]))).toEqual([422, 'record.schema-invalid']);
    }
  });
  test.each([2 ** 53, -(2 ** 53), 0.5, '1', null])('a limit amount of %j is refused at the door', async (amount) => {
    const reply = await kit.send([limit('rich', usd, 'minBalance', amount as number)]);
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
  });
  const broken: [string, Json][] = [
    ['an unknown action', { ...issue('rich', 'usd', 1), action: 'borrow' }],
    ['no action', { target: 'rich', symbol: 'usd', amount: 1 }],
    ['an unknown member', { ...issue('rich', 'usd', 1), surplus: 1 }],
    ['a source in an issue', { ...issue('rich', 'usd', 1), source: 'rich' }],
    ['a target in a destroy', { ...destroy('rich', 'usd', 1), target: 'rich' }],
    ['no target in a transfer', { action: 'transfer', source: 'rich', symbol: 'usd', amount: 1 }],
    ['no symbol', { action: 'issue', target: 'rich', amount: 1 }],
    ['an unknown metric', limit('rich', 'usd', 'hourlyAmount', 1)],
    ['a wallet without handle', { ...issue('rich', 'usd', 1), target: {} }],
    ['a wallet with an unknown member', { ...issue('rich', 'usd', 1), target: { handle: 'rich', x: 1 } }],
    ['a wallet handle that is none', issue('not ok', 'usd', 1)],
    ['a claim that is no object', 'issue'],
  ];
  test.each(broken)('%s is refused at the door', async (_name, claim) => {
    const reply = await kit.send([claim]);
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
  });
  test('no claims, and one too many', async () => {
    expect(reasonOf(await kit.send([]))).toEqual([422, 'record.schema-invalid']);
    const small = { action: 'issue', target: 'rich', symbol: usd, amount: 1 };
    const over = await kit.send(Array.from({ length: 10_001 }, () => small));
    expect(reasonOf(over)).toEqual([422, 'record.schema-invalid']);
  });
  test('ten thousand claims in one intent', async () => {
    const [a, b] = [await funded(10_000), await funded(0)];
    const small = { action: 'transfer', source: a, target: b, symbol: usd, amount: 1 };
    const stored = await kit.done(Array.from({ length: 10_000 }, () => small));
    expect(stored.data.claims).toHaveLength(10_000);
    expect(await balances(a, b)).toEqual([0, 10_000]);
  });
});
