/** Books that are only shown: whatever comes of that, none of their files stays open. */
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { showBooks } from '../../src/books.ts';
import { KEY_FILE } from '../../src/storage/key-file.ts';
import { freshDirectory } from '../support/directory.ts';
import { QUIET } from '../support/quiet.ts';
import { unopened } from '../support/refused.ts';

const SEGMENTS = ['journal-00000000000000000001.ayj', 'journal-00000000000000000007.ayj'];

/** Files of the directory that this process has open. */
function openIn(directory: string): string[] {
  const links = readdirSync('/proc/self/fd').map((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`);
    } catch {
      // That of the look itself.
      return '';
    }
  });
  return links.filter((path) => path.startsWith(directory));
}

test.each<[string, (directory: string) => void, RegExp]>([
  ['without a key', () => {}, /server\.key/],
  ['with a file that is no key', (directory) => writeFileSync(join(directory, KEY_FILE), 'none\n'), /server\.key/],
  ['damaged', makeKey, /damaged/],
])('books %s are not shown, and let go', (_, spoil, said) => {
  const directory = freshDirectory();
  spoil(directory);
  for (const name of SEGMENTS) writeFileSync(join(directory, name), Buffer.alloc(4096, 1));
  expect(() => showBooks(directory, '', QUIET)).toThrow(said);
  expect(openIn(directory)).toEqual([]);
});

/** That of a server which has found nothing there yet. */
function makeKey(directory: string): void {
  expect(() => unopened(directory)).toThrow('should not have opened');
}
