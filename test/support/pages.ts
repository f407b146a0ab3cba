/** What is written for readers: the README, and those of the rooms it leads to. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory of the README. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), process.env.AYNI_DIST ? '../../../..' : '../../..');

export interface Page {
  /** Its path from there. */
  file: string;
  text: string;
}

export function readPages(): Page[] {
  const rooms = readdirSync(join(ROOT, 'src'), { recursive: true }) as string[];
  const ofRooms = rooms.filter((path) => basename(path) === 'README.md').sort();
  const files = ['README.md', 'bench/README.md', ...ofRooms.map((path) => join('src', path))];
  return files.map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
}

/** The code of all blocks in this language. */
export function blocksOf(pages: readonly Page[], language: string): string[] {
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms');
  return pages.flatMap(({ text }) => [...text.matchAll(block)].map(([, code]) => code!));
}
