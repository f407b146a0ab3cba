/**
 * Two banks and the real ledger, each a process of its own, while anybody is killed and the banks misbehave: at the end
 * all three tell the same story. `npm run two-banks` is the same for longer.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { audit, play } from '../../src/cli/two-banks/play.ts';
import { freshDirectory } from '../support/directory.ts';
import { slow } from '../support/slow.ts';

slow('payments between two banks: anybody is killed, the banks misbehave, and nothing is lost', async () => {
  const directory = freshDirectory();
  const said: string[] = [];
  const findings = await play({
    directory,
    seed: 11,
    payments: 60,
    clients: 8,
    sendMsMax: 4000,
    kills: true,
    chaos: '11',
    endMsMax: 240_000,
    say: (line) => said.push(line),
  });
  expect(findings, said.join('\n')).toEqual([]);
  expect(audit(directory)).toBeNull();
});

test.each([
  ['--payments', 'many'],
  ['--clients', '0'],
  ['--seconds', 'x'],
  ['--seed', '1.5'],
])('a number that is none (%s %s) begins nothing: it was taken for no number, and money was moved', (flag, text) => {
  const program = fileURLToPath(new URL('../../src/cli/two-banks.js', import.meta.url));
  // Where it begins after all it ends soon, and says so.
  const calm = ['--calm', ...(flag === '--seconds' ? ['--payments', '1'] : ['--seconds', '1'])];
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...calm, flag, text], { encoding: 'utf8' });
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain(`${flag}: must be a whole number from `);
});
