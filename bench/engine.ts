/**
 * `npm run bench -- engine`: the engine without HTTP and signatures, on one thread: decide, apply, journal, sync, with
 * every check on. Commands come as the door would hand them over, one by one as they are made, on the same thread: rounds
 * of making alone and of making and clearing take turns, the difference is the engine's, and the middle one of the rounds
 * counts.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Countdown, closeHouse, fillHouse, type House, handIn, makeTransfer, openHouse } from './load/house.ts';
import { makeScratchDirectory } from './load/root.ts';
import { atLeast, type BenchCell, type BenchOptions, type BenchResult } from './result.ts';

const WALLETS = 1000;
/** Intents of a round. */
const FULL = { single: 100_000, many: 10_000 };
const SMOKE: typeof FULL = { single: 500, many: 50 };
const ROUNDS = 5;
/** Commands made and handed in before an answer is waited for, and so many such slices under way: as a busy service has. */
const SLICE_INTENTS = 64;
const SLICES_UNDERWAY = 3;

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
          ...['claims', 'intents', 'CPU µs/intent', 'making it µs', 'intents/s a core', 'transfers/s a core'],
          ...['clear µs/intent', 'batches', 'clear ms/batch', 'disk ms/batch'],
        ],
        rows,
      },
    ],
    goals: [
      atLeast('P3', 'one-claim intents/s a core', singlePerSecond, 250_000, 'one'),
      atLeast('P3', 'transfers/s a core in 50-claim intents', manyPerSecond * 50, 1_000_000, 'one'),
    ],
    notes: [
      'CPU: of all threads, the system’s work for the disk included; what making the commands takes is not in it',
    ],
    ok: true,
  };
}

/** Intents a second that one core would clear, by the processor time they take; what that comes from is added to `rows`. */
async function measure(claims: number, intents: number, rows: BenchCell[][]): Promise<number> {
  const scratch = makeScratchDirectory();
  try {
    const house = await openHouse(join(scratch, 'data'));
    await fillHouse(house, WALLETS);
    const loop = { house, claims, intents, made: 0 };
    await runLoop(loop, true);
    const { stats } = house.engine;
    const before = { ...stats };
    const rounds: { making: number; clearing: number }[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const making = await runLoop(loop, false);
      const clearing = (await runLoop(loop, true)) - making;
      rounds.push({ making, clearing });
    }
    await closeHouse(house);
    const { making, clearing } = rounds.sort((a, b) => a.clearing - b.clearing)[ROUNDS >> 1]!;
    const batches = stats.batches - before.batches;
    const clearMs = stats.clearMs - before.clearMs;
    const cleared = ROUNDS * intents;
    rows.push([
      ...[claims, cleared, clearing, making, 1e6 / clearing, (1e6 / clearing) * claims],
      ...[(clearMs / cleared) * 1000, batches, clearMs / batches, (stats.diskMs - before.diskMs) / batches],
    ]);
    return 1e6 / clearing;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Makes a round of commands, and hands each in or not, some slices ahead of the answers; processor µs an intent. */
async function runLoop(
  loop: { house: House; claims: number; intents: number; made: number },
  isHandedIn: boolean,
): Promise<number> {
  const { house, claims, intents } = loop;
  const before = process.cpuUsage();
  const underway: Promise<void>[] = [];
  for (let from = 0; from < intents; from += SLICE_INTENTS) {
    const count = Math.min(SLICE_INTENTS, intents - from);
    const end = new Countdown(count);
    for (let i = 0; i < count; i++) {
      const command = makeTransfer(loop.made + i, WALLETS, claims);
      if (isHandedIn) handIn(house.engine, command, end);
    }
    if (!isHandedIn) continue;
    loop.made += count;
    underway.push(end.reached);
    if (underway.length > SLICES_UNDERWAY) await underway.shift();
  }
  await Promise.all(underway);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / intents;
}
