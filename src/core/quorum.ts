/**
 * Quorums: how many distinct keys, of which signers, must say a thing before it happens.
 *
 * A quorum is a list of seats, each for one key that its matcher fits. It is reached when every seat can be given a
 * key of its own: whoever fits two seats fills one, so two people are needed where a rule asks for two.
 */
import { type OneOrIn, type Scene, type SignerJson, SignerTest } from './access/matchers.ts';
import { compileFilter } from './access/policies.ts';
import { equalBytes } from './bytes.ts';
import { type Filter, matchesAll } from './filters.ts';
import { Kind } from './kinds.ts';
import type { PolicySort } from './norms.ts';
import { isoMoment } from './proofs.ts';
import { dataOf, type RecordView, readRow, type State, versionAt } from './state.ts';

/** Who may, in a value of a policy: nobody named is everybody, `signer` is a quorum of one. */
export interface QuorumJson {
  signer?: OneOrIn<SignerJson>;
  quorum?: { signer: OneOrIn<SignerJson>; count?: number }[];
}

/** One test per seat; none where any one key will do. */
export type Seats = readonly SignerTest[];

/** Keys beyond these are not looked at: a quorum has far fewer seats. */
const VOTERS_MAX = 256;

export function compileSeats({ signer, quorum }: QuorumJson): Seats {
  const wanted = quorum ?? (signer === undefined ? [] : [{ signer }]);
  return wanted.flatMap(({ signer: who, count = 1 }) => {
    const test = new SignerTest(who);
    return Array.from({ length: count }, () => test);
  });
}

export function fits(seats: Seats, key: Uint8Array, scene: Scene): boolean {
  return seats.length === 0 || seats.some((seat) => seat.passes(key, scene));
}

/** Whether every seat can have a key of its own (Kuhn's algorithm: who finds a seat taken asks its holder to move). */
export function isReached(seats: Seats, keys: readonly Uint8Array[], scene: Scene): boolean {
  if (seats.length === 0) return true;
  const voters = distinct(keys).map((key) => seats.map((seat) => seat.passes(key, scene)));
  const holders = new Array<number>(seats.length).fill(-1);
  const place = (voter: number, asked: boolean[]): boolean => {
    for (let seat = 0; seat < seats.length; seat++) {
      if (!voters[voter]![seat] || asked[seat]) continue;
      asked[seat] = true;
      if (holders[seat]! >= 0 && !place(holders[seat]!, asked)) continue;
      holders[seat] = voter;
      return true;
    }
    return false;
  };
  for (let voter = 0; voter < voters.length; voter++) place(voter, []);
  return holders.every((voter) => voter >= 0);
}

/** Each key once; the last ones where there are more than are looked at. */
function distinct(keys: readonly Uint8Array[]): Uint8Array[] {
  const found: Uint8Array[] = [];
  for (const key of keys.slice(-VOTERS_MAX)) if (!found.some((each) => equalBytes(each, key))) found.push(key);
  return found;
}

/** A record to which a proof is added, as policies ask about it. */
export class ProofScene implements Scene {
  readonly state: State;
  /** The ledger whose policies and signers count: a ledger's record belongs to the ledger it is. */
  readonly ledger: number;
  readonly kind: Kind;
  readonly record: RecordView;

  constructor(state: State, ledger: number, kind: Kind, record: RecordView) {
    this.state = state;
    this.ledger = kind === Kind.ledger ? state.rows.aux.get(record.row) : ledger;
    this.kind = kind;
    this.record = record;
  }

  isOwner(key: Uint8Array): boolean {
    return this.record.owners.some((owner) => equalBytes(owner, key));
  }

  isLedgerOwner(key: Uint8Array): boolean {
    const { owners } = readRow(this.state, this.state.ledgers[this.ledger]!.row);
    return owners.some((owner) => equalBytes(owner, key));
  }
}

interface PolicyJson<V> {
  values: V[];
  filter?: Record<string, unknown>;
}

/**
 * What the policies of a sort that are for this record say, each compiled once per version. Null where there is none:
 * nothing is asked then. Policies of one sort count together, so `extend` adds nothing to them.
 */
export function policiesFor<V, C>(
  scene: ProofScene,
  sort: PolicySort,
  compile: (values: readonly V[]) => C,
): readonly C[] | null {
  const { state, ledger, kind, record } = scene;
  const rows = state.norms.policies(ledger, kind, sort);
  if (rows.length === 0) return null;
  const found: C[] = [];
  let view: object | null = null;
  for (const row of rows) {
    const { filters, values } = policyAt(state, row, compile);
    if (filters.length > 0) {
      view ??= viewOf(record);
      if (!matchesAll(view, filters)) continue;
    }
    found.push(values);
  }
  return found.length === 0 ? null : found;
}

function policyAt<V, C>(state: State, row: number, compile: (values: readonly V[]) => C) {
  const at = state.rows.at.get(row);
  return state.norms.remember(at, () => {
    const { entry } = versionAt(state, at);
    const { values, filter } = dataOf(entry) as unknown as PolicyJson<V>;
    const filters: Filter[] = compileFilter(filter);
    return { value: { filters, values: compile(values) }, weight: entry.data.length };
  });
}

function viewOf({ entry, status, labels }: RecordView): object {
  return { data: dataOf(entry), meta: { status, moment: isoMoment(entry.moment), labels } };
}

/** Values by the word they are about: several may be about one. */
export function groupBy<V>(values: readonly V[], wordOf: (value: V) => string): ReadonlyMap<string, readonly V[]> {
  const groups = new Map<string, V[]>();
  for (const value of values) {
    const group = groups.get(wordOf(value));
    if (group === undefined) groups.set(wordOf(value), [value]);
    else group.push(value);
  }
  return groups;
}
