/**
 * Where the work tree is. Compiled files lie at different depths in different build directories, and some
 * things they need (Lua scripts, a scratch directory on the same disk) are not compiled along.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory with package.json above this file. */
export function findRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const above = dirname(directory);
    if (above === directory) throw new Error('no package.json above the bench: where is the work tree?');
    directory = above;
  }
  return directory;
}

/**
 * A fresh directory on the disk of the work tree (/tmp may be memory, which has no disk to wait for). What benches that were
 * killed have left there goes.
 */
export function makeScratchDirectory(above = join(findRoot(), '.build')): string {
  mkdirSync(above, { recursive: true });
  for (const name of readdirSync(above)) {
    const owner = /^bench-(\d+)-/.exec(name)?.[1];
    if (owner !== undefined && !isAlive(Number(owner))) rmSync(join(above, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(above, `bench-${process.pid}-`));
}

/** Whether there is a process of this number, whoever's it is. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Where results are kept, and the charts drawn from them. */
export function resultsDirectory(): string {
  return join(findRoot(), 'bench', 'results');
}
