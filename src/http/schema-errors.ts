/**
 * Errors of shape in the form clients know (ajv's): one error per member that is wrong, with a message
 * a person can act on.
 *
 * The validator reports what its generated code meets: all branches of a union at once, one summary for
 * several missing members. Here that becomes: the branch of the union the client most likely meant, one
 * error per missing or unknown member, `schemaPath` ending in the keyword.
 */
import type { TLocalizedValidationError } from 'typebox/error';
import type { Fault } from '../core/refusal.ts';
import { PATTERN_MESSAGES } from './schema-shapes.ts';

/** At most this many errors are told about one body. */
export const ERRORS_MAX = 50;
const NAME_LENGTH_MAX = 128;

/** The validator's errors in the form above; `prefix` stands before each instance path. */
export function tellErrors(found: readonly TLocalizedValidationError[], prefix = ''): Fault[] {
  const errors = settleUnions(found, 0)
    .flatMap((error) => tellError(error, prefix))
    .slice(0, ERRORS_MAX);
  return errors.length > 0 ? errors : [unnamed(prefix)];
}

/** Said where the validator refused and named nothing, so that a refusal is never empty. */
function unnamed(instancePath: string): Fault {
  return { instancePath, schemaPath: '#', keyword: 'schema', params: {}, message: 'must match the schema' };
}

/** One error → what ajv would say: several where it names several members, none where it only echoes. */
function tellError(error: TLocalizedValidationError, prefix: string): Fault[] {
  const { keyword, schemaPath } = error;
  const params = error.params as Record<string, unknown>;
  // A closed object reports each unknown member as a false schema, and then all of them once more.
  if (keyword === 'boolean') return [tellUnknown(prefix + error.instancePath, schemaPath)];
  if (keyword === 'additionalProperties') return [];
  const one = (params: Record<string, unknown>, message: string): Fault => {
    return {
      instancePath: prefix + error.instancePath,
      schemaPath: `${schemaPath}/${keyword}`,
      keyword,
      params,
      message,
    };
  };
  if (keyword === 'required') {
    const missing = params.requiredProperties as string[];
    return missing.map((name) => one({ missingProperty: name }, `must have required property '${name}'`));
  }
  // Only handles have one (schema-shapes.ts).
  if (keyword === 'not') return [one(params, DOTS_MESSAGE)];
  const pattern = keyword === 'pattern' ? PATTERN_MESSAGES.get(String(params.pattern)) : undefined;
  return [one(params, pattern ?? error.message)];
}

const DOTS_MESSAGE = 'handle must not be one period or two, which the path of a URL takes for something else';

/** The last segment of the pointer is the unknown member, the rest the object that has it. */
function tellUnknown(pointer: string, schemaPath: string): Fault {
  const at = pointer.lastIndexOf('/');
  const name = pointer
    .slice(at + 1)
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');
  return {
    instancePath: pointer.slice(0, at),
    schemaPath,
    keyword: 'additionalProperties',
    params: { additionalProperty: name.slice(0, NAME_LENGTH_MAX) },
    message: schemaPath.includes(FILTER) ? PATH_MESSAGE : 'must NOT have additional properties',
  };
}

const FILTER = '/properties/filter/additionalProperties';
const PATH_MESSAGE = 'is asked for a path that a filter here cannot have';

/**
 * Of every union that failed, the errors of one branch alone. `from` is where in the schema paths to
 * look for unions: behind the branch that was chosen further out.
 */
function settleUnions(found: readonly TLocalizedValidationError[], from: number): TLocalizedValidationError[] {
  const settled: TLocalizedValidationError[] = [];
  const unions = new Map<string, { instance: string; branches: Map<string, TLocalizedValidationError[]> }>();
  for (const error of found) {
    const path = error.schemaPath;
    const at = path.indexOf(ANY_OF, from);
    if (at < 0) {
      if (error.keyword !== 'anyOf') settled.push(error);
      continue;
    }
    const end = path.indexOf('/', at + ANY_OF.length);
    const branch = end < 0 ? path : path.slice(0, end);
    const instance = instanceOf(error, path.slice(0, at));
    const union = `${instance} ${path.slice(0, at)}`;
    const { branches } = unions.get(union) ?? unions.set(union, { instance, branches: new Map() }).get(union)!;
    branches.set(branch, [...(branches.get(branch) ?? []), error]);
  }
  for (const { instance, branches } of unions.values()) {
    const tried = [...branches].map(([path, errors]) => settleUnions(errors, path.length));
    settled.push(
      ...(unknownSchema(tried, instance) ??
        tried.reduce((one, other) => (strangeness(other, instance) < strangeness(one, instance) ? other : one))),
    );
  }
  return settled;
}

const ANY_OF = '/anyOf/';

/** Where the value's `schema` names none of the branches: all that it may be, in place of that of one of them. */
function unknownSchema(
  tried: readonly (readonly TLocalizedValidationError[])[],
  instance: string,
): TLocalizedValidationError[] | null {
  const found = tried.map((errors) =>
    errors.find(({ instancePath, keyword }) => instancePath === `${instance}/schema` && keyword === 'const'),
  );
  const [first] = found;
  if (first === undefined || found.includes(undefined)) return null;
  const allowedValues = found.map((error) => (error!.params as { allowedValue: unknown }).allowedValue);
  // Which these are is told behind it, as of every enumeration.
  const message = 'must be equal to one of the allowed values';
  return [{ ...first, keyword: 'enum', params: { allowedValues }, message }];
}

/**
 * How little a value looks like a branch of a union: of another type altogether, then another
 * `schema`, which names the branch, then members missing or unknown, then faults deeper inside.
 */
function strangeness(errors: readonly TLocalizedValidationError[], instance: string): number {
  let sum = 0;
  for (const { instancePath, keyword } of errors) {
    const isOwn = instancePath === instance;
    if (isOwn && keyword === 'type') sum += 1000;
    else if (instancePath === `${instance}/schema` || (isOwn && keyword === 'enum')) sum += 100;
    else sum += isOwn ? 10 : 1;
  }
  return sum;
}

/** The part of the instance that a schema was applied to: one segment for each property or item on the way. */
function instanceOf(error: TLocalizedValidationError, schemaPath: string): string {
  const depth = schemaPath.match(/\/(?:(?:properties|patternProperties)\/[^/]+|items)/g)?.length ?? 0;
  const segments = error.instancePath.split('/');
  return segments.slice(0, depth + 1).join('/');
}
