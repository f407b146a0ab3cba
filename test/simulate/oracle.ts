/**
 * What must be answered, and what must be on disk. The oracle stands at three borders of the server: where commands
 * enter the sequence, where frames leave for the disk, and where answers leave. It tells the model what came in which
 * order, and compares: each entry of each frame with what the model predicts, each answer with what may be told at
 * that moment, balances after each batch, everything after each start.
 *
 * Always holds: the model is where the live state is, at most one frame ahead of the disk, and goes back with it.
 */
import type { Command, DeliveryCommand } from '../../src/core/command.ts';
import { type Entry, EntryType } from '../../src/core/entry.ts';
import { isRefusal, type Refusal } from '../../src/core/refusal.ts';
import type { State } from '../../src/core/state.ts';
import { sha256Hex } from '../../src/proof/digest.ts';
import type { JournalPosition } from '../../src/storage/journal.ts';
import { accountKey } from '../core/model.ts';
import type { Json } from '../support/client.ts';
import type { Dice } from '../support/dice.ts';
import { done, type Expected, envelopeFault, refused, toldAtOnce, toldEarly, toldOfPlace } from './answers.ts';
import { entryText, factText } from './entry-text.ts';
import type { Books } from './model/books.ts';
import type { Fact, Given, Verdict } from './model/facts.ts';
import { Model } from './model.ts';
import { must, mustBeSame } from './must.ts';
import { inheritedFrom } from './older.ts';
import { Places } from './places.ts';
import { accountFault, booksFault, rowFault } from './same.ts';
import { isForged, newVisit, type Passage, type Visit } from './visit.ts';
import { type Ask, aimedAt, bearerOf, contentOf, SERVER, tokenKey, type Wish } from './wish.ts';

/** What the oracle must know of the server that runs. */
export interface Watched {
  readonly state: State;
  readonly isFailed: boolean;
  /** It is of a build before 0.3.0. */
  readonly isEarly: boolean;
  readonly inboxMax: number;
  /** What its clock says. */
  readonly wall: number;
  /** What the server takes for now, as its clock and its past allow. */
  readonly moment: number;
  /** Whether the receiver of an event has taken it. */
  wasTaken(receiver: string, seq: number, index: number): boolean;
  /** An event is given up. */
  wasGivenUp(receiver: string, seq: number, index: number): void;
  /** Whether the journal would survive a power cut as it stands. */
  isJournalDurable(): boolean;
}

/** So often a frame is looked at before its disk is late, once a second. */
const LOOKS_MAX = 3;

/** Share of the answers whose every proof is checked by another library: that costs as much as ten answers. */
const THOROUGH = 0.02;

export class Oracle {
  readonly #model: Model;
  /** As the model has them. */
  readonly books: Books;
  /** Frames so far, and how many of them the disk has. */
  frames = 0;
  durable = 0;
  /** Entries the disk has. */
  seq = 0;
  /** How often the frame was looked at that the disk does not have yet. */
  #looks = 0;
  /** The chain's hash after frames that the disk has, by the sequence numbers of their last entries. */
  readonly #chains = new Map<number, string>();
  /** How often each answer was given, by status and reason, and each thing happened. */
  readonly tally = new Map<string, number>();
  #server: Watched | null = null;
  #queue: Passage[] = [];
  readonly #places = new Places();
  /** The entries of the last frame. */
  #frame: readonly Entry[] = [];
  /** The moment of the last frame that the model has taken in. */
  #moment = 0;
  visits = 0;
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
    this.#model = new Model((moment) => {
      const value = { handle: 'system', format: 'ed25519-raw', public: SERVER.public };
      return contentOf(value, [SERVER], { moment: new Date(moment).toISOString(), status: 'created' });
    });
    this.books = this.#model.books;
  }

  /** The books begin as these. To be called before the first start. */
  inherits(state: State, seq: number): void {
    this.books.inherit(inheritedFrom(state, seq));
    this.seq = seq;
  }

  // ---------------------------------------------------------------- at the door

  /** A request is about to be handed over. */
  arrives(ask: Ask): Visit {
    const server = this.#server!;
    const ledger = this.#ledgerOf(ask);
    const visit = newVisit(++this.visits, ask, ledger);
    if (server.isFailed) visit.expected = STOPPED;
    else if (ask.method !== 'GET' && this.#isCutOff) visit.expected = CUT_OFF;
    else if (ask.method !== 'GET' && !this.#places.hasOne(ledger, server.inboxMax))
      visit.expected = refused('api.rate-limit-exceeded');
    return visit;
  }

  /** Index of the ledger that a request names, or -1: what was lost with the power has another one, or is not there. */
  #ledgerOf({ headers }: Ask): number {
    const selected = headers['x-ledger'] ?? '';
    return selected === '' ? 1 : this.books.ledgerOf(selected);
  }

  /** A second has passed. */
  looked(): void {
    if (this.frames > this.durable) this.#looks++;
  }

  /** The disk has not answered for so long that nothing is told any more of the books, nor let in. */
  get #isCutOff(): boolean {
    return this.#looks > LOOKS_MAX;
  }

  /** A request waits for its ledger's turn. */
  waits({ ledger }: Visit): void {
    this.#places.take(ledger);
  }

  /** It has its turn. */
  hasTurn({ ledger }: Visit): void {
    this.#places.leave(ledger);
  }

  /** Work on a request begins. */
  begins(visit: Visit): void {
    if (visit.expected !== null) return;
    const server = this.#server!;
    visit.isBegun = true;
    if (server.isFailed) visit.expected = STOPPED;
    else {
      visit.ledger = this.#ledgerOf(visit.ask);
      visit.ask = aimedAt(visit.ledger, visit.ask);
      visit.expected = toldOfPlace(visit.ask, visit.ledger);
      // A token that was verified before is not verified again.
      if (visit.expected === null) this.#goesOn(visit);
      else this.#waits(visit);
    }
  }

  /** The token of a request goes to be verified: until that is done nobody knows what it will be told. */
  shows(visit: Visit): void {
    const { ask, ledger, expected } = visit;
    must(
      ask.token !== null || ask.flaw === 'token',
      `${ask.method} ${ask.path} has a token verified that it does not have`,
    );
    must(toldOfPlace(ask, ledger) === null, `${ask.method} ${ask.path} has its token verified, and is nowhere`);
    visit.isShowing = true;
    if (ask.method !== 'GET') this.#places.take(ledger);
    if (expected === STOPPED) return;
    visit.expected = null;
    visit.frame = 0;
  }

  /** It is verified. */
  hasShown(visit: Visit): void {
    const { ask, ledger } = visit;
    must(visit.isShowing, `the token of ${ask.method} ${ask.path} is verified twice`);
    visit.isShowing = false;
    if (ask.method !== 'GET') this.#places.leave(ledger);
    if (visit.isAborted) return;
    if (this.#server!.isFailed) Object.assign(visit, { expected: STOPPED, frame: 0 });
    else this.#goesOn(visit);
  }

  /** What it asks for is looked at, by the books and the clock as they are. */
  #goesOn(visit: Visit): void {
    visit.expected = toldEarly(visit.ask, this.books, this.#server!.wall);
    if (visit.expected === null) this.#enters(visit, visit.ask.token === null);
    else this.#waits(visit);
  }

  /** A request comes in; its own business begins once it has shown its token, if it has one. */
  #enters(visit: Visit, isShown: boolean): void {
    const { ask, ledger } = visit;
    if (isShown) visit.expected = toldAtOnce(ask, this.books);
    // That its token is used up would wait for the disk.
    else if (this.#isCutOff) visit.expected = CUT_OFF;
    else if (!this.#places.hasOne(ledger, this.#server!.inboxMax)) visit.expected = refused('api.rate-limit-exceeded');
    this.#waits(visit);
  }

  /** What a request is told of the books as they are, it must not be told before the disk has them. */
  #waits(visit: Visit): void {
    visit.frame = visit.expected?.ofBooks === true ? this.frames : 0;
  }

  /** A command enters the sequence; `visit` is null for what the server asks of itself, `wish` says what that is. */
  submitted(command: Command, visit: Visit | null, wish: Wish | null): Passage {
    must(visit?.expected == null, `a request entered the sequence that should be told ${tellOf(visit?.expected)}`);
    must(visit?.isShowing !== true, 'a request entered the sequence while its token is being verified');
    must(command.moment === this.#server!.moment, `a command has moment ${command.moment}`);
    if (visit !== null && command.op !== 'token') this.#checkNamed(wish!, command.luid);
    if (command.op === 'delivery') this.#checkDelivery(command);
    const passage: Passage = { visit, wish, command, verdict: null };
    this.#queue.push(passage);
    this.#places.take(command.ledger);
    return passage;
  }

  /** A command leaves the sequence before it was cleared; its request waits for another turn. */
  goesBack(passage: Passage): void {
    const at = this.#queue.indexOf(passage);
    must(at >= 0 && passage.verdict === null, 'a command goes back that was cleared');
    this.#queue.splice(at, 1);
  }

  /** Its request has that turn, and enters with what it had shown by then. */
  comesAgain({ visit, command }: Passage): void {
    this.#places.leave(command.ledger);
    if (visit === null || visit.isAborted) return;
    if (this.#server!.isFailed) visit.expected = STOPPED;
    else this.#enters(visit, command.op !== 'token');
  }

  /** Commands that have no answer yet. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Nothing waits or is on its way, and the disk has all there is: then the last entry alone says when now is at the earliest. */
  get isQuiet(): boolean {
    return this.durable === this.frames && this.#places.areFree;
  }

  /** When the last frame was. */
  get moment(): number {
    return this.#moment;
  }

  // ---------------------------------------------------------------- at the disk

  /** A batch was cleared: these entries, and nothing else, go to the disk in one frame. */
  cleared(entries: readonly Entry[], moment: number): void {
    must(moment >= this.#moment, `the moment of a frame goes back from ${this.#moment} to ${moment}`);
    must(this.durable === this.frames, 'a batch is cleared before the disk has the one before');
    this.books.keep();
    this.books.isEarly = this.#server!.isEarly;
    this.#moment = moment;
    this.#frame = entries;
    this.frames++;
    this.#looks = 0;
    const touched = new Set<string>();
    let at = 0;
    const take = (facts: readonly Fact[]) => {
      for (const fact of facts) {
        must(at < entries.length, `the frame lacks the ${fact.type} of ${fact.luid}`);
        this.#compare(entries[at++]!, fact);
        touched.add(fact.luid);
        this.#count(fact);
      }
    };
    const luidAt = (own: number) => entries[at + own]?.luid ?? 'none';
    for (;;) {
      const [due] = this.#model.intents.overdue(moment);
      const entry = entries[at];
      if (due === undefined || entry?.type !== EntryType.step || entry.luid !== due.luid) break;
      // Until the tick comes, what the server notes of a call of an overdue intent still counts.
      if (entry.outcome.reason !== 'core.intent-expired') break;
      const time = { companion: '', bearer: [], moment, now: moment, luidAt };
      take(this.#model.intents.expire(due, { ...time, luid: due.luid }));
    }
    for (const passage of this.#queue) {
      if (at === entries.length) break;
      if (passage.verdict !== null || isForged(passage)) continue;
      const verdict = this.#decide(passage, moment, luidAt);
      if ('facts' in verdict) take(verdict.facts);
    }
    const odd = entries[at];
    must(odd === undefined, `nobody asked for ${odd === undefined ? '' : entryText(odd, this.#server!.state)}`);
    must(this.books.seq === this.seq + entries.length, 'the sequence has a gap');
    this.#compareTouched(touched);
  }

  #decide(passage: Passage, now: number, luidAt: Given['luidAt']): Verdict {
    const { command } = passage;
    const companion = command.op === 'create' ? (command.companion?.luid ?? '') : '';
    const { luid, moment } = command;
    const bearer = bearerOf(passage.visit?.ask.token ?? null);
    passage.verdict = this.#verdict(passage, { luid, companion, bearer, moment, now, luidAt });
    return passage.verdict;
  }

  #verdict({ command, wish, visit }: Passage, given: Given): Verdict {
    const model = this.#model;
    if (command.op === 'token') {
      const token = visit!.ask.token!;
      return model.useToken(token, given, sha256Hex(tokenKey(token)));
    }
    if (command.op === 'delivery') return model.noteDelivery(command.receiver, given);
    if (command.op === 'leg') return model.noteLeg(command.luid, command.leg, command.state, command.result, given);
    return model.clear(wish!, given);
  }

  /** The record that a path means at the door is the one that the live books have there. */
  #checkNamed(wish: Wish, luid: string): void {
    if (wish.op === 'create' || wish.op === 'assign' || wish.op === 'remove' || wish.kind === 'ledger') return;
    const named = this.books.named(wish.ledger, wish.kind, wish.id)?.luid ?? '';
    must(luid === named, `${wish.id} is taken for ${luid} at the door, and is ${named}`);
  }

  /** What counts as delivered was taken by the other side; what is given up is not waited for, as soon as it is. */
  #checkDelivery(command: DeliveryCommand): void {
    const { receiver, seq, index, isDelivered } = command;
    if (isDelivered) must(this.#server!.wasTaken(receiver, seq, index), `event ${seq}.${index} was not taken`);
    else this.#server!.wasGivenUp(receiver, seq, index);
  }

  #count({ type, ending, status }: Fact): void {
    const word = ending === undefined ? (status ?? '') : `${ending.steps.at(-1) ?? 'waiting'} ${ending.reason}`;
    const key = `${type} ${type === 'proof' && word !== '' ? 'status' : word}`.trimEnd();
    this.tally.set(key, (this.tally.get(key) ?? 0) + 1);
  }

  #compare(entry: Entry, fact: Fact): void {
    const is = entryText(entry, this.#server!.state);
    const should = factText(fact);
    must(is === should, `the frame holds ${is}, and should hold ${should}`);
  }

  #compareTouched(luids: ReadonlySet<string>): void {
    const { state } = this.#server!;
    const { records, money } = this.books;
    for (const luid of luids) {
      const record = records.get(luid);
      if (record === undefined) continue;
      mustBeSame(rowFault(state, record));
      const { nets = [], limits = [] } = record.progress ?? {};
      for (const { wallet, symbol } of [...nets, ...limits]) {
        const key = accountKey(wallet, symbol);
        const account = money.accounts.get(key);
        if (account !== undefined) mustBeSame(accountFault(state, this.books, key, account));
      }
    }
  }

  /** Those who listen hear of exactly what was written, once the disk has it. */
  published(entries: readonly Entry[], seq: number): void {
    if (entries.length === 0) return;
    must(seq === this.seq, `entries are published as those up to ${seq}, and go to ${this.seq}`);
    must(this.frames === this.durable, 'entries are published before the disk has them');
    const isSame = entries.length === this.#frame.length && entries.every((entry, n) => entry === this.#frame[n]);
    must(isSame, 'what is published is not what was written');
  }

  /** The disk says that it has the frame. */
  synced({ seq, chain }: JournalPosition): void {
    this.durable = this.frames;
    this.#looks = 0;
    this.seq = this.books.seq;
    must(seq === this.seq, `the journal ends at ${seq}, and ${this.seq} entries are on the disk`);
    this.#chains.set(seq, hexOf(chain));
  }

  // ---------------------------------------------------------------- on the way out

  /** A command is answered by the engine, before anything is told to its client. */
  answered(passage: Passage, outcome: Entry[] | Refusal): void {
    const at = this.#queue.indexOf(passage);
    must(at >= 0, 'a command is answered twice');
    this.#queue.splice(at, 1);
    const { visit, command } = passage;
    this.#places.leave(command.ledger);
    if (isRefusal(outcome) && outcome.reason === 'api.unexpected-error') {
      must(this.#server!.isFailed, `a command is refused: ${outcome.detail}`);
      if (visit !== null) Object.assign(visit, { expected: STOPPED, frame: 0 });
      return;
    }
    if (isForged(passage)) {
      must(isRefusal(outcome), 'a forged signature let a request in');
      must(outcome.reason === 'crypto.signature-invalid', `a forged signature is refused as ${outcome.reason}`);
      visit!.expected = refused(outcome.reason);
      return;
    }
    const ahead = this.#queue.slice(0, at).find((other) => !isForged(other));
    must(ahead === undefined, `${command.op} ${command.luid} overtook ${ahead?.command.op} ${ahead?.command.luid}`);
    // What changes nothing is in no frame: it is decided where it is answered.
    const verdict = passage.verdict ?? this.#decide(passage, this.#server!.moment, () => 'none');
    const is = isRefusal(outcome) ? outcome.reason : `${outcome.length} entries`;
    const should = 'no' in verdict ? verdict.no : `${verdict.own} entries`;
    must(is === should, `${command.op} ${command.luid} comes to ${is}, and should to ${should}`);
    must(this.frames === this.durable, `${command.op} ${command.luid} is answered before the disk has its batch`);
    if (this.frames > 0)
      must(this.#server!.isJournalDurable(), 'an answer leaves, and the journal is not on the device');
    if (visit === null) return;
    // It may be forgotten by now: a later one of the same batch can end long after it.
    if (command.op === 'token' && 'facts' in verdict) return this.#enters(visit, true);
    visit.expected = 'no' in verdict ? refused(verdict.no) : done(visit.ask, command.luid, this.books);
  }

  /** An answer leaves. */
  leaves(visit: Visit, status: number, text: string): void {
    const { ask } = visit;
    const isCutOff = this.#isCutOff && visit.expected?.ofBooks === true;
    const { expected, frame } = isCutOff ? { expected: CUT_OFF, frame: 0 } : visit;
    must(!visit.isTold, 'a request is answered twice');
    visit.isTold = true;
    const body: Json = text === '' ? null : JSON.parse(text);
    const reason: string = status >= 400 ? body.data.reason : '';
    const key = `${status} ${reason}`.trimEnd();
    this.tally.set(key, (this.tally.get(key) ?? 0) + 1);
    const what = `${ask.method} ${ask.path}`;
    if (this.#server!.isFailed && status === 503) return;
    must(expected !== null, `${what} is told ${key} before it was decided`);
    const should = `${expected.status} ${expected.reason}`.trimEnd();
    must(key === should, `${what} is told ${key}, and should be told ${should}: ${text.slice(0, 300)}`);
    must(frame <= this.durable, `${what} is told ${key} of a frame that the disk does not have`);
    if (status === 204) return;
    if (reason !== '') this.#checkMoment(body.meta.moment, what);
    if (typeof body !== 'string') {
      const fault = envelopeFault(body, this.#dice.chance(THOROUGH));
      must(fault === '', `the answer to ${what} ${fault}`);
    }
    if (ask.wish.op === 'head' && status === 200) {
      const { seq, chain } = body.data;
      must(seq === this.seq, `the head is told as ${seq}, and ${this.seq} entries are on the disk`);
      must(chain === this.#chains.get(seq), `the head at ${seq} is told as ${chain}`);
    }
    if (ask.wish.op === 'events' && status === 200) {
      const early = body.data.find(({ seq }: Json) => seq > this.seq);
      must(early === undefined, `event ${early?.seq} is told before the disk has it`);
    }
    const fault = expected.check(body);
    must(fault === '', `the answer to ${what}: ${fault}`);
  }

  /** What is refused is refused now: by the ledger's clock, or by the wall's, which may have gone back behind it. */
  #checkMoment(moment: string, what: string): void {
    const { wall, moment: now } = this.#server!;
    const isNow = [wall, now].some((each) => new Date(each).toISOString() === moment);
    must(isNow, `${what} is refused at ${moment}, and it is ${new Date(now).toISOString()}`);
  }

  // ---------------------------------------------------------------- from one process to the next

  /** A server has read its books, and this is where they end. */
  starts(server: Watched, { seq, chain, moment }: JournalPosition): void {
    this.#server = server;
    const { books } = this;
    this.#queue = [];
    this.#places.clear();
    if (seq !== books.seq) {
      must(seq === this.seq, `${seq} entries are found: ${this.seq} were acknowledged, ${books.seq} written`);
      books.goBack();
    }
    books.keep();
    // What came through without anybody hearing of it counts from now on.
    const told = this.#chains.get(seq) ?? hexOf(chain);
    must(told === hexOf(chain), `entry ${seq} is the end of another history than the one that was told`);
    this.#chains.set(seq, told);
    this.durable = this.frames;
    this.#looks = 0;
    this.seq = seq;
    this.#moment = moment;
    this.checkBooks();
  }

  /** Everything is as the model has it. */
  checkBooks(): void {
    mustBeSame(booksFault(this.#server!.state, this.books));
  }

  /** After a tick with nothing else under way, no intent waits that should not. */
  checkExpired(moment: number): void {
    const [late] = this.#model.intents.overdue(moment);
    must(late === undefined, `${late?.handle} should have expired`);
  }
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const STOPPED = refused('api.unexpected-error');
const CUT_OFF = refused('api.unexpected-error');

function tellOf(expected: Expected | null | undefined): string {
  return `${expected?.status} ${expected?.reason}`;
}
