/**
 * Some whole lives of the server in each run of the tests; `npm run simulate` lives thousands. They run in processes of
 * their own, since a life takes the place of timers and clocks.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { againWith, isLong, often, SHARE } from '../support/long.ts';
import { slow } from '../support/slow.ts';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const LIVES = 100;
/** In the suite so many of them. */
const LIVES_TAKEN = often(4, LIVES);
/** Each process takes as long to begin as several lives. */
const ONE_PROCESS = isLong ? [] : ['--workers', '1'];

function simulate(...args: string[]): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
}

describe('whole lives', () => {
  test('of seeds that once met a bug', () => {
    const { status, stdout } = simulate('--corpus', ...ONE_PROCESS);
    expect(stdout).toMatch(/ 0 failed /);
    expect(status).toBe(0);
  });

  test('of the first seeds', () => {
    const from = 1 + ((SHARE * LIVES_TAKEN) % LIVES);
    const { status, stdout } = simulate('--from', `${from}`, '--seeds', `${LIVES_TAKEN}`, ...ONE_PROCESS);
    expect(stdout, againWith()).toContain(`${LIVES_TAKEN} lives, 0 failed`);
    expect(status).toBe(0);
  });

  slow('are the same each time, to the byte, alone and after others in one process', () => {
    // The second of them is lived on two machines.
    const after = simulate('--from', '3', '--seeds', '3', '--workers', '1', '--digests');
    for (const seed of [4, 5]) {
      const first = simulate('--seed', `${seed}`);
      const [, digest] = /"digest":"([0-9a-f]{32})"/.exec(first.stdout)!;
      expect(after.stdout).toContain(`seed ${seed}: ${digest}\n`);
      expect(first.stdout.includes('has lost the lock')).toBe(seed === 5);
      if (seed === 5 || isLong) expect(simulate('--seed', `${seed}`).stdout).toBe(first.stdout);
    }
  });

  slow('are the same each time where the disk fails over a lock that has no place yet, whose name never is', () => {
    const [first, second] = [simulate('--seed', '348'), simulate('--seed', '348')];
    expect(first.stdout).toContain("does not start: EIO: close '/books/lock.");
    expect(second.stdout).toBe(first.stdout);
  });
});
