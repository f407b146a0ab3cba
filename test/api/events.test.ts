/**
 * Events for those who ask: all of a ledger's, from any place on, each once and in order; who waits is woken by what
 * concerns it, and by nothing else.
 */

import { connect as connectSocket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { bearer, type Client, connect, type Json, makeKeys, type Reply } from '../support/client.ts';
import { directoryCopy, freshDirectory } from '../support/directory.ts';
import { freshLedger, issue, limit, makeKit, pause, proofFor, reasonOf, transfer } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { serverOfTest } from '../support/of-test.ts';

const keys = makeKeys();

const { server, client, kit } = await serverOfFile(keys);

async function ask(at: Client, query: string): Promise<Json> {
  const reply = await at.get(`/events?${query}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

/** All events there are, page by page. */
async function all(at: Client, limitTo: number, query = ''): Promise<Json[]> {
  const events: Json[] = [];
  for (let after: number | string = 0; ; ) {
    const { data, page } = await ask(at, `after=${after}&page.limit=${limitTo}${query}`);
    expect(data.length).toBeLessThanOrEqual(limitTo);
    events.push(...data);
    if (data.length === 0) return events;
    after = page.after;
  }
}

const signals = (events: Json[]): string[] => events.map(({ data }) => data.signal);
const handles = (events: Json[]): string[] => events.map(({ data }) => data.handle);

describe('what happened in a ledger', () => {
  test('is told in order, each once, whatever the size of the page; one intent with many credits in several', async () => {
    const { there: at, kit: own } = await freshLedger(server, keys);
    const usd = await own.symbol();
    const a = await own.wallet();
    await own.done([...Array.from({ length: 30 }, (_, n) => issue(a, usd, n + 1)), limit(a, usd, 'maxBalance', 9000)]);
    await own.refused([transfer(a, await own.wallet(), usd, 99_999)]);
    const whole = await all(at, 100);
    expect(signals(whole)).toEqual([
      ...['ledger-created', 'signer-created', 'symbol-created', 'wallet-created', 'intent-created', 'intent-updated'],
      ...new Array(30).fill('balance-received'),
      ...['wallet-limited', 'wallet-created', 'intent-created', 'intent-updated'],
    ]);
    expect(new Set(handles(whole)).size).toBe(whole.length);
    const seqs = whole.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((one, other) => one - other));
    for (const size of [1, 7, 33]) expect(handles(await all(at, size))).toEqual(handles(whole));
    const received = await all(at, 4, '&signal=balance-received');
    expect(received.map(({ data }) => data.amount)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
  });

  test('from the middle of a large intent on, whichever signal is asked for next', async () => {
    const { there: at, kit: own } = await freshLedger(server, keys);
    const usd = await own.symbol();
    const a = await own.wallet();
    await own.done(Array.from({ length: 6 }, (_, n) => issue(a, usd, n + 1)));
    // Up to the first two credits.
    const { data, page } = await ask(at, 'after=0&page.limit=8');
    expect(data.at(-1).data.amount).toBe(2);
    const next = await ask(at, `after=${page.after}&signal=balance-received&page.limit=2`);
    const last = await ask(at, `after=${next.page.after}`);
    expect([...next.data, ...last.data].map(({ data: { amount } }) => amount)).toEqual([3, 4, 5, 6]);
  });

  test('in pages of a few megabytes, where events are long', async () => {
    const { there: at, kit: own } = await freshLedger(server, keys);
    const made: string[] = [];
    for (let n = 0; n < 8; n++) made.push(await own.wallet({ custom: { text: 'x'.repeat(1_000_000) } }));
    const told: string[] = [];
    for (let after = '0'; told.length < made.length; ) {
      const { data, page } = await ask(at, `after=${after}&signal=wallet-created`);
      // Fewer, where the machine is slow.
      expect(data.length).toBeLessThanOrEqual(5);
      told.push(...data.map((event: Json) => event.data.wallet.data.handle));
      after = page.after;
    }
    expect(told).toEqual(made);
  });

  test('and a thread, with what its routes did', async () => {
    const { there: at, kit: own } = await freshLedger(server, keys);
    const usd = await own.symbol();
    const [a, d] = [await own.funded(usd, 100), await own.wallet()];
    const c = await own.wallet({ routes: [{ action: 'forward', target: d }] });
    const into = await own.wallet({ routes: [{ action: 'credit', target: `tel:5@${d}` }] });
    const stored = await own.done([transfer(a, c, usd, 40), transfer(a, into, usd, 2)]);
    const received = (await all(at, 100, '&signal=balance-received')).slice(1);
    const told = received.map(({ data }) => [data.wallet.data.handle, data.amount, data.intent.meta.thread]);
    const { thread } = stored.meta;
    expect(told).toEqual([
      [c, 40, thread],
      [d, 2, thread],
      [d, 40, thread],
    ]);
    expect(received.every(({ data }) => data.intent.meta.routed === true)).toBe(true);
  });

  test('intents as they came, whatever routes and clearing made of them in the same moment', async () => {
    const { there: at, kit: own } = await freshLedger(server, keys);
    const usd = await own.symbol();
    const [a, d] = [await own.funded(usd, 100), await own.wallet()];
    const forwards = await own.wallet({ routes: [{ action: 'forward', target: d }] });
    const credits = await own.wallet({ routes: [{ action: 'credit', target: d }] });
    for (const [to, routed] of [
      [d, undefined],
      [forwards, true],
      [credits, true],
    ] as const) {
      const { body } = await own.send([transfer(a, to, usd, 1)]);
      const ofIt = (await all(at, 100)).filter(({ data }) => data.intent?.luid === body.luid);
      const told = (signal: string) => ofIt.findLast(({ data }) => data.signal === signal)?.data.intent;
      expect([body.meta.status, body.meta.routed]).toEqual(['pending', undefined]);
      expect(told('intent-created')).toEqual(body);
      expect(told('intent-updated')).toEqual((await at.get(`/intents/${body.luid}`)).body);
      expect(told('intent-updated').meta.routed).toBe(routed);
    }
  });

  test('passes by tokens that were used up, which are no events', async () => {
    const { there: at, kit: own, handle } = await freshLedger(server, keys);
    await own.wallet();
    expect((await at.get('/wallets', bearer(keys, handle, { jti: 'once' }))).status).toBe(200);
    await own.wallet();
    const wanted = ['ledger-created', 'signer-created', 'wallet-created', 'wallet-created'];
    expect(signals(await all(at, 1))).toEqual(wanted);
  });

  test('of other ledgers nothing, and of records that one may not read nothing', async () => {
    const auditor = makeKeys();
    const byToken = { bearer: { $signer: { public: auditor.public } } };
    const access = [
      { action: 'any', record: 'any', signer: { public: keys.public } },
      { action: 'access', record: 'any', ...byToken },
      { action: 'read', record: 'symbol', ...byToken },
    ];
    const { there: at, kit: own, handle } = await freshLedger(server, keys, { access });
    const usd = await own.make('symbols', { handle: 'usd', factor: 1 });
    const open = [{ action: 'read', ...byToken }];
    await own.make('wallets', { handle: 'seen', access: open });
    await own.make('wallets', { handle: 'hidden' });
    await own.send([issue('seen', 'usd', 5), issue('hidden', 'usd', 6)], { data: { access: open } });
    await kit.wallet();
    const reader = connect(server, { 'x-ledger': handle, ...bearer(auditor, handle) });
    const seen = await all(reader, 100);
    expect(signals(seen)).toEqual([
      'symbol-created',
      'wallet-created',
      'intent-created',
      'intent-updated',
      'balance-received',
    ]);
    expect(JSON.stringify(seen.slice(0, 2))).not.toContain('hidden');
    expect(seen[0].data.symbol.luid).toBe(usd.luid);
    expect(seen[4].data.wallet.data.handle).toBe('seen');
    expect(reasonOf(await at.get('/events'))).toEqual([403, 'auth.forbidden']);
  });

  test.each(['page.limit=0', 'page.limit=101'])('%s is outside', async (query) => {
    expect(reasonOf(await client.get(`/events?${query}`))).toEqual([422, 'record.schema-invalid']);
  });

  test.each([
    ...['after=-1', 'after=x', 'after=1.2.3', 'after=1.', 'wait=-1', 'wait=x'],
    // Of these one was taken, and what is to be asked on from was past what the other meant.
    ...['signal=wallet-created&signal=intent-updated', 'after=0&after=99', 'wait=0&wait=1'],
    ...['signal[]=wallet-created', 'signal[0]=wallet-created', 'after.0=1', 'sort.meta.moment=-1'],
    // The page was the first, whichever was asked for.
    ...['page.index=1', 'page.number=1'],
  ])('%s is refused', async (query) => {
    expect(reasonOf(await client.get(`/events?${query}`))).toEqual([400, 'api.query-malformed']);
  });
});

describe('who waits', () => {
  /** The answer, and after how long. */
  async function timed(asked: Promise<Reply>): Promise<{ body: Json; ms: number }> {
    const began = performance.now();
    const { body } = await asked;
    return { body, ms: performance.now() - began };
  }

  test('is woken by what concerns it, not by other signals and ledgers', async () => {
    const { there: at, kit: own } = await freshLedger(server, keys);
    const { page } = await ask(at, 'after=0&page.limit=100');
    const waiting = at.get(`/events?after=${page.after}&wait=30&signal=circle-created`);
    let isOver = false;
    void waiting.then(() => {
      isOver = true;
    });
    await own.wallet();
    await kit.make('circles', { handle: `c-${page.after}` });
    await pause(300);
    expect(isOver).toBe(false);
    await own.make('circles', { handle: 'mine' });
    const { data, page: next } = (await waiting).body;
    expect(data).toHaveLength(1);
    expect(data[0].data.circle.data.handle).toBe('mine');
    expect(Number.parseInt(next.after, 10)).toBe(data[0].seq);
  });

  test('for a signal that is none is told so: a misspelt one was waited for in vain', async () => {
    const { there: at } = await freshLedger(server, keys);
    for (const signal of ['intent-update', 'wallet', 'created', 'INTENT-UPDATED']) {
      expect(reasonOf(await at.get(`/events?after=0&wait=1&signal=${signal}`))).toEqual([400, 'api.query-malformed']);
    }
    for (const signal of ['', 'intent-updated', 'wallet-limited', 'circle-signer-created']) {
      expect((await at.get(`/events?after=0&signal=${signal}`)).status).toBe(200);
    }
  });

  test('from beyond the end is told so: of older books it would miss what comes before that', async () => {
    const { there: at } = await freshLedger(server, keys);
    expect(reasonOf(await at.get('/events?after=999999&wait=1'))).toEqual([400, 'api.query-malformed']);
    // Who stands within an entry was told some of it, so there was one.
    const { seq } = (await at.get('/head')).body.data;
    expect((await at.get(`/events?after=${seq}`)).status).toBe(200);
    expect(reasonOf(await at.get(`/events?after=${seq}.1`))).toEqual([400, 'api.query-malformed']);
  });

  test('from where an answer ended holds over a restart, and in a copy that goes on; not in books that have lost that', async () => {
    const directory = freshDirectory();
    const first = await serverOfTest({ directory, flags: ['--snapshot-every', '10'] });
    const at = connect(first);
    const own = makeKit(at, keys);
    const usd = await own.symbol();
    const wallet = await own.wallet();
    await own.done([issue(wallet, usd, 1), issue(wallet, usd, 2)]);
    const older = directoryCopy(directory);
    // Within an entry, at the end of one, and at the end of all.
    const places: string[] = [];
    for (const limitTo of [1, 2, 3]) await own.done([issue(wallet, usd, limitTo), issue(wallet, usd, 5)]);
    for (let place: string | number = 0, left = 100; left > 0; left--) {
      const { page } = await ask(at, `after=${place}&page.limit=1`);
      if (page.after === place) break;
      place = page.after as string;
      places.push(place);
    }
    const [known, last] = [places.slice(0, 4), places.at(-1)!];
    expect(places.some((place) => place.includes('.'))).toBe(true);
    await first.stop();

    const again = connect(await serverOfTest({ directory }));
    for (const place of places) expect((await again.get(`/events?after=${place}`)).status, place).toBe(200);

    const other = connect(await serverOfTest({ directory: older }));
    const others = makeKit(other, keys);
    for (const limitTo of [1, 2, 3, 4]) await others.done([issue(wallet, usd, limitTo), issue(wallet, usd, 6)]);
    for (const place of known) expect((await other.get(`/events?after=${place}`)).status, place).toBe(200);
    for (const place of [last, places.findLast((place) => place.includes('.'))!]) {
      const refused = await other.get(`/events?after=${place}`);
      expect([...reasonOf(refused), refused.body.data.detail], place).toEqual([
        ...[400, 'api.query-malformed'],
        expect.stringContaining('is of other books'),
      ]);
      // Whoever wants to go on there all the same says only where.
      expect((await other.get(`/events?after=${place.split('-')[0]}`)).status).toBe(200);
    }
  });

  test('in vain is told so in time, and goes on after what it passed by', async () => {
    const { there: at, kit: own } = await freshLedger(server, keys);
    for (let wait = 1; ; wait *= 2) {
      const { page } = await ask(at, 'after=0&page.limit=100');
      const began = performance.now();
      const waiting = timed(at.get(`/events?after=${page.after}&wait=${wait}&signal=circle-created`));
      for (let n = 0; n < 5; n += 1) await own.wallet();
      const isInTime = performance.now() - began < wait * 1000;
      const { body, ms } = await waiting;
      expect(body.data).toEqual([]);
      expect(ms).toBeGreaterThan(wait * 1000 - 100);
      // What was made after the answer was not passed by: a machine that was so slow tries again, with more time.
      if (!isInTime && wait < 16) continue;
      expect(Number.parseInt(body.page.after, 10)).toBeGreaterThanOrEqual(Number.parseInt(page.after, 10) + 5);
      expect((await ask(at, `after=${body.page.after}`)).data).toEqual([]);
      return;
    }
  });

  test('hears of a proof on an intent, whoever else waits', async () => {
    const { there: at, kit: own } = await freshLedger(server, keys);
    const usd = await own.symbol();
    const held = (await own.send([issue(await own.wallet(), usd, 5)], { data: { config: { commit: 'manual' } } })).body;
    const { page } = await ask(at, 'after=0&page.limit=100');
    const waiting = ['', 'intent-proofs-added', 'intent-updated', 'balance-received'].map((signal) =>
      at.get(`/events?after=${page.after}&wait=20&signal=${signal}`),
    );
    const commit = proofFor(held, keys, { action: 'commit', moment: new Date().toISOString() });
    await at.post(`/intents/${held.data.handle}/proofs`, commit);
    const told = (await Promise.all(waiting)).map(({ body }) => signals(body.data));
    expect(told).toEqual([
      ['intent-proofs-added', 'intent-updated', 'balance-received'],
      ['intent-proofs-added'],
      ['intent-updated'],
      ['balance-received'],
    ]);
  });
});

describe('the server', () => {
  test('stops though many wait, and tells them; those who went away it has forgotten', async () => {
    const other = await serverOfTest();
    const at = connect(other);
    await makeKit(at, keys).wallet();
    const { page } = await ask(at, 'after=0&page.limit=100');
    const gone = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const socket = connectSocket(other.port, '127.0.0.1');
        await new Promise((resolve) => socket.once('connect', resolve));
        socket.write(`GET /v2/events?after=${page.after}&wait=30 HTTP/1.1\r\nhost: x\r\n\r\n`);
        return socket;
      }),
    );
    const waiting = Array.from({ length: 10 }, () => at.get(`/events?after=${page.after}&wait=30`));
    await pause(300);
    // Who asked before is heard before, however busy the machine is.
    await ask(at, 'after=0');
    for (const socket of gone) socket.destroy();
    await pause(100);
    const code = other.stop();
    for (const { status, body } of await Promise.all(waiting)) expect([status, body.data]).toEqual([200, []]);
    expect(await code).toBe(0);
    expect(other.log()).not.toMatch(/defect/i);
  });
});
