/**
 * Quorums: how many distinct keys, of which signers, must say a thing before it happens.
 *
 * A quorum has lines, each with so many seats, each seat for one key that the line's matcher fits. It is reached when
 * every seat can be given a key of its own: whoever fits two seats fills one, so two people are needed where a rule
 * asks for two.
 *
 * Many policies may be about one status, and many keys may have said it; all of that is looked at for every proof. So a
 * proof has so much effort for it and no more: past it no policy lets anybody do anything.
 */
import { isAmong, KeyMap } from './access/key-map.ts';
import {
  CHARS_PER_EFFORT,
  EFFORT_MAX,
  giveBack,
  type OneOrIn,
  type Scene,
  type SignerJson,
  SignerTest,
  setAside,
} from './access/matchers.ts';
import { type Conditions, compileFilters } from './conditions.ts';
import { EntryType } from './entry.ts';
import { type Effort, matchesAll } from './filters.ts';
import { type Given, giveBefore } from './history.ts';
import { Kind, kindRow } from './kinds.ts';
import { membersOf, textsOf, viewOf } from './members.ts';
import { BYTES_PER_CHAR, type PolicySort } from './norms.ts';
import { isoMoment } from './proofs.ts';
import { entryAt, NO_LABELS, type RecordView, readRow, typeAt, versionAt } from './records.ts';
import { type Refusal, refuse } from './refusal.ts';
import { HAS_LABELS, type State } from './state.ts';

/** Who may, in a value of a policy: nobody named is everybody, `signer` is a quorum of one. */
export interface QuorumJson {
  signer?: OneOrIn<SignerJson>;
  quorum?: { signer: OneOrIn<SignerJson>; count?: number }[];
}

/** So many seats for keys that pass one test. */
interface Line {
  readonly test: SignerTest;
  readonly count: number;
}

/** The lines of a quorum; none where any one key will do. */
type Seats = readonly Line[];

/**
 * Characters of a policy's values and filter beyond so many take effort of their own before they are compiled, so many
 * of them as much as one look: compiling takes as long as looking. All policies together may have some 800 000 of them.
 */
const USUAL_CHARS = 1024;
const LONG_CHARS_PER_EFFORT = 4;

/** Keys beyond these are not looked at: a quorum has far fewer seats. */
const VOTERS_MAX = 256;

/** The seats of a quorum: one where a value names a signer alone, none where it names nobody. */
export function compileSeats({ signer, quorum }: QuorumJson): Seats {
  const wanted = quorum ?? (signer === undefined ? [] : [{ signer }]);
  return wanted.map(({ signer: who, count = 1 }) => ({ test: new SignerTest(who), count }));
}

/** Whether the key may take one of the seats; where there are none, anybody may. */
export function fits(seats: Seats, key: Uint8Array, scene: Scene): boolean {
  return seats.length === 0 || seats.some(({ test }) => passes(test, key, scene));
}

function passes(test: SignerTest, key: Uint8Array, scene: Scene): boolean {
  return scene.effort.left-- > 0 && test.passes(key, scene);
}

/**
 * Whether every seat can have a key of its own. By Hall's theorem that is so where any lines together have at most as
 * many seats as there are keys that fit one of them; a set of lines is a number here, a bit for each.
 */
export function isReached(seats: Seats, keys: readonly Uint8Array[], scene: Scene): boolean {
  if (seats.length === 0) return true;
  /** How many keys fit just these lines. */
  const fitting = new Map<number, number>();
  const { effort } = scene;
  const voters = votersOf(keys);
  for (const [index, key] of voters.entries()) {
    // Of the votes some may be strangers'.
    const aside = setAside(effort, voters.length - index);
    const lines = seats.reduce((set, { test }, line) => (passes(test, key, scene) ? set | (1 << line) : set), 0);
    giveBack(effort, aside);
    fitting.set(lines, (fitting.get(lines) ?? 0) + 1);
  }
  for (let set = 1; set < 1 << seats.length; set++) {
    let wanted = 0;
    for (const [line, { count }] of seats.entries()) if ((set & (1 << line)) !== 0) wanted += count;
    let there = 0;
    for (const [lines, count] of fitting) if ((lines & set) !== 0) there += count;
    if (there < wanted) return false;
  }
  return true;
}

/**
 * Who votes, as long as somebody holds the keys: a key may have said a thing thousands of times, and thousands of rules
 * ask.
 */
const votersFor = new WeakMap<readonly Uint8Array[], readonly Uint8Array[]>();

function votersOf(keys: readonly Uint8Array[]): readonly Uint8Array[] {
  const known = votersFor.get(keys);
  if (known !== undefined) return known;
  const voters = distinct(keys);
  votersFor.set(keys, voters);
  return voters;
}

/** Each key once, from the last one back, up to so many. */
function distinct(keys: readonly Uint8Array[]): Uint8Array[] {
  const found: Uint8Array[] = [];
  const known = new KeyMap<true>();
  for (let index = keys.length - 1; index >= 0 && found.length < VOTERS_MAX; index--) {
    const key = keys[index]!;
    if (known.get(key) !== undefined) continue;
    known.add(key, true);
    found.push(key);
  }
  return found;
}

/** A record to which a proof is added, as policies ask about it. */
export class ProofScene implements Scene {
  readonly state: State;
  /** The ledger whose policies and signers count: a ledger's record belongs to the ledger it is. */
  readonly ledger: number;
  readonly kind: Kind;
  readonly record: RecordView;
  readonly effort: Effort = { left: EFFORT_MAX };
  read: Scene['read'] = null;
  #ledgerOwners: readonly Uint8Array[] | null = null;
  #begun: Begun | null = null;

  constructor(state: State, ledger: number, kind: Kind, record: RecordView) {
    this.state = state;
    this.ledger = kind === Kind.ledger ? state.rows.ledgerIndex.get(record.row) : ledger;
    this.kind = kind;
    this.record = record;
  }

  isOwner(key: Uint8Array): boolean {
    return isAmong(this.record.owners, key);
  }

  isLedgerOwner(key: Uint8Array): boolean {
    this.#ledgerOwners ??= readRow(this.state, this.state.ledgers[this.ledger]!.row).owners;
    return isAmong(this.#ledgerOwners, key);
  }

  /**
   * What the record's present version began with: the first proof on it that says a status may only have said it again.
   */
  get begun(): Begun {
    this.#begun ??= this.#findBegun();
    return this.#begun;
  }

  #findBegun(): Begun {
    const { state, kind, record, effort } = this;
    const given: Given = { status: null, labels: undefined };
    // Most records never had any.
    if ((state.rows.flags.get(record.row) & HAS_LABELS) === 0) given.labels = NO_LABELS;
    for (let at = record.before; at !== 0 && effort.left-- > 0; at = state.heap.prev(at)) {
      if (typeAt(state, at) !== EntryType.proof) continue;
      giveBefore(given, entryAt(state, at));
      if (given.status !== null && given.labels !== undefined) break;
    }
    return { status: given.status ?? kindRow(kind).status, labels: given.labels ?? NO_LABELS };
  }
}

interface Begun {
  readonly status: string;
  readonly labels: readonly string[];
}

/** What a value of a policy comes to: who may say a word, a status or a label, and what else there is to it. */
export interface WordRule {
  readonly word: string;
  readonly seats: Seats;
}

/**
 * Why a word may not be said: `why`, where all that the policies say was looked at, else that it was not. Part of it is
 * no answer: who may say the word may be told in the rest.
 */
export function notLet({ effort }: ProofScene, why: string): Refusal {
  const givenUp = 'The policies about this record take more looking at than one proof is given';
  return violation(effort.left < 0 ? givenUp : why);
}

/** The rules of a policy by their words: several may be about one. */
type RulesByWord<R> = ReadonlyMap<string, readonly R[]>;

/** That what a proof says is against the policies on it. */
export function violation(why: string): Refusal {
  return refuse('record.status-policy-violation', why);
}

/** Of a status or label that somebody asked for, a refusal shows so much. */
const SHOWN_CHARS = 64;

export function shownWord(word: string): string {
  return word.slice(0, SHOWN_CHARS);
}

/** All rules about a word. */
export function rulesAbout<R>(policies: readonly RulesByWord<R>[], word: string): readonly R[] {
  return policies.flatMap((policy) => policy.get(word) ?? []);
}

interface PolicyJson<V> {
  values: V[];
  filter?: Conditions;
}

/**
 * What the policies of a sort that are for this record say, each compiled once per version. Null where there is none:
 * nothing is asked then. Policies of one sort count together, so `extend` adds nothing to them. Where the effort runs
 * out on the way they say nothing: there are some, and they let nobody do anything.
 */
export function policiesFor<V, R extends WordRule>(
  scene: ProofScene,
  sort: PolicySort,
  compile: (value: V) => R,
): readonly RulesByWord<R>[] | null {
  const { state, ledger, kind, record, effort } = scene;
  const rows = state.norms.policies(ledger, kind, sort);
  if (rows.length === 0) return null;
  const found: RulesByWord<R>[] = [];
  let view: object | null = null;
  for (const row of rows) {
    const at = state.rows.at.get(row);
    effort.left -= state.norms.effortOf(row, () => readingEffort(versionAt(state, at).entry.data));
    if (effort.left < 0) return [];
    const { filters, rules } = policyAt(state, ledger, at, compile);
    if (filters.length > 0 && view === null) {
      effort.left -= record.entry.data.length / CHARS_PER_EFFORT;
      view = sceneView(record);
    }
    const isMeant = view === null || matchesAll(view, filters, effort);
    if (effort.left < 0) return [];
    if (isMeant) found.push(rules);
  }
  return found.length === 0 ? null : found;
}

/**
 * The effort of looking at a policy with this data: whether it is remembered or not, so that the same books come to the
 * same. What is beside its values and its filter is passed by.
 */
function readingEffort(data: string): number {
  const { values = '', filter = '' } = textsOf(data, ['values', 'filter']);
  const long = Math.max(values.length + filter.length - USUAL_CHARS, 0);
  return 1 + data.length / CHARS_PER_EFFORT + long / LONG_CHARS_PER_EFFORT;
}

function policyAt<V, R extends WordRule>(state: State, ledger: number, at: number, compile: (value: V) => R) {
  return state.norms.remembered.get(ledger, at, () => {
    const { entry } = versionAt(state, at);
    const { values, filter } = membersOf(entry.data, ['values', 'filter']) as unknown as PolicyJson<V>;
    const value = { filters: compileFilters(filter), rules: byWord(values.map(compile)) };
    return { value, held: BYTES_PER_CHAR * entry.data.length };
  });
}

function sceneView({ entry, status, labels }: RecordView): object {
  return { data: viewOf(entry.data), meta: { status, moment: isoMoment(entry.moment), labels } };
}

function byWord<R extends WordRule>(rules: readonly R[]): RulesByWord<R> {
  const groups = new Map<string, R[]>();
  for (const rule of rules) {
    const group = groups.get(rule.word);
    if (group === undefined) groups.set(rule.word, [rule]);
    else group.push(rule);
  }
  return groups;
}
