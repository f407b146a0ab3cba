/**
 * `npm run bench [-- name …] [--smoke] [--save] [--intents <count>]`: runs the benches beside this file, all or by
 * name, one after the other, and prints where they ran, what they measured, and which goals that meets.
 *
 * Every file of this directory that exports `run` is a bench; its name is the file's. `--save` writes each result to
 * bench/results/<date>-<commit>-<name>.json, and `npm run bench -- charts` draws the newest of each as SVG beside
 * them. Exit code 1 where a bench found the service wrong, not where it was slow.
 *
 * One bench alone runs in this process, where a profiler finds it; several run in one each, so that none meets the
 * heap and the compiled code that another left behind. Beside each stands how fast the machine was meanwhile.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runInParallel } from '../src/cli/parallel.ts';
import { readCount } from '../src/cli/usage.ts';
import { readFlags } from '../test/support/flags.ts';
import { drawCharts } from './charts.ts';
import { formatPace, meanPace, measurePace } from './load/pace.ts';
import { findRoot, resultsDirectory } from './load/root.ts';
import {
  type BenchOptions,
  type BenchResult,
  describePlace,
  formatGoals,
  formatPlace,
  formatResult,
  type PacedResult,
  type RunBench,
  type SavedResult,
} from './result.ts';

const SMOKE_WIDTH = 3;
const NOT_BENCHES = new Set(['index', 'result', 'charts', 'svg']);

const { flags, positionals, options } = readFlags('bench', () => {
  const { values: flags, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      smoke: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      intents: { type: 'string' },
      // Tells the result to the process that started this one, instead of printing it.
      apart: { type: 'boolean', default: false },
    },
  });
  const intents = flags.intents === undefined ? undefined : readCount('--intents', flags.intents, 1);
  const options: BenchOptions = { smoke: flags.smoke, intents };
  return { flags, positionals, options };
});

if (positionals.join() === 'charts') {
  for (const file of drawCharts(resultsDirectory())) console.log(`drawn ${file}`);
} else if (flags.apart) {
  // Who disconnects before it is all sent takes the rest along.
  process.send!(await runHere(positionals[0]!), () => process.disconnect());
} else {
  await runBenches(chooseBenches());
}

async function runBenches(names: string[]): Promise<void> {
  console.log(formatPlace(describePlace(findRoot())));
  const results: PacedResult[] = [];
  // Figures of a moment's run mean nothing anyway: several at once make it shorter.
  await runInParallel(names.length, flags.smoke ? SMOKE_WIDTH : 1, async (position) => {
    const name = names[position]!;
    const began = performance.now();
    const place = describePlace(findRoot());
    const before = await measurePace();
    const found = names.length === 1 ? await runHere(name) : await runApart(name);
    const result = { ...found, pace: meanPace([before, await measurePace()]) };
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`\n── ${name}, ${seconds} s${flags.smoke ? ' (smoke: figures mean nothing)' : ''}`);
    console.log(formatResult(result));
    console.log(`  pace: ${formatPace(result.pace)}`);
    if (flags.save) console.log(`\n  saved ${save({ place, ...result })}`);
    if (!result.ok) process.exitCode = 1;
    results.push(result);
  });
  const goals = formatGoals(results);
  if (goals !== '') console.log(`\n── goals\n${goals}`);
}

async function runHere(name: string): Promise<BenchResult> {
  const { run } = (await import(new URL(`./${name}.js`, import.meta.url).href)) as { run: RunBench };
  const result = await run(options);
  return flags.smoke ? { ...result, goals: [] } : result;
}

/** Runs this program with one name, and takes over what it found. */
async function runApart(name: string): Promise<BenchResult> {
  const passedOn = [...(flags.smoke ? ['--smoke'] : []), ...(flags.intents ? ['--intents', flags.intents] : [])];
  const child = fork(fileURLToPath(import.meta.url), [name, '--apart', ...passedOn], {
    serialization: 'advanced',
  });
  let result: BenchResult | undefined;
  child.once('message', (told) => {
    result = told as BenchResult;
  });
  // On a busy machine the end of a process is known before all that it said has been read.
  const [[code]] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  if (result === undefined) throw new Error(`the bench ${name} ended with ${code}`);
  return result;
}

function chooseBenches(): string[] {
  const known = readdirSync(fileURLToPath(new URL('.', import.meta.url)))
    .filter((file) => file.endsWith('.js'))
    .map((file) => file.slice(0, -'.js'.length))
    .filter((name) => !NOT_BENCHES.has(name))
    .sort();
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(`no bench is named ${unknown.join(', ')}; there are: ${known.join(', ')}, and charts by itself`);
    process.exit(2);
  }
  return positionals.length > 0 ? positionals : known;
}

function save(result: SavedResult): string {
  const directory = resultsDirectory();
  mkdirSync(directory, { recursive: true });
  const { date, commit } = result.place;
  const path = join(directory, `${date.slice(0, 10)}-${commit}-${result.name}.json`);
  writeFileSync(path, `${JSON.stringify(result, null, 2)}\n`);
  return path;
}
