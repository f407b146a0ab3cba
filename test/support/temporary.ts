/** One directory for all that a run of the suite leaves lying, taken away when it ends: its processes may end by a signal. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function setup(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'ayni-suite-'));
  // As the system's own is: some servers here are another user's.
  chmodSync(directory, 0o755);
  process.env.TMPDIR = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}
