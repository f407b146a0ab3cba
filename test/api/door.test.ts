/**
 * At the door: what the server does with clients that are hostile, broken or merely slow, seen from outside, and that
 * those beside them notice nothing. DOOR.md says where each promise is held by a test.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { connect as open, type Socket } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { bearer, connect, makeKeys, makeToken, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, makeKit, openLedger, reasonOf, transfer, unique, until } from '../support/kit.ts';
import { serverOfTest } from '../support/of-test.ts';
import { head, rawRequest } from '../support/raw.ts';
import type { Server } from '../support/server.ts';
import { slow } from '../support/slow.ts';

const keys = makeKeys();

function claimsNow(): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return { iss: 'me', sub: 'me', iat: now, exp: now + 240 };
}

function dial(server: Server): Socket {
  const socket = open(server.port, '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

function reaches(port: number, host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = open(port, host);
    socket.on('connect', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('close', () => socket.destroy());
    setTimeout(() => resolve(false), 2000);
  });
}

test('it is heard on 127.0.0.1 alone unless told otherwise', async () => {
  const server = await serverOfTest();
  expect(await reaches(server.port, '127.0.0.1')).toBe(true);
  // Another address of this machine, and of no other: what listens everywhere listens there.
  expect(await reaches(server.port, '127.0.0.2')).toBe(false);
});

test('a ledger named by bytes beyond ASCII, or by nothing, is one that nobody made, whatever else is sent', async () => {
  const server = await serverOfTest();
  for (const value of ['\xe9\xff', Buffer.from('日本').toString('latin1'), '', ' \t ', 'ma\xe9in']) {
    for (const more of [{}, bearer(keys)]) {
      for (const method of ['GET', 'POST']) {
        const body = method === 'GET' ? '' : JSON.stringify(record({ handle: unique('w') }, keys));
        const lines = head(method, '/v2/wallets', { 'x-ledger': value, 'content-length': body.length, ...more });
        const reply = await rawRequest(server, [Buffer.from(lines, 'latin1'), body]);
        expect(reasonOf(reply), value).toEqual([404, 'api.route-not-found']);
      }
    }
  }
});

test('a ledger named in two lines is none, as where a gateway puts its own behind that of a client: the first counted', async () => {
  const server = await serverOfTest();
  const { handle } = (await openLedger(connect(server), keys)).data;
  const token = makeToken({ ...claimsNow(), aud: 'main' }, keys);
  for (const names of [
    ['main', handle],
    [handle, 'main'],
    ['main', 'main'],
    ['', 'main'],
  ]) {
    for (const more of ['', `authorization: Bearer ${token}\r\n`]) {
      const named = names.map((name) => `x-ledger: ${name}\r\n`).join('');
      const reply = await rawRequest(server, [`GET /v2/wallets HTTP/1.1\r\nhost: a\r\n${named}${more}\r\n`]);
      expect(reasonOf(reply), named + more).toEqual([404, 'api.route-not-found']);
    }
  }
});

test('every token that is sent is checked, also one in a second line: it was passed over', async () => {
  const server = await serverOfTest();
  const good = makeToken({ ...claimsNow(), aud: 'main' }, keys);
  for (const tokens of [
    [`Bearer ${good}`, 'Bearer nonsense'],
    ['', 'Bearer nonsense'],
    [`Bearer ${good}`, `Bearer ${good}`],
  ]) {
    const lines = tokens.map((token) => `authorization: ${token}\r\n`).join('');
    const reply = await rawRequest(server, [`GET /v2/wallets HTTP/1.1\r\nhost: a\r\n${lines}\r\n`]);
    expect(reasonOf(reply), lines).toEqual([401, 'auth.unauthorized']);
  }
});

test('no secret stands in the log, in an error, or in a file that others may read', async () => {
  const directory = freshDirectory();
  const flags = ['--log-level', 'debug', '--snapshot-every', '5'];
  const server = await serverOfTest({ directory, flags });
  const client = connect(server);
  const kit = makeKit(client, keys);
  const now = Math.floor(Date.now() / 1000);
  const token = makeToken({ iss: 'me', sub: 'me', aud: 'elsewhere', iat: now, exp: now + 240 }, keys);
  const SECRETS = ['hunter2-bridge', 'hunter2-client', 'hunter2-query', 'hunter2-body', token];
  const [bridge, clientSecret, inQuery, inBody] = SECRETS as [string, string, string, string];
  await kit.make('bridges', {
    handle: 'core',
    config: { server: 'http://127.0.0.1:9' },
    secure: [
      { schema: 'header', key: 'x-key', value: bridge },
      { schema: 'oauth2', tokenUrl: 'http://127.0.0.1:9/t', clientId: 'me', clientSecret },
    ],
  });
  const effect = { signal: 'wallet-created', action: { schema: 'bridge', bridge: 'core' } };
  await kit.make('effects', { handle: 'watch', ...effect });
  for (let n = 0; n < 8; n++) await kit.wallet();
  const told = [
    await client.get('/wallets', { authorization: `Bearer ${token}` }),
    await client.get(`/wallets?secret=${inQuery}&data.handle.$nope=${inQuery}`),
    await client.post('/wallets', `{"password":"${inBody}"`),
    await client.post('/wallets', record({ handle: 'x', password: inBody }, keys)),
    await client.post('/bridges', record({ handle: 'core', config: { server: inBody } }, keys)),
  ];
  for (const { status, text } of told) {
    expect(status).toBeGreaterThanOrEqual(400);
    for (const secret of SECRETS) expect(text).not.toContain(secret);
  }
  const tried = async () => (await client.get('/effects/watch/events')).text.includes('connection failed');
  await until(tried, 'a delivery that failed');
  await until(() => readdirSync(directory).some((name) => /^snapshot-.*ays$/.test(name)), 'a snapshot');
  expect(await server.stop()).toBe(0);
  const [key] = readdirSync(directory).filter((name) => name.endsWith('.key'));
  const own = /[A-Za-z0-9+/]{43}=/g;
  const secrets = readFileSync(join(directory, key!), 'utf8').match(own)!;
  for (const secret of [...SECRETS, ...secrets.filter((text) => text !== server.publicKey)]) {
    expect(server.log()).not.toContain(secret);
  }
  const files = readdirSync(directory);
  for (const kind of ['journal-', 'snapshot-', 'lock-']) expect(files.some((name) => name.startsWith(kind))).toBe(true);
  for (const name of files) expect(statSync(join(directory, name)).mode & 0o077, name).toBe(0);
});

slow('a crowd of clients that drip, shout, hang up and do not read: nobody beside them notices', async () => {
  const server = await serverOfTest({ flags: ['--arriving-bytes-max', '4194304', '--unread-bytes-max', '4194304'] });
  const client = connect(server);
  const kit = makeKit(client, keys);
  const symbol = await kit.symbol();
  const [ana, luz] = [await kit.funded(symbol, 1000), await kit.wallet()];
  for (let n = 0; n < 30; n++) await kit.wallet({ custom: { text: 'x'.repeat(50_000) } });

  const body = 'POST /v2/intents HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n';
  const nests = `${'['.repeat(60_000)}`;
  const keysOfIt = `{${Array.from({ length: 60_000 }, (_, n) => `"__proto__${n}":1`).join()}}`;
  const post = (text: string) => `${head('POST', '/v2/wallets', { 'content-length': text.length })}${text}`;
  const crowd: ((socket: Socket) => void)[] = [
    // Headers and bodies by the byte.
    (socket) => socket.write('GET /v2 HTTP/1.1\r\nhost: a\r\nx: '),
    (socket) => socket.write(`${body}{"a":`),
    (socket) => socket.write(body + 'x'.repeat(300_000)),
    // More of everything than anybody needs.
    (socket) => socket.write(`GET /v2 HTTP/1.1\r\n${'x: y\r\n'.repeat(5000)}`),
    (socket) => socket.write(`GET /v2 HTTP/1.1\r\nx: ${'y'.repeat(300_000)}\r\n\r\n`),
    (socket) => socket.write('GET /v2 HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(500)),
    (socket) => socket.write(post(nests)),
    (socket) => socket.write(post(keysOfIt)),
    (socket) => socket.write(Buffer.alloc(10_000, 0x16)),
    // Answers of megabytes that nobody takes.
    (socket) => socket.pause().write('GET /v2/wallets?page.limit=100 HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(20)),
    // Gone before the answer, on one side or both.
    (socket) => socket.end('GET /v2/wallets HTTP/1.1\r\nhost: a\r\n\r\n'),
    (socket) => socket.write(body, () => socket.resetAndDestroy()),
  ];
  const crowded = Array.from({ length: 12 }, () => crowd.map((behave) => ({ socket: dial(server), behave }))).flat();
  for (const { socket, behave } of crowded) behave(socket);
  const drip = setInterval(() => {
    for (const { socket } of crowded) if (socket.writable) socket.write('z');
  }, 50);
  onTestFinished(() => clearInterval(drip));

  for (let n = 0; n < 40; n++) {
    await kit.done([transfer(ana, luz, symbol, 1)]);
    expect((await client.get('/wallets?page.limit=5')).status).toBe(200);
  }
  expect([await kit.balance(ana, symbol), await kit.balance(luz, symbol)]).toEqual([960, 40]);
  clearInterval(drip);
  expect(server.log()).not.toContain('A defect of ours');
  expect(await server.stop()).toBe(0);
});

test('what one ledger is flooded with is no trouble in another', async () => {
  const server = await serverOfTest();
  const there = connect(server, { 'x-ledger': (await openLedger(connect(server), keys)).data.handle });
  const here = makeKit(connect(server), keys);
  const symbol = await here.symbol();
  const wallet = await here.wallet();
  const flood = Array.from({ length: 400 }, () =>
    there.post('/intents', record({ handle: unique('f'), claims: [issue('nobody', 'nothing', 1)] }, keys)),
  );
  for (let n = 0; n < 10; n++) await here.done([issue(wallet, symbol, 1)]);
  const told = await Promise.all(flood);
  expect(told.filter(({ status }) => status !== 201 && status !== 429)).toEqual([]);
  expect(await here.balance(wallet, symbol)).toBe(10);
});
