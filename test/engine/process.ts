/**
 * The built server as a process under limits of the system that test/support/server.ts does not know, and a crowd of
 * clients that keeps it busy and remembers every answer.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { type Json, makeKeys, record } from '../support/client.ts';
import { issue, unique } from '../support/kit.ts';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const START_MS = 20_000;

export interface Limited {
  child: ChildProcess;
  url: string;
  log(): string;
  /** The exit code, once it has ended. */
  ended: Promise<number | null>;
}

export interface LimitOptions {
  /** A shell command that sets limits before the server takes the shell's place. */
  before?: string;
  /** User to run as, where this process may choose. */
  uid?: number;
  flags?: string[];
}

/** Starts the server; resolves when it listens or has ended, whichever comes first. */
export async function launch(directory: string, { before = ':', uid, flags = [] }: LimitOptions): Promise<Limited> {
  const args = [MAIN, '--port', '0', '--data', directory, '--workers', '1', ...flags];
  const identity = uid === undefined ? {} : { uid, gid: uid };
  const child = spawn('/bin/sh', ['-c', `${before}; exec "$0" "$@"`, process.execPath, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...identity,
  });
  const dieWithUs = () => child.kill('SIGKILL');
  process.once('exit', dieWithUs);
  let text = '';
  let hasEnded = false;
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (text += chunk));
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      process.off('exit', dieWithUs);
      hasEnded = true;
      resolve(code);
    });
  });
  const late = Date.now() + START_MS;
  for (;;) {
    const seen = /http:\/\/127\.0\.0\.1:\d+\/v2/.exec(text);
    if (seen !== null || hasEnded) return { child, url: seen?.[0] ?? '', log: () => text, ended };
    if (Date.now() > late) throw new Error(`neither started nor ended:\n${text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export interface Sent {
  body: Json;
  at: number;
  /** 0 where no answer came. */
  status: number;
  reply: Json;
}

const keys = makeKeys();

/** Posts and remembers; a connection that breaks leaves status 0. */
function post(agent: Agent, url: string, body: Json): Promise<Sent> {
  const sent: Sent = { body, at: performance.now(), status: 0, reply: undefined };
  return new Promise((resolve) => {
    const give = () => resolve(sent);
    const call = request(`${url}/intents`, { agent, method: 'POST', headers: { 'content-type': 'application/json' } });
    call.on('error', give);
    call.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('error', give);
      response.on('end', () => {
        sent.status = response.statusCode!;
        sent.reply = JSON.parse(text);
        give();
      });
    });
    call.end(JSON.stringify(body));
  });
}

export interface Crowd {
  sent: Sent[];
  /** Resolves when so many have been acknowledged, or all lanes have ended. */
  acknowledged(count: number): Promise<void>;
  /** Resolves when every lane has met a broken connection or an answer other than 201, or was told to stop. */
  end(stop?: boolean): Promise<void>;
}

/** So many clients, each one request at a time: each brings one more of `symbol` to `wallet`. */
export function crowd(url: string, lanes: number, wallet: string, symbol: string): Crowd {
  const agent = new Agent({ keepAlive: true, maxSockets: lanes });
  const sent: Sent[] = [];
  let isRunning = true;
  let running = lanes;
  let count = 0;
  const waits: [number, () => void][] = [];
  const wake = () => {
    for (const [wanted, resolve] of waits) if (count >= wanted || running === 0) resolve();
  };
  const lane = async () => {
    while (isRunning) {
      const body = record({ handle: unique('crowd'), claims: [issue(wallet, symbol, 1)] }, keys, [
        { status: 'created' },
      ]);
      const one = await post(agent, url, body);
      sent.push(one);
      if (one.status !== 201) break;
      count++;
      wake();
    }
    running--;
    wake();
  };
  const ended = Promise.all(Array.from({ length: lanes }, lane)).then(() => agent.destroy());
  return {
    sent,
    acknowledged: (wanted) =>
      new Promise((resolve) => {
        waits.push([wanted, resolve]);
        wake();
      }),
    end(stop = false) {
      if (stop) isRunning = false;
      return ended;
    },
  };
}
