/** What the READMEs name is there: pages, sections, files, commands and flags. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configHelp } from '../../src/config.ts';
import { blocksOf, type Page, ROOT, readPages } from '../support/pages.ts';

const pages = readPages();
const readme = pages[0]!;

const withoutBlocks = (text: string) => text.replace(/^```.*?^```/gms, '');
const withoutCode = (text: string) => withoutBlocks(text).replace(/`[^`\n]*`/g, '');

/** Names of a page's sections, as GitHub makes them of headings: what is said twice gets a number. */
function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading] of withoutBlocks(text).matchAll(/^#+ (.+)$/gm)) {
    const slug = heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Links of a page that lead nowhere. */
function deadLinks({ file, text }: Page): string[] {
  const links = [...withoutCode(text).matchAll(/\]\(([^()\s]+)\)/g)].map(([, link]) => link!);
  return links.filter((link) => {
    if (/^https?:/.test(link)) return false;
    const [path, anchor] = link.split('#') as [string, string | undefined];
    const target = path === '' ? file : normalize(join(dirname(file), path));
    if (!existsSync(join(ROOT, target))) return true;
    if (anchor === undefined) return false;
    return !anchorsOf(target === file ? text : readFileSync(join(ROOT, target), 'utf8')).has(anchor);
  });
}

describe.each(pages)('$file', (page) => {
  test('a link leads nowhere', () => {
    expect(deadLinks(page)).toEqual([]);
  });

  test('a file that it names is not there', () => {
    const spans = [...withoutBlocks(page.text).matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);
    const named = spans.filter((span) => /^[a-z][\w-]*\/[\w./-]*$/.test(span));
    const missing = named.filter((path) => !existsSync(join(ROOT, path)) && !existsSync(join(ROOT, 'src', path)));
    expect(missing).toEqual([]);
  });

  test('a command that it names is not there', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    const named = [...page.text.matchAll(/npm run (?:-s )?([\w:-]+)/g)].map(([, name]) => name!);
    expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
  });
});

test('a link that leads nowhere went unseen', () => {
  const text = '# A page\n\n## A `word`, twice\n\n## A word twice\n\n```\n## no section\n```\n\n';
  const links = (...targets: string[]) => targets.map((target) => `[x](${target})`).join(' ');
  const sound = [
    '#a-word-twice',
    '#a-word-twice-1',
    '../../README.md#run-it',
    'backup.ts',
    '../../LICENSE',
    'https://a.b',
  ];
  const dead = ['#a-word', '#no-section', '../../README.md#tokens', 'gone.md', '../README.md'];
  expect(deadLinks({ file: 'src/cli/README.md', text: text + links(...sound, ...dead) })).toEqual(dead);
});

test('the table of flags and the server know different ones', () => {
  const flagsIn = (text: string) => [...text.matchAll(/--[a-z][a-z-]*/g)].map(([flag]) => flag);
  const rows = readme.text.split('\n').filter((line) => line.startsWith('| `--'));
  const told = rows.flatMap((row) => flagsIn(row.split('|')[1]!));
  const known = configHelp()
    .split('\n')
    .flatMap((line) => /^ {2}(--[a-z-]+)/.exec(line)?.[1] ?? []);
  expect(told.sort()).toEqual(known.sort());
});

test('an example gives the server a flag that it has not', () => {
  const commands = blocksOf(pages, 'sh').flatMap((code) => code.replaceAll('\n  ', ' ').split('\n'));
  const starts = commands.filter((line) => line.startsWith('npm start -- '));
  expect(starts.length).toBeGreaterThan(0);
  for (const start of starts) {
    for (const [flag] of start.matchAll(/--[a-z][a-z-]+/g)) expect(configHelp()).toContain(`  ${flag} `);
  }
});
