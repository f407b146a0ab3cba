/** Schemas of users' own, and values that they find fault with. */
import { compileUserSchema } from '../../src/http/user-schemas.ts';

export type Json = Record<string, unknown>;

export function check(schema: Json, value: Json): string[] | null {
  const made = compileUserSchema(JSON.stringify({ schema }));
  if ('errors' in made) throw new Error(JSON.stringify(made.errors));
  const errors = made.check(JSON.parse(JSON.stringify(value)));
  return errors === null ? null : errors.map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
}

export const many = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));
export const named = <T>(count: number, make: (i: number) => T): Record<string, T> =>
  Object.fromEntries(many(count, (i) => [`p${i}`, make(i)]));

/** Members whose patterns name so many classes each. */
export const classes = (count: number, each: number) =>
  named(count, (i) => ({ pattern: `[${'\\pL'.repeat(each)}${i}]` }));

/** `{a: {a: … value}}` */
export function nested(depth: number, value: unknown, wrap: (inner: unknown) => unknown = (a) => ({ a })): unknown {
  let outer = value;
  for (let i = 0; i < depth; i++) outer = wrap(outer);
  return outer;
}
