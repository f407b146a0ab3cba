/**
 * An index of schemas and policies, of what a ledger asks of its records: which kinds have schemas, and which policies
 * say who may set statuses and labels. Few things, found for every change of a record, so they stand on the V8 heap.
 * All of it follows from the records.
 *
 * Only `apply` and the loading of a snapshot change it; deciding reads.
 */
import { LongMap, near } from '../memory/index.ts';
import { KINDS, Kind, SCOPES } from './kinds.ts';
import { Remembered } from './remembered.ts';

/** Sorts of policies that are found by the kind they speak of. */
export type PolicySort = 'status' | 'labels';

/** Policies of one sort for one kind in a ledger. */
export const POLICIES_MAX = 100;
/**
 * Bytes of what is remembered where there is room: of one ledger as much as the policies take that one proof has effort
 * for (quorum.ts).
 */
const REMEMBERED_MAX = 128_000_000;
/** Bytes that may be held of each character of a record. */
export const BYTES_PER_CHAR = 8;

/** Numbers beside those of the kinds: of policies for all kinds, and of what names no kind there is. */
const ANY_KIND = SCOPES - 1;
const UNKNOWN_KIND = SCOPES - 2;
const SORTS: readonly string[] = ['status', 'labels'];

interface Norm {
  ledger: number;
  /** Row of SORTS, or -1 for a schema. */
  sort: number;
  kind: number;
  /** Of looking at its version; -1 until somebody asks. */
  effort: number;
}

export class Norms {
  /** By row, schemas and policies of the sorts. */
  readonly #norms = new LongMap<number, Norm>(near);
  /** How many schemas by ledger and kind. */
  readonly #schemas = new LongMap<number, number>(near);
  /** Rows of policies by ledger, kind and sort, in order: a state that is loaded has them in the same. */
  readonly #policies = new LongMap<number, number[]>(near);
  /** What is compiled from records. */
  readonly remembered: Remembered;

  constructor(cacheShare = 1) {
    this.remembered = new Remembered(REMEMBERED_MAX * cacheShare);
  }

  /** A schema or policy is new, or has a new version. */
  changed(row: number, ledger: number, kind: Kind, value: Record<string, unknown>): void {
    this.dropped(row);
    const sort = kind === Kind.schema ? -1 : SORTS.indexOf(String(value.schema));
    if (kind !== Kind.schema && sort < 0) return;
    const norm: Norm = { ledger, sort, kind: kindNumber(value.record), effort: -1 };
    this.#norms.set(row, norm);
    const key = keyOf(ledger, norm.kind, sort);
    if (sort < 0) this.#schemas.set(key, (this.#schemas.get(key) ?? 0) + 1);
    else {
      const rows = [...(this.#policies.get(key) ?? []), row];
      this.#policies.set(
        key,
        rows.sort((one, other) => one - other),
      );
    }
  }

  dropped(row: number): void {
    const norm = this.#norms.get(row);
    if (norm === undefined) return;
    this.#norms.delete(row);
    const key = keyOf(norm.ledger, norm.kind, norm.sort);
    if (norm.sort < 0) this.#schemas.set(key, this.#schemas.get(key)! - 1);
    else
      this.#policies.set(
        key,
        this.#policies.get(key)!.filter((other) => other !== row),
      );
  }

  hasSchemas(ledger: number, kind: Kind): boolean {
    return this.#schemas.size > 0 && (this.#schemas.get(keyOf(ledger, kind, -1)) ?? 0) > 0;
  }

  /** The kind that the schema in this row speaks of, or -1. */
  schemaKind(row: number): number {
    return this.#norms.get(row)?.kind ?? -1;
  }

  /** Rows of the policies of a sort that speak of a kind. */
  policies(ledger: number, kind: Kind, sort: PolicySort): readonly number[] {
    if (this.#policies.size === 0) return NONE;
    const number = SORTS.indexOf(sort);
    const own = this.#policies.get(keyOf(ledger, kind, number)) ?? NONE;
    const any = this.#policies.get(keyOf(ledger, ANY_KIND, number)) ?? NONE;
    return any.length === 0 ? own : [...own, ...any];
  }

  /** Whether the policy's sort and kind have no room for one more; `row` is its own, or -1. */
  isFull(ledger: number, value: Record<string, unknown>, row: number): boolean {
    const sort = SORTS.indexOf(String(value.schema));
    if (sort < 0) return false;
    const rows = this.#policies.get(keyOf(ledger, kindNumber(value.record), sort)) ?? NONE;
    return rows.length >= POLICIES_MAX && !rows.includes(row);
  }

  /**
   * The effort of looking at the policy in this row; `read` tells that of the version that there is, and is asked once
   * for each.
   */
  effortOf(row: number, read: () => number): number {
    const norm = this.#norms.get(row)!;
    if (norm.effort < 0) norm.effort = read();
    return norm.effort;
  }
}

const NONE: readonly number[] = [];

function keyOf(ledger: number, kind: number, sort: number): number {
  return (ledger * SCOPES + kind) * 4 + sort + 1;
}

function kindNumber(record: unknown): number {
  if (record === 'any') return ANY_KIND;
  const kind = KINDS.findIndex(({ name }) => name === record);
  return kind < 0 ? UNKNOWN_KIND : kind;
}
