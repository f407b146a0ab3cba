/**
 * The real process, on a real system that fails it: calls that fail or take long, a disk that is full or read-only,
 * threads that die, a process that is held up. The same promise each time: what was acknowledged is there.
 *
 * `npm run test:long` takes the slow rows too.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { segmentName } from '../../src/storage/format.ts';
import {
  answeredWith,
  crowd,
  judge,
  judgeBooks,
  launchOfTest,
  openAccount,
  type Sent,
  strangeStatuses,
} from '../engine/process.ts';
import { type Client, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, makeKit, pause, unique, until } from '../support/kit.ts';
import { isLong, often, oneOfEach } from '../support/long.ts';
import { hookOfTest } from '../support/of-test.ts';
import { startRefused } from '../support/server.ts';
import { SLOW, slow } from '../support/slow.ts';
import { canMount, canTrace, mountDisk, mountReadOnly, trace } from './system.ts';

const traceable = canTrace('calls of the real process that fail, and writes that take long');
const mountable = canMount('a disk that is really full, a directory nobody may write to');

const keys = makeKeys();
/** One thread that waits for the disk, so that its calls can be counted. */
const COUNTED = { UV_THREADPOOL_SIZE: '1' };

/** Starts on the same directory, on a system that is well again, and looks for everything that was acknowledged. */
async function judgeAgain(path: string, sent: readonly Sent[], wallet: string, symbol: string): Promise<void> {
  const { client } = await launchOfTest(path);
  await judge(client, sent, wallet, symbol);
}

/** Resolves once the journal is written to, which the server learns later. To be called while nobody writes. */
function written(path: string): () => Promise<void> {
  const names = readdirSync(path).filter((name) => name.startsWith('journal-'));
  const times = () => names.map((name) => statSync(join(path, name), { bigint: true }).mtimeNs).join();
  const before = times();
  return async () => void (await until(() => times() !== before));
}

/** Paths that the next segment may have: one of a few kilobytes has no more entries than these. */
async function nextSegments(client: Client, path: string): Promise<string[]> {
  const { seq } = (await client.get('/head')).body.data as { seq: number };
  return Array.from({ length: 200 }, (_, n) => join(path, segmentName(seq + 1 + n)));
}

describe.skipIf(!traceable)('a call that fails while serving ends the process, and loses nothing', () => {
  const SMALL_SEGMENTS = ['--segment-bytes-max', '8192'];
  const SNAPSHOTS = ['--snapshot-every', '40'];
  const rows: [string, string, string, string[]][] = [
    ['a write fails once and would work the next time', 'pwrite64', 'EIO:when=5', []],
    ['a write finds no room', 'pwrite64', 'ENOSPC:when=5', []],
    ["a write finds the user's share used up, which was told as a number", 'pwrite64', 'EDQUOT:when=5', []],
    ['the disk turns read-only before a new segment', 'openat', 'EROFS:when=1', SMALL_SEGMENTS],
    ['a snapshot cannot take its name', 'rename', 'EIO:when=1', SNAPSHOTS],
  ];
  const slow: typeof rows = [
    ['the name of a new segment cannot be synced', 'fsync', 'EIO:when=1', SMALL_SEGMENTS],
    ['no more files can be opened', 'openat', 'EMFILE:when=1', SMALL_SEGMENTS],
  ];
  const taken = oneOfEach(rows, ([, call]) => call);
  test.each(isLong ? [...taken, ...slow] : taken)('%s', async (_name, call, fault, flags) => {
    const path = freshDirectory();
    const server = await launchOfTest(path, { flags, env: COUNTED });
    const { wallet, symbol } = await openAccount(server.client, keys);
    const before = crowd(server.url, 8, wallet, symbol);
    await before.acknowledged(60);
    await before.end(true);
    // What is only loaded once there is time for it opens files too, and would meet the fault instead.
    const paths = call === 'openat' ? await nextSegments(server.client, path) : [];
    const traced = await trace(server.pid, call, `${call}:error=${fault}`, paths);
    onTestFinished(traced.detach);
    const load = crowd(server.url, 8, wallet, symbol);
    await load.end();
    expect(await server.ended).toBe(1);
    const code = fault.split(':')[0]!;
    expect(server.log()).toContain('The disk failed');
    expect(server.log()).toContain(code);
    expect(server.log()).toContain(path);
    expect(server.log()).not.toMatch(/\n\s+at /);
    expect(strangeStatuses(load)).toEqual([]);
    const calls = traced.calls();
    expect(calls.join('\n')).toContain('INJECTED');
    if (call === 'pwrite64') expect(calls.at(-1), 'a write after the one that failed').toContain('INJECTED');
    judgeBooks(path, [...before.sent, ...load.sent], wallet, symbol);
  });
});

test.skipIf(!traceable)(
  'after the disk has failed nothing is told to anybody: it could not be noted',
  SLOW,
  async () => {
    const path = freshDirectory();
    const server = await launchOfTest(path, { env: COUNTED });
    const { wallet, symbol } = await openAccount(server.client, keys);
    const hook = await hookOfTest();
    const late = new Map<string, number>();
    hook.answer = (call) => {
      if (server.log().includes('The disk failed')) late.set(call.path, (late.get(call.path) ?? 0) + 1);
      return 200;
    };
    const kit = makeKit(server.client, keys);
    for (let n = 0; n < 8; n++) {
      const action = { schema: 'webhook', endpoint: `${hook.url}/${n}` };
      await kit.make('effects', { handle: unique('effect'), signal: 'intent-created', action });
    }
    const traced = await trace(server.pid, 'pwrite64', 'pwrite64:error=EIO:when=60');
    onTestFinished(traced.detach);
    const load = crowd(server.url, 8, wallet, symbol);
    await load.end();
    expect(await server.ended).toBe(1);
    expect(hook.calls.length).toBeGreaterThan(8);
    // Of each effect one may have been on its way.
    expect([...late].filter(([, count]) => count > 1)).toEqual([]);
  },
);

describe.skipIf(!traceable)('a write that takes', () => {
  test.each(isLong ? [100, 300, 3_000, 30_000] : [300])(
    '%i ms: nobody is answered before its end, reads neither; killed in the middle of one, nothing is lost',
    async (ms) => {
      const path = freshDirectory();
      const server = await launchOfTest(path, { env: COUNTED });
      const { wallet, symbol } = await openAccount(server.client, keys);
      const traced = await trace(server.pid, 'pwrite64', `pwrite64:delay_exit=${ms * 1000}`);
      onTestFinished(traced.detach);
      const begun = written(path);
      const load = crowd(server.url, 8, wallet, symbol);
      await begun();
      const handle = unique('slow');
      const posted = server.client.post('/intents', record({ handle, claims: [issue(wallet, symbol, 1)] }, keys));
      // Where this machine is late one may come just as a write ends; the next one meets the write after that.
      let waited = 0;
      for (let n = 0; n < 3 && waited <= ms / 3; n++) {
        const began = performance.now();
        expect((await server.client.get(`/wallets/${wallet}/balances`)).status).toBe(200);
        waited = performance.now() - began;
      }
      expect(waited, 'reads beside batches that are being written').toBeGreaterThan(ms / 3);
      expect((await posted).status).toBe(201);
      await load.acknowledged(16);
      for (const { status, took } of load.sent) if (status === 201) expect(took).toBeGreaterThanOrEqual(ms);
      server.child.kill('SIGKILL');
      await server.ended;
      await load.end();
      expect(strangeStatuses(load)).toEqual([]);
      const mine = { body: { data: { handle } }, writtenAt: 0, took: 0, status: 201, reply: (await posted).body };
      judgeBooks(path, [...load.sent, mine], wallet, symbol);
    },
    isLong ? 200_000 : undefined,
  );

  slow(
    'seconds to close a file of the journal: /readyz says so, and who has nothing to do with the disk is answered',
    async () => {
      const path = freshDirectory();
      const server = await launchOfTest(path, { flags: ['--segment-bytes-max', '4096'] });
      const { wallet, symbol } = await openAccount(server.client, keys);
      const traced = await trace(server.pid, 'ftruncate', 'ftruncate:delay_enter=8000000');
      onTestFinished(traced.detach);
      const load = crowd(server.url, 8, wallet, symbol);
      let waited = 0;
      const status = async () => {
        const began = performance.now();
        const answer = await fetch(new URL('/readyz', server.url));
        waited = Math.max(waited, performance.now() - began);
        return answer.status;
      };
      await until(async () => (await status()) === 503);
      await until(async () => (await status()) === 200);
      expect(waited, 'a question that needs no disk').toBeLessThan(3000);
      server.child.kill('SIGKILL');
      await server.ended;
      await load.end();
      expect(traced.calls().join('\n')).toContain('ftruncate');
      judgeBooks(path, load.sent, wallet, symbol);
    },
  );

  slow('seconds, with another address of a bridge in it: nobody is called there before its end', async () => {
    const path = freshDirectory();
    const server = await launchOfTest(path, { env: COUNTED });
    const kit = makeKit(server.client, keys);
    const hook = await hookOfTest();
    hook.answer = () => 503;
    const bank = (at: string) => ({ handle: 'bank', config: { server: `${hook.url}/${at}` } });
    const bridge = await kit.make('bridges', bank('old'));
    const [behind, symbol] = [await kit.wallet({ bridge: 'bank' }), await kit.symbol()];
    await kit.make('intents', { handle: unique('in'), claims: [issue(behind, symbol, 1)] });
    await hook.waitFor((call) => call.path === '/old/credits', 2);
    const traced = await trace(server.pid, 'pwrite64', 'pwrite64:delay_exit=5000000');
    onTestFinished(traced.detach);
    const called = () => hook.calls.filter(({ path }) => path.startsWith('/new')).length;
    const changed = await kit.change('bridges', bridge, bank('new'));
    expect([changed.status, called()]).toEqual([200, 0]);
    await hook.waitFor((call) => call.path === '/new/credits');
  });

  slow('a while, and an inbox that is full: told to come again, and the rest is kept', async () => {
    const path = freshDirectory();
    const server = await launchOfTest(path, { env: COUNTED, flags: ['--inbox-max', '12'] });
    const { wallet, symbol } = await openAccount(server.client, keys);
    const traced = await trace(server.pid, 'pwrite64', 'pwrite64:delay_exit=500000');
    onTestFinished(traced.detach);
    const load = crowd(server.url, 40, wallet, symbol);
    await load.acknowledged(5);
    await until(() => answeredWith(load, 429) > 0);
    await load.end(true);
    expect(load.sent.filter(({ status }) => status !== 201 && status !== 429)).toEqual([]);
    await judge(server.client, load.sent, wallet, symbol);
  });

  test('a while: SIGTERM waits for it, and ends with 0', async () => {
    const path = freshDirectory();
    const server = await launchOfTest(path, { env: COUNTED });
    const { wallet, symbol } = await openAccount(server.client, keys);
    const traced = await trace(server.pid, 'pwrite64', 'pwrite64:delay_exit=700000');
    onTestFinished(traced.detach);
    const begun = written(path);
    const load = crowd(server.url, 8, wallet, symbol);
    await begun();
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(0);
    await load.end();
    expect(answeredWith(load, 201)).toBeGreaterThan(0);
    judgeBooks(path, load.sent, wallet, symbol);
  });
});

describe.skipIf(!mountable)('a disk that is full', () => {
  test.each<[string, string[], (room: number) => boolean]>([
    ['for the journal', [], (room) => room === 0],
    // What it began to write has gone again; a frame would have found its room.
    ['for a snapshot', ['--snapshot-every', '25'], (room) => room > 20_000],
  ])(
    '%s: the process ends with words to act on; with more room it starts, and everything is there',
    async (_for, flags, isLeft) => {
      const disk = mountDisk('256k');
      onTestFinished(disk.remove);
      const server = await launchOfTest(disk.path, { flags });
      const { wallet, symbol } = await openAccount(server.client, keys);
      const load = crowd(server.url, 16, wallet, symbol);
      await load.end();
      expect(await server.ended).toBe(1);
      expect(server.log()).toContain('ENOSPC');
      const { bavail, bsize } = statfsSync(disk.path);
      expect(isLeft(bavail * bsize), `${bavail * bsize} bytes are left`).toBe(true);
      expect(server.log()).toContain('Make room');
      expect(server.log()).toContain(disk.path);
      expect(server.log()).not.toMatch(/\n\s+at /);
      expect(answeredWith(load, 201)).toBeGreaterThan(20);
      expect(strangeStatuses(load)).toEqual([]);
      disk.resize('64m');
      await judgeAgain(disk.path, load.sent, wallet, symbol);
    },
  );
});

test.skipIf(!mountable)('a directory nobody may write to, root neither: told where and why', async () => {
  const disk = mountReadOnly(freshDirectory());
  onTestFinished(disk.remove);
  const { code, log } = await startRefused({ directory: disk.path });
  expect(code).toBe(1);
  expect(log).toContain('EROFS');
  expect(log).toContain(disk.path);
  expect(log).not.toMatch(/\n\s+at /);
});

slow('proof workers that die in the middle of a task: everybody is verified, and nobody else is let in', async () => {
  const path = freshDirectory();
  const preload = fileURLToPath(new URL('./dying-worker.js', import.meta.url));
  const server = await launchOfTest(path, { env: { NODE_OPTIONS: `--import ${preload}` } });
  const { wallet, symbol } = await openAccount(server.client, keys);
  const load = crowd(server.url, 32, wallet, symbol);
  const forgers = Array.from({ length: 8 }, async () => {
    for (let sent = 0; sent < 10; sent++) {
      const forged = record({ handle: unique('forged'), claims: [issue(wallet, symbol, 1)] }, keys);
      const proof = forged.meta.proofs[0];
      const result = Buffer.from(proof.result, 'base64');
      result[5]! ^= 16;
      proof.result = result.toString('base64');
      const { status, body } = await server.client.post('/intents', forged);
      expect([status, body.data.reason]).toEqual([422, 'crypto.signature-invalid']);
    }
  });
  await Promise.all(forgers);
  await load.acknowledged(often(200, 1_000));
  // How many rows make a task, and how many of them the main thread does while no worker is there, is a matter of pace.
  await until(() => server.log().split('a proof worker dies').length > 2);
  await load.end(true);
  expect(load.sent.filter(({ status }) => status !== 201)).toEqual([]);
  await judge(server.client, load.sent, wallet, symbol);
});

describe('a proof worker that hangs in the middle of a task ends the process, and loses nothing', () => {
  async function startHanging(path: string, env: Record<string, string> = {}) {
    const preload = fileURLToPath(new URL('./hanging-worker.js', import.meta.url));
    const flags = ['--workers', '1', '--thread-seconds-max', '5'];
    const server = await launchOfTest(path, { flags, env: { NODE_OPTIONS: `--import ${preload}`, ...env } });
    const { wallet, symbol } = await openAccount(server.client, keys);
    const load = crowd(server.url, 32, wallet, symbol);
    const hangs = () => until(() => server.log().includes('a proof worker hangs') || server.child.exitCode !== null);
    return { server, wallet, symbol, load, hangs };
  }

  // Where a busy machine takes longer than that to begin a thread, it is said of that one.
  const AGAIN = { retry: 3, ...SLOW };

  test('serving', AGAIN, async () => {
    const path = freshDirectory();
    const { server, wallet, symbol, load } = await startHanging(path);
    expect(await server.ended).toBe(1);
    await load.end();
    expect(server.log()).toContain('has not answered for 5 seconds. Everything acknowledged before is safe');
    expect(server.log()).not.toMatch(/\n\s+at /);
    expect(strangeStatuses(load)).toEqual([]);
    expect(answeredWith(load, 201)).toBeGreaterThan(20);
    judgeBooks(path, load.sent, wallet, symbol);
  });

  test('stopping', AGAIN, async () => {
    const path = freshDirectory();
    const { server, wallet, symbol, load, hangs } = await startHanging(path);
    await hangs();
    server.child.kill('SIGTERM');
    expect(await server.ended).toBe(1);
    await load.end();
    expect(server.log()).toContain('has not answered');
    judgeBooks(path, load.sent, wallet, symbol);
  });

  test.skipIf(process.platform === 'win32')('in a call that the system never ends', AGAIN, async () => {
    const path = freshDirectory();
    const fifo = join(freshDirectory(), 'fifo');
    execFileSync('mkfifo', [fifo]);
    const { server, wallet, symbol, load } = await startHanging(path, { AYNI_TEST_FIFO: fifo });
    expect(await server.ended).toBeNull();
    expect(server.child.signalCode).toBe('SIGKILL');
    await load.end();
    expect(server.log()).toContain('has not answered');
    judgeBooks(path, load.sent, wallet, symbol);
  });
});

slow('a thread that never comes to its beginning, nor to its end, is no reason not to stop', async () => {
  const path = freshDirectory();
  const fifo = join(freshDirectory(), 'fifo');
  execFileSync('mkfifo', [fifo]);
  const preload = fileURLToPath(new URL('./hanging-worker.js', import.meta.url));
  const env = { NODE_OPTIONS: `--import ${preload}`, AYNI_TEST_FIFO: fifo, AYNI_TEST_AT_ONCE: '1' };
  const server = await launchOfTest(path, { flags: ['--workers', '1'], env });
  await openAccount(server.client, keys);
  await until(() => server.log().includes('a proof worker hangs'));
  server.child.kill('SIGTERM');
  await until(() => readFileSync(join(path, 'lock-0000000001'), 'utf8') === '');
  // It has let the directory go, which may be another server's, and writes nothing more there.
  server.child.kill('SIGUSR2');
  await until(() => server.log().includes('No snapshot is taken: the server stops.'));
  await server.ended;
  expect(server.child.signalCode ?? 0).toBe('SIGKILL');
  expect(readdirSync(path).filter((name) => name.startsWith('snapshot'))).toEqual([]);
});

test('held up as a whole for a second: it goes on where it was, and nobody is told anything false', async () => {
  const path = freshDirectory();
  const server = await launchOfTest(path);
  const { wallet, symbol } = await openAccount(server.client, keys);
  const load = crowd(server.url, 16, wallet, symbol);
  await load.acknowledged(50);
  server.child.kill('SIGSTOP');
  await pause(1_000);
  server.child.kill('SIGCONT');
  await load.acknowledged(150);
  await load.end(true);
  expect(load.sent.filter(({ status }) => status !== 201)).toEqual([]);
  await judge(server.client, load.sent, wallet, symbol);
});
