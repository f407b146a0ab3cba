/** What the server tells of how it is doing, read as Prometheus reads it; and that nothing but that is told there. */

import { writeFileSync } from 'node:fs';
import { connect as connectSocket, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SEMVER } from '../../src/http/version.ts';
import { canMount, mountDisk } from '../process/system.ts';
import { bearer, connect, makeKeys, record } from '../support/client.ts';
import { issue, makeKit, proofFor, transfer, unique, until } from '../support/kit.ts';
import { hookOfTest, serverOfTest } from '../support/of-test.ts';
import type { Server } from '../support/server.ts';

/** It is told on standard error, which may come after the start line on standard output. */
async function urlOf(server: Server): Promise<string> {
  const [url] = await until(() => /http:\S+\/metrics(?=\.\n)/.exec(server.log()), server.log);
  return url;
}

async function open(host: string, port: number): Promise<Socket> {
  const socket = connectSocket(port, host);
  socket.on('error', () => {});
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

/** Samples by name and labels, as they stand. Each must have been announced by name, help and type. */
async function scrape(server: Server): Promise<Map<string, number>> {
  const answer = await fetch(await urlOf(server));
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const samples = new Map<string, number>();
  const announced = new Set<string>();
  for (const line of (await answer.text()).split('\n')) {
    const type = /^# TYPE (\w+) /.exec(line);
    if (type !== null) announced.add(type[1]!);
    const sample = /^(\w+)((?:\{.*\})?) (\S+)$/.exec(line);
    if (sample === null) continue;
    const [, name, labels, value] = sample as unknown as [string, string, string, string];
    expect(announced).toContain(name.replace(/_(?:sum|count|bucket)$/, (end) => (announced.has(name) ? end : '')));
    expect(samples.has(name + labels)).toBe(false);
    samples.set(name + labels, Number(value));
  }
  return samples;
}

interface Spread {
  /** By bound, those not above it. */
  buckets: Map<number, number>;
  sum: number;
  count: number;
}

/** All histograms, by name and labels. Of each the bounds must rise, the counts may not fall, and the last must be the count. */
async function spreads(server: Server): Promise<Map<string, Spread>> {
  const found = new Map<string, Spread>();
  const histograms = new Set<string>();
  const spreadOf = (name: string, labels: string[]) => {
    expect(histograms).toContain(name);
    const key = labels.length === 0 ? name : `${name}{${labels.join(',')}}`;
    const known = found.get(key) ?? { buckets: new Map<number, number>(), sum: Number.NaN, count: Number.NaN };
    found.set(key, known);
    return known;
  };
  const text = await (await fetch(await urlOf(server))).text();
  expect(text.endsWith('\n')).toBe(true);
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue;
    const [, announced, type] = /^# TYPE (\w+) (counter|gauge|histogram|summary)$/.exec(line) ?? [];
    if (announced !== undefined) {
      if (type === 'histogram') histograms.add(announced);
      continue;
    }
    const [, name = '', all = '', value] =
      /^([a-z]\w*)(?:\{(\w+="[^"\\]*"(?:,\w+="[^"\\]*")*)\})? (-?[\d.e+-]+|[+-]Inf|NaN)$/.exec(line) ?? [];
    expect(value, line).toBeDefined();
    const [, of = '', part] = /^(ayni_\w+)_(bucket|sum|count)$/.exec(name) ?? [];
    if (part === undefined) continue;
    const labels = all === '' ? [] : all.split(',');
    const le = labels.findIndex((label) => label.startsWith('le="'));
    expect(le >= 0, line).toBe(part === 'bucket');
    const [bound] = le < 0 ? [] : labels.splice(le, 1);
    const spread = spreadOf(of, labels);
    if (part === 'sum') spread.sum = Number(value);
    else if (part === 'count') spread.count = Number(value);
    else spread.buckets.set(Number(bound!.slice(4, -1).replace('+Inf', 'Infinity')), Number(value));
  }
  for (const [name, { buckets, sum, count }] of found) {
    const [bounds, counts] = [[...buckets.keys()], [...buckets.values()]];
    expect(bounds, name).toEqual(bounds.toSorted((one, other) => one - other));
    expect(counts, name).toEqual(counts.toSorted((one, other) => one - other));
    expect([bounds.at(-1), counts.at(-1)], name).toEqual([Number.POSITIVE_INFINITY, count]);
    expect(sum, name).toBeGreaterThanOrEqual(0);
    expect(sum === 0, name).toBe(count === 0);
  }
  return found;
}

/** Until the figure is more than nothing. */
type Kit = ReturnType<typeof makeKit> & { client: ReturnType<typeof connect> };

/** A request that waits, what ends that, and what is told then. */
interface Waiting {
  start: string;
  body: string;
  act: () => Promise<unknown>;
  told: string;
}

async function isAboveZero(server: Server, name: string): Promise<void> {
  await until(async () => (await scrape(server)).get(name)! > 0, name);
}

describe('figures for Prometheus', () => {
  test('follow what the server does', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0', '--snapshot-every', '1000000'] });
    const before = await scrape(server);
    // A rate sees no rise in a series that begins with its first answers.
    for (const status of [500, 503]) expect(before.get(`ayni_http_answers_total{status="${status}"}`)).toBe(0);
    const client = connect(server);
    const kit = makeKit(client, makeKeys());
    const usd = await kit.symbol();
    const [ana, luz] = [await kit.funded(usd, 100), await kit.wallet()];
    for (let n = 0; n < 5; n++) await kit.done([transfer(ana, luz, usd, 10)]);
    expect((await client.get('/wallets/nobody')).status).toBe(404);
    const after = await scrape(server);
    const grown = (name: string) => after.get(name)! - (before.get(name) ?? 0);
    expect(grown('ayni_http_answers_total{status="404"}')).toBe(1);
    const created = grown('ayni_http_answers_total{status="201"}');
    expect(created).toBe(9);
    expect(grown('ayni_requests_total{outcome="accepted"}')).toBe(created);
    expect(grown('ayni_records')).toBe(created);
    expect(grown('ayni_last_entry')).toBe(created);
    for (const stage of ['verify_wait', 'clear', 'disk']) {
      expect(grown(`ayni_stage_passes_total{stage="${stage}"}`), stage).toBeGreaterThan(0);
      expect(grown(`ayni_stage_seconds_total{stage="${stage}"}`), stage).toBeGreaterThan(0);
    }
    expect(grown('ayni_records_bytes')).toBeGreaterThan(1000);
    expect(after.get('ayni_requests_waiting')).toBe(0);
    expect(after.get('ayni_intents_open')).toBe(0);
    expect(after.get('process_resident_memory_bytes')).toBeGreaterThan(1e7);
    expect(grown('process_cpu_seconds_total')).toBeGreaterThan(0);
  });

  test('what the server notes for itself, of calls and of tokens, was told as requests that it had accepted', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const before = await scrape(server);
    const keys = makeKeys();
    const client = connect(server);
    const kit = makeKit(client, keys);
    const { url } = await hookOfTest();
    const action = { schema: 'webhook', endpoint: url };
    await kit.make('effects', { handle: unique('effect'), signal: 'wallet-created', action });
    for (let n = 0; n < 3; n++) await kit.wallet();
    const once = bearer(keys, 'main', { jti: unique('token'), exp: Math.floor(Date.now() / 1000) + 60 });
    expect((await client.post('/circles', record({ handle: unique('circle') }, keys), once)).status).toBe(201);
    // One effect, three wallets, what became of their events, a circle, and its token.
    const grown = (after: Map<string, number>, name: string) => after.get(name)! - before.get(name)!;
    const after = await until(async () => {
      const now = await scrape(server);
      return grown(now, 'ayni_last_entry') === 9 && now;
    });
    expect(grown(after, 'ayni_requests_total{outcome="accepted"}')).toBe(5);
    expect(grown(after, 'ayni_stage_passes_total{stage="inbox"}')).toBe(9);
  });

  test('count a stage for what came to it: by refusals alone the mean of the disk fell to nothing', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const client = connect(server);
    const keys = makeKeys();
    const wallet = record({ handle: unique('wallet') }, keys);
    expect((await client.post('/wallets', wallet)).status).toBe(201);
    const before = await scrape(server);
    const again = record({ ...wallet.data, custom: { n: 1 } }, keys);
    for (let n = 0; n < 5; n++) expect((await client.post('/wallets', again)).status).toBe(409);
    const forged = record({ handle: unique('wallet') }, keys);
    forged.meta.proofs[0].result = wallet.meta.proofs[0].result;
    for (let n = 0; n < 3; n++) expect((await client.post('/wallets', forged)).status).toBe(422);
    const after = await scrape(server);
    const passes = (stage: string) => {
      const name = `ayni_stage_passes_total{stage="${stage}"}`;
      return after.get(name)! - before.get(name)!;
    };
    expect(['verify_wait', 'inbox', 'clear', 'disk'].map(passes)).toEqual([8, 5, 5, 0]);
  });

  test('a second look that comes at once finds figures as the first does: none at all is NaN', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const looks = await Promise.all(Array.from({ length: 4 }, () => urlOf(server).then((url) => fetch(url))));
    for (const text of await Promise.all(looks.map((look) => look.text()))) expect(text).not.toMatch(/ Nan$/m);
  });

  test('how long requests take is spread over buckets, by what was asked for and whether it was done', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const client = connect(server);
    const keys = makeKeys();
    const counts = async () => new Map([...(await spreads(server))].map(([key, { count }]) => [key, count]));
    const before = await counts();
    expect([...before.keys()].filter((key) => key.startsWith('ayni_request_seconds'))).toHaveLength(8);
    const wallets = Array.from({ length: 3 }, () => record({ handle: unique('wallet') }, keys));
    for (const wallet of wallets) expect((await client.post('/wallets', wallet)).status).toBe(201);
    const other = record({ ...wallets[0]!.data, custom: { n: 1 } }, keys);
    expect((await client.post('/wallets', other)).status).toBe(409);
    const head = await client.get('/head');
    expect(head.status).toBe(200);
    expect((await client.get(`/wallets/${wallets[0]!.data.handle}`)).status).toBe(200);
    expect((await client.get('/wallets/nobody')).status).toBe(404);
    for (let n = 0; n < 4; n++) expect((await client.get('/wallets')).status).toBe(200);
    expect((await client.get('/wallets?page.limit=x')).status).toBe(422);
    // There is nothing after the last entry yet.
    expect((await client.get(`/events?after=${head.body.data.seq}&wait=1`)).status).toBe(200);
    for (const [path, method] of [['/readyz', 'GET'] as const, ['/v2/wallets', 'OPTIONS'] as const]) {
      expect((await fetch(new URL(path, server.url), { method })).ok).toBe(true);
    }
    expect((await fetch(new URL('/v2/nothing', server.url), { method: 'OPTIONS' })).status).toBe(404);
    const after = await counts();
    const grown = (labels: string) => {
      const key = `ayni_request_seconds{${labels}}`;
      return after.get(key)! - before.get(key)!;
    };
    const both = (request: string) =>
      ['done', 'refused'].map((outcome) => grown(`request="${request}",outcome="${outcome}"`));
    expect(Object.fromEntries(['write', 'read', 'list', 'wait'].map((request) => [request, both(request)]))).toEqual({
      write: [3, 1],
      read: [2, 1],
      list: [4, 1],
      wait: [1, 0],
    });
    const waited = (await spreads(server)).get('ayni_request_seconds{request="wait",outcome="done"}')!;
    expect(waited.sum).toBeGreaterThan(0.9);
    expect(waited.buckets.get(0.512)).toBe(0);
  });

  test('a client that takes its time with a body makes requests look slow', async () => {
    const server = await serverOfTest({
      flags: ['--metrics', '0', '--body-bytes-max', '1024', '--body-ms-max', '100'],
    });
    expect((await connect(server).post('/wallets', { hash: 'x'.repeat(2000) })).status).toBe(413);
    const socket = await open('127.0.0.1', server.port);
    const answered = new Promise<Buffer>((resolve) => socket.once('data', resolve));
    socket.write('POST /v2/wallets HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{');
    expect((await answered).toString()).toMatch(/^HTTP\/1\.1 408 /);
    socket.destroy();
    const figures = await scrape(server);
    expect([408, 413].map((status) => figures.get(`ayni_http_answers_total{status="${status}"}`))).toEqual([1, 1]);
    for (const [key, { count }] of await spreads(server))
      if (key.includes('request="write"')) expect(count, key).toBe(0);
  });

  test('how long the disk takes, and how much it is given at once, is spread over buckets', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const client = connect(server);
    const keys = makeKeys();
    const wallets = Array.from({ length: 20 }, () => record({ handle: unique('wallet') }, keys));
    const answers = await Promise.all(wallets.map((wallet) => client.post('/wallets', wallet)));
    expect(answers.map(({ status }) => status)).toEqual(wallets.map(() => 201));
    const figures = await scrape(server);
    const [disk, entries] = ['ayni_disk_seconds', 'ayni_batch_entries'].map((name) => ({
      sum: figures.get(`${name}_sum`),
      count: figures.get(`${name}_count`),
    }));
    const passes = figures.get('ayni_stage_passes_total{stage="disk"}');
    expect(disk).toEqual({
      sum: expect.closeTo(figures.get('ayni_stage_seconds_total{stage="disk"}')!),
      count: passes,
    });
    expect(entries).toEqual({ sum: figures.get('ayni_last_entry'), count: passes });
  });

  test('tell of connections', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const socket = await open('127.0.0.1', server.port);
    await isAboveZero(server, 'ayni_http_connections');
    socket.destroy();
  });

  test('tell what is held for slow clients, and let go of it with them', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const held = (figures: Map<string, number>): (number | undefined)[] =>
      ['bodies', 'heads', 'answers'].map((of) => figures.get(`ayni_http_held_bytes{of="${of}"}`));
    expect(held(await scrape(server))).toEqual([0, 0, 0]);
    const socket = await open('127.0.0.1', server.port);
    const head = `POST /v2/wallets?q=${'x'.repeat(4000)} HTTP/1.1\r\nhost: a\r\ncontent-length: 60000\r\n\r\n`;
    socket.write(head + ' '.repeat(50_000));
    await isAboveZero(server, 'ayni_http_held_bytes{of="bodies"}');
    const [bodies, heads, answers] = held(await scrape(server));
    expect([heads! > 4000, heads! < 8000, answers]).toEqual([true, true, 0]);
    expect(bodies).toBeGreaterThan(0);
    socket.destroy();
    await until(async () => held(await scrape(server)).every((bytes) => bytes === 0), 'all let go of');
  });

  test.each<[string, (kit: Kit, after: string) => Promise<Waiting>]>([
    [
      'events',
      async (kit, after) => ({
        start: `GET /v2/events?after=${after}&wait=20&signal=circle-created`,
        body: '{}',
        act: () => kit.make('circles', { handle: 'there' }),
        told: '"handle":"there"',
      }),
    ],
    [
      'the end of an intent',
      async (kit) => {
        const claims = [issue(await kit.wallet(), await kit.symbol(), 1)];
        const intent = record({ handle: unique('intent'), claims, config: { commit: 'manual' } }, kit.keys);
        const act = async () => {
          const { body } = await kit.client.get(`/intents/${intent.data.handle}`);
          const proof = proofFor(body, kit.keys, { moment: new Date().toISOString(), status: 'committed' });
          const { status, text } = await kit.client.post(`/intents/${intent.data.handle}/proofs`, proof);
          expect(status, text).toBe(200);
        };
        return { start: 'POST /v2/intents?', body: JSON.stringify(intent), act, told: '"status":"completed"' };
      },
    ],
  ])('tell that long heads of those who wait for %s are let go of while they wait', async (_, prepare) => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const client = connect(server);
    const keys = makeKeys();
    const { page } = (await client.get('/events?after=0&page.limit=100')).body;
    const { start, body, act, told } = await prepare({ ...makeKit(client, keys), client }, page.after);
    const heads = async () => (await scrape(server)).get('ayni_http_held_bytes{of="heads"}')!;
    const socket = await open('127.0.0.1', server.port);
    let text = '';
    socket.on('data', (data) => {
      text += data.toString();
    });
    const lines = `host: a\r\nprefer: wait=20\r\ncontent-length: ${body.length}\r\n\r\n`;
    socket.write(`${start}&q=${'x'.repeat(4000)} HTTP/1.1\r\n${lines}${body.slice(0, 1)}`);
    await until(async () => (await heads()) > 4000, 'counted');
    socket.write(body.slice(1));
    await until(async () => (await heads()) === 0, 'let go of');
    // Otherwise it was when the time to wait was over.
    await act();
    await until(
      () => text.includes(told),
      () => text,
    );
    socket.destroy();
  });

  test('tell of snapshots and ledgers', async () => {
    const server = await serverOfTest({
      flags: ['--metrics', '127.0.0.1:0', '--snapshot-every', '2', '--scrub-seconds', '1'],
    });
    const client = connect(server);
    const keys = makeKeys();
    await client.post('/ledgers', record({ handle: unique('ledger') }, keys));
    for (let n = 0; n < 4; n++) await client.post('/wallets', record({ handle: unique('wallet') }, keys));
    await isAboveZero(server, 'ayni_snapshots_total');
    const figures = await scrape(server);
    expect(figures.get('ayni_ledgers')).toBe(2);
    expect(figures.get('ayni_snapshot_last_entry')).toBeGreaterThan(1);
    expect(figures.get('ayni_snapshot_seconds')).toBeGreaterThan(0);
  });

  test.runIf(canMount('how much room a disk has'))(
    'tell how much room the disk has, and which version runs',
    async () => {
      const disk = mountDisk('8m');
      onTestFinished(disk.remove);
      const directory = join(disk.path, 'data');
      const server = await serverOfTest({ directory, flags: ['--metrics', '0'] });
      const version = `ayni_build_info{version="${SEMVER}"}`;
      const before = await scrape(server);
      expect(before.get(version)).toBe(1);
      writeFileSync(join(disk.path, 'other'), Buffer.alloc(4 << 20));
      const after = await scrape(server);
      expect(before.get('ayni_disk_free_bytes')! - after.get('ayni_disk_free_bytes')!).toBeGreaterThanOrEqual(4 << 20);
    },
  );

  test.each([
    ['another path', '/v2/wallets', 'GET'],
    ['another method', '/metrics', 'POST'],
  ])('nothing else is there: %s', async (_name, path, method) => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    expect((await fetch(new URL(path, await urlOf(server)), { method })).status).toBe(404);
  });

  test('are not told where nobody asked for them, nor on the ledger’s own port', async () => {
    const quiet = await serverOfTest();
    expect(quiet.log()).not.toContain('/metrics');
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    expect((await fetch(new URL('/metrics', server.url))).status).toBe(404);
  });

  test('are told to a connection once at a time: who asked for them a thousand times in one piece held up all others', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const { hostname, port } = new URL(await urlOf(server));
    const watcher = await open(hostname, Number(port));
    let told = '';
    watcher.on('data', (piece) => {
      told += piece;
    });
    const closed = new Promise<boolean>((resolve) => watcher.once('close', () => resolve(true)));
    watcher.write('GET /metrics HTTP/1.1\r\nhost: here\r\n\r\n'.repeat(1000));
    await until(() => watcher.destroyed || told.split('HTTP/1.1 200').length > 2, 'an answer too many, or none');
    expect(told.split('HTTP/1.1 200').length - 1).toBeLessThanOrEqual(1);
    expect(await closed).toBe(true);
    expect((await scrape(server)).get('ayni_ledgers')).toBe(1);
  });

  test('do not keep the server from stopping', async () => {
    const server = await serverOfTest({ flags: ['--metrics', '0'] });
    const { hostname, port } = new URL(await urlOf(server));
    const watcher = await open(hostname, Number(port));
    expect(await server.stop()).toBe(0);
    watcher.destroy();
  });
});
