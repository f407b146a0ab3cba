/**
 * Who a key belongs to in a ledger: the signer records that carry it, and the circles those are in.
 *
 * A membership is a record of its own, bound to the luids of circle and signer. Handles can be given away and taken
 * anew; a new circle of an old name has no members, and a new signer of an old name is in no circle.
 */
import { base64 } from '../bytes.ts';
import { findHandle } from '../finding.ts';
import { Kind } from '../kinds.ts';
import { memberHandle } from '../memberships.ts';
import { dataOf, entryAt, type VersionEntry, versionAddress, versionAt } from '../records.ts';
import type { State } from '../state.ts';
import { KeyMap } from './key-map.ts';
import { type SignersOfKey, signersOfKey } from './signers-of-key.ts';

/** A signer record as rules see it. */
export interface SignerFact {
  readonly luid: string;
  readonly schema: string | undefined;
  readonly custom: unknown;
  /** By a circle's handle, whether the signer is in it; filled as rules ask. */
  readonly circles: Map<string, boolean>;
}

/**
 * What is known of a ledger's signers and circles at one count of their changes. What is known of its keys outlasts
 * that count.
 */
export interface People {
  epoch: number;
  readonly byKey: KeyMap<KeyFacts>;
  /** The luid of the circle of this handle, or null. */
  readonly circles: Map<string, string | null>;
  /** The row of the signer of this handle, negative where there is none. */
  readonly signers: Map<string, number>;
}

const KEYS_MAX = 20_000;
/** Names of circles, and of signers, that rules asked for. */
const NAMES_MAX = 20_000;
const CIRCLES_PER_SIGNER_MAX = 1000;
/**
 * How many signers with one key count, and what reading all of them may take. Whoever may make signers may make them
 * with somebody else's key, and each decision about that key's owner looks at them. So they are few and short together,
 * and leave enough of the effort for all the rules there are. The first ones count, so that nobody takes anything from
 * those who were there before; one that a rule names by its handle counts in any case.
 */
const SIGNERS_PER_KEY_MAX = 50;
const WEIGHT_PER_KEY_MAX = 4096;
/** Bytes of an entry from which on reading it counts, and the effort of reading as many. */
const LONG_BYTES = 4096;
const LONG_WEIGHT = 256;
/**
 * What a key takes of the room for signers, even if none carries it: anybody may sign with as many keys as they like.
 */
const KEY_CHARS = 256;
/** What each signer takes that is remembered as one with the key. */
const PLACE_CHARS = 8;
/**
 * What a circle that was asked for takes, beside its name: rules may name thousands, and ask each signer for all of
 * them.
 */
const CIRCLE_CHARS = 32;

function peopleOf({ memo }: State, ledger: number): People {
  const epoch = memo.peopleEpoch(ledger);
  const known = memo.people(ledger);
  if (known === undefined) {
    const people: People = { epoch, byKey: new KeyMap(), circles: new Map(), signers: new Map() };
    memo.setPeople(ledger, people);
    return people;
  }
  if (known.epoch !== epoch) {
    known.circles.clear();
    known.signers.clear();
    known.epoch = epoch;
  }
  return known;
}

/** The signer records of this ledger that carry the key. */
export function signersOf(state: State, ledger: number, key: Uint8Array): Carriers {
  const { byKey, epoch } = peopleOf(state, ledger);
  let facts = byKey.get(key);
  if (facts === undefined) {
    facts = new KeyFacts(state, ledger, base64(key));
    if (byKey.size >= KEYS_MAX) byKey.clear();
    byKey.add(key.slice(), facts);
    state.memo.holdPeople(KEY_CHARS);
  }
  return facts.carriers(state, epoch);
}

/** Whether any signer may carry the key. A yes may be wrong: signers are found by a hash of their key. */
export function isSomebodys(state: State, ledger: number, key: Uint8Array): boolean {
  return signersOf(state, ledger, key) !== NOBODY;
}

/** What is known of a key in a ledger. */
class KeyFacts {
  readonly #key: string;
  readonly #signers: SignersOfKey;
  #epoch = -1;
  #carriers: Carriers = NOBODY;

  constructor(state: State, ledger: number, key: string) {
    this.#key = key;
    this.#signers = signersOfKey(state, ledger, key, SIGNERS_PER_KEY_MAX);
  }

  /** Who carries it at this count of changes. */
  carriers(state: State, epoch: number): Carriers {
    if (this.#epoch === epoch) return this.#carriers;
    const signers = this.#signers;
    const before = signers.size;
    const first = signers.first(state);
    this.#carriers = first.length === 0 ? NOBODY : new SomeCarriers(state, this.#key, signers, first);
    this.#epoch = epoch;
    state.memo.holdPeople(PLACE_CHARS * Math.max(signers.size - before, 0));
    return this.#carriers;
  }
}

/**
 * A signer record found by the hash of a key: it carries that key, or another with the same hash. It is read when
 * somebody asks for it: it may be a megabyte.
 */
export class Carrier {
  /** The effort of reading it, where that is worth counting. */
  readonly weight: number;
  readonly #state: State;
  /** Of its newest version. */
  readonly address: number;
  /** The key by which it was found, base64. */
  readonly key: string;
  #fact: SignerFact | null | undefined;

  constructor(state: State, row: number, key: string) {
    this.#state = state;
    this.address = versionAddress(state, state.rows.at.get(row));
    this.key = key;
    this.weight = LONG_WEIGHT * Math.floor(state.heap.length(this.address) / LONG_BYTES);
  }

  /** Null where it carries another key: they are found by a hash. */
  get fact(): SignerFact | null {
    if (this.#fact === undefined) this.#fact = this.#read();
    return this.#fact;
  }

  #read(): SignerFact | null {
    const entry = entryAt(this.#state, this.address) as VersionEntry;
    const data = dataOf(entry) as { public: string; schema?: string; custom?: unknown };
    if (data.public !== this.key) return null;
    const { schema, custom } = data;
    this.#state.memo.holdPeople(entry.data.length);
    return { luid: entry.luid, schema, custom, circles: new Map() };
  }
}

/** The signers of one key. */
interface Carriers {
  /** Those that count: the first to carry the key, up to SIGNERS_PER_KEY_MAX, and of long ones those that fit. */
  readonly counted: readonly Carrier[];
  /** The one of this handle, whether it counts or not; null where there is none. */
  named(handle: string): Carrier | null;
}

/**
 * What is known of any key that no signer carries: the same for all, since anybody may sign with as many as they like.
 */
const NOBODY: Carriers = { counted: [], named: () => null };

class SomeCarriers implements Carriers {
  readonly counted: readonly Carrier[];
  readonly #state: State;
  readonly #key: string;
  readonly #signers: SignersOfKey;
  /** Those that were asked for, by their rows. */
  readonly #carriers = new Map<number, Carrier>();

  constructor(state: State, key: string, signers: SignersOfKey, first: readonly number[]) {
    this.#state = state;
    this.#key = key;
    this.#signers = signers;
    let weight = 0;
    this.counted = first
      .map((row) => this.#carrier(row))
      .filter((carrier) => {
        const isFitting = weight + carrier.weight <= WEIGHT_PER_KEY_MAX;
        if (isFitting) weight += carrier.weight;
        return isFitting;
      });
  }

  named(handle: string): Carrier | null {
    const row = signerRow(this.#state, this.#signers.ledger, handle);
    return row >= 0 && this.#signers.has(this.#state, row) ? this.#carrier(row) : null;
  }

  #carrier(row: number): Carrier {
    const known = this.#carriers.get(row);
    if (known !== undefined) return known;
    const carrier = new Carrier(this.#state, row, this.#key);
    this.#carriers.set(row, carrier);
    return carrier;
  }
}

function signerRow(state: State, ledger: number, handle: string): number {
  const { signers } = peopleOf(state, ledger);
  const known = signers.get(handle);
  if (known !== undefined) return known;
  const row = findHandle(state, ledger, Kind.signer, handle);
  if (signers.size >= NAMES_MAX) signers.clear();
  signers.set(handle, row);
  state.memo.holdPeople(CIRCLE_CHARS + handle.length);
  return row;
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
  if (circles.size >= NAMES_MAX) circles.clear();
  circles.set(handle, luid);
  state.memo.holdPeople(CIRCLE_CHARS + handle.length);
  return luid;
}
