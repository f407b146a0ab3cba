/** Records that the server itself makes and signs: a ledger's first ones, and intents that follow from routes. */
import { SYSTEM_SIGNER } from './core/decide.ts';
import type { StoredProof } from './core/entry.ts';
import { createdCustom, isoMoment } from './core/proofs.ts';
import type { OwnIntent } from './core/threads.ts';
import { canon } from './proof/canon.ts';
import { proofDigest, sha256Hex } from './proof/digest.ts';
import { encodeBase64, type KeyPair } from './proof/keys.ts';
import { sign } from './proof/verify.ts';

export interface OwnContent {
  value: Record<string, unknown>;
  data: string;
  hashHex: string;
  proofs: StoredProof[];
}

/** A record's content, signed by the server as a client would. */
export function signedByServer(server: KeyPair, value: Record<string, unknown>, moment: number): OwnContent {
  const data = canon(value);
  const hashHex = sha256Hex(data);
  const custom = ownCustom(moment);
  const result = sign(proofDigest(hashHex, custom), server);
  return { value, data, hashHex, proofs: [{ public: server.public, result, custom }] };
}

/** What it says beside that signature. */
export function ownCustom(moment: number): string {
  return `{"moment":"${isoMoment(moment)}","status":"created"}`;
}

/** What the server says of itself as a signer of each ledger. */
export function systemSigner(key: Uint8Array): Record<string, unknown> {
  return { handle: SYSTEM_SIGNER, format: 'ed25519-raw', public: encodeBase64(key) };
}

/**
 * What it says of the ledger that books begin with: it is open to everybody, or to the owner with this base64 key
 * alone.
 */
export function firstLedger(handle: string, owner: string): Record<string, unknown> {
  const everything = { action: 'any', record: 'any' };
  const ofOwner = [
    { ...everything, signer: { public: owner } },
    { ...everything, bearer: { $signer: { public: owner } } },
  ];
  return { handle, access: owner === '' ? [everything] : ofOwner };
}

/** An intent of the server's own, both as its client and as the server. Its handle follows from its luid. */
export function signedIntent(server: KeyPair, luid: string, value: Record<string, unknown>, moment: number): OwnIntent {
  const handle = ownHandle(luid);
  const { data, hashHex, proofs } = signedByServer(server, { ...value, handle }, moment);
  const seal = sign(proofDigest(hashHex, createdCustom(luid, moment, 'pending')), server);
  return { luid, handle, hash: Buffer.from(hashHex, 'hex'), data, proofs, seal };
}

export function ownHandle(luid: string): string {
  return `fwd_${luid.slice(5)}`;
}
