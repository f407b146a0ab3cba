/**
 * What this process may use of the machine: where it runs in a container, or under a service's limits, that is less.
 */
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { readWhole, realDisk } from './storage/disk.ts';

/** Where a container finds the limits of its control group (man 7 cgroups). */
const GROUPS = '/sys/fs/cgroup';
const FILE_BYTES_MAX = 256;

/** Cores that may work for this process at the same time. Nodes before 22 do not look at the quota of a container. */
export function coresOfProcess(groups = GROUPS): number {
  return Math.max(1, Math.min(availableParallelism(), Math.floor(coresOfGroup(groups))));
}

/** `cpu.max` of version 2 holds quota and period, version 1 has a file for each; no quota is `max`, or -1. */
function coresOfGroup(groups: string): number {
  const both =
    read(groups, 'cpu.max') ?? `${read(groups, 'cpu/cpu.cfs_quota_us')} ${read(groups, 'cpu/cpu.cfs_period_us')}`;
  const [quota, period] = both.split(' ').map(Number) as [number, number];
  return quota > 0 && period > 0 ? quota / period : Number.POSITIVE_INFINITY;
}

function read(groups: string, file: string): string | undefined {
  try {
    return readWhole(realDisk, join(groups, file), FILE_BYTES_MAX).toString().trim();
  } catch {
    return undefined;
  }
}

/** Bytes. Where there is no limit, Node gives none, or one that is no machine's. */
export function memoryOfProcess(): number {
  const most = process.constrainedMemory() ?? 0;
  return most > 0 ? Math.min(most, totalmem()) : totalmem();
}
