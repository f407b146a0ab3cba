/**
 * Whom a rule means: signer and bearer matchers, compiled from their JSON.
 *
 * All members of one matcher must hold, of one and the same signer record where they speak of records. `{}` is any
 * signer, or any token. A list under `$in` is satisfied by any of its matchers.
 */
import { bytesOfBase64, equalBytes } from '../bytes.ts';
import type { Effort } from '../filters.ts';
import { isObject } from '../objects.ts';
import type { State } from '../state.ts';
import type { Bearer } from './caller.ts';
import { type KeyMap, keysOf } from './key-map.ts';
import { type Carrier, isMember, type SignerFact, signersOf } from './people.ts';

/**
 * The effort, in looks, that one list of rules may take, or the policies of one proof. Anybody may write rules, and
 * they are asked on the thread that serves everybody, so there is a limit: about ten milliseconds' worth. Effort is
 * counted, never timed, and what is remembered costs as much as the first time, so the same books always come to the
 * same decision.
 */
export const EFFORT_MAX = 200_000;
/** Characters of JSON that are read or compared for the effort of one look. */
export const CHARS_PER_EFFORT = 64;

/**
 * Leaves one of `count`, who are asked one after the other, its share of the effort, and sets the rest aside: what one
 * takes in vain the others do not lack. Returns what was set aside, for `giveBack`.
 */
export function setAside(effort: Effort, count: number): number {
  const share = Math.floor(Math.max(effort.left, 0) / count);
  const aside = effort.left - share;
  effort.left = share;
  return aside;
}

export function giveBack(effort: Effort, aside: number): void {
  effort.left = aside + Math.max(effort.left, 0);
}

/** What a matcher may ask about the record in question. */
export interface Scene {
  readonly state: State;
  readonly ledger: number;
  /** Whatever costs more than comparing keys takes of it; once there is none left, nobody matches. */
  readonly effort: Effort;
  /**
   * By address, the signers whose reading took effort in this decision: it takes it once, whatever the memo forgets
   * meanwhile.
   */
  read: Map<number, Carrier> | null;
  isOwner(key: Uint8Array): boolean;
  isLedgerOwner(key: Uint8Array): boolean;
}

export interface SignerJson {
  handle?: string;
  public?: string;
  format?: string;
  custom?: Record<string, unknown>;
  schema?: string;
  $circle?: string;
  $record?: 'owner';
  $ledger?: 'owner';
}

export interface BearerJson {
  iss?: string;
  sub?: string;
  aud?: string;
  hsh?: boolean;
  $signer?: SignerJson | { $in: SignerJson[] };
}

export type OneOrIn<T> = T | { $in: T[] };

/** The alternatives of a matcher. */
export function alternatives<T>(json: OneOrIn<T>): T[] {
  return typeof json === 'object' && json !== null && '$in' in json ? json.$in : [json];
}

/** One or several signer matchers; those that only name a key are found by it. */
export class SignerTest {
  /** Whether every key passes. */
  readonly isAny: boolean;
  /** Whether the key alone decides, as long as signers and circles stay what they are: no owner is asked for. */
  readonly isFixed: boolean;
  /** Keys that pass by themselves. */
  readonly keys: readonly Uint8Array[];
  readonly #key: Uint8Array | null;
  /**
   * The same keys to be looked up, where there are several; else null: most lists name one key, and there can be many
   * lists.
   */
  readonly #keys: KeyMap<true> | null;
  readonly #others: readonly SignerMatch[];

  constructor(json: OneOrIn<SignerJson>) {
    const matches = alternatives(json).map(compileSigner);
    const keys = matches.flatMap(({ isPlain, key }) => (isPlain && key !== null ? [key] : []));
    this.isAny = matches.some(({ isPlain, key }) => isPlain && key === null);
    this.keys = keys;
    this.#key = keys[0] ?? null;
    this.#keys = keys.length < 2 ? null : keysOf(keys);
    this.#others = matches.filter(({ isPlain }) => !isPlain);
    this.isFixed = this.#others.every(
      ({ json: { $record, $ledger } }) => $record === undefined && $ledger === undefined,
    );
  }

  /** Whether a key may pass by its signer record, by owning the record in question, or by owning the ledger. */
  get asks(): { readonly signer: boolean; readonly owner: boolean; readonly ledgerOwner: boolean } {
    const others = this.#others;
    return {
      signer: others.some(({ isRecorded }) => isRecorded),
      owner: others.some(({ json }) => json.$record !== undefined),
      ledgerOwner: others.some(({ json }) => json.$ledger !== undefined),
    };
  }

  /** Whether no record of a signer is asked for. */
  get isPlain(): boolean {
    return this.#others.length === 0;
  }

  passes(key: Uint8Array, scene: Scene): boolean {
    if (this.isAny || (this.#key !== null && equalBytes(this.#key, key))) return true;
    if (this.#keys !== null && this.#keys.get(key) === true) return true;
    for (const match of this.#others) if (matchesSigner(match, key, scene)) return true;
    return false;
  }
}

interface SignerMatch {
  readonly json: SignerJson;
  readonly key: Uint8Array | null;
  /** Nothing but the key counts. */
  readonly isPlain: boolean;
  /** Asks about the signer's record. */
  readonly isRecorded: boolean;
  /** The effort of comparing with one such record. */
  readonly weight: number;
}

/** Every key that signs here is of the one format there is, so `format` tells none apart. */
function compileSigner(json: SignerJson): SignerMatch {
  const { handle, custom, schema, $circle, $record, $ledger } = json;
  const isRecorded = handle !== undefined || custom !== undefined || schema !== undefined || $circle !== undefined;
  const isPlain = !isRecorded && $record === undefined && $ledger === undefined;
  const weight = 1 + (custom === undefined ? 0 : JSON.stringify(custom).length / CHARS_PER_EFFORT);
  return { json, key: json.public === undefined ? null : bytesOfBase64(json.public), isPlain, isRecorded, weight };
}

function matchesSigner(match: SignerMatch, key: Uint8Array, scene: Scene): boolean {
  const { json, key: named, isRecorded, weight } = match;
  const { effort } = scene;
  if (effort.left-- <= 0) return false;
  if (named !== null && !equalBytes(named, key)) return false;
  if (json.$record !== undefined && !scene.isOwner(key)) return false;
  if (json.$ledger !== undefined && !scene.isLedgerOwner(key)) return false;
  if (!isRecorded) return true;
  const carriers = signersOf(scene.state, scene.ledger, key);
  if (json.handle !== undefined) {
    const carrier = carriers.named(json.handle);
    return carrier !== null && matchesRecord(json, factOf(carrier, weight, scene), scene);
  }
  for (const carrier of carriers.counted) {
    const fact = factOf(carrier, weight, scene);
    if (scene.effort.left < 0) return false;
    if (matchesRecord(json, fact, scene)) return true;
  }
  return false;
}

/**
 * A signer as it was read, which takes effort, as comparing with it does. Null where it has another key, or where too
 * little effort is left.
 */
function factOf(carrier: Carrier, weight: number, scene: Scene): SignerFact | null {
  const { effort } = scene;
  effort.left -= weight;
  if (carrier.weight === 0) return effort.left < 0 ? null : carrier.fact;
  const read = scene.read?.get(carrier.address);
  if (read === undefined) effort.left -= carrier.weight;
  if (effort.left < 0) return null;
  scene.read ??= new Map();
  scene.read.set(carrier.address, read ?? carrier);
  // Two keys with one hash may both have found it, and it carries one of them.
  return (read?.key === carrier.key ? read : carrier).fact;
}

/**
 * Whether the other members of a matcher hold for a signer that was found by its key, and by its handle where one is
 * asked for; null is a signer with another key, for which they do not.
 */
function matchesRecord({ schema, custom, $circle }: SignerJson, signer: SignerFact | null, scene: Scene): boolean {
  if (signer === null) return false;
  if (schema !== undefined && schema !== signer.schema) return false;
  if ($circle !== undefined && !isMember(scene.state, scene.ledger, signer, $circle)) return false;
  return custom === undefined || isPart(custom, signer.custom);
}

/** Whether everything in `part` is in `whole`: members of objects by name, all else by equality. */
export function isPart(part: unknown, whole: unknown): boolean {
  if (!isObject(part) || !isObject(whole)) return isSame(part, whole);
  return Object.entries(part).every(([name, value]) => Object.hasOwn(whole, name) && isPart(value, whole[name]));
}

/** Each part of both is looked at once: lists within lists must not double the work with every level. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((each, i) => isSame(each, other[i]));
  }
  if (!isObject(one) || !isObject(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

export class BearerTest {
  readonly #matches: { json: BearerJson; signer: SignerTest | null }[];

  constructor(json: OneOrIn<BearerJson>) {
    this.#matches = alternatives(json).map((each) => ({
      json: each,
      signer: each.$signer === undefined ? null : new SignerTest(each.$signer),
    }));
  }

  passes(bearer: Bearer, scene: Scene): boolean {
    for (const { json, signer } of this.#matches) {
      if (scene.effort.left-- <= 0) return false;
      if (json.iss !== undefined && json.iss !== bearer.iss) continue;
      if (json.sub !== undefined && json.sub !== bearer.sub) continue;
      if (json.aud !== undefined && json.aud !== bearer.aud) continue;
      // `hsh: true` wants a token of one request; `false` wants nothing of it.
      if (json.hsh === true && !bearer.hsh) continue;
      if (signer === null || signer.passes(bearer.key, scene)) return true;
    }
    return false;
  }
}
