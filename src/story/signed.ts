/**
 * Checks a signed envelope {hash, data, meta: {proofs}}, in which records, lists, events and heads come: its hash, and
 * of each proof the digest, the signature, and that it has no members that are not signed.
 */
import { canon } from '../proof/canon.ts';
import { verifyNoble } from '../proof/verify-noble.ts';
import { decodeBase64, hexOf, sha256 } from './bytes.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { expect, TooLarge } from './not-proven.ts';

/** A proof that holds. */
export interface SignedProof {
  /** Base64, in the only form that is taken for these bytes. */
  readonly public: string;
  readonly result: string;
  /** What it says beside the hash, and its canonical text; absent where it says nothing. */
  readonly custom?: Json;
  readonly customText: string | null;
}

export interface Signed {
  readonly data: Json;
  readonly hash: string;
  readonly meta: JsonObject;
  readonly proofs: readonly SignedProof[];
}

const PROOF_MEMBERS = ['custom', 'digest', 'method', 'public', 'result'];

/** How many signatures of one text are checked at most: each takes some milliseconds. */
const SIGNATURES_MAX = 50_000;
let signatures = 0;

/** Counts signatures from 0 again: those that follow are of another text. */
export function beginCounting(): void {
  signatures = 0;
}

/** Whether it is an envelope with proofs. Some of those nested in others have none. */
export function isEnvelope(value: Json | undefined): value is JsonObject {
  if (!isObject(value) || value.hash === undefined || value.data === undefined) return false;
  return isObject(value.meta) && value.meta.proofs !== undefined;
}

/** Checks an envelope's hash and every proof of it. */
export function checkProofs(envelope: Json | undefined, what: string): Signed {
  expect(isEnvelope(envelope), `${what}: it has no data, no hash or no proofs`);
  const { data, hash, meta } = envelope as { data: Json; hash: Json; meta: JsonObject };
  const right = hexOf(sha256(canon(data)));
  expect(hash === right, `${what}: its hash is not that of its data`);
  expect(Array.isArray(meta.proofs), `${what}: its proofs are no list`);
  const proofs = meta.proofs.map((proof) => checkProof(proof, right, what));
  return { data, hash: right, meta, proofs };
}

/** The same, and that one of the proofs is the server's. */
export function checkSigned(envelope: Json | undefined, what: string, server: string): Signed {
  const signed = checkProofs(envelope, what);
  const isBy = signed.proofs.some((proof) => proof.public === server);
  expect(isBy, `${what}: the server has not signed it`);
  return signed;
}

function checkProof(proof: Json, hash: string, what: string): SignedProof {
  expect(isObject(proof), `${what}: a proof that is none`);
  if (++signatures > SIGNATURES_MAX) throw new TooLarge();
  const customText = proof.custom === undefined ? null : canon(proof.custom);
  const digest = sha256(customText === null ? hash : hash + customText);
  expect(proof.digest === hexOf(digest) && proof.method === 'ed25519-v2', `${what}: a digest of something else`);
  onlyMembers(proof, PROOF_MEMBERS, `${what}: a member of a proof that is not signed`);
  const key = decodeBase64(proof.public, 32);
  const result = decodeBase64(proof.result, 64);
  expect(verifyNoble(key, digest, result), `${what}: a signature does not hold`);
  const held = { public: proof.public as string, result: proof.result as string, customText };
  return proof.custom === undefined ? held : { ...held, custom: proof.custom };
}

/** The value as an object that has no members but these. */
export function onlyMembers(
  value: Json | undefined,
  names: readonly string[],
  what = 'a member that nothing proves',
): JsonObject {
  expect(isObject(value), 'it is no story as `ayni export` writes it');
  expect(
    Object.keys(value).every((name) => names.includes(name)),
    what,
  );
  return value;
}
