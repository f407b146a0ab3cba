/**
 * Proofs that are made for readers: by the workers, on one trip for a whole page. Those that tell how an intent ended
 * are signed when somebody first asks, or ahead for who waits to be told, and remembered: they are the same bytes
 * whenever they are made. That of a list tells when it was made; it is made anew where the list has changed, or where
 * the last one is too old.
 */
import type { Outcome } from '../core/entry.ts';
import type { Version } from '../core/records.ts';
import { proofDigestHex } from '../proof/digest.ts';
import { encodeBase64 } from '../proof/keys.ts';
import type { ProofResult } from '../proof/pool.ts';
import { proofText, type Signed } from '../proof/sealer.ts';
import { SIGNATURE_BYTES } from '../proof/slab.ts';
import { customsOf, hexOf, outcomeKey, outcomesOf, type Unsealed } from '../render.ts';
import { type Call, guarded, type House, NO_BYTES } from './call.ts';

/** Proofs of one outcome that are not signed yet: what they say, and the digests to sign. */
interface Missing {
  key: string;
  customs: string[];
  digests: string[];
}

/** Goes on with `then` once every late proof of these versions is at hand; at once where they are. */
export function withLateProofs(call: Call, versions: readonly Version[], then: () => void): void {
  const coming = makeLateProofs(call.house, versions);
  if (coming === null) then();
  else coming.then(() => guarded(call, then));
}

/** Has the late proofs of these versions made; null where all are at hand. Never fails. */
export function makeLateProofs(house: House, versions: readonly Version[]): Promise<void> | null {
  const missing = versions.flatMap((version) => missingOf(house, version));
  if (missing.length === 0) return null;
  const seals = Buffer.from(missing.map(({ digests }) => digests.join('')).join(''), 'hex');
  return new Promise((resolve) => {
    const done = ({ error, signatures }: ProofResult) => {
      // What is not remembered, without the workers say, is signed here as it is rendered.
      try {
        if (error === null) remember(house, missing, signatures);
      } catch (mistake) {
        house.defect(mistake as Error);
      }
      resolve();
    };
    house.pool.submit({ checks: NO_BYTES, seals, done });
  });
}

/**
 * Goes on with `then` once a list has the server's proof: one of now, or one that is not too old and says the same.
 * What it says is what is true now either way, since the list has just been read.
 */
export function withListProof(call: Call, list: Unsealed, then: (signed: Signed) => void): void {
  const { sealer, pool, listProofMsMax } = call.house;
  const { hash, custom, moment } = list;
  const known = sealer.listBetween(hash, moment - listProofMsMax, moment);
  if (known !== undefined) return then(known);
  const digest = proofDigestHex(hash, custom);
  pool.submit({
    checks: NO_BYTES,
    seals: Buffer.from(digest, 'hex'),
    done({ error, signatures }) {
      guarded(call, () => {
        // Without the workers it is signed here.
        const proof =
          error === null
            ? proofText(sealer.publicText, digest, encodeBase64(signatures), custom)
            : sealer.proof(hash, custom);
        const signed = { moment, proof };
        sealer.keepList(hash, signed);
        then(signed);
      });
    },
  });
}

function missingOf({ sealer }: House, version: Version): Missing[] {
  const { entry } = version;
  const open = outcomesOf(version).filter((outcome) => !sealer.hasLate(outcomeKey(entry.luid, outcome)));
  if (open.length === 0) return [];
  const hash = hexOf(entry.hash);
  return open.map((outcome: Outcome) => {
    const customs = customsOf(outcome, version);
    const digests = customs.map((custom) => proofDigestHex(hash, custom));
    return { key: outcomeKey(entry.luid, outcome), customs, digests };
  });
}

function remember({ sealer }: House, missing: Missing[], signatures: Uint8Array): void {
  let at = 0;
  for (const { key, customs, digests } of missing) {
    const texts = customs.map((custom, index) => {
      const result = encodeBase64(signatures.subarray(at, at + SIGNATURE_BYTES));
      at += SIGNATURE_BYTES;
      return proofText(sealer.publicText, digests[index]!, result, custom);
    });
    sealer.keepLate(key, texts.join(','));
  }
}
