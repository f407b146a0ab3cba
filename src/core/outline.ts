/**
 * What the state asks of an intent's data as it comes in, and of most other records'. Of what is decided a sheet says
 * it (sheet.ts), and of the server's own intents the data as a value; replay, which has it as bytes, reads these
 * members and passes over the rest (storage/outline.ts).
 */
import { actionNumber, CLAIM_ACTIONS, type Claim, handleOf, rowsOf, walletIn } from './claims/index.ts';
import { Kind } from './kinds.ts';

export { hashAscii, hashText } from '../memory/index.ts';

export interface IntentOutline {
  /** Undefined where it is no text. */
  schema: string | undefined;
  /** Flat rows of CLAIM_WIDTH. */
  claims: readonly number[];
  /**
   * Where those have no hashes, the wallets that they name, in the order of the claims and of their actions' members;
   * else null.
   */
  names: readonly string[] | null;
  /** It brings access rules of its own. */
  hasAccess: boolean;
  /** Null where they are not known. */
  hashes: NameHashes | null;
}

/** `hashText`, under the state's seed, of the names that an intent is found by. */
export interface NameHashes {
  luid: number;
  handle: number;
}

/**
 * What applying asks of a new record's data, where the kind asks for no more: of a text what it says, of an array
 * whether it holds anything, of any other value that it is there.
 */
export const ASKED_MEMBERS = ['access', 'bridge', 'public', 'routes', 'schema', 'target', 'wallet'] as const;

/** Kinds of which the state keeps more than that. */
const ASKED_WHOLE: readonly Kind[] = [Kind.ledger, Kind.intent, Kind.effect, Kind.bridge, Kind.policy, Kind.schema];

export function isAskedWhole(kind: Kind): boolean {
  return ASKED_WHOLE.includes(kind);
}

/** The outline of an intent's data as a value, without hashes. */
export function outlineOf({ schema, claims: given, access }: Record<string, unknown>): IntentOutline {
  const claims = given as readonly Claim[];
  const walletsOf = (claim: Claim) =>
    CLAIM_ACTIONS[actionNumber(claim.action)]!.wallets.map((member) => handleOf(walletIn(claim, member)!));
  return {
    schema: typeof schema === 'string' ? schema : undefined,
    claims: rowsOf(claims),
    names: claims.flatMap(walletsOf),
    hasAccess: hasRules(access),
    hashes: null,
  };
}

/** Whether `data.access` brings rules. */
export function hasRules(access: unknown): boolean {
  return Array.isArray(access) && access.length > 0;
}
