/**
 * The query of a list: page, filters, order.
 *
 * Clients write the same wish in many ways: with dots (`page.index=0`, `filter.data.schema=x`), with
 * brackets (`page[index]=0`, `filter[data.schema]=x`, `filter[data][schema]=x`), at top level
 * (`data.schema=x`), or as JSON (`filter={"data.schema":"x"}`). All are taken apart into the same
 * segments, and only segments are looked at after that.
 *
 * What always holds: a filter that comes out names a path this kind supports, with values bounded in
 * number and length. Keys that are neither page nor filter nor order are ignored, and never appear in a
 * refusal: some clients send secrets there by mistake.
 */
import type { Filter, Operator } from '../core/filters.ts';
import { filterPath, OPERATORS } from '../core/filters.ts';
import { Kind } from '../core/kinds.ts';
import { isObject } from '../core/objects.ts';
import { type Fault, refuseShape } from '../core/refusal.ts';
import { type Refusal, refuse } from './errors.ts';
import { parseJson } from './json.ts';
import { compileRegex, hasRoom, PATTERN_SIZE_MAX, patternRoom } from './regex.ts';
import { isDate } from './user-schema-formats.ts';

export interface ListQuery {
  readonly page: { readonly index: number; readonly limit: number };
  /** All must hold. */
  readonly filters: readonly Filter[];
  readonly order: 'newest' | 'oldest';
}

const QUERY_CHARS_MAX = 16_384;
const PAIRS_MAX = 256;
export const FILTERS_MAX = 32;
export const FILTER_VALUES_MAX = 128;
export const FILTER_TEXT_MAX = 1024;
/** Bytes of the records on a page, of a common one of the largest bodies; beyond, fewer must be asked for. */
export const PAGE_BYTES_MAX = 24 * 1024 * 1024;

export const PAGE_LIMIT_DEFAULT = 20;
const JSON_DEPTH_MAX = 8;
export const CUSTOM_DEPTH_MAX = 8;
/** Steps of all patterns together over one record, some fifty milliseconds at most: nobody else is served meanwhile. */
const PATTERN_STEPS_MAX = 1_000_000;

/** Paths any kind can be filtered by; `data.custom.*` beside them. */
const COMMON_PATHS = ['data.handle', 'data.schema', 'meta.status', 'meta.moment', 'meta.labels'];
const KIND_PATHS: Partial<Record<Kind, readonly string[]>> = {
  [Kind.anchor]: ['data.wallet', 'data.target', 'data.symbol'],
  [Kind.signer]: ['data.public'],
  [Kind.policy]: ['data.record'],
  [Kind.schema]: ['data.record'],
  [Kind.effect]: ['data.signal'],
  [Kind.intent]: [
    'meta.thread',
    'data.claims.action',
    'data.claims.amount',
    'data.claims.metric',
    'data.claims.source',
    'data.claims.target',
    'data.claims.wallet',
    'data.claims.symbol',
    'data.claims.source.handle',
    'data.claims.target.handle',
    'data.claims.wallet.handle',
    'data.claims.symbol.handle',
  ],
};

/** Paths of rows that are no records. */
export const BALANCE_PATHS = ['data.symbol', 'data.schema', 'data.amount', 'meta.moment'];
export const LIMIT_PATHS = ['data.symbol', 'data.metric', 'data.amount', 'meta.moment'];

/** What a list can be filtered by: what records of a kind can, these paths, or nothing. */
export type Filtered = Kind | readonly string[] | null;

/** A pair of the query, its key in segments. */
interface Pair {
  readonly segments: readonly string[];
  readonly text: string;
}

/** Thrown inside this file only, so that the many small parsers need not pass a refusal up by hand. */
class QueryRefused extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}

/**
 * Parses the part of a URL after `?` (without it) for a list of records of a kind, or of rows with paths of their own;
 * null for lists that have no filters. Refusals: 400 `api.query-malformed`, and 422 `record.schema-invalid` with
 * `custom.errors` for a page outside its bounds.
 */
export function parseQuery(query: string | null, of: Filtered, pageLimitMax: number): ListQuery | Refusal {
  try {
    const pairs = splitPairs(query ?? '');
    mustAgree(pairs);
    return { page: parsePage(pairs, pageLimitMax), filters: parseFilters(pairs, of), order: parseOrder(pairs) };
  } catch (error) {
    if (error instanceof QueryRefused) return error.refusal;
    throw error;
  }
}

function malformed(detail: string): QueryRefused {
  return new QueryRefused(refuse('api.query-malformed', detail));
}

const LISTS = new Set(['$in', '$nin']);
const SEVERAL = '; several values take $in';

/** The pairs that speak of page, filter, order or a member; JSON values are spread into several. */
function splitPairs(query: string): Pair[] {
  if (query.length > QUERY_CHARS_MAX) throw malformed(`query is longer than ${QUERY_CHARS_MAX} bytes`);
  const pairs: Pair[] = [];
  let count = 0;
  for (const piece of query.split('&')) {
    if (piece === '') continue;
    if (++count > PAIRS_MAX) throw malformed(`query has more than ${PAIRS_MAX} members`);
    const equals = piece.indexOf('=');
    const key = decode(equals < 0 ? piece : piece.slice(0, equals));
    const text = decode(equals < 0 ? '' : piece.slice(equals + 1));
    const segments = splitKey(key);
    const first = segments[0];
    if (segments.length === 1 && (first === 'page' || first === 'filter' || first === 'sort')) {
      spreadJson([first], text, pairs);
    } else if (segments.length > 1 && WORDS.has(first!)) {
      pairs.push({ segments, text });
    }
  }
  return pairs;
}

const WORDS = new Set(['page', 'filter', 'sort', 'data', 'meta']);

/** One side of a pair, as forms encode it. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw malformed('query is not valid percent-encoded UTF-8');
  }
}

/** `filter[data.schema][$in][0]` → filter, data, schema, $in, 0. `$in[]` keeps its empty last segment. */
function splitKey(key: string): string[] {
  return key.replaceAll(']', '').split(/[.[]/);
}

/** A page, filter or sort given as one JSON object. */
function spreadJson(prefix: readonly string[], text: string, pairs: Pair[]): void {
  if (text.trim() === '') return;
  const parsed = parseJson(Buffer.from(text), JSON_DEPTH_MAX, PAIRS_MAX);
  if (parsed.refusal !== undefined || !isObject(parsed.value)) {
    throw malformed(`${prefix[0]} must be a JSON object, or be written with dots: ${prefix[0]}.<member>=<value>`);
  }
  spread(prefix, parsed.value, pairs);
}

function spread(segments: readonly string[], value: unknown, pairs: Pair[]): void {
  if (pairs.length > PAIRS_MAX) throw malformed(`query has more than ${PAIRS_MAX} members`);
  if (typeof value === 'object' && value !== null) {
    // In `custom` its indexes would be taken for names of members.
    if (Array.isArray(value) && segments[0] === 'filter' && !LISTS.has(segments.at(-1)!)) {
      throw malformed(`filter has a list${SEVERAL}`);
    }
    const members = Object.entries(value);
    // Passed by, `{"$in":[]}` would let everything through.
    if (members.length === 0 && segments.length > 1) throw malformed(`${segments[0]} has a member that is empty`);
    for (const [name, member] of members) spread([...segments, ...splitKey(name)], member, pairs);
  } else if (value === null) {
    throw malformed('null is not supported in filters');
  } else {
    pairs.push({ segments, text: String(value) });
  }
}

/** What the page of an answer has; its total asks for nothing. */
const PAGE_MEMBERS = new Set(['index', 'limit', 'total']);

function parsePage(pairs: readonly Pair[], limitMax: number): ListQuery['page'] {
  const page = { index: 0, limit: Math.min(PAGE_LIMIT_DEFAULT, limitMax) };
  const errors: Fault[] = [];
  for (const { segments, text } of pairs) {
    if (segments[0] !== 'page') continue;
    // Passed by, the `number` of another service's pages would have this one give its first for ever.
    if (segments.length !== 2 || !PAGE_MEMBERS.has(segments[1]!))
      throw malformed('page has index and limit, and no more');
    if (segments[1] === 'index') page.index = readInteger('index', text, 0, Number.MAX_SAFE_INTEGER, errors);
    if (segments[1] === 'limit') page.limit = readInteger('limit', text, 1, limitMax, errors);
  }
  const indexMax = pageIndexMax(page.limit);
  if (page.index > indexMax && errors.length === 0) {
    const message = `must be <= ${indexMax} with pages of ${page.limit}`;
    errors.push(pageError('index', 'maximum', { comparison: '<=', limit: indexMax }, message));
  }
  if (errors.length > 0) {
    throw new QueryRefused(refuseShape(errors));
  }
  return page;
}

/** A page and an order count once, so whoever gives one twice has to say the same: either might be meant. */
function mustAgree(pairs: readonly Pair[]): void {
  const given = new Map<string, string>();
  for (const { segments, text } of pairs) {
    if (segments[0] !== 'page' && segments[0] !== 'sort') continue;
    const name = segments.join('.');
    if ((given.get(name) ?? text) !== text) throw malformed(`${name} is given twice, and not the same`);
    given.set(name, text);
  }
}

/** Beyond it the number of the page's first record would be none that is exact. */
export function pageIndexMax(limit: number): number {
  return Math.floor(Number.MAX_SAFE_INTEGER / limit);
}

function readInteger(member: string, text: string, min: number, max: number, errors: Fault[]): number {
  if (!/^-?\d{1,20}$/.test(text)) {
    errors.push(pageError(member, 'type', { type: 'integer' }, 'must be integer'));
    return min;
  }
  const value = Number(text);
  if (value < min) errors.push(pageError(member, 'minimum', { comparison: '>=', limit: min }, `must be >= ${min}`));
  if (value > max) errors.push(pageError(member, 'maximum', { comparison: '<=', limit: max }, `must be <= ${max}`));
  return value;
}

function pageError(member: string, keyword: string, params: Record<string, unknown>, message: string): Fault {
  const schemaPath = `#/properties/page/properties/${member}/${keyword}`;
  return { instancePath: `/page/${member}`, schemaPath, keyword, params, message };
}

/** `sort.meta.moment`: 1 is oldest first, -1 newest first, which is the default. */
function parseOrder(pairs: readonly Pair[]): ListQuery['order'] {
  let order: ListQuery['order'] = 'newest';
  for (const { segments, text } of pairs) {
    if (segments[0] !== 'sort') continue;
    if (segments.slice(1).join('.') !== 'meta.moment') throw malformed('lists are sorted by meta.moment only');
    if (text !== '1' && text !== '-1') throw malformed('sort.meta.moment must be 1 or -1');
    order = text === '1' ? 'oldest' : 'newest';
  }
  return order;
}

function parseFilters(pairs: readonly Pair[], of: Filtered): Filter[] {
  const filters: Filter[] = [];
  const lists = new Map<string, string[]>();
  const room = patternRoom();
  for (const { segments, text } of pairs) {
    if (segments[0] === 'page' || segments[0] === 'sort') continue;
    const wish = readWish(segments[0] === 'filter' ? segments.slice(1) : segments, of);
    const value = readValue(wish.path, wish.operator, text);
    if (wish.operator === 'in' || wish.operator === 'nin') {
      const key = `${wish.operator} ${wish.path.join('.')}`;
      const list = lists.get(key) ?? [];
      if (list.length === 0) filters.push({ ...wish, value: list });
      lists.set(key, list);
      if (list.push(value) > FILTER_VALUES_MAX) throw malformed('a filter lists too many values');
    } else if (wish.operator === 'regex') {
      // An empty one, which every text has in it, is a value that somebody's program lost.
      const pattern = value === '' ? null : compileRegex(value, room);
      if (!hasRoom(room)) throw malformed('query has patterns that are too large, or are so together');
      if (pattern === null) throw malformed('$regex is not a pattern this server runs (RE2 syntax, 256 characters)');
      filters.push({ ...wish, value, test: pattern.test });
    } else {
      filters.push({ ...wish, value });
    }
    if (filters.length > FILTERS_MAX) throw malformed(`query has more than ${FILTERS_MAX} filters`);
  }
  const size = PATTERN_SIZE_MAX - room.size;
  const charsMax = Math.floor(PATTERN_STEPS_MAX / size);
  return size === 0
    ? filters
    : filters.map((filter) => (filter.operator === 'regex' ? { ...filter, charsMax } : filter));
}

/** Path and operator out of segments; the path is one the list supports. */
function readWish(segments: readonly string[], of: Filtered): { path: readonly string[]; operator: Operator } {
  const at = segments.findIndex((segment) => segment.startsWith('$'));
  const path = filterPath(at < 0 ? segments : segments.slice(0, at));
  const operator = at < 0 ? 'eq' : readOperator(segments[at]!.slice(1), segments.slice(at + 1));
  if (isSupported(path, of)) return { path, operator };
  const isArray = segments.at(-1) === '' || /^\d+$/.test(segments.at(-1)!);
  const isIndexed = path.slice(0, -1).some((segment) => /^\d+$/.test(segment));
  const index = isIndexed ? '; elements of a list are asked for without an index' : '';
  const hint = `${index}${isArray ? SEVERAL : ''}`;
  throw malformed(`filter has an unsupported path; here are ${pathsOf(of).join(', ')}${hint}`);
}

/** With what stands behind it: values of a list may be numbered, or have a pair of brackets. */
function readOperator(name: string, rest: readonly string[]): Operator {
  const operator = OPERATORS.find((known) => known === name);
  const restMax = operator === 'in' || operator === 'nin' ? 1 : 0;
  if (operator === undefined || rest.length > restMax || !/^\d{0,9}$/.test(rest[0] ?? '')) {
    throw malformed(`filter has an unsupported operator; here are ${OPERATORS.map((known) => `$${known}`).join(', ')}`);
  }
  return operator;
}

function isSupported(path: readonly string[], of: Filtered): boolean {
  if (typeof of === 'object') return of?.includes(path.join('.')) ?? false;
  if (path[0] === 'data' && path[1] === 'custom') {
    return path.length > 2 && path.length <= CUSTOM_DEPTH_MAX + 2 && !path.includes('');
  }
  const name = path.join('.');
  return COMMON_PATHS.includes(name) || (KIND_PATHS[of]?.includes(name) ?? false);
}

/** The paths that a list can be filtered by. */
export function pathsOf(of: Filtered): readonly string[] {
  if (of === null) return ['none'];
  return typeof of === 'object' ? of : [...COMMON_PATHS, 'data.custom.<member>', ...(KIND_PATHS[of] ?? [])];
}

/**
 * The text a filter compares with. Where no value can hold a space (addresses, keys, labels, moments) a space
 * is a `+` that the client did not encode, as in `data.handle=tel:+573001`. Moments become the one form
 * that records carry, whatever ISO form or zone they came in.
 */
function readValue(path: readonly string[], operator: Operator, text: string): string {
  if (text.length > FILTER_TEXT_MAX) {
    throw malformed(`a filter value is longer than ${FILTER_TEXT_MAX} characters`);
  }
  if (operator === 'regex' || path[1] === 'custom') return text;
  const value = text.replaceAll(' ', '+');
  return path[1] === 'moment' ? readMoment(value, operator) : value;
}

/** The last one of a year with four digits. */
const MOMENT_MAX = Date.parse('9999-12-31T23:59:59.999Z');

function readMoment(text: string, operator: Operator): string {
  const isWritten = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.test(text);
  const zoned = isWritten && text.includes('T') && !/(?:Z|[+-]\d\d:?\d\d)$/.test(text) ? `${text}Z` : text;
  // V8 takes the 30th of February for the 2nd of March.
  // Milliseconds since 1970 have twelve digits from 1973 on: fewer are a year, or a date without its hyphens.
  const moment = /^(?:0|\d{12,13})$/.test(text)
    ? Number(text)
    : isWritten && isDate(text.slice(0, 10))
      ? Date.parse(zoned)
      : Number.NaN;
  if (Number.isNaN(moment))
    throw malformed('meta.moment must be an ISO 8601 moment, or milliseconds since 1970, of 12 or 13 digits');
  // Moments are compared letter by letter, and V8 writes a year of five digits behind a sign, before all others: the
  // end of the last day that four digits can name is in such a year where the zone is one west of UTC.
  const read = (ms: number) => new Date(Math.min(ms, MOMENT_MAX)).toISOString();
  const [, finer = ''] = /\.\d{3}(\d*[1-9])/.exec(text) ?? [];
  if (finer === '') return read(moment);
  // Records carry whole milliseconds, and this lies between two of them: the later one is the first that is not before
  // it, the earlier one the last that is not after it, and none is the same.
  if (operator === 'gte' || operator === 'lt') return read(moment + 1);
  if (operator === 'gt' || operator === 'lte') return read(moment);
  return read(moment).replace('Z', `${finer}Z`);
}
