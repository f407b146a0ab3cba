/**
 * A server of the door alone, and raw connections to it. They are closed when the running test has ended.
 */
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { headersOf, type Refusal, statusOf } from '../../src/http/errors.ts';
import type { Handler, Reply, Request } from '../../src/http/request.ts';
import { type Server, type ServerOptions, startServer } from '../../src/http/server.ts';
import { until } from '../support/kit.ts';

/** Times are of no matter where they are not what a test is about: a machine that is busy, or stands still, is late. */
const LONG_MS = 60_000;

/** For what the server or its library ends by a clock of its own, whoever is slow: once this machine has kept up, it is true. */
export const AGAIN = { retry: 3 };

const OPTIONS: ServerOptions = {
  host: '127.0.0.1',
  port: 0,
  bodyBytesMax: 100_000,
  bodyMsMax: LONG_MS,
  arrivingBytesMax: 1 << 26,
  headBytesMax: 1 << 26,
  unreadBytesMax: 1 << 26,
  connectionsMax: 100,
  connectionsCutMax: 200,
  drainMsMax: LONG_MS,
};

/** A server that tells back what it was asked, unless the handler is given. */
export async function start(parts: Partial<Handler> = {}, options: Partial<ServerOptions> = {}): Promise<Server> {
  const handler: Handler = { admit: () => null, handle: echo, refuse: sendRefusal, ...parts };
  const server = await startServer({ ...OPTIONS, ...options }, handler);
  onTestFinished(() => server.close());
  return server;
}

export function echo(request: Request, reply: Reply): void {
  const { method, methodSent, path, query, body } = request;
  const text = Buffer.from(body).toString('latin1');
  reply.send(200, JSON.stringify({ method, methodSent, path, query, ledger: request.header('x-ledger'), text }));
}

function sendRefusal(refusal: Refusal, reply: Reply): void {
  reply.send(statusOf(refusal), JSON.stringify(refusal), headersOf(refusal));
}

/** A raw connection that remembers what it got. */
export interface Wire {
  socket: Socket;
  text(): string;
  /** Until the text holds this, or the connection is over. */
  until(part: string | RegExp): Promise<string>;
  closed: Promise<void>;
  isClosed(): boolean;
}

export async function wire(server: Server): Promise<Wire> {
  const socket = connect(server.port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let text = '';
  let isClosed = false;
  const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  closed.then(() => {
    isClosed = true;
  });
  socket.on('error', () => {});
  socket.on('data', (data) => {
    text += data.toString('latin1');
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  const has = (part: string | RegExp) => (typeof part === 'string' ? text.includes(part) : part.test(text));
  return {
    socket,
    text: () => text,
    async until(part) {
      await until(
        () => has(part) || isClosed,
        () => `${part} in ${text}`,
      );
      return text;
    },
    closed,
    isClosed: () => isClosed,
  };
}

export const url = (server: Server, path: string) => `http://127.0.0.1:${server.port}${path}`;
export const told = async (response: Response) => (await response.json()) as Record<string, string>;
