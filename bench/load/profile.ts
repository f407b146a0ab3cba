/**
 * Where a thread's time went, by room of the house: V8 looks at the stack about every half millisecond, and each look
 * counts for the room of the innermost function of ours (what a built-in works, works for its caller).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** For Node: write a profile of each thread into this directory when the process ends. */
export function profileFlags(directory: string): string[] {
  return ['--cpu-prof', '--cpu-prof-interval=500', `--cpu-prof-dir=${directory}`];
}

interface CpuProfile {
  nodes: { id: number; callFrame: CallFrame; children?: number[] }[];
  samples: number[];
  /** Microseconds from each sample to the one before. */
  timeDeltas: number[];
}

/** Lines and columns from 0. */
interface CallFrame {
  functionName: string;
  url: string;
  lineNumber: number;
  columnNumber: number;
}

/** The HTTP library and the one file that calls it, and what belongs to no function: sockets, parsing, the kernel. */
const SOCKETS = 'sockets';
const GARBAGE = 'garbage collection';
const NODE = 'node';
const IDLE = 'idle';
const REST = 'rest';
/** What the main thread runs, and no other. */
const MAIN = 'main.js';
/** Rooms with a smaller share are told together. */
const SHARE_MIN = 0.015;

/**
 * Shares (0…1) of the busy time of the server's main thread, between `fromMs` and `toMs` after its start,
 * by room: `http`, `core`, …; largest first. Time without work is left out.
 */
export function readShares(directory: string, fromMs: number, toMs: number): [string, number][] {
  const profiles = readdirSync(directory)
    .filter((file) => file.endsWith('.cpuprofile'))
    .map((file) => JSON.parse(readFileSync(join(directory, file), 'utf8')) as CpuProfile);
  const profile = profiles.find(({ nodes }) => nodes.some(({ callFrame }) => callFrame.url.endsWith(MAIN)));
  if (profile === undefined) throw new Error(`no profile in ${directory} has ${MAIN}`);
  const rooms = roomsOf(profile);
  const sums = new Map<string, number>();
  let [at, busy] = [0, 0];
  for (const [index, delta] of profile.timeDeltas.entries()) {
    at += delta;
    const room = rooms.get(profile.samples[index]!)!;
    if (room === IDLE || at < fromMs * 1000 || at > toMs * 1000) continue;
    sums.set(room, (sums.get(room) ?? 0) + delta);
    busy += delta;
  }
  const shares = [...sums].map(([room, time]): [string, number] => [room, time / busy]).sort(([, a], [, b]) => b - a);
  const told = shares.filter(([, share]) => share >= SHARE_MIN);
  return [...told, [REST, 1 - told.reduce((sum, [, share]) => sum + share, 0)]];
}

/** The room each node of the profile counts for. Parents come before their children. */
function roomsOf({ nodes }: CpuProfile): Map<number, string> {
  const rooms = new Map<number, string>();
  const callers = new Map<number, number>();
  const originOf = origins();
  for (const { id, callFrame, children } of nodes) {
    for (const child of children ?? []) callers.set(child, id);
    // Built-ins work for their caller.
    rooms.set(id, roomOf(callFrame, originOf(callFrame)) ?? rooms.get(callers.get(id)!) ?? SOCKETS);
  }
  return rooms;
}

/** URLs of the files that functions stood in before the build put them together. */
function origins(): (frame: CallFrame) => string {
  const maps = new Map<string, SourceMap | null>();
  const mapOf = (url: string) => {
    const path = url.startsWith('file:') ? `${fileURLToPath(url)}.map` : '';
    return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, 'utf8'))) : null;
  };
  return ({ url, lineNumber, columnNumber }) => {
    if (!maps.has(url)) maps.set(url, mapOf(url));
    const entry = maps.get(url)?.findEntry(lineNumber, columnNumber);
    return entry !== undefined && 'originalSource' in entry ? new URL(entry.originalSource, url).href : url;
  };
}

/** Null for a built-in. */
function roomOf({ functionName }: CallFrame, url: string): string | null {
  if (functionName === '(idle)') return IDLE;
  if (functionName === '(garbage collector)') return GARBAGE;
  if (functionName === '(program)' || url.endsWith('/http/server.js')) return SOCKETS;
  const [, path] = /.*\/src\/(.+)\.js$/.exec(url) ?? [];
  if (path !== undefined) return path.split('/')[0]!;
  return url.startsWith('node:') ? NODE : null;
}
