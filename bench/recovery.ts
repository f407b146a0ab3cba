/**
 * `npm run bench -- recovery [--intents <count>]`: how fast books are read back, from the journal alone and from a
 * snapshot. Written by the engine, one-claim intents of about 1 KB of JSON; read in processes of their own, because
 * a process that has just written them has the compiled code and the memory of writing.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { closeHouse, fillHouse, fillTransfers, openHouse, takeHouseSnapshot } from './load/house.ts';
import type { RecoveryFigures } from './load/recovery-process.ts';
import { makeScratchDirectory } from './load/root.ts';
import { atLeast, type BenchCell, type BenchOptions, type BenchResult } from './result.ts';

const INTENTS = 1_000_000;
const INTENTS_SMOKE = 2000;

export async function run({ smoke, intents: asked }: BenchOptions): Promise<BenchResult> {
  const intents = asked ?? (smoke ? INTENTS_SMOKE : INTENTS);
  const wallets = Math.ceil(intents / 5);
  const scratch = makeScratchDirectory();
  try {
    const directory = join(scratch, 'data');
    const house = await openHouse(directory);
    await fillHouse(house, wallets);
    await fillTransfers(house, intents, wallets);
    await house.engine.drained();
    const written = house.journal.position.seq;
    const journal = await recoverApart(directory);
    const { bytes } = await takeHouseSnapshot(house);
    await closeHouse(house);
    const snapshot = await recoverApart(directory);
    const isWhole =
      journal.seq === written &&
      journal.seq === snapshot.seq &&
      journal.entries === journal.seq &&
      snapshot.entries === 0;
    return {
      name: 'recovery',
      tables: [
        {
          title: `Books of ${intents} intents over ${wallets} wallets, read back`,
          columns: ['from', 'entries replayed', 'MB read', 's', 'intents/s', 'CPU s', 'MB resident afterwards'],
          rows: [rowOf('journal', journal.journalBytes, intents, journal), rowOf('snapshot', bytes, intents, snapshot)],
        },
      ],
      goals: [
        atLeast('P7', `intents/s from a snapshot of ${intents}`, perSecond(intents, snapshot), 500_000, 'one'),
        atLeast('P7', `intents/s from a journal of ${intents}`, perSecond(intents, journal), 200_000, 'one'),
      ],
      notes: [
        'the files are in the page cache; wallets, a fifth as many and their funds, are read along and not counted',
        ...(isWhole ? [] : ['WRONG: what was read back is not what was written']),
      ],
      ok: isWhole,
    };
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function perSecond(intents: number, { ms }: RecoveryFigures): number {
  return (intents * 1000) / ms;
}

function rowOf(from: string, bytes: number, intents: number, figures: RecoveryFigures): BenchCell[] {
  const { entries, ms, cpuSeconds, residentBytes } = figures;
  return [from, entries, bytes / 1e6, ms / 1000, perSecond(intents, figures), cpuSeconds, residentBytes / 1e6];
}

/** Reads the books in a new process, which may be done while this one has them open: reading changes nothing whole. */
async function recoverApart(directory: string): Promise<RecoveryFigures> {
  const program = fileURLToPath(new URL('./load/recovery-process.js', import.meta.url));
  const child = fork(program, [directory]);
  const [figures] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`reading the books ended with ${code}`);
    }),
  ])) as [RecoveryFigures];
  return figures;
}
