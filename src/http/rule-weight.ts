/**
 * What the rules of one record, or the values of one policy, may come to in all. Reading and compiling them takes as
 * long as there is text, and matchers in it, and whoever asks about such a record waits for that: a list of a megabyte
 * took tens of milliseconds each time. The books may have longer ones; this is asked at the door alone.
 */
import { Kind } from '../core/kinds.ts';
import type { Fault } from '../core/refusal.ts';

/** Characters as JSON. */
export const RULES_CHARS_MAX = 65_536;
/** Rules, matchers and whatever else is an object. */
export const RULES_OBJECTS_MAX = 5000;

/** What is too heavy in the data of a record, or null. It must have the right shape. */
export function tellHeavy(kind: Kind, data: { access?: unknown; values?: unknown }): Fault | null {
  return tellHeavyList(data.access, 'access') ?? (kind === Kind.policy ? tellHeavyList(data.values, 'values') : null);
}

/** The same of a list alone. */
export function tellHeavyList(list: unknown, name: 'access' | 'values'): Fault | null {
  if (list === undefined) return null;
  if (JSON.stringify(list).length > RULES_CHARS_MAX) {
    return tooHeavy(name, 'maxLength', RULES_CHARS_MAX, 'be longer than', 'characters as JSON');
  }
  if (objectsLeft(list, RULES_OBJECTS_MAX) < 0) {
    return tooHeavy(name, 'maxItems', RULES_OBJECTS_MAX, 'hold more than', 'objects');
  }
  return null;
}

/** How many of `left` are left after those in this value; less than none where it has more. */
function objectsLeft(value: unknown, left: number): number {
  if (typeof value !== 'object' || value === null) return left;
  let rest = Array.isArray(value) ? left : left - 1;
  for (const each of Object.values(value)) {
    if (rest < 0) break;
    rest = objectsLeft(each, rest);
  }
  return rest;
}

function tooHeavy(name: string, keyword: string, limit: number, not: string, what: string): Fault {
  const message = `must NOT ${not} ${limit} ${what}, all that it holds together`;
  return {
    instancePath: `/data/${name}`,
    schemaPath: `#/properties/data/properties/${name}/${keyword}`,
    keyword,
    params: { limit },
    message,
  };
}
