/**
 * Worker threads that live in virtual time and fail by chance: they throw in the middle of a task, die with it, fall
 * silent, or die between tasks. What they do when they do it is what the real ones do.
 */
import type { Threads } from '../../src/proof/pool.ts';
import { createWork, type ProofTask, type ProofWorkData } from '../../src/proof/work.ts';
import type { Dice } from '../support/dice.ts';
import type { Loop } from './loop.ts';

export interface ThreadOptions {
  readonly loop: Loop;
  readonly dice: Dice;
  readonly count: number;
  /** Share of the tasks that go wrong. */
  readonly faults: number;
}

interface Waiting {
  readonly task: ProofTask;
  readonly resolve: (ms: number) => void;
  readonly reject: (error: Error) => void;
}

export class VirtualThreads implements Threads {
  threads: object[] = [];
  readonly #options: ThreadOptions;
  readonly #work: (task: ProofTask) => number;
  readonly #busy = new Set<object>();
  readonly #waiting: Waiting[] = [];
  readonly #listeners: (() => void)[] = [];

  constructor(data: ProofWorkData, options: ThreadOptions) {
    this.#options = options;
    this.#work = createWork(data);
    this.threads = Array.from({ length: options.count }, () => ({}));
  }

  run(task: ProofTask): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, resolve, reject });
      this.#begin();
    });
  }

  on(_event: 'lost', listener: () => void): void {
    this.#listeners.push(listener);
  }

  async destroy(): Promise<void> {
    this.threads = [];
  }

  #begin(): void {
    const { loop, dice } = this.#options;
    const thread = this.threads.find((one) => !this.#busy.has(one));
    const next = thread === undefined ? undefined : this.#waiting.shift();
    if (next === undefined) return;
    this.#busy.add(thread!);
    const ms = dice.chance(0.1) ? dice.between(5, 80) : dice.roll() * 2;
    loop.after(ms, () => {
      this.#busy.delete(thread!);
      this.#end(thread!, next);
      this.#begin();
    });
  }

  #end(thread: object, { task, resolve, reject }: Waiting): void {
    const { dice, faults } = this.#options;
    if (!dice.chance(faults)) return resolve(this.#work(task));
    const fault = dice.pick(['throws', 'throws late', 'dies', 'dies late', 'is silent']);
    if (fault === 'is silent') return resolve(0);
    // Late: everything is written, and nobody hears of it; else the half.
    this.#work(fault.endsWith('late') ? task : { ...task, checks: task.checks >> 1, seals: 0 });
    if (fault.startsWith('dies')) this.#lose(thread);
    reject(new Error(`a thread ${fault}`));
  }

  /** A thread is gone; mostly another one takes its place. */
  #lose(thread: object): void {
    const { loop, dice } = this.#options;
    this.threads = this.threads.filter((one) => one !== thread);
    for (const tell of this.#listeners) tell();
    if (dice.chance(0.8)) {
      loop.after(1, () => {
        this.threads = [...this.threads, {}];
        this.#begin();
      });
    }
  }
}
