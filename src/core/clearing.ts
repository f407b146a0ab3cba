/**
 * Clearing: what one intent comes to. Resolves its claims, follows routes, nets their movements per wallet and symbol,
 * and has the net judged against funds and limits (bounds.ts). Reads the state and changes nothing; the answer is a
 * list of facts.
 *
 * All or nothing: the first refusal ends it, and nothing of the intent moves. Judged is the net change only, so money
 * may pass through a wallet that has none within one intent.
 */
import { BUDGET_MAX, type Caller, isGranted, isGrantedAll } from './access/index.ts';
import { fallbackAddresses } from './address.ts';
import { judge } from './bounds.ts';
import { AMOUNT, actionAt, CLAIM_WIDTH, type Claim, type Plan } from './claims/index.ts';
import { type CommandData, commandData } from './command.ts';
import { CHANGE, type Forward, type Leg, type Links, type Outcome, POSTING_WIDTH, Side } from './entry.ts';
import type { Effort } from './filters.ts';
import { findHandle } from './finding.ts';
import { Kind } from './kinds.ts';
import { type Grouping, groupLeg } from './legs.ts';
import { Nets } from './nets.ts';
import { namesOf } from './records.ts';
import { isRefusal, type Refusal, refuse } from './refusal.ts';
import { Participants, routeOf } from './routes.ts';
import { METRIC, NAMED_WIDTH, type Sheet, SOURCE, SYMBOL, TARGET } from './sheet.ts';
import { HAS_BRIDGE, HAS_ROUTES, type State } from './state.ts';

type Cleared = Pick<Outcome, 'postings' | 'limits'> & Pick<Links, 'legs' | 'forwards' | 'routed' | 'through'>;

/** What the intents of a thread before this one bring along. */
export interface Company {
  /** Wallets that have passed this money on: none may do so again. */
  passedBy: ReadonlySet<number>;
  /** What those intents will bring to a wallet and nobody has passed on yet. */
  brought(wallet: number, symbol: number): number;
}

/** What claims need. */
const NEEDS = ['spend', 'issue', 'destroy', 'limit'] as const;

/** A permission that a claim needs: to do this to the record in this row. */
interface Permission {
  readonly action: (typeof NEEDS)[number];
  readonly row: number;
}

/** A permission is missing: no error, since a proof that brings it may still come. */
export const WAITING = 'waiting';

/** What an intent is tried with. */
export interface Attempt {
  ledger: number;
  /** Its names lead where they lead in this state. */
  sheet: Sheet;
  /** Its data, for what a sheet does not say. */
  content: CommandData;
  caller: Caller;
  /** When it was received. */
  moment: number;
  /** What its thread brings along; null for the intent that begins it. */
  company: Company | null;
}

/** What the intent's claims come to, or why it must not happen. */
export function clear(state: State, attempt: Attempt): Cleared | typeof WAITING | Refusal {
  const plan = new ClearingPlan(state, attempt, null);
  const { company, moment } = attempt;
  planAll(plan, attempt);
  if (plan.refusal !== null) return plan.refusal;
  if (!plan.isPermitted) return WAITING;
  const postings = plan.nets.sum();
  const through: number[] = [];
  for (let at = 0; at < postings.length; at += POSTING_WIDTH) {
    const passed = company === null ? 0 : passedOn(postings, at, company);
    const refusal = judge(state, postings, at, passed, moment);
    if (refusal !== null) return refusal;
    if (passed > 0) through.push(at / POSTING_WIDTH, passed);
  }
  const { limits, legs, forwards, routed } = plan;
  return { postings, limits, legs, forwards, routed, through };
}

/** Whether this caller alone has one of the permissions that are missing. */
export function brings(state: State, attempt: Attempt, caller: Caller): boolean {
  const missing = new Map<number, Permission>();
  planAll(new ClearingPlan(state, attempt, missing), attempt);
  const budget: Effort = { left: BUDGET_MAX };
  for (const { action, row } of missing.values()) {
    if (isGranted(state, attempt.ledger, action, state.rows.kind.get(row), row, caller, null, budget)) return true;
  }
  return false;
}

/**
 * Plans the claims, up to the first that names nobody; of those behind one that must not happen the names alone count.
 */
function planAll(plan: ClearingPlan, { sheet: { claims } }: Attempt): void {
  for (let at = 0; at < claims.length && !plan.isUnnamed; at += CLAIM_WIDTH) {
    actionAt(claims, at).plan(plan);
    plan.index++;
  }
}

/** How much of what leaves by this posting the thread has brought. */
function passedOn(postings: readonly number[], at: number, company: Company): number {
  const delta = postings[at + CHANGE]!;
  return delta >= 0 ? 0 : Math.min(-delta, company.brought(postings[at]!, postings[at + 1]!));
}

/** What the claims of an intent come to as they are planned, one after the other. */
class ClearingPlan implements Plan {
  readonly nets: Nets;
  readonly limits: number[] = [];
  readonly legs: Leg[] = [];
  readonly forwards: Forward[] = [];
  readonly routed: number[] = [];
  /** Why it must not happen. From then on nothing more is planned. */
  refusal: Refusal | null = null;
  /** Since a name leads nowhere: that comes before all other reasons. */
  isUnnamed = false;
  isPermitted = true;
  /** The number of the claim that is being planned. */
  index = 0;
  readonly #state: State;
  readonly #ledger: number;
  readonly #sheet: Sheet;
  readonly #content: CommandData;
  readonly #caller: Caller;
  readonly #company: Company | null;
  #grouping: Grouping | null = null;
  #participants: Participants | null = null;
  /** What all its questions about permissions may take together: past it, one is missing. */
  readonly #budget: Effort = { left: BUDGET_MAX };
  /** What was asked and granted: thousands of claims may ask the same, each time by reading a large record. */
  #granted: Set<number> | null = null;
  /** Where all that are missing are looked for, those; null where one is enough. */
  readonly #missing: Map<number, Permission> | null;
  /** No permission can be missing. */
  readonly #isFree: boolean;

  constructor(
    state: State,
    { ledger, sheet, content, caller, company }: Attempt,
    missing: Map<number, Permission> | null,
  ) {
    this.#missing = missing;
    this.nets = new Nets(state.hashSeed);
    this.#state = state;
    this.#ledger = ledger;
    this.#sheet = sheet;
    this.#content = content;
    this.#caller = caller;
    this.#company = company;
    this.#isFree = isGrantedAll(state, ledger, caller);
  }

  source(): number {
    return this.#find(SOURCE, Kind.wallet, 'core.source-invalid', 'Source wallet');
  }

  target(): number {
    return this.#find(TARGET, Kind.wallet, 'core.target-invalid', 'Target wallet');
  }

  symbol(): number {
    return this.#find(SYMBOL, Kind.symbol, 'core.symbol-invalid', 'Symbol');
  }

  #find(column: number, kind: Kind, reason: string, role: string): number {
    const { named, unknown } = this.#sheet;
    const known = named[this.index * NAMED_WIDTH + column]!;
    if (known >= 0) return known;
    const handle = unknown[-1 - known]!;
    const row = this.#resolve(kind, handle);
    if (row >= 0) return row;
    this.isUnnamed = true;
    return this.#refuse(reason, `${role} ${handle} does not exist`);
  }

  get #amount(): number {
    return this.#sheet.claims[this.index * CLAIM_WIDTH + AMOUNT]!;
  }

  #claim(): Claim {
    return (commandData(this.#content).claims as readonly Claim[])[this.index]!;
  }

  /** The record at this address, or at the nearest one that it stands for. */
  #resolve(kind: Kind, handle: string): number {
    const exact = findHandle(this.#state, this.#ledger, kind, handle);
    if (exact >= 0) return exact;
    for (const address of fallbackAddresses(handle)) {
      const row = findHandle(this.#state, this.#ledger, kind, address);
      if (row >= 0) return row;
    }
    return -1;
  }

  need(action: (typeof NEEDS)[number], row: number): void {
    if (this.#isFree || this.refusal !== null || (!this.isPermitted && this.#missing === null)) return;
    const question = row * NEEDS.length + NEEDS.indexOf(action);
    if (this.#granted?.has(question) === true || this.#missing?.has(question) === true) return;
    const kind = this.#state.rows.kind.get(row);
    if (!isGranted(this.#state, this.#ledger, action, kind, row, this.#caller, null, this.#budget)) {
      this.isPermitted = false;
      this.#missing?.set(question, { action, row });
      return;
    }
    this.#granted ??= new Set();
    this.#granted.add(question);
  }

  debit(wallet: number, symbol: number, moves: boolean): void {
    this.#post(Side.debit, wallet, symbol, moves);
  }

  credit(wallet: number, symbol: number, moves: boolean): void {
    this.#post(Side.credit, wallet, symbol, moves);
  }

  #post(side: Side, named: number, symbol: number, moves: boolean): void {
    if (this.refusal !== null) return;
    const { flags } = this.#state.rows;
    // What a wallet passes on is what came to it: no other wallet pays that in its stead.
    const isPassedOn = side === Side.debit && this.#company !== null;
    const isRouted = !isPassedOn && (flags.get(named) & HAS_ROUTES) !== 0;
    const wallet = isRouted ? this.#route(side, named, symbol) : named;
    if (wallet < 0) return;
    if ((flags.get(wallet) & HAS_BRIDGE) !== 0) this.#involve(side, wallet, symbol);
    // Who signs for a wallet does not sign for the one that its routes let pay.
    if (side === Side.debit) this.need('spend', wallet);
    this.nets.add(wallet, symbol, side === Side.debit ? -1 : 1, this.#amount, moves);
  }

  /** The wallet that this side comes to by routes, or -1 once it is noted why it comes to none. */
  #route(side: Side, named: number, symbol: number): number {
    const find = (handle: string) => this.#resolve(Kind.wallet, handle);
    this.#participants ??= new Participants(this.#state);
    const { handle } = namesOf(this.#state, symbol);
    const routed = { claim: this.#claim(), symbol: handle, intent: commandData(this.#content) };
    const found = routeOf(this.#participants, side, named, routed, find);
    if (isRefusal(found)) return this.#refuse(found.reason, found.detail);
    const { wallet, forward } = found;
    if (wallet !== named) this.routed.push(this.index, side, wallet);
    if (forward === '') return wallet;
    if (this.#company?.passedBy.has(wallet)) {
      const { handle } = namesOf(this.#state, wallet);
      return this.#refuse('core.routing-failed', `Wallet ${handle} is part of a ring of routes`);
    }
    this.forwards.push({ claim: this.index, wallet, symbol, amount: this.#amount, target: forward });
    return wallet;
  }

  /** A wallet behind a bridge takes part through it. */
  #involve(side: Side, wallet: number, symbol: number): void {
    this.#participants ??= new Participants(this.#state);
    const { bridge: handle } = this.#participants.of(wallet);
    const bridge = findHandle(this.#state, this.#ledger, Kind.bridge, handle);
    if (bridge < 0) {
      this.#refuse('core.bridge-unreachable', `Bridge ${handle} does not exist any more`);
      return;
    }
    const { config } = this.#participants.of(bridge);
    if (this.#participants.effort.left < 0) {
      this.#refuse('core.routing-failed', 'Its wallets take more looking at than one intent is given');
      return;
    }
    const leg = { side, bridge, wallet, symbol, amount: this.#amount, claims: [this.index] };
    this.#grouping ??= new Map();
    groupLeg(this.legs, this.#grouping, leg, this.#claim(), config);
  }

  limit(wallet: number, symbol: number): void {
    const metric = this.#sheet.named[this.index * NAMED_WIDTH + METRIC]!;
    this.limits.push(wallet, symbol, metric, this.#amount);
  }

  #refuse(reason: string, detail: string): -1 {
    this.refusal = refuse(reason, detail);
    return -1;
  }
}
