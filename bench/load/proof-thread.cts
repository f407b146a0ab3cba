/**
 * Preloaded by the service under measurement (service.ts), in each of its threads: a proof worker tells which thread it is
 * to the system, so that its processor time is read where the system counts it. All threads bear the same name.
 */
const { isMainThread, workerData } = require('node:worker_threads') as typeof import('node:worker_threads');
const { readlinkSync, writeSync } = require('node:fs') as typeof import('node:fs');

// Other workers have no lanes: those that read files at a start.
if (!isMainThread && process.platform === 'linux' && 'lanes' in Object(workerData)) {
  writeSync(2, `Proof thread ${readlinkSync('/proc/thread-self').split('/').pop()}\n`);
}
