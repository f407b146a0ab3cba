/** Runs of `ayni send`, and the files of answers that they write. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { dieWithUs } from '../support/children.ts';
import type { Json } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { AYNI, type Server } from '../support/server.ts';
import type { Ran } from './books.ts';

export const answersFile = (): string => join(freshDirectory(), 'answers.ndjson');

export function startSend(...args: string[]): { child: ChildProcess; ran: Promise<Ran> } {
  const child = spawn(process.execPath, [AYNI, 'send', ...args]);
  dieWithUs(child);
  // Whoever is killed reads no more.
  child.stdin.on('error', () => undefined);
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? -1)));
  const ran = Promise.all([ended, text(child.stdout), text(child.stderr)]).then(([code, out, err]) => {
    return { code, out, err };
  });
  return { child, ran };
}

export function send(input: string, ...args: string[]): Promise<Ran> {
  const { child, ran } = startSend(...args);
  child.stdin!.end(input);
  return ran;
}

export const linesOf = (values: Json[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('');

export function answersIn(file: string): Json[] {
  const [, ...lines] = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line));
}

export const enoughAnswers = (file: string, count: number) => () => {
  try {
    return answersIn(file).length >= count ? true : null;
  } catch {
    return null;
  }
};

/** One address for servers that come and go, as a proxy has it. */
export async function doorTo(): Promise<{ url: string; leadTo(server: Server): void }> {
  let port = 0;
  const open = new Set<Socket>();
  const door = createServer((from) => {
    const to = dial(port, '127.0.0.1');
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      open.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.once('close', () => {
        open.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    door.close();
  });
  const leadTo = (server: Server): void => {
    port = server.port;
  };
  return { url: `http://127.0.0.1:${(door.address() as AddressInfo).port}/v2`, leadTo };
}
