/**
 * What banks report, late, twice, against each other, about what is not theirs, or not at all: only what is waited for
 * moves anything, and nobody else waits because of it.
 */
import { describe, expect, test } from 'vitest';
import { Bank, inStatus, readIntent, report, reportOf, type Town } from '../support/bank.ts';
import { connect, type Json, makeKeys, proof } from '../support/client.ts';
import { makeKit, openLedger, pause, proofFor, reasonOf, statuses, transfer } from '../support/kit.ts';
import { hookOfFile, serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();
const hook = await hookOfFile();
const { server, client, kit } = await serverOfFile(keys);
const town: Town = { client, kit, hook, symbol: await kit.symbol() };

const money = (...wallets: string[]): Promise<number[]> =>
  Promise.all(wallets.map((wallet) => town.kit.balance(wallet, town.symbol)));

interface Deal {
  intent: Json;
  from: Bank;
  into: Bank;
  wallets: [string, string];
  debit: string;
}

/** A transfer of 25 from one bank to another, whose debit has been asked. */
async function deal(data: Json = {}): Promise<Deal> {
  const [from, into] = [await Bank.open(town), await Bank.open(town)];
  const wallets: [string, string] = [await from.wallet(), await into.wallet()];
  const intent = (await town.kit.send([transfer(...wallets, town.symbol, 25)], { data })).body;
  return { intent, from, into, wallets, debit: await from.entry(intent, 'debits') };
}

const say = ({ intent, from }: Deal, entry: string, status: string, more: Json = {}): Promise<number> =>
  report(client, intent, entry, from.keys, status, more);

describe('a report', () => {
  test('that contradicts the one before changes nothing, in whichever order', async () => {
    const one = await deal();
    await say(one, one.debit, 'prepared');
    for (const status of ['failed', 'aborted', 'committed', 'prepared']) await say(one, one.debit, status);
    expect((await readIntent(client, one.intent)).meta.status).toBe('pending');
    const credit = await one.into.entry(one.intent, 'credits');
    await say(one, credit, 'failed', { reason: 'bridge.no', detail: 'no' });
    for (const status of ['prepared', 'committed']) await say(one, credit, status);
    expect((await inStatus(client, one.intent, 'aborted')).meta.status).toBe('aborted');
    await one.from.asked(one.intent, 'debits', 'abort');
    for (const status of ['committed', 'prepared', 'aborted']) await say(one, one.debit, status);
    await inStatus(client, one.intent, 'rejected');
    expect(await money(...one.wallets)).toEqual([0, 0]);
    expect(one.from.calls.filter(({ path }) => path.endsWith('/commit'))).toEqual([]);
  });

  test('of a credit that was not asked yet does not make it ready', async () => {
    const one = await deal();
    const early = one.debit.replace('deb_', 'cre_').replace(/\.0$/, '.1');
    expect(await say(one, early, 'prepared')).toBe(200);
    await say(one, one.debit, 'prepared');
    const credit = await one.into.entry(one.intent, 'credits');
    expect(credit).toBe(early);
    expect((await readIntent(client, one.intent)).meta.status).toBe('pending');
    await say(one, credit, 'prepared');
    await inStatus(client, one.intent, 'committed');
  });

  test('of another intent moves neither, whatever it says, also where it rests prepared', async () => {
    const [one, other] = [await deal({ config: { commit: 'manual' } }), await deal()];
    for (const status of ['prepared', 'failed', 'committed', 'aborted']) {
      expect(await report(client, one.intent, other.debit, other.from.keys, status)).toBe(200);
    }
    expect((await readIntent(client, one.intent)).meta.status).toBe('pending');
    await say(one, one.debit, 'prepared');
    await say(one, await one.into.entry(one.intent, 'credits'), 'prepared');
    await inStatus(client, one.intent, 'prepared');
    for (const status of ['committed', 'aborted']) {
      expect(await report(client, one.intent, other.debit, other.from.keys, status)).toBe(200);
    }
    expect((await readIntent(client, one.intent)).meta.status).toBe('prepared');
    expect((await readIntent(client, other.intent)).meta.status).toBe('pending');
  });

  test.each(['deb_', 'deb_x.0', '', 'cre_%s.0', 'deb_%s.00', 'deb_%s.1', 'deb_%s.-1', 'deb_%s.0.0', 'DEB_%s.0'])(
    'about %j, which is no entry, moves nothing',
    async (name) => {
      const one = await deal();
      expect(await say(one, name.replace('%s', one.intent.luid.slice(5)), 'prepared')).toBe(200);
      const stored = await readIntent(client, one.intent);
      expect(statuses(stored)).toEqual(['created', 'pending', 'prepared']);
      expect(stored.meta.status).toBe('pending');
    },
  );

  test('over another hash, or with a digest of its own, is refused and kept nowhere', async () => {
    const one = await deal();
    const send = (body: Json) => client.post(`/intents/${one.intent.data.handle}/proofs`, body);
    const custom = { moment: new Date().toISOString(), handle: one.debit, status: 'prepared' };
    const elsewhere = proof('ab'.repeat(32), one.from.keys, custom);
    expect(reasonOf(await send(elsewhere))).toEqual([422, 'crypto.signature-invalid']);
    const good = reportOf(one.intent, one.debit, one.from.keys, { status: 'prepared' });
    expect((await send({ ...good, custom: { ...good.custom, status: 'failed' } })).status).toBe(422);
    expect((await send({ ...good, digest: 'ab'.repeat(32) })).status).toBe(422);
    const stored = await readIntent(client, one.intent);
    expect(statuses(stored)).toEqual(['created', 'pending']);
    expect((await send(good)).status).toBe(200);
    await one.into.asked(one.intent, 'credits');
  });

  test('sent a hundred times at once moves once', async () => {
    const one = await deal();
    const same = reportOf(one.intent, one.debit, one.from.keys, { status: 'prepared' });
    const path = `/intents/${one.intent.data.handle}/proofs`;
    const again = Array.from({ length: 50 }, () => client.post(path, same));
    const others = Array.from({ length: 50 }, (_, n) => say(one, one.debit, 'prepared', { coreId: String(n) }));
    expect(new Set((await Promise.all(again)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(await Promise.all(others))).toEqual(new Set([200]));
    await one.into.asked(one.intent, 'credits');
    await pause(200);
    expect(one.into.calls).toHaveLength(1);
    const said = statuses(await readIntent(client, one.intent));
    expect(said.filter((status) => status === 'prepared')).toHaveLength(51);
  });
});

describe('in a ledger that is closed', () => {
  test('only who may activate the bridge reports for it: others are 403 and move nothing', async () => {
    const [bank, stranger] = [makeKeys(), makeKeys()];
    const mine = { signer: { public: keys.public } };
    const { data } = await openLedger(client, keys, {
      access: [
        { action: 'any', record: 'any', ...mine },
        { action: { $in: ['access', 'read'] }, record: 'any' },
        { action: 'create', record: 'intent-proof', signer: {} },
      ],
    });
    const closed = connect(server, { 'x-ledger': data.handle });
    const kit = makeKit(closed, keys);
    const symbol = await kit.symbol();
    const own = { ...town, client: closed, kit, symbol };
    const from = await Bank.open(own, { access: [{ action: 'activate', signer: { public: bank.public } }] }, bank);
    const wallet = await from.wallet();
    const intent = (await kit.send([transfer(wallet, await kit.wallet(), symbol, 5)])).body;
    const entry = await from.entry(intent, 'debits');
    for (const status of ['prepared', 'failed', 'committed', 'aborted']) {
      const body = reportOf(intent, entry, stranger, { status });
      expect(reasonOf(await closed.post(`/intents/${intent.data.handle}/proofs`, body))).toEqual([
        403,
        'auth.forbidden',
      ]);
    }
    expect(statuses(await readIntent(closed, intent))).toEqual(['created', 'pending']);
    expect(await report(closed, intent, entry, bank, 'prepared')).toBe(200);
    await inStatus(closed, intent, 'committed');
    expect(await report(closed, intent, entry, stranger, 'committed')).toBe(403);
    expect(await report(closed, intent, entry, bank, 'committed')).toBe(200);
    await inStatus(closed, intent, 'completed');
  });
});

describe('commit by hand', () => {
  test.each([
    ['commit', 'completed', [-25, 25]],
    ['abort', 'rejected', [0, 0]],
  ] as const)('%s: both banks are told, and it ends %s', async (action, end, after) => {
    const one = await deal({ config: { commit: 'manual' } });
    await say(one, one.debit, 'prepared');
    const credit = await one.into.entry(one.intent, 'credits');
    await say(one, credit, 'prepared');
    await inStatus(client, one.intent, 'prepared');
    await pause(150);
    expect([...one.from.calls, ...one.into.calls]).toHaveLength(2);
    // What is held is not available, and shown as what it is.
    const [wallet] = one.wallets;
    expect([await money(wallet), await town.kit.balance(wallet, town.symbol, 'reserved')]).toEqual([[-25], 25]);
    await client.post(`/intents/${one.intent.data.handle}/proofs`, proofFor(one.intent, keys, { action }));
    await one.from.asked(one.intent, 'debits', action);
    await one.into.asked(one.intent, 'credits', action);
    const done = action === 'commit' ? 'committed' : 'aborted';
    await say(one, one.debit, done);
    await say(one, credit, done);
    const stored = await inStatus(client, one.intent, end);
    expect(await money(...one.wallets)).toEqual(after);
    expect(await town.kit.balance(wallet, town.symbol, 'reserved')).toBe(0);
    // An intent that is called off fails for no reason of its own.
    expect(statuses(stored).includes('failed')).toBe(false);
  });
});

describe('money that is held', () => {
  test('counts against what is available, for other intents through the same bank', async () => {
    const bank = await Bank.open(town);
    const wallet = await bank.wallet();
    const target = await town.kit.wallet();
    const first = (await town.kit.send([transfer(wallet, target, town.symbol, 900)])).body;
    const entry = await bank.entry(first, 'debits');
    expect(await town.kit.refused([transfer(wallet, target, town.symbol, 101)])).toBe('core.limit-exceeded');
    const second = (await town.kit.send([transfer(wallet, target, town.symbol, 100)])).body;
    await bank.asked(second, 'debits');
    expect(await town.kit.balance(wallet, town.symbol, 'reserved')).toBe(1000);
    await report(client, first, entry, bank.keys, 'failed');
    await inStatus(client, first, 'rejected');
    expect(await town.kit.balance(wallet, town.symbol, 'reserved')).toBe(100);
    expect(await money(wallet, target)).toEqual([-100, 0]);
  });
});

describe('a bank that never reports', () => {
  test('keeps nobody else waiting, and is not asked again by itself', async () => {
    const silent = await Bank.open(town);
    const wallet = await silent.wallet();
    const [a, b] = [await town.kit.funded(town.symbol, 1000), await town.kit.wallet()];
    const held = await Promise.all(
      Array.from({ length: 30 }, () => town.kit.send([transfer(wallet, b, town.symbol, 1)])),
    );
    await town.hook.waitFor(({ path }) => path === `${silent.path}/debits`, 30);
    for (let n = 0; n < 30; n += 1) await town.kit.done([transfer(a, b, town.symbol, 1)]);
    expect(await money(a, b)).toEqual([970, 30]);
    await pause(1500);
    expect(silent.calls).toHaveLength(30);
    for (const { body } of held) expect((await readIntent(client, body)).meta.status).toBe('pending');
  });
});

describe('who waits for the answer to an intent that is passed on', () => {
  test.each([
    ['prepared', 'completed'],
    ['failed', 'rejected'],
  ])('hears the end of it once the bank behind has said %s: %s', async (status, end) => {
    const bank = await Bank.open(town);
    const [a, d] = [await town.kit.funded(town.symbol, 100), await bank.wallet()];
    const c = await town.kit.wallet({ routes: [{ action: 'forward', target: d }] });
    const waiting = town.kit.send([transfer(a, c, town.symbol, 7)], { headers: { prefer: 'wait=20' } });
    const [call] = await town.hook.waitFor(({ path }) => path === `${bank.path}/credits`);
    const { intent, handle } = call!.body.data;
    expect(intent.meta.routed).toBe(true);
    expect(await report(client, intent, handle, bank.keys, status)).toBe(200);
    const { body } = await waiting;
    expect([body.meta.status, body.meta.thread]).toEqual([end, intent.meta.thread]);
    expect(await money(a, c)).toEqual(end === 'completed' ? [93, 0] : [100, 0]);
  });
});
