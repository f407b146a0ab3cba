/**
 * A proof worker: takes the number of a slab and how many rows are in it, verifies and signs them, and answers
 * with the milliseconds it took. Verdicts and signatures go back through the slab.
 *
 * The server's secret comes by workerData once, when the thread starts; it is in no message and no error.
 */
import { workerData } from 'node:worker_threads';
import type { KeyPair } from './keys.ts';
import { signRows, verifyRows } from './rows.ts';
import { CHECK_BYTES, SEAL_BYTES, SIGNATURE_BYTES, type Slab, slabBytes, slabOver } from './slab.ts';

export interface ProofWorkerData {
  server: KeyPair;
  rowsMax: number;
  /** Shared memory of every slab of the pool: any worker may get any of them. */
  memories: SharedArrayBuffer[];
}

export interface ProofTask {
  slab: number;
  checks: number;
  seals: number;
}

const { server, rowsMax, memories } = workerData as ProofWorkerData;
const slabs: Slab[] = memories.map((memory) => slabOver(memory, rowsMax));
const local = slabOver(new ArrayBuffer(slabBytes(rowsMax)), rowsMax);

/** Works one task off; returns the milliseconds it took. */
export default function work(task: ProofTask): number {
  const started = performance.now();
  const shared = slabs[task.slab]!;
  local.checks.set(shared.checks.subarray(0, task.checks * CHECK_BYTES));
  local.seals.set(shared.seals.subarray(0, task.seals * SEAL_BYTES));
  verifyRows(local, task.checks);
  signRows(local, task.checks, task.seals, server);
  shared.signatures.set(local.signatures.subarray(0, task.seals * SIGNATURE_BYTES));
  shared.verdicts.set(local.verdicts.subarray(0, task.checks + task.seals));
  return performance.now() - started;
}
