/**
 * `ayni inspect [dir]`: the recovery plan of a directory (what a start would read), or entries as lines of JSON.
 * Believes what it reads as far as CRC and chain go; `ayni verify` says whether it is true. Prints no secret: the key
 * file is never opened.
 */
import { basename, join } from 'node:path';
import { hex } from '../core/bytes.ts';
import { type Entry, EntryType } from '../core/entry.ts';
import { kindRow } from '../core/kinds.ts';
import { isLuid } from '../core/luid.ts';
import { isoMoment } from '../core/proofs.ts';
import { encodeBase64 } from '../proof/keys.ts';
import { realDisk } from '../storage/disk.ts';
import { type ReadResult, readJournal, stepJournal } from '../storage/journal-reader.ts';
import { END_FILE, endDamage } from '../storage/known-end.ts';
import { type Pinned, pin } from '../storage/pinned.ts';
import { DamageError, journalStart, listSegments } from '../storage/segments.ts';
import { isPartName, partName, SnapshotError, snapshotSeq } from '../storage/snapshot-format.ts';
import { readOutline } from '../storage/snapshot-reader.ts';
import { errorCode } from '../storage/system-error.ts';
import { plain } from '../story/shown.ts';
import { countText } from './count.ts';
import { dataDirectory } from './directory.ts';
import { readArgs, readCount, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni inspect [dir] [--seq <n> | --luid <luid> | --handle <handle> | --from <n> --to <m>]

Without a choice: the files a start would read, their sizes, and the entries in them. With one: those entries of the
journal, each as a line of JSON. Of snapshots only header and end are read, of parts the lengths, and no signature is
checked: ayni verify does both. Ends with 1 where the books are damaged or not whole. Changes nothing. The directory is
AYNI_DATA, else snapshots, where none is given.
`;

/** Runs the command; returns the exit code: 1 where no entry was found, or the books are not whole. */
export function run(args: string[]): number {
  const { values, positionals } = readArgs(args, { seq: TEXT, luid: TEXT, handle: TEXT, from: TEXT, to: TEXT });
  const choice = choiceOf(values);
  const directory = dataDirectory(positionals);
  const pinned = pin(realDisk, directory);
  try {
    return choice === null ? printPlan(pinned, directory) : printEntries(pinned, directory, choice);
  } finally {
    pinned.release();
  }
}

interface Choice {
  /** Null where the choice is by another name. */
  from: number | null;
  to: number;
  holds(entry: Entry): boolean;
}

function choiceOf(values: Record<string, string | undefined>): Choice | null {
  const { seq, luid, handle, from, to } = values;
  const ways = [seq, luid, handle, from ?? to].filter((value) => value !== undefined);
  if (ways.length > 1) throw new UsageError('one of --seq, --luid, --handle, and --from with --to');
  if (ways.length === 0) return null;
  if (luid !== undefined && !isLuid(luid)) throw new UsageError(`--luid: ${luid} is no luid`);
  return {
    from: seqOf('--seq', seq) ?? seqOf('--from', from),
    to: seqOf('--seq', seq) ?? seqOf('--to', to) ?? Number.MAX_SAFE_INTEGER,
    holds: (entry) => (luid === undefined || entry.luid === luid) && (handle === undefined || entry.handle === handle),
  };
}

function seqOf(flag: string, text: string | undefined): number | null {
  return text === undefined ? null : readCount(flag, text, 1);
}

// ---------------------------------------------------------------- entries

function printEntries(pinned: Pinned, directory: string, choice: Choice): number {
  const first = listSegments(pinned, directory)[0];
  if (first === undefined) throw new Error(`${directory} holds no journal`);
  if ((choice.from ?? choice.to) < first.firstSeq) {
    throw new Error(`entries before ${first.firstSeq} are only in snapshots: their segments are gone`);
  }
  const from = choice.from ?? first.firstSeq;
  let found = 0;
  let isPast = false;
  const steps = stepJournal(pinned, directory, journalStart(pinned, directory, from), {
    verifyFrame: () => true,
    onEntry(entry, _bytes, _from, _to, seq) {
      isPast = seq >= choice.to;
      if (seq < from || seq > choice.to || !choice.holds(entry)) return;
      found++;
      process.stdout.write(`${plain(JSON.stringify(shown(entry, seq)))}\n`);
    },
  });
  for (const _ of steps) if (isPast) break;
  if (found === 0) process.stderr.write('ayni: no such entry in the journal\n');
  return found === 0 ? 1 : 0;
}

const TYPE_NAMES = new Map<number, string>(Object.entries(EntryType).map(([name, type]) => [type, name]));

/** An entry as people and machines read it: names for numbers, base64 for keys and signatures, hex for hashes. */
function shown(entry: Entry, seq: number): Record<string, unknown> {
  const { type, kind, ledger, luid, handle, moment, ...rest } = entry;
  const head = { seq, type: TYPE_NAMES.get(type), ledger, kind: kindRow(kind).name, luid, handle };
  return { ...head, moment: momentText(moment), ...(readable(asEvent(rest)) as Record<string, unknown>) };
}

/** Whoever made an entry up may have given it a moment that no calendar has: that is shown as it stands. */
function momentText(moment: number): string | number {
  return Number.isNaN(new Date(moment).getTime()) ? moment : isoMoment(moment);
}

/** A delivery names its event by where that is told of, which is not where the delivery itself stands. */
function asEvent(rest: object): object {
  if (!('seq' in rest)) return rest;
  const { seq, ...others } = rest;
  return { event: seq, ...others };
}

function readable(value: unknown, name = ''): unknown {
  if (value instanceof Uint8Array) return name === 'hash' ? hex(value) : encodeBase64(value);
  if ((name === 'data' || name === 'custom') && typeof value === 'string') return parsed(value);
  if (name === 'moment' && typeof value === 'number') return momentText(value);
  if (Array.isArray(value)) return value.map((element) => readable(element));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([member, each]) => [member, readable(each, member)]));
}

/**
 * What the text is the JSON of. Whoever made an entry up may have given it data that is none: that is shown as it
 * stands.
 */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// ---------------------------------------------------------------- the plan

/** What a segment holds, as far as it is whole. */
interface Held {
  from: number;
  to: number;
  frames: number;
}

function printPlan(pinned: Pinned, directory: string): number {
  const names = pinned.readdir(directory);
  const snapshots = names.filter((name) => snapshotSeq(name) >= 0);
  say(`Books in ${directory}`);
  const broken = new Map(snapshots.map((name) => [name, brokenText(pinned, directory, name)]));
  const sound = snapshots.filter((name) => broken.get(name) === '');
  const line = (name: string, what: string) => say(`${name.padEnd(40)} ${sizeText(pinned.size(name))}  ${what}`);
  for (const name of snapshots) line(name, snapshotText(name, broken.get(name)!, name === sound.at(-1)));
  for (const name of names.filter(isPartName)) line(name, 'part of a snapshot');
  const { held, end } = survey(pinned, directory);
  const segments = listSegments(pinned, directory);
  for (const { file } of segments) line(file, segmentText(file, held.get(file), end));
  if (names.includes(END_FILE)) line(END_FILE, 'where a server stopped properly');
  if (end instanceof DamageError) return fault(`DAMAGE: ${end.message}`);
  const before = (segments[0]?.firstSeq ?? 1) - 1;
  if (before > 0 && !sound.some((name) => snapshotSeq(name) >= before)) {
    return fault(
      `NOT WHOLE: entries 1 to ${before} are missing, so no server starts on this. A copy may not have been fetched to its end: run \`ayni follow\` again, or take another.`,
    );
  }
  if (snapshots.length === 0) say('No snapshot: a start reads the journal from its beginning.');
  // No signature is checked here, nor is that of the note.
  const short = endDamage(pinned, directory, end, () => true);
  if (short !== null) return fault(`DAMAGE: ${short.message}`);
  const { position, torn } = end;
  const newest = snapshots.at(-1);
  // What a snapshot holds was in the journal first: also where it cannot be used, it tells how far that led.
  if (newest !== undefined && position.seq < snapshotSeq(newest)) {
    const ends = segments.length === 0 ? 'there is no journal' : `the journal ends at entry ${position.seq}`;
    return fault(
      `DAMAGE: ${ends}, and ${newest} is of a later one: no server starts on this whose key has signed that.`,
    );
  }
  if (torn?.bytes === 0) say(`${torn.file} has nothing in it.`);
  else if (torn !== null) say(`Torn tail: ${torn.bytes} bytes of ${torn.file} from byte ${torn.byte}.`);
  // Where the header of a segment is all there is, nothing tells when.
  const written = position.moment === 0 ? '' : `, written ${isoMoment(position.moment)}`;
  if (position.seq > 0) say(`Last entry ${position.seq}${written}.`);
  return sound.length < snapshots.length ? 1 : 0;
}

function say(text: string): void {
  process.stdout.write(`${plain(text)}\n`);
}

/** The last that is said of these books; the exit code. */
function fault(text: string): number {
  say(text);
  return 1;
}

function snapshotText(name: string, broken: string, isBegin: boolean): string {
  const begin = isBegin ? ': a start begins here, if it is whole' : '';
  const wrong = broken === '' ? '' : `: NOT WHOLE, a start passes it over: ${broken}`;
  return `the state after entry ${snapshotSeq(name)}${begin}${wrong}`;
}

function segmentText(file: string, has: Held | undefined, end: ReadResult | DamageError): string {
  if (has !== undefined) return `entries ${has.from} to ${has.to} in ${has.frames} frames`;
  return end instanceof DamageError && file > basename(end.file) ? 'not read: behind the damage' : 'no whole frame';
}

/**
 * What is wrong with a snapshot, as far as its foot and what that leads to tell, and the lengths of its parts; '' where
 * nothing.
 */
function brokenText(pinned: Pinned, directory: string, name: string): string {
  try {
    const { parts } = readOutline(pinned.open(join(directory, name), 'read'), () => true).manifest;
    const names = new Set(pinned.readdir(directory));
    for (const { name: part, final, hash, bytes } of parts) {
      const file = final ? partName(part, hash!) : '';
      if (final && (!names.has(file) || pinned.size(file) !== bytes)) return `its part ${file} is missing, or cut`;
    }
    return '';
  } catch (error) {
    if (!(error instanceof SnapshotError) && errorCode(error) === '') throw error;
    return (error as Error).message;
  }
}

/** What the segments hold, and where the journal ends, or is damaged. */
function survey(pinned: Pinned, directory: string): { held: Map<string, Held>; end: ReadResult | DamageError } {
  const held = new Map<string, Held>();
  try {
    const end = readJournal(pinned, directory, journalStart(pinned, directory), {
      verifyFrame: () => true,
      onEntry() {},
      onFrame({ file, seq, count }) {
        const before = held.get(basename(file)) ?? { from: seq - count + 1, to: 0, frames: 0 };
        held.set(basename(file), { ...before, to: seq, frames: before.frames + 1 });
      },
    });
    return { held, end };
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return { held, end: error };
  }
}

function sizeText(bytes: number): string {
  return `${countText(bytes)} B`.padStart(16);
}
