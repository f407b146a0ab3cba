/**
 * `npm run fuzz -- --minutes 10 [--only lists] [--seed 17] [--cases 1]`: every fuzzer in turn, from seeds by chance or
 * from one that is named. Ends with code 1 at the first case that fails, and says how to play it again.
 */
import { parseArgs } from 'node:util';
import { readCount, UsageError } from '../../src/cli/usage.ts';
import { readFlags } from '../support/flags.ts';
import { playCase, TARGETS } from './targets.ts';

const { names, casesMax, first, minutes } = readFlags('fuzz', () => {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: '1' },
      only: { type: 'string', default: '' },
      seed: { type: 'string', default: '' },
      cases: { type: 'string', default: '' },
    },
  });
  const names = Object.keys(TARGETS).filter((name) => values.only === '' || name === values.only);
  if (names.length === 0) throw new UsageError(`--only: there are ${Object.keys(TARGETS).join(', ')}`);
  return {
    names,
    casesMax: values.cases === '' ? Number.POSITIVE_INFINITY : readCount('--cases', values.cases, 1),
    first: values.seed === '' ? Math.floor(Math.random() * 2 ** 31) : readCount('--seed', values.seed, 0),
    minutes: readCount('--minutes', values.minutes, 1),
  };
});
const end = Date.now() + minutes * 60_000;
const met = new Map(names.map((name) => [name, new Map<string, number>()]));

try {
  const played = await play();
  for (const [name, words] of met) {
    const told = [...words].sort((one, other) => other[1] - one[1]).map(([word, count]) => `${word} ${count}`);
    process.stdout.write(`${name}: ${played.get(name)} cases. Met: ${told.join(', ')}\n`);
  }
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n${((error as Error).cause as Error)?.stack ?? ''}\n`);
  process.exitCode = 1;
}

/** Each fuzzer for its share of cases, round after round, until the time or the cases are over. */
async function play(): Promise<Map<string, number>> {
  const played = new Map(names.map((name) => [name, 0]));
  for (;;) {
    for (const name of names) {
      for (let turn = 0; turn < TARGETS[name]!.cases; turn++) {
        const count = played.get(name)!;
        if (Date.now() > end || count >= casesMax) break;
        played.set(name, count + 1);
        const words = met.get(name)!;
        for (const word of await playCase(name, first + count)) words.set(word, (words.get(word) ?? 0) + 1);
      }
    }
    if (Date.now() > end || [...played.values()].every((count) => count >= casesMax)) return played;
  }
}
