/** What an intent comes to: against a table of cases, and against a model on random lives. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Claim } from '../../src/core/claims/index.ts';
import type { IntentEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { often } from '../support/long.ts';
import { Books, destroy, issue, limit, MIDNIGHT, transfer } from './books.ts';
import { Model } from './model.ts';

const MAX = Number.MAX_SAFE_INTEGER;

function fresh(): Books {
  return Books.open().symbols('usd', 'eur').wallets('a', 'b', 'c', 'svgs@bank', 'bank', 'tel');
}

describe('one intent', () => {
  const cases: [name: string, before: Claim[][], claims: Claim[], reason: string, after: Record<string, number>][] = [
    ['issues', [], [issue('a', 5)], '', { a: 5 }],
    ['destroys', [[issue('a', 5)]], [destroy('a', 5)], '', { a: 0 }],
    ['transfers', [[issue('a', 5)]], [transfer('a', 'b', 2)], '', { a: 3, b: 2 }],
    [
      'moves nothing without funds',
      [[issue('a', 5)]],
      [transfer('a', 'b', 6)],
      'core.insufficient-balance',
      { a: 5, b: 0 },
    ],
    [
      'is all or nothing',
      [[issue('a', 5)]],
      [transfer('a', 'b', 5), transfer('c', 'b', 1)],
      'core.insufficient-balance',
      { a: 5, b: 0 },
    ],
    [
      'judges the net: through an empty wallet',
      [[issue('a', 5)]],
      [transfer('b', 'c', 5), transfer('a', 'b', 5)],
      '',
      { a: 0, b: 0, c: 5 },
    ],
    [
      'judges the net: round in a circle of empty wallets',
      [],
      [transfer('a', 'b', 5), transfer('b', 'c', 5), transfer('c', 'a', 5)],
      '',
      { a: 0, b: 0, c: 0 },
    ],
    [
      'nets per symbol',
      [[issue('a', 5)]],
      [transfer('a', 'b', 5), transfer('a', 'b', 1, 'eur')],
      'core.insufficient-balance',
      { a: 5 },
    ],
    ['to oneself changes nothing', [[issue('a', 5)]], [transfer('a', 'a', 5)], '', { a: 5 }],
    ['to oneself without funds is netted too', [], [transfer('a', 'a', 5)], '', { a: 0 }],
    ['unknown source', [], [transfer('x', 'b', 1)], 'core.source-invalid', {}],
    ['unknown target', [], [transfer('a', 'x', 1)], 'core.target-invalid', {}],
    ['unknown symbol', [], [transfer('a', 'b', 1, 'gbp')], 'core.symbol-invalid', {}],
    ['unknown wallet of a limit', [], [limit('x', 'minBalance', 1)], 'core.target-invalid', {}],
    [
      'a later claim that cannot be resolved spoils the first',
      [],
      [issue('a', 1), issue('x', 1)],
      'core.target-invalid',
      { a: 0 },
    ],
    ['up to the largest amount', [], [issue('a', MAX)], '', { a: MAX }],
    ['not past it', [[issue('a', MAX)]], [issue('a', 1)], 'core.limit-exceeded', { a: MAX }],
    ['not past it inside one intent', [], [issue('a', MAX), issue('a', MAX)], 'core.limit-exceeded', { a: 0 }],
    ['but through it, when it nets', [], [issue('a', MAX), issue('a', MAX), destroy('a', MAX)], '', { a: MAX }],
    [
      'overdraft down to minBalance',
      [[limit('a', 'minBalance', -10)]],
      [transfer('a', 'b', 10)],
      '',
      { a: -10, b: 10 },
    ],
    ['not below it', [[limit('a', 'minBalance', -10)]], [transfer('a', 'b', 11)], 'core.limit-exceeded', { a: 0 }],
    [
      'a minBalance above zero binds',
      [[issue('a', 5), limit('a', 'minBalance', 3)]],
      [transfer('a', 'b', 3)],
      'core.limit-exceeded',
      { a: 5 },
    ],
    [
      'nor below zero where other limits are set, and no minBalance',
      [[issue('a', 5), limit('a', 'maxBalance', 9), limit('a', 'dailyAmount', 9)]],
      [transfer('a', 'b', 6)],
      'core.insufficient-balance',
      { a: 5, b: 0 },
    ],
    ['maxBalance is inclusive', [[limit('a', 'maxBalance', 5)]], [issue('a', 5)], '', { a: 5 }],
    ['not above maxBalance', [[limit('a', 'maxBalance', 5)]], [issue('a', 6)], 'core.limit-exceeded', { a: 0 }],
    ['limits of one symbol leave another alone', [[limit('a', 'maxBalance', 5)]], [issue('a', 6, 'eur')], '', { a: 0 }],
    ['a limit binds after the money of its own intent', [], [limit('a', 'maxBalance', 5), issue('a', 6)], '', { a: 6 }],
    [
      'the last limit of one metric stays',
      [[limit('a', 'maxBalance', 5), limit('a', 'maxBalance', 7)]],
      [issue('a', 7)],
      '',
      { a: 7 },
    ],
    [
      'dailyAmount counts both directions',
      [[issue('a', 9), limit('a', 'dailyAmount', 5)], [transfer('a', 'b', 3)], [transfer('b', 'a', 2)]],
      [transfer('a', 'b', 1)],
      'core.limit-exceeded',
      { a: 8 },
    ],
    [
      'dailyAmount counts from the intent that sets it',
      [[issue('a', 9)], [transfer('a', 'b', 3)], [limit('a', 'dailyAmount', 5)]],
      [transfer('a', 'b', 5)],
      '',
      { a: 1 },
    ],
    [
      'dailyAmount counts from the intent that sets it, where dailyCount was set before',
      [[issue('a', 9), limit('a', 'dailyCount', 9)], [transfer('a', 'b', 3)], [limit('a', 'dailyAmount', 5)]],
      [transfer('a', 'b', 5)],
      '',
      { a: 1 },
    ],
    [
      'dailyCount counts from the intent that sets it, where dailyAmount was set before',
      [[issue('a', 9), limit('a', 'dailyAmount', 9)], [transfer('a', 'b', 3)], [limit('a', 'dailyCount', 1)]],
      [transfer('a', 'b', 5)],
      '',
      { a: 1 },
    ],
    [
      'dailyCount counts intents, not claims',
      [
        [issue('a', 9), limit('a', 'dailyCount', 2)],
        [transfer('a', 'b', 1), transfer('a', 'b', 1)],
      ],
      [transfer('a', 'b', 1)],
      '',
      { a: 6 },
    ],
    [
      'dailyCount is inclusive',
      [[issue('a', 9), limit('a', 'dailyCount', 1)], [transfer('a', 'b', 1)]],
      [transfer('a', 'b', 1)],
      'core.limit-exceeded',
      { a: 8 },
    ],
    [
      'issues do not count towards daily limits',
      [[limit('a', 'dailyCount', 0), limit('a', 'dailyAmount', 0)]],
      [issue('a', 5)],
      '',
      { a: 5 },
    ],
    [
      'nor do destroys',
      [[issue('a', 5), limit('a', 'dailyCount', 0), limit('a', 'dailyAmount', 0)]],
      [destroy('a', 5)],
      '',
      { a: 0 },
    ],
    [
      'bare handles',
      [[issue('a', 5)]],
      [{ action: 'transfer', source: 'a', target: 'b', symbol: 'usd', amount: 5 }],
      '',
      { b: 5 },
    ],
    ['address: exact first', [], [issue('svgs@bank', 1)], '', { 'svgs@bank': 1, bank: 0 }],
    ['address: schema at parent', [], [issue('svgs:1001@bank', 1)], '', { 'svgs@bank': 1 }],
    ['address: parent', [], [issue('chk:1001@bank', 1)], '', { bank: 1 }],
    ['address: parent before schema', [], [issue('tel:+1@bank', 1)], '', { bank: 1, tel: 0 }],
    ['address: schema', [], [issue('tel:+1@nowhere', 1)], '', { tel: 1 }],
    ['address: nothing of it', [], [issue('x:1@y', 1)], 'core.target-invalid', {}],
  ];

  test.each(cases)('%s', (_name, before, claims, reason, after) => {
    const books = fresh();
    for (const earlier of before) expect(books.intent(...earlier).outcome.reason).toBe('');
    const entry = books.intent(...claims);
    expect(entry.outcome.reason).toBe(reason);
    expect(entry.outcome.steps.at(-1)).toBe(reason === '' ? 'completed' : 'rejected');
    for (const [wallet, amount] of Object.entries(after))
      expect([wallet, books.balance(wallet)]).toEqual([wallet, amount]);
  });

  test('daily limits begin anew at midnight UTC', () => {
    const books = fresh();
    books.intent(issue('a', 9), limit('a', 'dailyCount', 1));
    books.moment = MIDNIGHT + 86_399_999;
    expect(books.intent(transfer('a', 'b', 1)).outcome.reason).toBe('');
    expect(books.intent(transfer('a', 'b', 1)).outcome.reason).toBe('core.limit-exceeded');
    books.moment += 1;
    expect(books.intent(transfer('a', 'b', 1)).outcome.reason).toBe('');
  });

  test.each(['auto', 'manual'])(
    'what came before midnight and is cleared after it (%s) counts on the day it came',
    (commit) => {
      const books = fresh();
      books.intent(issue('a', 9), limit('a', 'dailyCount', 1));
      const late = books.command(Kind.intent, { handle: 'late', claims: [transfer('a', 'b', 1)], config: { commit } });
      books.moment = MIDNIGHT + 86_400_000;
      const [entry] = books.do(late) as IntentEntry[];
      expect(entry!.outcome.steps.at(-1)).toBe(commit === 'auto' ? 'completed' : 'prepared');
      expect(books.intent(transfer('a', 'b', 1)).outcome.reason).toBe('');
    },
  );

  test('10 000 of the largest amounts still add up exactly', () => {
    const books = fresh();
    const claims = Array.from({ length: 5000 }, () => issue('a', MAX)).concat(
      Array.from({ length: 5000 }, () => destroy('a', MAX)),
    );
    claims[9999] = destroy('a', MAX - 1);
    expect(books.intent(...claims).outcome.reason).toBe('');
    expect(books.balance('a')).toBe(1);
  });

  test.each([1, 2, 9])(
    'a change of %i more than can be told is refused, also where what is owed would bring it into range',
    (more) => {
      const books = fresh();
      books.intent(limit('a', 'minBalance', -10));
      books.intent(transfer('a', 'b', 10));
      expect(books.intent(issue('a', MAX), issue('a', more)).outcome.reason).toBe('core.limit-exceeded');
      expect(books.balance('a')).toBe(-10);
    },
  );

  test('what moves beyond any limit counts as that, and is written as in all books though its last digits are lost', () => {
    const books = fresh();
    books.intent(issue('a', MAX));
    const round = [transfer('a', 'b', MAX), transfer('b', 'a', MAX), transfer('a', 'b', MAX - 2)];
    const { outcome } = books.intent(limit('a', 'dailyAmount', MAX), ...round);
    const moved = MAX + MAX + (MAX - 2);
    expect(BigInt(moved)).not.toBe(3n * BigInt(MAX) - 2n);
    expect([outcome.postings[3], outcome.postings[7]]).toEqual([moved, moved]);
    expect([books.balance('a'), books.balance('b')]).toEqual([2, MAX - 2]);
    expect(books.intent(transfer('b', 'a', 1)).outcome.reason).toBe('core.limit-exceeded');
    expect(books.intent(transfer('b', 'c', 1)).outcome.reason).toBe('');
  });

  test('what rests prepared counts towards the end of what can be told', () => {
    const books = fresh();
    const prepare = (...claims: Claim[]) => {
      const value = { handle: `m${books.entries.length}`, claims, config: { commit: 'manual' } };
      const [entry] = books.create(Kind.intent, value) as IntentEntry[];
      return entry!.outcome.reason;
    };
    books.intent(issue('a', MAX - 9));
    expect([prepare(issue('a', 4)), prepare(transfer('a', 'b', 7))]).toEqual(['', '']);
    expect([prepare(issue('a', 6)), prepare(issue('a', 5))]).toEqual(['core.limit-exceeded', '']);
  });

  test('issues that rest prepared do not count towards daily limits', () => {
    const books = fresh();
    books.intent(issue('a', 5), limit('a', 'dailyCount', 1), limit('a', 'dailyAmount', 5));
    books.create(Kind.intent, { handle: 'rests', claims: [issue('a', 5)], config: { commit: 'manual' } });
    expect(books.intent(transfer('a', 'b', 5)).outcome.reason).toBe('');
  });

  test('the supply stays exact where one intent issues more than numbers can tell', () => {
    const books = fresh();
    books.intent(issue('a', MAX), issue('b', MAX), issue('c', MAX));
    expect([...books.state.supply].map(([, supply]) => supply)).toEqual([3n * BigInt(MAX)]);
  });

  test('the detail names wallet, symbol, what is there and what is needed', () => {
    const books = fresh();
    books.intent(issue('a', 5));
    const { detail } = books.intent(transfer('a', 'b', 8)).outcome;
    expect(detail).toBe('Wallet a in usd has 5 available, and 8 is needed');
  });

  test('the detail tells of the first claim that must not happen, not of one behind it', () => {
    const books = fresh();
    books.intent(issue('a', 5));
    const routes = [{ action: 'accept', filter: { amount: 7 } }];
    for (const handle of ['one', 'two']) books.create(Kind.wallet, { handle, routes });
    const { detail } = books.intent(transfer('a', 'one', 1), transfer('a', 'two', 1)).outcome;
    expect(detail).toContain('Wallet one ');
  });

  test('routes that ask for a symbol are asked by its own handle: a longer address that stands for it would pass them by', () => {
    const books = fresh();
    const routes = [{ action: 'credit', target: 'b', filter: { 'symbol.handle': 'usd' } }, { action: 'accept' }];
    books.create(Kind.wallet, { handle: 'shut', routes });
    for (const symbol of ['usd', 'usd:1@nowhere']) books.intent(issue('shut', 1, symbol));
    expect(['shut', 'b'].map((wallet) => books.balance(wallet))).toEqual([0, 2]);
  });

  test('wallets of other ledgers are not there', () => {
    const books = fresh();
    books.create(Kind.ledger, { handle: 'other', access: [{ action: 'any', record: 'any' }] }, 0);
    const [entry] = books.create(Kind.intent, { handle: 'i', claims: [issue('a', 1)] }, 2) as IntentEntry[];
    expect(entry!.outcome.reason).toBe('core.target-invalid');
  });
});

test.each([
  issue('a', 1, 'gbp'),
  transfer('a', 'b', 1, 'gbp'),
  destroy('a', 1, 'gbp'),
  limit('a', 'maxBalance', 1, 'gbp'),
])('an unknown symbol is told of, whoever may do what: $action', (claim) => {
  const books = Books.open();
  books.create(
    Kind.ledger,
    { handle: 'kept', access: [{ action: { $in: ['access', 'create', 'spend', 'limit'] }, record: 'any' }] },
    0,
  );
  for (const handle of ['a', 'b']) books.create(Kind.wallet, { handle }, 2);
  const [entry] = books.create(Kind.intent, { handle: 'i', claims: [claim] }, 2) as IntentEntry[];
  expect(entry!.outcome.reason).toBe('core.symbol-invalid');
});

describe('random lives', () => {
  const wallet = fc.constantFrom('a', 'b', 'c', 'd', 'nobody');
  const symbol = fc.constantFrom('usd', 'usd', 'eur', 'none');
  const amount = fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 60 }) },
    fc.constantFrom(MAX, MAX - 1, 2 ** 39, 2 ** 40 + 1),
  );
  const claim = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(wallet, amount, symbol).map(([a, n, s]) => issue(a, n, s)) },
    { weight: 8, arbitrary: fc.tuple(wallet, wallet, amount, symbol).map(([a, b, n, s]) => transfer(a, b, n, s)) },
    { weight: 2, arbitrary: fc.tuple(wallet, amount, symbol).map(([a, n, s]) => destroy(a, n, s)) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          wallet,
          fc.constantFrom('minBalance', 'maxBalance', 'dailyAmount', 'dailyCount'),
          fc.integer({ min: -20, max: 200 }),
          symbol,
        )
        .map(([a, metric, n, s]) => limit(a, metric, n, s)),
    },
  );
  const step = fc.record({
    claims: fc.array(claim, { minLength: 1, maxLength: 25 }),
    hours: fc.integer({ min: 0, max: 9 }),
  });

  test('the core answers as the model does, balance by balance', () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60, size: 'max' }), (steps) => {
        const books = Books.open().symbols('usd', 'eur').wallets('a', 'b', 'c', 'd');
        const model = new Model();
        for (const handle of ['a', 'b', 'c', 'd']) model.wallets.add(handle);
        for (const handle of ['usd', 'eur']) model.symbols.add(handle);
        for (const { claims, hours } of steps) {
          books.moment += hours * 3_600_000;
          expect(books.intent(...claims).outcome.reason).toBe(model.clear(claims, books.moment));
          for (const [key, { available }] of model.money.accounts.entries()) {
            const [name, of] = key.split(' ') as [string, string];
            expect([key, BigInt(books.balance(name, of))]).toEqual([key, available]);
          }
        }
        for (const [row, supply] of books.state.supply) {
          let sum = 0n;
          const { balances } = books.state;
          for (let slot = 0; slot < balances.size; slot++)
            if (balances.symbol(slot) === row) sum += BigInt(balances.available(slot));
          expect(sum).toBe(supply);
        }
      }),
      { numRuns: often(60, 3000) },
    );
  });
});
