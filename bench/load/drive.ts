/**
 * Drives a running service with request parts: closed loop by wrk, open loop by open-loop.ts, each as a
 * process of its own. Where wrk is not installed, open-loop.ts takes its place at rate 0.
 *
 * `accepted` counts 201 answers (wrk tells 2xx and 3xx from the rest only; the service answers a POST with
 * 201 or an error). Requests cut off when wrk ends are neither accepted nor lost.
 */
import { execFile, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findRoot } from './root.ts';

const execute = promisify(execFile);

/** Latencies in milliseconds, of answers 201 alone; NaN where they cannot be told from the others. */
interface Latencies {
  p50: number;
  p90: number;
  p99: number;
  p999: number;
  max: number;
}

export interface LoadFigures extends Latencies {
  /** Requests sent of each part, from its beginning. */
  sent: number[];
  /** Whether the requests ran out before the time did; the rate is then taken over the shorter time. */
  ranOut: boolean;
  accepted: number;
  /** Answers other than 201, by status; wrk does not tell which: `other`. */
  refused: Record<string, number>;
  /** Requests without an answer: connection lost, none within the time limit, or due and never sent. */
  lost: number;
  seconds: number;
  /** Of answers other than 201; null where there are none, or where wrk does not tell them apart. */
  refusedP50: number | null;
  refusedP99: number | null;
  /** How late the generator itself sent though a connection was free, 99th percentile; null where that is not known. */
  lagP99: number | null;
  /** Processor time of the generator; null where that is not known. */
  cpuSeconds: number | null;
}

const UNTOLD: Latencies = { p50: Number.NaN, p90: Number.NaN, p99: Number.NaN, p999: Number.NaN, max: Number.NaN };

/** What wrk's done() prints, see requests.lua. */
interface WrkFigures extends Latencies {
  answered: number;
  refused: number;
  lost: number;
  timeouts: number;
  seconds: number;
  parts: { sent: number; ranOut: boolean }[];
}

export function refusedOf({ refused }: LoadFigures): number {
  return Object.values(refused).reduce((sum, count) => sum + count, 0);
}

export function hasWrk(): boolean {
  return spawnSync('wrk', ['-v']).error === undefined;
}

/**
 * As fast as answers come, on `connections` connections, one wrk thread for each part. With a `rate`, no faster than
 * that: a flood that costs the machine little, whose latencies are those of requests sent, not of requests due.
 */
export async function driveClosedLoop(
  port: number,
  parts: string[],
  connections: number,
  seconds: number,
  rate = 0,
): Promise<LoadFigures> {
  if (!hasWrk()) return driveOpenLoop(port, parts[0]!, rate, connections, seconds);
  const { stdout } = await execute('wrk', [
    `-t${parts.length}`,
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout=30s',
    ...['-s', join(findRoot(), 'bench', 'load', 'requests.lua')],
    `http://127.0.0.1:${port}/v2/intents`,
    '--',
    String(rate),
    ...parts,
  ]);
  const line = /RESULT (.*)/.exec(stdout)?.[1];
  if (line === undefined) throw new Error(`wrk gave no result:\n${stdout}`);
  const wrk = JSON.parse(line) as WrkFigures;
  // A refusal comes quickly: latencies of both together are nobody's.
  const { p50, p90, p99, p999, max } = wrk.refused > 0 ? UNTOLD : wrk;
  return {
    sent: wrk.parts.map((each) => each.sent),
    ranOut: wrk.parts.some((each) => each.ranOut),
    accepted: wrk.answered - wrk.refused,
    refused: wrk.refused > 0 ? { other: wrk.refused } : {},
    lost: wrk.lost + wrk.timeouts,
    ...{ seconds: wrk.seconds, p50, p90, p99, p999, max },
    refusedP50: null,
    refusedP99: null,
    lagP99: null,
    cpuSeconds: null,
  };
}

/** `rate` requests a second, on schedule; 0 is closed loop. */
export async function driveOpenLoop(
  port: number,
  part: string,
  rate: number,
  connections: number,
  seconds: number,
): Promise<LoadFigures> {
  const program = fileURLToPath(new URL('./open-loop.js', import.meta.url));
  const parameters = [program, port, part, rate, connections, seconds].map(String);
  const { stdout } = await execute(process.execPath, parameters);
  return JSON.parse(stdout) as LoadFigures;
}
