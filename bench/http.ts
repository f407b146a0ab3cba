/**
 * `npm run bench -- http`: the built service as a process of its own, with real signatures, real HTTP and
 * the disk of the work tree, driven from the same machine.
 *
 * Measured are one transfer an intent at 64 connections, the same on schedule at shares of that rate, 50
 * transfers an intent, and one client alone. After the load a sample of the intents is read back and every
 * proof of it checked, and the balances must sum up to what was issued: figures of a service that loses
 * something are not printed as success.
 */
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, connect } from '../src/cli/client.ts';
import { type ServerProcess, startServer } from '../src/cli/server-process.ts';
import { fillBooks, findWrongBalances, findWrongIntents } from './load/books.ts';
import { driveClosedLoop, driveOpenLoop, hasWrk, type LoadFigures } from './load/drive.ts';
import { intentHandle } from './load/intents.ts';
import { measureOneByOne, type OneByOneFigures } from './load/one-by-one.ts';
import { prepareRequests } from './load/requests.ts';
import { makeScratchDirectory } from './load/root.ts';
import { readUsage } from './load/usage.ts';
import type { BenchCell, BenchGoal, BenchOptions, BenchResult } from './result.ts';

const CONNECTIONS = 64;
/** Open loop needs room for everybody who waits while the service stalls. */
const OPEN_CONNECTIONS = 256;
const WRK_THREADS = 2;
const OPEN_SHARES = [0.25, 0.5, 0.75];
const SAMPLE_PER_RUN = 100;
/** Requests made for a run beyond what its warm-up suggests, because the service gets quicker as it warms. */
const SPARE = 1.4;
const INTENTS_MAX = 500_000;

const FULL = { wallets: 1000, warmup: 40_000, warmupSeconds: 4, seconds: 15, openSeconds: 6, rounds: 5, alone: 400 };
const SMOKE: typeof FULL = {
  ...{ wallets: 50, warmup: 1000, warmupSeconds: 1, seconds: 1, openSeconds: 1, rounds: 1, alone: 50 },
};

/** One service under load, and what was done to it so far. */
interface Session {
  server: ServerProcess;
  client: Client;
  directory: string;
  dataDirectory: string;
  sizes: typeof FULL;
  rows: BenchCell[][];
  /** Handles to read back at the end. */
  sample: string[];
}

/** Figures of one load with its costs. */
interface Measured extends LoadFigures {
  perSecond: number;
  cpuMicroseconds: number;
  generatorMicroseconds: number;
  /** Processors busy with neither the service nor the load generator, on average: above 0.1 figures say little. */
  othersBusy: number;
  journalBytes: number;
}

export async function run(options: BenchOptions): Promise<BenchResult> {
  const directory = makeScratchDirectory();
  const dataDirectory = join(directory, 'data');
  try {
    const server = await startServer(dataDirectory, { environment: process.env });
    const sizes = options.smoke ? SMOKE : FULL;
    const client = connect(server.url);
    const session: Session = { server, client, directory, dataDirectory, sizes, rows: [], sample: [] };
    try {
      const result = await measure(session);
      return options.smoke ? { ...result, goals: [] } : result;
    } finally {
      await server.stop('SIGTERM');
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measure(session: Session): Promise<BenchResult> {
  const { client, sizes } = session;
  await fillBooks(client, sizes.wallets);
  const single = await runClosed(session, 'single', 1, sizes.warmup, sizes.seconds);
  for (const share of OPEN_SHARES) await runOpen(session, roundRate(single.perSecond * share));
  const many = await runClosed(
    session,
    'fifty',
    50,
    Math.max(1000, sizes.warmup / 10),
    Math.ceil((sizes.seconds * 2) / 3),
  );
  const alone = await runAlone(session);
  const residentBytes = readUsage(session.server.pid, session.dataDirectory).residentBytes;

  const wrong = [
    ...(await findWrongIntents(client, session.sample)),
    ...(await findWrongBalances(client, sizes.wallets)),
  ];
  return {
    name: 'http',
    tables: [
      {
        title: 'signed intents over HTTP, durable before the answer',
        columns: [
          ...['load', 'accepted/s', 'transfers/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'server CPU µs/intent'],
          ...[
            'generator CPU µs/intent',
            'others busy, cores',
            'journal B/intent',
            'refused',
            'lost',
            'sent late p99 ms',
          ],
        ],
        rows: session.rows,
      },
    ],
    goals: judge(single, many, alone),
    notes: [
      ...(hasWrk() ? [] : ['wrk is not installed: closed loop was driven by open-loop.ts at rate 0 instead']),
      ...describeSettings(),
      'the load generator ran on the same machine; open-loop latency is counted from when a request was due',
      `one fdatasync of 4 KB beside the lone client: p50 ${alone.syncAppendP50.toFixed(3)} ms appending, ${alone.syncOverwriteP50.toFixed(3)} ms overwriting`,
      `the service started in ${session.server.startMs.toFixed(0)} ms and held ${(residentBytes / 2 ** 20).toFixed(0)} MiB at the end`,
      wrong.length === 0
        ? `checked: ${session.sample.length} intents read back with every proof, and the sum of ${sizes.wallets} balances`
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
  const { server, sizes } = session;
  const drive = (parts: string[], time: number) => driveClosedLoop(server.port, parts, CONNECTIONS, time);
  const warm = await withRequests(session, `${run}-warm`, WRK_THREADS, warmup, claims, (parts) =>
    drive(parts, sizes.warmupSeconds),
  );
  if (warm.accepted === 0) throw new Error(`the service accepted nothing: ${JSON.stringify(warm)}`);
  const needed = Math.min(INTENTS_MAX, Math.ceil(warm.perSecond * seconds * SPARE));
  const measured = await withRequests(session, run, WRK_THREADS, needed, claims, (parts) => drive(parts, seconds));
  const words = `${claims} claim${claims > 1 ? 's' : ''}, ${CONNECTIONS} connections, closed loop`;
  addRow(session, words, claims, measured);
  return measured;
}

async function runOpen(session: Session, rate: number): Promise<void> {
  const { server, sizes } = session;
  const needed = Math.ceil(rate * sizes.openSeconds);
  const measured = await withRequests(session, `open-${rate}`, 1, needed, 1, (parts) =>
    driveOpenLoop(server.port, parts[0]!, rate, OPEN_CONNECTIONS, sizes.openSeconds),
  );
  addRow(session, `1 claim, ${rate}/s on schedule`, 1, measured);
}

async function runAlone(session: Session): Promise<OneByOneFigures> {
  const { server, directory, sizes } = session;
  let alone: OneByOneFigures | undefined;
  const measured = await withRequests(session, 'alone', 1, sizes.rounds * sizes.alone, 1, async (parts) => {
    alone = await measureOneByOne(server.port, parts[0]!, directory, sizes.rounds, sizes.alone, sizes.alone / 2);
    const { accepted, failed, seconds, p50, p99, p999 } = alone;
    return {
      ...{ accepted, seconds, p50, p99, p999, p90: Number.NaN, max: Number.NaN, ranOut: false, lost: 0 },
      ...{ sent: [accepted + failed], refused: failed > 0 ? { other: failed } : {}, lagP99: null, cpuSeconds: null },
    };
  });
  addRow(session, '1 claim, one client, one at a time', 1, measured);
  return alone!;
}

/** Makes the requests, drives, reads what it cost the service, keeps a sample of what was sent, removes the files. */
async function withRequests(
  session: Session,
  run: string,
  parts: number,
  intents: number,
  claims: number,
  drive: (parts: string[]) => Promise<LoadFigures>,
): Promise<Measured> {
  const { server, dataDirectory, directory, sizes } = session;
  const paths = await prepareRequests(directory, run, parts, intents, claims, sizes.wallets);
  // Else the kernel writes the requests out while the service syncs its journal.
  execFileSync('sync');
  const before = readUsage(server.pid, dataDirectory);
  const start = performance.now();
  const figures = await drive(paths);
  const seconds = (performance.now() - start) / 1000;
  const after = readUsage(server.pid, dataDirectory);
  const serverSeconds = after.cpuSeconds - before.cpuSeconds;
  const ownSeconds = after.ownSeconds - before.ownSeconds;
  const machineSeconds = after.machineSeconds - before.machineSeconds;
  for (const path of paths) for (const end of ['http', 'lengths']) rmSync(`${path}.${end}`);
  takeSample(session, run, figures);
  return {
    ...figures,
    perSecond: figures.accepted / figures.seconds,
    cpuMicroseconds: (serverSeconds * 1e6) / figures.accepted,
    generatorMicroseconds: (ownSeconds * 1e6) / figures.accepted,
    othersBusy: Math.max(0, machineSeconds - serverSeconds - ownSeconds) / seconds,
    journalBytes: (after.journalBytes - before.journalBytes) / figures.accepted,
  };
}

/** Evenly spread over what was sent, short of the end: the last requests may have been cut off unanswered. */
function takeSample(session: Session, run: string, figures: LoadFigures): void {
  if (Object.keys(figures.refused).length > 0 || figures.lost > 0) return;
  for (const [part, sent] of figures.sent.entries()) {
    const certain = sent - 4 * CONNECTIONS;
    for (let pick = 0; pick < SAMPLE_PER_RUN && certain > 0; pick++) {
      const position = Math.floor((certain * pick) / SAMPLE_PER_RUN);
      session.sample.push(intentHandle(run, part, position));
    }
  }
}

function addRow(session: Session, load: string, claims: number, measured: Measured): void {
  const refused = Object.values(measured.refused).reduce((sum, count) => sum + count, 0);
  const words = measured.ranOut ? `${load} (requests ran out)` : load;
  const orNull = (value: number) => (Number.isFinite(value) ? value : null);
  session.rows.push([
    ...[words, measured.perSecond, measured.perSecond * claims, measured.p50, measured.p99, measured.p999],
    ...[orNull(measured.cpuMicroseconds), orNull(measured.generatorMicroseconds), orNull(measured.othersBusy)],
    ...[orNull(measured.journalBytes), refused, measured.lost, measured.lagP99],
  ]);
}

function judge(single: Measured, many: Measured, alone: OneByOneFigures): BenchGoal[] {
  const transfers = many.perSecond * 50;
  const sync = alone.syncAppendP50;
  return [
    {
      id: 'P1',
      wanted: '16 000 accepted/s, p99 ≤ 20 ms, server CPU ≤ 100 µs an intent',
      measured: `${single.perSecond.toFixed(0)}/s, ${single.p99.toFixed(1)} ms, ${single.cpuMicroseconds.toFixed(0)} µs`,
      met: single.perSecond >= 16_000 && single.p99 <= 20 && single.cpuMicroseconds <= 100,
    },
    {
      id: 'P2',
      wanted: '150 000 transfers/s in 50-claim intents',
      measured: `${transfers.toFixed(0)}/s`,
      met: transfers >= 150_000,
    },
    {
      id: 'P4',
      wanted: `one client alone: p50 ≤ one fdatasync + 0.3 ms (${(sync + 0.3).toFixed(3)} ms)`,
      measured: `${alone.p50.toFixed(3)} ms`,
      met: alone.p50 <= sync + 0.3,
    },
  ];
}

function roundRate(rate: number): number {
  return rate >= 1000 ? Math.round(rate / 500) * 500 : Math.max(50, Math.round(rate));
}

/** Settings of the service that came from the environment: figures without them would not be understood. */
function describeSettings(): string[] {
  const settings = Object.entries(process.env).filter(([name]) => name.startsWith('AYNI_') && name !== 'AYNI_DIST');
  return settings.length === 0 ? [] : [`set by the environment: ${settings.map((each) => each.join('=')).join(' ')}`];
}
