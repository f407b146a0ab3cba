/**
 * Policies: rules under a handle of their own, to be named by records, ledgers and other policies.
 *
 * A policy gives its values and those of the policies it extends; all of them only for the records it speaks of and
 * that pass its filter. Whatever an extended policy says for itself narrows its own rules further.
 */
import { compileFilters } from '../conditions.ts';
import { findHandle } from '../finding.ts';
import { Kind } from '../kinds.ts';
import { textsOf } from '../members.ts';
import { versionAt } from '../records.ts';
import type { Skips } from '../skips.ts';
import type { State } from '../state.ts';
import { ALL_TERM, rowsUnder } from '../terms.ts';
import { alternatives, type OneOrIn } from './matchers.ts';
import { TEXT_PER_RULE } from './memo.ts';
import {
  compileRule,
  type Narrowing,
  type Place,
  type PolicyPart,
  type Rule,
  type RuleJson,
  Rules,
  recordCode,
} from './rules.ts';

interface PolicyJson {
  policy: OneOrIn<string>;
}
type ListJson = RuleJson | PolicyJson;

/**
 * How far policies that lead to one another are followed: how deep, how many visits from one of them, how many for one
 * list, and to how many rules that may grow.
 */
const DEPTH_MAX = 16;
const VISITS_MAX = 1000;
const LIST_VISITS_MAX = 20_000;
const RULES_MAX = 10_000;
/** Kilobytes of policies that are read for one list; those beyond give no rules. */
const TEXT_MAX = 8000;
/** Rules that are taken over for the effort of one visit. */
const RULES_PER_VISIT = 16;
/**
 * Kilobytes beyond these take the effort of so many visits each, whether they are remembered or not: reading and
 * compiling them takes as long. Policies of usual length take what they always took.
 */
const USUAL_TEXT = 64;
const VISITS_PER_TEXT = 256;

/**
 * Compiles a list of rules as it stands in a record, a ledger or the configuration. `before` is the list before a
 * change: policies that it was made of are not read again.
 */
export function compileList(
  state: State,
  ledger: number,
  place: Place,
  list: readonly unknown[],
  before: Rules | null,
): Rules {
  const builder = new ListBuilder(state, ledger, before);
  for (const json of list as ListJson[]) builder.add(json);
  return builder.build(place);
}

/**
 * Compiles all policies of a ledger, each for the records it speaks of. `skips` tells which were found to say nothing
 * of access earlier: so these, however many, are looked at only once.
 */
export function compilePolicies(state: State, ledger: number, before: Rules | null, skips: Skips): Rules {
  const builder = new ListBuilder(state, ledger, before);
  builder.isLinked = true;
  const isUseless = (row: number) => !builder.isFull && builder.isSilent(row);
  for (const row of rowsUnder(state, ledger, Kind.policy, ALL_TERM, '', skips, isUseless)) {
    if (builder.isFull) break;
    builder.addRoot(row);
  }
  return builder.build('ledger');
}

class ListBuilder {
  isLinked = false;
  readonly #rules: Rule[] = [];
  readonly #state: State;
  readonly #ledger: number;
  readonly #before: Rules | null;
  /** Rows of the policies that are being followed: none is followed within itself. */
  readonly #path: number[] = [];
  readonly #parts = new Map<number, PolicyPart>();
  #visits = 0;
  #listVisits = 0;
  #text = 0;

  constructor(state: State, ledger: number, before: Rules | null) {
    this.#state = state;
    this.#ledger = ledger;
    this.#before = before;
  }

  build(place: Place): Rules {
    const epoch = this.#state.memo.policyEpoch(this.#ledger);
    const long = Math.max(this.#text - USUAL_TEXT, 0);
    const cost = this.#listVisits + this.#rules.length / RULES_PER_VISIT + VISITS_PER_TEXT * long;
    return new Rules(place, this.#rules, this.isLinked, epoch, cost, this.#parts);
  }

  /** Whether nothing that is added counts any more. */
  get isFull(): boolean {
    return this.#rules.length >= RULES_MAX || this.#text > TEXT_MAX;
  }

  /** Whether a policy gives no rules, whatever becomes of others: a new version of it may. */
  isSilent(row: number): boolean {
    return saysNothing(this.#read(this.#state.rows.at.get(row)));
  }

  /** Adds a rule, or the policies of these names, as the list itself has them. */
  add(json: ListJson): void {
    if (this.#rules.length >= RULES_MAX) return;
    if (isOfPolicies(json)) this.#addNamed(alternatives(json.policy), [], 0);
    else this.#rules.push(compileRule(json, []));
  }

  #addNamed(handles: readonly string[], narrowed: readonly Narrowing[], depth: number): void {
    this.isLinked = true;
    for (const handle of handles) {
      if (++this.#listVisits > LIST_VISITS_MAX) return;
      const row = findHandle(this.#state, this.#ledger, Kind.policy, handle);
      if (row < 0) continue;
      if (depth === 0) this.addRoot(row);
      else this.#addPolicy(row, narrowed, depth);
    }
  }

  /** Adds a policy that a list itself names. */
  addRoot(row: number): void {
    this.#visits = 0;
    this.#addPolicy(row, [], 0);
  }

  #addPolicy(row: number, narrowed: readonly Narrowing[], depth: number): void {
    const rules = this.#rules;
    if (depth >= DEPTH_MAX || rules.length >= RULES_MAX || this.#path.includes(row)) return;
    if (++this.#visits > VISITS_MAX || this.#text > TEXT_MAX) return;
    const part = this.#part(this.#state.rows.at.get(row));
    if (saysNothing(part)) return;
    const { narrowing, values, extended } = part;
    const within = [...narrowed, narrowing];
    this.#path.push(row);
    for (const item of values) {
      if (rules.length >= RULES_MAX) break;
      if (isNames(item)) this.#addNamed(item, within, depth + 1);
      else rules.push(depth === 0 ? item : { ...item, narrowed: within });
    }
    if (extended.length > 0) this.#addNamed(extended, within, depth + 1);
    this.#path.pop();
  }

  /** What the policy with its newest entry at `at` says; its text counts from now on. */
  #part(at: number): PolicyPart {
    const known = this.#parts.get(at);
    if (known !== undefined) return known;
    const part = this.#read(at);
    this.#parts.set(at, part);
    // A policy of other things has none.
    this.#text += part.weight - 1;
    return part;
  }

  /** Reads the policy where neither the list before nor the memo has it. */
  #read(at: number): PolicyPart {
    const { memo } = this.#state;
    const known = this.#before?.parts.get(at) ?? memo.policy(at);
    if (known !== undefined) return known;
    const part = readPolicy(versionAt(this.#state, at).entry.data);
    memo.setPolicy(at, part);
    return part;
  }
}

/** A policy of other things, or without any values. */
const NOTHING: PolicyPart = {
  narrowing: { record: recordCode('any'), filters: [] },
  values: [],
  extended: [],
  weight: 1,
};

function saysNothing({ values, extended }: PolicyPart): boolean {
  return values.length === 0 && extended.length === 0;
}

/** What of a policy's data counts here; there may be much else. */
function readPolicy(data: string): PolicyPart {
  const texts = textsOf(data, ['schema', 'record', 'values', 'extend', 'filter']);
  const { schema = 'null', record = 'null', values = '[]', extend = '[]', filter = '{}' } = texts;
  const extended = [JSON.parse(extend) as string | string[]].flat();
  const chars = schema.length + record.length + values.length + extend.length + filter.length;
  const isEmpty = values === '[]' && extended.length === 0;
  if (isEmpty || JSON.parse(schema) !== 'access') return NOTHING;
  const filters = compileFilters(JSON.parse(filter));
  const narrowing = { record: recordCode(JSON.parse(record) ?? undefined), filters };
  const items: (Rule | readonly string[])[] = [];
  let rules = 0;
  let names = extended.length;
  for (const json of JSON.parse(values) as ListJson[]) {
    // No list has room for more.
    if (rules >= RULES_MAX) break;
    if (isOfPolicies(json)) {
      const named = alternatives(json.policy);
      names += named.length;
      items.push(named);
    } else {
      rules++;
      items.push(compileRule(json, [narrowing]));
    }
  }
  return { narrowing, values: items, extended, weight: 1 + names + chars / TEXT_PER_RULE };
}

function isOfPolicies(json: ListJson): json is PolicyJson {
  return 'policy' in json;
}

function isNames(item: Rule | readonly string[]): item is readonly string[] {
  return Array.isArray(item);
}
