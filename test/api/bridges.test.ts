/**
 * Wallets that live elsewhere, and wallets that pass money on: two phases with a bridge that reports late, twice
 * or badly, and routes that forward, accept and stand in.
 */
import { describe, expect, test } from 'vitest';
import { hashOf, type Json, makeKeys, proof, verifyRecord } from '../support/client.ts';
import type { Call } from '../support/hook.ts';
import { limit, pause, segment, statuses, transfer, unique, until } from '../support/kit.ts';
import { hookOfFile, serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();
const bank = makeKeys();
const hook = await hookOfFile();
const { server, client, kit } = await serverOfFile(keys);
const usd = await kit.symbol();

const balances = (...wallets: string[]): Promise<number[]> => Promise.all(wallets.map((one) => kit.balance(one, usd)));
/** A new wallet with 100 in it. */
const funded = (): Promise<string> => kit.funded(usd, 100);

describe('a bridge', () => {
  /** A wallet behind a bridge of its own that may go down to -1000. */
  async function bridged(): Promise<{ wallet: string; path: string }> {
    const path = `/${unique('bank')}`;
    const bridge = unique('bridge');
    await kit.make('bridges', { handle: bridge, schema: 'rest', config: { server: hook.url + path } });
    const wallet = await kit.wallet({ bridge });
    await kit.done([limit(wallet, usd, 'minBalance', -1000)]);
    return { wallet, path };
  }
  const read = async (handle: string): Promise<Json> => (await client.get(`/intents/${handle}`)).body;
  const inStatus = (handle: string, status: string): Promise<Json> =>
    until(async () => {
      const stored = await read(handle);
      return stored.meta.status === status && stored;
    }, `${handle} ${status}`);
  async function report(intent: Json, entry: string, custom: Json): Promise<number> {
    const added = proof(intent.hash, bank, { moment: new Date().toISOString(), handle: entry, ...custom });
    return (await client.post(`/intents/${intent.data.handle}/proofs`, added)).status;
  }
  const to =
    (path: string) =>
    (call: Call): boolean =>
      call.method === 'POST' && call.path.startsWith(path);

  /** Sends a transfer from a bridged wallet and waits for its debit. */
  async function debited(
    amount: number,
  ): Promise<{ wallet: string; path: string; target: string; sent: Json; entry: string }> {
    const { wallet, path } = await bridged();
    const target = await kit.wallet();
    const sent = (await kit.send([transfer(wallet, target, usd, amount)])).body;
    const [call] = await hook.waitFor((one) => one.path === `${path}/debits`);
    verifyRecord(call!.body, server.publicKey);
    // One key signs for all ledgers, and to all bridges: one must see whose word it is, and that it is to itself.
    const { bridge } = (await client.get(`/wallets/${wallet}`)).body.data;
    expect(call!.body.meta.proofs[0].custom).toMatchObject({ bridge, ledger: 'main' });
    const { data } = call!.body;
    expect(data.handle).toMatch(/^deb_/);
    expect(data).toMatchObject({ schema: 'debit', amount, source: { handle: wallet }, target: { handle: target } });
    expect(data.symbol).toMatchObject({ handle: usd });
    expect(Array.isArray(data.inputs)).toBe(true);
    verifyRecord(data.intent, server.publicKey);
    expect(data.intent).toMatchObject({ hash: sent.hash, luid: sent.luid });
    return { wallet, path, target, sent, entry: data.handle };
  }

  test('prepares, commits and completes as the bank reports', async () => {
    const { wallet, path, target, sent, entry } = await debited(70);
    expect((await read(sent.data.handle)).meta.status).toBe('pending');
    expect(await balances(target)).toEqual([0]);
    expect(await report(sent, entry, { status: 'prepared', coreId: 'CB-1' })).toBe(200);
    const [commit] = await hook.waitFor(to(`${path}/debits/${entry}/commit`));
    verifyRecord(commit!.body, server.publicKey);
    expect(commit!.body.data).toMatchObject({ action: 'commit' });
    verifyRecord(commit!.body.data.intent, server.publicKey);
    expect(await report(sent, entry, { status: 'committed' })).toBe(200);
    const final = await inStatus(sent.data.handle, 'completed');
    expect(statuses(final)).toEqual(
      expect.arrayContaining(['created', 'pending', 'prepared', 'committed', 'completed']),
    );
    expect(await balances(wallet, target)).toEqual([-70, 70]);
    expect(hook.calls.filter(to(`${path}/debits/${entry}/abort`))).toHaveLength(0);
  });
  test('a failed prepare rejects the intent and names the reason of the bank', async () => {
    const { wallet, target, sent, entry } = await debited(70);
    const custom = { status: 'failed', reason: 'bridge.account-not-found', detail: 'no such account' };
    expect(await report(sent, entry, custom)).toBe(200);
    const stored = await read(sent.data.handle);
    const own = stored.meta.proofs.find(
      (one: Json) => one.public === server.publicKey && one.custom.status === 'failed',
    ).custom;
    expect(own).toMatchObject({ reason: 'core.bridge-prepare-failed', failId: 'bridge.account-not-found' });
    expect(stored.meta.status).toBe('rejected');
    expect(await balances(wallet, target)).toEqual([0, 0]);
  });
  test('late and repeated reports change nothing', async () => {
    const { wallet, path, target, sent, entry } = await debited(30);
    await report(sent, entry, { status: 'prepared', coreId: 'CB-1' });
    await report(sent, entry, { status: 'prepared', coreId: 'CB-1' });
    await hook.waitFor(to(`${path}/debits/${entry}/commit`));
    await report(sent, entry, { status: 'committed' });
    await inStatus(sent.data.handle, 'completed');
    for (const status of ['committed', 'prepared', 'failed', 'aborted']) await report(sent, entry, { status });
    expect((await read(sent.data.handle)).meta.status).toBe('completed');
    expect(await balances(wallet, target)).toEqual([-30, 30]);
  });
  test('the credit is asked after the debit is ready', async () => {
    const from = await bridged();
    const into = await bridged();
    const sent = (await kit.send([transfer(from.wallet, into.wallet, usd, 25)])).body;
    const [debit] = await hook.waitFor((one) => one.path === `${from.path}/debits`);
    await pause(150);
    expect(hook.calls.filter(to(`${into.path}/credits`))).toHaveLength(0);
    await report(sent, debit!.body.data.handle, { status: 'prepared' });
    const [credit] = await hook.waitFor((one) => one.path === `${into.path}/credits`);
    expect(credit!.body.data.handle).toMatch(/^cre_/);
    expect(credit!.body.data.schema).toBe('credit');
    await report(sent, credit!.body.data.handle, { status: 'prepared' });
    for (const [{ path }, call, kind] of [
      [from, debit, 'debits'],
      [into, credit, 'credits'],
    ] as const) {
      await hook.waitFor(to(`${path}/${kind}/${call!.body.data.handle}/commit`));
      await report(sent, call!.body.data.handle, { status: 'committed' });
    }
    await inStatus(sent.data.handle, 'completed');
    expect(await balances(from.wallet, into.wallet)).toEqual([-25, 25]);
  });
  test('a credit that fails aborts the debit', async () => {
    const from = await bridged();
    const into = await bridged();
    const sent = (await kit.send([transfer(from.wallet, into.wallet, usd, 25)])).body;
    const [debit] = await hook.waitFor((one) => one.path === `${from.path}/debits`);
    const entry = debit!.body.data.handle;
    await report(sent, entry, { status: 'prepared' });
    const [credit] = await hook.waitFor((one) => one.path === `${into.path}/credits`);
    await report(sent, credit!.body.data.handle, { status: 'failed', reason: 'bridge.account-inactive', detail: 'x' });
    await hook.waitFor(to(`${from.path}/debits/${entry}/abort`));
    await report(sent, entry, { status: 'aborted' });
    await inStatus(sent.data.handle, 'rejected');
    expect(await balances(from.wallet, into.wallet)).toEqual([0, 0]);
  });
  test('a bridge that is down is asked again with the same body', async () => {
    const { wallet, path } = await bridged();
    let refusals = 1;
    hook.answer = (call) => (call.path === `${path}/debits` && refusals-- > 0 ? 503 : 202);
    await kit.send([transfer(wallet, await kit.wallet(), usd, 5)]);
    const calls = await hook.waitFor((one) => one.path === `${path}/debits`, 2);
    hook.answer = () => 202;
    expect(calls[1]!.text).toBe(calls[0]!.text);
  });
});

describe('routes', () => {
  async function thread(stored: Json): Promise<Json[]> {
    return (await client.get(`/intents?meta.thread=${segment(stored.meta.thread)}`)).body.data;
  }
  test('forward makes a second intent of the same thread', async () => {
    const [a, d] = [await funded(), await kit.wallet()];
    const c = await kit.wallet({ routes: [{ action: 'forward', target: d, filter: { 'symbol.handle': usd } }] });
    const stored = await kit.done([transfer(a, c, usd, 40)]);
    expect(await balances(a, c, d)).toEqual([60, 0, 40]);
    const both = await thread(stored);
    expect(both.map((one) => one.meta.status)).toEqual(['completed', 'completed']);
    expect(both.map((one) => one.luid)).toContain(stored.luid);
  });
  test('both fail where the second cannot be', async () => {
    const [a, d] = [await funded(), await kit.wallet()];
    await kit.done([limit(d, usd, 'maxBalance', 10)]);
    const c = await kit.wallet({ routes: [{ action: 'forward', target: d }] });
    const stored = await kit.clear([transfer(a, c, usd, 40)]);
    expect(stored.meta.status).toBe('rejected');
    expect(await balances(a, c, d)).toEqual([100, 0, 0]);
    for (const one of await thread(stored)) expect(one.meta.status).toBe('rejected');
  });
  test('accept stops what a filter names, the next route takes the rest', async () => {
    const [a, d] = [await funded(), await kit.wallet()];
    const routes = [
      { action: 'accept', filter: { amount: { $lte: 10 } } },
      { action: 'forward', target: d },
    ];
    const c = await kit.wallet({ routes });
    await kit.done([transfer(a, c, usd, 10)]);
    expect(await balances(a, c, d)).toEqual([90, 10, 0]);
    await kit.done([transfer(a, c, usd, 11)]);
    expect(await balances(a, c, d)).toEqual([79, 10, 11]);
  });
  test('credit and debit stand in without a new intent', async () => {
    const [rich, d] = [await funded(), await kit.wallet()];
    const into = await kit.wallet({ routes: [{ action: 'credit', target: d }] });
    const from = await kit.wallet({ routes: [{ action: 'debit', target: rich }] });
    const stored = await kit.done([transfer(from, into, usd, 40)]);
    expect(await balances(rich, from, into, d)).toEqual([60, 0, 0, 40]);
    expect(await thread(stored)).toHaveLength(1);
  });
  test('an intent that routes led is routed, in the answer with Prefer: wait as in every later one', async () => {
    const [a, d] = [await funded(), await kit.wallet()];
    const credited = await kit.wallet({ routes: [{ action: 'credit', target: d }] });
    const forwarded = await kit.wallet({ routes: [{ action: 'forward', target: d }] });
    for (const [to, routed] of [
      [credited, true],
      [forwarded, true],
      [d, undefined],
    ] as const) {
      const reply = await kit.send([transfer(a, to, usd, 1)], { headers: { prefer: 'wait=5' } });
      expect([reply.body.meta.status, reply.body.meta.routed]).toEqual(['completed', routed]);
      expect((await client.get(`/intents/${reply.body.luid}`)).text).toBe(reply.text);
    }
  });
  test('no route that matches, and a ring of routes', async () => {
    const a = await funded();
    const shut = await kit.wallet({ routes: [{ action: 'accept', filter: { amount: 7 } }] });
    expect(await kit.refused([transfer(a, shut, usd, 8)])).toBe('core.routing-failed');
    await kit.done([transfer(a, shut, usd, 7)]);
    const [one, two] = [unique('ring'), unique('ring')];
    await kit.wallet({ handle: one, routes: [{ action: 'forward', target: two }] });
    await kit.wallet({ handle: two, routes: [{ action: 'forward', target: one }] });
    const stored = await kit.clear([transfer(a, one, usd, 1)]);
    expect(stored.meta.status).toBe('rejected');
    expect(JSON.stringify(await thread(stored))).toMatch(/core\.(routing-failed|thread-size-exceeded)/);
    expect(await balances(a, shut, one, two)).toEqual([93, 7, 0, 0]);
  });
});

describe('who may: the check without the act', () => {
  test('lists the rules that would grant it, without whom they name', async () => {
    const wallet = await kit.make('wallets', {
      handle: unique('wallet'),
      access: [{ action: 'spend', signer: { public: bank.public } }],
    });
    const data = { action: 'spend' };
    const ask = async (owner: Json): Promise<Json[]> => {
      const hash = hashOf(data);
      const body = { hash, data, meta: { proofs: [proof(hash, owner)] } };
      const reply = await client.post(`/wallets/${wallet.data.handle}/access/!check`, body);
      expect(reply.status, reply.text).toBe(200);
      expect(reply.body).not.toHaveProperty('page');
      return reply.body.data;
    };
    const [mine, other] = [await ask(bank), await ask(makeKeys())];
    expect(mine.length).toBe(other.length + 1);
    expect(JSON.stringify(mine)).not.toContain(bank.public);
  });
});
