/**
 * How an intent tells what became of it: its proofs and statuses, the answer that waits, the commit by hand,
 * and the balances that remain.
 */
import { describe, expect, test } from 'vitest';
import { connect, hashOf, type Json, makeKeys, proof, record } from '../support/client.ts';
import {
  failure,
  issue,
  luidOf,
  MOMENT,
  openLedger,
  proofFor,
  reasonOf,
  segment,
  statuses,
  transfer,
  unique,
} from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';

const keys = makeKeys();

const { client, kit } = await serverOfFile(keys);
const usd = await kit.symbol();
await kit.funded(usd, 1000, { handle: 'rich' });

/** A new wallet with `amount` in it. */
const funded = (amount: number): Promise<string> => kit.funded(usd, amount);
const balances = (...wallets: string[]): Promise<number[]> => Promise.all(wallets.map((one) => kit.balance(one, usd)));

describe('what the proofs tell', () => {
  test('success: prepared, committed, completed, by the server, in order', async () => {
    const stored = await kit.done([issue(await kit.wallet(), usd, 1)]);
    expect(statuses(stored)).toEqual(['created', 'pending', 'prepared', 'committed', 'completed']);
    const moments = stored.meta.proofs.slice(1).map((one: Json) => one.custom.moment);
    expect([...moments].sort()).toEqual(moments);
  });
  test('failure: failed with reason and detail, aborted, rejected', async () => {
    const [a, b] = [await funded(3), await funded(0)];
    const stored = await kit.clear([transfer(a, b, usd, 5)]);
    expect(statuses(stored)).toEqual(['created', 'pending', 'failed', 'aborted', 'rejected']);
    const failed = failure(stored);
    expect(failed.moment).toMatch(MOMENT);
    for (const word of [a, usd, '3', '5']) expect(failed.detail).toContain(word);
  });
  test('none of them holds for the same body cleared in another ledger of the server', async () => {
    const elsewhere = await openLedger(client, keys);
    const there = connect({ url: client.url, publicKey: client.server }, { 'x-ledger': elsewhere.data.handle });
    const [a, b] = [await funded(0), await funded(0)];
    await there.post('/symbols', record({ handle: usd, factor: 100 }, keys));
    for (const handle of [a, b]) await there.post('/wallets', record({ handle }, keys));
    await there.post('/intents', record({ handle: 'rich', claims: [issue(a, usd, 5)] }, keys));
    const body = record({ handle: unique('intent'), claims: [transfer(a, b, usd, 5)] }, keys);
    await client.post('/intents', body);
    await there.post('/intents', body);
    const path = `/intents/${body.data.handle}`;
    const [here, other] = [await client.get(path), await there.get(path)];
    expect([here.body.meta.status, other.body.meta.status]).toEqual(['rejected', 'completed']);
    for (const { hash, luid, meta } of [here.body, other.body]) {
      expect(hash).toBe(body.hash);
      const [, ...ours] = meta.proofs;
      expect(ours.map((one: Json) => one.custom.luid)).toEqual(new Array(ours.length).fill(luid));
    }
  });
  test('a rejected intent stays rejected and its handle stays taken', async () => {
    const [a, b] = [await funded(0), await funded(0)];
    const body = record({ handle: unique('intent'), claims: [transfer(a, b, usd, 5)] }, keys);
    expect((await client.post('/intents', body)).status).toBe(201);
    await kit.done([issue(a, usd, 100)]);
    const again = await client.post('/intents', body);
    expect(reasonOf(again)).toEqual([409, 'record.duplicated']);
    expect(again.body.data.custom.hash).toBe(body.hash);
    expect((await client.get(`/intents/${body.data.handle}`)).body.meta.status).toBe('rejected');
    expect(await balances(a, b)).toEqual([100, 0]);
  });
  test('a proof added after the end moves nothing', async () => {
    const stored = await kit.done([issue(await kit.wallet(), usd, 1)]);
    for (const status of ['rejected', 'aborted', 'pending', 'whatever']) {
      const added = proofFor(stored, keys, { moment: new Date().toISOString(), status });
      const reply = await client.post(`/intents/${stored.data.handle}/proofs`, added);
      expect(reply.status, reply.text).toBe(200);
    }
    expect((await client.get(`/intents/${stored.data.handle}`)).body.meta.status).toBe('completed');
  });
});

describe('Prefer: wait', () => {
  test.each<[string, number, string, string[]]>([
    ['completed', 10, 'completed', ['created', 'pending', 'prepared', 'committed', 'completed']],
    ['rejected', 11, 'rejected', ['created', 'pending', 'failed', 'aborted', 'rejected']],
  ])('the answer is the record %s', async (_name, amount, status, proofs) => {
    const [a, b] = [await funded(10), await funded(0)];
    const reply = await kit.send([transfer(a, b, usd, amount)], { headers: { prefer: 'wait=5' } });
    expect(reply.status).toBe(201);
    expect(reply.headers.get('preference-applied')).toMatch(/^wait/);
    expect(reply.body.meta.status).toBe(status);
    expect(statuses(reply.body)).toEqual(proofs);
    expect((await client.get(`/intents/${reply.body.data.handle}`)).body).toEqual(reply.body);
  });
  test('of no seconds, it tells how far the intent is, also where it waits for somebody', async () => {
    const [a, b] = [await funded(10), await funded(0)];
    const headers = { prefer: 'wait=0' };
    const manual = { config: { commit: 'manual' } };
    const said = [];
    for (const [amount, data] of [
      [4, manual],
      [7, manual],
      [6, {}],
    ] as const) {
      said.push((await kit.send([transfer(a, b, usd, amount)], { data, headers })).body.meta.status);
    }
    expect(said).toEqual(['prepared', 'rejected', 'completed']);
  });
  test('without it there is no Preference-Applied', async () => {
    const reply = await kit.send([issue('rich', usd, 1)]);
    expect([reply.body.meta.status, reply.headers.get('preference-applied')]).toEqual(['pending', null]);
  });
});

describe('commit by hand', () => {
  const manual = { data: { config: { commit: 'manual' } } };
  async function prepared(): Promise<{ a: string; b: string; stored: Json; act(custom: Json): Promise<Json> }> {
    const [a, b] = [await funded(100), await funded(0)];
    const options = { data: { ...manual.data, handle: unique('intent') } };
    const stored = await kit.clear([transfer(a, b, usd, 70)], options);
    expect(stored.meta.status).toBe('prepared');
    const act = async (custom: Json): Promise<Json> => {
      const added = proof(stored.hash, keys, { moment: new Date().toISOString(), ...custom });
      const reply = await client.post(`/intents/${stored.data.handle}/proofs`, added);
      expect(reply.status, reply.text).toBe(200);
      return (await client.get(`/intents/${stored.data.handle}`)).body;
    };
    return { a, b, stored, act };
  }
  test('funds of a prepared intent are spoken for, and not yet there', async () => {
    const { a, b } = await prepared();
    expect(await kit.balance(b, usd)).toBe(0);
    expect(await kit.refused([transfer(a, b, usd, 31)])).toBe('core.insufficient-balance');
    await kit.done([transfer(a, b, usd, 30)]);
  });
  test.each([[{ action: 'commit' }], [{ status: 'committed' }]])('%j moves them', async (custom) => {
    const { a, b, act } = await prepared();
    const final = await act(custom);
    expect(final.meta.status).toBe('completed');
    expect(await balances(a, b)).toEqual([30, 70]);
  });
  test.each([[{ action: 'abort' }], [{ status: 'aborted' }]])('%j gives them back', async (custom) => {
    const { a, b, act } = await prepared();
    const final = await act(custom);
    expect(final.meta.status).toBe('rejected');
    expect(await balances(a, b)).toEqual([100, 0]);
    await kit.done([transfer(a, b, usd, 100)]);
  });
  test('any other proof moves nothing', async () => {
    const { act } = await prepared();
    for (const custom of [{}, { status: 'nonsense' }, { action: 'nonsense' }]) {
      expect((await act(custom)).meta.status).toBe('prepared');
    }
  });
});

describe('the balances endpoint', () => {
  test('a row per symbol with the shape of a balance', async () => {
    const eur = await kit.symbol();
    const a = await funded(12);
    await kit.done([issue(a, eur, 34)]);
    const { luid } = (await client.get(`/wallets/${a}`)).body;
    for (const id of [a, luid]) {
      const reply = await client.get(`/wallets/${segment(id)}/balances`);
      expect(reply.status).toBe(200);
      const available = reply.body.data.filter((row: Json) => row.data.schema === 'available');
      expect(available).toHaveLength(2);
      for (const row of available) {
        expect(row.luid).toMatch(luidOf('wbl'));
        expect(row.meta.moment).toMatch(MOMENT);
        expect(row.hash).toBe(hashOf(row.data));
        const amount = row.data.symbol === eur ? 34 : 12;
        expect(row.data).toEqual({ wallet: a, symbol: row.data.symbol, schema: 'available', amount });
      }
    }
  });
  test('404 for a wallet that is not there', async () => {
    expect(reasonOf(await client.get('/wallets/nobody/balances'))).toEqual([404, 'record.not-found']);
  });
});
