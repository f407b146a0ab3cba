/**
 * Calls to bridges about the legs of intents: which are due, and what becomes of them. What they say is leg-call.ts.
 *
 * What is to be said follows from the books alone: each leg that an entry marks as preparing, committing or aborting
 * has a call due, with the intent as it was right after that entry. So a call has the same body whenever it is made,
 * and after a restart the calls of all open intents are simply due again. A bridge that takes a call reports by a proof
 * on the intent; only what no report can tell (that a failed leg heard of the abort, that a bridge cannot be reached)
 * is noted by the server itself.
 *
 * A call that was taken and never reported on is due as long as its leg waits for it: it goes again after a restart,
 * and when somebody says that the bridge is there again.
 */
import type { Note } from '../core/command.ts';
import {
  type Entry,
  EntryType,
  type Outcome as IntentOutcome,
  LEG_STATES,
  type LegState,
  MARK_WIDTH,
} from '../core/entry.ts';
import { findLuid } from '../core/finding.ts';
import { legsOf } from '../core/intents.ts';
import { Kind } from '../core/kinds.ts';
import { isCalling } from '../core/legs.ts';
import { recordAt } from '../core/past.ts';
import { entryAt, readRow } from '../core/records.ts';
import type { State } from '../core/state.ts';
import { LongMap, near } from '../memory/index.ts';
import type { Sealer } from '../proof/sealer.ts';
import type { Job, Lanes, Outcome } from './lanes.ts';
import { type Due, LegCalls } from './leg-call.ts';
import type { OutgoingCall } from './outgoing.ts';
import { inSlices, WokenWalks } from './slices.ts';
import type { Timers } from './timers.ts';

interface CallsOptions {
  state: State;
  sealer: Sealer;
  lanes: Lanes;
  timers: Timers;
  /** Calls of one bridge at a time. */
  parallelMax: number;
  /** Sequence number of the last entry on disk. */
  seq: number;
  note: (note: Note) => void;
}

const DETAIL_MAX = 200;

export class Calls {
  readonly #options: CallsOptions;
  readonly #legCalls: LegCalls;
  /** Calls on their way, or waiting to be tried again: all that a bridge takes part in, while it is away. */
  readonly #queued = new LongMap<number, true>(near);
  /** Address of the last entry on disk: the state may be ahead of it, and nobody may hear of that yet. */
  #durable: number;
  /** For the intents of bridges that are there again. */
  readonly #woken = new WokenWalks((woken, done) => this.#resume((bridge) => woken.has(bridge), done));

  constructor(options: CallsOptions) {
    this.#options = options;
    const { state, sealer } = options;
    const { log } = state;
    this.#legCalls = new LegCalls(state, sealer);
    let { seq } = options;
    while (seq > 0 && log.get(seq - 1) === 0) seq--;
    this.#durable = seq === 0 ? 0 : log.get(seq - 1);
  }

  /** Takes up what was due when the server stopped. */
  start(): void {
    this.#resume(() => true);
  }

  /** Takes an entry that is on disk, and lies at `address`, 0 for one that is not kept; all of them in order. */
  publish(entry: Entry, address: number): void {
    if (address !== 0) this.#durable = address;
    // It may have another address by now, at which nobody has failed yet.
    if (entry.type === EntryType.update && entry.kind === Kind.bridge) this.#options.lanes.wake(laneOf(entry.row));
    if (entry.type !== EntryType.intent && entry.type !== EntryType.step) return;
    const { links } = entry.outcome;
    if (links === undefined || links.marks.length === 0) return;
    const { state } = this.#options;
    const row = entry.type === EntryType.step ? entry.row : findLuid(state, entry.ledger, Kind.intent, entry.luid);
    const legs = legsOf(recordAt(state, row, address));
    for (const { leg, to } of marksOf(entry.outcome)) {
      if (isCalling(to)) this.#add({ row, leg, state: to, address, bridge: legs[leg]!.bridge });
    }
  }

  /** The bridge is there again: what waits for it goes now, and all it has not reported on is asked again. */
  wake(bridge: number): void {
    this.#options.lanes.wake(laneOf(bridge));
    this.#woken.wake(bridge);
  }

  /** Makes what is due to these bridges, and not on its way, due again. */
  #resume(wanted: (bridge: number) => boolean, done = () => {}): void {
    const { state, timers } = this.#options;
    const resumeIntent = (row: number) => {
      for (const due of outstanding(state, row)) {
        // What is not on the disk yet is due when it is.
        if (wanted(due.bridge) && due.address <= this.#durable) this.#add(due);
      }
    };
    inSlices(timers, state.open.withLegsAt(wanted), resumeIntent, done);
  }

  #add(due: Due): void {
    const { lanes, parallelMax, state } = this.#options;
    const name = nameOf(due);
    if (this.#queued.has(name)) return;
    this.#queued.set(name, true);
    const key = keyOf(due);
    const job: Job = {
      key,
      receiver: due.bridge,
      make: () => this.#make(due),
      settled: (outcome, _, lastError) => this.#settled(due, outcome, lastError),
    };
    lanes.add(laneOf(due.bridge), parallelMax, job, `bridges of ${state.rows.ledger.get(due.bridge)}`);
    // What the leg waited for before may wait for its next attempt, and keep this one waiting.
    lanes.wake(laneOf(due.bridge), key);
  }

  #make(due: Due): OutgoingCall | null {
    let call: OutgoingCall | null = null;
    try {
      if (isDue(this.#options.state, due)) call = this.#legCalls.of(due);
      return call;
    } finally {
      if (call === null) this.#queued.delete(nameOf(due));
    }
  }

  #settled(due: Due, outcome: Outcome, lastError: string | null): void {
    const { state, note } = this.#options;
    this.#queued.delete(nameOf(due));
    if (!isDue(state, due)) return;
    const { ledger, luid } = readRow(state, due.row).entry;
    const leg = { op: 'leg', kind: Kind.intent, ledger, luid, leg: due.leg, state: due.state } as const;
    // A leg that failed by its own word holds nothing: it need only have heard, or have no ear for it.
    if (due.state === 'dismissing' && outcome !== 'gaveUp') {
      note({ ...leg, result: 'told', detail: '' });
    } else if (outcome !== 'delivered' && !isNotedLost(state, due)) {
      const detail = `The bridge could not be called: ${lastError ?? 'no answer'}`.slice(0, DETAIL_MAX);
      note({ ...leg, result: 'lost', detail });
    }
  }
}

/** More than an intent has legs: two for each of 100 000 claims at most. */
const LEGS_MAX = 2 ** 18;
/** More than there are states of a leg. */
const STATES_MAX = 16;

/**
 * Of a leg: its intent's row, and in the fraction which of its legs it is. So those of intents near each other are
 * near.
 */
function keyOf({ row, leg }: Pick<Due, 'row' | 'leg'>): number {
  return row + leg / LEGS_MAX;
}

/**
 * Of a call: its leg's key, and in the rest of the fraction what is asked of it. There are less than 2 ** 31 rows, so
 * all have room.
 */
function nameOf(due: Due): number {
  return keyOf(due) + LEG_STATES.indexOf(due.state) / (LEGS_MAX * STATES_MAX);
}

function laneOf(bridge: number): string {
  return `bridge ${bridge}`;
}

/** Whether the leg still waits for this very call. */
function isDue(state: State, { row, leg, state: wanted }: Due): boolean {
  return LEG_STATES[state.open.get(row)?.legs[leg] ?? 0] === wanted;
}

function marksOf({ links }: IntentOutcome): { leg: number; to: LegState }[] {
  const marks = links?.marks ?? [];
  const found = [];
  for (let i = 0; i < marks.length; i += MARK_WIDTH) found.push({ leg: marks[i]!, to: LEG_STATES[marks[i + 1]!]! });
  return found;
}

/**
 * Whether the intent says already that this very call was given up: once is enough, or who activates a dead bridge
 * again and again fills the books.
 */
function isNotedLost(state: State, { row, leg, address }: Due): boolean {
  for (let at = state.rows.at.get(row); at !== address && at !== 0; at = state.heap.prev(at)) {
    const entry = entryAt(state, at);
    if (entry.type === EntryType.step && entry.outcome.links?.leg === leg) return true;
  }
  return false;
}

/** The calls that an open intent waits for, each with the entry that asked for it. */
function outstanding(state: State, row: number): Due[] {
  const legs = legsOf(readRow(state, row));
  const waiting = new Map<number, LegState>();
  for (const [leg, number] of state.open.get(row)!.legs.entries()) {
    if (isCalling(LEG_STATES[number]!)) waiting.set(leg, LEG_STATES[number]!);
  }
  const due: Due[] = [];
  for (let at = state.rows.at.get(row); at !== 0 && waiting.size > 0; at = state.heap.prev(at)) {
    const entry = entryAt(state, at);
    if (!('outcome' in entry)) continue;
    for (const { leg, to } of marksOf(entry.outcome)) {
      if (waiting.get(leg) !== to) continue;
      waiting.delete(leg);
      due.push({ row, leg, state: to, address: at, bridge: legs[leg]!.bridge });
    }
  }
  return due.reverse();
}
