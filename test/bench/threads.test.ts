/** Whose processor time is told as the proof workers': all threads of Node bear one name. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { startService } from '../../bench/load/service.ts';
import { readUsage } from '../../bench/load/usage.ts';
import { freshDirectory } from '../support/directory.ts';
import { slow } from '../support/slow.ts';

slow('a proof worker is not found among the threads, or what it takes is that of all', async () => {
  if (process.platform !== 'linux') return;
  const directory = freshDirectory();
  const service = await startService(directory, { environment: {}, flags: ['--workers', '2'] });
  try {
    while (service.proofThreads.length < 2) await pause(20);
    const read = () => readUsage(service.pid, directory, service.proofThreads);
    // Loading what they run takes some.
    while (read().threadSeconds === 0) await pause(20);
    const { cpuSeconds, mainSeconds, threadSeconds } = read();
    expect(service.proofThreads).toHaveLength(2);
    expect(service.proofThreads).not.toContain(service.pid);
    expect(mainSeconds).toBeGreaterThan(0);
    expect(mainSeconds + threadSeconds).toBeLessThanOrEqual(cpuSeconds + 0.1);
    expect(readUsage(2 ** 30, directory).threadSeconds).toBeNaN();
  } finally {
    await service.stop('SIGTERM');
  }
});
