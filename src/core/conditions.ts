/**
 * Conditions: a map from dotted paths to a value, or to operators with values, all of which must hold. Effects have them
 * for events, the routes of wallets for claims.
 */
import { type Filter, matches, memberAt, OPERATORS, type Operator, type Scalar } from './filters.ts';

type Operators = Partial<Record<`$${Operator}`, Scalar | readonly Scalar[]>>;
export type Conditions = Readonly<Record<string, Scalar | readonly Scalar[] | Operators>>;

/** Operators of conditions: those of lists but patterns, which run nowhere but in lists. */
export const CONDITION_OPERATORS = OPERATORS.filter((operator) => operator !== 'regex').map(
  (operator) => `$${operator}` as const,
);

/** Whether all of them hold for this value. What names an operator there is none of never holds. */
export function holdAll(conditions: Conditions | undefined, value: unknown): boolean {
  if (conditions === undefined) return true;
  return Object.entries(conditions).every(([text, wanted]) => {
    const path = text.split('.');
    const member = memberAt(value, path);
    return filtersOf(path, wanted).every((filter) => filter !== null && matches(member, filter));
  });
}

function filtersOf(path: readonly string[], wanted: Conditions[string]): (Filter | null)[] {
  if (Array.isArray(wanted)) return [{ path, operator: 'in', value: wanted }];
  if (typeof wanted !== 'object' || wanted === null) return [{ path, operator: 'eq', value: wanted as Scalar }];
  return Object.entries(wanted as Operators).map(([name, value]) => {
    const isKnown = (CONDITION_OPERATORS as string[]).includes(name);
    return isKnown && value !== undefined ? { path, operator: name.slice(1) as Operator, value } : null;
  });
}
