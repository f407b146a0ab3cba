/**
 * The wiring: which rooms a running server has, and what each is handed. What has to flow against an arrow between them
 * is a function given here.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { HeldBooks } from './books.ts';
import { booksRoom, type Config } from './config.ts';
import type { State } from './core/state.ts';
import { Effects, isLoopback, Outgoing, realTimers, settledTimers } from './effects/index.ts';
import { Engine } from './engine.ts';
import { exitProcess } from './exit.ts';
import { Followers } from './followers.ts';
import { createApp } from './http/app.ts';
import { LONG_ANSWERS_BYTES_MAX, LongAnswers } from './http/long-answers.ts';
import type { Handler } from './http/request.ts';
import { compileSchemas } from './http/schemas.ts';
import { RecordTexts } from './http/texts.ts';
import { createTokenChecker } from './http/tokens.ts';
import { compileUserSchema, keepSchemas } from './http/user-schemas.ts';
import { Waiters } from './http/waiters.ts';
import { Walks } from './http/walks.ts';
import type { Log } from './log.ts';
import { signedIntent } from './own-records.ts';
import type { KeyPair } from './proof/keys.ts';
import { ProofPool } from './proof/pool.ts';
import { Sealer } from './proof/sealer.ts';
import { verify } from './proof/verify.ts';
import { Snapshots } from './snapshots.ts';
import { Journal, RESERVE_BYTES } from './storage/journal.ts';
import { fatalText } from './trouble.ts';
import { watchV8Heap } from './v8-heap.ts';
import { longLivedBytesMax, youngBytesMax } from './young-generation.ts';

const ROWS_PER_TASK_MAX = 256;
/** A lone client's signature and ours cost less here than the trip to a worker. */
const INLINE_ROWS_MAX = 3;
/** After a failure, how long clients who still wait have to read what they are told. */
const FATAL_LINGER_MS = 200;
const COPIES_LOOK_MS = 1000;
/** A longer one Node takes for none. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** How many looks, one a second, threads have to end: where the whole process stood still none is late. */
const THREADS_END_LOOKS_MAX = 5;

/** All that runs behind the door. */
export interface Rooms {
  state: State;
  server: KeyPair;
  sealer: Sealer;
  journal: Journal;
  pool: ProofPool;
  engine: Engine;
  waiters: Waiters;
  outgoing: Outgoing;
  effects: Effects;
  followers: Followers;
  snapshots: Snapshots;
}

/**
 * Opens the journal for append, where anything may be, and wires all that runs behind the door; nothing is published or
 * called yet.
 */
export function wireRooms(config: Config, books: HeldBooks, log: Log): Rooms {
  const { directory, disk, server, signHash, state, end, entries } = books;
  state.compileSchema = compileUserSchema;
  keepSchemas(state.cacheShare);
  const openJournal = config.readOnly === 'yes' ? Journal.atRest : Journal.open;
  const journal = openJournal(disk, directory, end, {
    segmentBytesMax: config.segmentBytesMax,
    reserveBytes: RESERVE_BYTES,
    durability: config.durability,
    sign: signHash,
  });
  const pool = new ProofPool({
    workers: config.workers,
    server,
    rowsPerTaskMax: ROWS_PER_TASK_MAX,
    inlineRowsMax: INLINE_ROWS_MAX,
    keyTablesMax: config.keyTablesMax,
    looksMax: config.threadSecondsMax,
  });
  const snapshots = new Snapshots({
    ...{ disk, directory, state, journal, loaded: books.snapshot, refused: books.refused },
    ...{ sign: signHash, verify: books.verifyHash, tell: log.tell },
    rest: config.scrubSeconds === 0 || config.readOnly === 'yes' ? null : restFor(1000 * config.scrubSeconds),
    request: () => engine.requestSnapshot(),
    beginSegment: (done) => engine.beginSegment(done),
  });
  const waiters = new Waiters();
  const followers = new Followers({
    disk,
    directory,
    journal,
    key: server.public,
    offers: (name) => snapshots.offers(name),
    tell: log.tell,
  });
  const sealer = new Sealer(server, state.cacheShare);
  const engine = new Engine({
    ...config,
    state,
    journal,
    pool,
    clock: Date.now,
    stopwatch: () => performance.now(),
    v8Share: watchV8Heap(() => state.open.size),
    v8BytesMax: longLivedBytesMax(),
    bothBytesMax: booksRoom(config, youngBytesMax() + LONG_ANSWERS_BYTES_MAX),
    // A snapshot that was due and did not come about, for lack of room, say, is not due again at once: the journal may
    // have room yet, and no start would come through. The operator is told that it is overdue.
    sinceSnapshot: entries % config.snapshotEvery,
    async snapshot() {
      const taken = await snapshots.take();
      if (taken === null) return;
      const { seq, file, bytes, removed, ms } = taken;
      followers.tookSnapshot(seq);
      log.inform(
        `Took ${file}: ${bytes} bytes written in ${Math.round(ms)} ms, ${removed.length} older files removed.`,
      );
    },
    signIntent: (luid, value, moment) => signedIntent(server, luid, value, moment),
    ...(config.followersMin > 0 && { copies: followers }),
    tell: log.tell,
    publish(entries, seq) {
      waiters.publish(entries, seq);
      effects.publish(entries, seq);
      followers.look();
    },
    defect: log.defect,
    fatal(error) {
      log.tell(fatalText(error, directory));
      // What becomes of a call cannot be noted any more, so none that comes after it may go out.
      effects.close();
      process.exitCode = 1;
      setTimeout(() => endProcess(pool, 1), FATAL_LINGER_MS);
    },
  });
  const outgoing = new Outgoing({ ...config, allowPrivate: isLoopback(config.host) });
  const effects = new Effects({
    ...config,
    state,
    sealer,
    timers: settledTimers(realTimers, (work) =>
      config.followersMin > 0 ? whenCopied(engine, work) : engine.whenCallable(work),
    ),
    call: outgoing.call,
    eventBytesMax: Math.ceil(config.textsBytesMax / 8),
    seq: end.seq,
    defect: log.defect,
    inform: log.tell,
    note: (what, done) => engine.note(what, done),
  });
  return { state, server, sealer, journal, pool, engine, waiters, outgoing, effects, followers, snapshots };
}

/**
 * A server that has lost its copies calls nobody, whether something is on its way to them or not: one of them may have
 * become the books.
 */
function whenCopied(engine: Engine, work: () => void): void {
  if (engine.isCutOff) realTimers.after(COPIES_LOOK_MS, () => whenCopied(engine, work));
  else engine.whenSettled(work);
}

/**
 * Ends the process with this code. An exit waits for all threads, and for ever where one is in a call that the system
 * never ends.
 */
export function endProcess(pool: ProofPool, code: number): void {
  let looks = 0;
  setInterval(() => {
    if (++looks > THREADS_END_LOOKS_MAX) process.kill(process.pid, 'SIGKILL');
  }, 1000);
  pool.abandon().finally(() => exitProcess(code));
}

/** Rests that take so long together; none of them keeps the process alive. */
function restFor(ms: number): (share: number) => Promise<void> {
  return (share) => sleep(Math.min(share * ms, TIMER_MS_MAX), undefined, { ref: false });
}

/** What requests come to. Schemas are compiled here, or when they are first needed. */
export function openDoor(config: Config, rooms: Rooms, defaultLedger: number, log: Log): Handler {
  const { state, server, sealer, journal, pool, engine, waiters, effects } = rooms;
  const limits = { claimsMax: config.claimsMax, proofsMax: config.proofsMax };
  return createApp({
    engine,
    state,
    server,
    sealer,
    texts: new RecordTexts(config.textsBytesMax, state.cacheShare),
    pool,
    waiters,
    walks: new Walks(),
    longAnswers: new LongAnswers(),
    effects,
    clock: Date.now,
    validate: compileSchemas(limits),
    bodyBytesMax: config.bodyBytesMax,
    pageLimitMax: config.pageLimitMax,
    listMsMax: config.listMsMax,
    listProofMsMax: config.listProofMsMax,
    preferWaitSecondsMax: config.preferWaitSecondsMax,
    head: () => journal.position,
    defect: log.defect,
    tokens: createTokenChecker(verify, state.cacheShare),
    defaultLedger,
    // As every client writes it that takes it for a URL: tokens are over what they write.
    publicUrl: config.publicUrl === '' ? '' : new URL(config.publicUrl).href,
    bodyDepthMax: config.bodyDepthMax,
    limits,
    isReadOnly: config.readOnly === 'yes',
  });
}
