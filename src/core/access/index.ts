/**
 * Who may do what, decided in sequence against the state, so that a change of rules holds from the next decision on.
 *
 * Two questions. The gate: may the caller come in, first to the server, then to the ledger for this kind of record? The
 * action: does a rule of the ledger, of the server or of the record itself grant it? Rules only add: the order in which
 * they are asked changes nothing, so what costs least is asked first. Owners have no right but what rules give them.
 *
 * Under `access.strategy: policy-based` a ledger's policies are its rules, each for the records it speaks of; what
 * stands in `access` of the ledger and its records then counts for nothing.
 */
import { type CommandData, commandData } from '../command.ts';
import type { Effort } from '../filters.ts';
import { KINDS, Kind } from '../kinds.ts';
import { membersOf, textsOf, viewOf } from '../members.ts';
import { isoMoment } from '../proofs.ts';
import { labelsOf, NO_LABELS, readRow, versionAddress, versionAt } from '../records.ts';
import { type Refusal, refuse } from '../refusal.ts';
import { Skips } from '../skips.ts';
import { HAS_ACCESS, HAS_LABELS, type LedgerInfo, type State } from '../state.ts';
import {
  ACCESS,
  ACCESS_ACTIONS,
  ACTION_NUMBERS,
  type AccessAction,
  ALL_ACTIONS,
  type Caller,
  GRANTED,
  PROOF_TARGET,
  type Target,
  wantedMask,
} from './caller.ts';
import { isAmong } from './key-map.ts';
import { CHARS_PER_EFFORT, EFFORT_MAX } from './matchers.ts';
import type { LedgerFacts, RecordFacts } from './memo.ts';
import { compileList, compilePolicies } from './policies.ts';
import { holds, type RecordScene, type Rules } from './rules.ts';

export { type AccessAction, type Bearer, type Caller, GRANTED, NOBODY, proofTarget, type Target } from './caller.ts';
export { targetOf } from './rules.ts';

/** A record as it is about to be: one that is being made is nobody's yet, so whoever signs it owns it. */
type Draft = CommandData;

/** No record: a row for questions about a whole kind, or about what does not exist. */
export const NO_ROW = -1;
/** Every record of a kind, whichever it is: what is granted for this need not be asked of each. */
export const EVERY_ROW = -2;

/**
 * Effort of many questions that are asked at once: about half a second's worth. Each of ten thousand claims may meet a
 * hundred rules by which ten keys are tried.
 */
export const BUDGET_MAX = 10_000_000;
/**
 * Each character of a record's rules beyond so many takes an effort of two: reading and compiling them takes as long as
 * asking. The effort is counted in advance, so that what there is none left for is not read; and from what is written
 * alone, so that the same books come to the same decision whatever is remembered. Lists of usual length take what they
 * always took.
 */
const USUAL_CHARS = 1024;
const EFFORT_PER_LONG_CHAR = 2;
/** The same for the bytes of a record with rules, which are scanned to find them. */
const USUAL_BYTES = 4096;
const LONG_BYTES_PER_EFFORT = 16;

/**
 * Both questions. `target` is the record's kind, or proofTarget of it; `draft` goes with NO_ROW where one is made, and
 * with its row where the question is about the record as a change would make it.
 */
export function isAllowed(
  state: State,
  ledger: number,
  action: AccessAction,
  target: Target,
  row: number,
  caller: Caller,
  draft: Draft | null = null,
): boolean {
  if (isOpen(state, ledger, target) && state.memo.isServerOpen) return true;
  return (
    mayEnter(state, ledger, target, row, caller, draft) && isGranted(state, ledger, action, target, row, caller, draft)
  );
}

/** The gate. Asked without a record, rules about its owners let nobody in. */
export function mayEnter(
  state: State,
  ledger: number,
  target: Target,
  row: number,
  caller: Caller,
  draft: Draft | null = null,
): boolean {
  if (caller === GRANTED) return true;
  const home = homeOf(state, ledger, target, row);
  const scene = { home, row, draft, budget: null };
  if (!opensGate(state, serverRules(state), target, caller, scene)) return false;
  // A ledger that is only being made has no gate yet.
  return home < 0 || opensGate(state, ledgerRules(state, home), target, heardIn(state, home, target, caller), scene);
}

/**
 * The action alone: for claims, whose intent has passed the gate already. Many questions that are asked at once share
 * `budget`: nothing is granted once it is used up.
 */
export function isGranted(
  state: State,
  ledger: number,
  action: AccessAction,
  target: Target,
  row: number,
  caller: Caller,
  draft: Draft | null = null,
  budget: Effort | null = null,
): boolean {
  if (caller === GRANTED || isOpen(state, ledger, target)) return true;
  const number = ACTION_NUMBERS.get(action)!;
  const home = homeOf(state, ledger, target, row);
  const scene = { home, row, draft, budget };
  const heard = heardIn(state, home, target, caller);
  if (home >= 0 && grants(state, ledgerRules(state, home), number, target, heard, scene)) return true;
  if (grants(state, serverRules(state), number, target, caller, scene)) return true;
  if (isUsedUp(budget)) return false;
  const rules = ownRules(state, home, number, target, row, budget);
  return rules !== null && grants(state, rules, number, target, caller, scene);
}

/**
 * The caller as a ledger's rules see it. A token is for one ledger, but the record of another ledger can be asked for
 * with it. There it counts for nothing: otherwise whoever is shown a token for their own ledger could change that of
 * its bearer.
 */
function heardIn(state: State, home: number, target: Target, caller: Caller): Caller {
  const { bearer } = caller;
  if (bearer === null || home < 0 || target % PROOF_TARGET !== Kind.ledger) return caller;
  return bearer.aud === state.ledgers[home]!.handle ? caller : { ...caller, bearer: null };
}

/** Whether this caller may do everything to whatever lives in the ledger: then nothing need be asked claim by claim. */
export function isGrantedAll(state: State, ledger: number, caller: Caller): boolean {
  return caller === GRANTED || isOpen(state, ledger, Kind.wallet);
}

/** The usual case, told without looking at a rule: a ledger that lets everybody do everything, as it is now. */
function isOpen({ memo, ledgers }: State, ledger: number, target: Target): boolean {
  const facts = memo.ledgers[ledger];
  return facts?.isOpen === true && facts.info === ledgers[ledger] && target % PROOF_TARGET !== Kind.ledger;
}

/** The rules that would grant this, without whom they name: the ledger's, then the record's. */
export function grantingRules(
  state: State,
  ledger: number,
  action: AccessAction | 'any',
  target: Target,
  row: number,
  caller: Caller,
): object[] {
  // Whoever asks may do so of a record of another kind: the ledger's own record is that of the ledger they ask in.
  const asked = target % PROOF_TARGET === Kind.ledger ? state.ledgers[ledger]!.row : row;
  const home = homeOf(state, ledger, target, asked);
  const lists = [ledgerRules(state, home), ownRules(state, home, null, target, asked, null)];
  const wanted = action === 'any' ? [...ACTION_NUMBERS.values()] : [ACTION_NUMBERS.get(action)!];
  const heard = heardIn(state, home, Kind.ledger, caller);
  return lists.flatMap((rules) => {
    if (rules === null) return [];
    const scene = new Judged(state, { home, row: asked, draft: null, budget: null }, heard);
    const about = wanted.map((number) => [number, new Set(rules.of(number, target, state.memo).all)] as const);
    const found = rules.list.filter((rule) =>
      about.every(([number, all]) => all.has(rule) && holds(rule, number, heard.keys, heard.bearer, scene)),
    );
    return found.map((rule) => rule.shown);
  });
}

/** Whether the ledger lets everybody do everything, by a rule that says so without conditions. */
export function isOpenToAll(state: State, ledger: number): boolean {
  return ledgerRules(state, ledger).isOpen && serverRules(state).of(ACCESS, Kind.wallet, state.memo).isOpen;
}

/** What the server's configuration allows, in place of the default. */
export function setServerRules(state: State, list: readonly unknown[]): void {
  const rules = compileList(state, 0, 'server', list, null);
  state.memo.server = rules;
  // A rule that opens the gate for one kind only opens it for that one: it must be open for all that ledgers keep.
  state.memo.isServerOpen = KINDS.every((_, kind) => rules.of(ACCESS, kind, state.memo).isOpen);
}

/** By default everybody may enter the server and make ledgers in it. */
const DEFAULT_SERVER_RULES = [{ action: { $in: ['access', 'create'] } }];

function serverRules(state: State): Rules {
  if (state.memo.server === null) setServerRules(state, DEFAULT_SERVER_RULES);
  return state.memo.server!;
}

// ---------------------------------------------------------------- saying no

// A refusal names the rights that the request takes. It is the same whether the gate is closed or the action is not
// granted, so nobody learns from it what rules there are.

/** Made once: under a flood the same one is given again and again. */
const REFUSALS = ACCESS_ACTIONS.map((action) => [
  ...KINDS.map(({ name }) => deny(action, name)),
  ...KINDS.map(({ name }) => deny(action, `${name}-proof`)),
]);

/** The refusal to do this to records of this kind, or with proofs on them; `access` is the gate alone. */
export function forbidden(action: AccessAction, target: Target): Refusal {
  const at = target < PROOF_TARGET ? target : target - PROOF_TARGET + KINDS.length;
  return REFUSALS[ACTION_NUMBERS.get(action)!]![at]!;
}

function deny(action: AccessAction, name: string): Refusal {
  const rights = action === 'access' ? action : `access and ${action}`;
  return refuse('auth.forbidden', `Request is not authorized: it takes ${rights} on ${name}`);
}

// ---------------------------------------------------------------- asking a list

/** Where a question is asked: the ledger whose rules count (-1: none), and the record. */
interface Where {
  readonly home: number;
  readonly row: number;
  readonly draft: Draft | null;
  /** The effort that is left for this and further questions; null where it has no end. */
  readonly budget: Effort | null;
}

/** A ledger's record belongs to the ledger it is; one that is only being made has none. */
function homeOf(state: State, ledger: number, target: Target, row: number): number {
  if (target % PROOF_TARGET !== Kind.ledger) return ledger;
  return row < 0 ? -1 : state.rows.ledgerIndex.get(row);
}

function opensGate(state: State, rules: Rules, target: Target, caller: Caller, where: Where): boolean {
  if (grants(state, rules, ACCESS, target, caller, where)) return true;
  // Who may come in for a kind may come in for the proofs on it.
  return target >= PROOF_TARGET && grants(state, rules, ACCESS, target - PROOF_TARGET, caller, where);
}

function grants(state: State, rules: Rules, action: number, target: Target, caller: Caller, where: Where): boolean {
  const found = rules.of(action, target, state.memo);
  if (found.isOpen) return true;
  const { budget } = where;
  if (found.all.length === 0 || isUsedUp(budget)) return false;
  const scene = new Judged(state, where, caller);
  const before = budget === null ? EFFORT_MAX : Math.min(EFFORT_MAX, budget.left);
  scene.effort.left = before;
  const isGranting = found.grants(action, caller, scene);
  if (budget !== null) budget.left -= before - scene.effort.left;
  return isGranting;
}

/** Whether no effort is left: then not even the work of finding out is done. */
function isUsedUp(budget: Effort | null): boolean {
  return budget !== null && budget.left <= 0;
}

class Judged implements RecordScene {
  readonly state: State;
  readonly ledger: number;
  readonly effort: Effort = { left: EFFORT_MAX };
  read: RecordScene['read'] = null;
  judged: RecordScene['judged'] = null;
  readonly #where: Where;
  readonly #caller: Caller;
  #view: object | null | undefined;

  constructor(state: State, where: Where, caller: Caller) {
    this.state = state;
    this.ledger = where.home;
    this.#where = where;
    this.#caller = caller;
  }

  isOwner(key: Uint8Array): boolean {
    const { row, draft } = this.#where;
    if (row >= 0) return isAmong(ownersOf(this.state, row), key);
    return draft !== null && isAmong(this.#caller.keys, key);
  }

  get isOfSome(): boolean {
    return this.#where.row !== EVERY_ROW;
  }

  isLedgerOwner(key: Uint8Array): boolean {
    return this.ledger >= 0 && isAmong(ledgerOwners(this.state, this.ledger), key);
  }

  view(): object | null {
    this.#view ??= sceneView(this.state, this.#where, this.effort);
    return this.#view;
  }
}

function sceneView(state: State, { row, draft }: Where, effort: Effort): object | null {
  if (row < 0) return draft === null ? null : { data: commandData(draft), meta: {} };
  const { entry } = versionAt(state, state.rows.at.get(row));
  effort.left -= entry.data.length / CHARS_PER_EFFORT;
  const status = state.statuses[state.rows.status.get(row)];
  const meta = { status, moment: isoMoment(entry.moment), labels: labelsAt(state, row) };
  return { data: draft === null ? viewOf(entry.data) : commandData(draft), meta };
}

// ---------------------------------------------------------------- finding lists

function ledgerFacts(state: State, ledger: number): LedgerFacts {
  const info = state.ledgers[ledger]!;
  const known = state.memo.ledgers[ledger];
  if (known !== undefined && known.info === info) return known;
  const before = known?.rules ?? known?.before ?? null;
  const skips = known?.skips ?? null;
  const facts: LedgerFacts = { info, rules: null, before, skips, isOpen: false, owners: null };
  state.memo.ledgers[ledger] = facts;
  return facts;
}

function ledgerRules(state: State, ledger: number): Rules {
  const facts = ledgerFacts(state, ledger);
  if (facts.rules !== null && isCurrent(state, ledger, facts.rules)) return facts.rules;
  const { info } = facts;
  const { entry } = versionAt(state, state.rows.at.get(info.row));
  const { access = [] } = membersOf(entry.data, ['access']) as { access?: unknown[] };
  const before = facts.rules ?? facts.before;
  const rules = isPolicyBased(info)
    ? compilePolicies(state, ledger, before, skipsOf(facts))
    : compileList(state, ledger, 'ledger', access, before);
  state.memo.setLedgerRules(facts, rules, entry.data.length);
  return rules;
}

function skipsOf(facts: LedgerFacts): Skips {
  facts.skips ??= new Skips(1);
  return facts.skips;
}

function isPolicyBased({ config }: LedgerInfo): boolean {
  return config['access.strategy'] === 'policy-based';
}

function isCurrent({ memo }: State, ledger: number, rules: Rules): boolean {
  return !rules.isLinked || rules.epoch === memo.policyEpoch(ledger);
}

function ledgerOwners(state: State, ledger: number): readonly Uint8Array[] {
  const facts = ledgerFacts(state, ledger);
  facts.owners ??= ownersOf(state, state.ledgers[ledger]!.row);
  return facts.owners;
}

function recordFacts(state: State, row: number): RecordFacts {
  return state.memo.record(state.rows.at.get(row));
}

function ownersOf(state: State, row: number): readonly Uint8Array[] {
  const facts = recordFacts(state, row);
  if (facts.owners === null) state.memo.setOwners(facts, readRow(state, row).owners);
  return facts.owners!;
}

function labelsAt(state: State, row: number): readonly string[] {
  if ((state.rows.flags.get(row) & HAS_LABELS) === 0) return NO_LABELS;
  const facts = recordFacts(state, row);
  facts.labels ??= labelsOf(state, row);
  return facts.labels;
}

/**
 * The rules that a record itself has. Null where there are none, where they do not count, where none of them speaks of
 * the action (null: of any), or where too little of the budget is left to read them.
 */
function ownRules(
  state: State,
  home: number,
  action: number | null,
  target: Target,
  row: number,
  budget: Effort | null,
): Rules | null {
  const kind = target % PROOF_TARGET;
  // A ledger's own rules are those of the ledger; what is only being made grants nothing to itself.
  if (row < 0 || kind === Kind.ledger || state.rows.kind.get(row) !== kind) return null;
  if ((state.rows.flags.get(row) & HAS_ACCESS) === 0 || isPolicyBased(state.ledgers[home]!)) return null;
  const at = state.rows.at.get(row);
  const facts = state.memo.record(at);
  facts.listing ??= { bytes: state.heap.length(versionAddress(state, at)), chars: -1, unnamed: 0 };
  const { listing } = facts;
  if (budget !== null) budget.left -= readingEffort(listing.bytes);
  if (isUsedUp(budget)) return null;
  let text: string | null = null;
  if (listing.chars < 0) {
    text = listText(state, at);
    listing.chars = text.length;
  }
  if (budget !== null) budget.left -= compilingEffort(listing.chars);
  if (isUsedUp(budget)) return null;
  let { rules } = facts;
  if (rules === null || !isCurrent(state, home, rules)) {
    const wanted = action === null ? ALL_ACTIONS : wantedMask(action, target);
    // Told without the text where it was told before.
    if ((wanted & ~listing.unnamed) === 0) return null;
    text ??= listText(state, at);
    listing.unnamed |= unnamedIn(text, wanted);
    if ((wanted & ~listing.unnamed) === 0) return null;
    rules = listOf(state, home, text);
    state.memo.setRecordRules(facts, rules);
  }
  if (budget !== null && rules.isLinked) budget.left -= rules.cost;
  return rules;
}

/** The effort of scanning a record with rules, of so many bytes. */
function readingEffort(bytes: number): number {
  return Math.max(bytes - USUAL_BYTES, 0) / LONG_BYTES_PER_EFFORT;
}

/** The effort of compiling a list of so many characters. */
function compilingEffort(chars: number): number {
  return Math.min(chars, USUAL_CHARS) / CHARS_PER_EFFORT + EFFORT_PER_LONG_CHAR * Math.max(chars - USUAL_CHARS, 0);
}

/** The list of rules of the version that begins at `at` or before, as it is written there. */
function listText(state: State, at: number): string {
  return textsOf(versionAt(state, at).entry.data, ['access']).access ?? '[]';
}

/**
 * Which of these actions no rule of the list with this text speaks of. Other text in it may look like an action and is
 * taken for one; then the list is compiled, and that tells.
 */
function unnamedIn(text: string, wanted: number): number {
  if (wanted === ALL_ACTIONS || text.includes('"any"') || text.includes('"policy"')) return 0;
  let unnamed = 0;
  for (const [action, number] of ACTION_NUMBERS) {
    const bit = 1 << number;
    if ((wanted & bit) !== 0 && !text.includes(`"${action}"`)) unnamed |= bit;
  }
  return unnamed;
}

/** The compiled list that is written so; equal lists are compiled once. */
function listOf(state: State, ledger: number, written: string): Rules {
  const known = state.memo.list(`${ledger} ${written}`);
  if (known !== undefined && isCurrent(state, ledger, known)) return known;
  const access = JSON.parse(written) as unknown[];
  const rules = compileList(state, ledger, 'record', access, known ?? null);
  // The key is a text of its own: a slice of the record's text would keep all of that in memory.
  state.memo.setList(`${ledger} ${JSON.stringify(access)}`, rules);
  return rules;
}
