/**
 * What comes to the model and what it says of it: what the server gives to a request, and the reason of a no, or the
 * facts that the journal must hold.
 */
import type { Ending } from './progress.ts';

/** What the journal must hold of one thing that happened. */
export interface Fact {
  readonly seq: number;
  readonly type: 'create' | 'update' | 'drop' | 'proof' | 'intent' | 'step' | 'token' | 'delivery';
  readonly luid: string;
  readonly handle: string;
  readonly moment: number;
  readonly hash?: string;
  readonly status?: string | null;
  readonly labels?: readonly string[];
  readonly ending?: Ending;
}

/** `own`: so many of the facts are the request's; the others follow from them. */
export type Verdict = { readonly no: string } | { readonly facts: readonly Fact[]; readonly own: number };

/** What the server adds to a request on its way in. */
export interface Given {
  readonly luid: string;
  /** Of the signer that comes with a new ledger. */
  readonly companion: string;
  /** What its token adds to the keys of its caller. */
  readonly bearer: readonly string[];
  readonly moment: number;
  /** The moment of the batch. */
  readonly now: number;
  /** The luid that the server gave to an intent of its own, so many entries after the request's first. */
  luidAt(entry: number): string;
}

export const no = (reason: string): Verdict => ({ no: reason });

export function did(facts: readonly Fact[], own = facts.length): Verdict {
  return { facts, own };
}
