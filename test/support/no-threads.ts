/** A system that gives no more threads, as Node tells it (`ulimit -u`, or the limit of a container), or none that live. */
import { syncBuiltinESMExports } from 'node:module';
import workers from 'node:worker_threads';
import { onTestFinished, vi } from 'vitest';

export function giveNoThreads(): void {
  startAs(() => {
    throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
  });
}

/** Threads end before they have loaded anything. */
export function endThreadsAtOnce(): void {
  const { Worker } = workers;
  startAs((...given) => {
    const worker = new Worker(...given);
    worker.terminate();
    return worker;
  });
}

function startAs(start: (...given: ConstructorParameters<typeof workers.Worker>) => workers.Worker): void {
  // A constructor that returns an object makes that.
  const worker = vi.spyOn(workers, 'Worker').mockImplementation((...given) => start(...given));
  syncBuiltinESMExports();
  onTestFinished(() => {
    worker.mockRestore();
    syncBuiltinESMExports();
  });
}
