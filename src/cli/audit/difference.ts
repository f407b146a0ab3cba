/** How entries as they would be decided today differ from those that the books have. */
import { equalBytes, hex } from '../../core/bytes.ts';
import type { Entry } from '../../core/entry.ts';

/**
 * How entries that were decided together differ from what the books have, or null. With `next` undefined only the first
 * is compared.
 */
export function differenceTo(decided: Entry[] | string, entry: Entry, next: Entry | null | undefined): string | null {
  if (typeof decided === 'string') return decided;
  const [first, second] = decided;
  if (first === undefined) return 'it changes nothing, and would not be written';
  const member = differingMember(asOf(first, entry), entry);
  if (member !== null) return `${member} would be ${shown(first, member)}, not ${shown(entry, member)}`;
  if (second === undefined || next === undefined) return null;
  return next !== null && differingMember(asOf(second, next), next) === null
    ? null
    : `an entry about ${second.luid} should follow`;
}

/** Decided as the build of `written` did: it may have known early outcomes only (core/entry.ts). */
function asOf(decided: Entry, written: Entry): Entry {
  if (!('outcome' in decided) || !('outcome' in written) || !written.outcome.isEarly) return decided;
  return { ...decided, outcome: { ...decided.outcome, isEarly: true as const } };
}

/** The path of the first member in which two plain values differ, '' for the values themselves, or null. */
function differingMember(one: unknown, other: unknown): string | null {
  if (one === other) return null;
  if (one instanceof Uint8Array && other instanceof Uint8Array) return equalBytes(one, other) ? null : '';
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return '';
  if (Array.isArray(one) && Array.isArray(other) && one.length !== other.length) return '';
  const others = other as Record<string, unknown>;
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  for (const name of names) {
    const path = differingMember((one as Record<string, unknown>)[name], others[name]);
    if (path !== null) return path === '' ? name : `${name}.${path}`;
  }
  return null;
}

const SHOWN_CHARS = 200;

function shown(entry: Entry, path: string): string {
  let value: unknown = entry;
  for (const name of path.split('.')) value = (value as Record<string, unknown>)[name];
  const text = value instanceof Uint8Array ? hex(value) : (JSON.stringify(value) ?? 'absent');
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text;
}
