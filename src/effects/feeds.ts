/**
 * Feeds: events on their way to those who asked for them, each effect in order, and bridges that want to hear how the
 * intents go on that they take part in.
 *
 * The books know how far each receiver has been told; what comes after is found in the log of entries, so nothing is
 * kept here that could be lost. A receiver that keeps up gets events as they come; one that does not has a short queue,
 * and the rest is looked up in the log, in slices, once the queue has room again. A receiver thus costs bounded memory
 * however slow it is, and every one hears at least once, in order, also after a restart.
 *
 * What an effect asks for is what its version of that time asked for, whenever its events are looked up: one that is
 * changed neither loses what waits for it nor hears what it did not ask for then.
 */
import type { Note } from '../core/command.ts';
import { type Condition, type Conditions, compileConditions } from '../core/conditions.ts';
import { type Entry, EntryType } from '../core/entry.ts';
import type { Stretch } from '../core/history.ts';
import { legsOf } from '../core/intents.ts';
import { Kind } from '../core/kinds.ts';
import { recordAt } from '../core/past.ts';
import { dataOf, namesOf, readRow } from '../core/records.ts';
import type { Feed, State } from '../core/state.ts';
import type { EventTexts } from '../event-texts.ts';
import { isWanted, type LedgerEvent, type Placed, placedAt, signalsOf } from '../events.ts';
import { LongMap, near, Recent } from '../memory/index.ts';
import type { Sealer } from '../proof/sealer.ts';
import { Places } from '../turns.ts';
import {
  type DeliveryView,
  deliveryLuid,
  failedOf,
  isOver,
  isSame,
  keyOf,
  listDeliveries,
  type Queued,
  type Tried,
} from './deliveries.ts';
import { eventCall } from './event-call.ts';
import { EventMemo } from './event-memo.ts';
import type { Job, Lanes, Outcome } from './lanes.ts';
import type { OutgoingCall } from './outgoing.ts';
import { ByKey, Companies, type Reader, type Readers } from './readers.ts';
import { inSlices, REST, WokenWalks } from './slices.ts';
import type { Timers } from './timers.ts';

export interface FeedsOptions {
  state: State;
  sealer: Sealer;
  eventTexts: EventTexts;
  lanes: Lanes;
  timers: Timers;
  /** Sequence number of the last entry on disk. */
  seq: number;
  /** See Engine.note. */
  note: (note: Note, done?: () => void) => void;
  defect: (error: Error) => void;
  /** Events queued for all receivers together. */
  queuedMax?: number;
}

/** Events queued for one receiver, while there is room for all; further ones are looked up when there is. */
const QUEUE_MAX = 256;
/**
 * And for all of them together, some fifty megabytes: half a kilobyte each. What finds no place is read from the log
 * later.
 */
const QUEUED_MAX = 100_000;
/**
 * Events are looked through in slices, so that nobody waits for longer: one intent may have thousands, for thousands of
 * effects.
 */
const SLICE_MS = 2;
const PAUSE_MS = 5;
const DETAIL_MAX = 200;
/**
 * Characters of the records whose filters are at hand. A filter may be a megabyte and there may be thousands: those
 * that were not used lately are read again when they are needed.
 */
const FILTERS_CHARS_MAX = 16_000_000;

/** An effect, or a bridge that is told of statuses. */
interface Receiver extends Reader {
  readonly row: number;
  readonly kind: Kind;
  readonly ledger: number;
  /** Address of the entry right after which its record asked for what counts for it now. */
  asked: number;
  /** On their way, in order. */
  readonly queue: Tried[];
  /**
   * Who is `live` gets events as they come, and stands nowhere; who is `reading` the log does so in a company; who is
   * `full` waits for its queue:
   *
   *     live, reading   has no room for an event             full
   *     live            is not through with an entry in time reading
   *     full            has room again                       reading
   *     reading         has come to the end of the log       live
   */
  mode: 'live' | 'reading' | 'full';
  /** All that were given up are tried again, and none was noted since: whoever asks again costs nothing. */
  isRetried: boolean;
  /** Of the entry at `from`, the first event that was not looked at; both tell where it stands that is not live. */
  index: number;
}

/** Where a receiver stands. */
type Place = { readonly mode: 'live' } | Stop;

/** The first event that it was not given: for want of time, so that it reads on there, or for want of room. */
interface Stop {
  readonly mode: 'reading' | 'full';
  readonly from: number;
  readonly index: number;
}

/** What an effect asks for, and how many characters its record has. */
interface Asked {
  readonly filter: readonly Condition[];
  readonly size: number;
}

export class Feeds {
  readonly #options: FeedsOptions;
  readonly #events: EventMemo;
  readonly #receivers = new LongMap<number, Receiver>(near);
  /** Of what is queued for all of them. */
  readonly #places: Places;
  /** Those of the books that were not taken up yet. */
  readonly #unopened = new LongMap<number, true>(near);
  /** By the row of the effect. */
  readonly #filters: Recent<number, Asked>;
  readonly #live = new ByKey<Receiver>();
  readonly #companies = new Companies<Receiver>();
  /** For the effects of bridges that are there again. */
  readonly #woken = new WokenWalks((woken, done) => this.#forEffectsOf(woken, (row) => this.retry(row), done));
  /** For those of bridges that have another address, say, or their first: what waits goes now. */
  readonly #moved = new WokenWalks((moved, done) => this.#forEffectsOf(moved, (row) => this.#wake(row), done));
  #seq: number;
  #isReading = false;
  #sliceMs = 0;

  constructor(options: FeedsOptions) {
    this.#options = options;
    const { cacheShare } = options.state;
    this.#events = new EventMemo(options.state);
    this.#filters = new Recent(FILTERS_CHARS_MAX * cacheShare, ({ size }) => size);
    this.#places = new Places(options.queuedMax ?? QUEUED_MAX * cacheShare, Number.POSITIVE_INFINITY);
    this.#seq = options.seq;
  }

  /** Takes up what was not delivered when the server stopped: of thousands of effects some at a time. */
  start(): void {
    const { state, timers } = this.#options;
    const feeds = [...state.feeds].sort(([, one], [, other]) => one.seq - other.seq);
    for (const [row] of feeds) if (!this.#receivers.has(row)) this.#unopened.set(row, true);
    const takeUp = ([row]: readonly [number, Feed]) => this.#takeUp(row);
    inSlices(timers, feeds.values(), takeUp, () => this.#read());
  }

  /** It hears all that it was not told of before, whatever has come since the start. */
  #takeUp(row: number): void {
    const feed = this.#options.state.feeds.get(row);
    if (this.#unopened.delete(row) && feed !== undefined) this.#open(row, 'reading', Math.max(feed.seq, 1));
  }

  /**
   * Takes an entry that is on disk, with its sequence number; all of them in order. Receivers that are not through with
   * its events at `end`, by the timers' clock, go on reading the log: there may be a thousand entries at once, each for
   * hundreds of effects.
   */
  publish(entry: Entry, seq: number, end: number): void {
    this.#seq = seq;
    if (entry.kind === Kind.effect || entry.kind === Kind.bridge) this.#changed(entry);
    if (this.#receivers.size > 0) this.#offer(entry, seq, end);
  }

  /** See listDeliveries. */
  *deliveries(row: number, stretch: Stretch): Generator<undefined, DeliveryView[]> {
    const underway = this.#receivers.get(row)?.queue ?? [];
    return yield* listDeliveries(this.#options.state, row, underway, stretch);
  }

  /** Entries since the oldest that is not told yet to somebody who is to hear of it, or was not looked at for him. */
  behind(): number {
    let oldest = this.#seq + 1;
    for (const { mode, from, queue } of this.#receivers.values()) {
      oldest = Math.min(oldest, queue[0]?.seq ?? (mode === 'live' ? oldest : from));
    }
    return this.#seq + 1 - oldest;
  }

  /** Tries again: what waits, and of what was given up and not delivered since as much as there is room for. */
  retry(row: number): void {
    this.#takeUp(row);
    const receiver = this.#receivers.get(row);
    if (receiver === undefined) return;
    if (!receiver.isRetried) this.#retryFailed(receiver);
    this.#wake(row);
  }

  #retryFailed(receiver: Receiver): void {
    const underway = new Set(receiver.queue.map(keyOf));
    for (const queued of failedOf(this.#options.state, receiver.row)) {
      if (!this.#places.hasRoom(receiver.ledger)) return;
      if (!underway.has(keyOf(queued))) this.#send(receiver, queued);
    }
    receiver.isRetried = true;
  }

  /** What waits goes now. */
  #wake(row: number): void {
    this.#options.lanes.wake(laneOf(row));
  }

  /** The same for a bridge's own feed, and for all effects whose events go to it. */
  retryBridge(bridge: number): void {
    this.retry(bridge);
    this.#woken.wake(bridge);
  }

  /**
   * Effects are looked through in slices: there may be very many, and who may activate a bridge may ask at any time.
   */
  #forEffectsOf(bridges: ReadonlySet<number>, visit: (row: number) => void, done: () => void): void {
    const { state, timers } = this.#options;
    const ledgers = new Set([...bridges].map((bridge) => state.rows.ledger.get(bridge)));
    const names = new Set([...bridges].map((bridge) => nameIn(state, bridge, namesOf(state, bridge).handle)));
    const visitEffect = (row: number) => {
      if (!ledgers.has(state.rows.ledger.get(row))) return;
      if (names.has(nameIn(state, row, bridgeOf(state, row)))) visit(row);
    };
    inSlices(timers, state.feeds.keys(), visitEffect, done);
  }

  // ---------------------------------------------------------------- receivers

  #changed(entry: Entry): void {
    const { state, lanes } = this.#options;
    if (entry.type === EntryType.delivery) return;
    const placed = placedAt(state, this.#seq);
    if (placed === null) return;
    const { row, address } = placed;
    // It may have another address by now, at which nobody has failed yet; one that is new, its first.
    const isBridge = entry.kind === Kind.bridge;
    if (entry.type === EntryType.update) this.#wake(row);
    if (isBridge && (entry.type === EntryType.update || entry.type === EntryType.create)) this.#moved.wake(row);
    this.#takeUp(row);
    const known = this.#receivers.get(row);
    if (!state.feeds.has(row)) {
      if (known === undefined) return;
      this.#leave(known);
      for (const _ of known.queue) this.#places.leave(known.ledger, 0);
      this.#receivers.delete(row);
      lanes.cancel(laneOf(row));
    } else if (known === undefined) {
      this.#open(row, 'live', this.#seq);
    } else if (entry.type === EntryType.update && known.mode === 'live') {
      this.#change(known, address);
    }
  }

  #open(row: number, mode: Receiver['mode'], from: number): void {
    const { rows, log } = this.#options.state;
    const kind = rows.kind.get(row);
    const place = { isRetried: false, mode, from, index: 0 };
    const receiver: Receiver = { row, kind, ledger: rows.ledger.get(row), key: '', asked: 0, queue: [], ...place };
    let seq = from;
    while (log.get(seq - 1) === 0) seq--;
    this.#ask(receiver, log.get(seq - 1));
    this.#receivers.set(row, receiver);
    this.#join(receiver);
  }

  /** What it asked for right after the entry at this address counts for it now. */
  #ask(receiver: Receiver, asked: number): void {
    const { row, kind, ledger } = receiver;
    const signal = kind === Kind.bridge ? 'intent-updated' : this.#wishOf(row, asked).signal;
    Object.assign(receiver, { key: `${ledger} ${signal}`, asked });
  }

  #wishOf(row: number, address: number): { signal: string; filter: readonly Condition[] } {
    const { entry } = recordAt(this.#options.state, row, address);
    const { signal, filter: conditions } = dataOf(entry) as { signal: string; filter?: Conditions };
    const filter = compileConditions(conditions);
    this.#filters.set(row, { filter, size: entry.data.length });
    return { signal, filter };
  }

  #filterOf({ row, asked }: Receiver): readonly Condition[] {
    return (this.#filters.get(row) ?? this.#wishOf(row, asked)).filter;
  }

  /** From the entry at this address on it asks for something else. */
  #change(receiver: Receiver, address: number): void {
    const change = () => this.#ask(receiver, address);
    if (receiver.mode === 'reading') return this.#companies.change(receiver, change);
    this.#leave(receiver);
    change();
    this.#join(receiver);
  }

  #join(receiver: Receiver): void {
    if (receiver.mode === 'live') this.#live.add(receiver);
    else if (receiver.mode === 'reading') this.#companies.add(receiver, this.#seq);
  }

  #leave(receiver: Receiver): void {
    this.#live.delete(receiver);
    this.#companies.delete(receiver);
  }

  /** Who goes on reading stays in the company it is in. */
  #move(receiver: Receiver, place: Place): void {
    const isStaying = receiver.mode === place.mode;
    if (!isStaying) this.#leave(receiver);
    Object.assign(receiver, place);
    if (!isStaying) this.#join(receiver);
  }

  // ---------------------------------------------------------------- events

  /**
   * Gives an entry's events to those who keep up and want them. Whoever is not through with them soon goes on reading.
   */
  #offer(entry: Entry, seq: number, end: number): void {
    const { timers } = this.#options;
    let placed: Placed | null | undefined;
    for (const signal of signalsOf(entry)) {
      // A ledger's own record is heard of in the ledger, the rest where it lives.
      if (entry.kind === Kind.ledger) placed ??= placedAt(this.#options.state, seq);
      const receivers = this.#live.get(`${placed?.ledger ?? entry.ledger} ${signal}`);
      if (receivers.length === 0) continue;
      placed ??= placedAt(this.#options.state, seq);
      if (placed === null) return;
      for (const receiver of receivers) {
        const isLate = timers.now() >= end;
        const stop: Stop | null = isLate
          ? { mode: 'reading', from: seq, index: 0 }
          : this.#give(receiver, placed, signal, 0, end);
        if (stop !== null) this.#move(receiver, stop);
      }
      this.#read();
    }
  }

  /**
   * Gives it the entry's events from the one with number `first` on; null where it is through with them. At least one
   * event is looked at.
   */
  #give(receiver: Receiver, placed: Placed, signal: string, first: number, end: number): Stop | null {
    const { state, timers } = this.#options;
    const told = state.feeds.get(receiver.row);
    if (told === undefined) return null;
    for (const event of this.#events.of(placed, signal)) {
      const { seq, index } = event;
      if (index < first || isOver(event, told)) continue;
      if (this.#wants(receiver, placed, event)) {
        if (receiver.queue.length >= this.#queueMaxOf(receiver)) return { mode: 'full', from: seq, index };
        this.#send(receiver, { seq, index });
      }
      if (timers.now() >= end) return { mode: 'reading', from: seq, index: index + 1 };
    }
    return null;
  }

  /** Where there is no room, all the same one each: nobody waits for others to be done. */
  #queueMaxOf({ ledger }: Receiver): number {
    return this.#places.hasRoom(ledger) ? QUEUE_MAX : 1;
  }

  #wants(receiver: Receiver, { entry, row, address }: Placed, event: LedgerEvent): boolean {
    const { state, sealer } = this.#options;
    if (receiver.kind === Kind.effect) return isWanted(event, this.#filterOf(receiver), sealer);
    // Most intents have no links, so no legs, and no bridge to hear of them.
    if (entry.type === EntryType.intent && entry.outcome.links === undefined) return false;
    return legsOf(recordAt(state, row, address)).some(({ bridge }) => bridge === receiver.row);
  }

  #send(receiver: Receiver, queued: Queued): void {
    const tried: Tried = { ...queued, attempts: 0, detail: '' };
    receiver.queue.push(tried);
    this.#places.take(receiver.ledger, 0);
    const { row, ledger } = receiver;
    const job: Job = {
      // One for all: they go one after the other.
      key: 0,
      receiver: row,
      make: () => this.#callOf(row, queued),
      failed(attempts, lastError) {
        tried.attempts = attempts;
        tried.detail = lastError.slice(0, DETAIL_MAX);
      },
      settled: (outcome, attempts, lastError) => this.#settled(row, queued, outcome, attempts, lastError),
    };
    // Events are no party with the calls that move money: of those, dead webhooks hold up none.
    this.#options.lanes.add(laneOf(row), 1, job, `events of ${ledger}`);
  }

  #callOf(row: number, { seq, index }: Queued): OutgoingCall | null {
    const { feeds } = this.#options.state;
    return feeds.has(row) ? eventCall(this.#options, row, this.#events.at(seq, index)) : null;
  }

  #settled(row: number, queued: Queued, outcome: Outcome, attempts: number, lastError: string | null): void {
    const { state, note } = this.#options;
    const receiver = this.#receivers.get(row);
    if (receiver === undefined || !state.feeds.has(row)) return;
    const { luid, ledger, kind } = readRow(state, row).entry;
    const isDelivered = outcome === 'delivered';
    const detail = isDelivered ? '' : (lastError ?? '').slice(0, DETAIL_MAX);
    const { seq, index } = queued;
    const event = { seq, index, attempts, isDelivered, detail };
    // Until the disk has the note, the event counts as on its way.
    note({ op: 'delivery', ledger, kind, luid: deliveryLuid(state, row, queued), receiver: luid, ...event }, () => {
      if (this.#receivers.get(row) !== receiver) return;
      const at = receiver.queue.findIndex((other) => isSame(other, queued));
      if (at >= 0) {
        receiver.queue.splice(at, 1);
        this.#places.leave(receiver.ledger, 0);
      }
      // Only now: as long as the disk had not the note, the event was on its way, and not tried again.
      receiver.isRetried = false;
      if (receiver.mode !== 'full' || receiver.queue.length >= this.#queueMaxOf(receiver) / 2) return;
      this.#move(receiver, { mode: 'reading', from: receiver.from, index: receiver.index });
      this.#read();
    });
  }

  // ---------------------------------------------------------------- catching up

  /** Reads the log for those who do not keep up, a slice at a time. */
  #read(): void {
    if (this.#isReading || this.#companies.count === 0) return;
    this.#isReading = true;
    const { timers } = this.#options;
    timers.after(Math.max(PAUSE_MS, REST * this.#sliceMs), () => {
      this.#isReading = false;
      const begun = timers.now();
      this.#readSlice();
      this.#sliceMs = timers.now() - begun;
      this.#read();
    });
  }

  /** Each company in turn; the one that comes last goes on first the next time. */
  #readSlice(): void {
    const { timers } = this.#options;
    const end = timers.now() + SLICE_MS;
    for (let left = this.#companies.count; left > 0 && this.#companies.count > 0; left--) {
      this.#readIn(this.#companies.next(), end);
      if (timers.now() >= end) return;
    }
  }

  #readIn(company: Readers<Receiver>, end: number): void {
    const { timers, defect } = this.#options;
    while (company.size > 0 && company.at <= this.#seq) {
      try {
        if (!this.#readEntry(company, end)) return;
      } catch (error) {
        defect(error as Error);
      }
      company.at++;
      if (timers.now() >= end) return;
    }
    // They have come to the end: so many may have that the last of them wait for the next slice, or read on before
    // that.
    for (const receiver of company.all()) {
      this.#move(receiver, { mode: 'live' });
      if (timers.now() >= end) return;
    }
  }

  /**
   * Gives the entry at its place to those of a company who wait for it, each once; false where time was over before
   * that.
   */
  #readEntry(company: Readers<Receiver>, end: number): boolean {
    const { state, timers } = this.#options;
    const seq = company.at;
    const placed = placedAt(state, seq);
    if (placed === null) return true;
    const { entry, row, ledger, address } = placed;
    const own = this.#receivers.get(row);
    const isHere = own !== undefined && own.from <= seq && this.#companies.isIn(company, own);
    if (isHere && entry.type === EntryType.update) this.#change(own, address);
    for (const signal of signalsOf(entry)) {
      for (const receiver of company.waitingFor(`${ledger} ${signal}`)) {
        const first = receiver.from === seq ? receiver.index : 0;
        const stop = this.#give(receiver, placed, signal, first, end);
        this.#move(receiver, stop ?? { mode: 'reading', from: seq + 1, index: 0 });
        if (timers.now() >= end) return false;
      }
    }
    return true;
  }
}

function laneOf(row: number): string {
  return `feed ${row}`;
}

/** A bridge as records in the ledger of `row` name it. */
function nameIn({ rows }: State, row: number, handle: string): string {
  return `${rows.ledger.get(row)} ${handle}`;
}

/** Handle of the bridge that an effect's events go to; empty where they go elsewhere. */
function bridgeOf(state: State, row: number): string {
  if (state.rows.kind.get(row) !== Kind.effect) return '';
  const { action } = dataOf(readRow(state, row).entry) as { action: { bridge?: string } };
  return action.bridge ?? '';
}
