/**
 * Runs the built server as its own process on a directory of its own, the way a user would, and waits for the
 * start-up line. A process that a test leaves behind dies with the test run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { dieWithUs } from './children.ts';
import { verifyRecord } from './client.ts';
import { makeDirectory } from './directory.ts';
import { found } from './kit.ts';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
/** A busy machine has taken a hundred seconds. */
const START_MS = 120_000;

export interface ServerOptions {
  /** Data directory; without it a fresh one is made and removed again at stop or kill. */
  directory?: string;
  /** Further flags, `['--snapshot-every', '50']`. */
  flags?: string[];
  env?: Record<string, string>;
  /** Sent when the server's own signer record is read: a token, where reading needs one. */
  headers?: Record<string, string>;
}

export interface Server {
  url: string;
  port: number;
  /** The server's own public key, as its signer record `system` shows it. */
  publicKey: string;
  directory: string;
  process: ChildProcess;
  /** All it has printed, stdout and stderr. */
  log(): string;
  /** SIGTERM; the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL, and wait until it is gone. */
  kill(): Promise<void>;
}

export interface Ended {
  code: number | null;
  log: string;
}

interface Running {
  child: ChildProcess;
  log(): string;
  ended: Promise<Ended>;
}

function launch(directory: string, options: ServerOptions): Running {
  const flags = ['--port', '0', '--data', directory, '--workers', '1', ...(options.flags ?? [])];
  const env = { ...process.env, ...options.env };
  const child = spawn(process.execPath, [MAIN, ...flags], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  const hear = (chunk: Buffer): void => {
    text += chunk.toString();
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  dieWithUs(child);
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => resolve({ code, log: text }));
  });
  return { child, log: () => text, ended };
}

/** Starts a server and resolves when it answers. Throws with all it printed where it does not. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const directory = options.directory ?? makeDirectory();
  const running = launch(directory, options);
  const port = await listening(running);
  const url = `http://127.0.0.1:${port}/v2`;
  const answer = await fetch(`${url}/signers/system`, { headers: options.headers ?? {} });
  const system = JSON.parse(await answer.text());
  const publicKey: string = system.data.public;
  verifyRecord(system, publicKey);
  const tidy = (): void => {
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
  };
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    running.child.kill(signal);
    const { code } = await running.ended;
    tidy();
    return code;
  };
  return {
    url,
    port,
    publicKey,
    directory,
    process: running.child,
    log: running.log,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}

/** Starts a server that is expected to refuse: its exit code and what it printed. One that listens is an error. */
export async function startRefused(options: ServerOptions & { directory: string }): Promise<Ended> {
  const running = launch(options.directory, options);
  const port = await Promise.race([running.ended.then(() => 0), listening(running).catch(() => 0)]);
  if (port !== 0) running.child.kill('SIGKILL');
  const ended = await running.ended;
  if (port !== 0) throw new Error(`it should not have started:\n${ended.log}`);
  return ended;
}

async function listening(running: Running): Promise<number> {
  let over: Ended | undefined;
  void running.ended.then((end) => {
    over = end;
  });
  const look = () => /http:\/\/127\.0\.0\.1:(\d+)\/v2/.exec(running.log());
  await found(() => over ?? look(), START_MS);
  const seen = look();
  if (seen) return Number(seen[1]);
  if (over) throw new Error(`the server ended with code ${over.code}:\n${over.log}`);
  running.child.kill('SIGKILL');
  throw new Error(`the server did not start:\n${running.log()}`);
}
