/** What a test makes for itself, and is gone when it has ended, the last first: directories and servers. */
import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { makeDirectory, type Server, type ServerOptions, startServer } from './server.ts';

/** A directory of the running test's own. */
export function directoryOfTest(): string {
  const directory = makeDirectory();
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A server of the running test's own. */
export async function serverOfTest(options: ServerOptions = {}): Promise<Server> {
  const server = await startServer(options);
  onTestFinished(() => server.kill());
  return server;
}
