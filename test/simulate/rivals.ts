/**
 * Lives of two machines on one volume, of which neither sees the processes of the other: a server starts where one runs
 * already, and takes the directory from it. The one that was there goes on for as long as it does not notice, with
 * clients of its own; it may come back later, and take the directory again.
 *
 * Always holds: one server at most has the lock, and the oracle goes with it; whoever has lost it ends by itself, and
 * soon; where a server sees the one that runs, it does not start.
 */
import type { FakeDisk } from '../storage/fake-disk.ts';
import type { Dice } from '../support/dice.ts';
import { Clock, NOON } from './clock.ts';
import { type Host, TICK_MS } from './host.ts';
import type { Loop } from './loop.ts';
import { Machine, type Seat, Seats } from './machine.ts';
import { must } from './must.ts';
import type { Visit } from './visit.ts';

/** So far the clocks of two machines are apart. */
const APART_MS = [-3_600_000, -700, 0, 0, 40, 5000, 3_600_000];
/** Share of the starts beside a server that runs where that is seen. */
const IN_SIGHT = 0.1;
const PAUSE_MS = 100;

export class Rivals {
  /** How often the lock was taken from a server that ran. */
  takeovers = 0;
  readonly #loop: Loop;
  readonly #dice: Dice;
  readonly #machines: readonly Machine[];
  readonly #seats: Seats;
  readonly #tell: (line: string) => void;
  #hosts: Host[] = [];

  constructor(loop: Loop, dice: Dice, disk: FakeDisk, tell: (line: string) => void) {
    this.#loop = loop;
    this.#dice = dice;
    this.#tell = tell;
    const boots = dice.chance(0.5) ? ['boot', 'boot'] : ['boot', 'another'];
    const clocks = [new Clock(loop), new Clock(loop, NOON + dice.pick(APART_MS))];
    this.#machines = clocks.map((clock, n) => new Machine('ab'[n]!, boots[n]!, clock, disk));
    this.#seats = new Seats(loop, disk);
  }

  /** Where the next process begins: beside one that runs mostly where neither sees the other. */
  nextSeat(): Seat {
    const last = this.#running().findLast((host) => !host.isOusted);
    const isInSight = last === undefined || this.#dice.chance(IN_SIGHT);
    const there = last?.seat?.machine ?? this.#dice.pick(this.#machines);
    const seat = this.#seats.take(isInSight ? there : this.#machines.find((machine) => machine !== there)!);
    seat.onLocked = () => this.look();
    return seat;
  }

  /** Whether a server runs on the volume. */
  get isAnyUp(): boolean {
    return this.#running().length > 0;
  }

  /** Whether a server that begins there sees the one that has the lock. */
  isSeenFrom({ machine }: Seat): boolean {
    return this.#running().some((host) => !host.isOusted && host.seat?.machine === machine);
  }

  /** It has taken the lock, and read its books. */
  add(host: Host): void {
    const other = this.#running().find((each) => !each.isOusted);
    must(other === undefined, `${other?.name} and ${host.name} have the lock`);
    this.#hosts.push(host);
  }

  /** Those that run though they have lost the lock. */
  ousted(): Host[] {
    return this.#running().filter((host) => host.isOusted);
  }

  /** What they were asked and have not answered. */
  *left(): Generator<Visit> {
    for (const host of this.ousted()) yield* host.border.unanswered.keys();
  }

  /** Looks who has lost the lock. */
  look(): void {
    for (const host of this.#running()) {
      if (host.isOusted || !host.hasLostLock) continue;
      this.takeovers++;
      this.#tell(`${host.name} has lost the lock`);
      host.oust();
      this.#mustNotice(host);
    }
  }

  /** Whoever has lost the lock sees it when it looks next. */
  #mustNotice(host: Host): void {
    const { now, world } = this.#loop;
    const standsStill = Math.max(0, (host.owner.standsUntil ?? 0) - now);
    const notices = () => {
      if ((host.owner.standsUntil ?? 0) > this.#loop.now) return this.#mustNotice(host);
      must(host.failure !== null || host.isGone, `${host.name} goes on without the lock`);
    };
    this.#loop.after(standsStill + TICK_MS + 1, notices, world);
  }

  /** Those who run end no more but by losing the lock. */
  spare(): void {
    for (const host of this.#running()) host.power.spare();
  }

  /** Resolves when nobody runs any more who has lost the lock. */
  async alone(): Promise<void> {
    while (this.ousted().length > 0) await this.#loop.sleep(PAUSE_MS);
  }

  #running(): readonly Host[] {
    this.#hosts = this.#hosts.filter((host) => !host.isGone);
    return this.#hosts;
  }
}
