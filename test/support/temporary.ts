/** One directory for all that a run of the suite leaves lying, taken away when it ends: its processes may end by a signal. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function setup(): () => void {
  const directory = mkdtempSync(join(tmpdir(), 'ayni-suite-'));
  process.env.TMPDIR = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}
