/**
 * Where records and money meet, and where several want the same at once: renamed and dropped wallets, money that
 * is only prepared, races for one version, and texts at the edge of what can be written.
 */
import { describe, expect, test } from 'vitest';
import { hashOf, type Json, makeKeys, proof, record } from '../support/client.ts';
import { issue, limit, reasonOf, transfer, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();

const { client, kit } = await serverOfFile(keys);
const usd = await kit.symbol();

const funded = (amount: number): Promise<string> => kit.funded(usd, amount);
const stored = async (wallet: string): Promise<Json> => (await client.get(`/wallets/${wallet}`)).body;
const drop = async (wallet: string) => client.del(`/wallets/${wallet}`, kit.dropBody(await stored(wallet)));

/** An intent that rests at prepared. */
async function prepared(claims: Json[]): Promise<Json> {
  const intent = await kit.clear(claims, { data: { config: { commit: 'manual' } } });
  expect(intent.meta.status).toBe('prepared');
  return intent;
}
async function act(intent: Json, action: string): Promise<string> {
  const added = proof(intent.hash, keys, { moment: new Date().toISOString(), action });
  await client.post(`/intents/${intent.data.handle}/proofs`, added);
  return (await client.get(`/intents/${intent.data.handle}`)).body.meta.status;
}
/** What a wallet holds, 0 where it is gone. */
async function holds(wallet: string): Promise<number> {
  const gone = (await client.get(`/wallets/${wallet}`)).status === 404;
  return gone ? 0 : kit.balance(wallet, usd);
}

describe('a wallet and its money', () => {
  test('stay together when it is renamed, and the old handle begins anew', async () => {
    const wallet = await funded(10);
    await kit.done([limit(wallet, usd, 'maxBalance', 50)]);
    const renamed = unique('wallet');
    const old = await stored(wallet);
    expect((await kit.change('wallets', old, { handle: renamed }, wallet)).status).toBe(200);
    expect(await kit.balance(renamed, usd)).toBe(10);
    expect(await kit.refused([transfer(wallet, renamed, usd, 1)])).toBe('core.source-invalid');
    await kit.wallet({ handle: wallet });
    expect(await kit.balance(wallet, usd)).toBe(0);
    expect((await client.get(`/wallets/${wallet}/limits`)).body.data).toEqual([]);
    expect((await client.get(`/wallets/${renamed}/limits`)).body.data).toHaveLength(1);
    await kit.done([transfer(renamed, wallet, usd, 10)]);
  });
  test('a wallet that an anchor names keeps its handle until the anchor is gone, and so does a bridge', async () => {
    const [wallet, target] = [await kit.wallet(), await kit.wallet()];
    const anchor = await kit.make('anchors', { handle: unique('anchor'), wallet, target });
    for (const handle of [wallet, target]) {
      const old = await stored(handle);
      const reply = await kit.change('wallets', old, { handle: unique('wallet') }, handle);
      expect(reasonOf(reply)).toEqual([422, 'record.invalid']);
      expect(reply.body.data.detail).toContain('An anchor names the wallet');
      expect((await kit.change('wallets', old, { handle, custom: { n: 1 } })).status).toBe(200);
    }
    const drop = await client.del(`/anchors/${anchor.data.handle}`, kit.dropBody(anchor));
    expect(drop.status).toBe(204);
    expect((await kit.change('wallets', await stored(wallet), { handle: unique('wallet') }, wallet)).status).toBe(200);

    const bridge = await kit.make('bridges', { handle: unique('bridge'), config: { server: 'http://127.0.0.1:9' } });
    const bridged = await kit.wallet({ bridge: bridge.data.handle });
    const { config } = bridge.data;
    const renamed = unique('bridge');
    const rename = () => kit.change('bridges', bridge, { handle: renamed, config }, bridge.data.handle);
    expect(reasonOf(await rename())).toEqual([422, 'record.invalid']);
    expect((await kit.change('wallets', await stored(bridged), { handle: bridged })).status).toBe(200);
    expect((await rename()).status).toBe(200);
  });
  test('a dropped wallet leaves no limit to the next of that handle', async () => {
    const [wallet, other] = [await funded(0), await funded(0)];
    await kit.done([limit(wallet, usd, 'minBalance', -50)]);
    expect((await drop(wallet)).status).toBe(204);
    expect(await kit.refused([transfer(wallet, other, usd, 5)])).toBe('core.source-invalid');
    await kit.wallet({ handle: wallet });
    expect(await kit.refused([transfer(wallet, other, usd, 5)])).toBe('core.insufficient-balance');
  });
  test('a wallet with money on its way out is not dropped', async () => {
    const [from, to] = [await funded(10), await funded(0)];
    const intent = await prepared([transfer(from, to, usd, 10)]);
    expect(reasonOf(await drop(from))).toEqual([422, 'record.drop-rejected']);
    expect(await act(intent, 'abort')).toBe('rejected');
    expect(await holds(from)).toBe(10);
  });
  test('a wallet with money on its way in: none of it is lost', async () => {
    for (const action of ['commit', 'abort']) {
      const [from, to] = [await funded(10), await funded(0)];
      const intent = await prepared([transfer(from, to, usd, 10)]);
      await drop(to);
      await act(intent, action);
      expect((await holds(from)) + (await holds(to)), action).toBe(10);
    }
  });
  test('a drop and a transfer at once end one way or the other', async () => {
    for (let n = 0; n < 8; n += 1) {
      const wallet = await funded(0);
      const [dropped, intent] = await Promise.all([drop(wallet), kit.clear([issue(wallet, usd, 3)])]);
      if (intent.meta.status === 'completed') expect([dropped.status, await holds(wallet)]).toEqual([422, 3]);
      else expect([dropped.status, intent.meta.status]).toEqual([204, 'rejected']);
    }
  });
});

describe('what is prepared counts', () => {
  test('towards the maximum of the wallet it goes to', async () => {
    const [from, to] = [await funded(200), await funded(0)];
    await kit.done([limit(to, usd, 'maxBalance', 100)]);
    const intent = await prepared([transfer(from, to, usd, 60)]);
    const second = await kit.clear([transfer(from, to, usd, 60)]);
    expect(second.meta.status).toBe('rejected');
    expect(await act(intent, 'commit')).toBe('completed');
    expect([await holds(from), await holds(to)]).toEqual([140, 60]);
  });
  test('towards the end of the range', async () => {
    const [from, to] = [await funded(10), await funded(0)];
    const intent = await prepared([transfer(from, to, usd, 10)]);
    await kit.clear([issue(to, usd, Number.MAX_SAFE_INTEGER)]);
    expect(await act(intent, 'commit')).toBe('completed');
    const total = await holds(to);
    expect([await holds(from), Number.isSafeInteger(total)]).toEqual([0, true]);
  });
  test('once: an abort, another and a commit after it move nothing more', async () => {
    const [from, to] = [await funded(10), await funded(0)];
    const intent = await prepared([transfer(from, to, usd, 10)]);
    for (const action of ['abort', 'abort', 'commit']) expect(await act(intent, action)).toBe('rejected');
    expect([await holds(from), await holds(to)]).toEqual([10, 0]);
    const other = await prepared([transfer(from, to, usd, 10)]);
    for (const action of ['commit', 'commit', 'abort']) expect(await act(other, action)).toBe('completed');
    expect([await holds(from), await holds(to)]).toEqual([0, 10]);
  });
  test('thousands of the largest amounts in one intent are added exactly', async () => {
    const wallet = await funded(0);
    const side = (action: string, member: string): Json[] =>
      Array.from({ length: 3000 }, () => ({ action, [member]: wallet, symbol: usd, amount: Number.MAX_SAFE_INTEGER }));
    await kit.done([...side('issue', 'target'), ...side('destroy', 'source'), issue(wallet, usd, 1)]);
    expect(await holds(wallet)).toBe(1);
  });
});

describe('several at once', () => {
  const count = (replies: { status: number }[], status: number): number =>
    replies.filter((reply) => reply.status === status).length;

  test('one of ten updates of one version wins', async () => {
    const old = await stored(await kit.wallet());
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, n) => kit.change('wallets', old, { ...old.data, custom: { n } })),
    );
    expect([count(replies, 200), count(replies, 422)]).toEqual([1, 9]);
    const winner = replies.find((reply) => reply.status === 200)!;
    expect((await client.get(`/wallets/${old.data.handle}`)).body).toEqual(winner.body);
  });
  test('one of six renames to one handle wins', async () => {
    const wallets = await Promise.all(Array.from({ length: 6 }, async () => stored(await kit.wallet())));
    const handle = unique('wallet');
    const replies = await Promise.all(wallets.map((old) => kit.change('wallets', old, { handle }, old.data.handle)));
    expect([count(replies, 200), count(replies, 409)]).toEqual([1, 5]);
    for (const old of wallets) expect((await client.get(`/wallets/${encodeURIComponent(old.luid)}`)).status).toBe(200);
  });
  test('one of six drops wins', async () => {
    const old = await stored(await kit.wallet());
    const drops = await Promise.all(
      Array.from({ length: 6 }, () => client.del(`/wallets/${old.data.handle}`, kit.dropBody(old))),
    );
    expect([count(drops, 204), count(drops, 404)]).toEqual([1, 5]);
  });
  test('proofs added at once are all kept', async () => {
    const old = await stored(await kit.wallet());
    const added = Array.from({ length: 12 }, (_, n) => proof(old.hash, makeKeys(), { n }));
    const replies = await Promise.all(added.map((one) => client.post(`/wallets/${old.data.handle}/proofs`, one)));
    expect(count(replies, 200)).toBe(12);
    const { proofs } = (await stored(old.data.handle)).meta;
    for (const one of added) expect(proofs).toContainEqual(one);
    expect(proofs).toHaveLength(14);
  });
});

describe('texts at the edge', () => {
  test('lone surrogates, every control character, minus zero', async () => {
    const controls = Array.from({ length: 32 }, (_, n) => String.fromCharCode(n)).join('');
    const data = {
      handle: unique('wallet'),
      custom: { s: '\ud800x', '\udfff': `${controls}\u007f\u2028"\\/`, e: '😀' },
    };
    const made = await kit.make('wallets', data);
    expect([made.hash, made.data]).toEqual([hashOf(data), data]);
    const zero = record({ handle: unique('wallet'), custom: { n: 0 } }, keys);
    const sent = JSON.stringify(zero).replace('"n":0', '"n":-0.0');
    const reply = await client.post('/wallets', sent);
    expect([reply.status, reply.body.hash]).toEqual([201, zero.hash]);
  });
  test.each(['%', '%zz', '%ff%fe', '%c0%af', '%ed%a0%80', '%00', 'a%2', 'x'.repeat(9000)])(
    'a path that cannot be read: %s',
    async (id) => {
      for (const path of [`/wallets/${id}`, `/wallets/${id}/anchors`, `/wallets?data.handle=${id}`]) {
        expect([200, 400, 404, 414, 422, 431]).toContain((await client.get(path)).status);
      }
      expect((await client.get(`/wallets/${id}`)).status).toBeGreaterThanOrEqual(400);
    },
  );
});
