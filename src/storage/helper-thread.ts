/**
 * A thread that helps another, which does by itself what is not done for it: no start hangs on whether there is one.
 */
import { Worker } from 'node:worker_threads';

/** Keeps no process alive; null where the system gives no more threads (`ulimit -u`, a container's limit). */
export function startHelper(program: URL, workerData: unknown): Worker | null {
  let worker: Worker;
  try {
    worker = new Worker(program, { workerData });
  } catch {
    return null;
  }
  worker.on('error', () => {});
  worker.unref();
  return worker;
}
