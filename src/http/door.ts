/**
 * The door: the value of a body (json.ts) becomes content the core can trust. In this order, and the first no ends it:
 * schema, hash, proofs. What is left to do is verifying the signatures, which travels as flat rows.
 */
import type { StoredProof } from '../core/entry.ts';
import type { Kind } from '../core/kinds.ts';
import { isRefusal, refuseShape } from '../core/refusal.ts';
import { canon, settle } from '../proof/canon.ts';
import { proofDigestHex, sha256Hex } from '../proof/digest.ts';
import { decodePublic, decodeSignature } from '../proof/keys.ts';
import { proofText } from '../proof/sealer.ts';
import { CHECK_BYTES, layCheck } from '../proof/slab.ts';
import { type Refusal, refuse } from './errors.ts';
import { refuseToKeep } from './json.ts';
import { isUnsigned, type ValidateBody } from './schemas.ts';

/** A proof as clients send it. */
export interface ProofBody {
  method: string;
  public: string;
  digest: string;
  result: string;
  custom?: Record<string, unknown>;
}

/** The texts of a proof of the right shape; of its custom the canonical one, or null. */
export interface ProofTexts {
  readonly public: string;
  readonly digest: string;
  readonly result: string;
  readonly custom: string | null;
}

export function proofTexts({ public: key, digest, result, custom }: ProofBody): ProofTexts {
  return { public: key, digest, result, custom: custom === undefined ? null : canon(custom) };
}

/** A body of create, update or drop. */
interface RecordBody {
  hash: string;
  luid?: string;
  data: Record<string, unknown>;
  meta: { proofs?: ProofBody[] };
}

export interface CheckedProofs {
  proofs: StoredProof[];
  /** Rows of public 32 | digest 32 | signature 64, one per proof. */
  checks: Uint8Array;
  /** Which of the proofs as they were sent each row is, where the server's own were among them. */
  places: readonly number[] | undefined;
  /** The proofs as canonical JSON, comma between, as they go back to the client. */
  text: string;
}

export interface Content extends CheckedProofs {
  value: Record<string, unknown>;
  data: string;
  hash: Uint8Array;
  hashHex: string;
  luid: string | undefined;
}

/** Whose signatures came with it. */
export function keysOf({ proofs }: Pick<CheckedProofs, 'proofs'>): Uint8Array[] {
  return proofs.map((proof) => proof.public);
}

/** Who looks at bodies: by which shapes, how large they may be, and under which key, in base64, the server signs. */
interface Doorkeeper {
  readonly validate: ValidateBody;
  readonly bodyBytesMax: number;
  readonly sealer: { readonly publicText: string };
}

/**
 * Checks everything about a record's body but its signatures. Its data counts as what is hashed and kept of it says,
 * and the server's own proofs are ignored like all else in `meta` that is the server's: it signs whatever it is sent,
 * in any ledger, so nobody may bring its signature from there as that of a client who wants what the record says.
 */
export function openBody(
  { validate, sealer, bodyBytesMax }: Doorkeeper,
  kind: Kind,
  operation: 'create' | 'update' | 'drop' | 'check',
  body: unknown,
): Content | Refusal {
  const errors = validate(kind, operation, body);
  if (errors !== null) return refuseShape(errors);
  const { hash, luid, data: sent, meta } = body as RecordBody;
  const { text: data, value } = settle(sent);
  const later = value === sent ? null : validate(kind, operation, { ...(body as RecordBody), data: value });
  if (later !== null) return refuseShape(later);
  const hashHex = sha256Hex(data);
  if (hash !== hashHex && hash.toLowerCase() !== hashHex) {
    const detail = 'hash is not the SHA-256 of the canonical form of data, which is the one expected';
    return refuse('crypto.hash-invalid', detail, { expected: hashHex });
  }
  const proofsSent = meta.proofs ?? [];
  const isOwn = (proof: ProofBody) => proof.public === sealer.publicText;
  const places = proofsSent.some(isOwn)
    ? [...proofsSent.keys()].filter((place) => !isOwn(proofsSent[place]!))
    : undefined;
  const others = places?.map((place) => proofsSent[place]!) ?? proofsSent;
  const checked = openProofs(others.map(proofTexts), hashHex, places);
  if (isRefusal(checked)) return checked;
  if (operation !== 'drop' && isUnsigned({ meta: checked })) {
    return refuse('crypto.signature-missing', 'meta.proofs must hold at least one proof of a client');
  }
  const { proofs, checks, text } = checked;
  const unfit = refuseToKeep(`${data}${text}`, bodyBytesMax);
  if (unfit !== null) return unfit;
  return { value, data, hash: Buffer.from(hashHex, 'hex'), hashHex, luid, proofs, checks, places, text };
}

/** Checks that each proof speaks of this hash, and lays out the rows that remain to be verified. */
export function openProofs(
  texts: readonly ProofTexts[],
  hashHex: string,
  places?: readonly number[],
): CheckedProofs | Refusal {
  const checks = Buffer.allocUnsafe(texts.length * CHECK_BYTES);
  const proofs: StoredProof[] = [];
  let text = '';
  for (let i = 0; i < texts.length; i++) {
    const { public: publicText, digest, result: resultText, custom } = texts[i]!;
    if (proofDigestHex(hashHex, custom) !== digest) {
      const place = places?.[i] ?? i;
      const detail = `The digest of proof ${place} is not that of the hash, as it is now, and its custom`;
      return refuse('crypto.signature-invalid', detail, { proof: place });
    }
    const key = decodePublic(publicText);
    const result = decodeSignature(resultText);
    if (key === null || result === null) {
      const place = places?.[i] ?? i;
      const detail = `Proof ${place} is not an Ed25519 key and signature in base64`;
      return refuse('crypto.signature-invalid', detail, { proof: place });
    }
    layCheck(checks, i, key, digest, result);
    proofs.push({ public: key, result, custom });
    const comma = i === 0 ? '' : ',';
    text += comma + proofText(publicText, digest, resultText, custom);
  }
  return { proofs, checks, places, text };
}

/** A proof of the right shape and the row by which it is verified, whatever its digest is of. */
export function proofAsSent({ public: key, digest, result }: ProofBody): { proof: StoredProof; checks: Uint8Array } {
  const proof = { public: Buffer.from(key, 'base64'), result: Buffer.from(result, 'base64'), custom: null };
  const checks = Buffer.allocUnsafe(CHECK_BYTES);
  layCheck(checks, 0, proof.public, digest, proof.result);
  return { proof, checks };
}
