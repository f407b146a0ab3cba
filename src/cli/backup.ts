/**
 * `ayni backup <from> <to>`: a copy of the books that can be started from, taken while the server goes on writing.
 *
 * What always holds: the copy is a state the directory was in after the command began, so it holds every entry that
 * was acknowledged before; nothing of `from` changes, no lock is taken or copied. A file gets its name in `to` when its
 * bytes are on the device, and names come in an order in which only the whole copy can be started from: the newest
 * segment first, the oldest last, then parts, then snapshots, the key at the very end.
 */
import { join, resolve } from 'node:path';
import { hex } from '../core/bytes.ts';
import { isoMoment } from '../core/proofs.ts';
import { type Disk, type DiskFile, readWhole, realDisk, TEMPORARY, writeAll } from '../storage/disk.ts';
import { segmentName, segmentSeq } from '../storage/format.ts';
import { KEY_FILE, KEY_FILE_BYTES_MAX, readKeyFile, writeKeyFile } from '../storage/key-file.ts';
import { END_FILE } from '../storage/known-end.ts';
import { type Pinned, pin } from '../storage/pinned.ts';
import { isPartName, snapshotSeq } from '../storage/snapshot-format.ts';
import { errorCode } from '../storage/system-error.ts';
import { type Checked, checkBooks } from './audit/check-books.ts';
import { findingOf, findingText } from './audit/finding.ts';
import { findKey, givenKey } from './audit/key.ts';
import { countText } from './count.ts';
import { readArgs, readFilled, SWITCH, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni backup <from> <to> [--against <server key>] [--with-key] [--no-check] [--json]

Copies the books in <from> to <to>, a new or empty directory, also while a server writes to them. The copy holds all
that was acknowledged before the command began. It is then read as a start would read it.

  --against    the server's public key, by which the copy is checked; by default that of server.key, or of the books
  --with-key   copy the server's key too: whoever has the copy can then sign as the server
  --no-check   only copy; reading it takes as much memory as a server on these books. Check it elsewhere: ayni verify
  --json       the report as one JSON object

Without --with-key, keep a copy of the key somewhere else: no server starts on the books without it.
`;

/** Runs the command; returns the exit code. */
export function run(args: string[]): number {
  const { values, positionals } = readArgs(args, {
    against: TEXT,
    'with-key': SWITCH,
    'no-check': SWITCH,
    json: SWITCH,
  });
  if (positionals.length !== 2) throw new UsageError('two directories: the books, and where their copy goes');
  const [from, to] = positionals.map((path) => resolve(readFilled('a directory', path))) as [string, string];
  const withKey = values['with-key'] === true;
  const began = performance.now();
  const copied = copyBooks(realDisk, from, to, withKey, givenKey(values.against));
  const seconds = (performance.now() - began) / 1000;
  let checked: Checked | null = null;
  if (values['no-check'] !== true) {
    try {
      checked = checkBooks(realDisk, to, copied.key);
    } catch (error) {
      const finding = findingOf(error);
      if (finding === null) throw error;
      const told = `The copy is as the books are, and those are not sound. ${findingText(finding)}`;
      process.stdout.write(
        values.json === true ? `${JSON.stringify({ from, to, ok: false, finding })}\n` : `${told}\n`,
      );
      return 1;
    }
  }
  const { key: _, ...files } = copied;
  const report = { from, to, ok: true, ...files, seconds, withKey };
  process.stdout.write(values.json === true ? jsonText(report, checked) : reportText(report, checked));
  return 0;
}

interface Copied {
  segments: number;
  snapshots: number;
  parts: number;
  bytes: number;
  /** The server's public key. */
  key: Uint8Array;
}

/** Copies the books; throws where there are none, where `to` is not empty, and what the disk throws. */
export function copyBooks(
  disk: Disk,
  from: string,
  to: string,
  withKey: boolean,
  given: Uint8Array | null = null,
): Copied {
  const pinned = pin(disk, from);
  try {
    const names = pinned.readdir(from);
    const key = findKey({ disk, directory: from, key: given }, pinned).public;
    if (withKey && readKeyFile(disk, from) === null) throw new Error(`${from} holds no ${KEY_FILE} to copy`);
    claim(disk, to);
    const made = [CLAIM];
    const segments = names.filter((name) => segmentSeq(name) > 0).reverse();
    // First, so that a copy that is cut off before it has the end is known to be short of it.
    const ends = names.filter((name) => name === END_FILE);
    const parts = names.filter(isPartName);
    const snapshots = names.filter((name) => snapshotSeq(name) >= 0);
    const bytes = orNothing(disk, from, to, made, () => {
      let sum = 0;
      for (const name of [...ends, ...segments, ...parts, ...snapshots]) {
        made.push(name, name + TEMPORARY);
        sum += copyFile(disk, pinned, from, to, name);
      }
      if (withKey) {
        made.push(KEY_FILE, KEY_FILE + TEMPORARY);
        const bytes = readWhole(disk, join(from, KEY_FILE), KEY_FILE_BYTES_MAX);
        writeKeyFile(disk, to, bytes, 'leave --with-key out, and keep a copy of the key elsewhere');
      }
      disk.unlink(join(to, CLAIM));
      disk.syncDirectory(to);
      return sum;
    });
    return { segments: segments.length, snapshots: snapshots.length, parts: parts.length, bytes, key };
  } finally {
    pinned.release();
  }
}

/**
 * Lies in the directory while it is filled: of two that begin at once, one can make it. Called like half a segment,
 * which no start passes by.
 */
const CLAIM = segmentName(Number.MAX_SAFE_INTEGER) + TEMPORARY;

/** Takes a new or empty directory for this copy alone. */
function claim(disk: Disk, to: string): void {
  const taken = new Error(`${to} is not empty; a copy goes to a new or empty directory`);
  if (disk.exists(to) && disk.readdir(to).length > 0) throw taken;
  disk.mkdir(to);
  const path = join(to, CLAIM);
  let file: DiskFile;
  try {
    file = disk.open(path, 'create');
  } catch (error) {
    throw errorCode(error) === 'EEXIST' ? taken : error;
  }
  try {
    file.close();
    // Another may have ended meanwhile.
    if (disk.readdir(to).length > 1) throw taken;
  } catch (error) {
    disk.unlink(path);
    throw error;
  }
}

/** How much is read and written at once. */
const PIECE_BYTES = 4 * 1024 * 1024;

/** Returns how many bytes the file has. */
function copyFile(disk: Disk, pinned: Pinned, from: string, to: string, name: string): number {
  const temporary = join(to, name + TEMPORARY);
  const source = pinned.open(join(from, name), 'read');
  const target = disk.open(temporary, 'create');
  try {
    copyBytes(source, target);
    target.sync();
  } finally {
    target.close();
  }
  disk.rename(temporary, join(to, name));
  // Each name by itself: of several, a power cut could keep any.
  disk.syncDirectory(to);
  return source.size();
}

function copyBytes(source: DiskFile, target: DiskFile): void {
  const size = source.size();
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, Math.max(size, 1)));
  for (let at = 0; at < size; ) {
    const count = source.read(piece, 0, Math.min(piece.length, size - at), at);
    if (count === 0) throw new Error(`${source.path} has become shorter`);
    writeAll(target, piece, 0, count, at);
    at += count;
  }
}

/** Where the work fails, what it `made` goes: nobody shall take half a copy for one. */
function orNothing<T>(disk: Disk, from: string, to: string, made: string[], work: () => T): T {
  try {
    return work();
  } catch (error) {
    const failure = error as Error;
    const left = clear(disk, to, made)
      ? `nothing of it is left in ${to}`
      : `files of it are still in ${to}, which no server is to be started on`;
    const told = new Error(`the copy failed (${failure.message}); ${left}, and ${from} is as it was`);
    throw Object.assign(told, { code: errorCode(failure) });
  }
}

/**
 * Takes away what was made; false where the disk does not let it. The order of names still keeps a server from starting
 * there.
 */
function clear(disk: Disk, directory: string, made: string[]): boolean {
  try {
    for (const name of disk.readdir(directory)) {
      if (made.includes(name)) disk.unlink(join(directory, name));
    }
    disk.syncDirectory(directory);
    return true;
  } catch {
    return false;
  }
}

interface Report extends Omit<Copied, 'key'> {
  from: string;
  to: string;
  ok: boolean;
  seconds: number;
  withKey: boolean;
}

function jsonText(report: Report, checked: Checked | null): string {
  const end = checked === null ? {} : { ...checked, chain: hex(checked.chain), moment: isoMoment(checked.moment) };
  return `${JSON.stringify({ ...report, ...end })}\n`;
}

function reportText(report: Report, checked: Checked | null): string {
  const { from, to, segments, snapshots, parts, bytes, seconds, withKey } = report;
  const lines = [
    `Copied ${from} to ${to}: ${segments} segments, ${snapshots} snapshots, ${parts} parts; ${countText(bytes)} bytes in ${seconds.toFixed(1)} s.`,
  ];
  if (checked === null) lines.push('Not checked: run ayni verify on it, on a machine with room for these books.');
  else {
    const { seq, moment, chain, torn, checkSeconds } = checked;
    lines.push(
      `It holds entries 1 to ${seq}, the last written ${isoMoment(moment)}, chain ${hex(chain)}.`,
      `Read as a start reads it, in ${checkSeconds.toFixed(1)} s: every frame, its place and its signature, every snapshot, and the state they lead to.`,
    );
    if (torn > 0) lines.push(`${torn} bytes at its end are of a write that was on its way; a start cuts them off.`);
  }
  lines.push(
    withKey
      ? "The server's key is in it: whoever has this copy can sign as the server."
      : "Without the server's key: a server starts on it with it, which you keep elsewhere: beside the copy as server.key, or by --server-key.",
  );
  return `${lines.join('\n')}\n`;
}
