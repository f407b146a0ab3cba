/**
 * What disks do to files that nobody writes any more: bits flip, pages are zeroed, blocks come back old or in the wrong
 * place, files lose their ends or are gone. Whatever was done, a start must either find the very books that were there,
 * or refuse and name the file. Afterwards everything is put back, as an operator would from a copy.
 *
 * Also, frames that a crash took and that were then written anew come back as they were: whole, signed, and of another
 * history. Left out is the end of the last segment: what is lost there cannot be told from a write that never ended.
 */
import type { MemorySizes } from '../../src/core/state.ts';
import { frameBytesAt, SEGMENT_HEADER_BYTES, segmentSeq } from '../../src/storage/format.ts';
import { DamageError } from '../../src/storage/journal.ts';
import { isPartName, snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { stateDigest } from '../../src/storage/state-digest.ts';
import { type FakeDisk, SECTOR_BYTES } from '../storage/fake-disk.ts';
import type { Dice } from '../support/dice.ts';
import { DIRECTORY, readBooks } from './host.ts';
import { must } from './must.ts';

interface World {
  readonly dice: Dice;
  readonly disk: FakeDisk;
  readonly sizes: MemorySizes;
  /** Segments as crashes met them, with frames that did not survive. */
  readonly ghosts: readonly Ghost[];
  tell(line: string): void;
}

export interface Ghost {
  readonly name: string;
  readonly bytes: Buffer;
}

const pathOf = (name: string): string => `${DIRECTORY}/${name}`;

/** Does some damage, sees what a start makes of it, and mends it. False where there is nothing to spoil yet. */
export function sufferDamage(world: World): boolean {
  const { dice, disk } = world;
  const whole = read(world);
  if (whole instanceof Error) throw whole;
  const names = disk.namesIn(DIRECTORY);
  const segments = names.filter((name) => segmentSeq(name) > 0);
  const snapshots = names.filter((name) => snapshotSeq(name) >= 0);
  const parts = names.filter(isPartName);
  const closed = [...segments.slice(0, -1), ...snapshots, ...parts];
  const copies = new Map(names.map((name) => [name, disk.bytesOf(pathOf(name))]));
  const done: string[] = [];
  const haunted = world.ghosts.filter(
    ({ name }) => segments.indexOf(name) >= 0 && segments.indexOf(name) < segments.length - 1,
  );
  if (haunted.length > 0 && dice.chance(0.4)) done.push(...bringBack(disk, dice.pick(haunted), dice.chance(0.3)));
  else if (snapshots.length > 0 && dice.chance(0.15)) done.push(...cutBeforeSnapshot(disk, segments, snapshots));
  else if (snapshots.length > 1 && dice.chance(0.2)) for (const name of snapshots) done.push(spoil(world, name));
  else if (closed.length > 0) done.push(spoil(world, dice.pick(closed)));
  if (done.length === 0) return false;
  world.tell(`damage: ${done.join(', ')}`);
  const found = read(world);
  for (const [name, bytes] of copies) disk.put(pathOf(name), bytes);
  // With two snapshots there is always another way.
  const isSpare = done.length === 1 && snapshots.length > 1 && snapshotSeq(done[0]!.split(' ')[0]!) >= 0;
  if (found instanceof Error && !isSpare) judge(found, done, world);
  else must(found === whole, `other books are read after this damage (${done.join(', ')}): ${found}`);
  return true;
}

/** What a start finds: the end of the journal and the digest of the state, or why it refuses. */
function read({ disk, dice, sizes }: World): string | Error {
  try {
    const { state, end } = readBooks(disk, dice.below(2 ** 32), sizes);
    return [end.seq, end.chain, stateDigest(state)].map((part) => Buffer.from(String(part)).toString('hex')).join(' ');
  } catch (error) {
    return error as Error;
  }
}

/** The error names what was spoilt; or, where a file lost its end or went, the one that should have continued it. */
function judge(error: Error, done: readonly string[], world: World): void {
  must(error instanceof DamageError, `damage (${done.join(', ')}) is met with ${error.stack}`);
  world.tell(`refused: ${error.message}`);
  const isNamed = done.some((what) => error.message.includes(what.split(' ')[0]!));
  const isGone = done.some((what) => /is gone$|its end$|another history/.test(what));
  must(isNamed || isGone, `damage (${done.join(', ')}) is told as ${error.message}`);
}

/** The journal ends before the snapshot that was taken of it. */
function cutBeforeSnapshot(disk: FakeDisk, segments: readonly string[], snapshots: readonly string[]): string[] {
  const seq = snapshotSeq(snapshots.at(-1)!);
  const from = segments.findLastIndex((name) => segmentSeq(name) <= seq);
  const gone = segments.slice(Math.max(from, 0));
  for (const name of gone) disk.put(pathOf(name), null);
  return gone.map((name) => `${name} is gone`);
}

/** A segment as it once was, or only its first frame that was lost, in the place of the one that was written instead. */
function bringBack(disk: FakeDisk, { name, bytes }: Ghost, isWhole: boolean): string[] {
  const path = pathOf(name);
  const now = disk.bytesOf(path);
  const [frames, lost] = [framesOf(now), framesOf(bytes)];
  const at = lost.findIndex(([from, to], n) => {
    const frame = frames[n];
    return frame !== undefined && !bytes.subarray(from, to).equals(now.subarray(...frame));
  });
  if (at < 0) return [];
  const old = bytes.subarray(...lost[at]!);
  const [from, to] = frames[at]!;
  disk.put(path, isWhole ? bytes : Buffer.concat([now.subarray(0, from), old, now.subarray(to)]));
  return [`${name} has a frame of another history at ${from}`];
}

/** Where the frames of a segment lie. */
function framesOf(bytes: Buffer): [number, number][] {
  const frames: [number, number][] = [];
  for (let at = SEGMENT_HEADER_BYTES; at < bytes.length; ) {
    const length = frameBytesAt(bytes, at, bytes.length - at);
    if (length === 0) break;
    frames.push([at, at + length]);
    at += length;
  }
  return frames;
}

/** Spoils one file; says how. */
function spoil({ disk, dice }: World, name: string): string {
  const path = pathOf(name);
  const bytes = disk.bytesOf(path);
  const blocks = Math.max(1, Math.floor(bytes.length / SECTOR_BYTES));
  const at = dice.below(blocks) * SECTOR_BYTES;
  const block = () => bytes.subarray(at, Math.min(at + SECTOR_BYTES, bytes.length));
  switch (dice.below(7)) {
    case 0:
    case 1: {
      const byte = dice.below(bytes.length);
      bytes[byte]! ^= 1 << dice.below(8);
      disk.put(path, bytes);
      return `${name} has a bit flipped in byte ${byte}`;
    }
    case 2:
      block().fill(0);
      disk.put(path, bytes);
      return `${name} has zeros at ${at}`;
    case 3:
      bytes.copy(bytes, at, dice.below(blocks) * SECTOR_BYTES, bytes.length);
      disk.put(path, bytes);
      return `${name} has another block at ${at}`;
    case 4:
      disk.put(path, Buffer.concat([bytes.subarray(0, at), block(), bytes.subarray(at)]));
      return `${name} has a block twice at ${at}`;
    case 5:
      disk.put(path, bytes.subarray(0, dice.below(bytes.length)));
      return `${name} lost its end`;
    default:
      disk.put(path, null);
      return `${name} is gone`;
  }
}
