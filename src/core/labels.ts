/**
 * Labels: words on a record that proofs put there, under `meta.labels`.
 *
 * A proof's `custom.labels` lists labels to put on, and with a `-` before them labels to take away: `["gold", "-new"]`.
 * Which labels there are on a kind, and who may put them on and take them away, its labels policies say; a kind without
 * them has no labels, and the member means nothing. A quorum counts the proofs on the record's present version since
 * the label was last put on or taken away. A label that a policy calls unique is on one live record of the ledger and
 * kind at most. Labels stay when the record is updated, and end with it.
 *
 * A proof entry tells all labels that the record has after it, where it changed them: replay judges nothing again.
 */

import { labelKey } from './counts.ts';
import { EntryType, type ProofEntry } from './entry.ts';
import { Kind, kindRow } from './kinds.ts';
import {
  compileSeats,
  fits,
  isReached,
  notLet,
  type ProofScene,
  policiesFor,
  type QuorumJson,
  rulesAbout,
  shownWord,
  violation,
  type WordRule,
} from './quorum.ts';
import type { RecordView } from './records.ts';
import type { Refusal } from './refusal.ts';

/** A bare label is one that everybody may put on. */
type LabelJson = string | ({ label: string; unique?: boolean } & QuorumJson);

interface LabelRule extends WordRule {
  isUnique: boolean;
}

/** Labels on a record, and words in one proof. */
const LABELS_MAX = 100;

/** One word of a proof: a label, to be put on or taken away. */
interface Wish {
  label: string;
  isOff: boolean;
}

/** All labels the record has after this proof, in order; undefined where it changes none; or why it must not be. */
export function judgeLabels(
  scene: ProofScene,
  key: Uint8Array,
  custom: Record<string, unknown>,
): { labels: string[] | undefined } | Refusal {
  const { labels: words } = custom;
  if (words === undefined) return UNCHANGED;
  const policies = policiesFor(scene, 'labels', compile);
  if (policies === null) return UNCHANGED;
  if (!Array.isArray(words) || words.length > LABELS_MAX || !words.every((word) => typeof word === 'string')) {
    return violation(`custom.labels must be an array of at most ${LABELS_MAX} labels`);
  }
  const both = words.find((word) => words.includes(`-${word}`));
  if (both !== undefined) return violation(`The label ${shownWord(both)} is put on and taken away at once`);
  const { record } = scene;
  const labels = new Set(record.labels);
  let said: readonly Said[] | null = null;
  const listings = new Map<string, Listing>();
  for (const word of words) {
    const wish = wishOf(word);
    const listed = listings.get(wish.label) ?? listingOf(rulesAbout(policies, wish.label));
    listings.set(wish.label, listed);
    const isDone = judgeWish(scene, key, wish, listed, () => (said ??= saidOf(record)));
    if (typeof isDone !== 'boolean') return isDone;
    if (isDone && wish.isOff) labels.delete(wish.label);
    else if (isDone) labels.add(wish.label);
  }
  if (labels.size > LABELS_MAX) return violation(`A record has at most ${LABELS_MAX} labels`);
  const isSame = labels.size === record.labels.length && record.labels.every((label) => labels.has(label));
  return isSame ? UNCHANGED : { labels: [...labels].sort() };
}

const UNCHANGED = { labels: undefined };

/** The rules about a label: a proof may name it a hundred times, and a hundred thousand may be about it. */
interface Listing {
  readonly isEmpty: boolean;
  readonly isUnique: boolean;
  /** Whether by one of them any key will do. */
  readonly isOpen: boolean;
  /** The others. */
  readonly closed: readonly LabelRule[];
}

function listingOf(rules: readonly LabelRule[]): Listing {
  const closed = rules.filter(({ seats }) => seats.length > 0);
  const isUnique = rules.some((rule) => rule.isUnique);
  return { isEmpty: rules.length === 0, isUnique, isOpen: closed.length < rules.length, closed };
}

/** Whether the wish comes true with this proof, or why it must not be said. */
function judgeWish(
  scene: ProofScene,
  key: Uint8Array,
  wish: Wish,
  listed: Listing,
  saidBefore: () => readonly Said[],
): boolean | Refusal {
  const { record, kind, state } = scene;
  const shown = shownWord(wish.label);
  if (listed.isEmpty) return notLet(scene, `No policy lists the label ${shown} for the kind ${kindRow(kind).name}`);
  const own = fitting(listed.closed, key, scene);
  if (own.length === 0 && !listed.isOpen)
    return notLet(scene, `No policy lets this signer put on or take away the label ${shown}`);
  const isOn = record.labels.includes(wish.label);
  if (isOn !== wish.isOff) return false;
  // A ledger has one record of its own, and learns nothing of the labels of others.
  if (!wish.isOff && kind !== Kind.ledger && listed.isUnique) {
    const others = state.labels.get(labelKey(record.entry.ledger, kind, wish.label)) ?? 0;
    if (others > 0) return violation(`Another ${kindRow(kind).name} has the label ${shown}, and it is for one only`);
  }
  // What any one key may do needs nobody else's word.
  if (listed.isOpen) return true;
  const said = saidBefore();
  scene.effort.left -= effortOf(said, wish);
  if (scene.effort.left < 0) return false;
  const keys = [...keysFor(scene, said, wish), key];
  return own.some(({ seats }) => isReached(seats, keys, scene));
}

/** Those by which the key may say it; where the effort runs out, no others. */
function fitting(rules: readonly LabelRule[], key: Uint8Array, scene: ProofScene): LabelRule[] {
  const own: LabelRule[] = [];
  for (const rule of rules) {
    if (fits(rule.seats, key, scene)) own.push(rule);
    if (scene.effort.left < 0) break;
  }
  return own;
}

function wishOf(word: string): Wish {
  return word.startsWith('-') ? { label: word.slice(1), isOff: true } : { label: word, isOff: false };
}

function compile(value: LabelJson): LabelRule {
  const json = typeof value === 'string' ? { label: value } : value;
  return { word: json.label, seats: compileSeats(json), isUnique: 'unique' in json && json.unique === true };
}

/** A proof on the record, with what it said of labels. */
interface Said {
  readonly entry: ProofEntry;
  readonly wishes: readonly Wish[];
}

/** The proofs that said anything of labels, in order. */
function saidOf({ added }: RecordView): Said[] {
  return added.flatMap((entry) => {
    if (entry.type !== EntryType.proof || entry.proof.custom === null) return [];
    const { labels } = JSON.parse(entry.proof.custom) as { labels?: unknown };
    return Array.isArray(labels)
      ? [{ entry, wishes: labels.filter((word) => typeof word === 'string').map(wishOf) }]
      : [];
  });
}

/**
 * The effort of looking for one label in all that was said: a proof may say a hundred words, and for each that is this
 * label the record's labels after it are looked through.
 */
function effortOf(said: readonly Said[], wish: Wish): number {
  let effort = 0;
  for (const { entry, wishes } of said) {
    const same = wishes.reduce((count, { label }) => (label === wish.label ? count + 1 : count), 0);
    effort += 1 + wishes.length + same * (entry.labels?.length ?? 0);
  }
  return effort;
}

/**
 * Keys that wished the same since the label was last put on or taken away. Who wishes a label on that is on already, or
 * off that is off, takes nobody's word away.
 */
function keysFor(scene: ProofScene, said: readonly Said[], wish: Wish): Uint8Array[] {
  let keys: Uint8Array[] = [];
  let last: readonly string[] | null = null;
  for (const { entry, wishes } of said) {
    for (const { label, isOff } of wishes) {
      if (label !== wish.label) continue;
      const isSo = entry.labels !== undefined && entry.labels.includes(label) !== isOff;
      if (!isSo) {
        if (isOff === wish.isOff) keys.push(entry.proof.public);
      } else if (keys.length > 0 && (last ?? scene.begun.labels).includes(label) === isOff) keys = [];
    }
    last = entry.labels ?? last;
  }
  return keys;
}
