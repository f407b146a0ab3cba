/**
 * Banks that are down, say never, move, want a key or want to know; and what goes through them beside transfers: issued
 * and destroyed money, thousands of claims, money that is only passed on.
 */
import { describe, expect, test } from 'vitest';
import { Bank, inStatus, readIntent, report, type Town } from '../support/bank.ts';
import { bearer, connect, type Json, makeKeys, record, verifyRecord } from '../support/client.ts';
import type { Call } from '../support/hook.ts';
import {
  destroy,
  issue,
  makeKit,
  openLedger,
  pause,
  proofFor,
  reasonOf,
  segment,
  statuses,
  transfer,
  until,
} from '../support/kit.ts';
import { hookOfFile, serverOfFile } from '../support/of-file.ts';
import { slow } from '../support/slow.ts';

const keys = makeKeys();
const hook = await hookOfFile();
const { server, client, kit } = await serverOfFile(keys, { flags: ['--bridge-attempts-max', '2'] });
const town: Town = { client, kit, hook, symbol: await kit.symbol() };
/** Paths that begin with these are answered so. */
const answers = new Map<string, number>();
hook.answer = ({ path }) => [...answers].find(([start]) => path.startsWith(start))?.[1] ?? 202;

const balance = (wallet: string): Promise<number> => town.kit.balance(wallet, town.symbol);
const send = async (claims: Json[]): Promise<Json> => (await town.kit.send(claims)).body;

/** A bank, a wallet there, one elsewhere, and a transfer of 25 between them. */
async function debited(data: Json = {}): Promise<{ bank: Bank; wallet: string; target: string; intent: Json }> {
  const bank = await Bank.open(town, data);
  const [wallet, target] = [await bank.wallet(), await town.kit.wallet()];
  return { bank, wallet, target, intent: await send([transfer(wallet, target, town.symbol, 25)]) };
}

/** The errors that an intent's proofs tell of. */
function errors(intent: Json, count: number): Promise<Json[]> {
  return until(async () => {
    const { meta } = await readIntent(client, intent);
    const told = meta.proofs.filter((one: Json) => one.custom?.status === 'error').map((one: Json) => one.custom);
    return told.length >= count && told;
  }, `${count} errors`);
}

async function activate(bank: Bank): Promise<void> {
  const reply = await client.post(`/bridges/${bank.bridge}/activate`, undefined);
  expect(reply.status, reply.text).toBe(202);
}

/** Reports the whole of an intent's one entry. */
async function settle(bank: Bank, intent: Json, what: 'debits' | 'credits'): Promise<Json> {
  const entry = await bank.entry(intent, what);
  for (const [status, after] of [
    ['prepared', 'committed'],
    ['committed', 'completed'],
  ] as const) {
    expect(await report(client, intent, entry, bank.keys, status)).toBe(200);
    await inStatus(client, intent, after);
  }
  return readIntent(client, intent);
}

describe('a bank that is down', () => {
  test('is given up after as many attempts as are allowed, with a proof; activated, it is asked the same again', async () => {
    const name = `/down`;
    answers.set(name, 503);
    const config = { server: town.hook.url + name };
    const { bank, wallet, intent } = await debited({ config });
    const [error] = await errors(intent, 1);
    expect(error).toMatchObject({ reason: 'core.bridge-unreachable', detail: expect.stringContaining('503') });
    expect(error.handle).toMatch(/^deb_/);
    const asked = (): Call[] => town.hook.calls.filter(({ path }) => path.startsWith(name));
    expect(asked()).toHaveLength(2);
    expect([(await readIntent(client, intent)).meta.status, await balance(wallet)]).toEqual(['pending', -25]);
    await activate(bank);
    await town.hook.waitFor(({ path }) => path.startsWith(name), 4);
    answers.delete(name);
    await activate(bank);
    await town.hook.waitFor(({ path }) => path.startsWith(name), 5);
    expect(new Set(asked().map(({ text }) => text)).size).toBe(1);
    const entry = asked()[0]!.body.data.handle;
    await report(client, intent, entry, bank.keys, 'prepared');
    await report(client, intent, entry, bank.keys, 'committed');
    const stored = await inStatus(client, intent, 'completed');
    expect(statuses(stored).slice(0, 4)).toEqual(['created', 'pending', 'error', 'prepared']);
  });

  test('that says 501 is not asked twice', async () => {
    const bank = await Bank.open(town);
    answers.set(bank.path, 501);
    const wallet = await bank.wallet();
    const intent = await send([transfer(wallet, await town.kit.wallet(), town.symbol, 1)]);
    expect((await errors(intent, 1))[0].detail).toContain('501');
    await pause(1300);
    expect(bank.calls).toHaveLength(1);
    answers.delete(bank.path);
  });

  test('that has no ear for aborts, having failed, ends with the rest', async () => {
    const { bank, intent, wallet } = await debited();
    const entry = await bank.entry(intent, 'debits');
    answers.set(bank.path, 501);
    await report(client, intent, entry, bank.keys, 'failed');
    const stored = await inStatus(client, intent, 'rejected');
    expect([statuses(stored).includes('error'), await balance(wallet)]).toEqual([false, 0]);
    answers.delete(bank.path);
  });
});

describe('the record of a bridge', () => {
  test('changed between prepare and commit: the commit goes to where it says now, with the keys it says now', async () => {
    const secure = (value: string): Json[] => [{ schema: 'header', key: 'x-api-key', value }];
    const { bank, intent } = await debited({ secure: secure('one') });
    const call = await bank.asked(intent, 'debits');
    expect(call.headers['x-api-key']).toBe('one');
    const old = (await client.get(`/bridges/${bank.bridge}`)).body;
    const config = { server: `${town.hook.url}/moved` };
    const changed = await town.kit.change('bridges', old, { ...old.data, config, secure: secure('two') });
    expect(changed.status, changed.text).toBe(200);
    await report(client, intent, call.body.data.handle, bank.keys, 'prepared');
    const [commit] = await town.hook.waitFor(({ path }) => path.startsWith('/moved/debits/'));
    expect([commit!.path, commit!.headers['x-api-key']]).toEqual([
      `/moved/debits/${call.body.data.handle}/commit`,
      'two',
    ]);
    await report(client, intent, call.body.data.handle, bank.keys, 'committed');
    await inStatus(client, intent, 'completed');
  });

  test('is not dropped while a wallet or an intent needs it', async () => {
    const { bank, wallet, intent } = await debited();
    const drop = async (): Promise<Json> => {
      const record = (await client.get(`/bridges/${bank.bridge}`)).body;
      return client.del(`/bridges/${bank.bridge}`, town.kit.dropBody(record));
    };
    expect(reasonOf(await drop())).toEqual([422, 'record.drop-rejected']);
    const old = (await client.get(`/wallets/${wallet}`)).body;
    await town.kit.change('wallets', old, { handle: wallet });
    expect(reasonOf(await drop())).toEqual([422, 'record.drop-rejected']);
    await settle(bank, intent, 'debits');
    expect((await drop()).status).toBe(204);
  });

  test('who commits a hold waits for its end with that word, as who sends one', async () => {
    const bank = await Bank.open(town);
    const [wallet, target] = [await bank.wallet(), await town.kit.wallet()];
    const claims = [transfer(wallet, target, town.symbol, 25)];
    const hold = (await town.kit.send(claims, { data: { config: { commit: 'manual' } } })).body;
    const say = (action: string, prefer: string) =>
      client.post(`/intents/${hold.data.handle}/proofs`, proofFor(hold, keys, { action }), { prefer });
    const entry = await bank.entry(hold, 'debits');
    await report(client, hold, entry, bank.keys, 'prepared');
    await inStatus(client, hold, 'prepared');
    const committed = say('commit', 'wait=20');
    await bank.asked(hold, 'debits', 'commit');
    const meanwhile = await say('commit', 'wait=0');
    expect([meanwhile.body.meta.status, meanwhile.headers.get('preference-applied')]).toEqual(['committed', 'wait=0']);
    await report(client, hold, entry, bank.keys, 'committed');
    const { status, body, headers } = await committed;
    expect([status, body.meta.status, headers.get('preference-applied')]).toEqual([200, 'completed', 'wait=20']);
    expect((await say('commit', 'wait=20')).body.meta.status).toBe('completed');
  });

  test('who may read it no more meanwhile hears nothing of its end', async () => {
    const teller = makeKeys();
    const all = { action: 'any', record: 'any' };
    const own = [
      { ...all, signer: { public: keys.public } },
      { ...all, bearer: { $signer: { public: keys.public } } },
    ];
    const lent = [
      { action: { $in: ['access', 'create'] }, record: 'any', signer: { public: teller.public } },
      { action: { $in: ['access', 'read'] }, record: 'any', bearer: { $signer: { public: teller.public } } },
    ];
    const { data } = await openLedger(client, keys, { access: [...own, ...lent] });
    const at = connect(server, { 'x-ledger': data.handle, ...bearer(keys, data.handle) });
    const other = makeKit(at, keys);
    const symbol = await other.symbol();
    const claims = [issue(await other.wallet(), symbol, 5)];
    const hold = (await other.send(claims, { data: { config: { commit: 'manual' } } })).body;
    const path = `/intents/${hold.data.handle}/proofs`;
    const headers = { 'x-ledger': data.handle, ...bearer(teller, data.handle), prefer: 'wait=20' };
    const waits = connect(server, headers).post(path, proofFor(hold, teller, { comment: 'seen' }));
    await until(async () => (await at.get(`/intents/${hold.luid}`)).text.includes('seen'));
    const now = (await at.get('/ledger')).body;
    const { status: taken, text: why } = await at.put(
      '/ledger',
      record({ ...now.data, access: own, parent: now.hash }, keys),
    );
    expect(taken, why).toBe(200);
    const ended = await at.post(path, proofFor(hold, keys, { action: 'commit', secret: 'of the others' }));
    expect([ended.body.meta.status, ended.text.includes('of the others')]).toEqual(['completed', true]);
    const { status, text } = await waits;
    expect([status, text.includes('seen'), text.includes('of the others')]).toEqual([200, true, false]);
  });

  test('with the trait statuses is told how its intents go on, and of no others', async () => {
    const { bank, intent } = await debited({ traits: ['statuses'] });
    await town.kit.done([issue(await town.kit.wallet(), town.symbol, 1)]);
    await settle(bank, intent, 'debits');
    const told = await town.hook.waitFor(({ path }) => path === `${bank.path}/intents/${intent.data.handle}`, 3);
    expect(new Set(told.map(({ method }) => method))).toEqual(new Set(['PUT']));
    for (const { body } of told) verifyRecord(body, server.publicKey);
    expect(told.map(({ body }) => body.meta.status)).toEqual(['prepared', 'committed', 'completed']);
    expect(bank.calls.filter(({ method }) => method === 'PUT')).toHaveLength(3);
  });

  test.each<[string[] | undefined, number[][]]>([
    [undefined, [[0, 2], [1], [3]]],
    [['target'], [[0, 2, 3], [1]]],
    [['symbol'], [[0, 1, 2, 3]]],
    [[], [[0, 1, 2, 3]]],
  ])('groups claims by %j', async (groupBy, inputs) => {
    const config = groupBy === undefined ? {} : { 'debits.claims.groupBy': groupBy };
    const bank = await Bank.open(town, { config });
    const [wallet, b, c] = [await bank.wallet(), await town.kit.wallet(), await town.kit.wallet()];
    const claims = [b, c, b, b].map((target, n) => transfer(wallet, target, town.symbol, n + 1));
    // The same account by another name is another leg, where it counts who pays.
    claims[3]!.source = { handle: `tel:5@${wallet}` };
    const intent = await send(claims);
    const calls = await town.hook.waitFor(({ path }) => path === `${bank.path}/debits`, inputs.length);
    await pause(100);
    expect(bank.calls).toHaveLength(inputs.length);
    const asked = calls.map(({ body }) => body.data).sort((one, other) => one.inputs[0] - other.inputs[0]);
    expect(asked.map((data) => data.inputs)).toEqual(inputs);
    for (const { amount, inputs: own, target } of asked) {
      expect(amount).toBe(own.reduce((sum: number, n: number) => sum + n + 1, 0));
      const targets = new Set(own.map((n: number) => claims[n]!.target.handle));
      expect(target?.handle).toBe(targets.size === 1 ? [...targets][0] : undefined);
    }
    for (const { handle } of asked) await report(client, intent, handle, bank.keys, 'prepared');
    await inStatus(client, intent, 'committed');
  });
});

describe('through a bank', () => {
  test('money is issued and destroyed', async () => {
    const bank = await Bank.open(town);
    const wallet = await bank.wallet();
    const credit = await send([issue(wallet, town.symbol, 40)]);
    expect((await bank.asked(credit, 'credits')).body.data).toMatchObject({ amount: 40, target: { handle: wallet } });
    expect((await bank.asked(credit, 'credits')).body.data).not.toHaveProperty('source');
    await settle(bank, credit, 'credits');
    expect(await balance(wallet)).toBe(40);
    const debit = await send([destroy(wallet, town.symbol, 15)]);
    expect((await bank.asked(debit, 'debits')).body.data).not.toHaveProperty('target');
    await settle(bank, debit, 'debits');
    expect(await balance(wallet)).toBe(25);
  });

  test('money is passed on by a wallet in the middle: all three legs are prepared before any is committed', async () => {
    const [from, middle, into] = [await Bank.open(town), await Bank.open(town), await Bank.open(town)];
    const [a, d] = [await from.wallet(), await into.wallet()];
    const c = await town.kit.wallet({ bridge: middle.bridge, routes: [{ action: 'forward', target: d }] });
    const first = await send([transfer(a, c, town.symbol, 25)]);
    const ready = async (bank: Bank, intent: Json, what: 'debits' | 'credits', status = 'prepared'): Promise<void> => {
      expect(await report(client, intent, await bank.entry(intent, what), bank.keys, status)).toBe(200);
    };
    await ready(from, first, 'debits');
    await ready(middle, first, 'credits');
    await inStatus(client, first, 'prepared');
    const list = await client.get(`/intents?meta.thread=${segment(first.meta.thread)}`);
    const second = list.body.data.find(({ luid }: Json) => luid !== first.luid);
    await ready(middle, second, 'debits');
    await into.asked(second, 'credits');
    const commits = (): Call[] => town.hook.calls.filter(({ path, body }) => path.endsWith('/commit') && isOf(body));
    const isOf = (body: Json): boolean => [first.luid, second.luid].includes(body.data.intent.luid);
    expect([commits(), (await readIntent(client, first)).meta.status]).toEqual([[], 'prepared']);
    await ready(into, second, 'credits');
    await town.hook.waitFor(({ path, body }) => path.endsWith('/commit') && isOf(body), 4);
    await ready(middle, second, 'debits', 'committed');
    await ready(into, second, 'credits', 'committed');
    await inStatus(client, second, 'completed');
    expect((await readIntent(client, first)).meta.status).toBe('committed');
    await ready(from, first, 'debits', 'committed');
    await ready(middle, first, 'credits', 'committed');
    await inStatus(client, first, 'completed');
    expect(await Promise.all([a, c, d].map(balance))).toEqual([-25, 0, 25]);
  });

  slow('two thousand claims of one intent go in as many legs as they have targets, and come to one end', async () => {
    const LEGS = 20;
    const bank = await Bank.open(town);
    const source = await town.kit.funded(town.symbol, 100_000);
    const targets: string[] = [];
    for (let n = 0; n < LEGS; n += 1) targets.push(await town.kit.wallet({ bridge: bank.bridge }));
    const amounts = Array.from({ length: 2000 }, (_, n) => 1 + (n % 3));
    const intent = await send(amounts.map((amount, n) => transfer(source, targets[n % LEGS]!, town.symbol, amount)));
    for (const [status, end] of [
      ['prepared', '/credits'],
      ['committed', '/commit'],
    ] as const) {
      const isAsked = ({ path }: Call): boolean => path.startsWith(bank.path) && path.endsWith(end);
      const calls = await town.hook.waitFor(isAsked, LEGS);
      const entries = new Set<string>(calls.map(({ body }) => body.data.handle));
      expect(entries.size).toBe(LEGS);
      const said = [...entries].map((entry) => report(client, intent, entry, bank.keys, status));
      expect(new Set(await Promise.all(said))).toEqual(new Set([200]));
    }
    await inStatus(client, intent, 'completed');
    expect(await balance(source)).toBe(100_000 - amounts.reduce((sum, amount) => sum + amount, 0));
  });
});
