/** A mistake of ours in one request: the operator is told all of it, the client nothing. */
import { expect, test, vi } from 'vitest';
import { type Call, guarded, sendDurable } from '../../src/http/call.ts';
import { LongAnswers, tellNow } from '../../src/http/long-answers.ts';
import type { AnswerBody } from '../../src/http/request.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { House, SERVER } from '../engine/house.ts';
import { Desk } from '../fuzz/desk.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { textIn } from '../support/body.ts';
import { makeKeys, makeToken, record } from '../support/client.ts';

test('is a 500 without a stack, a path or its message', async () => {
  const { engine } = await House.open(new FakeDisk());
  const defects: Error[] = [];
  const sent: [status: number, text: string][] = [];
  const reply = {
    aborted: false,
    whenGone() {},
    stay() {},
    send: (status: number, body: AnswerBody) => void sent.push([status, textIn(body)]),
  };
  const mistake = new TypeError('no such member in /var/lib/ayni');
  const house = { engine, sealer: new Sealer(SERVER), defect: (error: Error) => void defects.push(error) };
  guarded({ house, reply }, () => {
    throw mistake;
  });
  expect(defects).toEqual([mistake]);
  const [[status, text]] = sent as [[number, string]];
  expect([sent.length, status]).toEqual([1, 500]);
  const { data, ...rest } = JSON.parse(text);
  expect(data).toEqual({ reason: 'api.unexpected-error', detail: 'The server met a defect of its own' });
  expect(Object.keys(rest)).toEqual(['hash', 'meta']);
});

test('that ends the server, or a disk that does: what is in the books and may not be on the disk is told to nobody', async () => {
  const { engine } = await House.open(new FakeDisk());
  const statuses: number[] = [];
  const reply = { aborted: false, whenGone() {}, stay() {}, send: (status: number) => void statuses.push(status) };
  const call = { house: { engine, sealer: new Sealer(SERVER), defect() {} }, reply } as unknown as Call;
  sendDurable(call, () => reply.send(200));
  engine.fail(new Error('the disk is gone'));
  sendDurable(call, () => reply.send(200));
  expect(statuses).toEqual([200, 503]);
});

/** A request for an answer so long, and what it was answered. */
async function longCall() {
  const { engine } = await House.open(new FakeDisk());
  const longAnswers = new LongAnswers();
  const statuses: number[] = [];
  const reply = { aborted: false, whenGone() {}, stay() {}, send: (status: number) => void statuses.push(status) };
  const house = { engine, sealer: new Sealer(SERVER), defect() {}, longAnswers };
  const call = { house, reply } as unknown as Call;
  return { call, longAnswers, statuses, seen: { bytes: 8 * 1_048_576 } };
}

test('while a long answer is made gives its room back: past some of them nobody got another long one', async () => {
  const { call, longAnswers, statuses, seen } = await longCall();
  for (let n = 1; n <= 10; n++) {
    const tell = () => {
      throw new RangeError('Array buffer allocation failed');
    };
    expect([tellNow(call, seen, tell), longAnswers.bytes, statuses.length]).toEqual([true, 0, n]);
  }
  expect(new Set(statuses)).toEqual(new Set([500]));
});

test('after a long answer was sent gives its room back once: twice, and more lay in memory than there is room for', async () => {
  const { call, longAnswers, statuses, seen } = await longCall();
  const kept: Call[] = [];
  while (tellNow(call, seen, (held) => kept.push(held)));
  expect([kept.length, longAnswers.bytes, longAnswers.hasRoom]).toEqual([8, 64 * 1_048_576, false]);
  kept[0]!.reply.send(200, '');
  expect([longAnswers.bytes, longAnswers.hasRoom]).toEqual([56 * 1_048_576, true]);
  tellNow(call, seen, (held) => {
    held.reply.send(200, '');
    throw new TypeError('no such member');
  });
  expect(longAnswers.bytes).toBe(56 * 1_048_576);
  expect(statuses.slice(0, 2)).toEqual([200, 200]);
});

test('in the answer to who waits for the end of an intent is told to them, and ends nothing else', async () => {
  const desk = await Desk.open();
  const keys = makeKeys();
  await desk.post('symbols', { handle: 'usd', factor: 100 }, keys);
  await desk.post('wallets', { handle: 'w' }, keys);
  const claims = [{ action: 'issue', target: { handle: 'w' }, symbol: { handle: 'usd' }, amount: 1 }];
  const body = record({ handle: 'open', claims, config: { commit: 'manual' } }, keys);
  const { at } = desk.house.state.rows;
  const get = at.get.bind(at);
  const spy = vi.spyOn(at, 'get').mockImplementation((row) => {
    if (new Error().stack!.includes('sendRow')) throw new TypeError('no such member');
    return get(row);
  });
  await expect(desk.send('POST', '/v2/intents', body, { prefer: 'wait=1' })).rejects.toThrow('/v2/intents: 500');
  spy.mockRestore();
  await desk.close();
});

test.each([
  ['verified', {}],
  ['written down as used', { jti: 'once' }],
])('in a request whose token was %s first is told to its client, and ends nothing else', async (_, more) => {
  const desk = await Desk.open();
  const keys = makeKeys();
  await desk.post('wallets', { handle: 'w' }, keys);
  const iat = Math.floor(desk.world.now / 1000);
  const claims = { iss: 'me', sub: 'me', aud: 'main', iat, exp: iat + 60, ...more };
  const { at } = desk.house.state.rows;
  const get = at.get.bind(at);
  const spy = vi.spyOn(at, 'get').mockImplementation((row) => {
    if (new Error().stack!.includes('readRecord')) throw new TypeError('no such member');
    return get(row);
  });
  const answer = desk.get('/v2/wallets/w', { authorization: `Bearer ${makeToken(claims, keys)}` });
  await expect(answer).rejects.toThrow('/v2/wallets/w: 500');
  spy.mockRestore();
  expect(desk.house.engine.isFailed).toBe(false);
  await desk.close();
});
