/**
 * Calls of servers that behave and servers that do not: each fault of the other side has a row, and none of them is an
 * exception, takes longer than allowed, or tells a secret.
 */
import { execFile } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Answer, Outgoing, OutgoingCall } from '../../src/effects/outgoing.ts';
import type { SecureRule } from '../../src/effects/secure.ts';
import { FAR, listenFar } from '../support/far.ts';
import { PATIENCE_MS, pause, until } from '../support/kit.ts';
import { listen, open, serve, serveRaw } from './others.ts';

const SECRET = 'open-sesame';
const header = (key: string, value: string): SecureRule => ({ schema: 'header', key, value });

/** A call as lanes make it; secrets wherever one may stand. */
function post(outgoing: Outgoing, url: string, more: Partial<OutgoingCall> = {}): Promise<Answer> {
  const secure = [header('x-key', SECRET)];
  return outgoing.call({ method: 'POST', url, body: '{"a":"ñ"}', secure, ...more });
}

describe('a call', () => {
  test('arrives as it was made', async () => {
    const { url, port, seen } = await serve((_, response) => response.writeHead(202).end('{}'));
    const answer = await post(open(), `${url}/debits/deb_1?x=%20y#part`, { method: 'PUT' });
    expect(answer).toEqual({ status: 202 });
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({ method: 'PUT', url: '/debits/deb_1?x=%20y', body: '{"a":"ñ"}' });
    expect(seen[0]!.headers).toEqual({
      host: `127.0.0.1:${port}`,
      'content-type': 'application/json',
      'content-length': '10',
      'x-key': SECRET,
      connection: 'keep-alive',
    });
  });

  test('carries the name and password of a URL', async () => {
    const { port, seen } = await serve((_, response) => response.end());
    expect(await post(open(), `http://me:pass%20word@127.0.0.1:${port}/`)).toEqual({ status: 200 });
    expect(seen[0]!.headers.authorization).toBe(`Basic ${btoa('me:pass word')}`);
  });

  test('uses a connection again', async () => {
    const { url, sockets } = await serve((_, response) => response.end('{}'));
    const outgoing = open();
    for (let i = 0; i < 5; i++) expect(await post(outgoing, url)).toEqual({ status: 200 });
    expect(sockets.size).toBe(1);
  });

  test('goes again at once where a kept connection is cut at the moment it is used', async () => {
    const { url, sockets } = await serveRaw((socket, _, nth) => {
      socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n');
      if (nth <= 3) socket.once('data', () => socket.destroy());
    });
    const outgoing = open();
    expect(await Promise.all([1, 2, 3].map(() => post(outgoing, url)))).toEqual(Array(3).fill({ status: 202 }));
    expect(sockets.size).toBe(3);
    expect(await post(outgoing, url)).toEqual({ status: 202 });
    expect(sockets.size).toBe(4);
  });

  test('does not go again where a kept connection answers nonsense: it may have been heard', async () => {
    const { url, sockets } = await serveRaw((socket, _, nth) => {
      socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n');
      if (nth === 1) socket.once('data', () => socket.write('nonsense\r\n\r\n'));
    });
    const outgoing = open();
    expect(await post(outgoing, url)).toEqual({ status: 202 });
    expect(await post(outgoing, url)).toEqual({ error: 'connection failed: HPE_INVALID_CONSTANT' });
    expect(sockets.size).toBe(1);
  });

  test.each([
    ['5', 5_000],
    ['0', 0],
    ['soon', undefined],
    ['5 minutes', undefined],
    ['-5', undefined],
    ['Wed, 21 Oct 2015 07:28:00 GMT', 0],
  ])('Retry-After: %s', async (value, retryAfterMs) => {
    const { url } = await serve((_, response) => response.writeHead(503, { 'retry-after': value }).end());
    expect(await post(open(), url)).toEqual({ status: 503, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
  });

  test.each([
    ['as a date to come', Date.now()],
    [
      'as a date by another clock than ours: that was waited for by our own, for an hour or not at all',
      Date.UTC(2015, 9, 21),
    ],
    ['as a date by a clock that is ahead', Date.UTC(2100, 0, 1)],
  ])('Retry-After %s', async (_, now) => {
    const [date, later] = [now, now + 5_000].map((moment) => new Date(moment).toUTCString());
    const { url } = await serve((_, response) => response.writeHead(429, { date, 'retry-after': later }).end());
    expect(await post(open(), url)).toEqual({ status: 429, retryAfterMs: 5_000 });
  });

  test.each([undefined, 'soon'])('Retry-After as a date, and %j for now: our own clock counts', async (date) => {
    const later = new Date(Date.now() + 3_600_000).toUTCString();
    const { url } = await serve((_, response) => {
      response.sendDate = false;
      response.writeHead(429, { ...(date && { date }), 'retry-after': later }).end();
    });
    const answer = (await post(open(), url)) as { retryAfterMs: number };
    expect(answer.retryAfterMs).toBeGreaterThan(3_000_000);
    expect(answer.retryAfterMs).toBeLessThanOrEqual(3_600_000);
  });

  test('is not one more than there may be', async () => {
    const { url, seen } = await serve(() => {});
    const outgoing = open({ callsInFlightMax: 2 });
    const [one, other, third] = [1, 2, 3].map(() => post(outgoing, url));
    expect(await third).toEqual({ error: 'too many calls at once' });
    await until(() => seen.length >= 2);
    outgoing.close();
    expect(await Promise.all([one, other])).toEqual([{ error: 'closed' }, { error: 'closed' }]);
    expect(seen).toHaveLength(2);
    expect(await post(open(), url, { signal: AbortSignal.abort() })).toEqual({ error: 'called off' });
  });

  test('waits for none that hang at the same host, of whatever ledger: sixty-four of them were all that went', async () => {
    const { url } = await serve((request, response) => request.url === '/alive' && response.end());
    const outgoing = open({ callsInFlightMax: 256 });
    const hanging = Array.from({ length: 204 }, (_, n) => post(outgoing, `${url}/dead/${n}`));
    expect(await Promise.race([...hanging, post(outgoing, `${url}/alive`)])).toEqual({ status: 200 });
  });

  test('leaves no more idle connections than twice the calls', async () => {
    const outgoing = open({ callsInFlightMax: 2 });
    const servers = await Promise.all(Array.from({ length: 12 }, () => serve((_, response) => response.end('{}'))));
    for (const { url } of servers) expect(await post(outgoing, url)).toEqual({ status: 200 });
    const isAlive = ({ sockets }: { sockets: Set<Socket> }) => [...sockets].some((socket) => !socket.destroyed);
    // Sooner than either side ends idle connections by itself.
    await until(() => servers.filter(isAlive).length <= 4, 'room', 2_000);
  });
});

/** The same again and again, as long as it is read. */
function flood(socket: Socket, words: string): void {
  const many = Buffer.from(words.repeat(1000), 'latin1');
  const more = (): void => {
    while (!socket.destroyed && socket.write(many));
  };
  socket.on('drain', more);
  more();
}

describe('the other side', () => {
  const ok = 'HTTP/1.1 202 Accepted\r\ncontent-type: application/json\r\n';
  const late = { error: 'no answer within 300 ms' };
  const inTime = { status: 202 };
  const cut = { error: 'connection failed: ECONNRESET' };
  test.each<[string, string | null, 'stays' | 'closes', Answer]>([
    ['says nothing', null, 'stays', late],
    ['hangs up', null, 'closes', cut],
    ['stops within the head', 'HTTP/1.1 202 Acc', 'stays', late],
    ['hangs up within the head', `${ok}x-mor`, 'closes', cut],
    ['stops within the body', `${ok}content-length: 100\r\n\r\n{"half":`, 'stays', inTime],
    ['hangs up within the body', `${ok}content-length: 100\r\n\r\n{"half":`, 'closes', { status: 202 }],
    ['hangs up within a chunk', `${ok}transfer-encoding: chunked\r\n\r\n20\r\n{"half"`, 'closes', { status: 202 }],
    ['frames its body badly', `${ok}transfer-encoding: chunked\r\n\r\nxyz\r\n`, 'stays', { status: 202 }],
    [
      'does not speak HTTP',
      `220 mail.example ESMTP ${SECRET}\r\n`,
      'stays',
      { error: 'connection failed: HPE_INVALID_CONSTANT' },
    ],
    [
      'says two lengths',
      `${ok}content-length: 1\r\ncontent-length: 2\r\n\r\n{}`,
      'stays',
      { error: 'connection failed: HPE_UNEXPECTED_CONTENT_LENGTH' },
    ],
    [
      'sends a head without end',
      `${ok}x: ${'y'.repeat(40_000)}`,
      'stays',
      { error: 'connection failed: HPE_HEADER_OVERFLOW' },
    ],
    [
      'wants another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
      'stays',
      { error: 'connection failed' },
    ],
    ['only says it goes on', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50), 'stays', late],
    [
      'says so again and again',
      'HTTP/1.1 100 Continue\r\n\r\n'.repeat(70),
      'stays',
      { error: 'the answer is too long' },
    ],
    [
      'hints first',
      `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${ok}content-length: 0\r\n\r\n`,
      'stays',
      { status: 202 },
    ],
  ])('%s', async (_, words, then, expected) => {
    const { url } = await serveRaw((socket) => {
      if (words !== null) socket.write(words);
      if (then === 'closes') socket.end();
    });
    // What ends by its time alone: long enough for a head, on a slow machine too, where that is to come first.
    const callMsMax = expected === late ? 300 : 10_000;
    const outgoing = expected === late || expected === inTime ? open({ callMsMax }) : open();
    expect(await post(outgoing, `${url}/?key=${SECRET}`)).toEqual(expected);
  });

  test('answers without end: what is read has one', async () => {
    let written = 0;
    const { url, sockets } = await serveRaw((socket) => {
      socket.write(`${ok}transfer-encoding: chunked\r\n\r\n`);
      const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
      const more = (): void => {
        while (!socket.destroyed && written < 1e9 && socket.write(chunk)) written += chunk.length;
      };
      socket.on('drain', more);
      more();
    });
    expect(await post(open(), url)).toEqual({ status: 202 });
    await until(() => [...sockets].every((socket) => socket.destroyed));
    expect(written).toBeLessThan(1e8);
  });

  test.each([
    ['only says that it goes on', 'HTTP/1.1 100 C\r\n\r\n'],
    ['only hints', 'HTTP/1.1 103 E\r\nlink: x\r\n\r\n'],
    ['begins with empty lines', '\r\n'],
  ])('%s, without end: it was read until the time was up', async (_, words) => {
    const { url, sockets } = await serveRaw((socket) => flood(socket, words));
    expect(await post(open(), url)).toEqual({ error: 'the answer is too long' });
    await until(() => [...sockets].every((socket) => socket.destroyed));
  });

  test.each([
    ['in pieces of one byte', 2000, '1\r\nx\r\n'],
    ['of frames more than of anything', 10, `1;${'y'.repeat(15_000)}\r\nx\r\n`],
  ])('answers %s: the rest is not read', async (_, count, piece) => {
    const { url, sockets } = await serveRaw((socket) => {
      socket.write(`${ok}transfer-encoding: chunked\r\n\r\n${piece.repeat(count)}0\r\n\r\n`);
    });
    const outgoing = open();
    for (let i = 0; i < 2; i++) expect(await post(outgoing, url)).toEqual({ status: 202 });
    expect(sockets.size).toBe(2);
  });

  test('speaks on when it has answered: the connection was read as long as it did', async () => {
    const { url, sockets } = await serveRaw((socket) => {
      socket.write(`${ok}content-length: 0\r\n\r\n`);
      const timer = setInterval(() => socket.write('HTTP/1.1 202 Accepted\r\n'), 50);
      socket.on('close', () => clearInterval(timer));
    });
    expect(await post(open(), url)).toEqual({ status: 202 });
    await until(() => [...sockets][0]!.destroyed);
  });

  test('trickles', async () => {
    const { url } = await serveRaw((socket) => {
      const timer = setInterval(() => socket.write('H'), 20);
      socket.on('close', () => clearInterval(timer));
    });
    const error = expect.stringMatching(/^(no answer within 300 ms|connection failed: HPE_\w+)$/);
    expect(await post(open({ callMsMax: 300 }), url)).toEqual({ error });
  });

  test('redirects: nobody follows', async () => {
    const target = await serve((_, response) => response.end());
    for (const status of [301, 302, 303, 307, 308]) {
      const { url } = await serve((_, response) => response.writeHead(status, { location: `${target.url}/x` }).end());
      expect(await post(open(), url)).toEqual({ status });
    }
    expect(target.seen).toEqual([]);
  });

  test('is not there', async () => {
    const { url, close } = await serve((_, response) => response.end());
    close();
    expect(await post(open(), url)).toEqual({ error: 'connection failed: ECONNREFUSED' });
  });

  test('is far away, and has an address that leads nowhere too: that one was taken after a quarter of a second', async () => {
    const port = await listenFar();
    const outgoing = open({ callMsMax: PATIENCE_MS + 1, resolve: (_, done) => done(null, FAR) });
    expect(await post(outgoing, `http://far.test:${port}`)).toEqual({ status: 202 });
  });

  test('takes the body and never reads it', async () => {
    const { url } = await serveRaw((socket) => socket.pause());
    expect(await post(open({ callMsMax: 300 }), url, { body: 'x'.repeat(8e6) })).toEqual(late);
  });

  test('answers before it has read the body', async () => {
    const { url } = await serveRaw((socket) => socket.end('HTTP/1.1 413 Too Large\r\nconnection: close\r\n\r\n'));
    const answer = await post(open(), url, { body: 'x'.repeat(1e6) });
    expect([{ status: 413 }, { error: 'connection failed: EPIPE' }, cut]).toContainEqual(answer);
  });

  test('answers before it has read the body, and reads on: it gets all of it', async () => {
    const BYTES = 16e6;
    let received = 0;
    const { url } = await serveRaw((socket, first) => {
      received += first.length;
      socket.on('data', (chunk) => {
        received += chunk.length;
      });
      socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n');
    });
    expect(await post(open(), url, { body: 'x'.repeat(BYTES) })).toEqual({ status: 202 });
    await until(() => received >= BYTES);
  });

  test('answers before it has read the body, and reads on when the time of the call is over: it has as long again', async () => {
    const [BYTES, TIME_MS] = [16e6, 2000];
    let received = 0;
    const { url } = await serveRaw((socket, first) => {
      received += first.length;
      socket.on('data', (chunk) => {
        received += chunk.length;
      });
      socket.pause();
      setTimeout(() => socket.write('HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n'), TIME_MS / 2);
      setTimeout(() => socket.resume(), 1.1 * TIME_MS);
    });
    expect(await post(open({ callMsMax: TIME_MS }), url, { body: 'x'.repeat(BYTES) })).toEqual({ status: 202 });
    await until(() => received >= BYTES, 'all of it', 1000);
  });

  test('answers before it has read the body, and reads no more of it: the connection is cut, which nothing else would end', async () => {
    const BYTES = 16e6;
    let received = 0;
    const { url, sockets } = await serveRaw((socket, first) => {
      received += first.length;
      socket.pause();
      socket.on('data', (chunk) => {
        received += chunk.length;
      });
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    });
    const answered = post(open({ callMsMax: 1500 }), url, { body: 'x'.repeat(BYTES) });
    expect(await answered).toEqual({ status: 200 });
    const [socket] = sockets;
    socket!.resume();
    await until(() => socket!.destroyed || received >= BYTES);
    expect(received, 'what the network had taken, and no more').toBeLessThan(BYTES);
  });
});

test('a call is on its way as long as its body is: by early answers one receiver had a process hold its bodies by the hundred, beyond all bounds', async () => {
  const { url } = await serveRaw((socket) => {
    socket.pause();
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
  });
  const outgoing = open({ callMsMax: 1000, callsInFlightMax: 2 });
  const call = () => post(outgoing, url, { body: 'x'.repeat(16e6) });
  const begun = [call(), call()];
  await pause(500);
  expect(await call()).toEqual({ error: 'too many calls at once' });
  expect(await Promise.all(begun)).toEqual(Array(2).fill({ status: 200 }));
});

describe('the caller', () => {
  test('calls it off: the connection is cut', async () => {
    const { url, seen, sockets } = await serve(() => {});
    const off = new AbortController();
    const called = post(open(), url, { signal: off.signal });
    await until(() => seen.length > 0);
    off.abort();
    expect(await called).toEqual({ error: 'called off' });
    await until(() => [...sockets][0]!.destroyed);
  });

  test('is not held by a signal that outlives the call', async () => {
    const { url } = await serve((_, response) => response.end());
    const { signal } = new AbortController();
    expect(await post(open(), url, { signal })).toEqual({ status: 200 });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('closes: what is on its way ends, and nothing goes any more', async () => {
    const { url, seen } = await serve(() => {});
    const outgoing = open();
    const called = post(outgoing, url);
    await until(() => seen.length > 0);
    outgoing.close();
    expect(await called).toEqual({ error: 'closed' });
    expect(await post(outgoing, url)).toEqual({ error: 'closed' });
  });

  test.each([
    ['ftp://127.0.0.1/', 'not an http or https URL'],
    ['file:///etc/passwd', 'not an http or https URL'],
    [`nonsense ${SECRET}`, 'not an http or https URL'],
    ['http://', 'not an http or https URL'],
    [`http://%zz:${SECRET}@127.0.0.1/`, 'connection failed'],
    ['http://127.0.0.1:99999/', 'not an http or https URL'],
  ])('names %s', async (url, error) => {
    const answer = await post(open(), url);
    expect([{ error }, { error: `${error}: ERR_INVALID_URI` }]).toContainEqual(answer);
    expect(JSON.stringify(answer)).not.toContain(SECRET);
  });

  test.each<[string, SecureRule]>([
    ['a value with a line end', header('x-key', `a\r\nx-evil: ${SECRET}`)],
    ['a value with a lone line feed', header('x-key', `a\n${SECRET}`)],
    ['a value with a NUL', header('x-key', `a\0${SECRET}`)],
    ['a value beyond Latin-1', header('x-key', `€${SECRET}`)],
    ['a key with a line end', header(`x\r\nx-evil`, SECRET)],
    ['a key with a colon', header('x:y', SECRET)],
    ['a key with a space', header('x y', SECRET)],
    ['no key', header('', SECRET)],
    ['no value', { schema: 'header', key: 'x-key' }],
    ['a value that is no text', { schema: 'header', key: 'x-key', value: [SECRET] }],
    ...[
      'Host',
      'content-length',
      'Connection',
      'TRANSFER-ENCODING',
      'upgrade',
      'expect',
      'Keep-Alive',
      'te',
      'trailer',
    ].map((key): [string, SecureRule] => [key, header(key, SECRET)]),
  ])('asks for a header with %s: refused, nothing sent', async (_, rule) => {
    const { url, seen } = await serve((_seen, response) => response.end());
    const answer = await post(open(), url, { secure: [header('x-first', 'y'), rule] });
    expect(answer).toEqual({ error: 'secure rule 1 is no header that may be set' });
    expect(seen).toEqual([]);
  });

  test('has rules for others too', async () => {
    const { url, seen } = await serve((_, response) => response.end());
    const secure = [
      { schema: 'own', public: 'x', secret: SECRET },
      header('Authorization', 'Key 1'),
      header('__proto__', 'a'),
      header('X-Latin', 'ñ'),
      header('authorization', 'Key 2'),
    ];
    expect(await post(open(), url, { secure })).toEqual({ status: 200 });
    expect(seen[0]!.headers.authorization).toBe('Key 2');
    expect(seen[0]!.headers['x-latin']).toBe('ñ');
    expect(seen[0]!.rawHeaders).toContain('__proto__');
    expect(JSON.stringify(seen)).not.toContain(SECRET);
  });
});

/** What a client says that it can: suites, and groups to agree on keys by. */
function offersOf(hello: Buffer): { suites: number[]; groups: number[] } {
  const numbers = (from: number, bytes: number) =>
    Array.from({ length: bytes / 2 }, (_, n) => hello.readUInt16BE(from + 2 * n));
  // Behind the heads of record and message, version, random bytes, and the name of a session.
  let at = 43;
  at += 1 + hello[at]!;
  const suites = numbers(at + 2, hello.readUInt16BE(at));
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello[at]!;
  // Extensions, each with its kind and length.
  for (at += 2; hello.readUInt16BE(at) !== 10; at += 4 + hello.readUInt16BE(at + 2));
  return { suites, groups: numbers(at + 6, hello.readUInt16BE(at + 4)) };
}

describe('https', () => {
  test('has an end for what TLS keeps for itself: eight webhooks that said without end which key comes next stopped all for eight seconds', async () => {
    // This one says that it would like to be greeted; a client that has done so passes that by.
    const { url } = await serveRaw((socket) => flood(socket, '\x16\x03\x03\x00\x04\x00\x00\x00\x00'));
    const answer = await post(open({ callMsMax: 5_000 }), url.replace('http:', 'https:'));
    expect(answer).toEqual({ error: 'the answer is too long' });
  });

  /** For these tests alone: a key, and a certificate that only itself has signed, for localhost and 127.0.0.1. */
  const file = join(process.cwd(), 'test', 'data', 'tls.pem');
  const pair = { key: readFileSync(file), cert: readFileSync(file) };

  const serveTls = () => listen(createTlsServer(pair, (_, response) => response.writeHead(202).end()));

  test('offers no keys that the server makes as long as it likes: of ten thousand bits they held the only thread for most of a second', async () => {
    let hello: Buffer = Buffer.alloc(0);
    const server = createTcpServer((socket) => {
      socket.once('data', (first: Buffer) => {
        hello = first;
        socket.destroy();
      });
    });
    const { port } = await listen(server);
    expect(await post(open(), `https://localhost:${port}/`)).toHaveProperty('error');
    const { suites, groups } = offersOf(hello);
    expect(suites.length).toBeGreaterThan(5);
    // Those of DHE, by RSA and DSS.
    const ofDhe = [0x32, 0x33, 0x38, 0x39, 0x40, 0x67, 0x6a, 0x6b, 0x9e, 0x9f, 0xa2, 0xa3, 0xccaa, 0xc09e, 0xc09f];
    expect(suites.filter((suite) => ofDhe.includes(suite))).toEqual([]);
    expect(groups.length).toBeGreaterThan(3);
    // Those of more than 3072 bits.
    expect(groups.filter((group) => group >= 0x102 && group <= 0x104)).toEqual([]);
  });

  test('is not spoken with a server that cannot prove its name', async () => {
    const server = await serveTls();
    const answer = await post(open(), `https://localhost:${server.port}/?key=${SECRET}`);
    expect(answer).toEqual({ error: 'connection failed: DEPTH_ZERO_SELF_SIGNED_CERT' });
  });

  /** What calls of these hosts come to in a process that trusts the server, and is started with these flags. */
  async function callTrusting(port: number, hosts: string[], ...flags: string[]): Promise<Answer[]> {
    const door = pathToFileURL(join(import.meta.dirname, '../../src/effects/outgoing.js'));
    const script = `
      const { Outgoing } = await import('${door}');
      const outgoing = new Outgoing({ callMsMax: 5000, callsInFlightMax: 1, allowPrivate: true, callsAllow: '' });
      const call = (url) => outgoing.call({ method: 'POST', url, body: '{}', secure: [] });
      const answers = [];
      for (const host of ${JSON.stringify(hosts)}) answers.push(await call('https://' + host + ':${port}/'));
      console.log(JSON.stringify(answers));
      outgoing.close();`;
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: file };
    const args = [...flags, '--input-type=module', '-e', script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    return JSON.parse(stdout);
  }

  test('is spoken with one that can, on a connection that is kept', async () => {
    const server = await serveTls();
    const answers = await callTrusting(server.port, ['localhost', 'localhost', '127.0.0.1']);
    expect(answers).toEqual(Array(3).fill({ status: 202 }));
    expect(server.sockets.size).toBe(2);
  });

  test('is spoken where the operator lets in none but suites of TLS 1.3: without those of DHE there was none left, and each call failed', async () => {
    const { port } = await serveTls();
    const answers = await callTrusting(port, ['localhost'], '--tls-cipher-list=TLS_AES_256_GCM_SHA384');
    expect(answers).toEqual([{ status: 202 }]);
  });
});
