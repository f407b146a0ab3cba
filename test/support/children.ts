/**
 * Processes that tests start die with the process of the test, also where that is ended by a signal: the test runner ends
 * its own so, and whatever a failed test has left would go on for ever.
 */
import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();

const killAll = (): void => {
  for (const child of children) child.kill('SIGKILL');
};

process.once('exit', killAll);
process.once('SIGTERM', () => {
  killAll();
  // Now that nobody listens it is the end.
  process.kill(process.pid, 'SIGTERM');
});

/** From now on `child` dies with this process. */
export function dieWithUs(child: ChildProcess): void {
  children.add(child);
  child.once('close', () => children.delete(child));
}
