/** What a container lets the process use. Threads for all cores of its host stood still together, each time its share was used up. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { coresOfProcess, memoryOfProcess } from '../../src/machine.ts';
import { freshDirectory } from '../support/directory.ts';

const cores = availableParallelism();
const PERIOD = 100_000;

test.each<[string, Record<string, string>, number]>([
  ['of a core and a half', { 'cpu.max': `150000 ${PERIOD}\n` }, 1],
  ['of a tenth of a core', { 'cpu.max': `10000 ${PERIOD}\n` }, 1],
  ['of all cores', { 'cpu.max': `${cores * PERIOD} ${PERIOD}\n` }, cores],
  ['of one core less', { 'cpu.max': `${(cores - 1) * PERIOD} ${PERIOD}\n` }, Math.max(1, cores - 1)],
  ['of more cores than there are', { 'cpu.max': `${9 * cores * PERIOD} ${PERIOD}\n` }, cores],
  ['that is none', { 'cpu.max': `max ${PERIOD}\n` }, cores],
  ['as version 1 writes it', { 'cpu/cpu.cfs_quota_us': '150000\n', 'cpu/cpu.cfs_period_us': '100000\n' }, 1],
  ['that is none in version 1', { 'cpu/cpu.cfs_quota_us': '-1\n', 'cpu/cpu.cfs_period_us': '100000\n' }, cores],
  ['that nobody has written', {}, cores],
])('a quota %s', (_what, files, wanted) => {
  const groups = freshDirectory();
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(groups, file)), { recursive: true });
    writeFileSync(join(groups, file), text);
  }
  expect(coresOfProcess(groups)).toBe(wanted);
});

test('memory without a limit is that of the machine: Node told of exabytes', () => {
  expect(memoryOfProcess()).toBeLessThanOrEqual(totalmem());
  expect(memoryOfProcess()).toBeGreaterThan(2 ** 27);
});
