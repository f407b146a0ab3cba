/**
 * Other people's servers, well behaved and not: each listens on a free port of the loopback and is closed at the end.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { Outgoing, type OutgoingOptions } from '../../src/effects/outgoing.ts';
import { PATIENCE_MS } from '../support/kit.ts';

const opened: { close(): void }[] = [];

/** To be called after each test. */
export function closeAll(): void {
  for (const one of opened.splice(0)) one.close();
}

export function open(options: Partial<OutgoingOptions> = {}): Outgoing {
  const outgoing = new Outgoing({
    callMsMax: PATIENCE_MS,
    callsInFlightMax: 20,
    allowPrivate: true,
    callsAllow: '',
    ...options,
  });
  opened.push(outgoing);
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
): Promise<{ url: string; port: number; seen: Seen[]; sockets: Set<Socket> }> {
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
export async function serveRaw(
  talk: (socket: Socket, first: string, nth: number) => void,
): Promise<{ url: string; port: number; sockets: Set<Socket> }> {
  let connections = 0;
  const server = createTcpServer((socket) => {
    const nth = ++connections;
    socket.once('data', (first) => talk(socket, first.toString(), nth));
  });
  return listen(server);
}

/** `sockets`: every connection ever made. */
async function listen(server: Server): Promise<{ url: string; port: number; sockets: Set<Socket> }> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, port, sockets };
}
