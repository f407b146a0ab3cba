/**
 * Two banks and the real ledger, each a process of its own, while anybody is killed and the banks misbehave: at the end
 * all three tell the same story. `npm run two-banks` is the same for longer.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { audit, play } from '../../src/cli/two-banks/play.ts';

const directories: string[] = [];
afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

test.each([
  ['nobody is killed', false, null],
  ['anybody is killed, and the banks misbehave', true, '11'],
] as const)(
  'payments between two banks, %s',
  async (_, kills, chaos) => {
    const directory = mkdtempSync(join(tmpdir(), 'ayni-two-banks-'));
    directories.push(directory);
    const said: string[] = [];
    const findings = await play({
      directory,
      seed: 11,
      payments: 120,
      clients: 8,
      sendMsMax: 8000,
      kills,
      chaos,
      endMsMax: 60_000,
      say: (line) => said.push(line),
    });
    expect(findings, said.join('\n')).toEqual([]);
    expect(audit(directory)).toBeNull();
  },
  180_000,
);
