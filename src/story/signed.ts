/**
 * What is signed: an envelope {hash, data, meta: {proofs}}, as records, lists, events and heads come in. Checked are
 * its hash, and of each proof the digest, the signature, and that it says nothing beside them.
 */
import { canon } from '../proof/canon.ts';
import { verifyNoble } from '../proof/verify-noble.ts';
import { decodeBase64, hexOf, sha256 } from './bytes.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { expect, TooLarge } from './not-proven.ts';

/** A proof that holds. */
export interface SignedProof {
  /** Base64, the only one that these bytes have. */
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

/** Signatures of one text: each takes some milliseconds. */
const SIGNATURES_MAX = 50_000;
let signatures = 0;

/** From here on signatures are those of another text. */
export function beginCounting(): void {
  signatures = 0;
}

/** Whether it has what an envelope has. Of what is nested in others some has no proofs. */
export function isEnvelope(value: Json | undefined): value is JsonObject {
  if (!isObject(value) || value.hash === undefined || value.data === undefined) return false;
  return isObject(value.meta) && value.meta.proofs !== undefined;
}

/** The proofs of an envelope, all of which hold. */
export function checkProofs(envelope: Json | undefined, what: string): Signed {
  expect(isEnvelope(envelope), `${what}: it has no data, no hash or no proofs`);
  const { data, hash, meta } = envelope as { data: Json; hash: Json; meta: JsonObject };
  const right = hexOf(sha256(canon(data)));
  expect(hash === right, `${what}: its hash is not that of its data`);
  expect(Array.isArray(meta.proofs), `${what}: its proofs are no list`);
  const proofs = meta.proofs.map((proof) => checkProof(proof, right, what));
  return { data, hash: right, meta, proofs };
}

/** The same, one of them the server's. */
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

/** The object, which has no members but these. */
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
