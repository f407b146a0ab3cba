/** Long answers: however many are asked for at once, few of them lie in memory, whatever they wait for, and others have their turn. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { setServerRules } from '../../src/core/access/index.ts';
import { findHandle, findLedger } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { bytesOf } from '../../src/core/records.ts';
import { Desk } from '../fuzz/desk.ts';
import { type Json, makeKeys, proof, record } from '../support/client.ts';
import { reasonOf } from '../support/kit.ts';
import { slow } from '../support/slow.ts';
import { turnsUntil } from '../support/turns.ts';

const keys = makeKeys();
const VERSIONS = 10;
const VERSION_BYTES = 900_000;
const MiB = 1024 * 1024;
let desk: Desk;

/** A wallet with long versions, and others as long. */
beforeAll(async () => {
  desk = await Desk.open();
  const custom = { text: 'x'.repeat(VERSION_BYTES) };
  let parent = '';
  for (let n = 0; n < VERSIONS; n++) {
    const body = record({ handle: 'w', custom: { ...custom, n }, ...(n > 0 && { parent }) }, keys);
    const reply = await desk.send(n === 0 ? 'POST' : 'PUT', n === 0 ? '/v2/wallets' : '/v2/wallets/w', body);
    parent = reply.body.hash;
    await desk.post('wallets', { handle: `other-${n}`, custom }, keys);
  }
});
afterAll(() => desk.close());

describe('while the disk takes its time', () => {
  test.each([
    ['histories', '/v2/wallets/w/changes', 10],
    ['lists', '/v2/wallets?page.limit=10', 10],
    ['records', '/v2/wallets/w', 90],
    ['events', '/v2/events', 20],
    ['long-events', '/v2/events?signal=wallet-updated&page.limit=1', 90],
  ])('few %s are made, and all are answered afterwards', async (what, path, count) => {
    const { longAnswers, house } = desk;
    const { stats } = house.engine;
    const { batches } = stats;
    house.disk.holdSyncs();
    onTestFinished(() => house.disk.releaseSyncs());
    const written = desk.post('anchors', { handle: what, wallet: 'w', target: 'w' }, keys);
    await turnsUntil(() => stats.batches > batches);
    const replies = Array.from({ length: count }, () => desk.ask({ method: 'GET', path }, false));
    await turnsUntil(() => !longAnswers.hasRoom);
    let turns = 0;
    await turnsUntil(() => ++turns > 200);
    expect(longAnswers.bytes).toBeLessThan(75 * MiB);
    house.disk.releaseSyncs();
    for (const { status } of await Promise.all(replies)) expect(status).toBe(200);
    expect((await written).status).toBe(201);
    expect(longAnswers.bytes).toBe(0);
  });
});

test.each([
  ['a list', '/v2/wallets?page.limit=10'],
  ['a history', '/v2/wallets/w/changes'],
])('%s of long records is made a few at a time, and others have their turns between', async (_what, path) => {
  const decode = spyWhereAllIsLate();
  let isTold = false;
  const reply = desk.ask({ method: 'GET', path }).finally(() => (isTold = true));
  const read: number[] = [];
  await turnsUntil(() => {
    read.push(decode.mock.calls.length);
    return isTold;
  });
  const most = Math.max(...read.map((count, turn) => count - (read[turn - 1] ?? 0)));
  expect(most).toBeLessThan(0.4 * read.at(-1)!);
  expect((await reply).body.data.length).toBe(VERSIONS);
  expect(desk.longAnswers.bytes).toBe(0);
});

/** What is read is counted, and by the clock each look at it comes late. */
function spyWhereAllIsLate() {
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => ++now * 10);
  onTestFinished(() => void vi.restoreAllMocks());
  return vi.spyOn(desk.house.state.codec, 'decode');
}

test('a client that goes away while its list is made gives back what was held for it, and no more is made', async () => {
  const decode = spyWhereAllIsLate();
  const hangUp = desk.askAndHangUp({ method: 'GET', path: '/v2/wallets?page.limit=10' });
  await turnsUntil(() => decode.mock.calls.length > 2);
  expect(desk.longAnswers.bytes).toBeGreaterThan(9 * VERSION_BYTES);
  hangUp();
  await turnsUntil(() => desk.longAnswers.bytes === 0);
  expect(decode.mock.calls.length).toBeLessThan(5);
});

test('how long a record is told is known unread, with all that signed it', async () => {
  const signers = Array.from({ length: 40 }, () => makeKeys());
  expect((await desk.post('wallets', { handle: 'signed' }, signers)).status).toBe(201);
  const { state } = desk.house;
  const at = state.rows.at.get(findHandle(state, findLedger(state, 'main'), Kind.wallet, 'signed'));
  const { text } = await desk.get('/v2/wallets/signed');
  expect(bytesOf(state, at) / text.length).toBeGreaterThan(0.8);
  expect(bytesOf(state, at) / text.length).toBeLessThan(1.5);
});

slow(
  'a page, of records or of a history, that is longer than one answer may be is refused; of fewer it is told',
  async () => {
    const custom = { text: 'x'.repeat(VERSION_BYTES) };
    let { hash: parent } = (await desk.get('/v2/wallets/w')).body;
    for (let n = VERSIONS; n * VERSION_BYTES < 32 * MiB; n++) {
      parent = (
        await desk.send('PUT', '/v2/wallets/w', record({ handle: 'w', custom: { ...custom, n }, parent }, keys))
      ).body.hash;
      await desk.post('wallets', { handle: `other-${n}`, custom }, keys);
    }
    for (const path of ['/v2/wallets', '/v2/wallets/w/changes']) {
      const ask = (max: number) => desk.ask({ method: 'GET', path: `${path}?page.limit=${max}` }, false);
      const { codec } = desk.house.state;
      const decode = vi.spyOn(codec, 'decode');
      expect(reasonOf(await ask(100)), path).toEqual([400, 'api.query-malformed']);
      // One that shut the owner out, by the heap it took, was read as a whole to say so.
      expect(decode.mock.calls.length, path).toBe(0);
      decode.mockRestore();
      expect((await ask(20)).body.data.length, path).toBe(20);
    }
  },
);

test('a page whose proofs are yet to be made does not stand behind a crowd again for each few of them', async () => {
  const custom = { text: 'x'.repeat(VERSION_BYTES / 2) };
  for (const handle of ['crowd', 'usd']) {
    const body = record({ handle, custom: { text: 'x'.repeat(20_000) }, ...(handle === 'usd' && { factor: 1 }) }, keys);
    await desk.send('POST', handle === 'usd' ? '/v2/symbols' : '/v2/wallets', body);
  }
  for (let n = 0; n < VERSIONS; n++) {
    const claims = [{ action: 'issue', target: 'w', symbol: 'usd', amount: 1 }];
    await desk.post('intents', { handle: `long-${n}`, custom, claims }, keys);
  }
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => ++now * 10);
  onTestFinished(() => void vi.restoreAllMocks());
  let crowd = 0;
  const page = desk.get('/v2/intents').then(() => crowd);
  await turnsUntil(() => desk.longAnswers.bytes > 0);
  const others = Array.from({ length: 300 }, () => desk.get('/v2/wallets/crowd').then(() => crowd++));
  // Two dozen steps, each with one of the crowd before it.
  expect(await page).toBeLessThan(60);
  await Promise.all(others);
});

type Asked = readonly [name: string, path: string, ledger: string];

describe('records that are asked for by very many at once', () => {
  const LARGE = 'x'.repeat(20_000);
  const LIST_MS_MAX = 10_000;
  let now = 0;
  let stepMs: number;
  let own: Desk;

  beforeEach(async () => {
    own = await Desk.open({}, {}, LIST_MS_MAX);
    await own.post('wallets', { handle: 'large', custom: { LARGE } }, keys);
    await own.post('wallets', { handle: 'small' }, keys);
    await own.post('ledgers', { handle: 'other', access: [{ action: 'any', record: 'any' }] }, keys);
    const there = { 'x-ledger': 'other' };
    await own.post('wallets', { handle: 'large', custom: { LARGE } }, keys, there);
    // By this clock each step takes long.
    stepMs = 50;
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += stepMs;
      return now;
    });
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await own.close();
  });

  /** Asks for all of these at once; which of them were answered, in that order. */
  async function order(asks: readonly Asked[]): Promise<string[]> {
    const told: string[] = [];
    const replies = asks.map(async ([name, path, ledger]) => {
      const reply = await own.ask({ method: 'GET', path, headers: { 'x-ledger': ledger } }, false);
      told.push(name);
      expect(reply.status).toBe(200);
    });
    await Promise.all(replies);
    return told;
  }

  test('are told by turns of their ledgers where they are large, and whoever waits long is told too', async () => {
    const flood: Asked[] = Array.from({ length: 300 }, () => ['flood', '/v2/wallets/large', 'main']);
    const told = await order([
      ...flood,
      ['guest', '/v2/wallets/large', 'other'],
      ['small', '/v2/wallets/small', 'main'],
    ]);
    expect(told.indexOf('guest')).toBeLessThan(20);
    expect(told.indexOf('small')).toBeLessThan(20);
    expect(told.length).toBe(302);
  });

  test('and so are questions of kilobytes: all that had come in were read before anybody else was heard', async () => {
    const long = `?${Array.from({ length: 100 }, (_, n) => `data.symbol.$in=s${n}`).join('&')}`;
    const flood: Asked[] = Array.from({ length: 300 }, () => ['flood', `/v2/wallets/small/limits${long}`, 'main']);
    const told = await order([...flood, ['guest', `/v2/wallets/large/limits${long}`, 'other']]);
    expect(told.indexOf('guest')).toBeLessThan(20);
    expect(told.length).toBe(301);
  });

  test('and so are they where they are the answer to what was added to them', async () => {
    const { hash } = (await own.get('/v2/wallets/large')).body;
    const told: string[] = [];
    const send = async (name: string, path: string, body: Json) => {
      expect((await own.send('POST', path, body)).status).toBeLessThan(300);
      told.push(name);
    };
    const flood = Array.from({ length: 100 }, (_, n) =>
      send('flood', '/v2/wallets/large/proofs', proof(hash, keys, { n })),
    );
    await Promise.all([...flood, send('guest', '/v2/wallets', record({ handle: 'guest' }, keys))]);
    expect(told.indexOf('guest')).toBeLessThan(20);
    expect((await own.get('/v2/wallets/large')).body.meta.proofs.length).toBe(102);
  });

  test('and so are questions about access, whose answers take long where there are many rules', async () => {
    const access = Array.from({ length: 100 }, () => ({ action: 'update', signer: { public: keys.public } }));
    await own.post('wallets', { handle: 'ruled', access }, keys);
    const question = record({ action: 'update' }, keys);
    const replies = Array.from({ length: 100 }, () => own.send('POST', '/v2/wallets/ruled/access/!check', question));
    await turnsUntil(() => own.walks.waiting > 80);
    for (const reply of replies) expect((await reply).body.data.length).toBe(101);
  });

  test('and so are single changes, for which a whole history is passed by', async () => {
    const replies = Array.from({ length: 100 }, () => own.get('/v2/wallets/small/changes/1'));
    await turnsUntil(() => own.walks.waiting > 80);
    for (const reply of replies) expect((await reply).body.data.handle).toBe('small');
  });

  test.each([
    ['a list', '/v2/wallets', 200],
    ['a record', '/v2/wallets/large', 403],
    ['a history', '/v2/wallets/large/changes', 403],
    ['a version', '/v2/wallets/large/changes/1', 403],
    ['the anchors of a wallet', '/v2/wallets/large/anchors', 403],
    ['the members of a circle', '/v2/circles/ops/signers', 403],
    ['what became of events', '/v2/effects/told/events', 403],
  ])('%s is judged by the rules that hold when its turn comes', async (_what, path, status) => {
    await own.post('circles', { handle: 'ops' }, keys);
    await own.post('signers', { handle: 'anna', public: keys.public }, keys);
    await own.send('POST', '/v2/circles/ops/signers', record({ circle: 'ops', signer: 'anna' }, keys));
    await own.post('bridges', { handle: 'b', schema: 'rest', config: { server: 'http://127.0.0.1:9' } }, keys);
    await own.post(
      'effects',
      { handle: 'told', signal: 'wallet-created', action: { schema: 'rest', bridge: 'b' } },
      keys,
    );
    const ask = () => own.ask({ method: 'GET', path }, false);
    const [first, second] = [ask(), ask()];
    setServerRules(own.house.state, []);
    expect((await first).status).toBe(200);
    const told = await second;
    expect(told.status).toBe(status);
    if (status === 200) expect(told.body.data).toEqual([]);
  });

  test('and histories, which as pages of lists wait no longer than a list may take; records wait until their turn comes', async () => {
    const ask = (path: string) => own.ask({ method: 'GET', path }, false).then(({ status }) => status);
    const askAll = (path: string) => Promise.all(Array.from({ length: 300 }, () => ask(path)));
    expect([...new Set(await askAll('/v2/wallets/small/changes'))].sort()).toEqual([200, 408]);
    expect([...new Set(await askAll('/v2/wallets/large'))]).toEqual([200]);
  });

  test('and one that is long then has as much time for room as a list has, however long it waited for its turn', async () => {
    await own.post('wallets', { handle: 'long', custom: { text: 'x'.repeat(VERSION_BYTES) } }, keys);
    const others = own.longAnswers.hold({ aborted: false, whenGone() {}, stay() {}, send() {} }, 64 * MiB);
    const began = now;
    const ask = (path: string) => own.ask({ method: 'GET', path }, false);
    const flood = Array.from({ length: 300 }, () => ask('/v2/wallets/large'));
    const long = ask('/v2/wallets/long');
    await Promise.all(flood);
    expect(now - began).toBeGreaterThan(LIST_MS_MAX);
    stepMs = 0.1;
    let turns = 0;
    await turnsUntil(() => ++turns > 20);
    others.send(200, '');
    expect((await long).status).toBe(200);
  });
});
