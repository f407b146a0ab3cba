/**
 * Other people's servers, well behaved and not: each listens on a free port of the loopback and is closed when the
 * running test has ended.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { Outgoing, type OutgoingOptions } from '../../src/effects/outgoing.ts';
import { PATIENCE_MS } from '../support/kit.ts';

export function open(options: Partial<OutgoingOptions> = {}): Outgoing {
  const outgoing = new Outgoing({
    callMsMax: PATIENCE_MS,
    callsInFlightMax: 20,
    allowPrivate: true,
    callsAllow: '',
    ...options,
  });
  onTestFinished(() => outgoing.close());
  return outgoing;
}

export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: string;
}

/** A server that keeps what it was asked and answers as `answer` says. */
export async function serve(
  answer: (seen: Seen, response: ServerResponse, nth: number) => void,
): Promise<Listening & { seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers, rawHeaders } = request;
    const one: Seen = { method, url, headers, rawHeaders, body: Buffer.concat(chunks).toString() };
    seen.push(one);
    answer(one, response, seen.length);
  });
  return { ...(await listen(server)), seen };
}

/** A server that speaks for itself: `talk` gets each connection, with what came on it first, and its number from 1. */
export async function serveRaw(talk: (socket: Socket, first: string, nth: number) => void): Promise<Listening> {
  let connections = 0;
  const server = createTcpServer((socket) => {
    const nth = ++connections;
    socket.once('data', (first) => talk(socket, first.toString(), nth));
  });
  return listen(server);
}

interface Listening {
  url: string;
  port: number;
  /** Every connection ever made. */
  sockets: Set<Socket>;
  close(): void;
}

export async function listen(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  onTestFinished(close);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, sockets, close };
}
