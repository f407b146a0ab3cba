/** How a process of ours ends: with its code, and with room for those that the end waits for. */
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const MODULE = new URL('../../src/exit.js', import.meta.url).href;

test('a thread that compiles asked for a collection, the exit waited for that thread, and the process never ended', () => {
  const script = `import(${JSON.stringify(MODULE)}).then(({ exitProcess }) => {
    console.log('the exit begins');
    exitProcess(7);
  });`;
  const { stdout, status } = spawnSync(process.execPath, ['--trace-gc', '-e', script], { encoding: 'utf8' });
  expect(status).toBe(7);
  expect(stdout.split('the exit begins')[1]).toContain('Mark-Compact');
});

test('where the collection cannot be had by its name the process ends with its code all the same', () => {
  const script = `import(${JSON.stringify(MODULE)}).then(({ exitProcess }) => exitProcess(7));`;
  const { status, stderr } = spawnSync(process.execPath, ['--expose-gc-as=other', '-e', script], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([7, '']);
});
