/**
 * Proofs that are made for readers: by the workers, on one trip for a whole page. Those that tell how an intent ended
 * are signed when somebody first asks, and remembered: they are the same bytes whenever they are made. That of a list
 * is new each time.
 */
import type { Outcome } from '../core/entry.ts';
import type { Version } from '../core/state.ts';
import { proofDigestHex } from '../proof/digest.ts';
import { encodeBase64 } from '../proof/keys.ts';
import { proofText } from '../proof/sealer.ts';
import { customsOf, hexOf, outcomeKey, outcomesOf, type Unsealed } from '../render.ts';
import { guarded, type House } from './call.ts';
import type { Reply } from './server.ts';

const SIGNATURE_BYTES = 64;
const NO_CHECKS = new Uint8Array(0);

/** Proofs of one outcome that are not signed yet: what they say, and the digests to sign. */
interface Missing {
  key: string;
  customs: string[];
  digests: string[];
}

/** Goes on with `then` once every late proof of these versions is at hand; at once where they are. */
export function withLateProofs(house: House, reply: Reply, versions: readonly Version[], then: () => void): void {
  const missing = versions.flatMap((version) => missingOf(house, version));
  if (missing.length === 0) return then();
  house.pool.submit({
    checks: NO_CHECKS,
    seals: Buffer.from(missing.map(({ digests }) => digests.join('')).join(''), 'hex'),
    done({ error, signatures }) {
      // Without the workers they are signed here, as they are rendered.
      if (error === null) remember(house, missing, signatures);
      guarded(house, reply, then);
    },
  });
}

/** Goes on with `then` once the server's proof of a text is at hand. */
export function withProof(house: House, reply: Reply, { hash, custom }: Unsealed, then: (proof: string) => void): void {
  const { sealer, pool } = house;
  const known = sealer.justSigned(hash, custom);
  if (known !== undefined) return then(known);
  const digest = proofDigestHex(hash, custom);
  pool.submit({
    checks: NO_CHECKS,
    seals: Buffer.from(digest, 'hex'),
    done({ error, signatures }) {
      guarded(house, reply, () => {
        // Without the workers it is signed here.
        if (error !== null) return then(sealer.proof(hash, custom));
        const proof = proofText(sealer.publicText, digest, encodeBase64(signatures), custom);
        sealer.keepSigned(hash, custom, proof);
        then(proof);
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
