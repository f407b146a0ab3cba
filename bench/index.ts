/**
 * `npm run bench [-- name …] [--smoke] [--save]`: runs the benches beside this file, all or by name, one
 * after the other, and prints where they ran and what they measured.
 *
 * Every file of this directory that exports `run` is a bench; its name is the file's. `--save` writes each
 * result to bench/results/<date>-<commit>-<name>.json. Exit code 1 where a bench found the service wrong.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { findRoot } from './load/root.ts';
import {
  type BenchPlace,
  type BenchResult,
  describePlace,
  formatPlace,
  formatResult,
  type RunBench,
} from './result.ts';

const NOT_BENCHES = new Set(['index', 'result']);

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { smoke: { type: 'boolean', default: false }, save: { type: 'boolean', default: false } },
});

const known = listBenches();
const unknown = positionals.filter((name) => !known.includes(name));
if (unknown.length > 0) {
  console.error(`no bench is named ${unknown.join(', ')}; there are: ${known.join(', ')}`);
  process.exit(2);
}

for (const name of positionals.length > 0 ? positionals : known) {
  const run = await loadBench(name);
  if (!run) continue;
  const place = describePlace(findRoot());
  console.log(`\n── ${name}${flags.smoke ? ' (smoke: figures mean nothing)' : ''}\n${formatPlace(place)}`);
  const result = await run({ smoke: flags.smoke });
  console.log(formatResult(result));
  if (flags.save) console.log(`\nsaved ${save(place, result)}`);
  if (!result.ok) process.exitCode = 1;
}

function listBenches(): string[] {
  return readdirSync(fileURLToPath(new URL('.', import.meta.url)))
    .filter((file) => file.endsWith('.js'))
    .map((file) => file.slice(0, -'.js'.length))
    .filter((name) => !NOT_BENCHES.has(name))
    .sort();
}

async function loadBench(name: string): Promise<RunBench | null> {
  const module = (await import(new URL(`./${name}.js`, import.meta.url).href)) as { run?: RunBench };
  return module.run ?? null;
}

function save(place: BenchPlace, result: BenchResult): string {
  const directory = join(findRoot(), 'bench', 'results');
  mkdirSync(directory, { recursive: true });
  const path = join(directory, `${place.date.slice(0, 10)}-${place.commit}-${result.name}.json`);
  writeFileSync(path, `${JSON.stringify({ place, ...result }, null, 2)}\n`);
  return path;
}
