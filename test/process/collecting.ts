/**
 * Loaded into a server before anything else (NODE_OPTIONS=--import): asked for its figures (SIGWINCH), it first clears
 * away what nobody holds any more, so that its heap is what is held.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGWINCH', () => collect());
}
