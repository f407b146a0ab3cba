/**
 * The pool: each verdict and signature of thousands of mixed jobs, `done` once for each, batches that form by
 * themselves, and workers that die, throw, fall silent or do not load.
 */
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { sha256 } from '../../src/proof/digest.ts';
import { createKeyPair } from '../../src/proof/keys.ts';
import { SLABS_PER_LANE } from '../../src/proof/lane.ts';
import { HangingError, ProofPool, type ProofPoolOptions, type ProofResult } from '../../src/proof/pool.ts';
import { slabBytes, slabOver, Verdict } from '../../src/proof/slab.ts';
import { startThreads, type Threads } from '../../src/proof/threads.ts';
import { LIBRARIES, sign } from '../../src/proof/verify.ts';
import { createWork, type ProofWorkData } from '../../src/proof/work.ts';
import { until } from '../support/kit.ts';
import { isLong, often } from '../support/long.ts';
import { endThreadsAtOnce, giveNoThreads } from '../support/no-threads.ts';
import { turn, turnsUntil } from '../support/turns.ts';
import { hexOf } from './data.ts';

const server = createKeyPair();
const clients = Array.from({ length: 4 }, createKeyPair);
const open: ProofPool[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((pool) => pool.close()));
  delete process.env.AYNI_TEST_FAULT;
});

function startPool(options: Partial<ProofPoolOptions> = {}): ProofPool {
  const pool = new ProofPool({ workers: 1, server, rowsPerTaskMax: 64, inlineRowsMax: 2, ...options });
  open.push(pool);
  return pool;
}

/** A pool whose workers fail in the given way, those that replace them too. */
function startFaultyPool(fault: string, options: Partial<ProofPoolOptions> = {}): ProofPool {
  process.env.AYNI_TEST_FAULT = fault;
  return startPool({ workerUrl: new URL('./faulty-worker.js', import.meta.url), ...options });
}

/** Has all tasks of a late pool worked off; lets a pool be closed whose test has failed, too. */
let finish = () => {};
afterEach(() => finish());

/** A pool with one thread that works off a task, or fails at it, when it is told to, also one from before its loss; and at last all. */
function startLatePool(options: Partial<ProofPoolOptions> = {}) {
  const tasks: { slab: number; work: () => void; fail: () => void }[] = [];
  let isOver = false;
  const listeners: (() => void)[] = [];
  let threads: object[] = [{}];
  const pool = startPool({
    ...options,
    startThreads: (data) => {
      const work = createWork(data);
      return {
        get threads() {
          return threads;
        },
        run: (task) =>
          new Promise((resolve, reject) => {
            const answer = () => resolve(work(task));
            if (isOver) answer();
            else tasks.push({ slab: task.slab, work: answer, fail: () => reject(new Error('a thread that ended')) });
          }),
        on: (_event, listener) => listeners.push(listener),
        destroy: async () => {},
      };
    },
  });
  const lose = () => {
    threads = [];
    for (const tell of listeners) tell();
  };
  const comeBack = () => {
    threads = [{}];
  };
  finish = () => {
    isOver = true;
    for (const { work } of tasks) work();
  };
  return { pool, tasks, lose, comeBack };
}

interface Expected {
  checks: Uint8Array;
  seals: Uint8Array;
  text?: Uint8Array;
  bad: number;
  signatures: string;
}

/** Rows once made, since signing thousands takes longer than copying them. */
const goodRows = Array.from({ length: 64 }, (_, i) => {
  const client = clients[i % clients.length]!;
  const digest = sha256(`row ${i}`);
  return Uint8Array.from([...client.public, ...digest, ...sign(digest, client)]);
});

/** A job of so many rows; the checks numbered in `bads` fail, each in another way. */
function makeJob(number: number, checks: number, seals: number, bads: number[] = []): Expected {
  const job: Expected = {
    checks: new Uint8Array(checks * 128),
    seals: new Uint8Array(seals * 32),
    bad: -1,
    signatures: '',
  };
  for (let i = 0; i < checks; i++) job.checks.set(goodRows[(number + i) % goodRows.length]!, i * 128);
  for (const bad of new Set(bads)) job.checks[bad * 128 + [40, 70, 100, 127, 5][bad % 5]!]! ^= 1 << (number & 7);
  for (let i = 0; i < seals; i++) job.seals.set(sha256(`seal ${number} ${i}`), i * 32);
  job.bad = bads.length === 0 ? -1 : Math.min(...bads);
  if (job.bad < 0) {
    for (let i = 0; i < seals; i++) job.signatures += hexOf(sign(job.seals.subarray(i * 32, i * 32 + 32), server));
  }
  return job;
}

/**
 * A job whose one check is over a text. Where that is bad, a bit of the text or of the signature is another, or what is
 * signed is the digest that its row has, and not the text.
 */
function makeTextJob(number: number, seals: number, isBad: boolean): Expected {
  const job = makeJob(number, 1, seals, isBad ? [0] : []);
  const client = clients[number % clients.length]!;
  const text = Uint8Array.from({ length: 1 + (number % 4) * ((number * 37) % 342) }, (_, i) => number + 3 * i);
  const way = isBad ? number % 3 : -1;
  if (way !== 2) job.checks.set(Uint8Array.from([...client.public, ...sha256('none'), ...sign(text, client)]));
  else job.checks.set(goodRows[number % goodRows.length]!);
  if (way === 0) text[number % text.length]! ^= 1 << (number & 7);
  if (way === 1) job.checks[64 + (number % 32)]! ^= 1 << (number & 7);
  return { ...job, text };
}

/** Submits a job and checks its answer, that it comes once, and not while submitting. */
function submit(pool: ProofPool, job: Expected): Promise<ProofResult> {
  return new Promise((resolve, reject) => {
    let submitting = true;
    let answers = 0;
    const done = (result: ProofResult) => {
      try {
        expect(submitting).toBe(false);
        expect(++answers).toBe(1);
        expect(result.error).toBeNull();
        expect(result.bad).toBe(job.bad);
        expect(hexOf(result.signatures)).toBe(job.signatures);
        // A second answer would come soon, if one came.
        setTimeout(() => (answers === 1 ? resolve(result) : reject(new Error('answered twice'))), 20);
      } catch (error) {
        reject(error);
      }
    };
    const { checks, seals, text } = job;
    pool.submit({ checks, seals, ...(text !== undefined && { text }), done });
    submitting = false;
  });
}

/**
 * Jobs of 0 to 5 checks and 0 to 2 seals, a third of them with one to three bad rows, and some larger than a task; and one
 * in five over a text, a third of these bad.
 */
function mixedJobs(count: number): Expected[] {
  let state = 17;
  // Numerical Recipes' linear congruence: the same jobs in every run, with no pattern between their members.
  const below = (n: number) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
  return Array.from({ length: count }, (_, i) => {
    if (below(5) === 0) return makeTextJob(i, below(3), below(3) === 0);
    const checks = i % 251 === 50 ? 200 : below(6);
    const bads = checks > 0 && below(3) === 0 ? Array.from({ length: 1 + below(3) }, () => below(checks)) : [];
    return makeJob(i, checks, below(3), bads);
  });
}

async function submitInTurns(pool: ProofPool, jobs: Expected[], perTurn: number): Promise<void> {
  const answers: Promise<ProofResult>[] = [];
  for (let i = 0; i < jobs.length; i += perTurn) {
    for (const job of jobs.slice(i, i + perTurn)) answers.push(submit(pool, job));
    await turn();
  }
  await Promise.all(answers);
}

describe('every verdict of mixed jobs', () => {
  const rows: [name: string, options: Partial<ProofPoolOptions>, perTurn: number][] = [
    ['one worker', { workers: 1 }, 40],
    ['two workers', { workers: 2 }, 40],
    ['three workers, tasks of three rows', { workers: 3, rowsPerTaskMax: 3 }, 10],
    ['tasks of one row', { workers: 1, rowsPerTaskMax: 1 }, 10],
    ['one job a turn, nothing inline', { workers: 1, inlineRowsMax: 0 }, 1],
    ['all in one turn', { workers: 2, rowsPerTaskMax: 256 }, 10_000],
    ['no workers', { workers: 0 }, 40],
    ['all inline', { workers: 1, inlineRowsMax: 100_000 }, 40],
  ];
  test.each(rows)('%s', async (_, options, perTurn) => {
    const pool = startPool(options);
    const jobs = mixedJobs(often(150, 1500));
    await submitInTurns(pool, jobs, perTurn);
    expect(pool.stats.jobs).toBe(jobs.length);
    expect(pool.stats.tasksFailed).toBe(0);
  });
});

describe('workers that fail: verified again, nobody accepted unverified, nobody refused', () => {
  const faults = [
    'exit',
    'late',
    'throw',
    'partial',
    'silent',
    'unsigned',
    'always-exit',
    'always-late',
    'always-throw',
  ];
  /** Where each fault ends a thread, and the next must be started, few are enough. */
  const endsThreads = (fault: string) => /exit|late/.test(fault);
  for (const fault of [...faults, 'always-partial', 'always-silent', 'always-unsigned']) {
    const jobs = fault.startsWith('always') ? 60 : 500;
    const count = often(endsThreads(fault) ? jobs / 10 : jobs / 4, jobs);
    const crew = fault.startsWith('always') ? 1 : 2;
    test.each(isLong ? [1, 2] : [crew])(`${fault}, %i workers`, async (workers) => {
      const pool = startFaultyPool(fault, { workers });
      await submitInTurns(pool, mixedJobs(count), often(25, 50));
      expect(pool.stats.tasksFailed).toBeGreaterThan(0);
      if (fault.startsWith('always')) expect(pool.stats.rowsInline).toBeGreaterThan(0);
    });
  }

  test('silent, tasks of one row: the verdict that stood there before is not taken for this one', async () => {
    const pool = startFaultyPool('silent', { rowsPerTaskMax: 1, inlineRowsMax: 0 });
    await submitInTurns(pool, mixedJobs(often(40, 500)), 10);
    expect(pool.stats.tasksFailed).toBeGreaterThan(0);
  });

  test('one of two, whose like does not load any more: the other one does the work', async () => {
    const pool = startFaultyPool('first-exit', { workers: 2, inlineRowsMax: 0 });
    await pool.prepare();
    process.env.AYNI_TEST_FAULT = 'unloadable';
    await submitInTurns(pool, mixedJobs(100), 50);
    await until(() => pool.threadsMissing === 1);
    // What it has no thread for is found out by what it is given, once for each of its slabs.
    await submitInTurns(pool, mixedJobs(100), 50);
    const { rowsInline } = pool.stats;
    await submitInTurns(pool, mixedJobs(100), 50);
    expect(pool.stats.rowsInline).toBe(rowsInline);
  });

  test.each([
    ['the system has no thread to replace it', giveNoThreads],
    ['what is to replace it ends before it has loaded anything', endThreadsAtOnce],
  ])('one of two, where %s', async (_, bringTrouble) => {
    const pool = startFaultyPool('first-exit', { workers: 2, inlineRowsMax: 0 });
    await pool.prepare();
    bringTrouble();
    await submitInTurns(pool, mixedJobs(100), 50);
    await until(() => pool.threadsMissing === 1);
    await submitInTurns(pool, mixedJobs(100), 50);
  });

  // Of one that ends without an error its end alone tells.
  test.each([
    ['unloadable', 1],
    ['unloadable', 2],
    ['ending', 1],
  ])('%s ones, none of %i is ever there: this thread does the work', async (which, workers) => {
    const pool = startPool({ workers, workerUrl: new URL(`./${which}-worker.js`, import.meta.url) });
    await submitInTurns(pool, mixedJobs(100), 50);
    // And goes on doing it when all threads are known to be lost.
    await submitInTurns(pool, mixedJobs(100), 50);
    expect(pool.stats.rowsInline).toBeGreaterThan(0);
    await until(() => pool.threadsMissing === workers);
  });
});

test('a text is one check’s, and has 1 to 1024 bytes: anything else is a bug of ours', () => {
  const pool = startPool({ workers: 0 });
  const done = () => {};
  for (const [checks, bytes] of [
    [0, 1],
    [2, 1],
    [1, 0],
    [1, 1025],
  ] as const) {
    const job = { checks: new Uint8Array(checks * 128), seals: new Uint8Array(0), text: new Uint8Array(bytes), done };
    expect(() => pool.submit(job), `${checks} checks, ${bytes} bytes`).toThrow(RangeError);
  }
});

describe('threads', () => {
  test('are started by the first rows that are worth a trip', async () => {
    let starts = 0;
    const count = (data: ProofWorkData) => {
      starts++;
      return startThreads(data, 1);
    };
    const pool = startPool({ startThreads: count });
    await submit(pool, makeJob(1, 1, 1));
    expect(starts).toBe(0);
    await submit(pool, makeJob(1, 2, 1));
    await submit(pool, makeJob(2, 2, 1));
    expect(starts).toBe(1);
    expect(pool.stats.tasks).toBe(2);
  });

  test('load what they are for by import: ended while they do so by require, one ended the whole process', async () => {
    const pool = startPool({ workerUrl: new URL('./imported-worker.js', import.meta.url), inlineRowsMax: 0 });
    await submit(pool, makeJob(1, 20, 1));
    const { tasks, tasksFailed, rowsInline } = pool.stats;
    expect([tasks > 0, tasksFailed, rowsInline]).toEqual([true, 0, 0]);
  });

  test('started anew work off nothing that was given back: others may have their rows there meanwhile', async () => {
    process.env.AYNI_TEST_FAULT = 'exit';
    const memories = Array.from({ length: SLABS_PER_LANE }, () => new SharedArrayBuffer(slabBytes(1)));
    const data = { server, rowsMax: 1, keyTablesMax: 0, memories };
    const threads = startThreads(data, 1, new URL('./faulty-worker.js', import.meta.url));
    const task = { checks: 1, seals: 0 };
    for (let n = 0; n < 2; n++) await threads.run({ slab: 0, ...task });
    await expect(threads.run({ slab: 0, ...task })).rejects.toThrow();
    const { verdicts } = slabOver(memories[0]!, 1);
    verdicts.fill(Verdict.none);
    await threads.run({ slab: 1, ...task });
    expect(verdicts[0]).toBe(Verdict.none);
    await threads.destroy();
  });

  test('that the system does not give: this thread does the work', async () => {
    const none = () => {
      throw new Error('no more threads');
    };
    const pool = startPool({ startThreads: none });
    await submitInTurns(pool, mixedJobs(100), 50);
    expect(pool.stats.tasks).toBe(0);
    expect(pool.stats.rowsInline).toBe(pool.stats.rows);
    expect(pool.threadsMissing).toBe(1);
  });

  test('are missing neither before they are started nor once they are, nor when they were ended', async () => {
    const pool = startPool({ workers: 2 });
    const before = pool.threadsMissing;
    await pool.prepare();
    const then = pool.threadsMissing;
    await pool.close();
    expect([before, then, pool.threadsMissing]).toEqual([0, 0, 0]);
    expect(startPool({ workers: 0 }).threadsMissing).toBe(0);
  });
});

describe('a thread that hangs', () => {
  test('is told, and whoever waits for it is not answered before it is ended', async () => {
    process.env.AYNI_TEST_FAULT = 'always-hang';
    let threads: Threads | undefined;
    const pool = startPool({
      looksMax: 3,
      startThreads: (data) => (threads = startThreads(data, 1, new URL('./faulty-worker.js', import.meta.url))),
    });
    let isAnswered = false;
    const answer = submit(pool, makeJob(1, 8, 1)).then(() => (isAnswered = true));
    await turnsUntil(() => pool.stats.tasks === 1);
    for (let look = 0; look < 3; look++) pool.look();
    expect(() => pool.look()).toThrow(HangingError);
    expect([isAnswered, pool.stats.tasks]).toEqual([false, 1]);
    await threads!.destroy();
    await answer;
  });

  test('is none that answers, however often it is looked at', async () => {
    const pool = startPool({ looksMax: 1 });
    for (let n = 0; n < 10; n++) {
      const answer = submit(pool, makeJob(n, 8, 1));
      pool.look();
      await turnsUntil(() => pool.stats.tasks === n + 1);
      pool.look();
      await answer;
    }
    pool.look();
    expect(pool.stats.tasksFailed).toBe(0);
  });

  test('is counted from when it got its task, not from when another one that failed did', async () => {
    const { pool, tasks } = startLatePool({ looksMax: 3 });
    const answer = submit(pool, makeJob(1, 8, 1));
    await turnsUntil(() => tasks.length === 1);
    for (let look = 0; look < 3; look++) pool.look();
    tasks[0]!.fail();
    await turnsUntil(() => tasks.length === 2);
    for (let look = 0; look < 3; look++) pool.look();
    expect(() => pool.look()).toThrow(HangingError);
    tasks[1]!.work();
    await answer;
  });
});

describe('threads that come back late', () => {
  test('write into no slab that another task has meanwhile', async () => {
    const { pool, tasks, lose, comeBack } = startLatePool();
    const first = submit(pool, makeJob(1, 8, 1));
    await turnsUntil(() => tasks.length === 1);
    lose();
    await first;
    comeBack();
    const others = [submit(pool, makeJob(2, 2, 8)), submit(pool, makeJob(3, 2, 8))];
    await turnsUntil(() => tasks.length === 2);
    expect(tasks[1]!.slab).not.toBe(tasks[0]!.slab);
    for (let at = 0; at < 3; at++) {
      await turnsUntil(() => at < tasks.length);
      tasks[at]!.work();
    }
    await Promise.all(others);
    expect(tasks.length).toBe(3);
  });

  test('with an error, do nothing over again that was done meanwhile, and give their slab back', async () => {
    const { pool, tasks, lose, comeBack } = startLatePool();
    const first = submit(pool, makeJob(1, 8, 1));
    await turnsUntil(() => tasks.length === 1);
    lose();
    await first;
    comeBack();
    tasks[0]!.fail();
    const others = [submit(pool, makeJob(2, 40, 1)), submit(pool, makeJob(3, 40, 1))];
    await turnsUntil(() => tasks.length > SLABS_PER_LANE);
    finish();
    await Promise.all(others);
    expect([tasks.length, pool.stats.tasksFailed]).toEqual([1 + SLABS_PER_LANE, 0]);
  });

  /** Rows that wait for slabs which a thread had with it when it was lost; it is back, and has not given them. */
  async function waitForLostSlabs() {
    const late = startLatePool();
    const { pool, tasks, lose, comeBack } = late;
    const taken = [submit(pool, makeJob(1, 40, 1)), submit(pool, makeJob(2, 40, 1))];
    await turnsUntil(() => tasks.length === SLABS_PER_LANE);
    lose();
    await Promise.all(taken);
    comeBack();
    const waiting = submit(pool, makeJob(3, 8, 1));
    await new Promise((resolve) => setTimeout(resolve, 5));
    return { ...late, waiting };
  }

  test('give it back to rows that wait for nothing else', async () => {
    const { tasks, waiting } = await waitForLostSlabs();
    expect(tasks.length).toBe(SLABS_PER_LANE);
    for (const { work } of [...tasks]) work();
    await turnsUntil(() => tasks.length === SLABS_PER_LANE + 1);
    tasks.at(-1)!.work();
    await waiting;
  });

  test('and are lost again: rows that waited for nothing else are worked off here', async () => {
    const { tasks, lose, waiting } = await waitForLostSlabs();
    lose();
    await waiting;
    expect(tasks.length).toBe(SLABS_PER_LANE);
  });
});

describe('rows on this thread', () => {
  let asked: MockInstance;
  beforeEach(() => {
    asked = vi.spyOn(LIBRARIES[0]!, 'verify');
  });
  afterEach(() => asked.mockRestore());

  /** One row at a time, every seventh of them bad, those of odd numbers at odd addresses. */
  async function submitRows(pool: ProofPool, count: number): Promise<void> {
    const jobs = Array.from({ length: count }, (_, i) => makeJob(i, 1, 1, i % 7 === 3 ? [0] : []));
    for (const [i, job] of jobs.entries()) {
      if (i % 2 === 1) job.checks = new Uint8Array([0, ...job.checks]).subarray(1);
    }
    await submitInTurns(pool, jobs, 1);
    expect(pool.stats.rowsInline).toBe(pool.stats.rows);
  }

  test('are verified by tables once prepared, with the same verdicts', async () => {
    const pool = startPool();
    await submitRows(pool, 30);
    expect(asked).toHaveBeenCalledTimes(30);
    await pool.prepare();
    await submitRows(pool, 60);
    asked.mockClear();
    await submitRows(pool, 70);
    // Of each what is bad.
    expect(asked).toHaveBeenCalledTimes(10);
  });

  test('never, where there are to be no tables', async () => {
    const pool = startPool({ keyTablesMax: 0 });
    await pool.prepare();
    asked.mockClear();
    await submitRows(pool, 60);
    expect(asked).toHaveBeenCalledTimes(60);
  });

  // Those of forty are worked off in several parts; all but the first can be.
  test.each([1, 40])(
    'one of %i that cannot be verified at all is accepted by nobody: its job ends with the error',
    async (checks) => {
      asked.mockImplementationOnce(() => {
        throw new Error('no memory');
      });
      const pool = startPool({ workers: 0 });
      const result = await new Promise<ProofResult>((done) => pool.submit({ ...makeJob(1, checks, 1), done }));
      expect([result.error?.message, result.bad, result.signatures.length]).toEqual(['no memory', 0, 0]);
    },
  );

  test('are answered while it is prepared, which takes many turns', async () => {
    const pool = startPool();
    let turns = 0;
    await pool.prepare(async () => {
      turns++;
      if (turns % 8 === 1) await submit(pool, makeJob(turns, 1, 1, turns % 3 === 0 ? [0] : []));
    });
    expect(turns).toBeGreaterThan(20);
  });
});

describe('batches', () => {
  test.each([
    ['a lone job does not leave this thread', 1, { tasks: 0, rowsInline: 2 }],
    ['a job of more rows does', 2, { tasks: 1, rowsInline: 0 }],
  ])('%s', async (_, checks, stats) => {
    const pool = startPool();
    await submit(pool, makeJob(1, checks, 1));
    expect(pool.stats).toMatchObject(stats);
  });

  test.each([1, 2])('the rows of one turn leave in equal shares, one for each slab: %i workers', async (workers) => {
    const pool = startPool({ workers, rowsPerTaskMax: 200 });
    await Promise.all(Array.from({ length: 96 }, (_, i) => submit(pool, makeJob(i, 1, 1))));
    expect(pool.stats.tasks).toBe(workers * SLABS_PER_LANE);
    expect(pool.stats.rows).toBe(192);
  });

  test('idle workers do not share what is not worth a message', async () => {
    const pool = startPool({ workers: 2 });
    await Promise.all(Array.from({ length: 3 }, (_, i) => submit(pool, makeJob(i, 1, 1))));
    expect(pool.stats.tasks).toBe(1);
  });

  test('prepared, its threads run before the first job, once, and not after it was closed', async () => {
    let starts = 0;
    const counting = (data: ProofWorkData) => {
      starts++;
      return startThreads(data, 2);
    };
    const pool = startPool({ workers: 2, startThreads: counting });
    await pool.prepare();
    expect(starts).toBe(1);
    await pool.prepare();
    await Promise.all(Array.from({ length: 9 }, (_, i) => submit(pool, makeJob(i, 1, 1))));
    expect(starts).toBe(1);
    const closed = startPool({ workers: 2, startThreads: counting });
    await closed.close();
    await closed.prepare();
    expect(starts).toBe(1);
  });

  test('no task has more rows than fit, its seals counted', async () => {
    const pool = startPool({ rowsPerTaskMax: 3, inlineRowsMax: 0 });
    await submit(pool, makeJob(1, 2, 2));
    expect(pool.stats.tasks).toBe(2);
  });

  test('while the worker is busy, jobs of many turns gather', async () => {
    const { pool, tasks } = startLatePool({ rowsPerTaskMax: 1000 });
    const answers = [submit(pool, makeJob(0, 1000, 0))];
    await turnsUntil(() => tasks.length === SLABS_PER_LANE);
    for (const job of mixedJobs(60)) {
      answers.push(submit(pool, job));
      await turn();
    }
    expect(tasks.length).toBe(SLABS_PER_LANE);
    finish();
    await Promise.all(answers);
    expect(pool.stats.tasks).toBeLessThan(20);
  });

  test('a job of 10 000 rows is split, answered once, and lets small ones pass', async () => {
    const pool = startPool({ rowsPerTaskMax: 64 });
    const order: string[] = [];
    const large = submit(pool, makeJob(3, 9_990, 10)).then(() => order.push('large'));
    const small = Array.from({ length: 30 }, (_, i) => submit(pool, makeJob(i, 1, 1)).then(() => order.push('small')));
    await Promise.all([large, ...small]);
    expect(pool.stats.tasks).toBeGreaterThan(100);
    expect(order.indexOf('large')).toBe(30);
  });

  test.each([0, 63, 64, 300, 9_989])('the first bad of a large job is number %i', async (bad) => {
    const pool = startPool({ workers: 2 });
    await submit(pool, makeJob(3, 9_990, 10, [bad, Math.min(bad + 64, 9_989), 9_989]));
  });

  test('a large job that is bad at its start is not verified to its end', async () => {
    const pool = startPool();
    await submit(pool, makeJob(3, 9_990, 10, [0]));
    await submit(pool, makeJob(3, 3, 0));
    // Of 157; how many leave before the verdict is here is a matter of who is quicker.
    expect(pool.stats.tasks).toBeLessThan(20);
  });
});

describe('ends', () => {
  test('a job without rows holds', async () => {
    await submit(startPool(), makeJob(1, 0, 0));
  });

  test('rows that are not whole are a bug of the caller', () => {
    const pool = startPool();
    const done = () => expect.fail('answered');
    expect(() => pool.submit({ checks: new Uint8Array(127), seals: new Uint8Array(0), done })).toThrow(RangeError);
    expect(() => pool.submit({ checks: new Uint8Array(0), seals: new Uint8Array(33), done })).toThrow(RangeError);
  });

  test('close lets what was submitted end, and nothing begin', async () => {
    const pool = startPool({ workers: 2 });
    const jobs = mixedJobs(300).map((job) => submit(pool, job));
    const closed = pool.close();
    const result = await new Promise<ProofResult>((done) => pool.submit({ ...makeJob(1, 1, 1), done }));
    expect(result.error).toBeInstanceOf(Error);
    expect(result.signatures).toHaveLength(0);
    expect(result.bad).not.toBe(-1);
    await Promise.all(jobs);
    await closed;
    await pool.close();
  });

  test('a done that throws is thrown, and the jobs beside it are answered', async () => {
    const pool = startPool();
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const thrown = new Promise<Error>((resolve) => process.once('uncaughtException', resolve));
    const job = makeJob(1, 2, 2);
    const before = submit(pool, makeJob(2, 3, 3));
    pool.submit({
      ...job,
      done: () => {
        throw new Error('a bug in done');
      },
    });
    const after = submit(pool, makeJob(3, 3, 3));
    expect((await thrown).message).toBe('a bug in done');
    for (const listener of listeners) process.on('uncaughtException', listener);
    await Promise.all([before, after]);
  });

  test('stages are timed', async () => {
    const pool = startPool({ inlineRowsMax: 0 });
    await submitInTurns(pool, mixedJobs(100), 100);
    const { queue, trip, work, tasks } = pool.stats;
    expect(trip.count).toBe(tasks);
    expect(work.count).toBe(tasks);
    expect(work.totalMs).toBeGreaterThan(0);
    expect(trip.totalMs).toBeGreaterThanOrEqual(work.totalMs);
    expect(queue.count).toBeGreaterThan(50);
    expect(queue.maxMs).toBeGreaterThanOrEqual(queue.totalMs / queue.count);
  });
});
