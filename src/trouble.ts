/**
 * One place for trouble: what an operator reads when the server does not start or cannot go on. Each text says what
 * happened, what is safe, and what to do next.
 *
 * A stack is shown for our own mistakes only; nobody else can do anything with one.
 */

import { END_FILE } from './storage/known-end.ts';
import { MemoryChangedError } from './storage/scrub.ts';
import { DamageError, type DamageKind } from './storage/segments.ts';
import { errorCode, errorText } from './storage/system-error.ts';

/** The clock may be behind the last entry by so much before it is worth a word. */
const CLOCK_BEHIND_MS_MAX = 60_000;
/** And leap so far forward, from one look to the next. */
const CLOCK_LEAP_MS_MAX = 60_000;
/** Looks that are due each second may lie so far apart before it is worth a word. */
const STILL_MS_MAX = 10_000;
/**
 * If the process computed for so long, or half of the time, while it stood still, that was its own work. Otherwise it
 * computes for a second between two looks, as long as no piece of work is longer, however little time a busy machine
 * gives it.
 */
const COMPUTED_MS_MAX = 5000;

/** What stopped the running server. */
export function fatalText(error: Error, directory: string): string {
  const safe = `Everything acknowledged before is safe in ${directory}; nothing was acknowledged after it`;
  if (isOutOfMemory(error)) return `${memoryText(error)} ${safe}. ${MORE_MEMORY}, then start again.`;
  if (isDefect(error)) return `This is a defect of ours. ${safe}. Start again, and send us this: ${error.stack}`;
  // Of another's directory, or one that is gone, nobody can say what is safe in it.
  if (error.name === 'LockLostError') return `${error.message}.`;
  if (error instanceof MemoryChangedError)
    return `${error.message}. What was acknowledged is on the disk, and some of it may have been decided by that memory: start again, and run \`ayni verify\`, which decides all of it once more.`;
  if (TOLD_ERRORS.has(error.name)) return `${error.message}. ${safe}. Start again.`;
  return `The disk failed (${errorText(error)}). ${safe}. ${remedy(error, directory)}, then start again.`;
}

/** What one request has met, or a call outward; all else goes on. */
export function defectText(error: Error): string {
  if (isOutOfMemory(error)) return `One request could not be served: ${memoryText(error)} ${MORE_MEMORY}.`;
  return `A defect of ours, in one request: ${error.stack}`;
}

/** Why there was no start. */
export function startText(error: Error, directory: string): string {
  if (error instanceof DamageError) return damageText(error, directory);
  if (TOLD_ERRORS.has(error.name)) return error.message;
  if (isOutOfMemory(error))
    return `${memoryText(error)} Nothing acknowledged is lost. ${MORE_MEMORY}, then start again.`;
  if (errorCode(error) === '' || isDefect(error)) return error.stack ?? String(error);
  return `Cannot use ${directory} (${errorText(error)}). Nothing acknowledged is lost. ${remedy(error, directory, ' (with --read-only: read)')}, then start again.`;
}

/** Looks, one a second, after which room is told again: each look at V8's heap may find a little more or less of it. */
const LOOKS_WITH_ROOM = 60;
const NEW_BOOKS = 'go on with new books in another directory';
const FULL = {
  records: {
    why: ({ bytesMax }: Taken) =>
      `of the ${(bytesMax / 2 ** 30).toFixed(2)} GiB of memory that records, their indexes and balances may take (--records-bytes-max) hardly any is left`,
    remedy: `Start again with more, where the machine has it, or ${NEW_BOOKS}`,
  },
  entries: {
    why: () => 'they have nearly as many entries as can be numbered, some four thousand million',
    remedy: `No memory helps: ${NEW_BOOKS}`,
  },
  memory: {
    why: ({ bothBytesMax, openIntents }: Taken) =>
      `hardly any is left of the ${(bothBytesMax / 2 ** 30).toFixed(2)} GiB of memory that records and V8's own heap may take together here, where ${openIntents} open intents, ledgers, symbols and the like stand`,
    remedy: `Let open intents come to their end, where they are many, or start again where there is more memory, or ${NEW_BOOKS}`,
  },
  v8: {
    why: ({ openIntents }: Taken) =>
      `7 of 10 parts of what V8 may take are in use, by ${openIntents} open intents, by ledgers, symbols and the like`,
    remedy: `Let open intents come to their end, where they are many (a million takes some 200 MB), or start again with more (node --max-old-space-size), or ${NEW_BOOKS}`,
  },
};

/** What room.ts may find full, which is not imported here: the compiler compares the two in watch.ts. */
type Fullness = keyof typeof FULL;

interface Taken {
  /** That records may take, and records and V8's heap together. */
  bytesMax: number;
  bothBytesMax: number;
  openIntents: number;
}

/** There is no more room for something that is new. */
export function fullText(what: Fullness, taken: Taken): string {
  const { why, remedy } = FULL[what];
  return `The books are full: ${why(taken)}. Nothing new comes in any more; what waits may come to its end, and all is served as before. ${remedy}.`;
}

/**
 * Tells of books that are full, once of each reason, and when there has been room again for a minute: open intents come
 * to their end, and the next that come may be too many again. To be called each second.
 */
export function watchFullness(tell: (text: string) => void): (what: Fullness | null, taken: Taken) => void {
  const told = new Set<Fullness>();
  let looksWithRoom = 0;
  return (what, taken) => {
    looksWithRoom = what === null ? looksWithRoom + 1 : 0;
    if (what !== null) {
      if (!told.has(what)) tell(fullText(what, taken));
      told.add(what);
    } else if (told.size > 0 && looksWithRoom >= LOOKS_WITH_ROOM) {
      tell('There is room in the books again: what is new comes in as before.');
      told.clear();
    }
  };
}

/** Tells of threads that verify and sign and are not there, once of each that is missing. To be called each second. */
export function watchThreads(tell: (text: string) => void): (missing: number) => void {
  let told = 0;
  return (missing) => {
    if (missing > told) tell(missingText(missing));
    told = Math.max(told, missing);
  };
}

function missingText(missing: number): string {
  const of = missing === 1 ? 'A thread' : `${missing} threads`;
  return `${of} fewer than there were to be (--workers) verify and sign: the system had none, or one died and could not be started again. The others do their work, the main thread where none is left: all is served, only slower. See that there is memory, and that the process may have more threads (ulimit -u, pids.max), then start again.`;
}

/**
 * No snapshot could be taken in the place of what the disk has changed. To end for that would leave only what has
 * changed.
 */
export function notReplacedText(error: Error): string {
  return `No snapshot could be taken in the place of what has changed on the disk (${errorText(error)}). The server goes on, for its memory may be all that is whole: do not stop it. Make room, or see to the disk, then have one taken (SIGUSR2); it is tried again with the next look.`;
}

/** The segment in use has changed on the disk, and the next could not be begun. */
export function notLeftText(file: string, error: Error): string {
  return `No segment could be begun behind ${file} (${errorText(error)}), which has changed on the disk and is still written to. The server goes on, for its memory may be all that is whole: do not stop it. Make room, or see to the disk; it is tried again with the next look.`;
}

/** So many entries have come since the last snapshot, which is more than there should be. */
export function overdueText(entries: number, every: number): string {
  const next = every - (entries % every);
  return `A snapshot is overdue: the journal has ${entries} entries since the last, and one is due each ${every} (--snapshot-every). One did not come to its end, as where there is no room for it or the server is ended meanwhile, or they were due less often before. The next is taken in ${next} entries: see that there is room for it. To have it now: kill -USR2 ${process.pid}.`;
}

/** Errors whose message was written for the operator. */
const TOLD_ERRORS = new Set([
  'ConfigError',
  'LockedError',
  'LockError',
  'LockLostError',
  'JournalChangedError',
  'NotCopiedError',
  'KeyFileError',
  'PeerTlsError',
  'ListenError',
  'HangingError',
]);

/** What the language itself throws; no disk does. */
const OF_LANGUAGE = [TypeError, RangeError, ReferenceError, SyntaxError, URIError];

/** Assertions by their name: the core's are of a class of its own, and those of the other rooms Node's. */
function isDefect(error: Error): boolean {
  return error.name === 'AssertionError' || OF_LANGUAGE.some((kind) => error instanceof kind);
}

/** The system gives no more: V8 says so of shared memory, in which records, indexes and balances lie. */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof RangeError && /allocation failed/i.test(error.message);
}

function memoryText({ message }: Error): string {
  return `This process gets no more memory (${message}).`;
}

const MORE_MEMORY = 'Give it more (ulimit -v, the limit of its container), or the machine';

function damageText({ message, kind }: DamageError, directory: string): string {
  return `${message}. Nothing was changed, and nothing is served from damaged books. Keep ${directory} as it is; \`ayni verify\` says more. ${REMEDIES[kind]}.`;
}

const FROM_A_COPY =
  'the file back from a copy, or start on your last backup; intents acknowledged after it must then be sent again, which is safe';

const REMEDIES: Readonly<Record<DamageKind, string>> = {
  unsigned:
    'Either the key that this start took (server.key, or the file that --server-key names) is not the one these books were made with, then start with that one; or somebody else wrote this, then start on a copy from before',
  // Whoever goes back to a backup here loses what was acknowledged, and nothing has to be lost.
  'one-byte':
    'A start without --read-only loses nothing by it, but makes the calls to banks and webhooks that are due; otherwise put the file back from a copy',
  // Whoever goes back to a backup here loses what the newer server acknowledged.
  newer:
    'If a newer server wrote here, start that one again: it loses nothing. Otherwise put the file back from a copy',
  'no-end': `Put the newest files of the journal back as they were then, or go on with a copy that has that entry. If you mean to go on with older books than these were, take ${END_FILE} away: what was acknowledged after them is lost then`,
  'no-note': `Put it back from a copy; or take it away, where \`ayni verify\` then finds nothing wrong and ends at the entry that you know to be the last: without it nobody is told of an end that is gone`,
  'no-beginning': `If this is a copy that \`ayni follow\` did not bring to its end, run that again, or start on another. Otherwise put ${FROM_A_COPY}`,
  other: `Put ${FROM_A_COPY}`,
};

/** What to do about an error of the system, met in the directory. */
export function remedy(error: Error, directory: string, exception = ''): string {
  switch (errorCode(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
    case 'EFBIG':
      return 'Make room on the disk, for files too (df -i), or raise the limit of this user';
    case 'EACCES':
    case 'EPERM':
      return `See that this user may read and write ${directory} and every file in it${exception}`;
    case 'EROFS':
      return `The disk of ${directory} is mounted read-only: mount it writable; under systemd name it by ReadWritePaths=; where nobody has made it so, the system has: look at the log of the system, as for a device that fails`;
    case 'EMFILE':
    case 'ENFILE':
      return 'Raise the limit of open files (ulimit -n)';
    case 'ENOMEM':
      return MORE_MEMORY;
    case 'EINVAL':
    case 'ENOSYS':
    case 'ENOTSUP':
    case 'EOPNOTSUPP':
      return `The file system of ${directory} does not do this, as network shares and others that are no disk may not: name a directory on another`;
    case 'ENOENT':
    case 'ELOOP':
      if ((error as NodeJS.ErrnoException).syscall === 'uv_cwd')
        return `The directory that this was started in is gone: start in another, or name ${directory} from the root on`;
      if (isWithin(error, directory)) return 'Put that file back, or what the link in its place leads to';
      return `See that ${directory} is a directory, or name another`;
    case 'EEXIST':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
      return `See that ${directory} is a directory, or name another`;
    case 'EILSEQ':
      return 'Node knows no other names: give that directory, and all above it, one in UTF-8, or name it by a link that has one';
    case 'EISDIR':
    case 'EFTYPE':
      return 'Put the file back, or take away what lies in its place';
    case 'EUCLEAN':
    case 'EBADMSG':
      return 'The file system is damaged: look at the log of the system, and have it checked (fsck)';
    case 'EIO':
      return 'The device itself fails: look at the log of the system, and move the directory to another disk';
    default:
      return 'Mend the disk, or make room on it';
  }
}

/** Whether it was met at a file in the directory, not at that itself. */
function isWithin({ path }: Error & { path?: string }, directory: string): boolean {
  return path?.startsWith(`${directory}/`) === true;
}

/** Looks at the last moment of the books, at the machine's clock, and at one that nobody sets, all in milliseconds. */
export type LookAtClock = (lastMoment: number, now: number, steady: number) => void;

/**
 * Tells of a clock that is behind the books, once, and again where it had caught up, or leapt and is behind them still;
 * and of each time that it leaps forward past them.
 */
export function watchClock(tell: (text: string) => void): LookAtClock {
  let isTold = false;
  /** What the clock is beside the steady one. */
  let lead = Number.POSITIVE_INFINITY;
  return (lastMoment, now, steady) => {
    const text = clockText(lastMoment, now);
    const leapt = now - steady - lead;
    const hasLeapt = leapt > CLOCK_LEAP_MS_MAX;
    lead = now - steady;
    if (text === null) {
      if (hasLeapt) tell(leapText(leapt, now));
    } else if (!isTold || hasLeapt) tell(text);
    isTold = text !== null;
  };
}

/** A clock that nobody sets, and the processor time that the process has taken, both in milliseconds. */
type LookAtTime = (steady: number, computed: number) => void;

/**
 * Tells where it was not called for long, from when it was made on, and who had the time; it is to be called each
 * second.
 */
export function watchStillness(tell: (text: string) => void, ...begun: Parameters<LookAtTime>): LookAtTime {
  let last = begun;
  return (...now) => {
    const [ms, computedMs] = [now[0] - last[0], now[1] - last[1]];
    last = now;
    if (ms > STILL_MS_MAX) tell(stillText(ms, computedMs));
  };
}

function stillText(ms: number, computedMs: number): string {
  const why =
    computedMs < Math.min(COMPUTED_MS_MAX, ms / 2)
      ? 'the process was stopped (SIGSTOP, a debugger), or the machine gave it no time, or no memory but by swapping, or the disk did not answer where nothing else is done meanwhile, as where a file is looked at'
      : `the server itself computed, in one piece${computedMs < ms / 2 ? scarceText(computedMs) : ''}; tell us what it was asked then`;
  return `Stood still for ${Math.round(ms / 1000)} s: ${why}. Nothing is lost by that; who asked meanwhile had to wait.`;
}

function scarceText(computedMs: number): string {
  return `, for ${Math.round(computedMs / 1000)} s, and the machine gave it no more time, or no memory but by swapping`;
}

function leapText(leapt: number, now: number): string {
  return `The machine's clock leapt ${Math.round(leapt / 1000)} s forward, to ${new Date(now).toISOString()}: it was set, or the machine slept. Pending intents whose time is over by it end, and what is written carries its moment, behind which these books never go again. If this clock is wrong now, end the server at once.`;
}

/**
 * A word about a clock that is behind the books, or null. Moments in the books never go back, so they stand still until
 * it has caught up.
 */
export function clockText(lastMoment: number, now: number): string | null {
  const behind = lastMoment - now;
  if (behind <= CLOCK_BEHIND_MS_MAX) return null;
  const last = new Date(lastMoment).toISOString();
  return `The machine's clock is ${Math.round(behind / 1000)} s behind the last entry (${last}). Every new entry will carry that moment until the clock has passed it: nothing is lost, but times and daily limits will be wrong, and fresh tokens may be refused. If this clock is wrong, set it and start again. If it is right, it was ahead then: only a backup from before knows nothing of that.`;
}
