/**
 * A quick yes for new intents in their usual form, where they are there as values: those that are audited, and of those
 * that come in the long ones, and those with escapes, fractions or the like (usual.ts reads the others where they lie).
 *
 * The compiled schemas spend microseconds on patterns and on lists of member names, for each claim
 * again. Here the same rules stand as plain loops, but only for what intents usually carry. Anything
 * else (a wrong body, a rare member) is `false`, which means nothing but: ask the schema.
 *
 * What always holds: whatever is taken here, the schema takes too; a test holds the two together.
 */
import { isObject } from '../core/filters.ts';

/** Classes of characters, one bit each. */
const NAME = 1;
const BASE64 = 2;
const HEX = 4;
const LOWER_HEX = 8;
/** Last characters whose unused bits are zero: before `=` and before `==`. */
const LAST_OF_32 = 16;
const LAST_OF_64 = 32;

const CLASSES = new Uint8Array(128);
mark('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789', NAME | BASE64);
mark('_-+.', NAME);
mark('+/', BASE64);
mark('0123456789abcdef', HEX | LOWER_HEX);
mark('ABCDEF', HEX);
mark('AEIMQUYcgkosw048', LAST_OF_32);
mark('AQgw', LAST_OF_64);

function mark(characters: string, bits: number): void {
  for (const character of characters) CLASSES[character.charCodeAt(0)]! |= bits;
}

const ADDRESS_LENGTH_MAX = 256;

/** Whether `body` surely is a right body for a new intent. `isAccess` judges access rules. */
export function isUsualIntent(
  body: unknown,
  claimsMax: number,
  proofsMax: number,
  isAccess: (access: unknown) => boolean,
): boolean {
  if (!isObject(body)) return false;
  const { hash, data, meta } = body;
  if (body.luid !== undefined || !isRun(hash, 64, HEX) || !isObject(data) || !isObject(meta)) return false;
  const { proofs } = meta;
  if (!Array.isArray(proofs) || proofs.length > proofsMax) return false;
  for (let i = 0; i < proofs.length; i++) if (!isProof(proofs[i])) return false;
  for (const name in data) {
    if (name === 'handle') {
      if (!isAddress(data.handle) || data.handle === '.' || data.handle === '..') return false;
    } else if (name === 'schema') {
      if (!isAddress(data.schema)) return false;
    } else if (name === 'claims') {
      if (!areClaims(data.claims, claimsMax)) return false;
    } else if (name === 'custom') {
      if (!isObject(data.custom)) return false;
    } else if (name === 'access') {
      if (!isAccess(data.access)) return false;
    } else if (name === 'config') {
      if (!isConfig(data.config)) return false;
    } else {
      return false;
    }
  }
  return Object.hasOwn(data, 'handle') && Object.hasOwn(data, 'claims');
}

function isProof(proof: unknown): boolean {
  if (!isObject(proof)) return false;
  let found = 0;
  for (const name in proof) {
    const member = proof[name];
    if (name === 'custom') {
      if (!isObject(member)) return false;
      continue;
    }
    found++;
    if (name === 'public') {
      if (!isRun(member, 42, BASE64, '='.length + 1) || !ends(member as string, LAST_OF_32, '=')) return false;
    } else if (name === 'result') {
      if (!isRun(member, 85, BASE64, '=='.length + 1) || !ends(member as string, LAST_OF_64, '==')) return false;
    } else if (name === 'digest') {
      if (!isRun(member, 64, LOWER_HEX)) return false;
    } else if (name !== 'method' || member !== 'ed25519-v2') {
      return false;
    }
  }
  return found === 4;
}

function isConfig(config: unknown): boolean {
  if (!isObject(config)) return false;
  for (const name in config) {
    if (name !== 'commit' || (config.commit !== 'auto' && config.commit !== 'manual')) return false;
  }
  return true;
}

function areClaims(claims: unknown, claimsMax: number): boolean {
  if (!Array.isArray(claims) || claims.length === 0 || claims.length > claimsMax) return false;
  for (let i = 0; i < claims.length; i++) if (!isMove(claims[i])) return false;
  return true;
}

/** A transfer, an issue or a destroy: which references it has must be just what its action needs. */
function isMove(claim: unknown): boolean {
  if (!isObject(claim)) return false;
  let found = 0;
  for (const name in claim) {
    const member = claim[name];
    if (name === 'source') found |= 1;
    else if (name === 'target') found |= 2;
    else if (name === 'symbol') found |= 4;
    else if (name === 'amount') {
      if (!Number.isSafeInteger(member) || (member as number) < 1) return false;
      found |= 8;
      continue;
    } else if (name === 'action') continue;
    else return false;
    if (!isReference(member)) return false;
  }
  const { action } = claim;
  return found === (action === 'transfer' ? 15 : action === 'issue' ? 14 : action === 'destroy' ? 13 : -1);
}

function isReference(reference: unknown): boolean {
  if (!isObject(reference)) return isAddress(reference);
  for (const name in reference) {
    if (name === 'custom') {
      if (!isObject(reference.custom)) return false;
    } else if (name !== 'handle') {
      return false;
    }
  }
  return Object.hasOwn(reference, 'handle') && isAddress(reference.handle);
}

/** `[schema:]handle[@parent]`, no part empty. */
function isAddress(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > ADDRESS_LENGTH_MAX) return false;
  let part = 0;
  let hasSchema = false;
  let hasParent = false;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code < 128 && (CLASSES[code]! & NAME) !== 0) {
      part++;
      continue;
    }
    if (part === 0 || hasParent) return false;
    if (code === 0x3a && !hasSchema) hasSchema = true;
    else if (code === 0x40) hasParent = true;
    else return false;
    part = 0;
  }
  return part > 0;
}

/** A text of `length` characters of one class, and `more` others behind them. */
function isRun(value: unknown, length: number, bit: number, more = 0): boolean {
  if (typeof value !== 'string' || value.length !== length + more) return false;
  for (let i = 0; i < length; i++) {
    const code = value.charCodeAt(i);
    if (code >= 128 || (CLASSES[code]! & bit) === 0) return false;
  }
  return true;
}

/** Whether a text ends with one character of a class and then the padding. */
function ends(value: string, bit: number, padding: string): boolean {
  const code = value.charCodeAt(value.length - padding.length - 1);
  return code < 128 && (CLASSES[code]! & bit) !== 0 && value.endsWith(padding);
}
