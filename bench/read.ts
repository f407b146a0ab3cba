/**
 * `npm run bench -- read [--intents <count>]`: what reads cost over books of that many intents: over HTTP, closed
 * loop by wrk on 64 connections, and inside one process without sockets, where signatures are made on the one thread.
 *
 * Intents are drawn at random. `few` are a thousand of them: what readers ask for again and again. `many` are fifty times
 * as many, asked for before: the service keeps their texts where it has memory enough. `any` are all: most are read for the
 * first time, and the proofs of how they ended are signed then. Nothing is written meanwhile, so lists and balances keep
 * saying the same, and are given with a proof that may be a second old. Before each load and after it an answer is read whole,
 * and the server's proof on it checked.
 */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findLie } from '../src/cli/client.ts';
import { askApp, openApp } from './load/answers.ts';
import { hasWrk } from './load/drive.ts';
import { closeHouse, fillHouse, fillTransfers, openHouse, takeHouseSnapshot } from './load/house.ts';
import { findRoot, makeScratchDirectory } from './load/root.ts';
import { clientOf, type Service, startService } from './load/service.ts';
import { readUsage } from './load/usage.ts';
import { atLeast, atMost, type BenchCell, type BenchGoal, type BenchOptions, type BenchResult } from './result.ts';

const execute = promisify(execFile);

const CONNECTIONS = 64;
/** `overHttp`: how many of the reads are asked over HTTP too. */
const FULL = { intents: 1_000_000, seconds: 5, inProcessMs: 1000, overHttp: 99 };
const SMOKE: typeof FULL = { intents: 2000, seconds: 1, inProcessMs: 10, overHttp: 2 };
const FEW = 1000;
const MANY = 50_000;
/** For so many times as long as that is measured. */
const WARM_FACTOR = 3;

/** One sort of read: a path, with a number drawn from 0 to `count` in the place of `%d`, if there is one. */
interface Read {
  name: string;
  path: string;
  digits?: number;
  count?: number;
  /** Its proofs are random bytes all (house.ts); of the others' the last one is the server's own. */
  isUnsigned?: boolean;
  /** Driven once before it is measured. */
  isAskedBefore?: boolean;
  /** What P8 asks for: answers a second, or milliseconds of one alone. */
  wanted?: { perSecond: number } | { ms: number };
}

interface HttpFigures {
  perSecond: number;
  p50: number;
  p99: number;
  bytes: number;
  refused: number;
  cpu: number;
  cpuMain: number;
}

export async function run({ smoke, intents: asked }: BenchOptions): Promise<BenchResult> {
  const sizes = smoke ? SMOKE : FULL;
  const intents = asked ?? sizes.intents;
  const wallets = Math.ceil(intents / 5);
  const reads = listReads(intents, wallets);
  const scratch = makeScratchDirectory();
  const directory = join(scratch, 'data');
  try {
    const inProcess = await measureInProcess(directory, reads, intents, wallets, sizes.inProcessMs);
    const overHttp = hasWrk() ? await measureOverHttp(directory, reads.slice(0, sizes.overHttp), sizes.seconds) : null;
    const rows = reads.map(({ name }, index): BenchCell[] => {
      const http = overHttp?.[index];
      const alone = inProcess[index]!;
      if (http === undefined) return [name, null, null, null, null, null, alone, null, null];
      const { perSecond, p50, p99, cpu, cpuMain, bytes, refused } = http;
      return [name, perSecond, p50, p99, cpu, cpuMain, alone, bytes, refused];
    });
    return {
      name: 'read',
      tables: [
        {
          title: `Reads over ${intents} intents and ${wallets} wallets, ${CONNECTIONS} connections, closed loop`,
          columns: [
            ...['what', 'answers/s', 'p50 ms', 'p99 ms', 'server CPU µs', 'of that main thread'],
            ...['in process, µs', 'bytes', 'refused'],
          ],
          rows,
        },
      ],
      goals: reads.flatMap((read, index) => goalOf(read, overHttp?.[index], inProcess[index]!)),
      notes: [
        'nothing is written meanwhile: lists, and balances, that say the same are given with a proof up to a second old',
        ...(overHttp === null ? ['wrk is not installed: nothing was measured over HTTP'] : []),
      ],
      ok: overHttp === null || overHttp.every(({ refused }) => refused === 0),
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function listReads(intents: number, wallets: number): Read[] {
  const intent = '/v2/intents/transfer-%d';
  const wallet = { digits: 6, count: wallets };
  const last = Math.floor((intents * 0.9) / 20);
  return [
    { name: 'intent, few', path: intent, digits: 10, count: Math.min(FEW, intents), wanted: { perSecond: 60_000 } },
    { name: 'intent, many', path: intent, digits: 10, count: Math.min(MANY, intents), isAskedBefore: true },
    { name: 'intent, any', path: intent, digits: 10, count: intents },
    { name: 'wallet, any', path: '/v2/wallets/wallet-%d', isUnsigned: true, ...wallet },
    {
      name: 'balances, few',
      path: '/v2/wallets/wallet-%d/balances',
      digits: 6,
      count: Math.min(FEW, wallets),
      wanted: { perSecond: 60_000 },
    },
    { name: 'balances, any', path: '/v2/wallets/wallet-%d/balances', ...wallet },
    { name: 'list: newest 20 intents', path: '/v2/intents?page.limit=20', wanted: { ms: 1 } },
    {
      name: `list: page ${last} of all`,
      path: `/v2/intents?page.limit=20&page.index=${last}`,
      wanted: { ms: 1 },
    },
    {
      name: 'list: a wallet’s intents',
      path: '/v2/intents?data.claims.target.handle=wallet-%d',
      ...wallet,
      wanted: { ms: 1 },
    },
    { name: 'list: by schema', path: '/v2/intents?data.schema=transfer', wanted: { ms: 1 } },
    { name: 'list: by status', path: '/v2/intents?meta.status=completed', wanted: { ms: 1 } },
    {
      // The oldest of all gave the wallets their funds: a hundred claims each.
      name: 'list: the hundred oldest transfers',
      path: '/v2/intents?data.schema=transfer&sort.meta.moment=1&page.limit=100',
      wanted: { ms: 1 },
    },
  ];
}

function goalOf({ name, wanted }: Read, http: HttpFigures | undefined, microseconds: number): BenchGoal[] {
  if (wanted === undefined) return [];
  if ('ms' in wanted) return [atMost('P8', `ms in process: ${name}`, microseconds / 1000, wanted.ms, 'one')];
  return http === undefined ? [] : [atLeast('P8', `answers/s: ${name}`, http.perSecond, wanted.perSecond, 'all')];
}

/** Fills the books, asks them for `ms` of each sort, and leaves them closed with a snapshot. Microseconds an answer. */
async function measureInProcess(
  directory: string,
  reads: Read[],
  intents: number,
  wallets: number,
  ms: number,
): Promise<number[]> {
  const house = await openHouse(directory);
  await fillHouse(house, wallets);
  await fillTransfers(house, intents, wallets);
  const app = openApp(house);
  const measured: number[] = [];
  for (const read of reads) {
    const ask = () => askApp(app, pathOf(read));
    await repeat(ask, ms / 2);
    measured.push(await repeat(ask, ms));
  }
  await takeHouseSnapshot(house);
  await closeHouse(house);
  return measured;
}

/** Microseconds of processor time each took on average. */
async function repeat(work: () => Promise<unknown>, ms: number): Promise<number> {
  const end = performance.now() + ms;
  const before = process.cpuUsage();
  let count = 0;
  for (; count === 0 || performance.now() < end; count++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

function pathOf({ path, digits = 0, count = 0 }: Read): string {
  return path.replace('%d', String(Math.floor(Math.random() * count)).padStart(digits, '0'));
}

async function measureOverHttp(directory: string, reads: Read[], seconds: number): Promise<HttpFigures[]> {
  const service = await startService(directory);
  try {
    const measured: HttpFigures[] = [];
    for (const read of reads) {
      await expectTrue(service, read);
      if (read.isAskedBefore === true) await driveReads(service, directory, read, WARM_FACTOR * seconds);
      measured.push(await driveReads(service, directory, read, seconds));
      await expectTrue(service, read);
    }
    return measured;
  } finally {
    await service.stop('SIGTERM');
  }
}

/** wrk looks at the status alone. */
async function expectTrue(service: Service, read: Read): Promise<void> {
  const path = pathOf(read);
  const { status, body } = await clientOf(service).get(path.slice('/v2'.length));
  if (status !== 200) throw new Error(`WRONG: ${path} is answered ${status}`);
  const proofs = body.meta.proofs.slice(-1);
  const lie = read.isUnsigned ? null : findLie({ ...body, meta: { ...body.meta, proofs } });
  if (lie !== null) throw new Error(`WRONG: of ${path} ${lie}`);
}

async function driveReads(service: Service, directory: string, read: Read, seconds: number): Promise<HttpFigures> {
  const { path, digits = 0, count = 0 } = read;
  const before = readUsage(service.pid, directory);
  const { stdout } = await execute('wrk', [
    ...['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout=30s'],
    ...['-s', join(findRoot(), 'bench', 'load', 'reads.lua')],
    ...[`http://127.0.0.1:${service.port}/`, '--', path.replace('%d', `%0${digits}d`), `${count}`],
  ]);
  const after = readUsage(service.pid, directory);
  const line = /RESULT (.*)/.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk gave no result:\n${stdout}`);
  const wrk = JSON.parse(line) as Record<'answered' | 'refused' | 'lost' | 'seconds' | 'bytes' | 'p50' | 'p99', number>;
  const { answered, p50, p99 } = wrk;
  return {
    perSecond: (answered - wrk.refused) / wrk.seconds,
    ...{ p50, p99, bytes: wrk.bytes / answered, refused: wrk.refused + wrk.lost },
    cpu: ((after.cpuSeconds - before.cpuSeconds) * 1e6) / answered,
    cpuMain: ((after.mainSeconds - before.mainSeconds) * 1e6) / answered,
  };
}
