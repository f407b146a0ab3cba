/**
 * What may be answered: the HTTP status, the reason of a no, and what the body of a yes must show. Written from the
 * interface, as a client knows it.
 */

import { KINDS, type KindName } from '../../src/core/kinds.ts';
import { canon } from '../../src/proof/canon.ts';
import { sha256Hex } from '../../src/proof/digest.ts';
import { type Json, verifyRecord } from '../support/client.ts';
import { isAllowed, rulesFor } from './model/access.ts';
import type { Books } from './model/books.ts';
import { eventHandle, type Happening } from './model/happenings.ts';
import type { Rec, Shown } from './model/record.ts';
import { type Ask, bearerOf, type Filter, type Flaw, type Look, type Operator, SERVER, tokenKey } from './wish.ts';

export interface Expected {
  readonly status: number;
  /** Empty for a yes. */
  readonly reason: string;
  /** Whether it speaks of the books, so that it must wait for the disk. */
  readonly ofBooks: boolean;
  /** What is wrong with the body of a yes, or ''. */
  check(body: Json): string;
}

const STATUS: Readonly<Record<string, number>> = {
  'api.body-malformed': 400,
  'api.query-malformed': 400,
  'auth.unauthorized': 401,
  'auth.forbidden': 403,
  'record.not-found': 404,
  'api.route-not-found': 404,
  'record.duplicated': 409,
  'record.schema-invalid': 422,
  'record.relation-not-found': 422,
  'record.invalid': 422,
  'record.drop-rejected': 422,
  'record.status-policy-violation': 422,
  'crypto.hash-invalid': 422,
  'crypto.parent-hash-invalid': 422,
  'crypto.signature-invalid': 422,
  'crypto.signature-missing': 422,
  'api.rate-limit-exceeded': 429,
  'api.unexpected-error': 503,
};

export function refused(reason: string, ofBooks = false): Expected {
  return { status: STATUS[reason]!, reason, ofBooks, check: () => '' };
}

function told(status: number, check: Expected['check']): Expected {
  return { status, reason: '', ofBooks: true, check };
}

/** Flaws that are found before a token is used up, in the order they are looked for. */
const EARLY: Partial<Record<Flaw, Expected>> = {
  path: refused('api.route-not-found'),
  method: { ...refused('api.route-not-found'), status: 405 },
  token: refused('auth.unauthorized', true),
  json: refused('api.body-malformed'),
  id: refused('record.schema-invalid'),
};

const LATE: Partial<Record<Flaw, Expected>> = {
  schema: refused('record.schema-invalid'),
  hash: refused('crypto.hash-invalid'),
  digest: refused('crypto.signature-invalid'),
  unsigned: refused('crypto.signature-missing'),
};

/** So far the clocks of clients may be ahead. */
const SKEW_SECONDS = 60;

/** What a request is told before its token is looked at, or null. `ledger` is the index of the one it names, or -1. */
export function toldOfPlace({ flaw }: Ask, ledger: number): Expected | null {
  if (flaw === 'path' || flaw === 'method') return EARLY[flaw]!;
  return ledger < 0 ? refused('api.route-not-found', true) : null;
}

/** What it is told before anything else is done with it, its token verified by now; `wall` is what the server's clock says. */
export function toldEarly({ path, flaw, token }: Ask, books: Books, wall: number): Expected | null {
  if (flaw === 'token') return EARLY.token!;
  const seconds = Math.floor(wall / 1000);
  if (token !== null && (token.exp < seconds || token.iat > seconds + SKEW_SECONDS)) return EARLY.token!;
  if (token !== null && books.tokens.has(tokenKey(token))) return refused('auth.unauthorized', true);
  // The longer address of a wallet is no name of a ledger.
  if (flaw === null && /^\/v2\/ledgers\/[^/]*@/.test(path)) return EARLY.id!;
  return flaw === null ? null : (EARLY[flaw] ?? null);
}

/** What a request is told by the state alone; null where it enters the sequence. */
export function toldAtOnce({ flaw, wish, token }: Ask, books: Books): Expected | null {
  if (wish.op === 'proof') {
    // A proof is made for a record: without that there is nothing to check it against.
    if (flaw === 'schema') return LATE.schema!;
    const record = books.named(wish.ledger, wish.kind, wish.id);
    if (record === null) return refused('record.not-found', true);
    // Who may add none unless a signature says so learns nothing of the record before that is verified.
    if (!isAllowed(books, wish.ledger, 'create', `${wish.kind}-proof`, record, bearerOf(token))) return null;
    if (flaw === 'digest' || record.content.hash !== wish.hash) return refused('crypto.signature-invalid', true);
    return null;
  }
  if (flaw !== null && LATE[flaw] !== undefined) return LATE[flaw]!;
  return isLook(wish) ? lookedAt(wish, books) : null;
}

const LOOKS = new Set(['read', 'changes', 'balances', 'limits', 'list', 'activate', 'retry-event', 'events', 'head']);

function isLook(wish: Ask['wish']): wish is Look {
  return LOOKS.has(wish.op);
}

function lookedAt(look: Look, books: Books): Expected {
  if (look.op === 'list') return told(200, listCheck(look, books));
  if (look.op === 'events') {
    const isBeyond = look.after > books.seq || (look.after === books.seq && look.skip > 0);
    return isBeyond ? refused('api.query-malformed', true) : told(200, eventsCheck(look, books));
  }
  // Of what is on the disk the oracle knows.
  if (look.op === 'head') return told(200, () => '');
  // What a wallet may be called with its parent, no ledger is.
  if (look.kind === 'ledger' && look.id.includes('@')) return LATE.schema!;
  const record = books.named(look.ledger, look.kind, look.id);
  if (record === null) return refused('record.not-found', true);
  if (look.op === 'read') return told(200, (body) => recordFault(body, record));
  if (look.op === 'activate' || look.op === 'retry-event') {
    return isAllowed(books, look.ledger, look.op, look.kind, record, [])
      ? told(202, (body) => (body.data.luid === record.luid ? '' : 'names another record'))
      : refused('auth.forbidden', true);
  }
  if (look.op === 'changes') return told(200, (body) => hashesFault(body, record));
  return told(200, slotCheck(look.op, record, books));
}

/** What a request is told that has changed the books, or asked of its turn among those who do. */
export function done({ wish, wait, method, token }: Ask, luid: string, books: Books): Expected {
  const now = () => books.records.get(luid)!;
  const record = now();
  // What the rules are when the answer leaves: others of its batch may have changed them.
  if (wish.op === 'check') return told(200, (body) => rulesFault(body, rulesFor(books, wish, now(), bearerOf(token))));
  if (wish.op === 'drop' || wish.op === 'remove') {
    return wish.kind === 'effect' && method === 'DELETE' ? told(200, confirmationFault) : told(204, () => '');
  }
  if (wish.op === 'create' && wish.kind === 'intent') {
    if (wait !== null) return told(201, (body) => waitedFault(body, now()));
    // Whatever became of it: the answer to a new intent is that it is there.
    const shown = record.shown.slice(0, record.content.proofs.length + 1);
    return told(201, (body) => recordFault(body, { ...record, status: 'pending', shown }));
  }
  return told(wish.op === 'create' ? 201 : 200, (body) => recordFault(body, record));
}

// ---------------------------------------------------------------- bodies

/** What is wrong with a record as it was answered. */
function recordFault(body: Json, record: Rec): string {
  const { content, luid, labels, owners } = record;
  const { meta } = body;
  const name = `${record.kind} ${record.handle}`;
  const differ = (what: string, is: unknown, should: unknown) =>
    is === should ? '' : `${name} is shown with ${what} ${String(is)} instead of ${String(should)}`;
  return (
    differ('luid', body.luid, luid) ||
    differ('hash', body.hash, content.hash) ||
    differ('data', canonOf(body.data), content.data) ||
    differ('status', meta.status, record.status) ||
    differ('moment', meta.moment, new Date(record.moment).toISOString()) ||
    differ('owners', String(meta.owners), owners.join()) ||
    differ('labels', String(meta.labels ?? ''), labels.join()) ||
    differ('thread', meta.thread, record.progress?.thread.slice(5)) ||
    differ('proofs', meta.proofs.map(proofText).join(' '), record.shown.map(shownText).join(' '))
  );
}

function proofText({ public: key, result, custom }: Json): string {
  if (key !== SERVER.public || custom === undefined) return `${result} ${custom === undefined ? '' : canon(custom)}`;
  if (custom.moment === undefined) return 'a proof of the server without its moment';
  return `${custom.luid ?? ''} ${custom.status ?? ''} ${custom.reason ?? ''}`;
}

function shownText(shown: Shown): string {
  if (shown.by === 'server') return `${shown.luid ?? ''} ${shown.status ?? ''} ${shown.reason ?? ''}`;
  const { public: key, result, custom } = shown.proof;
  // The server signs the first record of a ledger as its client does.
  if (key === SERVER.public) return ` ${JSON.parse(custom!).status} `;
  return `${result} ${custom ?? ''}`;
}

function hashesFault(body: Json, { versions }: Rec): string {
  const is = body.data.map((version: Json) => version.hash).join();
  const should = versions.toReversed().slice(0, 20).join();
  return is === should && body.page.total === versions.length ? '' : `versions are ${is} instead of ${should}`;
}

function slotCheck(what: 'balances' | 'limits', wallet: Rec, books: Books): Expected['check'] {
  const rows: string[] = [];
  for (const [key, account] of books.money.accounts.entries()) {
    const [of, symbolLuid] = key.split(' ');
    if (of !== wallet.luid) continue;
    const symbol = books.records.get(symbolLuid!)!.handle;
    const moment = new Date(account.moment).toISOString();
    const row = (schema: string, amount: bigint) => rows.push(`${symbol} ${schema} ${amount} ${moment}`);
    if (what === 'balances') {
      if (account.moment > 0) row('available', account.available);
      if (account.reserved !== 0n) row('reserved', account.reserved);
    } else for (const [metric, amount] of account.limits) rows.push(`${symbol} ${metric} ${amount}`);
  }
  const should = rows.sort().join(', ');
  return (body) => {
    const is = body.data
      .map(({ data, meta }: Json) => {
        const { symbol, schema, metric, amount } = data;
        return what === 'balances' ? `${symbol} ${schema} ${amount} ${meta.moment}` : `${symbol} ${metric} ${amount}`;
      })
      .sort()
      .join(', ');
    return is === should ? '' : `${what} of ${wallet.handle} are [${is}] instead of [${should}]`;
  };
}

/** What a list shows is what a plain scan of everything finds. */
function listCheck(look: Look & { op: 'list' }, books: Books): Expected['check'] {
  const { ledger, kind, filters, isOldestFirst, index, limit } = look;
  const all = books.list(ledger, kind);
  const found = all.filter((record) => filters.every((filter) => passes(record, filter)));
  if (isOldestFirst) found.reverse();
  const should = found.slice(index * limit, (index + 1) * limit);
  return (body) => {
    const is = body.data.map((record: Json) => record.luid).join();
    const wanted = should.map((record) => record.luid).join();
    const what = `the list of ${kind} by ${JSON.stringify(filters)}`;
    if (is !== wanted) return `${what} shows ${is} instead of ${wanted}`;
    if (filters.length === 0 && body.page.total !== all.length) return `${what} counts ${body.page.total}`;
    return should.map((record, n) => recordFault(body.data[n], record)).find((fault) => fault !== '') ?? '';
  };
}

/** Any of the members at the path; the opposite of that for `ne` and `nin`. */
function passes(record: Rec, { path, operator, values }: Filter): boolean {
  const members = membersAt(record, path);
  if (operator === 'ne' || operator === 'nin')
    return !members.some((member) => values.some((one) => compare(member, one) === 0));
  return members.some((member) => values.some((value) => holds(member, operator, value)));
}

function holds(member: unknown, operator: Operator, value: string): boolean {
  if (operator === 'regex') return typeof member === 'string' && new RegExp(value).test(member);
  const order = compare(member, value);
  if (operator === 'eq' || operator === 'in') return order === 0;
  if (operator === 'gt' || operator === 'gte') return order > 0 || (operator === 'gte' && order === 0);
  return order < 0 || (operator === 'lte' && order === 0);
}

/** Below, at or above 0; NaN where the two cannot be compared. */
function compare(member: unknown, value: string): number {
  if (typeof member === 'number') return /^-?\d+$/.test(value) ? member - Number(value) : Number.NaN;
  return typeof member !== 'string' ? Number.NaN : member === value ? 0 : member < value ? -1 : 1;
}

/** What a record has at a path of those that lives ask for; of claims it may be many. */
export function membersAt(record: Rec, path: string): unknown[] {
  const { status, labels, moment, progress, content } = record;
  if (path === 'meta.status') return [status];
  if (path === 'meta.labels') return [...labels];
  if (path === 'meta.moment') return [new Date(moment).toISOString()];
  if (path === 'meta.thread') return [progress!.thread.slice(5)];
  const [first, second] = path.split('.').slice(1) as [string, string?];
  if (first !== 'claims') {
    const member = content.value[first] as Json;
    return [second === undefined ? member : member?.[second]];
  }
  // A reference is its handle, whether it is asked for by that or by itself.
  const claims = content.value.claims as Record<string, Json>[];
  return claims.map((claim) => claim[second!]?.handle ?? claim[second!]);
}

/** What happened in a ledger, from an entry on, up to where the books were when it was told. */
function eventsCheck(look: Look & { op: 'events' }, books: Books): Expected['check'] {
  const { ledger, after, skip, signal, limit } = look;
  const since = books.seq;
  return (body) => {
    const shown = String(body.page.after).replace(/-[\da-f]{8}$/, '');
    const [place] = shown.split('.');
    const isFull = body.data.length === limit;
    const end = isFull ? books.seq : Number(place);
    if (end < Math.max(since, after)) return `the events end at ${end}, and the books were at ${since}`;
    const found = [...books.happenings.values()].filter((one) => {
      const isAfter = one.seq > after + 1 || (one.seq === after + 1 && one.index >= skip);
      return one.ledger === ledger && isAfter && one.seq <= end && (signal === '' || one.signal === signal);
    });
    const should = found.slice(0, limit);
    const wanted = should.map((one) => `${eventHandle(one)} ${one.signal} ${one.seq}`).join(', ');
    const is = body.data.map(({ data, seq }: Json) => `${data.handle} ${data.signal} ${seq}`).join(', ');
    if (is !== wanted) return `events after ${after}.${skip} are [${is}] instead of [${wanted}]`;
    const goesOn = placeAfter(look, should, end);
    return shown === goesOn ? '' : `events after ${after}.${skip} go on at ${shown} instead of ${goesOn}`;
  };
}

/** Where the next question goes on: an entry, and the number of the first event of the next one that was not told. */
function placeAfter({ after, skip, limit }: Look & { op: 'events' }, told: Happening[], end: number) {
  const last = told.at(-1);
  if (told.length === limit) return `${last!.seq - 1}.${last!.index + 1}`;
  return end === after && skip > 0 ? `${after}.${skip}` : `${end}`;
}

function rulesFault(body: Json, rules: readonly string[]): string {
  const is = body.data.map((rule: Json) => canon(rule)).join();
  return is === rules.join() ? '' : `the rules are [${is}] instead of [${rules}]`;
}

/** An intent that somebody waited for shows a state that it was in. */
function waitedFault(body: Json, record: Rec): string {
  const shown = record.shown.slice(0, body.meta.proofs.length);
  const last = shown.findLast((each) => each.by === 'server' && each.status !== 'error');
  return recordFault(body, { ...record, shown, status: last?.by === 'server' ? (last.status ?? '') : '' });
}

function confirmationFault(body: Json): string {
  return typeof body === 'string' ? '' : 'is no confirmation';
}

/** Answers are looked at twice, as an envelope and as a record. */
const canonical = new WeakMap<object, string>();

function canonOf(data: object): string {
  const known = canonical.get(data);
  if (known !== undefined) return known;
  const text = canon(data);
  canonical.set(data, text);
  return text;
}

/** What is wrong with any body: its envelope, and for some of them every proof, checked by another library. */
export function envelopeFault(body: Json, isThorough: boolean): string {
  if (typeof body !== 'object' || body === null) return 'is no object';
  if (body.hash !== sha256Hex(canonOf(body.data))) return 'has another hash than its data';
  if (!Array.isArray(body.meta?.proofs) || body.meta.proofs.length === 0) return 'has no proof';
  if (!isThorough) return '';
  try {
    verifyRecord(body, SERVER.public);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

export const PATHS = Object.fromEntries(KINDS.map(({ name, path }) => [name, path])) as Record<KindName, string>;
