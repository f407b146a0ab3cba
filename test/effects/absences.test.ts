/** Who takes no calls: told to the operator, once, and never so often that nothing else can be read. */
import { expect, test } from 'vitest';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Absences } from '../../src/effects/absences.ts';
import { Books, issue, transfer } from '../core/books.ts';
import { Clock } from './clock.ts';
import { Theatre } from './theatre.ts';

const HOUR_MS = 3_600_000;

async function open(bridgeAttemptsMax = 100): Promise<{ theatre: Theatre; lines: string[] }> {
  const lines: string[] = [];
  const theatre = await Theatre.open(undefined, { bridgeAttemptsMax, inform: (text) => lines.push(text) });
  const { house } = theatre;
  await theatre.done(
    house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
    house.create(Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1/bank' } }),
    house.create(Kind.wallet, { handle: 'a' }),
    house.create(Kind.wallet, { handle: 'x', bridge: 'bank' }),
    house.intent('seed', issue('a', 100)),
  );
  return { theatre, lines };
}

const effect = (theatre: Theatre, handle: string) =>
  theatre.house.create(Kind.effect, {
    handle,
    signal: 'symbol-created',
    action: { schema: 'webhook', endpoint: `http://127.0.0.1:1/${handle}` },
  });

test('a bank that is away for hours, and whose payments wait: told once, and once that it is there again', async () => {
  const { theatre, lines } = await open();
  theatre.answer = () => 503;
  await theatre.done(
    theatre.house.intent('i', transfer('a', 'x', 5)),
    theatre.house.intent('j', transfer('a', 'x', 6)),
  );
  await theatre.run(5000);
  expect(lines, 'five seconds are no news').toEqual([]);
  await theatre.run(1000);
  expect(lines, 'six are').toHaveLength(1);
  await theatre.run(3 * HOUR_MS);
  expect(lines).toEqual([
    'Bridge bank of ledger main takes no calls (status 503); it is asked again, less and less often.',
  ]);
  theatre.answer = () => 202;
  await theatre.run(HOUR_MS);
  expect(lines.slice(1)).toEqual(['Bridge bank of ledger main takes calls again.']);
});

test.each([
  [8, ['takes no calls (status 503); it is asked again, less and less often.']],
  [3, []],
])('a bank that is given up after %d attempts, and nobody was told', async (attempts, before) => {
  const { theatre, lines } = await open(attempts);
  theatre.answer = () => 503;
  await theatre.done(
    theatre.house.intent('i', transfer('a', 'x', 5)),
    theatre.house.intent('j', transfer('a', 'x', 6)),
  );
  await theatre.run(60_000);
  const given = `takes no calls (status 503); a call was given up after ${attempts} attempts.`;
  expect(lines).toEqual([...before, given].map((what) => `Bridge bank of ledger main ${what}`));
});

test('a webhook that is away', async () => {
  const { theatre, lines } = await open();
  await theatre.done(effect(theatre, 'tell-me'));
  theatre.answer = () => 500;
  await theatre.done(theatre.house.create(Kind.symbol, { handle: 'eur', factor: 1 }));
  await theatre.run(60_000);
  expect(lines).toEqual([
    'Effect tell-me of ledger main takes no calls (status 500); it is asked again, less and less often.',
  ]);
});

test('a hundred dead webhooks fill the log', async () => {
  const { theatre, lines } = await open();
  await theatre.done(...Array.from({ length: 100 }, (_, n) => effect(theatre, `e${n}`)));
  theatre.answer = () => 500;
  await theatre.done(theatre.house.create(Kind.symbol, { handle: 'eur', factor: 1 }));
  await theatre.run(60_000);
  expect(lines).toHaveLength(20);
  await theatre.run(1.5 * HOUR_MS);
  expect(lines).toHaveLength(40);
});

test('a thousand and one are away: who was told of first is forgotten, and told of again', () => {
  const MAX = 1000;
  const { state } = Books.open().wallets(...Array.from({ length: MAX + 1 }, (_, n) => `w${n}`));
  const [first, second, last] = ['w0', 'w1', `w${MAX}`].map((handle) => findHandle(state, 1, Kind.wallet, handle));
  const timers = new Clock();
  const lines: string[] = [];
  const absences = new Absences({ state, timers, inform: (text) => lines.push(text) });
  for (let row = first!; row <= last!; row++) {
    timers.pass(HOUR_MS);
    absences.failed(row, 5, 'status 503');
  }
  expect(lines).toHaveLength(MAX + 1);
  for (const row of [first!, second!, last!]) absences.settled(row, 'delivered', 1, null);
  expect(lines.slice(MAX + 1)).toEqual(
    ['w1', `w${MAX}`].map((handle) => `Wallet ${handle} of ledger main takes calls again.`),
  );
  absences.failed(first!, 6, 'status 503');
  expect(lines.at(-1)).toContain('Wallet w0 of ledger main takes no calls');
});
