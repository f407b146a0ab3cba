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
import { until } from './kit.ts';

/** The programs, as they were built. */
export const MAIN = fileURLToPath(new URL('../../src/bin/main.js', import.meta.url));
export const AYNI = fileURLToPath(new URL('../../src/bin/ayni.js', import.meta.url));

export interface LaunchOptions {
  /** Further flags, `['--snapshot-every', '50']`. */
  flags?: string[];
  env?: Record<string, string>;
  /** A shell command that sets limits before the server takes the shell's place. */
  before?: string;
  /** User to run as, where this process may choose. */
  uid?: number;
}

export interface Launched {
  child: ChildProcess;
  /** Ends in /v2; empty where it has ended and did not listen. */
  url: string;
  /** All it has printed, stdout and stderr. */
  log(): string;
  /** The exit code, once it has ended. */
  ended: Promise<number | null>;
}

/** Starts a server on this directory; resolves when it listens or has ended, whichever comes first. */
export async function launch(
  directory: string,
  { flags = [], env, before, uid }: LaunchOptions = {},
): Promise<Launched> {
  const server = [process.execPath, MAIN, '--port', '0', '--data', directory, '--workers', '1', ...flags];
  const limited = before === undefined ? server : ['/bin/sh', '-c', `${before}; exec "$0" "$@"`, ...server];
  const [program, ...args] = limited as [string, ...string[]];
  const identity = uid === undefined ? {} : { uid, gid: uid };
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
    ...identity,
  });
  dieWithUs(child);
  let text = '';
  let hasEnded = false;
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (text += chunk));
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      hasEnded = true;
      resolve(code);
    });
  });
  const look = () => /http:\/\/127\.0\.0\.1:\d+\/v2/.exec(text)?.[0] ?? (hasEnded ? '' : null);
  const url = await until(look, () => `the start or the end of\n${text}`);
  return { child, url, log: () => text, ended };
}

export interface ServerOptions extends Pick<LaunchOptions, 'flags' | 'env'> {
  /** Data directory; without it a fresh one is made and removed again at stop or kill. */
  directory?: string;
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

/** Starts a server and resolves when it answers. Throws with all it printed where it does not. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const directory = options.directory ?? makeDirectory();
  const { child, url, log, ended } = await launch(directory, options);
  if (url === '') throw new Error(`the server ended with code ${await ended}:\n${log()}`);
  const answer = await fetch(`${url}/signers/system`, { headers: options.headers ?? {} });
  const system = JSON.parse(await answer.text());
  const publicKey: string = system.data.public;
  verifyRecord(system, publicKey);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    const code = await ended;
    if (options.directory === undefined) rmSync(directory, { recursive: true, force: true });
    return code;
  };
  return {
    url,
    port: Number(new URL(url).port),
    publicKey,
    directory,
    process: child,
    log,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}

/** Starts a server that is expected to refuse: its exit code and what it printed. One that listens is an error. */
export async function startRefused(
  options: ServerOptions & { directory: string },
): Promise<{ code: number | null; log: string }> {
  const { child, url, log, ended } = await launch(options.directory, options);
  if (url !== '') child.kill('SIGKILL');
  const code = await ended;
  if (url !== '') throw new Error(`it should not have started:\n${log()}`);
  return { code, log: log() };
}
