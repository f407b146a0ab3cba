/**
 * What the claims of an intent come to: what is moved and limited, by the routes and the bridges of its wallets, and
 * whether those may who ask for it.
 */
import type { Claim } from '../../../src/core/claims/index.ts';
import type { KindName } from '../../../src/core/kinds.ts';
import { addNet, type LimitSet, type Named, type Net, namedIn } from '../../core/model.ts';
import { isGranted } from './access.ts';
import type { Books } from './books.ts';
import { addLeg, type Leg } from './legs.ts';
import type { Credit, Forward } from './progress.ts';
import type { Rec } from './record.ts';

const HOPS_MAX = 3;

/** Whose keys count; the server itself may do all that follows. */
export type Keys = readonly string[] | 'server';

export interface Plan {
  readonly nets: Net[];
  readonly limits: LimitSet[];
  readonly legs: Leg[];
  readonly forwards: Forward[];
  readonly routed: string[];
  readonly credits: Map<number, Credit>;
  /** Why it cannot be, or '': then nothing else of it counts. */
  reason: string;
  isPermitted: boolean;
}

interface Route {
  action: 'forward' | 'accept' | 'debit' | 'credit';
  target?: string;
  filter?: Record<string, unknown>;
}

export function planOf(books: Books, record: Rec, keys: Keys): Plan {
  const { ledger, content } = record;
  const plan: Plan = {
    ...{ nets: [], limits: [], legs: [], forwards: [], routed: [], credits: new Map() },
    ...{ reason: '', isPermitted: true },
  };
  const find = (kind: KindName) => (handle: string) => books.nearest(ledger, kind, handle)?.luid ?? '';
  const need = (action: string, luid: string) => {
    if (keys === 'server') return;
    const of = books.records.get(luid)!;
    plan.isPermitted &&= isGranted(books, ledger, action, of.kind, of, keys);
  };
  const claims = content.value.claims as Claim[];
  const allNamed = claims.map((claim) => namedIn(claim, find('wallet'), find('symbol')));
  const unnamed = allNamed.find(({ reason }) => reason !== '');
  if (unnamed !== undefined) return { ...plan, reason: unnamed.reason };
  for (const [number, claim] of claims.entries()) {
    const named = allNamed[number]!;
    const { symbol, limited } = named;
    if (claim.action === 'issue' || claim.action === 'destroy') need(claim.action, symbol);
    if (claim.action === 'limit') {
      need('limit', limited);
      plan.limits.push({ wallet: limited, symbol, metric: claim.metric!, amount: BigInt(claim.amount) });
    }
    if (named.source !== '') {
      need('spend', named.source);
      const payer = post(books, plan, record, claim, number, 'debit', named);
      if (payer !== '') need('spend', payer);
    }
    if (named.target !== '' && plan.reason === '') {
      const wallet = post(books, plan, record, claim, number, 'credit', named);
      plan.credits.set(number, { wallet, symbol });
    }
    if (plan.reason !== '') return plan;
  }
  return plan;
}

/** Adds one side of a claim, by its routes and its bridge; the wallet it comes to in the end, or ''. */
function post(
  books: Books,
  plan: Plan,
  record: Rec,
  claim: Claim,
  number: number,
  side: Leg['side'],
  { source, target, symbol }: Named,
): string {
  const { origin } = record.progress!;
  const begun = books.records.get(side === 'debit' ? source : target)!;
  // What a wallet passes on is what came to it: nobody else pays that in its stead.
  const isPassedOn = side === 'debit' && origin !== '';
  const end = isPassedOn
    ? { wallet: begun, forward: '' }
    : routeFrom(books, begun, side, claim, handleOf(books, symbol));
  if (end === null || (end.forward !== '' && passedBefore(books, origin, source).has(end.wallet.luid))) {
    plan.reason = 'core.routing-failed';
    return '';
  }
  const { wallet, forward } = end;
  const { amount } = claim;
  if (wallet.luid !== begun.luid) plan.routed.push(`${number} ${side} ${wallet.luid}`);
  if (forward !== '') plan.forwards.push({ claim: number, wallet: wallet.luid, symbol, amount, target: forward });
  const { bridge } = wallet.content.value;
  if (bridge !== undefined) {
    const of = books.find(record.ledger, 'bridge', bridge as string);
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

function handleOf(books: Books, luid: string): string {
  return books.records.get(luid)!.content.value.handle as string;
}

/** Where a wallet's routes lead; null where they lead nowhere. */
function routeFrom(
  books: Books,
  begun: Rec,
  side: Leg['side'],
  claim: Claim,
  symbol: string,
): { wallet: Rec; forward: string } | null {
  const seen = [begun.luid];
  let wallet = begun;
  for (let hops = 0; ; hops++) {
    const all = (wallet.content.value.routes ?? []) as Route[];
    const routes = all.filter(
      ({ action }) => action === 'accept' || (side === 'debit' ? action === 'debit' : action !== 'debit'),
    );
    const isOpen = side === 'debit' ? routes.every(({ action }) => action === 'accept') : routes.length === 0;
    if (isOpen) return { wallet, forward: '' };
    const route = routes.find(({ filter }) => passes(claim, symbol, filter));
    if (route === undefined) return null;
    if (route.action === 'accept') return { wallet, forward: '' };
    if (route.action === 'forward') return { wallet, forward: route.target! };
    const next = books.nearest(wallet.ledger, 'wallet', route.target!);
    if (next === null || seen.includes(next.luid) || hops >= HOPS_MAX) return null;
    seen.push(next.luid);
    wallet = next;
  }
}

/** The filters that lives use: one symbol, or an amount up to something. */
function passes({ amount }: Claim, symbol: string, filter: Record<string, unknown> | undefined): boolean {
  const most = (filter?.amount as { $lte: number } | undefined)?.$lte ?? Number.MAX_SAFE_INTEGER;
  const wanted = filter?.['symbol.handle'];
  return amount <= most && (wanted === undefined || wanted === symbol);
}

/** Wallets that have passed on what this one passes on by an intent that follows from another; none without such. */
function passedBefore(books: Books, origin: string, source: string): Set<string> {
  const found = new Set<string>();
  if (origin === '') return found;
  found.add(source);
  for (let at = books.records.get(origin)!.progress!; at.origin !== ''; at = books.records.get(at.origin)!.progress!) {
    found.add(at.nets[0]!.wallet);
  }
  return found;
}
