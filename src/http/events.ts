/**
 * Events for those who rather ask than be called, what became of those that effects were to be told, and what an
 * operator does when the other side is there again.
 */
import { type AccessAction, isAllowed } from '../core/access/index.ts';
import { Kind } from '../core/kinds.ts';
import { isoMoment } from '../core/proofs.ts';
import { namesOf, readRow } from '../core/records.ts';
import { isRefusal, type Refusal } from '../core/refusal.ts';
import type { DeliveryView } from '../effects/index.ts';
import { allEvents, eventsOf, findMark, type LedgerEvent, placedAt, signalsOf } from '../events.ts';
import { sha256Hex } from '../proof/digest.ts';
import { signedText } from '../render.ts';
import { type Call, callerOf, refuseDurable, rowOf, sendDurable, walk } from './call.ts';
import { checkSubmission } from './check.ts';
import { keysOf, openBody } from './door.ts';
import { refuse } from './errors.ts';
import { type HeldReply, LONG_BYTES_MIN } from './long-answers.ts';
import { entersFor, readableRow, whyNot } from './may.ts';
import { parseQuery } from './query.ts';
import { sendList, through, walkList } from './reads.ts';
import type { Reply } from './request.ts';
import { SIGNALS } from './schema-kinds.ts';
import type { Write } from './submit.ts';
import type { Standing } from './walks.ts';

// ---------------------------------------------------------------- events of a ledger

/**
 * A position: a sequence number; perhaps, of the entry after it, the number of the first event that was not told yet;
 * and, in what an answer gave, the mark of the last entry it told of.
 */
export const AFTER = /^(\d{1,15})(?:\.(\d{1,9}))?(?:-([\da-f]{8}))?$/;

/** Of a page that is full: whoever asks goes on after it. */
const FULL_BYTES = 4 * 1024 * 1024;

interface Wish {
  /** Entries up to this sequence number are passed by, and of the next one events before this number. */
  after: number;
  from: number;
  /** What stood there when the client was told; null where that is not said. */
  mark: string | null;
  limit: number;
  /** Which signal; all where it is empty. */
  signal: string;
  /** How long to wait for the first event, milliseconds. */
  waitMs: number;
}

/** `GET /events?after=<seq>&wait=<seconds>&signal=<signal>&page.limit=<n>`: the ledger's events, oldest first. */
export function listEvents(call: Call): void {
  const wish = wishOf(call);
  if (isRefusal(wish)) return refuseDurable(call, wish);
  if (!entersFor(call, Kind.effect)) return;
  const end = call.house.state.log.length;
  // Whoever goes on from books that had more would not be told what comes here in their place.
  if (wish.after > end || (wish.after === end && wish.from > 0))
    return refuseDurable(call, refuse('api.query-malformed', beyond(wish.after, end)));
  if (wish.mark === null) return new EventPage(call, wish).begin();
  withMark(call, wish.after, wish.from, (mark) => {
    if (mark === wish.mark) new EventPage(call, wish).begin();
    else refuseDurable(call, refuse('api.query-malformed', otherBooks(wish.after)));
  });
}

/** A page of events on its way through the books, in slices, until there is something to tell or the time is over. */
class EventPage {
  readonly #wish: Wish;
  /** The answer itself, and the call with the one that counts what is made for it. */
  readonly #reply: Reply;
  readonly #held: HeldReply;
  readonly #call: Call;
  /** When looking through the books is over, and waiting for more of them, as `performance.now()` tells it. */
  readonly #end: number;
  readonly #giveUp: number;
  readonly #texts: string[] = [];
  #bytes = 0;
  #seq: number;
  /** Of the entry after it: events keep their numbers, whichever of them are asked for and may be read. */
  #from: number;
  /**
   * Its events from there on, each made when its turn comes: there may be thousands, each with a large intent in it.
   */
  #next: Iterator<LedgerEvent, void, void> | null = null;
  /** Whether it takes room that others wait for. */
  #isMade = false;
  /** There is none for the next event, which makes this a long answer, or a longer one. */
  #lacksRoom = false;

  constructor(call: Call, wish: Wish) {
    this.#wish = wish;
    this.#reply = call.reply;
    this.#held = call.house.longAnswers.hold(call.reply, 0);
    this.#call = { ...call, reply: this.#held };
    this.#end = performance.now() + call.house.listMsMax;
    this.#giveUp = performance.now() + wish.waitMs;
    this.#seq = wish.after;
    this.#from = wish.from;
  }

  begin(): void {
    walk(this.#call, this.#slice);
  }

  readonly #slice = (pause: number): boolean => {
    const { log } = this.#call.house.state;
    while (this.#seq < log.length && this.#mayGoOn() && performance.now() < pause) this.#tellNext();
    const isThrough = this.#seq >= log.length;
    const isOver = performance.now() >= (isThrough ? this.#giveUp : this.#end) || this.#call.house.waiters.isEnded;
    if (this.#isFull() || (isThrough && this.#texts.length > 0) || isOver) this.#send();
    else if (isThrough) this.#waitForMore();
    else if (!this.#isMade && this.#bytes >= LONG_BYTES_MIN) {
      this.#isMade = true;
      walk(this.#call, this.#slice, undefined, 'made');
    } else return false;
    return true;
  };

  #mayGoOn(): boolean {
    return !this.#isFull() && (!this.#lacksRoom || this.#call.house.longAnswers.hasRoom);
  }

  #isFull(): boolean {
    const count = this.#texts.length;
    return count >= this.#wish.limit || this.#bytes >= FULL_BYTES || (this.#lacksRoom && count > 0);
  }

  /** Tells of the next event, or goes on to the next entry where there is none left. */
  #tellNext(): void {
    this.#lacksRoom = false;
    this.#next ??= eventsAt(this.#call, this.#seq + 1, this.#wish.signal, this.#from);
    const { value: event, done } = this.#next.next();
    if (done !== true) {
      if (mayReadAll(this.#call, event)) this.#add(event, this.#call.house.effects.eventTexts.of(event));
      else this.#from = event.index + 1;
      return;
    }
    this.#seq++;
    this.#from = 0;
    this.#next = null;
  }

  #add({ index }: LedgerEvent, text: string): void {
    const more = Buffer.byteLength(text);
    this.#lacksRoom = this.#bytes + more >= LONG_BYTES_MIN && !this.#call.house.longAnswers.hasRoom;
    if (this.#lacksRoom) {
      // It is made again once there is some, or for whoever asks for what comes after this page.
      this.#next = null;
      return;
    }
    this.#from = index + 1;
    this.#texts.push(`${text.slice(0, -1)},"seq":${this.#seq + 1}}`);
    this.#bytes += more;
    this.#held.grow(more);
  }

  #send(): void {
    const [seq, from] = [this.#seq, this.#from];
    const goOn = (mark: string) => {
      const place = from === 0 ? seq : `${seq}.${from}`;
      const after = mark === '' ? place : `${place}-${mark}`;
      sendList(this.#call, this.#texts, { after, limit: this.#wish.limit });
    };
    withMark(this.#call, seq, from, goOn, this.#bytes < LONG_BYTES_MIN ? 'fresh' : 'made');
  }

  #waitForMore(): void {
    const { house, ledger, request } = this.#call;
    const more = (passed: number) => {
      if (passed > this.#seq) this.#from = 0;
      this.#seq = passed;
      walk(this.#call, this.#slice);
    };
    const { row } = house.state.ledgers[ledger]!;
    const { luid } = namesOf(house.state, row);
    const concern = { ledger, luid, signal: this.#wish.signal, seq: this.#seq };
    this.#reply.sort = 'wait';
    request.forgetHead();
    this.#reply.whenGone(house.waiters.watchLog(this.#giveUp - performance.now(), concern, more));
  }
}

function wishOf({ house, request }: Call): Wish | Refusal {
  const query = parseQuery(request.query, null, house.pageLimitMax);
  if (isRefusal(query)) return query;
  const given = new URLSearchParams(request.query ?? '');
  const strange = strangeIn(given, query.page.index);
  if (strange !== null) return refuse('api.query-malformed', strange);
  const [after, wait] = [given.get('after') ?? '0', given.get('wait') ?? '0'];
  const [, seq, from = '0', mark = null] = AFTER.exec(after) ?? [];
  if (seq === undefined)
    return refuse('api.query-malformed', 'after must be what an answer gave, or a sequence number');
  if (!/^\d{1,9}$/.test(wait)) return refuse('api.query-malformed', 'wait must be a number of seconds');
  const waitMs = Math.min(Number(wait), house.preferWaitSecondsMax) * 1000;
  const asked = given.get('signal') ?? '';
  // Not as it was asked for: that is a piece of all that was.
  const signal = asked === '' ? '' : SIGNALS.find((each) => each === asked);
  // Whoever misspells one would wait for ever.
  if (signal === undefined) return refuse('api.query-malformed', 'there is no such signal');
  return { after: Number(seq), from: Number(from), mark, limit: query.page.limit, signal, waitMs };
}

/** What is asked otherwise than events can be asked for, and would be passed by; or null. */
function strangeIn(given: URLSearchParams, index: number): string | null {
  // Of two signals one was told, and what is to be asked on from stood behind the events of the other.
  const twice = ['after', 'wait', 'signal'].find((name) => given.getAll(name).length > 1);
  if (twice !== undefined) return `${twice} may be given once`;
  const isOther = (name: string) => /^(?:after|wait|signal)[.[]|^sort(?:$|[.[])/.test(name);
  if ([...given.keys()].some(isOther)) return 'events come oldest first, by after, wait and signal';
  return index === 0 ? null : 'events go on by after, and have no page.index';
}

function beyond(after: number, end: number): string {
  return `after ${after} is beyond the end of these books, which is ${end}: it is of other ones, or they are older than they were`;
}

function otherBooks(after: number): string {
  return `after ${after} is of other books: these have another entry there. They went on from an older copy, so some of what was told is not in them, and some of what is in them was not told`;
}

/** Goes on with the mark of the last entry of which whoever stands at this position was told anything. */
function withMark(
  call: Call,
  seq: number,
  from: number,
  goOn: (mark: string) => void,
  standing: Standing = 'fresh',
): void {
  walk(call, through(findMark(call.house.state, from === 0 ? seq : seq + 1), goOn), undefined, standing);
}

/** The events of an entry, from a number on, that belong to this ledger. */
function eventsAt({ house: { state }, ledger }: Call, seq: number, signal: string, from: number) {
  const placed = placedAt(state, seq, ledger);
  if (placed === null || placed.ledger !== ledger) return NO_EVENTS.values();
  if (signal === '') return allEvents(state, placed, from);
  return signalsOf(placed.entry).includes(signal) ? eventsOf(state, placed, signal, from) : NO_EVENTS.values();
}

const NO_EVENTS: readonly LedgerEvent[] = [];

/** Whether an event shows only records that this caller may read. */
function mayReadAll(call: Call, { rows }: LedgerEvent): boolean {
  const { state } = call.house;
  const caller = callerOf(call, []);
  return rows.every((row) => {
    const kind = state.rows.kind.get(row);
    return isAllowed(state, state.rows.ledger.get(row), 'read', kind, row, caller);
  });
}

// ---------------------------------------------------------------- deliveries of an effect

/** `GET /effects/{id}/events`: what became of its events, newest first where nobody asks for the oldest. */
export function listDeliveries(call: Call): void {
  const { house, request } = call;
  const row = readableRow(call, 'query-event');
  if (row < 0) return;
  const query = parseQuery(request.query, null, house.pageLimitMax);
  if (isRefusal(query)) return refuseDurable(call, query);
  const { index, limit } = query.page;
  const { handle } = readRow(house.state, row).entry;
  const stretch = { order: query.order, skip: index * limit, max: limit };
  const tell = (views: readonly DeliveryView[]) => {
    // A walk may outlast a rule.
    if (readableRow(call, 'query-event') < 0) return;
    // Whoever may ask for events may not therefore read what they are about: these rows only name them.
    const items = views.map((view) => deliveryText(view, handle));
    sendList(call, items, { index, limit });
  };
  walkList(call, through(house.effects.deliveries(row, stretch), tell));
}

function deliveryText({ luid, event, status, attempts, detail, moment }: DeliveryView, effect: string): string {
  const why = detail === '' ? '' : `"detail":${JSON.stringify(detail)},`;
  const told = `"effect":"${effect}","event":"${event.handle}","seq":${event.seq},"signal":"${event.signal}"`;
  const data = `{"attempts":${attempts},${why}${told}}`;
  const meta = `{"moment":"${isoMoment(moment)}","status":"${status}"}`;
  return `{"data":${data},"hash":"${sha256Hex(data)}","luid":"${luid}","meta":${meta}}`;
}

// ---------------------------------------------------------------- trying again

/** `POST /effects/{id}/events/retry`: what waits goes now, what was given up is tried again. */
export function retryEvents(call: Call): Write | Refusal | null {
  return act(call, 'retry-event', (row) => call.house.effects.retry(row));
}

/** `POST /bridges/{id}/activate`: the same for everything that goes to a bridge. */
export function activateBridge(call: Call): Write | Refusal | null {
  return act(call, 'activate', (row) => call.house.effects.activate(row));
}

/** Does something that changes no record, for whom it is allowed: by a token, or by signatures on `{action}`. */
function act(call: Call, action: AccessAction, work: (row: number) => void): Write | Refusal | null {
  const { house, route } = call;
  const row = rowOf(call);
  const accept = (keys: readonly Uint8Array[]): void => {
    const refusal = whyNot(call, action, row, callerOf(call, keys));
    if (refusal !== null) return refuseDurable(call, refusal);
    work(row);
    const { handle, luid } = readRow(house.state, row).entry;
    const data = `{"handle":"${handle}","luid":"${luid}"}`;
    sendDurable(call, () => call.reply.send(202, signedText(data, house.engine.now(), house.sealer)));
  };
  if (isSilent(call.body)) {
    accept([]);
    return null;
  }
  const content = openBody(house, route.kind, 'check', call.body);
  if (isRefusal(content)) return content;
  if (content.value.action !== action) return refuse('record.invalid', `The action is not ${action}`);
  const keys = keysOf(content);
  return { submission: checkSubmission(call, callerOf(call, keys), content), done: () => accept(keys) };
}

/** Nothing is said: no body, or the empty object of clients that always send one. */
function isSilent(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return body === undefined;
  return !Array.isArray(body) && Object.keys(body).length === 0;
}
