/**
 * The one loop: turns → door → verified → inbox → batch → clear → journal → disk → answers.
 *
 * Order enters here and nowhere else. So many requests are let in as keep the workers and the disk busy; the others
 * wait for their ledger's turn before anything is done for them. Past that, commands keep the order in which they took
 * their moment at the door, so moments never go back along the journal. A batch is what has come in while the disk was
 * busy; the disk sets the pace.
 *
 * Always holds: the state runs at most one frame ahead of the disk, and no answer, a read's included, leaves before
 * the disk has every entry it may speak of, and as many copies of the books as the operator asked for. A failed write
 * or sync is final: nothing is acknowledged after it.
 */
import { Batch, type BatchOptions } from './batch.ts';
import { GRANTED } from './core/access/index.ts';
import { lookAhead } from './core/ahead.ts';
import { type Command, commandSize, type Note, sealCommand } from './core/command.ts';
import { type Entry, EntryType } from './core/entry.ts';
import { Kind } from './core/kinds.ts';
import { assert, isRefusal, type Refusal, refuse } from './core/refusal.ts';
import { sheetOf } from './core/sheet.ts';
import type { State } from './core/state.ts';
import type { MakeIntent, OwnIntent } from './core/threads.ts';
import { Entrance, type EntranceOptions, type EntranceStats, type SentBack } from './entrance.ts';
import { Histogram, timesInMs } from './histogram.ts';
import { Luids } from './luids.ts';
import type { ProofPool } from './proof/pool.ts';
import { Room, type RoomOptions } from './room.ts';
import { dearIn } from './turns.ts';
import { Wait } from './wait.ts';

/** A request on its way to the sequence: what is left to verify, and whom to tell what came of it. */
export interface Submission {
  command: Command;
  /** Signatures to verify: rows of public 32 | digest 32 | signature 64. */
  checks: Uint8Array;
  /** The number by which the client knows each of them, where that is not its place here. */
  places?: readonly number[] | undefined;
  /** Digest of the server's own proof, 32 bytes per seal the command lacks; empty where it needs none. */
  seals: Uint8Array;
  /** What waits for the answer in memory beside the command: bytes of a body that will be needed again. */
  besideBytes?: number | undefined;
  /** Told once: the entries now on disk (none where nothing changed), or why not. */
  answer(outcome: Entry[] | Refusal): void;
  /** Told of these entries before, while the disk is to take them: what is made of them leaves with `answer` only. */
  ahead?: ((entries: Entry[]) => void) | undefined;
  /**
   * Sends it back before it is cleared, since it would hold up others: it waits for its ledger's turn once more.
   * Returns what is to be called then, to submit it anew with a moment of that time. Absent where it has to stay.
   */
  leave?: (() => () => void) | undefined;
}

export interface EngineOptions extends EntranceOptions, BatchOptions, RoomOptions {
  pool: ProofPool;
  /** Milliseconds since 1970, from wherever time comes from. */
  clock: () => number;
  /** After so many entries `snapshot` is called, between two frames; never again before its promise ends. */
  snapshotEvery: number;
  /** How many entries have come since the last snapshot already. */
  sinceSnapshot?: number;
  snapshot: () => Promise<void>;
  /** Gives an intent of the server's own its handle, hash and signatures. */
  signIntent: (luid: string, value: Record<string, unknown>, moment: number) => OwnIntent;
  /** The copies that must have what an answer speaks of, as the disk must; absent: none. */
  copies?: Copies;
  /** For the operator. */
  tell: (text: string) => void;
  /** Told of entries once they are on disk, in order; the last of them has this sequence number. */
  publish: (entries: readonly Entry[], seq: number) => void;
  /** The disk failed or our own code did: the process must end. */
  fatal: (error: Error) => void;
}

/** Copies of the books that answers wait for. */
interface Copies {
  /** Calls back once enough of them have what the disk has: at once where they do, else later. */
  whenThere(done: () => void): void;
  /** They have been missing for so long that nobody else is to wait for them. */
  readonly isCutOff: boolean;
}

interface Ticket {
  submission: Submission;
  bytes: number;
  /** What clearing it was thought to take. */
  ms: number;
  verdict: 'waiting' | 'accepted' | 'gone' | Refusal;
  /** When the verdict came, by the stopwatch. */
  since: number;
  /** What clearing it took. */
  tookMs: number;
  /** What was decided, once it was. */
  outcome: Entry[] | Refusal;
}

export interface EngineStats extends EntranceStats {
  batches: number;
  /** Those of them that had anything to write: refusals alone, and looks for what has waited too long, have nothing. */
  frames: number;
  entries: number;
  /** Commands that came to their batch. */
  cleared: number;
  /** Commands of clients; and what the server noted for itself: ledgers, calls, tokens that are used up. */
  accepted: number;
  refused: number;
  noted: number;
  /**
   * Milliseconds, summed: of each command from its verdict to its batch; of each batch clearing, the disk, and copies.
   */
  inboxMs: number;
  clearMs: number;
  diskMs: number;
  copiesMs: number;
}

const UNDECIDED: Entry[] = [];

const STOPPING = refuse(
  'api.unexpected-error',
  'The server is stopping; the request may or may not have been processed',
);

export class Engine {
  readonly state: State;
  readonly room: Room;
  readonly stats: EngineStats = {
    batches: 0,
    frames: 0,
    entries: 0,
    cleared: 0,
    accepted: 0,
    refused: 0,
    noted: 0,
    waited: 0,
    sentBack: 0,
    turnMs: 0,
    inboxMs: 0,
    clearMs: 0,
    diskMs: 0,
    copiesMs: 0,
  };
  /** Of each frame: milliseconds until the disk had it, and entries. */
  readonly spreads = { diskMs: timesInMs(), entries: new Histogram(1, 15) };
  /** The wait for the disk to have what was handed to it. Its `look` is to be called each second. */
  readonly diskWait: Wait;
  readonly #options: EngineOptions;
  readonly #entrance: Entrance;
  readonly #luids = new Luids();
  /** Everything at the door, in order, until its turn in the sequence. */
  #door: Ticket[] = [];
  #inbox: Ticket[] = [];
  /** The batch that is on its way to the disk. */
  #underway: Ticket[] = [];
  /** The state has what may not be spoken of yet: the disk has not taken it, or too few copies have. */
  #isCommitting = false;
  /** The journal is written to: a frame, or the header of the next segment. Else it holds what the state does. */
  #isJournaling = false;
  /** What is on its way to the disk changes whom the server calls. */
  #changesCalled = false;
  #isTurnDue = false;
  /** When the first of the verdicts came that the next turn begins with. */
  #verdictsAt = 0;
  #isTickDue = false;
  #isLaterDue = false;
  #held: ((failure: Refusal | null) => void)[] = [];
  #unsettled: (() => void)[] = [];
  #lastMoment: number;
  #sinceSnapshot: number;
  #isSnapshotting = false;
  /** Whom to tell of the next segment, where one is to be begun. */
  #segmentDue: ((error: Error | null) => void) | null = null;
  #failure: Error | null = null;
  #idle: (() => void)[] = [];
  readonly #makeIntent: MakeIntent = (value, moment) =>
    this.#options.signIntent(this.newLuid(Kind.intent, moment), value, moment);

  constructor(options: EngineOptions) {
    this.#options = options;
    this.state = options.state;
    this.room = new Room(options);
    this.#entrance = new Entrance(options, this.stats);
    const { stopwatch, tell } = options;
    this.diskWait = new Wait({
      stopwatch,
      late: (seconds) =>
        tell(
          `The disk has not answered for ${Math.round(seconds)} s: answers wait. Until it does nothing else is taken in.`,
        ),
      over: (seconds) => tell(`The disk answers again, after ${Math.round(seconds)} s: answers go on.`),
    });
    this.#lastMoment = this.#earliest();
    this.#sinceSnapshot = options.sinceSnapshot ?? 0;
  }

  /**
   * Now, as the ledger counts it: whatever the clock does, never before the last entry, nor before the moment of a
   * command on its way. Moments that were only told, to readers and with refusals, do not count: otherwise a clock that
   * was ahead while nothing was written would put all that comes after ahead too.
   */
  now(): number {
    const now = this.#options.clock();
    const isQuiet = this.waiting === 0 && !this.#isCommitting;
    if (now < this.#lastMoment && isQuiet) this.#lastMoment = this.#earliest();
    if (now > this.#lastMoment) this.#lastMoment = now;
    return this.#lastMoment;
  }

  /** The moment of the last entry; of books that have none, the first that there can be, whatever the clock says. */
  #earliest(): number {
    return Math.max(MOMENT_MIN, this.#options.journal.position.moment);
  }

  newLuid(kind: Kind, moment: number): string {
    return this.#luids.next(kind, moment);
  }

  /** Why nothing more may come in for this ledger just now, or null. Asked before any work is done for a request. */
  overload(ledger = NO_LEDGER): Refusal | null {
    return this.outage ?? (this.#entrance.hasPlace(ledger) ? null : OVERLOADED);
  }

  /** Why nothing at all is taken in just now, nor told that may not be on the disk; or null. */
  get outage(): Refusal | null {
    if (this.#failure !== null) return STOPPING;
    return this.isCutOff ? CUT_OFF : null;
  }

  get isFailed(): boolean {
    return this.#failure !== null;
  }

  /**
   * The disk, or copies that have to have it, have not taken what is new for long: nothing is answered that speaks of
   * it.
   */
  get isCutOff(): boolean {
    return this.diskWait.isLate || this.#options.copies?.isCutOff === true;
  }

  get waiting(): number {
    return this.#entrance.requests;
  }

  /** Whether a request can be let in now, past nobody who waits. */
  get isOpen(): boolean {
    return this.#failure !== null || this.#entrance.isOpen;
  }

  /** Lets in who has come, where it is open. */
  letInNow(begin: () => void): void {
    this.#entrance.letInNow(begin);
  }

  /** Calls `begin` when it is this ledger's turn; the request takes that many bytes meanwhile. */
  wait(ledger: number, bytes: number, begin: () => void): void {
    this.#entrance.wait(ledger, bytes, begin);
    // Nothing else may be on its way that would let it in.
    if (this.#entrance.hasRoom) this.#turnLater();
  }

  /** Counts a request of this ledger as let in while it is looked at before it is submitted; returns what ends that. */
  hold(ledger: number, bytes: number): () => void {
    const ms = this.#entrance.enter(ledger, bytes);
    return () => {
      this.#entrance.leave(ledger, bytes, ms);
      // It may go no further.
      this.#turnLater();
    };
  }

  #letIn(): void {
    if (this.#entrance.letIn(this.#failure !== null)) this.#turnLater();
  }

  #turnLater(): void {
    if (this.#isLaterDue) return;
    this.#isLaterDue = true;
    setImmediate(() => {
      this.#isLaterDue = false;
      this.#turn();
    });
  }

  submit(submission: Submission): void {
    if (this.#failure !== null) return submission.answer(STOPPING);
    const { command } = submission;
    // Now that its texts are near at hand.
    if (command.op === 'create' && command.kind === Kind.intent) sheetOf(this.state, command);
    const bytes = commandSize(command) + (submission.besideBytes ?? 0);
    const ms = this.#entrance.enter(command.ledger, bytes);
    const ticket: Ticket = { submission, bytes, ms, verdict: 'waiting', since: 0, tookMs: 0, outcome: UNDECIDED };
    this.#door.push(ticket);
    const { checks, seals } = submission;
    if (checks.length === 0 && seals.length === 0) return this.#verified(ticket, null);
    this.#options.pool.submit({
      checks,
      seals,
      done: (result) => {
        if (result.error !== null) return this.#verified(ticket, NOT_VERIFIED);
        if (result.bad >= 0) return this.#verified(ticket, badSignature(submission.places?.[result.bad] ?? result.bad));
        sealCommand(command, result.signatures);
        this.#verified(ticket, null);
      },
    });
  }

  /** Takes what the server notes by itself; `done` is called once it is on disk, or never will be. */
  note(what: Note, done = () => {}): void {
    const command = { ...what, moment: this.now(), caller: GRANTED };
    this.submit({ command, checks: NO_BYTES, seals: NO_BYTES, answer: done });
  }

  /** Runs `send` once everything the state now holds is on disk, or with the reason why it never will be. */
  whenDurable(send: (failure: Refusal | null) => void): void {
    const { outage } = this;
    if (outage === null && this.#isCommitting) this.#held.push(send);
    else send(outage);
  }

  /**
   * Runs `work` while all that the state holds may be told: at once, or when the frame on its way is through, before
   * the state changes again. Not at all once the engine has failed.
   */
  whenSettled(work: () => void): void {
    if (this.#failure !== null) return;
    if (this.#isCommitting) this.#unsettled.push(work);
    else work();
  }

  /**
   * Runs `work` while the state's bridges and effects are those on the disk: as `whenSettled`, but only a frame that
   * changes one of these is waited for. All else that a call says is read as it was right after an entry.
   */
  whenCallable(work: () => void): void {
    if (this.#changesCalled) this.whenSettled(work);
    else if (this.#failure === null) work();
  }

  /** Somebody waits for an answer; what the server notes for itself is none. */
  get owesAnswers(): boolean {
    const isOwed = ({ submission }: Ticket) => submission.command.caller !== GRANTED;
    return this.#held.length + this.#entrance.queued > 0 || this.#onTheirWay().some(isOwed);
  }

  /**
   * A snapshot, or the journal, is being written: if the directory were let go now, it would be written to afterwards.
   */
  get isWriting(): boolean {
    return this.#isSnapshotting || this.#isJournaling;
  }

  #onTheirWay(): Ticket[] {
    return [...this.#underway, ...this.#inbox, ...this.#door];
  }

  /** Lets intents that have waited too long end. To be called now and then. */
  tick(): void {
    if (this.state.open.size === 0) return;
    this.#isTickDue = true;
    this.#turn();
  }

  /**
   * A snapshot of all there is now: at once, after the frame that is on its way to the disk, or after the snapshot that
   * is being taken.
   */
  requestSnapshot(): void {
    this.#sinceSnapshot = Number.POSITIVE_INFINITY;
    this.#maybeSnapshot();
  }

  /**
   * Has the journal go on in a new segment, between two frames; `done` as for `Journal.beginSegment`, if that comes
   * about.
   */
  beginSegment(done: (error: Error | null) => void): void {
    this.#segmentDue = done;
    this.#beginDue();
  }

  /** Resolves when nothing is on its way any more. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#settle();
    });
  }

  #verified(ticket: Ticket, refusal: Refusal | null): void {
    if (ticket.verdict === 'gone') return;
    // Verdicts come many at a time; the turn begins when the last of them is in.
    if (!this.#isTurnDue) this.#verdictsAt = this.#options.stopwatch();
    ticket.verdict = refusal ?? 'accepted';
    ticket.since = this.#verdictsAt;
    if (this.#isTurnDue) return;
    this.#isTurnDue = true;
    queueMicrotask(() => {
      this.#isTurnDue = false;
      this.#admit();
      this.#turn();
    });
  }

  /** Moves what has been verified from the door to the inbox, in the order it came. */
  #admit(): void {
    const door = this.#door;
    let taken = 0;
    while (taken < door.length && door[taken]!.verdict !== 'waiting') {
      const ticket = door[taken++]!;
      if (ticket.verdict === 'accepted') this.#inbox.push(ticket);
      else if (typeof ticket.verdict === 'object') this.#answer(ticket, ticket.verdict);
    }
    if (taken === door.length) this.#door = [];
    else if (taken > 0) this.#door = door.slice(taken);
  }

  get #mayClear(): boolean {
    return !this.#isCommitting && !this.#isJournaling && this.#failure === null;
  }

  /** One batch after the other, until the disk has one, none is due or others are to have their turn. */
  #turn(): void {
    const end = this.#options.stopwatch() + this.#options.batchMsMax;
    while (this.#mayClear && (this.#inbox.length > 0 || this.#isTickDue)) {
      try {
        this.#clearBatch();
      } catch (error) {
        return this.fail(error as Error);
      }
      if (!this.#isCommitting && this.#options.stopwatch() > end) return this.#turnLater();
    }
    this.#letIn();
    this.#settle();
  }

  /** Clears what has come in, as far as that fits one frame and takes not too long. */
  #clearBatch(): void {
    const { batchMsMax, stopwatch } = this.#options;
    const began = stopwatch();
    const batch = new Batch(this.#options, this.now(), this.#makeIntent);
    if (this.#isTickDue) this.#isTickDue = batch.expire();
    const inbox = this.#inbox;
    const commandAt = (index: number) => inbox[index]!.submission.command;
    let taken = 0;
    let seen = 0;
    let now = stopwatch();
    const end = now + batchMsMax;
    while (taken < inbox.length && !batch.isFull(taken) && (now < end || taken === 0)) {
      if (taken === seen) seen = lookAhead(this.state, commandAt, taken, inbox.length);
      const ticket = inbox[taken++]!;
      const { command } = ticket.submission;
      this.stats.inboxMs += began - ticket.since;
      ticket.outcome = batch.clear(command);
      const before = now;
      now = stopwatch();
      ticket.tookMs = now - before;
      this.#entrance.learn(command.ledger, ticket.tookMs);
    }
    const tickets = taken === inbox.length ? inbox : inbox.slice(0, taken);
    this.#inbox = taken === inbox.length ? [] : inbox.slice(taken);
    this.stats.cleared += taken;
    if (now >= end) this.#sendBack(tickets);
    this.#commit(batch, tickets, began);
  }

  /** Takes what a batch has come to onto the disk, and then to those who wait for it. */
  #commit({ entries, moment }: Batch, tickets: Ticket[], began: number): void {
    const { journal, stopwatch, copies } = this.#options;
    const count = entries.length;
    assert(count === journal.frameEntries, 'what is published is what is written, entry by entry');
    const cleared = stopwatch();
    this.stats.clearMs += cleared - began;
    this.stats.batches++;
    if (count === 0) return this.#acknowledge(tickets, entries);
    this.stats.frames++;
    this.stats.entries += count;
    this.spreads.entries.add(count);
    this.#sinceSnapshot += count;
    this.#isCommitting = true;
    this.#isJournaling = true;
    this.#changesCalled = entries.some(changesCalled);
    this.#underway = tickets;
    this.diskWait.begin(cleared);
    journal.commit(moment, (error) => {
      const written = stopwatch();
      this.#isJournaling = false;
      this.diskWait.end(error === null);
      this.stats.diskMs += written - cleared;
      this.spreads.diskMs.add(written - cleared);
      const end = () => {
        this.#isCommitting = false;
        this.#changesCalled = false;
        // Something else may have failed meanwhile: then everybody in this batch has been told so.
        if (this.#failure !== null) return;
        this.#underway = [];
        this.#acknowledge(tickets, entries);
        this.#betweenFrames();
        this.#turn();
      };
      if (error !== null) this.fail(error);
      if (this.#failure !== null || copies === undefined) return end();
      copies.whenThere(() => {
        this.stats.copiesMs += stopwatch() - written;
        end();
      });
      // What keeps a copy from being begun may be what these lead out of.
      this.#betweenFrames();
    });
    for (const { submission, outcome } of tickets) {
      if (submission.ahead !== undefined && !isRefusal(outcome)) submission.ahead(outcome);
    }
  }

  /** What is done while the journal holds all that the state does, also where copies do not have it yet. */
  #betweenFrames(): void {
    this.#beginDue();
    this.#maybeSnapshot();
  }

  /** Nothing is cleared meanwhile: it would be written to the segment that is to be left. */
  #beginDue(): void {
    const done = this.#segmentDue;
    if (done === null || this.#isJournaling || this.#failure !== null) return;
    this.#segmentDue = null;
    const { journal, stopwatch } = this.#options;
    this.#isJournaling = true;
    this.diskWait.begin(stopwatch());
    journal.beginSegment((error) => {
      this.diskWait.end();
      this.#isJournaling = false;
      if (this.#failure !== null) return;
      done(error);
      this.#betweenFrames();
      this.#turn();
    });
  }

  /**
   * After a batch that took long, what was let in is judged again by what the batch has shown. Where a ledger's
   * requests are far dearer than was thought, all others would wait for those of them that were let in: these wait for
   * new turns instead.
   */
  #sendBack(cleared: readonly Ticket[]): void {
    const { batchMsMax, pipelineMsMax } = this.#options;
    const took = cleared.map(({ submission, tookMs }) => [submission.command.ledger, tookMs] as const);
    for (const [ledger, ms] of dearIn(took, batchMsMax)) {
      const canGo = ({ submission, verdict }: Ticket) =>
        submission.command.ledger === ledger && submission.leave !== undefined && typeof verdict === 'string';
      const going = [...this.#inbox, ...this.#door].filter(canGo);
      if (going.length * ms <= pipelineMsMax) continue;
      this.#inbox = this.#inbox.filter((ticket) => !canGo(ticket));
      this.#door = this.#door.filter((ticket) => !canGo(ticket));
      this.#entrance.sendBack(ledger, ms, going.map(sentBack));
    }
    // Whoever stood behind them at the door waits for them no more.
    this.#admit();
  }

  #acknowledge(tickets: readonly Ticket[], entries: Entry[]): void {
    this.room.look();
    this.#options.publish(entries, this.#options.journal.position.seq);
    for (const ticket of tickets) this.#answer(ticket, ticket.outcome);
    const held = this.#held;
    this.#held = [];
    for (const send of held) send(null);
    for (const work of this.#unsettled.splice(0)) work();
  }

  #answer(ticket: Ticket, outcome: Entry[] | Refusal): void {
    this.#entrance.leave(ticket.submission.command.ledger, ticket.bytes, ticket.ms);
    this.#count(ticket.submission.command, isRefusal(outcome));
    ticket.submission.answer(outcome);
  }

  /** A request whose token is taken goes on, and is counted at its end. */
  #count({ op, caller }: Command, isRefused: boolean): void {
    if (caller === GRANTED || (op === 'token' && !isRefused)) this.stats.noted++;
    else if (isRefused) this.stats.refused++;
    else this.stats.accepted++;
  }

  #maybeSnapshot(): void {
    const { snapshotEvery, snapshot } = this.#options;
    if (this.#isJournaling || this.#failure !== null) return;
    if (this.#isSnapshotting || this.#sinceSnapshot < snapshotEvery) return;
    this.#sinceSnapshot = 0;
    this.#isSnapshotting = true;
    snapshot()
      .then(() => {
        this.#isSnapshotting = false;
        this.#maybeSnapshot();
        this.#settle();
      })
      .catch((error: Error) => this.fail(error));
  }

  #settle(): void {
    const busy = this.waiting > 0 || this.#isCommitting || this.isWriting;
    // After a failure whoever waits for a turn is told, some at a time; nothing else goes on.
    if (this.#failure === null ? busy : this.#entrance.queued > 0) return;
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }

  /** Here or elsewhere something cannot go on: everybody who still waits is told, then the process ends. */
  fail(error: Error): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    const waiting = this.#onTheirWay();
    this.#underway = [];
    this.#inbox = [];
    this.#door = [];
    for (const ticket of waiting) this.#answer(ticket, STOPPING);
    const held = this.#held;
    this.#held = [];
    for (const send of held) send(STOPPING);
    this.#letIn();
    this.#settle();
    this.#options.fatal(error);
  }
}

/** Whether whom the server calls, and where, is another after this. */
function changesCalled({ type, kind }: Entry): boolean {
  if (kind !== Kind.bridge && kind !== Kind.effect) return false;
  return type === EntryType.create || type === EntryType.update || type === EntryType.drop;
}

/** It is on its way no more. */
function sentBack(ticket: Ticket): SentBack {
  ticket.verdict = 'gone';
  const { submission, bytes, ms } = ticket;
  return { bytes, ms, begin: submission.leave!() };
}

const NO_LEDGER = -1;
/** Moment 0 is that of a balance that never had any money. */
const MOMENT_MIN = 1;
const NO_BYTES = new Uint8Array(0);

const OVERLOADED = refuse(
  'api.rate-limit-exceeded',
  'The server has more requests waiting than it takes; try again shortly',
);

/** The disk, or the copies, do not take what is to be answered. Also told to whoever was let in before that showed. */
export const CUT_OFF = refuse(
  'api.unexpected-error',
  'The server waits for its disk, or for copies of its books, and tells nothing meanwhile; the request may or may not have been processed, try again shortly',
);

export const NOT_VERIFIED = refuse('api.unexpected-error', 'The signatures could not be verified');

function badSignature(proof: number): Refusal {
  return refuse('crypto.signature-invalid', `Proof ${proof} does not verify`, { proof });
}
