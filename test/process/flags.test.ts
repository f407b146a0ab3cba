/** Programs beside the suite, started with what they cannot use: a check that does nothing must not end as if all were well. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { PATIENCE_MS } from '../support/kit.ts';
import { oneOfEach } from '../support/long.ts';

const BAD: [program: string, flag: string, value: string][] = [
  // No lives were lived, and none of them had failed.
  ['simulate/main', '--seeds', 'many'],
  // Life NaN was lived.
  ['simulate/main', '--seed', 'x'],
  ['simulate/main', '--from', ''],
  ['simulate/main', '--workers', '0'],
  ['simulate/main', '--failures', 'x'],
  // It went on for ever.
  ['simulate/main', '--minutes', '2m'],
  ['fuzz/index', '--minutes', '2m'],
  ['fuzz/index', '--cases', 'x'],
  ['fuzz/index', '--seed', 'x'],
  ['fuzz/index', '--only', 'nothing'],
  ['process/kills', '--rounds', 'x'],
  ['process/kills', '--seed', 'x'],
  ['process/soak', '--minutes', '2m'],
  ['process/soak', '--wave', '0'],
  ['process/soak', '--seed', 'x'],
  ['simulate/main', '--colour', 'red'],
  ['fuzz/index', '--colour', 'red'],
  ['process/kills', '--colour', 'red'],
  ['process/soak', '--colour', 'red'],
  ['../bench/index', '--intents', '2m'],
  ['../bench/index', '--colour', 'red'],
];

/** Of each program one that it does not know, and one that it cannot use. */
const taken = oneOfEach(BAD, ([program, flag]) => `${program} ${flag === '--colour'}`);

test.each(taken)('%s does not start with %s %s, and names it', (program, flag, value) => {
  const script = fileURLToPath(new URL(`../${program}.js`, import.meta.url));
  const how = { encoding: 'utf8', timeout: PATIENCE_MS } as const;
  const { status, stderr } = spawnSync(process.execPath, [script, flag, value], how);
  expect([status, stderr]).toEqual([2, expect.stringContaining(flag)]);
  expect(stderr, 'a message for a person, not a stack').not.toMatch(/\n\s+at /);
});
