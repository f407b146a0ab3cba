/**
 * The bank behind its port: what it does with each request, the same one again, one out of order and one that is
 * forged; and that its books are what its file says, after every kind of end.
 */
import { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { DamageError } from '../../src/bridge/lines.ts';
import { type Json, makeKeys, proof, verifyRecord } from '../support/client.ts';
import { pause, until } from '../support/kit.ts';
import {
  type Asked,
  BANK_KEYS,
  DIRECTORY,
  entryOf,
  type FakeLedger,
  FILE,
  type House,
  type HouseOptions,
  openHouse,
  openLedger,
  resigned,
  signed,
} from './kit.ts';

let ledger: FakeLedger;
const houses: House[] = [];

beforeAll(async () => {
  ledger = await openLedger();
});
afterEach(async () => {
  for (const house of houses.splice(0)) await house.kill();
});
afterAll(() => ledger.close());

async function open(options: HouseOptions = {}): Promise<House> {
  const house = await openHouse(ledger, options);
  houses.push(house);
  return house;
}

/** Stops the bank and starts it on the same file. */
async function restart(house: House, options: HouseOptions = {}): Promise<House> {
  houses.splice(houses.indexOf(house), 1);
  await house.close();
  return open({ ...options, disk: house.disk });
}

const START = { ana: [1000, 0, 0], luz: [0, 0, 0], old: [50, 0, 0], bank: [0, 0] };

/** The custom of the next report about an entry. */
async function reported(asked: Asked, status: string): Promise<Json> {
  for (let count = 1; ; count++) {
    const told = (await ledger.waitFor(count)).find(
      ({ custom }) => custom.handle === asked.handle && custom.status === status,
    );
    if (told !== undefined) return told.custom;
  }
}

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

  test('holds, then is released', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    expect(await house.go(debit, 'abort')).toBe(202);
    expect(await house.money()).toEqual(START);
    await reported(debit, 'aborted');
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
    await reported(asked, 'aborted');
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
    expect((await house.money()).ana).toEqual([980, 20, 0]);
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

describe('a forged body changes nothing', () => {
  const stranger = makeKeys();
  const turned = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
  type Change = (body: Json) => Json;
  /** Changes the data and signs it as the ledger would: what is wrong then is inside. */
  const inside =
    (more: (data: Json) => Json): Change =>
    (body) =>
      signed({ ...body.data, ...more(body.data) }, ledger.keys);
  const withIntent = (change: Change): Change => inside(({ intent }) => ({ intent: change(intent) }));
  const FORGERIES: [what: string, status: number, change: Change][] = [
    ['amount changed', 422, (body) => ({ ...body, data: { ...body.data, amount: 1 } })],
    ['a hash of something else', 401, (body) => ({ ...body, hash: 'a'.repeat(64) })],
    ['no hash', 422, ({ data, meta }) => ({ data, meta })],
    ['no proof', 401, (body) => ({ ...body, meta: { proofs: [] } })],
    ['no meta', 422, ({ hash, data }) => ({ hash, data })],
    ["a stranger's signature", 401, (body) => resigned(body, stranger)],
    ["the bank's own signature", 401, (body) => resigned(body, BANK_KEYS)],
    [
      "a stranger's signature under the ledger's key",
      401,
      (body) => {
        const [given] = resigned(body, stranger).meta.proofs;
        return { ...body, meta: { proofs: [{ ...given, public: ledger.keys.public }] } };
      },
    ],
    [
      'one bit of the signature turned',
      401,
      (body) => {
        const [given] = body.meta.proofs;
        return { ...body, meta: { proofs: [{ ...given, result: turned(given.result) }] } };
      },
    ],
    [
      'a digest of something else',
      401,
      (body) => ({ ...body, meta: { proofs: [{ ...body.meta.proofs[0], digest: 'a'.repeat(64) }] } }),
    ],
    [
      'a custom that was not signed',
      401,
      (body) => ({ ...body, meta: { proofs: [{ ...body.meta.proofs[0], custom: { moment: 'now' } }] } }),
    ],
    [
      'a proof of another record beside the right one',
      401,
      (body) => ({ ...body, meta: { proofs: [...body.meta.proofs, proof('b'.repeat(64), ledger.keys)] } }),
    ],
    ['an intent with other claims', 422, withIntent((intent) => ({ ...intent, data: { ...intent.data, claims: [] } }))],
    ['an intent the ledger has not signed', 401, withIntent((intent) => resigned(intent, stranger))],
    ['no intent', 422, inside(() => ({ intent: undefined }))],
    ['more than the claim', 422, inside(() => ({ amount: 301 }))],
    ['another symbol than the claim', 422, inside(() => ({ symbol: { handle: 'eur' } }))],
    ['a claim that is not there', 422, inside(() => ({ inputs: [1] }))],
    [
      'a claim that takes from nobody',
      422,
      withIntent((intent) => {
        const [{ source: _, ...rest }] = intent.data.claims;
        return signed({ ...intent.data, claims: [{ ...rest, action: 'issue' }] }, ledger.keys);
      }),
    ],
    ['a claim twice', 422, inside(() => ({ inputs: [0, 0], amount: 600 }))],
    ['no claim', 422, inside(() => ({ inputs: [] }))],
    ['an amount below zero', 422, inside(() => ({ amount: -300 }))],
    ['an amount that is no number', 422, inside(() => ({ amount: '300' }))],
    ['a credit', 422, inside(() => ({ schema: 'credit' }))],
    ['a handle of no debit', 422, inside(() => ({ handle: 'cre_1' }))],
    ['no source', 422, inside(() => ({ source: undefined }))],
    [
      'no symbol, nor one in the claim',
      422,
      inside(({ intent }) => {
        const [{ symbol: _, ...claim }] = intent.data.claims;
        return { symbol: undefined, intent: signed({ ...intent.data, claims: [claim] }, ledger.keys) };
      }),
    ],
    ['an intent of no name', 422, withIntent(({ data }) => signed({ ...data, handle: '' }, ledger.keys))],
  ];
  test.each(FORGERIES)('%s: %i', async (_, status, change) => {
    const house = await open();
    const before = house.disk.bytesOf(FILE);
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const answer = await house.send('POST', '/debits', change(debit.body));
    expect(answer.status).toBe(status);
    verifyRecord(answer.body, BANK_KEYS.public);
    expect(await house.money()).toEqual(START);
    expect(house.disk.bytesOf(FILE).equals(before)).toBe(true);
    // The true one is still taken.
    expect(await house.prepare(debit)).toBe(202);
  });

  test.each([
    ['another entry in the path', { handle: 'deb_other' }],
    ['another action in the path', { action: 'abort' }],
    ['no intent', { intent: undefined }],
  ])('a commit with %s', async (_, more) => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    expect(await house.go(debit, 'commit', more)).toBe(422);
    expect(await house.money()).toEqual({ ...START, ana: [700, 300, 0] });
  });

  test.each<[string, string, number]>([
    ['nothing', '', 400],
    ['no JSON', '{', 400],
    ['a list', '[]', 400],
    [
      'nested too deep',
      `{"hash":"${'a'.repeat(64)}","meta":{"proofs":[]},"data":${'{"a":'.repeat(15_000)}1${'}'.repeat(15_001)}`,
      400,
    ],
    ['more than the bank takes', `{"a":"${'a'.repeat(100_000)}"}`, 413],
  ])('a body that is %s', async (_, body, status) => {
    const house = await open();
    expect((await house.send('POST', '/debits', body)).status).toBe(status);
  });

  test('a large one while others of that size are on their way: for now, and small ones are taken', async () => {
    const house = await open({ bodyBytesMax: 600_000, largeBytesMax: 500_000 });
    const slow = new Socket().connect(Number(new URL(house.url).port), '127.0.0.1');
    slow.on('error', () => {});
    slow.write(`POST /debits HTTP/1.1\r\nhost: bank\r\ncontent-length: 550000\r\n\r\n${' '.repeat(300_000)}`);
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const large = `${' '.repeat(400_000)}${JSON.stringify(debit.body)}`;
    const status = async (body: Json): Promise<number> => (await house.send('POST', '/debits', body)).status;
    await until(async () => (await status(large)) === 503, 'a refusal');
    expect(await status(debit.body)).toBe(202);
    slow.destroy();
    await until(async () => (await status(large)) === 202, 'the room that was left');
    // None of it is kept by those that were sent away, nor by those that were taken.
    for (let n = 0; n < 5; n++) expect(await status(large)).toBe(202);
  });

  test('nobody who does not bring the header', async () => {
    const house = await open({ header: { name: 'x-key', value: 'open sesame' } });
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const tries: [Record<string, string>, number][] = [
      [{}, 401],
      [{ 'x-key': 'open' }, 401],
      [{ 'X-Key': 'open sesame' }, 202],
    ];
    for (const [headers, status] of tries) {
      expect((await house.send('POST', '/debits', debit.body, headers)).status).toBe(status);
    }
  });

  test('paths and methods it does not know', async () => {
    const house = await open();
    for (const [method, path, status] of [
      ['GET', '/nothing', 404],
      ['GET', '//', 404],
      ['GET', '/debits', 405],
      ['POST', '/debits/deb_1/delete', 404],
      ['DELETE', '/accounts', 405],
    ] as const) {
      const answer = await house.send(method, path);
      expect([path, answer.status, answer.body.data.reason]).toEqual([path, status, 'api.route-not-found']);
    }
  });
});

describe('what the ledger tells', () => {
  test('the status of an intent is the one signed, not the one beside the proofs', async () => {
    const house = await open();
    const intent = ledger.intent('told', [], 'completed');
    const lie = { ...intent, meta: { ...intent.meta, status: 'rejected' } };
    expect((await house.send('PUT', '/intents/told', lie)).status).toBe(202);
    const { intents } = (await house.send('GET', '/intents')).body.data;
    expect(intents).toEqual([{ handle: 'told', status: 'completed' }]);
    expect((await house.send('PUT', '/intents/other', intent)).status).toBe(422);
    expect((await house.send('PUT', '/intents/told', resigned(intent, makeKeys()))).status).toBe(401);
  });

  test('what stands among the proofs and is none is passed by: it was told as a defect, and as 503', async () => {
    const house = await open({ ledgerHandles: ['main'] });
    const amid = (body: Json): Json => ({
      ...body,
      meta: { ...body.meta, proofs: [null, 'x', ...body.meta.proofs, 7] },
    });
    expect((await house.send('PUT', '/intents/told', amid(ledger.intent('told', [])))).status).toBe(202);
    const event = signed({ handle: 'evt_1', signal: 'balance-received' }, ledger.keys);
    expect((await house.send('POST', '/effects/notify', amid(event))).status).toBe(202);
    const stranger = resigned(event, makeKeys());
    expect((await house.send('POST', '/effects/notify', amid(stranger))).status).toBe(401);
  });

  test.each<[what: string, method: string, path: string, status: number, make: () => Json]>([
    ['an intent that is no JSON', 'PUT', '/intents/told', 400, () => '{'],
    [
      'an intent of whose status it has signed nothing',
      ...(['PUT', '/intents/told', 422] as const),
      () => ({ ...signed({ handle: 'told', claims: [] }, ledger.keys), status: 'completed' }),
    ],
    ['an event that is a list', 'POST', '/effects/notify', 400, () => '[]'],
    [
      'an event of another name',
      ...(['POST', '/effects/notify', 422] as const),
      () => signed({ handle: 'deb_1', signal: 'balance-received' }, ledger.keys),
    ],
    [
      'an event of no name',
      ...(['POST', '/effects/notify', 422] as const),
      () => signed({ signal: 'balance-received' }, ledger.keys),
    ],
    [
      'an event of no signal',
      ...(['POST', '/effects/notify', 422] as const),
      () => signed({ handle: 'evt_1' }, ledger.keys),
    ],
  ])('%s is not taken', async (_, method, path, status, make) => {
    const house = await open();
    const before = house.disk.bytesOf(FILE);
    const answer = await house.send(method, path, make());
    expect(answer.status).toBe(status);
    verifyRecord(answer.body, BANK_KEYS.public);
    expect(house.disk.bytesOf(FILE).equals(before)).toBe(true);
    expect((await house.send('GET', '/intents')).body.data.intents).toEqual([]);
  });

  test('an event is taken once, however often it comes', async () => {
    const house = await open();
    const event = signed({ handle: 'evt_1', signal: 'balance-received' }, ledger.keys);
    expect((await house.send('POST', '/effects/notify', event)).status).toBe(202);
    const size = house.disk.bytesOf(FILE).length;
    expect((await house.send('POST', '/effects/notify', event)).status).toBe(202);
    expect(house.disk.bytesOf(FILE).length).toBe(size);
    expect((await house.send('POST', '/effects/notify', resigned(event, makeKeys()))).status).toBe(401);
  });
});

describe('the books', () => {
  test('who it is, and its entries, page by page', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    const self = (await house.send('GET', '/')).body;
    verifyRecord(self, BANK_KEYS.public);
    expect(self.data).toMatchObject({ name: 'bank-a', symbol: 'usd', ledger: ledger.keys.public, entries: 1 });
    const { entries, next } = (await house.send('GET', '/entries')).body.data;
    expect(entries).toMatchObject([{ handle: debit.handle, account: 'ana', amount: 300, state: 'prepared' }]);
    expect((await house.send('GET', `/entries?from=${next}`)).body.data.entries).toEqual([]);
  });

  test('are the same after a stop, a kill and a power cut', async () => {
    let house = await open();
    const [held, moved, promised] = [
      entryOf(ledger, 'debit', 'ana', 100),
      entryOf(ledger, 'debit', 'ana', 20),
      entryOf(ledger, 'credit', 'luz', 3),
    ];
    for (const asked of [held, moved, promised]) await house.prepare(asked);
    await house.go(moved, 'commit');
    const money = { ...START, ana: [880, 100, 0], luz: [0, 0, 3], bank: [20, 0] };
    expect(await house.money()).toEqual(money);
    house = await restart(house);
    expect(await house.money()).toEqual(money);
    for (const end of ['kill', 'crash'] as const) {
      await house.kill();
      if (end === 'crash') house.disk.crash();
      houses.pop();
      house = await open({ disk: house.disk });
      expect(await house.money()).toEqual(money);
    }
    expect(await house.go(held, 'abort')).toBe(202);
    expect(await house.go(promised, 'commit')).toBe(202);
    expect(await house.money()).toEqual({ ...START, ana: [980, 0, 0], luz: [3, 0, 0], bank: [20, 3] });
  });

  test('no answer and no report leave before the disk has it', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const before = ledger.told.length;
    house.disk.holdSyncs();
    const answers: number[] = [];
    const note = ({ status }: { status: number }) => answers.push(status);
    const all: Promise<number>[] = [house.send('POST', '/debits', debit.body).then(note)];
    await until(() => house.bank.books.entries.get(debit.handle), 'the entry');
    all.push(house.send('POST', '/debits', debit.body).then(note), house.send('GET', '/accounts').then(note));
    await pause(100);
    expect([answers, ledger.told.length]).toEqual([[], before]);
    house.disk.releaseSyncs();
    await Promise.all(all);
    expect(answers.toSorted()).toEqual([200, 202, 202]);
  });

  test('what comes during a sync is not told with what the sync has written', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const abort = signed({ handle: debit.handle, action: 'abort', intent: debit.intent }, ledger.keys);
    const handle = (method: string, path: string, body: Json = '') =>
      house.bank.handle(method, path, Buffer.from(JSON.stringify(body)));
    house.disk.holdSyncs();
    const prepared = handle('POST', '/debits', debit.body);
    const shown = handle('GET', '/accounts');
    const aborted = handle('POST', `/debits/${debit.handle}/abort`, abort);
    // The abort waits for the next sync, and that one fails.
    house.disk.inject({ call: 'sync', skip: 1, code: 'EIO' });
    house.disk.releaseSyncs();
    expect((await prepared).status).toBe(202);
    expect(JSON.parse((await shown).body).data.accounts[0]).toMatchObject({ available: 700, held: 300 });
    await expect(aborted).rejects.toThrow('EIO');
    await reported(debit, 'prepared');
    await pause(100);
    expect(ledger.told.filter(({ custom }) => custom.handle === debit.handle)).toHaveLength(1);
  });

  test('a disk that fails ends the bank, and nobody is told that it was done', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const before = ledger.told.length;
    house.disk.inject({ call: 'sync', code: 'EIO' });
    expect(await house.prepare(debit)).toBe(503);
    expect(house.fatal).toHaveLength(1);
    expect((await house.send('GET', '/accounts')).status).toBe(503);
    expect(ledger.told.length).toBe(before);
  });

  test('that were damaged stop the start', async () => {
    const house = await open();
    await house.prepare(entryOf(ledger, 'debit', 'ana', 300));
    await house.kill();
    houses.pop();
    const bytes = house.disk.bytesOf(FILE);
    bytes[100]! ^= 1;
    house.disk.put(FILE, bytes);
    await expect(open({ disk: house.disk })).rejects.toThrow(DamageError);
  });

  test('whose facts do not add up stop the start', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    await house.kill();
    houses.pop();
    const { Lines } = await import('../../src/bridge/lines.ts');
    const { lines } = Lines.open<object>(
      house.disk,
      DIRECTORY,
      'books.jsonl',
      () => {},
      () => {},
    );
    await lines.append({ type: 'step', entry: debit.handle, state: 'committed', moment: '' });
    await lines.append({ type: 'step', entry: debit.handle, state: 'aborted', moment: '' });
    await lines.close();
    await expect(open({ disk: house.disk })).rejects.toThrow('goes from prepared');
  });

  test('believe one ledger', async () => {
    const house = await open();
    await house.close();
    houses.pop();
    const other = await openLedger(2);
    await expect(openHouse(other, { disk: house.disk })).rejects.toThrow('believe the ledger');
    await other.close();
  });
});
