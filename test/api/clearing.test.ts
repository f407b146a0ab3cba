/**
 * Money: what an intent moves, all of it or nothing, judged on the net; whom a claim reaches; and that not one
 * unit is made or lost on the way.
 */
import { describe, expect, test } from 'vitest';
import { type Json, makeKeys, record } from '../support/client.ts';
import { destroy, issue, limit, reasonOf, transfer, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();

const { client, kit } = await serverOfFile(keys);
const usd = await kit.symbol();
await kit.funded(usd, 1000, { handle: 'rich' });

/** A new wallet with `amount` in it. */
const funded = (amount: number): Promise<string> => kit.funded(usd, amount);
const balances = (...wallets: string[]): Promise<number[]> => Promise.all(wallets.map((one) => kit.balance(one, usd)));

describe('the four actions', () => {
  test('issue makes, transfer moves, destroy takes away', async () => {
    const [a, b] = [await funded(0), await funded(0)];
    await kit.done([issue(a, usd, 100)]);
    await kit.done([transfer(a, b, usd, 30)]);
    await kit.done([destroy(b, usd, 10)]);
    expect(await balances(a, b)).toEqual([70, 20]);
  });
  test('one intent may hold them all', async () => {
    const [a, b] = [await funded(0), await funded(0)];
    await kit.done([issue(a, usd, 100), transfer(a, b, usd, 60), destroy(b, usd, 10), limit(b, usd, 'maxBalance', 70)]);
    expect(await balances(a, b)).toEqual([40, 50]);
  });
  test('symbols do not mix', async () => {
    const eur = await kit.symbol();
    const [a, b] = [await funded(10), await funded(0)];
    expect(await kit.refused([transfer(a, b, eur, 1)])).toBe('core.insufficient-balance');
    await kit.done([issue(a, eur, 5), transfer(a, b, eur, 5)]);
    expect([await kit.balance(a, usd), await kit.balance(b, eur)]).toEqual([10, 5]);
  });
  test('wallets and symbols are also found by custom-carrying objects and bare strings, kept as sent', async () => {
    const [a, b] = [await funded(0), await funded(0)];
    const claims = [
      { action: 'issue', target: a, symbol: usd, amount: 9 },
      { action: 'transfer', source: a, target: { handle: b, custom: { name: 'Ana' } }, symbol: usd, amount: 4 },
      { action: 'transfer', source: { handle: a, custom: {} }, target: b, symbol: { handle: usd }, amount: 1 },
      { action: 'destroy', source: b, symbol: usd, amount: 2 },
      { action: 'limit', wallet: b, symbol: usd, metric: 'maxBalance', amount: 50 },
    ];
    const stored = await kit.done(claims);
    expect(stored.data.claims).toEqual(claims);
    expect(await balances(a, b)).toEqual([4, 3]);
  });
});

describe('all or nothing', () => {
  test.each([0, 1, 2])('a claim that fails at place %i undoes the others', async (place) => {
    const [a, b, poor] = [await funded(100), await funded(0), await funded(0)];
    const claims = [transfer(a, b, usd, 10), transfer(a, b, usd, 20)];
    claims.splice(place, 0, transfer(poor, b, usd, 1));
    expect(await kit.refused(claims)).toBe('core.insufficient-balance');
    expect(await balances(a, b, poor)).toEqual([100, 0, 0]);
  });
  test('a limit claim beside a transfer that fails does not hold', async () => {
    const [a, b] = [await funded(0), await funded(0)];
    await kit.refused([limit(a, usd, 'minBalance', -50), transfer(a, b, usd, 10)]);
    expect(await kit.refused([transfer(a, b, usd, 10)])).toBe('core.insufficient-balance');
    expect((await client.get(`/wallets/${a}/limits`)).body.data).toEqual([]);
  });
});

describe('funds are judged on the net of the whole intent', () => {
  const chain = (a: string, b: string, c: string): Json[] => [transfer(a, b, usd, 100), transfer(b, c, usd, 100)];
  test.each(['in order', 'backwards'])('through an empty wallet, %s', async (order) => {
    const [a, b, c] = [await funded(100), await funded(0), await funded(0)];
    const claims = chain(a, b, c);
    await kit.done(order === 'backwards' ? claims.reverse() : claims);
    expect(await balances(a, b, c)).toEqual([0, 0, 100]);
  });
  test('a ring of empty wallets moves nothing and completes', async () => {
    const [a, b, c] = [await funded(0), await funded(0), await funded(0)];
    await kit.done([...chain(a, b, c), transfer(c, a, usd, 100)]);
    expect(await balances(a, b, c)).toEqual([0, 0, 0]);
  });
  test('spending first what the same intent issues', async () => {
    const [a, b] = [await funded(0), await funded(0)];
    await kit.done([transfer(a, b, usd, 5), issue(a, usd, 5)]);
    expect(await balances(a, b)).toEqual([0, 5]);
  });
  test('one unit too much is refused', async () => {
    const [a, b, c] = [await funded(99), await funded(0), await funded(0)];
    expect(await kit.refused(chain(a, b, c))).toBe('core.insufficient-balance');
    expect(await balances(a, b, c)).toEqual([99, 0, 0]);
  });
  test('several small claims add up to one refusal', async () => {
    const [a, b] = [await funded(10), await funded(0)];
    expect(await kit.refused(Array.from({ length: 11 }, () => transfer(a, b, usd, 1)))).toBe(
      'core.insufficient-balance',
    );
    await kit.done(Array.from({ length: 10 }, () => transfer(a, b, usd, 1)));
    expect(await balances(a, b)).toEqual([0, 10]);
  });
  test('a transfer to itself', async () => {
    const [rich, poor] = [await funded(10), await funded(0)];
    await kit.done([transfer(rich, rich, usd, 10)]);
    await kit.done([transfer(poor, poor, usd, 10)]);
    expect(await balances(rich, poor)).toEqual([10, 0]);
  });
});

describe('whom a claim reaches', () => {
  const claims: [string, (handle: string) => Json, string][] = [
    ['issue', (handle) => issue(handle, usd, 1), 'core.target-invalid'],
    ['transfer to', (handle) => transfer('rich', handle, usd, 1), 'core.target-invalid'],
    ['transfer from', (handle) => transfer(handle, 'rich', usd, 1), 'core.source-invalid'],
    ['destroy', (handle) => destroy(handle, usd, 1), 'core.source-invalid'],
  ];
  test.each(claims)('%s a wallet that is not there', async (_name, claim, reason) => {
    expect(await kit.refused([claim('nobody')])).toBe(reason);
    expect(await kit.refused([claim('a:nobody@nowhere')])).toBe(reason);
  });
  test('a limit on a wallet that is not there', async () => {
    expect(await kit.refused([limit('nobody', usd, 'maxBalance', 1)])).toMatch(/^core\.(source|target)-invalid$/);
  });
  test.each([
    ['issue', (symbol: string) => issue('rich', symbol, 1)],
    ['transfer', (symbol: string) => transfer('rich', 'rich', symbol, 1)],
    ['destroy', (symbol: string) => destroy('rich', symbol, 1)],
    ['limit', (symbol: string) => limit('rich', symbol, 'maxBalance', 1)],
  ])('%s with a symbol that is not there', async (_name, claim) => {
    expect(await kit.refused([claim('nothing')])).toBe('core.symbol-invalid');
  });

  // Which of these wallets exist, and which of them the address s:h@p means.
  const fallbacks: [string[], string][] = [
    [['s:h@p', 's@p', 'p', 's'], 's:h@p'],
    [['s@p', 'p', 's'], 's@p'],
    [['p', 's'], 'p'],
    [['s'], 's'],
    [['h@p', 'p'], 'p'],
    [['s:h', 's'], 's'],
  ];
  test.each(fallbacks)('of %j the address s:h@p means %s', async (existing, meant) => {
    const own = unique('r');
    const named = (shape: string): string => shape.replace(/[shp]/g, (part) => own + part);
    for (const shape of existing) await kit.wallet({ handle: named(shape) });
    const stored = await kit.done([issue(named('s:h@p'), usd, 5)]);
    expect(stored.data.claims[0].target.handle).toBe(named('s:h@p'));
    for (const shape of existing) expect(await kit.balance(named(shape), usd)).toBe(shape === meant ? 5 : 0);
    await kit.done([transfer(named('s:h@p'), 'rich', usd, 5)]);
    expect(await kit.balance(named(meant), usd)).toBe(0);
  });
  test('the symbol of a claim is resolved in the same way', async () => {
    const own = unique('c');
    const symbol = await kit.symbol({ handle: `${own}s@${own}p` });
    const wallet = await kit.wallet();
    await kit.done([issue(wallet, `${own}s:${own}h@${own}p`, 5)]);
    expect(await kit.balance(wallet, symbol)).toBe(5);
  });
  test('and routes ask for the symbol that is meant: another way to name it led past them', async () => {
    const symbol = await kit.symbol();
    const frozen = await kit.wallet({
      routes: [
        { action: 'debit', target: unique('nobody'), filter: { 'symbol.handle': symbol } },
        { action: 'accept' },
      ],
    });
    await kit.done([issue(frozen, symbol, 5)]);
    const rich = await kit.wallet();
    for (const words of [symbol, `x@${symbol}`, `${symbol}:x@nowhere`]) {
      expect(await kit.refused([transfer(frozen, rich, words, 1)])).toBe('core.routing-failed');
    }
  });
  test('a bare handle falls back to nothing', async () => {
    const own = unique('r');
    await kit.wallet({ handle: `x:${own}` });
    await kit.wallet({ handle: `${own}@x` });
    expect(await kit.refused([issue(own, usd, 1)])).toBe('core.target-invalid');
  });
});

describe('many at once', () => {
  test('of twenty that want ten of a hundred, ten get it', async () => {
    const [a, b] = [await funded(100), await funded(0)];
    const all = await Promise.all(Array.from({ length: 20 }, () => kit.clear([transfer(a, b, usd, 10)])));
    const completed = all.filter((one) => one.meta.status === 'completed');
    expect(completed).toHaveLength(10);
    expect(await balances(a, b)).toEqual([0, 100]);
  });
  test('one handle sent many times at once is stored once', async () => {
    const a = await funded(0);
    const handle = unique('intent');
    const bodies = Array.from({ length: 8 }, (_, n) => record({ handle, claims: [issue(a, usd, n + 1)] }, keys));
    const replies = await Promise.all([...bodies, ...bodies].map((body) => client.post('/intents', body)));
    const winners = replies.filter((reply) => reply.status === 201);
    expect(winners).toHaveLength(1);
    const { luid, hash } = winners[0]!.body;
    for (const reply of replies) {
      if (reply.status === 201) continue;
      expect(reasonOf(reply)).toEqual([409, 'record.duplicated']);
      expect(reply.body.data.custom).toMatchObject({ luid, hash });
    }
    expect(await kit.balance(a, usd)).toBe(winners[0]!.body.data.claims[0].amount);
  });
  test('nothing is made or lost in a crowd', async () => {
    const symbol = await kit.symbol();
    const wallets = await Promise.all(Array.from({ length: 5 }, () => kit.wallet()));
    await kit.done(wallets.map((wallet) => issue(wallet, symbol, 50)));
    const crowd = Array.from({ length: 120 }, (_, n) => {
      const [from, to, next] = [wallets[n % 5]!, wallets[(n * 3 + 1) % 5]!, wallets[(n * 7 + 2) % 5]!];
      const claims = [transfer(from, to, symbol, 1 + (n % 23)), transfer(to, next, symbol, 1 + (n % 17))];
      return kit.clear(n % 10 === 9 ? [destroy(from, symbol, 2)] : claims);
    });
    const all = await Promise.all(crowd);
    const expected = new Map(wallets.map((wallet) => [wallet, 50]));
    const add = (wallet: string, amount: number): unknown => expected.set(wallet, expected.get(wallet)! + amount);
    for (const one of all) {
      expect(['completed', 'rejected']).toContain(one.meta.status);
      if (one.meta.status === 'rejected') continue;
      for (const claim of one.data.claims) {
        add(claim.source.handle, -claim.amount);
        if (claim.target) add(claim.target.handle, claim.amount);
      }
    }
    for (const wallet of wallets) {
      expect(await kit.balance(wallet, symbol)).toBe(expected.get(wallet));
      expect(expected.get(wallet)).toBeGreaterThanOrEqual(0);
    }
  });
});
