/**
 * Ports beside that of the ledgers, for whoever runs the server: HTTP, or HTTPS among peers, where the operator asked
 * for them.
 */
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createPlainServer, type Server, type Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { Recent } from './memory/index.ts';
import { type PeerFiles, type Term, termOfPeer } from './peer-tls.ts';
import { errorCode } from './storage/system-error.ts';
import { urlHost } from './url-text.ts';

/** The port cannot be had; the message is for the operator. */
export class ListenError extends Error {
  override name = 'ListenError';

  constructor(host: string, port: number, flags = '--port or --host') {
    super(
      `Cannot listen on ${urlHost(host)}:${port}: another process has it, this user may not, or it is no address of this machine. Choose another with ${flags}`,
    );
  }
}

/**
 * Takes the port, and serves nobody there; resolves with what lets it go. Rejects with ListenError where it cannot be
 * had.
 */
export function holdSidePort({
  host,
  port,
  flag,
}: Pick<SidePortOptions, 'host' | 'port' | 'flag'>): Promise<() => void> {
  // Who knocks already comes again.
  const server = createPlainServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.on('error', () => reject(new ListenError(host, port, flag)));
    server.listen({ host, port, exclusive: true }, () => resolve(() => server.close()));
  });
}

/** Whoever has shown no certificate by then takes the place of somebody who would. */
const HANDSHAKE_MS_MAX = 5_000;
/** How many may be about to show one, so that they do not take all the places that there are. */
const HANDSHAKES_MAX = 16;
/** Refusals that are told in an hour: strangers may be many. */
const TOLD_PER_HOUR_MAX = 10;
const HOUR_MS = 3_600_000;
/** For so many certificates it is remembered that their end was told: many more than can be shown at a time. */
const ENDS_TOLD_MAX = 1024;

export interface SidePort {
  readonly url: string;
  /** At once, whatever is on its way. */
  close(): void;
}

interface SidePortOptions {
  host: string;
  /** 0 takes a free one. */
  port: number;
  /** The setting that names it. */
  flag: string;
  connectionsMax: number;
  /** A connection on which nothing goes either way for so long is cut; absent: none is. */
  silentMsMax?: number;
  /** Who shows no certificate that is trusted by them is not heard; null: everybody is, in the clear. */
  peers?: PeerFiles | null;
  /** For the operator: of whom is not heard, and of the certificates. */
  tell?: (text: string) => void;
}

/** Listens. Rejects with ListenError where the port cannot be had. */
export function openSidePort(options: SidePortOptions, answer: RequestListener): Promise<SidePort> {
  const { host, port, flag, connectionsMax, silentMsMax = 0, peers = null, tell = () => {} } = options;
  const answerInTurn = inTurn(answer);
  const { server, end } =
    peers === null ? { server: createServer(answerInTurn), end() {} } : openToPeers(peers, tell, answerInTurn);
  server.maxConnections = connectionsMax;
  server.timeout = silentMsMax;
  // A stop does not wait for those who look.
  server.unref();
  return new Promise((resolve, reject) => {
    server.on('error', () => reject(new ListenError(host, port, flag)));
    server.listen(port, host, () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({
        url: `http${peers === null ? '' : 's'}://${urlHost(host)}:${taken}`,
        close() {
          end();
          server.close();
          server.closeAllConnections();
        },
      });
    });
  });
}

/**
 * Answers one request of a connection at a time. Who asks for the next before the first is answered would have as many
 * files open, and read, as it likes, and figures made: Node hands over all that come in one piece, thousands, before it
 * does anything else.
 */
function inTurn(answer: RequestListener): RequestListener {
  const answering = new WeakMap<Socket, ServerResponse>();
  return (request, response) => {
    const { socket } = request;
    const before = answering.get(socket);
    answering.set(socket, response);
    response.once('close', () => answering.get(socket) === response && answering.delete(socket));
    if (before === undefined) answer(request, response);
    else if (!before.writableEnded) socket.destroy();
    // Over TLS it is told later that an answer left than who has got it asks for the next. Behind the last of a
    // connection (HTTP/1.0 may ask for more) no other gets the socket: it would never be told that it is gone.
    else before.once('close', () => response.socket !== null && !socket.destroyed && answer(request, response));
  };
}

/** A server that hears peers alone; where others are from now on, each shows again who it is. */
function openToPeers(peers: PeerFiles, tell: (text: string) => void, answer: RequestListener) {
  const server = createSecureServer({ ...peers.tls, requestCert: true, handshakeTimeout: HANDSHAKE_MS_MAX }, answer);
  const seldom = new Seldom(tell);
  const shaking = new Handshakes(server, (from, why) => seldom.tell(`Who came from ${from} was not let in: ${why}.`));
  const shown = new Shown(tell);
  server.on('secureConnection', (socket) => shown.add(socket));
  const renewed = () => {
    server.setSecureContext(peers.tls);
    shaking.end();
    server.closeAllConnections();
    // Who was refused before may be refused for something else now, or for the same in spite of it.
    seldom.forget();
  };
  const end = peers.watch(tell, renewed, () => shown.look(Date.now()));
  return { server, end };
}

/**
 * What peers have shown who are connected: it is looked at as they come, and they may stay for longer than it holds.
 */
export class Shown {
  readonly #terms = new Map<TLSSocket, Term>();
  readonly #tell: (text: string) => void;
  /**
   * There may be ever new ones, of ever new addresses; those who are connected are asked for again and again, and stay.
   */
  readonly #told = new Recent<string, true>(ENDS_TOLD_MAX);

  constructor(tell: (text: string) => void) {
    this.#tell = tell;
  }

  add(socket: TLSSocket): void {
    this.#terms.set(socket, termOfPeer(socket));
    socket.once('close', () => this.#terms.delete(socket));
  }

  /** Hangs up on those whose certificate is over, and tells, once, of each that ends soon. */
  look(now: number): void {
    for (const [socket, { end, soon }] of this.#terms) {
      if (now >= end) socket.destroy();
      else if (now >= soon) this.#tellOnce(socket.remoteAddress, end);
    }
  }

  #tellOnce(from: string | undefined, end: number): void {
    const text = `The certificate that is shown from ${from} ends at ${new Date(end).toISOString()}: whoever shows it is not let in after that.`;
    if (this.#told.get(text) !== undefined) return;
    this.#told.set(text, true);
    this.#tell(text);
  }
}

/** Who is about to show something. */
interface Shaking {
  socket: Socket;
  from: string;
  isTold: boolean;
}

const UNSHOWN = 'it showed no certificate';

/**
 * Whoever shows nothing, again and again, makes room for the next himself: the first goes of those from where most are.
 * Who is refused may be a copy whose operator wonders why: it is not told.
 */
class Handshakes {
  readonly #shaking = new Map<string, Shaking>();
  readonly #tell: (from: string, why: string) => void;
  /** The one that ended last. */
  #last: Shaking | undefined;

  constructor(server: Server, tell: (from: string, why: string) => void) {
    this.#tell = tell;
    server.on('connection', (socket: Socket) => this.#begin(socket));
    server.on('secureConnection', (socket: Socket) => this.#shaking.delete(nameOf(socket)));
    server.on('tlsClientError', (error: Error, socket: TLSSocket) => this.#refuse(error, socket));
  }

  /** Hangs up on all of them. */
  end(): void {
    const all = [...this.#shaking.values()];
    this.#shaking.clear();
    for (const { socket } of all) socket.destroy();
  }

  #begin(socket: Socket): void {
    const { remoteAddress: from } = socket;
    // Gone before it was taken.
    if (from === undefined) return;
    const name = nameOf(socket);
    const it: Shaking = { socket, from, isTold: false };
    this.#shaking.set(name, it);
    socket.once('close', () => {
      this.#last = it;
      if (this.#shaking.get(name) !== it) return;
      this.#shaking.delete(name);
      // What it showed, and why that is not enough, is told right behind this.
      setImmediate(() => this.#tellOnce(it, UNSHOWN));
    });
    if (this.#shaking.size > HANDSHAKES_MAX) this.#makeRoom();
  }

  #makeRoom(): void {
    const all = [...this.#shaking];
    const countOf = (from: string) => all.filter(([, other]) => other.from === from).length;
    const [first, going] = all.reduce((one, other) => (countOf(other[1].from) > countOf(one[1].from) ? other : one));
    this.#shaking.delete(first);
    this.#tellOnce(going, UNSHOWN);
    going.socket.destroy();
  }

  #refuse(error: Error, socket: TLSSocket): void {
    // Of a certificate Node tells once it has hung up, and not any more where it came from: it is the one that ended
    // last.
    if (socket.authorizationError) return this.#tellOnce(this.#last, String(socket.authorizationError));
    // Who hangs up, or takes too long, has no address either, and has not ended yet: that is told when it does.
    this.#tellOnce(this.#shaking.get(nameOf(socket)), errorCode(error));
  }

  #tellOnce(it: Shaking | undefined, why: string): void {
    if (it === undefined || it.isTold) return;
    it.isTold = true;
    this.#tell(it.from, why);
  }
}

function nameOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Tells the same thing once an hour, and no more than so many things in that hour. */
class Seldom {
  readonly #tell: (text: string) => void;
  readonly #told = new Set<string>();
  #since = 0;

  constructor(tell: (text: string) => void) {
    this.#tell = tell;
  }

  tell(text: string): void {
    const now = performance.now();
    if (this.#told.size === 0 || now - this.#since > HOUR_MS) {
      this.#told.clear();
      this.#since = now;
    }
    if (this.#told.has(text) || this.#told.size >= TOLD_PER_HOUR_MAX) return;
    this.#told.add(text);
    this.#tell(text);
  }

  /** What was told may be told again. */
  forget(): void {
    this.#told.clear();
  }
}
