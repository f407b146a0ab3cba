/**
 * Memberships of signers in circles, found by circle: a ledger may have a circle of three for each of its customers.
 * They follow from the order of changes, and lie in no snapshot.
 */
import { luidHash } from './finding.ts';
import { LUID_LENGTH } from './luid.ts';
import { namesOf } from './records.ts';
import type { State } from './state.ts';

/** The handle of a membership: both luids, which no path and no rule can name. */
export function memberHandle(circle: string, signer: string): string {
  return circle + signer;
}

function circleOf(handle: string): string {
  return handle.slice(0, LUID_LENGTH);
}

/** Makes the membership of this handle findable at `place`, which comes after all others. */
export function pushMembership(state: State, handle: string, place: number): void {
  state.memberships.push(luidHash(state, circleOf(handle)), place);
}

/** The newest node of those of a circle, by its luid; others, whose hash is the same, may be among them. */
export function membershipsHead(state: State, circle: string): number {
  return state.memberships.head(luidHash(state, circle));
}

/** Whether the membership in this row is one of the circle with this luid. */
export function isOfCircle(state: State, row: number, circle: string): boolean {
  return circleOf(namesOf(state, row).handle) === circle;
}
