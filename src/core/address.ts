/**
 * Addresses: `[schema:]handle[@parent]`. A claim may name a wallet by a longer address than any record has;
 * it then belongs to the nearest thing that exists: the exact address, the schema at the parent, the parent, the
 * schema.
 */

/** One part of an address, and the whole of it: linear patterns, for schemas too. */
const PART = '[A-Za-z0-9_+.-]+';
export const HANDLE_PATTERN = `^${PART}$`;
export const ADDRESS_PATTERN = `^(?:${PART}:)?${PART}(?:@${PART})?$`;
export const ADDRESS_MAX = 256;
export const LEDGER_HANDLE_MAX = 128;

const ADDRESS = new RegExp(ADDRESS_PATTERN);
const HANDLE = new RegExp(HANDLE_PATTERN);

export function isAddress(text: string): boolean {
  return text.length <= ADDRESS_MAX && ADDRESS.test(text);
}

/** Ledgers have plain handles, without schema or parent. */
export function isLedgerHandle(text: string): boolean {
  return text.length <= LEDGER_HANDLE_MAX && HANDLE.test(text);
}

/** Addresses that nothing new is called: in the path of a URL they mean something else. */
export const DOTS: readonly string[] = ['.', '..'];

/** Whether a record may be called so. */
export function isHandle(text: string): boolean {
  return isAddress(text) && !DOTS.includes(text);
}

/** The addresses to try after the exact one, nearest first. */
export function fallbackAddresses(address: string): string[] {
  const at = address.lastIndexOf('@');
  const parent = at < 0 ? '' : address.slice(at + 1);
  const rest = at < 0 ? address : address.slice(0, at);
  const colon = rest.indexOf(':');
  const schema = colon < 0 ? '' : rest.slice(0, colon);
  const found: string[] = [];
  if (schema !== '' && parent !== '') found.push(`${schema}@${parent}`);
  if (parent !== '') found.push(parent);
  if (schema !== '') found.push(schema);
  return found;
}
