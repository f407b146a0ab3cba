/**
 * A proof worker: the module each thread of the pool runs. It takes the number of a slab and how many rows are in it,
 * and answers with the milliseconds it took. Verdicts and signatures go back through the slab.
 *
 * The server's secret comes by workerData once, when the thread starts; it is in no message and no error.
 */
import { workerData } from 'node:worker_threads';
import { createServe, createWork, type ProofWorkerData } from './work.ts';

const data = workerData as ProofWorkerData;
export const honestWork = createWork(data);

export default createServe(data, honestWork);
