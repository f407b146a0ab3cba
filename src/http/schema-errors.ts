/**
 * Errors of shape in the form clients know (ajv's): one error per member that is wrong, with a message
 * a person can act on.
 *
 * The validator reports what its generated code meets: all branches of a union at once, one summary for
 * several missing members. Here that becomes: the branch of the union the client most likely meant, one
 * error per missing or unknown member, `schemaPath` ending in the keyword.
 */
import type { TLocalizedValidationError } from 'typebox/error';

export interface SchemaError {
  /** JSON pointer into the body: `/data/handle`. */
  readonly instancePath: string;
  /** JSON pointer into the schema: `#/properties/data/properties/handle/pattern`. */
  readonly schemaPath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** At most this many errors are told about one body. */
export const ERRORS_MAX = 50;

/**
 * The validator's errors in the form above. `messages` gives the message of a pattern, by its source;
 * `prefix` stands before each instance path.
 */
export function tellErrors(
  found: readonly TLocalizedValidationError[],
  messages: ReadonlyMap<string, string>,
  prefix = '',
): SchemaError[] {
  return dropLesserBranches(found)
    .flatMap((error) => tellError(error, messages, prefix))
    .slice(0, ERRORS_MAX);
}

/** One error → what ajv would say: several where it names several members, none where it only echoes. */
function tellError(
  error: TLocalizedValidationError,
  messages: ReadonlyMap<string, string>,
  prefix: string,
): SchemaError[] {
  const { keyword } = error;
  const instancePath = prefix + error.instancePath;
  const schemaPath = `${error.schemaPath}/${keyword}`;
  const params = error.params as Record<string, unknown>;
  const one = (params: Record<string, unknown>, message: string): SchemaError => {
    return { instancePath, schemaPath, keyword, params, message };
  };
  if (keyword === 'boolean') return [];
  if (keyword === 'required') {
    const missing = params.requiredProperties as string[];
    return missing.map((name) => one({ missingProperty: name }, `must have required property '${name}'`));
  }
  if (keyword === 'additionalProperties') {
    const names = params.additionalProperties as string[];
    return names
      .slice(0, ERRORS_MAX)
      .map((name) => one({ additionalProperty: name.slice(0, 128) }, 'must NOT have additional properties'));
  }
  const pattern = keyword === 'pattern' ? messages.get(String(params.pattern)) : undefined;
  return [one(params, pattern ?? error.message)];
}

/**
 * Of a union that failed, the errors of the branch that came furthest: one whose only complaints lie
 * deeper than the union itself, else the first.
 */
function dropLesserBranches(found: readonly TLocalizedValidationError[]): TLocalizedValidationError[] {
  const unions = new Map<string, Map<string, TLocalizedValidationError[]>>();
  const kept: TLocalizedValidationError[] = [];
  for (const error of found) {
    const at = /^(.*?\/anyOf)\/(\d+)/.exec(error.schemaPath);
    if (at === null) {
      if (error.keyword !== 'anyOf') kept.push(error);
      continue;
    }
    const union = `${at[1]} ${unionInstance(error, at[1]!)}`;
    let branches = unions.get(union);
    if (branches === undefined) {
      branches = new Map();
      unions.set(union, branches);
    }
    const branch = branches.get(at[2]!);
    if (branch === undefined) branches.set(at[2]!, [error]);
    else branch.push(error);
  }
  for (const branches of unions.values()) kept.push(...best([...branches.values()]));
  return kept;
}

/**
 * The instance a union was tried on. Only array items make one schema path meet several instances, so
 * as many leading segments as the schema path has properties and items before the union.
 */
function unionInstance(error: TLocalizedValidationError, unionPath: string): string {
  const depth = unionPath.match(/\/(?:properties\/[^/]+|items)/g)?.length ?? 0;
  return error.instancePath
    .split('/')
    .slice(0, depth + 1)
    .join('/');
}

function best(branches: TLocalizedValidationError[][]): TLocalizedValidationError[] {
  const refusesWhole = (errors: TLocalizedValidationError[]): number => {
    const top = Math.min(...branches.flat().map((error) => error.instancePath.length));
    const isWhole = (error: TLocalizedValidationError) =>
      error.instancePath.length === top && ['type', 'const', 'enum'].includes(error.keyword);
    return (errors.some(isWhole) ? 1_000_000 : 0) + errors.length;
  };
  return branches.reduce((one, other) => (refusesWhole(other) < refusesWhole(one) ? other : one));
}
