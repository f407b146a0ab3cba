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
 * Looks that one list of rules, or the policies of one proof, are given. Whoever writes rules, they are asked on the
 * thread that serves everybody, so there is an end: about ten milliseconds' worth. It is counted, never timed, and what
 * was remembered costs what it cost, so the same books always come to the same decision.
 */
export const EFFORT_MAX = 200_000;
/** Characters of JSON that are read or compared with the effort of one look. */
export const CHARS_PER_EFFORT = 64;

/**
 * Sets effort aside while one of so many, who are asked one after the other, is asked: what it takes to no end is not
 * missed by the others. Returns what `giveBack` adds to the rest of the share afterwards.
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
  /** Taken by whatever costs more than comparing keys; once there is none left, nobody is who is meant. */
  readonly effort: Effort;
  /**
   * Signers that were read for this decision, by their addresses, where that took effort: it takes it once, whatever is
   * forgotten meanwhile.
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
  /** Where there are several: most lists name one key, and there can be many lists. */
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

  /**
   * Whether somebody may pass for what their record as a signer says, or by owning the record in question or the
   * ledger.
   */
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
 * A signer as it was read; null for another key's, and where there is no effort to read it and compare with it, which
 * it takes.
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
  // Of two keys with one hash either may have found it, and it carries one of them.
  return (read?.key === carrier.key ? read : carrier).fact;
}

/**
 * Whether the rest holds of a signer that was found by its key, and its handle where one is asked for; null: another
 * key's.
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
