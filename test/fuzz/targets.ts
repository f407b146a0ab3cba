/**
 * What is fuzzed, by name. A target plays one case from its seed, throws where a promise was broken, and returns words
 * for what it met: a fuzzer that only ever meets refusals tests little.
 *
 * test/data/fuzz-seeds.json keeps seeds that once found something, or reach what few others do. They hold as long as
 * their target rolls its dice in the same order.
 */
import { fuzzJournal } from './journal.ts';
import { fuzzLists } from './lists.ts';
import { fuzzRequests } from './requests.ts';
import { fuzzRecovery, fuzzSnapshots } from './snapshots.ts';

interface Target {
  /** Cases that take a second or two: the share of a test run. */
  cases: number;
  play(seed: number): Promise<string[]>;
}

export const TARGETS: Readonly<Record<string, Target>> = {
  requests: { cases: 10, play: fuzzRequests },
  lists: { cases: 10, play: fuzzLists },
  journal: { cases: 1000, play: fuzzJournal },
  snapshots: { cases: 1500, play: fuzzSnapshots },
  recovery: { cases: 150, play: fuzzRecovery },
};

/** Plays one case; the error of one that fails says how to play it again. */
export async function playCase(name: string, seed: number): Promise<string[]> {
  try {
    return await TARGETS[name]!.play(seed);
  } catch (error) {
    const again = `npm run fuzz -- --only ${name} --seed ${seed} --cases 1`;
    throw new Error(`${again}: ${(error as Error).message}`, { cause: error });
  }
}
