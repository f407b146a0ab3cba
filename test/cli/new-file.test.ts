/** What tools write for whoever called them: whole or not at all, and never in the place of another file. */
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeNew } from '../../src/cli/new-file.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { Power, PowerCut } from '../engine/power.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { freshDirectory } from '../support/directory.ts';

/** So long that it is written before the next is asked for. */
const PIECE = 'a'.repeat(1 << 20);
const OUT = '/out/story.json';

function outDisk(seed: number): FakeDisk {
  const disk = new FakeDisk(seed);
  disk.mkdir('/out');
  return disk;
}

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

test('is refused where it cannot have its name before the first piece is asked for: a story takes long', () => {
  const directory = freshDirectory();
  const [path, link, nowhere] = ['story.json', 'link.json', 'none/story.json'].map((name) => join(directory, name));
  writeFileSync(path!, 'of another');
  symlinkSync('nothing', link!);
  const pieces: Iterable<string> = {
    [Symbol.iterator]() {
      throw new Error('all books were read');
    },
  };
  expect(() => writeNew(path!, pieces)).toThrow(`${path} exists already`);
  expect(() => writeNew(link!, pieces)).toThrow(`${link} exists already`);
  expect(() => writeNew(nowhere!, pieces)).toThrow('ENOENT');
  expect(readFileSync(path!, 'utf8')).toBe('of another');
  expect(readdirSync(directory)).toEqual(['link.json', 'story.json']);
});

test('may have a name as long as a name can be', () => {
  const directory = freshDirectory();
  const name = 'n'.repeat(255);
  writeNew(join(directory, name), ['text']);
  expect(readdirSync(directory)).toEqual([name]);
  expect(() => writeNew(join(directory, `${name}n`), ['text'])).toThrow('ENAMETOOLONG');
  expect(readdirSync(directory)).toEqual([name]);
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

// Into a directory that may be written to and not read it was made, and told as failed.
test.each([
  ['syncDirectory', 'EACCES'],
  ['syncDirectory', 'EIO'],
  ['sync', 'EIO'],
  ['close', 'EIO'],
  ['link', 'EIO'],
  ['unlink', 'EIO'],
] as const)('of one whose %s fails (%s) nothing stays', (call, code) => {
  const disk = outDisk(1);
  disk.inject({ call, code });
  expect(() => writeNew(OUT, ['text'], disk)).toThrow(code);
  expect(disk.namesIn('/out')).toEqual([]);
});

test('where files cannot have two names it gets its own all the same, and of one that cannot have it nothing stays', () => {
  for (const failing of [null, 'rename', 'syncDirectory'] as const) {
    const disk = outDisk(1);
    disk.inject({ call: 'link', code: 'EPERM' });
    if (failing !== null) disk.inject({ call: failing, code: 'EIO' });
    const write = () => writeNew(OUT, ['text'], disk);
    if (failing === null) write();
    else expect(write).toThrow('EIO');
    expect(disk.namesIn('/out')).toEqual(failing === null ? ['story.json'] : []);
  }
});

test('power that goes at any call leaves it whole, or not there; later, whole', () => {
  const text = 'a'.repeat(2000);
  const write = (disk: Disk) => writeNew(OUT, [text], disk);
  const whole = new Power(outDisk(0));
  write(whole);
  for (let seed = 0; seed < 16; seed++) {
    for (let cutAt = 1; cutAt <= whole.count + 1; cutAt++) {
      const disk = outDisk(seed);
      const isCut = cutAt <= whole.count;
      if (isCut) expect(() => write(new Power(disk, cutAt))).toThrow(PowerCut);
      else {
        write(disk);
        disk.crash();
      }
      const what = `seed ${seed}, call ${cutAt}`;
      if (!isCut) expect(disk.namesIn('/out'), what).toContain('story.json');
      if (disk.exists(OUT)) expect(disk.bytesOf(OUT).toString(), what).toBe(text);
    }
  }
});
