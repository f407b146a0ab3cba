/**
 * A copy that is kept going: it is at all times a beginning of the server's books that can be started from, or refused by
 * every start while it is not whole yet; nothing comes into it that the server's disk does not have, or that its key has
 * not signed; whoever is killed on either side goes on where it was.
 */
import { spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { encodeBase64 } from '../../src/proof/keys.ts';
import { SNAPSHOT_HEADER_BYTES } from '../../src/storage/snapshot-format.ts';
import { SERVER } from '../engine/house.ts';
import { crowd, judgeBooks, openAccount } from '../engine/process.ts';
import { connect, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { pause, until } from '../support/kit.ts';
import { AYNI, type Server, startRefused, startServer } from '../support/server.ts';
import { SLOW, slow } from '../support/slow.ts';
import { ayni, ayniProcess, copyOf, filesIn, fillBooks, fresh, prunedBooks } from './books.ts';
import { copiedWithKey, follow, portOf, SOME_KEY, serve, urlOf } from './follower.ts';

const PRUNING = ['--snapshot-every', '40', '--segment-bytes-max', '12000'];

/** What the journal holds, without the room behind it, and the names of all else. */
const contentOf = (directory: string) =>
  filesIn(directory, /^(journal|snapshot|part)-/).map((name) => {
    return [
      name,
      name.startsWith('journal')
        ? readFileSync(join(directory, name))
            .toString('hex')
            .replace(/(00)+$/, '')
        : '',
    ];
  });

describe('ayni follow', () => {
  test('has all that was acknowledged when the server stops, its snapshots too, and a server goes on with it', async () => {
    const directory = freshDirectory();
    const server = await serve({ directory, flags: PRUNING });
    await fillBooks(server, 20);
    const to = fresh();
    const follower = follow(portOf(server), to, server.publicKey);
    await follower.tells(/Has entries 1 to \d+/);
    await fillBooks(server, 60);
    const newest = filesIn(directory, /^snapshot/).at(-1)!;
    await follower.tells(new RegExp(`Has ${newest.replace('.', '\\.')}`));
    expect(await server.stop()).toBe(0);
    expect(server.log()).toMatch(/All who follow these books \(1\) have entries up to \d+\./);
    expect(await follower.stop()).toBe(0);
    expect(contentOf(to)).toEqual(contentOf(directory));
    expect(existsSync(join(to, 'server.key'))).toBe(false);
    expect((await ayniProcess('verify', to, '--against', server.publicKey)).out).toContain('Nothing wrong up to entry');
    const other = await startServer({ directory: to, flags: ['--server-key', join(directory, 'server.key')] });
    await fillBooks(other, 5);
    expect(await other.stop()).toBe(0);
  });

  test('begins a copy of books whose newest snapshot the start passed over', async () => {
    const directory = copyOf(await prunedBooks());
    const [older, newest] = filesIn(directory, /^snapshot/);
    flip(join(directory, newest!), SNAPSHOT_HEADER_BYTES);
    const server = await serve({ directory, flags: ['--segment-bytes-max', '12000'] });
    expect(server.log()).toContain(`Snapshot ${newest} is not used`);
    const to = fresh();
    const once = follow(portOf(server), to, server.publicKey, '--once');
    expect([await once.ended, filesIn(to, /^snapshot/)]).toEqual([0, [older]]);
    expect(await server.stop()).toBe(0);
  });

  test('goes on where it was, whoever is killed, and is a whole beginning each time', async () => {
    const directory = freshDirectory();
    const to = fresh();
    const keys = makeKeys(Buffer.alloc(32, 9));
    // Snapshots that come so often would let go what who follows does not have yet.
    const flags = ['--segment-bytes-max', '12000'];
    let server = await serve({ directory, flags });
    const { wallet, symbol } = await openAccount(connect(server), keys);
    const sent: ReturnType<typeof crowd>['sent'] = [];
    const port = portOf(server);
    let follower = follow(port, to, server.publicKey);
    await follower.tells(/Has entries/);
    for (let round = 0; round < 3; round++) {
      const load = crowd(server.url, 8, wallet, symbol);
      await load.acknowledged(60);
      await follower.kill();
      judgeBooks(copiedWithKey(to, directory), [], wallet, symbol);
      follower = follow(port, to, server.publicKey);
      await follower.tells(/Has entries/);
      await load.acknowledged(120);
      await server.kill();
      await load.end();
      expect(load.sent.filter(({ status }) => status === 201).length).toBeGreaterThanOrEqual(120);
      sent.push(...load.sent);
      server = await startServer({ directory, flags: [...flags, '--followers', String(port)] });
      await follower.tells(/It answers again|Cannot follow/);
    }
    await until(async () => (await entriesOf(to)) >= (await entriesOf(directory)));
    expect(await server.stop()).toBe(0);
    expect(await follower.stop()).toBe(0);
    judgeBooks(copiedWithKey(to, directory), sent, wallet, symbol);
    expect(contentOf(to).at(-1)).toEqual(contentOf(directory).at(-1));
  });

  test('goes on where somebody else answers in between, more than once: what was wrong the time before counted for ever', async () => {
    const server = await serve({ directory: freshDirectory() });
    await fillBooks(server, 3);
    let lies = 0;
    const list = JSON.stringify({ server: SOME_KEY, segments: [], snapshots: [] });
    const front = createServer((asked, response) => {
      if (lies > 0 && /^\/books(\?|$)/.test(asked.url!)) {
        lies--;
        return void response.end(list);
      }
      const passed = request(`${urlOf(server)}${asked.url}`, (answer) => {
        response.writeHead(answer.statusCode!, answer.headers);
        answer.pipe(response);
      });
      response.on('close', () => passed.destroy());
      passed.on('error', () => response.destroy()).end();
    });
    await new Promise<void>((resolve) => front.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void front.close().closeAllConnections());
    const follower = follow((front.address() as AddressInfo).port, fresh(), server.publicKey);
    await follower.tells(/goes on/);
    for (const time of [1, 2]) {
      lies = 1;
      // It may be on its way to ask for what comes: then there is no connection to cut.
      for (; lies > 0; await pause(200)) front.closeAllConnections();
      await follower.tells(new RegExp(`(another server[^]*It answers again[^]*){${time}}`));
    }
    expect(await follower.stop()).toBe(0);
    await server.stop();
  });

  test('--once takes what there is, and the next time what has come since', async () => {
    const directory = freshDirectory();
    const server = await serve({ directory, flags: PRUNING });
    const url = `http://127.0.0.1:${portOf(server)}`;
    const to = fresh();
    for (let round = 0; round < 2; round++) {
      await fillBooks(server, 15);
      const ran = await ayniProcess('follow', url, to, '--against', server.publicKey, '--once');
      expect([ran.code, ran.err]).toEqual([0, '']);
      expect(contentOf(to).at(-1)).toEqual(contentOf(directory).at(-1));
    }
    await server.stop();
  });

  // It told of that again and again, ten times a second, and never ended.
  test('--once ends where a snapshot cannot be had, and says that it is without it', async () => {
    const directory = freshDirectory();
    const server = await serve({ directory });
    await fillBooks(server, 3);
    server.process.kill('SIGUSR2');
    await until(() => server.log().includes('Took snapshot-'));
    const [newest] = filesIn(directory, /^snapshot/);
    rmSync(join(directory, newest!));
    mkdirSync(join(directory, newest!));
    const [url, to] = [`http://127.0.0.1:${portOf(server)}`, fresh()];
    const ran = await ayniProcess('follow', url, to, '--against', server.publicKey, '--once');
    expect([ran.code, ran.err]).toEqual([1, 'ayni: ended before it had all there is\n']);
    const told = ran.out.split('\n').filter((line) => line.includes(newest!));
    expect(told.at(-1)).toMatch(/is a directory\. The copy is without it\.$/);
    expect(told.length).toBeLessThanOrEqual(3);
    expect(contentOf(to)).toEqual(contentOf(directory).filter(([name]) => name !== newest));
    await server.stop();
  });

  slow('ends, and keeps what it has, where the books there are not those it has followed', async () => {
    const directory = freshDirectory();
    let server = await serve({ directory });
    await fillBooks(server, 3);
    const to = fresh();
    const once = (into = to, key = server.publicKey) =>
      ayniProcess('follow', `http://127.0.0.1:${portOf(server)}`, into, '--against', key, '--once');
    expect((await once()).code).toBe(0);
    const before = contentOf(to);
    const strange = await once(fresh(), encodeBase64(SERVER.public));
    expect([strange.code, strange.err]).toEqual([1, expect.stringContaining('of another server, with the key')]);
    const foreign = await once(to, encodeBase64(SERVER.public));
    expect([foreign.code, foreign.err]).toEqual([1, expect.stringContaining('or of another server than the one')]);
    expect(contentOf(to)).toEqual(before);
    // Put back from a copy that is older than this one.
    const older = fresh();
    cpSync(directory, older, { recursive: true });
    await fillBooks(server, 3);
    expect((await once()).code).toBe(0);
    const newer = contentOf(to);
    expect(newer).not.toEqual(before);
    await server.kill();
    server = await serve({ directory: older });
    expect(await once()).toMatchObject({ code: 1, err: expect.stringMatching(/end before entry \d+/) });
    // Which has gone on by itself since.
    await fillBooks(server, 9);
    expect(await once()).toMatchObject({
      code: 1,
      err: expect.stringContaining('of another history'),
    });
    expect(contentOf(to)).toEqual(newer);
    await server.stop();
  });

  slow('books that were put back from before: both say that the copy alone has what was lost', async () => {
    const directory = freshDirectory();
    let server = await serve({ directory });
    const older = fresh();
    const to = fresh();
    await server.kill();
    cpSync(directory, older, { recursive: true });
    server = await serve({ directory });
    await fillBooks(server, 3);
    expect(await follow(portOf(server), to, server.publicKey, '--once').ended).toBe(0);
    await server.kill();
    server = await serve({ directory: older });
    const follower = follow(portOf(server), to, server.publicKey);
    expect(await follower.ended).toBe(1);
    const [, here, there] = /entries up to (\d+), and these books end with (\d+): they are older/.exec(server.log())!;
    expect(Number(here)).toBeGreaterThan(Number(there));
    expect(follower.log()).toContain(`end before entry ${here}, which is here`);
    await server.stop();
  });

  test.skipIf(process.platform === 'win32')(
    'where its disk takes no more it says so, and goes on once it does',
    SLOW,
    async () => {
      const server = await serve({ directory: freshDirectory() });
      const to = fresh();
      const args = [AYNI, 'follow', `http://127.0.0.1:${portOf(server)}`, to, '--against', server.publicKey, '--once'];
      const limited = ['-c', 'ulimit -f 1; exec "$0" "$@"', process.execPath, ...args];
      await fillBooks(server, 3);
      const child = spawn('/bin/sh', limited, { stdio: ['ignore', 'ignore', 'pipe'] });
      let told = '';
      child.stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
      const code = await new Promise((resolve) => child.once('close', resolve));
      expect([code, told]).toEqual([
        1,
        expect.stringMatching(/^ayni: Cannot go on in .*EFBIG.*Make room on the disk.*\n$/),
      ]);
      expect((await ayniProcess(...args.slice(1))).code).toBe(0);
      await server.stop();
    },
  );

  test('where what it is called by cannot be read it says what to do, as of any other file', async () => {
    const to = freshDirectory();
    mkdirSync(join(to, 'follower'));
    const { code, err } = await ayniProcess(
      'follow',
      'http://127.0.0.1:1',
      to,
      '--against',
      encodeBase64(SERVER.public),
    );
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^ayni: Cannot go on in .*follower is a directory.*follow again/),
    ]);
    // It was let go: the lock names nobody.
    expect(filesIn(to, /^lock-/).map((name) => readFileSync(join(to, name), 'utf8'))).toEqual(['']);
  });

  test('goes on where nobody reads its log any more: it ended at the next thing to say, and with 0', async () => {
    const server = await serve({ directory: fresh() });
    const follower = follow(portOf(server), fresh(), server.publicKey);
    await follower.tells(/Has entries/);
    follower.leave();
    // Of that it has something to say.
    await server.stop();
    await pause(1000);
    expect(await follower.stop('SIGHUP')).toBe(129);
  });

  test('SIGUSR1, which log rotation sends to many a server, does nothing and says so: it opened a debugger', async () => {
    const follower = follow(1, fresh(), encodeBase64(SERVER.public));
    await follower.tells(/Cannot follow/);
    follower.signal('SIGUSR1');
    await follower.tells(/SIGUSR1|Debugger/);
    expect(await follower.stop()).toBe(0);
    expect(follower.log()).toContain('SIGUSR1 does nothing here.');
    expect(follower.log()).not.toContain('Debugger');
  });

  test('SIGHUP, which log rotation sends too, ends with another code than a stop that was asked for', async () => {
    const server = await serve({ directory: freshDirectory() });
    const follower = follow(portOf(server), fresh(), server.publicKey);
    await follower.tells(/Has entries/);
    expect(await follower.stop('SIGHUP')).toBe(129);
    expect(follower.log()).toMatch(/has entries 1 to \d+/);
    await server.stop();
  });

  test('--once that is ended before it has all ends with 1', async () => {
    const follower = follow(1, fresh(), encodeBase64(SERVER.public), '--once');
    await follower.tells(/Cannot follow just now/);
    expect(await follower.stop()).toBe(1);
    expect(follower.log()).toContain('ended before it had all there is');
  });

  slow('--once ends with 1 where a snapshot there is not what was signed, however often it is asked for', async () => {
    const directory = freshDirectory();
    const server = await serve({ directory, flags: ['--segment-bytes-max', '12000'] });
    const to = fresh();
    const args = ['follow', `http://127.0.0.1:${portOf(server)}`, to, '--against', server.publicKey, '--once'];
    expect((await ayniProcess(...args)).code).toBe(0);
    await fillBooks(server, 3);
    await takesSnapshot(server);
    flip(join(directory, filesIn(directory, /^snapshot/)[0]!), 100);
    const ran = await ayniProcess(...args);
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('again and again')]);
    expect(ran.out.split('Cannot follow just now').length - 1).toBeLessThan(10);
    await server.stop();
  });

  slow('fetches a snapshot from before the server was last started, and tells where it cannot be had', async () => {
    const directory = freshDirectory();
    const flags = ['--segment-bytes-max', '12000'];
    let server = await serve({ directory, flags });
    const to = fresh();
    const once = follow(portOf(server), to, server.publicKey, '--once');
    expect(await once.ended).toBe(0);
    await fillBooks(server, 30);
    await takesSnapshot(server);
    await server.stop();
    const [snapshot] = filesIn(directory, /^snapshot/) as [string];
    const [path, aside] = [join(directory, snapshot), join(freshDirectory(), snapshot)];
    cpSync(path, aside);
    rmSync(path);
    mkdirSync(path);
    server = await serve({ directory, flags });
    const without = follow(portOf(server), to, server.publicKey);
    await without.tells(/Cannot fetch snapshots just now/);
    expect(await without.stop()).toBe(0);
    rmSync(path, { recursive: true });
    cpSync(aside, path);
    const follower = follow(portOf(server), to, server.publicKey);
    await follower.tells(new RegExp(`Has ${snapshot}`));
    expect(await follower.stop()).toBe(0);
    await server.stop();
  });

  slow('tells that what it has misses is gone there', async () => {
    const directory = freshDirectory();
    const server = await serve({ directory, flags: PRUNING });
    await fillBooks(server, 3);
    const to = fresh();
    const args = ['follow', `http://127.0.0.1:${portOf(server)}`, to, '--against', server.publicKey, '--once'];
    expect((await ayniProcess(...args)).code).toBe(0);
    await fillBooks(server, 120);
    const ran = await ayniProcess(...args);
    expect([ran.code, ran.err]).toEqual([1, expect.stringMatching(/begin a new copy, in an empty directory/)]);
    await server.stop();
  });

  test('nobody starts on it, nor follows into it, meanwhile', async () => {
    const directory = freshDirectory();
    const server = await serve({ directory });
    const to = fresh();
    const follower = follow(portOf(server), to, server.publicKey);
    await follower.tells(/Has entries/);
    const refused = await startRefused({ directory: to, flags: ['--server-key', join(directory, 'server.key')] });
    expect(refused.log).toContain('is in use by process');
    const second = await ayniProcess('follow', `http://127.0.0.1:${portOf(server)}`, to, '--against', server.publicKey);
    expect(second.err).toContain('is in use by process');
    expect(await follower.stop()).toBe(0);
    await server.stop();
  });

  test.each([
    ['no URL', ['here', '/tmp/x', '--against', encodeBase64(SERVER.public)], /no URL/],
    [
      'a password in the URL',
      ['http://me:pass@127.0.0.1:1', '/tmp/x', '--against', encodeBase64(SERVER.public)],
      /no URL/,
    ],
    ['no directory', ['http://127.0.0.1:1'], /two of them/],
    ['no key', ['http://127.0.0.1:1', '/tmp/x'], /--against/],
  ])('%s: exit code 2', async (_name, args, what) => {
    const ran = await ayni('follow', ...args);
    expect([ran.code, ran.err]).toEqual([2, expect.stringMatching(what)]);
  });

  test('a server that only shows its books has none to follow', async () => {
    const directory = freshDirectory();
    const server = await startServer({ directory });
    await server.stop();
    const refused = await startRefused({ directory, flags: ['--read-only', 'yes', '--followers', '0'] });
    expect([refused.code, refused.log]).toEqual([2, expect.stringContaining('--followers')]);
  });
});

test('a server is not started on a copy of which nothing came: it began new books there, under the old key', async () => {
  const directory = freshDirectory();
  writeFileSync(join(directory, 'follower'), 'x\n');
  const { code, log } = await startRefused({ directory });
  expect([code, log]).toEqual([2, expect.stringContaining('run `ayni follow` again')]);
});

async function takesSnapshot(server: Server): Promise<void> {
  server.process.kill('SIGUSR2');
  await until(() => /Took snapshot/.test(server.log()));
}

async function entriesOf(directory: string): Promise<number> {
  const { out } = await ayni('inspect', directory);
  return Number(/Last entry (\d+)/.exec(out)?.[1] ?? 0);
}
