/**
 * Conditions: a map from dotted paths to a value, or to operators with values, all of which must hold. Effects have them
 * for events, the routes of wallets for claims.
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

type Operators = Partial<Record<`$${Operator}`, Scalar | readonly Scalar[]>>;
export type Conditions = Readonly<Record<string, Scalar | readonly Scalar[] | Operators>>;

/** Operators of conditions: those of lists but patterns, which run nowhere but in lists. */
export const CONDITION_OPERATORS = OPERATORS.filter((operator) => operator !== 'regex').map(
  (operator) => `$${operator}` as const,
);

/** One path and what is asked of the member there; null for an operator there is none of, which never holds. */
export interface Condition {
  readonly path: readonly string[];
  readonly filters: readonly (Filter | null)[];
}

/** Conditions as records have them, made ready to be asked often; none where there are none. */
export function compileConditions(conditions: Conditions | undefined): readonly Condition[] {
  return Object.entries(conditions ?? {}).map(([text, wanted]) => {
    const path = filterPath(text.split('.'));
    return { path, filters: filtersOf(path, wanted) };
  });
}

/** Whether all of them hold for this value. Where `effort` runs out on the way, none does. */
export function holdAll(conditions: readonly Condition[], value: unknown, effort: Effort): boolean {
  return conditions.every(({ path, filters }) => {
    if (effort.left-- <= 0) return false;
    const member = memberAt(value, path, effort);
    return filters.every((filter) => filter !== null && affords(effort, member, filter) && matches(member, filter));
  });
}

function filtersOf(path: readonly string[], wanted: Conditions[string]): (Filter | null)[] {
  if (Array.isArray(wanted)) return [{ path, operator: 'in', value: wanted }];
  if (typeof wanted !== 'object' || wanted === null) return [{ path, operator: 'eq', value: wanted as Scalar }];
  return Object.entries(wanted as Operators).map(([name, value]) => {
    const isKnown = (CONDITION_OPERATORS as string[]).includes(name);
    // Older builds let in what is refused now, where a name has a line end in it: such an operator never holds.
    return isKnown && isAskable(value) ? { path, operator: name.slice(1) as Operator, value } : null;
  });
}

function isAskable(value: Scalar | readonly Scalar[] | null | undefined): value is Scalar | readonly Scalar[] {
  return value !== undefined && (typeof value !== 'object' || Array.isArray(value));
}
