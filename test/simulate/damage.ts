/**
 * What disks do to files that nobody writes any more: bits flip, pages are zeroed, blocks come back old or in the wrong
 * place, files lose their ends or are gone. Whatever was done, a start must either find the very books that were there,
 * or refuse and name the file. Afterwards everything is put back, as an operator would from a copy.
 *
 * Also, frames that a crash took and that were then written anew come back as they were: whole, signed, and of another
 * history; others are written anew by whoever holds the files. Of the last segment only one byte changes, wherever it is: what is lost from its end cannot be told from a
 * write that never ended.
 */
import { hex } from '../../src/core/bytes.ts';
import type { MemorySizes } from '../../src/core/state.ts';
import { sign } from '../../src/proof/verify.ts';
import {
  frameBytesAt,
  frameChain,
  frameSignature,
  HASH_BYTES,
  MOMENT_AT,
  SEGMENT_HEADER_BYTES,
  sealFrame,
  segmentSeq,
} from '../../src/storage/format.ts';
import { isZeros } from '../../src/storage/frame-chain.ts';
import { frameHashOf } from '../../src/storage/frame-entries.ts';
import { Journal } from '../../src/storage/journal.ts';
import { DamageError } from '../../src/storage/segments.ts';
import { isPartName, snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { type FakeDisk, SECTOR_BYTES } from '../storage/fake-disk.ts';
import type { Dice } from '../support/dice.ts';
import { stateDigest } from '../support/state-digest.ts';
import { DIRECTORY, readBooks } from './directory.ts';
import { must } from './must.ts';
import { KEYS, SERVER } from './wish.ts';

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
  else if (segments.length > 0 && dice.chance(0.5))
    done.push(...(dice.chance(0.5) ? changeByte(world, segments.at(-1)!) : rewrite(world, segments)));
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

/** What a start finds: the end of the journal, which it opens, and the digest of the state; or why it refuses. */
function read({ disk, dice, sizes }: World): string | Error {
  try {
    const { state, end } = readBooks(disk, dice.below(2 ** 32), sizes);
    Journal.open(disk, DIRECTORY, end, { segmentBytesMax: 1, sign: (hash) => sign(hash, SERVER.pair) });
    return `${end.seq} ${hex(end.chain)} ${hex(stateDigest(state))}`;
  } catch (error) {
    return error as Error;
  }
}

/** The error names what was spoilt; or, where a file lost its end or went, the one that should have continued it. */
function judge(error: Error, done: readonly string[], world: World): void {
  must(error instanceof DamageError, `damage (${done.join(', ')}) is met with ${error.stack}`);
  world.tell(`refused: ${error.message}`);
  const isNamed = done.some((what) => error.message.includes(what.split(' ')[0]!));
  const isGone = done.some((what) => /is gone$|its end$|of another history/.test(what));
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

/**
 * A frame is written anew, whole: by somebody who holds the files and not the key, or by the server itself in another
 * history, such as a copy of the books that went on by itself.
 */
function rewrite({ dice, disk }: World, segments: readonly string[]): string[] {
  const name = dice.chance(0.5) ? segments.at(-1)! : dice.pick(segments);
  const bytes = disk.bytesOf(pathOf(name));
  const frames = framesOf(bytes);
  if (frames.length === 0) return [];
  const [from, to] = dice.chance(0.5) ? frames.at(-1)! : dice.pick(frames);
  const frame = bytes.subarray(from, to);
  const isStranger = dice.chance(0.5);
  // A little later than it was, or behind another frame.
  if (isStranger) frame[MOMENT_AT + 8]! += 1;
  else frameChain(frame, 0)[dice.below(HASH_BYTES)]! ^= 1;
  sealFrame(frame, 0, frame.length, new Uint8Array(frameSignature(frame, frame.length)));
  sealFrame(frame, 0, frame.length, sign(frameHashOf(frame)!, (isStranger ? KEYS[0]! : SERVER).pair));
  disk.put(pathOf(name), bytes);
  return [`${name} has a frame of another history at ${from}, ${isStranger ? 'signed by a stranger' : 'signed'}`];
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

/** One byte of the last segment becomes another: often in its last frame, or among the zeros behind that. */
function changeByte({ dice, disk }: World, name: string): string[] {
  const bytes = disk.bytesOf(pathOf(name));
  const [from, to] = framesOf(bytes).at(-1) ?? [0, bytes.length];
  const byte = dice.weigh([
    [dice.below(bytes.length), 1],
    [dice.between(from, to - 1), 2],
    [Math.min(to + dice.below(dice.pick([1, 2000])), bytes.length - 1), 3],
  ]);
  bytes[byte]! ^= dice.between(1, 255);
  disk.put(pathOf(name), bytes);
  return [`${name} has another byte ${byte}`];
}

/** Spoils one file; says how. */
function spoil({ disk, dice }: World, name: string): string {
  const path = pathOf(name);
  const bytes = disk.bytesOf(path);
  const blocks = Math.max(1, Math.floor(bytes.length / SECTOR_BYTES));
  const at = dice.below(blocks) * SECTOR_BYTES;
  const block = () => bytes.subarray(at, Math.min(at + SECTOR_BYTES, bytes.length));
  // Zeros up to the end are room for frames: what is missing then shows in the segment behind it.
  const orEnd = (what: string) => (isZeros(bytes, at) ? `${name} has zeros from ${at} to its end` : what);
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
      return orEnd(`${name} has zeros at ${at}`);
    case 3:
      bytes.copy(bytes, at, dice.below(blocks) * SECTOR_BYTES, bytes.length);
      disk.put(path, bytes);
      return orEnd(`${name} has another block at ${at}`);
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
