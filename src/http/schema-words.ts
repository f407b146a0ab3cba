/**
 * The few words of JSON Schema that bodies are described in. The package of the compiler has a builder too, which
 * infers types nobody here asks for, and loading it takes longer than everything else a start does.
 */

/** A JSON Schema, as the compiler takes it. */
export type Schema = Readonly<Record<string, unknown>>;

const OPTIONAL = Symbol('a member that may be left out');
type Member = Schema | { readonly [OPTIONAL]: Schema };
export type Members = Readonly<Record<string, Member>>;

export const optional = (schema: Schema): Member => ({ [OPTIONAL]: schema });

const isOptional = (member: Member): member is { readonly [OPTIONAL]: Schema } => OPTIONAL in member;

/** An object with these members, all but the optional ones required, and whatever others. */
export function object(members: Members, limits: Schema = {}): Schema {
  const entries = Object.entries(members);
  const required = entries.filter(([, member]) => !isOptional(member)).map(([name]) => name);
  const properties = Object.fromEntries(
    entries.map(([name, member]) => [name, isOptional(member) ? member[OPTIONAL] : member]),
  );
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...limits };
}

/** An object with these members and no others. */
export const closed = (members: Members, limits: Schema = {}): Schema =>
  object(members, { additionalProperties: false, ...limits });

/**
 * An object all of whose members have names of this pattern, and such values; of those that are known, also the other
 * schema holds.
 */
export const map = (names: string, values: Schema, known: Members, limits: Schema): Schema => ({
  ...closed(known, limits),
  patternProperties: { [names]: values },
});

export const array = (items: Schema, limits: Schema = {}): Schema => ({ type: 'array', items, ...limits });
export const text = (limits: Schema = {}): Schema => ({ type: 'string', ...limits });
export const integer = (limits: Schema = {}): Schema => ({ type: 'integer', ...limits });
export const number: Schema = { type: 'number' };
export const boolean: Schema = { type: 'boolean' };

export const constant = (value: string): Schema => ({ type: 'string', const: value });
export const among = (values: readonly (string | number)[]): Schema => ({ enum: values });
export const anyOf = (schemas: readonly Schema[]): Schema => ({ anyOf: schemas });
