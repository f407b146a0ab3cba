/**
 * An entry is one line of the journal: a fact, not a wish. It says what was stored and what was decided,
 * so that replay decides nothing again and new rules never rewrite old books.
 *
 * `decide` makes entries, `apply` is the only reader that changes state, storage/codec.ts gives them
 * their bytes. The same bytes lie in the journal and in the record heap.
 *
 * Entries carry no sequence number: a frame numbers the ones in it.
 */
import { Kind, kindRow } from './kinds.ts';
import type { IntentOutline } from './outline.ts';

/** One signature over a record. `digest` is not kept: it follows from the record's hash and `custom`. */
export interface StoredProof {
  /** Ed25519 public key, 32 raw bytes. */
  public: Uint8Array;
  /** Ed25519 signature over the digest's 32 bytes, 64 raw bytes. */
  result: Uint8Array;
  /** canon(custom), or null where the proof has none. */
  custom: string | null;
}

export const EntryType = {
  create: 1,
  update: 2,
  drop: 3,
  proof: 4,
  intent: 5,
  step: 6,
  token: 7,
  delivery: 8,
} as const;
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
export interface DropEntry extends EntryBase, Omit<SignedContent, 'seal'> {
  type: typeof EntryType.drop;
  row: number;
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

/** The statuses of an intent, in the order of their numbers on disk; `failed` and `error` are proofs' statuses only. */
export const INTENT_STATUSES = [
  'pending',
  'prepared',
  'committed',
  'completed',
  'failed',
  'aborted',
  'rejected',
  'error',
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
   * transfers only; beyond 2^53−1, which is beyond any limit, its last digits are lost). Set aside where the steps end
   * with `prepared` or legs begin, moved where they include `committed`, given back where an intent that has set them
   * aside is `aborted`.
   */
  postings: number[];
  /** Flat rows of LIMIT_WIDTH numbers: wallet row, symbol row, metric (row of METRICS), amount. Set on `committed`. */
  limits: number[];
  /** What ties it to other systems and other intents; absent in most. */
  links?: Links;
  /**
   * Decided before 0.3.0; absent in what is decided now. The server's proofs of it do not name the intent, and limits
   * that it sets do not count what it had set aside itself.
   */
  isEarly?: true;
}

export const Side = { debit: 0, credit: 1 } as const;
export type Side = (typeof Side)[keyof typeof Side];

/** One side of an intent that another system takes part in: a debit or credit that its bridge prepares and commits. */
export interface Leg {
  side: Side;
  /** Rows of the bridge, of the wallet behind it, and of the symbol. */
  bridge: number;
  wallet: number;
  symbol: number;
  amount: number;
  /** The claims it stands for, by their number in the intent. */
  claims: number[];
}

/** A claim whose target passes the money on, by an intent of the same thread. */
export interface Forward {
  claim: number;
  /** Rows of the wallet that passes it on, and of the symbol. */
  wallet: number;
  symbol: number;
  amount: number;
  /** Where to, as the route says. */
  target: string;
}

/** How far a leg is, in the order of the numbers on disk. Those that end in `ing` have a call out to their bridge. */
export const LEG_STATES = [
  'idle',
  'preparing',
  'prepared',
  'committing',
  'committed',
  'aborting',
  'aborted',
  'failed',
  /** It failed by its own word, and is told that the rest is aborted too. */
  'dismissing',
] as const;
export type LegState = (typeof LEG_STATES)[number];

export interface Links {
  /** All legs, in the outcome that asks the first of them. From then on the intent's postings are set aside. */
  legs: Leg[];
  /** What becomes of legs: flat rows of leg, state (row of LEG_STATES). */
  marks: number[];
  /** What other intents the thread needs, in the outcome that sets this one's postings aside. */
  forwards: Forward[];
  /** Claims whose debit or credit a route gave to another wallet: flat rows of claim, side, wallet row. */
  routed: number[];
  /**
   * Money that comes with the thread and goes on with it, so that it is never set aside here: flat rows of posting (its
   * number), amount. Repeated where the postings are.
   */
  through: number[];
  /** The reason a bridge gave for its failure. */
  failId: string;
  /** Which leg an `error` speaks of, or -1. */
  leg: number;
}

/** Links of which only these say anything. */
export function links(some: Partial<Links>): Links {
  return { legs: [], marks: [], forwards: [], routed: [], through: [], failId: '', leg: -1, ...some };
}

/** How much of what leaves by the posting at `at` comes with its thread. */
export function throughAt({ links }: Outcome, at: number): number {
  if (links === undefined) return 0;
  const { through } = links;
  for (let i = 0; i < through.length; i += THROUGH_WIDTH) {
    if (through[i]! * POSTING_WIDTH === at) return through[i + 1]!;
  }
  return 0;
}

/** A new intent, and how far it came at once. */
export interface IntentEntry extends EntryBase, SignedContent {
  type: typeof EntryType.intent;
  thread: string;
  outcome: Outcome;
}

/**
 * A new intent by what it changes: its signed content is only kept, and an outline of the data is all that is asked
 * for.
 */
export interface IntentFacts extends Omit<IntentEntry, keyof SignedContent> {
  outline: IntentOutline;
}

/** A new record by what applying asks of it (outline.ts), of a kind of which that is little. */
export interface CreateFacts extends Omit<CreateEntry, keyof SignedContent> {
  asked: Record<string, unknown>;
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

/**
 * Event `index` of the entry with sequence number `seq` has been taken by the effect or bridge in row `row`, or was
 * given up. `luid` is the delivery's own, `handle` the effect's or bridge's.
 */
export interface DeliveryEntry extends EntryBase {
  type: typeof EntryType.delivery;
  row: number;
  seq: number;
  index: number;
  attempts: number;
  isDelivered: boolean;
  /** Why it was given up, empty where it was not. */
  detail: string;
}

export const POSTING_WIDTH = 4;
/** Columns of a posting, behind its wallet and symbol. */
export const CHANGE = 2;
export const MOVED = 3;
export const LIMIT_WIDTH = 4;

export const MARK_WIDTH = 2;
export const ROUTED_WIDTH = 3;
export const THROUGH_WIDTH = 2;

export type Entry =
  | CreateEntry
  | UpdateEntry
  | DropEntry
  | ProofEntry
  | IntentEntry
  | StepEntry
  | TokenEntry
  | DeliveryEntry;

/** An entry as far as the state needs it. */
export type Facts = Exclude<Entry, IntentEntry> | IntentFacts | CreateFacts;

/** Asked for by whoever makes an intent, and then by whoever writes it: the same text again is compared at a glance. */
let askedFor = '';
let ownThread = '';

/** The thread that begins with the intent of this luid is named after it. */
export function threadOf(luid: string): string {
  if (luid !== askedFor) {
    askedFor = luid;
    ownThread = luid.slice(5);
  }
  return ownThread;
}

/** The luid of the intent that began the thread. */
export function luidOfThread(thread: string): string {
  return `$${kindRow(Kind.intent).prefix}.${thread}`;
}

/** The status an outcome leaves the intent in, where it was in `before`. */
export function statusAfter({ steps }: Outcome, before: IntentStatus = 'pending'): IntentStatus {
  const last = steps.at(-1);
  return last === undefined || last === 'error' ? before : last;
}

/** Whether nothing becomes of an intent any more. */
export function isFinal(status: string): boolean {
  return status === 'completed' || status === 'rejected';
}

/** When it was decided, as far as it says so: an intent may have waited since it was received, a record has not. */
export function decidedAt(entry: Entry): number {
  return 'outcome' in entry ? entry.outcome.moment : entry.moment;
}
