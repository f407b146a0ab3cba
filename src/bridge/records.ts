/**
 * Whether a signed record that came in is the ledger's.
 *
 * A record is believed where its hash is that of its data, at least one proof is by the ledger's key, and the newest
 * proofs by that key all hold: its digest follows from hash and custom, and its signature from the digest. Other
 * people's proofs in it are the ledger's business.
 */
import { isObject, type JsonObject } from '../client/json.ts';
import { METHOD } from '../client/records.ts';
import { canon } from '../proof/canon.ts';
import { proofDigest, sha256Hex } from '../proof/digest.ts';
import { decodePublic, decodeSignature } from '../proof/keys.ts';
import { verify } from '../proof/verify.ts';
import { type Refusal, refuse } from './refusal.ts';

const HASH = /^[0-9A-Fa-f]{64}$/;
/**
 * How many of the ledger's proofs on a record are looked at, the newest. There may be very many: of an intent with many
 * legs the ledger has signed for each of them that the bridge was away. Older ones are not needed.
 */
const PROOFS_MAX = 256;

/** Why this is no record signed by `ledgerKey`, or null; `what` names it in the answer. */
export function findForgery(value: unknown, ledgerKey: string, what: string): Refusal | null {
  if (!isObject(value) || !isObject(value.data) || !isObject(value.meta) || !Array.isArray(value.meta.proofs)) {
    return refuse(422, 'record.schema-invalid', `${what} must be a record: hash, data, meta with proofs`);
  }
  const { hash, data, meta } = value;
  if (typeof hash !== 'string' || !HASH.test(hash)) return wrongHash(what);
  const proofs = proofsBy(ledgerKey, meta.proofs as unknown[]);
  if (proofs.length === 0) return refuse(401, 'crypto.signature-missing', `${what} is not signed by the ledger`);
  if (!proofs.every((proof) => holds(hash.toLowerCase(), proof))) {
    return refuse(401, 'crypto.signature-invalid', `a signature of the ledger over ${what} does not hold`);
  }
  // Last, since it takes longest, and anybody can send much.
  return hash.toLowerCase() === sha256Hex(canon(data)) ? null : wrongHash(what);
}

function wrongHash(what: string): Refusal {
  return refuse(422, 'crypto.hash-invalid', `the hash of ${what} is not that of its data`);
}

/**
 * Which ledger a proof must speak for, and to which bridge: one of these each. A member that is left out may be
 * anything.
 */
export interface Bearing {
  readonly ledger?: readonly string[];
  readonly bridge?: readonly string[];
}

/** Why no proof by `ledgerKey` on the record has all of this bearing, or null. */
export function findStranger({ meta }: JsonObject, ledgerKey: string, bearing: Bearing): Refusal | null {
  const members = Object.entries(bearing);
  const proofs = proofsBy(ledgerKey, (meta as { proofs: unknown[] }).proofs);
  const isMine = ({ custom }: JsonObject) =>
    isObject(custom) && members.every(([name, any]) => any.includes(custom[name]));
  if (proofs.some(isMine)) return null;
  const wanted = members.map(([name, any]) => `the ${name} ${any.join(' or ')}`).join(' and ');
  return refuse(401, 'crypto.signature-invalid', `the body is not signed for ${wanted}`);
}

/** The newest proofs by this key, out of all. */
export function proofsBy(key: string, proofs: readonly unknown[]): JsonObject[] {
  return proofs
    .filter(isObject)
    .filter((proof) => proof.public === key)
    .slice(-PROOFS_MAX);
}

/** Whether a proof is a true signature over `hash`, 64 lower-case hex digits. */
function holds(hash: string, proof: JsonObject): boolean {
  const { method, public: key, digest, result, custom } = proof;
  if (method !== METHOD || typeof key !== 'string' || typeof digest !== 'string' || typeof result !== 'string') {
    return false;
  }
  if (custom !== undefined && !isObject(custom)) return false;
  const expected = proofDigest(hash, custom === undefined ? null : canon(custom));
  if (Buffer.from(expected).toString('hex') !== digest.toLowerCase()) return false;
  const [publicKey, signature] = [decodePublic(key), decodeSignature(result)];
  return publicKey !== null && signature !== null && verify(publicKey, expected, signature);
}
