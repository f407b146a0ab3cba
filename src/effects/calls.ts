/**
 * Calls to bridges about the legs of intents: prepare, commit, abort.
 *
 * What is to be said follows from the books alone: each leg that an entry marks as preparing, committing or aborting has
 * a call due, with the intent as it was right after that entry. So a call has the same body whenever it is made, and
 * after a restart the calls of all open intents are simply due again. A bridge that takes a call reports by a proof on
 * the intent; only what no report can tell (that a failed leg heard of the abort, that a bridge cannot be reached) is
 * noted by the server itself.
 */
import { type Claim, handleOf, type Reference } from '../core/claims/index.ts';
import type { LegCommand } from '../core/command.ts';
import {
  type Entry,
  EntryType,
  type Outcome as IntentOutcome,
  LEG_STATES,
  type Leg,
  type LegState,
  MARK_WIDTH,
  Side,
} from '../core/entry.ts';
import { legsOf } from '../core/intents.ts';
import { Kind } from '../core/kinds.ts';
import { isCalling, legHandle } from '../core/legs.ts';
import { recordAt } from '../core/past.ts';
import { DROPPED, dataOf, entryAt, findLuid, readRow, type State } from '../core/state.ts';
import { canon } from '../proof/canon.ts';
import type { Sealer } from '../proof/sealer.ts';
import { signedText, viewText } from '../render.ts';
import type { Lanes, Outcome } from './lanes.ts';
import type { OutgoingCall, SecureRule } from './outgoing.ts';

/** What the server notes by itself of a leg. */
export type LegNote = Pick<LegCommand, 'ledger' | 'luid' | 'leg' | 'state' | 'result' | 'detail'>;

export interface CallsOptions {
  state: State;
  sealer: Sealer;
  lanes: Lanes;
  /** Calls of one bridge at a time. */
  parallelMax: number;
  note: (note: LegNote) => void;
}

/** A call that is due: about leg `leg` of the intent in `row`, because of the entry at `address`. */
interface Due {
  row: number;
  leg: number;
  state: LegState;
  address: number;
  bridge: number;
}

const DETAIL_MAX = 200;

export class Calls {
  readonly #options: CallsOptions;
  /** Calls that were given up, by the row of their bridge, until somebody says that it is there again. */
  readonly #lost = new Map<number, Due[]>();

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  /** Takes up what was due when the server stopped. */
  start(): void {
    const { state } = this.#options;
    for (const [row, { legs }] of state.open) {
      if (!legs.some((leg) => isCalling(LEG_STATES[leg]!))) continue;
      for (const due of outstanding(state, row)) this.#add(due);
    }
  }

  /** Takes an entry that is on disk, and lies at `address`. */
  publish(entry: Entry, address: number): void {
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

  /** The bridge is there again: what waits for it goes now, and what was given up is tried again. */
  wake(bridge: number): void {
    const lost = this.#lost.get(bridge) ?? [];
    this.#lost.delete(bridge);
    for (const due of lost) this.#add(due);
    this.#options.lanes.wake(laneOf(bridge));
  }

  #add(due: Due): void {
    const { state, lanes, parallelMax } = this.#options;
    lanes.add(laneOf(due.bridge), parallelMax, {
      key: `${due.row} ${due.leg}`,
      make: () => (isDue(state, due) ? this.#callOf(due) : null),
      settled: (outcome, _, lastError) => this.#settled(due, outcome, lastError),
    });
  }

  #settled(due: Due, outcome: Outcome, lastError: string | null): void {
    const { state, note } = this.#options;
    if (!isDue(state, due)) return;
    const { ledger, luid } = readRow(state, due.row).entry;
    const { leg } = due;
    // A leg that failed by its own word holds nothing: it need only have heard, or have no ear for it.
    if (due.state === 'dismissing' && outcome !== 'gaveUp') {
      note({ ledger, luid, leg, state: due.state, result: 'told', detail: '' });
    } else if (outcome !== 'delivered') {
      const lost = this.#lost.get(due.bridge);
      if (lost === undefined) this.#lost.set(due.bridge, [due]);
      else lost.push(due);
      const detail = `The bridge could not be called: ${lastError ?? 'no answer'}`.slice(0, DETAIL_MAX);
      note({ ledger, luid, leg, state: due.state, result: 'lost', detail });
    }
  }

  #callOf({ row, leg: index, state: at, address, bridge }: Due): OutgoingCall | null {
    const { state, sealer } = this.#options;
    const intent = recordAt(state, row, address);
    const leg = legsOf(intent)[index]!;
    const { luid } = intent.entry;
    const handle = legHandle(luid, leg, index);
    const text = viewText(intent, sealer);
    const path = leg.side === Side.debit ? 'debits' : 'credits';
    const target = addressOf(state, bridge);
    if (target === null) return null;
    const because = entryAt(state, address);
    const moment = 'outcome' in because ? because.outcome.moment : because.moment;
    const { claims } = dataOf(intent.entry) as { claims: Claim[] };
    const data =
      at === 'preparing'
        ? prepareData(leg, handle, claims, recordAt(state, leg.wallet, address).entry.handle, text)
        : `{"action":"${actionOf(at)}","handle":"${handle}","intent":${text}}`;
    const tail = at === 'preparing' ? '' : `/${handle}/${actionOf(at)}`;
    const body = signedText(data, moment, sealer);
    return { method: 'POST', url: `${target.server}/${path}${tail}`, body, secure: target.secure };
  }
}

/** Where and how a bridge is called now; null where it is no more. */
export function addressOf(state: State, bridge: number): { server: string; secure: SecureRule[] } | null {
  if ((state.rows.flags.get(bridge) & DROPPED) !== 0) return null;
  const { config, secure } = dataOf(readRow(state, bridge).entry) as {
    config: { server: string };
    secure?: SecureRule[];
  };
  return { server: config.server.replace(/\/+$/, ''), secure: secure ?? [] };
}

export function laneOf(bridge: number): string {
  return `bridge ${bridge}`;
}

function actionOf(state: LegState): 'commit' | 'abort' {
  return state === 'committing' ? 'commit' : 'abort';
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

/**
 * What a bridge is to prepare. Its own side is the wallet behind it; the other is as the claims name it, and left out
 * where claims that share the leg name several.
 */
function prepareData(leg: Leg, handle: string, claims: readonly Claim[], wallet: string, intent: string): string {
  const own = leg.side === Side.debit ? 'source' : 'target';
  const other = own === 'source' ? 'target' : 'source';
  const mine = leg.claims.map((index) => claims[index]!);
  const members: Record<string, string> = {
    amount: String(leg.amount),
    handle: `"${handle}"`,
    inputs: JSON.stringify(leg.claims),
    intent,
    schema: leg.side === Side.debit ? '"debit"' : '"credit"',
    symbol: canon(objectOf(mine[0]!.symbol)),
  };
  const said = mine[0]![own];
  const isNamed = said !== undefined && handleOf(said) === wallet;
  members[own] = canon(isNamed ? objectOf(said) : { handle: wallet });
  const others = new Set(mine.map((claim) => (claim[other] === undefined ? '' : canon(objectOf(claim[other])))));
  const [one] = others;
  if (others.size === 1 && one !== undefined && one !== '') members[other] = one;
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `"${name}":${members[name]}`).join(',')}}`;
}

function objectOf(reference: Reference): object {
  return typeof reference === 'string' ? { handle: reference } : reference;
}
