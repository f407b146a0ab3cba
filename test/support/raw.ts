/**
 * One HTTP request written byte by byte on a socket, for what fetch would not send: bodies in chunks, bodies
 * whose reader hangs up halfway, half a request. The answer is checked like every other.
 */
import { connect as open } from 'node:net';
import { check, type Reply } from './client.ts';
import { whenLate } from './late.ts';
import type { Server } from './server.ts';

const ANSWER_MS = 30_000;

/** Sends the parts as they are and resolves with the first answer; an answer counts even if the rest cannot be sent. */
export function rawRequest(server: Server, parts: (string | Uint8Array)[]): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const socket = open(server.port, '127.0.0.1');
    let bytes = Buffer.alloc(0);
    const settle = (): void => {
      const reply = readAnswer(bytes);
      if (reply === undefined) return;
      answered();
      socket.destroy();
      try {
        check(reply, server.publicKey);
        resolve(reply);
      } catch (error) {
        reject(error);
      }
    };
    const fail = (why: string): void => {
      answered();
      socket.destroy();
      reject(new Error(`${why}, got ${bytes.length} bytes: ${bytes.toString().slice(0, 300)}`));
    };
    const answered = whenLate(ANSWER_MS, () => fail('no answer'));
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      settle();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => fail('closed without an answer'));
    socket.on('connect', () => {
      for (const part of parts) socket.write(part);
    });
  });
}

/** Head, body and status of a whole answer, undefined while some of it is missing. */
function readAnswer(bytes: Buffer): Reply | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(first.split(' ')[1]);
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(':')).trim(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const length = Number(headers.get('content-length') ?? 0);
  const body = bytes.subarray(end + 4);
  if (body.length < length) return undefined;
  const text = body.subarray(0, length).toString();
  return { status, headers, text, body: text === '' ? undefined : JSON.parse(text) };
}

export function head(method: string, path: string, headers: Record<string, string | number>): string {
  const lines = Object.entries({ host: '127.0.0.1', 'content-type': 'application/json', ...headers });
  return `${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}
