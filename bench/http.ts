/**
 * `npm run bench -- http`: the built service as a process of its own, with real signatures, real HTTP and
 * the disk of the work tree, driven from the same machine.
 *
 * Measured are one transfer an intent at 64 connections, the same on schedule at shares of that rate, 50
 * transfers an intent, one client alone, and a thousand ledgers that get a few intents each, their first; then, under a
 * profiler, where the processors' time of an intent goes.
 * Of each load the books must have as many entries as answers 201 were counted. After all of them a sample of the intents
 * is read back and every proof of it checked, none may have been rejected, and the balances must sum up to what was
 * issued: figures of a service that loses something are not printed as success.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../src/cli/client.ts';
import { runInParallel } from '../src/cli/parallel.ts';
import { agentFor } from '../src/client/agent.ts';
import {
  countingEntries,
  fillBooks,
  findRejected,
  findWrongBalances,
  findWrongIntents,
  makeLedger,
} from './load/books.ts';
import { driveClosedLoop, driveOpenLoop, hasWrk, type LoadFigures, refusedOf } from './load/drive.ts';
import { intentHandle, ledgerHandle } from './load/intents.ts';
import { measureOneByOne, type OneByOneFigures } from './load/one-by-one.ts';
import { profileFlags, readShares } from './load/profile.ts';
import { prepareRequests, type RequestPlan, removeRequests } from './load/requests.ts';
import { makeScratchDirectory } from './load/root.ts';
import { clientOf, type Service, type StageTimes, stagesBetween, startService } from './load/service.ts';
import { readUsage } from './load/usage.ts';
import { atLeast, atMost, type BarChart, type BenchCell, type BenchOptions, type BenchResult } from './result.ts';

const CONNECTIONS = 64;
/** Open loop needs room for everybody who waits while the service stalls. */
const OPEN_CONNECTIONS = 256;
const WRK_THREADS = 2;
const OPEN_SHARES = [0.25, 0.5, 0.75, 0.9, 1, 1.2];
const OPEN_SHARES_SMOKE = [0.5];
const SAMPLE_PER_RUN = 100;
/** Requests made for a run beyond what its warm-up suggests, because the service gets quicker as it warms. */
const SPARE = 1.4;
const INTENTS_MAX = 500_000;
const WARMUPS_MAX = 5;
/** In each of many ledgers. */
const FEW_WALLETS = 4;
/** Ledgers that are filled, or read back, at a time. */
const LEDGERS_AT_ONCE = 32;

const FULL = {
  wallets: 1000,
  warmup: 40_000,
  warmupSeconds: 4,
  seconds: 15,
  openSeconds: 6,
  rounds: 5,
  alone: 400,
  sights: 10,
  ledgers: 1000,
  ledgerIntents: 20,
};
const SMOKE: typeof FULL = {
  ...{ wallets: 50, warmup: 1000, warmupSeconds: 1, seconds: 1, openSeconds: 1, rounds: 1, alone: 50, sights: 1 },
  ...{ ledgers: 20, ledgerIntents: 10 },
};

/** One service under load, and what was done to it so far. */
interface Session {
  service: Service;
  client: Client;
  directory: string;
  dataDirectory: string;
  sizes: typeof FULL;
  rows: BenchCell[][];
  stageRows: BenchCell[][];
  /** Handles to read back at the end. */
  sample: string[];
}

/** Figures of one load with its costs. Processor time is in microseconds an accepted intent. */
interface Measured extends LoadFigures {
  perSecond: number;
  cpu: number;
  /**
   * Of that: the main thread's, the proof workers', and the rest, which is disk threads and V8's helpers. All three as the
   * system counts them, in hundredths of a second.
   */
  cpuMain: number;
  cpuProof: number;
  cpuOthers: number;
  /** What the proof workers worked, by the clock: where all processors are busy, what they waited for one is in it. */
  clockProof: number;
  cpuGenerator: number;
  /** Processors busy with neither the service nor the load generator, on average: above 0.1 figures say little. */
  othersBusy: number;
  journalBytes: number;
  stages: StageTimes;
  loopLateP999: number;
}

export async function run({ smoke }: BenchOptions): Promise<BenchResult> {
  const directory = makeScratchDirectory();
  const sizes = smoke ? SMOKE : FULL;
  try {
    const result = await withService(directory, 'data', sizes, [], (session) =>
      measure(session, smoke ? OPEN_SHARES_SMOKE : OPEN_SHARES),
    );
    const bars = await profileIntents(directory, sizes);
    return { ...result, charts: [...result.charts!, bars], tables: [...result.tables, tableOf(bars)] };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function withService<T>(
  directory: string,
  name: string,
  sizes: typeof FULL,
  nodeFlags: string[],
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const dataDirectory = join(directory, name);
  const service = await startService(dataDirectory, { nodeFlags });
  const client = clientOf(service);
  try {
    await fillBooks(client, sizes.wallets);
    return await work({ service, client, directory, dataDirectory, sizes, rows: [], stageRows: [], sample: [] });
  } finally {
    await service.stop('SIGTERM');
  }
}

async function measure(session: Session, shares: number[]): Promise<BenchResult> {
  const { service, client, sizes } = session;
  const single = await runClosed(session, 'single', 1, sizes.warmup, sizes.seconds);
  const open: [rate: number, measured: Measured][] = [];
  for (const share of shares) {
    const rate = roundRate(single.perSecond * share);
    open.push([rate, await runOpen(session, rate)]);
  }
  const manySeconds = Math.ceil((sizes.seconds * 2) / 3);
  const many = await runClosed(session, 'fifty', 50, Math.max(1000, sizes.warmup / 10), manySeconds);
  const alone = await runAlone(session, 'alone', '1 claim, one client of one key, one at a time', 1);
  await seeKeys(session);
  const aloneForMany = await runAlone(session, 'alone-many', '1 claim, one client of a thousand keys, one at a time');
  const residentBytes = readUsage(service.pid, session.dataDirectory).residentBytes;

  const wrongInLedgers = await runLedgers(session);

  const wrong = [
    ...wrongInLedgers,
    ...(await findWrongIntents(client, session.sample)),
    ...(await findWrongBalances(client, sizes.wallets)),
    ...(await findRejected(client)),
    ...(session.sample.length === 0 ? ['in every run requests were refused or lost: no intent was read back'] : []),
  ];
  return {
    name: 'http',
    tables: [
      {
        title: 'Signed intents over HTTP, durable before the answer',
        columns: [
          ...['load', 'accepted/s', 'transfers/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'server CPU µs/intent'],
          ...['generator CPU µs/intent', 'others busy, cores', 'journal B/intent', 'refused', 'lost'],
          'sent late p99 ms',
        ],
        rows: session.rows,
      },
      {
        title: 'Where an intent waits and is served (means, ms), and whose processor time it takes (µs an intent)',
        columns: [
          ...[
            'load',
            'waits for its turn',
            'waits for a worker',
            'verify, sign',
            'waits in the inbox',
            'clear',
            'disk',
            'entries/batch',
          ],
          ...['main thread CPU µs', 'proof workers CPU µs', 'other threads CPU µs', 'proof workers by the clock µs'],
          'event loop late p99.9 ms',
        ],
        rows: session.stageRows,
      },
    ],
    charts: [
      {
        kind: 'lines',
        name: 'http-throughput',
        title: 'Signed intents accepted, on schedule over 256 connections',
        x: 'sent per second',
        y: 'accepted per second',
        lines: [{ name: 'accepted', points: open.map(([rate, { perSecond }]) => [rate, perSecond]) }],
      },
      {
        kind: 'lines',
        name: 'http-latency',
        title: 'Time from when a request was due to its answer',
        x: 'sent per second',
        y: 'ms',
        log: true,
        lines: [
          { name: 'p50', points: open.map(([rate, { p50 }]) => [rate, p50]) },
          { name: 'p99', points: open.map(([rate, { p99 }]) => [rate, p99]) },
        ],
      },
    ],
    goals: judge(single, many, alone, aloneForMany),
    notes: [
      ...(hasWrk() ? [] : ['wrk is not installed: closed loop was driven by open-loop.ts at rate 0 instead']),
      'the load generator ran on the same machine; open-loop latency is counted from when a request was due',
      `one fdatasync of 4 KB beside the lone client: p50 ${alone.syncAppendP50.toFixed(3)} ms appending, ${alone.syncOverwriteP50.toFixed(3)} ms overwriting`,
      `on schedule for ${sizes.openSeconds} s: of a rate that is more than it does, latencies grow for as long as that goes on`,
      'proof workers by the clock: where all cores are busy, what they waited for one is in it; their CPU is the system’s count',
      'journal B/intent counts the zeros behind its end: short runs say nothing of it',
      `the service started in ${service.startMs.toFixed(0)} ms and held ${(residentBytes / 2 ** 20).toFixed(0)} MiB at the end`,
      wrong.length === 0
        ? `checked: an entry for each answer 201, none rejected, ${session.sample.length} intents read back with every proof, the sum of ${sizes.wallets} balances; in each of ${sizes.ledgers} ledgers an intent and the balances`
        : `WRONG: ${wrong.length} findings, the first: ${wrong.slice(0, 5).join('; ')}`,
    ],
    ok: wrong.length === 0,
  };
}

/** A warm-up to learn the rate, then the measured run with as many requests as that rate needs. */
async function runClosed(
  session: Session,
  run: string,
  claims: number,
  warmup: number,
  seconds: number,
): Promise<Measured> {
  const { service, sizes } = session;
  const drive = (parts: string[], time: number) => driveClosedLoop(service.port, parts, CONNECTIONS, time);
  const warm = await warmUp(session, `${run}-warm`, warmup, claims, (parts) => drive(parts, sizes.warmupSeconds));
  const needed = Math.min(INTENTS_MAX, Math.ceil(warm.perSecond * seconds * SPARE));
  const measured = await withRequests(session, run, WRK_THREADS, needed, claims, (parts) => drive(parts, seconds));
  const words = `${claims} claim${claims > 1 ? 's' : ''}, ${CONNECTIONS} connections, closed loop`;
  addRow(session, words, claims, measured);
  return measured;
}

/** Once more where nothing was accepted: the machine may have stood still for that second. */
async function warmUp(
  session: Session,
  run: string,
  intents: number,
  claims: number,
  drive: (parts: string[]) => Promise<LoadFigures>,
): Promise<Measured> {
  let warm = await withRequests(session, run, WRK_THREADS, intents, claims, drive);
  for (let more = 1; warm.accepted === 0; more++) {
    if (more === WARMUPS_MAX) throw new Error(`the service accepted nothing: ${JSON.stringify(warm)}`);
    warm = await withRequests(session, `${run}-${more}`, WRK_THREADS, intents, claims, drive);
  }
  return warm;
}

async function runOpen(session: Session, rate: number): Promise<Measured> {
  const { service, sizes } = session;
  const needed = Math.ceil(rate * sizes.openSeconds);
  const measured = await withRequests(session, `open-${rate}`, 1, needed, 1, (parts) =>
    driveOpenLoop(service.port, parts[0]!, rate, OPEN_CONNECTIONS, sizes.openSeconds),
  );
  addRow(session, `1 claim, ${rate}/s on schedule`, 1, measured);
  return measured;
}

/** `sources`: for how many wallets' owners the client signs; all unless said otherwise. */
async function runAlone(session: Session, run: string, words: string, sources?: number): Promise<OneByOneFigures> {
  const { service, directory, sizes } = session;
  let alone: OneByOneFigures | undefined;
  const drive = async (parts: string[]) => {
    alone = await measureOneByOne(service.port, parts[0]!, directory, sizes.rounds, sizes.alone, sizes.alone / 2);
    const { accepted, failed, seconds, p50, p99, p999 } = alone;
    return {
      ...{ accepted, seconds, p50, p99, p999, p90: Number.NaN, max: Number.NaN, ranOut: false, lost: 0 },
      ...{ sent: [accepted + failed], refused: failed > 0 ? { other: failed } : {}, lagP99: null, cpuSeconds: null },
      ...{ refusedP50: null, refusedP99: null },
    };
  };
  const plan = sources === undefined ? {} : { sources };
  addRow(session, words, 1, await withRequests(session, run, 1, sizes.rounds * sizes.alone, 1, drive, plan));
  return alone!;
}

/**
 * Ledgers that nobody has sent to, a few intents in each, in turns: what the service learns of a ledger it has not learnt of
 * these. Answers what is wrong in them afterwards.
 */
async function runLedgers(session: Session): Promise<string[]> {
  const { service, client, sizes } = session;
  const { ledgers, ledgerIntents } = sizes;
  // One for all: else each ledger's would keep connections of its own.
  const agent = agentFor(service.url);
  const of = (ledger: number) => clientOf(service, { 'x-ledger': ledgerHandle(ledger) }, agent);
  await runInParallel(ledgers, LEDGERS_AT_ONCE, async (ledger) => {
    await makeLedger(client, ledgerHandle(ledger));
    await fillBooks(of(ledger), FEW_WALLETS);
  });
  const intents = ledgers * ledgerIntents;
  const plan = { wallets: FEW_WALLETS, signers: sizes.wallets, ledgers };
  const run = 'ledgers';
  const drive = (parts: string[]) => driveClosedLoop(service.port, parts, CONNECTIONS, sizes.seconds);
  const measured = await withRequests(session, run, WRK_THREADS, intents, 1, drive, plan);
  const load = `1 claim, ${ledgers} new ledgers, ${ledgerIntents} intents each, ${CONNECTIONS} connections, closed loop`;
  addRow(session, load, 1, measured);

  const [sent = 0] = measured.sent;
  const certain = measured.accepted === intents ? sent : sent - 4 * CONNECTIONS;
  const wrong: string[] = [];
  await runInParallel(ledgers, LEDGERS_AT_ONCE, async (ledger) => {
    const client = of(ledger);
    // In the first part each has its first intent before any has a second.
    if (ledger < certain) wrong.push(...(await findWrongIntents(client, [intentHandle(run, 0, ledger)])));
    wrong.push(...(await findWrongBalances(client, FEW_WALLETS)), ...(await findRejected(client)));
  });
  agent.destroy();
  return wrong;
}

/**
 * Lets the service's main thread see each owner's signatures so often that it has a table of the key: it counts its own,
 * and under load the workers see them all.
 */
async function seeKeys({ service, directory, sizes }: Session): Promise<void> {
  const intents = sizes.sights * sizes.wallets;
  const parts = await prepareRequests(directory, {
    run: 'sights',
    parts: 1,
    intents,
    claims: 1,
    wallets: sizes.wallets,
  });
  await measureOneByOne(service.port, parts[0]!, directory, 1, intents, 0);
  removeRequests(parts);
}

/** Makes the requests, drives, reads what it cost the service, keeps a sample of what was sent, removes the files. */
async function withRequests(
  session: Session,
  run: string,
  parts: number,
  intents: number,
  claims: number,
  drive: (parts: string[]) => Promise<LoadFigures>,
  more: Partial<RequestPlan> = {},
): Promise<Measured> {
  const { service, dataDirectory, directory, sizes } = session;
  const paths = await prepareRequests(directory, {
    ...{ run, parts, intents, claims, wallets: sizes.wallets },
    ...more,
  });
  // Else the kernel writes the requests out while the service syncs its journal.
  execFileSync('sync');
  const read = async () => ({
    ...readUsage(service.pid, dataDirectory, service.proofThreads),
    figures: await service.readFigures(),
  });
  const before = await read();
  let [start, seconds] = [0, 0];
  const load = await countingEntries(session.client, async () => {
    start = performance.now();
    const figures = await drive(paths);
    seconds = (performance.now() - start) / 1000;
    return figures;
  });
  const after = await read();
  removeRequests(paths);
  if (more.ledgers === undefined) takeSample(session, run, load);
  const each = (name: 'cpuSeconds' | 'mainSeconds' | 'threadSeconds' | 'ownSeconds') =>
    ((after[name] - before[name]) * 1e6) / load.accepted;
  const stages = stagesBetween(before.figures, after.figures);
  const servedSeconds = after.cpuSeconds - before.cpuSeconds + after.ownSeconds - before.ownSeconds;
  return {
    ...load,
    perSecond: load.accepted / load.seconds,
    cpu: each('cpuSeconds'),
    cpuMain: each('mainSeconds'),
    cpuProof: each('threadSeconds'),
    cpuOthers: each('cpuSeconds') - each('mainSeconds') - each('threadSeconds'),
    clockProof: (stages.workMs * 1000) / load.accepted,
    cpuGenerator: each('ownSeconds'),
    othersBusy: Math.max(0, after.machineSeconds - before.machineSeconds - servedSeconds) / seconds,
    journalBytes: (after.journalBytes - before.journalBytes) / load.accepted,
    stages,
    loopLateP999: after.figures.loopLateMs.p999,
  };
}

/** Evenly spread over what was sent; short of the end where the last requests were cut off unanswered. */
function takeSample(session: Session, run: string, load: LoadFigures): void {
  if (Object.keys(load.refused).length > 0 || load.lost > 0) return;
  const isWhole = load.accepted === load.sent.reduce((sum, each) => sum + each, 0);
  for (const [part, sent] of load.sent.entries()) {
    const certain = isWhole ? sent : sent - 4 * CONNECTIONS;
    const picks = Math.min(SAMPLE_PER_RUN, certain);
    for (let pick = 0; pick < picks; pick++) {
      const position = Math.floor((certain * pick) / picks);
      session.sample.push(intentHandle(run, part, position));
    }
  }
}

function addRow(session: Session, load: string, claims: number, measured: Measured): void {
  const { perSecond, p50, p99, p999, cpu, cpuMain, cpuProof, cpuOthers, clockProof, stages } = measured;
  const refused = refusedOf(measured);
  const words = measured.ranOut ? `${load} (requests ran out)` : load;
  session.rows.push(
    [
      ...[words, perSecond, perSecond * claims, p50, p99, p999, cpu],
      ...[measured.cpuGenerator, measured.othersBusy, measured.journalBytes, refused, measured.lost, measured.lagP99],
    ].map(orNull),
  );
  session.stageRows.push(
    [
      ...[
        load,
        stages.waitedShare * stages.turnWait,
        stages.verifyWait,
        stages.verify,
        stages.inboxWait,
        stages.clear,
        stages.disk,
      ],
      ...[stages.entries / stages.frames, cpuMain, cpuProof, cpuOthers, clockProof],
      measured.loopLateP999,
    ].map(orNull),
  );
}

function orNull(cell: BenchCell): BenchCell {
  return typeof cell === 'number' && !Number.isFinite(cell) ? null : cell;
}

/** The same load under a profiler, which costs a little: shares are the profile's, the sum is what it took here. */
async function profileIntents(directory: string, sizes: typeof FULL): Promise<BarChart> {
  const profiles = join(directory, 'profiles');
  const began = performance.now();
  let [from, to] = [0, 0];
  const measured = await withService(directory, 'profiled', sizes, profileFlags(profiles), async (session) => {
    const drive = (parts: string[], time: number) =>
      driveClosedLoop(session.service.port, parts, CONNECTIONS, time).then((load) => {
        to = performance.now() - began;
        from = to - load.seconds * 1000;
        return load;
      });
    const warm = await warmUp(session, 'warm', sizes.warmup, 1, (parts) => drive(parts, sizes.warmupSeconds));
    const needed = Math.ceil(warm.perSecond * sizes.openSeconds * SPARE);
    return withRequests(session, 'profiled', WRK_THREADS, needed, 1, (parts) => drive(parts, sizes.openSeconds));
  });
  const shares = readShares(profiles, from, to);
  return {
    kind: 'bars',
    name: 'http-microseconds',
    title: 'Where the processor time of a one-claim intent goes, 64 connections, under a profiler',
    x: 'µs an intent',
    bars: [
      { name: 'main thread', parts: shares.map(([room, share]) => [room, share * measured.cpuMain]) },
      { name: 'proof workers', parts: [['verify and sign', measured.cpuProof]] },
      { name: 'other threads', parts: [['disk, garbage collection', Math.max(0, measured.cpuOthers)]] },
    ],
  };
}

function tableOf({ title, bars }: BarChart) {
  const rows = bars.flatMap(({ name, parts }) => parts.map(([part, value]): BenchCell[] => [name, part, value]));
  return { title, columns: ['thread', 'room', 'µs/intent'], rows };
}

function judge(single: Measured, many: Measured, alone: OneByOneFigures, aloneForMany: OneByOneFigures) {
  const lone = (whose: string, { p50, syncAppendP50 }: OneByOneFigures) =>
    atMost('P4', `ms p50 of one client alone, ${whose} (one fdatasync + 0.3 ms)`, p50, syncAppendP50 + 0.3);
  return [
    atLeast('P1', 'accepted/s at 64 connections', single.perSecond, 16_000, 'all'),
    atMost('P1', 'ms p99 at 64 connections', single.p99, 20),
    atMost('P1', 'µs of server CPU an intent', single.cpu, 100, 'all'),
    atLeast('P2', 'transfers/s in 50-claim intents', many.perSecond * 50, 150_000, 'all'),
    lone('of one key', alone),
    lone('of a thousand keys', aloneForMany),
  ];
}

function roundRate(rate: number): number {
  return rate >= 1000 ? Math.round(rate / 500) * 500 : Math.max(50, Math.round(rate));
}
