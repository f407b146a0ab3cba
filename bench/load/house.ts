/**
 * The house without its door: engine, core and storage wired as wiring.ts wires them, on a directory of its own, for
 * benches that ask what lies behind HTTP and signatures. Its directory is one the real service can start on.
 *
 * Commands come as the door would hand them over: parsed, in canonical form, hashed, checked. Keys and signatures in
 * them are random bytes, because whatever looks like something else could be stored in less room than real ones.
 */
import { randomBytes, randomInt } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import type { CreateCommand } from '../../src/core/command.ts';
import { dumpState } from '../../src/core/dump.ts';
import { type Entry, EntryType } from '../../src/core/entry.ts';
import { Kind, kindRow } from '../../src/core/kinds.ts';
import { LUID_RANDOM_BYTES, makeLuid } from '../../src/core/luid.ts';
import { isoMoment } from '../../src/core/proofs.ts';
import type { Refusal } from '../../src/core/refusal.ts';
import { emptyState, type State } from '../../src/core/state.ts';
import { Engine } from '../../src/engine.ts';
import { createDefaultLedger } from '../../src/genesis.ts';
import { signedIntent } from '../../src/own-records.ts';
import { canon } from '../../src/proof/canon.ts';
import { sha256 } from '../../src/proof/digest.ts';
import { createKeyPair, encodeBase64, type KeyPair, keyPairFromSecret } from '../../src/proof/keys.ts';
import { ProofPool } from '../../src/proof/pool.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { type Recovered, recover } from '../../src/recovery.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { JOURNAL_START, Journal, RESERVE_BYTES } from '../../src/storage/journal.ts';
import { loadOrCreateKey, readKeyFile } from '../../src/storage/key-file.ts';
import { type SnapshotTaken, takeSnapshot } from '../../src/storage/snapshot.ts';
import { packValue } from '../../src/storage/values.ts';
import { fundingData, symbolData, transferData, walletData } from './intents.ts';

/**
 * Where all that a line of code has made is still in use when young garbage is collected first, V8 makes it among what
 * lives long from then on. That happens here, where the first commands are all there are and on their way; they would be
 * collected at several times their cost ever after. A service's requests come slowly enough at first: there
 * --trace-pretenuring tells of none.
 */
setFlagsFromString('--no-allocation-site-pretenuring');

/** Claims in one funding intent. */
const FUNDING_CLAIMS = 100;
/** Commands made and held at a time; more would measure the memory of the bench. */
export const SLICE = 10_000;

export interface House {
  engine: Engine;
  state: State;
  journal: Journal;
  directory: string;
  server: KeyPair;
}

/** A house on an empty directory, with the ledger `main`, open to everybody. */
export async function openHouse(directory: string): Promise<House> {
  realDisk.mkdir(directory);
  const server = loadOrCreateKey(realDisk, directory, (secret) =>
    secret === undefined ? createKeyPair() : keyPairFromSecret(secret),
  );
  const journal = Journal.open(realDisk, directory, JOURNAL_START, {
    segmentBytesMax: 64 * 1024 * 1024,
    reserveBytes: RESERVE_BYTES,
    sign: (hash) => sign(hash, server),
  });
  const state = emptyState(entryCodec, randomInt(2 ** 32));
  const engine = new Engine({
    state,
    journal,
    pool: new ProofPool({ workers: 0, server, rowsPerTaskMax: 256, inlineRowsMax: 4 }),
    clock: Date.now,
    stopwatch: () => performance.now(),
    inboxMax: Number.POSITIVE_INFINITY,
    inboxBytesMax: Number.POSITIVE_INFINITY,
    pipelineMax: Number.POSITIVE_INFINITY,
    pipelineBytesMax: Number.POSITIVE_INFINITY,
    pipelineMsMax: Number.POSITIVE_INFINITY,
    batchEntriesMax: 1000,
    batchBytesMax: 1024 * 1024,
    batchMsMax: 10,
    snapshotEvery: Number.POSITIVE_INFINITY,
    recordsBytesMax: Number.POSITIVE_INFINITY,
    v8Share: () => 0,
    v8BytesMax: 1,
    bothBytesMax: Number.POSITIVE_INFINITY,
    snapshot: async () => {},
    signIntent: (luid, value, moment) => signedIntent(server, luid, value, moment),
    tell: () => {},
    publish: () => {},
    defect(error) {
      throw error;
    },
    fatal(error) {
      throw error;
    },
  });
  await createDefaultLedger(engine, server, 'main', '');
  return { engine, state, journal, directory, server };
}

/** As the service takes one. `held` is told how long the event loop was kept at its start, ms. */
export async function takeHouseSnapshot(house: House, held?: (ms: number) => void): Promise<SnapshotTaken> {
  const { state, journal, directory, server } = house;
  const began = performance.now();
  const { extra, parts } = dumpState(state);
  const content = { ...journal.position, extra: packValue(extra), parts };
  held?.(performance.now() - began);
  return takeSnapshot(realDisk, directory, content, {
    sign: (hash) => sign(hash, server),
    verify: verifyBy(server.public),
  });
}

export async function closeHouse({ engine, journal }: House): Promise<void> {
  await engine.drained();
  await journal.close();
}

/** Reads the books of a house back, from its directory alone. */
export function recoverBooks(directory: string): Recovered {
  const key = readKeyFile(realDisk, directory);
  if (key === null) throw new Error(`${directory} has no key`);
  return recover({ disk: realDisk, directory, verify: verifyBy(key.public), hashSeed: 1 });
}

/** Hands all commands in at once; resolves when the last is on the disk, rejects where one is refused. */
export function submitAll(engine: Engine, commands: readonly CreateCommand[]): Promise<void> {
  const end = new Countdown(commands.length);
  for (const command of commands) handIn(engine, command, end);
  return end.reached;
}

/** Hands one command in; `end` counts its answer. */
export function handIn(engine: Engine, command: CreateCommand, end: Countdown): void {
  engine.submit({ command, checks: NONE, seals: NONE, answer: (outcome) => end.count(outcome) });
}

/** So many answers are awaited. It holds no command, so that what they are made of lives as long as the engine wants it. */
export class Countdown {
  readonly reached: Promise<void>;
  #left: number;
  #resolve!: () => void;
  #reject!: (error: Error) => void;

  constructor(count: number) {
    this.#left = count;
    this.reached = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (count === 0) this.#resolve();
  }

  count(outcome: Entry[] | Refusal): void {
    if (!Array.isArray(outcome)) this.#reject(new Error(`${outcome.reason}: ${outcome.detail}`));
    else if (!isDone(outcome)) this.#reject(new Error('an intent was rejected: that is no transfer'));
    else if (--this.#left === 0) this.#resolve();
  }
}

/** All that is handed in can be paid, and ends with its batch. */
function isDone([entry]: Entry[]): boolean {
  if (entry === undefined) return false;
  return entry.type !== EntryType.intent || entry.outcome.steps.at(-1) === 'completed';
}

const NONE = new Uint8Array(0);

// ---------------------------------------------------------------- commands

const RANDOM_BLOCK = 1024 * 1024;
let random = randomBytes(RANDOM_BLOCK);
let randomAt = 0;

/** Random bytes, taken from the system many at a time. */
function someBytes(count: number): Uint8Array {
  if (randomAt + count > RANDOM_BLOCK) {
    random = randomBytes(RANDOM_BLOCK);
    randomAt = 0;
  }
  randomAt += count;
  return random.subarray(randomAt - count, randomAt);
}

function makeCommand(kind: Kind, made: Record<string, unknown>, key = someBytes(32)): CreateCommand {
  const data = canon(made);
  // As the door has it: read from a text.
  const value = JSON.parse(data) as Record<string, unknown>;
  const moment = Date.now();
  return {
    op: 'create',
    ledger: 1,
    kind,
    moment,
    caller: { keys: [key], bearer: null },
    value,
    sheet: null,
    data,
    hash: sha256(data),
    proofs: [{ public: key, result: someBytes(64), custom: `{"moment":"${isoMoment(moment)}","status":"created"}` }],
    luid: makeLuid(kindRow(kind).prefix, moment, someBytes(LUID_RANDOM_BYTES)),
    seal: someBytes(64),
  };
}

/** A key for a wallet's owner, always the same one. Nobody can sign with it, and nobody has to. */
function ownerKey(wallet: number): Uint8Array {
  return sha256(`ayni bench owner ${wallet}`);
}

/** The symbol, and `wallets` wallets with funds, as a real client would have made them. */
export async function fillHouse({ engine }: House, wallets: number): Promise<void> {
  const system = encodeBase64(ownerKey(0));
  await submitAll(engine, [makeCommand(Kind.symbol, symbolData(system))]);
  for (let from = 0; from < wallets; from += SLICE) {
    const to = Math.min(from + SLICE, wallets);
    const made: CreateCommand[] = [];
    for (let wallet = from; wallet < to; wallet++) {
      const key = ownerKey(wallet);
      made.push(makeCommand(Kind.wallet, walletData(wallet, encodeBase64(key)), key));
    }
    await submitAll(engine, made);
    const funds: CreateCommand[] = [];
    for (let at = from; at < to; at += FUNDING_CLAIMS) {
      funds.push(makeCommand(Kind.intent, fundingData(at, Math.min(at + FUNDING_CLAIMS, to), system)));
    }
    await submitAll(engine, funds);
  }
}

/** So many transfers between the wallets of a filled house, the first ones. */
export async function fillTransfers({ engine }: House, intents: number, wallets: number): Promise<void> {
  for (let from = 0; from < intents; from += SLICE) {
    await submitAll(engine, makeTransfers(from, Math.min(SLICE, intents - from), wallets));
  }
}

/** The handle of the intent with this number among those made by `makeTransfers`. */
function transferHandle(number: number): string {
  return `transfer-${String(number).padStart(10, '0')}`;
}

/** One-claim intents, `from` to `from + count`. */
export function makeTransfers(from: number, count: number, wallets: number): CreateCommand[] {
  return Array.from({ length: count }, (_, i) => makeTransfer(from + i, wallets, 1));
}

/** The intent of this number, of about 1 KB of JSON for one claim, between wallets drawn by a fixed rule. */
export function makeTransfer(number: number, wallets: number, claims: number): CreateCommand {
  const source = (number * 7) % wallets;
  const key = ownerKey(source);
  const data = transferData(transferHandle(number), encodeBase64(key), source, wallets, claims, number * 31);
  return makeCommand(Kind.intent, data, key);
}
