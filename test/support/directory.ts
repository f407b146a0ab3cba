/** A directory that a test makes for itself, or a file for its tests. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/** A directory that goes when the running test has ended, or where none runs, those of the file or describe. Not in hooks. */
export function freshDirectory(): string {
  const directory = makeDirectory();
  const remove = () => rmSync(directory, { recursive: true, force: true });
  if (TestRunner.getCurrentTest() === undefined) afterAll(remove);
  else onTestFinished(remove);
  return directory;
}

/** A copy of a directory, as whoever copies files has it. */
export function directoryCopy(directory: string): string {
  const copy = freshDirectory();
  cpSync(directory, copy, { recursive: true });
  return copy;
}

/** One that whoever makes it takes away. */
export function makeDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'ayni-test-'));
}
