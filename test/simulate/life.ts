/**
 * One whole life, from one seed: processes that start, serve, fail and die on one disk, one after the other, and what
 * must hold all along. The same seed is the same life to the byte; its digest says so.
 */
import type { MemorySizes } from '../../src/core/state.ts';
import type { EntryFormat } from '../../src/storage/journal.ts';
import { LockedError } from '../../src/storage/lock.ts';
import { stateDigests } from '../../src/storage/state-digest.ts';
import { PowerCut } from '../engine/power.ts';
import { viewOf } from '../engine/view.ts';
import type { FakeDisk } from '../storage/fake-disk.ts';
import { Dice } from '../support/dice.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';
import { digestOf } from '../support/state-digest.ts';
import { Clock } from './clock.ts';
import { type Ghost, sufferDamage } from './damage.ts';
import { DIRECTORY, readBooks } from './directory.ts';
import { Host, type World } from './host.ts';
import { Loop } from './loop.ts';
import { ASKED } from './machine.ts';
import { must } from './must.ts';
import { Network } from './network.ts';
import { OLDER_BOOKS } from './older.ts';
import { Oracle } from './oracle.ts';
import { checkAudit, checkReplay, checkSegments, checkWholeJournal } from './reread.ts';
import { Rivals } from './rivals.ts';
import { Rot } from './rot.ts';
import { Senders } from './senders.ts';
import { throwSettings } from './settings.ts';
import { Trace } from './trace.ts';
import { Traffic } from './traffic.ts';
import { Volume } from './volume.ts';
import type { Ask } from './wish.ts';

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
  /** How often a server took the directory from one that ran. */
  takeovers: number;
  /** How often each answer was given, and each thing happened. */
  tally: Record<string, number>;
}

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
/** Nothing that is on its way takes longer. */
const PATIENCE_MS = 300_000;
/** In one of so many lives clearing takes long. */
const SLOW = 5;
/** In one of so many lives there are two machines that do not see each other. */
const RIVALS = 7;
/** Share of the processes there beside which another starts, and of these which do something more just then. */
const HANDED_OVER = 0.7;
const SNAPPED = 0.5;
const STOPPED = 0.15;
const MET = 0.6;
const MEETING_MS = 300;
const HELD = 0.4;
/** Share of the starts there that another start overtakes. */
const OVERTAKEN = 0.1;
/** A lock that has no place yet has a name of its own each time, also where all else is the same. */
const PLACELESS = /lock\.[0-9a-f]{16}\.tmp/;

/** In one of so many lives on one machine the disk changes what lies on it while the server runs. */
const ROTTEN = 5;

/** How many machines a life has. */
export function machinesIn(seed: number): 1 | 2 {
  return seed % RIVALS === RIVALS - 2 ? 2 : 1;
}

export class Life implements World {
  readonly seed: number;
  readonly loop = new Loop();
  readonly dice: Dice;
  readonly disk: FakeDisk;
  readonly oracle: Oracle;
  readonly network: Network;
  readonly sizes: MemorySizes;
  readonly trace: Trace;
  readonly #traffic: Traffic;
  readonly #senders: Senders;
  readonly #volume: Volume;
  readonly #clock: Clock;
  /** Of a life on two machines. */
  readonly #rivals: Rivals | null;
  /** Of a life on a disk that changes what lies on it. */
  readonly #rot: Rot | null;
  #starts = 0;
  #damages = 0;
  #host: Host | null = null;
  /** All that have read their books. */
  readonly #hosts: Host[] = [];
  /** What an old build writes; null of the one at hand. */
  #oldFormat: EntryFormat | null = null;
  /** How often the power will go yet where a new build writes its first frame behind those of an old one. */
  #upgradeCuts = 0;
  /** Of a life in which clearing takes long; of its own, so that all else happens to it as to any other. */
  readonly #slow: Dice | null;
  /** Somebody says now and then that all other systems are there. */
  readonly #isWatchful: boolean;

  /** Remembers so many of the last things that happened. */
  constructor(seed: number, traceMax = 0) {
    this.seed = seed;
    this.trace = new Trace(traceMax);
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
    this.#volume = new Volume(this.loop, this.dice, () => this.oracle.seq);
    this.disk = this.#volume.disk;
    this.oracle = new Oracle(this.dice);
    if (isOlder) this.#beginOlder();
    const { loop, dice } = this;
    this.#clock = new Clock(loop);
    this.#rivals = machinesIn(seed) === 2 ? new Rivals(loop, dice, this.disk, (line) => this.tell(line)) : null;
    const isRotten = this.#rivals === null && seed % ROTTEN === ROTTEN - 2;
    const volume = this.#volume;
    const rotten = {
      ...{ loop, disk: this.disk, isFaulty: () => volume.isFaulty, gone: (path: string) => volume.gone(path) },
      tell: (line: string) => this.tell(line),
    };
    this.#rot = isRotten ? new Rot(seed, rotten) : null;
    this.#senders = new Senders(loop, dice, this.#rivals, (line) => this.tell(line));
    this.network = new Network({
      ...{ loop, dice, books: this.oracle.books, durable: () => this.oracle.seq },
      send: (ask, done) => this.#senders.send(this.#host, ask, done),
      tell: (line) => this.tell(line),
    });
    this.#traffic = new Traffic(this.dice, this.oracle.books, () => this.#host?.moment ?? this.#clock.now());
  }

  async run(): Promise<LifeResult> {
    await this.loop.run(() => this.#story());
    const { frames, seq, visits, tally } = this.oracle;
    const { events, now } = this.loop;
    return {
      seed: this.seed,
      digest: this.trace.digest(),
      virtualMs: Math.round(now),
      events,
      starts: this.#starts,
      requests: visits,
      frames,
      entries: seq,
      snapshots: this.#hosts.reduce((sum, host) => sum + host.snapshots.taken, 0),
      faults: this.#volume.faults,
      damages: this.#damages,
      takeovers: this.#rivals?.takeovers ?? 0,
      tally: Object.fromEntries([...tally].sort()),
    };
  }

  tell(line: string): void {
    this.trace.add(`${this.loop.now.toFixed(3)} ${line}`);
  }

  get ghosts(): readonly Ghost[] {
    return this.#volume.ghosts;
  }

  isExpected(error: Error): boolean {
    return this.#volume.isExpected(error);
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
      if (await this.#isLeft(host)) continue;
      const how = await this.#end(host);
      // A process that is only killed leaves on the disk what damage and repair would write down for good.
      const isBare = this.#rivals === null ? how !== 'kill' : how === 'power';
      if (isBare && !this.#volume.isFaulty && this.dice.chance(0.5)) this.#damages += sufferDamage(this) ? 1 : 0;
    }
    this.#oldFormat = null;
    this.#rivals?.spare();
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
      if (!mayFail || this.dice.chance(0.7)) this.#volume.heal(this.#rivals?.isAnyUp ?? false);
      if (mayFail && this.dice.chance(0.25)) {
        for (let n = this.dice.between(1, 2); n > 0; n--) this.tell(`faults to come: ${this.#volume.injectFault()}`);
      }
      this.#rot?.putBack();
      const host = this.#open(name, mayFail);
      if (host === null) continue;
      this.#host = host;
      const opened = host.open().then(
        () => !host.isGone,
        () => false,
      );
      if (this.#rivals !== null && this.dice.chance(OVERTAKEN)) {
        await this.loop.sleep(this.dice.roll() * 3);
        continue;
      }
      const isOpen = await opened;
      if (isOpen) {
        if (!this.#volume.isFaulty) checkSegments(this.disk, this.oracle.seq);
        this.#senders.askAgain(host);
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
    this.#volume.pace = dice.weigh([
      ['quick', 2],
      ['usual', 5],
      ['slow', 2],
    ]);
    const how = dice.chance(0.7) ? 'power' : 'kill';
    const cutInFrame = mayBeCut ? this.#upgradeCut() : Number.POSITIVE_INFINITY;
    const build = this.#oldFormat === null ? 'new build' : `build of format ${this.#oldFormat.version}`;
    const seat = this.#rivals?.nextSeat() ?? null;
    const where = seat === null ? '' : ` on machine ${seat.machine.name}`;
    const when = `cut at ${cutAt} or ${cutInFrame} in its first frame by ${how}`;
    this.tell(`${name} starts${where}, ${build}, ${when}, ${this.#volume.pace} disk`);
    const clock = seat?.machine.clock ?? this.#clock;
    const settings = throwSettings(dice, this.#slow, this.#oldFormat);
    const isSeen = seat !== null && this.#rivals!.isSeenFrom(seat);
    try {
      const host = new Host(this, { settings, clock, seat, cutAt, cutInFrame, how }, name);
      // Where a failing disk keeps an end of the lock, two may have one for a while; the earlier then loses it.
      must(!isSeen || this.#volume.isFaulty, `${name} starts beside a server that it sees`);
      this.#hosts.push(host);
      this.#rivals?.add(host);
      return host;
    } catch (error) {
      this.tell(`${name} does not start: ${(error as Error).message.replace(PLACELESS, 'lock.….tmp')}`);
      this.#rivals?.look();
      if (error instanceof PowerCut) return null;
      if (!(error instanceof LockedError && isSeen) && !this.isExpected(error as Error)) throw error;
      (seat ?? this.disk).kill();
      return null;
    }
  }

  /** Before, in and after the first write of a new build, and the sync behind that. */
  #upgradeCut(): number {
    if (this.#oldFormat !== null || this.#upgradeCuts === 0) return Number.POSITIVE_INFINITY;
    this.#upgradeCuts--;
    return this.dice.between(1, 8);
  }

  /** Clients come in bursts. */
  async #serve(host: Host): Promise<void> {
    const { dice } = this;
    for (let n = 0; n < 3 && host.isUp; n++) await this.#burst(host, this.#traffic.basics());
    // Most that goes wrong does so around starts and ends; a few processes live long.
    const count = dice.weigh([
      [dice.between(1, 5), 7],
      [dice.between(4, 12), 1],
    ]);
    for (let bursts = count; bursts > 0 && host.isUp; bursts--) {
      const asks = Array.from({ length: dice.between(1, 12) }, () => this.#traffic.next());
      await Promise.all([this.#burst(host, asks), host.isEarly ? null : this.#rot?.suffer(host)]);
      this.#disturb(host);
      if (dice.chance(0.35)) await this.#quiet(host);
    }
  }

  async #burst(host: Host, asks: readonly Ask[]): Promise<void> {
    const { dice, loop } = this;
    this.#senders.burst(host, asks);
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

  /** Whether a server goes on while another starts that does not see it, whatever it does just then. */
  async #isLeft(host: Host): Promise<boolean> {
    const { dice, loop } = this;
    if (this.#rivals === null || !host.isUp || !dice.chance(HANDED_OVER)) return false;
    if (dice.chance(SNAPPED)) loop.after(0, () => host.engine.requestSnapshot(), host.owner);
    // However that ends, the process ends.
    if (dice.chance(STOPPED)) void this.#stop(host).then(() => host.power.cut('kill'));
    if (dice.chance(MET)) await Promise.race([host.seat!.next(dice.pick(ASKED)), this.#pass(host, MEETING_MS)]);
    if (dice.chance(HELD)) loop.hold(host.owner, dice.pick([20, 1500, 90_000]));
    return host.isUp;
  }

  /** Time goes by, or the process ends. */
  async #pass(host: Host, ms: number): Promise<void> {
    this.loop.after(ms * this.dice.roll(), () => this.network.banks.sayAll(), this.loop.world);
    await Promise.race([this.loop.sleep(ms), host.power.gone]);
  }

  /** Clocks do as they like, and so do event loops. */
  #disturb(host: Host): void {
    const { dice, loop } = this;
    if (dice.chance(0.15)) this.tell(`the clock jumps by ${host.clock.jump(dice)}`);
    if (dice.chance(0.2))
      this.network.temper.mood = dice.weigh([
        ['well', 3],
        ['odd', 3],
        ['down', 2],
      ]);
    if (dice.chance(0.04)) loop.after(0, () => host.engine.requestSnapshot(), host.owner);
    if (dice.chance(0.1)) this.tell(`the clock is off by ${host.clock.blink(dice)} for a moment`);
    if (dice.chance(0.05)) host.clock.stop();
    if (dice.chance(0.05)) loop.after(0, () => loop.stall(dice.between(10, 2000)), host.owner);
  }

  /** Everything is answered, and everything is as it should be. */
  async #quiet(host: Host): Promise<void> {
    const { dice, loop, oracle } = this;
    const end = loop.now + PATIENCE_MS;
    for (let ms = 2; host.isUp && (host.border.unanswered.size > 0 || oracle.waiting > 0); ms *= 1.5) {
      must(loop.now < end, `${[...host.border.unanswered.keys()][0]?.ask.path} is never answered`);
      await this.#pass(host, ms);
    }
    if (!host.isUp) return;
    let moment = 0;
    const { visits } = oracle;
    const tick = () => {
      host.engine.tick();
      // A clock that was wrong just before may be right again: what the server did not see, it need not know.
      moment = host.seen;
    };
    loop.after(0, tick, host.owner);
    await this.#pass(host, 0);
    await Promise.race([host.engine.drained(), host.power.gone]);
    if (!host.isUp) return;
    // It may also have been right again before there was room for a batch. What came meanwhile may be of before, by its clock.
    if (oracle.visits === visits) oracle.checkExpired(Math.min(moment, host.seen));
    // Each batch was compared where it changed something; now and then it is everything.
    if (dice.chance(WHOLE)) oracle.checkBooks();
    if (!this.#volume.isFaulty && this.dice.chance(0.15)) checkReplay(this, stateDigests(host.state));
  }

  /** The end of a process, and how it came. */
  async #end(host: Host): Promise<'power' | 'kill' | 'stop'> {
    const { dice } = this;
    if (host.isUp && dice.chance(0.5)) await this.#quiet(host);
    if (host.isUp && dice.chance(0.25)) {
      this.tell('stops');
      await this.#stop(host);
    }
    if (!host.isGone) host.power.cut(dice.chance(0.6) ? 'power' : 'kill');
    this.#rot?.putBack();
    this.tell(`ended by ${host.power.how}`);
    this.#bury(host);
    return host.power.how;
  }

  /** As the operator would have it: what came in is answered, then the files are closed. */
  async #stop(host: Host): Promise<void> {
    try {
      await Promise.race([host.stop(), host.power.gone]);
    } catch (error) {
      if (!host.mayFail(error as Error)) throw error;
      this.tell(`does not stop well: ${(error as Error).message}`);
    }
  }

  #bury(host: Host): void {
    if (this.#host === host) this.#host = null;
  }

  /** At the end nothing goes wrong any more, and everything is looked at. */
  async #finale(host: Host): Promise<void> {
    this.#volume.pace = 'quick';
    host.clock.goOn();
    await this.#settle(host);
    await this.#burst(
      host,
      Array.from({ length: 6 }, () => this.#traffic.next()),
    );
    await this.#quiet(host);
    this.oracle.checkBooks();
    const replayed = checkReplay(this, stateDigests(host.state));
    const [views, shouldBe] = [viewOf(replayed), viewOf(host.state)];
    const wrong = views.findIndex((line, n) => line !== shouldBe[n]);
    must(wrong < 0 && views.length === shouldBe.length, `read again: ${views[wrong]}; live: ${shouldBe[wrong]}`);
    await host.stop();
    // Calls that were on their way have ended since.
    const digests = stateDigests(host.state);
    await this.#rivals?.alone();
    // Whoever audits the books reads the whole journal too.
    if (this.dice.chance(AUDITED)) {
      // From here on it is nobody's process that works.
      await this.loop.sleep(0);
      await checkAudit(this.#volume.wholeJournal(), this.sizes);
      // What a server really has: the first segments gone, and what stood there in snapshots alone.
      await checkAudit(this.disk, this.sizes);
    } else checkWholeJournal(this.#volume.wholeJournal(), digests, this.sizes);
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
    // What clients still ask again may begin something new.
    let ms = 20;
    do {
      for (; network.owed() !== ''; ms *= 1.5) {
        must(host.isUp, `${host.name} ends, and nothing goes wrong any more`);
        must(loop.now < end, `in the end ${network.owed()}`);
        await this.#pass(host, Math.min(ms, 4000));
      }
      await this.#quiet(host);
    } while (network.owed() !== '');
    network.banks.checkAgreement();
  }
}
