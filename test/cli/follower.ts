/** `ayni follow` beside a running server, as tests of copies start it; and who is followed, without a server around. */
import { spawn } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { Followers, type FollowersOptions } from '../../src/followers.ts';
import type { PeerFiles } from '../../src/peer-tls.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { segmentName } from '../../src/storage/format.ts';
import type { Journal } from '../../src/storage/journal.ts';
import { SERVER } from '../engine/house.ts';
import { dieWithUs } from '../support/children.ts';
import { until } from '../support/kit.ts';
import { AYNI, type Server, type ServerOptions, startServer } from '../support/server.ts';
import { fresh } from './books.ts';

/** A server whose books can be followed. */
export const serve = (options: ServerOptions & { directory: string }) =>
  startServer({ ...options, flags: ['--followers', '0', ...(options.flags ?? [])] });

/** Of a server that nobody asks what it has signed, base64. */
export const SOME_KEY = `${'A'.repeat(43)}=`;

/** Where. */
export const urlOf = (server: Server) => /can be followed at (https?:\/\/127\.0\.0\.1:\d+)/.exec(server.log())![1]!;
export const portOf = (server: Server) => Number(new URL(urlOf(server)).port);

/** Shows these books to who follows, without a server around, until the running test has ended. */
export async function showTo(
  books: Pick<FollowersOptions, 'directory' | 'journal'> & Partial<FollowersOptions>,
  peers?: PeerFiles,
): Promise<{ url: string; followers: Followers }> {
  const followers = new Followers({ disk: realDisk, key: SERVER.public, offers: () => true, tell() {}, ...books });
  const { url, close } = await followers.listen({ host: '127.0.0.1', port: 0 }, peers);
  onTestFinished(close);
  return { url, followers };
}

/** What they ask of a journal, of one in which nothing is. */
export function emptyJournal(): Journal {
  const position = { seq: 0, chain: Buffer.alloc(32), moment: 0 };
  return { position, end: { file: segmentName(1), byte: 0 } } as unknown as Journal;
}

interface Follower {
  log(): string;
  /** Resolves when it has told so. */
  tells(what: RegExp): Promise<void>;
  /** By SIGTERM, unless another is named; the exit code. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  kill(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Reads no more of what it says. */
  leave(): void;
  ended: Promise<number | null>;
}

/** `ayni follow` as a process of its own, which goes with the test run. */
export function follow(at: number | string, to: string, key: string, ...more: string[]): Follower {
  return followWith({}, at, to, key, ...more);
}

/** The same with these variables in its environment. */
export function followWith(
  env: Record<string, string>,
  at: number | string,
  to: string,
  key: string,
  ...more: string[]
): Follower {
  const url = typeof at === 'string' ? at : `http://127.0.0.1:${at}`;
  const args = [AYNI, 'follow', url, to, '--against', key, ...more];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  dieWithUs(child);
  let log = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    log: () => log,
    async tells(what) {
      await until(
        () => what.test(log),
        () => `${what} in ${log}`,
      );
    },
    stop(signal = 'SIGTERM') {
      child.kill(signal);
      return ended;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    signal(signal) {
      child.kill(signal);
    },
    leave() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
    ended,
  };
}

/** The copy as somebody would start on it, apart. */
export function copiedWithKey(to: string, from: string): string {
  const copy = fresh();
  cpSync(to, copy, { recursive: true });
  cpSync(join(from, 'server.key'), join(copy, 'server.key'));
  return copy;
}
