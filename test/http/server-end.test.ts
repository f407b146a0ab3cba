/**
 * The server over real sockets: how it ends, and the port it listens on.
 */
import { describe, expect, test } from 'vitest';
import { freePorts } from '../../src/cli/free-ports.ts';
import type { Reply } from '../../src/http/request.ts';
import { pause, until } from '../support/kit.ts';
import { AGAIN, start, url, wire } from './wire.ts';

describe('closing', () => {
  test('running requests get their answer, new ones on open connections 503, then all is closed', async () => {
    const replies: Reply[] = [];
    const server = await start({ handle: (_, reply) => replies.push(reply) });
    const [busy, idle, late] = [await wire(server), await wire(server), await wire(server)];
    busy.socket.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\n');
    await until(() => replies.length === 1);
    const closed = server.close();
    late.socket.write('GET /b HTTP/1.1\r\nHost: h\r\n\r\n');
    await late.closed;
    expect(late.text()).toMatch(/^HTTP\/1.1 503 /);
    expect([busy.isClosed(), idle.isClosed()]).toEqual([false, false]);
    replies[0]!.send(200, '"done"');
    await Promise.all([closed, busy.closed, idle.closed]);
    expect(busy.text()).toMatch(/^HTTP\/1.1 200 .*connection: close.*"done"$/is);
    await expect(fetch(url(server, '/c'))).rejects.toThrow();
  });

  test('a large last answer leaves whole', async () => {
    const replies: Reply[] = [];
    const server = await start({ handle: (_, reply) => replies.push(reply) });
    const answer = fetch(url(server, '/large'));
    await until(() => replies.length === 1);
    const closed = server.close();
    replies[0]!.send(200, 'x'.repeat(8_000_000));
    expect((await (await answer).text()).length).toBe(8_000_000);
    await closed;
  });

  test('a large last answer leaves whole to a client that takes its time', AGAIN, async () => {
    let handled = 0;
    const server = await start({
      handle: (_, reply) => {
        handled++;
        reply.send(200, 'x'.repeat(8_000_000));
      },
    });
    const line = await wire(server);
    line.socket.pause();
    line.socket.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\n');
    await until(() => handled === 1);
    const closed = server.close();
    let bytes = 0;
    line.socket.on('data', (data) => {
      bytes += data.length;
    });
    await pause(600);
    line.socket.resume();
    await closed;
    await line.closed;
    expect(bytes).toBeGreaterThan(8_000_000);
  });

  test('a request that is never answered does not hold it up for ever', async () => {
    const server = await start({ handle: () => {} }, { drainMsMax: 100 });
    const line = await wire(server);
    line.socket.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\n');
    await until(() => server.running() === 1);
    await server.close();
    await line.closed;
    expect(server.running()).toBe(0);
  });

  test('a port given by number is not shared with another server that listens on it', async () => {
    // A number, since only ports that are given by number were ever shared; one that the system picks is not.
    const [port] = (await freePorts(1)) as [number];
    const first = await start({}, { port });
    expect(first.port).toBe(port);
    await expect(start({}, { port })).rejects.toThrow('Cannot listen');
  });

  test('a port is had again at once where the server before closed a connection last', async () => {
    const [port] = (await freePorts(1)) as [number];
    const first = await start({}, { port });
    const line = await wire(first);
    line.socket.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\n');
    expect(await line.until('200 OK')).toContain('200 OK');
    await first.close();
    await line.closed;
    expect((await start({}, { port })).port).toBe(port);
  });

  test('a taken port is told', async () => {
    const server = await start();
    await expect(start({}, { port: server.port })).rejects.toThrow('Cannot listen');
  });
});
