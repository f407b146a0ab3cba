/**
 * How wide a body may be where its members have a meaning, and how large where what is wrong is looked for. Telling
 * what is wrong with an object costs time for each of its members, known or not: tens of thousands of them would hold
 * up everybody for a second. So before anybody looks for what is wrong, what is too wide is told, and nothing else.
 *
 * Free content (`custom`, and the JSON Schema of a schema record) has no such end: nobody looks into it here.
 */
import type { Fault } from '../core/refusal.ts';

/** Members of one object. No object with a meaning has so many. */
export const MEMBERS_MAX = 1000;
/** Items of one array; of claims there may be more, and they are looked at one by one. */
const ITEMS_MAX = 1024;

/** What is too wide in `value`, or null. `at` is its place in the body. */
export function tellWidth(value: unknown, at = ''): Fault | null {
  if (typeof value !== 'object' || value === null) return null;
  if (Array.isArray(value)) return tellItems(value, at);
  const names = Object.keys(value);
  if (names.length > MEMBERS_MAX) return tooWide(at, 'maxProperties', MEMBERS_MAX, 'properties');
  for (const name of names) {
    if (isFree(name, at)) continue;
    const error = tellWidth((value as Record<string, unknown>)[name], `${at}/${name}`);
    if (error !== null) return error;
  }
  return null;
}

/** Whether nobody looks into this member of the value at that place. */
function isFree(name: string, at: string): boolean {
  // Claims are not looked at with the rest of their record: see schemas.ts.
  return name === 'custom' || (at === '/data' && (name === 'schema' || name === 'claims'));
}

function tellItems(items: readonly unknown[], at: string): Fault | null {
  if (items.length > ITEMS_MAX) return tooWide(at, 'maxItems', ITEMS_MAX, 'items');
  for (let i = 0; i < items.length; i++) {
    const error = tellWidth(items[i], `${at}/${i}`);
    if (error !== null) return error;
  }
  return null;
}

/**
 * Members and items of a body among which what is wrong is looked for: some microseconds each, right or wrong, and of
 * the small ones a body has room for hundreds of thousands.
 */
const PARTS_MAX = 10_000;

/** What is said of a body that is wrong and has more of them, or null. */
export function tellLarge(value: unknown): Fault | null {
  if (partsLeft(value, '', PARTS_MAX) >= 0) return null;
  const message = `must match the schema; where it does not is looked for among ${PARTS_MAX} parts, and here are more`;
  return { instancePath: '', schemaPath: '#', keyword: 'schema', params: {}, message };
}

/** How many of `left` are left after those of this value; less than none where it has more. */
function partsLeft(value: unknown, at: string, left: number): number {
  if (typeof value !== 'object' || value === null) return left;
  const names = Object.keys(value);
  let rest = left - names.length;
  for (const name of names) {
    if (rest < 0) break;
    if (!isFree(name, at)) rest = partsLeft((value as Record<string, unknown>)[name], `${at}/${name}`, rest);
  }
  return rest;
}

function tooWide(instancePath: string, keyword: string, limit: number, what: string): Fault {
  const message = `must NOT have more than ${limit} ${what}`;
  return { instancePath, schemaPath: `#/${keyword}`, keyword, params: { limit }, message };
}
