/** A system that gives no more threads, as Node tells it: `ulimit -u`, or the limit of a container. */
import { syncBuiltinESMExports } from 'node:module';
import workers from 'node:worker_threads';
import { onTestFinished, vi } from 'vitest';

export function giveNoThreads(): void {
  const worker = vi.spyOn(workers, 'Worker').mockImplementation(() => {
    throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
  });
  syncBuiltinESMExports();
  onTestFinished(() => {
    worker.mockRestore();
    syncBuiltinESMExports();
  });
}
