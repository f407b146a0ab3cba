/**
 * Copies over TLS (--followers-tls, follow --tls): who shows no certificate of a peer hears nothing of the books, and no
 * server but a peer is followed, whomever else Node would trust; what cannot be used is told before anything is opened.
 */
import { X509Certificate } from 'node:crypto';
import { chmodSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer, get as getSecurely } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectSecurely, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Source } from '../../src/cli/follow/source.ts';
import { PeerFiles } from '../../src/peer-tls.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { segmentName } from '../../src/storage/format.ts';
import { SERVER } from '../engine/house.ts';
import { certificate, type Issued, type Issuer } from '../support/certificate.ts';
import { freshDirectory } from '../support/directory.ts';
import { until } from '../support/kit.ts';
import { startRefused, startServer } from '../support/server.ts';
import { slow } from '../support/slow.ts';
import { ayni, ayniProcess, fillBooks, fresh } from './books.ts';
import { emptyJournal, follow, followWith, portOf, SOME_KEY, serve, showTo, urlOf } from './follower.ts';

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
  writeFileSync(
    join(directory, 'peers.pem'),
    peers.map((peer) => peer.cert).join('of whom nothing more is known\n---------- and the next ----------\n'),
  );
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
  expect(server.log()).toMatch(/All who follow these books \(1\) have entries up to \d+\./);
  expect(await follower.stop()).toBe(0);
  expect((await ayniProcess('verify', to, '--against', server.publicKey)).out).toContain('Nothing wrong up to entry');
});

/** What a machine has from now on. */
function renew(directory: string, { cert, key }: Issued, ...peers: Issued[]): void {
  writeFileSync(join(directory, 'peers.pem'), peers.map((peer) => peer.cert).join(''));
  writeFileSync(join(directory, 'key.pem'), key);
  writeFileSync(join(directory, 'cert.pem'), cert);
}

slow(
  'who runs goes on with certificates that were put in the place of others, and hears who they were no more',
  async () => {
    const [firstNow, secondNow] = [certificate('first'), certificate('second')];
    const [here, there] = [machine(first, second, stranger), machine(second, first)];
    const directory = freshDirectory();
    const server = await serve({ directory, flags: ['--followers-tls', here] });
    const to = fresh();
    const follower = follow(urlOf(server), to, server.publicKey, '--tls', there);
    await follower.tells(/Has entries 1 to \d+/);
    const left = follow(urlOf(server), fresh(), server.publicKey, '--tls', machine(stranger, first, firstNow));
    await left.tells(/Has entries 1 to \d+/);
    renew(there, secondNow, firstNow);
    renew(here, firstNow, secondNow);
    await follower.tells(/Uses what lies in/);
    await left.tells(/Cannot follow just now/);
    expect(server.log()).toContain('Uses what lies in');
    expect(await left.stop()).toBe(0);
    await fillBooks(server, 10);
    expect(await server.stop()).toBe(0);
    await follower.tells(/Cannot follow just now \(connect/);
    expect(await follower.stop()).toBe(0);
    const upTo = async (books: string) =>
      /Nothing wrong up to entry \d+/.exec((await ayniProcess('verify', books, '--against', server.publicKey)).out)![0];
    expect(await upTo(to)).toBe(await upTo(directory));
    expect(server.log()).toContain('Who came from 127.0.0.1 was not let in: DEPTH_ZERO_SELF_SIGNED_CERT.');
  },
);

describe('a certificate that ends while its peer is connected', () => {
  /** A server and its copy, which has what there is; the certificate of one of them ends soon. */
  async function connected(ends: 'first' | 'second') {
    // Time for the starts, and for the first questions; more of it, where this machine is slower.
    for (let ms = 10_000; ; ms *= 2) {
      const ending = certificate(ends, { to: new Date(Date.now() + ms) });
      const [here, there] = ends === 'first' ? [ending, second] : [first, ending];
      const server = await serve({ directory: freshDirectory(), flags: ['--followers-tls', machine(here, there)] });
      const follower = follow(urlOf(server), fresh(), server.publicKey, '--tls', machine(there, here));
      await follower.tells(/Has entries 1 to \d+|Cannot follow just now/);
      if (follower.log().includes('Has entries 1 to')) return { server, follower, ending };
      await follower.stop();
      await server.stop();
    }
  }

  slow('of a copy: the server hangs up then, and lets it in no more', async () => {
    const { server, follower } = await connected('second');
    await follower.tells(/Cannot follow just now/);
    await until(() => server.log().includes('Who came from 127.0.0.1 was not let in: CERT_HAS_EXPIRED.'));
    expect(await follower.stop()).toBe(0);
    expect(await server.stop()).toBe(0);
  });

  slow('of a server: its copy takes its word no more', async () => {
    const { server, follower, ending } = await connected('first');
    await until(() => Date.now() > Date.parse(new X509Certificate(ending.cert).validTo));
    await fillBooks(server, 1);
    await follower.tells(/Cannot follow just now \(the certificate that it shows is over\)/);
    expect(await follower.stop()).toBe(0);
    expect(await server.stop()).toBe(0);
  });

  slow(
    'is told by the server two weeks before, once; of one for a week not until a third of that is left',
    async () => {
      const ending = certificate('second', { to: new Date(Date.now() + 5 * DAY_MS) });
      const short = { from: new Date(Date.now() - 3 * DAY_MS), to: new Date(Date.now() + 4 * DAY_MS) };
      const brief = certificate('third', short);
      const server = await serve({
        directory: freshDirectory(),
        flags: ['--followers-tls', machine(first, ending, brief)],
      });
      const third = follow(urlOf(server), fresh(), server.publicKey, '--tls', machine(brief, first));
      await third.tells(/Has entries 1 to \d+/);
      const follower = follow(urlOf(server), fresh(), server.publicKey, '--tls', machine(ending, first));
      const told = /The certificate that is shown from 127\.0\.0\.1 ends at/g;
      await until(() => told.test(server.log()));
      expect(await third.stop()).toBe(0);
      expect(await follower.stop()).toBe(0);
      expect(await server.stop()).toBe(0);
      expect(server.log().match(told)).toHaveLength(1);
    },
  );
});

describe('what has come to lie there', () => {
  const second2 = certificate('second');

  function look(files: PeerFiles): { isNew: boolean; told: string } {
    let told = '';
    const isNew = files.look((text) => (told += text));
    return { isNew, told };
  }

  test('is used once it is whole; what cannot be used is told once it lasts, and once', () => {
    const directory = machine(first, second);
    const files = new PeerFiles(realDisk, directory);
    const { tls: before } = files;
    expect(look(files)).toEqual({ isNew: false, told: '' });
    writeFileSync(join(directory, 'cert.pem'), second2.cert);
    expect(look(files)).toEqual({ isNew: false, told: '' });
    expect(look(files)).toEqual({
      isNew: false,
      told: expect.stringMatching(/no certificate and its key .* before\./),
    });
    expect(look(files)).toEqual({ isNew: false, told: '' });
    expect(files.tls).toBe(before);
    writeFileSync(join(directory, 'key.pem'), second2.key);
    expect(look(files)).toEqual({
      isNew: true,
      told: `Uses what lies in ${directory} now to know its peers, and to be known.`,
    });
    expect(files.tls).toMatchObject({ cert: Buffer.from(second2.cert), key: Buffer.from(second2.key) });
    expect(look(files)).toEqual({ isNew: false, told: '' });
    rmSync(join(directory, 'peers.pem'));
    expect([look(files).told, look(files).told, look(files).told]).toEqual([
      '',
      expect.stringMatching(/peers\.pem cannot be read/),
      '',
    ]);
  });

  test('is not used where others may use its key', () => {
    const directory = machine(first, second);
    const files = new PeerFiles(realDisk, directory);
    renew(directory, second2, first);
    chmodSync(join(directory, 'key.pem'), 0o644);
    expect(look(files)).toEqual({ isNew: false, told: '' });
    expect(look(files).told).toContain('holds a secret');
  });

  test('is not used where its end cannot be read: nothing would go on', () => {
    const directory = machine(first, second);
    const files = new PeerFiles(realDisk, directory);
    const spoilt = Buffer.from(first.cert.replace(/-----[A-Z ]+-----/g, ''), 'base64').toString('latin1');
    const der = Buffer.from(
      spoilt.replace(/\d{12}Z/g, (time) => `x${time.slice(1)}`),
      'latin1',
    );
    const cert = `-----BEGIN CERTIFICATE-----\n${der.toString('base64').replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`;
    writeFileSync(join(directory, 'cert.pem'), cert);
    expect(look(files)).toEqual({ isNew: false, told: '' });
    expect(look(files).told).toMatch(/cert\.pem does not say when it ends/);
    files.tellEnding(() => {}, Date.now());
    expect(() => new PeerFiles(realDisk, directory)).toThrow(/does not say when it ends/);
  });

  test('is told where two are taken for one another: a peer that has its old key would not be let in', () => {
    const directory = machine(first, second);
    const files = new PeerFiles(realDisk, directory);
    const sameKey = certificate('second', { as: second });
    renew(directory, first, second, sameKey);
    expect(look(files)).toEqual({
      isNew: true,
      told: expect.stringMatching(/holds two of CN=second that have one key/),
    });
    let told = '';
    new PeerFiles(realDisk, directory).watch((text) => (told += text))();
    expect(told).toMatch(/holds two of CN=second/);
    renew(directory, first, second, second2, second);
    expect(look(files)).toEqual({ isNew: true, told: expect.stringMatching(/to be known\.$/) });
  });

  /** What it says of the ends of certificates at a moment. */
  const tellerOf = (files: PeerFiles) => (moment: string) => {
    let told = '';
    files.tellEnding((text) => (told += text), Date.parse(moment));
    return told;
  };

  test('is told where its own certificate ends within two weeks, and where it is over', () => {
    const to = new Date('2030-06-15T12:00:00Z');
    const files = new PeerFiles(realDisk, machine(certificate('first', { to }), second));
    const tellAt = tellerOf(files);
    expect(tellAt('2030-06-01T11:59:59Z')).toBe('');
    expect(tellAt('2030-06-01T12:00:00Z')).toMatch(/ends at 2030-06-15T12:00:00.000Z/);
    expect(tellAt('2030-06-02T12:00:00Z')).toBe('');
    expect(tellAt('2030-06-15T12:00:00Z')).toMatch(/ended at 2030-06-15T12:00:00.000Z/);
    expect(tellAt('2030-07-15T12:00:00Z')).toBe('');
    expect(tellAt('2030-01-01T12:00:00Z')).toBe('');
    expect(tellAt('2030-07-15T12:00:00Z')).toMatch(/ended at 2030-06-15T12:00:00.000Z/);
  });

  test('is not told of one for a day before a third of that is left: it was told all the time', () => {
    const [from, to] = [new Date('2030-06-15T00:00:00Z'), new Date('2030-06-16T00:00:00Z')];
    const files = new PeerFiles(realDisk, machine(certificate('first', { from, to }), second));
    const tellAt = tellerOf(files);
    expect(tellAt('2030-06-15T15:59:59Z')).toBe('');
    expect(tellAt('2030-06-15T16:00:00Z')).toMatch(/ends at 2030-06-16T00:00:00.000Z/);
  });

  test('is told where its own certificate does not hold yet', () => {
    const from = new Date('2030-06-15T12:00:00Z');
    const to = new Date('2031-06-15T12:00:00Z');
    const files = new PeerFiles(realDisk, machine(certificate('first', { from, to }), second));
    const told: string[] = [];
    files.tellEnding((text) => told.push(text), Date.parse('2030-06-15T11:00:00Z'));
    files.tellEnding((text) => told.push(text), Date.parse('2030-06-15T13:00:00Z'));
    expect(told).toEqual([expect.stringMatching(/holds from 2030-06-15T12:00:00.000Z on/)]);
  });
});

describe('the port of a server with certificates', () => {
  async function open(...peers: Issued[]): Promise<string> {
    return (await openTelling(...peers)).url;
  }

  async function openTelling(...peers: Issued[]): Promise<{ url: string; told: string[] }> {
    const files = new PeerFiles(realDisk, machine(first, ...peers));
    const told: string[] = [];
    const tell = (text: string) => void told.push(text);
    const books = { directory: freshDirectory(), journal: emptyJournal(), waitMsMax: 3, tell };
    return { url: (await showTo(books, files)).url, told };
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

  const TOLD: [who: string, shown: Partial<Issued>, why: string][] = [
    ['who shows nothing', {}, 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE'],
    ['a stranger', stranger, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['whose time is over', certificate('late', { by: issuer, ...past }), 'CERT_HAS_EXPIRED'],
  ];

  test.each(TOLD)('tells, once, why it did not let in %s', async (_who, shown, why) => {
    const { url, told } = await openTelling(issuer);
    for (let n = 0; n < 3; n++) await ask(url, shown);
    await until(() => told.length > 0);
    expect(told).toEqual([`Who came from 127.0.0.1 was not let in: ${why}.`]);
  });

  test('tells of who hung up where he came from, and not of whoever was there before', async () => {
    const { url, told } = await openTelling(second);
    const raw = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: '127.0.0.2' });
    await new Promise((resolve) => raw.on('connect', resolve));
    // Who comes later is let in: so the one before was taken.
    expect(await ask(url, second)).toContain('segments');
    raw.resetAndDestroy();
    await until(() => told.length > 0);
    expect(told).toEqual(['Who came from 127.0.0.2 was not let in: it showed no certificate.']);
  });

  test('takes no session up again: a certificate that is over meanwhile would not be looked at', async () => {
    const url = new URL(await open(second));
    const meet = (session?: Buffer) =>
      new Promise<{ isTaken: boolean; given: Buffer | null }>((resolve, reject) => {
        let given: Buffer | null = null;
        let isTaken = true;
        const { cert, key } = second;
        const port = Number(url.port);
        const socket = connectSecurely({ host: url.hostname, port, ca: first.cert, cert, key, session }, () => {
          isTaken = socket.isSessionReused();
          socket.end('GET /books HTTP/1.0\r\n\r\n');
        });
        socket.on('session', (one: Buffer) => (given = one)).resume();
        socket.on('error', reject).on('close', () => resolve({ isTaken, given }));
      });
    const { given } = await meet();
    expect((await meet(given ?? undefined)).isTaken).toBe(false);
  });

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
    const secure = require('node:tls');
    const { connect } = secure;
    // One that was broken is replaced without a word.
    let connections = 0;
    secure.connect = (...args) => {
      connections++;
      return connect(...args);
    };
    import(source).then(async ({ Source }) => {
      const asking = new Source(url, 'copy', new AbortController().signal, { tls });
      const heard = [];
      for (let n = 0; n < 150; n++) {
        const fetched = asking.fetch(name, { from: 0, has: null, waits: true });
        heard.push(await fetched.then(({ kind }) => kind, ({ message }) => message));
      }
      asking.close();
      parentPort.postMessage({ heard, connections });
    });
  `;

  test('breaks no connection on which the next question comes as soon as the last was answered', async () => {
    const url = await open(second);
    const { tls } = new PeerFiles(realDisk, machine(second, first));
    const source = fileURLToPath(new URL('../../src/cli/follow/source.js', import.meta.url));
    const worker = new Worker(ASKS, { eval: true, workerData: { url, name: segmentName(1), tls, source } });
    const { heard, connections } = await new Promise<{ heard: string[]; connections: number }>((resolve, reject) =>
      worker.on('message', resolve).on('error', reject),
    );
    expect([[...new Set(heard)], connections]).toEqual([['nothing'], 1]);
  });

  test.each(REFUSED)('tells nothing to %s', async (_who, shown, peers) => {
    const url = await open(...peers);
    expect(await ask(url, shown)).toBe('');
    expect(await ask(url.replace('https', 'http'), shown)).toBe('');
  });
});

describe('ayni follow --tls', () => {
  test('hears a server no more that is no peer from now on', async () => {
    const files = new PeerFiles(realDisk, machine(first, second));
    const { url } = await showTo({ directory: freshDirectory(), journal: emptyJournal() }, files);
    const peers = { tls: new PeerFiles(realDisk, machine(second, first)).tls };
    const source = new Source(url, 'copy', new AbortController().signal, peers);
    onTestFinished(() => source.close());
    expect((await source.list()).segments).toEqual([]);
    peers.tls = new PeerFiles(realDisk, machine(second, stranger)).tls;
    await expect(source.list()).rejects.toThrow(/certificate/);
  });

  test('takes no session up again that a server offers', async () => {
    const { cert, key } = first;
    const server = createServer({ cert, key }, (_, response) => {
      response.setHeader('connection', 'close').end(JSON.stringify({ server: SOME_KEY, segments: [], snapshots: [] }));
    });
    onTestFinished(() => void server.close());
    const taken: boolean[] = [];
    server.on('secureConnection', (socket: TLSSocket) => taken.push(socket.isSessionReused()));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const peers = new PeerFiles(realDisk, machine(second, first));
    const source = new Source(`https://127.0.0.1:${port}`, '', new AbortController().signal, peers);
    onTestFinished(() => source.close());
    for (let n = 0; n < 3; n++) await source.list();
    expect(taken).toEqual([false, false, false]);
  });

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

  slow('tells why it cannot go on where that is another reason than before', async () => {
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
      'a certificate among the peers of which only its first letters came',
      (at) => writeFileSync(in_(at, 'peers.pem'), `${first.cert}-----BEG`),
      /holds what is no whole certificate/,
    ],
    [
      'a certificate without the one behind it, of which a part came',
      (at) => writeFileSync(in_(at, 'cert.pem'), first.cert + second.cert.slice(0, 99)),
      /cert\.pem holds what is no whole certificate/,
    ],
    ...[
      (text: string) => text.slice(1),
      (text: string) => text.slice(60),
      (text: string) => text.replace('BEGIN', 'begin'),
      (text: string) => text.replace('BEGIN ', 'BEGIN'),
      (text: string) => text.replace(/.*\n/, ''),
    ].flatMap((damage, way): [string, (at: string) => void, RegExp][] => [
      [
        `a certificate among the peers whose beginning is damaged (${way})`,
        (at) => writeFileSync(in_(at, 'peers.pem'), first.cert + damage(second.cert)),
        /holds what is no whole certificate/,
      ],
      [
        `a certificate behind its own whose beginning is damaged (${way})`,
        (at) => writeFileSync(in_(at, 'cert.pem'), first.cert + damage(second.cert)),
        /cert\.pem holds what is no whole certificate/,
      ],
    ]),
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
    expect(() => new PeerFiles(realDisk, directory)).toThrow(told);
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
