/**
 * Lanes: what is to be delivered, address by address, again and again until it is taken or given up.
 *
 * A lane is one address of delivery. Jobs of one lane with the same key go one at a time, in the order they were
 * added: while the first of them waits to be tried again, the others wait behind it. Jobs with different keys go side
 * by side, up to `parallelMax` calls at once. A job that waits to be tried again holds no place among the
 * `parallelMax`.
 *
 * Calls of all lanes share `inFlightMax`. A party may have very many lanes, so all of them together have a share, alone
 * four fifths of the places; parties take turns, and within a party its lanes. There may be very many parties, too:
 * lanes whose last call was slow leave some places to the others, and have turns of their own. A lane may have as many
 * calls on their way as its party may still begin, at most `parallelMax`: the fuller the house, the smaller the share,
 * so lanes whose calls hang until their time limit leave a place for one that had none, and lanes take turns for it. A
 * body that is longer than usual takes several places, so that what bodies take has an end too. How many, one knows
 * once it is made: one that finds no room then is let go, and made again when there is. For that, half of what becomes
 * free is put by for it: where calls never cease there would never be so many places at a time. A party whose body took
 * long to make rests several times as long, so that requests of clients get the most of the thread.
 *
 * Whoever does not answer, or says that it cannot now, many times in a row, is away: what is to be tried again then
 * comes one by one, with pauses, until a call is answered. A hundred thousand that each are tried again by themselves
 * would keep the process busy with calls in vain. What has not been tried yet waits for none of them.
 *
 * What always holds: `make`, `call`, `failed` and `settled` are never called inside `add`, `cancel`, `wake` or `close`;
 * `settled` is called at most once a job, and not at all after it was cancelled, dropped (`make` said null) or the
 * lanes closed; never two calls with the same lane and key at a time, a cancelled one included until it has ended. Time
 * and network are handed in, and there is no chance: the same calls, answers and clock give the same run.
 */
import { LongMap, near, Recent } from '../memory/index.ts';
import { SHARE } from '../turns.ts';
import { backoffMs } from './backoff.ts';
import { guarded } from './guarded.ts';
import { Line, type Standing } from './line.ts';
import type { Answer, Call, OutgoingCall } from './outgoing.ts';
import { inSlices, REST } from './slices.ts';
import type { Timer, Timers } from './timers.ts';

export interface Job {
  /**
   * Jobs of a lane with the same key go one after the other. There may be millions, so most that are near should be
   * there.
   */
  readonly key: number;
  /** The row of whom it is for. */
  readonly receiver: number;
  /**
   * The call, made anew for each attempt, so that what waits costs little memory;
   * null where it is no longer wanted. What this and those below throw is a defect, which is told; a job whose call
   * cannot be made is no longer wanted.
   */
  make(): OutgoingCall | null;
  /** An attempt has failed and there will be another: `attempts` so far, counted as below. */
  failed?(attempts: number, lastError: string): void;
  /** How it ended. `attempts` are counted since it was added or last woken. */
  settled(outcome: Outcome, attempts: number, lastError: string | null): void;
}

/** `final`: the other side said 501, never to be asked again. `gaveUp`: as many attempts as allowed have failed. */
export type Outcome = 'delivered' | 'final' | 'gaveUp';

/** Is told of the jobs of all lanes what they are told themselves, before they are. */
interface Watcher {
  failed(receiver: number, attempts: number, lastError: string): void;
  settled(receiver: number, outcome: Outcome, attempts: number, lastError: string | null): void;
}

interface LanesOptions {
  timers: Timers;
  /** Does the call. Never rejects; where its signal is aborted it ends soon, with whatever answer. */
  call: Call;
  /** Places for calls on their way at once, over all lanes. */
  inFlightMax: number;
  /** Attempts of a job before it is given up. */
  attemptsMax: number;
  /** Tells what a job or the watcher has thrown: it costs the one call that it is about. */
  defect: (error: Error) => void;
  watcher?: Watcher;
}

const NOT_IMPLEMENTED = 501;
/** Bodies that are on their way together, beside one that finds its party with none: a place is for an even share. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Attempts begun in one turn: each makes, and perhaps signs, a body, and requests of clients must get their turn too.
 */
const STARTS_PER_TURN_MAX = 16;
/** Bodies may be large. */
const TURN_MS_MAX = 4;
/** So many calls in a row have failed where a lane is taken to be away. */
const AWAY_AFTER = 32;
/** Then this lies between two that are tried again: fifty a second are some hundredths of a core. */
const AWAY_PAUSE_MS = 20;
/** Rows that come from there in one turn once it is back. */
const BACK_ROWS_MAX = 1000;
/** A call that takes longer is slow, whatever comes of it, and so is its lane until one of its calls is quick. */
const QUICK_MS = 2_000;
/** What slow lanes may take of the places together. */
const SLOW_SHARE = 7 / 8;
/** Slow lanes that are remembered. */
const SLOW_MAX = 10_000;

interface Entry {
  readonly job: Job;
  attempts: number;
  lastError: string | null;
  next: Entry | null;
}

/**
 * Jobs with one key, the first of them to be delivered next. At most one of `timer` and `calling` is set. It stands in
 * its lane's line where the first may go now.
 */
interface Row extends Standing<Row> {
  readonly key: number;
  head: Entry;
  tail: Entry;
  /** Set while the head waits to be tried again. */
  timer: Timer | null;
  /** Set while a call of this row is on its way. */
  calling: AbortController | null;
  /** What the call of its head takes, or took when it was made last. */
  places: number;
  /** Whether its call counts among the slow. */
  isSlow: boolean;
  /** The head was cancelled while its call was on its way. */
  cancelled: boolean;
}

/** Whoever lanes belong to. */
class Party {
  readonly name: string;
  lanes = 0;
  /** Places that its calls take. */
  inFlight = 0;
  /** What was too long for its room, the first such row; and the places that are put by for it. */
  waiting: { readonly lane: Lane; readonly row: Row } | null = null;
  saved = 0;
  readonly quick: Half = { party: this, isSlow: false, hungry: new Set() };
  readonly slow: Half = { party: this, isSlow: true, hungry: new Set() };

  constructor(name: string) {
    this.name = name;
  }
}

/** Its lanes whose last call was slow, or all others: each half has turns of its own. */
interface Half {
  readonly party: Party;
  readonly isSlow: boolean;
  /** Lanes with something ready and fewer calls than their `parallelMax`; the next in turn first. */
  readonly hungry: Set<Lane>;
}

interface Lane {
  readonly address: string;
  readonly party: Party;
  half: Half;
  readonly parallelMax: number;
  readonly rows: LongMap<number, Row>;
  /** Rows whose head may go now. */
  readonly ready: Line<Row>;
  /** Rows whose head is due to be tried again, which it was while the lane was away. */
  readonly due: Line<Row>;
  /** Set while there are any. */
  pace: Timer | null;
  /** On their way. */
  calls: number;
  /** Calls that have failed since one was answered. */
  failures: number;
  /** Its rows are being woken, and are to be once more. */
  waking: 'no' | 'once' | 'again';
}

export class Lanes {
  readonly #options: LanesOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #parties = new Map<string, Party>();
  /** Halves with hungry lanes; the next in turn first. */
  readonly #hungry = new Set<Half>();
  /** Slow ones that are hungry and wait for a place among theirs; the next first. */
  readonly #held = new Set<Half>();
  /** Addresses of slow lanes, which outlast them. */
  readonly #slow = new Recent<string, true>(SLOW_MAX);
  readonly #slowMax: number;
  /** By the names of parties that rest, which outlast them, what ends that. */
  readonly #resting = new Map<string, Timer>();
  readonly #placeBytes: number;
  /** Places taken, by slow lanes among them, and by how many calls. */
  #inFlight = 0;
  #slowInFlight = 0;
  #calls = 0;
  #jobs = 0;
  #turn: Timer | null = null;
  #closed = false;

  constructor(options: LanesOptions) {
    if (options.inFlightMax < 1 || options.attemptsMax < 1) throw new RangeError('lanes need at least one call');
    this.#options = options;
    this.#placeBytes = BODY_BYTES_MAX / options.inFlightMax;
    this.#slowMax = Math.ceil(SLOW_SHARE * options.inFlightMax);
  }

  /** Adds a job to the end of the lane of `address`. The lane takes `parallelMax` and `party` of its first job. */
  add(address: string, parallelMax: number, job: Job, party = address): void {
    if (this.#closed) return;
    const lane = this.#lanes.get(address) ?? this.#open(address, parallelMax, party);
    const entry: Entry = { job, attempts: 0, lastError: null, next: null };
    const row = lane.rows.get(job.key);
    this.#jobs++;
    if (row !== undefined) {
      row.tail.next = entry;
      row.tail = entry;
      return;
    }
    const standing = { line: null, before: null, behind: null };
    const begun: Row = {
      key: job.key,
      head: entry,
      tail: entry,
      timer: null,
      calling: null,
      places: 1,
      isSlow: false,
      cancelled: false,
      ...standing,
    };
    lane.rows.set(job.key, begun);
    this.#makeReady(lane, begun);
  }

  #open(address: string, parallelMax: number, name: string): Lane {
    const party = this.#parties.get(name) ?? new Party(name);
    this.#parties.set(name, party);
    party.lanes++;
    const half = this.#slow.get(address) === true ? party.slow : party.quick;
    const rows = new LongMap<number, Row>(near);
    const lines = { ready: new Line<Row>(), due: new Line<Row>(), pace: null };
    const lane: Lane = { address, party, half, parallelMax, rows, ...lines, calls: 0, failures: 0, waking: 'no' };
    this.#lanes.set(address, lane);
    return lane;
  }

  /** Takes out all jobs of a lane. Those on their way are called off; none of them is settled. */
  cancel(address: string): void {
    const lane = this.#lanes.get(address);
    if (lane === undefined) return;
    for (const row of lane.rows.values()) this.#cancelRow(lane, row);
    this.#forgetIdle(lane);
  }

  /**
   * What waits to be tried again goes now, and attempts are counted anew: of one key, or of the whole lane, which may
   * be so long that it takes several turns.
   */
  wake(address: string, key?: number): void {
    const lane = this.#lanes.get(address);
    if (lane === undefined) return;
    if (key === undefined) {
      this.#answered(lane);
      this.#wakeAll(lane);
    } else if (lane.rows.has(key)) this.#wakeRow(lane, lane.rows.get(key)!);
  }

  #wakeAll(lane: Lane): void {
    if (lane.waking !== 'no') {
      lane.waking = 'again';
      return;
    }
    lane.waking = 'once';
    const wakeRow = (row: Row) => this.#wakeRow(lane, row);
    inSlices(this.#options.timers, lane.rows.values(), wakeRow, () => {
      const isAgain = lane.waking === 'again';
      lane.waking = 'no';
      if (isAgain) this.#wakeAll(lane);
    });
  }

  #wakeRow(lane: Lane, row: Row): void {
    if (this.#closed) return;
    row.head.attempts = 0;
    if (row.timer !== null) this.#options.timers.cancel(row.timer);
    else if (row.line !== lane.due) return;
    row.timer = null;
    this.#makeReady(lane, row);
  }

  /** Calls off what is on its way. Nothing is called back any more, and nothing added. */
  close(): void {
    this.#closed = true;
    if (this.#turn !== null) this.#options.timers.cancel(this.#turn);
    for (const rest of this.#resting.values()) this.#options.timers.cancel(rest);
    for (const lane of this.#lanes.values()) {
      if (lane.pace !== null) this.#options.timers.cancel(lane.pace);
      for (const row of lane.rows.values()) {
        if (row.timer !== null) this.#options.timers.cancel(row.timer);
        row.calling?.abort();
      }
    }
    this.#lanes.clear();
    this.#jobs = 0;
  }

  /** Lanes with jobs, jobs added and not settled, and calls on their way. */
  counts(): { lanes: number; jobs: number; inFlight: number } {
    return { lanes: this.#lanes.size, jobs: this.#jobs, inFlight: this.#calls };
  }

  #makeReady(lane: Lane, row: Row): void {
    lane.due.delete(row);
    lane.ready.add(row);
    this.#offer(lane);
  }

  /** The lane takes part in the next turn, if it can use one. */
  #offer(lane: Lane): void {
    if (lane.ready.first === null || lane.calls >= lane.parallelMax) return;
    lane.half.hungry.add(lane);
    this.#offerHalf(lane.half);
  }

  /** Who is slow stands behind those who wait for the same places already. */
  #offerHalf(half: Half, isItsTurn = false): void {
    if (half.hungry.size === 0 || this.#resting.has(half.party.name)) return;
    const waits = !isItsTurn && half.isSlow && this.#held.size > 0;
    const line = waits ? this.#held : this.#hungry;
    line.add(half);
    this.#turnAgain(line);
  }

  #rest({ name, quick, slow }: Party, ms: number): void {
    for (const half of [quick, slow]) this.#hungry.delete(half);
    const rest = this.#options.timers.after(ms, () => {
      this.#resting.delete(name);
      const party = this.#parties.get(name);
      if (party !== undefined) for (const half of [party.quick, party.slow]) this.#offerHalf(half);
    });
    this.#resting.set(name, rest);
  }

  /** Begins attempts, one a party in turn. What finds no place is left for the turn that the end of a call brings. */
  #takeTurn(): void {
    this.#letIn();
    this.#turn = null;
    let starts = 0;
    const { timers } = this.#options;
    const end = timers.now() + TURN_MS_MAX;
    // A set is walked in the order of adding, what is added on the way included.
    for (const half of this.#hungry) {
      const free = this.#options.inFlightMax - this.#inFlight;
      if (free <= 0) return;
      const open = half.isSlow ? Math.min(free, this.#slowMax - this.#slowInFlight) : free;
      if (open <= 0) {
        this.#hungry.delete(half);
        this.#held.add(half);
        continue;
      }
      const room = roomOf(half.party, open);
      const next = nextOf(half, room);
      if (next === undefined) continue;
      const begun = timers.now();
      if (starts++ === STARTS_PER_TURN_MAX || begun >= end) {
        this.#turn = timers.after(0, () => this.#takeTurn());
        return;
      }
      const { lane, row } = next;
      half.hungry.delete(lane);
      this.#hungry.delete(half);
      if (row !== null) this.#start(lane, row, room, begun);
      if (this.#closed) return;
      const took = timers.now() - begun;
      if (took > TURN_MS_MAX) this.#rest(half.party, took * REST);
      if (lane.ready.first !== null && lane.calls < lane.parallelMax) half.hungry.add(lane);
      if (half.hungry.size > 0 && !this.#resting.has(half.party.name)) this.#hungry.add(half);
    }
    // Who was let in may have had nothing to begin any more.
    if (this.#slowInFlight < this.#slowMax) this.#turnAgain(this.#held);
  }

  /** As many slow ones as there are places for them stand in line again. */
  #letIn(): void {
    let left = this.#slowMax - this.#slowInFlight;
    for (const half of this.#held) {
      if (left-- <= 0) return;
      this.#held.delete(half);
      this.#offerHalf(half, true);
    }
  }

  #turnAgain({ size }: ReadonlySet<Half>): void {
    if (size > 0) this.#turn ??= this.#options.timers.after(0, () => this.#takeTurn());
  }

  #start(lane: Lane, row: Row, room: number, begun: number): void {
    const { party } = lane;
    const entry = row.head;
    const wanted = guarded(() => entry.job.make(), null, this.#options.defect);
    lane.ready.delete(row);
    if (wanted === null) {
      this.#removeHead(lane, row);
      return;
    }
    // The text is not kept beside its bytes.
    const body = Buffer.from(wanted.body);
    row.places = Math.ceil(Math.max(1, body.length / this.#placeBytes));
    if (!fits(party, row, room)) return lane.ready.add(row);
    waitNoMore(party, row);
    const calling = new AbortController();
    row.calling = calling;
    entry.attempts++;
    row.isSlow = lane.half.isSlow;
    this.#take(lane, row, 1);
    void this.#options
      .call({ ...wanted, body, party: party.name, signal: calling.signal })
      .then((answer) => this.#ended(lane, row, answer, this.#options.timers.now() - begun));
  }

  /** A call more with its places, or both less. */
  #take(lane: Lane, row: Row, calls: 1 | -1): void {
    const places = calls * row.places;
    lane.calls += calls;
    this.#calls += calls;
    lane.party.inFlight += places;
    this.#inFlight += places;
    if (row.isSlow) this.#slowInFlight += places;
  }

  #ended(lane: Lane, row: Row, answer: Answer, tookMs: number): void {
    this.#take(lane, row, -1);
    putBy(lane.party, row.places / 2);
    if (this.#closed) return;
    row.calling = null;
    const { head: entry, cancelled } = row;
    const outcome = cancelled ? null : this.#judge(entry, answer);
    if (isThere(answer)) this.#answered(lane);
    else if (!cancelled) lane.failures++;
    this.#remember(lane, tookMs > QUICK_MS);
    if (cancelled || outcome !== null) this.#removeHead(lane, row);
    else this.#waitAgain(lane, row, answer);
    this.#offer(lane);
    this.#turnAgain(this.#hungry);
    this.#turnAgain(this.#held);
    // Last, because whoever is told may add, cancel or close.
    if (outcome !== null) this.#tellSettled(entry, outcome);
    else if (!cancelled) this.#tellFailed(entry);
  }

  #remember(lane: Lane, isSlow: boolean): void {
    const { address, party, half } = lane;
    if (isSlow) this.#slow.set(address, true);
    else this.#slow.delete(address);
    if (isSlow === half.isSlow) return;
    this.#leave(lane);
    lane.half = isSlow ? party.slow : party.quick;
  }

  /** The lane takes part in no turn of its half any more. */
  #leave(lane: Lane): void {
    const { half } = lane;
    half.hungry.delete(lane);
    if (half.hungry.size > 0) return;
    this.#hungry.delete(half);
    this.#held.delete(half);
  }

  #tellSettled({ job, attempts, lastError }: Entry, outcome: Outcome): void {
    const { defect, watcher } = this.#options;
    guarded(() => watcher?.settled(job.receiver, outcome, attempts, lastError), undefined, defect);
    guarded(() => job.settled(outcome, attempts, lastError), undefined, defect);
  }

  #tellFailed({ job, attempts, lastError }: Entry): void {
    const { defect, watcher } = this.#options;
    guarded(() => watcher?.failed(job.receiver, attempts, lastError!), undefined, defect);
    guarded(() => job.failed?.(attempts, lastError!), undefined, defect);
  }

  /** What an answer makes of a job; null where it is to be tried again. */
  #judge(entry: Entry, answer: Answer): Outcome | null {
    if ('status' in answer && answer.status >= 200 && answer.status < 300) return 'delivered';
    entry.lastError = 'error' in answer ? answer.error : `status ${answer.status}`;
    if ('status' in answer && answer.status === NOT_IMPLEMENTED) return 'final';
    // Woken while it was on its way, a job counts from 0 though this attempt has failed.
    entry.attempts = Math.max(entry.attempts, 1);
    return entry.attempts >= this.#options.attemptsMax ? 'gaveUp' : null;
  }

  #waitAgain(lane: Lane, row: Row, answer: Answer): void {
    const asked = 'status' in answer && (answer.status === 429 || answer.status === 503) ? answer.retryAfterMs : 0;
    row.timer = this.#options.timers.after(backoffMs(row.head.attempts, asked), () => {
      row.timer = null;
      if (!isAway(lane)) return this.#makeReady(lane, row);
      lane.due.add(row);
      if (lane.pace === null) this.#paceAfter(lane, AWAY_PAUSE_MS);
    });
  }

  /** Whoever it is for is there, or said to be: what is due goes now. */
  #answered(lane: Lane): void {
    const wasAway = isAway(lane);
    lane.failures = 0;
    if (wasAway && lane.due.first !== null) this.#paceAfter(lane, 0);
  }

  /** The next one that is due then, or very many where the lane is not away any more. */
  #paceAfter(lane: Lane, ms: number): void {
    const { timers } = this.#options;
    if (lane.pace !== null) timers.cancel(lane.pace);
    lane.pace = timers.after(ms, () => {
      lane.pace = null;
      let left = isAway(lane) ? onlyWhereFree(lane) : BACK_ROWS_MAX;
      for (let row = lane.due.first; row !== null && left > 0; row = lane.due.first) {
        this.#makeReady(lane, row);
        left--;
      }
      if (lane.due.first !== null) this.#paceAfter(lane, isAway(lane) ? AWAY_PAUSE_MS : 0);
    });
  }

  /** The head of a row is done with; the next one, if any, may go. */
  #removeHead(lane: Lane, row: Row): void {
    this.#jobs--;
    row.cancelled = false;
    row.places = 1;
    waitNoMore(lane.party, row);
    if (row.head.next !== null) {
      row.head = row.head.next;
      this.#makeReady(lane, row);
      return;
    }
    lane.rows.delete(row.key);
    this.#forgetIdle(lane);
  }

  #cancelRow(lane: Lane, row: Row): void {
    const { calling, timer, head } = row;
    // What is on its way stays until its call has ended, so that what comes next does not overtake it.
    for (let entry = calling === null ? head : head.next; entry !== null; entry = entry.next) this.#jobs--;
    if (calling !== null) {
      row.cancelled = true;
      calling.abort();
      head.next = null;
      row.tail = head;
      return;
    }
    if (timer !== null) this.#options.timers.cancel(timer);
    row.line?.delete(row);
    lane.rows.delete(row.key);
    waitNoMore(lane.party, row);
  }

  #forgetIdle(lane: Lane): void {
    if (lane.rows.size > 0) return;
    this.#lanes.delete(lane.address);
    if (lane.pace !== null) this.#options.timers.cancel(lane.pace);
    this.#leave(lane);
    const { party } = lane;
    if (--party.lanes === 0) this.#parties.delete(party.name);
  }
}

function isAway({ failures }: Lane): boolean {
  return failures >= AWAY_AFTER;
}

/** One row, where it need not stand in line before what is new. */
function onlyWhereFree({ ready, calls, parallelMax }: Lane): 0 | 1 {
  return ready.first === null && calls < parallelMax ? 1 : 0;
}

/** Whether somebody answered who can do what is asked, if not this. */
function isThere(answer: Answer): boolean {
  if (!('status' in answer)) return false;
  const { status } = answer;
  return status === NOT_IMPLEMENTED || (status < 500 && status !== 429);
}

/**
 * How many places a party may still take; each is one less that is free, too. The last one is left to a party that has
 * none.
 */
function roomOf({ inFlight }: Party, free: number): number {
  const room = Math.ceil((SHARE * (free - 1) - inFlight) / (SHARE + 1));
  return inFlight === 0 ? Math.max(1, room) : room;
}

/**
 * What goes next of a party: what has waited for room, once there is; else the first of the lane whose turn it is.
 * Those that have no share left are as few as there are calls on their way. What is met that is known to be too long
 * for its room waits from now on.
 */
function nextOf({ party, hungry }: Half, room: number): { lane: Lane; row: Row | null } | undefined {
  const { waiting } = party;
  if (waiting !== null && hungry.has(waiting.lane) && fits(party, waiting.row, room)) return waiting;
  for (const lane of hungry) {
    const row = lane.ready.first;
    // What was ready may be cancelled by now: its lane is looked at once more, and is hungry no longer.
    if (row === null || fits(party, row, room)) {
      if (lane.calls < room) return { lane, row };
    } else if (row.places > 1) party.waiting ??= { lane, row };
  }
  return undefined;
}

/**
 * Whether there is room for the row's call, as far as its size is known, beside what is put by for another. A party
 * that has none on their way may always begin one.
 */
function fits({ inFlight, waiting, saved }: Party, row: Row, room: number): boolean {
  return inFlight === 0 || row.places <= (waiting?.row === row ? room : room - saved);
}

/** Puts places by for what waits, as many as it takes and no more: its lane may be full of calls that hang. */
function putBy(party: Party, places: number): void {
  if (party.waiting !== null) party.saved = Math.min(party.waiting.row.places, party.saved + places);
}

/** Nothing is put by for this row any more. */
function waitNoMore(party: Party, row: Row): void {
  if (party.waiting?.row === row) Object.assign(party, { waiting: null, saved: 0 });
}
