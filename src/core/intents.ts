/**
 * The life of an intent: how far it comes at once, and what moves it on later (a proof it waits for, a command while
 * it is prepared, its time). Decides only; every answer is an Outcome for the journal.
 *
 *     pending ──▶ prepared ──▶ committed ──▶ completed
 *        └──────────┴──▶ (failed) aborted ──▶ rejected
 */
import { type Caller, GRANTED, isGranted } from './access/index.ts';
import type { Claim } from './claims/index.ts';
import { clear, WAITING } from './clearing.ts';
import type { CreateCommand } from './command.ts';
import { EntryType, type IntentEntry, type Outcome, type StepEntry, statusAfter } from './entry.ts';
import { Kind } from './kinds.ts';
import { isRefusal, type Refusal, refuse } from './refusal.ts';
import { dataOf, type OpenIntent, type RecordView, readRow, type State, type VersionEntry } from './state.ts';

export interface IntentData {
  claims: Claim[];
  config?: { commit?: 'auto' | 'manual' };
}

/** A new intent with its first outcome. A rejected one is an entry too. */
export function beginIntent(state: State, command: CreateCommand, handle: string, now: number): IntentEntry {
  const { ledger, kind, luid, moment, hash, data, proofs, seal, caller } = command;
  const outcome = attempt(state, ledger, command.value as unknown as IntentData, caller, moment, now);
  // The thread is named after the intent that begins it.
  const thread = luid.slice(5);
  return { type: EntryType.intent, ledger, kind, luid, handle, moment, hash, data, proofs, seal, thread, outcome };
}

/** What a new proof moves: a waiting intent it completes, or a prepared one it commits or aborts. Null: nothing. */
export function stepByProof(
  state: State,
  record: RecordView,
  key: Uint8Array,
  custom: string | null,
  caller: Caller,
  now: number,
): StepEntry | null {
  const open = state.open.get(record.row);
  if (open === undefined) return null;
  if (open.isPrepared) {
    const action = commandOf(custom);
    if (action === null) return null;
    // In the books of those who decide again, the caller stands for whoever was allowed.
    const by = caller === GRANTED ? caller : { ...caller, keys: [key] };
    if (!isGranted(state, open.ledger, action, Kind.intent, record.row, by)) return null;
    return stepEntry(record, open, endOf(record, action, now));
  }
  const keys = [...record.entry.proofs.map((proof) => proof.public), key];
  for (const entry of record.added) if (entry.type === EntryType.proof) keys.push(entry.proof.public);
  const data = dataOf(record.entry) as unknown as IntentData;
  const by = caller === GRANTED ? caller : { ...caller, keys };
  const outcome = attempt(state, open.ledger, data, by, open.moment, now);
  return outcome.steps.length === 0 ? null : stepEntry(record, open, outcome);
}

/** The ends of all intents that have waited too long, as of `now`; each may be applied before the next is asked for. */
export function* stepsDue(state: State, now: number): Generator<StepEntry> {
  for (const [row, open] of state.open) {
    const minutes = expiryMinutes(state, open.ledger);
    if (open.isPrepared || now - open.moment <= minutes * 60_000) continue;
    const expired = refuse('core.intent-expired', `The intent has been pending for more than ${minutes} minutes`);
    yield stepEntry(readRow(state, row), open, failure(expired, now));
  }
}

/** How long an intent of this ledger may be pending; for ever where its config does not say. */
function expiryMinutes(state: State, ledger: number): number {
  const minutes = state.ledgers[ledger]!.config['intent.expiryThresholdMinutes'];
  return typeof minutes === 'number' ? minutes : Number.POSITIVE_INFINITY;
}

/** Clears the claims and says how far that brings the intent. */
function attempt(
  state: State,
  ledger: number,
  { claims, config }: IntentData,
  caller: Caller,
  moment: number,
  now: number,
): Outcome {
  const cleared = clear(state, ledger, claims, caller, moment);
  if (cleared === WAITING) return { moment: now, steps: [], reason: '', detail: '', postings: [], limits: [] };
  if (isRefusal(cleared)) return failure(cleared, now);
  const steps: Outcome['steps'] = config?.commit === 'manual' ? ['prepared'] : ['prepared', 'committed', 'completed'];
  return { moment: now, steps, reason: '', detail: '', ...cleared };
}

function failure({ reason, detail }: Refusal, now: number): Outcome {
  return { moment: now, steps: ['failed', 'aborted', 'rejected'], reason, detail, postings: [], limits: [] };
}

/** The end of a prepared intent: its hold, moved for good or given back. */
function endOf(record: RecordView, action: 'commit' | 'abort', now: number): Outcome {
  const { postings, limits } = heldBy(record);
  const steps: Outcome['steps'] = action === 'commit' ? ['committed', 'completed'] : ['aborted', 'rejected'];
  return { moment: now, steps, reason: '', detail: '', postings, limits: action === 'commit' ? limits : [] };
}

/** The outcome that prepared an intent. */
function heldBy(record: RecordView): Outcome {
  const outcomes = [record.entry as VersionEntry | StepEntry, ...record.added].flatMap((entry) =>
    'outcome' in entry ? [entry.outcome] : [],
  );
  return outcomes.findLast((outcome) => statusAfter(outcome) === 'prepared')!;
}

function stepEntry({ entry, row }: RecordView, { ledger }: OpenIntent, outcome: Outcome): StepEntry {
  const { luid, handle } = entry;
  return { type: EntryType.step, ledger, kind: Kind.intent, luid, handle, moment: outcome.moment, row, outcome };
}

/** What a proof asks of a prepared intent; the status it would give is accepted for the action itself. */
function commandOf(custom: string | null): 'commit' | 'abort' | null {
  if (custom === null) return null;
  const { action, status } = JSON.parse(custom) as { action?: unknown; status?: unknown };
  if (action === 'commit' || status === 'committed') return 'commit';
  return action === 'abort' || status === 'aborted' ? 'abort' : null;
}
