/**
 * Policies: rules under a handle of their own, to be named by records, ledgers and other policies.
 *
 * A policy gives its values and those of the policies it extends; all of them only for the records it speaks of and
 * that pass its filter. Whatever an extended policy says for itself narrows its own rules further.
 */
import { type Filter, filterPath, OPERATORS, type Operator } from '../filters.ts';
import { findHandle } from '../finding.ts';
import { Kind } from '../kinds.ts';
import { dataOf, versionAt } from '../records.ts';
import type { State } from '../state.ts';
import { ALL_TERM, rowAtPlace, termHash } from '../terms.ts';
import { alternatives, type OneOrIn } from './matchers.ts';
import { compileRule, type Narrowing, type Place, type Rule, type RuleJson, Rules, recordCode } from './rules.ts';

type ListJson = RuleJson | { policy: OneOrIn<string> };

interface PolicyJson {
  schema?: string;
  record: string;
  values: ListJson[];
  extend?: string | string[];
  filter?: Record<string, unknown>;
}

/**
 * Policies that lead to one another are followed so far, so often from one of them, and so often in all for one list,
 * which grows to so many rules.
 */
const DEPTH_MAX = 16;
const VISITS_MAX = 1000;
const LIST_VISITS_MAX = 20_000;
const RULES_MAX = 10_000;
/** Rules that are taken over with the effort of one visit. */
const RULES_PER_VISIT = 16;

/** A list of rules as it stands in a record, a ledger or the configuration; `cost` is the effort of having read it. */
export function compileList(state: State, ledger: number, place: Place, list: readonly unknown[], cost = 0): Rules {
  const builder = new ListBuilder(state, ledger);
  builder.addAll(list as ListJson[], [], 0);
  return new Rules(place, builder.rules, builder.isLinked, state.memo.policyEpoch(ledger), cost + builder.cost);
}

/** All policies of a ledger, each for the records it speaks of. */
export function compilePolicies(state: State, ledger: number): Rules {
  const builder = new ListBuilder(state, ledger);
  const { terms } = state;
  const head = terms.head(termHash(state, ledger, Kind.policy, ALL_TERM, ''));
  for (let node = head; node !== 0; node = terms.next(node)) {
    const row = rowAtPlace(state, ledger, Kind.policy, terms.value(node));
    if (row >= 0) builder.addRoot(row);
  }
  return new Rules('ledger', builder.rules, true, state.memo.policyEpoch(ledger), builder.cost);
}

class ListBuilder {
  readonly rules: Rule[] = [];
  isLinked = false;
  readonly #state: State;
  readonly #ledger: number;
  /** Rows of the policies on the way down: none is followed within itself. */
  readonly #path: number[] = [];
  readonly #parsed = new Map<number, ParsedPolicy>();
  #visits = 0;
  #listVisits = 0;

  constructor(state: State, ledger: number) {
    this.#state = state;
    this.#ledger = ledger;
  }

  get cost(): number {
    return this.#listVisits + this.rules.length / RULES_PER_VISIT;
  }

  addAll(list: readonly ListJson[], narrowed: readonly Narrowing[], depth: number): void {
    for (const json of list) {
      if (this.rules.length >= RULES_MAX) return;
      if ('policy' in json) this.#addNamed(alternatives(json.policy), narrowed, depth);
      else this.rules.push(compileRule(json, narrowed));
    }
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
    const { memo, rows } = this.#state;
    if (depth >= DEPTH_MAX || this.rules.length >= RULES_MAX || this.#path.includes(row)) return;
    if (++this.#visits > VISITS_MAX) return;
    const at = rows.at.get(row);
    const known = narrowed.length === 0 ? memo.policy(at) : undefined;
    if (known !== undefined) {
      this.rules.push(...known.slice(0, RULES_MAX - this.rules.length));
      return;
    }
    const { json, narrowing, size } = this.#read(at);
    if (json.schema !== 'access') return;
    const within = [...narrowed, narrowing];
    const from = this.rules.length;
    this.#path.push(row);
    this.addAll(json.values, within, depth + 1);
    const extended = json.extend === undefined ? [] : [json.extend].flat();
    if (extended.length > 0) this.#addNamed(extended, within, depth + 1);
    this.#path.pop();
    // What leads nowhere else depends on this one record alone.
    const isWhole = extended.length === 0 && !json.values.some((value) => 'policy' in value);
    if (narrowed.length === 0 && isWhole && from + json.values.length <= RULES_MAX) {
      memo.setPolicy(at, this.rules.slice(from), size);
    }
  }

  #read(at: number): ParsedPolicy {
    let parsed = this.#parsed.get(at);
    if (parsed === undefined) {
      const { entry } = versionAt(this.#state, at);
      const json = dataOf(entry) as unknown as PolicyJson;
      const narrowing = { record: recordCode(json.record), filters: compileFilter(json.filter) };
      parsed = { json, narrowing, size: entry.data.length };
      this.#parsed.set(at, parsed);
    }
    return parsed;
  }
}

interface ParsedPolicy {
  readonly json: PolicyJson;
  readonly narrowing: Narrowing;
  /** Characters of its record. */
  readonly size: number;
}

/** Conditions out of `{path: value}` or `{path: {$operator: value}}`. One that cannot be read is never met. */
export function compileFilter(filter: Record<string, unknown> | undefined): Filter[] {
  if (filter === undefined) return [];
  return Object.entries(filter).flatMap(([name, wish]) => {
    const path = filterPath(name.split('.'));
    if (typeof wish !== 'object' || wish === null) return [condition(path, 'eq', wish)];
    if (Array.isArray(wish) || Object.keys(wish).length === 0) return [NEVER];
    return Object.entries(wish).map(([key, value]) => {
      const operator = key.slice(1) as Operator;
      const isKnown = key.startsWith('$') && OPERATORS.includes(operator) && operator !== 'regex';
      return isKnown ? condition(path, operator, value) : NEVER;
    });
  });
}

const NEVER: Filter = { path: [], operator: 'in', value: [] };

function condition(path: readonly string[], operator: Operator, value: unknown): Filter {
  const isList = operator === 'in' || operator === 'nin';
  if (isList && Array.isArray(value) && value.every(isScalar)) return { path, operator, value };
  return !isList && isScalar(value) ? { path, operator, value } : NEVER;
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
