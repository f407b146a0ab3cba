/**
 * Short words for what nearly every test does: make a record of a kind, change it, drop it, move money, look at
 * balances. All of it goes through the checking client, so a helper never hides a false answer.
 */
import { expect } from 'vitest';
import { bearer, type Client, connect, hashOf, type Json, type Keys, proof, type Reply, record } from './client.ts';

let counter = 0;

/** A handle no other call of this process got. */
export function unique(prefix = 'h'): string {
  counter += 1;
  return `${prefix}-${counter.toString(36)}`;
}

export const segment = encodeURIComponent;
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * How long a test waits for what is to come, a start, a call, an answer: nothing is judged by it, however busy the machine.
 * It only ends, with words, what never comes, a little before the runner ends it without.
 */
export const PATIENCE_MS = 120_000;

const LOOK_EVERY_MS = 10;

/**
 * What `look` finds, as soon as it finds something: null, undefined and false are nothing. Only the pauses between looks
 * count: a machine that is busy, or stands still for a while, makes nobody late. What never comes is told by `what`.
 */
export async function until<T>(
  look: () => T | Promise<T>,
  what: string | (() => string) = String(look),
  ms = PATIENCE_MS,
): Promise<Exclude<T, null | undefined | false>> {
  for (let left = ms; ; left -= LOOK_EVERY_MS) {
    const value = await look();
    if (value !== null && value !== undefined && value !== false) {
      return value as Exclude<T, null | undefined | false>;
    }
    if (left <= 0) throw new Error(`never came: ${typeof what === 'string' ? what : what()}`);
    await pause(LOOK_EVERY_MS);
  }
}

export const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
export const HASH = /^[0-9a-f]{64}$/;

export function luidOf(prefix: string): RegExp {
  return new RegExp(`^\\$${prefix}\\.[A-Za-z0-9_-]{17}$`);
}

interface ClearOptions {
  keys?: Keys | Keys[];
  data?: Json;
  headers?: Record<string, string>;
}

export interface Kit {
  keys: Keys;
  /** POST /path; expects 201. */
  make(path: string, data: Json): Promise<Json>;
  /** PUT of a changed version of `old`; the reply as it came. */
  change(path: string, old: Json, data: Json, id?: string): Promise<Reply>;
  /** The body of a drop of `old`. */
  dropBody(old: Json): Json;
  wallet(data?: Json): Promise<string>;
  symbol(data?: Json): Promise<string>;
  /** POST /intents; the reply as it came. */
  send(claims: Json[], options?: ClearOptions): Promise<Reply>;
  /** POST /intents, then the record as GET shows it: a local intent is final by then. */
  clear(claims: Json[], options?: ClearOptions): Promise<Json>;
  /** clear() that must end in `completed`. */
  done(claims: Json[], options?: ClearOptions): Promise<Json>;
  /** clear() that must end in `rejected`; the reason of its failed proof. */
  refused(claims: Json[], options?: ClearOptions): Promise<string>;
  /** A new wallet with `amount` of `symbol` in it. */
  funded(symbol: string, amount: number, data?: Json): Promise<string>;
  /** The available (or reserved) amount, 0 where there is no row. */
  balance(wallet: string, symbol: string, schema?: string): Promise<number>;
}

export const issue = (target: string, symbol: string, amount: number): Json => ({
  action: 'issue',
  target: { handle: target },
  symbol: { handle: symbol },
  amount,
});
export const transfer = (source: string, target: string, symbol: string, amount: number): Json => ({
  action: 'transfer',
  source: { handle: source },
  target: { handle: target },
  symbol: { handle: symbol },
  amount,
});
export const destroy = (source: string, symbol: string, amount: number): Json => ({
  action: 'destroy',
  source: { handle: source },
  symbol: { handle: symbol },
  amount,
});
export const limit = (wallet: string, symbol: string, metric: string, amount: number): Json => ({
  action: 'limit',
  wallet: { handle: wallet },
  symbol: { handle: symbol },
  metric,
  amount,
});

/** Status and reason of an error, as one thing to compare. */
export const reasonOf = (reply: Reply): [number, string | undefined] => [reply.status, reply.body?.data?.reason];

export const statuses = (stored: Json): string[] => stored.meta.proofs.map((one: Json) => one.custom?.status);

/** The server's failed proof of a rejected intent. */
export function failure(stored: Json): Json {
  return stored.meta.proofs.find((one: Json) => one.custom?.status === 'failed')?.custom;
}

export function makeKit(client: Client, keys: Keys): Kit {
  const kit: Kit = {
    keys,
    async make(path, data) {
      const reply = await client.post(`/${path}`, record(data, keys));
      expect(reply.status, reply.text).toBe(201);
      return reply.body;
    },
    change(path, old, data, id) {
      const body = { luid: old.luid, ...record({ ...data, parent: old.hash }, keys) };
      return client.put(`/${path}/${segment(id ?? old.data.handle)}`, body);
    },
    dropBody(old) {
      return { luid: old.luid, ...record({ parent: old.hash }, keys) };
    },
    async wallet(data = {}) {
      const handle: string = data.handle ?? unique('wallet');
      await kit.make('wallets', { ...data, handle });
      return handle;
    },
    async symbol(data = {}) {
      const handle: string = data.handle ?? unique('symbol');
      await kit.make('symbols', { factor: 100, ...data, handle });
      return handle;
    },
    send(claims, options = {}) {
      const signers = options.keys ?? keys;
      const data = { handle: unique('intent'), claims, ...options.data };
      const custom = { moment: new Date().toISOString(), status: 'created' };
      const customs = Array.isArray(signers) ? signers.map(() => custom) : [custom];
      return client.post('/intents', record(data, signers, customs), options.headers);
    },
    async clear(claims, options) {
      const sent = await kit.send(claims, options);
      expect(sent.status, sent.text).toBe(201);
      const read = await client.get(`/intents/${segment(sent.body.data.handle)}`);
      expect(read.status, read.text).toBe(200);
      return read.body;
    },
    async done(claims, options) {
      const stored = await kit.clear(claims, options);
      expect(stored.meta.status, JSON.stringify(failure(stored))).toBe('completed');
      return stored;
    },
    async refused(claims, options) {
      const stored = await kit.clear(claims, options);
      expect(stored.meta.status).toBe('rejected');
      return failure(stored)?.reason;
    },
    async funded(symbol, amount, data) {
      const wallet = await kit.wallet(data);
      if (amount > 0) await kit.done([issue(wallet, symbol, amount)]);
      return wallet;
    },
    async balance(wallet, symbol, schema = 'available') {
      const reply = await client.get(`/wallets/${segment(wallet)}/balances?page.limit=100`);
      expect(reply.status, reply.text).toBe(200);
      const row = reply.body.data.find((one: Json) => one.data.symbol === symbol && one.data.schema === schema);
      return row?.data.amount ?? 0;
    },
  };
  return kit;
}

/** A ledger of its own that lets everybody do everything; its record. */
export async function openLedger(client: Client, keys: Keys, more: Json = {}): Promise<Json> {
  const data = { handle: unique('ledger'), access: [{ action: 'any', record: 'any' }], ...more };
  const reply = await client.post('/ledgers', record(data, keys));
  expect(reply.status, reply.text).toBe(201);
  return reply.body;
}

/** Whoever works in a ledger: by no token, and with a kit of somebody's keys. */
interface Inside {
  there: Client;
  kit: Kit;
  handle: string;
}

interface Address {
  url: string;
  publicKey: string;
}

/** The same as `openLedger`, from inside. */
export async function freshLedger(server: Address, keys: Keys, more: Json = {}): Promise<Inside> {
  const { handle } = (await openLedger(connect(server), keys, more)).data;
  const there = connect(server, { 'x-ledger': handle });
  return { there, kit: makeKit(there, keys), handle };
}

/** A ledger with these rules, and everything for its owner, by signature and by token. */
export async function ledgerWith(
  server: Address,
  owner: Keys,
  rules: Json[],
): Promise<Inside & { asOwner: Record<string, string> }> {
  const all = { action: 'any', record: 'any' };
  const access = [
    ...rules,
    { ...all, signer: { public: owner.public } },
    { ...all, bearer: { $signer: { public: owner.public } } },
  ];
  const { handle } = (await openLedger(connect(server), owner, { access })).data;
  const there = connect(server, { 'x-ledger': handle });
  const asOwner = bearer(owner, handle);
  return { there, kit: makeKit(connect(server, { 'x-ledger': handle, ...asOwner }), owner), handle, asOwner };
}

/** A bare proof over a stored record, as POST /k/{id}/proofs takes it. */
export function proofFor(stored: Json, keys: Keys, custom?: Json): Json {
  return proof(hashOf(stored.data), keys, custom);
}
