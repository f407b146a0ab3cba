/**
 * Some whole lives of the server in each run of the tests; `npm run simulate` lives thousands. They run in processes of
 * their own, since a life takes the place of timers and clocks.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const PATIENCE_MS = 300_000;

function simulate(...args: string[]): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
}

describe('whole lives', { timeout: PATIENCE_MS }, () => {
  test('of seeds that once met a bug', () => {
    const { status, stdout } = simulate('--corpus');
    expect(stdout).toMatch(/ 0 failed /);
    expect(status).toBe(0);
  });

  test('of the first seeds', () => {
    const { status, stdout } = simulate('--from', '1', '--seeds', '20');
    expect(stdout).toMatch(/20 lives, 0 failed/);
    expect(status).toBe(0);
  });

  test('are the same each time, to the byte', () => {
    const [first, second] = [simulate('--seed', '3'), simulate('--seed', '3')];
    expect(first.stdout).toMatch(/"digest":"[0-9a-f]{32}"/);
    expect(second.stdout).toBe(first.stdout);
  });

  test('are the same alone and after others in one process', () => {
    const { stdout } = simulate('--from', '1', '--seeds', '4', '--workers', '1', '--digests');
    const [, digest] = /seed 4: ([0-9a-f]{32})/.exec(stdout)!;
    expect(simulate('--seed', '4').stdout).toContain(`"digest":"${digest}"`);
  });
});
