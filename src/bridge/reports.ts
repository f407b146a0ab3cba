/**
 * What the bank tells the ledger of its entries: a signed proof, sent again until the ledger has taken it.
 *
 * What always holds: one report an entry is under way, that of its newest state; a report is the same bytes each time
 * it is sent; the caller is told once of the answer that ends it. Nothing here is remembered over a restart: the books
 * know which entries have not been told.
 */

import type { JsonObject } from '../client/json.ts';
import { makeProof, type Proof } from '../client/records.ts';
import type { KeyPair } from '../proof/keys.ts';
import type { Entry, IntentName } from './books.ts';
import type { Chaos } from './chaos.ts';
import type { Ledger } from './ledger.ts';
import type { State } from './machine.ts';

interface ReportOptions {
  ledger: Ledger;
  keys: KeyPair;
  chaos: Chaos;
  inFlightMax: number;
  waitMsMax: number;
  /** The ledger's answer to a report, 2xx or one that asking again will not change. */
  answered(entry: string, state: State, status: number): void;
  /** A line for the log. */
  tell(text: string): void;
}

interface Report {
  entry: string;
  intent: IntentName;
  state: State;
  proof: Proof;
}

/** The newest report of an entry, and how far it came. */
interface Pending {
  report: Report;
  attempts: number;
  isInFlight: boolean;
  timer: NodeJS.Timeout | null;
}

const FIRST_WAIT_MS = 100;
const WAIT_FACTOR = 1.5;
/**
 * 404: the ledger has not written the intent yet, or another one answers there for now. The others are about the moment
 * only.
 */
const TRY_AGAIN = [404, 408, 425, 429];
const OPPOSITE = {
  prepared: 'failed',
  failed: 'prepared',
  committed: 'aborted',
  aborted: 'committed',
} as const satisfies Record<State, State>;

export class Reports {
  readonly #options: ReportOptions;
  readonly #pending = new Map<string, Pending>();
  /** Entries whose report may be sent now. */
  readonly #due = new Set<string>();
  #inFlight = 0;
  #isClosed = false;

  constructor(options: ReportOptions) {
    this.#options = options;
  }

  /** How many the ledger has not taken yet. */
  get size(): number {
    return this.#pending.size;
  }

  /** Reports the entry as it is now, in place of what was still to be said of it. */
  send(entry: Entry): void {
    if (this.#isClosed) return;
    const pending = this.#pending.get(entry.handle);
    if (pending?.report.state === entry.state) return;
    const report = makeReport(entry, this.#options.keys);
    if (pending !== undefined) {
      pending.report = report;
      pending.attempts = 0;
      // The report before it is in flight; once that is answered, however, this one is sent.
      if (pending.isInFlight || pending.timer === null) return;
      clearTimeout(pending.timer);
      this.#makeDue(entry.handle, pending);
      return;
    }
    const added = { report, attempts: 0, isInFlight: false, timer: null };
    this.#pending.set(entry.handle, added);
    const { chaos } = this.#options;
    if (chaos.does('late')) this.#wait(added, chaos.waitMs());
    else this.#makeDue(entry.handle, added);
  }

  /** Sends nothing more; what was not answered is left. */
  close(): void {
    this.#isClosed = true;
    for (const { timer } of this.#pending.values()) if (timer !== null) clearTimeout(timer);
    this.#pending.clear();
    this.#due.clear();
  }

  #makeDue(entry: string, pending: Pending): void {
    pending.timer = null;
    this.#due.add(entry);
    this.#pump();
  }

  #wait(pending: Pending, ms: number): void {
    pending.timer = setTimeout(() => this.#makeDue(pending.report.entry, pending), ms);
  }

  #pump(): void {
    for (const entry of this.#due) {
      if (this.#inFlight >= this.#options.inFlightMax) return;
      this.#due.delete(entry);
      const pending = this.#pending.get(entry);
      if (pending !== undefined) void this.#attempt(pending);
    }
  }

  async #attempt(pending: Pending): Promise<void> {
    const { report } = pending;
    this.#inFlight += 1;
    pending.isInFlight = true;
    const status = await this.#post(report, report.proof);
    if (isTaken(status)) await this.#misbehave(report);
    pending.isInFlight = false;
    this.#inFlight -= 1;
    if (!this.#isClosed) this.#settle(pending, report, status);
    this.#pump();
  }

  /** After an answer, or none (0). */
  #settle(pending: Pending, sent: Report, status: number): void {
    if (isFinal(status)) {
      if (!isTaken(status)) this.#options.tell(`The ledger refuses ${sent.entry} ${sent.state}: ${status}.`);
      this.#options.answered(sent.entry, sent.state, status);
      if (pending.report === sent) this.#pending.delete(sent.entry);
      else this.#makeDue(sent.entry, pending);
      return;
    }
    const wait = FIRST_WAIT_MS * WAIT_FACTOR ** pending.attempts;
    pending.attempts += 1;
    this.#wait(pending, Math.min(wait, this.#options.waitMsMax));
  }

  /** The status of the ledger's answer, 0 where none came. */
  async #post({ intent }: Report, proof: Proof): Promise<number> {
    try {
      const path = `/intents/${encodeURIComponent(intent.handle)}/proofs`;
      return await this.#options.ledger.tell(path, proof);
    } catch {
      return 0;
    }
  }

  async #misbehave(report: Report): Promise<void> {
    const { chaos } = this.#options;
    if (chaos.does('echo')) await this.#post(report, report.proof);
    if (chaos.does('lie')) await this.#post(report, this.#lie(report));
  }

  #lie({ intent, proof, state }: Report): Proof {
    const custom = { ...proof.custom, status: OPPOSITE[state] };
    // With the signature as it was, the changed status does not verify; with a new one it does, and is a lie all the
    // same.
    if (this.#options.chaos.waitMs() % 2 === 0) return { ...proof, custom };
    return makeProof(intent.hash, custom, this.#options.keys);
  }
}

function isTaken(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether asking again can change nothing: taken, or refused for what the report says. */
function isFinal(status: number): boolean {
  return isTaken(status) || (status >= 400 && status < 500 && !TRY_AGAIN.includes(status));
}

function makeReport({ handle, intent, state, moment, coreId, reason, detail }: Entry, keys: KeyPair): Report {
  const custom: JsonObject = { moment, handle, status: state };
  if (coreId !== '') custom.coreId = coreId;
  if (reason !== undefined) custom.reason = reason;
  if (detail !== undefined) custom.detail = detail;
  return { entry: handle, intent, state, proof: makeProof(intent.hash, custom, keys) };
}
