/**
 * What another process has used so far, as the kernel counts it. Two readings and a subtraction give the
 * cost of what happened between them. Only Linux tells: elsewhere figures are NaN.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

interface Usage {
  /** Processor seconds of all threads, in user and kernel. */
  cpuSeconds: number;
  /** Of these, the main thread's: the one that runs the event loop. */
  mainSeconds: number;
  /** Of these, that of the threads asked for. */
  threadSeconds: number;
  /** The same of this process and of its children that have ended: the load generator's share. */
  ownSeconds: number;
  /** The same of the whole machine, whoever used it, time taken by the machine's host included. */
  machineSeconds: number;
  /** Bytes of all journal files in its data directory; snapshots are counted nowhere. */
  journalBytes: number;
  /** Resident memory. */
  residentBytes: number;
}

const JOURNAL_FILE = /\.ayj$/;

let ticksPerSecond: number | null = null;

export function readUsage(pid: number, directory: string, threads: readonly number[] = []): Usage {
  const cpuSeconds = readCpuSeconds(`${pid}`, 2);
  // Of no threads it is nothing, but not where nobody tells.
  const none = Number.isNaN(cpuSeconds) ? Number.NaN : 0;
  return {
    cpuSeconds,
    mainSeconds: readCpuSeconds(`${pid}/task/${pid}`, 2),
    threadSeconds: threads.reduce((sum, thread) => sum + readCpuSeconds(`${pid}/task/${thread}`, 2), none),
    ownSeconds: readCpuSeconds(`${process.pid}`, 4),
    machineSeconds: readMachineSeconds(),
    journalBytes: measureJournal(directory),
    residentBytes: readResidentBytes(pid),
  };
}

/**
 * Fields 14 (user) and 15 (kernel) of /proc/<task>/stat, and with `fields` 4 also 16 and 17 (the same of ended
 * children), proc(5); counted after the name, which may hold spaces.
 */
function readCpuSeconds(task: string, fields: 2 | 4): number {
  const all = readProc(`${task}/stat`).split(') ').pop()?.split(' ') ?? [];
  return sumTicks(all.slice(11, 11 + fields));
}

/** The first line of /proc/stat less its 4th and 5th number, which are idle time, and the guests, counted before. */
function readMachineSeconds(): number {
  const all = readProc('stat').split('\n', 1)[0]?.split(/\s+/) ?? [];
  return sumTicks([...all.slice(1, 4), ...all.slice(6, 9)]);
}

function sumTicks(ticks: string[]): number {
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return ticks.length === 0 ? Number.NaN : ticks.reduce((sum, each) => sum + Number(each), 0) / ticksPerSecond;
}

function readResidentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readProc(`${pid}/status`))?.[1]) * 1024;
}

function readProc(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function measureJournal(directory: string): number {
  let bytes = 0;
  for (const entry of readdirSync(directory, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile() || !JOURNAL_FILE.test(entry.name)) continue;
    try {
      bytes += statSync(join(entry.parentPath ?? entry.path, entry.name)).size;
    } catch {
      // Gone between listing and asking: the service removes files it has finished with.
    }
  }
  return bytes;
}
