/**
 * The disk of a life as it fares: how long the device takes, which calls will fail, what was on it that is there no more.
 */
import { segmentSeq } from '../../src/storage/format.ts';
import { DamageError } from '../../src/storage/segments.ts';
import { type Call, FakeDisk, type Fault } from '../storage/fake-disk.ts';
import type { Dice } from '../support/dice.ts';
import type { Ghost } from './damage.ts';
import { DIRECTORY } from './directory.ts';
import type { Loop } from './loop.ts';
import { Violation } from './must.ts';

export type Pace = 'quick' | 'usual' | 'slow';

const FAULT_CODES = ['EIO', 'ENOSPC', 'EROFS'];

export class Volume {
  readonly disk: FakeDisk;
  /** Segments as crashes met them, with frames that did not survive. */
  readonly ghosts: Ghost[] = [];
  /** How long the device takes, as things stand. */
  pace: Pace = 'usual';
  /** Faults so far. */
  faults = 0;
  /** Whether the disk was told to fail. */
  isFaulty = false;
  readonly #dice: Dice;
  /** Segments as they were when they went. */
  readonly #archive = new Map<string, Buffer>();

  /** `durable` tells how many entries the disk has. */
  constructor(loop: Loop, dice: Dice, durable: () => number) {
    this.#dice = dice;
    const disk = new ArchivingDisk(dice.below(2 ** 32), (run, call) => {
      loop.after(this.#latency(call), run);
    });
    disk.onGone = (path, bytes) => {
      const first = segmentSeq(path.slice(DIRECTORY.length + 1));
      if (first > 0 && first <= durable()) this.#archive.set(path, bytes);
    };
    disk.onLost = (name, bytes) => this.ghosts.push({ name, bytes });
    this.disk = disk;
  }

  /** A segment as it was when it went. */
  gone(path: string): Buffer {
    return this.#archive.get(path)!;
  }

  /** All segments there ever were. */
  wholeJournal(): FakeDisk {
    const disk = new FakeDisk();
    disk.mkdir(DIRECTORY);
    for (const [path, bytes] of this.#archive) disk.put(path, bytes);
    for (const name of this.disk.namesIn(DIRECTORY)) {
      if (segmentSeq(name) > 0) disk.put(`${DIRECTORY}/${name}`, this.disk.bytesOf(`${DIRECTORY}/${name}`));
    }
    return disk;
  }

  /** Whether this error is one that the disk was told to make. */
  isExpected(error: Error): boolean {
    if (!this.isFaulty || error instanceof Violation) return false;
    const { code } = error as { code?: string };
    // A start that could not read its snapshots tells why; a disk that takes nothing more gives no code.
    const isTold = (each: string) => error instanceof DamageError && error.message.includes(each);
    return FAULT_CODES.some((each) => code === each || isTold(each)) || error.message.endsWith('takes no more bytes');
  }

  /** No call fails any more. Where a server runs that may have met one that did, it may yet end by that. */
  heal(isInUse: boolean): void {
    this.disk.heal();
    this.isFaulty &&= isInUse;
  }

  /** Tells the disk to fail some time; returns how. */
  injectFault(): string {
    const dice = this.#dice;
    this.isFaulty = true;
    this.faults++;
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
    this.disk.inject(fault);
    return JSON.stringify(fault);
  }

  #latency(call: Call): number {
    const dice = this.#dice;
    const waits = call === 'sync' || call === 'syncDirectory';
    if (this.pace === 'quick') return waits ? dice.roll() * 0.3 : 0;
    if (this.pace === 'usual') return dice.roll() * (waits ? 3 : 0.1);
    return waits ? (dice.chance(0.03) ? dice.between(100, 30_000) : dice.roll() * 30) : dice.roll();
  }
}

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
