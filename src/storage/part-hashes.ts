/**
 * SHA-256 of many long pieces of shared memory, by several threads while this one is still filling them: hashing a
 * snapshot's parts takes about as long as reading them.
 *
 * This thread fills the pieces in order and says so of each; every thread, this one at last, takes the next that is
 * filled and that nobody has taken. So it also works where no thread comes up, only slower.
 *
 * What always holds: a piece is hashed after it was said to be filled; `results` returns when all of them are. Threads
 * that are waited for in vain, which would be a defect, do not keep anybody: their piece is hashed again here.
 */
import { availableParallelism } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { HASH_BYTES, sha256 } from './format.ts';
import { startHelper } from './helper-thread.ts';

/** Pieces shorter than this together are hashed before a thread has started. */
const THREADS_FROM_BYTES = 64 * 1024 * 1024;
const THREADS_MAX = 4;
/** Longer than any piece takes. */
const WAIT_MS_MAX = 10_000;

const Stage = { empty: 0, filled: 1, taken: 2, hashed: 3 } as const;

export interface PartHashesData {
  pieces: Uint8Array[];
  /** A word per piece, one of Stage. */
  stages: Int32Array<SharedArrayBuffer>;
  /** HASH_BYTES per piece. */
  hashes: Uint8Array<SharedArrayBuffer>;
}

export class PartHashes {
  /** Those that help. */
  readonly threads: Worker[] = [];
  readonly #data: PartHashesData;

  /** `pieces` lie in shared memory. */
  constructor(pieces: Uint8Array[], threadsFromBytes = THREADS_FROM_BYTES) {
    const stages = new Int32Array(new SharedArrayBuffer(4 * pieces.length));
    const hashes = new Uint8Array(new SharedArrayBuffer(HASH_BYTES * pieces.length));
    this.#data = { pieces, stages, hashes };
    if (pieces.reduce((sum, { length }) => sum + length, 0) < threadsFromBytes) return;
    const count = Math.min(availableParallelism() - 1, THREADS_MAX, pieces.length);
    const program = new URL('../storage/part-hash-worker.js', import.meta.url);
    for (let thread = 0; thread < count; thread++) {
      const worker = startHelper(program, this.#data);
      if (worker === null) break;
      this.threads.push(worker);
    }
  }

  /** The piece is filled, and changes no more. */
  filled(index: number): void {
    const { stages } = this.#data;
    Atomics.store(stages, index, Stage.filled);
    Atomics.notify(stages, index);
  }

  /** The hash of each piece, all of which are filled. To be called once. */
  results(): Uint8Array[] {
    const { pieces, stages, hashes } = this.#data;
    hashPieces(this.#data);
    return pieces.map((piece, index) => {
      const isHashed = Atomics.load(stages, index) === Stage.hashed;
      if (!isHashed && Atomics.wait(stages, index, Stage.taken, WAIT_MS_MAX) === 'timed-out') return sha256(piece);
      return hashes.slice(index * HASH_BYTES, (index + 1) * HASH_BYTES);
    });
  }

  /** Lets the threads end, whatever has become of the pieces. */
  close(): void {
    const { stages } = this.#data;
    for (let index = 0; index < stages.length; index++) {
      Atomics.store(stages, index, Stage.hashed);
      Atomics.notify(stages, index);
    }
  }
}

/** Hashes what nobody has taken, waiting for each piece to be filled. */
export function hashPieces({ pieces, stages, hashes }: PartHashesData): void {
  for (let index = 0; index < pieces.length; index++) {
    Atomics.wait(stages, index, Stage.empty);
    if (Atomics.compareExchange(stages, index, Stage.filled, Stage.taken) !== Stage.filled) continue;
    hashes.set(sha256(pieces[index]!), index * HASH_BYTES);
    Atomics.store(stages, index, Stage.hashed);
    Atomics.notify(stages, index);
  }
}
