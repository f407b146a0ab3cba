/**
 * Deliveries under strain: in order though some fail, at least once though the server is killed, and nobody waits for
 * somebody else's webhook; what became of each can be read.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connect, type Json, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import type { Call } from '../support/hook.ts';
import {
  issue,
  type Kit,
  luidOf,
  makeKit,
  openLedger,
  pause,
  reasonOf,
  segment,
  transfer,
  unique,
  until,
} from '../support/kit.ts';
import { often } from '../support/long.ts';
import { hookOfFile, serverOfFile } from '../support/of-file.ts';
import { hookOfTest, serverOfTest } from '../support/of-test.ts';
import { slow } from '../support/slow.ts';

const keys = makeKeys();
const hook = await hookOfFile();
/** On a busy machine a list may take longer than a second. */
const PATIENTLY = ['--list-ms-max', '60000'];
// Whoever is silent is so for longer than any of this takes.
const flags = ['--bridge-attempts-max', '2', '--call-ms-max', '600000', ...PATIENTLY];
const { client, kit, server } = await serverOfFile(keys, { flags });

/** An effect on a path of its own; its record. */
function listen(own: Kit, path: string, signal: string, more: Json = {}): Promise<Json> {
  const action = { schema: 'webhook', endpoint: hook.url + path };
  return own.make('effects', { handle: unique('effect'), signal, action, ...more });
}

const at =
  (path: string) =>
  (call: Call): boolean =>
    call.path === path;

/** Handles of the circles told at a path, in the order of their first telling. */
const circlesAt = (path: string): string[] => [
  ...new Set(hook.calls.filter(at(path)).map(({ body }) => body.data.circle.data.handle as string)),
];

async function makeCircles(own: Kit, count: number): Promise<string[]> {
  const handles = Array.from({ length: count }, () => unique('circle'));
  for (const handle of handles) await own.make('circles', { handle });
  return handles;
}

/** Rows of the list of deliveries, all pages. */
async function rowsOf(effect: Json, limit = 100, of = client): Promise<Json[]> {
  const rows: Json[] = [];
  for (let index = 0; ; index += 1) {
    const reply = await of.get(`/effects/${segment(effect.luid)}/events?page.index=${index}&page.limit=${limit}`);
    expect(reply.status, reply.text).toBe(200);
    rows.push(...reply.body.data);
    if (reply.body.data.length < limit) return rows;
  }
}

function untilRows(effect: Json, status: string, count: number, of = client): Promise<Json[]> {
  let all: Json[] = [];
  const look = async () => {
    all = await rowsOf(effect, 100, of);
    const rows = all.filter(({ meta }) => meta.status === status);
    return rows.length >= count && rows;
  };
  return until(look, () => `${count} ${status} among ${all.map(({ meta }) => meta.status)}`);
}

/** Calls of a path wait for their answer until it is given: on their way as long as nobody has seen that. All others are taken. */
function holdAt(path: string): (status: number) => void {
  let give = (_: number): void => {};
  const given = new Promise<number>((resolve) => {
    give = resolve;
  });
  hook.answer = (call) => (call.path === path ? given : 202);
  return give;
}

describe('order', () => {
  test('is kept by each effect while every fifth call fails, many write and others hear the same', async () => {
    const paths = ['/order-1', '/order-2', '/order-3'];
    for (const path of paths) await listen(kit, path, 'circle-created');
    let calls = 0;
    hook.answer = ({ path }) => (path === '/order-2' && ++calls % 5 === 0 ? 503 : 200);
    const made = (await Promise.all(Array.from({ length: 4 }, () => makeCircles(kit, 5)))).flat();
    for (const path of paths) await until(() => circlesAt(path).length >= made.length);
    hook.answer = () => 202;
    const [first, ...others] = paths.map(circlesAt);
    expect([...first!].sort()).toEqual([...made].sort());
    for (const other of others) expect(other).toEqual(first);
    const taken = hook.calls.filter(at('/order-1')).length;
    expect(taken).toBe(made.length);
  });
});

describe('a webhook that never answers', () => {
  test('delays neither the events of another nor any request', async () => {
    const silent = await hookOfTest();
    silent.silent = true;
    for (let n = 0; n < 20; n += 1) {
      const action = { schema: 'webhook', endpoint: `${silent.url}/${n}` };
      await kit.make('effects', { handle: unique('effect'), signal: 'circle-created', action });
    }
    await listen(kit, '/alive', 'circle-created');
    const made = await makeCircles(kit, 10);
    const calls = await hook.waitFor(at('/alive'), 10);
    expect(calls.map(({ body }) => body.data.circle.data.handle)).toEqual(made);
    // All of the silent are being called all the while.
    await silent.waitFor(() => true, 20);
    expect(silent.calls).toHaveLength(20);
  });
});

describe('very many webhooks that never answer', () => {
  test('delay neither the events of another ledger nor a bank of their own', async () => {
    const silent = await hookOfTest();
    silent.silent = true;
    const other = await serverOfTest({ flags: ['--calls-in-flight-max', '8', '--call-ms-max', '600000'] });
    const [own, apart] = [connect(other), connect(other, { 'x-ledger': 'apart' })].map((one) => makeKit(one, keys));
    await own!.make('ledgers', { handle: 'apart', access: [{ action: 'any', record: 'any' }] });
    for (let n = 0; n < 20; n += 1) {
      const action = { schema: 'webhook', endpoint: `${silent.url}/${n}` };
      await own!.make('effects', { handle: unique('effect'), signal: 'circle-created', action });
    }
    await listen(apart!, '/apart', 'circle-created');
    await own!.make('bridges', { handle: 'bank', config: { server: `${hook.url}/own-bank` } });
    await makeCircles(own!, 1);
    await silent.waitFor(() => true, 5);
    const made = await makeCircles(apart!, 3);
    const told = await hook.waitFor(at('/apart'), 3);
    expect(told.map(({ body }) => body.data.circle.data.handle)).toEqual(made);
    const usd = await own!.symbol();
    await own!.send([issue(await own!.wallet({ bridge: 'bank' }), usd, 1)]);
    await hook.waitFor(at('/own-bank/credits'), 1);
    expect(silent.calls.length).toBeLessThan(8);
  });
});

/** Somebody who asks everybody to come again in an hour. */
async function inAnHour(): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(503, { 'retry-after': '3600' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('who gets another address is called there at once, however long the old one was to be left alone', () => {
  test('a webhook', async () => {
    const path = `/${unique('moved')}`;
    const action = { schema: 'webhook', endpoint: await inAnHour() };
    const effect = await listen(kit, path, 'circle-created', { action });
    const made = await makeCircles(kit, 2);
    await until(async () => (await rowsOf(effect)).some(({ data }) => data.detail === 'status 503'));
    hook.answer = () => 202;
    await kit.change('effects', effect, {
      ...effect.data,
      action: { schema: 'webhook', endpoint: hook.url + path },
    });
    await hook.waitFor(at(path), 2);
    expect(circlesAt(path)).toEqual(made);
  });

  test('a bridge, for debits and for the events that go to it', async () => {
    const [path, usd] = [`/${unique('moved')}`, await kit.symbol()];
    const bridge = await kit.make('bridges', { handle: unique('bank'), config: { server: await inAnHour() } });
    const action = { schema: 'bridge', bridge: bridge.data.handle };
    const effect = await kit.make('effects', { handle: unique('effect'), signal: 'circle-created', action });
    await makeCircles(kit, 1);
    await kit.send([issue(await kit.wallet({ bridge: bridge.data.handle }), usd, 1)]);
    await until(async () => (await rowsOf(effect)).some(({ data }) => data.detail === 'status 503'));
    hook.answer = () => 202;
    await kit.change('bridges', bridge, { ...bridge.data, config: { server: hook.url + path } });
    await hook.waitFor(at(`${path}/credits`), 1);
    await hook.waitFor(at(`${path}/effects/${effect.data.handle}`), 1);
  });
});

test('a bridge that is not there is told as that: a host was looked for instead', async () => {
  const action = { schema: 'bridge', bridge: unique('nobody') };
  const effect = await listen(kit, '', 'circle-created', { action });
  await makeCircles(kit, 1);
  await until(async () => (await rowsOf(effect)).some(({ data }) => data.detail === 'there is no such bridge'));
});

describe('what became of them', () => {
  test('can be read page by page: on its way, delivered, given up; and is tried again on a word', async () => {
    const path = `/${unique('rows')}`;
    const effect = await listen(kit, path, 'circle-created');
    const [good, bad, waiting] = [await makeCircles(kit, 3), [unique('circle')], [unique('circle')]];
    await untilRows(effect, 'delivered', 3);
    const refuse = holdAt(path);
    for (const handle of [...bad, ...waiting]) await kit.make('circles', { handle });
    await untilRows(effect, 'pending', 1);
    refuse(503);
    const [failed] = await untilRows(effect, 'failed', 1);
    expect(failed.data).toMatchObject({
      attempts: 2,
      signal: 'circle-created',
      detail: expect.stringContaining('503'),
    });
    const rows = await rowsOf(effect);
    const [last, ...others] = rows.map(({ meta }) => meta.status);
    expect(others).toEqual(['failed', 'delivered', 'delivered', 'delivered']);
    // It is tried for a second more, unless this machine took as long to ask.
    expect(['pending', 'failed']).toContain(last);
    for (const row of rows) expect(row.luid).toMatch(luidOf('evd'));
    // From where it stands it can be asked for.
    const { body: events } = await client.get(`/events?after=${failed.data.seq - 1}&page.limit=1`);
    expect(events.data[0].data.handle).toBe(failed.data.event);
    expect(await rowsOf(effect, 2)).toHaveLength(5);
    expect((await rowsOf(effect, 2)).map(({ data }) => data.event)).toEqual(rows.map(({ data }) => data.event));
    await untilRows(effect, 'failed', 2);
    hook.answer = () => 202;
    const before = hook.calls.length;
    expect((await client.post(`/effects/${segment(effect.luid)}/events/retry`, undefined)).status).toBe(202);
    await hook.waitFor((call) => at(path)(call) && hook.calls.indexOf(call) >= before, 2);
    expect(circlesAt(path)).toEqual([...good, ...bad, ...waiting]);
    await untilRows(effect, 'delivered', 5);
    // Nothing is left to be tried again.
    const after = hook.calls.length;
    for (const body of [undefined, {}]) {
      expect((await client.post(`/effects/${segment(effect.luid)}/events/retry`, body)).status).toBe(202);
    }
    for (const body of [[], null, { data: {} }, 'null']) {
      const reply = await client.post(`/effects/${segment(effect.luid)}/events/retry`, body);
      expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
    }
    await pause(200);
    expect(hook.calls).toHaveLength(after);
    expect(reasonOf(await client.post('/effects/nobody/events/retry', undefined))).toEqual([404, 'record.not-found']);
  });
});

describe('luids', () => {
  slow('of deliveries begin with the second of their event, waiting and noted, so that they sort by it', async () => {
    const path = `/${unique('luids')}`;
    const refuse = holdAt(path);
    const effect = await listen(kit, path, 'circle-created');
    const seconds = (record: Json): string => record.luid.slice(5, 11);
    const made = await kit.make('circles', { handle: unique('circle') });
    const [waiting] = await untilRows(effect, 'pending', 1);
    expect(seconds(waiting!)).toBe(seconds(made));
    refuse(503);
    const [failed] = await untilRows(effect, 'failed', 1);
    expect(failed!.luid).toBe(waiting!.luid);
    await pause(1_100);
    await kit.make('circles', { handle: unique('circle') });
    const [newer, older] = await untilRows(effect, 'failed', 2);
    expect(newer!.luid > older!.luid, `${newer!.luid} after ${older!.luid}`).toBe(true);
    hook.answer = () => 202;
  });

  test('of what was given up and tried again differ: each round is a delivery of its own', async () => {
    const path = `/${unique('rounds')}`;
    hook.answer = (call) => (call.path === path ? 501 : 202);
    const effect = await listen(kit, path, 'circle-created');
    await makeCircles(kit, 2);
    await untilRows(effect, 'failed', 2);
    const retry = () => client.post(`/effects/${segment(effect.luid)}/events/retry`, undefined);
    expect((await retry()).status).toBe(202);
    await untilRows(effect, 'failed', 4);
    hook.answer = () => 202;
    expect((await retry()).status).toBe(202);
    await untilRows(effect, 'delivered', 2);
    const rows = await rowsOf(effect);
    expect(new Set(rows.map(({ data }) => data.event)).size).toBe(2);
    expect(new Set(rows.map(({ luid }) => luid)).size).toBe(6);
    for (const { luid } of rows) expect(luid).toMatch(luidOf('evd'));
  });
});

test("what becomes of a ledger's own record is told in that ledger, and in no other", async () => {
  hook.answer = () => 202;
  const change = async (path: string) => {
    const ledger = await openLedger(client, keys);
    const there = connect(server, { 'x-ledger': ledger.data.handle });
    await listen(makeKit(there, keys), path, 'ledger-updated');
    const more = { custom: { told: path }, parent: ledger.hash };
    return async () => {
      expect((await there.put('/ledger', record({ ...ledger.data, ...more }, keys))).status).toBe(200);
      await hook.waitFor(at(path), 1);
    };
  };
  const paths = ['/ledger-one', '/ledger-other'];
  for (const changeIt of await Promise.all(paths.map(change))) await changeIt();
  const told = paths.map((path) => hook.calls.filter(at(path)).map(({ body }) => body.data.ledger.data.custom.told));
  expect(told).toEqual(paths.map((path) => [path]));
});

describe('filters', () => {
  test('look into signers, proofs, and what was computed, with every operator', async () => {
    const schema = unique('schema');
    const [stranger, filterOf] = [makeKeys(), (filter: Json) => ({ filter })];
    await listen(kit, '/f-signer', 'signer-created', filterOf({ 'signer.data.schema': schema }));
    await listen(kit, '/f-proof', 'wallet-created', filterOf({ 'wallet.meta.proofs.public': stranger.public }));
    await listen(
      kit,
      '/f-both',
      'wallet-created',
      filterOf({ 'wallet.meta.proofs.public': stranger.public, 'wallet.data.schema': { $ne: schema } }),
    );
    await listen(kit, '/f-status', 'circle-created', filterOf({ 'circle.meta.status': { $in: ['created'] } }));
    await listen(kit, '/f-never', 'circle-created', filterOf({ 'circle.meta.status': { $nin: ['created'] } }));
    await listen(kit, '/f-signal', 'circle-created', filterOf({ signal: 'circle-created', handle: { $gt: 'evt_' } }));
    for (const one of [schema, 'other']) {
      await kit.make('signers', { handle: unique('s'), schema: one, public: makeKeys().public, format: 'ed25519-raw' });
    }
    const other = makeKit(client, stranger);
    await kit.wallet();
    const [mine, also] = [await other.wallet({ schema }), await other.wallet()];
    await makeCircles(kit, 1);
    const told = async (path: string, count: number): Promise<Json[]> =>
      (await hook.waitFor(at(path), count)).map(({ body }) => body.data);
    expect((await told('/f-signer', 1)).map(({ signer }) => signer.data.schema)).toEqual([schema]);
    expect((await told('/f-proof', 2)).map(({ wallet }) => wallet.data.handle)).toEqual([mine, also]);
    expect((await told('/f-both', 1)).map(({ wallet }) => wallet.data.handle)).toEqual([also]);
    await told('/f-status', 1);
    await told('/f-signal', 1);
    await pause(150);
    for (const [path, count] of [
      ['/f-signer', 1],
      ['/f-proof', 2],
      ['/f-both', 1],
      ['/f-never', 0],
    ] as const) {
      expect(hook.calls.filter(at(path)), path).toHaveLength(count);
    }
  });

  test('money received over routes and by addresses that stand for wallets', async () => {
    const usd = await kit.symbol();
    const [a, d] = [await kit.funded(usd, 100), await kit.wallet()];
    const c = await kit.wallet({ routes: [{ action: 'forward', target: d }] });
    await listen(kit, '/f-money', 'balance-received', {
      filter: { 'wallet.data.handle': { $in: [c, d] }, amount: { $gte: 2 } },
    });
    await kit.done([
      transfer(a, `tel:51999@${d}`, usd, 1),
      transfer(a, `tel:51999@${d}`, usd, 2),
      transfer(a, c, usd, 3),
    ]);
    const calls = await hook.waitFor(at('/f-money'), 3);
    expect(calls.map(({ body }) => [body.data.wallet.data.handle, body.data.amount])).toEqual([
      [d, 2],
      [c, 3],
      [d, 3],
    ]);
  });
});

describe('killed in the middle of many deliveries', () => {
  test('each is told at least once, in order, and once only where it was read as delivered before', async () => {
    const directory = freshDirectory();
    const first = await serverOfTest({ directory, flags: PATIENTLY });
    const own = makeKit(connect(first), keys);
    const path = '/killed';
    const effect = await listen(own, path, 'balance-received');
    const usd = await own.symbol();
    const a = await own.wallet();
    const claims = Array.from({ length: 150 }, (_, n) => issue(a, usd, n + 1));
    await own.done(claims);
    await hook.waitFor(at(path), 40);
    const delivered = (await untilRows(effect, 'delivered', 20, connect(first))).map(({ data }) => data.event);
    await first.kill();
    await serverOfTest({ directory });
    await hook.waitFor((call) => at(path)(call) && call.body.data.amount === 150);
    const told = hook.calls.filter(at(path)).map(({ body }) => body.data);
    expect([...new Set(told.map(({ amount }) => amount))]).toEqual(claims.map(({ amount }) => amount));
    for (const event of delivered) expect(told.filter(({ handle }) => handle === event)).toHaveLength(1);
  });
});

/** Many times what a queue holds. */
const EVENTS = often(400, 20_000);

describe(`${EVENTS} events behind a consumer that was away`, () => {
  slow('cost little memory while they wait, and come once each, in order', async () => {
    const quiet = await hookOfTest();
    quiet.silent = true;
    const other = await serverOfTest({ flags: ['--log-level', 'debug', '--call-ms-max', '3000'] });
    const own = makeKit(connect(other), keys);
    const action = { schema: 'webhook', endpoint: quiet.url };
    await own.make('effects', { handle: unique('effect'), signal: 'balance-received', action });
    const usd = await own.symbol();
    const a = await own.wallet();
    for (let n = 0; n < EVENTS; n += 100) {
      const reply = await own.send(Array.from({ length: 100 }, (_, at_) => issue(a, usd, n + at_ + 1)));
      expect(reply.status).toBe(201);
    }
    const heapMiB = async (): Promise<number> => {
      const before = other.log().length;
      other.process.kill('SIGWINCH');
      const [, figures] = await until(() => /Figures (\{.*\})/.exec(other.log().slice(before)), 'figures');
      return JSON.parse(figures!).memory.heapUsed / 2 ** 20;
    };
    expect(await heapMiB()).toBeLessThan(150);
    quiet.keeps = ({ body }) => body.data.amount;
    quiet.silent = false;
    // Each is noted on the disk before the next: they may take minutes, but they come.
    for (let left = 300, before = 0; left > 0 && quiet.kept.length < EVENTS; left -= 1) {
      await pause(100);
      if (quiet.kept.length > before) left = 300;
      before = quiet.kept.length;
    }
    const seen = [...new Set(quiet.kept)];
    expect(seen).toHaveLength(EVENTS);
    expect(seen).toEqual([...seen].sort((one, two) => Number(one) - Number(two)));
    // One call was on its way when the consumer came back.
    expect(quiet.kept.length).toBeLessThanOrEqual(EVENTS + 1);
  });
});

test('a webhook that takes no calls was not told of where only trouble is', async () => {
  const quiet = await serverOfTest({ flags: ['--bridge-attempts-max', '1', '--log-level', 'error'] });
  const away = await hookOfTest();
  away.answer = () => 500;
  const there = makeKit(connect(quiet), keys);
  const action = { schema: 'webhook', endpoint: away.url };
  await there.make('effects', { handle: 'away', signal: 'circle-created', action });
  await makeCircles(there, 1);
  await until(() => quiet.log().includes('Effect away of ledger main takes no calls (status 500)'));
});
