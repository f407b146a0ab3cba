/**
 * Debits and credits that banks take part in: which claims share one, how far each is, and what its bank is told of it.
 */
import type { Claim } from '../../../src/core/claims/index.ts';
import { canon } from '../../../src/proof/canon.ts';
import type { Rec } from './record.ts';

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

/** A leg and its new state. */
export type Mark = readonly [leg: number, to: LegState];

/** A debit or credit that a bank takes part in. Records are known by their luids. */
export interface Leg {
  readonly side: 'debit' | 'credit';
  readonly bridge: string;
  readonly wallet: string;
  readonly symbol: string;
  readonly amount: number;
  readonly claims: readonly number[];
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

export function marked(states: readonly LegState[], marks: readonly Mark[]): LegState[] {
  const next = [...states];
  for (const [leg, state] of marks) next[leg] = state;
  return next;
}

/** Late, repeated and contradictory reports move nothing. */
export function afterReport(state: LegState, report: string): LegState | null {
  if (state === 'preparing') return report === 'prepared' || report === 'failed' ? report : null;
  if (state === 'committing') return report === 'committed' ? 'committed' : null;
  if (state === 'aborting') return report === 'aborted' ? 'aborted' : null;
  return state === 'dismissing' && (report === 'aborted' || report === 'told') ? 'aborted' : null;
}

/** Claims that are alike in what their bridge groups by, all of it by default, share a leg of one wallet and symbol. */
export function addLeg(legs: Leg[], leg: Leg, { content }: Rec, bridge: Rec): void {
  const claims = content.value.claims as Claim[];
  const config = bridge.content.value.config as Record<string, readonly ('source' | 'target' | 'symbol')[]>;
  const members = config[`${leg.side}s.claims.groupBy`] ?? ['source', 'target', 'symbol'];
  const namesOf = (number: number) => canon(members.map((member) => referenceText(claims[number]![member])));
  // The newest of those that are alike: an older one is full.
  const at = legs.findLastIndex((other) => {
    const isSame = other.side === leg.side && other.wallet === leg.wallet && other.symbol === leg.symbol;
    return isSame && namesOf(other.claims[0]!) === namesOf(leg.claims[0]!);
  });
  const known = legs[at];
  if (known === undefined || !Number.isSafeInteger(known.amount + leg.amount)) legs.push(leg);
  else legs[at] = { ...known, amount: known.amount + leg.amount, claims: [...known.claims, ...leg.claims] };
}
