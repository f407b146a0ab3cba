/**
 * How intents go on, as the rules have it: claims, routes and bridges come to what is moved, waits for whom, and follows
 * from what. The other half of the model; it changes records and money through the first half.
 *
 *     pending ──▶ prepared ──▶ committed ──▶ completed      pending waits for a permission, or for bridges
 *        └──────────┴──▶ (failed) aborted ──▶ rejected      committed and aborted wait for bridges to say so
 */
import type { Claim } from '../../src/core/claims/index.ts';
import type { KindName } from '../../src/core/kinds.ts';
import { canon } from '../../src/proof/canon.ts';
import {
  addNet,
  type Counted,
  handleIn,
  type LimitSet,
  type Money,
  type Named,
  type Net,
  namedIn,
} from '../core/model.ts';
import type { Fact, Given, Rec } from './model.ts';
import { type Content, contentOf, SERVER } from './wish.ts';

type Stage = 'pending' | 'prepared' | 'committed' | 'aborted' | 'final';

export const LEG_STATES = [
  'idle',
  'preparing',
  'prepared',
  'committing',
  'committed',
  'aborting',
  'aborted',
  'failed',
  'dismissing',
] as const;
export type LegState = (typeof LEG_STATES)[number];

/** A debit or credit that a bank takes part in. Records are known by their luids. */
export interface Leg {
  readonly side: 'debit' | 'credit';
  readonly bridge: string;
  readonly wallet: string;
  readonly symbol: string;
  readonly amount: number;
  readonly claims: readonly number[];
}

/** Money that its target passes on, by another intent of the thread. */
interface Forward {
  readonly claim: number;
  readonly wallet: string;
  readonly symbol: string;
  readonly amount: number;
  readonly target: string;
}

/** Whom a claim brings money, and which. */
export interface Credit {
  readonly wallet: string;
  readonly symbol: string;
}

/** What an intent came to when it was cleared. */
interface Cleared {
  readonly nets: readonly Net[];
  readonly limits: readonly LimitSet[];
  readonly legs: readonly Leg[];
  readonly forwards: readonly Forward[];
  /** Claim, side and wallet of what a route gave to another wallet. */
  readonly routed: readonly string[];
}

/** What an intent is about beyond its content. */
export interface Progress extends Cleared {
  readonly stage: Stage;
  /** Its money is set aside. */
  readonly isHolding: boolean;
  /** When it was received; those that came first expire first. */
  readonly received: number;
  readonly order: number;
  /** Luid of the intent that began its thread. */
  readonly thread: string;
  /** Luid of the intent that it follows from, or ''. */
  readonly origin: string;
  /** By claim. */
  readonly credits: ReadonlyMap<number, Credit>;
  readonly counted: readonly Counted[];
  readonly states: readonly LegState[];
}

/** How far an intent came at once, as the journal must tell it. */
export interface Ending extends Cleared {
  readonly steps: readonly string[];
  readonly reason: string;
  /** Leg and its new state. */
  readonly marks: readonly (readonly [number, LegState])[];
  /** Which leg an error speaks of, or -1. */
  readonly leg: number;
}

const NOTHING: Ending = {
  steps: [],
  reason: '',
  nets: [],
  limits: [],
  legs: [],
  forwards: [],
  routed: [],
  marks: [],
  leg: -1,
};
const THREAD_MAX = 10;
const HOPS_MAX = 3;

interface Route {
  action: 'forward' | 'accept' | 'debit' | 'credit';
  target?: string;
  filter?: Record<string, unknown>;
}

/** What claims come to. */
interface Plan {
  readonly nets: Net[];
  readonly limits: LimitSet[];
  readonly legs: Leg[];
  readonly forwards: Forward[];
  readonly routed: string[];
  readonly credits: Map<number, Credit>;
  reason: string;
  isPermitted: boolean;
}

/** The half of the model that intents are made of. */
export interface Ground {
  readonly money: Money;
  /** Whether the server is of a build before 0.3.0: its proofs of outcomes name no intent, and daily limits count later. */
  isEarly(): boolean;
  record(luid: string): Rec;
  find(ledger: number, kind: KindName, handle: string): Rec | null;
  nearest(ledger: number, kind: KindName, address: string): Rec | null;
  isGranted(ledger: number, action: string, target: string, record: Rec | null, keys: readonly string[]): boolean;
  config(ledger: number): Record<string, unknown>;
  change(luid: string, news: Partial<Rec>): void;
  store(ledger: number, kind: KindName, handle: string, content: Content, luid: string, moment: number): void;
  tell(fact: Omit<Fact, 'seq'>): Fact;
  /** Intents that are not final. */
  open(): Iterable<Rec>;
  nextPlace(): number;
}

/** Whose keys count; the server itself may do all that follows. */
type Keys = readonly string[] | 'server';

export class Intents {
  readonly #ground: Ground;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** A new intent, and all that follows from it at once. */
  begin(ledger: number, content: Content, given: Given): Fact[] {
    const { luid, moment } = given;
    const handle = content.value.handle as string;
    const keys = [...willing(content.proofs), ...given.bearer];
    const fact = this.#store(ledger, handle, content, luid, moment, given.now, keys, null);
    return [fact, ...this.#follow(luid, fact.ending!, given, 1)];
  }

  #store(
    ledger: number,
    handle: string,
    content: Content,
    luid: string,
    moment: number,
    now: number,
    keys: Keys,
    origin: Rec | null,
  ): Fact {
    const ground = this.#ground;
    ground.store(ledger, 'intent', handle, content, luid, moment);
    const thread = origin === null ? luid : origin.progress!.thread;
    const progress: Progress = {
      ...{ stage: 'pending', isHolding: false, received: moment, order: ground.nextPlace() },
      ...{ thread, origin: origin?.luid ?? '' },
      ...{ nets: [], limits: [], legs: [], forwards: [], routed: [], counted: [], states: [], credits: new Map() },
    };
    ground.change(luid, { progress });
    const ending = this.#attempt(luid, keys, now) ?? NOTHING;
    return ground.tell({ type: 'intent', luid, handle, moment, hash: content.hash, ending });
  }

  /** What a proof moves; null for nothing, a reason where the proof must not be. */
  proved(record: Rec, custom: Record<string, unknown>, key: string, given: Given): Ending | string | null {
    const progress = record.progress!;
    if (progress.stage === 'final') return null;
    const leg =
      progress.states.length === 0 ? -1 : progress.legs.findIndex((_, n) => legHandle(record, n) === custom.handle);
    if (leg >= 0) return this.#reported(record, leg, custom, [key, ...given.bearer], given.now);
    const said = custom.handle === undefined ? custom.status : undefined;
    if (progress.stage === 'prepared') {
      const isCommit = custom.action === 'commit' || said === 'committed';
      const isAbort = custom.action === 'abort' || said === 'aborted';
      if (isCommit === isAbort || (isCommit && isNo({ status: said }))) return null;
      const action = isCommit ? 'commit' : 'abort';
      // Who says so of one intent of a thread says it of the one that began it.
      const asked = [record, this.#ground.record(progress.thread)];
      const by = [key, ...given.bearer];
      if (!asked.every((each) => this.#ground.isGranted(record.ledger, action, 'intent', each, by))) return null;
      if (!isCommit) return this.#undo(record.luid, '', given.now);
      return this.#isReady(record) ? this.#commit(record.luid, given.now) : null;
    }
    if (progress.stage !== 'pending' || progress.isHolding || !isConsent(custom)) return null;
    const asking = new Set(willing(record.content.proofs));
    for (const { public: other, custom } of record.added) {
      const words = JSON.parse(custom ?? '{}');
      if (isNo(words)) {
        if (words.handle === undefined) asking.delete(other);
      } else if (isConsent(words)) asking.add(other);
    }
    const keys = [...asking.add(key), ...given.bearer];
    if (!this.#isOverdue(record, given.now)) return this.#attempt(record.luid, keys, given.now);
    // What would have moved it in time ends it now.
    const { reason, isPermitted } = this.#plan(record, keys, null);
    return reason !== '' || isPermitted ? this.#undo(record.luid, 'core.intent-expired', given.now) : null;
  }

  /** The entry that says so, and what follows from it. `own` counts the entries before it in the frame. */
  step(luid: string, ending: Ending, given: Given, own: number): Fact[] {
    const { handle } = this.#ground.record(luid);
    const fact = this.#ground.tell({ type: 'step', luid, handle, moment: given.now, ending });
    return [fact, ...this.#follow(luid, ending, given, own + 1)];
  }

  /** Intents that have waited longer than their ledger lets them, in the order they came. */
  overdue(now: number): Rec[] {
    const waiting: Rec[] = [];
    for (const record of this.#ground.open()) {
      if (this.#isOverdue(record, now)) waiting.push(record);
    }
    return waiting.sort((one, other) => one.progress!.order - other.progress!.order);
  }

  #isOverdue({ ledger, progress }: Rec, now: number): boolean {
    const minutes = this.#ground.config(ledger)['intent.expiryThresholdMinutes'];
    const isWaiting = progress!.stage === 'pending' && typeof minutes === 'number';
    return isWaiting && now - progress!.received > minutes * 60_000;
  }

  expire({ luid }: Rec, given: Given): Fact[] {
    return this.step(luid, this.#undo(luid, 'core.intent-expired', given.now), given, 0);
  }

  // ---------------------------------------------------------------- what claims come to

  /** Clears an intent that holds nothing yet; null where it goes on waiting. */
  #attempt(luid: string, keys: Keys, now: number): Ending | null {
    const { money } = this.#ground;
    const record = this.#ground.record(luid);
    const progress = record.progress!;
    const origin = progress.origin === '' ? null : this.#ground.record(progress.origin);
    const plan = this.#plan(record, keys, origin);
    if (plan.reason === '' && !plan.isPermitted) return null;
    const nets = plan.nets.map((net) => ({
      ...net,
      through: origin === null ? 0n : this.#passed(net, progress.thread),
    }));
    const reason = plan.reason || money.judge(nets, progress.received);
    if (reason !== '') {
      this.#go(luid, { stage: 'final' });
      return this.#pass(luid, { ...NOTHING, steps: ['failed', 'aborted', 'rejected'], reason });
    }
    const { limits, legs, forwards, routed } = plan;
    const came = { nets, limits, legs, forwards, routed };
    const { credits } = plan;
    const isAlone = origin === null && forwards.length === 0 && legs.length === 0 && !isManual(record);
    if (isAlone) {
      money.move(nets, limits, progress.received, now);
      this.#go(luid, { ...came, credits, stage: 'final' });
      return this.#pass(luid, { ...NOTHING, ...came, steps: ['prepared', 'committed', 'completed'] });
    }
    const counted = money.hold(nets, progress.received, now);
    const first = legs.some(({ side }) => side === 'debit') ? 'debit' : 'credit';
    const marks = legs.flatMap((leg, n) => (leg.side === first ? [[n, 'preparing'] as const] : []));
    const stage = legs.length > 0 ? 'pending' : 'prepared';
    this.#go(luid, {
      ...came,
      credits,
      counted,
      stage,
      isHolding: true,
      states: marked(
        legs.map(() => 'idle'),
        marks,
      ),
    });
    return this.#pass(luid, { ...NOTHING, ...came, marks, steps: legs.length > 0 ? [] : ['prepared'] });
  }

  #plan(record: Rec, keys: Keys, origin: Rec | null): Plan {
    const { ledger, content } = record;
    const ground = this.#ground;
    const plan: Plan = {
      ...{ nets: [], limits: [], legs: [], forwards: [], routed: [], credits: new Map() },
      ...{ reason: '', isPermitted: true },
    };
    const find = (kind: KindName) => (handle: string) => ground.nearest(ledger, kind, handle)?.luid ?? '';
    const need = (action: string, luid: string) => {
      if (keys === 'server') return;
      const of = ground.record(luid);
      plan.isPermitted &&= ground.isGranted(ledger, action, of.kind, of, keys);
    };
    for (const [number, claim] of (content.value.claims as Claim[]).entries()) {
      const named = namedIn(claim, find('wallet'), find('symbol'));
      if (named.reason !== '') return { ...plan, reason: named.reason };
      if (claim.action === 'issue' || claim.action === 'destroy') need(claim.action, named.symbol);
      if (claim.action === 'limit') {
        need('limit', named.limited);
        plan.limits.push({
          wallet: named.limited,
          symbol: named.symbol,
          metric: claim.metric!,
          amount: BigInt(claim.amount),
        });
      }
      if (named.source !== '') {
        need('spend', named.source);
        const payer = this.#post(plan, record, origin, claim, number, 'debit', named);
        if (payer !== '') need('spend', payer);
      }
      if (named.target !== '') {
        const wallet = this.#post(plan, record, origin, claim, number, 'credit', named);
        plan.credits.set(number, { wallet, symbol: named.symbol });
      }
      if (plan.reason !== '') return plan;
    }
    return plan;
  }

  /** One side of a claim, by its routes and its bridge; the wallet it comes to in the end, or ''. */
  #post(
    plan: Plan,
    record: Rec,
    origin: Rec | null,
    claim: Claim,
    number: number,
    side: Leg['side'],
    named: Named,
  ): string {
    const ground = this.#ground;
    const { ledger } = record;
    const begun = ground.record(side === 'debit' ? named.source : named.target);
    // What a wallet passes on is what came to it: nobody else pays that in its stead.
    const isPassedOn = side === 'debit' && origin !== null;
    const end = isPassedOn ? { wallet: begun, forward: '' } : this.#route(begun, side, claim);
    if (end === null) {
      plan.reason = 'core.routing-failed';
      return '';
    }
    const { wallet, forward } = end;
    const { symbol } = named;
    const { amount } = claim;
    if (wallet.luid !== begun.luid) plan.routed.push(`${number} ${side} ${wallet.luid}`);
    if (forward !== '') {
      if (this.#passedBy(origin).has(wallet.luid)) {
        plan.reason = 'core.routing-failed';
        return '';
      }
      plan.forwards.push({ claim: number, wallet: wallet.luid, symbol, amount, target: forward });
    }
    const { bridge } = wallet.content.value;
    if (bridge !== undefined) {
      const of = ground.find(ledger, 'bridge', bridge as string);
      if (of === null) plan.reason = 'core.bridge-unreachable';
      else {
        const leg: Leg = { side, bridge: of.luid, wallet: wallet.luid, symbol, amount, claims: [number] };
        addLeg(plan.legs, leg, record, of);
      }
    }
    const moved = claim.action === 'transfer' ? BigInt(amount) : 0n;
    addNet(plan.nets, wallet.luid, symbol, side === 'debit' ? BigInt(-amount) : BigInt(amount), moved);
    return wallet.luid;
  }

  /** Where a wallet's routes lead; null where they lead nowhere. */
  #route(begun: Rec, side: Leg['side'], claim: Claim): { wallet: Rec; forward: string } | null {
    const seen = [begun.luid];
    let wallet = begun;
    for (let hops = 0; ; hops++) {
      const all = (wallet.content.value.routes ?? []) as Route[];
      const routes = all.filter(
        ({ action }) => action === 'accept' || (side === 'debit' ? action === 'debit' : action !== 'debit'),
      );
      const isOpen = side === 'debit' ? routes.every(({ action }) => action === 'accept') : routes.length === 0;
      if (isOpen) return { wallet, forward: '' };
      const route = routes.find(({ filter }) => passes(claim, filter));
      if (route === undefined) return null;
      if (route.action === 'accept') return { wallet, forward: '' };
      if (route.action === 'forward') return { wallet, forward: route.target! };
      const next = this.#ground.nearest(wallet.ledger, 'wallet', route.target!);
      if (next === null || seen.includes(next.luid) || hops >= HOPS_MAX) return null;
      seen.push(next.luid);
      wallet = next;
    }
  }

  /** Wallets that have passed money on, among the intents that led here. */
  #passedBy(origin: Rec | null): Set<string> {
    const found = new Set<string>();
    for (
      let at = origin;
      at !== null;
      at = at.progress!.origin === '' ? null : this.#ground.record(at.progress!.origin)
    ) {
      for (const { wallet } of at.progress!.forwards) found.add(wallet);
    }
    return found;
  }

  /** How much of what leaves an account comes with the thread, and nobody has taken it on yet. */
  #passed({ wallet, symbol, change }: Net, thread: string): bigint {
    if (change >= 0n) return 0n;
    let brought = 0n;
    for (const { progress } of this.#members(thread)) {
      for (const net of progress!.isHolding ? progress!.nets : []) {
        if (net.wallet !== wallet || net.symbol !== symbol) continue;
        brought += (net.change > 0n ? net.change : 0n) - (net.through ?? 0n);
      }
    }
    return brought < -change ? brought : -change;
  }

  // ---------------------------------------------------------------- threads

  /** Intents of a thread that are on their way, in the order they came. */
  #members(thread: string): Rec[] {
    const members: Rec[] = [];
    for (const record of this.#ground.open()) if (record.progress!.thread === thread) members.push(record);
    return members.sort((one, other) => one.progress!.order - other.progress!.order);
  }

  /** What follows from an intent's ending; `own` entries of the frame come before. */
  #follow(luid: string, { steps, reason }: Ending, given: Given, own: number): Fact[] {
    const facts: Fact[] = [];
    if (steps.length === 0) return facts;
    const last = this.#forward(luid, steps, given, facts, own) ?? { luid, steps, reason };
    this.#settle(last.luid, last.steps, last.reason, given, facts);
    return facts;
  }

  /** Makes the intents that a prepared one needs, and theirs; the one that could not be, if any. */
  #forward(
    luid: string,
    steps: readonly string[],
    given: Given,
    facts: Fact[],
    own: number,
  ): { luid: string; steps: readonly string[]; reason: string } | null {
    const ground = this.#ground;
    const record = ground.record(luid);
    const { stage, forwards, thread } = record.progress!;
    if (!steps.includes('prepared') || stage !== 'prepared') return null;
    for (const { wallet, symbol, amount, target } of forwards) {
      const isCrowded = this.#members(thread).length >= THREAD_MAX;
      // Whoever its name means by now has passed nothing on.
      if (isCrowded || ground.record(wallet).isDropped) {
        const reason = isCrowded ? 'core.thread-size-exceeded' : 'core.routing-failed';
        const ending = this.#undo(luid, reason, given.now);
        facts.push(ground.tell({ type: 'step', luid, handle: record.handle, moment: given.now, ending }));
        return { luid, steps: ending.steps, reason };
      }
      const made = given.luidAt(own + facts.length);
      const named = (of: string) => ({ handle: ground.record(of).handle });
      const claim = {
        action: 'transfer',
        amount,
        source: named(wallet),
        target: { handle: target },
        symbol: named(symbol),
      };
      const value = { claims: [claim], handle: `fwd_${made.slice(5)}`, origin: record.handle };
      const custom = { moment: new Date(given.moment).toISOString(), status: 'created' };
      const content = contentOf(value, [SERVER], custom);
      const child = this.#store(record.ledger, value.handle, content, made, given.moment, given.now, 'server', record);
      facts.push(child);
      const { steps: childSteps, reason } = child.ending!;
      if (childSteps.includes('rejected')) return { luid: made, steps: childSteps, reason };
      const failed = this.#forward(made, childSteps, given, facts, own);
      if (failed !== null) return failed;
    }
    return null;
  }

  /** The thread goes where one of its intents went. */
  #settle(luid: string, steps: readonly string[], reason: string, given: Given, facts: Fact[]): void {
    const { thread } = this.#ground.record(luid).progress!;
    const members = this.#members(thread);
    const add = (of: Rec, ending: Ending) => {
      facts.push(this.#ground.tell({ type: 'step', luid: of.luid, handle: of.handle, moment: given.now, ending }));
    };
    if (steps.includes('aborted')) {
      for (const of of members) {
        const { stage } = of.progress!;
        if (stage === 'pending' || stage === 'prepared') add(of, this.#undo(of.luid, reason, given.now));
      }
      return;
    }
    const isDue =
      members.every(({ progress }) => progress!.stage === 'prepared') &&
      members[0] !== undefined &&
      !isManual(members[0]);
    if (!steps.includes('committed') && !(steps.includes('prepared') && isDue)) return;
    for (const of of members) if (of.progress!.stage === 'prepared') add(of, this.#commit(of.luid, given.now));
  }

  #isReady({ progress }: Rec): boolean {
    const members = this.#members(progress!.thread);
    return members.length < 2 || members.every((each) => each.progress!.stage === 'prepared');
  }

  // ---------------------------------------------------------------- ends, and bridges

  #commit(luid: string, now: number): Ending {
    const { nets, limits, counted, legs, received } = this.#ground.record(luid).progress!;
    const { money } = this.#ground;
    money.settle(nets, limits, counted, true, now);
    if (!this.#ground.isEarly()) money.countBegun(nets, limits, counted, received);
    const marks = legs.map((_, n) => [n, 'committing'] as const);
    this.#go(luid, {
      stage: legs.length > 0 ? 'committed' : 'final',
      isHolding: false,
      states: marked(this.#states(luid), marks),
    });
    return this.#pass(luid, {
      ...NOTHING,
      nets,
      limits,
      marks,
      steps: legs.length > 0 ? ['committed'] : ['committed', 'completed'],
    });
  }

  /** It does not happen: what was held is given back, bridges that were asked are told. */
  #undo(luid: string, reason: string, now: number, states = this.#states(luid)): Ending {
    const { nets, counted, legs, isHolding } = this.#ground.record(luid).progress!;
    if (isHolding) this.#ground.money.settle(nets, [], counted, false, now);
    const ends: Partial<Record<LegState, LegState>> = {
      preparing: 'aborting',
      prepared: 'aborting',
      failed: 'dismissing',
    };
    const marks = legs.flatMap((_, n) => {
      const end = ends[states[n]!];
      return end === undefined ? [] : [[n, end] as const];
    });
    this.#go(luid, { stage: marks.length > 0 ? 'aborted' : 'final', isHolding: false, states: marked(states, marks) });
    const steps = [...(reason === '' ? [] : ['failed']), 'aborted', ...(marks.length > 0 ? [] : ['rejected'])];
    return this.#pass(luid, { ...NOTHING, nets: isHolding ? nets : [], marks, steps, reason });
  }

  #states(luid: string): readonly LegState[] {
    return this.#ground.record(luid).progress!.states;
  }

  /** A bank says what became of a leg. */
  #reported(
    record: Rec,
    leg: number,
    { status }: Record<string, unknown>,
    keys: readonly string[],
    now: number,
  ): Ending | string | null {
    if (!['prepared', 'failed', 'committed', 'aborted'].includes(status as string)) return null;
    const bridge = this.#ground.record(record.progress!.legs[leg]!.bridge);
    if (!this.#ground.isGranted(record.ledger, 'activate', 'bridge', bridge, keys)) return 'auth.forbidden';
    if (this.#isOverdue(record, now) && afterReport(record.progress!.states[leg]!, status as string) !== null)
      return this.#undo(record.luid, 'core.intent-expired', now);
    return this.#moveLeg(record.luid, leg, status as string, now);
  }

  /** What the server itself notes of a call: that no more need be said, or that it was in vain. */
  noted(luid: string, leg: number, state: string, result: 'told' | 'lost', now: number): Ending | null {
    const { stage, states } = this.#ground.record(luid).progress!;
    if (stage === 'final' || (states[leg] ?? 'idle') !== state) return null;
    if (result === 'told') return this.#moveLeg(luid, leg, 'told', now);
    return this.#pass(luid, { ...NOTHING, steps: ['error'], reason: 'core.bridge-unreachable', leg });
  }

  #moveLeg(luid: string, leg: number, report: string, now: number): Ending | null {
    const { stage, states: before, legs } = this.#ground.record(luid).progress!;
    const next = afterReport(before[leg]!, report);
    if (next === null) return null;
    const mark = [leg, next] as const;
    const states = marked(before, [mark]);
    const all = (...wanted: LegState[]) => states.every((state) => wanted.includes(state));
    const go = (to: Stage, steps: readonly string[], more: Ending['marks'] = []) => {
      this.#go(luid, { stage: to, states: marked(states, more) });
      return this.#pass(luid, { ...NOTHING, steps, marks: [mark, ...more] });
    };
    if (stage === 'committed') return all('committed') ? go('final', ['completed']) : go(stage, []);
    if (stage === 'aborted') return all('idle', 'aborted') ? go('final', ['rejected']) : go(stage, []);
    if (next === 'failed') return this.#undo(luid, 'core.bridge-prepare-failed', now, states);
    if (all('prepared')) return go('prepared', ['prepared']);
    const areDebitsReady = legs.every(({ side }, n) => side === 'credit' || states[n] === 'prepared');
    const asked = states.flatMap((state, n) => (areDebitsReady && state === 'idle' ? [[n, 'preparing'] as const] : []));
    return go(stage, [], asked);
  }

  #go(luid: string, news: Partial<Progress>): void {
    this.#ground.change(luid, { progress: { ...this.#ground.record(luid).progress!, ...news } });
  }

  /** The intent passes these statuses, each with a proof by the server. */
  #pass(luid: string, ending: Ending): Ending {
    const { shown, status } = this.#ground.record(luid);
    const { steps, reason } = ending;
    const told = steps.map((step) => {
      const isNo = step === 'failed' || step === 'error';
      return { by: 'server' as const, ...(!this.#ground.isEarly() && { luid }), status: step, ...(isNo && { reason }) };
    });
    const last = steps.findLast((step) => step !== 'error');
    this.#ground.change(luid, { status: last ?? status, shown: [...shown, ...told] });
    return ending;
  }
}

/** The name under which a bank knows a leg. */
export function legHandle({ luid, progress }: Rec, number: number): string {
  return `${progress!.legs[number]!.side === 'debit' ? 'deb' : 'cre'}_${luid.slice(5)}.${number}`;
}

/**
 * What a bank must be told of a leg's source, target or symbol: what all its claims say; null where they do not say the
 * same, or a route brought the leg's own side to another wallet than they name.
 */
export function saidOf({ content, progress }: Rec, leg: Leg, member: 'source' | 'target' | 'symbol'): string | null {
  const claims = content.value.claims as Claim[];
  const own = leg.side === 'debit' ? 'source' : 'target';
  const isLed = (number: number) => progress!.routed.some((each) => each.startsWith(`${number} ${leg.side} `));
  if (member === own && leg.claims.some(isLed)) return null;
  const said = new Set(leg.claims.map((number) => referenceText(claims[number]![member])));
  return said.size === 1 ? [...said][0]! : null;
}

/** As canonical JSON, however it was sent; '' for none. */
function referenceText(reference: Claim['symbol'] | undefined): string {
  return reference === undefined ? '' : canon(typeof reference === 'string' ? { handle: reference } : reference);
}

/** Whether who signs so asks for the intent: not who says that it is not to happen, or speaks of something else. */
function isConsent(custom: Record<string, unknown>): boolean {
  return custom.handle === undefined && !isAboutLabels(custom) && !isNo(custom);
}

function isAboutLabels(custom: Record<string, unknown>): boolean {
  return 'labels' in custom && !('status' in custom) && !('action' in custom);
}

/**
 * Keys that ask by the proofs an intent comes with, where a handle means nothing but in what a bridge reports; none that
 * also says no.
 */
function willing(proofs: readonly { public: string; custom: string | null }[]): string[] {
  const isReport = ({ handle, status }: Record<string, unknown>) =>
    handle !== undefined && /^(prepared|failed|committed|aborted)$/.test(String(status));
  const spoken = proofs
    .map((proof) => ({ key: proof.public, words: JSON.parse(proof.custom ?? '{}') }))
    .filter(({ words }) => !isReport(words));
  const refusing = spoken.filter(({ words }) => isNo(words)).map(({ key }) => key);
  return spoken.map(({ key }) => key).filter((key) => !refusing.includes(key));
}

/** Whoever gives it any status but those on the way to its good end says no, or does with it what is no part of that. */
function isNo({ action, status }: Record<string, unknown>): boolean {
  const parts = /^(create|sign|sign-intent|spend|issue|destroy|limit|commit)$/;
  if (action !== undefined && !parts.test(String(action))) return true;
  return status !== undefined && !/^(created|pending|prepared|committed|completed)$/.test(String(status));
}

function isManual({ content }: Rec): boolean {
  return (content.value.config as { commit?: string } | undefined)?.commit === 'manual';
}

function marked(states: readonly LegState[], marks: Ending['marks']): LegState[] {
  const next = [...states];
  for (const [leg, state] of marks) next[leg] = state;
  return next;
}

/** Late, repeated and contradictory reports move nothing. */
function afterReport(state: LegState, report: string): LegState | null {
  if (state === 'preparing') return report === 'prepared' || report === 'failed' ? report : null;
  if (state === 'committing') return report === 'committed' ? 'committed' : null;
  if (state === 'aborting') return report === 'aborted' ? 'aborted' : null;
  return state === 'dismissing' && (report === 'aborted' || report === 'told') ? 'aborted' : null;
}

/** Claims that are alike in what their bridge groups by, all of it by default, share a leg of one wallet and symbol. */
function addLeg(legs: Leg[], leg: Leg, { content }: Rec, bridge: Rec): void {
  const claims = content.value.claims as Claim[];
  const config = bridge.content.value.config as Record<string, readonly ('source' | 'target' | 'symbol')[]>;
  const members = config[`${leg.side}s.claims.groupBy`] ?? ['source', 'target', 'symbol'];
  const namesOf = (number: number) => {
    const names = members.map((member) => {
      const reference = claims[number]![member];
      if (reference === undefined) return '';
      return typeof reference === 'string' ? { handle: reference } : reference;
    });
    return canon(names);
  };
  // The newest of those that are alike: an older one is full.
  const at = legs.findLastIndex((other) => {
    const isSame = other.side === leg.side && other.wallet === leg.wallet && other.symbol === leg.symbol;
    return isSame && namesOf(other.claims[0]!) === namesOf(leg.claims[0]!);
  });
  const known = legs[at];
  if (known === undefined || !Number.isSafeInteger(known.amount + leg.amount)) legs.push(leg);
  else legs[at] = { ...known, amount: known.amount + leg.amount, claims: [...known.claims, ...leg.claims] };
}

/** The filters that lives use: one symbol, or an amount up to something. */
function passes({ amount, symbol }: Claim, filter: Record<string, unknown> | undefined): boolean {
  const most = (filter?.amount as { $lte: number } | undefined)?.$lte ?? Number.MAX_SAFE_INTEGER;
  const wanted = filter?.['symbol.handle'];
  return amount <= most && (wanted === undefined || wanted === handleIn(symbol));
}
