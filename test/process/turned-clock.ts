/** Loaded into a server before anything else (NODE_OPTIONS=--import): on SIGWINCH its clock is set back by an hour. */
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const now = Date.now.bind(Date);
  let back = 0;
  Date.now = () => now() - back;
  process.on('SIGWINCH', () => (back += 3_600_000));
}
