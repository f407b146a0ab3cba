/**
 * Loaded into every thread of a server before anything else (NODE_OPTIONS=--import). A proof worker looks at the time when
 * it begins a task: after so many looks it does so for ever. In the long run it is busy all the while, else it sleeps. With
 * AYNI_TEST_FIFO, a pipe that nobody writes to, it waits in a call of the system's, and no one can stop it.
 */
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const LOOKS_MAX = 100;
const NOBODY_WAKES = new Int32Array(new SharedArrayBuffer(4));

if (!isMainThread) {
  const now = performance.now.bind(performance);
  let looks = 0;
  performance.now = () => {
    if (++looks === LOOKS_MAX) {
      writeSync(2, 'a proof worker hangs\n');
      if (process.env.AYNI_TEST_FIFO !== undefined) openSync(process.env.AYNI_TEST_FIFO, 'r');
      for (;;) if (process.env.AYNI_LONG !== '1') Atomics.wait(NOBODY_WAKES, 0, 0);
    }
    return now();
  };
}
