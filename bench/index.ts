/**
 * `npm run bench [-- name …] [--smoke] [--save] [--intents <count>]`: runs the benches beside this file, all or by
 * name, one after the other, and prints where they ran, what they measured, and which goals that meets. `--help` lists
 * them.
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
import { readCount, readFilled, UsageError } from '../src/cli/usage.ts';
import { errorText } from '../src/storage/system-error.ts';
import { readFlags } from '../test/support/flags.ts';
import { drawCharts } from './charts.ts';
import { formatPace, measurePace, quickerPace } from './load/pace.ts';
import { findRoot, resultsDirectory } from './load/root.ts';
import { prepare } from './prepare.ts';
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
const NOT_BENCHES = new Set(['index', 'result', 'charts', 'svg', 'prepare']);

const HELP = `npm run bench [-- <name> …] [--smoke] [--save] [--intents <count>]

  http       signed intents over HTTP, durable before the answer: closed loop, on schedule, a lone client
  overload   twice what the service can do, and what another ledger notices of it
  read       lists, records, balances over many intents
  growth     from empty books to millions of intents: rates, memory, pauses, snapshots
  recovery   a start, from the journal and from a snapshot
  engine     decide, apply, journal, sync: no HTTP, no signatures
  proof      hashes, signatures, the threads that make them
  journal    entries to the disk and back
  access     one decision about access
  verify     how fast books are audited
  charts     draws the newest saved results as SVG

Without a name all of them. --smoke: for a moment only, its figures mean nothing. --save keeps the result in bench/results.
--intents: how many the books of growth, read and recovery hold.

npm run bench -- prepare --out <directory> [--url <url>] [--intents <count>] [--claims <count>] [--wallets <count>]

Books and signed intents for a load of your own, at a server that runs (http://127.0.0.1:4000/v2): 100000 of one claim over
1000 wallets, where nobody says otherwise. Needs a ledger that is open, and no symbol usd.
`;

const { flags, positionals, options, wish } = readFlags('bench', () => {
  const { values: flags, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      smoke: { type: 'boolean', default: false },
      save: { type: 'boolean', default: false },
      intents: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
      // Of prepare.
      url: { type: 'string', default: 'http://127.0.0.1:4000/v2' },
      out: { type: 'string' },
      claims: { type: 'string', default: '1' },
      wallets: { type: 'string', default: '1000' },
      // Tells the result to the process that started this one, instead of printing it.
      apart: { type: 'boolean', default: false },
    },
  });
  const intents = flags.intents === undefined ? undefined : readCount('--intents', flags.intents, 1);
  const options: BenchOptions = { smoke: flags.smoke, intents };
  const wish = {
    url: readUrl(flags.url),
    out: flags.out ?? '',
    intents: intents ?? 100_000,
    claims: readCount('--claims', flags.claims, 1, 10_000),
    wallets: readCount('--wallets', flags.wallets, 2, 1_000_000),
  };
  if (positionals.join() === 'prepare' && !flags.help) readFilled('--out', wish.out);
  // Else the charts would be drawn from a moment's run, and nothing in them would say so.
  if (flags.smoke && flags.save) throw new UsageError('--save: not with --smoke, whose figures mean nothing');
  return { flags, positionals, options, wish };
});

if (flags.help) {
  process.stdout.write(HELP);
} else if (positionals.join() === 'prepare') {
  try {
    process.stdout.write(await prepare(wish));
  } catch (error) {
    process.stderr.write(`bench: ${errorText(error as Error)}\n`);
    process.exitCode = 1;
  }
} else if (positionals.join() === 'charts') {
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
    const result = { ...found, pace: quickerPace(before, await measurePace()) };
    const seconds = ((performance.now() - began) / 1000).toFixed(1);
    console.log(`\n── ${name}, ${seconds} s${flags.smoke ? ' (smoke: figures mean nothing)' : ''}`);
    console.log(formatResult(result));
    console.log(`  pace: ${formatPace(result.pace)}`);
    if (!result.ok) process.exitCode = 1;
    if (flags.save) console.log(result.ok ? `\n  saved ${save({ place, ...result })}` : '\n  not saved: see WRONG');
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

function readUrl(text: string): string {
  if (URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new UsageError('--url: must be like http://127.0.0.1:4000/v2');
}

function chooseBenches(): string[] {
  const known = readdirSync(fileURLToPath(new URL('.', import.meta.url)))
    .filter((file) => file.endsWith('.js'))
    .map((file) => file.slice(0, -'.js'.length))
    .filter((name) => !NOT_BENCHES.has(name))
    .sort();
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    console.error(
      `no bench is named ${unknown.join(', ')}; there are: ${known.join(', ')}, and charts or prepare by itself`,
    );
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
