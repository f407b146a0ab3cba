/** Ports beside that of the ledgers, for whoever runs the server: HTTP, or HTTPS among peers, where the operator asked for them. */
import { createServer, type RequestListener } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { PeerTls } from './peer-tls.ts';
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
  /** Who has no certificate that is trusted by it is not heard; null: everybody is, in the clear. */
  tls?: PeerTls | null;
}

/** Listens. Rejects with ListenError where the port cannot be had. */
export function openSidePort(options: SidePortOptions, answer: RequestListener): Promise<SidePort> {
  const { host, port, flag, connectionsMax, silentMsMax = 0, tls = null } = options;
  const server =
    tls === null
      ? createServer(answer)
      : createSecureServer({ ...tls, requestCert: true, handshakeTimeout: HANDSHAKE_MS_MAX }, answer);
  if (tls !== null) limitHandshakes(server);
  server.maxConnections = connectionsMax;
  server.timeout = silentMsMax;
  // A stop does not wait for those who look.
  server.unref();
  return new Promise((resolve, reject) => {
    server.on('error', () => reject(new ListenError(host, port, flag)));
    server.listen(port, host, () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({
        url: `http${tls === null ? '' : 's'}://${urlHost(host)}:${taken}`,
        close() {
          server.close();
          server.closeAllConnections();
        },
      });
    });
  });
}

/** Whoever shows nothing, again and again, makes room for the next himself: the first goes of those from where most are. */
function limitHandshakes(server: Server): void {
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
}
