/**
 * Loaded into every thread of a server before anything else (NODE_OPTIONS=--import). In a proof worker it ends the
 * thread in the middle of a task, on every so many tasks: the worker looks at the time when it begins one and when
 * everything is verified, before anybody is told.
 */
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const LOOKS_MAX = 20;

if (!isMainThread) {
  const now = performance.now.bind(performance);
  let looks = 0;
  performance.now = () => {
    if (++looks === LOOKS_MAX) {
      writeSync(2, 'a proof worker dies\n');
      process.exit(1);
    }
    return now();
  };
}
