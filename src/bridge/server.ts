/**
 * The bank's port: HTTP requests in, whole and bounded, answers out. Who the bank is lies in bank.ts; here are only the
 * bytes: size and time of a body, number of connections, the secret header, and the pranks of a bank that misbehaves.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer } from './bank.ts';
import type { Chaos } from './chaos.ts';

interface ServerOptions {
  host: string;
  port: number;
  bodyBytesMax: number;
  /**
   * Bytes of all large bodies together, while they arrive and are worked on. One more that does not fit is refused for
   * now.
   */
  largeBytesMax: number;
  requestMsMax: number;
  /** A connection on which nothing moves for so long is cut: an answer that is not read would hold it for ever. */
  stillMsMax: number;
  connectionsMax: number;
  /** Every request must bring it; null where none is asked for. */
  header: { name: string; value: string } | null;
  chaos: Chaos;
  handle(method: string, target: string, body: Buffer): Promise<Answer>;
  /** An error of ours, in one request. */
  defect(error: Error): void;
}

export interface BankServer {
  port: number;
  /** Takes no more requests, finishes those that came, and closes every connection. */
  close(): Promise<void>;
}

const STOP_MS_MAX = 5000;
/** Bodies up to this size always have room: nearly all are no larger. */
const SMALL_BYTES = 64 * 1024;
/** A body this many times too large is cut off. */
const HEARD_TIMES_MAX = 4;
const JSON_TYPE = { 'content-type': 'application/json' };

export async function startServer(options: ServerOptions): Promise<BankServer> {
  const room: Room = { left: options.largeBytesMax };
  const server = createServer(
    { requestTimeout: options.requestMsMax, headersTimeout: options.requestMsMax, connectionsCheckingInterval: 1000 },
    (request, response) => {
      serve(options, room, request, response).catch((error: Error) => {
        options.defect(error);
        answer(response, { status: 503, body: problem('api.unexpected-error', 'try again later') });
      });
    },
  );
  server.maxConnections = options.connectionsMax;
  server.timeout = options.stillMsMax;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, resolve);
  });
  return { port: (server.address() as AddressInfo).port, close: () => close(server) };
}

/** Bytes that large bodies may still take. */
interface Room {
  left: number;
}

async function serve(
  options: ServerOptions,
  room: Room,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { header, bodyBytesMax } = options;
  const isKnown = header === null || isEqual(request.headers[header.name], header.value);
  const body = await readBody(request, bodyBytesMax, room, isKnown);
  try {
    await hear(options, request, body.whole, response);
  } finally {
    room.left += body.taken;
  }
}

async function hear(
  options: ServerOptions,
  { method = '', url = '/' }: IncomingMessage,
  body: Body['whole'],
  response: ServerResponse,
): Promise<void> {
  const { bodyBytesMax } = options;
  if (body === 'gone') return;
  if (body === 'unheard') {
    return answer(response, { status: 401, body: problem('auth.unauthorized', 'the bank does not know who asks') });
  }
  if (body === 'large') {
    const detail = `a body has at most ${bodyBytesMax} bytes`;
    return answer(response, { status: 413, body: problem('api.body-malformed', detail) });
  }
  if (body === 'crowded') {
    return answer(response, { status: 503, body: problem('api.unexpected-error', 'too many large bodies at once') });
  }
  const handle = () => options.handle(method, url, body);
  if (method === 'GET') answer(response, await handle());
  else await misbehave(options.chaos, handle, response);
}

async function misbehave(chaos: Chaos, handle: () => Promise<Answer>, response: ServerResponse): Promise<void> {
  if (chaos.does('slow')) await pause(chaos.waitMs());
  if (chaos.does('deaf')) return void response.destroy();
  const result = await handle();
  if (chaos.does('mute')) return void response.destroy();
  const { socket } = response;
  const isTwice = chaos.does('twice');
  // On a connection that goes on, the second answer would be taken for that to the next request.
  if (isTwice) response.setHeader('connection', 'close');
  answer(response, result);
  if (isTwice) socket?.write(`HTTP/1.1 ${result.status} Again\r\ncontent-length: 2\r\n\r\n{}`);
}

/** What came of a body, and how much of the room for large ones it holds. */
interface Body {
  whole: Buffer | 'large' | 'crowded' | 'unheard' | 'gone';
  taken: number;
}

/**
 * The whole body; `gone` where the sender left before its end. Nothing is kept of a body that is too large, finds no
 * room, or is not wanted (`isKept`), but more of it is read, so that its sender, still sending, can be answered.
 */
function readBody(request: IncomingMessage, bytesMax: number, room: Room, isKept: boolean): Promise<Body> {
  return new Promise((resolve) => {
    let whole: Body['whole'] | null = isKept ? null : 'unheard';
    let parts: Buffer[] = [];
    let [length, taken] = [0, 0];
    const letGo = (why: Body['whole']) => {
      whole ??= why;
      parts = [];
      room.left += taken;
      taken = 0;
    };
    request.on('data', (part: Buffer) => {
      length += part.length;
      if (length > HEARD_TIMES_MAX * bytesMax) request.destroy();
      if (length > bytesMax) letGo('large');
      if (whole !== null) return;
      const more = Math.max(0, length - SMALL_BYTES) - taken;
      if (more > room.left) return letGo('crowded');
      room.left -= more;
      taken += more;
      parts.push(part);
    });
    request.once('end', () => {
      whole ??= Buffer.concat(parts);
      resolve({ whole, taken });
    });
    // These also come after the end; then the promise is settled already.
    const leave = () => {
      if (whole === null) letGo('gone');
      resolve({ whole: 'gone', taken: 0 });
    };
    request.once('error', leave);
    request.once('close', leave);
  });
}

function answer(response: ServerResponse, { status, body }: Answer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { ...JSON_TYPE, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** What is said before the bank has heard anything is not signed. */
function problem(reason: string, detail: string): string {
  return JSON.stringify({ data: { reason, detail } });
}

/** Compares in a time that tells nothing of where the two differ. */
function isEqual(given: string | string[] | undefined, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return typeof given === 'string' && timingSafeEqual(digest(given), digest(expected));
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => server.closeAllConnections(), STOP_MS_MAX);
    server.close(() => {
      clearTimeout(timer);
      resolve();
    });
    server.closeIdleConnections();
  });
}
