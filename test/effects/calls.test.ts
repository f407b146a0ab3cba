/** Calls to bridges: which are due, what they say, and what becomes of them when banks, time and processes misbehave. */
import { describe, expect, test, vi } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { SERVER_LEDGER } from '../../src/core/state.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { issue, limit, transfer } from '../core/books.ts';
import { SERVER as SERVER_KEYS } from '../engine/house.ts';
import { turn } from '../support/turns.ts';
import { Clock } from './clock.ts';
import { type Made, Theatre } from './theatre.ts';

const SERVER = 'http://127.0.0.1:1/bank';

/** `usd`, wallet `a` with 100, and wallets `x`, `y` behind the bank; an intent expires after ten minutes. */
async function open(options: Parameters<typeof Theatre.open>[1] = {}): Promise<Theatre> {
  const theatre = await Theatre.open(undefined, options);
  const { house } = theatre;
  await theatre.done(
    house.create(Kind.symbol, { handle: 'usd', factor: 1 }),
    house.create(Kind.bridge, { handle: 'bank', config: { server: SERVER } }),
    house.create(Kind.wallet, { handle: 'a' }),
    ...['x', 'y'].map((handle) => house.create(Kind.wallet, { handle, bridge: 'bank' })),
    house.intent('seed', issue('a', 100)),
  );
  expireAfter(theatre, 10);
  return theatre;
}

function expireAfter({ house }: Theatre, minutes: number): void {
  Object.assign(house.state.ledgers[1]!, { config: { 'intent.expiryThresholdMinutes': minutes } });
}

const statusOf = ({ house }: Theatre, handle: string) => house.read(Kind.intent, handle)!.status;
const legHandle = ({ house }: Theatre, handle: string) =>
  `cre_${house.read(Kind.intent, handle)!.entry.luid.slice(5)}.0`;

let said = 0;
async function report(theatre: Theatre, intent: string, status: string): Promise<void> {
  const custom = JSON.stringify({ handle: legHandle(theatre, intent), n: said++, status });
  await theatre.done(theatre.house.addProof(Kind.intent, intent, custom));
  await theatre.run();
}

const asked = ({ calls }: Theatre, action: string): Made[] =>
  calls.filter(({ path }) => (action === 'prepare' ? path === '/bank/credits' : path.endsWith(`/${action}`)));

test('a bank is not called at an address that the disk has not got yet: it was, and a power cut took the address back', async () => {
  const theatre = await open();
  const { house, calls, clock } = theatre;
  theatre.answer = () => 503;
  await theatre.done(house.intent('i', transfer('a', 'x', 5)));
  await theatre.run();
  const before = calls.length;
  expect(before).toBeGreaterThan(0);
  house.disk.holdSyncs();
  const moved = house.update(Kind.bridge, 'bank', { handle: 'bank', config: { server: `${SERVER}/moved` } });
  await clock.run(60_000);
  expect([moved.outcome, calls.length]).toEqual([null, before]);
  house.disk.releaseSyncs();
  await theatre.run(5000);
  expect(moved.outcome).toBeInstanceOf(Array);
  const paths = calls.slice(before).map(({ path }) => path);
  expect(paths.length).toBeGreaterThan(0);
  for (const path of paths) expect(path).toBe('/bank/moved/credits');
});

test('nor is a webhook; what is on its way and says nothing of whom to call holds up nobody', async () => {
  const theatre = await Theatre.open();
  const { house, calls, clock } = theatre;
  const tell = (endpoint: string) => ({
    handle: 'e',
    signal: 'wallet-created',
    action: { schema: 'webhook', endpoint: `${SERVER}/${endpoint}` },
  });
  theatre.answer = () => 503;
  await theatre.done(house.create(Kind.effect, tell('old')), house.create(Kind.wallet, { handle: 'a' }));
  await theatre.run();
  house.disk.holdSyncs();
  house.create(Kind.wallet, { handle: 'b' });
  const before = calls.length;
  await clock.run(10_000);
  expect(calls.length).toBeGreaterThan(before);
  house.disk.releaseSyncs();
  await theatre.run();
  house.disk.holdSyncs();
  house.update(Kind.effect, 'e', tell('new'));
  await clock.run(60_000);
  expect(theatre.at('/bank/new')).toEqual([]);
  house.disk.releaseSyncs();
  await theatre.run(5000);
  expect(theatre.at('/bank/new').length).toBeGreaterThan(0);
});

describe('an intent that expires while a bank is asked', () => {
  test.each([16, 1])(
    'is undone at once, and the bank, of which %i calls are made at once, hears it as soon as it is there, though the question waited for an hour',
    async (bridgeCallsMax) => {
      const theatre = await open({ bridgeCallsMax });
      theatre.answer = () => 503;
      await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
      await theatre.run(9 * 60_000);
      const before = asked(theatre, 'prepare').length;
      expect(before).toBeGreaterThan(5);
      theatre.answer = () => 202;
      await theatre.expire(2);
      expect(statusOf(theatre, 'i')).toBe('aborted');
      expect(theatre.house.balance('a')).toBe(100);
      // No question any more, and its place in the row does not hold up what came after it.
      expect(asked(theatre, 'prepare')).toHaveLength(before);
      expect(asked(theatre, 'abort')).toHaveLength(1);
      await report(theatre, 'i', 'aborted');
      expect(statusOf(theatre, 'i')).toBe('rejected');
      const [told] = asked(theatre, 'abort');
      expect(told!.body.data.intent.meta.status).toBe('aborted');
    },
  );

  test('and is killed in between: after the restart only the abort goes out', async () => {
    const first = await open();
    await first.done(first.house.intent('i', transfer('a', 'x', 5)));
    await first.run();
    first.answer = () => 'silence';
    await first.expire(11);
    const [heard] = asked(first, 'abort');
    const count = first.calls.length;
    const second = await first.restart();
    await second.run(1000);
    expect(second.calls.slice(count).map(({ path, text }) => [path, text])).toEqual([[heard!.path, heard!.text]]);
  });
});

test.each([16, 1])(
  'a payment that a bank cannot do holds up no other, where %i calls of it are made at once',
  async (bridgeCallsMax) => {
    const theatre = await open({ bridgeCallsMax });
    theatre.answer = ({ body }) => (body.data.intent.data.handle === 'i' ? 500 : 202);
    await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
    await theatre.run(60_000);
    const before = asked(theatre, 'prepare').length;
    await theatre.done(theatre.house.intent('j', transfer('a', 'x', 5)));
    await theatre.run();
    expect(asked(theatre, 'prepare').slice(before)).toHaveLength(1);
  },
);

test('banks of one ledger whose calls hang leave a place for the bank of another, at once', async () => {
  const theatre = await open({ callsInFlightMax: 8 });
  const { house } = theatre;
  theatre.answer = () => 'silence';
  const access = [{ action: 'any', record: 'any' }];
  const other = 2;
  const make = (kind: Kind, value: Record<string, unknown>, ledger = 1) =>
    house.submit({ ...house.command(kind, value), ledger });
  const bridge = (handle: string) => ({ handle, config: { server: `http://127.0.0.1:1/${handle}` } });
  await theatre.done(make(Kind.ledger, { handle: 'other', access }, SERVER_LEDGER));
  await theatre.done(
    make(Kind.symbol, { handle: 'usd', factor: 1 }, other),
    make(Kind.bridge, bridge('theirs'), other),
    make(Kind.wallet, { handle: 'x', bridge: 'theirs' }, other),
    ...Array.from({ length: 8 }, (_, n) => `bank-${n}`).flatMap((handle) => [
      make(Kind.bridge, bridge(handle)),
      make(Kind.wallet, { handle, bridge: handle }),
      house.intent(`to ${handle}`, issue(handle, 1)),
    ]),
  );
  await theatre.run(1000);
  const before = theatre.calls.length;
  expect(before).toBeLessThan(8);
  await theatre.done(make(Kind.intent, { handle: 'i', claims: [issue('x', 1)] }, other));
  await theatre.run(1000);
  expect(theatre.calls.slice(before).map(({ path }) => path)).toEqual(['/theirs/credits']);
});

test('webhooks that hang leave a place for the bank of their ledger, at once', async () => {
  const theatre = await open({ callsInFlightMax: 8 });
  const { house } = theatre;
  theatre.answer = () => 'silence';
  const hook = (handle: string) => {
    const action = { schema: 'webhook', endpoint: `http://127.0.0.1:1/${handle}` };
    return house.create(Kind.effect, { handle, signal: 'wallet-created', action });
  };
  await theatre.done(...Array.from({ length: 8 }, (_, n) => hook(`hook-${n}`)));
  await theatre.done(house.create(Kind.wallet, { handle: 'b' }));
  await theatre.run(1000);
  const before = theatre.calls.length;
  expect(before).toBeLessThan(8);
  await theatre.done(house.intent('i', transfer('a', 'x', 5)));
  await theatre.run(1000);
  expect(theatre.calls.slice(before).map(({ path }) => path)).toEqual(['/bank/credits']);
});

describe('a bank that takes a call and forgets it', () => {
  test('is asked again when somebody says that it is there, with the same words, and not otherwise', async () => {
    const theatre = await open();
    await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5), transfer('a', 'y', 6)));
    await theatre.run(60_000);
    const first = asked(theatre, 'prepare').map(({ text }) => text);
    expect([first.length, errorsOf(theatre, 'i')], 'what was taken is no error').toEqual([2, 0]);
    await report(theatre, 'i', 'prepared');
    theatre.effects.activate(bridgeRow(theatre));
    await theatre.run(60_000);
    // The one it has reported on is not asked again, nor told anything.
    expect(theatre.calls.map(({ text }) => text)).toEqual([...first, first[1]]);
  });

  test('is asked again, and no other bank is that takes part in the same intent', async () => {
    const theatre = await open();
    const { house } = theatre;
    await theatre.done(
      house.create(Kind.bridge, { handle: 'other', config: { server: 'http://127.0.0.1:1/other' } }),
      house.create(Kind.wallet, { handle: 'z', bridge: 'other' }),
      house.intent('i', transfer('a', 'x', 5), transfer('a', 'z', 6)),
    );
    await theatre.run();
    const both = ['/bank/credits', '/other/credits'];
    expect(theatre.calls.map(({ path }) => path).toSorted()).toEqual(both);
    theatre.effects.activate(house.read(Kind.bridge, 'other')!.row);
    await theatre.run();
    expect(theatre.calls.slice(2).map(({ path }) => path)).toEqual(['/other/credits']);
  });

  test('is asked again where a token was used up for the word, which the log does not keep', async () => {
    const theatre = await open();
    const { house, effects } = theatre;
    await theatre.done(house.intent('i', transfer('a', 'x', 5)));
    await theatre.run();
    const moment = house.engine.now();
    const luid = makeLuid('tkn', moment, new Uint8Array(32));
    const used = { luid, id: 'f'.repeat(64), exp: Math.floor(moment / 1000) + 60 };
    await theatre.done(house.submit({ op: 'token', ledger: 1, kind: Kind.ledger, moment, caller: GRANTED, ...used }));
    effects.activate(bridgeRow(theatre));
    await theatre.run();
    expect(asked(theatre, 'prepare')).toHaveLength(2);
    const second = await theatre.restart();
    await second.run();
    expect(asked(second, 'prepare')).toHaveLength(3);
  });

  test('while another call of the same bank is under way hears none twice', async () => {
    const theatre = await open();
    theatre.answer = () => 'silence';
    await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
    await theatre.run(500);
    for (let n = 0; n < 3; n++) theatre.effects.activate(bridgeRow(theatre));
    await theatre.run(500);
    expect(theatre.calls).toHaveLength(1);
    expect(theatre.effects.counts()).toMatchObject({ jobs: 1, inFlight: 1 });
  });
});

test('a bank that is said to be there hears of nothing that the disk does not have yet', async () => {
  const theatre = await open();
  const { house, effects, clock } = theatre;
  await theatre.done(house.intent('i', transfer('a', 'x', 5)));
  await theatre.run();
  house.disk.holdSyncs();
  house.addProof(Kind.intent, 'i', JSON.stringify({ handle: legHandle(theatre, 'i'), status: 'prepared' }));
  house.intent('j', transfer('a', 'x', 6));
  await turn();
  // That is how far clearing is.
  expect([statusOf(theatre, 'i'), statusOf(theatre, 'j')]).toEqual(['committed', 'pending']);
  effects.activate(bridgeRow(theatre));
  await clock.run(1000);
  const prepared = () => asked(theatre, 'prepare').map(({ body }) => body.data.intent.data.handle);
  expect([prepared(), asked(theatre, 'commit')]).toEqual([['i'], []]);
  house.disk.releaseSyncs();
  await theatre.run();
  expect([prepared(), asked(theatre, 'commit').length]).toEqual([['i', 'j'], 1]);
});

test('a bank that is said to be there again and again is looked for in one walk at a time, and once more', async () => {
  // A clock that goes on whenever it is looked at: no slice gets far.
  const clock = new Clock();
  let looks = 0;
  const timers = {
    now: () => clock.now() + looks++,
    after: (ms: number, run: () => void) => clock.after(ms, run),
    cancel: (timer: object) => clock.cancel(timer),
  };
  const theatre = await open({ timers });
  theatre.answer = () => 202;
  const many = Array.from({ length: 20 }, (_, n) => theatre.house.intent(`i${n}`, transfer('a', 'x', 1)));
  await theatre.done(...many);
  const goOn = async () => {
    for (let n = 0; n < 10; n++) {
      await clock.run(1);
      await theatre.clock.run(0);
    }
  };
  await goOn();
  expect(asked(theatre, 'prepare')).toHaveLength(20);
  for (let n = 0; n < 50; n++) theatre.effects.activate(bridgeRow(theatre));
  expect(clock.pending).toBeLessThan(10);
  await goOn();
  expect(asked(theatre, 'prepare').length).toBeGreaterThanOrEqual(40);
});

function bridgeRow({ house }: Theatre): number {
  return [...house.state.open].flatMap(([, { bridges }]) => bridges)[0]!;
}

describe('a bank that cannot be reached', () => {
  test('is given up, told of, asked again on a word, given up again, and in the end answers', async () => {
    const theatre = await open({ bridgeAttemptsMax: 2 });
    theatre.answer = () => 503;
    await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
    await theatre.run(60_000);
    expect(theatre.calls).toHaveLength(2);
    expect(errorsOf(theatre, 'i')).toBe(1);
    theatre.effects.activate(bridgeRow(theatre));
    await theatre.run(60_000);
    expect([theatre.calls.length, errorsOf(theatre, 'i')], 'told once: it filled the books').toEqual([4, 1]);
    theatre.answer = () => 202;
    theatre.effects.activate(bridgeRow(theatre));
    await theatre.run();
    expect(new Set(theatre.calls.map(({ text }) => text)).size).toBe(1);
    theatre.answer = () => 503;
    await report(theatre, 'i', 'prepared');
    await theatre.run(60_000);
    expect(errorsOf(theatre, 'i'), 'and once of the commit').toBe(2);
    await report(theatre, 'i', 'committed');
    expect(statusOf(theatre, 'i')).toBe('completed');
  });

  test('and is to be asked again in a while is asked at once where somebody says that it is there', async () => {
    const theatre = await open();
    theatre.answer = () => 503;
    await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
    await theatre.run(20_000);
    const before = theatre.calls.length;
    theatre.answer = () => 202;
    theatre.effects.activate(bridgeRow(theatre));
    await theatre.run();
    expect(theatre.calls).toHaveLength(before + 1);
  });

  test('of one intent that ended meanwhile nothing is asked any more', async () => {
    const theatre = await open({ bridgeAttemptsMax: 1 });
    theatre.answer = () => 503;
    await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
    await theatre.run(1000);
    theatre.answer = () => 202;
    await theatre.expire(11);
    await report(theatre, 'i', 'aborted');
    expect(statusOf(theatre, 'i')).toBe('rejected');
    const bridge = theatre.house.read(Kind.bridge, 'bank')!.row;
    const before = theatre.calls.length;
    theatre.effects.activate(bridge);
    await theatre.run(60_000);
    expect(theatre.calls).toHaveLength(before);
  });
});

describe('what a bank is asked', () => {
  test('stays the same to the last byte, whatever is renamed and added meanwhile, and after a restart', async () => {
    const first = await open();
    first.answer = () => 503;
    await first.done(first.house.intent('i', transfer('a', 'x', 5)));
    await first.run();
    const { house } = first;
    await first.done(
      house.update(Kind.wallet, 'x', { handle: 'x2', bridge: 'bank' }),
      house.update(Kind.wallet, 'a', { handle: 'a2' }),
      house.update(Kind.symbol, 'usd', { handle: 'dollar', factor: 1 }),
      house.addProof(Kind.intent, 'i', '{"status":"seen"}'),
    );
    await first.run(30_000);
    const second = await first.restart();
    await second.run(30_000);
    expect(second.calls.length).toBeGreaterThan(10);
    expect(new Set(second.calls.map(({ text }) => text)).size).toBe(1);
  });

  test('is said of the bridge and ledger that were called so when its money was set aside: it may believe no others', async () => {
    const theatre = await open();
    const { house, effects, calls } = theatre;
    await theatre.done(
      house.intent('funds', limit('x', 'minBalance', -100)),
      house.intent('i', transfer('a', 'x', 5)),
      house.intent('j', transfer('a', 'y', 6)),
      house.intent('k', transfer('x', 'y', 7)),
    );
    await theatre.run();
    await theatre.done(
      ...['x', 'y'].map((handle) => house.update(Kind.wallet, handle, { handle })),
      house.update(Kind.bridge, 'bank', { handle: 'bank2', config: { server: SERVER } }),
      house.update(Kind.ledger, 'main', { handle: 'main2', access: [{ action: 'any', record: 'any' }] }, SERVER_LEDGER),
    );
    await report(theatre, 'i', 'prepared');
    await report(theatre, 'j', 'failed');
    // Its other side is asked only now.
    const debit = `deb_${house.read(Kind.intent, 'k')!.entry.luid.slice(5)}.0`;
    await theatre.done(house.addProof(Kind.intent, 'k', JSON.stringify({ handle: debit, status: 'prepared' })));
    await theatre.run();
    effects.activate(bridgeRow(theatre));
    await theatre.run();
    expect(['prepare', 'commit', 'abort'].map((action) => asked(theatre, action).length)).toEqual([4, 2, 1]);
    for (const { body } of calls) {
      expect(body.meta.proofs[0].custom).toMatchObject({ bridge: 'bank', ledger: 'main' });
    }
  });

  test('and where a signature was missing, as they were called when that came', async () => {
    const theatre = await open();
    const { house } = theatre;
    const payer = Buffer.alloc(32, 9);
    const access = [{ action: { $in: ['access', 'activate', 'create', 'read', 'update'] }, record: 'any' }];
    const rename = (from: string, to: string) =>
      theatre.done(house.update(Kind.ledger, from, { handle: to, access }, SERVER_LEDGER));
    await theatre.done(
      house.create(Kind.wallet, {
        handle: 'own',
        access: [{ action: 'spend', signer: { public: payer.toString('base64') } }],
      }),
      house.intent('funds', limit('own', 'minBalance', -100)),
    );
    await rename('main', 'closed');
    await theatre.done(house.intent('i', transfer('own', 'x', 5)));
    await theatre.run();
    expect([statusOf(theatre, 'i'), theatre.calls]).toEqual(['pending', []]);
    await rename('closed', 'then');
    await theatre.done(house.addProof(Kind.intent, 'i', null, payer));
    await theatre.run();
    await rename('then', 'later');
    await theatre.run(1000);
    await report(theatre, 'i', 'prepared');
    const customs = theatre.calls.map(({ body }) => body.meta.proofs[0].custom);
    expect(customs.map(({ ledger }) => ledger)).toEqual(['then', 'then']);
    // Each is of the moment of what it follows from.
    const [prepare, commit] = customs.map(({ moment }) => Date.parse(moment));
    expect(commit! - prepare!).toBe(1000);
  });

  test('names an account behind its wallet only where all its claims name that one', async () => {
    const theatre = await open();
    const { house } = theatre;
    const config = { server: SERVER, 'credits.claims.groupBy': [] };
    await theatre.done(house.update(Kind.bridge, 'bank', { handle: 'bank', config }));
    const account = (name: string) => ({ handle: 'x', custom: { account: name } });
    const pay = (target: object, symbol: object = { handle: 'usd' }) =>
      ({ ...transfer('a', 'x', 5), target, symbol }) as ReturnType<typeof transfer>;
    await theatre.done(
      house.intent('both', pay(account('ana')), pay(account('luz'))),
      house.intent('one', pay(account('ana')), pay(account('ana'))),
      house.intent('some', pay({ handle: 'x' }), pay(account('ana'), { handle: 'usd', custom: { n: 1 } })),
    );
    await theatre.run();
    const said_ = asked(theatre, 'prepare').map(({ body: { data } }) => [data.target, data.symbol, data.amount]);
    expect(said_).toEqual([
      [{ handle: 'x' }, { handle: 'usd' }, 10],
      [account('ana'), { handle: 'usd' }, 10],
      [{ handle: 'x' }, { handle: 'usd' }, 10],
    ]);
  });

  test('leaves out the other side where its claims name several, or none', async () => {
    const theatre = await open();
    const { house } = theatre;
    const grouped = { 'credits.claims.groupBy': [], 'debits.claims.groupBy': [] };
    await theatre.done(
      house.update(Kind.bridge, 'bank', { handle: 'bank', config: { server: SERVER, ...grouped } }),
      house.create(Kind.wallet, { handle: 'b' }),
      house.intent('funds', issue('b', 100), limit('x', 'minBalance', -100)),
    );
    const from = (account: string, target: string) =>
      ({ ...transfer('x', target, 5), source: { handle: 'x', custom: { account } } }) as ReturnType<typeof transfer>;
    await theatre.done(
      house.intent('into', transfer('a', 'x', 5), transfer('b', 'x', 6)),
      house.intent('new', issue('x', 7)),
      house.intent('out', from('ana', 'a'), from('ana', 'b')),
      house.intent('apart', from('ana', 'a'), from('luz', 'a')),
    );
    await theatre.run();
    const told = theatre.calls.map(({ path, body: { data } }) => [path, data.schema, data.source, data.target]);
    expect(told).toEqual([
      ['/bank/credits', 'credit', undefined, { handle: 'x' }],
      ['/bank/credits', 'credit', undefined, { handle: 'x' }],
      ['/bank/debits', 'debit', { handle: 'x', custom: { account: 'ana' } }, undefined],
      ['/bank/debits', 'debit', { handle: 'x' }, { handle: 'a' }],
    ]);
  });

  test('names the account behind its wallet though that was renamed while the other side was asked', async () => {
    const theatre = await open();
    const { house } = theatre;
    const account = (handle: string, name: string) => ({ handle, custom: { account: name } });
    const pay = { ...transfer('x', 'y', 5), source: account('x', 'ana'), target: account('y', 'luz') };
    await theatre.done(house.intent('funds', limit('x', 'minBalance', -100)), house.intent('i', pay));
    await theatre.run();
    await theatre.done(
      house.update(Kind.wallet, 'y', { handle: 'y2', bridge: 'bank' }),
      // Whoever has the name now is not meant.
      house.create(Kind.wallet, { handle: 'y' }),
    );
    const debit = `deb_${house.read(Kind.intent, 'i')!.entry.luid.slice(5)}.0`;
    await theatre.done(house.addProof(Kind.intent, 'i', JSON.stringify({ handle: debit, status: 'prepared' })));
    await theatre.run();
    const [call] = asked(theatre, 'prepare');
    expect(call!.body.data).toMatchObject({ source: account('x', 'ana'), target: account('y', 'luz'), inputs: [0] });
  });

  test('names the address that a claim names, where that stands for its wallet', async () => {
    const theatre = await open();
    const { house } = theatre;
    await theatre.done(house.intent('i', transfer('a', 'svgs:1@x', 5), transfer('a', 'svgs:2@x', 6)));
    await theatre.run();
    const said_ = asked(theatre, 'prepare').map(({ body: { data } }) => [data.target, data.amount]);
    expect(said_).toEqual([
      [{ handle: 'svgs:1@x' }, 5],
      [{ handle: 'svgs:2@x' }, 6],
    ]);
  });

  test.each([
    ['credit', 'x', 'x'],
    ['credit', 'svgs:9@x', 'x'],
    ['forward', 'svgs:9@x', 'svgs:9@x'],
  ])('names the wallet that a route led to, by %s to %s: %s, whatever the claim says of another', async (...route) => {
    const [action, target, named] = route;
    const theatre = await open();
    const { house } = theatre;
    await theatre.done(house.create(Kind.wallet, { handle: 'to', routes: [{ action, target }] }));
    const to = { handle: 'to', custom: { account: 'ana' } };
    await theatre.done(house.intent('i', { ...transfer('a', 'to', 5), target: to }));
    await theatre.run();
    expect(asked(theatre, 'prepare').map(({ body: { data } }) => data.target)).toEqual([{ handle: named }]);
  });

  test('names the wallets that routes led to, of each claim its own', async () => {
    const theatre = await open();
    const { house } = theatre;
    const pay = (to: string) => ({ ...transfer('a', to, 5), target: { handle: to, custom: { account: 'ana' } } });
    await theatre.done(
      ...['x', 'y'].map((target) =>
        house.create(Kind.wallet, { handle: `to-${target}`, routes: [{ action: 'credit', target }] }),
      ),
    );
    await theatre.done(house.intent('i', pay('to-x'), pay('to-y')));
    await theatre.run();
    const targets = asked(theatre, 'prepare').map(({ body: { data } }) => data.target);
    expect(targets).toEqual([{ handle: 'x' }, { handle: 'y' }]);
  });

  test('goes to where its record says now', async () => {
    const theatre = await open();
    theatre.answer = ({ path }) => (path.startsWith('/new') ? 202 : 503);
    await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
    await theatre.run();
    const config = { server: 'http://127.0.0.1:1/new/' };
    await theatre.done(theatre.house.update(Kind.bridge, 'bank', { handle: 'bank', config }));
    await theatre.run(2000);
    expect(theatre.calls.at(-1)!.path).toBe('/new/credits');
    await report(theatre, 'i', 'prepared');
    expect(theatre.calls.at(-1)!.path).toBe(`/new/credits/${legHandle(theatre, 'i')}/commit`);
  });
});

function errorsOf({ house }: Theatre, handle: string): number {
  const { added } = house.read(Kind.intent, handle)!;
  return added.filter((entry) => 'outcome' in entry && entry.outcome.reason === 'core.bridge-unreachable').length;
}

test('a call that cannot be made, by a defect of ours, is told of and made when somebody says that the bank is there', async () => {
  const defects: Error[] = [];
  const mistake = new TypeError('of ours');
  const sealer = new Sealer(SERVER_KEYS);
  const theatre = await open({ sealer, defect: (error) => void defects.push(error) });
  const sealed = vi.spyOn(sealer, 'sealed').mockImplementation(() => {
    throw mistake;
  });
  await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
  await theatre.run(10_000);
  expect([defects, theatre.calls]).toEqual([[mistake], []]);
  sealed.mockRestore();
  theatre.effects.activate(bridgeRow(theatre));
  await theatre.run();
  expect(asked(theatre, 'prepare')).toHaveLength(1);
});

test('a call that rejects, by a defect of ours, is told of and goes again like any that failed', async () => {
  const defects: Error[] = [];
  const mistake = new TypeError('of ours');
  const call = () => (defects.length < 3 ? Promise.reject(mistake) : Promise.resolve({ status: 202 }));
  const theatre = await open({ call, defect: (error) => void defects.push(error) });
  await theatre.done(theatre.house.intent('i', transfer('a', 'x', 5)));
  await theatre.run(10_000);
  expect(defects).toEqual([mistake, mistake, mistake]);
  expect(theatre.effects.counts()).toMatchObject({ jobs: 0, inFlight: 0 });
  await report(theatre, 'i', 'prepared');
  expect(statusOf(theatre, 'i')).toBe('committed');
});
