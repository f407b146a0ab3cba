/**
 * Reads: records as the state shows them now, and as they were, told once the disk has that.
 */
import { EntryType, type StoredProof } from '../core/entry.ts';
import { type FoundVersion, type FoundVersions, findVersion, findVersions, readVersion } from '../core/history.ts';
import { Kind } from '../core/kinds.ts';
import { Listing, type Stand } from '../core/lists.ts';
import { intentAsSent, recordAt, recordWith } from '../core/past.ts';
import { bytesOf, type RecordView, readRow } from '../core/records.ts';
import { isRefusal } from '../core/refusal.ts';
import { SERVER_LEDGER } from '../core/state.ts';
import type { Signed } from '../proof/sealer.ts';
import {
  LongList,
  labelsText,
  ownersText,
  type Page,
  type PageAfter,
  sealedText,
  signedText,
  type Unsealed,
  unsealedList,
  versionText,
  viewText,
} from '../render.ts';
import { type Call, type House, refuseDurable, sendDurable, walk, walkInTime } from './call.ts';
import { type Header, refuse } from './errors.ts';
import { inParts, inTurn, LONG_BYTES_MIN, tellNow } from './long-answers.ts';
import { entersFor, readableRow, visibleRows } from './may.ts';
import { type ListQuery, PAGE_BYTES_MAX, parseQuery } from './query.ts';
import { withLateProofs, withListProof } from './read-proofs.ts';
import type { AnswerBody } from './request.ts';
import { SEMVER } from './version.ts';

export function readStatus(call: Call): void {
  const { state, sealer, engine, publicUrl } = call.house;
  const ledger = state.ledgers[call.ledger]!.handle;
  const server = publicUrl === '' ? call.request.header('host') : new URL(publicUrl).host;
  const uptime = Math.floor(process.uptime());
  // Canonical order; handles and the host's text need JSON's escapes at most.
  const data = `{"dependencies":{"db":"CONNECTED"},"handle":"ayni","ledger":${JSON.stringify(ledger)},"semver":"${SEMVER}","server":${JSON.stringify(server)},"status":"UP","uptime":${uptime}}`;
  sendDurable(call, () => call.reply.send(200, signedText(data, engine.now(), sealer)));
}

export function readRecord(call: Call): void {
  const row = readableRow(call);
  if (row < 0) return;
  const { house } = call;
  const tell = (held: Call, seen: Seen) => sendSeen(held, 200, seen);
  const seen = see(house, row);
  if (seen.bytes < AT_ONCE_MAX && tellNow(call, seen, tell)) return;
  const seeAgain = () => {
    const later = readableRow(call);
    return later < 0 ? null : see(house, later);
  };
  inTurn(call, seeAgain, tell);
}

/**
 * Bytes of a record that is told as soon as it is asked for. Larger ones take turns, by ledgers, as lists do: a few
 * hundred clients may ask for one at once, and each takes a millisecond or more.
 */
const AT_ONCE_MAX = 16_384;

/** Answers what was done to the record in a row, or what its client waited for, with it as it is now. */
export function sendRow(call: Call, status: number, row: number, headers?: readonly Header[]): void {
  const tell = (held: Call, seen: Seen) => sendSeen(held, status, seen, headers);
  const seen = see(call.house, row);
  if (seen.bytes < AT_ONCE_MAX) tell(call, seen);
  else inTurn(call, () => see(call.house, row), tell, 'answer');
}

/** Answers a proof that was sent again with the record as it was with it, for whoever may not hear more of it. */
export function sendAsItWas(call: Call, row: number, hash: Uint8Array, proof: StoredProof): void {
  sendPart(call, 200, row, () => recordWith(call.house.state, row, hash, proof));
}

/**
 * Answers the sender of an intent, who may not read it, with what they sent and what the server says became of it; or
 * with the intent as it came, where they may not hear that either, which `isEndTold` is asked when the answer is made.
 */
export function sendToSender(call: Call, row: number, headers: readonly Header[], isEndTold: () => boolean): void {
  sendPart(call, 201, row, () => intentAsSent(call.house.state, row, isEndTold()), headers);
}

/** Answers with a record of which not everything is told; it is looked at when it is. */
function sendPart(call: Call, status: number, row: number, look: () => RecordView, headers?: readonly Header[]): void {
  const { house } = call;
  const see = () => ({ bytes: bytesOf(house.state, house.state.rows.at.get(row)) });
  const tell = (held: Call) => {
    const record = look();
    withLateProofs(held, [record], () => {
      const text = viewText(record, house.sealer);
      sendDurable(held, () => held.reply.send(status, text, headers));
    });
  };
  inTurn(call, see, tell, 'answer');
}

function sendSeen(call: Call, status: number, seen: Seen, headers?: readonly Header[]): void {
  const send = (text: string) => sendDurable(call, () => call.reply.send(status, text, headers));
  if (seen.text !== null) send(seen.text);
  else withTexts(call, [seen], ([text]) => send(text!));
}

/** A record that is there to be told, and its text where that is at hand. Nothing else of it is read yet. */
interface Seen {
  row: number;
  at: number;
  bytes: number;
  text: string | null;
}

/** As it is now, or was right after the entry at an address. */
function see({ state, texts }: House, row: number, at = state.rows.at.get(row)): Seen {
  const kept = texts.get(at);
  return { row, at, bytes: kept?.bytes ?? bytesOf(state, at), text: kept?.text ?? null };
}

/** Goes on with the texts of records that were seen just now, once all their late proofs are at hand. */
function withTexts(call: Call, seen: readonly Seen[], then: (texts: string[]) => void): void {
  const { state, texts, sealer } = call.house;
  const records = seen.map(({ row, at, text }) => (text === null ? recordAt(state, row, at) : null));
  const unread = records.filter((record) => record !== null);
  withLateProofs(call, unread, () =>
    then(
      records.map((record, i) => {
        const { at, bytes, text } = seen[i]!;
        if (record === null) return text!;
        const made = viewText(record, sealer);
        texts.keep(at, made, bytes);
        return made;
      }),
    ),
  );
}

// ---------------------------------------------------------------- lists

export function listRecords(call: Call): void {
  const { house, route, request } = call;
  // Before what a stranger asks for is looked at: patterns have to be compiled.
  if (!entersFor(call, route.kind)) return;
  const query = parseQuery(request.query, route.kind, house.pageLimitMax);
  if (isRefusal(query)) return refuseDurable(call, query);
  sendListing(call, route.kind, query, () => visibleRows(call, route.kind));
}

/**
 * Answers with a page of the records of a kind. `visible` is asked again at the end, and whether what a record has of
 * them may still be read: a walk may outlast a rule.
 * Where `isPageTold` is false the envelope leaves out which page it is. `circle`: where memberships of that one alone
 * are visible, its luid.
 */
export function sendListing(
  call: Call,
  kind: Kind,
  query: ListQuery,
  visible: () => ((row: number) => boolean) | undefined,
  { isPageTold = true, circle }: { isPageTold?: boolean; circle?: string } = {},
): void {
  const { house } = call;
  const { index, limit } = query.page;
  const listing = new Listing(house.state, {
    ledger: kind === Kind.ledger ? SERVER_LEDGER : call.ledger,
    kind,
    filters: query.filters,
    order: query.order,
    skip: index * limit,
    limit,
    circle,
    isVisible: visible(),
  });
  walkList(call, (pause) => {
    if (!listing.step(() => performance.now() > pause)) return false;
    const page = isPageTold ? { index, limit, total: listing.total } : null;
    const shown = () => {
      if (call.route.id !== null && readableRow(call) < 0) return null;
      const isVisible = visible();
      return isVisible === undefined ? listing.page : listing.page.filter(({ row }) => isVisible(row));
    };
    sendRecords(call, shown, page);
    return true;
  });
}

/** Looks for a list, in slices, until `step` says that it is over. */
export function walkList(call: Call, step: (pause: number) => boolean): void {
  walkInTime(call, LIST_TIMEOUT, step);
}

/** A step of a walk over what comes in steps, which goes on with what they come to. */
export function through<T>(steps: Iterator<undefined, T>, goOn: (found: T) => void): (pause: number) => boolean {
  return (pause) => {
    for (;;) {
      const { done, value } = steps.next();
      if (done === true) {
        goOn(value);
        return true;
      }
      if (performance.now() >= pause) return false;
    }
  };
}

const LIST_TIMEOUT = refuse(
  'api.request-timeout',
  'The list took too long; narrow it by a handle, a status or a wallet',
);

const PAGE_TOO_LARGE = refuse(
  'api.query-malformed',
  'The records of this page are larger than one answer may be; ask for fewer with page.limit',
);

/**
 * `shown` is asked again where the page has to wait, and gives null where it has told why there is none. What changes
 * meanwhile is told as it was when the page was found.
 */
function sendRecords(call: Call, shown: () => readonly Stand[] | null, page: Page | null): void {
  const seeAll = (): SeenAll | null => {
    const stands = shown();
    if (stands === null) return null;
    const seen = stands.map(({ row, at }) => see(call.house, row, at));
    return { bytes: sum(seen.map(({ bytes }) => bytes)), seen };
  };
  const tell = (held: Call, { bytes, seen }: SeenAll) => {
    if (isPageTooLarge(bytes, seen.length)) refuseDurable(held, PAGE_TOO_LARGE);
    else tellParts(held, seen, (few, then) => withTexts(held, few, then), page);
  };
  inTurn(call, seeAll, tell, 'page');
}

interface SeenAll {
  bytes: number;
  seen: readonly Seen[];
}

/** One record is always told. */
function isPageTooLarge(bytes: number, records: number): boolean {
  return bytes > PAGE_BYTES_MAX && records > 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0);
}

/** A list of what was seen just now, whose texts are made a few at a time. */
function tellParts<P extends { readonly bytes: number }>(
  call: Call,
  parts: readonly P[],
  textsOf: (few: readonly P[], then: (texts: string[]) => void) => void,
  page: Page | null,
): void {
  const moment = call.house.engine.now();
  const items: string[] = [];
  inParts(
    call,
    parts,
    (few, done) =>
      textsOf(few, (texts) => {
        items.push(...texts);
        done();
      }),
    () => sendList(call, items, page, moment),
  );
}

/** A list as its envelope, as of `moment`; `page` null leaves that out. */
export function sendList(
  call: Call,
  items: string[],
  page: Page | PageAfter | null,
  moment = call.house.engine.now(),
): void {
  const seal = (list: Unsealed, sealed: (signed: Signed) => AnswerBody) =>
    withListProof(call, list, (signed) => sendDurable(call, () => call.reply.send(200, sealed(signed))));
  if (sum(items.map(({ length }) => length)) < LONG_BYTES_MIN) {
    const list = unsealedList(items, page, moment);
    return seal(list, (signed) => sealedText(list, signed));
  }
  const parts = items.map((text) => ({ bytes: text.length, text }));
  const list = new LongList();
  inParts(
    call,
    parts,
    (few, done) => {
      list.add(few.map(({ text }) => text));
      done();
    },
    () => {
      const unsealed = list.unsealed(page, moment);
      seal(unsealed, (signed) => list.sealed(unsealed, signed));
    },
  );
}

// ---------------------------------------------------------------- history

/** Versions that were found, where they may still be read: looking for them may have outlasted a rule. */
function seeVersions(call: Call, bytes: number): SeenVersions | null {
  const row = readableRow(call);
  return row < 0 ? null : { row, bytes };
}

interface SeenVersions {
  row: number;
  bytes: number;
}

export function listChanges(call: Call): void {
  const row = readableRow(call);
  if (row < 0) return;
  const query = parseQuery(call.request.query, null, call.house.pageLimitMax);
  if (isRefusal(query)) return refuseDurable(call, query);
  const { index, limit } = query.page;
  const { state } = call.house;
  const stretch = { order: query.order, skip: index * limit, max: limit };
  const tellFound = (found: FoundVersions) => {
    const places = found.places.map((place) => ({ ...place, bytes: bytesOf(state, place.at) }));
    const bytes = sum(places.map((place) => place.bytes));
    if (isPageTooLarge(bytes, places.length)) return refuseDurable(call, PAGE_TOO_LARGE);
    const page = { index, limit, total: found.total };
    const tell = (held: Call, { row }: SeenVersions) =>
      tellParts(held, places, (few, then) => then(changeTexts(held, row, few)), page);
    inTurn(call, () => seeVersions(call, bytes), tell, 'page');
  };
  walkList(call, through(findVersions(state, row, stretch), tellFound));
}

export function readChange(call: Call): void {
  const number = /^[1-9]\d{0,8}$/.test(call.route.tail) ? Number(call.route.tail) : 0;
  const row = readableRow(call);
  if (row < 0) return;
  const tellFound = ({ places: [place] }: FoundVersions): void => {
    if (place === undefined) return refuseDurable(call, NO_CHANGE);
    const tell = (held: Call, { row }: SeenVersions) => {
      const [text] = changeTexts(held, row, [place]);
      sendDurable(held, () => held.reply.send(200, text!));
    };
    inTurn(call, () => seeVersions(call, bytesOf(call.house.state, place.at)), tell);
  };
  // However many a record has had, all are passed by to find one. As a record, it is waited for until it comes.
  walk(call, through(findVersion(call.house.state, row, number), tellFound));
}

const NO_CHANGE = refuse('record.not-found', 'Change not found');

function changeTexts({ house: { state, sealer } }: Call, row: number, places: readonly FoundVersion[]): string[] {
  const owners = ownersText(readRow(state, row).owners);
  return places.map((place) => {
    const version = readVersion(state, place);
    const { entry, change, status, labels } = version;
    const action = entry.type === EntryType.update ? 'update' : 'create';
    const lead = `"action":"${action}","change":${change},${labelsText(labels)}`;
    return versionText(version, status, owners, sealer, lead);
  });
}
