/** What tools write for whoever called them: whole or not at all, and never in the place of another file. */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeNew } from '../../src/cli/new-file.ts';
import { freshDirectory } from '../support/directory.ts';

/** So long that it is written before the next is asked for. */
const PIECE = 'a'.repeat(1 << 20);

test('has its name when all of it is there: a process that was killed left a part of a story under it', () => {
  const directory = freshDirectory();
  const path = join(directory, 'story.json');
  function* pieces() {
    yield PIECE;
    expect([existsSync(path), readdirSync(directory).length]).toEqual([false, 1]);
    yield 'b';
  }
  writeNew(path, pieces());
  expect(readFileSync(path, 'utf8')).toBe(`${PIECE}b`);
  expect(readdirSync(directory)).toEqual(['story.json']);
  expect(statSync(path)).toMatchObject({ nlink: 1, mode: 0o100600 });
});

test('is not put in the place of a file that came meanwhile, and nothing of it stays', () => {
  const directory = freshDirectory();
  const path = join(directory, 'story.json');
  function* pieces() {
    yield PIECE;
    writeFileSync(path, 'of another');
  }
  expect(() => writeNew(path, pieces())).toThrow(`${path} exists already`);
  expect(readFileSync(path, 'utf8')).toBe('of another');
  expect(readdirSync(directory)).toEqual(['story.json']);
});

test('of one that cannot be finished nothing stays', () => {
  const directory = freshDirectory();
  function* pieces() {
    yield PIECE;
    throw new Error('no more');
  }
  expect(() => writeNew(join(directory, 'story.json'), pieces())).toThrow('no more');
  expect(readdirSync(directory)).toEqual([]);
});
