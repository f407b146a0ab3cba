/**
 * What became of a receiver's events, and what each delivery is called: those on their way as its queue has them, those
 * settled as the books do.
 */
import type { DeliveryEntry } from '../core/entry.ts';
import { fromNewest, type Stretch } from '../core/history.ts';
import { makeLuid } from '../core/luid.ts';
import { entryAt, namesOf } from '../core/records.ts';
import type { State } from '../core/state.ts';
import { eventNameAt, type LedgerEvent, placedAt } from '../events.ts';
import { sha256Hex } from '../proof/digest.ts';

/** An event for a receiver. */
export interface Queued {
  seq: number;
  index: number;
  /** Of one that was given up, and is tried again: the luid of the delivery before. */
  before?: string;
}

/** One on its way: how often it was tried in vain, and what the last attempt met with. */
export interface Tried extends Queued {
  attempts: number;
  detail: string;
}

/** A delivery as it is told to whoever asks. */
export interface DeliveryView {
  luid: string;
  event: Pick<LedgerEvent, 'handle' | 'signal' | 'seq'>;
  status: 'pending' | 'delivered' | 'failed';
  attempts: number;
  detail: string;
  moment: number;
}

/** Deliveries that a list passes by in one step. */
const PASSED_PER_STEP = 1000;

/**
 * What became of a receiver's events, newest first: those on their way, then those noted; or the other way round. In
 * steps: there may be very many to pass by, and what an event is called stands in an entry that may be large.
 */
export function* listDeliveries(
  state: State,
  row: number,
  underway: readonly Tried[],
  stretch: Stretch,
): Generator<undefined, DeliveryView[]> {
  const told = state.feeds.get(row);
  if (told === undefined) return [];
  const { last } = told;
  // What the books have noted already is told as they note it.
  const queue = underway.filter((queued) => !isOver(queued, told)).reverse();
  if (stretch.order === 'newest') return yield* newestOf(state, row, queue, last, stretch);
  let total = queue.length;
  for (let at = last; at !== 0; at = state.heap.prev(at)) if (++total % PASSED_PER_STEP === 0) yield;
  const views = yield* newestOf(state, row, queue, last, fromNewest(total, stretch));
  return views.reverse();
}

/** Of those on their way, the newest first, and of those noted up to `last`. */
function* newestOf(
  state: State,
  row: number,
  queue: readonly Tried[],
  last: number,
  { skip, max }: Stretch,
): Generator<undefined, DeliveryView[]> {
  const views: DeliveryView[] = [];
  const add = ({ seq, index }: Queued, rest: Omit<DeliveryView, 'event'>) => {
    views.push({ event: { ...eventNameAt(state, seq, index), seq }, ...rest });
  };
  for (const queued of queue.slice(skip, skip + max)) {
    const { moment } = placedAt(state, queued.seq)!.entry;
    const { attempts, detail } = queued;
    add(queued, { luid: deliveryLuid(state, row, queued), status: 'pending', attempts, detail, moment });
    yield;
  }
  // Those left out are passed by, not read.
  let left = Math.max(0, skip - queue.length);
  for (let at = last; at !== 0 && views.length < max; at = state.heap.prev(at)) {
    if (left > 0) {
      if (left-- % PASSED_PER_STEP === 0) yield;
      continue;
    }
    const { luid, seq, index, attempts, isDelivered, detail, moment } = entryAt(state, at) as DeliveryEntry;
    add({ seq, index }, { luid, status: isDelivered ? 'delivered' : 'failed', attempts, detail, moment });
    yield;
  }
  return views;
}

/**
 * A delivery's luid: it follows from the event, the receiver, and the second in which the event happened. Each round of
 * attempts is a delivery of its own.
 */
export function deliveryLuid(state: State, row: number, { seq, index, before }: Queued): string {
  const { moment } = placedAt(state, seq)!.entry;
  return luidOfDelivery(namesOf(state, row).luid, before ?? eventNameAt(state, seq, index).handle, moment);
}

/**
 * `of`: the handle of the event, or the luid of the delivery that was given up before; `moment` is of the event's
 * entry.
 */
export function luidOfDelivery(receiver: string, of: string, moment: number): string {
  return makeLuid('evd', moment, Buffer.from(sha256Hex(`${receiver} ${of}`), 'hex'));
}

/** How far back what was given up is looked for. */
const FAILED_MAX = 1000;

/** What was given up and not delivered since, oldest first. */
export function failedOf(state: State, row: number): Queued[] {
  const settled = new Set<string>();
  const failed: Queued[] = [];
  let left = FAILED_MAX;
  for (let at = state.feeds.get(row)?.last ?? 0; at !== 0 && left-- > 0; at = state.heap.prev(at)) {
    const { seq, index, isDelivered, luid } = entryAt(state, at) as DeliveryEntry;
    const key = keyOf({ seq, index });
    if (!settled.has(key) && !isDelivered) failed.push({ seq, index, before: luid });
    settled.add(key);
  }
  return failed.reverse();
}

/** Whether the books say that the event was taken, or given up. */
export function isOver({ seq, index }: Queued, told: Queued): boolean {
  return seq < told.seq || (seq === told.seq && index <= told.index);
}

export function keyOf({ seq, index }: Queued): string {
  return `${seq} ${index}`;
}

export function isSame(one: Queued, other: Queued): boolean {
  return one.seq === other.seq && one.index === other.index;
}
