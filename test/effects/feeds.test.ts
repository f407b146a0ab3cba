/** Feeds: who hears what, once it is late, changed, or started again. Very many effects and events: feeds-many.test.ts. */
import { describe, expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { WokenWalks } from '../../src/effects/slices.ts';
import { issue } from '../core/books.ts';
import { Theatre } from './theatre.ts';
import { effect, HOOK, heard, namesIn, wallets } from './told.ts';

test('what was delivered is not told again, neither with what comes next nor after a restart', async () => {
  let theatre = await Theatre.open();
  const create = (kind: Kind, value: object) => theatre.house.create(kind, { ...value });
  await theatre.done(
    create(Kind.symbol, { handle: 'usd', factor: 1 }),
    effect(theatre, { signal: 'wallet-created' }, 'wallets'),
    effect(theatre, { signal: 'balance-received' }, 'credits'),
  );
  let told: string[] = [];
  for (const round of [1, 2, 3]) {
    await theatre.done(...wallets(theatre, 'x', `a${round}`, `b${round}`));
    await theatre.done(theatre.house.intent(`i${round}`, ...[1, 2].map((n) => issue(`a${round}`, n))));
    await theatre.run(1000);
    if (round === 2) theatre = await theatre.restart();
    await theatre.run(1000);
    const now = theatre.at('/hook').map(({ body }) => body.data.handle);
    expect([now.length, new Set(now).size, now.slice(0, told.length)]).toEqual([4 * round, 4 * round, told]);
    told = now;
  }
});

describe('an effect that is changed', () => {
  const signal = 'wallet-created';
  const wants = (schema: string) => ({ signal, filter: { 'wallet.data.schema': schema } });

  test('to another signal hears that from then on, and the old no more', async () => {
    const theatre = await Theatre.open();
    await theatre.done(effect(theatre, { signal: 'wallet-created' }));
    await theatre.done(
      theatre.house.update(Kind.effect, 'e', { handle: 'e', signal: 'circle-created', action: action() }),
    );
    await theatre.done(...wallets(theatre, 'x', 'w'), theatre.house.create(Kind.circle, { handle: 'c' }));
    await theatre.run(1000);
    expect(theatre.at('/hook').map(({ body }) => body.data.signal)).toEqual(['circle-created']);
  });

  test('does not hear after a restart what it did not ask for at the time', async () => {
    const first = await Theatre.open();
    await first.done(effect(first, wants('x')), ...wallets(first, 'y', 'y1', 'y2'));
    await first.run();
    await first.done(first.house.update(Kind.effect, 'e', { handle: 'e', ...wants('y'), action: action() }));
    await first.done(...wallets(first, 'x', 'x1'));
    await first.run(1000);
    const second = await first.restart();
    await second.run(1000);
    await second.done(...wallets(second, 'y', 'y3'));
    await second.run(1000);
    expect(heard(second)).toEqual(['y3']);
  });

  test('hears what it asked for before, though it was down then and changed meanwhile, also after a restart', async () => {
    const first = await Theatre.open();
    first.answer = () => 503;
    await first.done(effect(first, wants('x')), ...wallets(first, 'x', 'x1', 'x2'), ...wallets(first, 'y', 'y1'));
    await first.run();
    const other = { signal: 'circle-created', action: action() };
    await first.done(first.house.update(Kind.effect, 'e', { handle: 'e', ...other }));
    await first.done(...wallets(first, 'x', 'x3'));
    const second = await first.restart();
    second.answer = () => 200;
    await second.run(1000);
    await second.done(...wallets(second, 'x', 'x4'), second.house.create(Kind.circle, { handle: 'c' }));
    await second.run(1000);
    expect(second.at('/hook').map(({ body }) => body.data.signal)).toContain('circle-created');
    const told = second.at('/hook').filter(({ body }) => body.data.signal === signal);
    expect([...new Set(namesIn(told))]).toEqual(['x1', 'x2']);
  });

  test('in the middle of a long way behind hears the old until then and the new from then on', async () => {
    const theatre = await Theatre.open();
    theatre.answer = () => 503;
    const many = (schema: string, from: number) =>
      wallets(theatre, schema, ...Array.from({ length: 300 }, (_, n) => `${schema}${from + n}`));
    await theatre.done(effect(theatre, wants('x')), ...many('x', 1000), ...many('y', 1000));
    await theatre.run();
    await theatre.done(theatre.house.update(Kind.effect, 'e', { handle: 'e', ...wants('y'), action: action() }));
    await theatre.done(...many('x', 2000), ...many('y', 2000));
    theatre.answer = () => 200;
    await theatre.run(10_000);
    const wanted = [1000, 2000].flatMap((from) =>
      Array.from({ length: 300 }, (_, n) => `${from === 1000 ? 'x' : 'y'}${from + n}`),
    );
    expect(heard(theatre)).toEqual(wanted);
  });
});

function action() {
  return { schema: 'webhook', endpoint: HOOK };
}

describe('an effect that is dropped', () => {
  test('while its events wait hears none of them, nor after a restart', async () => {
    const first = await Theatre.open();
    first.answer = () => 503;
    await first.done(effect(first, { signal: 'wallet-created' }), ...wallets(first, 'x', 'a', 'b'));
    await first.run();
    await first.done(first.house.drop(Kind.effect, 'e'));
    await first.run();
    // Nor does what was to be tried again wait for that, in vain.
    expect(first.effects.counts()).toEqual({ lanes: 0, jobs: 0, inFlight: 0 });
    // Nor is anybody said to be behind for it.
    expect(first.effects.behind()).toBe(0);
    const before = first.calls.length;
    first.answer = () => 200;
    await first.run(60_000);
    const second = await first.restart();
    await second.run(60_000);
    expect(second.calls.length).toBe(before);
    expect(second.effects.counts()).toMatchObject({ jobs: 0, inFlight: 0 });
  });
});

test('a filter that would look at a million pairs asks for nothing', async () => {
  const theatre = await Theatre.open();
  const names = (count: number) => Array.from({ length: count }, (_, n) => `n${n}`);
  const filter = { 'wallet.data.custom.tags': { $nin: names(1000) } };
  const wallet = (handle: string, tags: number) =>
    theatre.house.create(Kind.wallet, { handle, custom: { tags: names(tags).map((name) => `x${name}`) } });
  await theatre.done(effect(theatre, { signal: 'wallet-created', filter }), wallet('few', 100), wallet('many', 1000));
  await theatre.done(wallet('none', 0));
  await theatre.run(1000);
  expect(heard(theatre)).toEqual(['few', 'none']);
});

test('a bridge that is changed while statuses wait for it hears of all of them, also after a restart', async () => {
  const first = await Theatre.open();
  first.answer = ({ method }) => (method === 'PUT' ? 503 : 202);
  const { house } = first;
  const bank = { handle: 'bank', config: { server: 'http://127.0.0.1:1/bank' }, traits: ['statuses'] };
  await first.done(
    house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
    house.create(Kind.bridge, bank),
    house.create(Kind.wallet, { handle: 'x', bridge: 'bank' }),
    house.intent('i', issue('x', 5)),
  );
  await first.run();
  const leg = `cre_${house.read(Kind.intent, 'i')!.entry.luid.slice(5)}.0`;
  for (const status of ['prepared', 'committed']) {
    await first.done(house.addProof(Kind.intent, 'i', JSON.stringify({ handle: leg, status })));
    await first.run();
  }
  await first.done(house.update(Kind.bridge, 'bank', { ...bank, custom: { n: 1 } }));
  const second = await first.restart();
  second.answer = () => 200;
  await second.run(60_000);
  const told = second.calls.filter(({ method }) => method === 'PUT').map(({ body }) => body.meta.status);
  expect([...new Set(told)]).toEqual(['prepared', 'committed', 'completed']);
});

test('a bridge that an effect named before it was there is told at once what waits for it: that was after an hour, or when somebody activated it', async () => {
  const theatre = await Theatre.open();
  const { house } = theatre;
  theatre.answer = ({ path }) => (path === '/bank/effects/e' ? 202 : 503);
  const action = { schema: 'bridge', bridge: 'bank' };
  await theatre.done(
    house.create(Kind.effect, { handle: 'e', signal: 'wallet-created', action }),
    house.create(Kind.wallet, { handle: 'x' }),
  );
  await theatre.run(600_000);
  expect(theatre.calls.length).toBeGreaterThan(10);
  await theatre.done(house.create(Kind.bridge, { handle: 'other', config: { server: 'http://127.0.0.1:1/other' } }));
  await theatre.run();
  expect(theatre.at('/bank/effects/e')).toHaveLength(0);
  await theatre.done(house.create(Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1/bank' } }));
  await theatre.run();
  expect(theatre.at('/bank/effects/e')).toHaveLength(1);
});

test('a bridge hears of statuses from when it says so until it says so no more', async () => {
  const theatre = await Theatre.open();
  const { house } = theatre;
  const bank = { handle: 'bank', config: { server: 'http://127.0.0.1:1/bank' } };
  const interested = { ...bank, traits: ['statuses'] };
  theatre.answer = ({ method }) => (method === 'PUT' ? 200 : 202);
  await theatre.done(
    house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
    house.create(Kind.bridge, bank),
    house.create(Kind.wallet, { handle: 'x', bridge: 'bank' }),
    // What it takes no part in is none of its business.
    house.create(Kind.bridge, { ...interested, handle: 'other', config: { server: 'http://127.0.0.1:1/other' } }),
  );
  const told = async (handle: string) => {
    const before = theatre.calls.length;
    await theatre.done(house.intent(handle, issue('x', 5)));
    await theatre.run();
    const leg = `cre_${house.read(Kind.intent, handle)!.entry.luid.slice(5)}.0`;
    for (const status of ['prepared', 'committed']) {
      await theatre.done(house.addProof(Kind.intent, handle, JSON.stringify({ handle: leg, status })));
      await theatre.run();
    }
    return theatre.calls.slice(before).flatMap(({ method, body }) => (method === 'PUT' ? [body.meta.status] : []));
  };
  expect(await told('before')).toEqual([]);
  await theatre.done(house.update(Kind.bridge, 'bank', interested));
  expect(await told('meanwhile')).toEqual(['prepared', 'committed', 'completed']);
  await theatre.done(house.update(Kind.bridge, 'bank', { ...bank, traits: [] }));
  expect(await told('after')).toEqual([]);
  expect(theatre.calls.filter(({ path }) => path.startsWith('/other'))).toEqual([]);
});

describe('a bridge that is there again', () => {
  const server = 'http://127.0.0.1:1/bank';
  const open = async (): Promise<Theatre> => {
    const theatre = await Theatre.open(undefined, { bridgeAttemptsMax: 1 });
    const { house } = theatre;
    const bridged = { signal: 'wallet-created', action: { schema: 'bridge', bridge: 'bank' } };
    await theatre.done(
      house.create(Kind.bridge, { handle: 'bank', config: { server } }),
      // It has a feed too, of another kind.
      house.create(Kind.bridge, {
        handle: 'other',
        traits: ['statuses'],
        config: { server: 'http://127.0.0.1:1/other' },
      }),
      effect(theatre, bridged, 'one'),
      effect(theatre, bridged, 'two'),
      effect(theatre, { ...bridged, action: { schema: 'bridge', bridge: 'other' } }, 'elsewhere'),
    );
    return theatre;
  };

  test('hears what was given up of the effects that go to it, and of no other', async () => {
    const theatre = await open();
    theatre.answer = () => 503;
    await theatre.done(...wallets(theatre, 'x', 'a', 'b'));
    await theatre.run(1000);
    expect(theatre.calls).toHaveLength(6);
    theatre.answer = () => 200;
    theatre.effects.activate(theatre.house.read(Kind.bridge, 'bank')!.row);
    await theatre.run(1000);
    const again = theatre.calls.slice(6).map(({ path, body }) => `${path} ${body.data.wallet.data.handle}`);
    for (const one of ['one', 'two']) {
      const path = `/bank/effects/${one}`;
      expect(
        again.filter((each) => each.startsWith(path)),
        'in order',
      ).toEqual([`${path} a`, `${path} b`]);
    }
    expect(again).toHaveLength(4);
    // What was taken in the end is not told again.
    theatre.effects.activate(theatre.house.read(Kind.bridge, 'bank')!.row);
    await theatre.run(1000);
    expect(theatre.calls).toHaveLength(10);
    // The bank is away once more, and back.
    theatre.answer = () => 503;
    await theatre.done(...wallets(theatre, 'x', 'c'));
    await theatre.run(1000);
    theatre.answer = () => 200;
    theatre.effects.activate(theatre.house.read(Kind.bridge, 'bank')!.row);
    await theatre.run(1000);
    const last = theatre.calls.slice(13).map(({ path, body }) => `${path} ${body.data.wallet.data.handle}`);
    expect(last.sort()).toEqual(['/bank/effects/one c', '/bank/effects/two c']);
  });

  test('while effects are looked through for others is looked for once these are through, however often it says so', () => {
    const walks: { bridges: number[]; done: () => void }[] = [];
    const woken = new WokenWalks((bridges, done) => void walks.push({ bridges: [...bridges], done }));
    const bridges = () => walks.map((walk) => walk.bridges);
    for (const bridge of [1, 2, 3, 2]) woken.wake(bridge);
    expect(bridges()).toEqual([[1]]);
    walks[0]!.done();
    expect(bridges()).toEqual([[1], [2, 3]]);
    walks[1]!.done();
    expect(bridges(), 'nobody waits').toEqual([[1], [2, 3]]);
    woken.wake(1);
    expect(bridges()).toEqual([[1], [2, 3], [1]]);
  });
});

describe('money received', () => {
  test('in a wallet that was renamed before it was committed, and by an address whose name others took meanwhile', async () => {
    const theatre = await Theatre.open();
    const { house } = theatre;
    await theatre.done(
      house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
      ...wallets(theatre, 'x', 'a', 'b'),
      effect(theatre, { signal: 'balance-received' }),
    );
    const claims = [issue('a', 1), issue('tel:5@b', 2)];
    const data = { handle: 'm', claims, config: { commit: 'manual' } };
    await theatre.done(house.create(Kind.intent, data));
    await theatre.done(house.update(Kind.wallet, 'a', { handle: 'gone', schema: 'x' }));
    await theatre.done(house.update(Kind.wallet, 'b', { handle: 'a', schema: 'x' }));
    await theatre.done(...wallets(theatre, 'x', 'b', 'tel:5@b'));
    await theatre.done(house.addProof(Kind.intent, 'm', '{"action":"commit"}'));
    await theatre.run();
    const told = theatre.at('/hook').map(({ body }) => [body.data.wallet.data.handle, body.data.amount]);
    expect(told).toEqual([
      ['gone', 1],
      ['a', 2],
    ]);
  });
});

test('what is to be tried again in a while goes at once on a word, and what stands behind it after it', async () => {
  const theatre = await Theatre.open();
  theatre.answer = () => 503;
  await theatre.done(effect(theatre, { signal: 'wallet-created' }), ...wallets(theatre, 'x', 'x1', 'x2'));
  await theatre.run(20_000);
  const before = theatre.calls.length;
  theatre.answer = () => 200;
  theatre.effects.retry(theatre.house.read(Kind.effect, 'e')!.row);
  await theatre.run();
  expect(namesIn(theatre.calls.slice(before))).toEqual(['x1', 'x2']);
});

test('how far the last of them is behind is told: what waits in the log was in no figure', async () => {
  const theatre = await Theatre.open();
  expect(theatre.effects.behind()).toBe(0);
  await theatre.done(
    effect(theatre, { signal: 'wallet-created' }),
    effect(theatre, { signal: 'circle-created' }, 'idle'),
  );
  theatre.answer = () => 503;
  await theatre.done(...wallets(theatre, 'x', ...Array.from({ length: 400 }, (_, n) => `w${n}`)));
  expect(theatre.effects.behind()).toBe(400);
  theatre.answer = () => 200;
  theatre.effects.retry(theatre.house.read(Kind.effect, 'e')!.row);
  await theatre.run(20_000);
  // Each delivery is an entry itself.
  expect([heard(theatre).length, theatre.effects.behind()]).toEqual([400, 0]);
});
