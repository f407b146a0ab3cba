/**
 * A proof worker that fails the way AYNI_TEST_FAULT says, on every third task of a thread ('always': on every
 * task), and works honestly otherwise.
 */
import { workerData } from 'node:worker_threads';
import { createServe, type ProofTask, type ProofWorkerData } from '../../src/proof/work.ts';
import { honestWork } from '../../src/proof/worker.ts';

const fault = process.env.AYNI_TEST_FAULT ?? '';
let tasks = 0;
const NOBODY_WAKES = new Int32Array(new SharedArrayBuffer(4));

function work(task: ProofTask): number {
  tasks++;
  if (!fault.startsWith('always') && tasks % 3 !== 0) return honestWork(task);
  // An answer, and in the slab no signature, or nothing at all.
  if (fault.endsWith('unsigned')) honestWork({ ...task, seals: 0 });
  else if (!fault.endsWith('silent')) fail(task);
  return 0;
}

function fail(task: ProofTask): never {
  if (fault.endsWith('exit')) process.exit(1);
  if (fault.endsWith('hang')) for (;;) Atomics.wait(NOBODY_WAKES, 0, 0);
  if (fault.endsWith('late')) {
    // All is written, and still nobody hears of it.
    honestWork(task);
    process.exit(1);
  }
  if (fault.endsWith('partial')) {
    honestWork({ ...task, checks: task.checks >> 1, seals: 0 });
    throw new Error('half of it');
  }
  throw new Error('a worker that throws');
}

export default createServe(workerData as ProofWorkerData, work);
