/**
 * A record as the model has it, and what it shows. Records are replaced, never changed.
 */
import type { KindName } from '../../../src/core/kinds.ts';
import type { Content, Signed } from '../wish.ts';
import type { Progress } from './progress.ts';

/** What a record shows among its proofs: one of a client's, or what one of the server's must say. */
export type Shown =
  | { readonly by: 'client'; readonly proof: Signed }
  | { readonly by: 'server'; readonly luid?: string; readonly status?: string; readonly reason?: string };

export interface Rec {
  readonly luid: string;
  readonly ledger: number;
  readonly kind: KindName;
  readonly handle: string;
  /** The present version. */
  readonly content: Content;
  readonly moment: number;
  readonly shown: readonly Shown[];
  readonly added: readonly Signed[];
  readonly status: string;
  readonly labels: readonly string[];
  readonly owners: readonly string[];
  readonly isDropped: boolean;
  /** Its place among all changes of data. */
  readonly place: number;
  /** Hashes of its versions, oldest first. */
  readonly versions: readonly string[];
  /** Of intents. */
  readonly progress: Progress | null;
  /** Of effects, and of bridges that are told of statuses: what they asked for, from which entry on; '' is nothing. */
  readonly wishes: readonly { readonly seq: number; readonly signal: string; readonly least: number }[];
}

export function byClient(proof: Signed): Shown {
  return { by: 'client', proof };
}

export function keysOf(proofs: readonly Signed[]): readonly string[] {
  return proofs.map((proof) => proof.public);
}
