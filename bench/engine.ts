/**
 * `npm run bench -- engine`: the engine without HTTP and signatures, on one thread: decide, apply, journal, sync, with
 * every check on. Commands are made before the clock runs, as the door would hand them over.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { closeHouse, fillHouse, makeTransfers, openHouse, SLICE, submitAll } from './load/house.ts';
import { makeScratchDirectory } from './load/root.ts';
import { atLeast, type BenchCell, type BenchOptions, type BenchResult } from './result.ts';

const WALLETS = 1000;
const FULL = { single: 600_000, many: 40_000 };
const SMOKE: typeof FULL = { single: 2000, many: 200 };

export async function run({ smoke }: BenchOptions): Promise<BenchResult> {
  const { single, many } = smoke ? SMOKE : FULL;
  const rows: BenchCell[][] = [];
  const singlePerSecond = await measure(1, single, rows);
  const manyPerSecond = await measure(50, many, rows);
  return {
    name: 'engine',
    tables: [
      {
        title: 'one thread, no HTTP, no signatures but the frame’s own; every check on, every batch synced',
        columns: [
          ...['claims', 'intents', 'intents/s', 'transfers/s', 'CPU µs/intent', 'clear µs/intent', 'batches'],
          ...['inbox ms/intent', 'clear ms/batch', 'disk ms/batch'],
        ],
        rows,
      },
    ],
    goals: [
      atLeast('P3', 'one-claim intents/s', singlePerSecond, 250_000),
      atLeast('P3', 'transfers/s in 50-claim intents', manyPerSecond * 50, 1_000_000),
    ],
    notes: [`${SLICE} commands are handed in at once, so that the wait in the inbox says nothing about a service`],
    ok: true,
  };
}

/** Intents per second. */
async function measure(claims: number, intents: number, rows: BenchCell[][]): Promise<number> {
  const scratch = makeScratchDirectory();
  try {
    const house = await openHouse(join(scratch, 'data'));
    await fillHouse(house, WALLETS);
    const { stats } = house.engine;
    const before = { ...stats };
    let [seconds, cpu] = [0, 0];
    for (let from = 0; from < intents; from += SLICE) {
      const commands = makeTransfers(from, Math.min(SLICE, intents - from), WALLETS, claims);
      const cpuBefore = process.cpuUsage();
      const began = performance.now();
      await submitAll(house.engine, commands);
      seconds += (performance.now() - began) / 1000;
      const used = process.cpuUsage(cpuBefore);
      cpu += used.user + used.system;
    }
    await closeHouse(house);
    const batches = stats.batches - before.batches;
    const clearMs = stats.clearMs - before.clearMs;
    rows.push([
      ...[claims, intents, intents / seconds, (intents / seconds) * claims, cpu / intents],
      ...[(clearMs / intents) * 1000, batches, (stats.inboxMs - before.inboxMs) / intents],
      ...[clearMs / batches, (stats.diskMs - before.diskMs) / batches],
    ]);
    return intents / seconds;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
