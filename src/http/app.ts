/**
 * From a request to its answer. The order of checks is part of the interface: route, ledger, token, JSON, then what
 * the route itself checks; the first that fails is what the client is told.
 */

import { mayEnter, NO_ROW } from '../core/access/index.ts';
import { isAddress, isLedgerHandle } from '../core/address.ts';
import { USED_UP } from '../core/decide.ts';
import { findHandle, findLedger } from '../core/finding.ts';
import { Kind } from '../core/kinds.ts';
import { isLuid } from '../core/luid.ts';
import { dataOf, readRow } from '../core/records.ts';
import { DEFECT, isRefusal } from '../core/refusal.ts';
import type { State } from '../core/state.ts';
import { NOT_VERIFIED } from '../engine.ts';
import { decodePublic } from '../proof/keys.ts';
import type { ProofResult } from '../proof/pool.ts';
import {
  type Call,
  callerOf,
  guarded,
  type House,
  ledgerOf,
  NO_BYTES,
  refuseDurable,
  rowOf,
  sendRefusal,
  walk,
} from './call.ts';
import { checkAccess } from './check.ts';
import { assignSigner, listSigners, removeSigner } from './circles.ts';
import { describer } from './description.ts';
import { headersOf, type Refusal, refuse, refuseForGood, refuseMethod, refuseUnavailable, statusOf } from './errors.ts';
import { activateBridge, listDeliveries, listEvents, retryEvents } from './events.ts';
import { readHead } from './head.ts';
import { parseJson } from './json.ts';
import { type Action, findRoute, type Route } from './paths.ts';
import { listChanges, listRecords, readChange, readRecord, readStatus } from './reads.ts';
import type { Handler, Reply, RequestHead } from './request.ts';
import { HANDLE_MESSAGE } from './schema-shapes.ts';
import { type Prepare, serveWrite, tokenId, useToken } from './submit.ts';
import {
  absoluteUrl,
  checkRequestHash,
  type HashedRequest,
  hashedBody,
  isUnverified,
  type Token,
  type TokenContext,
  type Unverified,
} from './tokens.ts';
import { UsualIntents } from './usual.ts';
import { listBalances, listLimits, listWalletAnchors } from './wallets.ts';
import { addProof, createRecord, dropRecord, updateRecord } from './writes.ts';

/** What only reads. */
interface Reading {
  readonly read: (call: Call) => void;
  /** A question behind `?` is read. */
  readonly isAsked?: true;
}

/** What comes by any method but GET. */
interface Writing {
  readonly write: Prepare;
  /** It begins something new: all else that writes continues, ends or takes away what is there. */
  readonly isNew?: true;
  /** A question that comes with a body: nothing changes. */
  readonly isAskedInBody?: true;
  /** It may be asked for without a body. */
  readonly isBare?: true;
}

const ACTIONS: Record<Action, Reading | Writing> = {
  status: { read: readStatus },
  head: { read: readHead },
  create: { write: createRecord, isNew: true },
  list: { read: listRecords, isAsked: true },
  read: { read: readRecord },
  update: { write: updateRecord, isNew: true },
  drop: { write: dropRecord },
  proof: { write: addProof },
  changes: { read: listChanges, isAsked: true },
  change: { read: readChange },
  balances: { read: listBalances, isAsked: true },
  limits: { read: listLimits, isAsked: true },
  anchors: { read: listWalletAnchors, isAsked: true },
  check: { write: checkAccess, isAskedInBody: true },
  assign: { write: assignSigner, isNew: true },
  members: { read: listSigners, isAsked: true },
  remove: { write: removeSigner },
  events: { read: listEvents, isAsked: true },
  deliveries: { read: listDeliveries, isAsked: true },
  retry: { write: retryEvents, isBare: true },
  activate: { write: activateBridge, isBare: true },
};

const FULL_FOR_GOOD = refuseForGood(
  'The books are full: this server takes nothing new, and goes on telling what is in them',
);
const FULL_FOR_NOW = refuseUnavailable(
  'The books are full until some of what waits in them comes to its end: nothing new is taken',
);

/** Records and entries stay; V8's heap has room again once what waits has come to its end, where anything does. */
function fullRefusal({ room, state }: House['engine'], isNew: boolean): Refusal | null {
  const what = room.whatIsFull(isNew);
  if (what === null) return null;
  const isForGood = what === 'records' || what === 'entries' || state.open.size === 0;
  return isForGood ? FULL_FOR_GOOD : FULL_FOR_NOW;
}

const READ_ONLY = refuseForGood('This server only shows its books: it takes nothing in, and calls nobody');
const KEEPS_NO_TOKENS = refuseForGood(
  'This server only shows its books: it cannot write down that a token with a jti is used up. Send one without',
);

const NO_ENTRY_FOR_TOKENS = refuseForGood(
  'The books are full: this server cannot write down that a token with a jti is used up. Send one without',
);

const READY = '{"status":"UP"}';

/** What is no answer of a ledger: beside /v2, as it stands, for everybody, since it has nothing in it of any ledger. */
const BESIDE = new Map([
  ['/readyz', tellReady],
  ['/openapi.json', sendDescription],
]);
const BESIDE_METHODS = refuseMethod(['GET', 'HEAD', 'OPTIONS']);

/** The handler that server.ts calls for every request. */
export function createApp(options: Omit<House, 'describe' | 'usual'>): Handler {
  const { limits, bodyDepthMax, sealer } = options;
  const usual = new UsualIntents({ ...limits, depthMax: bodyDepthMax, publicText: sealer.publicText });
  const house: House = { ...options, describe: describer(options), usual };
  return {
    admit: (head) => (head.method === 'GET' ? null : house.engine.overload(selectLedger(house, head))),
    refuse: (refusal, reply) => sendRefusal({ house, reply }, refusal),
    handle(request, reply) {
      const serveNow = () => guarded({ house, reply }, () => serveRequest(house, request, request.body, reply));
      if (request.method === 'GET') return serveNow();
      if (house.engine.isOpen) return house.engine.letInNow(serveNow);
      const body = Buffer.from(request.body);
      house.engine.wait(selectLedger(house, request), body.length, () => {
        if (!reply.aborted) guarded({ house, reply }, () => serveRequest(house, request, body, reply));
      });
    },
  };
}

/** `body` is only read before this returns, and goes no further as it is: a request may wait for long behind it. */
function serveRequest(house: House, request: RequestHead, body: Uint8Array, reply: Reply): void {
  const route = findRoute(request.method, request.path);
  if (isRefusal(route)) {
    const beside = BESIDE.get(request.path);
    if (beside !== undefined && request.method === 'GET') return beside(house, reply);
    const refusal = beside === undefined ? route : BESIDE_METHODS;
    // Whoever asks for the methods that there are hears what who takes another one is told.
    if (request.method === 'OPTIONS' && statusOf(refusal) === 405) return reply.send(204, '', headersOf(refusal));
    return sendRefusal({ house, reply }, refusal);
  }
  const action = ACTIONS[route.action];
  if ('write' in action) {
    if (house.isReadOnly && !action.isAskedInBody) return sendRefusal({ house, reply }, READ_ONLY);
    const full = fullRefusal(house.engine, action.isNew === true);
    if (full !== null) return sendRefusal({ house, reply }, full);
  } else if (action.isAsked) reply.sort = 'list';
  const made = { ledger: -1, body: undefined, usual: null, bodyBytes: body.length, bearer: null };
  const call: Call = { house, request, reply, route, ...made };

  if (makesLedger(route) && request.header('x-ledger') !== '') return sendRefusal(call, MADE_OUTSIDE);
  call.ledger = selectLedger(house, request);
  if (call.ledger < 0) return refuseDurable(call, NO_SUCH_LEDGER);

  const token = tokenOf(call);
  if (token === null) serveBearer(call, body, null);
  else if (isRefusal(token)) refuseDurable(call, token);
  else if (isUnverified(token)) verifyToken(call, body, token);
  else serveBearer(call, body, token);
}

/** Has a token's signature verified with all others, and goes on with what it is then. */
function verifyToken(call: Call, lent: Uint8Array, { checks, text, settle }: Unverified): void {
  const { house, request, reply } = call;
  const isReading = request.method === 'GET';
  const body = isReading ? NO_BYTES : Buffer.from(lent);
  // Others wait for their turn while it is verified, as while what it comes with is; who only reads takes no turn.
  const leave = isReading ? () => {} : house.engine.hold(call.ledger, body.length);
  const done = ({ error, bad }: ProofResult): void => {
    leave();
    if (reply.aborted) return;
    guarded(call, () => {
      const token = error === null ? settle(bad < 0, contextOf(call)) : NOT_VERIFIED;
      if (isRefusal(token)) refuseDurable(call, token);
      else serveBearer(call, body, token);
    });
  };
  house.pool.submit({ checks, text, seals: NO_BYTES, done });
}

/** What is asked for by whoever has this token, which is verified, or none. */
function serveBearer(call: Call, body: Uint8Array, token: Token | null): void {
  const { house, request, route } = call;
  if (token !== null && token.jti !== null && house.state.tokens.has(tokenId(call, token))) {
    return refuseDurable(call, USED_UP);
  }
  const action = ACTIONS[route.action];
  const isBare = body.length === 0 && 'write' in action && action.isBare;
  if (takesUsual(route, token)) call.usual = house.usual.open(body, token !== null && token.hsh !== null);
  if (request.method !== 'GET' && !isBare && call.usual === null) {
    const parsed = parseJson(body, house.bodyDepthMax);
    if (parsed.refusal !== undefined) return sendRefusal(call, parsed.refusal);
    call.body = parsed.value;
  }
  if (token !== null) {
    const refusal = checkRequestHash(token, hashedOf(call));
    if (refusal !== null) return sendRefusal(call, refusal);
    const { iss, sub, aud, hsh, key } = token;
    call.bearer = { iss, sub, aud, hsh: hsh !== null, key };
  }
  if (route.id !== null && !isId(route.kind, route.id)) return sendRefusal(call, BAD_ID);
  const serve = () => ('write' in action ? serveWrite(call, action.write) : serveRead(call, action));
  if (token === null || token.jti === null) return serve();
  if (house.isReadOnly) return sendRefusal(call, KEEPS_NO_TOKENS);
  if (isLetIn(call)) {
    if (house.engine.room.whatIsFull(false) === 'entries') return sendRefusal(call, NO_ENTRY_FOR_TOKENS);
    return useToken(call, token, serve);
  }
  // A stranger's is not written down, and so counts for nothing, but beside signatures for which the request is taken.
  if ('write' in action) return serveWrite(call, action.write, token);
  call.bearer = null;
  serve();
}

/** Whether the body may be read as a usual intent: not where a token has it served twice. */
function takesUsual({ action, kind }: Route, token: Token | null): boolean {
  return action === 'create' && kind === Kind.intent && (token === null || token.jti === null);
}

/** In place of a ledger, for walks that are in none. */
const NO_LEDGER = -1;

/** The port opens after recovery: whoever is answered hears that it is up, unless nothing is taken in just now. */
function tellReady(house: House, reply: Reply): void {
  reply.sort = null;
  const { outage } = house.engine;
  if (outage === null) reply.send(200, READY);
  else sendRefusal({ house, reply }, outage);
}

/**
 * Handing over so long a text takes a third of a millisecond, and anybody may ask for it, a thousand at once. So they
 * take turns, beside the ledgers.
 */
function sendDescription(house: House, reply: Reply): void {
  reply.sort = null;
  const tell = (text: string) => (): boolean => {
    guarded({ house, reply }, () => reply.send(200, text));
    return true;
  };
  house.describe().then(
    (text) => house.walks.begin(NO_LEDGER, tell(text)),
    (error: Error) => {
      house.defect(error);
      sendRefusal({ house, reply }, DEFECT);
    },
  );
}

/**
 * Reading a question of some kilobytes takes up to a millisecond, as much as looking for a page. So such questions take
 * turns, by ledgers, as lists do: a few hundred clients may send one at once, and nobody else would be heard meanwhile.
 */
const QUERY_AT_ONCE_MAX = 1024;
/** What may name an operator by which patterns have to be compiled, be it in letters that are escaped. */
const MAY_HAVE_PATTERNS = /regex|%[67]/;

function serveRead(call: Call, { read, isAsked }: Reading): void {
  const query = call.request.query ?? '';
  const isLong = query.length > QUERY_AT_ONCE_MAX || MAY_HAVE_PATTERNS.test(query);
  if (!isLong || !isAsked) return read(call);
  walk(call, () => {
    read(call);
    return true;
  });
}

/** What a token's `hsh` is held against. */
function hashedOf({ house, request, body, usual }: Call): HashedRequest {
  const { methodSent: method, path, query } = request;
  const scheme = request.header('x-forwarded-proto') || 'http';
  const host = request.header('host');
  // Where either is more than its name, what was signed for another path could be put together with this one behind it.
  const isNamed = house.publicUrl !== '' || (/^https?$/.test(scheme) && /^[^/?#@\s]*$/.test(host));
  const url = isNamed ? absoluteUrl(house.publicUrl, scheme, host, path, query) : '';
  return { method, url, header: (name) => request.header(name), body: () => usual?.bodyText ?? hashedBody(body) };
}

/**
 * Whether the token alone opens the gate for what is asked. For a ledger that is not there, the gate of the selected
 * one is asked.
 */
function isLetIn(call: Call): boolean {
  const { house, route, ledger } = call;
  const { state } = house;
  const found = route.id === null ? NO_ROW : rowOf(call);
  const row = found < 0 && route.kind === Kind.ledger ? state.ledgers[ledger]!.row : found;
  return mayEnter(state, ledgerOf(call), route.kind, row, callerOf(call, []));
}

/** A luid, or a handle of the form its kind has. */
function isId(kind: Kind, id: string): boolean {
  return isLuid(id) || (kind === Kind.ledger ? isLedgerHandle(id) : isAddress(id));
}

const MADE_OUTSIDE = refuse('api.no-tenant-allowed', 'Ledgers are made outside any ledger: leave x-ledger out');

/**
 * Whether it does so inside one is told before that one is looked for: a client may name the ledger it is about to
 * make.
 */
function makesLedger({ action, kind }: Route): boolean {
  return action === 'create' && kind === Kind.ledger;
}

const NO_SUCH_LEDGER = refuse('api.route-not-found', 'server does not host requested ledger');

function selectLedger({ state, defaultLedger }: House, request: RequestHead): number {
  const selected = request.header('x-ledger');
  return selected === '' ? defaultLedger : findLedger(state, selected);
}

/** The token that a request comes with, null where it has none; or why that is not good, whatever is asked for. */
function tokenOf(call: Call): Token | Unverified | Refusal | null {
  const authorization = call.request.header('authorization');
  return authorization === '' ? null : call.house.tokens.check(authorization, contextOf(call));
}

/** What a token is checked against now. */
function contextOf({ house: { state, clock }, ledger }: Call): TokenContext {
  return {
    now: Math.floor(clock() / 1000),
    audience: state.ledgers[ledger]!.handle,
    keyOf: (handle) => signerKey(state, ledger, handle),
  };
}

/** The public key of a ledger's signer, or null. */
function signerKey(state: State, ledger: number, handle: string): Uint8Array | null {
  const row = findHandle(state, ledger, Kind.signer, handle);
  return row < 0 ? null : decodePublic(dataOf(readRow(state, row).entry).public as string);
}

const BAD_ID: Refusal = refuse('record.schema-invalid', 'id must be a handle or a luid', {
  errors: [
    {
      instancePath: '/id',
      schemaPath: '#/properties/id/pattern',
      keyword: 'pattern',
      params: {},
      message: HANDLE_MESSAGE,
    },
  ],
});
