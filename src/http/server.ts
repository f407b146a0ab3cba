/**
 * Sockets: the only door to uWebSockets.js. Turns bytes into requests and answers into bytes, and knows
 * nothing of what either says.
 *
 * The native response object is valid until it was answered or the client went away; touching it after
 * that ends the process. So it never leaves this file: others hold a Reply, which forgets the native
 * object at that moment and quietly drops what comes too late.
 *
 * What the native part does by itself, without asking here: malformed requests (400), too large headers
 * (431), no host (400) and other HTTP versions (505) are answered with a bare status and closed. Built for Node 20 it
 * takes a header's name with anything but letters, digits and hyphens in it, a folded line, more than 98 header lines
 * and none at all for what is still on its way; for newer ones such names are good, and the others are 400 and 431. A
 * connection that is silent, or that has not sent its headers whole, for about ten seconds is closed, and so is one
 * that takes nothing of its answer for so long. A request that is pipelined behind one still unanswered, or behind an
 * answer its client has not taken whole, closes the connection: answers could change places otherwise, and pile
 * up. On Node 20 a start line that does not arrive in one piece (a URL beyond the network's segment size, 1.4 KB on
 * most) is taken for a wrong version: 505. So are everywhere, for the most part, lines behind the last chunk of a body,
 * and the answer to what they came with may be lost; chunks with extensions are malformed.
 *
 * What always holds: a request is handed over once, whole, with a body of at most `bodyBytesMax`; each
 * gets at most one answer. Bodies on their way take at most `arrivingBytesMax` together, each at most `bodyMsMax`;
 * long heads of requests without an answer at most `headBytesMax`, answers that were not taken yet at most
 * `unreadBytesMax`. Beyond, those that are under way the longest get 429, or are cut off: see held.ts.
 */

import type { HttpRequest, HttpResponse, TemplatedApp, us_listen_socket } from 'uWebSockets.js';
import { createRequire } from 'node:module';
import { ListenError } from '../side-port.ts';
import { type Header, type Refusal, refuse, refuseBodySize, refuseUnavailable } from './errors.ts';
import { type Guest, Hall, type HallOptions, HEADS_FULL, type RequestTimes, type UnreadAnswer } from './hall.ts';
import type { AnswerBody, Handler, Reply, Request, Sort } from './request.ts';
import { RequestHeaders } from './request-headers.ts';

/**
 * Start line and headers together. The native part has 4 KiB unless told otherwise before it loads, too little for
 * large tokens, and goes by it only where they come in several pieces: what one read brings it takes up to 128 KiB.
 */
export const HEADER_BYTES_MAX = 16_384;
process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(HEADER_BYTES_MAX);
const uws = createRequire(import.meta.url)('uWebSockets.js') as typeof import('uWebSockets.js');

/**
 * LIBUS_LISTEN_EXCLUSIVE_PORT. Otherwise a port that is given by number is shared (SO_REUSEPORT): a second server
 * starts on it without a word, and the system deals connections out to both, each with books of its own.
 */
const LISTEN_EXCLUSIVE_PORT = 1;
type ListenWithOptions = (
  host: string,
  port: number,
  options: number,
  done: (socket: us_listen_socket | false) => void,
) => void;

export interface ServerOptions extends HallOptions {
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Largest body; beyond: 413 and the connection is closed. */
  readonly bodyBytesMax: number;
  /** Open connections; requests on further ones get 503. */
  readonly connectionsMax: number;
  /** Past so many, further ones are cut at once. */
  readonly connectionsCutMax: number;
  /** How long close() waits for running requests. */
  readonly drainMsMax: number;
}

export interface Server {
  readonly port: number;
  /** Requests that have no answer yet. */
  running(): number;
  connections(): number;
  /** Bytes held for slow clients, by what they are of. */
  held(): [of: string, bytes: number][];
  /** Of each HTTP status that was answered, how often. */
  answers(): [status: number, count: number][];
  /** How long requests took, from when they were here whole until their answer was handed to the network. */
  times(): Readonly<Record<Sort, RequestTimes>>;
  /** Stops listening, answers new requests on open connections with 503, waits for running ones, then closes all. */
  close(): Promise<void>;
}

const JSON_TYPE = 'application/json; charset=utf-8';
const EMPTY = new Uint8Array(0);
/** So long a head is not counted while its request waits: ten thousand of them are ten thousand connections anyway. */
const HEAD_BYTES_FREE = 2048;
/** What stands in a start line beside method, path and query. */
const START_LINE_BYTES = 12;
/** Room for the pieces of a body, where it has so many bytes. */
const PIECES_BYTES_MIN = 1024;
/** Of a body that is refused, as much is read away so that the client sees the answer instead of a reset. */
const LINGER_BYTES_MAX = 8 * 1_048_576;
/** So long one turn of the event loop answers at once, as the entrance lets in. */
const ANSWERED_NOW_MS = 5;
/**
 * Of a body in chunks each is handed over by itself, and the native part reads up to 5 MB of a connection in one turn:
 * a million chunks of a byte take a third of a second, as much as hundreds of bodies as they mostly come. So once so
 * many that are smaller than this on average have come in a turn, bodies in such are cut off; each is looked at once in
 * so many.
 */
const CRUMBS_MAX = 32_768;
const CHUNK_BYTES_MIN = 64;
const CHUNKS_BETWEEN_LOOKS = 256;
/**
 * Answers up to this length, in characters of up to three bytes, fit beside their headers into what the native part
 * gathers (16 KiB).
 */
const GATHERED_MAX = 4096;
/** For which Node the native part is built: each has one of its own. */
const BUILT_FOR = Number.parseInt(process.versions.node, 10);
/**
 * Built for Node 24 or newer it sends strings without wide characters in Latin-1, not in UTF-8: there they are handed
 * over as bytes. Elsewhere not, since that makes long answers dearer: a list of a hundred by a sixth.
 */
const SENDS_LATIN1 = BUILT_FOR >= 24;
/** Built for Node 20 it waits for the body of an answer whose length it is told, though it was to end without one. */
const WAITS_FOR_BODY = BUILT_FOR < 22;
const STATUS_TEXTS: Readonly<Record<number, string>> = {
  200: '200 OK',
  201: '201 Created',
  202: '202 Accepted',
  204: '204 No Content',
  400: '400 Bad Request',
  401: '401 Unauthorized',
  403: '403 Forbidden',
  404: '404 Not Found',
  405: '405 Method Not Allowed',
  408: '408 Request Timeout',
  409: '409 Conflict',
  413: '413 Content Too Large',
  422: '422 Unprocessable Entity',
  429: '429 Too Many Requests',
  431: '431 Request Header Fields Too Large',
  500: '500 Internal Server Error',
  503: '503 Service Unavailable',
};

/** Listens. Rejects with ListenError where the port cannot be had. */
export async function startServer(options: ServerOptions, handler: Handler): Promise<Server> {
  const app = uws.App();
  const hall = new Hall(options);
  const scene: Scene = { hall, options, handler };
  app.filter((res, change) => countConnection(scene, res, Number(change)));
  app.any('/*', (res, req) => receive(scene, res, req));
  return serverOver(app, await listenAt(app, options.host, options.port), hall, options);
}

/**
 * Takes the port, and serves nobody there; resolves with what lets it go. Rejects with ListenError where it cannot be
 * had.
 */
export async function holdPort(host: string, port: number): Promise<() => void> {
  const app = uws.App();
  await listenAt(app, host, port);
  return () => app.close();
}

function listenAt(app: TemplatedApp, host: string, port: number): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    // The library's types know options without a host only; its native part takes both.
    const listen = app.listen.bind(app) as unknown as ListenWithOptions;
    listen(host, port, LISTEN_EXCLUSIVE_PORT, (socket) => {
      if (socket === false) reject(new ListenError(host, port));
      else resolve(socket);
    });
  });
}

function serverOver(app: TemplatedApp, socket: us_listen_socket, hall: Hall, options: ServerOptions): Server {
  let closing: Promise<void> | undefined;
  return {
    port: uws.us_socket_local_port(socket),
    running: () => hall.running,
    connections: () => hall.connections,
    held: () => hall.held(),
    answers: () => hall.answers(),
    times: () => hall.times,
    close: () => {
      closing ??= (async () => {
        uws.us_listen_socket_close(socket);
        await hall.drain(options.drainMsMax);
        app.close();
      })();
      return closing;
    },
  };
}

/** What every exchange of a server goes by. */
interface Scene {
  readonly hall: Hall;
  readonly options: ServerOptions;
  readonly handler: Handler;
}

function countConnection({ hall, options }: Scene, res: HttpResponse, change: number): void {
  hall.connections += change;
  if (change === 1 && hall.connections > options.connectionsCutMax) res.close();
}

function receive(scene: Scene, res: HttpResponse, req: HttpRequest): void {
  const exchange = new Exchange(scene, res, req);
  scene.hall.running++;
  exchange.begin();
  exchange.letGo();
}

/** One request and its answer. Holds the native response while it is valid, and nobody else does. */
class Exchange implements Request, Reply, Guest {
  readonly method: string;
  readonly methodSent: string;
  readonly path: string;
  query: string | null;
  body: Uint8Array = EMPTY;
  aborted = false;
  due = 0;
  sort: Sort | null;

  private readonly scene: Scene;
  /** The native request, while it is valid: until its handler returns. */
  private req: HttpRequest | null;
  private readonly headers: RequestHeaders;
  private res: HttpResponse | null;
  /** The beginning of the body, where it comes in pieces. */
  private pieces: Uint8Array = EMPTY;
  private received = 0;
  /** How many pieces of it have come. */
  private count = 0;
  private closes = false;
  /** When it was here, with its body where that is waited for. */
  private since: number;
  /** Why what comes of the body is dropped; told once the client is done sending. */
  private lingering: Refusal | null = null;
  private unread: Unread | null = null;
  /** Something is done for it. */
  private stays = false;
  private gone: (() => void) | null = null;

  constructor(scene: Scene, res: HttpResponse, req: HttpRequest) {
    this.scene = scene;
    this.res = res;
    this.since = scene.hall.turn();
    this.methodSent = req.getCaseSensitiveMethod();
    this.method = this.methodSent === 'HEAD' ? 'GET' : this.methodSent;
    this.sort = sortOf(this.method);
    this.path = req.getUrl();
    this.query = req.getQuery() ?? null;
    this.req = req;
    this.headers = new RequestHeaders(req);
  }

  header(name: string): string {
    return this.headers.get(name, this.req);
  }

  /** From the headers on: refuse, answer, or wait for the body. */
  begin(): void {
    const { hall, options } = this.scene;
    const { isAmbiguous, bodyBytes: length, isChunked } = this.headers;
    if (isAmbiguous || !isMethod(this.methodSent)) return this.cut();
    if (this.sentBytes() > HEADER_BYTES_MAX) return this.refuseLong();
    const refusal = this.refuseHead(length);
    const isReadAway = refusal !== null && isChunked && !this.closes;
    // A body of unknown length could otherwise go on for ever behind its answer.
    if (isChunked && (refusal !== null || this.method === 'OPTIONS')) this.closes = true;
    if (isReadAway) {
      this.linger(refusal);
      this.res!.onData((chunk, isLast) => this.take(chunk, isLast));
    } else if (refusal !== null || (!isChunked && length === 0) || this.method === 'OPTIONS') {
      // Nobody reads what comes with the question for the methods.
      this.serve(refusal);
    } else {
      // By which host it was asked is told whoever asks, with or without a body.
      if (this.method === 'GET') this.headers.keep(this.req);
      if (length > options.bodyBytesMax) this.linger(refuseBodySize(options.bodyBytesMax));
      else hall.arrive(this);
      this.res!.onData((chunk, isLast) => this.take(chunk, isLast));
    }
  }

  /**
   * Answers, or has it answered, now or in the next turn of the event loop. What waits for its ledger's turn does not
   * hold up others, but reads and refusals are answered at once, and tens of thousands may lie behind each other in one
   * connection: once this turn has gone on for a while, one is put off, and the next one behind it closes their
   * connection.
   */
  private serve(refusal: Refusal | null): void {
    const { hall, handler } = this.scene;
    if (refusal === null && this.method !== 'GET') {
      this.stay();
      return handler.handle(this, this);
    }
    const answer = () => {
      if (refusal !== null) handler.refuse(refusal, this);
      else handler.handle(this, this);
    };
    if (performance.now() - hall.turn() < ANSWERED_NOW_MS) return answer();
    if (refusal !== null) this.forgetHead();
    else this.headers.keep(this.req);
    setImmediate(() => {
      if (this.res !== null) answer();
    });
  }

  /**
   * Without an answer: what came with the request would be read on behind it, though it says that the connection
   * closes.
   */
  private cut(): void {
    this.res!.close();
    this.abort();
  }

  /** As the native part does where so long a head comes in pieces. */
  private refuseLong(): void {
    const res = this.res!;
    this.res = null;
    this.scene.hall.leave(this);
    res.writeStatus(STATUS_TEXTS[431]!);
    res.endWithoutBody(0, true);
    this.scene.hall.count(431, null, this.since);
  }

  /** What its head took on its way, in bytes. */
  private sentBytes(): number {
    const { methodSent, path, query, headers } = this;
    return START_LINE_BYTES + methodSent.length + path.length + (query?.length ?? 0) + headers.bytes;
  }

  /** What its head takes while it waits, 0 where that is little. */
  private headBytes(): number {
    const bytes = this.path.length + (this.query?.length ?? 0) + this.headers.keptBytes;
    return bytes > HEAD_BYTES_FREE ? bytes : 0;
  }

  /** The handler returns: the native request is no longer ours, nor the response where it is answered. */
  letGo(): void {
    this.req = null;
    if (this.res === null) return;
    this.watch(this.res);
    this.countHead();
  }

  /** Most heads are so short that nothing is done here. */
  private countHead(): void {
    const { heads } = this.scene.hall;
    const bytes = this.headBytes();
    if (bytes > 0) heads.hold(this, bytes);
    else if (heads.total > 0) heads.forget(this);
    if (bytes > 0 && this.stays) heads.fix(this);
  }

  forgetHead(): void {
    this.query = null;
    this.headers.forget();
    // Before it is let go nothing is counted.
    if (this.req === null && this.res !== null) this.countHead();
  }

  stay(): void {
    this.stays = true;
    const { heads } = this.scene.hall;
    if (this.req === null && heads.total > 0) heads.fix(this);
  }

  /** From here on the client may go away while we still hold the native response. */
  private watch(res: HttpResponse): void {
    res.onAborted(() => this.abort());
  }

  /** Reasons to answer before the body was read. */
  private refuseHead(length: number): Refusal | null {
    const { hall, handler, options } = this.scene;
    const { isDraining, connections } = hall;
    this.closes = true;
    if (isDraining) return refuseUnavailable('server is stopping');
    if (connections > options.connectionsMax) return refuseUnavailable('too many connections');
    if (Number.isNaN(length)) return refuse('api.body-malformed', 'content-length must be a number');
    // More than is worth reading away: answer at once.
    if (length > Math.max(LINGER_BYTES_MAX, options.bodyBytesMax)) return refuseBodySize(options.bodyBytesMax);
    this.closes = false;
    const headBytes = this.headBytes();
    if (headBytes > 0 && !hall.heads.hasRoom(headBytes)) return HEADS_FULL;
    return handler.admit(this);
  }

  /** A piece of the body. The native memory is only lent until this returns. */
  private take(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.res === null) return;
    const { hall, handler, options } = this.scene;
    this.received += chunk.byteLength;
    // Only what is closed is not read on.
    if (++this.count % CHUNKS_BETWEEN_LOOKS === 0 && this.holdsUp()) return this.cut();
    if (this.lingering !== null) {
      if (isLast || this.received > LINGER_BYTES_MAX) this.endLingering();
      return;
    }
    if (this.received > options.bodyBytesMax) {
      this.linger(refuseBodySize(options.bodyBytesMax));
      if (isLast) this.endLingering();
      return;
    }
    if (!isLast || this.received > chunk.byteLength) this.gather(chunk);
    if (!isLast) return hall.bodies.hold(this, this.pieces.length);
    this.since = hall.turn();
    // What comes with a question is let go, for nobody reads it.
    if (this.method !== 'GET') {
      this.body = this.pieces === EMPTY ? new Uint8Array(chunk) : this.pieces.subarray(0, this.received);
    }
    this.pieces = EMPTY;
    hall.arrived(this);
    // The inbox may have filled up since the head was asked about.
    this.serve(handler.admit(this));
    this.body = EMPTY;
  }

  /** Whether others wait while its body is handed over crumb by crumb. */
  private holdsUp(): boolean {
    if (!this.headers.isChunked || this.received >= CHUNK_BYTES_MIN * this.count) return false;
    const { hall } = this.scene;
    // They are counted until that turn is over.
    hall.turn();
    hall.crumbs += CHUNKS_BETWEEN_LOOKS;
    return hall.crumbs > CRUMBS_MAX;
  }

  /**
   * Keeps a piece behind those before it, all in one buffer: a body may come a byte at a time, and an object for each
   * piece would take hundreds of times what is counted here.
   */
  private gather(chunk: ArrayBuffer): void {
    const before = this.received - chunk.byteLength;
    if (this.received > this.pieces.length) {
      const room = Math.max(2 * this.received, PIECES_BYTES_MIN);
      const larger = Buffer.allocUnsafeSlow(Math.max(this.received, Math.min(room, this.announced())));
      larger.set(this.pieces.subarray(0, before));
      this.pieces = larger;
    }
    this.pieces.set(new Uint8Array(chunk), before);
  }

  /** How long the body is at most. */
  private announced(): number {
    return this.headers.isChunked ? this.scene.options.bodyBytesMax : this.headers.bodyBytes;
  }

  /**
   * The body is too large, or refused whatever it says, and its connection will be closed: drop what comes, so that the
   * client is done sending before it is answered. Where it still sends, its answer is lost with the connection.
   */
  private linger(refusal: Refusal): void {
    this.lingering = refusal;
    this.pieces = EMPTY;
    this.forgetHead();
    this.scene.hall.linger(this);
  }

  endLingering(): void {
    this.refuseAndClose(this.lingering!);
  }

  refuseAndClose(refusal: Refusal): void {
    // It never came whole: how long that took is its client's time.
    this.sort = null;
    this.closes = true;
    this.pieces = EMPTY;
    const { gone } = this;
    this.scene.handler.refuse(refusal, this);
    // Whoever still looks for what it asked need not.
    this.aborted = true;
    this.forgetHead();
    gone?.();
  }

  send(status: number, body: AnswerBody, headers: readonly Header[] = []): void {
    const { res } = this;
    if (res === null) return;
    this.res = null;
    this.gone = null;
    this.scene.hall.leave(this);
    // While the request is handed over the native part gathers by itself what is written, and sends it together.
    if (this.req !== null) this.write(res, status, body, headers);
    else res.cork(() => this.write(res, status, body, headers));
    this.scene.hall.count(status, this.sort, this.since);
  }

  private write(
    res: HttpResponse,
    status: number,
    answer: string | readonly Buffer[],
    headers: readonly Header[],
  ): void {
    const closes = this.closes || this.scene.hall.isDraining;
    res.writeStatus(STATUS_TEXTS[status] ?? String(status));
    const isEmpty = status === 204;
    if (!isEmpty) res.writeHeader('content-type', JSON_TYPE);
    for (const [name, value] of headers) res.writeHeader(name, value);
    // The native call takes an absent length only where no argument follows it.
    if (isEmpty) closes ? res.endWithoutBody(0, true) : res.endWithoutBody();
    else if (this.methodSent === 'HEAD') this.endHead(res, bytesOf(answer), closes);
    else if (typeof answer === 'string') {
      const body = SENDS_LATIN1 ? Buffer.from(answer) : answer;
      if (this.closes || body.length <= GATHERED_MAX) res.end(body, closes);
      else this.offer(res, [body]);
    } else if (this.closes) res.end(Buffer.concat(answer), closes);
    else this.offer(res, answer);
  }

  /**
   * Ends an answer that tells the length of a body it does not have. Where the native part waits for that body, it
   * takes the connection's next request for one behind an unanswered one; where it is not told the length, it cannot be
   * told to close, and a body that is refused would go on for ever behind its answer. So there that is done here.
   */
  private endHead(res: HttpResponse, bytes: number, closes: boolean): void {
    if (!closes) {
      res.writeHeader('Content-Length', String(bytes));
      res.endWithoutBody();
      return;
    }
    if (!WAITS_FOR_BODY) {
      res.endWithoutBody(bytes, true);
      return;
    }
    res.writeHeader('Connection', 'close');
    const [, isDone] = res.tryEnd('', bytes);
    // By a release of the maker's that does not wait.
    if (isDone) return;
    if (this.req !== null) this.watch(res);
    const unread = new Unread(this.scene.hall, res, [], 0);
    this.unread = unread;
    // What is gathered has been sent by then.
    setImmediate(() => unread.cut());
  }

  /** Sends what the network takes now, and keeps the rest until it takes more. */
  private offer(res: HttpResponse, parts: readonly (string | Buffer)[]): void {
    const bytes = bytesOf(parts);
    for (const [index, part] of parts.entries()) {
      const [isTaken, isDone] = res.tryEnd(part, bytes);
      if (isDone) return;
      if (isTaken) continue;
      const rest = parts.slice(index).map((each) => (typeof each === 'string' ? Buffer.from(each) : each));
      if (this.req !== null) this.watch(res);
      this.unread = new Unread(this.scene.hall, res, rest, bytes);
      return;
    }
  }

  abort(): void {
    this.unread?.end();
    if (this.res === null) return;
    this.res = null;
    this.aborted = true;
    this.pieces = EMPTY;
    this.forgetHead();
    this.scene.hall.leave(this);
    this.gone?.();
  }

  whenGone(run: () => void): void {
    this.gone = run;
    if (this.aborted) run();
  }
}

/** An answer that the network has not taken whole. Holds the native response until it has, or the client is gone. */
class Unread implements UnreadAnswer {
  private readonly hall: Hall;
  private readonly parts: Buffer[];
  private readonly bytes: number;
  private res: HttpResponse | null;

  /** `parts`: the last ones of an answer of so many bytes. */
  constructor(hall: Hall, res: HttpResponse, parts: Buffer[], bytes: number) {
    this.hall = hall;
    this.res = res;
    this.parts = parts;
    this.bytes = bytes;
    res.onWritable((offset) => this.goOn(offset));
    this.hold(res);
  }

  /** The network takes more, from `offset` on. */
  private goOn(offset: number): boolean {
    const { res, parts, bytes } = this;
    if (res === null) return true;
    let begin = bytes - bytesOf(parts);
    for (let part = parts[0]; part !== undefined; part = parts[0]) {
      const end = begin + part.byteLength;
      if (offset < end) {
        const [isTaken, isDone] = res.tryEnd(part.subarray(Math.max(0, offset - begin)), bytes);
        if (isDone) {
          this.end();
          return isTaken;
        }
        if (!isTaken) {
          this.hold(res);
          return false;
        }
      }
      parts.shift();
      begin = end;
    }
    return true;
  }

  private hold(res: HttpResponse): void {
    this.hall.unread.hold(this, this.bytes - res.getWriteOffset());
  }

  /** Nothing more will be sent: it is all gone, or the client is. */
  end(): void {
    this.res = null;
    this.hall.unread.forget(this);
  }

  /** Its client has been too slow for too long. */
  cut(): void {
    this.res?.close();
    this.end();
  }
}

/**
 * Lines may follow the last chunk of a body (trailers). Two characters later the native part takes the first of them
 * for the start of another request, and who sent none would take its answer for that to what it asks next. Where a
 * method belongs stands then the rest of a header's name with its colon, or nothing.
 */
function isMethod(word: string): boolean {
  return word !== '' && !word.includes(':');
}

/** As what a request is counted; the question for the methods is neither read nor write. */
function sortOf(method: string): Sort | null {
  if (method === 'OPTIONS') return null;
  return method === 'GET' ? 'read' : 'write';
}

function bytesOf(body: string | readonly (string | Buffer)[]): number {
  if (typeof body === 'string') return Buffer.byteLength(body);
  return body.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0);
}
