/**
 * Which proofs of clients stand on the records there are or were, in which ledger, and where: what is asked by those
 * who refuse what is sent again (replays.ts). Only proofs that say when they were made are remembered, and none of
 * intents, whose data is valid for no other kind, and whose handles are never free again.
 *
 * A record that has had one entry, as most wallets have, is not in the index: what was signed has its handle in it, so
 * it is found by its name while it lives. The entries of all others are in it, of dropped ones too, by their
 * signatures, each at the first place where it stands (older books may have it at several): no look-up walks a record's
 * versions. All of it follows from the entries in the heap, and lies in no snapshot.
 */
import { type Heap, hashAscii, hashMix, type MemorySizes, Table } from '../memory/index.ts';
import type { EntryCodec } from './codec.ts';
import { Kind } from './kinds.ts';

const SIGNATURE_BYTES = 64;
const DATED = '"moment":';

/** Whether a proof with this custom, which is canonical, says when it was made. */
export function isDated(custom: string | null): boolean {
  if (custom === null || !custom.includes(DATED)) return false;
  // Mostly it is the first member, or the only one.
  return custom.startsWith(DATED, 1) || Object.hasOwn(JSON.parse(custom), 'moment');
}

/** Those of some entries. */
export interface Signatures {
  /** Address of the first of the entries that has this one, or 0. */
  find(signature: Uint8Array): number;
}

export class UsedProofs {
  readonly #heap: Heap;
  readonly #codec: EntryCodec;
  readonly #hashSeed: number;
  readonly #table: Table;

  constructor(heap: Heap, codec: EntryCodec, hashSeed: number, { segments }: MemorySizes) {
    this.#heap = heap;
    this.#codec = codec;
    this.#hashSeed = hashSeed;
    this.#table = new Table('used-proofs', { segments });
  }

  get size(): number {
    return this.#table.size;
  }

  /** Bytes of memory they take. */
  get taken(): number {
    return this.#table.taken;
  }

  /**
   * Remembers the dated proofs of a record's newest entry, at `at`, and of the one before, where the record was found
   * by its name alone until now.
   */
  use(ledger: number, kind: Kind, at: number): void {
    if (kind === Kind.intent) return;
    const before = this.#heap.prev(at);
    if (before === 0) {
      // A membership is signed over two handles, and has another.
      if (kind === Kind['circle-signer']) this.#add(ledger, at);
      return;
    }
    if (this.#heap.prev(before) === 0) this.#add(ledger, before);
    this.#add(ledger, at);
  }

  /** The same for all entries of a record, the newest of which lies at `at`. */
  useAll(ledger: number, kind: Kind, at: number): void {
    for (let each = at; each !== 0; each = this.#heap.prev(each)) this.use(ledger, kind, each);
  }

  /** Address of the first entry of this ledger in the index that has this signature of a dated proof, or 0. */
  find(ledger: number, signature: Uint8Array): number {
    return this.#find(this.#hash(ledger, signature, 0), signature, 0);
  }

  /**
   * The signatures of these entries, each read once: a body may have hundreds of proofs, and each entry as many. Where
   * a signature is the same, so is what is said of its moment.
   */
  gather(entries: readonly number[]): Signatures {
    const byHash = new Map<number, number[]>();
    for (const at of entries) {
      const bytes = this.#heap.chunk(at);
      for (const from of this.#places(at)) {
        const hash = this.#hash(0, bytes, from);
        const known = byHash.get(hash);
        if (known === undefined) byHash.set(hash, [at]);
        else if (known.at(-1) !== at) known.push(at);
      }
    }
    return {
      find: (signature) => {
        const meeting = byHash.size === 0 ? undefined : byHash.get(this.#hash(0, signature, 0));
        return meeting?.find((at) => this.#isAt(at, signature, 0)) ?? 0;
      },
    };
  }

  #add(ledger: number, at: number): void {
    const bytes = this.#heap.chunk(at);
    const start = this.#heap.offset(at);
    for (const from of this.#codec.datedSignatures(bytes, start, start + this.#heap.length(at))) {
      const hash = this.#hash(ledger, bytes, from);
      const known = this.#find(hash, bytes, from);
      if (known === 0) this.#table.insert(hash, at);
      else if (known > at) this.#table.replace(at);
    }
  }

  /** The entry with the signature in bytes[from, …), and this hash; the table's cursor is on it then. */
  #find(hash: number, bytes: Uint8Array, from: number): number {
    for (let at = this.#table.first(hash); at >= 0; at = this.#table.next()) {
      // Its ledger is the right one: `hashMix` lets the hashes of one signature in two ledgers never meet.
      if (this.#isAt(at, bytes, from)) return at;
    }
    return 0;
  }

  #isAt(at: number, bytes: Uint8Array, from: number): boolean {
    const chunk = this.#heap.chunk(at);
    return this.#places(at).some((place) => isSame(chunk, place, bytes, from));
  }

  /** Where in its chunk the signatures of the entry at `at` lie. */
  #places(at: number): readonly number[] {
    const start = this.#heap.offset(at);
    return this.#codec.signatures(this.#heap.chunk(at), start, start + this.#heap.length(at));
  }

  /** Of all its bytes, under the state's seed: clients choose their signatures, and not which of them meet. */
  #hash(ledger: number, bytes: Uint8Array, from: number): number {
    return hashMix(hashAscii(this.#hashSeed, bytes, from, from + SIGNATURE_BYTES), ledger);
  }
}

function isSame(ones: Uint8Array, from: number, others: Uint8Array, start: number): boolean {
  for (let i = 0; i < SIGNATURE_BYTES; i++) if (ones[from + i] !== others[start + i]) return false;
  return true;
}
