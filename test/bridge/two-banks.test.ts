/**
 * Two banks and the real ledger, each a process of its own, while anybody is killed and the banks misbehave: at the end
 * all three tell the same story. `npm run two-banks` is the same for longer.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { StoredRecord } from '../../src/cli/client.ts';
import { audit, play, settled } from '../../src/cli/two-banks/play.ts';
import { freshDirectory } from '../support/directory.ts';
import { answering } from '../support/of-test.ts';
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

/** A bank that has heard of one intent more each time it is asked for them, up to so many. */
async function slowBank(intents: readonly string[], heardMax: number): Promise<{ name: string; url: string }> {
  const entries = intents.map((handle) => ({ handle, state: 'committed', intent: { handle, hash: '' } }));
  let heard = 0;
  const url = await answering((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://bank');
    const from = Number(searchParams.get('from'));
    if (pathname === '/intents' && from === 0) heard = Math.min(heard + 1, heardMax);
    const shown = {
      '/entries': { entries: entries.slice(from) },
      '/intents': { intents: intents.slice(from, heard).map((handle) => ({ handle, status: 'completed' })) },
      '/accounts': { accounts: [], opened: 0, out: 0, in: 0 },
      '/': { reports: { waiting: 0 } },
    };
    response.end(JSON.stringify({ data: shown[pathname as keyof typeof shown] }));
  });
  return { name: 'bank-a', url };
}

const INTENTS = ['one', 'two', 'three', 'four', 'five'];
const ENDED = new Map(INTENTS.map((handle) => [handle, { meta: { status: 'completed' } } as StoredRecord]));

test('a bank that hears of one intent after the other is waited for: with a thousand of them that was told as wrong', async () => {
  const { heard } = await settled(await slowBank(INTENTS, 5), ENDED, 700);
  expect([...heard.keys()]).toEqual(INTENTS);
});

test('one that hears of nothing any more is not', async () => {
  const { heard } = await settled(await slowBank(INTENTS, 2), ENDED, 700);
  expect([...heard.keys()]).toEqual(INTENTS.slice(0, 2));
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
