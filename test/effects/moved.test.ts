/** Whoever may be somewhere else by now is asked there at once: what waits has failed at another address. */
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { issue, transfer } from '../core/books.ts';
import { Theatre } from './theatre.ts';
import { effect, HOOK } from './told.ts';

const config = { server: 'http://127.0.0.1:1/bank' };
const bank = { handle: 'bank', config };

/** A payment that waits for the bank, and news of it for a webhook, where nobody answers. */
async function open(more: object = {}): Promise<Theatre> {
  const theatre = await Theatre.open();
  const { house } = theatre;
  await theatre.done(
    house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
    house.create(Kind.bridge, { ...bank, ...more }),
    house.create(Kind.wallet, { handle: 'a' }),
    house.create(Kind.wallet, { handle: 'x', bridge: 'bank' }),
    house.intent('seed', issue('a', 100)),
    effect(theatre, { signal: 'intent-created' }),
  );
  await theatre.run();
  theatre.answer = () => 503;
  await theatre.done(house.intent('i', transfer('a', 'x', 5)));
  await theatre.run(60_000);
  return theatre;
}

test.each([
  [
    'a bridge',
    '/new/credits',
    ({ house }: Theatre) =>
      house.update(Kind.bridge, 'bank', { ...bank, config: { server: 'http://127.0.0.1:1/new' } }),
  ],
  [
    'an effect',
    '/new',
    ({ house }: Theatre) =>
      house.update(Kind.effect, 'e', {
        handle: 'e',
        signal: 'intent-created',
        action: { schema: 'webhook', endpoint: HOOK.replace('hook', 'new') },
      }),
  ],
])('%s that was changed is called at once, though the next attempt was far', async (_, path, change) => {
  const theatre = await open();
  await theatre.done(change(theatre));
  await theatre.run();
  expect(theatre.at(path)).toHaveLength(1);
});

test('a bridge that is said to be there hears again of the statuses that were given up', async () => {
  const theatre = await open({ traits: ['statuses'] });
  const told = () => theatre.calls.filter(({ method }) => method === 'PUT').length;
  theatre.answer = ({ method }) => (method === 'PUT' ? 501 : 202);
  await theatre.expire(1);
  const { entry } = theatre.house.read(Kind.intent, 'i')!;
  const custom = JSON.stringify({ handle: `cre_${entry.luid.slice(5)}.0`, status: 'prepared' });
  theatre.effects.activate(theatre.house.read(Kind.bridge, 'bank')!.row);
  await theatre.run();
  await theatre.done(theatre.house.addProof(Kind.intent, 'i', custom));
  await theatre.run(5000);
  const before = told();
  expect(before).toBeGreaterThan(0);
  theatre.answer = () => 202;
  theatre.effects.activate(theatre.house.read(Kind.bridge, 'bank')!.row);
  await theatre.run(5000);
  expect(told()).toBe(2 * before);
});
