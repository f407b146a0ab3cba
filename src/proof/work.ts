/**
 * What a proof worker does with a task, wherever it runs.
 *
 * What always holds: verdicts are written after everything else, so a task that ends in the middle has none.
 */
import { randomBytes } from 'node:crypto';
import { KeyedVerifier } from './comb/index.ts';
import type { KeyPair } from './keys.ts';
import { Lane, SLABS_PER_LANE } from './lane.ts';
import { signRows, verifyRows } from './rows.ts';
import { CHECK_BYTES, SEAL_BYTES, SIGNATURE_BYTES, slabBytes, slabOver, TEXT_BYTES_MAX } from './slab.ts';
import { LIBRARIES } from './verify.ts';

/** What it takes to work tasks off. */
export interface ProofWorkData {
  server: KeyPair;
  rowsMax: number;
  /** Keys of which a worker keeps a table, at most. */
  keyTablesMax: number;
  /** Shared memory of every slab of the pool. */
  memories: SharedArrayBuffer[];
}

export interface ProofWorkerData extends ProofWorkData {
  /** One a worker, see lane.ts; its slabs are those of its number. */
  lanes: SharedArrayBuffer[];
}

export interface ProofTask {
  slab: number;
  checks: number;
  seals: number;
}

/** A function that works one task off: verifies and signs its rows; returns the milliseconds it took. */
export function createWork({ server, rowsMax, keyTablesMax, memories }: ProofWorkData): (task: ProofTask) => number {
  const slabs = memories.map((memory) => slabOver(memory, rowsMax));
  const local = slabOver(new ArrayBuffer(slabBytes(rowsMax)), rowsMax);
  const salt = randomBytes(4).readInt32LE();
  const verifier = new KeyedVerifier({ library: LIBRARIES[0]!, keysMax: keyTablesMax, salt });
  verifier.prepare();
  return (task) => {
    const started = performance.now();
    const shared = slabs[task.slab]!;
    local.checks.set(shared.checks.subarray(0, task.checks * CHECK_BYTES));
    local.textBytes.set(shared.textBytes.subarray(0, task.checks));
    for (let row = 0; row < task.checks; row++) {
      const at = row * TEXT_BYTES_MAX;
      const bytes = local.textBytes[row]!;
      if (bytes > 0) local.texts.set(shared.texts.subarray(at, at + bytes), at);
    }
    local.seals.set(shared.seals.subarray(0, task.seals * SEAL_BYTES));
    verifyRows(local, task.checks, verifier);
    signRows(local, task.checks, task.seals, server);
    shared.signatures.set(local.signatures.subarray(0, task.seals * SIGNATURE_BYTES));
    shared.verdicts.set(local.verdicts.subarray(0, task.checks + task.seals));
    return performance.now() - started;
  };
}

/** The task of a thread that never ends: to serve the lane of this number. */
export function createServe({ lanes }: ProofWorkerData, work: (task: ProofTask) => number): (lane: number) => never {
  return (lane) => {
    const first = lane * SLABS_PER_LANE;
    return new Lane(lanes[lane]!).serve((slab, checks, seals) => work({ slab: first + slab, checks, seals }));
  };
}
