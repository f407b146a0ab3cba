/**
 * Small books, real in all but the disk, and one of their files as it should not be: gone, cut short at each record's
 * border, with zeros to its end, with one byte changed, as it was earlier, or with the bytes of another file, or two
 * swapped, or one more than there were; each with the newest snapshot whole, spoilt, or gone.
 *
 * Whatever it is, a start serves the very books that were there, and goes on behind them; or fewer entries, where only
 * the end of the last segment was lost and nothing else in the directory knows of them; or it says which file is damaged,
 * and has changed nothing. What `ayni backup` finds sound, a start serves to the same entry.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { checkBooks } from '../../src/cli/audit/check-books.ts';
import { findingOf } from '../../src/cli/audit/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { frameBytesAt, SEGMENT_HEADER_BYTES, segmentName, segmentSeq } from '../../src/storage/format.ts';
import { Journal, type JournalEnd } from '../../src/storage/journal.ts';
import { DamageError } from '../../src/storage/segments.ts';
import { FOOT_BYTES, SNAPSHOT_HEADER_BYTES, snapshotName, snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { issue } from '../core/books.ts';
import type { FakeDisk } from '../storage/fake-disk.ts';
import { diskOf } from '../storage/kit.ts';
import { againWith, everyOther } from '../support/long.ts';
import { stateDigest } from '../support/state-digest.ts';
import { DIRECTORY, House, recoverFrom, SERVER, signHash } from './house.ts';

type Files = Map<string, Buffer>;

interface Life {
  files: Files;
  /** What each file was after each step. */
  older: Map<string, Buffer[]>;
  /** The live state after each number of entries. */
  digests: Map<number, string>;
  end: number;
}

interface Shape {
  steps: number;
  /** Before which steps a snapshot is taken; the number of steps stands for the end. */
  snapshotsAt: readonly number[];
  segmentBytesMax: number;
  /** Kindly; else the room behind the last frame stays. */
  stops: boolean;
}

/** So that snapshots have part files. */
const SIZES = { chunkBytes: 2048, pageRows: 16, segments: 2 };

const path = (name: string) => `${DIRECTORY}/${name}`;
const digestOf = (state: House['state']) => Buffer.from(stateDigest(state)).toString('hex');
const isOfBooks = (name: string) => !name.startsWith('lock');

function filesOf(disk: FakeDisk): Files {
  const names = disk.readdir(DIRECTORY).filter(isOfBooks);
  return new Map(names.map((name) => [name, Buffer.from(disk.bytesOf(path(name)))]));
}

const diskWith = (files: Files) => diskOf(files, 1, (run) => setImmediate(run));

async function live({ steps, snapshotsAt, segmentBytesMax, stops }: Shape): Promise<Life> {
  const disk = diskWith(new Map());
  const house = await House.open(disk, { segmentBytesMax, reserveBytes: 300, sizes: SIZES });
  const digests = new Map<number, string>();
  const older = new Map<string, Buffer[]>();
  const settle = async () => {
    await house.quiet();
    digests.set(house.journal.position.seq, digestOf(house.state));
    for (const [name, bytes] of filesOf(disk)) older.set(name, [...(older.get(name) ?? []), bytes]);
  };
  house.create(Kind.symbol, { handle: 'usd', factor: 100 });
  house.create(Kind.wallet, { handle: 'ana' });
  await settle();
  for (let step = 0; step < steps; step++) {
    if (snapshotsAt.includes(step)) await house.takeSnapshot();
    if (step % 3 === 1) house.create(Kind.wallet, { handle: `w${step}`, custom: { step } });
    else house.intent(`i${step}`, issue('ana', 1 + step));
    if (step % 4 === 3) house.create(Kind.wallet, { handle: `v${step}` });
    await settle();
  }
  if (snapshotsAt.includes(steps)) await house.takeSnapshot();
  if (stops) await house.stop();
  else house.power.cut('kill');
  return { files: filesOf(disk), older, digests, end: house.journal.position.seq };
}

// ---------------------------------------------------------------- damage

interface Damage {
  what: string;
  /** The files it touches. */
  names: readonly string[];
  harm: (files: Files) => void;
}

/** Borders of what lies in a file, and places between them. */
function bordersOf(name: string, bytes: Buffer): number[] {
  if (snapshotSeq(name) >= 0) return [0, SNAPSHOT_HEADER_BYTES, bytes.length >> 1, bytes.length - FOOT_BYTES];
  const borders = [0, bytes.length >> 1];
  if (segmentSeq(name) === 0) return borders;
  for (let at = SEGMENT_HEADER_BYTES; ; ) {
    const length = frameBytesAt(bytes, at, bytes.length - at);
    borders.push(at, at + (length >> 1));
    if (length === 0) return borders;
    at += length;
  }
}

function* damages({ files, older, end }: Life): Generator<Damage> {
  yield { what: 'nothing', names: [], harm: () => {} };
  for (const name of [segmentName(5), segmentName(end + 1), snapshotName(1), snapshotName(end + 1)]) {
    for (const [of, bytes] of [['nothing', Buffer.alloc(0)] as const, ...files]) {
      if (files.has(name)) continue;
      yield { what: `${name} too, of ${of}`, names: [name], harm: (into) => void into.set(name, bytes) };
    }
  }
  for (const [name, bytes] of files) {
    const put = (what: string, changed: Buffer): Damage => ({
      what: `${name} ${what}`,
      names: [name],
      harm: (into) => void into.set(name, changed),
    });
    yield { what: `${name} gone`, names: [name], harm: (into) => void into.delete(name) };
    const borders = bordersOf(name, bytes);
    for (const at of borders) {
      const zeros = Buffer.alloc(bytes.length - at);
      yield put(`cut at ${at}`, bytes.subarray(0, at));
      yield put(`zeros from ${at}`, Buffer.concat([bytes.subarray(0, at), zeros]));
    }
    const stride = Math.ceil(bytes.length / 20);
    const sampled = Array.from({ length: 20 }, (_, n) => n * stride);
    for (const at of [...borders, ...sampled]) if (at < bytes.length) yield put(`byte ${at}`, spoilt(bytes, at));
    for (const [n, was] of (older.get(name) ?? []).entries()) if (!was.equals(bytes)) yield put(`as of step ${n}`, was);
    for (const [other, others] of files) {
      if (other === name) continue;
      yield put(`is ${other}`, others);
      if (other < name) continue;
      const swap = (into: Files) => void into.set(name, others).set(other, bytes);
      yield { what: `${name} swapped with ${other}`, names: [name, other], harm: swap };
    }
  }
}

function spoilt(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[at]! ^= 4;
  return changed;
}

const newestOf = (files: Files) => [...files.keys()].findLast((name) => snapshotSeq(name) >= 0)!;

const NEWEST: [string, (files: Files, newest: string) => void][] = [
  ['is as it was', () => {}],
  ['is spoilt', (files, newest) => files.has(newest) && files.set(newest, spoilt(files.get(newest)!, 40))],
  ['is gone', (files, newest) => files.delete(newest)],
];

// ---------------------------------------------------------------- what a start makes of it

/** What is wrong with what a start does on these files, or ''. `names`: of the files that were touched. */
function judge({ files: whole, digests, end: last }: Life, files: Files, names: readonly string[]): string {
  const disk = diskWith(files);
  const sound = soundTo(disk);
  try {
    const { state, end } = recoverFrom(disk, 7, SIZES);
    if (digestOf(state) !== digests.get(end.seq)) return `another state after entry ${end.seq}`;
    if (sound !== null && sound !== end.seq) return `sound up to ${sound}, and served up to ${end.seq}`;
    const lost = lostBy(filesOf(disk), files, end);
    if (lost !== '') return lost;
    Journal.open(disk, DIRECTORY, end, { segmentBytesMax: 1, sign: signHash });
    if (end.seq === last) return '';
    const known = Math.max(...[...files.keys()].map((name) => Math.max(segmentSeq(name) - 1, snapshotSeq(name))));
    if (end.seq < known) return `ends after entry ${end.seq}, and a file is named after ${known}`;
    const lastSegment = [...whole.keys()].findLast((name) => segmentSeq(name) > 0)!;
    return names.includes(lastSegment) ? '' : `ends after entry ${end.seq}`;
  } catch (error) {
    if (!(error instanceof DamageError)) return `another error: ${(error as Error).stack}`;
    if (sound !== null) return `sound up to ${sound}, and refused: ${error.message}`;
    if (names.length === 0) return `refused: ${error.message}`;
    return sameFiles(filesOf(disk), files) ? '' : 'refused, and changed';
  }
}

/** What a start took away that was not behind the last entry it served, or ''. */
function lostBy(now: Files, before: Files, { seq, file, byte }: JournalEnd): string {
  for (const [name, bytes] of before) {
    const left = now.get(name);
    if (left === undefined && segmentSeq(name) <= seq) return `${name} went`;
    if (left === undefined) continue;
    if (left.length < (name === file ? byte : bytes.length)) return `${name} was cut at ${left.length}`;
    if (name !== file && !left.equals(bytes)) return `${name} changed`;
  }
  return '';
}

/** Up to which entry the check of a backup finds these books sound, or null. */
function soundTo(disk: FakeDisk): number | null {
  try {
    return checkBooks(disk, DIRECTORY, SERVER.public).seq;
  } catch (error) {
    if (findingOf(error) === null) throw error;
    return null;
  }
}

function sameFiles(some: Files, others: Files): boolean {
  return some.size === others.size && [...some].every(([name, bytes]) => others.get(name)?.equals(bytes) === true);
}

const SHAPES: [string, Shape][] = [
  ['snapshots, and entries after them', { steps: 10, snapshotsAt: [3, 7], segmentBytesMax: 2200, stops: true }],
  ['a snapshot at the very end', { steps: 10, snapshotsAt: [3, 10], segmentBytesMax: 2200, stops: true }],
  ['the same, killed, a segment for each frame', { steps: 6, snapshotsAt: [2, 6], segmentBytesMax: 1, stops: false }],
  ['one snapshot, killed', { steps: 9, snapshotsAt: [8], segmentBytesMax: 3000, stops: false }],
  ['one segment left, killed', { steps: 10, snapshotsAt: [1, 3, 5, 8], segmentBytesMax: 3000, stops: false }],
];

describe.each(SHAPES)('books with %s', (_name, shape) => {
  let life: Life;
  let all: Damage[];

  beforeAll(async () => {
    life = await live(shape);
    all = [...damages(life)];
    expect(all.length).toBeGreaterThan(200);
  });

  test.each(NEWEST)('where the newest snapshot %s', (_how, vary) => {
    const newest = newestOf(life.files);
    const missed = everyOther(all, 20).flatMap(({ what, names, harm }) => {
      const files = new Map(life.files);
      harm(files);
      vary(files, newest);
      const touched = sameFiles(files, life.files) ? [] : [newest, ...names];
      const wrong = judge(life, files, touched);
      return wrong === '' ? [] : [`${what}: ${wrong}`];
    });
    expect(missed, againWith()).toEqual([]);
  });

  test('any snapshot but the only one may be lost', () => {
    const snapshots = [...life.files.keys()].filter((name) => snapshotSeq(name) >= 0);
    if (snapshots.length < 2) return;
    for (const { what, names, harm } of everyOther(all, 20)) {
      if (names.length !== 1 || !snapshots.includes(names[0]!)) continue;
      const files = new Map(life.files);
      harm(files);
      expect(recoverFrom(diskWith(files), 7, SIZES).end.seq, `${what}, ${againWith()}`).toBe(life.end);
    }
  });
});
