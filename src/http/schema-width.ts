/**
 * How wide a body may be where its members have a meaning. Telling what is wrong with an object costs time for each of
 * its members, known or not: tens of thousands of them would hold up everybody for a second. So before anybody looks
 * for what is wrong, what is too wide is told, and nothing else.
 *
 * Free content (`custom`, and the JSON Schema of a schema record) has no such end: nobody looks into it here.
 */
import type { SchemaError } from './schema-errors.ts';

/** Members of one object. No object with a meaning has so many. */
export const MEMBERS_MAX = 1000;
/** Items of one array; of claims there may be more, and they are looked at one by one. */
const ITEMS_MAX = 1024;

/** What is too wide in `value`, or null. `at` is its place in the body. */
export function tellWidth(value: unknown, at = ''): SchemaError | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return tellItems(value, at);
  const names = Object.keys(value);
  if (names.length > MEMBERS_MAX) return tooWide(at, 'maxProperties', MEMBERS_MAX, 'properties');
  for (const name of names) {
    if (name === 'custom' || (name === 'schema' && at === '/data')) continue;
    const error = tellWidth((value as Record<string, unknown>)[name], `${at}/${name}`);
    if (error !== null) return error;
  }
  return null;
}

function tellItems(items: readonly unknown[], at: string): SchemaError | null {
  // Claims are not looked at with the rest of their record: see schemas.ts.
  if (at === '/data/claims') return null;
  if (items.length > ITEMS_MAX) return tooWide(at, 'maxItems', ITEMS_MAX, 'items');
  for (let i = 0; i < items.length; i++) {
    const error = tellWidth(items[i], `${at}/${i}`);
    if (error !== null) return error;
  }
  return null;
}

function tooWide(instancePath: string, keyword: string, limit: number, what: string): SchemaError {
  const message = `must NOT have more than ${limit} ${what}`;
  return { instancePath, schemaPath: `#/${keyword}`, keyword, params: { limit }, message };
}
