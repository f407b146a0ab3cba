/**
 * The service under measurement: a process of its own that tells its figures when asked, so that what it says of one
 * load can be told from what went before.
 */

import type { Agent } from 'node:http';
import { fileURLToPath } from 'node:url';
import { type Client, connect } from '../../src/cli/client.ts';
import { type ServerProcess, type StartOptions, startServer } from '../../src/cli/server-process.ts';
import type { EngineStats } from '../../src/engine.ts';
import type { ProofStats } from '../../src/proof/pool.ts';

/** What main.ts tells with --log-level debug. Sums count from its start, `loopLateMs` from the line before. */
export interface ServiceFigures {
  engine: EngineStats;
  proofs: ProofStats;
  loopLateMs: { p50: number; p99: number; p999: number; max: number };
  memory: NodeJS.MemoryUsage;
}

export interface Service extends ServerProcess {
  readFigures(): Promise<ServiceFigures>;
  /** Its proof workers that have started so far, by the system's numbers; none but on Linux. */
  proofThreads: readonly number[];
  /** Has it take a snapshot now; resolves once it says that there is one. */
  takeSnapshot(): Promise<void>;
}

const FIGURES = /Figures (\{.*\})\n/g;
const PROOF_THREAD = /Proof thread (\d+)\n/g;
const SNAPSHOT = /Took snapshot-.*\n/;
/** A machine may be busy, or stand still for a while: figures become poor then, and nothing is wrong. */
const PATIENCE_MS = 600_000;
const TELL_THREAD = fileURLToPath(new URL('./proof-thread.cjs', import.meta.url));

/** The service on `directory`, with the settings of the environment and these flags. */
export async function startService(directory: string, options: StartOptions = {}): Promise<Service> {
  let log = '';
  let heard: ((figures: ServiceFigures) => void) | null = null;
  let isTaken: (() => void) | null = null;
  const proofThreads: number[] = [];
  const server = await startServer(directory, {
    environment: process.env,
    ...options,
    nodeFlags: ['--require', TELL_THREAD, ...(options.nodeFlags ?? [])],
    flags: ['--log-level', 'debug', ...(options.flags ?? [])],
    onLog(text) {
      log += text;
      for (const [, figures] of log.matchAll(FIGURES)) heard?.(JSON.parse(figures!) as ServiceFigures);
      for (const [, thread] of log.matchAll(PROOF_THREAD)) proofThreads.push(Number(thread));
      if (SNAPSHOT.test(log)) isTaken?.();
      log = log.slice(log.lastIndexOf('\n') + 1);
    },
  });
  const readFigures = () =>
    new Promise<ServiceFigures>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the service does not tell its figures')), PATIENCE_MS);
      heard = (figures) => {
        clearTimeout(timer);
        resolve(figures);
      };
      process.kill(server.pid, 'SIGWINCH');
    });
  const takeSnapshot = () =>
    new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the service takes no snapshot')), PATIENCE_MS);
      isTaken = () => {
        clearTimeout(timer);
        resolve();
      };
      process.kill(server.pid, 'SIGUSR2');
    });
  return { ...server, readFigures, takeSnapshot, proofThreads };
}

/** A client of the service; `headers` go with every request. */
export const clientOf = ({ url }: Service, headers?: Readonly<Record<string, string>>, agent?: Agent): Client =>
  connect(url, headers, { answerMsMax: PATIENCE_MS, ...(agent !== undefined && { agent }) });

/** Where intents waited and were served between two readings: means in milliseconds. */
export interface StageTimes {
  /** Share of requests that waited for their ledger's turn, and how long those did. */
  waitedShare: number;
  turnWait: number;
  /** Waiting for a worker, and there until the answer; batches of rows. */
  verifyWait: number;
  verify: number;
  /** Verified, waiting for the batch before to be on the disk. */
  inboxWait: number;
  /** The batch clearing, and on its way to the disk: nobody in it waits for anything else meanwhile. */
  clear: number;
  disk: number;
  /** What the proof workers worked, by the clock: milliseconds in all, waits for a core included. */
  workMs: number;
  /** Batches with anything to write. */
  frames: number;
  entries: number;
}

export function stagesBetween(before: ServiceFigures, after: ServiceFigures): StageTimes {
  const trips = (stage: 'queue' | 'trip') => {
    const [from, to] = [before.proofs[stage], after.proofs[stage]];
    return (to.totalMs - from.totalMs) / (to.count - from.count);
  };
  const sum = (name: keyof EngineStats) => after.engine[name] - before.engine[name];
  const [batches, frames] = [sum('batches'), sum('frames')];
  const answered = sum('accepted') + sum('refused');
  return {
    waitedShare: sum('waited') / answered,
    turnWait: sum('waited') === 0 ? 0 : sum('turnMs') / sum('waited'),
    verifyWait: trips('queue'),
    verify: trips('trip'),
    inboxWait: sum('inboxMs') / sum('cleared'),
    clear: sum('clearMs') / batches,
    disk: sum('diskMs') / frames,
    workMs: after.proofs.work.totalMs - before.proofs.work.totalMs,
    frames,
    entries: sum('entries'),
  };
}
