/**
 * The server over real sockets: what well-behaved clients get, and what becomes of those that go away.
 */
import { describe, expect, test } from 'vitest';
import { refuseUnavailable } from '../../src/http/errors.ts';
import type { Handler, Reply, Request } from '../../src/http/request.ts';
import { pause, until } from '../support/kit.ts';
import { AGAIN, echo, start, told, url, wire } from './wire.ts';

const FULL = refuseUnavailable('full');

describe('a request arrives as it was sent', () => {
  test('path and query are not decoded', async () => {
    const server = await start();
    const answer = await told(await fetch(url(server, '/v2/wallets/tel%3A%2B57?filter%5Bdata.schema%5D=x%20y')));
    expect(answer).toMatchObject({ path: '/v2/wallets/tel%3A%2B57', query: 'filter%5Bdata.schema%5D=x%20y' });
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('%s with a body', async (method) => {
    const server = await start();
    const response = await fetch(url(server, '/v2/x'), { method, body: '{"a":1}', headers: { 'X-Ledger': 'Main' } });
    expect(await told(response)).toMatchObject({ method, text: '{"a":1}', ledger: 'Main' });
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  test.each(['GET', 'POST', 'PUT', 'DELETE'])('%s without a body', async (method) => {
    const server = await start();
    expect(await told(await fetch(url(server, '/v2/x'), { method }))).toMatchObject({ method, text: '' });
  });

  test('a body in many small chunks is put together', async () => {
    const server = await start();
    const line = await wire(server);
    line.socket.write('POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const piece of ['ab', 'c', 'defg']) {
      line.socket.write(`${piece.length.toString(16)}\r\n${piece}\r\n`);
      await pause(10);
    }
    line.socket.write('0\r\n\r\n');
    expect(await line.until('"}')).toContain('"text":"abcdefg"');
  });

  test('a request cut by the network, anywhere behind its start line, is put together', async () => {
    const server = await start();
    const whole = 'POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n0123456789';
    for (let cut = whole.indexOf('\n') + 1; cut < whole.length; cut += 7) {
      const line = await wire(server);
      line.socket.write(whole.slice(0, cut));
      await pause(3);
      line.socket.write(whole.slice(cut));
      expect(await line.until('"}')).toContain('"text":"0123456789"');
      line.socket.destroy();
    }
  });

  test('the body is lent: whoever keeps the request finds it gone, not another one', async () => {
    const requests: Request[] = [];
    const bodies: string[] = [];
    const server = await start({
      handle: (request, reply) => {
        requests.push(request);
        bodies.push(Buffer.from(request.body).toString());
        reply.send(200, '{}');
      },
    });
    for (const body of ['first body', 'other body']) await fetch(url(server, '/x'), { method: 'POST', body });
    expect(bodies).toEqual(['first body', 'other body']);
    expect(requests.map((request) => request.body.length)).toEqual([0, 0]);
  });

  test('a token can protect any header, so all are kept beside one', async () => {
    const seen: string[] = [];
    const server = await start({
      handle: (request, reply) => {
        seen.push(request.header('x-odd'));
        reply.send(200, '{}');
      },
    });
    await fetch(url(server, '/x'), { headers: { 'x-odd': 'yes', authorization: 'Bearer t' } });
    expect(seen).toEqual(['yes']);
  });

  test('a question with a body is not told by which host it came: the status of the server names it', async () => {
    const seen: string[] = [];
    const server = await start({
      handle: (request, reply) => {
        seen.push(request.header('host'));
        reply.send(200, '{}');
      },
    });
    for (const body of ['', '{}']) {
      const line = await wire(server);
      line.socket.write(`GET /v2 HTTP/1.1\r\nHost: ledger.example\r\nContent-Length: ${body.length}\r\n\r\n`);
      await pause(10);
      line.socket.write(body);
      await line.until('{}');
    }
    expect(seen).toEqual(['ledger.example', 'ledger.example']);
  });

  test('HEAD is answered like GET, without the body', async () => {
    const server = await start();
    const response = await fetch(url(server, '/v2/x'), { method: 'HEAD' });
    expect(response.status).toBe(200);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(50);
    expect(await response.text()).toBe('');
  });

  test('HEAD leaves its connection open for the next request', async () => {
    const server = await start();
    const line = await wire(server);
    line.socket.write('HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(await line.until('\r\n\r\n')).toMatch(/^HTTP\/1.1 200 .*content-length: \d\d/is);
    line.socket.write('GET /b HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(await line.until('"path":"/b"')).toContain('"path":"/b"');
    expect([line.isClosed(), server.running()]).toEqual([false, 0]);
  });

  test('HEAD where no more may come in is told so, and that the connection ends', async () => {
    const server = await start({}, { connectionsMax: 1 });
    await wire(server);
    const line = await wire(server);
    line.socket.write('HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n');
    await line.closed;
    expect(line.text()).toMatch(/^HTTP\/1.1 503 .*connection: close\r\n.*content-length: \d\d+\r\n\r\n$/is);
  });

  test.each([
    ['at once', 'Content-Length: 20000000'],
    ['once it has waited for it', 'Content-Length: 200000'],
    ['where it has no end', 'Transfer-Encoding: chunked\r\n\r\nffffff\r\n'.padEnd(200_000, 'x')],
  ])('HEAD with a body that is too large is answered and closed, %s', async (_, rest) => {
    const server = await start();
    const line = await wire(server);
    line.socket.write(`HEAD /a HTTP/1.1\r\nHost: h\r\n${rest}\r\n\r\n`);
    await line.closed;
    expect(line.text()).toMatch(/^HTTP\/1.1 413 .*connection: close\r\n.*content-length: \d\d+\r\n\r\n$/is);
    expect([server.running(), server.held()]).toEqual([
      0,
      [
        ['bodies', 0],
        ['heads', 0],
        ['answers', 0],
      ],
    ]);
  });

  test('OPTIONS with a body that may have no end is answered and closed', async () => {
    const line = await wire(await start({ handle: (_, reply) => reply.send(204, '') }));
    line.socket.write('OPTIONS /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n');
    await line.closed;
    expect(line.text()).toMatch(/^HTTP\/1.1 204 /);
  });

  test('OPTIONS is handed over without what comes with it', async () => {
    const line = await wire(
      await start({ handle: ({ path, body }, reply) => reply.send(204, '', [['allow', `${path} ${body.length}`]]) }),
    );
    for (const [path, rest] of [
      ['/first', ''],
      ['/second', 'Content-Length: 3\r\n\r\nabc'],
      ['/third', ''],
    ]) {
      line.socket.write(`OPTIONS ${path} HTTP/1.1\r\nHost: h\r\n${rest || '\r\n'}`);
      expect(await line.until(`allow: ${path} 0\r\n`)).not.toContain('HTTP/1.1 4');
    }
  });

  test('GET is handed over without its body, in one piece or several', async () => {
    const line = await wire(await start());
    line.socket.write('GET /whole HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc');
    expect(await line.until('"path":"/whole"')).toContain('"text":""');
    line.socket.write(
      'GET /pieces HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n',
    );
    expect(await line.until('"path":"/pieces"')).toMatch(/"path":"\/pieces".*"text":""/);
  });

  test('204 leaves without body and length', async () => {
    const server = await start({ handle: (_, reply) => reply.send(204, '') });
    const line = await wire(server);
    line.socket.write('DELETE /x HTTP/1.1\r\nHost: h\r\n\r\n');
    expect((await line.until('\r\n\r\n')).toLowerCase()).not.toContain('content-length');
  });

  test('answers in UTF-8', async () => {
    const server = await start({ handle: (_, reply) => reply.send(200, '"Ñandú"') });
    expect(await (await fetch(url(server, '/text'))).json()).toBe('Ñandú');
  });
});

describe('an answer in parts', () => {
  // More than the network takes at once, in parts of many lengths, no two bytes of which could change places unseen.
  const parts = Array.from({ length: 60 }, (_, n) => Buffer.from(`${n} `.repeat(1 + (n % 5) * 60_000)));
  const whole = Buffer.concat(parts).toString();
  const handle: Handler['handle'] = (request, reply) => {
    if (request.path === '/later') setTimeout(() => reply.send(200, parts), 1);
    else reply.send(200, parts);
  };

  test.each(['/', '/later'])('is the same as in one, with its length: %s', async (path) => {
    const server = await start({ handle });
    const response = await fetch(url(server, path));
    expect(response.headers.get('content-length')).toBe(String(whole.length));
    expect((await response.text()) === whole).toBe(true);
    const head = await fetch(url(server, path), { method: 'HEAD' });
    expect([head.headers.get('content-length'), await head.text()]).toEqual([String(whole.length), '']);
  });

  test('comes whole to who takes it slowly, and nothing of it is held then', AGAIN, async () => {
    const server = await start({ handle });
    const line = await wire(server);
    line.socket.pause();
    line.socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
    const held = () => server.held().find(([of]) => of === 'answers')![1];
    await until(() => held() > whole.length / 4);
    let isSlow = true;
    const drip = setInterval(() => {
      line.socket.resume();
      setTimeout(() => isSlow && line.socket.pause(), 1);
    }, 10);
    await until(() => held() === 0);
    clearInterval(drip);
    isSlow = false;
    line.socket.resume();
    const bodyIn = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4);
    await until(() => bodyIn(line.text()).length >= whole.length || line.isClosed());
    expect(bodyIn(line.text()) === whole).toBe(true);
    line.socket.write('GET / HTTP/1.1\r\nHost: h\r\n\r\n');
    const isThere = () => line.text().length > 2 * whole.length && line.text().endsWith(`\r\n\r\n${whole}`);
    await until(() => isThere() || line.isClosed());
    expect(isThere()).toBe(true);
  });

  test('comes whole where the connection ends with it', async () => {
    const server = await start({ handle }, { connectionsMax: 1, bodyBytesMax: 10 });
    const line = await wire(server);
    line.socket.write('OPTIONS / HTTP/1.1\r\nHost: h\r\ntransfer-encoding: chunked\r\n\r\n');
    await line.closed;
    expect(line.text()).toMatch(/connection: close/i);
    expect(line.text().endsWith(`\r\n\r\n${whole}`)).toBe(true);
  });
});

describe('many requests', () => {
  test('thousands one after another on one connection', async () => {
    const server = await start();
    const line = await wire(server);
    let count = 0;
    let rest = '';
    await new Promise<void>((resolve) => {
      const request = 'POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}';
      line.socket.on('data', (data) => {
        rest += data.toString();
        if (!rest.endsWith('"}')) return;
        rest = '';
        if (++count === 3000) resolve();
        else line.socket.write(request);
      });
      line.socket.write(request);
    });
    expect([count, server.running()]).toEqual([3000, 0]);
  });

  test('pipelined requests that are answered at once come back in order', async () => {
    const server = await start();
    const line = await wire(server);
    const names = Array.from({ length: 20 }, (_, i) => `/n${i}`);
    line.socket.write(names.map((name) => `GET ${name} HTTP/1.1\r\nHost: h\r\n\r\n`).join(''));
    const text = await line.until('/n19"');
    expect([...text.matchAll(/"path":"(\/n\d+)"/g)].map((match) => match[1])).toEqual(names);
  });

  test('a request pipelined behind an unanswered one never gets its answer', async () => {
    const replies: Reply[] = [];
    const server = await start({ handle: (_, reply) => replies.push(reply) });
    const line = await wire(server);
    line.socket.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n');
    await line.closed;
    for (const reply of replies) reply.send(200, '{}');
    expect([line.text(), server.running()]).toEqual(['', 0]);
  });

  test.each<[string, string, Partial<Handler>]>([
    ['questions', 'GET /x HTTP/1.1\r\nHost: h\r\n\r\n', {}],
    ['questions with a body', 'GET /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n0', {}],
    ['what is refused', 'POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n0', { admit: () => FULL }],
    ['what is refused, without a body', 'POST /x HTTP/1.1\r\nHost: h\r\n\r\n', { admit: () => FULL }],
  ])('thousands of pipelined requests hold up nobody for long: %s', async (_, request, parts) => {
    let [begun, begunInVain] = [0, 0];
    const answer = (reply: Reply) => {
      begun++;
      if (reply.aborted) begunInVain++;
      for (const end = performance.now() + 1; performance.now() < end; );
      reply.send(200, '{}');
    };
    const server = await start({ ...parts, handle: (_, reply) => answer(reply), refuse: (_, reply) => answer(reply) });
    const line = await wire(server);
    line.socket.write(request.repeat(1000));
    await line.closed;
    expect(begun).toBeGreaterThan(0);
    expect(begun).toBeLessThan(100);
    // The one that was put off went with its connection.
    await pause(10);
    expect([begunInVain, server.running()]).toEqual([0, 0]);
  });

  test('a question that is put off is told with all its headers', async () => {
    const seen: string[] = [];
    const server = await start({
      handle: (request, reply) => {
        for (const end = performance.now() + 6; performance.now() < end; );
        seen.push(`${request.path} ${request.header('x-odd')}`);
        reply.send(200, '{}');
      },
    });
    const line = await wire(server);
    const ask = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\nX-Odd: ${path.slice(1)}\r\n\r\n`;
    line.socket.write(ask('/one') + ask('/two'));
    await until(() => seen.length === 2);
    expect(seen).toEqual(['/one one', '/two two']);
    expect(line.isClosed()).toBe(false);
  });

  test('answers out of order reach their own clients', async () => {
    const waiting: [string, Reply][] = [];
    const server = await start({ handle: ({ path }, reply) => waiting.push([path, reply]) });
    const answers = Promise.all(['/1', '/2', '/3'].map(async (path) => (await fetch(url(server, path))).json()));
    await until(() => waiting.length === 3);
    for (const [path, reply] of waiting.reverse()) reply.send(200, JSON.stringify(path));
    expect(await answers).toEqual(['/1', '/2', '/3']);
  });
});

describe('clients that go away', () => {
  test('in the middle of the body: nobody is handed half a request', async () => {
    let handled = 0;
    const server = await start({ handle: () => handled++ });
    const line = await wire(server);
    line.socket.write('POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf');
    await until(() => server.running() === 1);
    line.socket.destroy();
    await until(() => server.running() === 0);
    expect(handled).toBe(0);
  });

  test('before the answer: the late answer is dropped and others are served', async () => {
    const replies: Reply[] = [];
    const server = await start({
      handle: (request, reply) => (request.path === '/x' ? replies.push(reply) : echo(request, reply)),
    });
    const line = await wire(server);
    line.socket.write('GET /x HTTP/1.1\r\nHost: h\r\n\r\n');
    await until(() => replies.length === 1);
    let gone = 0;
    replies[0]!.whenGone(() => gone++);
    line.socket.destroy();
    await until(() => replies[0]!.aborted);
    expect(gone).toBe(1);
    replies[0]!.whenGone(() => gone++);
    expect(gone).toBe(2);
    replies[0]!.send(200, '{}');
    expect([server.answers(), server.running()]).toEqual([[], 0]);
    expect((await fetch(url(server, '/y'))).status).toBe(200);
  });

  test('a second answer is dropped', async () => {
    const server = await start({
      handle: (_, reply) => {
        reply.send(200, '"first"');
        reply.send(500, '"second"');
      },
    });
    expect(await (await fetch(url(server, '/x'))).json()).toBe('first');
  });
});

describe('a header that comes in two lines', () => {
  test.each(['', 'Authorization: Bearer x\r\n'])('Prefer is one list of both, %j', async (more) => {
    const server = await start({ handle: (request, reply) => reply.send(200, `<${request.header('prefer')}>`) });
    const line = await wire(server);
    const head = (lines: string) => `POST /a HTTP/1.1\r\nHost: h\r\n${more}${lines}Content-Length: 2\r\n\r\n{}`;
    line.socket.write(head('Prefer: handling=lenient\r\nPrefer: wait=3\r\n'));
    expect(await line.until('<handling=lenient, wait=3>')).toContain('<handling=lenient, wait=3>');
    line.socket.write(head('Prefer: wait=4\r\n'));
    expect(await line.until('<wait=4>')).toContain('<wait=4>');
    line.socket.write(head(''));
    expect(await line.until('<>')).toContain('<>');
  });
});
