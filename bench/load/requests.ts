/**
 * Requests made before the clock runs: worker threads sign intents and write whole HTTP requests to files,
 * one pair for each part: `<part>.http`, the texts one after the other, and `<part>.lengths`, their lengths
 * as 32-bit integers of this machine. Both load generators send them as they lie there, each one once.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

/** What is asked for. */
export interface RequestPlan {
  /** Goes into every handle: no two runs against one service share it. */
  run: string;
  /** Files the requests are split over; a generator's thread sends one. */
  parts: number;
  intents: number;
  claims: number;
  wallets: number;
  /** Wallets whose owners send, the first ones; all of them unless said otherwise. */
  sources?: number;
  /**
   * Money comes from all wallets, each time from one far from that before, and so many keys sign in turns, the first
   * wallets' owners: of a million wallets it would take longer to make the keys than to sign.
   */
  signers?: number;
  /** The ledger to select; the default one unless said otherwise. */
  ledger?: string;
  /** Or so many, in turns, as intents.ts names them. */
  ledgers?: number;
}

/** What one worker makes; parts of one run differ in `part` and `path` alone. */
export interface PartPlan extends RequestPlan {
  /** Path of the part, without extension. */
  path: string;
  part: number;
}

/**
 * Makes the requests of a plan in files in `directory`, and answers the parts' paths. The files are on the disk when
 * it does, so that writing them back does not compete with what is measured.
 */
export async function prepareRequests(directory: string, plan: RequestPlan): Promise<string[]> {
  const { run, parts, intents } = plan;
  const plans = Array.from({ length: parts }, (_, part) => ({
    ...plan,
    path: join(directory, `${run}-${part}`),
    part,
    intents: Math.ceil(intents / parts),
  }));
  await Promise.all(plans.map(runWorker));
  return plans.map(({ path }) => path);
}

/** The requests of a part, one after the other, and how long each is. */
export function readPart(path: string): { requests: Buffer; lengths: Uint32Array } {
  const { buffer, byteOffset, byteLength } = readFileSync(`${path}.lengths`);
  const lengths = new Uint32Array(buffer, byteOffset, byteLength / Uint32Array.BYTES_PER_ELEMENT);
  return { requests: readFileSync(`${path}.http`), lengths };
}

/** Takes the files of such parts away. */
export function removeRequests(paths: readonly string[]): void {
  for (const path of paths) for (const end of ['http', 'lengths']) rmSync(`${path}.${end}`);
}

function runWorker(plan: PartPlan): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./requests-worker.js', import.meta.url), { workerData: plan });
    worker.once('error', reject);
    worker.once('exit', (code) => (code === 0 ? resolve() : reject(new Error(`request worker ended with ${code}`))));
  });
}
