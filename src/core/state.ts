/**
 * Everything the server knows, as data: records in a heap outside V8's, one row of small columns per record, and the
 * indexes that find rows. Only `apply` changes it.
 *
 * A record's entries form a chain in the heap, newest first: versions, and between them the proofs added to each.
 * Its row's address is that of the newest entry, and every entry begins with the record's luid and handle, so a
 * look-up compares names in place and decodes nothing.
 *
 * `order` numbers all changes of data over all ledgers; a row's place in it is its latest change. Lists walk chains of
 * places from the newest back and skip places their row has left.
 */
import {
  Chains,
  Heap,
  HeldMap,
  Lines,
  LongMap,
  type MemorySizes,
  near,
  Recent,
  ROWS_MAX,
  scattered,
  Table,
  U8Column,
  U8Field,
  U16Field,
  U32Column,
  U32Field,
} from '../memory/index.ts';
import { AccessMemo } from './access/memo.ts';
import { Balances } from './balances.ts';
import type { EntryCodec } from './codec.ts';
import { mapOfCount } from './counts.ts';
import type { Kind } from './kinds.ts';
import { LongVersions } from './long-versions.ts';
import { NameMemo } from './name-memo.ts';
import { Norms } from './norms.ts';
import { OpenIntents } from './open-intents.ts';
import { Ranks } from './ranks.ts';
import { AssertionError } from './refusal.ts';
import { Skips } from './skips.ts';
import { UsedProofs } from './used-proofs.ts';
import { UsedTokens } from './used-tokens.ts';
import type { CompileSchema } from './user-schemas.ts';

export type { HeapRoom, MemorySizes } from '../memory/index.ts';
export type { OpenIntent } from './open-intents.ts';

/** What is few lives on the V8 heap: a ledger's row, and its settings as its record gives them. */
export interface LedgerInfo {
  row: number;
  handle: string;
  config: Readonly<Record<string, unknown>>;
}

/** How far an effect, or a bridge that is told of statuses, has been told what happened. */
export interface Feed {
  /** All events up to this one are settled: the sequence number of its entry, its number there. */
  seq: number;
  index: number;
  /** Address of the newest delivery, 0 for none; each leads to the one before. */
  last: number;
}

/** When a signer came to have the key that it has, where it was not made with it. */
export interface Rekeyed {
  /** How many rows there were. */
  readonly rows: number;
  /** Address of the version that gave it. */
  readonly at: number;
}

/** The ledger of ledgers: where ledger records themselves live. */
export const SERVER_LEDGER = 0;

/** Nodes of an index that lead nowhere, one behind the other: from so many on they are remembered. */
const SKIPPED_MIN = 64;
/** Stretches of chains that are remembered, each a number. */
const STRETCHES_MAX = 1_000_000;

export const DROPPED = 1;
/** A wallet that other systems or rules take part in, see clearing. */
export const HAS_BRIDGE = 2;
export const HAS_ROUTES = 4;
/** A record that brings access rules of its own. */
export const HAS_ACCESS = 8;
/** Proofs gave it labels. */
export const HAS_LABELS = 16;

interface Rows {
  /** What changes of a row lies in one line of memory. */
  readonly lines: Lines;
  readonly at: U32Field;
  readonly place: U32Field;
  /** Of a wallet: its first balance slot plus one, 0 where it has none. */
  readonly firstSlot: U32Field;
  /**
   * Of a ledger's record: the index in `ledgers` of the ledger it is. One field with `firstSlot`, as no row has both.
   */
  readonly ledgerIndex: U32Field;
  readonly status: U16Field;
  readonly flags: U8Field;
  readonly kind: U8Column<Kind>;
  readonly ledger: U32Column;
}

/** Bytes of what changes of a row. */
const ROW_BYTES = 16;

export interface State {
  readonly codec: EntryCodec;
  /** Seeds the hashes of names, so that nobody outside can choose colliding ones. */
  readonly hashSeed: number;
  readonly heap: Heap;
  readonly rows: Rows;
  readonly handles: Table;
  readonly luids: Table;
  /** Place → row. */
  readonly order: U32Column;
  /** Sequence number − 1 → address of the entry in the heap; 0 for those that are not kept there. */
  readonly log: U32Column;
  /** Hashed terms (a ledger's kind, a schema, a claim's wallet …) → places, newest first. */
  readonly terms: Chains;
  /** Hashed luids of circles → places of memberships, newest first; follows from `order`. */
  readonly memberships: Chains;
  readonly balances: Balances;
  /** Status texts by number. */
  readonly statuses: string[];
  /** By index; 0 is the server. */
  readonly ledgers: LedgerInfo[];
  /** Symbol row → issued minus destroyed. */
  readonly supply: HeldMap<number, bigint>;
  /** Live records by countKey. */
  readonly counts: HeldMap<number, number>;
  /** How many kinds, and statuses of a kind, a ledger has had: its keys in `counts`. */
  readonly variety: LongMap<number, number>;
  /**
   * Of these, and of its own record's statuses, those that are among what is kept for each ledger: see STATUSES_KEPT.
   */
  readonly lateVariety: LongMap<number, number>;
  /**
   * Statuses that a ledger's own record was given, by the ledger it is: in `counts` they stand with those of all
   * ledgers.
   */
  readonly ownStatuses: LongMap<number, Set<string>>;
  /** How many live records have a label, by labelKey. */
  readonly labels: HeldMap<string, number>;
  readonly open: OpenIntents;
  /** Rows of the open intents of each thread that has more than one, in the order they came. */
  readonly threads: LongMap<string, number[]>;
  /** By row of the effect or bridge. */
  readonly feeds: HeldMap<number, Feed>;
  readonly tokens: UsedTokens;
  /** By row, the signers whose key was changed; follows from the entries in the heap. */
  readonly rekeyed: LongMap<number, Rekeyed>;
  /** What clients' proofs have brought about; follows from the entries in the heap. */
  readonly usedProofs: UsedProofs;
  /**
   * Of their full size, how much what is not part of the books may take, 0 to 1; whoever keeps more of such asks it.
   */
  readonly cacheShare: number;
  /** These are not part of the books. */
  readonly memo: AccessMemo;
  readonly names: NameMemo;
  readonly skips: Skips;
  /** Of long chains of terms, by their hash: the newest nodes of their stretches, the oldest first (lists.ts). */
  readonly stretches: Recent<number, readonly number[]>;
  readonly longVersions: LongVersions;
  /** What the ledgers ask of their records. */
  readonly norms: Norms;
  /** Follows from `order`. */
  readonly ranks: Ranks;
  /** Handed in by whoever decides; applying never asks. */
  compileSchema: CompileSchema;
  /**
   * The ledger of requests that name none, and the handle that a start finds it by: nobody else's, though it may have
   * been renamed. Handed in like the above; null where nobody asks.
   */
  home: { readonly handle: string; readonly luid: string } | null;
}

/** What lies outside V8's heap and is dumped as it is; used tokens, which have something beside, are not among it. */
export function structures({ rows, heap, handles, luids, order, log, terms, balances }: State) {
  return [rows.lines, rows.kind, rows.ledger, heap, handles, luids, order, log, terms, balances];
}

/** Bytes of memory that the books take outside V8's heap. */
export function bytesTaken(state: State): number {
  const all = [...structures(state), state.tokens, state.usedProofs, state.memberships];
  return all.reduce((sum, { taken }) => sum + taken, 0);
}

/**
 * Of the rows that a column can have, the largest share that is taken: beside what is in the heap, each token takes one
 * of the log.
 */
export function rowsTaken({ log, rows, terms, balances }: State): number {
  return Math.max(log.length, rows.lines.length, 2 * terms.size, balances.size) / ROWS_MAX;
}

export function emptyState(codec: EntryCodec, hashSeed: number, sizes: MemorySizes = {}): State {
  const { chunkBytes, heapBytesMax, pageRows, segments, cacheShare = 1 } = sizes;
  const heap = new Heap('records', chunkBytes, heapBytesMax);
  return {
    codec,
    hashSeed,
    heap,
    rows: emptyRows(pageRows),
    handles: new Table('handles', { segments }),
    luids: new Table('luids', { segments }),
    order: new U32Column('order', true, pageRows),
    log: new U32Column('log', true, pageRows),
    terms: new Chains('terms', { segments }, pageRows),
    memberships: new Chains('memberships', { segments }, pageRows),
    balances: new Balances(hashSeed, sizes),
    statuses: [],
    ledgers: [{ row: -1, handle: '', config: {} }],
    supply: new HeldMap<number, bigint>(
      'supply',
      () => new LongMap(near),
      (symbol, amount) => [symbol, amount.toString()],
    ),
    counts: new HeldMap<number, number>('counts', () => new LongMap(mapOfCount)),
    variety: new LongMap(near),
    lateVariety: new LongMap(near),
    ownStatuses: new LongMap(near),
    labels: new HeldMap<string, number>('labels', () => new LongMap(scattered(hashSeed))),
    open: new OpenIntents(),
    threads: new LongMap(scattered(hashSeed)),
    feeds: new HeldMap<number, Feed>('feeds', () => new LongMap(near)),
    tokens: new UsedTokens(hashSeed, sizes),
    rekeyed: new LongMap(near),
    usedProofs: new UsedProofs(heap, codec, hashSeed, sizes),
    cacheShare,
    memo: new AccessMemo(cacheShare),
    names: new NameMemo(hashSeed),
    skips: new Skips(SKIPPED_MIN),
    stretches: new Recent(STRETCHES_MAX * cacheShare, ({ length }) => 1 + length),
    longVersions: new LongVersions(cacheShare),
    norms: new Norms(cacheShare),
    ranks: new Ranks(),
    compileSchema: () => {
      throw new AssertionError('whoever decides hands in what compiles schemas');
    },
    home: null,
  };
}

function emptyRows(pageRows: number | undefined): Rows {
  const lines = new Lines(ROW_BYTES, pageRows);
  const aux = new U32Field(lines, 'row-aux', 8);
  return {
    lines,
    at: new U32Field(lines, 'row-at', 0),
    place: new U32Field(lines, 'row-place', 4),
    firstSlot: aux,
    ledgerIndex: aux,
    status: new U16Field(lines, 'row-status', 12),
    flags: new U8Field(lines, 'row-flags', 14),
    kind: new U8Column<Kind>('row-kind', true, pageRows),
    ledger: new U32Column('row-ledger', true, pageRows),
  };
}
