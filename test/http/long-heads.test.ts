/** What is kept of long heads while their requests wait, from the socket to the books: what waits for long lets go of them. */
import { expect, test } from 'vitest';
import type { Server } from '../../src/http/server.ts';
import { Desk } from '../fuzz/desk.ts';
import { bearer, makeKeys, record } from '../support/client.ts';
import { unique, until } from '../support/kit.ts';
import { turns } from '../support/turns.ts';
import { start, wire } from './wire.ts';

const keys = makeKeys();
const LONG = `q=${'x'.repeat(4000)}`;
const heldBy = (server: Server) => new Map(server.held()).get('heads');

/** A server with books, whose disk is silent until it is told otherwise. Of long heads two have room, and no third. */
async function startWithBooks() {
  const desk = await Desk.open();
  const server = await start(desk.app, { headBytesMax: 10_000 });
  const { engine, disk } = desk.house;
  disk.holdSyncs();
  return { desk, server, engine, disk };
}

test('what is to be written lets go of its head, and keeps what is preferred', async () => {
  const { desk, server, engine, disk } = await startWithBooks();
  const body = JSON.stringify(record({ handle: 'ana' }, keys));
  const line = await wire(server);
  const head = `POST /v2/wallets?${LONG} HTTP/1.1\r\nhost: a\r\nprefer: wait=1\r\ncontent-length: ${body.length}\r\n\r\n`;
  line.socket.write(head + body.slice(0, 10));
  await until(() => heldBy(server)! > LONG.length);
  line.socket.write(body.slice(10));
  await until(() => engine.owesAnswers);
  expect([server.running(), heldBy(server)]).toEqual([1, 0]);
  disk.releaseSyncs();
  expect(await line.until('"handle":"ana"')).toContain('HTTP/1.1 201 ');
  await desk.close();
});

test('who reads with a token that is good once, and used up by then, is told what came of it', async () => {
  const { desk, server, engine, disk } = await startWithBooks();
  const { authorization } = bearer(keys, 'main', {
    jti: unique('jti'),
    iat: desk.world.now / 1000,
    exp: desk.world.now / 1000 + 100,
  });
  const line = await wire(server);
  line.socket.write(`GET /v2/wallets?${LONG} HTTP/1.1\r\nhost: a\r\nauthorization: ${authorization}\r\n\r\n`);
  await until(() => engine.owesAnswers || line.text() !== '');
  expect(line.text()).toBe('');
  expect(heldBy(server)).toBeGreaterThan(LONG.length);
  // It would have to make room for this one.
  const other = await wire(server);
  other.socket.write(`GET /v2/wallets?${LONG}${LONG} HTTP/1.1\r\nhost: a\r\n\r\n`);
  await until(() => other.text() !== '' || line.text() !== '');
  expect([line.text(), other.text().slice(0, 12)]).toEqual(['', 'HTTP/1.1 429']);
  disk.releaseSyncs();
  expect(await line.until('\r\n\r\n')).not.toContain('429');
  await turns(1);
  expect([server.running(), heldBy(server)]).toEqual([0, 0]);
  await desk.close();
});
