/**
 * The bank: what it answers to each request, and what it does.
 *
 * A request goes one way: verified, read, decided by the tables of machine.ts against the books, entered, written;
 * and only when it is on the device the answer leaves and the report of it is sent. A request that comes again finds
 * its entry and is answered like the first.
 *
 * What always holds: a request that is refused changes nothing; nobody is told of what is not on the device, readers
 * neither.
 */

import { type JsonObject, parseObject } from '../client/json.ts';
import { makeRecord } from '../client/records.ts';
import { encodeBase64, type KeyPair } from '../proof/keys.ts';
import {
  addUp,
  apply,
  type Books,
  BooksError,
  createBooks,
  type Entry,
  type Fact,
  type IntentName,
  recount,
} from './books.ts';
import { accountNameOf, findFailure, type House } from './decide.ts';
import { type LineDisk, Lines } from './lines.ts';
import { type Command, type Kind, type State, stepOf } from './machine.ts';
import { type Bearing, findForgery, findStranger } from './records.ts';
import { isRefusal, type Refusal, refuse } from './refusal.ts';
import type { Reports } from './reports.ts';
import { type PrepareRequest, readHandle, readIntent, readPrepare, readStatus, readStep } from './requests.ts';

export const BOOKS_FILE = 'books.jsonl';

interface BankOptions {
  disk: LineDisk;
  /** Where its file lies; it must exist, and no other process may use it. */
  directory: string;
  house: House;
  keys: KeyPair;
  clock(): number;
  /**
   * The handles that the ledger has, or had. The bank believes calls for these alone, since other ledgers share the
   * key. Empty: for the handle it has learnt, or else for any.
   */
  ledgerHandles: readonly string[];
  /** Entries the bank keeps; beyond, it prepares no more. */
  entriesMax: number;
  /** The disk failed, or the books contradict themselves: the process must end. */
  fatal(error: Error): void;
}

export interface Answer {
  status: number;
  body: string;
}

/** An account as it is to be. */
export interface AccountPlan {
  handle: string;
  amount: number;
  isActive: boolean;
}

type Handler = (id: string, bytes: Buffer, query: URLSearchParams) => Promise<Answer | Refusal>;

const PAGE_ITEMS = 1000;
const NO_SUCH_PATH = refuse(404, 'api.route-not-found', 'no such path');

export class Bank {
  readonly books: Books;
  readonly cutBytes: number;
  readonly #options: BankOptions;
  readonly #lines: Lines<Fact>;
  readonly #routes: [method: string, path: RegExp, handler: Handler][];
  #reports: Reports | null = null;

  /** Reads the books back; throws where they are damaged or do not add up. */
  constructor(options: BankOptions) {
    this.#options = options;
    this.books = createBooks();
    const take = (fact: Fact): void => apply(this.books, fact);
    const opened = Lines.open(options.disk, options.directory, BOOKS_FILE, take, options.fatal);
    this.#lines = opened.lines;
    this.cutBytes = opened.cutBytes;
    recount(this.books);
    this.#routes = [
      ['POST', /^\/(debits|credits)$/, (kind, bytes) => this.#prepare(kindOf(kind), bytes)],
      ['POST', /^\/((?:debits|credits)\/[^/]+\/(?:commit|abort))$/, (path, bytes) => this.#go(path, bytes)],
      ['PUT', /^\/intents\/([^/]+)$/, (handle, bytes) => this.#hearIntent(handle, bytes)],
      ['POST', /^\/effects\/([^/]+)$/, (handle, bytes) => this.#hearEvent(handle, bytes)],
      ['GET', /^(\/)$/, () => this.#show(this.#self())],
      ['GET', /^(\/accounts)$/, () => this.#show(this.#accounts())],
      ['GET', /^(\/entries)$/, (_, __, query) => this.#page(query, (from) => this.#entries(from))],
      ['GET', /^(\/intents)$/, (_, __, query) => this.#page(query, (from) => this.#intents(from))],
    ];
  }

  /**
   * Believes the ledger's key from now on and, where `ledgerHandles` is empty, only calls for the ledger with this
   * handle. A key other than the one believed before is an error.
   */
  async pinLedger(key: string, handle: string | null = null): Promise<void> {
    const { ledgerKey, ledgerHandle } = this.books;
    if (ledgerKey !== null && ledgerKey !== key) {
      throw new BooksError(`these books believe the ledger ${ledgerKey}, not ${key}`);
    }
    if (handle !== null && ledgerHandle === null) return this.#enter({ type: 'ledger', key, handle });
    if (ledgerKey === null) return this.#enter({ type: 'ledger', key });
  }

  /** The handles for which calls are believed; empty: those of any ledger with the key. */
  get #believed(): readonly string[] {
    const { ledgerHandles } = this.#options;
    const { ledgerHandle } = this.books;
    return ledgerHandles.length > 0 || ledgerHandle === null ? ledgerHandles : [ledgerHandle];
  }

  /** Opens the accounts that are not there yet, with their amounts, and lets each be active or not. */
  async plan(accounts: AccountPlan[]): Promise<void> {
    for (const { handle, amount, isActive } of accounts) {
      const account = this.books.accounts.get(handle);
      if (account === undefined) void this.#enter({ type: 'account', account: handle, amount });
      if ((account?.isActive ?? true) !== isActive) void this.#enter({ type: 'activity', account: handle, isActive });
    }
    await this.#lines.settled();
  }

  /** Sends its reports there from now on, first those that were never answered. */
  report(reports: Reports): void {
    this.#reports = reports;
    for (const entry of this.books.entries.values()) if (entry.told !== entry.state) reports.send(entry);
  }

  /** What became of a report. */
  told(handle: string, state: State, status: number): void {
    const entry = this.books.entries.get(handle);
    if (entry === undefined || entry.state !== state || entry.told === state) return;
    void this.#enter({ type: 'told', entry: handle, state, status });
  }

  /** Answers a request; `target` is its path and query. Rejects where the disk failed: no answer must leave. */
  async handle(method: string, target: string, bytes: Buffer): Promise<Answer> {
    // `//` is the beginning of a host.
    if (!URL.canParse(target, 'http://bank')) return this.#refusal(NO_SUCH_PATH);
    const { pathname, searchParams } = new URL(target, 'http://bank');
    const known = this.#routes.filter(([, pattern]) => pattern.test(pathname));
    if (known.length === 0) return this.#refusal(NO_SUCH_PATH);
    const route = known.find(([one]) => one === method);
    if (route === undefined) {
      const methods = known.map(([one]) => one).join(', ');
      return this.#refusal(refuse(405, 'api.route-not-found', `use ${methods}`));
    }
    const [, pattern, handler] = route;
    const answer = await handler(pattern.exec(pathname)![1]!, bytes, searchParams);
    if (!isRefusal(answer)) return answer;
    // The refusal may tell of an entry's state that is not on the device yet.
    await this.#lines.settled();
    return this.#refusal(answer);
  }

  /** A refusal as a signed answer. */
  #refusal({ status, reason, detail }: Refusal): Answer {
    return { status, body: this.#signed({ reason, detail }) };
  }

  /** Writes what is left, adds everything up, and closes the file. */
  async close(): Promise<void> {
    this.#reports?.close();
    await this.#lines.close();
    recount(this.books);
  }

  // What the ledger asks for.

  async #prepare(kind: Kind, bytes: Buffer): Promise<Answer | Refusal> {
    const data = this.#readCall(bytes);
    if (isRefusal(data)) return data;
    const request = readPrepare(data, kind, this.#ledgerKey());
    if (isRefusal(request)) return request;
    const entry = this.books.entries.get(request.handle);
    if (entry !== undefined && !this.#fits(entry, request)) return conflict(`${entry.handle} is another entry`);
    if (stepOf(entry?.state, 'prepare') === 'decide') {
      if (this.#isFull()) return full();
      void this.#enter(this.#decide(request));
    }
    return this.#accept(request.handle);
  }

  async #go(path: string, bytes: Buffer): Promise<Answer | Refusal> {
    const [place, id, command] = path.split('/') as [string, string, Exclude<Command, 'prepare'>];
    const kind = kindOf(place);
    const data = this.#readCall(bytes);
    if (isRefusal(data)) return data;
    const request = readStep(data, decode(id), command, this.#ledgerKey());
    if (isRefusal(request)) return request;
    const { handle, intent } = request;
    const entry = this.books.entries.get(handle);
    if (entry !== undefined && (entry.kind !== kind || entry.intent.hash !== intent.hash)) {
      return conflict(`${handle} is another entry`);
    }
    const step = stepOf(entry?.state, command);
    if (step === 'refuse') return conflict(`${handle} is ${entry?.state ?? 'unknown'}: no ${command}`);
    if (step !== 'repeat') {
      if (entry === undefined && this.#isFull()) return full();
      const state = step === 'commit' ? 'committed' : 'aborted';
      const moment = this.#moment();
      if (entry !== undefined) void this.#enter({ type: 'step', entry: handle, state, moment });
      else void this.#enter(abortedUnseen(handle, kind, intent, moment));
    }
    return this.#accept(handle);
  }

  async #hearIntent(id: string, bytes: Buffer): Promise<Answer | Refusal> {
    const body = parseObject(bytes);
    if (body === null) return malformed();
    const intent = readIntent(body, this.#ledgerKey());
    if (isRefusal(intent)) return intent;
    if (intent.handle !== decode(id)) return refuse(422, 'record.schema-invalid', 'handle must be the one in the path');
    const status = readStatus(body, this.#ledgerKey());
    if (status === null) return refuse(422, 'record.schema-invalid', 'the ledger has signed no status');
    if (this.books.intents.get(intent.handle) !== status) {
      void this.#enter({ type: 'intent', intent: intent.handle, status });
    }
    return this.#accept(null);
  }

  async #hearEvent(id: string, bytes: Buffer): Promise<Answer | Refusal> {
    const data = this.#read(bytes);
    if (isRefusal(data)) return data;
    const [event, signal] = [readHandle(data.handle), readHandle(data.signal)];
    if (event === null || !event.startsWith('evt_') || signal === null) {
      return refuse(422, 'record.schema-invalid', 'an event has a handle that begins with evt_, and a signal');
    }
    if (!this.books.events.has(event)) void this.#enter({ type: 'event', event, effect: decode(id), signal });
    return this.#accept(null);
  }

  /**
   * The data of a call that the ledger has signed for this very bank: else another bank could pass on a call that it
   * was sent.
   */
  #readCall(bytes: Buffer): JsonObject | Refusal {
    return this.#read(bytes, { bridge: [this.#options.house.name] });
  }

  /** The data of a body the ledger has signed. */
  #read(bytes: Buffer, to: Bearing = {}): JsonObject | Refusal {
    const body = parseObject(bytes);
    if (body === null) return malformed();
    const key = this.#ledgerKey();
    const ledger = this.#believed;
    const bearing = ledger.length === 0 ? to : { ...to, ledger };
    return findForgery(body, key, 'the body') ?? findStranger(body, key, bearing) ?? (body.data as JsonObject);
  }

  #decide(request: PrepareRequest): Fact {
    const { house } = this.#options;
    const failure = findFailure(this.books, house, request);
    return {
      type: 'entry',
      entry: request.handle,
      kind: request.kind,
      state: failure === null ? 'prepared' : 'failed',
      account: accountNameOf(house, request),
      amount: request.amount,
      intent: request.intent,
      coreId: `${house.name}-${this.books.entries.size + 1}`,
      moment: this.#moment(),
      ...failure,
    };
  }

  /**
   * Whether a prepare that came again says the same as the first. An entry that was aborted before its prepare came
   * fits any of its intent.
   */
  #fits(entry: Entry, request: PrepareRequest): boolean {
    if (entry.kind !== request.kind || entry.intent.hash !== request.intent.hash) return false;
    if (entry.account === '') return true;
    return entry.account === accountNameOf(this.#options.house, request) && entry.amount === request.amount;
  }

  /**
   * Answers 202 once all that was entered is on the device, and then reports the entry, each time it is asked for. The
   * report tells the entry's state at the time of the call: a later one need not be on the device yet.
   */
  async #accept(handle: string | null): Promise<Answer> {
    const entry = handle === null ? undefined : this.books.entries.get(handle);
    const asItIs = entry && { ...entry };
    await this.#lines.settled();
    if (asItIs !== undefined) this.#reports?.send(asItIs);
    return { status: 202, body: '{}' };
  }

  #enter(fact: Fact): Promise<void> {
    try {
      apply(this.books, fact);
    } catch (error) {
      // A bug of ours: memory can no longer be believed, the file can.
      this.#options.fatal(error as Error);
      throw error;
    }
    const written = this.#lines.append(fact);
    // Whoever has to wait does so on the same promise; a write that failed is told to `fatal`, once.
    written.catch(() => {});
    return written;
  }

  #isFull(): boolean {
    return this.books.entries.size >= this.#options.entriesMax;
  }

  #ledgerKey(): string {
    const { ledgerKey } = this.books;
    if (ledgerKey === null) throw new BooksError('a bank listens when it knows the ledger');
    return ledgerKey;
  }

  #moment(): string {
    return new Date(this.#options.clock()).toISOString();
  }

  // What it shows to people.

  async #show(data: JsonObject): Promise<Answer> {
    const body = this.#signed(data);
    await this.#lines.settled();
    return { status: 200, body };
  }

  async #page(query: URLSearchParams, show: (from: number) => JsonObject): Promise<Answer | Refusal> {
    const from = query.get('from') ?? '0';
    if (!/^\d{1,15}$/.test(from)) return refuse(400, 'api.query-malformed', 'from must be a whole number');
    return this.#show(show(Number(from)));
  }

  #signed(data: JsonObject): string {
    return JSON.stringify(makeRecord(data, { moment: this.#moment() }, this.#options.keys));
  }

  #self(): JsonObject {
    const { books } = this;
    return {
      name: this.#options.house.name,
      symbol: this.#options.house.symbol,
      public: encodeBase64(this.#options.keys.public),
      ledger: books.ledgerKey,
      accounts: books.accounts.size,
      entries: books.entries.size,
      intents: books.intents.size,
      events: books.events.size,
      reports: { waiting: this.#reports?.size ?? 0, refused: books.refusedReports },
    };
  }

  /** Every account, after adding all of them up. */
  #accounts(): JsonObject {
    addUp(this.books);
    const { accounts, opened, out, in: received } = this.books;
    return {
      accounts: [...accounts.values()].map((account) => ({ ...account })),
      opened: Number(opened),
      out: Number(out),
      in: Number(received),
    };
  }

  #entries(from: number): JsonObject {
    const { page, next } = pageOf(this.books.entries.values(), from);
    return { entries: page.map((entry) => ({ ...entry })), next };
  }

  /** Intents whose status it was told, in the order of the last news. */
  #intents(from: number): JsonObject {
    const { page, next } = pageOf(this.books.intents, from);
    return { intents: page.map(([handle, status]) => ({ handle, status })), next };
  }
}

/** Items in their order, from the `from`-th on; `next` is where the following page begins. */
function pageOf<Item>(items: Iterable<Item>, from: number): { page: Item[]; next: number } {
  const page: Item[] = [];
  let number = 0;
  for (const item of items) {
    if (page.length === PAGE_ITEMS) break;
    if (number++ >= from) page.push(item);
  }
  return { page, next: from + page.length };
}

function kindOf(path: string): Kind {
  return path === 'debits' ? 'debit' : 'credit';
}

/** The entry of an abort whose prepare never came. */
function abortedUnseen(entry: string, kind: Kind, intent: IntentName, moment: string): Fact {
  return { type: 'entry', entry, kind, state: 'aborted', account: '', amount: 0, intent, coreId: '', moment };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function conflict(detail: string): Refusal {
  return refuse(409, 'bridge.entry-conflict', detail);
}

function full(): Refusal {
  return refuse(503, 'bridge.entry-limit-exceeded', 'the bank keeps no more entries');
}

function malformed(): Refusal {
  return refuse(400, 'api.body-malformed', 'the body must be one JSON object');
}
