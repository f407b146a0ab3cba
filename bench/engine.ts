/**
 * `npm run bench -- engine`: the engine without HTTP and signatures, on one thread: decide, apply, journal, sync, with
 * every check on. And the same books read back: recovery from the journal, and from a snapshot.
 *
 * Commands are made before the clock runs, as the door would hand them over: parsed, in canonical form, hashed.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CreateCommand } from '../src/core/command.ts';
import { Kind } from '../src/core/kinds.ts';
import { dumpState, emptyState, releaseDump, type State } from '../src/core/state.ts';
import { Engine } from '../src/engine.ts';
import { createDefaultLedger } from '../src/genesis.ts';
import { canon } from '../src/proof/canon.ts';
import { sha256 } from '../src/proof/digest.ts';
import { createKeyPair, type KeyPair } from '../src/proof/keys.ts';
import { ProofPool } from '../src/proof/pool.ts';
import { sign, verify } from '../src/proof/verify.ts';
import { recover } from '../src/recovery.ts';
import { entryCodec, packValue } from '../src/storage/codec.ts';
import { realDisk } from '../src/storage/disk.ts';
import { JOURNAL_START, Journal } from '../src/storage/journal.ts';
import { takeSnapshot } from '../src/storage/snapshot.ts';
import { makeScratchDirectory } from './load/root.ts';
import type { BenchCell, BenchGoal, BenchOptions, BenchResult } from './result.ts';

const WALLETS = 1000;
const KEY = new Uint8Array(32).fill(9);
const SIGNATURE = new Uint8Array(64).fill(9);
const CALLER = { keys: [KEY], bearer: null };
/** Commands made and held at a time; more would measure the memory of the bench. */
const SLICE = 10_000;

interface House {
  engine: Engine;
  state: State;
  journal: Journal;
  directory: string;
  server: KeyPair;
}

export async function run({ smoke }: BenchOptions): Promise<BenchResult> {
  const rows: BenchCell[][] = [];
  const goals: BenchGoal[] = [];
  const scratch = makeScratchDirectory();
  try {
    const single = await measure(join(scratch, 'single'), 1, smoke ? 2000 : 600_000, rows);
    const many = await measure(join(scratch, 'many'), 50, smoke ? 200 : 40_000, rows);
    if (!smoke) {
      goals.push(goal('P3', '250 000 one-claim intents/s', single.perSecond, 250_000, 'intents/s'));
      goals.push(
        goal('P3', '1 000 000 transfers/s in 50-claim intents', many.perSecond * 50, 1_000_000, 'transfers/s'),
      );
      goals.push(goal('P7', '200 000 intents/s from the journal', single.journalPerSecond, 200_000, 'intents/s'));
      goals.push(goal('P7', '500 000 intents/s from a snapshot', single.snapshotPerSecond, 500_000, 'intents/s'));
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return {
    name: 'engine',
    tables: [
      {
        title: 'one thread, no HTTP, no signatures but the frame’s own; every check on, every batch synced',
        columns: [
          ...[
            'claims',
            'intents',
            'intents/s',
            'transfers/s',
            'CPU µs/intent',
            'clear µs/intent',
            'batches',
            'disk ms/batch',
          ],
          ...['recovery from journal/s', 'from snapshot/s'],
        ],
        rows,
      },
    ],
    goals,
    notes: [],
    ok: true,
  };
}

async function measure(directory: string, claims: number, intents: number, rows: BenchCell[][]) {
  const house = await open(directory);
  await submitAll(house.engine, setUp());
  const { stats } = house.engine;
  let seconds = 0;
  let cpu = 0;
  const before = { ...stats };
  for (let from = 0; from < intents; from += SLICE) {
    const commands = transfers(from, Math.min(SLICE, intents - from), claims);
    const cpuBefore = process.cpuUsage();
    const began = performance.now();
    await submitAll(house.engine, commands);
    seconds += (performance.now() - began) / 1000;
    const used = process.cpuUsage(cpuBefore);
    cpu += used.user + used.system;
  }
  const perSecond = intents / seconds;
  const journalPerSecond = await close(house, intents, false);
  const snapshotPerSecond = await close(house, intents, true);
  const batches = stats.batches - before.batches;
  rows.push([
    ...[claims, intents, perSecond, perSecond * claims, cpu / intents],
    ...[((stats.clearMs - before.clearMs) / intents) * 1000, batches, (stats.diskMs - before.diskMs) / batches],
    ...[journalPerSecond, snapshotPerSecond],
  ]);
  return { perSecond, journalPerSecond, snapshotPerSecond };
}

async function open(directory: string): Promise<House> {
  const server = createKeyPair();
  realDisk.mkdir(directory);
  const journal = Journal.open(realDisk, directory, JOURNAL_START, {
    segmentBytesMax: 64 * 1024 * 1024,
    sign: (hash) => sign(hash, server),
  });
  const state = emptyState(entryCodec, 1);
  const engine = new Engine({
    state,
    journal,
    pool: new ProofPool({ workers: 0, server, rowsPerTaskMax: 256, inlineRowsMax: 4 }),
    clock: Date.now,
    inboxMax: Number.POSITIVE_INFINITY,
    inboxBytesMax: Number.POSITIVE_INFINITY,
    batchEntriesMax: 1000,
    batchBytesMax: 1024 * 1024,
    snapshotEvery: Number.POSITIVE_INFINITY,
    snapshot: async () => {},
    publish: () => {},
    fatal(error) {
      throw error;
    },
  });
  await createDefaultLedger(engine, server, 'main');
  return { engine, state, journal, directory, server };
}

/** Reads the books back; intents per second. */
async function close({ engine, state, journal, directory, server }: House, intents: number, fromSnapshot: boolean) {
  const verifyHash = (hash: Uint8Array, signature: Uint8Array) => verify(server.public, hash, signature);
  if (fromSnapshot) {
    const { extra, parts } = dumpState(state);
    const content = { ...journal.position, extra: packValue(extra), parts };
    await takeSnapshot(realDisk, directory, content, { sign: (hash) => sign(hash, server), verify: verifyHash });
    releaseDump(state);
  } else {
    await engine.drained();
    await journal.close();
  }
  const began = performance.now();
  recover({ disk: realDisk, directory, verify: verifyHash, hashSeed: 1 });
  return intents / ((performance.now() - began) / 1000);
}

function submitAll(engine: Engine, commands: CreateCommand[]): Promise<void> {
  let left = commands.length;
  const none = new Uint8Array(0);
  return new Promise((resolve, reject) => {
    for (const command of commands) {
      engine.submit({
        command,
        checks: none,
        seals: none,
        answer(outcome) {
          if (!Array.isArray(outcome)) reject(new Error(`${outcome.reason}: ${outcome.detail}`));
          else if (--left === 0) resolve();
        },
      });
    }
  });
}

let made = 0;

function command(kind: Kind, value: Record<string, unknown>): CreateCommand {
  const data = canon(value);
  const number = (made++).toString().padStart(16, '0');
  return {
    op: 'create',
    ledger: 1,
    kind,
    moment: Date.now(),
    caller: CALLER,
    value,
    data,
    hash: sha256(data),
    proofs: [{ public: KEY, result: SIGNATURE, custom: '{"moment":"2030-01-02T03:04:05.678Z","status":"created"}' }],
    luid: `$int.0${number}`,
    seal: SIGNATURE,
  };
}

function setUp(): CreateCommand[] {
  const commands = [command(Kind.symbol, { handle: 'usd', factor: 100 })];
  for (let i = 0; i < WALLETS; i++) commands.push(command(Kind.wallet, { handle: `wallet-${i}` }));
  const claims = Array.from({ length: WALLETS }, (_, i) => ({
    action: 'issue',
    target: { handle: `wallet-${i}` },
    symbol: { handle: 'usd' },
    amount: 1_000_000_000,
  }));
  commands.push(command(Kind.intent, { handle: 'funds', claims }));
  return commands;
}

/** Intents of about 450 bytes of data for one claim, between wallets drawn by a fixed rule. */
function transfers(from: number, count: number, claims: number): CreateCommand[] {
  return Array.from({ length: count }, (_, i) => {
    const seed = (from + i) * claims;
    return command(Kind.intent, {
      handle: `transfer-${from + i}`,
      schema: 'transfer',
      config: { commit: 'auto' },
      access: [
        { action: 'any', signer: { $record: 'owner' } },
        { action: 'read', bearer: { $signer: { $record: 'owner' } } },
      ],
      claims: Array.from({ length: claims }, (_, claim) => ({
        action: 'transfer',
        source: { handle: `wallet-${((seed + claim) * 7919) % WALLETS}` },
        target: { handle: `wallet-${((seed + claim) * 104_729 + 1) % WALLETS}`, custom: { name: 'Ana' } },
        symbol: { handle: 'usd' },
        amount: 1 + (seed % 100),
      })),
    });
  });
}

function goal(id: string, wanted: string, value: number, bound: number, unit: string): BenchGoal {
  return {
    id,
    wanted,
    measured: `${Math.round(value).toLocaleString('en').replaceAll(',', ' ')} ${unit}`,
    met: value >= bound,
  };
}
