/**
 * What a ledger must have before it can ask a bank for anything: the symbol, a bridge record with the bank's address, a
 * wallet behind it, and how far that wallet may go below zero. The bank makes them, signed with its own key.
 *
 * Done again it changes nothing: what is there already is compared, and a different record of the same name is an
 * error.
 */

import { isObject, type JsonObject, parseObject } from '../client/json.ts';
import { makeRecord } from '../client/records.ts';
import { encodeBase64, type KeyPair } from '../proof/keys.ts';
import type { Ledger, LedgerAnswer } from './ledger.ts';

interface JoinOptions {
  ledger: Ledger;
  keys: KeyPair;
  /** Handle of bridge and wallet. */
  name: string;
  symbol: string;
  /** Where the ledger reaches the bank. */
  url: string;
  /** What the ledger sends with each request, where the bank asks for it. */
  header: { name: string; value: string } | null;
  /** How much the bank may owe. */
  limit: number;
}

const FACTOR = 100;
/**
 * Half as long as an answer is waited for. With the same time for both, a ledger that answers at its end that the
 * record is still pending would seem to be away.
 */
const WAIT = { prefer: 'wait=5' };

/**
 * Rejects, in words for the operator, where the ledger does not take one of them; may be tried again where it is away.
 */
export async function join({ ledger, keys, name, symbol, url, header, limit }: JoinOptions): Promise<void> {
  const make = (kind: string, data: JsonObject): Promise<JsonObject> => makeOnce(ledger, keys, kind, data);
  await make('symbols', { handle: symbol, factor: FACTOR });
  const secure = header === null ? {} : { secure: [{ schema: 'header', key: header.name, value: header.value }] };
  const config = { server: url };
  // The right to activate a bridge is the right to report for it.
  const access = [{ action: 'activate', signer: { public: encodeBase64(keys.public) } }];
  await make('bridges', { handle: name, schema: 'rest', config, traits: ['statuses'], access, ...secure });
  await make('wallets', { handle: name, schema: 'bank-wallet', bridge: name });
  const claim = { action: 'limit', metric: 'minBalance', amount: -limit, wallet: { handle: name } };
  const handle = `${name}-may-owe-${limit}`;
  const stored = await make('intents', { handle, claims: [{ ...claim, symbol: { handle: symbol } }] });
  const { status } = stored.meta as { status?: unknown };
  if (status !== 'completed') throw new Error(`the limit of ${name} is ${status}: see intent ${handle}`);
}

/** The stored record of this data, made now or before. */
async function makeOnce(ledger: Ledger, keys: KeyPair, kind: string, data: JsonObject): Promise<JsonObject> {
  const record = makeRecord(data, { moment: new Date().toISOString(), status: 'created' }, keys);
  const made = await ledger.ask('POST', `/${kind}`, record, WAIT);
  if (made.status === 201) return bodyOf(made);
  const what = `${kind.slice(0, -1)} ${data.handle}`;
  if (made.status !== 409) throw new Error(`the ledger does not take ${what}: ${made.status} ${reasonOf(made)}`);
  const found = bodyOf(await ledger.ask('GET', `/${kind}/${encodeURIComponent(data.handle as string)}`));
  // Banks share the symbol, whichever of them made it.
  if (kind !== 'symbols' && found.hash !== record.hash) {
    throw new Error(`the ledger has another ${what}; leave --join out, or take another --name`);
  }
  return found;
}

function bodyOf({ text }: LedgerAnswer): JsonObject {
  return parseObject(Buffer.from(text)) ?? {};
}

function reasonOf(answer: LedgerAnswer): string {
  const { data } = bodyOf(answer);
  return isObject(data) ? `${data.reason} ${data.detail}` : '';
}
