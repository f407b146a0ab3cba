/** Records that the server itself makes and signs: a ledger's first ones, and intents that follow from routes. */
import type { StoredProof } from './core/entry.ts';
import { createdCustom, isoMoment } from './core/proofs.ts';
import type { OwnIntent } from './core/threads.ts';
import { canon } from './proof/canon.ts';
import { proofDigest, sha256Hex } from './proof/digest.ts';
import type { KeyPair } from './proof/keys.ts';
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
  const custom = `{"moment":"${isoMoment(moment)}","status":"created"}`;
  const result = sign(proofDigest(hashHex, custom), server);
  return { value, data, hashHex, proofs: [{ public: server.public, result, custom }] };
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
