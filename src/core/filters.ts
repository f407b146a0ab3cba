/**
 * Filters: one condition on one member of a record, as lists use them.
 *
 * A condition that came in a query string knows only text, so the record's own type decides: a number
 * is compared as a number where the text is one, a boolean with `true` and `false`, everything else as
 * text by UTF-16 code units (which puts ISO moments in the order of time).
 *
 * What always holds: pure, total, and blind to prototypes; a member that is absent equals nothing.
 */
import { Members } from './members.ts';
import { isObject } from './objects.ts';

export const OPERATORS = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'regex'] as const;
export type Operator = (typeof OPERATORS)[number];
export type Scalar = string | number | boolean;

export interface Filter {
  /** Member names from the record down: `['data', 'custom', 'city']`. */
  readonly path: readonly string[];
  readonly operator: Operator;
  /** A list for `in` and `nin`, the pattern for `regex`. */
  readonly value: Scalar | readonly Scalar[];
  /** For `regex`: whether a text matches. Compiled outside, since the core runs no patterns itself. */
  readonly test?: (text: string) => boolean;
  /**
   * For `regex`: over how many characters of one record it is run, where a member has many texts; the rest never
   * matches.
   */
  readonly charsMax?: number;
}

/** How much looking is left, counted in members and values looked at; below zero nothing is found any more. */
export interface Effort {
  left: number;
}

/** What was found of something, and the effort that it took. */
export interface Finding {
  readonly holds: boolean;
  readonly cost: number;
}

/**
 * Finds out once whether something holds, however often it is asked. It takes the effort that it took each time, so
 * that nothing hangs on what was kept; what the effort did not reach for is not kept.
 */
export function findOnce<K>(found: Map<K, Finding>, key: K, effort: Effort, find: () => boolean): boolean {
  const known = found.get(key);
  if (known !== undefined && known.cost <= effort.left) {
    effort.left -= known.cost;
    return known.holds;
  }
  const { left } = effort;
  const holds = find();
  if (effort.left >= 0) found.set(key, { holds, cost: left - effort.left });
  return holds;
}

/** Whether a record, seen as `{data, meta}`, passes every filter. Where `effort` runs out on the way, it does not. */
export function matchesAll(record: object, filters: readonly Filter[], effort?: Effort): boolean {
  return filters.every((filter) => {
    if (effort !== undefined && effort.left-- <= 0) return false;
    const member = memberAt(record, filter.path, effort);
    return affords(effort, member, filter) && matches(member, filter);
  });
}

/**
 * Elements of lists that a list's filters look at over one record: some fifty milliseconds' worth, in which nobody else
 * is served.
 */
export const LOOKS_MAX = 1_000_000;

/**
 * The same as lists ask. Filters may be many, and a list in a record as long as a body: what takes more looks passes
 * none. An element is one look, however many values it is held against, and one more where the path leads through it.
 */
export function passesAll(record: object, filters: readonly Filter[]): boolean {
  const looks = { left: LOOKS_MAX };
  return filters.every((filter) => {
    const member = memberAt(record, filter.path, looks);
    looks.left -= countOf(member);
    return looks.left >= 0 && matches(member, filter);
  });
}

/** Whether there is effort enough to compare a member with what the filter asks for; takes it. */
export function affords(effort: Effort | undefined, member: unknown, { value }: Filter): boolean {
  if (effort === undefined) return true;
  effort.left -= countOf(member) * countOf(value);
  return effort.left >= 0;
}

function countOf(value: unknown): number {
  return Array.isArray(value) ? value.length + 1 : 1;
}

/**
 * Whether one member passes. Where the member is an array (labels, or one member of every claim) it
 * passes if any element does; `ne` and `nin` are the exact opposite of `eq` and `in`, so no element may
 * equal. A reference `{handle, …}` is compared by its handle.
 */
export function matches(value: unknown, filter: Filter): boolean {
  const { operator } = filter;
  if (operator === 'regex') return isMatch(value, filter);
  if (operator === 'in' || operator === 'nin') {
    return matchesAny(value, isOneOf, askedOf(filter.value)) === (operator === 'in');
  }
  const asked = askedBy(filter);
  if (operator === 'ne') return !matchesAny(value, COMPARISONS.eq, asked);
  return matchesAny(value, COMPARISONS[operator], asked);
}

const COMPARISONS = {
  eq: (member: unknown, asked: Asked) => order(member, asked) === 0,
  gt: (member: unknown, asked: Asked) => order(member, asked) === 1,
  lt: (member: unknown, asked: Asked) => order(member, asked) === -1,
  gte: (member: unknown, asked: Asked) => order(member, asked) >= 0,
  lte: (member: unknown, asked: Asked) => order(member, asked) <= 0,
};

function matchesAny<T>(member: unknown, holds: (member: unknown, value: T) => boolean, value: T): boolean {
  if (Array.isArray(member)) return member.some((element) => holds(plain(element), value));
  return holds(plain(member), value);
}

/** A reference by its handle, everything else as it is. */
function plain(member: unknown): unknown {
  const handle = memberOf(member, 'handle');
  return handle === ABSENT ? member : handle;
}

function isMatch(member: unknown, { test, charsMax = Number.POSITIVE_INFINITY }: Filter): boolean {
  if (test === undefined) return false;
  let left = charsMax;
  const passes = (text: unknown): boolean => {
    if (typeof text !== 'string') return false;
    left -= text.length;
    return left >= 0 && test(text);
  };
  return matchesAny(member, passes, undefined);
}

/** A value that is asked for, as texts and numbers are compared with it. */
class Asked {
  /** Null for what nothing can be compared with. */
  readonly text: string | null;
  readonly #value: Filter['value'];
  #number: number | undefined;

  constructor(value: Filter['value']) {
    this.#value = value;
    this.text = typeof value === 'object' ? null : String(value);
  }

  get number(): number {
    this.#number ??=
      typeof this.#value === 'number'
        ? this.#value
        : typeof this.#value === 'string'
          ? numberOf(this.#value)
          : Number.NaN;
    return this.#number;
  }
}

/**
 * What filters ask for, as long as somebody holds them: it may be a number of a million digits, for thousands of
 * claims.
 */
const askedFor = new WeakMap<Filter, Asked>();

function askedBy(filter: Filter): Asked {
  const known = askedFor.get(filter);
  if (known !== undefined) return known;
  const made = new Asked(filter.value);
  askedFor.set(filter, made);
  return made;
}

/** All values of a list. A claim is held against a list as against one value, though there may be thousands of both. */
interface AskedOf {
  readonly texts: ReadonlySet<string>;
  readonly numbers: ReadonlySet<number>;
}

/** Lists that were asked for, as long as somebody holds them. */
const lists = new WeakMap<readonly Scalar[], AskedOf>();

function askedOf(values: Filter['value']): AskedOf {
  if (typeof values !== 'object') return listed([values]);
  const known = lists.get(values);
  if (known !== undefined) return known;
  const made = listed(values);
  lists.set(values, made);
  return made;
}

function listed(values: readonly Scalar[]): AskedOf {
  const texts = new Set<string>();
  const numbers = new Set<number>();
  for (const value of values) {
    const { text, number } = new Asked(value);
    if (text !== null) texts.add(text);
    if (!Number.isNaN(number)) numbers.add(number);
  }
  return { texts, numbers };
}

function isOneOf(member: unknown, { texts, numbers }: AskedOf): boolean {
  if (typeof member === 'number') return numbers.has(member);
  return (typeof member === 'string' || typeof member === 'boolean') && texts.has(String(member));
}

/** -1, 0 or 1 where member and value can be compared, NaN where they cannot; NaN passes no comparison. */
function order(member: unknown, asked: Asked): number {
  if (asked.text === null) return Number.NaN;
  if (typeof member === 'string') return sign(member, asked.text);
  if (typeof member === 'number') return sign(member, asked.number);
  if (typeof member === 'boolean') return String(member) === asked.text ? 0 : Number.NaN;
  return Number.NaN;
}

function sign<T extends string | number>(a: T, b: T): number {
  if (a === b) return 0;
  return a < b ? -1 : a > b ? 1 : Number.NaN;
}

/** The number a text writes in JSON's form, or NaN; `Number` alone would take ' ', '0x10', '010' and 'Infinity'. */
function numberOf(text: string): number {
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? Number(text) : Number.NaN;
}

/** What in a claim names a record. */
const REFERENCES: readonly string[] = ['source', 'target', 'wallet', 'symbol'];
/** Where claims stand in what is looked at: in a record, in an event, in the intent that a route asks about. */
const CLAIMS: readonly string[] = ['data.claims', 'intent.data.claims', 'intent.claims'];

/**
 * The path by which a filter finds what it asks for. References of claims come as objects and as bare handles, and are
 * compared by their handle in either form: so the path to that handle ends with the reference. Else what asks for none
 * of some handles would be met by a bare one.
 */
export function filterPath(path: readonly string[]): readonly string[] {
  const end = path.length - 2;
  const isHandle = path[end + 1] === 'handle' && REFERENCES.includes(path[end]!);
  return isHandle && CLAIMS.includes(path.slice(0, end).join('.')) ? path.slice(0, -1) : path;
}

/**
 * The member at a path, or undefined. Through an array the path leads to that member of every element,
 * so the answer is then an array of those that have it; where one is an array itself, of its elements.
 */
export function memberAt(record: unknown, path: readonly string[], effort?: Effort): unknown {
  let at = record;
  for (let i = 0; i < path.length; i++) {
    if (Array.isArray(at)) {
      const found: unknown[] = [];
      collect(at, path, i, found, effort);
      return effort !== undefined && effort.left < 0 ? undefined : found;
    }
    at = memberOf(at, path[i]!);
    if (at === ABSENT) return undefined;
  }
  return at;
}

const ABSENT = Symbol('no such member');

/** A member of an object's own; of what every object inherits nothing counts. */
function memberOf(value: unknown, name: string): unknown {
  if (value instanceof Members) {
    const member = value.of(name);
    return member === undefined ? ABSENT : member;
  }
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : ABSENT;
}

/** Puts what the elements have at the path with what was found: once, however many arrays lie within one another. */
function collect(
  elements: readonly unknown[],
  path: readonly string[],
  from: number,
  found: unknown[],
  effort: Effort | undefined,
): void {
  if (effort !== undefined) effort.left -= elements.length;
  for (const element of elements) {
    if (effort !== undefined && effort.left < 0) return;
    let at = element;
    let i = from;
    for (; i < path.length; i++) {
      const member = memberOf(at, path[i]!);
      if (member === ABSENT) break;
      at = member;
    }
    if (i < path.length) {
      if (Array.isArray(at)) collect(at, path, i, found, effort);
    } else if (Array.isArray(at)) {
      for (const member of at) found.push(member);
    } else {
      found.push(at);
    }
  }
}

/** Whether it is about the status, which a record's row tells without its content. */
export function isStatus(filter: Filter): boolean {
  return nameOf(filter) === 'meta.status';
}

/** What it asks for, as it is written in a query. */
export function nameOf(filter: Filter): string {
  return filter.path.join('.');
}
