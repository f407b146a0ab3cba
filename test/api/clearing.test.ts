/**
 * Money: what an intent moves, all of it or nothing, judged on the net; whom a claim reaches; which limits hold;
 * what a refusal is called; and that not one unit is made or lost on the way.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, connect, hashOf, type Json, makeKeys, proof, type Reply, record } from '../support/client.ts';
import {
  destroy,
  failure,
  issue,
  type Kit,
  limit,
  luidOf,
  MOMENT,
  makeKit,
  pause,
  proofFor,
  segment,
  statuses,
  transfer,
  unique,
} from '../support/kit.ts';
import { type Server, startServer } from '../support/server.ts';

const keys = makeKeys();
const MAX = Number.MAX_SAFE_INTEGER;
let server: Server;
let client: Client;
let kit: Kit;
let usd: string;

beforeAll(async () => {
  server = await startServer();
  client = connect(server);
  kit = makeKit(client, keys);
  usd = await kit.symbol();
});
afterAll(() => server?.stop());

/** A wallet with `amount` in it. */
async function funded(amount: number, data?: Json): Promise<string> {
  const wallet = await kit.wallet(data);
  if (amount > 0) await kit.done([issue(wallet, usd, amount)]);
  return wallet;
}
const balances = (...wallets: string[]): Promise<number[]> => Promise.all(wallets.map((one) => kit.balance(one, usd)));
const reasonOf = (reply: Reply): [number, string] => [reply.status, reply.body.data.reason];

/** Daily limits count by UTC day: a test of one does not begin in the last seconds of a day. */
async function awayFromMidnight(): Promise<void> {
  const left = 86_400_000 - (Date.now() % 86_400_000);
  if (left < 15_000) await pause(left + 100);
}

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

describe('whom a claim reaches', () => {
  const claims: [string, (handle: string) => Json, string][] = [
    ['issue', (handle) => issue(handle, usd, 1), 'core.target-invalid'],
    ['transfer to', (handle) => transfer('rich', handle, usd, 1), 'core.target-invalid'],
    ['transfer from', (handle) => transfer(handle, 'rich', usd, 1), 'core.source-invalid'],
    ['destroy', (handle) => destroy(handle, usd, 1), 'core.source-invalid'],
  ];
  beforeAll(async () => void (await funded(1000, { handle: 'rich' })));

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
  test('a bare handle falls back to nothing', async () => {
    const own = unique('r');
    await kit.wallet({ handle: `x:${own}` });
    await kit.wallet({ handle: `${own}@x` });
    expect(await kit.refused([issue(own, usd, 1)])).toBe('core.target-invalid');
  });
});

describe('what the proofs tell', () => {
  test('success: prepared, committed, completed, by the server, in order', async () => {
    const stored = await kit.done([issue(await kit.wallet(), usd, 1)]);
    expect(statuses(stored)).toEqual(['created', 'pending', 'prepared', 'committed', 'completed']);
    const moments = stored.meta.proofs.slice(1).map((one: Json) => one.custom.moment);
    expect([...moments].sort()).toEqual(moments);
  });
  test('failure: failed with reason and detail, aborted, rejected', async () => {
    const [a, b] = [await funded(3), await funded(0)];
    const stored = await kit.clear([transfer(a, b, usd, 5)]);
    expect(statuses(stored)).toEqual(['created', 'pending', 'failed', 'aborted', 'rejected']);
    const failed = failure(stored);
    expect(failed.moment).toMatch(MOMENT);
    for (const word of [a, usd, '3', '5']) expect(failed.detail).toContain(word);
  });
  test('a rejected intent stays rejected and its handle stays taken', async () => {
    const [a, b] = [await funded(0), await funded(0)];
    const body = record({ handle: unique('intent'), claims: [transfer(a, b, usd, 5)] }, keys);
    expect((await client.post('/intents', body)).status).toBe(201);
    await kit.done([issue(a, usd, 100)]);
    const again = await client.post('/intents', body);
    expect(reasonOf(again)).toEqual([409, 'record.duplicated']);
    expect(again.body.data.custom.hash).toBe(body.hash);
    expect((await client.get(`/intents/${body.data.handle}`)).body.meta.status).toBe('rejected');
    expect(await balances(a, b)).toEqual([100, 0]);
  });
  test('a proof added after the end moves nothing', async () => {
    const stored = await kit.done([issue(await kit.wallet(), usd, 1)]);
    for (const status of ['rejected', 'aborted', 'pending', 'whatever']) {
      const added = proofFor(stored, keys, { moment: new Date().toISOString(), status });
      const reply = await client.post(`/intents/${stored.data.handle}/proofs`, added);
      expect(reply.status).not.toBe(500);
    }
    expect((await client.get(`/intents/${stored.data.handle}`)).body.meta.status).toBe('completed');
  });
});

describe('Prefer: wait', () => {
  test.each<[string, number, string, string[]]>([
    ['completed', 10, 'completed', ['created', 'pending', 'prepared', 'committed', 'completed']],
    ['rejected', 11, 'rejected', ['created', 'pending', 'failed', 'aborted', 'rejected']],
  ])('the answer is the record %s', async (_name, amount, status, proofs) => {
    const [a, b] = [await funded(10), await funded(0)];
    const reply = await kit.send([transfer(a, b, usd, amount)], { headers: { prefer: 'wait=5' } });
    expect(reply.status).toBe(201);
    expect(reply.headers.get('preference-applied')).toMatch(/^wait/);
    expect(reply.body.meta.status).toBe(status);
    expect(statuses(reply.body)).toEqual(proofs);
    expect((await client.get(`/intents/${reply.body.data.handle}`)).body).toEqual(reply.body);
  });
  test('without it there is no Preference-Applied', async () => {
    const reply = await kit.send([issue('rich', usd, 1)]);
    expect([reply.body.meta.status, reply.headers.get('preference-applied')]).toEqual(['pending', null]);
  });
});

describe('commit by hand', () => {
  const manual = { data: { config: { commit: 'manual' } } };
  async function prepared(): Promise<{ a: string; b: string; stored: Json; act(custom: Json): Promise<Json> }> {
    const [a, b] = [await funded(100), await funded(0)];
    const options = { data: { ...manual.data, handle: unique('intent') } };
    const stored = await kit.clear([transfer(a, b, usd, 70)], options);
    expect(stored.meta.status).toBe('prepared');
    const act = async (custom: Json): Promise<Json> => {
      const added = proof(stored.hash, keys, { moment: new Date().toISOString(), ...custom });
      const reply = await client.post(`/intents/${stored.data.handle}/proofs`, added);
      expect(reply.status, reply.text).toBe(200);
      return (await client.get(`/intents/${stored.data.handle}`)).body;
    };
    return { a, b, stored, act };
  }
  test('funds of a prepared intent are spoken for, and not yet there', async () => {
    const { a, b } = await prepared();
    expect(await kit.balance(b, usd)).toBe(0);
    expect(await kit.refused([transfer(a, b, usd, 31)])).toBe('core.insufficient-balance');
    await kit.done([transfer(a, b, usd, 30)]);
  });
  test.each([[{ action: 'commit' }], [{ status: 'committed' }]])('%j moves them', async (custom) => {
    const { a, b, act } = await prepared();
    const final = await act(custom);
    expect(final.meta.status).toBe('completed');
    expect(await balances(a, b)).toEqual([30, 70]);
  });
  test.each([[{ action: 'abort' }], [{ status: 'aborted' }]])('%j gives them back', async (custom) => {
    const { a, b, act } = await prepared();
    const final = await act(custom);
    expect(final.meta.status).toBe('rejected');
    expect(await balances(a, b)).toEqual([100, 0]);
    await kit.done([transfer(a, b, usd, 100)]);
  });
  test('any other proof moves nothing', async () => {
    const { act } = await prepared();
    for (const custom of [{}, { status: 'nonsense' }, { action: 'nonsense' }]) {
      expect((await act(custom)).meta.status).toBe('prepared');
    }
  });
});

describe('the balances endpoint', () => {
  test('a row per symbol with the shape of a balance', async () => {
    const eur = await kit.symbol();
    const a = await funded(12);
    await kit.done([issue(a, eur, 34)]);
    const { luid } = (await client.get(`/wallets/${a}`)).body;
    for (const id of [a, luid]) {
      const reply = await client.get(`/wallets/${segment(id)}/balances`);
      expect(reply.status).toBe(200);
      const available = reply.body.data.filter((row: Json) => row.data.schema === 'available');
      expect(available).toHaveLength(2);
      for (const row of available) {
        expect(row.luid).toMatch(luidOf('wbl'));
        expect(row.meta.moment).toMatch(MOMENT);
        expect(row.hash).toBe(hashOf(row.data));
        const amount = row.data.symbol === eur ? 34 : 12;
        expect(row.data).toEqual({ wallet: a, symbol: row.data.symbol, schema: 'available', amount });
      }
    }
  });
  test('404 for a wallet that is not there', async () => {
    expect(reasonOf(await client.get('/wallets/nobody/balances'))).toEqual([404, 'record.not-found']);
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
