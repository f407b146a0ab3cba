/**
 * The history of a record: its versions, each as it was when the next one came.
 *
 * Always holds: memory is taken for the versions asked for only, however many a record has had, and of the others no more
 * is read than which they are, and what proofs gave to them that those asked for still have.
 */
import { type Entry, EntryType } from './entry.ts';
import { type Kind, kindRow } from './kinds.ts';
import { entryAt, NO_LABELS, typeAt, type Version, versionAt } from './records.ts';
import type { State } from './state.ts';

/** A version as a record had it once. */
export interface PastVersion extends Version {
  /** 1 is what the record was created as. */
  change: number;
  /** The ones it ended with. */
  status: string;
  labels: readonly string[];
}

/**
 * A record's versions, newest first, without the first `skip` and at most `max`; and how many there are in all. Those
 * left out are passed by one at a time: a record may have very many.
 */
export function historyOf(
  state: State,
  row: number,
  skip: number,
  max: number,
): { versions: PastVersion[]; total: number } {
  const first = kindRow(state.rows.kind.get(row) as Kind).status;
  const versions: PastVersion[] = [];
  let total = 0;
  // Status and labels stay from version to version: what one gave is also that of newer ones that gave none.
  let withStatus = 0;
  let withLabels = 0;
  for (let at = state.rows.at.get(row); at !== 0; total++) {
    const given: Given = { status: null, labels: undefined };
    if (total >= skip && versions.length < max) {
      const version = versionAt(state, at);
      versions.push({ ...version, change: -total, status: first, labels: NO_LABELS });
      Object.assign(given, lastGiven(version));
      at = version.before;
    } else {
      const isAsked = Math.min(withStatus, withLabels) < versions.length;
      at = passVersion(state, at, isAsked ? given : null);
    }
    const { status, labels } = given;
    if (status !== null) for (; withStatus < versions.length; withStatus++) versions[withStatus]!.status = status;
    if (labels !== undefined) for (; withLabels < versions.length; withLabels++) versions[withLabels]!.labels = labels;
  }
  for (const version of versions) version.change += total;
  // What the newest has come to may follow from more than proofs.
  if (skip === 0 && versions.length > 0) versions[0]!.status = state.statuses[state.rows.status.get(row)]!;
  return { versions, total };
}

/** Where the version before the one that ends at this address ends, 0 for none. Notes in `given` what proofs gave last to it. */
function passVersion(state: State, end: number, given: Given | null): number {
  for (let at = end; at !== 0; ) {
    const type = typeAt(state, at);
    if (given !== null && type === EntryType.proof) giveBefore(given, entryAt(state, at));
    at = state.heap.prev(at);
    if (type === EntryType.create || type === EntryType.update || type === EntryType.intent) return at;
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
