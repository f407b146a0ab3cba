/**
 * Conditions: a map from dotted paths to a value, or to operators with values, all of which must hold. Effects have
 * them for events, the routes of wallets for claims, policies for records.
 *
 * They are compiled once and asked often. Whoever asks says how much looking that may take.
 */
import {
  affords,
  type Effort,
  type Filter,
  filterPath,
  matches,
  memberAt,
  OPERATORS,
  type Operator,
  type Scalar,
} from './filters.ts';
import { isObject } from './objects.ts';

/** As records have them. */
export type Conditions = Readonly<Record<string, unknown>>;

/** Operators of conditions: those of lists but patterns, which run nowhere but in lists. */
export const CONDITION_OPERATORS = OPERATORS.filter((operator) => operator !== 'regex').map(
  (operator) => `$${operator}` as const,
);

/** One path and what is asked of the member there. */
export interface Condition {
  readonly path: readonly string[];
  readonly filters: readonly Filter[];
}

/** Made ready to be asked often; none where there are none. */
export function compileConditions(conditions: Conditions = {}): readonly Condition[] {
  return Object.entries(conditions).map(([text, wanted]) => {
    const path = filterPath(text.split('.'));
    return { path, filters: filtersOf(path, wanted) };
  });
}

/** The same for `matchesAll`, which looks for the member anew for each operator. */
export function compileFilters(conditions?: Conditions): Filter[] {
  return compileConditions(conditions).flatMap(({ filters }) => filters);
}

/** Whether all of them hold for this value. Where `effort` runs out on the way, none does. */
export function holdAll(conditions: readonly Condition[], value: unknown, effort: Effort): boolean {
  return conditions.every(({ path, filters }) => {
    if (effort.left-- <= 0) return false;
    const member = memberAt(value, path, effort);
    return filters.every((filter) => affords(effort, member, filter) && matches(member, filter));
  });
}

/** Older builds let in what is refused now, where a name has a line end in it: what cannot be read never holds. */
function filtersOf(path: readonly string[], wanted: unknown): Filter[] {
  if (isScalar(wanted)) return [{ path, operator: 'eq', value: wanted }];
  const never: Filter = { path, operator: 'in', value: [] };
  const asked = isObject(wanted) ? Object.entries(wanted) : [];
  if (asked.length === 0) return [never];
  return asked.map(([name, value]) => {
    const operator = name.slice(1) as Operator;
    const isKnown = (CONDITION_OPERATORS as string[]).includes(name);
    return isKnown && isOperand(operator, value) ? { path, operator, value } : never;
  });
}

function isOperand(operator: Operator, value: unknown): value is Filter['value'] {
  if (operator === 'in' || operator === 'nin') return Array.isArray(value) && value.every(isScalar);
  return isScalar(value);
}

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
