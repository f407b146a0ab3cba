/**
 * Bugs put into the server on purpose, one at a time, to see that lives notice them, and tests what no life can see. Works
 * on a copy of the tree; what it saw stands in PLANTED.md.
 *
 *     npm run -s build && node dist/test/simulate/planted.js            all of them
 *     npm run -s build && node dist/test/simulate/planted.js 'no sync'  those whose names hold one of these
 *     npm run -s build && node dist/test/simulate/planted.js --check    none, but each must have its place
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, stripVTControlCharacters } from 'node:util';
import { type Edit, PLANTS, TESTED_PLANTS } from './plants.ts';

interface Planting {
  readonly name: string;
  /** The test that is to notice it; '' for lives. */
  readonly test: string;
  readonly edits: readonly Edit[];
}

const PLANTINGS: readonly Planting[] = [
  ...PLANTS.map(([name, ...edits]) => ({ name, test: '', edits })),
  ...TESTED_PLANTS.map(([name, test, ...edits]) => ({ name, test, edits })),
];

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const SEEDS = 1200;
const PATIENCE_MS = 900_000;
const OPTIONS = { noUnusedLocals: false, noUnusedParameters: false, sourceMap: false };

/** A copy of the tree in which anything may be spoilt. */
function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'ayni-planted-'));
  for (const name of ['src', 'bench', 'test', 'bundle.js', 'package.json', 'vitest.config.ts']) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  const config = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'));
  Object.assign(config.compilerOptions, OPTIONS);
  writeFileSync(join(copy, 'tsconfig.json'), JSON.stringify(config));
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Only what an edit changes is compiled again. */
function compile(copy: string): void {
  const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', copy], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`it does not compile: ${stdout.slice(0, 400)}`);
  // What tests start as a process.
  spawnSync(process.execPath, ['bundle.js'], { cwd: copy });
}

/** What noticed the bug and what it said, or ''. */
function firstFailure(copy: string, test: string): string {
  return test === '' ? firstSeed(copy) : firstTest(copy, test);
}

/** In one process, so that the seed found is the first. */
function firstSeed(copy: string): string {
  const main = join(copy, 'dist/test/simulate/main.js');
  const args = [main, '--from', '1', '--seeds', String(SEEDS), '--failures', '1', '--workers', '1'];
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: PATIENCE_MS });
  const found = /seed (\d+) failed: (.*)/.exec(stdout);
  if (found !== null) return `${found[1]} | ${found[2]}`;
  return / 0 failed/.test(stdout) ? '' : `? | ${stdout.slice(-400)}`;
}

function firstTest(copy: string, test: string): string {
  // Some bugs make a test wait for ever.
  const options = ['--maxWorkers=1', '--bail=1', '--testTimeout=60000', '--hookTimeout=60000'];
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...options, `dist/test/${test}.test.js`];
  const how = { encoding: 'utf8', timeout: PATIENCE_MS, cwd: copy } as const;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, how);
  if (status === 0) return '';
  const told = stripVTControlCharacters(stdout + stderr);
  const found = /FAIL .*?\.test\.js > (.*)/.exec(told);
  return `${test} | ${found === null ? told.slice(-400) : found[1]}`;
}

/** What an edit spoils, as it was; throws where its place is not there, or there twice. */
function plant(copy: string, edits: readonly Edit[]): () => void {
  const before = new Map<string, string>();
  const restore = () => {
    for (const [path, text] of before) writeFileSync(path, text);
  };
  for (const [file, find, replace] of edits) {
    const path = join(copy, file);
    const text = readFileSync(path, 'utf8');
    if (!before.has(path)) before.set(path, text);
    if (text.split(find).length !== 2) {
      restore();
      throw new Error(`${file} does not hold this once: ${find}`);
    }
    writeFileSync(
      path,
      text.replace(find, () => replace),
    );
  }
  return restore;
}

/** Plants one bug and says what came of it; false where nobody noticed. */
function tryOne(copy: string, { name, test, edits }: Planting): boolean {
  const restore = plant(copy, edits);
  try {
    compile(copy);
    const failure = firstFailure(copy, test);
    process.stdout.write(`| ${name} | ${failure || `- | NOT CAUGHT ${test === '' ? `in ${SEEDS} lives` : ''}`} |\n`);
    return failure !== '';
  } finally {
    restore();
  }
}

function main(): void {
  const { values, positionals } = parseArgs({ options: { check: { type: 'boolean' } }, allowPositionals: true });
  const copy = copyTree();
  try {
    // Every edit has its place before the first of them is lived with.
    for (const { edits } of PLANTINGS) plant(copy, edits)();
    if (values.check === true) return;
    const wanted = PLANTINGS.filter(
      ({ name }) => positionals.length === 0 || positionals.some((each) => name.includes(each)),
    );
    const missed = wanted.filter((each) => !tryOne(copy, each));
    if (missed.length > 0) process.exitCode = 1;
  } finally {
    rmSync(copy, { recursive: true });
  }
}

main();
