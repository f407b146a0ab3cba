/**
 * What a JSON Schema that a client brings may be: draft-07, read here before any library sees it.
 *
 * A schema is bounded in text, nodes, depth and patterns. Only keywords that are known here are handed on; annotations
 * are left out, everything else is refused, so that nothing is signed that nobody checks. `$ref` stays within the
 * schema. References may lead back to where they came from only by way of a member or an item: then each turn goes one
 * level down the data, and the data has few levels. Every node gets its cost, by which the work of a check is counted.
 */
import { isObject } from '../core/objects.ts';
import type { Fault } from '../core/refusal.ts';
import { CLASS_WEIGHT, PATTERN_LENGTH_MAX, PATTERN_SIZE_MAX, weightOf } from './regex.ts';
import { FORMATS } from './user-schema-formats.ts';

/** Characters of the schema as JSON, nodes (schemas within it, itself included), and their nesting. */
const SCHEMA_CHARS_MAX = 32_768;
const SCHEMA_NODES_MAX = 200;
const SCHEMA_DEPTH_MAX = 24;
/** Schemas that one and the same value is checked against, one within or named by the other. */
const SAME_VALUE_MAX = 32;
const PATTERNS_MAX = 25;
/**
 * What the patterns of a schema that is made or changed may weigh: as much as the largest without classes by Unicode
 * property. Heavier ones that the books have are compiled as ever: a schema of one kilobyte may take half a second.
 */
const PATTERNS_WEIGHT_MAX = PATTERNS_MAX * PATTERN_SIZE_MAX;
/** Parts of all keywords together: names, values, schemas. Compiling takes as long as there are many. */
const PARTS_MAX = 1500;
/**
 * Schemas and keywords together of a schema that is made or changed: the library makes code of each, some fifty
 * microseconds, and whoever names a schema that is not at hand waits for that. Of a name in dependencies it makes twice
 * as much.
 */
const CODE_MAX = 600;

/** Members by which a node tells the validator its cost; nobody may bring them. */
export const COST = 'ayni-cost';
export const KEYS_COST = 'ayni-keys-cost';
export const ITEMS_COST = 'ayni-items-cost';

type Schema = Record<string, unknown>;
type Place = 'same' | 'below' | 'nowhere';

/** Keywords whose value is a schema, a list of them, or a map of them, and whether they speak of the same value. */
const SINGLE: Readonly<Record<string, Place>> = {
  additionalItems: 'below',
  additionalProperties: 'below',
  contains: 'below',
  propertyNames: 'below',
  not: 'same',
  if: 'same',
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: 'same',
  else: 'same',
};
const LISTS: Readonly<Record<string, Place>> = { allOf: 'same', anyOf: 'same', oneOf: 'same' };
const MAPS: Readonly<Record<string, Place>> = {
  properties: 'below',
  patternProperties: 'below',
  definitions: 'nowhere',
};
const PLAIN = new Set([
  'type',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
  'uniqueItems',
  'minProperties',
  'maxProperties',
  'required',
  'enum',
  'const',
]);
const ANNOTATIONS = new Set([
  '$schema',
  '$comment',
  'title',
  'description',
  'default',
  'examples',
  'readOnly',
  'writeOnly',
  'contentMediaType',
  'contentEncoding',
]);
/** What these apply may fail without the whole failing. */
const TRIES = new Set(['anyOf', 'oneOf', 'not', 'if', 'contains', 'propertyNames']);
/** Each of these looks at all keys of an object. */
const LOOKS_AT_KEYS = [
  'additionalProperties',
  'patternProperties',
  'propertyNames',
  'minProperties',
  'maxProperties',
] as const;
/** Each of these is applied to all items of a list; `false` has no node of its own that would cost. */
const LOOKS_AT_ITEMS = ['items', 'contains'] as const;

const DRAFT_07 = /^https?:\/\/json-schema\.org\/draft-07\/schema#?$/;

/** A schema node: those it applies to the same value, by pointer. */
interface Node {
  readonly same: string[];
  /** The longest chain of such steps from here; 0 while it is not known, -1 while it is looked for. */
  reach: number;
}

class Misfit extends Error {
  readonly fault: Fault;

  constructor(pointer: string, keyword: string, message: string) {
    super(message);
    this.fault = schemaError(pointer, keyword, message);
  }
}

export interface ReadSchema {
  /** The schema as it is compiled. */
  prepared: Schema;
  /** Whether it tries what need not hold: each try that fails makes errors nobody is told. */
  isTrying: boolean;
  /** Schemas and keywords it is made of. */
  nodes: number;
  keywords: number;
}

/** The schema, read, or what is wrong with it. One that is new has two bounds more. */
export function readUserSchema(schema: unknown, isNew: boolean): ReadSchema | { errors: Fault[] } {
  try {
    const reader = new Reader(isNew ? PATTERNS_WEIGHT_MAX : Number.POSITIVE_INFINITY);
    const prepared = reader.read(schema);
    if (isNew && reader.code > CODE_MAX) {
      const what = `must not have more than ${CODE_MAX} schemas and keywords together`;
      throw new Misfit('', 'maxItems', `${what}, where a name in dependencies counts as two`);
    }
    const { isTrying, nodes, keywords } = reader;
    return { prepared, isTrying, nodes, keywords };
  } catch (error) {
    if (!(error instanceof Misfit)) throw error;
    return { errors: [error.fault] };
  }
}

/** An error about a place within the schema of a schema record. */
export function schemaError(pointer: string, keyword: string, message: string): Fault {
  return {
    instancePath: `/data/schema${pointer}`,
    schemaPath: '#/properties/data/properties/schema',
    keyword,
    params: {},
    message,
  };
}

class Reader {
  readonly #nodes = new Map<string, Node>();
  readonly #refs: { pointer: string; target: string }[] = [];
  isTrying = false;
  keywords = 0;
  /** Names in dependencies, which are keywords too. */
  #dependencies = 0;
  #patterns = 0;
  #parts = 0;
  readonly #weightMax: number;
  #weight = 0;
  /** Those that were weighed: the same one is compiled once. */
  readonly #weighed = new Set<string>();

  constructor(weightMax: number) {
    this.#weightMax = weightMax;
  }

  get nodes(): number {
    return this.#nodes.size;
  }

  get code(): number {
    return this.#nodes.size + this.keywords + this.#dependencies;
  }

  read(schema: unknown): Schema {
    if (!isObject(schema)) throw new Misfit('', 'type', 'must be object');
    if (JSON.stringify(schema).length > SCHEMA_CHARS_MAX) {
      throw new Misfit('', 'maxLength', `must not be longer than ${SCHEMA_CHARS_MAX} characters`);
    }
    // The name it goes by elsewhere says nothing here: references stay within.
    const { $schema, $id: _, ...rest } = schema;
    if ($schema !== undefined && (typeof $schema !== 'string' || !DRAFT_07.test($schema))) {
      throw new Misfit('/$schema', 'const', 'must be http://json-schema.org/draft-07/schema#');
    }
    const prepared = this.#schema(rest, '', 0) as Schema;
    for (const { pointer, target } of this.#refs) {
      if (!this.#nodes.has(target)) throw new Misfit(pointer, '$ref', 'must name a schema within this one');
    }
    for (const pointer of this.#nodes.keys()) this.#reach(pointer);
    return prepared;
  }

  /** A copy of the schema at `pointer`, with what is not needed left out. */
  #schema(schema: unknown, pointer: string, depth: number): Schema | boolean {
    const node: Node = { same: [], reach: 0 };
    this.#nodes.set(pointer, node);
    if (this.#nodes.size > SCHEMA_NODES_MAX) {
      throw new Misfit(pointer, 'maxItems', `must not hold more than ${SCHEMA_NODES_MAX} schemas`);
    }
    if (depth > SCHEMA_DEPTH_MAX) throw new Misfit(pointer, 'maxDepth', 'must not be nested so deeply');
    if (typeof schema === 'boolean') return schema;
    if (!isObject(schema)) throw new Misfit(pointer, 'type', 'must be object,boolean');
    const copy: Schema = {};
    let cost = 1;
    for (const [keyword, value] of Object.entries(schema)) {
      if (ANNOTATIONS.has(keyword)) continue;
      const at = `${pointer}/${escapePointer(keyword)}`;
      copy[keyword] = this.#keyword(keyword, value, at, node, depth);
      this.#weighPatterns(keyword, value, at);
      const size = sizeOf(keyword, value);
      this.#countParts(keyword, size, at);
      cost += keyword === 'definitions' ? 0 : size;
    }
    const keysCost = LOOKS_AT_KEYS.filter((keyword) => keyword in schema).length;
    const itemsCost = LOOKS_AT_ITEMS.filter((keyword) => schema[keyword] === false).length;
    return {
      [COST]: cost,
      ...(keysCost > 0 ? { [KEYS_COST]: keysCost } : {}),
      ...(itemsCost > 0 ? { [ITEMS_COST]: itemsCost } : {}),
      ...copy,
    };
  }

  /** The value of a keyword as it is handed on. */
  #keyword(keyword: string, value: unknown, at: string, node: Node, depth: number): unknown {
    const inner = (within: unknown, path: string, place: Place) => {
      if (place === 'same') node.same.push(path);
      return this.#schema(within, path, depth + 1);
    };
    if (Object.hasOwn(SINGLE, keyword)) return inner(value, at, SINGLE[keyword]!);
    if (Object.hasOwn(LISTS, keyword)) return mapList(value, at, LISTS[keyword]!, inner);
    if (Object.hasOwn(MAPS, keyword)) return mapMembers(value, at, MAPS[keyword]!, inner);
    if (keyword === 'items') {
      return Array.isArray(value) ? mapList(value, at, 'below', inner) : inner(value, at, 'below');
    }
    if (keyword === 'dependencies') {
      // Schemas for the same value, or lists of members that must be there too: of a long one the library makes code
      // that takes seconds, but of the same as a schema.
      const schemaOrNames: Inner = (within, path) =>
        Array.isArray(within) ? { required: within } : inner(within, path, 'same');
      return mapMembers(value, at, 'same', schemaOrNames);
    }
    if (keyword === '$ref') return this.#ref(value, at, node);
    if (PLAIN.has(keyword)) return plain(keyword, value, at);
    throw new Misfit(at, 'additionalProperties', `${keyword.slice(0, 128)} is no keyword that is checked here`);
  }

  #countParts(keyword: string, size: number, at: string): void {
    if (TRIES.has(keyword)) this.isTrying = true;
    // Each name in dependencies is code of its own.
    this.keywords += keyword === 'dependencies' ? size : 1;
    if (keyword === 'dependencies') this.#dependencies += size - 1;
    this.#parts += size;
    if (this.#parts > PARTS_MAX)
      throw new Misfit(at, 'maxItems', `the schema must not have more than ${PARTS_MAX} parts`);
  }

  /** The reference in the form the library resolves as we do; where it leads is looked at once all nodes are known. */
  #ref(value: unknown, pointer: string, node: Node): string {
    if (typeof value !== 'string' || !(value === '#' || value.startsWith('#/'))) {
      throw new Misfit(pointer, '$ref', 'must lead to a place within this schema: # or #/…');
    }
    const tokens = value.split('/').slice(1).map(decodeToken);
    if (tokens.includes(null)) throw new Misfit(pointer, '$ref', 'must be a JSON pointer');
    const target = tokens.map((token) => `/${escapePointer(token!)}`).join('');
    node.same.push(target);
    this.#refs.push({ pointer, target });
    return `#${tokens.map((token) => `/${encodeURIComponent(escapePointer(token!))}`).join('')}`;
  }

  #weighPatterns(keyword: string, value: unknown, at: string): void {
    if (keyword === 'pattern') {
      this.#countPatterns(1, at);
      this.#weighPattern(value, at);
    } else if (keyword === 'patternProperties') {
      const sources = Object.keys(value as object);
      this.#countPatterns(sources.length, at);
      for (const source of sources) this.#weighPattern(source, `${at}/${escapePointer(source)}`);
    }
  }

  #countPatterns(more: number, pointer: string): void {
    this.#patterns += more;
    if (this.#patterns > PATTERNS_MAX) {
      throw new Misfit(pointer, 'maxItems', `the schema must not have more than ${PATTERNS_MAX} patterns`);
    }
  }

  /** What is no pattern, or too long for one, is refused afterwards. */
  #weighPattern(source: unknown, pointer: string): void {
    if (typeof source !== 'string' || source.length > PATTERN_LENGTH_MAX || this.#weighed.has(source)) return;
    this.#weighed.add(source);
    this.#weight += weightOf(source);
    if (this.#weight > this.#weightMax) {
      const what = `the patterns of a schema must not have more than ${this.#weightMax} steps with repetitions written out`;
      throw new Misfit(pointer, 'pattern', `${what}, where a class such as \\p{L} counts as ${CLASS_WEIGHT}`);
    }
  }

  /** The longest chain of schemas for one and the same value that begins here. Without an end, it is refused. */
  #reach(pointer: string): number {
    const node = this.#nodes.get(pointer)!;
    if (node.reach < 0) {
      throw new Misfit(pointer, '$ref', 'must not lead back to itself but by way of a member or an item');
    }
    if (node.reach > 0) return node.reach;
    node.reach = -1;
    let most = 0;
    for (const next of node.same) most = Math.max(most, this.#reach(next));
    node.reach = most + 1;
    if (node.reach > SAME_VALUE_MAX) {
      throw new Misfit(pointer, 'maxDepth', `must not lead one value through more than ${SAME_VALUE_MAX} schemas`);
    }
    return node.reach;
  }
}

type Inner = (within: unknown, pointer: string, place: Place) => Schema | boolean | unknown[];

function mapList(value: unknown, pointer: string, place: Place, inner: Inner): unknown[] {
  if (!Array.isArray(value) || value.length === 0) throw new Misfit(pointer, 'type', 'must be array of schemas');
  return value.map((each, i) => inner(each, `${pointer}/${i}`, place));
}

function mapMembers(value: unknown, pointer: string, place: Place, inner: Inner): Schema {
  if (!isObject(value)) throw new Misfit(pointer, 'type', 'must be object');
  // The library passes by a member of this name, and what is asked of it.
  if (place !== 'nowhere' && Object.hasOwn(value, '__proto__')) {
    throw new Misfit(
      `${pointer}/__proto__`,
      'propertyNames',
      'must not ask anything of __proto__: that is not checked',
    );
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, inner(each, `${pointer}/${escapePointer(name)}`, place)]),
  );
}

/**
 * A value the library looks at by itself. Objects and lists in enum and const would be compared at any depth, and who
 * makes a text of an object, or compares two, may meet a `toString` or `valueOf` of its own that is no function, and
 * throws.
 */
function plain(keyword: string, value: unknown, pointer: string): unknown {
  if (keyword === 'type' && !(Array.isArray(value) ? value : [value]).every((each) => typeof each === 'string')) {
    throw new Misfit(pointer, keyword, 'must be the name of a type, or a list of them');
  }
  const held = keyword === 'const' ? [value] : keyword === 'enum' && Array.isArray(value) ? value : [];
  if (held.some((each) => typeof each === 'object' && each !== null)) {
    throw new Misfit(pointer, keyword, 'must hold only strings, numbers, booleans and null');
  }
  if (keyword === 'format' && !(typeof value === 'string' && Object.hasOwn(FORMATS, value))) {
    throw new Misfit(pointer, keyword, `must be one of ${Object.keys(FORMATS).join(', ')}`);
  }
  return value;
}

/** How many parts of a keyword's value one look may touch; schemas within it count for themselves. */
function sizeOf(keyword: string, value: unknown): number {
  if (Array.isArray(value)) return 1 + value.length;
  if (!isObject(value) || Object.hasOwn(SINGLE, keyword) || keyword === 'items') return 1;
  return Object.values(value).reduce<number>((sum, each) => sum + (Array.isArray(each) ? each.length : 1), 1);
}

/** Null for what is none: wrongly encoded, or half a pair, of which no URI can be made. */
function decodeToken(token: string): string | null {
  try {
    const decoded = decodeURIComponent(token);
    encodeURIComponent(decoded);
    return decoded.replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return null;
  }
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}
