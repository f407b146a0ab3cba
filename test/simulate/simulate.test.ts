/**
 * Some whole lives of the server in each run of the tests; `npm run simulate` lives thousands. They run in processes of
 * their own, since a life takes the place of timers and clocks.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { often } from '../support/long.ts';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));
const LIVES = often(10, 100);

function simulate(...args: string[]): { status: number | null; stdout: string } {
  return spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', maxBuffer: 1 << 28 });
}

describe('whole lives', () => {
  test('of seeds that once met a bug', () => {
    const { status, stdout } = simulate('--corpus');
    expect(stdout).toMatch(/ 0 failed /);
    expect(status).toBe(0);
  });

  test('of the first seeds', () => {
    const { status, stdout } = simulate('--from', '1', '--seeds', `${LIVES}`);
    expect(stdout).toContain(`${LIVES} lives, 0 failed`);
    expect(status).toBe(0);
  });

  test('are the same each time, to the byte, alone and after others in one process', () => {
    // The second of them is lived on two machines.
    for (const seed of [4, 5]) {
      const [first, second] = [simulate('--seed', `${seed}`), simulate('--seed', `${seed}`)];
      const [, digest] = /"digest":"([0-9a-f]{32})"/.exec(first.stdout)!;
      expect(second.stdout).toBe(first.stdout);
      const { stdout } = simulate('--from', '2', '--seeds', `${seed - 1}`, '--workers', '1', '--digests');
      expect(stdout).toContain(`seed ${seed}: ${digest}\n`);
      expect(first.stdout.includes('has lost the lock')).toBe(seed === 5);
    }
  });

  test('are the same each time where the disk fails over a lock that has no place yet, whose name never is', () => {
    const [first, second] = [simulate('--seed', '264'), simulate('--seed', '264')];
    expect(first.stdout).toContain("does not start: EIO: close '/books/lock.");
    expect(second.stdout).toBe(first.stdout);
  });
});
