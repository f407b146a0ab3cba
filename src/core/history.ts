/**
 * The history of a record: its versions, each as it was when the next one came.
 *
 * Always holds: memory is taken only for the versions that are asked for, however many a record has had. Of the others
 * no more is read than which they are, and what proofs gave to them that those asked for still have.
 */
import { type Entry, EntryType } from './entry.ts';
import { kindRow } from './kinds.ts';
import { beginsVersion, entryAt, NO_LABELS, typeAt, type Version, versionAt } from './records.ts';
import type { State } from './state.ts';

/** What is told of a version beside what it says. */
interface Told {
  /** 1 is what the record was created as. */
  change: number;
  /** The ones it ended with. */
  status: string;
  labels: readonly string[];
}

/** A version as a record had it once. */
export interface PastVersion extends Version, Told {}

/** With the address of its last entry. */
export interface FoundVersion extends Told {
  readonly at: number;
}

/** Some versions of a record, and how many it had in all. */
export interface FoundVersions {
  readonly places: readonly FoundVersion[];
  readonly total: number;
}

/** Versions that are passed by in one step, and entries of one of them. */
const PASSED_PER_STEP = 1000;

/** All versions of a record, the newest first: which they are. What they say may be more than memory holds as text. */
export function findHistory(state: State, row: number): FoundVersions {
  const steps = findVersions(state, row, { order: 'newest', skip: 0, max: Number.POSITIVE_INFINITY });
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** A version that was found, with what it says. */
export function readVersion(state: State, { at, ...told }: FoundVersion): PastVersion {
  return { ...versionAt(state, at), ...told };
}

/** Which of a record's versions, or of whatever else it has had one after the other. */
export interface Stretch {
  /** In this order, without the first `skip` and at most `max`. */
  order: 'newest' | 'oldest';
  skip: number;
  max: number;
}

/** A stretch that is counted from the oldest of `total`, as it is counted from the newest. */
export function fromNewest(total: number, { skip, max }: Stretch): Stretch {
  const newer = Math.max(0, total - skip - max);
  return { order: 'newest', skip: newer, max: Math.max(0, total - skip - newer) };
}

/**
 * Some of a record's versions as they are now, and how many there are in all. In steps: those left out are passed by
 * one at a time, and a record may have very many.
 */
export function findVersions(state: State, row: number, stretch: Stretch): Generator<undefined, FoundVersions> {
  return findStretch(state, row, newestOf(state, row), stretch);
}

function* findStretch(
  state: State,
  row: number,
  newest: Newest,
  stretch: Stretch,
): Generator<undefined, FoundVersions> {
  if (stretch.order === 'newest') return yield* passAll(state, row, newest, stretch.skip, stretch.max);
  const { total } = yield* passAll(state, row, newest, 0, 0);
  const { skip, max } = fromNewest(total, stretch);
  const { places } = yield* passAll(state, row, newest, skip, max);
  return { places: places.toReversed(), total };
}

/** The version of this number, in steps; none where there is none of it. */
export function* findVersion(state: State, row: number, change: number): Generator<undefined, FoundVersions> {
  const newest = newestOf(state, row);
  const { total } = yield* passAll(state, row, newest, 0, 0);
  if (change < 1 || change > total) return { places: [], total };
  return yield* passAll(state, row, newest, total - change, 1);
}

/** Where a record's newest version ends, and what it has come to, which may follow from more than proofs. */
interface Newest {
  readonly at: number;
  readonly status: string;
}

function newestOf({ rows, statuses }: State, row: number): Newest {
  return { at: rows.at.get(row), status: statuses[rows.status.get(row)]! };
}

function* passAll(
  state: State,
  row: number,
  newest: Newest,
  skip: number,
  max: number,
): Generator<undefined, FoundVersions> {
  const first = kindRow(state.rows.kind.get(row)).status;
  const places: (Told & { at: number })[] = [];
  let total = 0;
  // Status and labels stay from version to version: what one gave is also that of newer ones that gave none.
  let withStatus = 0;
  let withLabels = 0;
  for (let { at } = newest; at !== 0; total++) {
    if (total > 0 && total % PASSED_PER_STEP === 0) yield;
    const given: Given = { status: null, labels: undefined };
    if (total >= skip && places.length < max) places.push({ at, change: -total, status: first, labels: NO_LABELS });
    const isAsked = Math.min(withStatus, withLabels) < places.length;
    at = yield* passVersion(state, at, isAsked ? given : null);
    const { status, labels } = given;
    if (status !== null) for (; withStatus < places.length; withStatus++) places[withStatus]!.status = status;
    if (labels !== undefined) for (; withLabels < places.length; withLabels++) places[withLabels]!.labels = labels;
  }
  for (const place of places) place.change += total;
  if (skip === 0 && places.length > 0) places[0]!.status = newest.status;
  return { places, total };
}

/**
 * Where the version before the one that ends at this address ends, 0 for none. Notes in `given` what proofs gave last
 * to it. A version may have thousands of proofs, each as long as a body, so each that is read ends a step.
 */
function* passVersion(state: State, end: number, given: Given | null): Generator<undefined, number> {
  let passed = 0;
  for (let at = end; at !== 0; ) {
    const type = typeAt(state, at);
    const isRead = given !== null && type === EntryType.proof;
    if (isRead) giveBefore(given, entryAt(state, at));
    if (isRead || ++passed % PASSED_PER_STEP === 0) yield;
    at = state.heap.prev(at);
    if (beginsVersion(type)) return at;
  }
  return 0;
}

/** Status and labels, as far as any proof gave them. */
export interface Given {
  status: string | null;
  labels: readonly string[] | undefined;
}

/** What an earlier proof gave holds as far as no later one gave another. */
export function giveBefore(given: Given, entry: Entry): void {
  if (entry.type !== EntryType.proof) return;
  given.status ??= entry.status;
  given.labels ??= entry.labels;
}

/** The status and labels that proofs gave last to a version. */
export function lastGiven({ added }: Version): Given {
  let status: string | null = null;
  let labels: readonly string[] | undefined;
  for (const entry of added) {
    if (entry.type !== EntryType.proof) continue;
    status = entry.status ?? status;
    labels = entry.labels ?? labels;
  }
  return { status, labels };
}
