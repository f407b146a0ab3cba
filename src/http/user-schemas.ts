/**
 * Schemas of the users' own, compiled: the one door to ajv.
 *
 * A check is a pure function of schema and data: nothing is loaded, no patterns that backtrack, no order of objects
 * that counts. Its work is bounded whatever schema and data are: each node that is applied, each key, character and
 * step of a pattern that is looked at costs, and who runs out of `WORK_MAX` is refused. The count is part of the
 * answer: the same data is refused on every machine.
 */
import { createRequire } from 'node:module';
import type { Ajv, CodeKeywordDefinition, ErrorObject, KeywordCxt, ValidateFunction } from 'ajv';
import type { Fault } from '../core/refusal.ts';
import type { CompileSchema } from '../core/user-schemas.ts';
import { compileRegex, type Pattern, patternRoom } from './regex.ts';
import { ERRORS_MAX } from './schema-errors.ts';
import { FORMATS } from './user-schema-formats.ts';
import { multiplesOf } from './user-schema-multiples.ts';
import { COST, ITEMS_COST, KEYS_COST, type ReadSchema, readUserSchema, schemaError } from './user-schema-shape.ts';

/** Work one check may take; a unit is some tens of nanoseconds. */
const WORK_MAX = 400_000;
/** Where branches are tried that may fail, their errors are work that no unit counts. */
const TRYING_WORK_MAX = 100_000;
/** Work that finding all errors may take, once there is one; past it, the first is told. */
const TELLING_WORK_MAX = 10_000;
/**
 * Of a schema with more schemas and keywords the first error alone is told: what tells all takes twice as long to
 * compile as the check.
 */
const TELLING_CODE_MAX = 250;

/** Units for one run of a pattern or format, or of a division, and how many of its steps are one more. */
const PATTERN_UNITS = 30;
const PATTERN_STEPS_PER_UNIT = 2;
const CHARS_PER_UNIT = 8;
const KEY_UNITS = 8;
const ITEM_UNITS = 8;
const FALSE_UNITS = 2;

/**
 * Of longer lists it is not told what each item lacks to be the one that is to be in it: there would be room for
 * nothing else.
 */
const TRIES_TOLD_MAX = 10;
const PARAM_CHARS_MAX = 128;
const PARAM_ITEMS_MAX = 20;
const MESSAGE_CHARS_MAX = 512;
const PATH_CHARS_MAX = 1024;

/** Compiled schemas that are kept, and their bytes in all, if it is more than one. */
const KEPT_MAX = 256;
const KEPT_BYTES_MAX = 64_000_000;
/**
 * About how many bytes one takes whose errors were told, as differences of the heap tell: all but its patterns is
 * compiled twice then, where all are. Little text may come to much: each schema and keyword in it is code, and
 * repetitions in patterns are written out.
 */
const SCHEMA_BYTES = 30_000;
const NODE_BYTES = 1200;
const KEYWORD_BYTES = 1500;
const CHAR_BYTES = 10;

type Compiled = ReturnType<CompileSchema>;

/** How ajv knows that what is looked at is an item, by its place in a list. */
const NUMBERED = 0;

/** Loaded for the first schema that is compiled: where nobody has one, a start need not wait for it. */
const loadAjv = () => createRequire(import.meta.url)('ajv') as typeof import('ajv');

/** Thrown out of a check whose work is used up. */
const EXHAUSTED = Symbol('the work of a check is used up');
let left = Number.POSITIVE_INFINITY;

function spend(cost: number): void {
  left -= cost;
  if (left < 0) throw EXHAUSTED;
}

function spendNode(cost: number, data: unknown): void {
  spend(typeof data === 'string' ? cost + data.length / CHARS_PER_UNIT : cost);
}

function spendKeys(cost: number, data: unknown): void {
  if (typeof data === 'object' && data !== null) spend(KEY_UNITS * cost * Object.keys(data).length);
}

/** As much as a schema with one keyword costs for each item. */
function spendItems(cost: number, data: unknown): void {
  if (Array.isArray(data)) spend(FALSE_UNITS * cost * data.length);
}

const OPTIONS = {
  inlineRefs: false,
  ownProperties: true,
  strict: false,
  unicodeRegExp: false,
  // Longer lists are walked: code for each of their entries took tens of milliseconds to compile, and as many to tell
  // what is wrong.
  loopRequired: 8,
  loopEnum: 8,
  logger: false,
} as const;

const PAID_FORMATS = Object.fromEntries(
  Object.entries(FORMATS).map(([name, test]) => [
    name,
    (text: string) => {
      spend(PATTERN_UNITS);
      return test(text);
    },
  ]),
);

/** Knows the schema of schemas; compiles none of the users'. */
let judge: Ajv | null = null;

/** A compiler of one schema: ajv keeps what it compiled for as long as it lives. */
function createCompiler(allErrors: boolean, patterns: Patterns): Ajv {
  const { _, str, Ajv } = loadAjv();
  const made = new Ajv({
    ...OPTIONS,
    allErrors,
    meta: false,
    validateSchema: false,
    formats: PAID_FORMATS,
    code: { regExp: patterns.compile, optimize: false },
  });
  // ajv compares all pairs of items; this one looks at each once. Where the first item that `items` lists a schema for
  // is not there, ajv leaves out what comes behind that: so this and `contains` come before.
  made.removeKeyword('uniqueItems');
  made.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    before: 'items',
    schemaType: 'boolean',
    errors: false,
    error: { message: 'must NOT have duplicate items' },
    validate: (isWanted: boolean, items: unknown[]) => !isWanted || areUnique(items),
  });
  // ajv's code for a short list says by its name which member is missing, and the empty one says none; walked, it is
  // found.
  const required = made.getKeyword('required') as CodeKeywordDefinition;
  made.removeKeyword('required');
  made.addKeyword({
    ...required,
    before: 'propertyNames',
    code(cxt) {
      const { opts } = cxt.it;
      const { loopRequired } = opts;
      if (cxt.schema.includes('')) opts.loopRequired = 0;
      required.code(cxt);
      opts.loopRequired = loopRequired;
    },
  });
  // ajv goes by what it found in the list before, where one in a loop has no items.
  const contains = made.getKeyword('contains') as CodeKeywordDefinition;
  made.removeKeyword('contains');
  made.addKeyword({
    ...contains,
    before: 'items',
    code(cxt) {
      const { gen, data } = cxt;
      const found = gen.var('found', false);
      cxt.setParams({ min: 1 });
      gen.forRange('i', 0, _`${data}.length`, (i) => {
        cxt.subschema({ keyword: 'contains', dataProp: i, dataPropType: NUMBERED, compositeRule: true }, found);
        gen.if(found, () => gen.break());
      });
      const fail = () => {
        gen.if(_`${data}.length > ${TRIES_TOLD_MAX}`, () => cxt.reset());
        cxt.error();
      };
      cxt.result(found, () => cxt.reset(), fail);
    },
  });
  // ajv divides binary fractions.
  made.removeKeyword('multipleOf');
  made.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    errors: false,
    error: {
      message: ({ schemaCode }) => str`must be multiple of ${schemaCode}`,
      params: ({ schemaCode }) => _`{multipleOf: ${schemaCode}}`,
    },
    compile: (unit: number) => {
      const isMultiple = multiplesOf(unit);
      return (value: number) => {
        spend(PATTERN_UNITS);
        return isMultiple(value);
      };
    },
  });
  // Costs are paid before anything of the node is looked at.
  const payable = (keyword: string, pay: (cost: number, data: unknown) => void) =>
    made.addKeyword({
      keyword,
      schemaType: 'number',
      before: '$ref',
      code({ gen, schema, data }: KeywordCxt) {
        const name = gen.scopeValue('func', { ref: pay });
        gen.code(_`${name}(${schema}, ${data})`);
      },
    });
  payable(KEYS_COST, spendKeys);
  payable(ITEMS_COST, spendItems);
  payable(COST, spendNode);
  return made;
}

type LinearPattern = { test(text: string): boolean; toString(): string };

interface Patterns {
  readonly compile: { (source: string): LinearPattern; code: string };
  /** Bytes that they take. */
  held: number;
}

/**
 * The patterns of one schema, which together name so many classes and no more: each is compiled once, whoever asks for
 * it, the check, what tells all errors, or another member.
 */
function createPatterns(): Patterns {
  // Their sizes are counted where they are run, and their weight where a schema is made: the books may have heavier
  // ones.
  const room = { ...patternRoom(), size: Number.POSITIVE_INFINITY, weight: Number.POSITIVE_INFINITY };
  const made = new Map<string, LinearPattern>();
  const compile = (source: string): LinearPattern => {
    const known = made.get(source);
    if (known !== undefined) return known;
    const compiled = compileRegex(source, room);
    if (compiled === null) {
      throw new Error(`pattern ${source.slice(0, PARAM_CHARS_MAX)} is not supported`);
    }
    patterns.held += compiled.held;
    const linear = linearPattern(source, compiled);
    made.set(source, linear);
    return linear;
  };
  compile.code = 'linearPattern';
  const patterns: Patterns = { compile, held: 0 };
  return patterns;
}

function linearPattern(source: string, { testAny, size }: Pattern): LinearPattern {
  return {
    test(text) {
      spend(PATTERN_UNITS + (text.length * size) / PATTERN_STEPS_PER_UNIT);
      // A text that is passed by unseen would be let in where the pattern is what must not match.
      return testAny(text);
    },
    // ajv tells patterns apart by this.
    toString: () => source,
  };
}

function areUnique(items: readonly unknown[]): boolean {
  const seen = new Set<string>();
  for (const item of items) {
    const key = Number.isFinite(item) ? numberKey(item as number) : sortedText(item);
    if (seen.has(key)) return false;
    seen.add(key);
  }
  return true;
}

/**
 * No JSON, and no text of digits: V8 finds numbers, and texts that are indices, by a hash that everybody can compute,
 * and of those that share one each looks at all before it.
 */
function numberKey(number: number): string {
  const text = String(number);
  spend(ITEM_UNITS + text.length / CHARS_PER_UNIT);
  return `n${text}`;
}

/** JSON with members in order: equal for equal values. */
function sortedText(value: unknown): string {
  spend(ITEM_UNITS);
  if (Array.isArray(value)) return `[${value.map(sortedText).join()}]`;
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value);
    spend(KEY_UNITS * members.length);
    members.sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${members.map(([name, member]) => `${plainText(name)}:${sortedText(member)}`).join()}}`;
  }
  return plainText(value);
}

function plainText(value: unknown): string {
  const text = JSON.stringify(value);
  spend(text.length / CHARS_PER_UNIT);
  return text;
}

// ---------------------------------------------------------------- compiling

/** Least recently used first. */
const kept = new Map<string, Compiled>();
let keptBytes = 0;
let keptBytesMax = KEPT_BYTES_MAX;

/** Of the bytes that may be kept, so many are, 0 to 1. */
export function keepSchemas(cacheShare: number): void {
  keptBytesMax = KEPT_BYTES_MAX * cacheShare;
}

/** The schema of a schema record, by the record's data as JSON. */
export const compileUserSchema: CompileSchema = (data, isNew = false) =>
  compiledOf((JSON.parse(data) as { schema?: unknown }).schema, isNew);

function compiledOf(schema: unknown, isNew: boolean): Compiled {
  const read = readUserSchema(schema, isNew);
  if ('errors' in read) return read;
  const text = JSON.stringify(read.prepared);
  const known = kept.get(text);
  if (known !== undefined) kept.delete(text);
  const compiled = known ?? compile(read, text.length);
  if (known === undefined) keptBytes += bytesOf(compiled, text);
  kept.set(text, compiled);
  for (const [oldest, its] of kept) {
    if (kept.size === 1 || (kept.size <= KEPT_MAX && keptBytes <= keptBytesMax)) break;
    kept.delete(oldest);
    keptBytes -= bytesOf(its, oldest);
  }
  return compiled;
}

function bytesOf(compiled: Compiled, text: string): number {
  return 'held' in compiled ? compiled.held : SCHEMA_BYTES + text.length;
}

function compile({ prepared, isTrying, nodes, keywords }: ReadSchema, chars: number): Compiled {
  judge ??= new (loadAjv().Ajv)({ ...OPTIONS, allErrors: true });
  if (judge.validateSchema(prepared) !== true) return { errors: tellUnfit(judge.errors ?? []) };
  const workMax = isTrying ? TRYING_WORK_MAX : WORK_MAX;
  try {
    const patterns = createPatterns();
    const validate = createCompiler(false, patterns).compile(prepared);
    const tellsAll = nodes + keywords <= TELLING_CODE_MAX;
    const code = SCHEMA_BYTES + NODE_BYTES * nodes + KEYWORD_BYTES * keywords + CHAR_BYTES * chars;
    /** Tells all errors; made for the first value that has one. */
    let teller: ValidateFunction | null = null;
    return {
      check(value) {
        const first = run(validate, value, workMax);
        if (first === null) return null;
        if (first === EXHAUSTED) return [TOO_MUCH_WORK];
        if (!tellsAll) return tellErrors(first);
        teller ??= createCompiler(true, patterns).compile(prepared);
        const all = run(teller, value, TELLING_WORK_MAX);
        return tellErrors(all === null || all === EXHAUSTED ? first : all);
      },
      held: (tellsAll ? code : code / 2) + patterns.held,
    };
  } catch (error) {
    return { errors: [schemaError('', 'schema', (error as Error).message.slice(0, MESSAGE_CHARS_MAX))] };
  }
}

/** The errors of a value, null where it has none, or that its work was used up. */
function run(validate: ValidateFunction, value: unknown, workMax: number): ErrorObject[] | null | typeof EXHAUSTED {
  left = workMax;
  try {
    return validate(value) ? null : (validate.errors ?? []);
  } catch (error) {
    if (error === EXHAUSTED) return EXHAUSTED;
    throw error;
  } finally {
    left = Number.POSITIVE_INFINITY;
    validate.errors = null;
  }
}

const TOO_MUCH_WORK: Fault = {
  instancePath: '/data',
  schemaPath: '#',
  keyword: 'maxWork',
  params: {},
  message: 'must take less work to be checked against its schema',
};

// ---------------------------------------------------------------- telling

/** The schema itself is not one: errors by the schema of schemas. */
function tellUnfit(errors: readonly ErrorObject[]): Fault[] {
  const told = tellErrors(errors).map((error) => ({
    ...error,
    instancePath: `/data/schema${error.instancePath.slice('/data'.length)}`,
  }));
  return told.length > 0 ? told : [schemaError('', 'schema', 'must be a JSON Schema of draft-07')];
}

/** In the form of all errors of shape; long names and lists are cut, since a client may have made them long. */
function tellErrors(errors: readonly ErrorObject[]): Fault[] {
  return errors.slice(0, ERRORS_MAX).map(({ instancePath, schemaPath, keyword, params, message }) => ({
    instancePath: `/data${instancePath.length > PATH_CHARS_MAX ? '' : instancePath}`,
    schemaPath: schemaPath.slice(0, PATH_CHARS_MAX),
    keyword,
    params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, shortened(value)])),
    message: (message ?? `must pass ${keyword}`).slice(0, MESSAGE_CHARS_MAX),
  }));
}

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.slice(0, PARAM_CHARS_MAX);
  return Array.isArray(value) ? value.slice(0, PARAM_ITEMS_MAX).map(shortened) : value;
}
