/**
 * An HTTP server that stands for somebody else's: a webhook or a bridge. It keeps what it was sent, whole, and
 * answers as it is told.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from './client.ts';
import { until } from './kit.ts';

export interface Call {
  method: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  body: Json;
}

export interface Hook {
  url: string;
  calls: Call[];
  /** Status of the answer to a call, now or later; 202 unless told otherwise. */
  answer: (call: Call) => number | Promise<number>;
  /** It takes what comes and answers nothing, for as long as this is set. */
  silent: boolean;
  /** Where given, what it makes of a call is kept instead of the call: for very many. */
  keeps: ((call: Call) => unknown) | null;
  kept: unknown[];
  /** The calls that match, as soon as there are so many. */
  waitFor(match: (call: Call, nth: number) => boolean, count?: number): Promise<Call[]>;
  close(): Promise<void>;
}

export async function openHook(): Promise<Hook> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const text = Buffer.concat(chunks).toString();
      const call: Call = {
        method: request.method ?? '',
        path: request.url ?? '',
        headers: request.headers,
        text,
        body: text === '' ? undefined : JSON.parse(text),
      };
      if (hook.keeps !== null) hook.kept.push(hook.keeps(call));
      else hook.calls.push(call);
      if (hook.silent) return;
      const status = await hook.answer(call);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hook: Hook = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls: [],
    answer: () => 202,
    silent: false,
    keeps: null,
    kept: [],
    waitFor(match, count = 1) {
      const matching = () => hook.calls.filter(match);
      const seen = () => hook.calls.map((call) => `${call.method} ${call.path}`).join(', ');
      return until(
        () => matching().length >= count && matching(),
        () => `${count} calls, of which ${matching().length} came; all calls: ${seen()}`,
      );
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return hook;
}
