/** Figures rest on this parser: it must count each answer once, however its bytes arrive, and none it did not understand. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { RawConnection } from '../../bench/load/raw-client.ts';
import { turn } from '../support/turns.ts';

const ANSWER = 'HTTP/1.1 201 Created\r\nDate: today\r\nContent-Length: 12\r\n\r\n{"a":"\r\n\r\n"}';

let server: Server | undefined;
let connection: RawConnection | undefined;
afterEach(() => {
  connection?.close();
  server?.close();
});

/** Statuses of `requests` requests, sent one after the other, to a server that answers each with `answer`. */
async function ask(requests: number, answer: (socket: Socket) => void): Promise<number[]> {
  server = createServer((socket) => socket.on('error', () => {}).on('data', () => answer(socket)));
  await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
  const statuses: number[] = [];
  let settle: (status: number) => void = () => {};
  connection = await RawConnection.connect((server.address() as AddressInfo).port, (_, status) => settle(status));
  for (let request = 0; request < requests && connection.open; request++) {
    statuses.push(
      await new Promise<number>((resolve) => {
        settle = resolve;
        connection!.send(Buffer.from('GET / HTTP/1.1\r\n\r\n'));
      }),
    );
  }
  return statuses;
}

async function writeInPieces(socket: Socket, text: string, bytes: number): Promise<void> {
  for (let from = 0; from < text.length; from += bytes) {
    socket.write(text.slice(from, from + bytes));
    await turn();
  }
}

describe('an answer is counted once', () => {
  test.each([1, 7, 20, ANSWER.length - 1, ANSWER.length])('in pieces of %d bytes', async (bytes) => {
    expect(await ask(3, (socket) => void writeInPieces(socket.setNoDelay(true), ANSWER, bytes))).toEqual([
      201, 201, 201,
    ]);
  });

  test.each([
    ['lower-case header', 'HTTP/1.1 409 Conflict\r\ncontent-length:2\r\n\r\n{}', 409],
    ['no body', 'HTTP/1.1 204 No Content\r\n\r\n', 204],
    ['empty body', 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n', 503],
  ])('%s', async (_, text, status) => {
    expect(await ask(2, (socket) => socket.write(text))).toEqual([status, status]);
  });
});

describe('what is not understood is lost, not accepted', () => {
  test.each([
    ['closed before the answer', (socket: Socket) => socket.destroy()],
    ['closed within the body', (socket: Socket) => socket.end(ANSWER.slice(0, -1))],
    ['length unknown', (socket: Socket) => socket.write('HTTP/1.1 201 Created\r\n\r\n{}')],
    ['more than the body', (socket: Socket) => socket.write(`${ANSWER}x`)],
    ['head without end', (socket: Socket) => socket.write('x'.repeat(20_000))],
  ])('%s', async (_, answer) => {
    expect(await ask(1, answer)).toEqual([0]);
  });
});
