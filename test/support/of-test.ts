/** What a test makes for itself, and is gone when it has ended, the last first: servers and hooks. */
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
