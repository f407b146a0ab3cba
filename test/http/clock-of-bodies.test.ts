/**
 * The machine's clock is set while bodies arrive. How long something takes is no matter of that clock: set forward, it cut
 * off every body that was on its way; set back, slow ones were not told that they are.
 */
import { connect, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { headersOf, statusOf } from '../../src/http/errors.ts';
import { type Handler, type Server, startServer } from '../../src/http/server.ts';
import { pause } from '../support/kit.ts';

const HOUR_MS = 3_600_000;
const realNow = Date.now;
const sockets: Socket[] = [];
const servers: Server[] = [];

afterEach(async () => {
  Date.now = realNow;
  for (const socket of sockets.splice(0)) socket.destroy();
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const setClock = (ms: number) => {
  Date.now = () => realNow() + ms;
};

const HANDLER: Handler = {
  handle: ({ body }, reply) => reply.send(200, `"${body.length} bytes"`),
  refuse: (refusal, reply) => reply.send(statusOf(refusal), JSON.stringify(refusal), headersOf(refusal)),
};

async function start(bodyMsMax: number): Promise<Server> {
  const server = await startServer(
    {
      host: '127.0.0.1',
      port: 0,
      bodyBytesMax: 100_000,
      bodyMsMax,
      arrivingBytesMax: 1 << 26,
      unreadBytesMax: 1 << 26,
      connectionsMax: 100,
      connectionsCutMax: 200,
      drainMsMax: 2000,
    },
    HANDLER,
  );
  servers.push(server);
  return server;
}

interface Line {
  socket: Socket;
  /** Until this much has come, or the connection is over. */
  until(part: string): Promise<string>;
}

async function dial(server: Server): Promise<Line> {
  const socket = connect(server.port, '127.0.0.1');
  sockets.push(socket);
  let text = '';
  let isClosed = false;
  socket.on('error', () => {});
  socket.on('close', () => {
    isClosed = true;
  });
  socket.on('data', (data) => {
    text += data.toString('latin1');
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    async until(part) {
      while (!text.includes(part) && !isClosed) await pause(5);
      return text;
    },
  };
}

async function half(server: Server): Promise<Line> {
  const line = await dial(server);
  line.socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc');
  while (server.running() === 0) await pause(5);
  return line;
}

test('set forward by an hour: a body that has ten minutes is taken', async () => {
  const line = await half(await start(600_000));
  setClock(HOUR_MS);
  // Long enough for the server to look at it twice.
  await pause(600);
  line.socket.write('x'.repeat(997));
  expect(await line.until('bytes"')).toMatch(/^HTTP\/1.1 200 .*"1000 bytes"/s);
});

test('set back by an hour: a body that takes too long is refused all the same', async () => {
  const line = await half(await start(300));
  setClock(-HOUR_MS);
  const drip = setInterval(() => line.socket.write('x'), 50);
  const text = await line.until('api.request-timeout');
  clearInterval(drip);
  expect(text).toMatch(/^HTTP\/1.1 408 /);
});
