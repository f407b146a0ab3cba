/**
 * What another process has used so far, as the kernel counts it. Two readings and a subtraction give the
 * cost of what happened between them. Only Linux tells: elsewhere figures are NaN.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface Usage {
  /** Processor seconds of all threads, in user and kernel. */
  cpuSeconds: number;
  /** Bytes of all journal files in its data directory; snapshots are counted nowhere. */
  journalBytes: number;
  /** Resident memory. */
  residentBytes: number;
}

const JOURNAL_FILE = /\.ayj$/;

let ticksPerSecond: number | null = null;

export function readUsage(pid: number, directory: string): Usage {
  return {
    cpuSeconds: readCpuSeconds(pid),
    journalBytes: measureJournal(directory),
    residentBytes: readResidentBytes(pid),
  };
}

/** Fields 14 and 15 of /proc/<pid>/stat, proc(5); counted after the name, which may hold spaces. */
function readCpuSeconds(pid: number): number {
  const fields = readProc(pid, 'stat').split(') ').pop()?.split(' ') ?? [];
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

function readResidentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readProc(pid, 'status'))?.[1]) * 1024;
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
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
