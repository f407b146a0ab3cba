/** Ports beside that of the ledgers, for whoever runs the server: plain HTTP, open where the operator asked for them. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
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
}

/** Listens. Rejects with ListenError where the port cannot be had. */
export function openSidePort(options: SidePortOptions, answer: RequestListener): Promise<SidePort> {
  const { host, port, flag, connectionsMax, silentMsMax = 0 } = options;
  const server = createServer(answer);
  server.maxConnections = connectionsMax;
  server.timeout = silentMsMax;
  // A stop does not wait for those who look.
  server.unref();
  return new Promise((resolve, reject) => {
    server.on('error', () => reject(new ListenError(host, port, flag)));
    server.listen(port, host, () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({
        url: `http://${urlHost(host)}:${taken}`,
        close() {
          server.close();
          server.closeAllConnections();
        },
      });
    });
  });
}
