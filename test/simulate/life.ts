/**
 * One whole life, from one seed: processes that start, serve, fail and die on one disk, one after the other, and what
 * must hold all along. The same seed is the same life to the byte; its digest says so.
 */
import { createHash } from 'node:crypto';
import { audit } from '../../src/cli/audit/audit.ts';
import { findingText } from '../../src/cli/audit/finding.ts';
import type { MemorySizes, State } from '../../src/core/state.ts';
import { segmentSeq } from '../../src/storage/format.ts';
import { DamageError, type EntryFormat, readJournal } from '../../src/storage/journal.ts';
import { journalStart } from '../../src/storage/journal-reader.ts';
import { digestOf, digestsThatDiffer, stateDigests } from '../../src/storage/state-digest.ts';
import { PowerCut } from '../engine/power.ts';
import { viewOf } from '../engine/view.ts';
import { type Call, FakeDisk, type Fault } from '../storage/fake-disk.ts';
import { Dice } from '../support/dice.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';
import { type Ghost, sufferDamage } from './damage.ts';
import { DIRECTORY, Host, readBooks, type Settings, TICK_MS, type World } from './host.ts';
import { Loop } from './loop.ts';
import { must, Violation } from './must.ts';
import { Network } from './network.ts';
import { OLDER_BOOKS } from './older.ts';
import { Oracle } from './oracle.ts';
import { Traffic } from './traffic.ts';
import { type Ask, SERVER } from './wish.ts';

export interface LifeResult {
  seed: number;
  /** Of everything that happened. */
  digest: string;
  /** Milliseconds that passed in the life. */
  virtualMs: number;
  events: number;
  starts: number;
  requests: number;
  frames: number;
  entries: number;
  snapshots: number;
  faults: number;
  damages: number;
  /** How often each answer was given, and each thing happened. */
  tally: Record<string, number>;
}

const NOON = Date.UTC(2030, 0, 2, 12);
/** Share of the lives that begin on books of an older version. */
const OLDER = 0.02;
/** Share of the lives whose first processes are of an old build, which wrote another format. */
const UPGRADED = 0.25;
/** Share of the lives in which what waits for others is woken on the way. */
const WATCHFUL = 0.3;
/** Around the first frame of a new build its power goes so many times at most. */
const UPGRADE_CUTS_MAX = 3;
/** Share of the quiet moments in which all books are walked; they are at each start, and in the end. */
const WHOLE = 0.3;
/** Share of the lives that are audited in the end. */
const AUDITED = 0.5;
const TOLD_MAX = 10_000;
/** Nothing that is on its way takes longer. */
const PATIENCE_MS = 300_000;
/** In one of so many lives clearing takes long. */
const SLOW = 5;

export class Life implements World {
  readonly seed: number;
  readonly loop = new Loop();
  readonly dice: Dice;
  readonly disk: FakeDisk;
  readonly oracle: Oracle;
  readonly network: Network;
  readonly sizes: MemorySizes;
  /** The last things that happened. */
  readonly trace: string[] = [];
  readonly ghosts: Ghost[] = [];
  readonly #digest = createHash('sha256');
  /** What was told and is not in the digest yet. */
  #told = '';
  readonly #traffic: Traffic;
  /** Segments as they were when they went. */
  readonly #archive = new Map<string, Buffer>();
  #wallOffset = NOON;
  #wallStands: number | null = null;
  /** How far the clock was set last. */
  #jumped = 0;
  readonly #traceMax: number;
  #starts = 0;
  #faults = 0;
  #damages = 0;
  #snapshots = 0;
  #host: Host | null = null;
  /** Whether the disk was told to fail. */
  #isFaulty = false;
  /** What an old build writes; null of the one at hand. */
  #oldFormat: EntryFormat | null = null;
  /** How often the power will go yet where a new build writes its first frame behind those of an old one. */
  #upgradeCuts = 0;
  /** Of a life in which clearing takes long; of its own, so that all else happens to it as to any other. */
  readonly #slow: Dice | null;
  /** Somebody says now and then that all other systems are there. */
  readonly #isWatchful: boolean;
  /** How long the device takes, as things stand. */
  #pace: 'quick' | 'usual' | 'slow' = 'usual';

  /** Remembers so many of the last things that happened. */
  constructor(seed: number, traceMax = 0) {
    this.seed = seed;
    this.#traceMax = traceMax;
    this.dice = new Dice(seed);
    // The first numbers of neighbouring seeds are alike.
    for (let n = 0; n < 4; n++) this.dice.roll();
    this.#slow = seed % SLOW === SLOW - 1 ? new Dice(~seed) : null;
    const isOlder = this.dice.chance(OLDER);
    this.#isWatchful = this.dice.chance(WATCHFUL);
    // Books in small pieces soon cross borders: their snapshots have parts in files of their own.
    const [chunkBytes, pageRows, segments] = [
      1 << this.dice.between(13, 16),
      1 << this.dice.between(4, 9),
      1 << this.dice.between(1, 4),
    ];
    this.sizes = isOlder ? {} : { chunkBytes, pageRows, segments };
    const disk = new ArchivingDisk(this.dice.below(2 ** 32), (run, call) => {
      this.loop.after(this.#latency(call), run);
    });
    disk.onGone = (path, bytes) => this.#archiveSegment(path, bytes);
    disk.onLost = (name, bytes) => this.ghosts.push({ name, bytes });
    this.disk = disk;
    this.oracle = new Oracle(this.dice);
    if (isOlder) this.#beginOlder();
    const { loop, dice } = this;
    this.network = new Network({
      ...{ loop, dice, model: this.oracle.model, durable: () => this.oracle.seq },
      send: (ask, done) => this.#send(ask, done),
      tell: (line) => this.tell(line),
    });
    this.#traffic = new Traffic(this.dice, this.oracle.model, () => this.#host?.moment ?? this.wall());
  }

  async run(): Promise<LifeResult> {
    await this.loop.run(() => this.#story());
    this.#digestTold();
    const { frames, seq, visits, tally } = this.oracle;
    const { events, now } = this.loop;
    return {
      seed: this.seed,
      digest: this.#digest.digest('hex').slice(0, 32),
      virtualMs: Math.round(now),
      events,
      starts: this.#starts,
      requests: visits,
      frames,
      entries: seq,
      snapshots: this.#snapshots,
      faults: this.#faults,
      damages: this.#damages,
      tally: Object.fromEntries([...tally].sort()),
    };
  }

  tell(line: string): void {
    const text = `${this.loop.now.toFixed(3)} ${line}`;
    this.#told += `${text}\n`;
    if (this.#told.length > TOLD_MAX) this.#digestTold();
    if (this.#traceMax === 0) return;
    this.trace.push(text);
    if (this.trace.length > this.#traceMax) this.trace.shift();
  }

  #digestTold(): void {
    this.#digest.update(this.#told);
    this.#told = '';
  }

  wall(): number {
    return this.#wallStands ?? Math.floor(this.#wallOffset + this.loop.now);
  }

  /** The life begins on the books of an older version. */
  #beginOlder(): void {
    for (const [name, bytes] of OLDER_BOOKS) this.disk.put(`${DIRECTORY}/${name}`, bytes);
    const { state, end } = readBooks(this.disk, 1, this.sizes);
    this.oracle.inherits(state, end.seq);
    this.tell(`begins on older books of ${end.seq} entries`);
  }

  // ---------------------------------------------------------------- the story

  async #story(): Promise<void> {
    const processes = this.dice.between(1, 5);
    const oldOnes = this.dice.chance(UPGRADED) ? this.dice.between(1, processes) : 0;
    if (oldOnes > 0) this.#upgradeCuts = this.dice.between(0, UPGRADE_CUTS_MAX);
    for (let n = 0; n < processes; n++) {
      this.#oldFormat = n < oldOnes ? this.#formatOf(n) : null;
      const host = await this.#start(true);
      await this.#serve(host);
      const how = await this.#end(host);
      // A process that is only killed leaves on the disk what damage and repair would write down for good.
      if (how !== 'kill' && !this.#isFaulty && this.dice.chance(0.5)) this.#damages += sufferDamage(this) ? 1 : 0;
    }
    this.#oldFormat = null;
    await this.#finale(await this.#start(false));
  }

  /** What the old build of a process writes: in a third of the lives the first format, then the second. */
  #formatOf(process: number): EntryFormat {
    const third = this.seed % 3;
    return third === 2 || (third === 1 && process === 0) ? FIRST_FORMAT : SECOND_FORMAT;
  }

  /** Starts processes until one serves; with faults each may be cut short or fail. */
  async #start(isFaulty: boolean): Promise<Host> {
    for (let attempt = 0; ; attempt++) {
      const name = `process ${++this.#starts}`;
      const mayFail = isFaulty && attempt < 4;
      if (!mayFail || this.dice.chance(0.7)) this.#heal();
      if (mayFail && this.dice.chance(0.25)) for (let n = this.dice.between(1, 2); n > 0; n--) this.#injectFault();
      const host = this.#open(name, mayFail);
      if (host === null) continue;
      this.#host = host;
      const isOpen = await host.open().then(
        () => !host.isGone,
        () => false,
      );
      if (isOpen) {
        if (!this.#isFaulty) this.#checkSegments();
        return host;
      }
      // A failed disk ends the start; until then it lingers.
      if (!host.isGone) await host.power.gone;
      this.#bury(host);
    }
  }

  #open(name: string, mayBeCut: boolean): Host | null {
    const { dice } = this;
    const cutAt = mayBeCut
      ? dice.weigh([
          [Number.POSITIVE_INFINITY, 5],
          [dice.between(1, 60), 1],
          [dice.between(50, 900), 3],
        ])
      : Number.POSITIVE_INFINITY;
    this.#pace = dice.weigh([
      ['quick', 2],
      ['usual', 5],
      ['slow', 2],
    ]);
    const how = dice.chance(0.7) ? 'power' : 'kill';
    const cutInFrame = mayBeCut ? this.#upgradeCut() : Number.POSITIVE_INFINITY;
    const build = this.#oldFormat === null ? 'new build' : `build of format ${this.#oldFormat.version}`;
    this.tell(
      `${name} starts, ${build}, cut at ${cutAt} or ${cutInFrame} in its first frame by ${how}, ${this.#pace} disk`,
    );
    try {
      return new Host(this, { settings: this.#settings(), cutAt, cutInFrame, how }, name);
    } catch (error) {
      this.tell(`${name} does not start: ${(error as Error).message}`);
      if (error instanceof PowerCut) return null;
      if (!this.isExpected(error as Error)) throw error;
      this.disk.kill();
      return null;
    }
  }

  /** Before, in and after the first write of a new build, and the sync behind that. */
  #upgradeCut(): number {
    if (this.#oldFormat !== null || this.#upgradeCuts === 0) return Number.POSITIVE_INFINITY;
    this.#upgradeCuts--;
    return this.dice.between(1, 8);
  }

  #settings(): Settings {
    const { dice } = this;
    return {
      batchEntriesMax: dice.pick([1, 3, 20, 1000]),
      batchBytesMax: dice.pick([2000, 1 << 20]),
      segmentBytesMax: dice.pick([1500, 6000, 40_000]),
      reserveBytes: dice.pick([0, 2000, 10_000]),
      snapshotEvery: dice.weigh([
        [1e9, 2],
        [dice.between(4, 40), 5],
      ]),
      inboxMax: dice.weigh([
        [1000, 8],
        [dice.between(2, 12), 1],
      ]),
      threads: dice.pick([0, 1, 2, 3]),
      pipelineMax: dice.pick([1, 4, 1000, 1000]),
      bridgeAttemptsMax: dice.pick([2, 8, 1000, 1000]),
      inlineRowsMax: dice.pick([0, 3]),
      threadFaults: dice.pick([0, 0, 0.05, 0.3]),
      clearMs: this.#slow?.pick([0.2, 3, 15]) ?? 0,
      dearEvery: this.#slow?.pick([5, 25, Number.POSITIVE_INFINITY]) ?? Number.POSITIVE_INFINITY,
      oldFormat: this.#oldFormat,
    };
  }

  /** Clients come in bursts. */
  async #serve(host: Host): Promise<void> {
    const { dice } = this;
    for (let n = 0; n < 3 && this.#isUp(host); n++) await this.#burst(host, this.#traffic.basics());
    // Most that goes wrong does so around starts and ends; a few processes live long.
    const count = dice.weigh([
      [dice.between(1, 5), 7],
      [dice.between(4, 12), 1],
    ]);
    for (let bursts = count; bursts > 0 && this.#isUp(host); bursts--) {
      await this.#burst(
        host,
        Array.from({ length: dice.between(1, 12) }, () => this.#traffic.next()),
      );
      this.#disturb(host);
      if (dice.chance(0.35)) await this.#quiet(host);
    }
  }

  #isUp(host: Host): boolean {
    return !host.isGone && host.failure === null;
  }

  async #burst(host: Host, asks: ReturnType<Traffic['basics']>): Promise<void> {
    const { dice, loop } = this;
    const spread = dice.pick([0, 0, 1, 10]);
    for (const ask of asks) loop.after(spread * dice.roll(), () => this.#deliver(host, ask), host.owner);
    // Word that everybody is there may come at any moment, also while the disk is busy; in most lives nobody gives it.
    for (let words = this.#isWatchful ? dice.below(6) : 0; words > 0; words--) {
      loop.after(dice.roll() * 20, () => host.wakeAll(), host.owner);
    }
    await this.#pass(
      host,
      dice.weigh([
        [dice.roll() * 2, 6],
        [dice.roll() * 40, 4],
        [dice.between(1_000, 200_000), 1],
      ]),
    );
  }

  /** A request comes to a server, in an event of its process. */
  #deliver(host: Host, ask: Ask, done?: (status: number) => void): void {
    const { dice, loop } = this;
    const visit = host.receive(ask, done);
    if (visit === null) return;
    this.tell(`${visit.number} ${ask.method} ${ask.path} ${ask.flaw ?? ''}`);
    if (dice.chance(0.02)) loop.after(dice.roll() * 3, () => host.abort(visit), loop.world);
  }

  /** What others than clients send goes to whichever server runs. */
  #send(ask: Ask, done: (status: number) => void): void {
    const host = this.#host;
    if (host === null || !host.isOpen || !this.#isUp(host)) return;
    this.loop.after(this.dice.roll() * 3, () => this.#deliver(host, ask, done), host.owner);
  }

  /** Time goes by, or the process ends. */
  async #pass(host: Host, ms: number): Promise<void> {
    this.loop.after(ms * this.dice.roll(), () => this.network.sayAll(), this.loop.world);
    await Promise.race([this.loop.sleep(ms), host.power.gone]);
  }

  /** Clocks do as they like, and so do event loops. */
  #disturb(host: Host): void {
    const { dice, loop } = this;
    if (dice.chance(0.15)) {
      // What was set wrong is put right again, and the other way round.
      const ms = dice.chance(0.5) ? -this.#jumped : dice.pick([-3_600_000, -5000, -1, 1, 1000, 600_000, 86_400_000]);
      this.#wallOffset += ms;
      this.#jumped = ms;
      this.tell(`the clock jumps by ${ms}`);
    }
    if (dice.chance(0.2))
      this.network.mood = dice.weigh([
        ['well', 3],
        ['odd', 3],
        ['down', 2],
      ]);
    if (dice.chance(0.04)) loop.after(0, () => host.engine.requestSnapshot(), host.owner);
    if (dice.chance(0.1)) this.#blink();
    if (dice.chance(0.05)) this.#wallStands = this.#wallStands === null ? this.wall() : null;
    if (dice.chance(0.05)) loop.after(0, () => loop.stall(dice.between(10, 2000)), host.owner);
  }

  /** A clock goes wrong for a moment only: shorter than between two looks for what is due. */
  #blink(): void {
    const { dice, loop } = this;
    const ms = dice.pick([-3_600_000, 600_000, 600_000, 86_400_000]);
    this.#wallOffset += ms;
    this.tell(`the clock is off by ${ms} for a moment`);
    loop.after(dice.roll() * TICK_MS, () => (this.#wallOffset -= ms), loop.world);
  }

  /** Everything is answered, and everything is as it should be. */
  async #quiet(host: Host): Promise<void> {
    const { dice, loop, oracle } = this;
    const end = loop.now + PATIENCE_MS;
    for (let ms = 2; this.#isUp(host) && (host.unanswered.size > 0 || oracle.waiting > 0); ms *= 1.5) {
      must(loop.now < end, `${[...host.unanswered.keys()][0]?.ask.path} is never answered`);
      await this.#pass(host, ms);
    }
    if (!this.#isUp(host)) return;
    let moment = 0;
    const tick = () => {
      host.engine.tick();
      // A clock that was wrong just before may be right again: what the server did not see, it need not know.
      moment = host.seen;
    };
    loop.after(0, tick, host.owner);
    await this.#pass(host, 0);
    await Promise.race([host.engine.drained(), host.power.gone]);
    if (!this.#isUp(host)) return;
    oracle.checkExpired(moment);
    // Each batch was compared where it changed something; now and then it is everything.
    if (dice.chance(WHOLE)) oracle.checkBooks();
    if (!this.#isFaulty && this.dice.chance(0.15)) this.#checkReplay(stateDigests(host.state));
  }

  /** The books as they lie on the disk are those of the live state. */
  #checkReplay(digests: ReadonlyMap<string, Buffer>): State {
    const replayed = readBooks(this.disk, this.dice.below(2 ** 32), this.sizes).state;
    const differences = digestsThatDiffer(digests, stateDigests(replayed));
    must(differences.length === 0, `what is read from the disk differs in ${differences.join(', ')}`);
    return replayed;
  }

  /** Whatever went with a crash, the journal has no gap: who audits the books reads it from its first segment on. */
  #checkSegments(): void {
    const { disk } = this;
    const { position } = readJournal(disk, DIRECTORY, journalStart(disk, DIRECTORY), {
      verifyFrame: () => null,
      onEntry: () => {},
    });
    must(position.seq >= this.oracle.seq, `the journal ends at entry ${position.seq}, before ${this.oracle.seq}`);
  }

  /** The end of a process, and how it came. */
  async #end(host: Host): Promise<'power' | 'kill' | 'stop'> {
    const { dice } = this;
    if (this.#isUp(host) && dice.chance(0.5)) await this.#quiet(host);
    if (this.#isUp(host) && dice.chance(0.25)) {
      this.tell('stops');
      await this.#stop(host);
    }
    if (!host.isGone) host.power.cut(dice.chance(0.6) ? 'power' : 'kill');
    this.tell(`ended by ${host.power.how}`);
    this.#bury(host);
    return host.power.how;
  }

  /** As the operator would have it: what came in is answered, then the files are closed. */
  async #stop(host: Host): Promise<void> {
    try {
      await Promise.race([host.stop(), host.power.gone]);
    } catch (error) {
      if (!this.isExpected(error as Error)) throw error;
      this.tell(`does not stop well: ${(error as Error).message}`);
    }
  }

  /** Whether this error is one that the disk was told to make. */
  isExpected(error: Error): boolean {
    if (!this.#isFaulty || error instanceof Violation) return false;
    const { code } = error as { code?: string };
    // A start that could not read its snapshots tells why; a disk that takes nothing more gives no code.
    const isTold = (each: string) => error instanceof DamageError && error.message.includes(each);
    return FAULT_CODES.some((each) => code === each || isTold(each)) || error.message.endsWith('takes no more bytes');
  }

  #bury(host: Host): void {
    this.#snapshots += host.snapshots;
    this.#host = null;
  }

  /** At the end nothing goes wrong any more, and everything is looked at. */
  async #finale(host: Host): Promise<void> {
    this.#pace = 'quick';
    this.#wallStands = null;
    await this.#settle(host);
    await this.#burst(
      host,
      Array.from({ length: 6 }, () => this.#traffic.next()),
    );
    await this.#quiet(host);
    this.oracle.checkBooks();
    const digests = stateDigests(host.state);
    const replayed = this.#checkReplay(digests);
    const [views, shouldBe] = [viewOf(replayed), viewOf(host.state)];
    const wrong = views.findIndex((line, n) => line !== shouldBe[n]);
    must(wrong < 0 && views.length === shouldBe.length, `read again: ${views[wrong]}; live: ${shouldBe[wrong]}`);
    await host.stop();
    // Whoever audits the books reads the whole journal too.
    if (this.dice.chance(AUDITED)) await this.#audit();
    else this.#checkWholeJournal(digests);
    this.tell(`ends well: ${Buffer.from(digestOf(digests)).toString('hex')}`);
    this.#bury(host);
  }

  /** Once everybody is well, everything that was begun with others comes to its end, the same on both sides. */
  async #settle(host: Host): Promise<void> {
    const { loop, network } = this;
    network.becomeWell();
    // A start alone takes up all that is due; whoever says that the others are there again changes nothing.
    if (this.dice.chance(0.5)) loop.after(0, () => host.wakeAll(), host.owner);
    const end = loop.now + PATIENCE_MS;
    for (let ms = 20; network.owed() !== ''; ms *= 1.5) {
      must(loop.now < end, `in the end ${network.owed()}`);
      await this.#pass(host, Math.min(ms, 4000));
    }
    await this.#quiet(host);
    network.checkAgreement();
  }

  /** Without any snapshot, from the first entry on, the journal leads to the same state. */
  #checkWholeJournal(digests: ReadonlyMap<string, Buffer>): void {
    const replayed = readBooks(this.#wholeJournal(), 5, this.sizes).state;
    const differences = digestsThatDiffer(digests, stateDigests(replayed));
    must(differences.length === 0, `the whole journal leads to other ${differences.join(', ')}`);
  }

  /** All segments there ever were. */
  #wholeJournal(): FakeDisk {
    const disk = new FakeDisk();
    disk.mkdir(DIRECTORY);
    for (const [path, bytes] of this.#archive) disk.put(path, bytes);
    for (const name of this.disk.namesIn(DIRECTORY)) {
      if (segmentSeq(name) > 0) disk.put(`${DIRECTORY}/${name}`, this.disk.bytesOf(`${DIRECTORY}/${name}`));
    }
    return disk;
  }

  /** Whoever verifies every signature and decides everything again finds nothing wrong. */
  async #audit(): Promise<void> {
    // From here on it is nobody's process that works.
    await this.loop.sleep(0);
    const disk = this.#wholeJournal();
    const { finding } = await audit({
      disk,
      directory: DIRECTORY,
      key: SERVER.pair.public,
      workers: 0,
      otherRules: false,
    });
    must(finding === null, `an audit finds: ${finding === null ? '' : findingText(finding)}`);
  }

  #archiveSegment(path: string, bytes: Buffer): void {
    const first = segmentSeq(path.slice(DIRECTORY.length + 1));
    if (first > 0 && first <= this.oracle.seq) this.#archive.set(path, bytes);
  }

  // ---------------------------------------------------------------- the disk

  #latency(call: Call): number {
    const { dice } = this;
    const waits = call === 'sync' || call === 'syncDirectory';
    if (this.#pace === 'quick') return waits ? dice.roll() * 0.3 : 0;
    if (this.#pace === 'usual') return dice.roll() * (waits ? 3 : 0.1);
    return waits ? (dice.chance(0.03) ? dice.between(100, 30_000) : dice.roll() * 30) : dice.roll();
  }

  #heal(): void {
    this.disk.heal();
    this.#isFaulty = false;
  }

  #injectFault(): void {
    const { dice } = this;
    this.#isFaulty = true;
    this.#faults++;
    const skip = dice.below(dice.pick([3, 30]));
    const [call, path] = dice.pick<[Call, string]>([
      ['sync', 'journal'],
      ['sync', 'journal'],
      ['sync', 'snapshot'],
      ['write', 'journal'],
      ['write', 'snapshot'],
      ['open', 'journal'],
      ['open', 'snapshot'],
      ['rename', ''],
      ['syncDirectory', ''],
      ['truncate', ''],
      ['read', ''],
      ['unlink', ''],
      ['close', ''],
    ]);
    const code = dice.pick(FAULT_CODES);
    const fault: Fault = { call, path, skip, code, times: dice.pick([1, 1, 1, 3]) };
    if (call === 'write' && dice.chance(0.5)) this.disk.inject({ call, path, skip, short: dice.below(300) });
    this.tell(`faults to come: ${JSON.stringify(fault)}`);
    this.disk.inject(fault);
  }
}

const FAULT_CODES = ['EIO', 'ENOSPC', 'EROFS'];

/** Tells of files that go for good, and of what a power cut takes from the end of the journal. */
class ArchivingDisk extends FakeDisk {
  onGone: (path: string, bytes: Buffer) => void = () => {};
  onLost: (name: string, bytes: Buffer) => void = () => {};

  override crash(): void {
    const last = this.namesIn(DIRECTORY).findLast((name) => segmentSeq(name) > 0);
    const before = last === undefined ? null : this.bytesOf(`${DIRECTORY}/${last}`);
    super.crash();
    if (before === null) return;
    const isThere = this.namesIn(DIRECTORY).includes(last!);
    if (!isThere || !this.bytesOf(`${DIRECTORY}/${last}`).equals(before)) this.onLost(last!, before);
  }

  override unlink(path: string): void {
    const bytes = this.bytesOf(path);
    super.unlink(path);
    this.onGone(path, bytes);
  }
}
