/** A server that is far away: a connection to it comes about when it is asked for once more, after a second. */
import { spawn } from 'node:child_process';
import dns from 'node:dns';
import { connect } from 'node:net';
import { onTestFinished, vi } from 'vitest';
import { pause } from './kit.ts';

/** Its queue of connections is full as it begins, and it answers 202 to all that is asked. */
const SCRIPT = `
  const server = require('node:http').createServer((_, response) => response.writeHead(202).end());
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
    require('node:fs').writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 800);
  });`;

/** Where the name of it leads: there, and to where nobody listens. */
export const FAR = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));

/** The port where it listens. */
export async function listenFar(): Promise<number> {
  const far = spawn(process.execPath, ['-e', SCRIPT]);
  onTestFinished(() => void far.kill('SIGKILL'));
  const port = Number(await new Promise((resolve) => far.stdout.once('data', resolve)));
  for (let n = 0; n < 4; n++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
  }
  await pause(100);
  return port;
}

/** A name that leads there. */
export function farUrl(port: number): string {
  const lookup = vi.spyOn(dns, 'lookup');
  onTestFinished(() => lookup.mockRestore());
  // biome-ignore lint/suspicious/noExplicitAny: it has very many forms
  lookup.mockImplementation(((_: string, __: object, done: any) => done(null, FAR)) as any);
  return `http://far.test:${port}`;
}
