/**
 * The service, or a bridge, as a child process: started on a directory, addressed once it says where it listens,
 * stopped or killed like any process. The demos and the benches run the very files that `npm start` and
 * `npm run bridge` run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { YOUNG_GENERATION_FLAGS } from '../young-generation.ts';

export interface ServerProcess {
  /** `http://127.0.0.1:<port>/v2`; a bridge's ends with its port. */
  url: string;
  port: number;
  pid: number;
  /** Milliseconds from starting the process until it said that it listens. */
  startMs: number;
  /** Sends the signal and waits for the end. Answers the exit code, null where the signal ended it. */
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null>;
}

export interface StartOptions {
  flags?: string[];
  /** Without it the service gets this process's environment less every AYNI_… variable, so that it has its defaults. */
  environment?: NodeJS.ProcessEnv;
  /** Flags of Node itself, before the program. */
  nodeFlags?: string[];
  /** Told everything the service writes to its standard error, piece by piece, as long as it runs. */
  onLog?: (text: string) => void;
}

const SERVICE = {
  program: ['../bin/main.js'],
  nodeFlags: YOUNG_GENERATION_FLAGS,
  listening: /(http:\/\/127\.0\.0\.1:(\d+)\/v2)/,
};
const BRIDGE: typeof SERVICE = {
  program: ['../bin/ayni.js', 'bridge'],
  nodeFlags: [],
  listening: /listens on (http:\/\/127\.0\.0\.1:(\d+))/,
};
/** Books of five million intents are read meanwhile. */
const START_MS_MAX = 240_000;
const STOP_MS_MAX = 30_000;

/**
 * Starts the service on `directory`, on a free port. Rejects, with what the service said, where it ends or
 * four minutes pass before it listens.
 */
export function startServer(directory: string, options: StartOptions = {}): Promise<ServerProcess> {
  return start(SERVICE, directory, options);
}

/** The same for a bridge. */
export function startBridge(directory: string, options: StartOptions): Promise<ServerProcess> {
  return start(BRIDGE, directory, options);
}

function start(
  { program: [script, ...command], nodeFlags, listening }: typeof SERVICE,
  directory: string,
  options: StartOptions,
): Promise<ServerProcess> {
  const began = performance.now();
  const main = fileURLToPath(new URL(script!, import.meta.url));
  const node = [...nodeFlags, ...(options.nodeFlags ?? [])];
  const flags = [...node, main, ...command, '--port', '0', '--data', directory, ...(options.flags ?? [])];
  const child = spawn(process.execPath, flags, {
    env: options.environment ?? plainEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // A service outliving the one who started it would hold its directory and its port.
  const killChild = () => child.kill('SIGKILL');
  process.once('exit', killChild);
  child.once('exit', () => process.removeListener('exit', killChild));

  return new Promise((resolve, reject) => {
    let said = '';
    const fail = (why: string) => {
      killChild();
      reject(new Error(`the service did not start: ${why}\n${said.trim()}`));
    };
    const timer = setTimeout(() => fail(`nothing listens after ${START_MS_MAX / 1000} s`), START_MS_MAX);
    const read = (text: string) => {
      if (said.length < 10_000) said += text;
    };
    const settle = () => clearTimeout(timer);
    child.once('error', (error) => {
      settle();
      fail(error.message);
    });
    child.once('exit', (code, signal) => {
      settle();
      fail(`it ended with ${code ?? signal}`);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      read(text);
      options.onLog?.(text);
    });
    createInterface({ input: child.stdout }).on('line', (line) => {
      read(`${line}\n`);
      const [, url, port] = listening.exec(line) ?? [];
      if (url === undefined) return;
      settle();
      resolve({
        url,
        port: Number(port),
        pid: child.pid!,
        startMs: performance.now() - began,
        stop: (signal) => stop(child, signal),
      });
    });
  });
}

function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AYNI_')));
}

function stop(child: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
    child.once('exit', (code) => {
      clearTimeout(timer);
      resolve(code);
    });
    child.kill(signal);
  });
}
