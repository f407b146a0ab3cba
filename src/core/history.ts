/**
 * The history of a record: its versions, each as it was when the next one came.
 *
 * Always holds: memory is taken for the versions asked for only, however many a record has had.
 */
import { EntryType } from './entry.ts';
import { type Kind, kindRow } from './kinds.ts';
import { NO_LABELS, type State, type Version, versionAt } from './state.ts';

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
    const version = versionAt(state, at);
    if (total >= skip && versions.length < max) {
      versions.push({ ...version, change: -total, status: first, labels: NO_LABELS });
    }
    const { status, labels } = lastGiven(version);
    if (status !== null) for (; withStatus < versions.length; withStatus++) versions[withStatus]!.status = status;
    if (labels !== undefined) for (; withLabels < versions.length; withLabels++) versions[withLabels]!.labels = labels;
    at = version.before;
  }
  for (const version of versions) version.change += total;
  // What the newest has come to may follow from more than proofs.
  if (skip === 0 && versions.length > 0) versions[0]!.status = state.statuses[state.rows.status.get(row)]!;
  return { versions, total };
}

/** The status and labels that proofs gave last to a version. */
export function lastGiven({ added }: Version): { status: string | null; labels: readonly string[] | undefined } {
  let status: string | null = null;
  let labels: readonly string[] | undefined;
  for (const entry of added) {
    if (entry.type !== EntryType.proof) continue;
    status = entry.status ?? status;
    labels = entry.labels ?? labels;
  }
  return { status, labels };
}
