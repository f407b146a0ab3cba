/**
 * One server process, from its start to its end: the rooms wired as src/main.ts wires them, on a virtual disk, clock and
 * network, with the oracle at its borders. Only sockets are missing: requests come in where sockets hand them over.
 *
 * Always holds: once the process is gone nothing it still does is seen by anybody.
 */
import { GRANTED } from '../../src/core/access/index.ts';
import type { DeliveryCommand, LegCommand } from '../../src/core/command.ts';
import { dumpState } from '../../src/core/dump.ts';
import { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { DROPPED, findLedger, type MemorySizes, type State } from '../../src/core/state.ts';
import { Effects } from '../../src/effects/index.ts';
import { Engine, type Submission } from '../../src/engine.ts';
import { createDefaultLedger } from '../../src/genesis.ts';
import { createApp } from '../../src/http/app.ts';
import { Making } from '../../src/http/making.ts';
import { QUERY_LIMITS } from '../../src/http/query.ts';
import type { Handler } from '../../src/http/request.ts';
import { compileSchemas } from '../../src/http/schemas.ts';
import { RecordTexts } from '../../src/http/texts.ts';
import { createTokenChecker, TOKEN_LIMITS } from '../../src/http/tokens.ts';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { Waiters } from '../../src/http/waiters.ts';
import { Walks } from '../../src/http/walks.ts';
import { signedIntent } from '../../src/own-records.ts';
import { ProofPool } from '../../src/proof/pool.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { sign, verify } from '../../src/proof/verify.ts';
import { type Recovered, recover } from '../../src/recovery.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { type EntryFormat, Journal } from '../../src/storage/journal.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { packValue } from '../../src/storage/values.ts';
import { ticking } from '../engine/house.ts';
import { Power } from '../engine/power.ts';
import type { FakeDisk } from '../storage/fake-disk.ts';
import type { Dice } from '../support/dice.ts';
import type { Loop, Owner, Timer } from './loop.ts';
import { must } from './must.ts';
import type { Network } from './network.ts';
import type { Oracle, Visit, Watched } from './oracle.ts';
import { rememberSignatures } from './signatures.ts';
import { VirtualThreads } from './threads.ts';
import { type Ask, contentOf, SERVER, type Wish } from './wish.ts';

export const DIRECTORY = '/books';
export const TICK_MS = 1000;
const FATAL_LINGER_MS = 200;
const NO_BYTES = new Uint8Array(0);

/** What an operator may change from one start to the next. */
export interface Settings {
  readonly batchEntriesMax: number;
  readonly batchBytesMax: number;
  readonly segmentBytesMax: number;
  readonly reserveBytes: number;
  readonly snapshotEvery: number;
  readonly inboxMax: number;
  readonly pipelineMax: number;
  readonly bridgeAttemptsMax: number;
  readonly threads: number;
  readonly inlineRowsMax: number;
  /** Share of the tasks of proof workers that go wrong. */
  readonly threadFaults: number;
  /** By its stopwatch clearing a request takes so many milliseconds, and one of so many far longer. */
  readonly clearMs: number;
  readonly dearEvery: number;
  /** What it writes, where its build is an old one. */
  readonly oldFormat: EntryFormat | null;
}

/** The world a process lives in. */
export interface World {
  readonly loop: Loop;
  readonly dice: Dice;
  readonly disk: FakeDisk;
  readonly oracle: Oracle;
  readonly network: Network;
  /** In what pieces its processes keep their books in memory. */
  readonly sizes: MemorySizes;
  /** The wall clock, milliseconds since 1970. */
  wall(): number;
  /** Whether the disk was told to make this error. */
  isExpected(error: Error): boolean;
  tell(line: string): void;
}

/** Compiling schemas takes as long as a whole life, and they are the same in all of them. */
const validate = compileSchemas({ claimsMax: 100, proofsMax: 8 });

// Frames are read again and again in a life.
rememberSignatures();
const verifyHash = (hash: Uint8Array, signature: Uint8Array): boolean => verify(SERVER.pair.public, hash, signature);
const signHash = (hash: Uint8Array): Uint8Array => sign(hash, SERVER.pair);

export function readBooks(disk: Disk, hashSeed: number, sizes: MemorySizes): Recovered {
  return recover({ disk, directory: DIRECTORY, verify: verifyHash, hashSeed, sizes });
}

/** A disk whose process ends with its power. */
class ProcessPower extends Power {
  /** How it ended, or will. */
  how: 'power' | 'kill' | 'stop';
  readonly #owner: Owner;

  constructor(disk: FakeDisk, owner: Owner, cutAt: number, how: 'power' | 'kill') {
    super(disk, cutAt);
    this.#owner = owner;
    this.how = how;
  }

  override cut(how = this.how): void {
    if (this.isOff) return;
    this.how = how;
    this.#owner.isGone = true;
    super.cut(how === 'power' ? 'power' : 'kill');
  }
}

/** Shows the oracle what enters the sequence and what is answered, and gives luids by the dice. */
class WatchedEngine extends Engine {
  host: Host | null = null;

  override newLuid(kind: Kind, moment: number): string {
    return this.host!.makeLuid(kind, moment);
  }

  override submit(submission: Submission): void {
    super.submit(this.host!.watch(submission));
  }

  override wait(ledger: number, bytes: number, begin: () => void): void {
    super.wait(ledger, bytes, this.host!.watchTurn(begin));
  }
}

export interface StartOptions {
  readonly settings: Settings;
  readonly cutAt: number;
  /** So many calls after it began to write its first frame. */
  readonly cutInFrame: number;
  readonly how: 'power' | 'kill';
}

const DEAR_MS = 200;

function stumbling({ clearMs, dearEvery }: Settings): () => number {
  const ticked = ticking(clearMs);
  let looks = 0;
  return () => ticked() + DEAR_MS * Math.floor(++looks / dearEvery);
}

/** Books are small: in pieces of this size others have their turn while a dump of them is read. */
const SNAPSHOT_PIECE_BYTES = 256;

export class Host implements Watched {
  readonly owner: Owner;
  readonly power: ProcessPower;
  readonly recovered: Recovered;
  readonly journal: Journal;
  readonly engine: WatchedEngine;
  readonly waiters = new Waiters();
  readonly pool: ProofPool;
  readonly effects: Effects;
  readonly settings: Settings;
  /** Why it stops by itself. */
  failure: Error | null = null;
  snapshots = 0;
  /** Visits without an answer, their clients still there. */
  readonly unanswered = new Map<Visit, (status: number) => void>();
  /** Who wants to hear that a client has gone. */
  readonly #gone = new Map<Visit, () => void>();
  readonly #world: World;
  /** The highest moment the engine has seen on the clock. */
  #seen: number;
  #handler: Handler | null = null;
  #isStopping = false;
  /** Whose request is being worked on, and what the server itself wishes for. */
  #visit: Visit | null = null;
  readonly #sealer = new Sealer(SERVER.pair);
  #ownWish: Wish | null = null;

  /** Reads the books and opens them. Throws what a start throws, PowerCut where the power goes meanwhile. */
  constructor(world: World, { settings, cutAt, cutInFrame, how }: StartOptions, name: string) {
    const { loop, disk, dice, oracle } = world;
    this.#world = world;
    this.settings = settings;
    this.owner = { name, isGone: false };
    this.power = new ProcessPower(disk, this.owner, cutAt, how);
    this.power.mkdir(DIRECTORY);
    this.recovered = readBooks(this.power, dice.below(2 ** 32), world.sizes);
    for (const note of this.recovered.notes) world.tell(`${name}: ${note}`);
    this.state.compileSchema = compileUserSchema;
    const { end } = this.recovered;
    this.journal = this.#openJournal(cutInFrame);
    this.#seen = end.moment;
    this.pool = new ProofPool({
      workers: settings.threads,
      server: SERVER.pair,
      rowsPerTaskMax: 16,
      inlineRowsMax: settings.inlineRowsMax,
      // Every start would make its tables anew; signatures.ts remembers what was verified anyway.
      keyTablesMax: 0,
      startThreads: (data) =>
        new VirtualThreads(data, { loop, dice, count: settings.threads, faults: settings.threadFaults }),
    });
    this.engine = new WatchedEngine({
      state: this.state,
      journal: this.journal,
      pool: this.pool,
      clock: () => {
        const now = world.wall();
        this.#seen = Math.max(this.#seen, now);
        return now;
      },
      stopwatch: stumbling(settings),
      inboxMax: settings.inboxMax,
      inboxBytesMax: 1 << 26,
      pipelineMax: settings.pipelineMax,
      pipelineBytesMax: 1 << 25,
      pipelineMsMax: 10,
      batchEntriesMax: settings.batchEntriesMax,
      batchBytesMax: settings.batchBytesMax,
      batchMsMax: 10,
      snapshotEvery: settings.snapshotEvery,
      sinceSnapshot: this.recovered.entries % settings.snapshotEvery,
      snapshot: () => this.#takeSnapshot(),
      signIntent: (luid, value, moment) => signedIntent(SERVER.pair, luid, value, moment),
      publish: (entries, seq) => {
        this.#guard(() => oracle.published(entries, seq));
        this.waiters.publish(entries, seq);
        this.effects.publish(entries, seq);
      },
      fatal: (error) => this.#fatal(error),
    });
    this.engine.host = this;
    this.effects = this.#openEffects();
    oracle.starts(this, end);
    this.#tick();
  }

  get state(): State {
    return this.recovered.state;
  }

  get isEarly(): boolean {
    return this.settings.oldFormat !== null;
  }

  get isFailed(): boolean {
    return this.engine.isFailed;
  }

  /** Whether requests may come. */
  get isOpen(): boolean {
    return this.#handler !== null && !this.#isStopping;
  }

  get isGone(): boolean {
    return this.owner.isGone;
  }

  get inboxMax(): number {
    return this.settings.inboxMax;
  }

  get wall(): number {
    return this.#world.wall();
  }

  /** The latest that it has seen on its clock, or in its books. */
  get seen(): number {
    return this.#seen;
  }

  get moment(): number {
    return Math.max(this.#seen, this.#world.wall());
  }

  isJournalDurable(): boolean {
    const { disk } = this.#world;
    const last = disk.namesIn(DIRECTORY).findLast((name) => name.startsWith('journal-'));
    return last !== undefined && disk.isDurable(`${DIRECTORY}/${last}`);
  }

  #openEffects(): Effects {
    const { loop, network } = this.#world;
    const { state, engine, owner } = this;
    const note = (command: LegCommand | DeliveryCommand, done = () => {}) =>
      engine.submit({ command, checks: NO_BYTES, seals: NO_BYTES, answer: done });
    return new Effects({
      state,
      sealer: this.#sealer,
      timers: {
        now: () => loop.now,
        after: (ms, run) => loop.after(ms, run, owner),
        cancel: (timer) => {
          (timer as Timer).isCancelled = true;
        },
      },
      call: (call) => {
        // What becomes of it could not be noted.
        this.#guard(() => must(this.failure === null, `${call.method} ${call.url} goes out after the disk has failed`));
        return this.#guard(() => network.call(call));
      },
      callsInFlightMax: 8,
      bridgeCallsMax: 3,
      bridgeAttemptsMax: this.settings.bridgeAttemptsMax,
      seq: this.recovered.end.seq,
      defect: (error) => loop.fail(error),
      noteLeg: (leg) => note({ op: 'leg', kind: Kind.intent, moment: engine.now(), caller: GRANTED, ...leg }),
      noteDelivery: (delivery, done) =>
        note({ op: 'delivery', moment: engine.now(), caller: GRANTED, ...delivery }, done),
    });
  }

  /** All that waits for other systems, or was given up, is tried. */
  wakeAll(): void {
    const { rows } = this.state;
    for (let row = 0; row < rows.at.length; row++) {
      if ((rows.flags.get(row) & DROPPED) !== 0) continue;
      if (rows.kind.get(row) === Kind.bridge) this.effects.activate(row);
      if (rows.kind.get(row) === Kind.effect) this.effects.retry(row);
    }
  }

  wasTaken(receiver: string, seq: number, index: number): boolean {
    return this.#world.network.wasTaken(receiver, seq, index);
  }

  wasGivenUp(receiver: string, seq: number, index: number): void {
    this.#world.network.wasGivenUp(receiver, seq, index);
  }

  /** Makes the default ledger where there is none, and opens the door. */
  async open(): Promise<void> {
    const { loop } = this.#world;
    if (findLedger(this.state, 'main') < 0) {
      const custom = { moment: new Date(this.moment).toISOString(), status: 'created' };
      const value = { handle: 'main', access: [{ action: 'any', record: 'any' }] };
      this.#ownWish = { op: 'create', ledger: 0, kind: 'ledger', content: contentOf(value, [SERVER], custom) };
      const made = new Promise<void>((resolve, reject) => {
        loop.after(
          0,
          () => createDefaultLedger(this.engine, SERVER.pair, 'main', '').then(resolve, reject),
          this.owner,
        );
      });
      await Promise.race([made, this.power.gone]);
    }
    if (this.isGone) return;
    this.#handler = createApp({
      house: {
        engine: this.engine,
        state: this.state,
        server: SERVER.pair,
        sealer: this.#sealer,
        texts: new RecordTexts(),
        pool: this.pool,
        waiters: this.waiters,
        walks: new Walks(),
        making: new Making(),
        effects: this.effects,
        clock: () => this.#world.wall(),
        head: () => this.journal.position,
        validate,
        queryLimits: QUERY_LIMITS,
        listMsMax: 1000,
        listProofMsMax: 1000,
        preferWaitSecondsMax: 30,
        defect: (error) => loop.fail(error),
      },
      tokens: createTokenChecker({ ...TOKEN_LIMITS, verify }),
      defaultLedger: findLedger(this.state, 'main'),
      publicUrl: '',
      bodyDepthMax: 64,
    });
    loop.after(0, () => this.effects.start(), this.owner);
  }

  /** A request has come in whole; null where nobody listens any more. To be called in an event of this process. */
  receive(ask: Ask, done: (status: number) => void = () => {}): Visit | null {
    if (this.#isStopping) return null;
    const { oracle } = this.#world;
    const { method, path, query, headers, body } = ask;
    const visit = oracle.arrives(ask);
    this.unanswered.set(visit, done);
    const request = { method, methodSent: method, path, query, body, header: (name: string) => headers[name] ?? '' };
    const reply = {
      get aborted() {
        return visit.isAborted;
      },
      get ended() {
        return visit.isTold;
      },
      send: (status: number, text: string | Uint8Array) => this.#leave(visit, status, text),
      whenGone: (run: () => void) => this.#gone.set(visit, run),
    };
    this.#as(visit, () => {
      const refusal = this.#handler!.admit!(request);
      if (refusal !== null) return this.#handler!.refuse(refusal, reply);
      if (method === 'GET' || this.engine.isOpen) this.#guard(() => oracle.begins(visit));
      this.#handler!.handle(request, reply);
    });
    return visit;
  }

  /** Work on a request that had to wait begins when it is its ledger's turn. */
  watchTurn(begin: () => void): () => void {
    const { oracle } = this.#world;
    const visit = this.#visit!;
    oracle.waits(visit);
    return () => {
      if (this.isGone) return;
      oracle.hasTurn(visit);
      if (!visit.isAborted) this.#guard(() => oracle.begins(visit));
      this.#as(visit, begin);
    };
  }

  #leave(visit: Visit, status: number, text: string | Uint8Array): void {
    if (this.isGone || visit.isAborted) return;
    const done = this.unanswered.get(visit);
    this.unanswered.delete(visit);
    this.#gone.delete(visit);
    this.#guard(() =>
      this.#world.oracle.leaves(visit, status, typeof text === 'string' ? text : Buffer.from(text).toString()),
    );
    this.#world.tell(`${visit.number} ${status}`);
    done?.(status);
  }

  /** The client of a request goes away. */
  abort(visit: Visit): void {
    visit.isAborted = true;
    this.unanswered.delete(visit);
    this.#world.loop.after(0, () => this.#gone.get(visit)?.(), this.owner);
  }

  /** Ends the process as the operator would: what came in is answered, then the files are closed. */
  async stop(): Promise<void> {
    // From here on it is the process that works.
    await new Promise<void>((resolve) => this.#world.loop.after(0, resolve, this.owner));
    this.#isStopping = true;
    this.waiters.end();
    this.effects.close();
    await this.engine.drained();
    await this.journal.close();
    await this.pool.close();
    this.power.cut('stop');
  }

  watch(submission: Submission): Submission {
    const { oracle } = this.#world;
    const visit = this.#visit;
    const { command } = submission;
    // A server that has failed refuses it on the spot.
    if (this.isFailed) return submission;
    const asked = visit?.ask.wish ?? this.#ownWish;
    const passage = this.#guard(() => oracle.submitted(command, visit, asked as Wish | null));
    return {
      ...submission,
      answer: (outcome) => {
        if (this.isGone) return;
        this.#guard(() => oracle.answered(passage, outcome));
        this.#as(visit, () => submission.answer(outcome));
      },
      leave:
        submission.leave &&
        (() => {
          const begin = submission.leave!();
          if (this.isGone) return begin;
          this.#guard(() => oracle.goesBack(passage));
          return () => {
            if (this.isGone) return;
            this.#guard(() => oracle.comesAgain(passage));
            this.#as(visit, begin);
          };
        }),
    };
  }

  makeLuid(kind: Kind, moment: number): string {
    const { dice } = this.#world;
    const random = Uint8Array.from({ length: 11 }, () => dice.below(256));
    return makeLuid(PREFIXES[kind]!, moment, random);
  }

  #as(visit: Visit | null, work: () => void): void {
    const before = this.#visit;
    this.#visit = visit;
    work();
    this.#visit = before;
  }

  /** What the oracle finds ends the life, whoever may catch it on the way up. */
  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      this.#world.loop.fail(error as Error);
      throw error;
    }
  }

  #openJournal(cutInFrame: number): Journal {
    const { oracle } = this.#world;
    const { segmentBytesMax, reserveBytes, oldFormat } = this.settings;
    const format = oldFormat === null ? {} : { format: oldFormat };
    const options = { segmentBytesMax, reserveBytes, sign: signHash, ...format };
    const journal = Journal.open(this.power, DIRECTORY, this.recovered.end, options);
    const add = journal.add.bind(journal);
    const commit = journal.commit.bind(journal);
    let frame: Parameters<typeof add>[0][] = [];
    journal.add = (entry) => {
      frame.push(entry);
      return add(entry);
    };
    journal.commit = (moment, done) => {
      const entries = frame;
      frame = [];
      this.#guard(() => oracle.cleared(entries, moment));
      this.power.cutIn(cutInFrame);
      commit(moment, (error) => {
        if (this.isGone) return;
        if (error === null) this.#guard(() => oracle.synced(this.journal.position));
        done(error);
      });
    };
    return journal;
  }

  async #takeSnapshot(): Promise<void> {
    const { extra, parts } = dumpState(this.state);
    const content = { ...this.journal.position, extra: packValue(extra), parts };
    const keys = { sign: signHash, verify: verifyHash };
    const { file } = await takeSnapshot(this.power, DIRECTORY, content, {
      ...keys,
      refused: this.recovered.refused,
      pieceBytes: SNAPSHOT_PIECE_BYTES,
    });
    this.snapshots++;
    this.#world.tell(`took ${file}`);
  }

  #fatal(error: Error): void {
    if (this.isGone) return;
    const { loop } = this.#world;
    this.failure = error;
    this.effects.close();
    this.#world.tell(`fails: ${error.message}`);
    // A disk that was told to fail is no news; everything else is.
    if (!this.#world.isExpected(error)) return loop.fail(error);
    loop.after(FATAL_LINGER_MS, () => this.power.cut('kill'), this.owner);
  }

  #tick(): void {
    this.#world.loop.after(
      TICK_MS,
      () => {
        // Then nobody is hurried to an end any more, as in main.ts: the journal may be closed by now.
        if (this.#isStopping) return;
        this.engine.tick();
        this.#tick();
      },
      this.owner,
    );
  }
}

const PREFIXES = ['ldg', 'snr', 'sym', 'wlt', 'anc', 'int', 'eff', 'brg', 'crc', 'plc', 'sch', 'csn'];
