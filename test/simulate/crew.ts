/**
 * Worker processes that live what they are given, one life at a time, and somebody who watches them: a life that does
 * not end is ended, told with its seed, and another process takes the place of the one that lived it.
 *
 * Always holds: `run` ends at most `graceSeconds` after its time is over, whatever the workers do; a seed that was given
 * out is counted as lived, as failed, or as broken off because the time was over.
 */
import { type ChildProcess, fork } from 'node:child_process';

/** What a worker says of a seed. `result` is null where it failed. */
export interface Report<R> {
  readonly seed: number;
  readonly result: R | null;
  readonly failure: string;
}

export interface CrewPlan<R> {
  /** What a worker runs; it is sent seeds and answers each with its report. */
  readonly script: string;
  readonly args: readonly string[];
  readonly workers: number;
  readonly seeds: Iterator<number>;
  /** No life begins after so long. */
  readonly secondsMax: number;
  /** How long lives that have begun may go on once the time is over. */
  readonly graceSeconds: number;
  /** No life takes so long: it hangs. */
  readonly lifeSecondsMax: number;
  /** No life begins after so many have failed. */
  readonly failuresMax: number;
  tell(report: Report<R>): void;
}

const TICK_MS = 250;
/**
 * Every core has a worker that never waits: threads that collect garbage beside it only take time from the others, and
 * most of what a life makes is garbage when the room for what is new is full, if that is large.
 */
const FLAGS = ['--single-threaded-gc', '--max-semi-space-size=32'];
/** What a worker says first. */
const READY = 'ready';

export class Crew<R> {
  readonly #plan: CrewPlan<R>;
  readonly #members = new Set<Member>();
  readonly #began = performance.now();
  /** Ticks of a watch that stands still, or slows down, while the whole machine is held up, as the workers do. */
  #ticks = 0;
  #failures = 0;
  /** Seeds whose lives were broken off because the time was over. */
  readonly brokenOff: number[] = [];

  constructor(plan: CrewPlan<R>) {
    this.#plan = plan;
  }

  async run(): Promise<void> {
    const watch = setInterval(() => this.#tick(), TICK_MS);
    try {
      await new Promise<void>((resolve, reject) => {
        for (let n = 0; n < this.#plan.workers; n++) this.#hire(resolve, reject);
      });
    } finally {
      clearInterval(watch);
      for (const { worker } of this.#members) worker.kill('SIGKILL');
    }
  }

  #hire(done: () => void, fail: (error: Error) => void): void {
    const { script, args } = this.#plan;
    const member: Member = {
      worker: fork(script, args, { execArgv: FLAGS }),
      seed: null,
      since: this.#ticks,
      isReady: false,
    };
    const { worker } = member;
    this.#members.add(member);
    worker.on('message', (message: Report<R> | typeof READY) => {
      member.seed = null;
      member.isReady = true;
      if (message !== READY) this.#tell(message);
      this.#give(member);
    });
    worker.on('error', fail);
    worker.on('exit', (code, signal) => {
      this.#members.delete(member);
      if (!member.isReady && code !== null) return fail(new Error(`a worker does not start: it ends with ${code}`));
      // Whoever was killed for a life without end is told of by then.
      if (member.seed !== null) this.#tell({ seed: member.seed, result: null, failure: `ended by ${signal ?? code}` });
      if (code !== 0 && !this.#isOver()) this.#hire(done, fail);
      if (this.#members.size === 0) done();
    });
  }

  #give(member: Member): void {
    const next = this.#isOver() ? null : this.#plan.seeds.next();
    if (next === null || next.done === true) return void member.worker.disconnect();
    member.seed = next.value;
    member.since = this.#ticks;
    member.worker.send(next.value);
  }

  #tell(report: Report<R>): void {
    if (report.result === null) this.#failures++;
    this.#plan.tell(report);
  }

  #tick(): void {
    this.#ticks++;
    const { lifeSecondsMax, secondsMax, graceSeconds } = this.#plan;
    for (const member of this.#members) {
      const { seed, since } = member;
      if (seed !== null && ((this.#ticks - since) * TICK_MS) / 1000 > lifeSecondsMax) {
        member.seed = null;
        this.#tell({ seed, result: null, failure: `the life has not ended after ${lifeSecondsMax} s` });
        member.worker.kill('SIGKILL');
      } else if (this.#seconds() > secondsMax + graceSeconds) {
        member.seed = null;
        if (seed !== null) this.brokenOff.push(seed);
        member.worker.kill('SIGKILL');
      }
    }
  }

  #seconds(): number {
    return (performance.now() - this.#began) / 1000;
  }

  #isOver(): boolean {
    const { secondsMax, failuresMax } = this.#plan;
    return this.#seconds() >= secondsMax || this.#failures >= failuresMax;
  }
}

interface Member {
  readonly worker: ChildProcess;
  /** What it lives now; null for nothing, or for what is settled. */
  seed: number | null;
  since: number;
  isReady: boolean;
}

/** A worker lives what it is sent, and says what became of it. */
export function serveCrew<R>(live: (seed: number) => Promise<R>): void {
  process.on('message', async (seed: number) => {
    let report: Report<R>;
    try {
      report = { seed, result: await live(seed), failure: '' };
    } catch (error) {
      report = { seed, result: null, failure: (error as Error).stack ?? String(error) };
    }
    process.send!(report);
  });
  process.on('disconnect', () => process.exit(0));
  process.send!(READY);
}
