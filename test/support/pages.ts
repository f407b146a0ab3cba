/** What is written for readers: the README, and the pages of docs/. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The directory of the README. */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), process.env.AYNI_DIST ? '../../../..' : '../../..');

export interface Page {
  /** Its path from there. */
  file: string;
  text: string;
}

export function readPages(): Page[] {
  const docs = readdirSync(join(ROOT, 'docs')).filter((name) => name.endsWith('.md'));
  const files = ['README.md', ...docs.sort().map((name) => `docs/${name}`)];
  return files.map((file) => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }));
}

/** The code of all blocks in this language. */
export function blocksOf(pages: readonly Page[], language: string): string[] {
  const block = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms');
  return pages.flatMap(({ text }) => [...text.matchAll(block)].map(([, code]) => code!));
}
