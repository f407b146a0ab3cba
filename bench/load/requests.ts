/**
 * Requests made before the clock runs: worker threads sign intents and write whole HTTP requests to files,
 * one pair for each part: `<part>.http`, the texts one after the other, and `<part>.lengths`, their lengths
 * as 32-bit integers of this machine. Both load generators send them as they lie there, each one once.
 */
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

/** What one worker makes; parts of one run differ in `part` alone. */
export interface PartPlan {
  /** Path of the part, without extension. */
  path: string;
  /** Goes into every handle: no two runs against one service share it. */
  run: string;
  part: number;
  intents: number;
  claims: number;
  wallets: number;
}

/**
 * Makes `intents` requests of `claims` transfers each, split over `parts` files in `directory`, and answers
 * the parts' paths. The files are on the disk when it does, so that writing them back does not compete with
 * what is measured.
 */
export async function prepareRequests(
  directory: string,
  run: string,
  parts: number,
  intents: number,
  claims: number,
  wallets: number,
): Promise<string[]> {
  const plans = Array.from({ length: parts }, (_, part) => ({
    path: join(directory, `${run}-${part}`),
    run,
    part,
    intents: Math.ceil(intents / parts),
    claims,
    wallets,
  }));
  await Promise.all(plans.map(runWorker));
  return plans.map((plan) => plan.path);
}

function runWorker(plan: PartPlan): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./requests-worker.js', import.meta.url), { workerData: plan });
    worker.once('error', reject);
    worker.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`request worker ended with ${code}`))));
  });
}
