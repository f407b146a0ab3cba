/**
 * Terms: the members of a record by whose values lists find it from an index. What apply pushes for a version and what
 * lists and relations look up are one table here.
 */
import { hashMix } from '../memory/index.ts';
import { actionAt, CLAIM_WIDTH, hashColumn } from './claims/index.ts';
import { nameHash } from './finding.ts';
import { Kind, scopeOf } from './kinds.ts';
import type { IntentOutline } from './outline.ts';
import { dataOf, versionAt } from './records.ts';
import type { Skips } from './skips.ts';
import { DROPPED, type State } from './state.ts';

/** All members of an intent's claims that name wallets share one term. */
export const CLAIM_WALLET_TERM = 'claims.wallet';

/** What all records of a kind have. */
export const ALL_TERM = '';

/** Hash under which lists find all records of a ledger and kind with this member at this value. */
export function termHash(state: State, ledger: number, kind: Kind, member: string, value: string): number {
  const scope = memberHash(state, ledger, kind, member);
  return member === ALL_TERM ? scope : valueHash(state, scope, value);
}

/** What all terms of a member have in common. */
export function memberHash(state: State, ledger: number, kind: Kind, member: string): number {
  return hashMix(nameHash(state, member), scopeOf(ledger, kind));
}

/** The term of a member, whose hash this is, at a value. */
function valueHash(state: State, member: number, value: string): number {
  return hashMix(member, nameHash(state, value));
}

/** Plain string members of data that are terms, by kind. */
const MEMBER_TERMS: Partial<Record<Kind, readonly string[]>> = {
  [Kind.signer]: ['public'],
  [Kind.wallet]: ['bridge'],
  [Kind.anchor]: ['wallet', 'target'],
  [Kind.effect]: ['signal'],
};

/** Members of `data` that lists of this kind find records by. */
export function memberTerms(kind: Kind): readonly string[] {
  return MEMBER_TERMS[kind] ?? [];
}

/** Makes the record's latest version findable at `place`. */
export function pushTerms(
  state: State,
  ledger: number,
  kind: Kind,
  value: Record<string, unknown>,
  place: number,
): void {
  const { terms } = state;
  pushCommon(state, ledger, kind, value.schema, place);
  for (const member of memberTerms(kind)) {
    const text = value[member];
    if (typeof text === 'string') terms.push(termHash(state, ledger, kind, member, text), place);
  }
}

/** The same for a new intent. */
export function pushIntentTerms(state: State, ledger: number, outline: IntentOutline, place: number): void {
  const { terms } = state;
  const { schema, claims, names } = outline;
  pushCommon(state, ledger, Kind.intent, schema, place);
  const member = memberHash(state, ledger, Kind.intent, CLAIM_WALLET_TERM);
  if (names !== null) {
    for (let i = 0; i < names.length; i++) terms.push(valueHash(state, member, names[i]!), place);
    return;
  }
  for (let at = 0; at < claims.length; at += CLAIM_WIDTH) {
    const { wallets } = actionAt(claims, at);
    for (let j = 0; j < wallets.length; j++) {
      terms.push(hashMix(member, claims[at + hashColumn(wallets[j]!)]!), place);
    }
  }
}

function pushCommon(state: State, ledger: number, kind: Kind, schema: unknown, place: number): void {
  const { terms, ranks, rows, order } = state;
  terms.push(termHash(state, ledger, kind, ALL_TERM, ''), place);
  ranks.push(ledger, kind, place, rows.status.get(order.get(place)));
  if (typeof schema === 'string') terms.push(termHash(state, ledger, kind, 'schema', schema), place);
}

/**
 * The live row whose latest change stands at this place, or -1 where the row has moved on or the hash was another's.
 */
export function rowAtPlace(state: State, ledger: number, kind: Kind, place: number): number {
  if (hasLeft(state, place)) return -1;
  const { rows } = state;
  const row = state.order.get(place);
  return rows.kind.get(row) === kind && rows.ledger.get(row) === ledger ? row : -1;
}

/** Whether the row has moved on from the place, or its record was dropped: none comes back. */
function hasLeft({ rows, order }: State, place: number): boolean {
  const row = order.get(place);
  return rows.place.get(row) !== place || (rows.flags.get(row) & DROPPED) !== 0;
}

/**
 * The live rows that stand under a term, the latest change first, and those of other values whose hash is the same.
 * What records have left is passed by, and so is what is of no use to who brings `skips` of his own.
 */
export function* rowsUnder(
  state: State,
  ledger: number,
  kind: Kind,
  member: string,
  value: string,
  skips: Skips = state.skips,
  isUseless: (row: number) => boolean = () => false,
): Generator<number, void, void> {
  const { terms } = state;
  const rowAt = (node: number) => rowAtPlace(state, ledger, kind, terms.value(node));
  const isLeft = (node: number) => {
    const row = rowAt(node);
    return row >= 0 ? isUseless(row) : hasLeft(state, terms.value(node));
  };
  let node = skips.past(terms, terms.head(termHash(state, ledger, kind, member, value)), isLeft);
  while (node !== 0) {
    const row = rowAt(node);
    if (row >= 0) yield row;
    node = skips.past(terms, terms.next(node), isLeft);
  }
}

/** Whether any live record of the kind has this member at this value. */
export function isTermInUse(state: State, ledger: number, kind: Kind, member: string, value: string): boolean {
  for (const row of rowsUnder(state, ledger, kind, member, value)) {
    if (dataOf(versionAt(state, state.rows.at.get(row)).entry)[member] === value) return true;
  }
  return false;
}
