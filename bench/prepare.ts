/**
 * `npm run bench -- prepare`: books and signed intents for a load that somebody else drives, at a server that runs
 * already. Makes the symbol, wallets and their money there, once; then writes intents to files: for wrk and open-loop.ts
 * as the benches here have them, and one body a line for any other tool. Each is sent once: the second time it is 409.
 */
import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '../src/cli/client.ts';
import { fillBooks } from './load/books.ts';
import { walletHandle } from './load/intents.ts';
import { prepareRequests, readPart } from './load/requests.ts';
import { findRoot } from './load/root.ts';

interface Wish {
  /** Of the server, ending in `/v2`. */
  url: string;
  /** Directory of the files. */
  out: string;
  intents: number;
  claims: number;
  wallets: number;
}

/** Files of requests, as many as wrk has threads. */
const PARTS = 2;

/** Prepares it all; resolves with what to do next, in words. */
export async function prepare({ url, out, intents, claims, wallets }: Wish): Promise<string> {
  const client = connect(url);
  const last = await client.get(`/wallets/${walletHandle(wallets - 1)}`);
  if (last.status !== 200 && last.status !== 404) throw new Error(`the ledger is not open to all: ${last.status}`);
  if (last.status === 404) await fillBooks(client, wallets);
  mkdirSync(out, { recursive: true });
  // No two runs share a handle.
  const run = `run-${Date.now().toString(36)}`;
  const parts = await prepareRequests(out, { run, parts: PARTS, intents, claims, wallets });
  const bodies = join(out, `${run}.jsonl`);
  const count = writeBodies(bodies, parts);

  const { origin, port } = new URL(url);
  const script = relative(process.cwd(), join(findRoot(), 'bench', 'load', 'requests.lua'));
  const openLoop = relative(process.cwd(), fileURLToPath(new URL('./load/open-loop.js', import.meta.url)));
  const rest = parts.join(' ');
  return `${count} intents of ${claims} ${claims === 1 ? 'claim' : 'claims'} over ${wallets} wallets, each to be sent once:

  as fast as answers come, 64 connections, 10 s
    wrk -t${PARTS} -c64 -d10s --timeout 30s -s ${script} ${origin}/v2/intents -- 0 ${rest}
  1 000 a second on schedule, 256 connections, 10 s; on this machine only
    node ${openLoop} ${port || '80'} ${parts[0]} 1000 256 10
  with a tool of your own: POST ${url}/intents, a body a line
    ${bodies}
`;
}

/** The bodies of the parts' requests, one a line; returns how many. */
function writeBodies(path: string, parts: string[]): number {
  const file = openSync(path, 'wx');
  let count = 0;
  for (const part of parts) {
    const { requests, lengths } = readPart(part);
    let at = 0;
    for (const length of lengths) {
      const body = requests.subarray(requests.indexOf('\r\n\r\n', at) + 4, at + length);
      writeSync(file, Buffer.concat([body, Buffer.from('\n')]));
      at += length;
    }
    count += lengths.length;
  }
  closeSync(file);
  return count;
}
