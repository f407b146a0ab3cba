/**
 * Loaded into every thread of a server before anything else (NODE_OPTIONS=--import). A proof worker looks at the time when
 * it begins a task: after so many looks it does so for ever. In the long run it is busy all the while, else it sleeps. With
 * AYNI_TEST_FIFO, a pipe that nobody writes to, it waits in a call of the system's, and no one can stop it; with
 * AYNI_TEST_AT_ONCE too before it has begun anything.
 */
import { openSync, writeSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const LOOKS_MAX = 100;
const NOBODY_WAKES = new Int32Array(new SharedArrayBuffer(4));

const { AYNI_TEST_FIFO: FIFO, AYNI_TEST_AT_ONCE: IS_AT_ONCE } = process.env;
const hang = () => {
  writeSync(2, 'a proof worker hangs\n');
  if (FIFO !== undefined) openSync(FIFO, 'r');
};

if (!isMainThread) {
  if (IS_AT_ONCE !== undefined) hang();
  const now = performance.now.bind(performance);
  let looks = 0;
  performance.now = () => {
    if (++looks === LOOKS_MAX) {
      hang();
      for (;;) if (process.env.AYNI_LONG !== '1') Atomics.wait(NOBODY_WAKES, 0, 0);
    }
    return now();
  };
}
