/**
 * Copies over TLS (--followers-tls, follow --tls): who shows no certificate of a peer hears nothing of the books, and no
 * server but a peer is followed, whomever else Node would trust; what cannot be used is told before anything is opened.
 */
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { get as getSecurely } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readPeerTls } from '../../src/peer-tls.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { segmentName } from '../../src/storage/format.ts';
import { SERVER } from '../engine/house.ts';
import { certificate, type Issued, type Issuer } from '../support/certificate.ts';
import { freshDirectory } from '../support/directory.ts';
import { startRefused, startServer } from '../support/server.ts';
import { ayni, ayniProcess, fillBooks, fresh } from './books.ts';
import { emptyJournal, follow, followWith, portOf, serve, showTo, urlOf } from './follower.ts';

const DAY_MS = 24 * 3600 * 1000;
const past = { from: new Date(Date.now() - 9 * DAY_MS), to: new Date(Date.now() - DAY_MS) };
const issuer = certificate('issuer');
const first = certificate('first');
const second = certificate('second');
const stranger = certificate('stranger');

/** What a machine has: its own, and whom it takes for a peer. */
function machine({ cert, key }: Issued, ...peers: Issued[]): string {
  const directory = freshDirectory();
  writeFileSync(join(directory, 'cert.pem'), cert);
  writeFileSync(join(directory, 'key.pem'), key, { mode: 0o600 });
  writeFileSync(join(directory, 'peers.pem'), peers.map((peer) => peer.cert).join('of whom nothing more is known\n'));
  return directory;
}

test('a copy is kept going between two peers, and waited for', async () => {
  const tls = ['--followers-tls', machine(first, stranger, second)];
  const server = await serve({ directory: freshDirectory(), flags: tls });
  await fillBooks(server, 10);
  const to = fresh();
  const follower = follow(urlOf(server), to, server.publicKey, '--tls', machine(second, first));
  await follower.tells(/Has entries 1 to \d+/);
  await fillBooks(server, 50);
  expect(await server.stop()).toBe(0);
  expect(server.log()).not.toContain('has not got all of them');
  expect(await follower.stop()).toBe(0);
  expect((await ayniProcess('verify', to, '--against', server.publicKey)).out).toContain('Nothing wrong up to entry');
});

describe('the port of a server with certificates', () => {
  async function open(...peers: Issued[]): Promise<string> {
    const tls = readPeerTls(realDisk, machine(first, ...peers));
    return (await showTo({ directory: freshDirectory(), journal: emptyJournal(), waitMsMax: 3 }, tls)).url;
  }

  /** What is answered; '' where nothing is. */
  function ask(url: string, shown: Partial<Issued>): Promise<string> {
    return new Promise((resolve) => {
      const asks = url.startsWith('https') ? getSecurely : get;
      const { cert, key } = shown;
      const request = asks(`${url}/books`, { agent: false, ca: first.cert, cert, key }, (response) => {
        let text = '';
        response.on('data', (piece: Buffer) => (text += piece)).on('end', () => resolve(text));
        response.on('error', () => resolve(''));
      });
      request.on('error', () => resolve(''));
    });
  }

  const HEARD: [who: string, shown: Issued, peers: Issued[]][] = [
    ['who is named', second, [second]],
    ['who is named behind others', second, [stranger, second]],
    ['whom somebody issued who is named', certificate('issued', { by: issuer }), [issuer]],
  ];

  test.each(HEARD)('answers %s', async (_who, shown, peers) => {
    const url = await open(...peers);
    expect(await ask(url, shown)).toContain('segments');
  });

  const REFUSED: [who: string, shown: Partial<Issued>, peers: Issued[]][] = [
    ['who shows nothing', {}, [second]],
    ['a stranger', stranger, [second]],
    ['a stranger of the same name', certificate('second'), [second]],
    [
      'whom a stranger issued under the name of a peer',
      certificate('x', { by: { ...stranger, name: 'second' } }),
      [second],
    ],
    ['whose time is over', certificate('late', { by: issuer, ...past }), [issuer]],
    ['itself, where it is not named', first, [second]],
  ];

  test('answers who is named while strangers hold all the connections they get, and show nothing', async () => {
    const url = await open(second);
    const port = Number(new URL(url).port);
    const strangers = Array.from({ length: 80 }, () => connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }));
    onTestFinished(() => strangers.forEach((socket) => void socket.destroy()));
    const settled = strangers.map(
      (socket) => new Promise((resolve) => socket.on('connect', resolve).on('error', resolve).on('close', resolve)),
    );
    await Promise.all(settled);
    expect(await ask(url, second)).toContain('segments');
  });

  /** On a thread of its own: who answers and who asks then go on at the same time. */
  const ASKS = `
    const { workerData: { url, name, tls, source }, parentPort } = require('node:worker_threads');
    import(source).then(async ({ Source }) => {
      const asking = new Source(url, 'copy', new AbortController().signal, tls);
      const heard = [];
      for (let n = 0; n < 150; n++) {
        const fetched = asking.fetch(name, { from: 0, has: null, waits: true });
        heard.push(await fetched.then(({ kind }) => kind, ({ message }) => message));
      }
      asking.close();
      parentPort.postMessage(heard);
    });
  `;

  test('breaks no connection on which the next question comes as soon as the last was answered', async () => {
    const url = await open(second);
    const tls = readPeerTls(realDisk, machine(second, first));
    const source = fileURLToPath(new URL('../../src/cli/follow/source.js', import.meta.url));
    const worker = new Worker(ASKS, { eval: true, workerData: { url, name: segmentName(1), tls, source } });
    const heard = await new Promise<string[]>((resolve, reject) => worker.on('message', resolve).on('error', reject));
    expect([...new Set(heard)]).toEqual(['nothing']);
  });

  test.each(REFUSED)('tells nothing to %s', async (_who, shown, peers) => {
    const url = await open(...peers);
    expect(await ask(url, shown)).toBe('');
    expect(await ask(url.replace('https', 'http'), shown)).toBe('');
  });
});

describe('ayni follow --tls', () => {
  const STRANGE: [server: string, own: Issuer][] = [
    ['no peer', stranger],
    ['of another address', certificate('away', { by: issuer, address: '127.0.0.2' })],
    ['whose time is over', certificate('old', { by: issuer, ...past })],
  ];

  test.each(STRANGE)('follows no server that is %s', async (_what, own) => {
    const server = await serve({ directory: freshDirectory(), flags: ['--followers-tls', machine(own, second)] });
    const to = fresh();
    const tls = machine(second, first, issuer);
    const follower = followWith(
      { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
      urlOf(server),
      to,
      server.publicKey,
      '--tls',
      tls,
    );
    await follower.tells(/Cannot follow just now \(.*(certificate|altnames)/);
    expect(await follower.stop()).toBe(0);
    expect(follower.log()).toContain('is not whole yet');
    expect(await server.stop()).toBe(0);
  });

  test('tells why it cannot go on where that is another reason than before', async () => {
    const directory = freshDirectory();
    let server = await serve({ directory, flags: ['--followers-tls', machine(first, second)] });
    const port = String(portOf(server));
    const follower = follow(urlOf(server), fresh(), server.publicKey, '--tls', machine(second, first));
    await follower.tells(/Has entries/);
    expect(await server.stop()).toBe(0);
    await follower.tells(/Cannot follow just now \(/);
    const flags = ['--followers', port, '--followers-tls', machine(stranger, second)];
    server = await startServer({ directory, flags });
    await follower.tells(/Cannot follow just now \(.*certificate/);
    expect(await follower.stop()).toBe(0);
    expect(await server.stop()).toBe(0);
  });

  test('tells that it is not let in, and goes on asking', async () => {
    const server = await serve({ directory: freshDirectory(), flags: ['--followers-tls', machine(first, stranger)] });
    const follower = follow(urlOf(server), fresh(), server.publicKey, '--tls', machine(second, first));
    await follower.tells(/Cannot follow just now \(/);
    expect(await follower.stop()).toBe(0);
    expect(await server.stop()).toBe(0);
  });
});

describe('files that cannot be used', () => {
  const in_ = (directory: string, name: string) => join(directory, name);
  const SPOILT: [what: string, spoil: (directory: string) => void, told: RegExp][] = [
    ['no certificate', (at) => rmSync(in_(at, 'cert.pem')), /cert\.pem cannot be read \(ENOENT\)/],
    ['no key', (at) => rmSync(in_(at, 'key.pem')), /key\.pem cannot be read \(ENOENT\)/],
    ['no peers', (at) => rmSync(in_(at, 'peers.pem')), /peers\.pem cannot be read \(ENOENT\)/],
    ['a key that others may read', (at) => chmodSync(in_(at, 'key.pem'), 0o640), /key\.pem holds a secret/],
    ['a key of another', (at) => writeFileSync(in_(at, 'key.pem'), stranger.key), /no certificate and its key/],
    ['nobody among the peers', (at) => writeFileSync(in_(at, 'peers.pem'), '\n'), /holds no certificate/],
    [
      'half a certificate among the peers',
      (at) => writeFileSync(in_(at, 'peers.pem'), first.cert + second.cert.replace(/MI.{60}/, '')),
      /holds what is no certificate/,
    ],
    [
      'a certificate among the peers that was cut off',
      (at) => writeFileSync(in_(at, 'peers.pem'), first.cert + second.cert.slice(0, 99)),
      /holds what is no whole certificate/,
    ],
    [
      'a key among the peers',
      (at) => writeFileSync(in_(at, 'peers.pem'), first.cert + second.key),
      /holds what is no whole certificate/,
    ],
    [
      'a peer that somebody issued who is not named',
      (at) => writeFileSync(in_(at, 'peers.pem'), first.cert + certificate('issued', { by: issuer }).cert),
      /holds that of CN=issued, and not of who issued it \(CN=issuer\)/,
    ],
    ['a certificate that is none', (at) => writeFileSync(in_(at, 'cert.pem'), 'x'), /no certificate and its key/],
  ];

  test.each(SPOILT)('%s: told, and nobody is trusted', (_what, spoil, told) => {
    const directory = machine(first, second);
    spoil(directory);
    expect(() => readPeerTls(realDisk, directory)).toThrow(told);
  });

  test('a server does not start, and makes nothing', async () => {
    const directory = fresh();
    const refused = await startRefused({ directory, flags: ['--followers', '0', '--followers-tls', freshDirectory()] });
    expect([refused.code, refused.log]).toEqual([1, expect.stringMatching(/cert\.pem cannot be read/)]);
    expect(existsSync(directory)).toBe(false);
    const alone = await startRefused({ directory, flags: ['--followers-tls', machine(first, second)] });
    expect([alone.code, alone.log]).toEqual([2, expect.stringContaining('--followers-tls: there is no port')]);
  });

  test('nor does who follows', async () => {
    const to = fresh();
    const args = (url: string, tls: string) => ['follow', url, to, '--against', SERVER_KEY, '--tls', tls];
    const lacks = await ayni(...args('https://127.0.0.1:1', freshDirectory()));
    expect([lacks.code, lacks.err]).toEqual([1, expect.stringMatching(/cert\.pem cannot be read/)]);
    const clear = await ayni(...args('http://127.0.0.1:1', machine(second, first)));
    expect([clear.code, clear.err]).toEqual([2, expect.stringContaining('is not https')]);
    expect(existsSync(to)).toBe(false);
  });
});

const SERVER_KEY = Buffer.from(SERVER.public).toString('base64');
