/**
 * Calls to bridges about the legs of intents: prepare, commit, abort.
 *
 * What is to be said follows from the books alone: each leg that an entry marks as preparing, committing or aborting has
 * a call due, with the intent as it was right after that entry. So a call has the same body whenever it is made, and
 * after a restart the calls of all open intents are simply due again. A bridge that takes a call reports by a proof on
 * the intent; only what no report can tell (that a failed leg heard of the abort, that a bridge cannot be reached) is
 * noted by the server itself.
 *
 * A call that was taken and never reported on is due as long as its leg waits for it: it goes again after a restart, and
 * when somebody says that the bridge is there again.
 */
import { type Claim, objectOf } from '../core/claims/index.ts';
import type { LegCommand } from '../core/command.ts';
import {
  type Entry,
  EntryType,
  type Outcome as IntentOutcome,
  LEG_STATES,
  type Leg,
  type LegState,
  MARK_WIDTH,
  ROUTED_WIDTH,
  Side,
} from '../core/entry.ts';
import { findLuid } from '../core/finding.ts';
import { heldBy, legsOf } from '../core/intents.ts';
import { Kind } from '../core/kinds.ts';
import { isCalling, legHandle } from '../core/legs.ts';
import { ledgerAt, recordAt } from '../core/past.ts';
import { dataOf, entryAt, readRow, type Version } from '../core/records.ts';
import { DROPPED, type State } from '../core/state.ts';
import { canon } from '../proof/canon.ts';
import type { Sealer } from '../proof/sealer.ts';
import { outwardText, viewText } from '../render.ts';
import type { Job, Lanes, Outcome } from './lanes.ts';
import type { OutgoingCall } from './outgoing.ts';
import type { SecureRule } from './secure.ts';
import { inSlices, WokenWalks } from './slices.ts';
import type { Timers } from './timers.ts';

/** What the server notes by itself of a leg. */
export type LegNote = Pick<LegCommand, 'ledger' | 'luid' | 'leg' | 'state' | 'result' | 'detail'>;

export interface CallsOptions {
  state: State;
  sealer: Sealer;
  lanes: Lanes;
  timers: Timers;
  /** Calls of one bridge at a time. */
  parallelMax: number;
  /** Sequence number of the last entry on disk. */
  seq: number;
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
  /** Calls on their way, or waiting to be tried again. */
  readonly #queued = new Set<string>();
  /** Address of the last entry on disk: the state may be ahead of it, and nobody may hear of that yet. */
  #durable: number;
  /** For the intents of bridges that are there again. */
  readonly #woken = new WokenWalks((woken, done) => this.#resume((bridge) => woken.has(bridge), done));
  /** The intent that was told of last: it may have thousands of legs. */
  #told: Telling | null = null;

  constructor(options: CallsOptions) {
    this.#options = options;
    const { log } = options.state;
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
      if (!state.open.get(row)?.bridges.some(wanted)) return;
      for (const due of outstanding(state, row)) {
        // What is not on the disk yet is due when it is.
        if (wanted(due.bridge) && due.address <= this.#durable) this.#add(due);
      }
    };
    inSlices(timers, [...state.open.keys()], resumeIntent, done);
  }

  #add(due: Due): void {
    const { lanes, parallelMax, state } = this.#options;
    const name = nameOf(due);
    if (this.#queued.has(name)) return;
    this.#queued.add(name);
    const key = `${due.row} ${due.leg}`;
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
      if (isDue(this.#options.state, due)) call = this.#callOf(due);
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
    const { leg } = due;
    // A leg that failed by its own word holds nothing: it need only have heard, or have no ear for it.
    if (due.state === 'dismissing' && outcome !== 'gaveUp') {
      note({ ledger, luid, leg, state: due.state, result: 'told', detail: '' });
    } else if (outcome !== 'delivered') {
      const detail = `The bridge could not be called: ${lastError ?? 'no answer'}`.slice(0, DETAIL_MAX);
      note({ ledger, luid, leg, state: due.state, result: 'lost', detail });
    }
  }

  #callOf({ row, leg: index, state: at, address, bridge }: Due): OutgoingCall | null {
    const { state, sealer } = this.#options;
    const target = addressOf(state, bridge);
    if (target === null) return null;
    const { luid, legs, led, claims, moment, text } = this.#tellingOf(row, address);
    const leg = legs[index]!;
    const handle = legHandle(luid, leg, index);
    const path = leg.side === Side.debit ? 'debits' : 'credits';
    const data =
      at === 'preparing'
        ? prepareData(leg, handle, claims, led, (row) => recordAt(state, row, address).entry.handle, text)
        : `{"action":"${actionOf(at)}","handle":"${handle}","intent":${text}}`;
    const tail = at === 'preparing' ? '' : `/${handle}/${actionOf(at)}`;
    const body = outwardText(data, moment, ledgerAt(state, state.rows.ledger.get(row), address), sealer);
    return { method: 'POST', url: `${target.server}/${path}${tail}`, body, secure: target.secure };
  }

  /** The intent as it was right after the entry at this address. */
  #tellingOf(row: number, address: number): Telling {
    if (this.#told?.row === row && this.#told.address === address) return this.#told;
    const { state, sealer } = this.#options;
    const intent = recordAt(state, row, address);
    const { claims } = dataOf(intent.entry) as { claims: Claim[] };
    const because = entryAt(state, address);
    const moment = 'outcome' in because ? because.outcome.moment : because.moment;
    const { luid } = intent.entry;
    const led = ledIn(intent);
    this.#told = { row, address, luid, legs: legsOf(intent), led, claims, moment, text: viewText(intent, sealer) };
    return this.#told;
  }
}

/** What calls about the legs of one intent have in common. */
interface Telling {
  row: number;
  address: number;
  luid: string;
  legs: readonly Leg[];
  /** Sides of claims whose wallet is another than they name, see `sideOf`. */
  led: ReadonlySet<string>;
  claims: readonly Claim[];
  moment: number;
  text: string;
}

function sideOf(claim: number, side: Side): string {
  return `${claim} ${side}`;
}

/** The sides of an intent's claims that routes gave to other wallets. */
function ledIn(intent: Version): ReadonlySet<string> {
  const routed = heldBy(intent)?.links?.routed ?? [];
  const led = new Set<string>();
  for (let i = 0; i < routed.length; i += ROUTED_WIDTH) led.add(sideOf(routed[i]!, routed[i + 1] as Side));
  return led;
}

function nameOf({ row, leg, state }: Due): string {
  return `${row} ${leg} ${state}`;
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

function laneOf(bridge: number): string {
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
 * What a bridge is to prepare. Its own side is the wallet behind it, as the claims name it where all of them say the
 * same: what only some say, an account behind it above all, is not true of the whole amount. That is so whatever the
 * wallet's own handle is: a longer address stands for it, and it may have been renamed since. A claim that routes `led`
 * to it names another. The other side is left out where claims that share the leg name several. `handleIn` tells the
 * handle of the record in a row.
 */
function prepareData(
  leg: Leg,
  handle: string,
  claims: readonly Claim[],
  led: ReadonlySet<string>,
  handleIn: (row: number) => string,
  intent: string,
): string {
  const own = leg.side === Side.debit ? 'source' : 'target';
  const other = own === 'source' ? 'target' : 'source';
  const mine = leg.claims.map((index) => claims[index]!);
  const isNamed = !leg.claims.some((index) => led.has(sideOf(index, leg.side)));
  const members: Record<string, string> = {
    amount: String(leg.amount),
    handle: `"${handle}"`,
    inputs: JSON.stringify(leg.claims),
    intent,
    schema: leg.side === Side.debit ? '"debit"' : '"credit"',
    symbol: saidByAll(mine, 'symbol') || canon({ handle: handleIn(leg.symbol) }),
    [own]: (isNamed && saidByAll(mine, own)) || canon({ handle: handleIn(leg.wallet) }),
  };
  const others = saidByAll(mine, other);
  if (others !== '') members[other] = others;
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `"${name}":${members[name]}`).join(',')}}`;
}

/** What all of these claims say of a member, as canonical JSON; empty where they say nothing, or not the same. */
function saidByAll(claims: readonly Claim[], member: 'source' | 'target' | 'symbol'): string {
  const said = new Set(claims.map(({ [member]: one }) => (one === undefined ? '' : canon(objectOf(one)))));
  const [one] = said;
  return said.size === 1 ? one! : '';
}
