/**
 * The proof workers: jobs come in one by one, their rows leave in batches, one trip to a worker per batch.
 *
 * Batches form by themselves, as in a group commit: what is submitted in one turn of the event loop goes
 * together, and while all workers are busy, rows gather behind what each is at, so that none waits for its next. No
 * timer. A few rows with nothing else under way are worked off on this thread, which saves a lone client the trip; the
 * threads are started by the first rows that are more than that, so that no start waits for them, or ahead of those by
 * `prepare`. Once that is through, this thread too verifies by tables of keys.
 *
 * What always holds: `done` of each job is called exactly once and never inside `submit`; a check counts as
 * good only where a verdict says so in this task; rows of a worker that dies are verified again, at last on
 * this thread, so that nobody is accepted unverified or refused for our trouble.
 */
import { randomBytes } from 'node:crypto';
import { KeyedVerifier, SHAPES_FOR_ROWS_ALONE } from './comb/index.ts';
import { type Part, PendingJob, type ProofJob } from './jobs.ts';
import { createKeyPair, type KeyPair } from './keys.ts';
import { SLABS_PER_LANE } from './lane.ts';
import { fillSlab, firstBad, isAnswered, readSlab, slabOf } from './parts.ts';
import { signRows, verifyRows } from './rows.ts';
import { type Slab, slabBytes, slabOver } from './slab.ts';
import { loadAhead, NoThreadError, startThreads, type Threads } from './threads.ts';
import { LIBRARIES, sign } from './verify.ts';
import type { ProofTask, ProofWorkData } from './work.ts';

export type { ProofJob, ProofResult } from './jobs.ts';
export type { Threads } from './threads.ts';

export interface ProofPoolOptions {
  /** Threads; 0 verifies everything on the calling thread. */
  workers: number;
  /** Who signs the seals. */
  server: KeyPair;
  /** Rows (checks and seals) in one trip to a worker. */
  rowsPerTaskMax: number;
  /** Where nothing else is under way, at most so many rows are worked off on the calling thread. */
  inlineRowsMax: number;
  /** Keys of which each worker, and this thread, keeps a table to verify faster, at most; see comb/. */
  keyTablesMax?: number;
  /** How many looks at a task it takes until its thread is said to hang. */
  looksMax?: number;
  /** The module a worker runs, for tests; a file URL. */
  workerUrl?: URL;
  /** Threads of another make, for a test that holds the clock. */
  startThreads?: (data: ProofWorkData) => Threads;
}

interface StageTime {
  count: number;
  totalMs: number;
  maxMs: number;
}

export interface ProofStats {
  jobs: number;
  /** Checks and seals of those jobs. */
  rows: number;
  /** Trips to workers, repeated ones included. */
  tasks: number;
  rowsInline: number;
  /** Tasks whose worker died or threw. */
  tasksFailed: number;
  /** How long a job waits from submit until its first rows leave; once per job. */
  queue: StageTime;
  /** How long a task takes from leaving until its answer is here; once per task. */
  trip: StageTime;
  /** How long of that the worker worked on it; once per task. */
  work: StageTime;
}

const KEY_TABLES_MAX = 2048;

/** How often a row is verified before the verifier is used: some 40 ms in all. */
const WARMING_STEPS = 24;
const WARMING_ROWS_PER_STEP = 50;

/** Fewer rows than this are not split among idle workers, nor put behind others: a trip costs as much. */
const ROWS_PER_SPLIT_MIN = 8;

/** How often a failed task goes to a worker again before this thread works it off. */
const TASK_RETRIES_MAX = 2;

/** Rows this thread works off in one turn when workers fail: other work must get its turn too. */
const INLINE_ROWS_PER_TURN_MAX = 16;

/** Looks are a second apart, so these are a minute. A task takes a thread a hundredth of a second. */
const LOOKS_MAX = 60;

/** A thread took a task and neither answers nor ends: those whose rows it has would wait for ever. */
export class HangingError extends Error {
  override name = 'HangingError';
}

interface Task {
  readonly parts: Part[];
  checks: number;
  seals: number;
  slab: number;
  started: number;
  failures: number;
  /** How often it was looked at since it was sent. */
  looks: number;
}

export class ProofPool {
  readonly stats: ProofStats;
  readonly #options: ProofPoolOptions;
  /** Starts the threads; null once that was done, and where there are to be none. */
  #start: (() => Threads) | null;
  #threads: Threads | null = null;
  readonly #slabs: Slab[];
  /** Of each worker: which of its slabs are free. */
  readonly #slabsFree: number[][];
  readonly #tasks = new Set<Task>();
  #queue: PendingJob[] = [];
  #rowsWaiting = 0;
  #partsInline: Part[] = [];
  /** Has no tables until prepared: to make them takes too long for whoever waits meanwhile. */
  #verifier = new KeyedVerifier({ library: LIBRARIES[0]!, keysMax: 0, salt: 0 });
  #turn = 0;
  #turnScheduled = false;
  #jobsOpen = 0;
  #closing = false;
  #drained: (() => void) | null = null;

  constructor(options: ProofPoolOptions) {
    if (options.rowsPerTaskMax < 1) throw new RangeError('rowsPerTaskMax must be at least 1');
    this.#options = options;
    this.stats = {
      jobs: 0,
      rows: 0,
      tasks: 0,
      rowsInline: 0,
      tasksFailed: 0,
      queue: { count: 0, totalMs: 0, maxMs: 0 },
      trip: { count: 0, totalMs: 0, maxMs: 0 },
      work: { count: 0, totalMs: 0, maxMs: 0 },
    };
    const rowsMax = options.rowsPerTaskMax;
    const count = options.workers * SLABS_PER_LANE;
    const memories = Array.from({ length: count }, () => new SharedArrayBuffer(slabBytes(rowsMax)));
    this.#slabs = memories.map((memory) => slabOver(memory, rowsMax));
    this.#slabsFree = Array.from({ length: options.workers }, (_, worker) =>
      Array.from({ length: SLABS_PER_LANE }, (_, slab) => worker * SLABS_PER_LANE + slab),
    );
    const data = { server: options.server, rowsMax, keyTablesMax: options.keyTablesMax ?? KEY_TABLES_MAX, memories };
    this.#start = options.workers === 0 ? null : () => this.#openThreads(data);
  }

  /**
   * Threads that there were to be and are not: the system has none for us, or those that died were not started again.
   */
  get threadsMissing(): number {
    if (this.#start !== null || this.#closing) return 0;
    return this.#options.workers - (this.#threads?.threads.length ?? 0);
  }

  /** Takes a job. Throws a RangeError where its rows are not whole. */
  submit(job: ProofJob): void {
    this.#scheduleTurn();
    const pending = new PendingJob(job, this.#turn);
    this.#jobsOpen++;
    this.stats.jobs++;
    if (this.#closing) {
      pending.take(pending.rowsLeft);
      setImmediate(() => this.#settle(pending, -1, new Error('the proof pool is closed')));
      return;
    }
    const rows = pending.rowsLeft;
    this.stats.rows += rows;
    if (rows === 0) {
      pending.take(0);
      setImmediate(() => this.#settle(pending, -1, null));
      return;
    }
    this.#rowsWaiting += rows;
    this.#queue.push(pending);
  }

  /**
   * Starts the threads ahead of the first rows that need them, and makes what verifying by tables on this thread needs,
   * with pauses between its steps.
   */
  async prepare(pause = () => new Promise<void>((resolve) => setImmediate(resolve))): Promise<void> {
    await loadAhead();
    if (this.#closing) return;
    this.#ensureThreads();
    const keysMax = this.#options.keyTablesMax ?? KEY_TABLES_MAX;
    const salt = randomBytes(4).readInt32LE();
    const verifier = new KeyedVerifier({ library: LIBRARIES[0]!, keysMax, salt, shapes: SHAPES_FOR_ROWS_ALONE });
    await pause();
    for (const _ of verifier.prepareInSteps()) await pause();
    // Code that has not run a thousand times is slower than the library: the engine compiles it for good only then.
    const row = signedRow();
    for (let step = 0; step < WARMING_STEPS && !this.#closing; step++) {
      for (let i = 0; i < WARMING_ROWS_PER_STEP; i++) verifyRows(row, 1, verifier);
      await pause();
    }
    this.#verifier = verifier;
  }

  /**
   * To be called every second, also while it closes. Throws where a thread hangs, so that the process can end: as long
   * as such a thread may still write into its slab, its rows are nobody else's. Looks are counted and no clock is
   * asked, so that where the whole process stood still nobody is late.
   */
  look(): void {
    const { looksMax = LOOKS_MAX } = this.#options;
    for (const task of this.#tasks) {
      if (++task.looks <= looksMax) continue;
      throw new HangingError(`A thread that verifies signatures has not answered for ${looksMax} seconds`);
    }
  }

  /**
   * Stops the threads, whatever they are at. Resolves when they have ended: never, where the system does not let one
   * go.
   */
  async abandon(): Promise<void> {
    this.#closing = true;
    await this.#threads?.destroy();
  }

  /** Lets every job submitted before come to its end, then stops the threads. */
  async close(): Promise<void> {
    this.#closing = true;
    if (this.#jobsOpen > 0) await new Promise<void>((resolve) => (this.#drained = resolve));
    await this.#threads?.destroy();
  }

  #openThreads(data: ProofWorkData): Threads {
    const { workers, workerUrl } = this.#options;
    const start = this.#options.startThreads ?? ((given) => startThreads(given, workers, workerUrl));
    const threads = start(data);
    // Looked at once it is off the list.
    threads.on('lost', () => setImmediate(() => this.#onThreadLost()));
    return threads;
  }

  #scheduleTurn(): void {
    if (this.#turnScheduled) return;
    this.#turnScheduled = true;
    this.#turn = performance.now();
    setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#turnScheduled = false;
    const alone = this.#tasks.size === 0 && this.#partsInline.length === 0;
    if (alone && this.#rowsWaiting <= this.#options.inlineRowsMax) this.#takeAllInline();
    else if (this.#ensureThreads()) this.#dispatch();
    else this.#takeAllInline();
    this.#workInline();
  }

  /**
   * Hands waiting rows to idle workers, and then to slabs that wait behind what others work on: to each its share of
   * all rows. In one large task this thread would wait for the whole of it, and the worker then for this thread.
   */
  #dispatch(): void {
    while (this.#rowsWaiting > 0) {
      const idle = this.#idleWorkers();
      if (idle === 0 && this.#rowsWaiting < ROWS_PER_SPLIT_MIN) return;
      const roomMin = idle > 0 ? SLABS_PER_LANE : 1;
      const slab = this.#slabsFree.find((free) => free.length >= roomMin)?.pop();
      if (slab === undefined) return;
      const share = Math.ceil((this.#rowsWaiting + this.#rowsUnderway()) / this.#slabs.length);
      const rowsMax = Math.min(this.#options.rowsPerTaskMax, Math.max(share, ROWS_PER_SPLIT_MIN));
      const task: Task = { parts: [], checks: 0, seals: 0, slab, started: 0, failures: 0, looks: 0 };
      this.#fill(task, rowsMax);
      this.#tasks.add(task);
      this.#send(task);
    }
  }

  #rowsUnderway(): number {
    let rows = 0;
    for (const { checks, seals } of this.#tasks) rows += checks + seals;
    return rows;
  }

  #idleWorkers(): number {
    let idle = 0;
    for (const free of this.#slabsFree) if (free.length === SLABS_PER_LANE) idle++;
    return idle;
  }

  /**
   * Takes waiting rows into a task, at most `rowsMax`. A job that fits a task is not cut. One that is larger goes
   * to the end of the queue after each cut, so that it does not hold up the small ones.
   */
  #fill(task: Task, rowsMax: number): void {
    let taken = 0;
    let rows = 0;
    while (taken < this.#queue.length && rows < rowsMax) {
      const pending = this.#queue[taken]!;
      const left = pending.rowsLeft;
      if (left > rowsMax - rows && rows > 0 && left <= rowsMax) break;
      taken++;
      if (left === 0) continue;
      const part = this.#take(pending, rowsMax - rows);
      task.parts.push(part);
      task.checks += part.checks;
      task.seals += part.seals;
      rows += part.checks + part.seals;
      if (pending.rowsLeft > 0) this.#queue.push(pending);
    }
    this.#queue.splice(0, taken);
  }

  #take(pending: PendingJob, rowsMax: number): Part {
    if (pending.checksTaken === 0 && pending.sealsTaken === 0)
      record(this.stats.queue, performance.now() - pending.since);
    const part = pending.take(rowsMax);
    this.#rowsWaiting -= part.checks + part.seals;
    return part;
  }

  #send(task: Task): void {
    fillSlab(this.#slabs[task.slab]!, task.parts, task.checks + task.seals);
    task.started = performance.now();
    task.looks = 0;
    this.stats.tasks++;
    const message: ProofTask = { slab: task.slab, checks: task.checks, seals: task.seals };
    this.#threads!.run(message).then(
      (workMs: number) => this.#onAnswer(task, workMs),
      (error: Error) => (error instanceof NoThreadError ? this.#onNoThread(task) : this.#onFailure(task)),
    );
  }

  #onAnswer(task: Task, workMs: number): void {
    if (!this.#tasks.has(task)) return this.#giveBackLate(task.slab);
    const slab = this.#slabs[task.slab]!;
    if (!isAnswered(slab, task.checks + task.seals)) return this.#onFailure(task);
    record(this.stats.trip, performance.now() - task.started);
    record(this.stats.work, workMs);
    const bads = readSlab(slab, task.parts);
    this.#tasks.delete(task);
    this.#giveBack(task.slab);
    // A worker that has nothing gets its next rows before this thread turns to the answers; few rows wait for more.
    if (this.#rowsWaiting >= ROWS_PER_SPLIT_MIN && this.#idleWorkers() > 0) this.#dispatch();
    else if (this.#rowsWaiting > 0) this.#scheduleTurn();
    for (let i = 0; i < task.parts.length; i++) this.#settle(task.parts[i]!.pending, bads[i]!, null);
  }

  #giveBack(slab: number): void {
    this.#slabsFree[Math.floor(slab / SLABS_PER_LANE)]!.push(slab);
  }

  /** Frees the slab of a task that was taken over. Waiting rows may have waited for just this. */
  #giveBackLate(slab: number): void {
    this.#giveBack(slab);
    if (this.#rowsWaiting > 0) this.#scheduleTurn();
  }

  #onFailure(task: Task): void {
    if (!this.#tasks.has(task)) return this.#giveBackLate(task.slab);
    this.stats.tasksFailed++;
    task.failures++;
    if (task.failures <= TASK_RETRIES_MAX && this.#ensureThreads()) return this.#send(task);
    this.#takeOver(task);
    this.#giveBack(task.slab);
  }

  /** The slab is never free again: there is no thread that would work it off. */
  #onNoThread(task: Task): void {
    if (this.#tasks.has(task)) this.#takeOver(task);
  }

  /** A thread ended without a task. When none is left to start again, this thread does the work from here on. */
  #onThreadLost(): void {
    if (this.#ensureThreads()) return;
    for (const task of this.#tasks) this.#takeOver(task);
    this.#scheduleTurn();
  }

  /**
   * Starts the threads where that is still to be done; returns whether there are any. A system that has none for us is
   * as one whose threads all died.
   */
  #ensureThreads(): boolean {
    const start = this.#start;
    this.#start = null;
    if (start !== null) {
      try {
        this.#threads = start();
      } catch {
        return false;
      }
    }
    return this.#threads !== null && this.#threads.threads.length > 0;
  }

  /**
   * Its slab is free only once the task is answered, however late: a thread that comes back may still work it off, and
   * would write among the rows of whoever had the slab meanwhile.
   */
  #takeOver(task: Task): void {
    this.#tasks.delete(task);
    this.#partsInline.push(...task.parts);
    this.#scheduleTurn();
  }

  #takeAllInline(): void {
    for (const pending of this.#queue) {
      while (pending.rowsLeft > 0) this.#partsInline.push(this.#take(pending, INLINE_ROWS_PER_TURN_MAX));
    }
    this.#queue = [];
  }

  /** Works off rows on this thread, some each turn. */
  #workInline(): void {
    let rows = 0;
    let taken = 0;
    while (taken < this.#partsInline.length && rows < INLINE_ROWS_PER_TURN_MAX) {
      const part = this.#partsInline[taken++]!;
      rows += part.checks + part.seals;
      this.#workPart(part);
    }
    this.#partsInline.splice(0, taken);
    this.stats.rowsInline += rows;
    if (this.#partsInline.length > 0) this.#scheduleTurn();
  }

  #workPart(part: Part): void {
    const { pending, checkFrom, checks, seals } = part;
    const slab = slabOf(part);
    try {
      verifyRows(slab, checks, this.#verifier);
      signRows(slab, checks, seals, this.#options.server);
    } catch (error) {
      this.#settle(pending, -1, error instanceof Error ? error : new Error(String(error)));
      return;
    }
    this.#settle(pending, firstBad(slab.verdicts, 0, checks, checkFrom), null);
  }

  #settle(pending: PendingJob, bad: number, error: Error | null): void {
    const left = pending.rowsLeft;
    try {
      if (pending.settle(bad, error)) this.#jobsOpen--;
    } catch (thrown) {
      this.#jobsOpen--;
      // An exception of `done` is a bug of its owner: it is thrown, but not at the cost of the jobs beside it.
      queueMicrotask(() => {
        throw thrown;
      });
    }
    this.#rowsWaiting -= left - pending.rowsLeft;
    if (this.#jobsOpen === 0 && this.#drained !== null) this.#drained();
  }
}

/** A slab of one check that is good, under a key that nobody has. */
function signedRow(): Slab {
  const slab = slabOver(new ArrayBuffer(slabBytes(1)), 1);
  const [keyPair, message] = [createKeyPair(), randomBytes(32)];
  for (const [i, part] of [keyPair.public, message, sign(message, keyPair)].entries()) slab.checks.set(part, 32 * i);
  return slab;
}

function record(stage: StageTime, ms: number): void {
  stage.count++;
  stage.totalMs += ms;
  if (ms > stage.maxMs) stage.maxMs = ms;
}
