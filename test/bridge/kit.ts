/**
 * A bank in this process on a disk that can be torn, and a ledger that stands in for the real one over real HTTP: it
 * signs what it asks for, and checks every report it is sent, with hashes and signatures that share no line with the
 * bank's.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'vitest';
import { type AccountPlan, Bank } from '../../src/bridge/bank.ts';
import { CALM, type Chaos } from '../../src/bridge/chaos.ts';
import { Ledger } from '../../src/bridge/ledger.ts';
import { Reports } from '../../src/bridge/reports.ts';
import { type BankServer, startServer } from '../../src/bridge/server.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { type Json, type Keys, makeKeys, proof, proofHolds, record, verifyRecord } from '../support/client.ts';
import { PATIENCE_MS, until } from '../support/kit.ts';

export const DIRECTORY = '/bank';
export const FILE = `${DIRECTORY}/books.jsonl`;
export const BANK_KEYS = makeKeys(Buffer.alloc(32, 5));
const MOMENT = Date.UTC(2026, 0, 1);

interface Told {
  intent: string;
  status: number;
  ledger: string | undefined;
  text: string;
  custom: Json;
}

export interface FakeLedger {
  url: string;
  keys: Keys;
  /** The bank's public key. */
  bank: string;
  /** Reports as they came, whatever was answered. */
  told: Told[];
  /** Status of the answer to a report; 0 breaks the connection. */
  answer: (custom: Json) => number | Promise<number>;
  /** Its body. */
  shown: string;
  /** Statuses of the next answers to what is no report. */
  busy: number[];
  /** Its own signer record, and what it says of itself. */
  system: Json;
  status: Json;
  /** Resolves when `count` reports have come. */
  waitFor(count: number): Promise<Told[]>;
  /** An intent of these claims as the ledger shows it. */
  intent(handle: string, claims: Json[], status?: string): Json;
  close(): Promise<void>;
}

export async function openLedger(seed = 1, port = 0): Promise<FakeLedger> {
  const keys = makeKeys(Buffer.alloc(32, seed));
  const hashes = new Map<string, string>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', async () => {
      const path = /^\/v2\/intents\/([^/]+)\/proofs$/.exec(request.url ?? '');
      if (path === null) {
        const refusal = ledger.busy.shift();
        if (refusal !== undefined) {
          response.writeHead(refusal).end('{}');
          return;
        }
        const shown = new Map([
          ['/v2', ledger.status],
          ['/v2/signers/system', ledger.system],
        ]).get(request.url ?? '');
        response.writeHead(shown === undefined ? 404 : 200).end(JSON.stringify(shown ?? ledger.system));
        return;
      }
      const intent = decodeURIComponent(path[1]!);
      const text = Buffer.concat(parts).toString();
      const given = JSON.parse(text);
      const hash = hashes.get(intent);
      const isTrue = hash !== undefined && given.public === ledger.bank && proofHolds(hash, given);
      const status = isTrue ? await ledger.answer(given.custom) : 422;
      const header = request.headers['x-ledger'] as string | undefined;
      ledger.told.push({ intent, status, ledger: header, text, custom: given.custom });
      if (status === 0) request.socket.destroy();
      else if (status === 101)
        request.socket.end('HTTP/1.1 101 Other\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n');
      else response.writeHead(status).end(ledger.shown);
    });
  });
  await listen(server, port);
  const ledger: FakeLedger = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`,
    keys,
    bank: BANK_KEYS.public,
    told: [],
    answer: () => 200,
    shown: '{}',
    busy: [],
    system: record({ handle: 'system', public: keys.public, format: 'ed25519-raw' }, keys, [{ status: 'created' }]),
    status: record({ handle: 'ayni', ledger: 'main', status: 'UP' }, keys, [
      { moment: new Date(MOMENT).toISOString() },
    ]),
    waitFor: (count) => until(() => ledger.told.length >= count && ledger.told, `${count} reports`),
    intent(handle, claims, status = 'pending') {
      const stored = record({ handle, claims }, [makeKeys(), keys], [{ status: 'created' }, { status }]);
      hashes.set(handle, stored.hash);
      return { ...stored, luid: '$int.0123456789abcdefg', meta: { ...stored.meta, status } };
    },
    close: () => shut(server),
  };
  return ledger;
}

/** A body the ledger signs, for the bank. */
export function signed(data: Json, keys: Keys): Json {
  return record(data, keys, [{ bridge: 'bank-a', ledger: 'main', moment: new Date(MOMENT).toISOString() }]);
}

export interface Asked {
  kind: 'debit' | 'credit';
  handle: string;
  intent: Json;
  body: Json;
}

let counter = 0;

/**
 * A debit or credit of a fresh intent, as the ledger asks for it: of `account` behind the bank's wallet, or behind
 * another. `more` changes its data alone.
 */
export function entryOf(
  ledger: FakeLedger,
  kind: Asked['kind'],
  account: string,
  amount: number,
  more: Json = {},
  { wallet = 'bank-a', symbol = 'usd' } = {},
): Asked {
  counter += 1;
  const side = { handle: wallet, custom: { account } };
  const other = { handle: 'elsewhere' };
  const ends = kind === 'debit' ? { source: side, target: other } : { source: other, target: side };
  const claim = { action: 'transfer', amount, symbol: { handle: symbol }, ...ends };
  const intent = ledger.intent(`intent-${counter}`, [claim]);
  const handle = `${kind === 'debit' ? 'deb' : 'cre'}_${counter}`;
  const data = { handle, schema: kind, ...ends, symbol: { handle: symbol }, amount, inputs: [0], intent, ...more };
  return { kind, handle: data.handle, intent, body: signed(data, ledger.keys) };
}

export interface House {
  disk: FakeDisk;
  bank: Bank;
  url: string;
  /** What the log was told, and the error that stopped it. */
  log: string[];
  fatal: Error[];
  /** What its clock shows. */
  clock: { now: number };
  send(
    method: string,
    path: string,
    body?: Json,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Json }>;
  prepare(asked: Asked): Promise<number>;
  go(asked: Asked, action: 'commit' | 'abort', more?: Json): Promise<number>;
  /** `[available, held, incoming]` of each account, and the bank's `[out, in]`. */
  money(): Promise<Record<string, number[]>>;
  /** Stops it as a kill does: nothing is written any more, nobody is told. */
  kill(): Promise<void>;
  /** Stops it in order. */
  close(): Promise<void>;
}

export interface HouseOptions {
  disk?: FakeDisk;
  accounts?: AccountPlan[];
  xLedger?: string;
  chaos?: Chaos;
  entriesMax?: number;
  ledgerHandles?: readonly string[];
  /** The handle that it learns at this start. */
  learnt?: string;
  header?: { name: string; value: string };
  bodyBytesMax?: number;
  largeBytesMax?: number;
}

const ACCOUNTS: AccountPlan[] = [
  { handle: 'ana', amount: 1000, isActive: true },
  { handle: 'luz', amount: 0, isActive: true },
  { handle: 'old', amount: 50, isActive: false },
];

/** A bank on the ledger's side of the wire, with its books on `disk`. */
export async function openHouse(ledger: FakeLedger, options: HouseOptions = {}): Promise<House> {
  const disk = options.disk ?? new FakeDisk();
  disk.mkdir(DIRECTORY);
  const keys = keyPairFromSecret(Buffer.from(BANK_KEYS.secret, 'base64'));
  const [log, fatal]: [string[], Error[]] = [[], []];
  const clock = { now: MOMENT };
  const bank = new Bank({
    disk,
    directory: DIRECTORY,
    house: { name: 'bank-a', symbol: 'usd' },
    keys,
    clock: () => clock.now,
    ledgerHandles: options.ledgerHandles ?? [],
    entriesMax: options.entriesMax ?? 1000,
    fatal: (error) => fatal.push(error),
  });
  await bank.pinLedger(ledger.keys.public, options.learnt);
  await bank.plan(options.accounts ?? ACCOUNTS);
  const chaos = options.chaos ?? CALM;
  const server: BankServer = await startServer({
    host: '127.0.0.1',
    port: 0,
    bodyBytesMax: options.bodyBytesMax ?? 100_000,
    largeBytesMax: options.largeBytesMax ?? 1_000_000,
    requestMsMax: PATIENCE_MS,
    stillMsMax: PATIENCE_MS,
    connectionsMax: 100,
    header: options.header ?? null,
    chaos,
    handle: (method, target, body) => bank.handle(method, target, body),
    defect: (error) => log.push(error.message),
  });
  const client = new Ledger(ledger.url, options.xLedger ?? '', 8);
  const reports = new Reports({
    ledger: client,
    keys,
    chaos,
    inFlightMax: 8,
    waitMsMax: 50,
    answered: (entry, state, status) => bank.told(entry, state, status),
    tell: (text) => log.push(text),
  });
  bank.report(reports);
  const url = `http://127.0.0.1:${server.port}`;
  const house: House = {
    disk,
    bank,
    url,
    log,
    fatal,
    clock,
    async send(method, path, body, headers = {}) {
      const init: RequestInit = { method, headers };
      if (body !== undefined) init.body = typeof body === 'string' ? body : JSON.stringify(body);
      const answer = await fetch(url + path, init);
      const text = await answer.text();
      return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
    },
    prepare: async (asked) => (await house.send('POST', `/${asked.kind}s`, asked.body)).status,
    async go({ kind, handle, intent }, action, more = {}) {
      const body = signed({ handle, action, intent, ...more }, ledger.keys);
      return (await house.send('POST', `/${kind}s/${handle}/${action}`, body)).status;
    },
    async money() {
      const { status, body } = await house.send('GET', '/accounts');
      expect(status).toBe(200);
      verifyRecord(body, BANK_KEYS.public);
      const rows = body.data.accounts.map((row: Json) => [row.handle, [row.available, row.held, row.incoming]]);
      return { ...Object.fromEntries(rows), bank: [body.data.out, body.data.in] };
    },
    async kill() {
      reports.close();
      client.close();
      disk.kill();
      await server.close();
    },
    async close() {
      await server.close();
      await bank.close();
      client.close();
    },
  };
  return house;
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
}

function shut(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Another's signature in place of the ledger's. */
export function resigned(body: Json, keys: Keys): Json {
  return { ...body, meta: { proofs: [proof(body.hash, keys, body.meta.proofs[0].custom)] } };
}
