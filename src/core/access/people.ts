/**
 * Who a key belongs to in a ledger: the signer records that carry it, and the circles those are in.
 *
 * A membership is a record of its own, bound to the luids of circle and signer. Handles can be given away and taken
 * anew; a new circle of an old name has no members, and a new signer of an old name is in no circle.
 */
import { base64 } from '../bytes.ts';
import { findHandle } from '../finding.ts';
import { Kind } from '../kinds.ts';
import { dataOf, versionAt } from '../records.ts';
import type { State } from '../state.ts';
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
  /** The effort of reading it, where that is worth counting. */
  readonly weight: number;
}

/** What is known of a ledger's signers and circles at one count of their changes. */
export interface People {
  epoch: number;
  readonly byKey: KeyMap<Carriers>;
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
/** Characters of a record from which on reading it counts, and the effort of reading as many. */
const LONG_CHARS = 4096;
const LONG_WEIGHT = 256;
/** What a key takes of the room for signers, though none may carry it: anybody may sign with as many as they like. */
const KEY_CHARS = 256;
/** The same of a circle that was asked for, beside its name: rules may name thousands, and ask each signer for all of them. */
const CIRCLE_CHARS = 32;

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
export function signersOf(state: State, ledger: number, key: Uint8Array): Carriers {
  const { byKey } = peopleOf(state, ledger);
  const known = byKey.get(key);
  if (known !== undefined) return known;
  const text = base64(key);
  const found = new Carriers(state, text, carriersOf(state, ledger, text));
  if (byKey.size >= KEYS_MAX) byKey.clear();
  byKey.add(key.slice(), found);
  state.memo.holdPeople(KEY_CHARS);
  return found;
}

/** The signers of one key, first made first. Each is read when somebody asks for it: a record may be a megabyte. */
class Carriers {
  readonly #state: State;
  readonly #key: string;
  readonly #rows: readonly number[];
  #next = 0;
  readonly #known: SignerFact[] = [];

  constructor(state: State, key: string, rows: readonly number[]) {
    this.#state = state;
    this.#key = key;
    this.#rows = rows;
  }

  at(index: number): SignerFact | undefined {
    while (this.#known.length <= index && this.#known.length < SIGNERS_PER_KEY_MAX && this.#next < this.#rows.length) {
      const fact = this.#read(this.#rows[this.#next++]!);
      if (fact !== null) this.#known.push(fact);
    }
    return this.#known[index];
  }

  #read(row: number): SignerFact | null {
    const { entry } = versionAt(this.#state, this.#state.rows.at.get(row));
    const data = dataOf(entry) as { public: string; schema?: string; custom?: unknown };
    if (data.public !== this.#key) return null;
    const { schema, custom } = data;
    this.#state.memo.holdPeople(entry.data.length);
    const weight = LONG_WEIGHT * Math.floor(entry.data.length / LONG_CHARS);
    return { luid: entry.luid, handle: entry.handle, schema, custom, circles: new Map(), weight };
  }
}

/** Their rows, in the order in which they were made. */
function carriersOf(state: State, ledger: number, key: string): number[] {
  const { terms } = state;
  const carriers: number[] = [];
  const head = terms.head(termHash(state, ledger, Kind.signer, 'public', key));
  for (let node = head; node !== 0; node = terms.next(node)) {
    const row = rowAtPlace(state, ledger, Kind.signer, terms.value(node));
    if (row >= 0) carriers.push(row);
  }
  return carriers.sort((one, other) => one - other);
}

/** Whether the signer is in the circle of this handle. */
export function isMember(state: State, ledger: number, signer: SignerFact, circle: string): boolean {
  const known = signer.circles.get(circle);
  if (known !== undefined) return known;
  const luid = circleLuid(state, ledger, circle);
  const is = luid !== null && findHandle(state, ledger, Kind['circle-signer'], memberHandle(luid, signer.luid)) >= 0;
  if (signer.circles.size >= CIRCLES_PER_SIGNER_MAX) signer.circles.clear();
  signer.circles.set(circle, is);
  state.memo.holdPeople(CIRCLE_CHARS + circle.length);
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
  state.memo.holdPeople(CIRCLE_CHARS + handle.length);
  return luid;
}

/** The handle of a membership: both luids, which no path and no rule can name. */
export function memberHandle(circle: string, signer: string): string {
  return circle + signer;
}
