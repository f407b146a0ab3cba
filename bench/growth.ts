/**
 * `npm run bench -- growth [--intents <count>]`: whether the last intents cost what the first did. Books grow from
 * wallets alone to so many one-claim intents of about 1 KB of JSON, in ten steps. After each: throughput and processor
 * time of the step, memory, and a snapshot taken under load, with how long the event loop was kept meanwhile. At last
 * the engine has turns on those books and on books without intents: what the machine does meanwhile it does to both.
 *
 * Then the service itself, over HTTP, on books without intents and on those: closed loop, both in turns, and on schedule
 * at half that rate, without a snapshot and while one is taken. What was answered 201 is held to the books, as http.ts
 * does it.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause, setImmediate } from 'node:timers/promises';
import { countingEntries, findRejected } from './load/books.ts';
import { driveClosedLoop, driveOpenLoop, type LoadFigures, refusedOf } from './load/drive.ts';
import {
  closeHouse,
  fillHouse,
  fillTransfers,
  type House,
  makeTransfers,
  openHouse,
  SLICE,
  submitAll,
  takeHouseSnapshot,
} from './load/house.ts';
import { prepareRequests, type RequestPlan, removeRequests } from './load/requests.ts';
import { makeScratchDirectory } from './load/root.ts';
import { clientOf, type Service, type ServiceFigures, startService } from './load/service.ts';
import { readUsage } from './load/usage.ts';
import { atLeast, atMost, type BenchCell, type BenchChart, type BenchOptions, type BenchResult } from './result.ts';

/** `signers`: keys that sign in the load over HTTP; the wallets are all that there are. */
const FULL = {
  intents: 1_000_000,
  steps: 10,
  warmup: 30_000,
  pacedMs: 3000,
  seconds: 8,
  rounds: 5,
  roundIntents: 20_000,
  roundSeconds: 4,
  roundRequests: 60_000,
  signers: 1000,
};
const SMOKE: typeof FULL = {
  ...{ intents: 2000, steps: 2, warmup: 500, pacedMs: 100, seconds: 1, signers: 20 },
  ...{ rounds: 1, roundIntents: 200, roundSeconds: 1, roundRequests: 300 },
};
/** Intents handed in at a time where pauses are measured: making them must not be the longest pause. */
const PACED_SLICE = 32;
const LOOP_RESOLUTION_MS = 1;

/** After one step. Pauses are milliseconds beyond the loop's own turn of PACED_SLICE intents or less. */
interface Step {
  stored: number;
  perSecond: number;
  cpu: number;
  residentBytes: number;
  heapBytes: number;
  pauseP999: number;
  pauseMax: number;
  snapshot: { ms: number; bytes: number; held: number; pauseP999: number; pauseMax: number };
}

/** As fast as answers come; `p99` is that of the middle one of the rounds. */
interface Closed {
  perSecond: number;
  p99: number;
  cpu: number;
  residentBytes: number;
  /** Refused or lost. */
  missed: number;
}

interface HttpFigures extends Closed {
  /** On schedule at half the rate: without a snapshot, and while one is taken. */
  quiet: Paced;
  snapshot: Paced;
}

interface Paced {
  rate: number;
  p50: number;
  p99: number;
  p999: number;
  missed: number;
  loopLate: ServiceFigures['loopLateMs'];
  /** How long the snapshot took; null where there was none. */
  snapshotSeconds: number | null;
}

const missedOf = (load: LoadFigures) => refusedOf(load) + load.lost;

export async function run({ smoke, intents: asked }: BenchOptions): Promise<BenchResult> {
  const sizes = smoke ? SMOKE : FULL;
  const intents = asked ?? sizes.intents;
  const wallets = Math.ceil(intents / 5);
  const scratch = makeScratchDirectory();
  try {
    await warmUp(join(scratch, 'warmup'), sizes.warmup);
    const full = join(scratch, 'full');
    const { base, steps, engineShare } = await grow(scratch, full, intents, wallets, sizes);
    const empty = join(scratch, 'empty');
    await fillEmpty(empty, wallets);
    const [atNone, atAll] = await measureHttp({ scratch, directories: [empty, full], wallets, sizes });
    return report({ sizes, intents, wallets, base, steps, engineShare, atNone: atNone!, atAll: atAll! });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Lets V8 compile what will run, so that the first step is not the slowest. */
async function warmUp(directory: string, intents: number): Promise<void> {
  const house = await openHouse(directory);
  await fillHouse(house, 1000);
  await fillTransfers(house, intents, 1000);
  await takeHouseSnapshot(house);
  await closeHouse(house);
}

// ---------------------------------------------------------------- the engine

/** Books that grow; `made` counts the intents in them, however they came. */
interface Growing {
  house: House;
  wallets: number;
  made: number;
}

/**
 * Grows books in `directory` and leaves them closed. `base`: resident bytes before the first intent; `engineShare`: the
 * engine's throughput in the end, of what it is on books without intents.
 */
async function grow(scratch: string, directory: string, intents: number, wallets: number, sizes: typeof FULL) {
  const { steps: count, pacedMs } = sizes;
  const growing: Growing = { house: await openHouse(directory), wallets, made: 0 };
  await fillHouse(growing.house, wallets);
  const base = process.memoryUsage.rss();
  const steps: Step[] = [];
  for (let step = 1; step <= count; step++) {
    // The intents of the measured pauses may be many: enough must be left for this step to say something.
    const least = growing.made + Math.ceil(intents / count / 2);
    const costs = await growTo(growing, Math.max(least, Math.round((intents * step) / count)));
    const { rss: residentBytes, heapUsed: heapBytes } = process.memoryUsage();
    const stored = growing.made;
    const pacedEnd = performance.now() + pacedMs;
    const { p999: pauseP999, max: pauseMax } = await pace(growing, () => performance.now() < pacedEnd);
    const snapshot = await snapshotUnderLoad(growing);
    steps.push({ stored, ...costs, residentBytes, heapBytes, pauseP999, pauseMax, snapshot });
    // Millions take minutes.
    process.stderr.write(
      `${stored} stored, ${costs.perSecond.toFixed(0)}/s, ${costs.cpu.toFixed(1)} µs each, ${(residentBytes / 1e6).toFixed(0)} MB, snapshot ${snapshot.ms.toFixed(0)} ms\n`,
    );
  }
  const engineShare = await compareEngines(growing, join(scratch, 'turns'), sizes);
  await closeHouse(growing.house);
  return { base, steps, engineShare };
}

/** The throughput on grown books, of that on new ones with as many wallets; they have their turns. */
async function compareEngines(grown: Growing, directory: string, sizes: typeof FULL): Promise<number> {
  const { rounds, roundIntents } = sizes;
  const fresh: Growing = { house: await openHouse(directory), wallets: grown.wallets, made: 0 };
  await fillHouse(fresh.house, fresh.wallets);
  const milliseconds = { grown: 0, fresh: 0 };
  for (let round = 0; round < rounds; round++) {
    for (const [name, books] of [
      ['fresh', fresh],
      ['grown', grown],
    ] as const) {
      const { perSecond } = await growTo(books, books.made + roundIntents);
      milliseconds[name] += 1000 / perSecond;
    }
  }
  await closeHouse(fresh.house);
  return milliseconds.fresh / milliseconds.grown;
}

/** As fast as the engine takes them. */
async function growTo(growing: Growing, until: number): Promise<{ perSecond: number; cpu: number }> {
  const { house, wallets, made: from } = growing;
  let [seconds, cpu] = [0, 0];
  while (growing.made < until) {
    const commands = makeTransfers(growing.made, Math.min(SLICE, until - growing.made), wallets);
    const cpuBefore = process.cpuUsage();
    const began = performance.now();
    await submitAll(house.engine, commands);
    seconds += (performance.now() - began) / 1000;
    const { user, system } = process.cpuUsage(cpuBefore);
    cpu += user + system;
    growing.made += commands.length;
  }
  return { perSecond: (growing.made - from) / seconds, cpu: cpu / (growing.made - from) };
}

/** Hands in a few intents each turn of the event loop, and tells how late the loop ran meanwhile. */
async function pace(growing: Growing, goesOn: () => boolean): Promise<{ p999: number; max: number }> {
  const delays = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  delays.enable();
  while (goesOn()) {
    await submitAll(growing.house.engine, makeTransfers(growing.made, PACED_SLICE, growing.wallets));
    growing.made += PACED_SLICE;
    await setImmediate();
  }
  delays.disable();
  return { p999: lateMs(delays, 99.9), max: lateMs(delays, 100) };
}

function lateMs(delays: IntervalHistogram, share: number): number {
  return Math.max(0, delays.percentile(share) / 1e6 - LOOP_RESOLUTION_MS);
}

async function snapshotUnderLoad(growing: Growing): Promise<Step['snapshot']> {
  let isTaken = false;
  let held = 0;
  const began = performance.now();
  const taking = takeHouseSnapshot(growing.house, (ms) => {
    held = Math.max(held, ms);
  }).finally(() => {
    isTaken = true;
  });
  const { p999, max } = await pace(growing, () => !isTaken);
  const { bytes } = await taking;
  return { ms: performance.now() - began, bytes, held, pauseP999: p999, pauseMax: max };
}

// ---------------------------------------------------------------- the service

/** Books with wallets and no intents. */
async function fillEmpty(directory: string, wallets: number): Promise<void> {
  const house = await openHouse(directory);
  await fillHouse(house, wallets);
  await house.engine.drained();
  await takeHouseSnapshot(house);
  await closeHouse(house);
}

interface Comparison {
  scratch: string;
  /** Whose books are compared. */
  directories: readonly string[];
  wallets: number;
  sizes: typeof FULL;
}

async function measureHttp(comparison: Comparison): Promise<HttpFigures[]> {
  const figures: HttpFigures[] = [];
  for (const [index, closed] of (await measureClosed(comparison)).entries()) {
    figures.push({ ...closed, ...(await measurePaced(comparison, index, closed.perSecond / 2)) });
  }
  return figures;
}

/** What the machine does meanwhile it does to all: the services have their turns, and each answers alone. */
async function measureClosed(comparison: Comparison): Promise<Closed[]> {
  const { directories, sizes } = comparison;
  const services: Service[] = [];
  try {
    for (const directory of directories) services.push(await startOn(directory));
    const rounds: Closed[][] = [];
    // The first one is to warm up.
    for (let round = 0; round <= sizes.rounds; round++) {
      const figures: Closed[] = [];
      for (const [index, service] of services.entries()) {
        figures.push(await driveRound(comparison, service, directories[index]!, `${index}-${round}`));
      }
      if (round > 0) rounds.push(figures);
    }
    return directories.map((_, index) => middleOf(rounds.map((figures) => figures[index]!)));
  } finally {
    for (const service of services) await service.stop('SIGTERM');
  }
}

async function driveRound(comparison: Comparison, service: Service, directory: string, run: string): Promise<Closed> {
  const { roundRequests: intents, roundSeconds } = comparison.sizes;
  const parts = await prepare(comparison, { run, parts: 2, intents });
  const before = readUsage(service.pid, directory);
  const load = await countingEntries(clientOf(service), () => driveClosedLoop(service.port, parts, 64, roundSeconds));
  const { accepted, seconds, p99 } = load;
  const after = readUsage(service.pid, directory);
  removeRequests(parts);
  const cpu = ((after.cpuSeconds - before.cpuSeconds) * 1e6) / accepted;
  return { perSecond: accepted / seconds, p99, cpu, residentBytes: after.residentBytes, missed: missedOf(load) };
}

/** The mean rate and cost, the middle latency, the last size, all that was missed. */
function middleOf(rounds: readonly Closed[]): Closed {
  const mean = (of: (round: Closed) => number) => rounds.reduce((sum, round) => sum + of(round), 0) / rounds.length;
  const p99s = rounds.map(({ p99 }) => p99).sort((one, other) => one - other);
  return {
    perSecond: mean(({ perSecond }) => perSecond),
    p99: p99s.some(Number.isNaN) ? Number.NaN : p99s[p99s.length >> 1]!,
    cpu: mean(({ cpu }) => cpu),
    residentBytes: rounds.at(-1)!.residentBytes,
    missed: rounds.reduce((sum, { missed }) => sum + missed, 0),
  };
}

async function measurePaced(
  comparison: Comparison,
  index: number,
  perSecond: number,
): Promise<{ quiet: Paced; snapshot: Paced }> {
  const { directories, sizes } = comparison;
  const { seconds } = sizes;
  const rate = Math.max(50, Math.round(perSecond));
  const count = Math.ceil(rate * seconds);
  const service = await startOn(directories[index]!);
  const client = clientOf(service);
  try {
    const paced: Paced[] = [];
    for (const run of ['early', 'quiet', 'snapshot']) {
      const parts = await prepare(comparison, { run: `${index}-${run}`, parts: 1, intents: count });
      await service.readFigures();
      const snapshot = run === 'snapshot' ? snapshotAfter(service, (seconds * 1000) / 4) : null;
      const load = await countingEntries(client, () => driveOpenLoop(service.port, parts[0]!, rate, 256, seconds));
      const { loopLateMs: loopLate } = await service.readFigures();
      const snapshotSeconds = await snapshot;
      removeRequests(parts);
      const { p50, p99, p999 } = load;
      paced.push({ rate, p50, p99, p999, missed: missedOf(load), loopLate, snapshotSeconds });
    }
    const [rejected] = await findRejected(client);
    if (rejected !== undefined) throw new Error(`WRONG: ${rejected}`);
    return { quiet: paced[1]!, snapshot: paced[2]! };
  } finally {
    await service.stop('SIGTERM');
  }
}

/** A quarter of the load runs before; how many entries come meanwhile nobody knows beforehand. */
async function snapshotAfter(service: Service, ms: number): Promise<number> {
  await pause(ms);
  const began = performance.now();
  await service.takeSnapshot();
  return (performance.now() - began) / 1000;
}

async function prepare(
  { scratch, wallets, sizes }: Comparison,
  plan: Pick<RequestPlan, 'run' | 'parts' | 'intents'>,
): Promise<string[]> {
  const parts = await prepareRequests(scratch, { claims: 1, wallets, signers: sizes.signers, ...plan });
  execFileSync('sync');
  return parts;
}

/** It takes no snapshot by itself. */
function startOn(directory: string): Promise<Service> {
  return startService(directory, { flags: ['--snapshot-every', String(1e12)] });
}

// ---------------------------------------------------------------- the report

interface Measured {
  sizes: typeof FULL;
  intents: number;
  wallets: number;
  base: number;
  steps: Step[];
  engineShare: number;
  atNone: HttpFigures;
  atAll: HttpFigures;
}

function report({ sizes, intents, wallets, base, steps, engineShare, atNone, atAll }: Measured): BenchResult {
  const last = steps.at(-1)!;
  const each = (step: Step) => (step.residentBytes - base) / step.stored;
  const pause = Math.max(...steps.map(({ pauseP999, snapshot }) => Math.max(pauseP999, snapshot.pauseP999)));
  const latest = Math.max(atAll.quiet.loopLate.p999, atAll.snapshot.loopLate.p999);
  return {
    name: 'growth',
    tables: [
      {
        title: `The engine: ${intents} intents over ${wallets} wallets, which take ${Math.round(base / 1e6)} MB before the first`,
        columns: [
          ...[
            'stored',
            'intents/s',
            'CPU µs/intent',
            'resident MB',
            'B/intent',
            'V8 heap MB',
            'loop late p99.9 ms',
            'max ms',
          ],
          ...['snapshot s', 'MB written', 'held at once ms', 'loop late p99.9 ms', 'max ms'],
        ],
        rows: steps.map((step): BenchCell[] => {
          const { stored, perSecond, cpu, residentBytes, heapBytes, pauseP999, pauseMax, snapshot } = step;
          return [
            ...[stored, perSecond, cpu, residentBytes / 1e6, each(step), heapBytes / 1e6, pauseP999, pauseMax],
            ...[snapshot.ms / 1000, snapshot.bytes / 1e6, snapshot.held, snapshot.pauseP999, snapshot.pauseMax],
          ];
        }),
      },
      {
        title: 'The service over HTTP: 64 connections closed loop, in turns, then on schedule at half that rate',
        columns: [
          ...['stored', 'accepted/s', 'p99 ms', 'server CPU µs/intent', 'resident MB', 'on schedule/s', 'p50 ms'],
          ...['p99 ms', 'p99.9 ms', 'loop late p99.9 ms', 'max ms', 'taking a snapshot, s', 'p99 ms', 'p99.9 ms'],
          ...['loop late p99.9 ms', 'max ms', 'refused or lost'],
        ],
        rows: [httpRow(0, atNone), httpRow(intents, atAll)],
      },
    ],
    charts: chartsOf(steps, each),
    goals: [
      atLeast('P5', `of the engine’s throughput without intents at ${last.stored}, in turns`, engineShare, 0.9),
      atLeast('P5', `of that over HTTP at ${intents}, in turns`, atAll.perSecond / atNone.perSecond, 0.9),
      atMost('P5', 'ms the event loop is late, p99.9, engine', pause, 10),
      atMost('P5', 'ms the event loop is late, p99.9, service at half its rate', latest, 10),
      atMost('P6', `bytes an intent at ${last.stored}`, each(last), 900),
    ],
    notes: [
      'B/intent: what resident memory has grown by since there were wallets alone, over all intents there are',
      `over HTTP money goes from each of all wallets in turns to any, and ${sizes.signers} keys sign`,
      `late: beyond turns of ${PACED_SLICE} intents made, handed in and cleared; over HTTP as the service itself sees it`,
      'p99.9 of the loop: of looks, one a millisecond where it can: what keeps it for long is one look, and stands in max',
    ],
    ok: true,
  };
}

function httpRow(stored: number, figures: HttpFigures): BenchCell[] {
  const { perSecond, p99, cpu, residentBytes, missed, quiet, snapshot } = figures;
  return [
    ...[stored, perSecond, p99, cpu, residentBytes / 1e6, quiet.rate, quiet.p50, quiet.p99, quiet.p999],
    ...[quiet.loopLate.p999, quiet.loopLate.max, snapshot.snapshotSeconds, snapshot.p99, snapshot.p999],
    ...[snapshot.loopLate.p999, snapshot.loopLate.max, missed + quiet.missed + snapshot.missed],
  ];
}

function chartsOf(steps: Step[], each: (step: Step) => number): BenchChart[] {
  const line = (name: string, value: (step: Step) => number) => ({
    name,
    points: steps.map((step): [number, number] => [step.stored, value(step)]),
  });
  const x = 'intents stored';
  return [
    {
      ...{ kind: 'lines', name: 'growth-throughput', title: 'What the next intent costs the engine', x },
      y: 'CPU µs',
      lines: [line('CPU µs an intent', ({ cpu }) => cpu)],
    },
    {
      ...{ kind: 'lines', name: 'growth-memory', title: 'Resident memory by intents stored', x },
      y: 'bytes an intent',
      lines: [line('all memory', each), line('V8 heap', ({ heapBytes, stored }) => heapBytes / stored)],
    },
    {
      ...{ kind: 'lines', name: 'growth-pause', title: 'How late the event loop runs, p99.9', x },
      y: 'ms',
      lines: [
        line('under load', ({ pauseP999 }) => pauseP999),
        line('and a snapshot', ({ snapshot }) => snapshot.pauseP999),
      ],
    },
  ];
}
