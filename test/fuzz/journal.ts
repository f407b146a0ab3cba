/**
 * The journal reader against files that anything may have happened to: it reads the very entries that were written,
 * or the first so many of them with a torn tail cut, or names the damage. Never another entry, never another error,
 * and neither its memory nor its reading grows beyond what the files are.
 *
 * Some frames are sealed again after they were spoilt, as if we had written them so ourselves: then other entries may
 * come out, but still nothing else goes wrong.
 */
import assert from 'node:assert/strict';
import { type Entry, EntryType } from '../../src/core/entry.ts';
import type { Disk } from '../../src/storage/disk.ts';
import {
  FRAME_FOOT_BYTES,
  FRAME_HEAD_BYTES,
  SIGNATURE_BYTES,
  sealFrame,
  segmentName,
} from '../../src/storage/format.ts';
import { frameHashOf } from '../../src/storage/frame-entries.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { cutTornTail, readJournal } from '../../src/storage/journal-reader.ts';
import { DamageError } from '../../src/storage/segments.ts';
import {
  DIRECTORY,
  diskOf,
  filesOf,
  freshDisk,
  readFrames,
  sameEntries,
  server,
  signerOf,
  writeFrames,
} from '../storage/kit.ts';
import { Dice } from '../support/dice.ts';
import { mutate } from './bytes.ts';
import { measured } from './memory.ts';

interface Sample {
  entries: Entry[];
  files: Map<string, Buffer>;
  frames: { file: string; byte: number; bytes: number }[];
}

const samples: Sample[] = [];
let foreign: Buffer = Buffer.alloc(0);

/** Journals of different shapes, made once: a segment each frame, some segments, one. */
async function prepare(): Promise<void> {
  for (const [counts, segmentBytesMax] of [
    [[1, 2, 1], 1],
    [[3, 1, 4, 1, 5, 9, 2, 6], 4_000],
    [[40, 1, 1, 1], 1 << 20],
  ] as const) {
    const disk = freshDisk();
    const entries = await writeFrames(disk, counts, { segmentBytesMax });
    samples.push({ entries, files: filesOf(disk), frames: readFrames(disk).spans });
  }
  const disk = freshDisk();
  await writeFrames(disk, [2, 2, 2], signerOf('another server'));
  foreign = [...filesOf(disk).values()][0]!;
}

/** One journal, spoilt; returns what became of it. */
export async function fuzzJournal(seed: number): Promise<string[]> {
  if (samples.length === 0) await prepare();
  const dice = new Dice(seed);
  const sample = dice.pick(samples);
  const files = new Map(sample.files);
  const isResealed = dice.chance(0.3);
  if (isResealed) reseal(dice, sample, files);
  else for (let left = 1 + dice.few(4); left > 0; left--) spoil(dice, files);
  const disk = diskOf(files);
  const size = [...files.values()].reduce((sum, bytes) => sum + bytes.length, 0);

  const read: Entry[] = [];
  const { allocated, outcome } = measured(() => readAll(disk, read));
  assert.ok(allocated <= 16 * size + (1 << 16), `${allocated} bytes of memory for ${size} of files`);
  if (outcome instanceof Error) {
    assert.ok(outcome instanceof DamageError, `another error: ${outcome.stack}`);
    assert.match(outcome.message, /\/books.*damaged at byte \d+: ./);
  } else if (outcome !== null) {
    // What a start does next: cut, and read the same again.
    cutTornTail(disk, DIRECTORY, outcome);
    const again: Entry[] = [];
    assert.equal(readAll(disk, again), null, 'torn again after it was cut');
    assert.ok(sameEntries(again, read));
  }
  if (!isResealed) assert.ok(sameEntries(read, sample.entries.slice(0, read.length)), 'other entries');
  const how = isResealed ? 'sealed again, ' : '';
  if (outcome instanceof Error) return [`${how}damage`];
  return [`${how}${outcome === null ? 'whole' : 'torn'}${read.length < sample.entries.length ? ', shorter' : ''}`];
}

/** Reads into `read`; the torn tail, if there is one. */
function readAll(disk: Disk, read: Entry[]) {
  return readJournal(disk, DIRECTORY, JOURNAL_START, {
    verifyFrame: server.verify,
    onEntry(entry, _bytes, _from, _to, seq) {
      assert.equal(seq, read.length + 1, 'out of turn');
      assert.ok(Object.values(EntryType).includes(entry.type));
      read.push(entry);
    },
  }).torn;
}

function spoil(dice: Dice, files: Map<string, Buffer>): void {
  const names = [...files.keys()];
  const name = dice.pick(names);
  const bytes = files.get(name)!;
  const other = dice.chance(0.3) ? foreign : files.get(dice.pick(names))!;
  const what = dice.below(12);
  if (what === 0 && names.length > 1) files.delete(name);
  else if (what === 1) files.set(name, other);
  else if (what === 2) files.set(segmentName(1 + dice.below(40)), bytes);
  else files.set(name, mutate(dice, bytes, other));
}

/** Spoils the content of one frame and makes CRC and signature fit again. */
function reseal(dice: Dice, { frames }: Sample, files: Map<string, Buffer>): void {
  const frame = dice.pick(frames);
  const name = frame.file.slice(DIRECTORY.length + 1);
  const bytes = Buffer.from(files.get(name)!);
  const content = bytes.subarray(frame.byte + FRAME_HEAD_BYTES, frame.byte + frame.bytes - FRAME_FOOT_BYTES);
  const spoilt = mutate(dice, content, content).subarray(0, content.length);
  content.set(spoilt);
  const to = frame.byte + frame.bytes;
  const whole = bytes.subarray(frame.byte, to);
  sealFrame(whole, 0, whole.length, new Uint8Array(SIGNATURE_BYTES));
  // What holds no entries any more cannot be hashed, so it cannot be signed either.
  const hash = frameHashOf(whole);
  if (hash !== null) sealFrame(whole, 0, whole.length, server.sign(hash));
  files.set(name, bytes);
}
