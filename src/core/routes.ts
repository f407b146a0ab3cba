/**
 * What clearing must know of the wallets of one intent beyond their balances: routes, and the bridge behind them.
 *
 * Each record is read once an intent, and read again for the next one only where it changed or room ran out. Records of
 * strangers may be long and an intent may name many, so an intent has so much effort for them and no more: whatever
 * anybody writes into wallets, clearing ends soon. The effort is counted in what is looked at, never in time, so the
 * same books always come to the same end.
 */
import { type Claim, handleOf, objectOf } from './claims/index.ts';
import { type Condition, type Conditions, compileConditions, holdAll } from './conditions.ts';
import { Side } from './entry.ts';
import { type Effort, type Finding, findOnce } from './filters.ts';
import { membersOf } from './members.ts';
import { BYTES_PER_CHAR } from './norms.ts';
import { versionAt } from './records.ts';
import { type Refusal, refuse } from './refusal.ts';
import type { State } from './state.ts';

interface Route {
  action: 'forward' | 'accept' | 'debit' | 'credit';
  target: string;
  conditions: readonly Condition[];
}

interface Participant {
  handle: string;
  /** Handle of the bridge behind the wallet, empty for none. */
  bridge: string;
  routes: readonly Route[];
  /** Of a bridge's own record. */
  config: Readonly<Record<string, unknown>>;
  /** Characters of its record. */
  size: number;
}

/** About half a second's worth. */
const EFFORT_MAX = 1_000_000;
/** Characters of a record that are read with the effort of looking at one member. */
const CHARS_PER_EFFORT = 16;

export class Participants {
  readonly effort: Effort = { left: EFFORT_MAX };
  readonly #state: State;
  readonly #known = new Map<number, Participant>();
  /**
   * What was found of conditions that ask about the intent alone, and what it took: thousands of claims may ask the
   * same.
   */
  readonly #judged = new Map<Condition, Finding>();

  constructor(state: State) {
    this.#state = state;
  }

  /** The wallet or bridge in a row. */
  of(row: number): Participant {
    const known = this.#known.get(row);
    if (known !== undefined) return known;
    const { norms, rows } = this.#state;
    const at = rows.at.get(row);
    const participant = norms.remembered.get(rows.ledger.get(row), at, () => this.#read(at));
    this.effort.left -= 1 + participant.size / CHARS_PER_EFFORT;
    this.#known.set(row, participant);
    return participant;
  }

  /** Whether all of these hold for a claim of the intent. */
  holdAll(conditions: readonly Condition[], view: object): boolean {
    return conditions.every((condition) => this.#holds(condition, view));
  }

  #holds(condition: Condition, view: object): boolean {
    const { effort } = this;
    const find = () => holdAll([condition], view, effort);
    return condition.path[0] === 'intent' ? findOnce(this.#judged, condition, effort, find) : find();
  }

  #read(at: number): { value: Participant; held: number } {
    const { entry } = versionAt(this.#state, at);
    const size = entry.data.length;
    const own = membersOf(entry.data, ['bridge', 'routes', 'config']);
    const { bridge = '', routes = [], config = {} } = own as Partial<RecordData>;
    const compiled = routes.map(({ action, target = '', filter }) => {
      return { action, target, conditions: compileConditions(filter) };
    });
    return { value: { handle: entry.handle, bridge, routes: compiled, config, size }, held: BYTES_PER_CHAR * size };
  }
}

interface RecordData {
  bridge: string;
  routes: { action: Route['action']; target?: string; filter?: Conditions }[];
  config: Record<string, unknown>;
}

// ---------------------------------------------------------------- routes

/*
 * Routes: rules of a wallet about the money of claims that name it. The first whose filter holds decides:
 *
 *     accept    the wallet itself
 *     credit    another wallet gets it instead      debit    another wallet pays instead
 *     forward   the wallet gets it, and an intent of the same thread passes it on
 *
 * Routes that stand in for the other side are not asked. A wallet with routes for a side, none of which holds, takes no
 * part. A stand-in's own routes are asked in turn, a few times at most.
 */

/** What of a claim a route's filter may look at. */
interface RoutedClaim {
  claim: Claim;
  /** Handle of the symbol it is in: a longer address that stands for a symbol would pass by what routes say of that. */
  symbol: string;
  /** The intent's data. */
  intent: object;
}

/** How often a debit or credit may be given on. */
const HOPS_MAX = 3;

const ACTIONS: Readonly<Record<Side, readonly Route['action'][]>> = {
  [Side.debit]: ['debit'],
  [Side.credit]: ['forward', 'credit'],
};

interface Routed {
  wallet: number;
  /** Where the wallet passes it on to, by an intent of the same thread; empty where it keeps it. */
  forward: string;
}

/** Which wallet this side of the claim comes to in the end. `find` is how claims name wallets. */
export function routeOf(
  participants: Participants,
  side: Side,
  wallet: number,
  routed: RoutedClaim,
  find: (handle: string) => number,
): Routed | Refusal {
  const { effort } = participants;
  const view = viewOf(routed);
  const seen = [wallet];
  for (let at = wallet, hops = 0; ; hops++) {
    const { handle, routes: all } = participants.of(at);
    const routes = all.filter(({ action }) => concerns(side, action));
    effort.left -= all.length;
    // A wallet that says only what to accept says it of what comes in.
    if (side === Side.debit && routes.every(({ action }) => action === 'accept')) return { wallet: at, forward: '' };
    if (routes.length === 0) return { wallet: at, forward: '' };
    const no = (why: string) => refuse('core.routing-failed', `Wallet ${handle} ${why}`);
    const route = routes.find(({ conditions }) => participants.holdAll(conditions, view));
    if (effort.left < 0) return no('has routes that take more looking at than one intent is given');
    if (route === undefined) return no(`has no route for claim ${handlesOf(routed.claim)}`);
    if (route.action === 'accept') return { wallet: at, forward: '' };
    if (route.action === 'forward') return { wallet: at, forward: route.target };
    const next = find(route.target);
    if (next < 0) return no(`routes to ${route.target}, which does not exist`);
    if (seen.includes(next)) return no('is part of a ring of routes');
    if (hops >= HOPS_MAX) return no(`is more than ${HOPS_MAX} routes away`);
    seen.push(next);
    at = next;
  }
}

function concerns(side: Side, action: Route['action']): boolean {
  return action === 'accept' || ACTIONS[side].includes(action);
}

/** A claim as filters see it: references as objects, however they were sent. */
function viewOf({ claim, symbol, intent }: RoutedClaim): object {
  const view: Record<string, unknown> = { ...claim, symbol: { ...objectOf(claim.symbol), handle: symbol }, intent };
  for (const member of ['source', 'target'] as const) {
    if (claim[member] !== undefined) view[member] = objectOf(claim[member]);
  }
  return view;
}

function handlesOf({ source, target, amount, symbol }: Claim): string {
  const ends = [source, target].map((end) => (end === undefined ? '–' : handleOf(end)));
  return `${ends.join(' → ')} of ${amount} ${handleOf(symbol)}`;
}
