/** What becomes of calls to bridges that nobody does, and what is said in them of a symbol. */
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { issue, limit, transfer } from '../core/books.ts';
import { Theatre } from './theatre.ts';

/** A payment of two wallets behind a bank. */
async function open(answer: Theatre['answer'], more: object = {}): Promise<Theatre> {
  const theatre = await Theatre.open();
  const { house } = theatre;
  theatre.answer = answer;
  await theatre.done(
    house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
    house.create(Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1/bank' } }),
    house.create(Kind.wallet, { handle: 'a' }),
    ...['x', 'y'].map((handle) => house.create(Kind.wallet, { handle, bridge: 'bank' })),
    house.intent('seed', issue('a', 100)),
  );
  await theatre.done(house.intent('i', ...['x', 'y'].map((to) => ({ ...transfer('a', to, 5), ...more }))));
  await theatre.run();
  return theatre;
}

/** The bank's word on one of its entries. */
async function report(theatre: Theatre, leg: number, status: string): Promise<void> {
  const { entry } = theatre.house.read(Kind.intent, 'i')!;
  const custom = JSON.stringify({ handle: `cre_${entry.luid.slice(5)}.${leg}`, status });
  await theatre.done(theatre.house.addProof(Kind.intent, 'i', custom));
  await theatre.run();
}

test('each call that was given up is told of, though another of the same intent was told of before', async () => {
  const { house } = await open(() => 501);
  const { added } = house.read(Kind.intent, 'i')!;
  const lost = added.filter((entry) => 'outcome' in entry && entry.outcome.reason === 'core.bridge-unreachable');
  expect(lost.map((entry) => 'outcome' in entry && entry.outcome.links?.leg)).toEqual([0, 1]);
});

test('a bank that has no ear for the end of what it refused itself keeps no intent open', async () => {
  const theatre = await open(({ path }) => (path.endsWith('/abort') ? 501 : 202));
  await report(theatre, 0, 'failed');
  expect(theatre.house.read(Kind.intent, 'i')!.status).toBe('aborted');
  await report(theatre, 1, 'aborted');
  expect(theatre.house.read(Kind.intent, 'i')!.status).toBe('rejected');
});

test('what all claims say of their symbol beside its handle is said to the bank', async () => {
  const symbol = { handle: 'usd', custom: { purpose: 'rent' } };
  const { calls } = await open(() => 202, { symbol });
  expect(calls.map(({ body }) => body.data.symbol)).toEqual([symbol, symbol]);
});

test('a symbol is said as it was called when the money was set aside, a wallet that a route led to as it is called when asked', async () => {
  const theatre = await open(() => 202);
  const { house } = theatre;
  await theatre.done(
    house.create(Kind.wallet, { handle: 'to', routes: [{ action: 'credit', target: 'y' }] }),
    house.intent('owes', limit('x', 'minBalance', -100)),
  );
  await theatre.done(house.intent('late', transfer('x', 'to', 5)));
  await theatre.run();
  const debit = theatre.at('/bank/debits')[0]!.body.data.handle;
  await theatre.done(
    house.update(Kind.symbol, 'usd', { handle: 'eur', factor: 1 }),
    house.update(Kind.wallet, 'y', { handle: 'y2', bridge: 'bank' }),
  );
  await theatre.done(house.addProof(Kind.intent, 'late', JSON.stringify({ handle: debit, status: 'prepared' })));
  await theatre.run();
  const { symbol, target } = theatre.at('/bank/credits').at(-1)!.body.data;
  expect([symbol, target]).toEqual([{ handle: 'usd' }, { handle: 'y2' }]);
});
