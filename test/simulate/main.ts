/**
 * `npm run simulate`: whole lives from seeds, many at a time, each in a process of its own kind.
 *
 *     npm run simulate                          1000 lives, from a seed that the clock gives
 *     npm run simulate -- --seed 17             that one life, and what happened in it
 *     npm run simulate -- --seeds 5000 --from 1 those lives
 *     npm run simulate -- --minutes 10          as many as that takes
 *     npm run simulate -- --workers 4           in so many processes; as many as there are cores by default
 *     npm run simulate -- --failures 1          until so many lives have failed, 10 by default
 *     npm run simulate -- --corpus              lives that once met a bug, seeds.ts
 *
 * Prints each seed that failed, with what was wrong and the command that repeats it; exit code 1 where there is one.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Life, type LifeResult } from './life.ts';
import { SEEDS } from './seeds.ts';

/** Lives that a worker is given at a time. */
const SHARE = 5;
/** After so many failures more of them tell nothing new. */
const FAILURES_MAX = '10';

interface Report {
  seed: number;
  result: LifeResult | null;
  failure: string;
}

async function live(seed: number): Promise<Report> {
  const life = new Life(seed);
  try {
    return { seed, result: await life.run(), failure: '' };
  } catch (error) {
    return { seed, result: null, failure: (error as Error).stack ?? String(error) };
  }
}

/** A worker lives what it is sent, and says what became of it. */
function work(): void {
  process.on('message', async (seeds: number[]) => {
    const reports: Report[] = [];
    for (const seed of seeds) reports.push(await live(seed));
    process.send!(reports);
  });
  process.on('disconnect', () => process.exit(0));
}

interface Plan {
  seeds: Iterator<number>;
  endMs: number;
  workers: number;
  failuresMax: number;
}

/** Counts over all lives. */
class Total {
  readonly #began = performance.now();
  readonly #counts = new Map<string, number>();
  lives = 0;
  failures = 0;

  add({ seed, result, failure }: Report): void {
    this.lives++;
    if (result === null) {
      this.failures++;
      process.stdout.write(`\nseed ${seed} failed: ${failure}\nrepeat it: npm run simulate -- --seed ${seed}\n`);
      return;
    }
    for (const name of ['starts', 'requests', 'frames', 'entries', 'snapshots', 'faults', 'damages'] as const) {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + result[name]);
    }
  }

  toString(): string {
    const seconds = (performance.now() - this.#began) / 1000;
    const counts = [...this.#counts].map(([name, count]) => `${count} ${name}`).join(', ');
    const speed = `${seconds.toFixed(1)} s, ${(this.lives / seconds).toFixed(1)} lives/s`;
    return `${this.lives} lives, ${this.failures} failed (${speed}): ${counts}`;
  }
}

/** Hands shares of the seeds to worker processes until all are lived, the time is over, or enough went wrong. */
async function simulate({ seeds, endMs, workers, failuresMax }: Plan): Promise<Total> {
  const total = new Total();
  const give = (worker: ChildProcess) => {
    const share: number[] = [];
    const isOver = performance.now() >= endMs || total.failures >= failuresMax;
    while (!isOver && share.length < SHARE) {
      const next = seeds.next();
      if (next.done === true) break;
      share.push(next.value);
    }
    if (share.length === 0) worker.disconnect();
    else worker.send(share);
  };
  const ends = Array.from({ length: workers }, () => {
    const worker = fork(fileURLToPath(import.meta.url), ['--worker']);
    worker.on('message', (reports: Report[]) => {
      for (const report of reports) total.add(report);
      give(worker);
    });
    give(worker);
    return new Promise<void>((resolve, reject) => {
      worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a worker ended with ${code}`))));
    });
  });
  await Promise.all(ends);
  return total;
}

function* counted(from: number, count: number): Generator<number> {
  for (let seed = from; seed < from + count; seed++) yield seed;
}

/** One life, told. */
async function tell(seed: number): Promise<boolean> {
  const life = new Life(seed, Number.POSITIVE_INFINITY);
  try {
    const { tally, ...result } = await life.run();
    process.stdout.write(`${life.trace.join('\n')}\n${JSON.stringify(result)}\n${JSON.stringify(tally)}\n`);
    return true;
  } catch (error) {
    process.stdout.write(`${life.trace.join('\n')}\nseed ${seed} failed: ${(error as Error).stack}\n`);
    return false;
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string' },
      seeds: { type: 'string' },
      from: { type: 'string' },
      minutes: { type: 'string' },
      workers: { type: 'string' },
      failures: { type: 'string', default: FAILURES_MAX },
      corpus: { type: 'boolean' },
      worker: { type: 'boolean' },
    },
  });
  if (values.worker === true) return work();
  if (values.seed !== undefined) {
    process.exitCode = (await tell(Number(values.seed))) ? 0 : 1;
    return;
  }
  const minutes = values.minutes === undefined ? Number.POSITIVE_INFINITY : Number(values.minutes);
  const from = Number(values.from ?? Math.floor(Date.now() / 1000));
  const count = Number(values.seeds ?? (values.minutes === undefined ? 1000 : Number.POSITIVE_INFINITY));
  const total = await simulate({
    seeds: values.corpus === true ? SEEDS.map(({ seed }) => seed).values() : counted(from, count),
    endMs: performance.now() + minutes * 60_000,
    workers: Number(values.workers ?? availableParallelism()),
    failuresMax: Number(values.failures),
  });
  process.stdout.write(values.corpus === true ? `${total}\n` : `from seed ${from}: ${total}\n`);
  if (total.failures > 0) process.exitCode = 1;
}

await main();
