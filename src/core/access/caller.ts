/**
 * Who asks, and for what: the words of access rules.
 */
import { Kind } from '../kinds.ts';

/** A bearer token that was sent and is valid. */
export interface Bearer {
  readonly iss: string;
  readonly sub: string;
  readonly aud: string;
  /** Whether the token is bound to this one request (`hsh`). */
  readonly hsh: boolean;
  /** The key that signed it, 32 bytes. */
  readonly key: Uint8Array;
}

export interface Caller {
  /** Keys that signed the body, 32 bytes each. */
  readonly keys: readonly Uint8Array[];
  readonly bearer: Bearer | null;
}

/** Whoever sends no body and no token. */
export const NOBODY: Caller = { keys: [], bearer: null };

/**
 * The server itself, and whoever only repeats what was allowed before: no rule is asked. Known by identity, so no
 * request can be it.
 */
export const GRANTED: Caller = { keys: [], bearer: null };

/** What a rule may allow. The position of an action is its bit in a rule's mask. */
export const ACCESS_ACTIONS = [
  'access',
  'create',
  'read',
  'update',
  'drop',
  'lookup',
  'issue',
  'destroy',
  'spend',
  'limit',
  'commit',
  'abort',
  'activate',
  'assign-signer',
  'remove-signer',
  'query-event',
  'retry-event',
  'sign',
  'sign-intent',
] as const;
export type AccessAction = (typeof ACCESS_ACTIONS)[number];

export const ACTION_NUMBERS: ReadonlyMap<string, number> = new Map(ACCESS_ACTIONS.map((action, i) => [action, i]));
/** The mask of a rule that allows any action, also those that later versions add. */
export const ALL_ACTIONS = -1;
export const ACCESS = 0;
export const CREATE = 1;
export const READ = 2;
const SIGN = 17;
const SIGN_INTENT = 18;

/** What a rule speaks of: a kind of record, or the proofs on records of a kind. */
export type Target = number;
export const PROOF_TARGET = 16;

export function proofTarget(kind: Kind): Target {
  return kind + PROOF_TARGET;
}

/** The bits of a rule's mask that allow this. */
export function wantedMask(action: number, target: Target): number {
  return (1 << action) | signMask(action, target);
}

/**
 * The right to add a proof has older names: whoever may `sign` has it, and for intents whoever may `sign-intent`. A
 * rule with such a name is about the records that are signed, so it may name their kind.
 */
export function signMask(action: number, target: Target): number {
  if (action !== CREATE || target < PROOF_TARGET) return 0;
  return (1 << SIGN) | (target === proofTarget(Kind.intent) ? 1 << SIGN_INTENT : 0);
}
