/** Ports beside that of the ledgers, for whoever runs the server: HTTP, or HTTPS among peers, where the operator asked for them. */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { PeerFiles } from './peer-tls.ts';
import { errorCode } from './storage/system-error.ts';
import { urlHost } from './url-host.ts';

/** The port cannot be had; the message is for the operator. */
export class ListenError extends Error {
  override name = 'ListenError';

  constructor(host: string, port: number, flags = '--port or --host') {
    super(
      `Cannot listen on ${urlHost(host)}:${port}: another process has it, this user may not, or it is no address of this machine. Choose another with ${flags}`,
    );
  }
}

/** Nobody has shown a certificate by then: he takes the place of somebody who would. */
const HANDSHAKE_MS_MAX = 5_000;
/** So many may be about to show one: they take no more of the places that there are. */
const HANDSHAKES_MAX = 16;
/** Strangers may be many. */
const TOLD_PER_HOUR_MAX = 10;
const HOUR_MS = 3_600_000;

export interface SidePort {
  readonly url: string;
  /** At once, whatever is on its way. */
  close(): void;
}

export interface SidePortOptions {
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
  const { server, end } =
    peers === null ? { server: createServer(answer), end() {} } : openToPeers(peers, tell, answer);
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

/** A server that hears peers alone; where others are from now on, each shows again who it is. */
function openToPeers(peers: PeerFiles, tell: (text: string) => void, answer: RequestListener) {
  const server = createSecureServer({ ...peers.tls, requestCert: true, handshakeTimeout: HANDSHAKE_MS_MAX }, answer);
  const shaking = limitHandshakes(server);
  tellRefused(server, seldom(tell));
  const end = peers.watch(tell, () => {
    server.setSecureContext(peers.tls);
    for (const { socket } of shaking.values()) socket.destroy();
    server.closeAllConnections();
  });
  return { server, end };
}

/**
 * Whoever shows nothing, again and again, makes room for the next himself: the first goes of those from where most are.
 * Returns who is about to show something.
 */
function limitHandshakes(server: Server): ReadonlyMap<string, { socket: Socket }> {
  const shaking = new Map<string, { socket: Socket; from: string }>();
  const nameOf = ({ remoteAddress, remotePort }: Socket) => `${remoteAddress} ${remotePort}`;
  server.on('connection', (socket: Socket) => {
    const name = nameOf(socket);
    shaking.set(name, { socket, from: `${socket.remoteAddress}` });
    socket.once('close', () => shaking.get(name)?.socket === socket && shaking.delete(name));
    if (shaking.size <= HANDSHAKES_MAX) return;
    const all = [...shaking];
    const countOf = (from: string) => all.filter(([, other]) => other.from === from).length;
    const [first, going] = all.reduce((one, other) => (countOf(other[1].from) > countOf(one[1].from) ? other : one));
    shaking.delete(first);
    going.socket.destroy();
  });
  server.on('secureConnection', (socket: Socket) => shaking.delete(nameOf(socket)));
  return shaking;
}

/** Who is refused may be a copy whose operator wonders why: it is not told. */
function tellRefused(server: Server, tell: (text: string) => void): void {
  // Where one came from that it has hung up on Node does not tell any more: it is the one that ended last.
  let last = '';
  server.on('connection', (socket: Socket) => {
    const from = `${socket.remoteAddress}`;
    socket.once('close', () => {
      last = from;
    });
  });
  server.on('tlsClientError', (error: Error, { remoteAddress = last, authorizationError }: TLSSocket) => {
    const why = String(authorizationError ?? errorCode(error));
    tell(`Who came from ${remoteAddress} was not let in: ${why === 'ECONNRESET' ? 'it showed no certificate' : why}.`);
  });
}

/** The same is told once an hour, and so many things in it. */
function seldom(tell: (text: string) => void): (text: string) => void {
  const told = new Set<string>();
  let since = 0;
  return (text) => {
    const now = performance.now();
    if (told.size === 0 || now - since > HOUR_MS) {
      told.clear();
      since = now;
    }
    if (told.has(text) || told.size >= TOLD_PER_HOUR_MAX) return;
    told.add(text);
    tell(text);
  };
}
