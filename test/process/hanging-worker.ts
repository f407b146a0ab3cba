/**
 * Loaded into every thread of a server before anything else (NODE_OPTIONS=--import). A proof worker looks at the time when
 * it begins a task: after so many looks it does so for ever.
 */
import { writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const LOOKS_MAX = 100;

if (!isMainThread) {
  const now = performance.now.bind(performance);
  let looks = 0;
  performance.now = () => {
    if (++looks === LOOKS_MAX) {
      writeSync(2, 'a proof worker hangs\n');
      for (;;);
    }
    return now();
  };
}
