/**
 * Rules, compiled: what a list of access rules comes to once its policies stand in it as their values.
 *
 * A list is asked for one action on one target; the rules that speak of those are found once and kept. What a rule
 * without `record` speaks of depends on where it stands: in a record, of the record and its proofs; in a ledger, of the
 * ledger's own record; in the server's configuration, of entering the server and making ledgers in it.
 */
import { type Filter, type Finding, findOnce, matchesAll } from '../filters.ts';
import { KINDS } from '../kinds.ts';
import {
  ACCESS,
  ACTION_NUMBERS,
  ALL_ACTIONS,
  type Bearer,
  type Caller,
  CREATE,
  PROOF_TARGET,
  READ,
  signMask,
  type Target,
  wantedMask,
} from './caller.ts';
import { distinct, isAmong, KeyMap } from './key-map.ts';
import {
  alternatives,
  type BearerJson,
  BearerTest,
  EFFORT_MAX,
  giveBack,
  type OneOrIn,
  type Scene,
  type SignerJson,
  SignerTest,
  setAside,
} from './matchers.ts';
import type { AccessMemo } from './memo.ts';
import { isSomebodys } from './people.ts';

export interface RuleJson {
  action: OneOrIn<string>;
  record?: string;
  signer?: OneOrIn<SignerJson>;
  bearer?: OneOrIn<BearerJson>;
}

/** A policy a rule came through: what it speaks of, and the records it is for. */
export interface Narrowing {
  readonly record: number;
  readonly filters: readonly Filter[];
}

export interface Rule {
  /** Bits of the actions it allows. */
  readonly mask: number;
  readonly record: number;
  readonly signer: SignerTest | null;
  readonly bearer: BearerTest | null;
  /** Empty for a rule that stands in the list itself. */
  readonly narrowed: readonly Narrowing[];
  /** The rule without saying whom it means. */
  readonly shown: { action: OneOrIn<string>; record?: string };
}

/**
 * What a version of a policy says: its own rules, narrowed by itself, and in their place among them the policies they
 * name.
 */
export interface PolicyPart {
  readonly narrowing: Narrowing;
  readonly values: readonly (Rule | readonly string[])[];
  readonly extended: readonly string[];
  /**
   * Room it takes in the memo beside its own rules, counted in rules: for the text it was read from, and for each name
   * of a policy.
   */
  readonly weight: number;
}

/** What `record` of a rule may say beside a target. */
const ABSENT = -1;
const ANY = -2;
const SERVER = -3;

const TARGETS: ReadonlyMap<string, number> = new Map([
  ...KINDS.map(({ name }, kind) => [name, kind] as const),
  ...KINDS.map(({ name }, kind) => [`${name}-proof`, kind + PROOF_TARGET] as const),
  ['any', ANY],
  ['server', SERVER],
]);

export function recordCode(record: string | undefined): number {
  return record === undefined ? ABSENT : (TARGETS.get(record) ?? SERVER);
}

/** The target a check names, or null for a name that is none. */
export function targetOf(record: string): Target | null {
  const code = TARGETS.get(record);
  return code === undefined || code < 0 ? null : code;
}

export function compileRule(json: RuleJson, narrowed: readonly Narrowing[]): Rule {
  const { signer, bearer, ...rest } = json;
  // Each action once: a rule may name a thousand actions, and an answer may show ten thousand rules.
  const shown =
    typeof json.action === 'object' ? { ...rest, action: { $in: [...new Set(alternatives(json.action))] } } : rest;
  let mask = 0;
  for (const action of alternatives(json.action)) {
    const bit = ACTION_NUMBERS.get(action);
    mask |= action === 'any' ? ALL_ACTIONS : bit === undefined ? 0 : 1 << bit;
  }
  return {
    mask,
    record: recordCode(json.record),
    signer: signer === undefined ? null : new SignerTest(signer),
    bearer: bearer === undefined ? null : new BearerTest(bearer),
    narrowed,
    shown,
  };
}

/** Where a list stands. */
export type Place = 'record' | 'ledger' | 'server';

const TARGET_COUNT = 2 * PROOF_TARGET;
/** From so many rules on, the answers of those that depend on the key alone are kept by key. */
const KEPT_RULES_MIN = 4;
/**
 * Keys whose answers are kept: more than can have signed one intent, whose thousands of claims each ask for all of
 * them.
 */
const KEPT_KEYS_MAX = 65_536;
/** Words of memory that one of those keys takes; and those of a Found, beside its rules. */
const KEPT_KEY_WORDS = 16;
const FOUND_WORDS = 16;

/**
 * From so many keys on, only those are asked about of which a rule may speak. No body is signed by so many: they belong
 * to all who have agreed to a waiting intent, most of them perhaps strangers, and an equal share of the effort would be
 * too little for any of them.
 */
const MANY_KEYS_MIN = 256;
/** The effort of looking at one of them: whether it is there, and whether it owns something. */
const OWNER_EFFORT = 2;

/** Those of many keys that signers carry. */
interface Crowd {
  readonly state: Scene['state'];
  readonly ledger: number;
  readonly epoch: number;
  /** Those that a signer of the ledger carries. */
  readonly somebodys: readonly Uint8Array[];
}

/** Kept as long as the list of keys is: thousands of claims may ask about it. */
const crowds = new WeakMap<readonly Uint8Array[], Crowd>();

function somebodysAmong(keys: readonly Uint8Array[], { state, ledger }: Scene): readonly Uint8Array[] {
  const epoch = state.memo.peopleEpoch(ledger);
  const known = crowds.get(keys);
  if (known?.state === state && known.ledger === ledger && known.epoch === epoch) return known.somebodys;
  const somebodys = keys.filter((key) => isSomebodys(state, ledger, key));
  crowds.set(keys, { state, ledger, epoch, somebodys });
  return somebodys;
}

/** Of which keys some rules may speak: `keys`, and those that have what the rules ask for. */
interface Known {
  /** Any key may pass. */
  readonly isAny: boolean;
  /** Each once: they share the effort. */
  readonly keys: readonly Uint8Array[];
  readonly signer: boolean;
  readonly owner: boolean;
  readonly ledgerOwner: boolean;
}

function knownTo(rules: readonly Rule[]): Known {
  const tests = rules.flatMap(({ signer }) => (signer === null ? [] : [signer]));
  const asks = tests.map((test) => test.asks);
  return {
    isAny: tests.some(({ isAny }) => isAny),
    keys: distinct(tests.flatMap(({ keys }) => keys)),
    signer: asks.some(({ signer }) => signer),
    owner: asks.some(({ owner }) => owner),
    ledgerOwner: asks.some(({ ledgerOwner }) => ledgerOwner),
  };
}

/** The rules of a list that speak of one action on one target. */
class Found {
  /** Whether one of them asks nothing of anybody: the usual open ledger. */
  readonly isOpen: boolean;
  readonly all: readonly Rule[];
  /** Rules that the key alone decides, where their answers are worth keeping. */
  readonly #fixed: readonly Rule[];
  /** Of the others, those that name no signer, those that name one, and those that ask about the record in question. */
  readonly #unsigned: readonly Rule[];
  readonly #signed: readonly Rule[];
  readonly #narrow: readonly Rule[];
  readonly #kept: KeyMap<Answer> | null;
  readonly #place: Place;
  #known: Known | null = null;
  #epoch = -1;
  #ledger = -1;
  /** By list of keys: the index of the first that passes by itself, or the length of the list where none does. */
  #firsts = new WeakMap<readonly Uint8Array[], number>();

  constructor(place: Place, all: readonly Rule[], action: number) {
    this.#place = place;
    this.all = all;
    this.isOpen = all.some((rule) => rule.signer === null && rule.bearer === null && rule.narrowed.length === 0);
    const fixed = action === READ ? [] : all.filter(isFixed);
    this.#fixed = fixed.length < KEPT_RULES_MIN ? [] : fixed;
    this.#kept = this.#fixed.length === 0 ? null : new KeyMap();
    const others = this.#fixed.length === 0 ? all : all.filter((rule) => !isFixed(rule));
    const whole = others.filter((rule) => !isNarrow(rule));
    this.#unsigned = whole.filter(({ signer }) => signer === null);
    // A key alone costs least.
    const isPlain = ({ signer }: Rule) => signer?.isPlain === true;
    this.#signed = [...whole.filter(isPlain), ...whole.filter((rule) => rule.signer !== null && !isPlain(rule))];
    this.#narrow = others.filter(isNarrow);
  }

  /**
   * Whether any of them grants the action. What costs least is asked first, and each of several keys has its share of
   * the effort: strangers may have signed too, and looking at their records must not cost others their rights.
   */
  grants(action: number, { keys: all, bearer }: Caller, scene: RecordScene): boolean {
    for (const rule of this.#unsigned) if (holds(rule, action, all, bearer, scene)) return true;
    const keys = all.length < MANY_KEYS_MIN ? all : this.#knownOf(all, scene);
    if (this.#kept !== null && this.#signed.length === 0 && this.#place !== 'record') {
      const first = this.#firstOf(all, this.#kept, scene);
      if (first < all.length) return true;
    } else if (this.#asksEach(action, keys, bearer, scene)) return true;
    for (const rule of this.#narrow) if (holds(rule, action, keys, bearer, scene)) return true;
    return false;
  }

  /** Those of very many keys of which one of the rules may speak. */
  #knownOf(keys: readonly Uint8Array[], scene: RecordScene): readonly Uint8Array[] {
    this.#known ??= knownTo(this.all);
    const { isAny, keys: named, signer, owner, ledgerOwner } = this.#known;
    const { effort } = scene;
    effort.left -= named.length;
    const found = [...named.filter((key) => isAmong(keys, key)), ...(signer ? somebodysAmong(keys, scene) : [])];
    // A rule that lets any signer pass needs one key only.
    if (isAny) found.push(keys[0]!);
    if (!owner && !ledgerOwner) return found;
    effort.left -= OWNER_EFFORT * keys.length;
    const owns = (key: Uint8Array) => (owner && scene.isOwner(key)) || (ledgerOwner && scene.isLedgerOwner(key));
    for (const key of keys) if (owns(key)) found.push(key);
    return found;
  }

  #firstOf(keys: readonly Uint8Array[], kept: KeyMap<Answer>, scene: RecordScene): number {
    this.#forgetOld(kept, scene);
    const known = this.#firsts.get(keys);
    if (known !== undefined) return known;
    let first = 0;
    while (first < keys.length && !this.#answerOf(keys[first]!, kept, scene).passes) first++;
    this.#firsts.set(keys, first);
    return first;
  }

  #asksEach(action: number, keys: readonly Uint8Array[], bearer: Bearer | null, scene: RecordScene): boolean {
    const { effort } = scene;
    for (let index = 0; index < keys.length; index++) {
      const aside = setAside(effort, keys.length - index);
      const isGranting = this.#grantsTo(keys.length === 1 ? keys : [keys[index]!], action, bearer, scene);
      giveBack(effort, aside);
      if (isGranting) return true;
    }
    return false;
  }

  /** Whether the rules grant it to a single key, the one in `keys`. */
  #grantsTo(keys: readonly Uint8Array[], action: number, bearer: Bearer | null, scene: RecordScene): boolean {
    if (this.#kept !== null && this.#passes(keys[0]!, this.#kept, scene)) return true;
    for (const rule of this.#signed) {
      if (holds(rule, action, keys, bearer, scene)) return true;
      // With no effort left no other rule grants it to this key either.
      if (scene.effort.left < 0) return false;
    }
    return false;
  }

  /** What is kept holds as long as the ledger's signers and circles are what they were. */
  #forgetOld(kept: KeyMap<Answer>, { state, ledger }: RecordScene): void {
    const epoch = state.memo.peopleEpoch(ledger);
    if (this.#epoch === epoch && this.#ledger === ledger && kept.size < KEPT_KEYS_MAX) return;
    kept.clear();
    this.#firsts = new WeakMap();
    this.#epoch = epoch;
    this.#ledger = ledger;
  }

  #passes(key: Uint8Array, kept: KeyMap<Answer>, scene: RecordScene): boolean {
    const { effort } = scene;
    const answer = this.#answerOf(key, kept, scene);
    // Only the lists of records take effort here: each record can have one of its own, a ledger and the server have
    // few.
    if (this.#place === 'record') effort.left -= answer.cost;
    return answer.passes && effort.left >= 0;
  }

  #answerOf(key: Uint8Array, kept: KeyMap<Answer>, scene: RecordScene): Answer {
    const { effort } = scene;
    this.#forgetOld(kept, scene);
    let answer = kept.get(key);
    if (answer === undefined) {
      const [{ left }, { read }] = [effort, scene];
      effort.left = EFFORT_MAX;
      scene.read = null;
      const passes = this.#fixed.some((rule) => effort.left-- > 0 && rule.signer!.passes(key, scene));
      answer = { passes, cost: EFFORT_MAX - effort.left };
      effort.left = left;
      scene.read = read;
      scene.state.memo.holdAnswer(KEPT_KEY_WORDS);
      kept.add(key.slice(), answer);
    }
    return answer;
  }
}

/** What is kept of a key: whether a rule lets it pass, and what it took to tell. */
interface Answer {
  readonly passes: boolean;
  readonly cost: number;
}

function isFixed(rule: Rule): boolean {
  return rule.signer?.isFixed === true && rule.bearer === null && !isNarrow(rule);
}

function isNarrow({ narrowed }: Rule): boolean {
  return narrowed.some(({ filters }) => filters.length > 0);
}

/** A list of rules in its place, of one ledger or of the server. */
export class Rules {
  readonly list: readonly Rule[];
  /** Whether it holds rules of policies, and then the count of changes at which it did. */
  readonly isLinked: boolean;
  readonly epoch: number;
  /** The effort of following the policies it names. */
  readonly cost: number;
  /** The policies it was made of, by the address of each one's newest entry. */
  readonly parts: ReadonlyMap<number, PolicyPart>;
  /** What all of it takes of a memo's room, in rules. */
  readonly weight: number;
  /** Whether a rule that stands in the list itself lets everybody do everything. */
  readonly isOpen: boolean;
  readonly #place: Place;
  /** What was found, by action and target as one number. */
  readonly #found = new Map<number, Found>();

  constructor(
    place: Place,
    list: readonly Rule[],
    isLinked: boolean,
    epoch: number,
    cost: number,
    parts: ReadonlyMap<number, PolicyPart>,
  ) {
    this.#place = place;
    this.list = list;
    this.cost = cost;
    this.parts = parts;
    this.weight = list.length;
    for (const part of parts.values()) this.weight += part.weight;
    this.isLinked = isLinked;
    this.epoch = epoch;
    this.isOpen = list.some(
      ({ mask, record, signer, bearer, narrowed }) =>
        mask === ALL_ACTIONS && record === ANY && signer === null && bearer === null && narrowed.length === 0,
    );
  }

  of(action: number, target: Target, memo: AccessMemo): Found {
    const at = action * TARGET_COUNT + target;
    const known = this.#found.get(at);
    if (known !== undefined) return known;
    const wanted = wantedMask(action, target);
    const all = this.list.filter((rule) => (rule.mask & wanted) !== 0 && this.#speaksOf(rule, action, target));
    const found = new Found(this.#place, all, action);
    memo.holdAnswer(FOUND_WORDS + all.length);
    this.#found.set(at, found);
    return found;
  }

  forgetAnswers(): void {
    this.#found.clear();
  }

  #speaksOf({ mask, record, narrowed }: Rule, action: number, target: Target): boolean {
    const isSigning = mask !== ALL_ACTIONS && (mask & signMask(action, target)) !== 0;
    const isAbout = (named: number) =>
      named === ANY || named === target || (isSigning && named === target - PROOF_TARGET);
    if (!narrowed.every((narrowing) => isAbout(narrowing.record))) return false;
    if (isAbout(record)) return true;
    // A rule of a policy without `record` is about whatever its policies are about.
    if (record === ABSENT && narrowed.length > 0) return true;
    if (this.#place === 'record') return record === ABSENT;
    if (this.#place === 'ledger') return record === ABSENT && target % PROOF_TARGET === 0;
    const isOfServer = record === ABSENT || record === SERVER;
    return isOfServer && (action === ACCESS || (action === CREATE && target === 0));
  }
}

/** The record in question, as rules and filters of policies ask for it. */
export interface RecordScene extends Scene {
  /** `{data, meta}`; null where no record is in question. */
  view(): object | null;
  /** Where no record is in question: whether it is enough that some record would pass. */
  readonly isOfSome: boolean;
  /** What was found of filters: a policy has them once, for a thousand rules. */
  judged: Map<readonly Filter[], Finding> | null;
}

/** Whether the rule grants the action it was found for. */
export function holds(
  { signer, bearer, narrowed }: Rule,
  action: number,
  keys: readonly Uint8Array[],
  token: Bearer | null,
  scene: RecordScene,
): boolean {
  const { effort } = scene;
  effort.left -= signer === null ? 1 : 1 + keys.length;
  if (effort.left < 0) return false;
  if (signer !== null) {
    // Signatures are on bodies, and what is read has none: such a rule was never meant to open a record.
    if (bearer === null && action === READ) return false;
    if (!anyPasses(signer, keys, scene)) return false;
  }
  if (bearer !== null && (token === null || !bearer.passes(token, scene))) return false;
  for (const { filters } of narrowed) if (filters.length > 0 && !isWithin(filters, action, scene)) return false;
  return true;
}

function anyPasses(signer: SignerTest, keys: readonly Uint8Array[], scene: Scene): boolean {
  for (const key of keys) if (signer.passes(key, scene)) return true;
  return false;
}

/** Where no record is in question, only the gate can be asked about: it is open to those to whom some record is. */
function isWithin(filters: readonly Filter[], action: number, scene: RecordScene): boolean {
  const view = scene.view();
  if (view === null) return action === ACCESS && scene.isOfSome;
  const { effort } = scene;
  scene.judged ??= new Map();
  return findOnce(scene.judged, filters, effort, () => matchesAll(view, filters, effort));
}
