/** What the tests of a file share, and is gone when they have ended. */
import { afterAll } from 'vitest';
import { type Client, connect, type Keys, makeKeys } from './client.ts';
import { type Hook, openHook } from './hook.ts';
import { type Kit, makeKit } from './kit.ts';
import { type Server, type ServerOptions, startServer } from './server.ts';

/** A server, whoever asks it, and short words for what `keys` sign. To be awaited before the file's first test. */
export async function serverOfFile(
  keys: Keys = makeKeys(),
  options: ServerOptions = {},
): Promise<{ server: Server; client: Client; kit: Kit }> {
  const server = await startServer(options);
  afterAll(() => server.stop());
  const client = connect(server);
  return { server, client, kit: makeKit(client, keys) };
}

/** A hook. To be opened before the server that calls it: what is opened last is closed first. */
export async function hookOfFile(): Promise<Hook> {
  const hook = await openHook();
  afterAll(() => hook.close());
  return hook;
}
