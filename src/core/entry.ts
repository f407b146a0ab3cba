/**
 * An entry is one line of the journal: a fact, not a wish. It says what was stored and what was decided,
 * so that replay decides nothing again and new rules never rewrite old books.
 *
 * `decide` makes entries, `apply` is the only reader that changes state, storage/codec.ts gives them
 * their bytes. The same bytes lie in the journal and in the record heap.
 *
 * Entries carry no sequence number: a frame numbers the ones in it.
 */
import type { Kind } from './kinds.ts';

/** One signature over a record. `digest` is not kept: it follows from the record's hash and `custom`. */
export interface StoredProof {
  /** Ed25519 public key, 32 raw bytes. */
  public: Uint8Array;
  /** Ed25519 signature over the digest's 32 bytes, 64 raw bytes. */
  result: Uint8Array;
  /** canon(custom), or null where the proof has none. */
  custom: string | null;
}

export const EntryType = { create: 1, update: 2, drop: 3, proof: 4, intent: 5, step: 6, token: 7 } as const;
export type EntryType = (typeof EntryType)[keyof typeof EntryType];

interface EntryBase {
  /** Index of the ledger it belongs to; 0 is the server itself, where ledger records live. */
  ledger: number;
  kind: Kind;
  luid: string;
  handle: string;
  /** Milliseconds since 1970, taken at the door; of what the server does by itself, the moment of its batch. */
  moment: number;
}

/** A record as a client signed it, with the server's own signature over it. */
interface SignedContent {
  /** SHA-256 of `data`, 32 bytes. */
  hash: Uint8Array;
  /** canon(data). */
  data: string;
  /** The client's proofs, in order. */
  proofs: StoredProof[];
  /** The server's signature, 64 bytes; its custom follows from the entry (core/proofs.ts). */
  seal: Uint8Array;
}

export interface CreateEntry extends EntryBase, SignedContent {
  type: typeof EntryType.create;
}

/** A new version of the record in row `row`; its luid is the record's. */
export interface UpdateEntry extends EntryBase, SignedContent {
  type: typeof EntryType.update;
  row: number;
}

/** The end of the record in row `row`: hash, data and proofs are those of the drop body. */
export interface DropEntry extends EntryBase {
  type: typeof EntryType.drop;
  row: number;
  hash: Uint8Array;
  data: string;
  proofs: StoredProof[];
}

/** One more proof on the record in row `row`, and the status it gave, or null. */
export interface ProofEntry extends EntryBase {
  type: typeof EntryType.proof;
  row: number;
  proof: StoredProof;
  status: string | null;
  /** All labels of the record from here on, in order; absent where the proof changed none. */
  labels?: string[];
}

/** The statuses of an intent, in the order of their numbers on disk; `failed` is a proof's status only. */
export const INTENT_STATUSES = [
  'pending',
  'prepared',
  'committed',
  'completed',
  'failed',
  'aborted',
  'rejected',
] as const;
export type IntentStatus = (typeof INTENT_STATUSES)[number];

/** How an intent went on: the statuses it passed, each with a proof by the server, and what they did to the books. */
export interface Outcome {
  /** When it was decided. */
  moment: number;
  /** Statuses passed, in order; none where the intent goes on waiting. */
  steps: IntentStatus[];
  /** Why it failed, both empty where it did not. */
  reason: string;
  detail: string;
  /**
   * Flat rows of POSTING_WIDTH numbers: wallet row, symbol row, change of the balance, moved (sum of both directions,
   * transfers only). Reserved where the steps end with `prepared`, moved where they include `committed`, given back
   * where a prepared intent is `aborted`.
   */
  postings: number[];
  /** Flat rows of LIMIT_WIDTH numbers: wallet row, symbol row, metric (row of METRICS), amount. Set on `committed`. */
  limits: number[];
}

/** A new intent, and how far it came at once. */
export interface IntentEntry extends EntryBase, SignedContent {
  type: typeof EntryType.intent;
  thread: string;
  outcome: Outcome;
}

/** The intent in row `row` goes on: a proof it waited for, its time, or a command. `moment` is the outcome's. */
export interface StepEntry extends EntryBase {
  type: typeof EntryType.step;
  row: number;
  outcome: Outcome;
}

/**
 * A token that is good only once was used. `handle` is its id, `luid` is made of that, `kind` is of no meaning. From
 * the second after `exp` (seconds since 1970) on it is forgotten: it would no longer hold anyway.
 */
export interface TokenEntry extends EntryBase {
  type: typeof EntryType.token;
  exp: number;
}

export const POSTING_WIDTH = 4;
export const LIMIT_WIDTH = 4;

export type Entry = CreateEntry | UpdateEntry | DropEntry | ProofEntry | IntentEntry | StepEntry | TokenEntry;

/** The status an outcome leaves the intent in. */
export function statusAfter(outcome: Outcome): IntentStatus {
  return outcome.steps.at(-1) ?? 'pending';
}
