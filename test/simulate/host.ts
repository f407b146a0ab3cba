/**
 * One server process, from its start to its end: the rooms wired as src/main.ts wires them, on a virtual disk, clock and
 * network, with the oracle at its borders. Only sockets are missing: requests come in where sockets hand them over.
 *
 * Always holds: once the process is gone nothing it still does is seen by anybody.
 */
import { findLedger } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { DROPPED, type MemorySizes, type State } from '../../src/core/state.ts';
import { Effects, settledTimers } from '../../src/effects/index.ts';
import { createDefaultLedger } from '../../src/genesis.ts';
import { createApp } from '../../src/http/app.ts';
import { LongAnswers } from '../../src/http/long-answers.ts';
import { compileSchemas } from '../../src/http/schemas.ts';
import { RecordTexts } from '../../src/http/texts.ts';
import { createTokenChecker } from '../../src/http/tokens.ts';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { Waiters } from '../../src/http/waiters.ts';
import { Walks } from '../../src/http/walks.ts';
import { signedIntent } from '../../src/own-records.ts';
import { ProofPool } from '../../src/proof/pool.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { verify } from '../../src/proof/verify.ts';
import type { Recovered } from '../../src/recovery.ts';
import { Snapshots } from '../../src/snapshots.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { whileHeld } from '../../src/storage/held-disk.ts';
import { Journal } from '../../src/storage/journal.ts';
import { noteEnd } from '../../src/storage/known-end.ts';
import { acquireLock, type Lock, LockLostError } from '../../src/storage/lock.ts';
import type { FakeDisk } from '../storage/fake-disk.ts';
import type { Dice } from '../support/dice.ts';
import { Border } from './border.ts';
import type { Clock } from './clock.ts';
import { DIRECTORY, readBooks, signHash, verifyHash } from './directory.ts';
import type { Loop, Owner, Timer } from './loop.ts';
import type { Seat } from './machine.ts';
import { must } from './must.ts';
import type { Network } from './network.ts';
import type { Oracle, Watched } from './oracle.ts';
import { Ousted } from './ousted.ts';
import { ProcessPower } from './process-power.ts';
import type { Settings } from './settings.ts';
import { VirtualThreads } from './threads.ts';
import type { Visit } from './visit.ts';
import { stumbling, WatchedEngine } from './watched-engine.ts';
import { type Ask, contentOf, SERVER } from './wish.ts';

/** Of its full size, what a cache has that keeps hardly anything. */
const TINY_CACHES = 1 / 1_000_000;

export const TICK_MS = 1000;
const FATAL_LINGER_MS = 200;

/** The world a process lives in. */
export interface World {
  readonly loop: Loop;
  readonly dice: Dice;
  readonly disk: FakeDisk;
  readonly oracle: Oracle;
  readonly network: Network;
  /** In what pieces its processes keep their books in memory. */
  readonly sizes: MemorySizes;
  /** Whether the disk was told to make this error. */
  isExpected(error: Error): boolean;
  tell(line: string): void;
}

/** Compiling schemas takes as long as a whole life, and they are the same in all of them. */
const limits = { claimsMax: 100, proofsMax: 8 };
const validate = compileSchemas(limits);

export interface StartOptions {
  readonly settings: Settings;
  readonly clock: Clock;
  /** On which of several machines, where others run beside it: then it locks the directory. */
  readonly seat: Seat | null;
  readonly cutAt: number;
  /** So many calls after it began to write its first frame. */
  readonly cutInFrame: number;
  readonly how: 'power' | 'kill';
}

/** Books are small: in pieces of this size others have their turn while a dump of them is read. */
const SNAPSHOT_PIECE_BYTES = 256;
/** Of texts that are kept: those of records, and of events. */
const TEXTS_BYTES_MAX = 256 * 1024;

export class Host implements Watched {
  readonly name: string;
  readonly owner: Owner;
  readonly power: ProcessPower;
  readonly recovered: Recovered;
  readonly journal: Journal;
  readonly engine: WatchedEngine;
  readonly waiters = new Waiters();
  readonly pool: ProofPool;
  readonly effects: Effects;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly seat: Seat | null;
  readonly border: Border;
  /** Why it stops by itself. */
  failure: Error | null = null;
  isOusted = false;
  readonly snapshots: Snapshots;
  readonly #world: World;
  /** Through which it reads and writes. */
  readonly #disk: Disk;
  readonly #lock: Lock | null = null;
  /** The file that says so. */
  readonly #lockFile: string = '';
  /** The highest moment the engine has seen on the clock, since nothing was on its way and the clock behind that. */
  #seen: number;
  #isStopping = false;
  readonly #sealer = new Sealer(SERVER.pair);

  /** Reads the books and opens them. Throws what a start throws, PowerCut where the power goes meanwhile. */
  constructor(world: World, { settings, clock, seat, cutAt, cutInFrame, how }: StartOptions, name: string) {
    const { loop, disk, dice, oracle } = world;
    this.#world = world;
    this.settings = settings;
    this.clock = clock;
    this.seat = seat;
    this.owner = seat?.owner ?? { name, isGone: false };
    this.name = name;
    this.power = new ProcessPower(seat ?? disk, this.owner, cutAt, how);
    this.power.mkdir(DIRECTORY);
    this.#disk = this.power;
    if (seat !== null) {
      seat.onPowerGone = () => this.power.goes();
      this.#lock = acquireLock(this.power, DIRECTORY, { pid: seat.pid });
      this.#lockFile = `${DIRECTORY}/${disk.namesIn(DIRECTORY).findLast((each) => /^lock-\d+$/.test(each))}`;
      seat.onLocked();
      this.#disk = whileHeld(this.power, this.#lock);
    }
    const hashSeed = dice.below(2 ** 32);
    // What is decided and told is the same however little is kept of what was found.
    const cacheShare = hashSeed % 2 === 0 ? 1 : TINY_CACHES;
    this.recovered = readBooks(this.#disk, hashSeed, { ...world.sizes, cacheShare });
    for (const note of this.recovered.notes) world.tell(`${name}: ${note}`);
    this.state.compileSchema = compileUserSchema;
    const { end } = this.recovered;
    this.border = new Border(
      { ...{ loop, owner: this.owner }, engine: () => this.engine, tell: (line) => world.tell(line) },
      oracle,
    );
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
    const submit = this.pool.submit.bind(this.pool);
    this.pool.submit = (job) => submit(job.text === undefined ? job : this.border.watchToken(job));
    this.engine = new WatchedEngine(
      {
        state: this.state,
        journal: this.journal,
        pool: this.pool,
        clock: () => {
          const now = clock.now();
          // What was only said binds nobody, once nothing is on its way.
          this.#seen = Math.max(now < this.#seen && oracle.isQuiet ? oracle.moment : this.#seen, now);
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
        recordsBytesMax: Number.POSITIVE_INFINITY,
        v8Share: () => 0,
        v8BytesMax: 1,
        bothBytesMax: Number.POSITIVE_INFINITY,
        sinceSnapshot: this.recovered.entries % settings.snapshotEvery,
        snapshot: () => this.#takeSnapshot(),
        signIntent: (luid, value, moment) => signedIntent(SERVER.pair, luid, value, moment),
        tell: (text) => this.#world.tell(text),
        publish: (entries, seq) => {
          this.border.guard(() => this.border.watch.published(entries, seq));
          this.waiters.publish(entries, seq);
          this.effects.publish(entries, seq);
        },
        defect: (error) => this.#world.loop.fail(error),
        fatal: (error) => this.#fatal(error),
      },
      this.border,
      dice,
    );
    this.effects = this.#openEffects();
    this.snapshots = new Snapshots({
      ...{ disk: this.#disk, directory: DIRECTORY, state: this.state, journal: this.journal },
      ...{ loaded: this.recovered.snapshot, refused: this.recovered.refused },
      ...{ sign: signHash, verify: verifyHash, pieceBytes: SNAPSHOT_PIECE_BYTES },
      rest: () => new Promise((resolve) => loop.after(dice.roll(), resolve, this.owner)),
      request: () => this.engine.requestSnapshot(),
      beginSegment: (done) => this.engine.beginSegment(done),
      tell: (text) => world.tell(text),
    });
    oracle.starts(this, end);
    this.#tick();
    if (this.#lock !== null) this.#look(this.#lock);
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

  get isCutOff(): boolean {
    return this.engine.isCutOff;
  }

  /** Whether requests may come. */
  get isOpen(): boolean {
    return this.border.handler !== null && !this.#isStopping;
  }

  get isGone(): boolean {
    return this.owner.isGone;
  }

  /** It runs, and nothing has gone wrong with it. */
  get isUp(): boolean {
    return !this.isGone && this.failure === null;
  }

  get inboxMax(): number {
    return this.settings.inboxMax;
  }

  get wall(): number {
    return this.clock.now();
  }

  /** The latest that it has seen on its clock, or in its books. */
  get seen(): number {
    return this.#seen;
  }

  get moment(): number {
    return Math.max(this.#seen, this.clock.now());
  }

  isJournalDurable(): boolean {
    const { disk } = this.#world;
    const last = disk.namesIn(DIRECTORY).findLast((name) => name.startsWith('journal-'));
    return last !== undefined && disk.isDurable(`${DIRECTORY}/${last}`);
  }

  #openEffects(): Effects {
    const { loop, network } = this.#world;
    const { state, engine, owner } = this;
    return new Effects({
      state,
      sealer: this.#sealer,
      timers: settledTimers(
        {
          now: () => loop.now,
          after: (ms, run) => loop.after(ms, run, owner),
          cancel: (timer) => {
            (timer as Timer).isCancelled = true;
          },
        },
        (work) => engine.whenCallable(work),
      ),
      call: (call) => {
        // What becomes of it could not be noted.
        const { border } = this;
        border.guard(() =>
          must(this.failure === null, `${call.method} ${call.url} goes out after the disk has failed`),
        );
        return border.guard(() => network.call(call));
      },
      callsInFlightMax: 8,
      queuedMax: 20,
      bridgeCallsMax: 3,
      bridgeAttemptsMax: this.settings.bridgeAttemptsMax,
      eventBytesMax: TEXTS_BYTES_MAX,
      seq: this.recovered.end.seq,
      defect: (error) => loop.fail(error),
      inform: () => {},
      note: (what, done) => engine.note(what, done),
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
    return this.#world.network.listeners.wasTaken(receiver, seq, index);
  }

  wasGivenUp(receiver: string, seq: number, index: number): void {
    this.#world.network.listeners.wasGivenUp(receiver, seq, index);
  }

  /** Makes the default ledger where there is none, and opens the door. */
  async open(): Promise<void> {
    const { loop } = this.#world;
    if (findLedger(this.state, 'main') < 0) {
      const custom = { moment: new Date(this.moment).toISOString(), status: 'created' };
      const value = { handle: 'main', access: [{ action: 'any', record: 'any' }] };
      this.border.ownWish = { op: 'create', ledger: 0, kind: 'ledger', content: contentOf(value, [SERVER], custom) };
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
    this.border.handler = createApp({
      engine: this.engine,
      state: this.state,
      server: SERVER.pair,
      sealer: this.#sealer,
      texts: new RecordTexts(TEXTS_BYTES_MAX, this.state.cacheShare),
      pool: this.pool,
      waiters: this.waiters,
      walks: new Walks(),
      longAnswers: new LongAnswers(),
      effects: this.effects,
      clock: () => this.clock.now(),
      head: () => this.journal.position,
      validate,
      bodyBytesMax: 1024 * 1024,
      pageLimitMax: 100,
      listMsMax: 1000,
      listProofMsMax: 1000,
      preferWaitSecondsMax: 30,
      defect: (error) => loop.fail(error),
      tokens: createTokenChecker(verify, this.state.cacheShare),
      defaultLedger: findLedger(this.state, 'main'),
      publicUrl: '',
      bodyDepthMax: 64,
      limits,
    });
    loop.after(0, () => this.effects.start(), this.owner);
  }

  /** A request has come in whole; null where nobody listens any more. To be called in an event of this process. */
  receive(ask: Ask, done: (status: number) => void = () => {}): Visit | null {
    return this.#isStopping ? null : this.border.receive(ask, done);
  }

  /** Ends the process as the operator would: what came in is answered, then the files are closed. */
  async stop(): Promise<void> {
    // From here on it is the process that works.
    await new Promise<void>((resolve) => this.#world.loop.after(0, resolve, this.owner));
    this.#isStopping = true;
    this.waiters.end();
    await this.border.drained();
    this.effects.close();
    await this.engine.drained();
    await this.snapshots.scrub!.close();
    await this.journal.close();
    await this.pool.close();
    noteEnd(this.#disk, DIRECTORY, this.journal.position, signHash);
    this.#lock?.release();
    this.power.cut('stop');
  }

  /** Whether another server took the directory, by what lies in it. */
  get hasLostLock(): boolean {
    return this.#lockFile !== '' && !this.#world.disk.exists(this.#lockFile);
  }

  /** Another server has taken the directory: from now on this one is judged as one that does not own it. */
  oust(): void {
    const { oracle } = this.#world;
    this.isOusted = true;
    this.seat!.hasLostLock = true;
    this.border.watch = new Ousted(oracle, this, this.name);
  }

  #openJournal(cutInFrame: number): Journal {
    const { border } = this;
    const { segmentBytesMax, reserveBytes, oldFormat } = this.settings;
    const format = oldFormat === null ? {} : { format: oldFormat };
    const options = { segmentBytesMax, reserveBytes, sign: signHash, ...format };
    const journal = Journal.open(this.#disk, DIRECTORY, this.recovered.end, options);
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
      border.guard(() => border.watch.cleared(entries, moment));
      this.power.cutIn(cutInFrame);
      commit(moment, (error) => {
        if (this.isGone) return;
        if (error === null) border.guard(() => border.watch.synced(this.journal.position));
        done(error);
      });
    };
    return journal;
  }

  async #takeSnapshot(): Promise<void> {
    const taken = await this.snapshots.take();
    if (taken !== null) this.#world.tell(`took ${taken.file}`);
  }

  /** Looks once through what of its books a start alone would read. To be called in an event of this process. */
  async look(): Promise<void> {
    try {
      await this.snapshots.scrub!.round();
    } catch (error) {
      this.engine.fail(error as Error);
    }
  }

  #fatal(error: Error): void {
    if (this.isGone) return;
    const { loop } = this.#world;
    this.failure = error;
    this.effects.close();
    this.#world.tell(`fails: ${error.message}`);
    // A disk that was told to fail is no news, nor is a lock that another has; everything else is.
    if (!this.mayFail(error)) return loop.fail(error);
    loop.after(FATAL_LINGER_MS, () => this.power.cut('kill'), this.owner);
  }

  /** Whether it may end by this. */
  mayFail(error: Error): boolean {
    return error instanceof LockLostError ? this.isOusted : this.#world.isExpected(error);
  }

  /** As in main.ts, also while it stops. */
  #look(lock: Lock): void {
    const look = () => {
      try {
        lock.check();
        this.#look(lock);
      } catch (error) {
        this.engine.fail(error as Error);
      }
    };
    this.#world.loop.after(TICK_MS, look, this.owner);
  }

  #tick(): void {
    this.#world.loop.after(
      TICK_MS,
      () => {
        // Then nobody is hurried to an end any more, as in main.ts: the journal may be closed by now.
        if (this.#isStopping) return;
        this.border.watch.looked();
        this.engine.diskWait.look();
        this.engine.tick();
        this.#tick();
      },
      this.owner,
    );
  }
}
