/**
 * A crowd of clients that keeps a server busy and remembers every answer, and what must be there of that at any end.
 */
import { Agent, request } from 'node:http';
import { expect, onTestFinished } from 'vitest';
import { openBooks } from '../../src/books.ts';
import { hex } from '../../src/core/bytes.ts';
import { findHandle, findLedger } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { readRow } from '../../src/core/records.ts';
import { type Client, connect, type Json, type Keys, makeKeys, record } from '../support/client.ts';
import { issue, makeKit, unique } from '../support/kit.ts';
import { QUIET } from '../support/quiet.ts';
import { type Launched, type LaunchOptions, launch } from '../support/server.ts';

/** A client of a server that was launched. */
export async function clientOf({ url, log }: Launched): Promise<Client> {
  if (url === '') throw new Error(`it does not listen:\n${log()}`);
  const system = JSON.parse(await (await fetch(`${url}/signers/system`)).text());
  return connect({ url, publicKey: system.data.public });
}

/** A server of the running test's own, which goes with it, and whoever asks it. */
export async function launchOfTest(path: string, options: LaunchOptions = {}) {
  const server = await launch(path, options);
  onTestFinished(async () => {
    if (server.child.kill('SIGKILL')) await server.ended;
  });
  return { ...server, pid: server.child.pid!, client: await clientOf(server) };
}

/** A wallet and a symbol to bring into it. */
export async function openAccount(client: Client, keys: Keys): Promise<{ wallet: string; symbol: string }> {
  const kit = makeKit(client, keys);
  return { wallet: await kit.wallet(), symbol: await kit.symbol() };
}

export interface Sent {
  body: Json;
  /** When the last of it was handed to the system; until then nobody can have taken it. */
  writtenAt: number;
  /** Milliseconds until the answer was there, or the connection broken. */
  took: number;
  /** 0 where no answer came. */
  status: number;
  reply: Json;
}

const keys = makeKeys();

/** Posts an intent and remembers; a connection that breaks leaves status 0. */
function post(agent: Agent, url: string, body: Json): Promise<Sent> {
  const at = performance.now();
  const sent: Sent = { body, writtenAt: Number.POSITIVE_INFINITY, took: 0, status: 0, reply: undefined };
  return new Promise((resolve) => {
    const give = () => {
      sent.took = performance.now() - at;
      resolve(sent);
    };
    const call = request(`${url}/intents`, { agent, method: 'POST', headers: { 'content-type': 'application/json' } });
    call.on('finish', () => {
      sent.writtenAt = performance.now();
    });
    call.on('error', give);
    call.on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk));
      response.on('error', give);
      response.on('end', () => {
        sent.status = response.statusCode!;
        sent.reply = JSON.parse(text);
        give();
      });
    });
    call.end(JSON.stringify(body));
  });
}

interface Crowd {
  sent: Sent[];
  /** Resolves when so many have been acknowledged, or all lanes have ended. */
  acknowledged(count: number): Promise<void>;
  /** Resolves when every lane has met a broken connection or an answer other than 201, or was told to stop. */
  end(stop?: boolean): Promise<void>;
}

/** So many clients, each one request at a time: each brings one more of `symbol` to `wallet`, or claims what it is told. */
export function crowd(url: string, lanes: number, wallet: string, symbol: string, claim?: () => Json): Crowd {
  const claims = claim ?? (() => issue(wallet, symbol, 1));
  const agent = new Agent({ keepAlive: true, maxSockets: lanes });
  const sent: Sent[] = [];
  let isRunning = true;
  let running = lanes;
  let count = 0;
  const waits: [number, () => void][] = [];
  const wake = () => {
    for (const [wanted, resolve] of waits) if (count >= wanted || running === 0) resolve();
  };
  const lane = async () => {
    while (isRunning) {
      const body = record({ handle: unique('crowd'), claims: [claims()] }, keys, [{ status: 'created' }]);
      const one = await post(agent, url, body);
      sent.push(one);
      if (one.status !== 201) break;
      count++;
      wake();
    }
    running--;
    wake();
  };
  const ended = Promise.all(Array.from({ length: lanes }, lane)).then(() => agent.destroy());
  return {
    sent,
    acknowledged: (wanted) =>
      new Promise((resolve) => {
        waits.push([wanted, resolve]);
        wake();
      }),
    end(stop = false) {
      if (stop) isRunning = false;
      return ended;
    },
  };
}

/** All intents of the default ledger by handle. The proofs they carry are judged elsewhere. */
export async function intentsOf(client: Client): Promise<Map<string, Json>> {
  const intents = new Map<string, Json>();
  for (let index = 0; ; index++) {
    const answer = await fetch(`${client.url}/intents?page.limit=100&page.index=${index}`);
    const { data } = JSON.parse(await answer.text()) as { data: Json[] };
    for (const intent of data) intents.set(intent.data.handle, intent);
    if (data.length < 100) return intents;
  }
}

/** Every acknowledged one is there as it was told; what was not answered is there or not, and the money agrees. */
export async function judge(client: Client, sent: readonly Sent[], wallet: string, symbol: string): Promise<void> {
  const intents = await intentsOf(client);
  const told = [...intents].map(([handle, { luid, hash, meta }]) => [handle, [luid, hash, meta.status]] as const);
  areThere(sent, new Map(told));
  expect(await makeKit(client, keys).balance(wallet, symbol)).toBe(intents.size);
}

/** The same of the books that nobody serves, opened as a start opens them: a tail is cut, and the lock is given back. */
export function judgeBooks(path: string, sent: readonly Sent[], wallet: string, symbol: string): void {
  const { state, lock } = openBooks(path, '', QUIET);
  try {
    const ledger = findLedger(state, 'main');
    const rowOf = (kind: Kind, handle: string) => findHandle(state, ledger, kind, handle);
    const listing = new Listing(state, {
      ledger,
      kind: Kind.intent,
      filters: [],
      order: 'newest',
      skip: 0,
      limit: 1e6,
    });
    listing.step(() => false);
    const told = listing.rows.map((row) => {
      const { entry, status } = readRow(state, row);
      return [entry.handle, [entry.luid, hex(entry.hash), status]] as const;
    });
    areThere(sent, new Map(told));
    const slot = state.balances.find(rowOf(Kind.wallet, wallet), rowOf(Kind.symbol, symbol));
    expect(slot < 0 ? 0 : state.balances.available(slot)).toBe(told.length);
  } finally {
    lock.release();
  }
}

/** Looks for each that was acknowledged among luids, hashes and statuses by handle. */
function areThere(sent: readonly Sent[], intents: ReadonlyMap<string, readonly string[]>): void {
  for (const { body, status, reply } of sent) {
    if (status !== 201) continue;
    const there = intents.get(body.data.handle);
    expect(there, `${body.data.handle} was acknowledged`).toEqual([reply.luid, reply.hash, 'completed']);
  }
}

export const answeredWith = ({ sent }: Crowd, status: number) => sent.filter((one) => one.status === status).length;

/** Statuses in the answers that a client of a server that ends may not meet; 0 is no answer. */
export function strangeStatuses({ sent }: Crowd): number[] {
  return [...new Set(sent.map((one) => one.status))].filter((status) => ![0, 201, 503].includes(status));
}
