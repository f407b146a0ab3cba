/** `npm run kills -- --rounds 100 --seed 7`: kill -9 under load, so many times, with everything checked in between. */
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { readCount } from '../../src/cli/usage.ts';
import { makeDirectory } from '../support/directory.ts';
import { readFlags } from '../support/flags.ts';
import { killRounds } from './kill-rounds.ts';

const { rounds, seed } = readFlags('kills', () => {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '50' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    },
  });
  return { rounds: readCount('--rounds', values.rounds, 1), seed: readCount('--seed', values.seed, 0) };
});
const directory = makeDirectory();
process.stdout.write(`Books in ${directory}, seed ${seed}.\n`);
const tell = (line: string) => process.stdout.write(`${line}\n`);
try {
  const summary = await killRounds({ directory, rounds, seed, tell });
  process.stdout.write(`Nothing was lost: ${JSON.stringify(summary)}\n`);
  rmSync(directory, { recursive: true, force: true });
} catch (error) {
  process.stdout.write(`${(error as Error).stack}\nThe books are left in ${directory}.\n`);
  process.exitCode = 1;
}
