/**
 * Whom a rule means: signer and bearer matchers, compiled from their JSON.
 *
 * All members of one matcher must hold, of one and the same signer record where they speak of records. `{}` is any
 * signer, or any token. A list under `$in` is satisfied by any of its matchers.
 */
import { bytesOfBase64, equalBytes } from '../bytes.ts';
import type { State } from '../state.ts';
import type { Bearer } from './caller.ts';
import { KeyMap } from './key-map.ts';
import { isMember, type SignerFact, signersOf } from './people.ts';

/** What a matcher may ask about the record in question. */
export interface Scene {
  readonly state: State;
  readonly ledger: number;
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
  return typeof json === 'object' && json !== null && '$in' in json ? (json as { $in: T[] }).$in : [json as T];
}

/** One or several signer matchers; those that only name a key are found by it. */
export class SignerTest {
  /** Whether every key passes. */
  readonly isAny: boolean;
  /** Whether the key alone decides, as long as signers and circles stay what they are: no owner is asked for. */
  readonly isFixed: boolean;
  readonly #key: Uint8Array | null;
  /** Where there are several: most lists name one key, and there can be many lists. */
  readonly #keys: KeyMap<true> | null;
  readonly #others: readonly SignerMatch[];

  constructor(json: OneOrIn<SignerJson>) {
    const matches = alternatives(json).map(compileSigner);
    const keys = matches.flatMap(({ isPlain, key }) => (isPlain && key !== null ? [key] : []));
    this.isAny = matches.some(({ isPlain, key }) => isPlain && key === null);
    this.#key = keys[0] ?? null;
    this.#keys = keys.length < 2 ? null : keysOf(keys);
    this.#others = matches.filter(({ isPlain }) => !isPlain);
    this.isFixed = this.#others.every(
      ({ json: { $record, $ledger } }) => $record === undefined && $ledger === undefined,
    );
  }

  passes(key: Uint8Array, scene: Scene): boolean {
    if (this.isAny || (this.#key !== null && equalBytes(this.#key, key))) return true;
    if (this.#keys !== null && this.#keys.get(key) === true) return true;
    for (const match of this.#others) if (matchesSigner(match, key, scene)) return true;
    return false;
  }
}

function keysOf(keys: readonly Uint8Array[]): KeyMap<true> {
  const map = new KeyMap<true>();
  for (const key of keys) if (map.get(key) === undefined) map.add(key, true);
  return map;
}

interface SignerMatch {
  readonly json: SignerJson;
  readonly key: Uint8Array | null;
  /** Nothing but the key counts. */
  readonly isPlain: boolean;
  /** Asks about the signer's record. */
  readonly isRecorded: boolean;
}

/** Every key that signs here is of the one format there is, so `format` tells none apart. */
function compileSigner(json: SignerJson): SignerMatch {
  const { handle, custom, schema, $circle, $record, $ledger } = json;
  const isRecorded = handle !== undefined || custom !== undefined || schema !== undefined || $circle !== undefined;
  const isPlain = !isRecorded && $record === undefined && $ledger === undefined;
  return { json, key: json.public === undefined ? null : bytesOfBase64(json.public), isPlain, isRecorded };
}

function matchesSigner({ json, key: named, isRecorded }: SignerMatch, key: Uint8Array, scene: Scene): boolean {
  if (named !== null && !equalBytes(named, key)) return false;
  if (json.$record !== undefined && !scene.isOwner(key)) return false;
  if (json.$ledger !== undefined && !scene.isLedgerOwner(key)) return false;
  if (!isRecorded) return true;
  for (const signer of signersOf(scene.state, scene.ledger, key)) if (matchesRecord(json, signer, scene)) return true;
  return false;
}

function matchesRecord({ handle, schema, custom, $circle }: SignerJson, signer: SignerFact, scene: Scene): boolean {
  if (handle !== undefined && handle !== signer.handle) return false;
  if (schema !== undefined && schema !== signer.schema) return false;
  if ($circle !== undefined && !isMember(scene.state, scene.ledger, signer, $circle)) return false;
  return custom === undefined || isPart(custom, signer.custom);
}

/** Whether everything in `part` is in `whole`: members of objects by name, all else by equality. */
export function isPart(part: unknown, whole: unknown): boolean {
  if (part === whole) return true;
  if (typeof part !== 'object' || typeof whole !== 'object' || part === null || whole === null) return false;
  if (Array.isArray(part) || Array.isArray(whole)) {
    if (!Array.isArray(part) || !Array.isArray(whole) || part.length !== whole.length) return false;
    return part.every((each, i) => isPart(each, whole[i]) && isPart(whole[i], each));
  }
  return Object.entries(part).every(
    ([name, value]) => Object.hasOwn(whole, name) && isPart(value, (whole as Record<string, unknown>)[name]),
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
