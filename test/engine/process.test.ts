/** The promise kept by the real process: killed, stopped, shut out, and on a disk that is full. */
import { spawn } from 'node:child_process';
import { chmodSync, chownSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { killRounds } from '../process/kill-rounds.ts';
import { dieWithUs } from '../support/children.ts';
import { type Client, connect, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue } from '../support/kit.ts';
import { often } from '../support/long.ts';
import { serverOfTest } from '../support/of-test.ts';
import { launch, MAIN, type Server, startRefused } from '../support/server.ts';
import { answeredWith, clientOf, crowd, judge, judgeBooks, openAccount, strangeStatuses } from './process.ts';

const keys = makeKeys();
async function start(path: string, flags: string[] = []): Promise<{ server: Server; client: Client }> {
  const server = await serverOfTest({ directory: path, flags });
  return { server, client: connect(server) };
}

describe('kill -9 under load, again and again', () => {
  // `npm run kills` plays as many rounds as one likes.
  test('every acknowledged intent is there, and what was not answered is there or not, the same ever after', async () => {
    const { acknowledged } = await killRounds({ directory: freshDirectory(), rounds: often(2, 10), seed: Date.now() });
    expect(acknowledged).toBeGreaterThan(3);
  });
});

describe('SIGTERM under load', () => {
  test('ends with 0, answers all it took, and all that is there', async () => {
    const path = freshDirectory();
    const { server, client } = await start(path);
    const { wallet, symbol } = await openAccount(client, keys);
    const load = crowd(server.url, 32, wallet, symbol);
    await load.acknowledged(150);
    const began = performance.now();
    const code = await server.stop();
    await load.end();
    expect(code).toBe(0);
    const cut = load.sent.filter((one) => one.status === 0 && one.writtenAt < began);
    expect(cut, 'sent before the signal, never answered').toEqual([]);
    expect(strangeStatuses(load)).toEqual([]);
    judgeBooks(path, load.sent, wallet, symbol);
  });
});

describe('SIGTERM at once', () => {
  test('when it says that it serves, ends with 0 and lets the directory go', async () => {
    const path = freshDirectory();
    const rounds = often(3, 5);
    for (let round = 0; round < rounds; round++) {
      const child = spawn(process.execPath, [MAIN, '--port', '0', '--data', path], {
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      dieWithUs(child);
      let log = '';
      child.stderr.on('data', (chunk) => (log += chunk));
      child.stdout.once('data', () => child.kill('SIGTERM'));
      const ended = await new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)));
      expect([ended, log.includes('SIGTERM: stops listening')]).toEqual([0, true]);
    }
    expect(readFileSync(join(path, `lock-000000000${rounds}`), 'utf8')).toBe('');
  });
});

describe('a directory that cannot be had', () => {
  test('because another process has it: told who, and that one serves on', async () => {
    const path = freshDirectory();
    const { server, client } = await start(path);
    const { wallet, symbol } = await openAccount(client, keys);
    const load = crowd(server.url, 4, wallet, symbol);
    const second = await startRefused({ directory: path });
    expect(second.code).toBe(1);
    expect(second.log).toContain(`in use by process ${server.process.pid}`);
    await load.end(true);
    expect(load.sent.every((one) => one.status === 201)).toBe(true);
    await server.kill();
    judgeBooks(path, load.sent, wallet, symbol);
  });

  test('because nobody may write there: told where and why', async () => {
    const path = freshDirectory();
    // Root may write anywhere, so where the tests run as root the server must not.
    const uid = process.getuid?.() === 0 ? 65_534 : undefined;
    if (uid !== undefined) chownSync(path, uid, uid);
    chmodSync(path, 0o500);
    const server = await launch(path, uid === undefined ? {} : { uid });
    expect(await server.ended).toBe(1);
    expect(server.log()).toContain(path);
    expect(server.log()).toMatch(/EACCES|EROFS|EPERM/);
  });

  test('because the snapshots are not for this user to read: they were said to be damage, and a backup the remedy', async () => {
    const path = freshDirectory();
    const { server, client } = await start(path, ['--snapshot-every', '20', '--segment-bytes-max', '4096']);
    const { wallet, symbol } = await openAccount(client, keys);
    const load = crowd(server.url, 4, wallet, symbol);
    await load.acknowledged(60);
    await load.end(true);
    await server.stop();
    const uid = process.getuid?.() === 0 ? 65_534 : undefined;
    const rights = (mode: number) => {
      for (const name of ['', ...readdirSync(path)]) {
        const isSnapshot = name.startsWith('snapshot');
        if (uid !== undefined && !isSnapshot) chownSync(join(path, name), uid, uid);
        if (isSnapshot) chmodSync(join(path, name), mode);
      }
    };
    rights(0o000);
    const refused = await launch(path, uid === undefined ? {} : { uid });
    expect(await refused.ended).toBe(1);
    expect(refused.log()).toMatch(/EACCES: permission denied, open '.*snapshot-\d+\.ays'/);
    expect(refused.log()).toContain(`this user may read and write ${path}`);
    expect(refused.log()).not.toMatch(/damaged|backup/);
    rights(0o600);
    await judge((await start(path)).client, load.sent, wallet, symbol);
  });
});

describe('a full disk', () => {
  test('stops the process with words to act on; with room again everything acknowledged is there', async () => {
    const path = freshDirectory();
    const limited = await launch(path, { before: 'ulimit -f 200' });
    onTestFinished(() => void limited.child.kill('SIGKILL'));
    const client = await clientOf(limited);
    const { wallet, symbol } = await openAccount(client, keys);
    const load = crowd(limited.url, 16, wallet, symbol);
    await load.end();
    expect(await limited.ended).toBe(1);
    expect(limited.log()).toContain('The disk failed');
    expect(limited.log()).toContain('EFBIG');
    expect(limited.log()).toContain(path);
    expect(limited.log()).not.toMatch(/\n\s+at /);
    expect(answeredWith(load, 201)).toBeGreaterThan(20);
    expect(strangeStatuses(load)).toEqual([]);
    expect(answeredWith(load, 503), 'those who waited were told').toBeGreaterThan(0);
    judgeBooks(path, load.sent, wallet, symbol);
  });

  test('from the start on: it does not start, and says why', async () => {
    const path = freshDirectory();
    const limited = await launch(path, { before: 'ulimit -f 0' });
    expect(await limited.ended).toBe(1);
    expect(limited.log()).toMatch(/EFBIG/);
  });
});

describe('stopped while', () => {
  test('clients wait for the end of their intents: they hear how far those came', async () => {
    const { server, client } = await start(freshDirectory());
    const { wallet, symbol } = await openAccount(client, keys);
    const claims = [issue(wallet, symbol, 5)];
    const data = { handle: 'slow', claims, config: { commit: 'manual' } };
    const waiting = client.post('/intents', record(data, keys), { prefer: 'wait=30' });
    while ((await fetch(`${client.url}/intents/slow`)).status !== 200);
    expect(await server.stop()).toBe(0);
    const { status, body } = await waiting;
    expect([status, body.meta.status]).toEqual([201, 'prepared']);
  });

  test('nobody reads its log any more: it stops as ever', async () => {
    const { server } = await start(freshDirectory());
    server.process.stderr!.destroy();
    server.process.stdout!.destroy();
    expect(await server.stop()).toBe(0);
  });
});
