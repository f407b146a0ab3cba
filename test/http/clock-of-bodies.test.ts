/**
 * The machine's clock is set while bodies arrive. How long something takes is no matter of that clock: set forward, it cut
 * off every body that was on its way; set back, slow ones were not told that they are.
 */
import { afterEach, expect, test } from 'vitest';
import type { Handler } from '../../src/http/request.ts';
import { pause, until } from '../support/kit.ts';
import { start, type Wire, wire } from './wire.ts';

const HOUR_MS = 3_600_000;
const realNow = Date.now;

afterEach(() => {
  Date.now = realNow;
});

const setClock = (ms: number) => {
  Date.now = () => realNow() + ms;
};

const handle: Handler['handle'] = ({ body }, reply) => reply.send(200, `"${body.length} bytes"`);

/** A connection on which half a body has come, to a server that waits so long for the rest. */
async function half(bodyMsMax: number): Promise<Wire> {
  const server = await start({ handle }, { bodyMsMax });
  const line = await wire(server);
  line.socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nabc');
  await until(() => server.running() > 0);
  return line;
}

test('set forward by an hour: a body that has ten minutes is taken', async () => {
  const line = await half(600_000);
  setClock(HOUR_MS);
  // Long enough for the server to look at it twice.
  await pause(600);
  line.socket.write('x'.repeat(997));
  expect(await line.until('bytes"')).toMatch(/^HTTP\/1.1 200 .*"1000 bytes"/s);
});

test('set back by an hour: a body that takes too long is refused all the same', async () => {
  const line = await half(300);
  setClock(-HOUR_MS);
  const drip = setInterval(() => line.socket.write('x'), 50);
  const text = await line.until('api.request-timeout');
  clearInterval(drip);
  expect(text).toMatch(/^HTTP\/1.1 408 /);
});
