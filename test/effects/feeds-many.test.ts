/** Feeds where there are very many effects, events or credits: all is heard, in slices, and what is kept meanwhile has an end. */
import { describe, expect, test, vi } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { Effects, type EffectsOptions } from '../../src/effects/index.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { Places } from '../../src/turns.ts';
import { issue } from '../core/books.ts';
import { SERVER } from '../engine/house.ts';
import { heldBytes } from '../support/collect.ts';
import { slow } from '../support/slow.ts';
import { Clock } from './clock.ts';
import { Theatre } from './theatre.ts';
import { effect, HOOK, heard, namesIn, wallets } from './told.ts';

test('hundreds of effects that have read up to the end keep up from then on, some at a time, and miss nothing meanwhile', async () => {
  const EFFECTS = 300;
  const first = await Theatre.open();
  const asking = (n: number) => ({ signal: 'circle-created', action: { schema: 'webhook', endpoint: `${HOOK}${n}` } });
  await first.done(...Array.from({ length: EFFECTS }, (_, n) => effect(first, asking(n), `e${n}`)));
  await first.done(...wallets(first, 'x', 'w'));
  const second = await first.restart();
  const { add } = Set.prototype;
  // Each that is noted anywhere takes a millisecond.
  Set.prototype.add = function (value) {
    second.clock.pass(1);
    return add.call(this, value);
  };
  try {
    for (let n = 0; n < 5; n++) {
      await second.clock.run(20);
      await second.done(second.house.create(Kind.circle, { handle: `c${n}` }));
    }
    await second.clock.run(1);
    expect(second.clock.longestMs).toBeLessThan(50);
  } finally {
    Set.prototype.add = add;
  }
  for (let n = 0; n < 20; n++) await second.run(1000);
  for (let n = 0; n < EFFECTS; n++) {
    const names = second.at(`/hook${n}`).map(({ body }) => body.data.circle.data.handle);
    expect(names, `effect ${n}`).toEqual(['c0', 'c1', 'c2', 'c3', 'c4']);
  }
});

test('a bridge that is there again is looked for among hundreds of effects in slices, once for all who say so', async () => {
  const EFFECTS = 200;
  const theatre = await Theatre.open(undefined, { bridgeAttemptsMax: 1 });
  const { house, effects, clock } = theatre;
  theatre.answer = () => 503;
  const bound = (n: number) => ({ signal: 'circle-created', action: { schema: 'bridge', bridge: `b${n % 2}` } });
  await theatre.done(
    ...[0, 1].map((n) => house.create(Kind.bridge, { handle: `b${n}`, config: { server: 'http://127.0.0.1:1/bank' } })),
    ...Array.from({ length: EFFECTS }, (_, n) => effect(theatre, bound(n), `e${n}`)),
  );
  await theatre.done(house.create(Kind.circle, { handle: 'c' }));
  await theatre.run(1000);
  expect(theatre.calls).toHaveLength(EFFECTS);
  theatre.answer = () => 200;
  const { heap } = house.state;
  const offset = heap.offset.bind(heap);
  let looks = 0;
  // Each look into a record takes a millisecond.
  heap.offset = (at) => {
    looks++;
    clock.pass(1);
    return offset(at);
  };
  const row = house.read(Kind.bridge, 'b0')!.row;
  looks = 0;
  const began = clock.now();
  for (let n = 0; n < 20; n++) effects.activate(row);
  expect(clock.now() - began).toBeLessThan(100);
  clock.longestMs = 0;
  await clock.run(60_000);
  expect(clock.longestMs).toBeLessThan(50);
  expect(looks).toBeLessThan(20 * EFFECTS);
  await theatre.run(1000);
  const again = theatre.calls.slice(EFFECTS).map(({ path }) => path);
  const even = Array.from({ length: EFFECTS / 2 }, (_, n) => `/bank/effects/e${2 * n}`);
  expect(again.sort()).toEqual(even.sort());
});

test('an intent that moves the money of many large wallets is told of without keeping all of them', async () => {
  const theatre = await Theatre.open();
  const { house } = theatre;
  const [count, text] = [60, 'x'.repeat(500_000)];
  await theatre.done(house.create(Kind.symbol, { handle: 'usd', factor: 1 }));
  for (let n = 0; n < count; n++) await theatre.done(house.create(Kind.wallet, { handle: `w${n}`, custom: { text } }));
  const filter = { 'wallet.data.handle': { $ne: 'nobody' } };
  await theatre.done(effect(theatre, { signal: 'balance-received', filter }));
  house.sent.length = 0;
  let told = 0;
  theatre.calls.push = () => ++told;
  const before = heldBytes();
  await theatre.done(house.intent('i', ...Array.from({ length: count }, (_, n) => issue(`w${n}`, 1))));
  await theatre.run();
  expect(told).toBe(count);
  // All of them are 30 MB as texts, and as much again as values.
  expect(heldBytes() - before).toBeLessThan(50e6);
});

slow('effects whose filters are long are heard by, and not all of the filters kept', async () => {
  const theatre = await Theatre.open();
  const { house } = theatre;
  const count = 60;
  const heard = (n: number) => `w${n % 3}`;
  const others = Array.from({ length: 20_000 }, (_, n) => `somebody else, number ${n}`);
  const filter = (n: number) => ({
    'wallet.data.handle': { $in: [heard(n), ...others.map((one) => `${one} of ${n}`)] },
  });
  const before = heldBytes();
  for (let n = 0; n < count; n++) {
    const action = { schema: 'webhook', endpoint: `${HOOK}${n}` };
    await theatre.done(effect(theatre, { signal: 'wallet-created', filter: filter(n), action }, `e${n}`));
    house.sent.length = 0;
  }
  await theatre.run();
  // Each is 800 kB as text.
  expect(heldBytes() - before).toBeLessThan(40e6);
  await theatre.done(...wallets(theatre, 'x', ...[0, 1, 2].map(heard)));
  await theatre.run(10_000);
  for (let n = 0; n < count; n++) expect(namesIn(theatre.at(`/hook${n}`)), `effect ${n}`).toEqual([heard(n)]);
});

describe('an intent of many credits', () => {
  /** More than a queue takes. */
  const CREDITS = 400;
  async function giant(filter: object = {}): Promise<Theatre> {
    const theatre = await Theatre.open();
    await theatre.done(
      theatre.house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
      ...wallets(theatre, 'x', ...Array.from({ length: CREDITS }, (_, n) => `w${n}`)),
      effect(theatre, { signal: 'balance-received', ...filter }),
    );
    theatre.answer = () => 503;
    const claims = Array.from({ length: CREDITS }, (_, n) => issue(`w${n}`, n + 1));
    await theatre.done(theatre.house.intent('giant', ...claims));
    await theatre.run();
    return theatre;
  }

  test('is told of once for each, in order, from a short queue, and goes on where it was after a restart', async () => {
    const first = await giant();
    expect(first.effects.counts().jobs).toBeLessThan(300);
    // The restart comes in the middle of them.
    let left = 100;
    first.answer = () => (left-- > 0 ? 200 : 503);
    await first.run(3000);
    expect(heard(first).length).toBeLessThan(CREDITS);
    const second = await first.restart();
    second.answer = () => 200;
    await second.run(10_000);
    expect(heard(second)).toEqual(Array.from({ length: CREDITS }, (_, n) => `w${n}`));
    expect(namesIn(second.at('/hook')).filter((name) => name === 'w50')).toHaveLength(1);
    const taken = second.at('/hook').map(({ body }) => body.data.amount);
    expect(new Set(taken).size).toBe(CREDITS);
  });

  test('and of those only that a filter names', async () => {
    const theatre = await giant({
      filter: { amount: { $gt: 10, $lte: 300 }, 'wallet.meta.proofs.method': 'ed25519-v2', 'wallet.data.schema': 'x' },
    });
    theatre.answer = () => 200;
    await theatre.run(10_000);
    expect(heard(theatre)).toEqual(Array.from({ length: 290 }, (_, n) => `w${n + 10}`));
  });
});

test('thousands of events for many effects are looked through in slices, and all that is asked for is heard', async () => {
  const CREDITS = 150;
  const EFFECTS = 4;
  let clock: Clock | null = null;
  const sealer = new Sealer(SERVER);
  const sealed = sealer.sealed.bind(sealer);
  // Each look at a proof takes a millisecond.
  sealer.sealed = (...args) => {
    clock?.pass(1);
    return sealed(...args);
  };
  const theatre = await Theatre.open(undefined, { sealer });
  const filter = { 'wallet.meta.proofs.method': 'ed25519-v2', 'wallet.data.schema': 'x' };
  const listener = (n: number) => {
    const action = { schema: 'webhook', endpoint: `${HOOK}${n}` };
    return effect(theatre, { signal: 'balance-received', filter, action }, `e${n}`);
  };
  await theatre.done(
    theatre.house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
    ...wallets(theatre, 'x', ...Array.from({ length: CREDITS }, (_, n) => `w${n}`)),
    ...Array.from({ length: EFFECTS }, (_, n) => listener(n)),
  );
  await theatre.run();
  clock = theatre.clock;
  const { effects } = theatre;
  let longest = 0;
  const publish = effects.publish.bind(effects);
  effects.publish = (...args) => {
    const began = theatre.clock.now();
    publish(...args);
    longest = Math.max(longest, theatre.clock.now() - began);
  };
  theatre.clock.longestMs = 0;
  const amounts = Array.from({ length: CREDITS }, (_, n) => n + 1);
  await theatre.done(theatre.house.intent('giant', ...amounts.map((amount) => issue(`w${amount - 1}`, amount))));
  await theatre.done(theatre.house.intent('next', issue('w0', 777), issue('w1', 888)));
  for (let n = 0; n < 20; n++) await theatre.run(1000);
  expect(Math.max(longest, theatre.clock.longestMs)).toBeLessThan(50);
  for (let n = 0; n < EFFECTS; n++) {
    const told = theatre.at(`/hook${n}`).map(({ body }) => body.data.amount);
    expect(told, `effect ${n}`).toEqual([...amounts, 777, 888]);
  }
});

test('very many effects are taken up some at a time after a start, and hear what came before, meanwhile and since', async () => {
  const EFFECTS = 30;
  const listener = (n: number, schema = 'x') => {
    const filter = { 'wallet.data.schema': schema };
    return {
      handle: `e${n}`,
      signal: 'wallet-created',
      filter,
      action: { schema: 'webhook', endpoint: `${HOOK}${n}` },
    };
  };
  const first = await Theatre.open();
  first.answer = () => 503;
  const all = Array.from({ length: EFFECTS }, (_, n) => effect(first, listener(n), `e${n}`));
  await first.done(...all);
  await first.run();
  await first.done(...wallets(first, 'x', 'w0', 'w1'));
  await first.run();
  first.answer = () => 202;
  const before = first.calls.length;
  const own = new Clock();
  let [looks, perLook] = [0, 1];
  // During a start it goes on whenever it is looked at: no slice gets far.
  const timers = {
    now: () => {
      looks += perLook;
      return own.now() + looks;
    },
    after: (ms: number, run: () => void) => own.after(ms, run),
    cancel: (timer: object) => own.cancel(timer),
  };
  const second = await first.restart({ timers });
  perLook = 0;
  const { house } = second;
  // Before the last of them were taken up.
  await second.done(
    house.update(Kind.effect, 'e29', listener(29, 'y')),
    house.drop(Kind.effect, 'e28'),
    effect(second, listener(30), 'e30'),
    ...wallets(second, 'x', 'w2'),
    ...wallets(second, 'y', 'w3'),
  );
  for (let n = 0; n < 50; n++) {
    await own.run(5);
    await second.run();
  }
  const told = (n: number) => namesIn(second.calls.slice(before).filter(({ path }) => path === `/hook${n}`));
  for (let n = 0; n < 28; n++) expect(told(n), `effect ${n}`).toEqual(['w0', 'w1', 'w2']);
  expect([told(28), told(29), told(30)]).toEqual([[], ['w0', 'w1', 'w3'], ['w2']]);
  // A start by itself, and what it reads before others have a turn.
  const { state, journal } = house;
  const [note, inform] = [() => {}, () => {}];
  const effects = new Effects({
    ...{ state, timers, inform, note, seq: journal.position.seq },
    ...{ sealer: new Sealer(SERVER), call: async () => ({ status: 202 }) as const },
    ...{ callsInFlightMax: 1, bridgeCallsMax: 1, bridgeAttemptsMax: 1, eventBytesMax: 256 * 1024 },
    defect: (error) => {
      throw error;
    },
  });
  const reads = vi.spyOn(state.log, 'get');
  perLook = 1;
  effects.start();
  expect(reads.mock.calls.length).toBeGreaterThan(0);
  expect(reads.mock.calls.length).toBeLessThan(10);
  effects.close();
});

test('an effect that was not taken up yet after a start is tried again where somebody asks for it then', async () => {
  const EFFECTS = 10;
  const asking = (n: number) => ({
    signal: 'wallet-created',
    action: { schema: 'webhook', endpoint: `${HOOK}${n}` },
  });
  const first = await Theatre.open();
  first.answer = () => 501;
  await first.done(...Array.from({ length: EFFECTS }, (_, n) => effect(first, asking(n), `e${n}`)));
  await first.done(...wallets(first, 'x', 'w'));
  await first.run(1000);
  expect(first.calls).toHaveLength(EFFECTS);
  const own = new Clock();
  let looks = 0;
  // It goes on whenever it is looked at: no slice gets far.
  const timers = {
    now: () => own.now() + looks++,
    after: (ms: number, run: () => void) => own.after(ms, run),
    cancel: (timer: object) => own.cancel(timer),
  };
  const second = await first.restart({ timers });
  const rows = [...second.house.state.feeds.keys()];
  for (const row of rows) second.effects.retry(row);
  for (let n = 0; n < 20; n++) {
    await own.run(5);
    await second.run();
  }
  expect(second.calls).toHaveLength(2 * EFFECTS);
});

test('events of many records that are written together are looked through for some milliseconds at once, and all are heard', async () => {
  const WALLETS = 100;
  const EFFECTS = 3;
  let clock: Clock | null = null;
  let looks = 0;
  const sealer = new Sealer(SERVER);
  const sealed = sealer.sealed.bind(sealer);
  // Each look at a proof takes a millisecond.
  sealer.sealed = (...args) => {
    looks++;
    clock?.pass(1);
    return sealed(...args);
  };
  const theatre = await Theatre.open(undefined, { sealer });
  const filter = { 'wallet.meta.proofs.method': 'ed25519-v2' };
  const listeners = Array.from({ length: EFFECTS }, (_, n) => {
    const action = { schema: 'webhook', endpoint: `${HOOK}${n}` };
    return effect(theatre, { signal: 'wallet-created', filter, action }, `e${n}`);
  });
  await theatre.done(...listeners);
  await theatre.run();
  clock = theatre.clock;
  const { effects } = theatre;
  let [most, together] = [0, 0];
  const publish = effects.publish.bind(effects);
  effects.publish = (...args) => {
    looks = 0;
    publish(...args);
    most = Math.max(most, looks);
    together = Math.max(together, args[0].length);
  };
  const names = Array.from({ length: WALLETS }, (_, n) => `w${n}`);
  await theatre.done(...wallets(theatre, 'x', ...names));
  for (let n = 0; n < 20; n++) await theatre.run(1000);
  expect(together).toBeGreaterThan(50);
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThan(10);
  for (let n = 0; n < EFFECTS; n++) {
    expect(theatre.at(`/hook${n}`).map(({ body }) => body.data.wallet.data.handle)).toEqual(names);
  }
});

describe('what is queued for all receivers together has an end: thousands whose endpoints hung filled the heap', () => {
  const EFFECTS = 30;
  const QUEUED_MAX = 100;

  test('and what waits for one that is dropped takes no room any more', async () => {
    const theatre = await Theatre.open(undefined, { queuedMax: QUEUED_MAX });
    theatre.answer = () => 503;
    const most = async (round: string) => {
      await theatre.done(effect(theatre, { signal: 'wallet-created' }, round));
      await theatre.done(...wallets(theatre, 'x', ...Array.from({ length: 200 }, (_, n) => `${round}${n}`)));
      await theatre.run(1000);
      return theatre.effects.counts().jobs;
    };
    const first = await most('v');
    expect(first).toBeGreaterThan(QUEUED_MAX / 2);
    await theatre.done(theatre.house.drop(Kind.effect, 'v'));
    await theatre.run();
    expect(await most('w')).toBe(first);
  });

  test('and all of them hear all, in order, however late', async () => {
    const theatre = await Theatre.open(undefined, { queuedMax: QUEUED_MAX });
    const asking = (n: number) => ({
      signal: 'wallet-created',
      action: { schema: 'webhook', endpoint: `${HOOK}${n}` },
    });
    await theatre.done(...Array.from({ length: EFFECTS }, (_, n) => effect(theatre, asking(n), `e${n}`)));
    const told: string[] = [];
    // Once more: what was told takes no room any longer.
    for (const round of ['w', 'v']) {
      theatre.answer = () => 503;
      const names = Array.from({ length: 50 }, (_, n) => `${round}${n}`);
      await theatre.done(...wallets(theatre, 'x', ...names));
      let most = 0;
      for (let n = 0; n < 20; n++) {
        await theatre.run(1000);
        most = Math.max(most, theatre.effects.counts().jobs);
      }
      expect(most).toBeGreaterThan(QUEUED_MAX / 2);
      expect(most).toBeLessThanOrEqual(QUEUED_MAX + EFFECTS);
      theatre.answer = () => 200;
      for (let n = 0; n < 40; n++) await theatre.run(1000);
      told.push(...names);
    }
    for (let n = 0; n < EFFECTS; n++) {
      expect([...new Set(namesIn(theatre.at(`/hook${n}`)))], `effect ${n}`).toEqual(told);
    }
    expect(theatre.effects.counts().jobs).toBe(0);
  });

  test('and who takes all hears all, beside one that takes nothing and has filled it', async () => {
    const theatre = await Theatre.open(undefined, { queuedMax: 10 });
    theatre.answer = ({ path }) => (path === '/hook' ? 200 : 503);
    const signal = 'wallet-created';
    await theatre.done(effect(theatre, { signal, action: { schema: 'webhook', endpoint: `${HOOK}-away` } }, 'away'));
    await theatre.done(...wallets(theatre, 'x', ...Array.from({ length: 20 }, (_, n) => `v${n}`)));
    await theatre.run(1000);
    await theatre.done(effect(theatre, { signal }));
    const names = Array.from({ length: 5 }, (_, n) => `w${n}`);
    await theatre.done(...wallets(theatre, 'x', ...names));
    await theatre.run(5000);
    expect(heard(theatre)).toEqual(names);
  });

  test('and what one ledger has queued, or had, leaves room for another', () => {
    // Counted in events, whose bytes are made when they go.
    const places = new Places(QUEUED_MAX, Number.POSITIVE_INFINITY);
    const fill = (ledger: number) => {
      let taken = 0;
      for (; places.hasRoom(ledger); taken++) places.take(ledger, 0);
      return taken;
    };
    expect([fill(1), fill(2), fill(3)]).toEqual([80, 16, 4]);
    for (let n = 0; n < 80; n++) places.leave(1, 0);
    expect([places.hasRoom(2), fill(1)]).toEqual([true, 64]);
  });
});

test('an effect that hears of very much, slowly, does not keep others from reading on after a restart', async () => {
  let clock: Clock | null = null;
  const told: string[] = [];
  const call: EffectsOptions['call'] = ({ url }) =>
    new Promise((resolve) => {
      told.push(new URL(url).pathname);
      clock!.after(url.endsWith('/slow') ? 50 : 0, () => resolve({ status: 200 }));
    });
  const first = await Theatre.open(undefined, { call });
  clock = first.clock;
  const to = (path: string) => ({ schema: 'webhook', endpoint: `http://127.0.0.1:1${path}` });
  await first.done(
    effect(first, { signal: 'wallet-created', action: to('/slow') }, 'slow'),
    effect(first, { signal: 'circle-created', action: to('/quick') }, 'quick'),
  );
  await first.done(...wallets(first, 'x', ...Array.from({ length: 3000 }, (_, n) => `w${n}`)));
  const theatre = await first.restart({ call });
  clock = theatre.clock;
  await theatre.done(theatre.house.create(Kind.circle, { handle: 'c' }));
  const { heap } = theatre.house.state;
  const offset = heap.offset.bind(heap);
  // Each look at an entry takes a millisecond.
  heap.offset = (at) => {
    theatre.clock.pass(1);
    return offset(at);
  };
  for (let n = 0; n < 200 && !told.includes('/quick'); n++) await theatre.run(1000);
  expect(told).toContain('/quick');
});
