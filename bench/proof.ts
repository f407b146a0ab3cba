/**
 * `npm run bench -- proof`: what one intent costs in the proof room, part by part: canonical text, hashes, texts
 * of keys, Ed25519 in each library, and the pool, whose figure that counts is the main thread's time per job.
 *
 * The pool is driven in a closed loop: so many jobs of one check and one seal are always under way, prepared
 * beforehand, so that what is measured is the pool and not the bench.
 */
import { performance } from 'node:perf_hooks';
import { Bench } from 'tinybench';
import { canon } from '../src/proof/canon.ts';
import { KeyedVerifier } from '../src/proof/comb/index.ts';
import { proofDigestHex, sha256, sha256Hex } from '../src/proof/digest.ts';
import { createKeyPair, decodePublic, decodeSignature, encodeBase64, type KeyPair } from '../src/proof/keys.ts';
import { ProofPool } from '../src/proof/pool.ts';
import { CHECK_BYTES } from '../src/proof/slab.ts';
import { LIBRARIES, sign } from '../src/proof/verify.ts';
import { type BenchCell, type BenchOptions, type BenchResult, type BenchTable, runParts } from './result.ts';

/** Workers and jobs under way. */
const LOADS: [workers: number, outstanding: number][] = [
  [1, 1],
  [1, 8],
  [1, 64],
  [1, 256],
  [2, 64],
  [2, 256],
];

/** Keys that sign by turns, and rows of a task. */
const TASKS: [keys: number, rows: number][] = [
  [1, 1],
  [1, 2],
  [1, 16],
  [1, 64],
  [100, 64],
  [1000, 16],
  [1000, 64],
  [10_000, 64],
];

const TABLES = 2048;

const FULL = { partMs: 500, jobs: 20_000, jobsAlone: 2_000, rows: 30_000, keysMax: 10_000 };
const SMOKE: typeof FULL = { partMs: 5, jobs: 300, jobsAlone: 50, rows: 500, keysMax: 100 };

export async function run({ smoke }: BenchOptions): Promise<BenchResult> {
  const size = smoke ? SMOKE : FULL;
  const pools: BenchCell[][] = [];
  for (const [workers, outstanding] of LOADS) {
    pools.push(await measurePool(workers, outstanding, outstanding === 1 ? size.jobsAlone : size.jobs));
  }
  return {
    name: 'proof',
    tables: [
      await measureParts(size.partMs),
      measureTasks(size.rows, size.keysMax),
      {
        title: 'The pool, jobs of one check and one seal, all checks of one key',
        columns: [
          'workers',
          'under way',
          'jobs/s',
          'main thread µs/job',
          'jobs/task',
          'queue ms',
          'trip ms',
          'work ms',
        ],
        rows: pools,
      },
    ],
    goals: [],
    notes: [
      'queue: from submit until the rows leave; trip: until the answer is here; work: of that, in the worker (means)',
    ],
    ok: true,
  };
}

/** An intent's data of about 1 KB, its members in the order a client writes them. */
function sampleIntent(number: number): unknown {
  const party = (name: string) => ({
    handle: `svgs:57300${String(number).padStart(7, '0')}${name}@bank.example`,
    custom: { name: `${name} de la Ñusta`, idType: 'national', idNumber: `${10_000_000 + number}`, kind: 'savings' },
  });
  return {
    handle: `intent-${String(number).padStart(12, '0')}`,
    schema: 'transfer',
    claims: [
      {
        action: 'transfer',
        source: party('ana'),
        target: party('luis'),
        symbol: { handle: 'cop' },
        amount: 1000 + number,
      },
    ],
    access: [
      { action: 'any', signer: { public: '6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=' } },
      { action: 'read', bearer: { $signer: { $record: 'owner' } } },
    ],
    config: { commit: 'auto' },
    custom: {
      moment: '2030-01-02T03:04:05.678Z',
      description: 'Payment for the services of the month of December, as agreed',
      reference: `INV-2030-${number}`,
      device: '3f2a9c7e-5b1d-4e8f-9a0b-1c2d3e4f5a6b',
      channel: 'mobile',
    },
  };
}

async function measureParts(partMs: number): Promise<BenchTable> {
  const pair = createKeyPair();
  const digest = sha256('a record');
  const signature = sign(digest, pair);
  // Several values, so that nothing is measured that a cache of the engine holds.
  const values = Array.from({ length: 256 }, (_, i) => sampleIntent(i));
  const texts = values.map((value) => JSON.stringify(value));
  const hashes = texts.map((text) => sha256Hex(text));
  const custom = canon({ luid: '$int.0123456789abcdefg', moment: '2030-01-02T03:04:05.678Z', status: 'pending' });
  const publicText = encodeBase64(pair.public);
  const signatureText = encodeBase64(signature);
  let turn = 0;
  const next = <T>(of: T[]): T => of[turn++ & 255]!;

  const bench = new Bench({ time: partMs, warmupTime: partMs / 4 });
  bench.add('canon, 1 KB', () => void canon(next(values)));
  bench.add('JSON.stringify of the same', () => void JSON.stringify(next(values)));
  bench.add('canon and SHA-256', () => void sha256Hex(canon(next(values))));
  bench.add('SHA-256 of 1 KB, hex', () => void sha256Hex(next(texts)));
  bench.add('SHA-256 of 1 KB, bytes', () => void sha256(next(texts)));
  bench.add('digest of a proof, hex', () => void proofDigestHex(next(hashes), custom));
  bench.add('decode a key', () => void decodePublic(publicText));
  bench.add('decode a signature', () => void decodeSignature(signatureText));
  bench.add('encode a signature', () => void encodeBase64(signature));
  for (const library of LIBRARIES) {
    bench.add(`verify, ${library.name}`, () => void library.verify(pair.public, digest, signature));
    bench.add(`sign, ${library.name}`, () => void library.sign(digest, pair));
  }
  return runParts('Parts, on one thread', bench);
}

/** What a worker takes to verify tasks of keys that it has seen often: with tables, and with none. */
function measureTasks(rows: number, keysMax: number): BenchTable {
  const keys = Array.from({ length: keysMax }, createKeyPair);
  const signed = keys.map((pair, i) => {
    const digest = sha256(`record ${i}`);
    return Uint8Array.from([...pair.public, ...digest, ...sign(digest, pair)]);
  });
  const verifierOf = (tables: number) => new KeyedVerifier({ library: LIBRARIES[0]!, keysMax: tables, salt: 1 });
  const figures = TASKS.filter(([count]) => count <= keysMax).map(([count, perTask]): BenchCell[] => {
    const tasks = Array.from({ length: Math.ceil(rows / perTask) }, (_, task) => {
      const bytes = new Uint8Array(perTask * CHECK_BYTES);
      for (let row = 0; row < perTask; row++) bytes.set(signed[(task * perTask + row) % count]!, row * CHECK_BYTES);
      return bytes;
    });
    const [withTables, without] = [verifierOf(TABLES), verifierOf(0)];
    // Until all have their tables, of which one is made a task.
    measureRows(withTables, tasks, Math.max(rows, 1.5 * Math.min(count, TABLES) * perTask));
    return [count, perTask, measureRows(withTables, tasks, rows), measureRows(without, tasks, rows / 4)];
  });
  return {
    title: 'Verifying by tables of the keys, on one thread',
    columns: ['keys', 'rows in a task', 'µs each', `µs each, ${LIBRARIES[0]!.name} alone`],
    rows: figures,
  };
}

/** Microseconds of processor time a row, over `rows` rows at least. */
function measureRows(verifier: KeyedVerifier, tasks: Uint8Array[], rows: number): number {
  const before = process.cpuUsage();
  let done = 0;
  while (done < rows) {
    for (const task of tasks) {
      const count = task.length / CHECK_BYTES;
      verifier.verify(task, count, (_, holds) => {
        if (!holds) throw new Error('a signature that holds was not accepted');
      });
      done += count;
      if (done >= rows) break;
    }
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / done;
}

async function measurePool(workers: number, outstanding: number, jobs: number): Promise<BenchCell[]> {
  const server = createKeyPair();
  const pool = new ProofPool({ workers, server, rowsPerTaskMax: 256, inlineRowsMax: 2 });
  const job = prepareJob(createKeyPair());
  await drive(pool, job, outstanding, Math.ceil(jobs / 4));

  const before = structuredClone(pool.stats);
  const started = performance.now();
  const idle = performance.eventLoopUtilization();
  await drive(pool, job, outstanding, jobs);
  const busy = performance.eventLoopUtilization(idle);
  const seconds = (performance.now() - started) / 1000;
  const tasks = pool.stats.tasks - before.tasks;
  const mean = (stage: 'queue' | 'trip' | 'work') => {
    const count = pool.stats[stage].count - before[stage].count;
    return count === 0 ? null : (pool.stats[stage].totalMs - before[stage].totalMs) / count;
  };
  await pool.close();
  return [
    workers,
    outstanding,
    Math.round(jobs / seconds),
    (busy.active * 1000) / jobs,
    tasks === 0 ? null : jobs / tasks,
    mean('queue'),
    mean('trip'),
    mean('work'),
  ];
}

interface Rows {
  checks: Uint8Array;
  seals: Uint8Array;
}

function prepareJob(client: KeyPair): Rows {
  const digest = sha256('a record');
  const checks = Uint8Array.from([...client.public, ...digest, ...sign(digest, client)]);
  return { checks, seals: digest };
}

/** Keeps `outstanding` jobs under way until `jobs` are done. */
function drive(pool: ProofPool, rows: Rows, outstanding: number, jobs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let submitted = 0;
    let ended = 0;
    const submit = () => {
      submitted++;
      pool.submit({
        ...rows,
        done: ({ bad }) => {
          if (bad !== -1) reject(new Error('a good signature was refused'));
          ended++;
          if (submitted < jobs) submit();
          else if (ended === jobs) resolve();
        },
      });
    };
    for (let i = 0; i < Math.min(outstanding, jobs); i++) submit();
  });
}
