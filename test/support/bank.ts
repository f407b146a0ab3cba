/**
 * Banks behind bridges: what a ledger asks them arrives at a hook, and they report as a test says.
 */
import { expect } from 'vitest';
import { type Client, type Json, type Keys, makeKeys, proof } from './client.ts';
import type { Call, Hook } from './hook.ts';
import { type Kit, limit, segment, unique, until } from './kit.ts';

export interface Town {
  client: Client;
  kit: Kit;
  hook: Hook;
  symbol: string;
}

export class Bank {
  readonly path: string;
  readonly bridge: string;
  readonly keys: Keys;
  readonly #town: Town;

  /** A bank with a bridge of its own; `data` is more of the bridge's record. */
  static async open(town: Town, data: Json = {}, keys = makeKeys()): Promise<Bank> {
    const bank = new Bank(town, keys);
    const { config = {}, ...more } = data;
    const whole = { schema: 'rest', ...more, handle: bank.bridge, config: { server: bank.url, ...config } };
    await town.kit.make('bridges', whole);
    return bank;
  }

  private constructor(town: Town, keys: Keys) {
    this.#town = town;
    this.keys = keys;
    this.path = `/${unique('bank')}`;
    this.bridge = unique('bridge');
  }

  get url(): string {
    return this.#town.hook.url + this.path;
  }

  /** A wallet behind the bank that may go down to -1000. */
  async wallet(): Promise<string> {
    const { kit, symbol } = this.#town;
    const wallet = await kit.wallet({ bridge: this.bridge });
    await kit.done([limit(wallet, symbol, 'minBalance', -1000)]);
    return wallet;
  }

  /** What it was called with so far. */
  get calls(): Call[] {
    return this.#town.hook.calls.filter(({ path }) => path.startsWith(`${this.path}/`));
  }

  /** The first call to prepare, commit or abort an entry of this intent, as soon as it comes; `after` so many of all calls. */
  async asked(intent: Json, what: 'debits' | 'credits', action = '', after = 0): Promise<Call> {
    const { hook } = this.#town;
    const [call] = await hook.waitFor(
      ({ path, body }, nth) =>
        nth >= after &&
        path.startsWith(`${this.path}/${what}`) &&
        (action === '' ? path === `${this.path}/${what}` : path.endsWith(`/${action}`)) &&
        body.data.intent.luid === intent.luid,
    );
    return call!;
  }

  /** The handle of its entry in this intent. */
  async entry(intent: Json, what: 'debits' | 'credits'): Promise<string> {
    return (await this.asked(intent, what)).body.data.handle;
  }
}

/** A report as a bank signs it. */
export function reportOf(intent: Json, entry: string, keys: Keys, custom: Json): Json {
  return proof(intent.hash, keys, { moment: new Date().toISOString(), handle: entry, ...custom });
}

/** The status of the answer to a bank's report. */
export async function report(
  client: Client,
  intent: Json,
  entry: string,
  keys: Keys,
  status: string,
  more: Json = {},
): Promise<number> {
  const body = reportOf(intent, entry, keys, { status, ...more });
  return (await client.post(`/intents/${segment(intent.luid)}/proofs`, body)).status;
}

export async function readIntent(client: Client, { luid }: Json): Promise<Json> {
  const reply = await client.get(`/intents/${segment(luid)}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body;
}

/** The intent, once it is in this status. */
export function inStatus(client: Client, intent: Json, status: string): Promise<Json> {
  let stored: Json;
  const look = async () => {
    stored = await readIntent(client, intent);
    return stored.meta.status === status && stored;
  };
  return until(look, () => `the status ${status} of an intent that is ${stored.meta.status}`);
}
