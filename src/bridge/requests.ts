/**
 * What the ledger asks for, read out of a verified body: the shape of each request, and what must agree in it.
 *
 * The bank believes the ledger's signature and still compares: an entry must be of its intent's claims, in their
 * symbol and of their amount, so that a defect over there does not become money here.
 */

import { isObject, type JsonObject } from '../client/json.ts';
import { canon } from '../proof/canon.ts';
import type { IntentName } from './books.ts';
import type { Command, Kind } from './machine.ts';
import { findForgery, proofsBy } from './records.ts';
import { isRefusal, type Refusal, refuse } from './refusal.ts';

export interface PrepareRequest {
  readonly handle: string;
  readonly kind: Kind;
  /** The wallet the entry takes from or gives to, and the account its sender named behind it, if any. */
  readonly wallet: string;
  readonly named: string | null;
  /** Whether its claims name several accounts, or another than the entry: then `named` is not the whole truth. */
  readonly isMixed: boolean;
  readonly symbol: string;
  readonly amount: number;
  readonly intent: IntentName;
}

interface StepRequest {
  readonly handle: string;
  readonly intent: IntentName;
}

const HANDLE_CHARS_MAX = 256;
const PREFIX = { debit: 'deb_', credit: 'cre_' } as const satisfies Record<Kind, string>;
/** The side of a claim, and of an entry, that a debit takes from and a credit gives to. */
const SIDE = { debit: 'source', credit: 'target' } as const satisfies Record<Kind, string>;

export function readPrepare(data: JsonObject, kind: Kind, ledgerKey: string): PrepareRequest | Refusal {
  const handle = readHandle(data.handle);
  if (handle === null || !handle.startsWith(PREFIX[kind])) return wrong(`handle must begin with ${PREFIX[kind]}`);
  if (data.schema !== kind) return wrong(`schema must be ${kind}`);
  const side = data[SIDE[kind]];
  const wallet = handleOf(side);
  if (wallet === null) return wrong(`${SIDE[kind]} must name a wallet`);
  const symbol = handleOf(data.symbol);
  if (symbol === null) return wrong('symbol must name a symbol');
  if (!isAmount(data.amount)) return wrong('amount must be a whole number above zero');
  const intent = readIntent(data.intent, ledgerKey);
  if (isRefusal(intent)) return intent;
  const { amount } = data;
  const claims = readClaims(data.inputs, (data.intent as JsonObject).data as JsonObject, SIDE[kind]);
  if (claims === null) return wrong(`inputs must number claims with a ${SIDE[kind]}, each once`);
  if (claims.some((claim) => handleOf(claim.symbol) !== symbol)) return wrong('symbol must be that of the claims');
  if (claims.reduce((sum, claim) => sum + Number(claim.amount), 0) !== amount) {
    return wrong('amount must be that of the claims');
  }
  const named = accountIn(side);
  const sides = claims.map((claim) => claim[SIDE[kind]]);
  // Where claims differ in anything, the entry has the bare wallet, and lacks even an account that all of them name.
  const namesOther = sides.some((each) => handleOf(each) === wallet && accountIn(each) !== named);
  const isMixed = namesOther || new Set(sides.map((each) => nameBehind(wallet, each))).size > 1;
  return { handle, kind, wallet, named, isMixed, symbol, amount, intent };
}

export function readStep(data: JsonObject, handle: string, command: Command, ledgerKey: string): StepRequest | Refusal {
  if (data.handle !== handle) return wrong('handle must be the one in the path');
  if (data.action !== command) return wrong('action must be the one in the path');
  const intent = readIntent(data.intent, ledgerKey);
  return isRefusal(intent) ? intent : { handle, intent };
}

/** The name of an intent whose record is the ledger's. */
export function readIntent(value: unknown, ledgerKey: string): IntentName | Refusal {
  const forgery = findForgery(value, ledgerKey, 'the intent');
  if (forgery !== null) return forgery;
  const { hash, data } = value as { hash: string; data: JsonObject };
  const handle = readHandle(data.handle);
  return handle === null ? wrong('the intent must have a handle') : { handle, hash: hash.toLowerCase() };
}

/** The last status the ledger has signed, as opposed to the one beside the proofs, which anybody can change. */
export function readStatus(intent: JsonObject, ledgerKey: string): string | null {
  const { proofs } = intent.meta as { proofs: unknown[] };
  const customs = proofsBy(ledgerKey, proofs).map(({ custom }) => custom);
  const last = customs.findLast((custom) => isObject(custom) && typeof custom.status === 'string');
  return last === undefined ? null : (last as { status: string }).status;
}

/** The claims that an entry says it is of, null where they are not there. */
function readClaims(inputs: unknown, { claims }: JsonObject, side: string): JsonObject[] | null {
  if (!Array.isArray(inputs) || !Array.isArray(claims)) return null;
  if (new Set(inputs).size !== inputs.length) return null;
  const found = inputs.map((input: unknown) => (Number.isSafeInteger(input) ? claims[input as number] : undefined));
  return found.every((claim) => isObject(claim) && claim[side] !== undefined) ? found : null;
}

/** The account that a side of a claim names behind its wallet. */
function accountIn(side: unknown): string | null {
  return isObject(side) && isObject(side.custom) ? readHandle(side.custom.account) : null;
}

/**
 * Whom a side of a claim names behind the wallet, as a text to compare. Where the side has a longer address that stands
 * for the wallet, the text is the whole side: claims whose sides are equal have an entry that says the same.
 */
function nameBehind(wallet: string, side: unknown): string {
  const handle = handleOf(side);
  const isLonger = handle !== null && (handle.endsWith(`@${wallet}`) || handle.startsWith(`${wallet}:`));
  return canon(isLonger ? [isObject(side) ? side : { handle }] : accountIn(side));
}

/** `{handle}`, or the bare handle that older clients send. */
function handleOf(value: unknown): string | null {
  return readHandle(isObject(value) ? value.handle : value);
}

export function readHandle(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && value.length <= HANDLE_CHARS_MAX ? value : null;
}

function isAmount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function wrong(detail: string): Refusal {
  return refuse(422, 'record.schema-invalid', detail);
}
