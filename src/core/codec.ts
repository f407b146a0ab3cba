/**
 * What the core asks of whoever gives entries their bytes (storage/codec.ts). The core keeps records as
 * those bytes in its heap, and never looks inside them itself.
 */
import type { Entry, EntryType } from './entry.ts';
import type { Kind } from './kinds.ts';

export interface EntryCodec {
  /** The entry whose bytes are `bytes[from, to)`. */
  decode(bytes: Uint8Array, from: number, to: number): Entry;
  /** The type of the entry that begins at `from`, without decoding it. */
  type(bytes: Uint8Array, from: number): EntryType;
  /** The ledger of the entry that begins at `from`, without decoding it. */
  ledger(bytes: Uint8Array, from: number): number;
  /** The names of the entry that begins at `from`, without decoding the rest. */
  names(bytes: Uint8Array, from: number, to: number): Names;
  /**
   * Whether the entry that begins at `from` is of a record with this handle in this ledger and kind, without decoding
   * it.
   */
  isNamed(bytes: Uint8Array, from: number, ledger: number, kind: Kind, handle: string): boolean;
  /** Whether it carries this luid. */
  luidEquals(bytes: Uint8Array, from: number, luid: string): boolean;
  /** Where in the bytes the signatures of clients' proofs lie, of an intent's own none. */
  signatures(bytes: Uint8Array, from: number, to: number): readonly number[];
  /** How many proofs of clients it has, an intent's own too. */
  proofCount(bytes: Uint8Array, from: number, to: number): number;
  /** Those of proofs that say when they were made (used-proofs.ts). */
  datedSignatures(bytes: Uint8Array, from: number, to: number): readonly number[];
}

export interface Names {
  luid: string;
  handle: string;
}
