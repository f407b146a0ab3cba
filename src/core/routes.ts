/**
 * Routes: rules of a wallet about the money of claims that name it. The first whose filter holds decides:
 *
 *     accept    the wallet itself
 *     credit    another wallet gets it instead      debit    another wallet pays instead
 *     forward   the wallet gets it, and an intent of the same thread passes it on
 *
 * Routes that stand in for the other side are not asked. A wallet with routes for a side, none of which holds, takes no
 * part. A stand-in's own routes are asked in turn, a few times at most.
 */
import { type Claim, handleOf, objectOf } from './claims/index.ts';
import { holdAll } from './conditions.ts';
import { Side } from './entry.ts';
import type { Participants, Route } from './participants.ts';
import { type Refusal, refuse } from './refusal.ts';

/** What of a claim a route's filter may look at. */
export interface RoutedClaim {
  claim: Claim;
  /** The intent's data. */
  intent: object;
}

/** How often a debit or credit may be given on. */
const HOPS_MAX = 3;

const ACTIONS: Readonly<Record<Side, readonly Route['action'][]>> = {
  [Side.debit]: ['debit'],
  [Side.credit]: ['forward', 'credit'],
};

export interface Routed {
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
    const route = routes.find(({ conditions }) => holdAll(conditions, view, effort));
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
function viewOf({ claim, intent }: RoutedClaim): object {
  const view: Record<string, unknown> = { ...claim, intent };
  for (const member of ['source', 'target', 'symbol'] as const) {
    if (claim[member] !== undefined) view[member] = objectOf(claim[member]);
  }
  return view;
}

function handlesOf({ source, target, amount, symbol }: Claim): string {
  const ends = [source, target].map((end) => (end === undefined ? '–' : handleOf(end)));
  return `${ends.join(' → ')} of ${amount} ${handleOf(symbol)}`;
}
