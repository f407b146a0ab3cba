/** A bench that is killed leaves gigabytes: the next one takes them away, and nobody else's. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeScratchDirectory } from '../../bench/load/root.ts';
import { freshDirectory } from '../support/directory.ts';

test('what a bench that was killed has left stays, or what another one is at goes', () => {
  const above = freshDirectory();
  const { pid: ended } = spawnSync(process.execPath, ['-e', '']);
  const kept = [`bench-${process.pid}-abc`, 'bench-results', 'build'];
  for (const name of [...kept, `bench-${ended}-abc`]) {
    mkdirSync(join(above, name));
    writeFileSync(join(above, name, 'file'), '');
  }
  const scratch = makeScratchDirectory(above);
  expect(
    readdirSync(above)
      .map((name) => join(above, name))
      .sort(),
  ).toEqual([...kept.map((name) => join(above, name)), scratch].sort());
});
