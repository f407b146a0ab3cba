/**
 * A proof worker: the module each thread of the pool runs. Its one task is to serve the lane of a number; what is to be
 * verified and signed, and what came of it, goes through the lane's slabs.
 *
 * The server's secret comes by workerData once, when the thread starts; it is in no message and no error.
 */
import { workerData } from 'node:worker_threads';
import { createServe, createWork, type ProofWorkerData } from './work.ts';

const data = workerData as ProofWorkerData;
export const honestWork = createWork(data);

export default createServe(data, honestWork);
