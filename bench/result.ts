/**
 * What a bench gives back, where it ran, and how both are printed.
 *
 * A result is plain data: it is written as JSON beside the commit it was measured on, and drawn from there.
 * Numbers keep their full precision here; rounding is done when they are printed.
 */
import { execFileSync } from 'node:child_process';
import { cpus, loadavg } from 'node:os';
import type { Bench } from 'tinybench';
import { type Pace, slownessOf } from './load/pace.ts';

/** What every file in bench/ exports as `run`. */
export type RunBench = (options: BenchOptions) => Promise<BenchResult>;

export interface BenchOptions {
  /** Run each part for a moment only: it shows that the bench works, its figures mean nothing. */
  smoke: boolean;
  /** How many intents the books hold, for the benches that ask what that costs; undefined is the bench's own choice. */
  intents?: number | undefined;
}

export interface BenchResult {
  name: string;
  tables: BenchTable[];
  /** What `npm run bench -- charts` draws. */
  charts?: BenchChart[];
  goals: BenchGoal[];
  /** Sentences for the reader: what was missing, what the figures include. */
  notes: string[];
  /** False where the bench found the service wrong (lost intents, money that does not add up), not where it was slow. */
  ok: boolean;
}

/** With the machine's pace, the quicker of before and after. */
export interface PacedResult extends BenchResult {
  pace: Pace;
}

/** As it lies in bench/results. */
export interface SavedResult extends PacedResult {
  place: BenchPlace;
}

/** Units stand in the column names; null is "not measured". */
export interface BenchTable {
  title: string;
  columns: string[];
  rows: BenchCell[][];
}

export type BenchCell = string | number | null;

/** A picture of some figures, as data. Units stand in the labels. */
export type BenchChart = LineChart | BarChart;

export interface LineChart {
  kind: 'lines';
  /** Of the file it is drawn to. */
  name: string;
  title: string;
  x: string;
  y: string;
  /** Whether y goes up in powers of ten. */
  log?: boolean;
  lines: { name: string; points: [x: number, y: number][] }[];
}

/** Bars of parts that add up, one bar a row. */
export interface BarChart {
  kind: 'bars';
  name: string;
  title: string;
  x: string;
  bars: { name: string; parts: [name: string, value: number][] }[];
}

/** One goal, and what was measured for it. */
export interface BenchGoal {
  id: string;
  sign: '≥' | '≤';
  wanted: number;
  units: string;
  measured: number;
  /** Which of the machine's paces (load/pace.ts) the figure goes with; absent where it is no matter of processors. */
  pace?: keyof Pace | undefined;
}

/** A goal that is a figure to be reached, in units that name themselves. */
export function atLeast(id: string, units: string, measured: number, wanted: number, pace?: keyof Pace): BenchGoal {
  return { id, sign: '≥', wanted, units, measured, pace };
}

/** A goal that is a figure not to be passed. */
export function atMost(id: string, units: string, measured: number, wanted: number, pace?: keyof Pace): BenchGoal {
  return { id, sign: '≤', wanted, units, measured, pace };
}

function isMet({ sign, wanted }: BenchGoal, measured: number): boolean {
  return sign === '≥' ? measured >= wanted : measured <= wanted;
}

/** What would have been measured at the pace for which the goals were set, if all of it goes with the processors. */
function atGoalsPace({ sign, measured, pace: cores }: BenchGoal, pace: Pace): number | null {
  if (cores === undefined) return null;
  const slowness = slownessOf(pace)[cores];
  return sign === '≥' ? measured * slowness : measured / slowness;
}

/** Where and when a bench ran. Load is the machine's one-minute average before the run, of which benches before this one are a part. */
interface BenchPlace {
  date: string;
  commit: string;
  cpu: string;
  cores: number;
  disk: string;
  node: string;
  loadBefore: number;
  /** Settings of the service that came from the environment; results from before they were noted have none. */
  settings?: string[];
}

/** The facts of this machine; `directory` says which disk is meant. Facts that cannot be had read `unknown`. */
export function describePlace(directory: string): BenchPlace {
  const processors = cpus();
  return {
    date: new Date().toISOString(),
    commit: describeCommit(directory),
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cores: processors.length,
    disk: describeDisk(directory),
    node: process.version,
    loadBefore: loadavg()[0] ?? 0,
    settings: describeSettings(),
  };
}

/** Figures without them would not be understood: AYNI_DURABILITY=none waits for no disk. */
function describeSettings(): string[] {
  const settings = Object.entries(process.env).filter(([name]) => name.startsWith('AYNI_') && name !== 'AYNI_DIST');
  return settings.map((each) => each.join('='));
}

/** Short commit hash, `+` appended where files under version control differ from it. */
function describeCommit(directory: string): string {
  const commit = ask('git', ['-C', directory, 'rev-parse', '--short', 'HEAD']);
  const changes = ask('git', ['-C', directory, 'status', '--porcelain', '--untracked-files=no']);
  return changes === '' || changes === 'unknown' ? commit : `${commit}+`;
}

function describeDisk(directory: string): string {
  const [source, type] = (ask('df', ['--output=source,fstype', directory]).split('\n')[1] ?? '').trim().split(/\s+/);
  return source && type ? `${source} ${type}` : 'unknown';
}

function ask(command: string, parameters: string[]): string {
  try {
    return execFileSync(command, parameters, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'unknown';
  }
}

/** The value below which `share` (0…1) of the sorted values lie; NaN for none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Runs what was added to `bench`, and tells how long each part takes. */
export async function runParts(title: string, bench: Bench): Promise<BenchTable> {
  await bench.run();
  const rows = bench.tasks.map(({ name, result }): BenchCell[] => {
    if (!('latency' in result)) return [name, null, null];
    return [name, result.latency.p50 * 1000, result.throughput.mean];
  });
  return { title, columns: ['part', 'median µs', 'per second'], rows };
}

/** The whole result as text for a terminal. */
export function formatResult(result: BenchResult): string {
  const lines: string[] = [];
  for (const table of result.tables) lines.push('', table.title, ...formatTable(table));
  if (result.notes.length > 0) lines.push('');
  for (const note of result.notes) lines.push(`  note: ${note}`);
  return lines.join('\n');
}

/** One table of all goals, '' where there are none. */
export function formatGoals(results: readonly PacedResult[]): string {
  const verdict = (goal: BenchGoal, measured: number) => (isMet(goal, measured) ? 'met' : 'missed');
  const rows = results.flatMap(({ name, goals, pace }) =>
    goals.map((goal): BenchCell[] => {
      const { id, sign, wanted, units, measured } = goal;
      const paced = atGoalsPace(goal, pace);
      const atPace = paced === null ? '' : `${formatCell(paced)} ${verdict(goal, paced)}`;
      return [
        id,
        name,
        `${sign} ${formatCell(wanted)} ${units}`,
        formatCell(measured),
        verdict(goal, measured),
        atPace,
      ];
    }),
  );
  const table = { title: '', columns: ['goal', 'bench', 'wanted', 'measured', '', 'at the goals’ pace'], rows };
  return rows.length === 0 ? '' : formatTable(table).join('\n');
}

export function formatPlace(place: BenchPlace): string {
  return [
    `commit ${place.commit} · node ${place.node} · ${place.date}`,
    `${place.cpu} · ${place.cores} cores · disk ${place.disk} · load ${place.loadBefore.toFixed(2)} before the run`,
    ...(place.settings?.length ? [`set by the environment: ${place.settings.join(' ')}`] : []),
  ].join('\n');
}

function formatTable(table: BenchTable): string[] {
  const cells = [table.columns, ...table.rows.map((row) => row.map(formatCell))];
  const widths = table.columns.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const numeric = table.columns.map((_, column) => table.rows.every((row) => typeof row[column] !== 'string'));
  const lines = cells.map((row) =>
    row.map((cell, column) => (numeric[column] ? cell.padStart(widths[column]!) : cell.padEnd(widths[column]!))),
  );
  lines.splice(
    1,
    0,
    widths.map((width) => '─'.repeat(width)),
  );
  return lines.map((row) => `  ${row.join('  ').trimEnd()}`);
}

function formatCell(cell: BenchCell): string {
  if (cell === null || Number.isNaN(cell)) return '–';
  if (typeof cell === 'string') return cell;
  if (Number.isInteger(cell) || Math.abs(cell) >= 1000)
    return Math.round(cell).toLocaleString('en').replaceAll(',', ' ');
  return cell.toFixed(Math.abs(cell) >= 100 ? 0 : Math.abs(cell) >= 1 ? 2 : 3);
}
