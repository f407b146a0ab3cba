/**
 * Who a key belongs to in a ledger: the signer records that carry it, and the circles those are in.
 *
 * A membership is a record of its own, bound to the luids of circle and signer. Handles can be given away and taken
 * anew; a new circle of an old name has no members, and a new signer of an old name is in no circle.
 */
import { base64 } from '../bytes.ts';
import { Kind } from '../kinds.ts';
import { dataOf, findHandle, type State, versionAt } from '../state.ts';
import { rowAtPlace, termHash } from '../terms.ts';
import { KeyMap } from './key-map.ts';

/** A signer record as rules see it. */
export interface SignerFact {
  readonly luid: string;
  readonly handle: string;
  readonly schema: string | undefined;
  readonly custom: unknown;
  /** By the circle's handle. */
  readonly circles: Map<string, boolean>;
}

/** What is known of a ledger's signers and circles at one count of their changes. */
export interface People {
  epoch: number;
  readonly byKey: KeyMap<readonly SignerFact[]>;
  /** The luid of the circle of this handle, or null. */
  readonly circles: Map<string, string | null>;
}

const KEYS_MAX = 20_000;
const CIRCLES_MAX = 20_000;
const CIRCLES_PER_SIGNER_MAX = 1000;
/**
 * Signers that carry one key. All of them are read again after each change of any signer, on the thread that serves
 * everybody. The first ones count: whoever makes thousands more with somebody else's key takes nothing from its owner.
 */
const SIGNERS_PER_KEY_MAX = 1000;

function peopleOf({ memo }: State, ledger: number): People {
  const epoch = memo.peopleEpoch(ledger);
  const known = memo.people(ledger);
  if (known === undefined) {
    const people: People = { epoch, byKey: new KeyMap(), circles: new Map() };
    memo.setPeople(ledger, people);
    return people;
  }
  if (known.epoch !== epoch) {
    known.byKey.clear();
    known.circles.clear();
    known.epoch = epoch;
  }
  return known;
}

/** The signer records of this ledger that carry the key. */
export function signersOf(state: State, ledger: number, key: Uint8Array): readonly SignerFact[] {
  const { byKey } = peopleOf(state, ledger);
  const known = byKey.get(key);
  if (known !== undefined) return known;
  const found = findSigners(state, ledger, base64(key));
  if (byKey.size >= KEYS_MAX) byKey.clear();
  byKey.add(key.slice(), found);
  return found;
}

function findSigners(state: State, ledger: number, key: string): SignerFact[] {
  const { terms, rows } = state;
  const carriers: number[] = [];
  const head = terms.head(termHash(state, ledger, Kind.signer, 'public', key));
  for (let node = head; node !== 0; node = terms.next(node)) {
    const row = rowAtPlace(state, ledger, Kind.signer, terms.value(node));
    if (row >= 0) carriers.push(row);
  }
  const found: SignerFact[] = [];
  for (const row of carriers.sort((one, other) => one - other)) {
    if (found.length >= SIGNERS_PER_KEY_MAX) break;
    const { entry } = versionAt(state, rows.at.get(row));
    const data = dataOf(entry) as { public: string; schema?: string; custom?: unknown };
    if (data.public !== key) continue;
    const { schema, custom } = data;
    found.push({ luid: entry.luid, handle: entry.handle, schema, custom, circles: new Map() });
  }
  return found;
}

/** Whether the signer is in the circle of this handle. */
export function isMember(state: State, ledger: number, signer: SignerFact, circle: string): boolean {
  const known = signer.circles.get(circle);
  if (known !== undefined) return known;
  const luid = circleLuid(state, ledger, circle);
  const is = luid !== null && findHandle(state, ledger, Kind['circle-signer'], memberHandle(luid, signer.luid)) >= 0;
  if (signer.circles.size >= CIRCLES_PER_SIGNER_MAX) signer.circles.clear();
  signer.circles.set(circle, is);
  return is;
}

function circleLuid(state: State, ledger: number, handle: string): string | null {
  const { circles } = peopleOf(state, ledger);
  const known = circles.get(handle);
  if (known !== undefined) return known;
  const row = findHandle(state, ledger, Kind.circle, handle);
  const luid = row < 0 ? null : versionAt(state, state.rows.at.get(row)).entry.luid;
  if (circles.size >= CIRCLES_MAX) circles.clear();
  circles.set(handle, luid);
  return luid;
}

/** The handle of a membership: both luids, which no path and no rule can name. */
export function memberHandle(circle: string, signer: string): string {
  return circle + signer;
}
