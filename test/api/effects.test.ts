/**
 * Effects from outside: which event reaches whom, as what, in which order, and that none is lost on the way.
 */
import { describe, expect, test } from 'vitest';
import { connect, type Json, makeKeys, verifyRecord } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import type { Call } from '../support/hook.ts';
import { issue, limit, luidOf, makeKit, pause, proofFor, segment, transfer, unique } from '../support/kit.ts';
import { hookOfFile, serverOfFile } from '../support/of-file.ts';
import { serverOfTest } from '../support/of-test.ts';

const keys = makeKeys();
const hook = await hookOfFile();
const { server, client, kit } = await serverOfFile(keys);

/** An effect that calls a path of its own on the hook; the calls that path gets. */
async function makeEffect(
  signal: string,
  filter?: Json,
): Promise<{ effect: Json; path: string; mine(call: Call): boolean }> {
  const path = `/${unique('hook')}`;
  const action = { schema: 'webhook', endpoint: hook.url + path };
  const data = { handle: unique('effect'), signal, action, ...(filter ? { filter } : {}) };
  const effect = await kit.make('effects', data);
  return { effect, path, mine: (call) => call.path === path };
}

/** The event a call carries: a record the server signed. */
function eventOf(call: Call, signal: string): Json {
  expect(call.method).toBe('POST');
  verifyRecord(call.body, server.publicKey);
  expect(call.body.data.signal).toBe(signal);
  expect(call.body.data.handle).toMatch(/^evt_/);
  return call.body.data;
}

describe('events of records', () => {
  test('created, updated, proofs-added, dropped, each with its record', async () => {
    const only = unique('schema');
    const created = await makeEffect('wallet-created', { 'wallet.data.schema': only });
    const updated = await makeEffect('wallet-updated', { 'wallet.data.schema': only });
    await kit.wallet({ schema: 'another' });
    const stored = await kit.make('wallets', { handle: unique('wallet'), schema: only });
    const [first] = await hook.waitFor(created.mine);
    expect(eventOf(first!, 'wallet-created').wallet).toEqual(stored);
    const next = (await kit.change('wallets', stored, { ...stored.data, custom: { n: 1 } })).body;
    const [second] = await hook.waitFor(updated.mine);
    expect(eventOf(second!, 'wallet-updated').wallet).toEqual(next);

    const added = await makeEffect('wallet-proofs-added');
    const proof = proofFor(next, makeKeys(), { moment: new Date().toISOString() });
    await client.post(`/wallets/${next.data.handle}/proofs`, proof);
    const [third] = await hook.waitFor(added.mine);
    const data = eventOf(third!, 'wallet-proofs-added');
    expect(data.wallet).toBe(next.data.handle);
    expect(data.proofs).toContainEqual(proof);

    const dropped = await makeEffect('wallet-dropped');
    await client.del(`/wallets/${next.data.handle}`, kit.dropBody(next));
    const [fourth] = await hook.waitFor(dropped.mine);
    expect(JSON.stringify(eventOf(fourth!, 'wallet-dropped').wallet)).toContain(next.luid);
    await pause(100);
    expect(hook.calls.filter(created.mine)).toHaveLength(1);
    expect(hook.calls.filter(updated.mine)).toHaveLength(1);
  });
  test('operators in a filter, all conditions together', async () => {
    const schema = unique('schema');
    const filter = {
      'wallet.data.schema': { $in: [schema, 'x'] },
      'wallet.data.custom.n': { $gte: 3, $lt: 6 },
      'wallet.meta.status': 'created',
    };
    const { mine } = await makeEffect('wallet-created', filter);
    const handles: string[] = [];
    for (let n = 0; n < 8; n += 1) handles.push(await kit.wallet({ schema, custom: { n } }));
    await kit.wallet({ schema: 'y', custom: { n: 4 } });
    const calls = await hook.waitFor(mine, 3);
    await pause(150);
    expect(calls.map((call) => call.body.data.wallet.data.handle)).toEqual(handles.slice(3, 6));
    expect(hook.calls.filter(mine)).toHaveLength(3);
  });
  test('money received, once per credit; a limit set', async () => {
    const received = await makeEffect('balance-received');
    const limited = await makeEffect('wallet-limited');
    const [a, b, usd] = [await kit.wallet(), await kit.wallet(), await kit.symbol()];
    await kit.done([issue(a, usd, 50)]);
    await kit.refused([transfer(a, b, usd, 51)]);
    await kit.done([transfer(a, b, usd, 20), limit(b, usd, 'maxBalance', 500)]);
    const calls = await hook.waitFor(received.mine, 2);
    await pause(100);
    expect(hook.calls.filter(received.mine)).toHaveLength(2);
    expect(calls.map((call) => eventOf(call, 'balance-received').amount)).toEqual([50, 20]);
    for (const member of ['wallet', 'symbol', 'intent']) expect(calls[0]!.body.data).toHaveProperty(member);
    const [one] = await hook.waitFor(limited.mine);
    expect(eventOf(one!, 'wallet-limited')).toMatchObject({ amount: 500, metric: 'maxBalance' });
  });
  test('an effect of another ledger or dropped hears nothing', async () => {
    const { effect, mine } = await makeEffect('circle-created');
    await client.del(`/effects/${effect.data.handle}`, kit.dropBody(effect));
    const live = await makeEffect('circle-created');
    await kit.make('circles', { handle: unique('circle') });
    await hook.waitFor(live.mine);
    expect(hook.calls.filter(mine)).toHaveLength(0);
  });
  test('an action on a bridge goes to the bridge, under the handle of the effect', async () => {
    const bridge = unique('bridge');
    await kit.make('bridges', { handle: bridge, schema: 'rest', config: { server: hook.url } });
    for (const action of [
      { bridge, schema: 'rest' },
      { schema: 'bridge', bridge },
    ]) {
      const handle = unique('effect');
      await kit.make('effects', { handle, signal: 'symbol-created', action });
      await kit.symbol();
      const [call] = await hook.waitFor((one) => one.path === `/effects/${handle}`);
      eventOf(call!, 'symbol-created');
    }
  });
});

describe('delivery', () => {
  test('again until it is taken, the same bytes, in order', async () => {
    let refusals = 2;
    const { effect, mine } = await makeEffect('circle-created');
    hook.answer = (call) => (mine(call) && refusals-- > 0 ? 503 : 200);
    const handles = [unique('circle'), unique('circle'), unique('circle')];
    for (const handle of handles) await kit.make('circles', { handle });
    await hook.waitFor((call) => mine(call) && call.body.data.circle.data.handle === handles[2]);
    hook.answer = () => 202;
    const calls = hook.calls.filter(mine);
    const of = (handle: string): Call[] => calls.filter((call) => call.body.data.circle.data.handle === handle);
    expect(of(handles[0]!)).toHaveLength(3);
    expect(new Set(of(handles[0]!).map((call) => call.text)).size).toBe(1);
    const order = calls.map((call) => handles.indexOf(call.body.data.circle.data.handle));
    expect(order).toEqual([...order].sort());
    const events = await client.get(`/effects/${segment(effect.luid)}/events`);
    expect(events.status, events.text).toBe(200);
    expect(events.body.data).toHaveLength(3);
    for (const row of events.body.data) expect(row.luid).toMatch(luidOf('evd'));
  });
  test('what was not delivered before a kill is delivered after it', async () => {
    const directory = freshDirectory();
    const first = await serverOfTest({ directory });
    const own = makeKit(connect(first), keys);
    const path = `/${unique('hook')}`;
    const action = { schema: 'webhook', endpoint: hook.url + path };
    await own.make('effects', { handle: unique('effect'), signal: 'wallet-created', action });
    hook.answer = (call) => (call.path === path ? 503 : 202);
    const wallets = [await own.wallet(), await own.wallet()];
    await hook.waitFor((call) => call.path === path);
    await first.kill();
    hook.answer = () => 202;
    const before = hook.calls.length;
    const second = await serverOfTest({ directory });
    const late = (call: Call): boolean => call.path === path && hook.calls.indexOf(call) >= before;
    const handleOf = (call: Call): string => call.body.data.wallet.data.handle;
    await hook.waitFor((call) => late(call) && handleOf(call) === wallets[1]);
    // The last call of the one that was killed may have lain in the socket until now: then it came twice.
    const calls = hook.calls.filter(late);
    expect([...new Set(calls.map(handleOf))]).toEqual(wallets);
    for (const call of calls) verifyRecord(call.body, second.publicKey);
  });
});
