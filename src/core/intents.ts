/**
 * The life of an intent: how far it comes at once, and what moves it on later (a proof it waits for, what a bridge
 * reports, a command while it is prepared, its time). What proofs say to it stands in consent.ts. Decides only; every
 * answer is an Outcome for the journal.
 *
 *     pending ──▶ prepared ──▶ committed ──▶ completed
 *        └──────────┴──▶ (failed) aborted ──▶ rejected
 *
 * A pending intent waits for a permission, with nothing set aside, or for the bridges of its legs, with everything set
 * aside. Committed and aborted ones wait only for bridges to say that they have done the same.
 */
import { type Caller, GRANTED, isGranted, isGrantedAll } from './access/index.ts';
import { equalBytes, includesBytes } from './bytes.ts';
import { type Attempt, brings, clear, WAITING } from './clearing.ts';
import type { CreateCommand, LegCommand, ProofCommand } from './command.ts';
import {
  askingKeys,
  commandOf,
  isConsent,
  isRefusing,
  REPORTS,
  type Words,
  wasConsent,
  willingIn,
  wordsOf,
} from './consent.ts';
import { type FirstWaiting, Queue } from './due-ledgers.ts';
import {
  EntryType,
  type IntentEntry,
  LEG_STATES,
  type Leg,
  type LegState,
  links,
  luidOfThread,
  type Outcome,
  Side,
  type StepEntry,
  type StoredProof,
  statusAfter,
  threadOf,
} from './entry.ts';
import { findLuid } from './finding.ts';
import { Kind } from './kinds.ts';
import { asksFirst, legIndex, marksOf, type Report, reported, undoing } from './legs.ts';
import { ownText } from './own-text.ts';
import { dataOf, type RecordView, readRow, type Version } from './records.ts';
import { isRefusal, type Refusal, refuse } from './refusal.ts';
import { briefOf, drawUp, sheetOf } from './sheet.ts';
import type { OpenIntent, State } from './state.ts';

/** A new intent with its first outcome. A rejected one is an entry too. */
export function beginIntent(state: State, command: CreateCommand, now: number): IntentEntry {
  const { ledger, kind, luid, moment, hash, data, proofs, seal, caller } = command;
  const sheet = sheetOf(state, command);
  const { handle } = sheet;
  const willing = willingOf(state, ledger, caller, proofs);
  const outcome = attempt(state, { ledger, sheet, content: command, caller: willing, moment, company: null }, now);
  const thread = threadOf(luid);
  return { type: EntryType.intent, ledger, kind, luid, handle, moment, hash, data, proofs, seal, thread, outcome };
}

/** What a new proof moves: an intent that waits for it, or for this report, or a prepared one. Null: nothing. */
export function stepByProof(
  state: State,
  record: RecordView,
  command: ProofCommand,
  now: number,
): StepEntry | Refusal | null {
  const open = state.open.get(record.row);
  if (open === undefined) return null;
  const step = moveByProof(state, record, open, command, now);
  if (step === null || isRefusal(step) || !isOverdue(state, open, now)) return step;
  // What comes when time is over comes too late, also where nobody has looked what is due, as after a long stop. By
  // older rules it still counted.
  return isDecidedAgain(command) ? step : expire(state, record, open, now);
}

/**
 * Whether the books are being decided again: only then is everything granted to the caller, since it is not known any
 * more by whom it was allowed. What an earlier build took for a consent, or for in time, counts then.
 */
function isDecidedAgain({ caller }: ProofCommand): boolean {
  return caller === GRANTED;
}

function moveByProof(
  state: State,
  record: RecordView,
  open: OpenIntent,
  command: ProofCommand,
  now: number,
): StepEntry | Refusal | null {
  const { proof, caller } = command;
  const { public: key, custom } = proof;
  const words = wordsOf(custom);
  const leg = legOf(record, open, words.handle);
  if (leg >= 0) return stepByReport(state, record, open, leg, words, caller, now);
  if (open.status === 'prepared' || (open.status === 'pending' && open.isHolding)) {
    const action = commandOf(words);
    if (action === null || !isCommanded(state, record, open, action, caller)) return null;
    if (open.status === 'prepared') {
      if (action === 'abort') return stepEntry(record, open, undo(record, open, null, now));
      if (isThreadReady(state, open)) return stepEntry(record, open, commit(record, now));
    }
    // Kept it would be lost, for the same word again moves nothing. By older rules it was; a thread that waits for
    // nobody's word goes on without it.
    return isDecidedAgain(command) || !isManualThread(state, record, open) ? null : TOO_EARLY;
  }
  const isAsking = isConsent(words) || (isDecidedAgain(command) && wasConsent(words));
  if (open.status !== 'pending' || !isAsking) return null;
  // In the books of those who decide again, the caller stands for whoever was allowed.
  const all = caller === GRANTED ? caller : { ...caller, keys: askingKeys(record, key) };
  const outcome = attempt(state, anew(state, record, open, all), now);
  return outcome.steps.length === 0 && outcome.links === undefined ? null : stepEntry(record, open, outcome);
}

/** A waiting intent as it is tried again. */
function anew(state: State, { entry }: RecordView, { ledger, moment }: OpenIntent, caller: Caller): Attempt {
  const content = { value: dataOf(entry), data: entry.data };
  return { ledger, sheet: drawUp(state, ledger, briefOf(content.value)), content, caller, moment, company: null };
}

/**
 * What this proof says of a permission that the intent waits for: `yes` brings one that is missing; `no` takes one back
 * that is needed beside those of the others; null: neither, or nothing new.
 */
export function wordAwaited(
  state: State,
  record: RecordView,
  { public: key, custom }: StoredProof,
): 'yes' | 'no' | null {
  const open = state.open.get(record.row);
  if (open === undefined || open.status !== 'pending' || open.isHolding) return null;
  const words = wordsOf(custom);
  const asking = askingKeys(record, null);
  const isTakenBack = includesBytes(asking, key);
  if (isTakenBack ? !isRefusing(words) : !isConsent(words)) return null;
  const keys = asking.filter((other) => !equalBytes(other, key));
  const isNeeded = brings(state, anew(state, record, open, { keys, bearer: null }), { keys: [key], bearer: null });
  if (!isNeeded) return null;
  return isTakenBack ? 'no' : 'yes';
}

/**
 * Whether the caller may command this. What one intent of a thread is told holds for all, so the right is asked for at
 * the one that began it as well: those that follow are of the server's making, and a policy may look at what they do
 * not say.
 */
function isCommanded(
  state: State,
  { row }: RecordView,
  { ledger, thread }: OpenIntent,
  action: 'commit' | 'abort',
  by: Caller,
): boolean {
  const may = (intent: number) => isGranted(state, ledger, action, Kind.intent, intent, by);
  return may(row) && (thread === '' || may(findLuid(state, ledger, Kind.intent, luidOfThread(thread))));
}

/** The caller with the keys of those alone who ask for the intent; where nobody's permission is needed, as it is. */
function willingOf(state: State, ledger: number, caller: Caller, proofs: readonly StoredProof[]): Caller {
  if (isGrantedAll(state, ledger, caller)) return caller;
  const willing = willingIn(proofs);
  const keys = caller.keys.filter((key) => includesBytes(willing, key));
  return { ...caller, keys };
}

/**
 * The ends of all intents that have waited too long, as of `now`, in the order in which those came; each may be applied
 * before the next is asked for. Millions may wait where nothing expires, or behind one that is too young, in very many
 * ledgers: none of those is looked at.
 */
export function* stepsDue(state: State, now: number): Generator<StepEntry> {
  const { open } = state;
  open.due.look(now, (ledger) => firstWaiting(state, ledger));
  const walks = new Map<number, Iterator<number, void>>();
  /** By the next row of each. */
  const ledgers = new Queue();
  for (;;) {
    while (open.due.leastRow < ledgers.least) {
      const ledger = open.due.take();
      const rows = open.pendingIn(ledger);
      walks.set(ledger, rows);
      const row = nextDue(state, rows, now);
      if (row >= 0) ledgers.push(row, ledger);
    }
    if (ledgers.size === 0) return;
    const row = ledgers.least;
    const ledger = ledgers.take();
    // What was applied meanwhile may have ended it.
    const intent = open.get(row);
    if (intent?.status === 'pending') yield expire(state, readRow(state, row), intent, now);
    const next = nextDue(state, walks.get(ledger)!, now);
    if (next >= 0) ledgers.push(next, ledger);
  }
}

/** The first of a ledger's pending intents; null where there is none, or where none ever expires. */
function firstWaiting(state: State, ledger: number): FirstWaiting | null {
  const { open } = state;
  const minutes = expiryMinutes(state, ledger);
  if (minutes === Number.POSITIVE_INFINITY) return null;
  const { done, value: row } = open.pendingIn(ledger).next();
  return done === true ? null : { row, end: open.get(row)!.moment + minutes * 60_000 };
}

/** The next of a ledger's pending intents, if it is due. What follows one that is too young is younger still. */
function nextDue(state: State, rows: Iterator<number, void>, now: number): number {
  const { done, value: row } = rows.next();
  return done !== true && isOverdue(state, state.open.get(row)!, now) ? row : -1;
}

function isOverdue(state: State, { ledger, moment, status }: OpenIntent, now: number): boolean {
  return status === 'pending' && now - moment > expiryMinutes(state, ledger) * 60_000;
}

function expire(state: State, record: RecordView, open: OpenIntent, now: number): StepEntry {
  const minutes = expiryMinutes(state, open.ledger);
  const expired = refuse('core.intent-expired', `The intent has been pending for more than ${minutes} minutes`);
  return stepEntry(record, open, undo(record, open, expired, now));
}

/** How long an intent of this ledger may be pending; for ever where its config does not say. */
function expiryMinutes(state: State, ledger: number): number {
  const minutes = state.ledgers[ledger]!.config['intent.expiryThresholdMinutes'];
  return typeof minutes === 'number' ? minutes : Number.POSITIVE_INFINITY;
}

// ---------------------------------------------------------------- outcomes

/** Clears the claims and says how far that brings the intent. */
export function attempt(state: State, intent: Attempt, now: number): Outcome {
  const cleared = clear(state, intent);
  if (cleared === WAITING) return nothing(now);
  if (isRefusal(cleared)) return failure(cleared, now);
  const { postings, limits, legs, forwards, routed, through } = cleared;
  const outcome: Outcome = { moment: now, steps: [], reason: '', detail: '', postings, limits };
  const isLinked = legs.length + forwards.length + routed.length + through.length > 0;
  if (isLinked) outcome.links = links({ legs, marks: asksFirst(legs), forwards, routed, through });
  if (legs.length > 0) return outcome;
  // An intent that others of its thread depend on, or it on them, goes on together with them.
  const isAlone = intent.company === null && forwards.length === 0 && !intent.sheet.isManual;
  outcome.steps = isAlone ? ['prepared', 'committed', 'completed'] : ['prepared'];
  return outcome;
}

function nothing(now: number): Outcome {
  return { moment: now, steps: [], reason: '', detail: '', postings: [], limits: [] };
}

function failure({ reason, detail }: Refusal, now: number): Outcome {
  return { ...nothing(now), steps: ['failed', 'aborted', 'rejected'], reason, detail };
}

/** A prepared intent happens: what was set aside moves for good, and bridges are told. */
export function commit(record: RecordView, now: number): Outcome {
  const { postings, limits, links: held } = heldBy(record)!;
  const outcome: Outcome = { ...nothing(now), steps: ['committed'], postings, limits };
  const legs = held?.legs ?? [];
  const through = held?.through ?? [];
  if (legs.length === 0) outcome.steps.push('completed');
  const marks = marksOf(legs, () => 'committing');
  if (marks.length + through.length > 0) outcome.links = links({ marks, through });
  return outcome;
}

/** An intent does not happen: what was set aside is given back, and the bridges that were asked are told. */
export function undo(
  record: RecordView,
  open: OpenIntent,
  why: Refusal | null,
  now: number,
  { failId = '', states = statesOf(open) }: { failId?: string; states?: readonly LegState[] } = {},
): Outcome {
  const held = open.isHolding ? heldBy(record) : undefined;
  const marks = undoing(held?.links?.legs ?? [], states);
  const through = held?.links?.through ?? [];
  const outcome: Outcome = { ...nothing(now), steps: why === null ? ['aborted'] : ['failed', 'aborted'] };
  if (why !== null) {
    outcome.reason = why.reason;
    outcome.detail = why.detail;
  }
  outcome.postings = held?.postings ?? [];
  if (marks.length === 0) outcome.steps.push('rejected');
  if (marks.length + through.length + failId.length > 0) outcome.links = links({ marks, through, failId });
  return outcome;
}

/** The outcome that set an intent's postings aside. */
export function heldBy({ entry, added }: Version): Outcome | undefined {
  return 'outcome' in entry && holds(entry.outcome) ? entry.outcome : added.find(isHolding)?.outcome;
}

/** How many of an intent's entries came after the one that set its postings aside. */
export function countSinceHeld({ entry, added }: Version): number {
  if ('outcome' in entry && holds(entry.outcome)) return added.length;
  return added.length - 1 - added.findIndex(isHolding);
}

function isHolding(added: Version['added'][number]): added is StepEntry {
  return added.type === EntryType.step && holds(added.outcome);
}

function holds(outcome: Outcome): boolean {
  return statusAfter(outcome) === 'prepared' || (outcome.links?.legs.length ?? 0) > 0;
}

export function stepEntry({ entry, row }: RecordView, { ledger }: OpenIntent, outcome: Outcome): StepEntry {
  const { luid, handle } = entry;
  return { type: EntryType.step, ledger, kind: Kind.intent, luid, handle, moment: outcome.moment, row, outcome };
}

const TOO_EARLY = refuse(
  'record.invalid',
  'The intent, or another one of its thread, is not prepared yet: this can be said once all of them are',
);

/** Whether the thread is committed when somebody says so: the intent that began it says that. */
function isManualThread(state: State, record: RecordView, { ledger, thread }: OpenIntent): boolean {
  return isManual(thread === '' ? record : readRow(state, findLuid(state, ledger, Kind.intent, luidOfThread(thread))));
}

/** Whether the intent rests at prepared until somebody commits or aborts it. */
export function isManual({ entry }: Version): boolean {
  const { config } = dataOf(entry) as { config?: { commit?: unknown } };
  return config?.commit === 'manual';
}

/** Whether all intents of its thread are prepared. */
function isThreadReady({ open, threads }: State, { thread }: OpenIntent): boolean {
  return (threads.get(thread) ?? []).every((row) => open.get(row)!.status === 'prepared');
}

// ---------------------------------------------------------------- bridges

/** The legs of an intent, where any was asked. */
export function legsOf(version: Version): readonly Leg[] {
  return heldBy(version)?.links?.legs ?? [];
}

function statesOf({ legs }: OpenIntent): LegState[] {
  return legs.map((state) => LEG_STATES[state]!);
}

/** The number of the leg a proof speaks of, or -1. */
function legOf(record: RecordView, open: OpenIntent, handle: unknown): number {
  if (open.legs.length === 0 || typeof handle !== 'string') return -1;
  return legIndex(record.entry.luid, legsOf(record), handle);
}

/** A bridge speaks through whoever may activate it. */
function stepByReport(
  state: State,
  record: RecordView,
  open: OpenIntent,
  index: number,
  { status, reason, detail }: Words,
  by: Caller,
  now: number,
): StepEntry | Refusal | null {
  if (!REPORTS.includes(status)) return null;
  const { bridge } = legsOf(record)[index]!;
  if (!isGranted(state, open.ledger, 'activate', Kind.bridge, bridge, by)) {
    return refuse('auth.forbidden', 'Only who may activate a bridge reports for it');
  }
  const why = { failId: textOf(reason), detail: textOf(detail) };
  const outcome = moveLeg(record, open, index, status as Report, why, now);
  return outcome === null ? null : stepEntry(record, open, outcome);
}

/** What the server notes by itself of a call to a bridge: that it need not be made again, or that it cannot be made. */
export function stepByCall(state: State, record: RecordView, command: LegCommand, now: number): StepEntry | null {
  const open = state.open.get(record.row);
  if (open === undefined || LEG_STATES[open.legs[command.leg] ?? 0] !== command.state) return null;
  if (command.result === 'told') {
    const outcome = moveLeg(record, open, command.leg, 'told', { failId: '', detail: '' }, now);
    return outcome === null ? null : stepEntry(record, open, outcome);
  }
  const outcome: Outcome = { ...nothing(now), steps: ['error'], reason: 'core.bridge-unreachable' };
  return stepEntry(record, open, { ...outcome, detail: command.detail, links: links({ leg: command.leg }) });
}

/** What a report makes of its leg, and that of the intent. Null: nothing. */
function moveLeg(
  record: RecordView,
  open: OpenIntent,
  index: number,
  report: Report,
  why: { failId: string; detail: string },
  now: number,
): Outcome | null {
  const states = statesOf(open);
  const next = reported(states[index]!, report);
  if (next === null) return null;
  states[index] = next;
  const marks = [index, LEG_STATES.indexOf(next)];
  const all = (...wanted: LegState[]) => states.every((state) => wanted.includes(state));
  const go = (steps: Outcome['steps'], more: number[] = []): Outcome => {
    return { ...nothing(now), steps, links: links({ marks: [...marks, ...more] }) };
  };
  if (open.status === 'committed') return go(all('committed') ? ['completed'] : []);
  if (open.status === 'aborted') return go(all('idle', 'aborted') ? ['rejected'] : []);
  const legs = legsOf(record);
  if (next === 'failed') {
    const failed = refuse('core.bridge-prepare-failed', why.detail);
    return undo(record, open, failed, now, { failId: why.failId, states });
  }
  if (all('prepared')) return go(['prepared']);
  const isReady = legs.every((leg, at) => leg.side === Side.credit || states[at] === 'prepared');
  // Once the last debit is ready, the credits are asked; a credit that is ready after it asks nothing again.
  return go([], isReady ? marksOf(legs, (_, at) => (states[at] === 'idle' ? 'preparing' : null)) : []);
}

const WORDS_MAX = 1000;

/** Half a pair, sent so or cut so: no bytes of UTF-8 can hold one, so what is decided must not have it either. */
const HALVES = /\p{Surrogate}/gu;

function textOf(value: unknown): string {
  return typeof value === 'string' ? ownText(value.slice(0, WORDS_MAX).replace(HALVES, '\ufffd')) : '';
}
