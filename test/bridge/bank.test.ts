/** The bank behind its port: what it does with each request, the same one again, and one out of order. */
import { describe, expect, test } from 'vitest';
import { type Json, makeKeys, proof } from '../support/client.ts';
import { housesOf, START } from './houses.ts';
import { type Asked, entryOf, type House, openLedger, signed } from './kit.ts';

const ledger = await openLedger();
const { open, reported, restart } = housesOf(ledger);

describe('a debit', () => {
  test('holds, then moves', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    expect(await house.prepare(debit)).toBe(202);
    expect(await house.money()).toEqual({ ...START, ana: [700, 300, 0] });
    expect(await reported(debit, 'prepared')).toMatchObject({ handle: debit.handle, coreId: 'bank-a-1' });
    expect(await house.go(debit, 'commit')).toBe(202);
    expect(await house.money()).toEqual({ ...START, ana: [700, 0, 0], bank: [300, 0] });
    await reported(debit, 'committed');
  });

  test('of all there is goes', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 1000);
    await house.prepare(debit);
    await reported(debit, 'prepared');
    expect((await house.money()).ana).toEqual([0, 1000, 0]);
  });

  test('holds, then is released', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    const { moment } = await reported(debit, 'prepared');
    house.clock.now += 1000;
    expect(await house.go(debit, 'abort')).toBe(202);
    expect(await house.money()).toEqual(START);
    // Each report says when its entry came to that, also where it is sent again.
    const later = new Date(Date.parse(moment) + 1000).toISOString();
    expect((await reported(debit, 'aborted')).moment).toBe(later);
  });

  test('what is held is not there for the next', async () => {
    const house = await open();
    await house.prepare(entryOf(ledger, 'debit', 'ana', 700));
    const second = entryOf(ledger, 'debit', 'ana', 301);
    expect(await house.prepare(second)).toBe(202);
    expect((await reported(second, 'failed')).reason).toBe('bridge.account-insufficient-balance');
    expect(await house.money()).toEqual({ ...START, ana: [300, 700, 0] });
  });
});

describe('a credit', () => {
  test('is promised, then comes', async () => {
    const house = await open();
    const credit = entryOf(ledger, 'credit', 'luz', 40);
    expect(await house.prepare(credit)).toBe(202);
    expect(await house.money()).toEqual({ ...START, luz: [0, 0, 40] });
    await reported(credit, 'prepared');
    expect(await house.go(credit, 'commit')).toBe(202);
    expect(await house.money()).toEqual({ ...START, luz: [40, 0, 0], bank: [0, 40] });
  });

  test('is promised, then does not come', async () => {
    const house = await open();
    const credit = entryOf(ledger, 'credit', 'luz', 40);
    await house.prepare(credit);
    expect(await house.go(credit, 'abort')).toBe(202);
    expect(await house.money()).toEqual(START);
  });

  test('comes also when the account takes nothing new any more', async () => {
    let house = await open();
    const credit = entryOf(ledger, 'credit', 'luz', 40);
    await house.prepare(credit);
    house = await restart(house, { accounts: [{ handle: 'luz', amount: 0, isActive: false }] });
    expect(await house.go(credit, 'commit')).toBe(202);
    expect((await house.money()).luz).toEqual([40, 0, 0]);
  });

  test('what is promised counts against what an account can have', async () => {
    const rich = { handle: 'rich', amount: Number.MAX_SAFE_INTEGER - 100, isActive: true };
    const house = await open({ accounts: [rich] });
    await house.prepare(entryOf(ledger, 'credit', 'rich', 60));
    const second = entryOf(ledger, 'credit', 'rich', 41);
    await house.prepare(second);
    expect((await reported(second, 'failed')).reason).toBe('bridge.account-limit-exceeded');
  });

  test('what is held counts against it too, since it may come back', async () => {
    const rich = { handle: 'rich', amount: Number.MAX_SAFE_INTEGER - 100, isActive: true };
    const house = await open({ accounts: [rich] });
    const held = entryOf(ledger, 'debit', 'rich', 60);
    await house.prepare(held);
    const [more, fits] = [entryOf(ledger, 'credit', 'rich', 101), entryOf(ledger, 'credit', 'rich', 100)];
    await house.prepare(more);
    expect((await reported(more, 'failed')).reason).toBe('bridge.account-limit-exceeded');
    await house.prepare(fits);
    await reported(fits, 'prepared');
    expect([await house.go(held, 'abort'), await house.go(fits, 'commit')]).toEqual([202, 202]);
    expect(await house.money()).toEqual({ rich: [Number.MAX_SAFE_INTEGER, 0, 0], bank: [0, 100] });
  });
});

describe('a prepare fails', () => {
  const FAILURES: [what: string, reason: string, make: () => Asked][] = [
    ['for more than there is', 'bridge.account-insufficient-balance', () => entryOf(ledger, 'debit', 'ana', 1001)],
    ['for no account', 'bridge.account-not-found', () => entryOf(ledger, 'debit', 'bob', 1)],
    ['for no account to give to', 'bridge.account-not-found', () => entryOf(ledger, 'credit', 'bob', 1)],
    ['for an inactive account', 'bridge.account-inactive', () => entryOf(ledger, 'debit', 'old', 1)],
    ['for an inactive account to give to', 'bridge.account-inactive', () => entryOf(ledger, 'credit', 'old', 1)],
    ['in another currency', 'bridge.entry-rejected', () => entryOf(ledger, 'debit', 'ana', 1, {}, { symbol: 'eur' })],
    [
      "for an account named behind another bank's wallet",
      'bridge.account-not-found',
      () => entryOf(ledger, 'debit', 'ana', 1, {}, { wallet: 'bank-b' }),
    ],
  ];
  test.each(FAILURES)('%s, and is reported with %s', async (_, reason, make) => {
    const house = await open();
    const asked = make();
    expect(await house.prepare(asked)).toBe(202);
    const custom = await reported(asked, 'failed');
    expect(custom.reason).toBe(reason);
    expect(custom.detail).not.toBe('');
    expect(await house.go(asked, 'commit')).toBe(409);
    expect(await house.go(asked, 'abort')).toBe(202);
    // It has no reason any more once it is aborted.
    expect(Object.keys(await reported(asked, 'aborted')).sort()).toEqual(['coreId', 'handle', 'moment', 'status']);
    expect(await house.money()).toEqual(START);
  });

  test('for claims of several accounts in one entry', async () => {
    const house = await open();
    const claim = (account: string): Json => ({
      action: 'transfer',
      amount: 10,
      source: { handle: 'bank-a', custom: { account } },
      target: { handle: 'elsewhere' },
      symbol: { handle: 'usd' },
    });
    const intent = ledger.intent('mixed', [claim('ana'), claim('luz')]);
    const asked = entryOf(ledger, 'debit', 'ana', 20, { intent, inputs: [0, 1] });
    await house.prepare({ ...asked, intent });
    expect((await reported(asked, 'failed')).reason).toBe('bridge.entry-rejected');
    expect(await house.money()).toEqual(START);
  });

  test('for claims of several accounts in one entry, named by addresses', async () => {
    const house = await open();
    const claim = (source: Json): Json => ({
      action: 'transfer',
      amount: 10,
      source: typeof source === 'string' ? { handle: source } : source,
      target: { handle: 'elsewhere' },
      symbol: { handle: 'usd' },
    });
    const take = async (name: string, sources: Json[]): Promise<Json> => {
      const intent = ledger.intent(name, sources.map(claim));
      const more = { intent, inputs: sources.map((_, n) => n), source: { handle: 'ana' } };
      const asked = entryOf(ledger, 'debit', 'ana', 10 * sources.length, more);
      await house.prepare({ ...asked, ...more });
      return asked;
    };
    const beside = (handle: string, custom: Json): Json => ({ handle, custom });
    for (const [n, sources] of [
      ['svgs:1@ana', 'svgs:2@ana'],
      ['svgs:1@ana', 'ana'],
      ['ana:x', 'ana:y@elsewhere'],
      // What stands beside an address does not make two of them one.
      [beside('svgs:1@ana', { account: 'luz' }), beside('svgs:2@ana', { account: 'luz' })],
      [beside('svgs:1@ana', { account: 'luz' }), beside('ana', { account: 'luz' })],
      // They name one account, and the entry names the wallet alone.
      [beside('svgs:1@ana', { note: 1 }), beside('svgs:1@ana', { note: 2 })],
      [beside('ana', { account: 'luz', note: 1 }), beside('ana', { account: 'luz', note: 2 })],
    ].entries()) {
      const asked = await take(`addresses-${n}`, sources);
      expect((await reported(asked, 'failed')).reason).toBe('bridge.entry-rejected');
    }
    expect(await house.money()).toEqual(START);
    // Where routes led from other wallets it is one account all the same.
    await reported(await take('routed', ['one', 'two']), 'prepared');
    // What stands behind those is theirs.
    const behind = { account: 'luz' };
    await reported(await take('routed, with accounts', [beside('one', behind), beside('two', behind)]), 'prepared');
    expect((await house.money()).ana).toEqual([960, 40, 0]);
  });

  test('a wallet of its own is the account of that name', async () => {
    const house = await open();
    await house.prepare(entryOf(ledger, 'debit', 'luz', 1, {}, { wallet: 'ana' }));
    expect((await house.money()).ana).toEqual([999, 1, 0]);
  });
});

describe('again and out of order', () => {
  test('every request three times is done once, and reported each time it is asked', async () => {
    const house = await open();
    const asked = [entryOf(ledger, 'debit', 'ana', 300), entryOf(ledger, 'credit', 'luz', 40)];
    for (const one of asked) {
      expect(await Promise.all([house.prepare(one), house.prepare(one), house.prepare(one)])).toEqual([202, 202, 202]);
      const go = () => house.go(one, 'commit');
      expect(await Promise.all([go(), go(), go()])).toEqual([202, 202, 202]);
      expect(await house.prepare(one)).toBe(202);
    }
    expect(await house.money()).toEqual({ ...START, ana: [700, 0, 0], luz: [40, 0, 0], bank: [300, 40] });
    const before = ledger.told.length;
    await house.go(asked[0]!, 'commit');
    await ledger.waitFor(before + 1);
    expect(ledger.told.at(-1)!.custom).toMatchObject({ handle: asked[0]!.handle, status: 'committed' });
  });

  test('an abort before its prepare is kept, and the prepare that comes later does nothing', async () => {
    let house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    expect(await house.go(debit, 'abort')).toBe(202);
    await reported(debit, 'aborted');
    house = await restart(house);
    const before = ledger.told.length;
    expect(await house.prepare(debit)).toBe(202);
    expect(await house.money()).toEqual(START);
    await ledger.waitFor(before + 1);
    expect(ledger.told.at(-1)!.custom.status).toBe('aborted');
    expect(await house.go(debit, 'commit')).toBe(409);
  });

  test('a commit of what was never prepared, an abort of what is committed, a commit of what is aborted', async () => {
    const house = await open();
    const [unseen, done, undone] = [1, 2, 3].map((amount) => entryOf(ledger, 'debit', 'ana', amount)) as Asked[];
    expect(await house.go(unseen!, 'commit')).toBe(409);
    await house.prepare(done!);
    await house.go(done!, 'commit');
    expect(await house.go(done!, 'abort')).toBe(409);
    await house.prepare(undone!);
    await house.go(undone!, 'abort');
    expect(await house.go(undone!, 'commit')).toBe(409);
    expect(await house.money()).toEqual({ ...START, ana: [998, 0, 0], bank: [2, 0] });
  });

  test('another entry under a handle that is taken', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    const others = [
      entryOf(ledger, 'debit', 'ana', 300, { handle: debit.handle }),
      { ...debit, body: signed({ ...debit.body.data, source: { handle: 'luz' } }, ledger.keys) },
    ];
    for (const other of others) expect(await house.prepare(other)).toBe(409);
    expect(await house.go(others[0]!, 'commit')).toBe(409);
    expect(await house.go({ ...debit, kind: 'credit' }, 'commit')).toBe(409);
    expect(await house.money()).toEqual({ ...START, ana: [700, 300, 0] });
  });

  test('an entry of the same intent and account, and of another amount', async () => {
    const house = await open();
    const { body, ...debit } = entryOf(ledger, 'debit', 'ana', 300);
    const [claim] = debit.intent.data.claims;
    const intent = ledger.intent('of-two-claims', [claim, { ...claim, amount: 200 }]);
    const of = (amount: number, input: number) => {
      return { ...debit, intent, body: signed({ ...body.data, intent, amount, inputs: [input] }, ledger.keys) };
    };
    expect([await house.prepare(of(300, 0)), await house.prepare(of(200, 1))]).toEqual([202, 409]);
    expect(await house.money()).toEqual({ ...START, ana: [700, 300, 0] });
  });

  test('a bank with all the entries it keeps prepares no more, and ends those it has', async () => {
    const house = await open({ entriesMax: 1 });
    const [first, second] = [entryOf(ledger, 'debit', 'ana', 1), entryOf(ledger, 'debit', 'ana', 2)];
    await house.prepare(first);
    expect(await house.prepare(second)).toBe(503);
    expect(await house.go(second, 'abort')).toBe(503);
    expect(await house.go(first, 'commit')).toBe(202);
    expect(await house.money()).toEqual({ ...START, ana: [999, 0, 0], bank: [1, 0] });
  });
});

describe('a bank of one of several ledgers', () => {
  test.each([
    ['of its own', { ledger: 'mine' }, 202],
    ['of another', { ledger: 'theirs' }, 401],
    ['of nobody in particular', {}, 401],
  ])('and a call %s', async (_, more, status) => {
    const told = await open({ ledgerHandles: ['mine'] });
    const { body } = entryOf(ledger, 'debit', 'ana', 1);
    const custom = { bridge: 'bank-a', moment: new Date().toISOString(), ...more };
    const named = { ...body, meta: { proofs: [proof(body.hash, ledger.keys, custom)] } };
    const answer = async (house: House): Promise<number> => (await house.send('POST', '/debits', named)).status;
    expect(await answer(told)).toBe(status);
    // Books of before know the key alone, and learn whose calls to believe at a later start.
    const before = await open();
    expect(await answer(before)).toBe(202);
    await before.close();
    const learning = await open({ disk: before.disk, learnt: 'mine' });
    expect(await answer(learning)).toBe(status);
    await learning.close();
    expect(await answer(await open({ disk: before.disk })), 'it is kept').toBe(status);
  });

  test.each([
    [['new', 'mine'], 202],
    [['new'], 401],
  ])('that was renamed, where it is told of it as %j', async (ledgerHandles, status) => {
    const house = await open({ ledgerHandles });
    const { body } = entryOf(ledger, 'debit', 'ana', 1);
    const custom = { bridge: 'bank-a', ledger: 'mine', moment: new Date().toISOString() };
    const named = { ...body, meta: { proofs: [proof(body.hash, ledger.keys, custom)] } };
    expect((await house.send('POST', '/debits', named)).status).toBe(status);
  });
});

test('a commit of an intent of whose legs the ledger has said hundreds of things is done: it was refused for ever', async () => {
  const house = await open();
  const debit = entryOf(ledger, 'debit', 'ana', 300);
  await house.prepare(debit);
  const said = Array.from({ length: 300 }, (_, n) => proof(debit.intent.hash, ledger.keys, { n, status: 'error' }));
  const intent = { ...debit.intent, meta: { ...debit.intent.meta, proofs: [...debit.intent.meta.proofs, ...said] } };
  const bad = { ...intent, meta: { proofs: [...intent.meta.proofs, proof('b'.repeat(64), ledger.keys)] } };
  expect(await house.go({ ...debit, intent: bad }, 'commit')).toBe(401);
  expect(await house.go({ ...debit, intent }, 'commit')).toBe(202);
  expect(await house.money()).toEqual({ ...START, ana: [700, 0, 0], bank: [300, 0] });
});

test('a commit of an intent with a proof as deep as a server can be told to take is done: it was refused for ever', async () => {
  const house = await open();
  const debit = entryOf(ledger, 'debit', 'ana', 300);
  await house.prepare(debit);
  const { proofs } = debit.intent.meta;
  // In a body of its own it has one level more around it.
  const deep = JSON.parse(`${'{"a":'.repeat(511)}1${'}'.repeat(511)}`);
  const intent = {
    ...debit.intent,
    meta: { ...debit.intent.meta, proofs: [...proofs, proof(debit.intent.hash, makeKeys(), deep)] },
  };
  expect(await house.go({ ...debit, intent }, 'commit')).toBe(202);
  expect(await house.money()).toEqual({ ...START, ana: [700, 0, 0], bank: [300, 0] });
});

test.each([
  ['of another bank', { bridge: 'bank-b' }],
  ['of nobody in particular', {}],
])('a call for the bridge %s, handed on by whoever was asked: it moved the account of that name', async (_, more) => {
  const house = await open();
  const custom = { ledger: 'main', moment: new Date().toISOString() };
  const send = async (path: string, body: Json, to: Json): Promise<number> => {
    const handedOn = { ...body, meta: { proofs: [proof(body.hash, ledger.keys, { ...custom, ...to })] } };
    return (await house.send('POST', path, handedOn)).status;
  };
  const credit = entryOf(ledger, 'credit', 'none', 500, {}, { wallet: 'luz' });
  expect(await send('/credits', credit.body, more)).toBe(401);
  expect(await send('/credits', credit.body, { bridge: 'bank-a' })).toBe(202);
  const { handle, intent } = credit;
  const commit = signed({ action: 'commit', handle, intent }, ledger.keys);
  expect(await send(`/credits/${handle}/commit`, commit, more)).toBe(401);
  expect(await house.money()).toEqual({ ...START, luz: [0, 0, 500] });
});
