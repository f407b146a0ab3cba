/**
 * Legs: the debits and credits of an intent that other systems take part in, through their bridges.
 *
 * Debits are prepared first, then credits; then all are committed, or all that were asked are aborted. What a bridge
 * reports moves a leg only from the state that waits for it, so late, repeated and contradictory reports move nothing:
 *
 *     idle ─▶ preparing ─▶ prepared ─▶ committing ─▶ committed
 *                 │  └────────┬──────▶ aborting ───▶ aborted
 *                 └─▶ failed ─┴──────▶ dismissing ─▶ aborted
 */
import { type Claim, handleOf } from './claims/index.ts';
import { LEG_STATES, type Leg, type LegState, Side } from './entry.ts';

/** What a bridge reports of a leg; `told`: it has taken the call, and nothing more need be said. */
export type Report = 'prepared' | 'failed' | 'committed' | 'aborted' | 'told';

/** What a report makes of a leg, by the state it finds it in. All others leave it as it is. */
const REPORTED: Partial<Record<LegState, Partial<Record<Report, LegState>>>> = {
  preparing: { prepared: 'prepared', failed: 'failed' },
  committing: { committed: 'committed' },
  aborting: { aborted: 'aborted' },
  dismissing: { aborted: 'aborted', told: 'aborted' },
};

/** What ends the preparation makes of a leg: those never asked, and those long done, hear nothing. */
const UNDONE: Partial<Record<LegState, LegState>> = {
  preparing: 'aborting',
  prepared: 'aborting',
  failed: 'dismissing',
};

/** The state that a report takes a leg to; null where it changes nothing. */
export function reported(state: LegState, report: Report): LegState | null {
  return REPORTED[state]?.[report] ?? null;
}

/** Whether the leg has a call out to its bridge. */
export function isCalling(state: LegState): boolean {
  return state === 'preparing' || state === 'committing' || state === 'aborting' || state === 'dismissing';
}

/** Marks that ask the first side there is: debits, else credits. */
export function asksFirst(legs: readonly Leg[]): number[] {
  const side = legs.some((leg) => leg.side === Side.debit) ? Side.debit : Side.credit;
  return marksOf(legs, (leg) => (leg.side === side ? 'preparing' : null));
}

/** Marks for the legs that `next` has a state for. */
export function marksOf(legs: readonly Leg[], next: (leg: Leg, index: number) => LegState | null): number[] {
  return legs.flatMap((leg, index) => {
    const state = next(leg, index);
    return state === null ? [] : [index, LEG_STATES.indexOf(state)];
  });
}

/** Marks that undo all that were asked. */
export function undoing(legs: readonly Leg[], states: readonly LegState[]): number[] {
  return marksOf(legs, (_, index) => UNDONE[states[index]!] ?? null);
}

/** The handle under which a bridge knows a leg. `luid` is the intent's. */
export function legHandle(luid: string, leg: Leg, index: number): string {
  return `${leg.side === Side.debit ? 'deb' : 'cre'}_${luid.slice(5)}.${index}`;
}

/** The number of the leg with this handle, or -1. */
export function legIndex(luid: string, legs: readonly Leg[], handle: string): number {
  const index = Number(handle.slice(handle.lastIndexOf('.') + 1));
  const leg = legs[index];
  return leg !== undefined && legHandle(luid, leg, index) === handle ? index : -1;
}

// ---------------------------------------------------------------- grouping

/** Legs by what they are grouped by. */
export type Grouping = Map<string, Leg>;

const MEMBERS = ['source', 'target', 'symbol'] as const;
/** Members by whose values claims share a leg; without a word from the bridge, all of them. */
const CONFIG = { [Side.debit]: 'debits.claims.groupBy', [Side.credit]: 'credits.claims.groupBy' } as const;

/**
 * Adds a claim's side to the legs: to one that is alike in what its bridge groups by, or as one of its own. A leg
 * always has one wallet and one symbol.
 */
export function groupLeg(
  legs: Leg[],
  grouping: Grouping,
  leg: Leg,
  claim: Claim,
  config: Readonly<Record<string, unknown>>,
): void {
  const key = [
    leg.side,
    leg.wallet,
    leg.symbol,
    ...groupedBy(config, leg.side).map((member) => memberOf(claim, member)),
  ];
  const text = JSON.stringify(key);
  const known = grouping.get(text);
  if (known !== undefined && Number.isSafeInteger(known.amount + leg.amount)) {
    known.amount += leg.amount;
    known.claims.push(...leg.claims);
    return;
  }
  grouping.set(text, leg);
  legs.push(leg);
}

function groupedBy(config: Readonly<Record<string, unknown>>, side: Side): readonly string[] {
  const given = config[CONFIG[side]];
  return Array.isArray(given) ? given : MEMBERS;
}

/**
 * What its claim says of it: also its custom, which may name an account behind the wallet. An intent's data is read
 * from its canonical text, so members are in one order, in whatever order they came.
 */
function memberOf(claim: Claim, member: string): string {
  const reference = (MEMBERS as readonly string[]).includes(member) ? claim[member as 'source'] : undefined;
  if (reference === undefined) return '';
  const custom = typeof reference === 'string' ? undefined : reference.custom;
  return custom === undefined ? handleOf(reference) : JSON.stringify([handleOf(reference), custom]);
}
