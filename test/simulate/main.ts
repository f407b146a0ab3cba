/**
 * `npm run simulate`: whole lives from seeds, many at a time, in a process for each core.
 *
 *     npm run simulate                          1000 lives, from a seed that the clock gives
 *     npm run simulate -- --seed 17             that one life, and what happened in it
 *     npm run simulate -- --seeds 5000 --from 1 those lives
 *     npm run simulate -- --minutes 10          as many as that takes
 *     npm run simulate -- --workers 4           in so many processes; as many as there are cores by default
 *     npm run simulate -- --failures 1          until so many lives have failed, 10 by default
 *     npm run simulate -- --machines 1          only those of one machine, or of two
 *     npm run simulate -- --corpus              lives that once met a bug, seeds.ts
 *     npm run simulate -- --digests             with the digest of each life
 *
 * Prints each seed that failed, with what was wrong and the command that repeats it; exit code 1 where there is one.
 */
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { readCount } from '../../src/cli/usage.ts';
import { readFlags } from '../support/flags.ts';
import { Crew, type Report, serveCrew } from './crew.ts';
import { Life, type LifeResult, machinesIn } from './life.ts';
import { SEEDS } from './seeds.ts';

/** After so many failures more of them tell nothing new. */
const FAILURES_MAX = '10';
/** The longest life takes some seconds where the machine is busy. */
const LIFE_SECONDS_MAX = 60;
const GRACE_SECONDS = 5;
const COUNTED = ['starts', 'requests', 'frames', 'entries', 'snapshots', 'faults', 'damages', 'takeovers'] as const;

/** Counts over all lives. */
class Total {
  readonly #began = performance.now();
  readonly #counts = new Map<string, number>();
  lives = 0;
  failures = 0;

  add({ seed, result, failure }: Report<LifeResult>): void {
    this.lives++;
    if (result === null) {
      this.failures++;
      process.stdout.write(`\nseed ${seed} failed: ${failure}\nrepeat it: npm run simulate -- --seed ${seed}\n`);
      return;
    }
    for (const name of COUNTED) this.#counts.set(name, (this.#counts.get(name) ?? 0) + result[name]);
  }

  toString(): string {
    const seconds = (performance.now() - this.#began) / 1000;
    const counts = [...this.#counts].map(([name, count]) => `${count} ${name}`).join(', ');
    const speed = `${seconds.toFixed(1)} s, ${(this.lives / seconds).toFixed(1)} lives/s`;
    return `${this.lives} lives, ${this.failures} failed (${speed}): ${counts}`;
  }
}

/** So many seeds from one on, of lives of so many machines where that is asked. */
function* counted(from: number, count: number, machines: number | null): Generator<number> {
  for (let seed = from, left = count; left > 0; seed++) {
    if (machines !== null && machinesIn(seed) !== machines) continue;
    left--;
    yield seed;
  }
}

/** One life, told. */
async function tell(seed: number): Promise<boolean> {
  const life = new Life(seed, Number.POSITIVE_INFINITY);
  try {
    const { tally, ...result } = await life.run();
    process.stdout.write(`${life.trace.lines.join('\n')}\n${JSON.stringify(result)}\n${JSON.stringify(tally)}\n`);
    return true;
  } catch (error) {
    process.stdout.write(`${life.trace.lines.join('\n')}\nseed ${seed} failed: ${(error as Error).stack}\n`);
    return false;
  }
}

/** Which lives, in how many processes. Numbers that are none are refused: of no lives none fails. */
function readWish() {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      from: { type: 'string' },
      minutes: { type: 'string' },
      machines: { type: 'string' },
      workers: { type: 'string' },
      failures: { type: 'string', default: FAILURES_MAX },
      corpus: { type: 'boolean', default: false },
      digests: { type: 'boolean', default: false },
      worker: { type: 'boolean', default: false },
    },
  });
  const { seed, seeds, from, minutes, machines, workers } = values;
  const count = (flag: string, text: string | undefined, min: number, missing: number) =>
    text === undefined ? missing : readCount(flag, text, min);
  return {
    seed: seed === undefined ? null : readCount('--seed', seed, 0),
    from: count('--from', from, 0, Math.floor(Date.now() / 1000)),
    count: count('--seeds', seeds, 1, minutes === undefined ? 1000 : Number.POSITIVE_INFINITY),
    minutes: count('--minutes', minutes, 1, Number.POSITIVE_INFINITY),
    machines: machines === undefined ? null : readCount('--machines', machines, 1, 2),
    workers: count('--workers', workers, 1, availableParallelism()),
    failuresMax: readCount('--failures', values.failures, 1),
    isCorpus: values.corpus,
    tellsDigests: values.digests,
    isWorker: values.worker,
  };
}

async function main(): Promise<void> {
  const wish = readFlags('simulate', readWish);
  if (wish.isWorker) return serveCrew((seed) => new Life(seed).run());
  if (wish.seed !== null) {
    process.exitCode = (await tell(wish.seed)) ? 0 : 1;
    return;
  }
  const { from, isCorpus } = wish;
  const total = new Total();
  const crew = new Crew<LifeResult>({
    script: fileURLToPath(import.meta.url),
    args: ['--worker'],
    workers: wish.workers,
    seeds: isCorpus ? SEEDS.map(({ seed }) => seed).values() : counted(from, wish.count, wish.machines),
    secondsMax: wish.minutes * 60,
    graceSeconds: GRACE_SECONDS,
    lifeSecondsMax: LIFE_SECONDS_MAX,
    failuresMax: wish.failuresMax,
    tell: (report) => {
      total.add(report);
      if (wish.tellsDigests) process.stdout.write(`seed ${report.seed}: ${report.result?.digest}\n`);
    },
  });
  await crew.run();
  const broken = crew.brokenOff.length === 0 ? '' : `; broken off as the time was over: ${crew.brokenOff.join(', ')}`;
  process.stdout.write(isCorpus ? `${total}\n` : `from seed ${from}: ${total}${broken}\n`);
  if (total.failures > 0) process.exitCode = 1;
}

await main();
