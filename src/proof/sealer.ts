/**
 * The server's own proofs as text. Ed25519 is deterministic: a proof is the same bytes whenever it is made, so the
 * ones that tell how an intent ended are made when they are first told, and kept a while.
 */
import { Recent } from '../memory/index.ts';
import { proofDigestHex } from './digest.ts';
import { encodeBase64, type KeyPair } from './keys.ts';
import { sign } from './verify.ts';

/** A proof in canonical JSON. `custom` is canon(custom), or null where there is none. */
export function proofText(publicText: string, digestHex: string, resultText: string, custom: string | null): string {
  const head = custom === null ? '{' : `{"custom":${custom},`;
  return `${head}"digest":"${digestHex}","method":"ed25519-v2","public":"${publicText}","result":"${resultText}"}`;
}

/** Proofs kept for one moment: more answers than this are not given in a millisecond. */
const SAME_CUSTOM_MAX = 256;

/** Bytes of late proofs that are kept where there is room: those of some twenty thousand outcomes. */
const LATE_BYTES_MAX = 16_000_000;

/** The same where there is little: those of a page, or they would be signed again while the page is sent. */
const LATE_BYTES_MIN = 1_000_000;

/** Bytes of the last proofs of lists that are kept where there is room: ten thousand proofs. */
const LISTS_BYTES_MAX = 6_000_000;

/** What one of them takes beside its text, its key among it. */
const KEPT_BYTES = 256;

/** What the server said of a hash at a moment. */
export interface Signed {
  moment: number;
  /** The proof in canonical JSON. */
  proof: string;
}

export class Sealer {
  /** The server's public key, base64. */
  readonly publicText: string;
  readonly #server: KeyPair;
  readonly #late: Recent<string, string>;
  readonly #lists: Recent<string, Signed>;
  /** Proofs under the custom that was asked for last, by hash: many answers of one moment say the same. */
  readonly #same = new Map<string, string>();
  #sameCustom = '';

  /** `cacheShare`: for how much of what is kept V8 has room, 0 to 1. */
  constructor(server: KeyPair, cacheShare = 1) {
    this.#server = server;
    this.#late = new Recent(Math.max(LATE_BYTES_MIN, LATE_BYTES_MAX * cacheShare), (text) => KEPT_BYTES + text.length);
    this.#lists = new Recent(LISTS_BYTES_MAX * cacheShare, ({ proof }) => KEPT_BYTES + proof.length);
    this.publicText = encodeBase64(server.public);
  }

  /** Signs now, unless the same has just been signed. */
  proof(hashHex: string, custom: string): string {
    const known = custom === this.#sameCustom ? this.#same.get(hashHex) : undefined;
    if (known !== undefined) return known;
    const digest = proofDigestHex(hashHex, custom);
    const result = sign(Buffer.from(digest, 'hex'), this.#server);
    const text = proofText(this.publicText, digest, encodeBase64(result), custom);
    if (custom !== this.#sameCustom || this.#same.size >= SAME_CUSTOM_MAX) {
      this.#same.clear();
      this.#sameCustom = custom;
    }
    this.#same.set(hashHex, text);
    return text;
  }

  /**
   * The last proof of a list with this hash, if its moment lies between these: one that is yet to come is of a clock
   * that was ahead.
   */
  listBetween(hashHex: string, since: number, now: number): Signed | undefined {
    const signed = this.#lists.get(hashHex);
    return signed !== undefined && signed.moment >= since && signed.moment <= now ? signed : undefined;
  }

  keepList(hashHex: string, signed: Signed): void {
    this.#lists.set(hashHex, signed);
  }

  /** The text of a proof that was signed before. */
  sealed(hashHex: string, custom: string, result: Uint8Array): string {
    return proofText(this.publicText, proofDigestHex(hashHex, custom), encodeBase64(result), custom);
  }

  hasLate(key: string): boolean {
    return this.#late.get(key) !== undefined;
  }

  /** The proofs of these customs in order, comma between; remembered under `key`. */
  late(key: string, hashHex: string, customs: () => string[]): string {
    const known = this.#late.get(key);
    if (known !== undefined) return known;
    const text = customs()
      .map((custom) => this.proof(hashHex, custom))
      .join(',');
    this.keepLate(key, text);
    return text;
  }

  keepLate(key: string, text: string): void {
    this.#late.set(key, text);
  }
}
