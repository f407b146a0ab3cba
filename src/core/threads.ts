/**
 * Threads: intents that happen together or not at all. A route that forwards money makes one more intent of the thread,
 * by the server itself, once the one before is prepared; the intent that began the thread says when all are committed.
 */
import { GRANTED } from './access/index.ts';
import type { Company } from './clearing.ts';
import {
  CHANGE,
  type Entry,
  EntryType,
  type IntentEntry,
  luidOfThread,
  POSTING_WIDTH,
  type StepEntry,
  threadOf,
  throughAt,
} from './entry.ts';
import { findHandle, findLuid } from './finding.ts';
import { attempt, commit, heldBy, isManual, stepEntry, undo } from './intents.ts';
import { Kind } from './kinds.ts';
import { dataOf, intentIn, namesOf, type RecordView, readRow } from './records.ts';
import { type Refusal, refuse } from './refusal.ts';
import { briefOf, drawUp } from './sheet.ts';
import { DROPPED, type State } from './state.ts';

/** Intents of one thread. */
const THREAD_INTENTS_MAX = 10;

/** A record that the server itself makes and signs, complete but for what is decided about it. */
export type OwnIntent = Pick<IntentEntry, 'luid' | 'handle' | 'hash' | 'data' | 'proofs' | 'seal'>;

/** Makes an intent of the server's own of this data, which lacks its handle only. */
export type MakeIntent = (value: Record<string, unknown>, moment: number) => OwnIntent;

/** When the command came that this follows from, when it is decided, and who makes what it needs. */
interface Following {
  received: number;
  now: number;
  makeIntent: MakeIntent;
}

const NOTHING: readonly Entry[] = [];

/** What follows from an entry that has just been applied; each is to be applied before the next is asked for. */
export function follow(state: State, entry: Entry, following: Following): Iterable<Entry> {
  if (entry.type !== EntryType.intent && entry.type !== EntryType.step) return NOTHING;
  const { steps } = entry.outcome;
  // Most intents come to their end alone and at once.
  if (entry.type === EntryType.intent && entry.outcome.links === undefined) return NOTHING;
  return steps.length === 0 ? NOTHING : consequences(state, entry, following);
}

function* consequences(state: State, entry: IntentEntry | StepEntry, following: Following): Generator<Entry> {
  const { thread } = intentIn(readRow(state, rowOf(state, entry)));
  const failed = yield* forward(state, entry, following);
  yield* settle(state, failed ?? entry, thread, following);
}

function rowOf(state: State, entry: IntentEntry | StepEntry): number {
  return entry.type === EntryType.step ? entry.row : findLuid(state, entry.ledger, Kind.intent, entry.luid);
}

/** Makes the intents that a prepared one needs, and theirs; returns the one that could not be, if any. */
function* forward(
  state: State,
  entry: IntentEntry | StepEntry,
  following: Following,
): Generator<Entry, IntentEntry | StepEntry | null> {
  if (!entry.outcome.steps.includes('prepared')) return null;
  const row = rowOf(state, entry);
  const open = state.open.get(row);
  const parent = readRow(state, row);
  const forwards = heldBy(parent)?.links?.forwards ?? [];
  if (open?.status !== 'prepared') return null;
  for (const { wallet, symbol, amount, target } of forwards) {
    const why = crowded(state, parent) ?? gone(state, wallet);
    if (why !== null) {
      const last = stepEntry(parent, open, undo(parent, open, why, following.now));
      yield last;
      return last;
    }
    const named = (record: number) => ({ handle: namesOf(state, record).handle });
    const ends = { source: named(wallet), target: { handle: target }, symbol: named(symbol) };
    const claims = [{ action: 'transfer', amount, ...ends }];
    const child = begin(state, parent, wallet, open.ledger, claims, following);
    yield child;
    if (child.outcome.steps.includes('rejected')) return child;
    const failed = yield* forward(state, child, following);
    if (failed !== null) return failed;
  }
  return null;
}

function crowded({ threads }: State, intent: RecordView): Refusal | null {
  const { thread } = intentIn(intent);
  if ((threads.get(thread)?.length ?? 1) < THREAD_INTENTS_MAX) return null;
  return refuse('core.thread-size-exceeded', `A thread has at most ${THREAD_INTENTS_MAX} intents`);
}

/** A wallet that was dropped while the intent waited passes nothing on, nor does whoever its name means now. */
function gone(state: State, wallet: number): Refusal | null {
  if ((state.rows.flags.get(wallet) & DROPPED) === 0) return null;
  const { handle } = namesOf(state, wallet);
  return refuse('core.routing-failed', `Wallet ${handle}, which was to pass money on, does not exist any more`);
}

/** An intent of the server's own, for a wallet's owner who said in its routes that money goes on. */
function begin(
  state: State,
  parent: RecordView,
  wallet: number,
  ledger: number,
  claims: readonly object[],
  { received, now, makeIntent }: Following,
): IntentEntry {
  const { thread, handle } = intentIn(parent);
  const own = makeIntent({ claims, origin: handle }, received);
  const content = { value: dataOf(own), data: own.data };
  const sheet = drawUp(state, ledger, briefOf(content.value));
  const company = companyOf(state, parent, wallet);
  const outcome = attempt(state, { ledger, sheet, content, caller: GRANTED, moment: received, company }, now);
  return { type: EntryType.intent, ledger, kind: Kind.intent, moment: received, thread, outcome, ...own };
}

/**
 * What the intents of a thread bring along to the next one, by which this wallet passes on what the parent brought it.
 */
function companyOf(state: State, parent: RecordView, wallet: number): Company {
  const passedBy = new Set([wallet]);
  for (let at: RecordView | null = parent; at !== null; at = originOf(state, at)) {
    // Of its one claim the debit is posted first.
    if (isOwn(at)) passedBy.add(heldBy(at)!.postings[0]!);
  }
  const { thread } = intentIn(parent);
  const members = (state.threads.get(thread) ?? [parent.row]).map((row) => heldBy(readRow(state, row)));
  const brought = (wallet: number, symbol: number): number => {
    let sum = 0;
    for (const held of members) {
      if (held === undefined) continue;
      const { postings } = held;
      for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
        const isOf = postings[i] === wallet && postings[i + 1] === symbol;
        if (isOf) sum += Math.max(0, postings[i + CHANGE]!) - throughAt(held, i);
      }
    }
    return sum;
  };
  return { passedBy, brought };
}

/** Whether the server itself made it, so that a wallet passes on what came to it. */
function isOwn(intent: RecordView): boolean {
  const { thread, luid } = intentIn(intent);
  return thread !== threadOf(luid);
}

/** The intent of the same thread that this one follows from. */
function originOf(state: State, intent: RecordView): RecordView | null {
  if (!isOwn(intent)) return null;
  const entry = intentIn(intent);
  const row = findHandle(state, entry.ledger, Kind.intent, dataOf(entry).origin as string);
  return row < 0 ? null : readRow(state, row);
}

/** The thread goes where one of its intents went: all fail, all are committed, or all wait. */
function* settle(state: State, entry: IntentEntry | StepEntry, thread: string, { now }: Following): Generator<Entry> {
  const rows = state.threads.get(thread) ?? [findLuid(state, entry.ledger, Kind.intent, luidOfThread(thread))];
  const { steps, reason, detail } = entry.outcome;
  const others = function* (wanted: readonly string[]): Generator<RecordView> {
    for (const row of rows) if (wanted.includes(state.open.get(row)?.status ?? '')) yield readRow(state, row);
  };
  const openOf = ({ row }: RecordView) => state.open.get(row)!;
  if (steps.includes('aborted')) {
    const why = reason === '' ? null : refuse(reason, `Intent ${entry.handle} of the thread: ${detail}`);
    for (const record of others(['pending', 'prepared'])) {
      const open = openOf(record);
      yield stepEntry(record, open, undo(record, open, why, now));
    }
  } else if (steps.includes('committed') || (steps.includes('prepared') && isDue(state, rows))) {
    for (const record of others(['prepared'])) yield stepEntry(record, openOf(record), commit(record, now));
  }
}

/** Whether all of the thread are prepared, and the intent that began it waits for nobody's word. */
function isDue(state: State, rows: readonly number[]): boolean {
  if (!rows.every((row) => state.open.get(row)?.status === 'prepared')) return false;
  return !isManual(readRow(state, rows[0]!));
}
