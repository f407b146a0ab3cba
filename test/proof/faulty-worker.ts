/**
 * A proof worker that fails the way AYNI_TEST_FAULT says, on every third task of a thread ('always': on every
 * task; 'first': on every task of the first lane), and works honestly otherwise; or as it loads.
 */
import { workerData } from 'node:worker_threads';
import { SLABS_PER_LANE } from '../../src/proof/lane.ts';
import { createServe, type ProofTask, type ProofWorkerData } from '../../src/proof/work.ts';
import { honestWork } from '../../src/proof/worker.ts';

const fault = process.env.AYNI_TEST_FAULT ?? '';
if (fault === 'unloadable') throw new Error('a worker that does not load');
let tasks = 0;
const NOBODY_WAKES = new Int32Array(new SharedArrayBuffer(4));

function work(task: ProofTask): number {
  tasks++;
  const isHonest = fault.startsWith('first')
    ? task.slab >= SLABS_PER_LANE
    : !fault.startsWith('always') && tasks % 3 !== 0;
  if (isHonest) return honestWork(task);
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
