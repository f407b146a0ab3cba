/**
 * A whole server but for its sockets, in this process: recovery, journal, engine and snapshots, wired as src/wiring.ts
 * wires them, on a disk that can be torn and a clock that goes where a test wants it.
 *
 * Commands enter where the door would hand them over. They carry no signatures unless a test asks for them: what is
 * behind the door does not look at them again.
 */
import type { Claim } from '../../src/core/claims/index.ts';
import type { Command, CreateCommand } from '../../src/core/command.ts';
import type { Entry } from '../../src/core/entry.ts';
import { findHandle, findLedger, findLuid } from '../../src/core/finding.ts';
import { Kind, kindRow } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { readRow } from '../../src/core/records.ts';
import { isRefusal, type Refusal } from '../../src/core/refusal.ts';
import type { MemorySizes, State } from '../../src/core/state.ts';
import { Engine, type EngineOptions, type Submission } from '../../src/engine.ts';
import { createDefaultLedger } from '../../src/genesis.ts';
import { signedIntent } from '../../src/own-records.ts';
import { canon } from '../../src/proof/canon.ts';
import { sha256 } from '../../src/proof/digest.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { ProofPool } from '../../src/proof/pool.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { type Recovered, recover } from '../../src/recovery.ts';
import { Snapshots } from '../../src/snapshots.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { segmentSeq } from '../../src/storage/format.ts';
import { whileHeld } from '../../src/storage/held-disk.ts';
import { Journal } from '../../src/storage/journal.ts';
import { acquireLock } from '../../src/storage/lock.ts';
import { snapshotSeq } from '../../src/storage/snapshot-format.ts';
import type { FakeDisk } from '../storage/fake-disk.ts';
import { Power } from './power.ts';

export const DIRECTORY = '/books';
export const NOON = Date.UTC(2030, 0, 2, 12);
export const SERVER = keyPairFromSecret(Buffer.alloc(32, 1));
export const CLIENT = keyPairFromSecret(Buffer.alloc(32, 2));
const CALLER = { keys: [CLIENT.public], bearer: null };
const NO_BYTES = new Uint8Array(0);
const NO_SEAL = new Uint8Array(64);

/** A command on its way, and what its sender was told. */
export interface Sent {
  command: Command;
  outcome: Entry[] | Refusal | null;
  /** How often it was told. */
  answers: number;
}

export const isAcknowledged = ({ outcome }: Sent): boolean => Array.isArray(outcome);
export const reasonOf = ({ outcome }: Sent): string =>
  outcome === null ? 'none' : isRefusal(outcome) ? outcome.reason : '';

/** Milliseconds since 1970, moved by hand; the random numbers of luids count on from life to life. */
export interface World {
  now: number;
  made: number;
}

export interface HouseOptions extends Partial<EngineOptions> {
  world?: World;
  segmentBytesMax?: number;
  reserveBytes?: number;
  /** In what pieces memory grows. */
  sizes?: MemorySizes;
  /** Cuts the power at this call of the disk. */
  cutAt?: number;
  /** The process that locks the directory, where others may come. */
  pid?: number;
}

/** A stopwatch that goes on by so many milliseconds whenever somebody looks at it. */
export function ticking(ms: number): () => number {
  let now = 0;
  return () => {
    now += ms;
    return now;
  };
}

/** The server's signature of a hash, and whether one is. */
export const signHash = (hash: Uint8Array) => sign(hash, SERVER);
export const verifyHash = verifyBy(SERVER.public);

/** The way back by itself. */
export function recoverFrom(disk: Disk, hashSeed = 7, sizes?: MemorySizes): Recovered {
  return recover({ disk, directory: DIRECTORY, verify: verifyHash, hashSeed, ...(sizes !== undefined && { sizes }) });
}

/** Verifies on this thread. */
export function inlinePool(): ProofPool {
  return new ProofPool({ workers: 0, server: SERVER, rowsPerTaskMax: 64, inlineRowsMax: 3 });
}

export class House {
  readonly disk: FakeDisk;
  readonly power: Power;
  /** Through which it reads and writes. */
  readonly #held: Disk;
  readonly world: World;
  readonly recovered: Recovered;
  readonly journal: Journal;
  readonly engine: Engine;
  readonly sent: Sent[] = [];
  /** What the operator was told. */
  readonly told: string[] = [];
  /** What `fatal` was called with. */
  readonly fatals: Error[] = [];
  /** What `defect` was. */
  readonly defects: Error[] = [];
  readonly kept: Snapshots;

  /** The snapshots and segments there that count no more. */
  get lost(): string[] {
    const isOne = (name: string) => snapshotSeq(name) >= 0 || segmentSeq(name) > 0;
    return this.disk.readdir(DIRECTORY).filter((name) => isOne(name) && !this.kept.counts(name));
  }

  /** A server that has recovered and has its default ledger `main`. Throws PowerCut where the power goes before. */
  static async open(disk: FakeDisk, options: HouseOptions = {}): Promise<House> {
    const house = new House(disk, options);
    if (findLedger(house.state, 'main') >= 0) return house;
    const made = createDefaultLedger(house.engine, SERVER, 'main', '');
    // A cut leaves it unanswered; a broken disk rejects it, as it would end the start.
    await Promise.race([made, house.power.gone]);
    return house;
  }

  private constructor(disk: FakeDisk, options: HouseOptions) {
    this.disk = disk;
    this.world = options.world ?? { now: NOON, made: 0 };
    this.power = new Power(disk, options.cutAt);
    this.power.mkdir(DIRECTORY);
    const { pid } = options;
    this.#held = pid === undefined ? this.power : whileHeld(this.power, acquireLock(this.power, DIRECTORY, { pid }));
    this.recovered = recoverFrom(this.#held, 7, options.sizes);
    const { state, end, entries } = this.recovered;
    const journal = Journal.open(this.#held, DIRECTORY, end, {
      segmentBytesMax: options.segmentBytesMax ?? 1 << 20,
      reserveBytes: options.reserveBytes ?? 3000,
      sign: signHash,
    });
    this.journal = journal;
    this.kept = new Snapshots({
      ...{ disk: this.#held, directory: DIRECTORY, state, journal },
      ...{ loaded: this.recovered.snapshot, refused: this.recovered.refused, sign: signHash, verify: verifyHash },
      rest: async () => {},
      request: () => this.engine.requestSnapshot(),
      beginSegment: (done) => this.engine.beginSegment(done),
      tell: (text) => void this.told.push(text),
    });
    this.engine = new Engine({
      state,
      journal,
      pool: inlinePool(),
      clock: () => this.world.now,
      stopwatch: () => 0,
      inboxMax: 10_000,
      inboxBytesMax: 1 << 26,
      pipelineMax: 256,
      pipelineBytesMax: 1 << 22,
      pipelineMsMax: Number.POSITIVE_INFINITY,
      batchEntriesMax: 1_000,
      batchBytesMax: 1 << 20,
      batchMsMax: Number.POSITIVE_INFINITY,
      snapshotEvery: Number.POSITIVE_INFINITY,
      recordsBytesMax: Number.POSITIVE_INFINITY,
      v8Share: () => 0,
      v8BytesMax: 1,
      bothBytesMax: Number.POSITIVE_INFINITY,
      snapshot: () => this.takeSnapshot(),
      signIntent: (luid, value, moment) => signedIntent(SERVER, luid, value, moment),
      tell: (text) => void this.told.push(text),
      publish: () => {},
      defect: (error) => void this.defects.push(error),
      fatal: (error) => {
        if (!this.power.isOff) this.fatals.push(error);
      },
      sinceSnapshot: entries % (options.snapshotEvery ?? Number.POSITIVE_INFINITY),
      ...options,
    });
  }

  get state(): State {
    return this.recovered.state;
  }

  async takeSnapshot(): Promise<void> {
    await this.kept.take();
  }

  /** How many were taken. */
  get snapshots(): number {
    return this.kept.taken;
  }

  /** Waits until everything is answered and written, or no more can be: the power gone, the disk broken. */
  async quiet(): Promise<void> {
    await Promise.race([this.engine.drained(), this.power.gone]);
  }

  /** The process ends, kindly. */
  async stop(): Promise<void> {
    await this.engine.drained();
    await this.journal.close();
  }

  submit(command: Command, beside: Partial<Pick<Submission, 'checks' | 'seals' | 'leave'>> = {}): Sent {
    const sent: Sent = { command, outcome: null, answers: 0 };
    this.sent.push(sent);
    const answer = (outcome: Entry[] | Refusal) => {
      // What the dying process still says, nobody hears.
      if (this.power.isOff) return;
      sent.outcome = outcome;
      sent.answers++;
    };
    this.engine.submit({ command, checks: NO_BYTES, seals: NO_BYTES, ...beside, answer });
    return sent;
  }

  /** The command, with a signature over its hash to verify: a true one, or one with a bit turned. */
  submitSigned(command: CreateCommand, forged = false): Sent {
    const result = sign(command.hash, CLIENT);
    if (forged) result[3]! ^= 4;
    const checks = Buffer.concat([CLIENT.public, command.hash, result]);
    return this.submit(command, { checks, seals: sha256(command.luid) });
  }

  command(kind: Kind, value: Record<string, unknown>): CreateCommand {
    const moment = this.engine.now();
    return {
      op: 'create',
      sheet: null,
      ...this.#base(kind, moment),
      ...contentOf(value),
      luid: this.#luid(kind, moment),
      seal: NO_SEAL,
    };
  }

  create(kind: Kind, value: Record<string, unknown>): Sent {
    return this.submit(this.command(kind, value));
  }

  intent(handle: string, ...claims: Claim[]): Sent {
    return this.create(Kind.intent, { handle, claims });
  }

  /** A change of the live record with this handle to `value`. */
  update(kind: Kind, handle: string, value: Record<string, unknown>, ledger = MAIN_LEDGER): Sent {
    const { entry } = this.read(kind, handle, ledger)!;
    const content = contentOf({ ...value, parent: Buffer.from(entry.hash).toString('hex') });
    return this.submit({ op: 'update', ...this.#base(kind), ledger, ...content, luid: entry.luid, seal: NO_SEAL });
  }

  drop(kind: Kind, handle: string): Sent {
    const { entry } = this.read(kind, handle)!;
    // A number makes the body another one each time, as a client's signature over its moment would.
    const content = contentOf({ parent: Buffer.from(entry.hash).toString('hex'), custom: { n: this.world.made++ } });
    return this.submit({ op: 'drop', ...this.#base(kind), ...content, luid: entry.luid });
  }

  addProof(kind: Kind, handle: string, custom: string | null, key: Uint8Array = CLIENT.public): Sent {
    const { entry } = this.read(kind, handle)!;
    const proof = { public: key, result: Buffer.from(sign(sha256(custom ?? ''), CLIENT)), custom };
    return this.submit({ op: 'proof', ...this.#base(kind), luid: entry.luid, hash: entry.hash, proof });
  }

  /** The live record with this handle in the ledger, or null. */
  read(kind: Kind, handle: string, ledger = MAIN_LEDGER) {
    const row = findHandle(this.state, ledger, kind, handle);
    return row < 0 ? null : readRow(this.state, row);
  }

  /** Row of the wallet with this luid; rows count up in the order of the journal. */
  luidRow(luid: string): number {
    return findLuid(this.state, MAIN_LEDGER, Kind.wallet, luid);
  }

  entryOf(row: number) {
    return readRow(this.state, row).entry;
  }

  balance(wallet: string): number {
    const { balances } = this.state;
    const rowOf = (kind: Kind, handle: string) => findHandle(this.state, MAIN_LEDGER, kind, handle);
    const slot = balances.find(rowOf(Kind.wallet, wallet), rowOf(Kind.symbol, 'usd'));
    return slot < 0 ? 0 : balances.available(slot);
  }

  #base(kind: Kind, moment = this.engine.now()) {
    return { ledger: MAIN_LEDGER, kind, moment, caller: CALLER };
  }

  #luid(kind: Kind, moment: number): string {
    return makeLuid(kindRow(kind).prefix, moment, sha256(`luid ${this.world.made++}`));
  }
}

/** `main` is the first ledger that is made, and 0 is the server itself. */
export const MAIN_LEDGER = 1;

function contentOf(value: Record<string, unknown>) {
  const data = canon(value);
  const proofs = [{ public: CLIENT.public, result: NO_SEAL, custom: null }];
  return { value, data, hash: Buffer.from(sha256(data)), proofs };
}
