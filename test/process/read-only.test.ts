/**
 * A server that only shows its books: on a copy of them, or beside the one that goes on with them. It takes nothing in,
 * calls nobody and leaves every byte of the directory as it was, whatever is due in them.
 */
import { createHash } from 'node:crypto';
import { cpSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { segmentSeq } from '../../src/storage/format.ts';
import { Bank, readIntent } from '../support/bank.ts';
import { bearer, connect, type Json, makeKeys, record, verifyError } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { issue, makeKit, openLedger, pause, proofFor, segment, transfer, until } from '../support/kit.ts';
import { hookOfFile } from '../support/of-file.ts';
import { serverOfTest } from '../support/of-test.ts';
import { type Server, startRefused, startServer } from '../support/server.ts';
import { slow } from '../support/slow.ts';

const SHOWN = ['--read-only', 'yes'];
/** Two hours on: what waited is long over its time. */
const LATER = `--import=data:text/javascript,const%20now=Date.now.bind(Date);Date.now=()=>now()+7200000`;

const keys = makeKeys();
const directory = freshDirectory();
const hook = await hookOfFile();
/** What the books hold that would have a server do something: a call to a bank, one to a webhook, an end, a torn tail. */
let due: { ledger: string; effect: Json; bridge: string; halfway: Json; waiting: Json; wallet: string };

const segments = (path: string): string[] => readdirSync(path).filter((name) => segmentSeq(name) > 0);
const lastSegment = (path: string): string => join(path, segments(path).at(-1)!);

/** Where its last frame ends: zeros follow. */
const writtenOf = (file: string): number => readFileSync(file).findLastIndex((byte) => byte !== 0) + 1;

beforeAll(async () => {
  hook.answer = () => 503;
  const flags = ['--snapshot-every', '12', '--segment-bytes-max', '8192'];
  const server = await startServer({ directory, flags });
  const client = connect(server);
  const home = makeKit(client, keys);
  const effect = await home.make('effects', {
    handle: 'tell',
    signal: 'wallet-created',
    action: { schema: 'webhook', endpoint: `${hook.url}/hook` },
  });
  const symbol = await home.symbol();
  const wallet = await home.funded(symbol, 100);
  const bank = await Bank.open({ client, kit: home, hook, symbol });
  const halfway = (await home.send([transfer(wallet, await bank.wallet(), symbol, 5)])).body;

  // Nobody may spend there, so what is sent waits for a signature until its time is over.
  const access = [{ action: { $in: ['access', 'read', 'create', 'issue'] }, record: 'any' }];
  const config = { 'intent.expiryThresholdMinutes': 1 };
  const ledger: string = (await openLedger(client, keys, { access, config })).data.handle;
  const there = makeKit(connect(server, { 'x-ledger': ledger }), keys);
  const money = await there.symbol();
  const [source, target] = [await there.funded(money, 10), await there.wallet()];
  const waiting = (await there.send([transfer(source, target, money, 1)])).body;
  expect(
    (await connect(server, { 'x-ledger': ledger }).get(`/intents/${segment(waiting.luid)}`)).body.meta.status,
  ).toBe('pending');
  await hook.waitFor(({ path }) => path === '/hook');
  await bank.asked(halfway, 'credits');
  for (let n = 0; n < 12; n++) await home.wallet();
  await until(() => readdirSync(directory).some((name) => /^snapshot.*ays$/.test(name)));
  due = { ledger, effect, bridge: bank.bridge, halfway, waiting, wallet };
  await home.wallet({ handle: 'torn-off' });
  await server.kill();
  const last = lastSegment(directory);
  truncateSync(last, writtenOf(last) - 20);
});

function copied(): string {
  const copy = freshDirectory();
  cpSync(directory, copy, { recursive: true, preserveTimestamps: true });
  return copy;
}

/** Everything that a write, or another file, would change. */
function lookOf(path: string): Json {
  const told = (name: string) => {
    const { size, mtimeNs, ctimeNs, ino, mode } = statSync(join(path, name), { bigint: true });
    return [name, ...[size, mtimeNs, ctimeNs, ino, mode].map(String)];
  };
  const bytes = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(path, name)))
      .digest('hex');
  const names = readdirSync(path).sort();
  return [told('.'), ...names.map((name) => [...told(name), bytes(name)])];
}

const show = (path: string, more: { env?: Record<string, string>; flags?: string[] } = {}): Promise<Server> =>
  serverOfTest({ directory: path, ...more, flags: [...SHOWN, ...(more.flags ?? [])] });

describe('books in which a call to a bank, one to a webhook and an end are due, and that a torn tail ends,', () => {
  test('are shown, and not a byte of their directory changes, nor is anybody called', async () => {
    const path = copied();
    const before = lookOf(path);
    const calls = hook.calls.length;
    const server = await show(path, { env: { NODE_OPTIONS: LATER }, flags: ['--snapshot-every', '1'] });
    expect(server.log()).toContain('READ-ONLY: it takes nothing in, calls nobody, writes nothing.');
    expect(server.log()).toMatch(/Passed by \d+ bytes at the end of journal-.*not acknowledged/);
    const client = connect(server);
    const there = connect(server, { 'x-ledger': due.ledger });

    expect((await there.get(`/intents/${segment(due.waiting.luid)}`)).body.meta.status).toBe('pending');
    expect((await readIntent(client, due.halfway)).meta.status).toBe('pending');
    expect((await client.get('/wallets?page.limit=3')).body.data).toHaveLength(3);
    expect((await client.get('/wallets/torn-off')).status).toBe(404);
    expect((await client.get('/events?wait=0')).body.data.length).toBeGreaterThan(0);
    expect((await client.get('/effects/tell/events')).status).toBe(200);
    expect((await client.get(`/wallets/${due.wallet}/balances`)).body.data[0].data.amount).toBe(95);
    expect((await client.get('/head')).status).toBe(200);
    const seconds = Math.floor(Date.now() / 1000) + 7200;
    const times = { iat: seconds, exp: seconds + 200 };
    const may = record({ action: 'read' }, keys);
    expect((await client.post(`/wallets/${due.wallet}/access/!check`, may)).status).toBe(200);
    expect((await client.get('/wallets', bearer(keys, 'main', times))).status).toBe(200);

    const refused: [string, string, Json?, Record<string, string>?][] = [
      ['POST', '/wallets', record({ handle: 'new' }, keys)],
      ['POST', '/ledgers', record({ handle: 'new' }, keys)],
      ['POST', '/intents', record({ handle: 'new', claims: [issue(due.wallet, 'usd', 1)] }, keys)],
      ['POST', `/intents/${segment(due.waiting.luid)}/proofs`, proofFor(due.waiting, keys)],
      ['PUT', `/wallets/${due.wallet}`, record({ handle: due.wallet }, keys)],
      ['DELETE', '/effects/tell', record({ parent: due.effect.hash }, keys)],
      ['POST', '/effects/tell/events/retry'],
      ['POST', `/bridges/${due.bridge}/activate`],
      // Neither what is malformed, nor a token that would have to be written down.
      ['POST', '/wallets', { hash: 1 }],
      ['GET', '/wallets', undefined, bearer(keys, 'main', { jti: 'once', ...times })],
    ];
    for (const [method, path, body, headers] of refused) {
      const reply = await client.call(method, path, body, headers);
      expect([reply.status, reply.body.data.reason], `${method} ${path}`).toEqual([503, 'api.unexpected-error']);
      expect(reply.body.data.detail).toContain('only shows its books');
      // It will not be otherwise in a while.
      expect(reply.headers.get('retry-after')).toBe(null);
      verifyError(reply.body, reply.text, server.publicKey);
    }
    expect((await client.call('POST', '/nothing')).status).toBe(404);
    server.process.kill('SIGUSR2');
    await until(() => server.log().includes('No snapshot is taken: the server is read-only'));
    // Whatever it did by itself it would do each second.
    await pause(2500);
    expect((await there.get(`/intents/${segment(due.waiting.luid)}`)).body.meta.status).toBe('pending');
    expect(await server.stop()).toBe(0);
    expect(hook.calls.length).toBe(calls);
    expect(lookOf(path)).toEqual(before);
  });

  slow('are shown by two at once, also beside the server that goes on with them and does what is due', async () => {
    const path = copied();
    const one = await show(path);
    const calls = hook.calls.length;
    const server = await serverOfTest({ directory: path, env: { NODE_OPTIONS: LATER } });
    await hook.waitFor(({ path }, nth) => nth >= calls && path === '/hook');
    await hook.waitFor(({ path }, nth) => nth >= calls && path.endsWith('/credits'));
    const there = connect(server, { 'x-ledger': due.ledger });
    const statusOf = async ({ luid }: Json) => (await there.get(`/intents/${segment(luid)}`)).body.meta.status;
    await until(async () => (await statusOf(due.waiting)) === 'rejected');
    const kit = makeKit(connect(server), keys);
    await kit.wallet({ handle: 'later' });
    const other = await show(path);
    await kit.wallet({ handle: 'too-late' });
    const seen = async (at: Server) => {
      const statuses = ['later', 'too-late'].map(async (name) => (await connect(at).get(`/wallets/${name}`)).status);
      return await Promise.all(statuses);
    };
    expect([await seen(one), await seen(other), await seen(server)]).toEqual([
      [404, 404],
      [200, 404],
      [200, 200],
    ]);
    expect(await server.stop()).toBe(0);
    const before = lookOf(path);
    expect([await one.stop(), await other.stop()]).toEqual([0, 0]);
    expect(lookOf(path)).toEqual(before);
  });

  test('are shown where a byte behind their end has changed, which is told', async () => {
    const path = copied();
    const file = lastSegment(path);
    await (await serverOfTest({ directory: path })).stop();
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.concat([bytes, Buffer.alloc(100), Buffer.from([1]), Buffer.alloc(1000)]));
    const before = lookOf(path);
    const server = await show(path);
    expect(server.log()).toMatch(
      /Passed by 101 bytes at the end of journal-.*: one byte behind the last frame has changed/,
    );
    expect(await server.stop()).toBe(0);
    expect(lookOf(path)).toEqual(before);
  });

  test('are told of without what is no matter there: a disk that nothing is written to, and how rules are changed', async () => {
    const server = await show(copied(), { flags: ['--durability', 'none', '--owner', makeKeys().public] });
    expect(server.log()).toContain('--owner counts when a ledger is made, and main was there already');
    expect(server.log()).not.toMatch(/DURABILITY|PUT/);
  });

  test('are shown by the key of a file', async () => {
    const path = copied();
    const key = join(freshDirectory(), 'key');
    writeFileSync(key, readFileSync(join(path, 'server.key')), { mode: 0o600 });
    unlinkSync(join(path, 'server.key'));
    const before = lookOf(path);
    const server = await show(path, { flags: ['--server-key', key] });
    expect((await connect(server).get('/wallets')).status).toBe(200);
    expect(await server.stop()).toBe(0);
    expect(lookOf(path)).toEqual(before);
  });
});

describe('what cannot be shown is refused, and left as it is:', () => {
  const refusedAt = async (path: string) => {
    const before = lookOf(path);
    const { code, log } = await startRefused({ directory: path, flags: SHOWN });
    expect(lookOf(path)).toEqual(before);
    expect(log).not.toMatch(/\n\s+at /);
    return { code, log };
  };

  test('a directory that is not there is not made', async () => {
    const path = join(freshDirectory(), 'nothing');
    const { code, log } = await startRefused({ directory: path, flags: SHOWN });
    expect([code, log]).toEqual([2, expect.stringContaining(`${path} has no books`)]);
    expect(() => statSync(path)).toThrow('ENOENT');
  });

  test('an empty one: what is missing are the books, and no key', async () => {
    expect(await refusedAt(freshDirectory())).toEqual({ code: 2, log: expect.stringContaining('has no books') });
  });

  test('one without its key: a new one would be of no use', async () => {
    const path = copied();
    unlinkSync(join(path, 'server.key'));
    const { code, log } = await refusedAt(path);
    expect([code, log]).toEqual([1, expect.stringMatching(/server\.key is missing, but .*put it back from a copy/)]);
  });

  test('one with a key alone: no ledger is made', async () => {
    const path = copied();
    for (const name of readdirSync(path)) if (name !== 'server.key') rmSync(join(path, name));
    expect(await refusedAt(path)).toEqual({ code: 2, log: expect.stringContaining('has no books') });
  });

  test('a changed byte of the last frame, which was acknowledged: without it the books would be others', async () => {
    const path = copied();
    const [server, file] = [await serverOfTest({ directory: path }), () => lastSegment(path)];
    await makeKit(connect(server), keys).wallet();
    await server.stop();
    flip(file(), writtenOf(file()) - 100);
    const { code, log } = await refusedAt(path);
    expect([code, log]).toEqual([1, expect.stringContaining('a start that may write puts it back')]);
    // It loses what was acknowledged since.
    expect(log).toContain('A start without --read-only loses nothing by it');
    expect(log).not.toContain('backup');
  });
});
