/** What a test makes for itself, and is gone when it has ended, the last first: servers, hooks, and whoever answers. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type Hook, openHook } from './hook.ts';
import { type Server, type ServerOptions, startServer } from './server.ts';

/** A server of the running test's own. */
export async function serverOfTest(options: ServerOptions = {}): Promise<Server> {
  const server = await startServer(options);
  onTestFinished(() => server.kill());
  return server;
}

/** A hook of the running test's own. */
export async function hookOfTest(): Promise<Hook> {
  const hook = await openHook();
  onTestFinished(() => hook.close());
  return hook;
}

/** The URL of somebody who answers so, as long as the running test. */
export async function answering(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A port that nobody has now, nor is given soon. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
