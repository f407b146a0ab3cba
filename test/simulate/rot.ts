/**
 * What a disk does to files that a running server has written and reads no more, and that the server finds and mends while
 * requests, snapshots and the end of the process come as they do. Where the process ends before that, the operator
 * puts back what was there.
 */
import { finalParts } from '../../src/core/dump.ts';
import { BLOCK_BYTES } from '../../src/storage/disk.ts';
import { rememberedPart } from '../../src/storage/final-parts.ts';
import { segmentSeq } from '../../src/storage/format.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { neededSegments } from '../../src/storage/segments.ts';
import { partName, snapshotSeq } from '../../src/storage/snapshot-format.ts';
import type { FakeDisk } from '../storage/fake-disk.ts';
import { Dice } from '../support/dice.ts';
import { DIRECTORY } from './directory.ts';
import type { Host } from './host.ts';
import type { Loop } from './loop.ts';
import { must } from './must.ts';

interface World {
  readonly loop: Loop;
  readonly disk: FakeDisk;
  /** A segment that is not there any more, as it was. */
  gone(path: string): Buffer;
  /** Whether the disk was told to fail. */
  isFaulty(): boolean;
  tell(line: string): void;
}

/** Nothing takes longer, whatever the disk does. */
const PATIENCE_MS = 300_000;

export class Rot {
  readonly #world: World;
  readonly #dice: Dice;
  /** What puts right files that had changed and went since. */
  readonly #gone: (() => unknown)[] = [];

  constructor(seed: number, world: World) {
    this.#world = world;
    this.#dice = new Dice(~seed);
  }

  /** To be called when the power has gone: it may have brought back what had gone, as that was then. */
  putBack(): void {
    for (const mend of this.#gone.splice(0)) mend();
  }

  /** Changes a file now and then, and has the server look through its own; resolves when that is over, or the process. */
  async suffer(host: Host): Promise<void> {
    const { loop, disk, tell } = this.#world;
    if (this.#dice.chance(0.5)) return;
    if (this.#dice.chance(0.3)) return this.#sufferInJournal(host);
    if (this.#dice.chance(0.3)) return this.#sufferBehind(host);
    const file = this.#pick(host);
    if (file === null) return;
    const path = `${DIRECTORY}/${file}`;
    const whole = disk.bytesOf(path);
    tell(`rot: ${file} ${this.#spoil(path, whole)}`);
    const isOwn = file === host.snapshots.newest;
    const { taken, scrub } = host.snapshots;
    const { changed } = scrub!.stats;
    await this.#look(host);
    if (host.isUp && !this.#world.isFaulty())
      must(scrub!.stats.changed <= changed + 1, 'more than this is said to have changed');
    // Where nothing was written since, the new one has the same name.
    for (let ms = 2; isOwn && host.isUp && host.snapshots.taken === taken && ms < PATIENCE_MS; ms *= 2)
      await Promise.race([loop.sleep(ms), host.power.gone]);
    if (host.isUp && !this.#world.isFaulty()) {
      if (isOwn) must(host.snapshots.taken > taken, `${file} has changed, and no new snapshot was taken`);
      else must(disk.exists(path) && disk.bytesOf(path).equals(whole), `${file} has changed, and is not written anew`);
    }
    // An older snapshot may have gone when a newer one came; one that was written over is whole.
    const mayBeGone = isOwn && host.snapshots.taken > taken;
    if (!mayBeGone || disk.exists(path)) disk.put(path, whole);
    else this.#gone.push(() => disk.exists(path) && disk.put(path, whole));
  }

  /** The same to a segment. What is written behind the byte stays, so it alone is put back. */
  async #sufferInJournal(host: Host): Promise<void> {
    const { loop, disk, tell } = this.#world;
    const { end } = host.journal;
    if (end === null) return;
    const seq = () => (host.snapshots.newest === null ? 0 : snapshotSeq(host.snapshots.newest));
    const needed = () => neededSegments(disk, DIRECTORY, { ...JOURNAL_START, seq: seq() });
    const there = needed().filter((segment) => segment.file <= end.file);
    // The first behind the snapshot may be about to come.
    if (there.length === 0) return;
    const { file } = this.#dice.pick(there);
    const path = `${DIRECTORY}/${file}`;
    // The last block is written again with what comes behind it.
    const bytes = file === end.file ? end.byte - (end.byte % BLOCK_BYTES) : disk.bytesOf(path).length;
    if (bytes === 0) return;
    const at = this.#dice.below(bytes);
    tell(`rot: ${file} is flipped at ${at}`);
    const byte = disk.bytesOf(path)[at];
    disk.flip(path, at);
    const { stats } = host.snapshots.scrub!;
    const { changed } = stats;
    await this.#look(host);
    // Where nobody reads it any more it may be gone, and who passes it by before that says nothing.
    const isNeeded = () => host.isUp && disk.exists(path) && needed().some((segment) => segment.file === file);
    if (isNeeded() && !this.#world.isFaulty()) must(stats.changed > changed, `${file} has changed, and nobody says so`);
    for (let ms = 2; isNeeded() && ms < PATIENCE_MS; ms *= 2) await Promise.race([loop.sleep(ms), host.power.gone]);
    must(!isNeeded() || this.#world.isFaulty(), `${file} has changed, and a start would read it still`);
    // What a crash tore may have been written before the byte changed.
    if (disk.exists(path)) {
      if (disk.bytesOf(path)[at] !== byte) disk.flip(path, at);
      return;
    }
    this.#gone.push(() => disk.exists(path) && disk.bytesOf(path)[at] !== byte && disk.flip(path, at));
    this.#world.gone(path)[at]! ^= 1;
  }

  /** The same to what a start would only fall back on: that is told once, and copies are given nothing any more that needs it. */
  async #sufferBehind(host: Host): Promise<void> {
    const { disk, tell } = this.#world;
    const { newest, scrub } = host.snapshots;
    if (newest === null) return;
    const needed = neededSegments(disk, DIRECTORY, { ...JOURNAL_START, seq: snapshotSeq(newest) })[0]?.file ?? '';
    const isSegment = (name: string) => segmentSeq(name) > 0;
    const isSpare = (name: string) => (isSegment(name) ? name < needed : snapshotSeq(name) >= 0 && name < newest);
    const there = disk.readdir(DIRECTORY).filter((name) => isSpare(name) && host.snapshots.offers(name));
    if (there.length === 0) return;
    const file = this.#dice.pick(there);
    const path = `${DIRECTORY}/${file}`;
    const at = this.#dice.below(disk.bytesOf(path).length);
    tell(`rot: ${file}, which no start needs, is flipped at ${at}`);
    const byte = disk.bytesOf(path)[at];
    disk.flip(path, at);
    const { stats } = scrub!;
    const { changed } = stats;
    await this.#look(host);
    // Behind a newer snapshot it may be gone.
    const isJudged = () => host.isUp && disk.exists(path) && !this.#world.isFaulty();
    if (isJudged()) must(stats.changed > changed, `${file} has changed, and nobody says so`);
    if (isJudged()) must(!host.snapshots.offers(file), `${file} has changed, and copies are given it`);
    const told = stats.changed;
    await this.#look(host);
    if (host.isUp && !this.#world.isFaulty()) must(stats.changed === told, `that ${file} has changed is told again`);
    const mend = () => disk.exists(path) && disk.bytesOf(path)[at] !== byte && disk.flip(path, at);
    mend();
    if (disk.exists(path)) return;
    this.#gone.push(mend);
    if (isSegment(file)) this.#world.gone(path)[at]! ^= 1;
  }

  /** The server looks once through its own; resolves when that is over, or the process. */
  async #look(host: Host): Promise<void> {
    const looked = new Promise<void>((resolve) => {
      this.#world.loop.after(0, () => void host.look().then(resolve), host.owner);
    });
    await Promise.race([looked, host.power.gone]);
  }

  /** A part that the server has written or read, or its newest snapshot; null where there is none. */
  #pick({ snapshots: { newest }, state }: Host): string | null {
    const rows = finalParts(state).flatMap((part) => rememberedPart(DIRECTORY, part) ?? []);
    const isPart = rows.length > 0 && this.#dice.chance(0.7);
    return isPart ? this.#dice.pick(rows.map(({ name, hash }) => partName(name, hash!))) : newest;
  }

  #spoil(path: string, whole: Buffer): string {
    const { disk } = this.#world;
    const bytes = Buffer.from(whole);
    const at = this.#dice.below(bytes.length);
    bytes[at]! ^= 1 << this.#dice.below(8);
    const kind = this.#dice.pick(['flipped', 'flipped', 'cut', 'gone']);
    disk.put(path, kind === 'gone' ? null : kind === 'cut' ? bytes.subarray(0, at) : bytes);
    return `is ${kind} at ${at}`;
  }
}
