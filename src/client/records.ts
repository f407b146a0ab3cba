/**
 * Signed records as clients make them: data, its hash, and a proof by the client's own key.
 */
import { canon } from '../proof/canon.ts';
import { proofDigest, sha256Hex } from '../proof/digest.ts';
import { encodeBase64, type KeyPair } from '../proof/keys.ts';
import { sign } from '../proof/verify.ts';
import type { JsonObject } from './json.ts';

export interface Proof {
  method: string;
  public: string;
  digest: string;
  result: string;
  custom?: JsonObject;
}

export interface SignedRecord {
  hash: string;
  data: JsonObject;
  meta: { proofs: Proof[] };
}

/** The method of every proof: there is no other. */
export const METHOD = 'ed25519-v2';

/** The proof of `keys` over a hash; the same proof for the same custom. */
export function makeProof(hash: string, custom: JsonObject, keys: KeyPair): Proof {
  const digest = proofDigest(hash.toLowerCase(), canon(custom));
  return {
    custom,
    digest: Buffer.from(digest).toString('hex'),
    method: METHOD,
    public: encodeBase64(keys.public),
    result: encodeBase64(sign(digest, keys)),
  };
}

export function makeRecord(data: JsonObject, custom: JsonObject, keys: KeyPair): SignedRecord {
  const hash = sha256Hex(canon(data));
  return { hash, data, meta: { proofs: [makeProof(hash, custom, keys)] } };
}
