/**
 * What is let in of connections, on streams that stand for sockets: how much in one turn of the loop, in which order, and
 * when it ends.
 */
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Sluice, TOO_LONG } from '../../src/effects/sluice.ts';
import { until } from '../support/kit.ts';

const KIB = 1024;

/** A connection on which an answer is expected; `heard` is what came on, `reads` how often more was asked for. */
function connect(sluice: Sluice, listen: (part: Buffer) => void = () => {}) {
  const made = { reads: 0, heard: [] as Buffer[], errors: [] as unknown[], isEnded: false };
  const socket = new Duplex({
    read: () => made.reads++,
    write: (_, __, done) => done(),
    // As a socket is: closed in a later turn.
    destroy: (error, done) => void setImmediate(done, error),
  }) as Socket;
  socket.on('error', (error: NodeJS.ErrnoException) => made.errors.push(error.code));
  socket.on('end', () => {
    made.isEnded = true;
  });
  socket.on('data', (part: Buffer) => {
    made.heard.push(part);
    listen(part);
  });
  sluice.expect(socket);
  return Object.assign(made, { socket });
}

function work(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

describe('what comes', () => {
  test('of a hundred at once takes no more of one turn than of one: they took the only thread for seconds', async () => {
    const sluice = new Sluice();
    let parts = 0;
    const listen = () => {
      parts++;
      work(1);
    };
    const all = Array.from({ length: 100 }, () => connect(sluice, listen));
    await nextTurn();
    for (const { socket } of all) socket.push(Buffer.alloc(64 * KIB));
    expect(parts).toBeLessThanOrEqual(4);
    for (let turn = 0; turn < 50; turn++) {
      const before = parts;
      await nextTurn();
      expect(parts - before).toBeLessThanOrEqual(8);
    }
    await until(() => all.every(({ heard }) => heard.length > 1));
    const counts = all.map(({ heard }) => heard.length);
    expect(Math.max(...counts.slice(1)) - Math.min(...counts.slice(1)), 'in turn').toBeLessThanOrEqual(1);
    for (const { socket } of all) socket.destroy();
    expect(sluice.size).toBe(100);
    await nextTurn();
    expect(sluice.size).toBe(0);
  });

  test('goes on in order, and its end behind it', async () => {
    const made = connect(new Sluice(), () => work(1));
    await nextTurn();
    const sent = Array.from({ length: 40 }, (_, n) => Buffer.alloc(1500, n));
    for (const chunk of sent) made.socket.push(chunk);
    made.socket.push(null);
    expect(made.heard.length).toBeLessThan(40);
    await until(() => made.isEnded);
    expect(Buffer.concat(made.heard).equals(Buffer.concat(sent))).toBe(true);
  });

  test('is not asked for while some of it waits', async () => {
    const made = connect(new Sluice(), () => work(1));
    await nextTurn();
    const { reads } = made;
    expect(made.socket.push(Buffer.alloc(32 * KIB))).toBe(false);
    while (made.heard.length < 32) {
      expect(made.reads).toBe(reads);
      await nextTurn();
    }
    await until(() => made.reads > reads);
  });

  test('waits while the connection is paused, and does not come all at once then', async () => {
    const listen = () => {
      work(1);
      if (made.heard.length === 2) made.socket.pause();
    };
    const made = connect(new Sluice(), listen);
    await nextTurn();
    made.socket.push(Buffer.alloc(64 * KIB));
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect(made.heard).toHaveLength(2);
    made.socket.resume();
    while (made.heard.length < 64) {
      const before = made.heard.length;
      await nextTurn();
      expect(made.heard.length - before).toBeLessThanOrEqual(8);
    }
  });

  test('goes nowhere once the connection is destroyed, nor does its end', async () => {
    const made = connect(new Sluice(), () => made.heard.length === 2 && made.socket.destroy());
    await nextTurn();
    made.socket.push(Buffer.alloc(8 * KIB));
    made.socket.push(null);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    expect([made.heard.length, made.isEnded, made.socket.closed]).toEqual([2, false, true]);
  });
});

describe('the connection is cut', () => {
  test.each([
    ['an answer takes more than it may', 64 * KIB, 2],
    ['an answer comes in too many bits', 1, 1024],
  ])('where %s, and not before', async (_, bytes, times) => {
    const sluice = new Sluice();
    const made = connect(sluice);
    await nextTurn();
    const send = async () => {
      for (let n = 0; n < times; n++) made.socket.push(Buffer.alloc(bytes));
      await until(() => made.socket.destroyed || Buffer.concat(made.heard).length === times * bytes);
    };
    await send();
    expect(made.socket.destroyed).toBe(false);
    sluice.expect(made.socket);
    made.heard.length = 0;
    await send();
    expect(made.socket.destroyed).toBe(false);
    made.socket.push(Buffer.alloc(1));
    await until(() => made.errors.length > 0);
    expect(made.errors).toEqual([TOO_LONG]);
    expect(Buffer.concat(made.heard)).toHaveLength(times * bytes);
  });

  test('where it brings TLS tickets and nothing else: a server may give as many as it likes', async () => {
    const made = connect(new Sluice());
    for (let n = 0; n < 16; n++) made.socket.emit('session', Buffer.alloc(1));
    expect(made.socket.destroyed).toBe(false);
    made.socket.emit('session', Buffer.alloc(1));
    expect(made.socket.destroyed).toBe(true);
  });

  test('where nobody waits for an answer', async () => {
    const made = connect(new Sluice());
    await nextTurn();
    made.socket.removeAllListeners('data');
    made.socket.push(Buffer.alloc(1));
    await until(() => made.errors.length > 0);
    expect(made.socket.destroyed).toBe(true);
  });
});
