/**
 * The other systems: hooks that hear of events, and banks that take part in intents through bridges. They are slow, down
 * for a while, answer twice, late or not at all, and banks say what nobody asked for; but each keeps its own books, and
 * what must hold is that these agree with the ledger's in the end.
 *
 * What is checked as it comes: events tell only what is on the ledger's disk, each effect hears of all it asked for, in
 * order; a bank is asked the same thing in the same words, commits only what it said it prepared, and never both commits
 * and aborts.
 */
import type { Answer, Call, OutgoingCall } from '../../src/effects/outgoing.ts';
import { canon } from '../../src/proof/canon.ts';
import { type Json, verifyRecord } from '../support/client.ts';
import type { Dice } from '../support/dice.ts';
import type { Loop } from './loop.ts';
import type { Books } from './model/books.ts';
import { eventHandle, type Happening } from './model/happenings.ts';
import { type Leg, legHandle, saidOf } from './model/legs.ts';
import type { Rec } from './model/record.ts';
import { must } from './must.ts';
import { type Ask, KEYS, type Key, proofBody, SERVER, signHash } from './wish.ts';

export interface NetworkWorld {
  readonly loop: Loop;
  readonly dice: Dice;
  readonly books: Books;
  /** Entries that the ledger's disk has. */
  durable(): number;
  /** Sends a request to the server that runs, if any; `done` is told the status, 0 where there was no answer. */
  send(ask: Ask, done: (status: number) => void): void;
  tell(line: string): void;
}

/** A debit or credit as its bank knows it. */
interface Entry {
  readonly handle: string;
  /** Of the intent, by which reports find it. */
  readonly luid: string;
  readonly ledger: number;
  /** The words in which it was asked for; empty where only its end was ever heard of. */
  readonly text: string;
  state: 'prepared' | 'failed' | 'committed' | 'aborted';
  /** It must still tell the ledger so. */
  isUnsaid: boolean;
  /** The ledger has heard of it. */
  isKnown: boolean;
  /** Not said again before. */
  sayAt: number;
}

const UNDONE = ['aborting', 'dismissing'];

type Mood = 'well' | 'odd' | 'down';

const HOOK_HOST = 'hook.test';
const BANK_HOST = 'bank.test';
/** Whoever speaks for banks, and in ledgers where only one key may do anything. */
const BANKER = KEYS[2]!;
const ONLY_ONE = KEYS[0]!;

export const hookUrl = (name: string): string => `http://${HOOK_HOST}/${name}`;
/** A bank is known to one ledger, under the handle of its bridge. */
export const bankUrl = (ledger: number, bridge: string): string => `http://${BANK_HOST}/${ledger}-${bridge}`;

export class Network {
  readonly #world: NetworkWorld;
  readonly #entries = new Map<string, Entry>();
  /** By luid of the effect: its events that were taken, and those that were given up. */
  readonly #heard = new Map<string, Set<string>>();
  readonly #givenUp = new Map<string, Set<string>>();
  readonly #bodies = new Map<string, string>();
  /** Events by the handle they are told under. */
  readonly #happenings = new Map<string, Happening>();
  #indexed = 0;
  #isHonest = false;
  mood: Mood = 'well';
  /** Calls that came through. */
  calls = 0;

  constructor(world: NetworkWorld) {
    this.#world = world;
  }

  /** What the server calls, in place of sockets. */
  readonly call: Call = (call) => {
    this.#mustBeDurable(call);
    const { loop } = this.#world;
    const { owner } = loop;
    return new Promise((resolve) => {
      const back = (answer: Answer) => loop.after(this.#latency(), () => resolve(answer), owner);
      call.signal?.addEventListener('abort', () => back({ error: 'called off' }));
      const arrive = () => {
        if (call.signal?.aborted !== true) back(this.#answer(call));
      };
      loop.after(this.#latency(), arrive, loop.world);
    });
  };

  /** What leaves the server tells only of what its disk has, by then and not just when it arrives. */
  #mustBeDurable({ url, body: words }: OutgoingCall): void {
    const { host, pathname } = new URL(url);
    const [, , what, ofLeg, action] = pathname.split('/');
    if (host === BANK_HOST && (what === 'debits' || what === 'credits')) {
      const handle = ofLeg ?? (JSON.parse(words) as Json).data.handle;
      const states = action === undefined ? ['preparing'] : action === 'commit' ? ['committing'] : UNDONE;
      const seq = states
        .map((state) => this.#world.books.asked.get(`${handle} ${state}`))
        .find((at) => at !== undefined);
      must(seq !== undefined, `a bank is told to ${action ?? 'prepare'} ${handle}, which nobody asked for`);
      must(
        seq <= this.#world.durable(),
        `a bank is told to ${action ?? 'prepare'} ${handle}, and the disk does not know`,
      );
    }
  }

  #answer(call: OutgoingCall): Answer {
    const { dice } = this.#world;
    this.calls++;
    // What goes to a bridge that is no more has no address.
    if (this.mood === 'down' || call.url.startsWith('http://-')) return { error: 'ECONNREFUSED' };
    const isOdd = this.mood === 'odd';
    if (isOdd && dice.chance(0.3))
      return dice.pick<Answer>([{ status: 503 }, { status: 500 }, { error: 'ECONNRESET' }]);
    const status = this.#take(call);
    // It was done, and nobody hears of it.
    return isOdd && dice.chance(0.3) ? { error: 'ECONNRESET' } : { status };
  }

  #latency(): number {
    const { dice } = this.#world;
    return this.mood === 'odd' && dice.chance(0.1) ? dice.between(100, 20_000) : dice.roll() * 4;
  }

  #take({ method, url: text, body: words }: OutgoingCall): number {
    const { dice, books } = this.#world;
    const { host, pathname } = new URL(text);
    this.#world.tell(`call ${method} ${host}${pathname}`);
    const body = JSON.parse(words) as Json;
    if (dice.chance(0.02)) verifyRecord(body, SERVER.public);
    const [, bank, what, handle, action] = pathname.split('/').map(decodeURIComponent) as [
      string,
      string,
      string,
      string,
      string,
    ];
    if (host === HOOK_HOST) return this.#hear(this.#effectAt(text), body, words);
    const ledger = Number(bank.split('-')[0]);
    if (what === 'effects') return this.#hear(books.find(ledger, 'effect', handle), body, words);
    if (what === 'intents')
      return this.#hearStatus(books.find(ledger, 'bridge', bank.slice(bank.indexOf('-') + 1)), body);
    return action === undefined ? this.#prepare(ledger, body, words) : this.#end(ledger, handle, action, body);
  }

  // ---------------------------------------------------------------- events

  /** Whoever listens there now; an effect that was dropped may have been made again in the same words. */
  #effectAt(endpoint: string): Rec | null {
    let found: Rec | null = null;
    for (const record of this.#world.books.records.values()) {
      if (record.kind !== 'effect' || endpointOf(record.content.value) !== endpoint) continue;
      if (!record.isDropped) return record;
      found = record;
    }
    return found;
  }

  #hear(effect: Rec | null, body: Json, words: string): number {
    this.#index();
    const { handle, signal } = body.data;
    const happening = this.#happenings.get(handle);
    must(happening !== undefined, `an event is told that is not on the disk: ${signal} ${handle}`);
    must(happening.signal === signal, `${handle} is told as ${signal}, and is ${happening.signal}`);
    const before = this.#bodies.get(handle) ?? words;
    must(before === words, `event ${handle} is told again in other words`);
    this.#bodies.set(handle, words);
    const { kind } = this.#world.books.records.get(happening.luid)!;
    must(body.data[kind] !== undefined, `${signal} shows no ${kind}`);
    this.#mustTellOf(happening, body.data);
    if (effect === null || effect.isDropped) return 200;
    // A call may be on its way for long: longer than the effect that it was made for, and until there is another.
    if (happening.seq <= effect.wishes[0]!.seq && this.#hadBefore(effect)) return 200;
    const heard = setIn(this.#heard, effect.luid);
    const key = keyOf(happening);
    if (heard.has(key) || setIn(this.#givenUp, effect.luid).has(key)) heard.add(key);
    else {
      const next = this.#awaited(effect);
      const name = next === undefined ? 'nothing' : `${next.signal} ${keyOf(next)}`;
      must(next === happening, `${effect.handle} hears of ${signal} ${key}, and waits for ${name}`);
      heard.add(key);
    }
    return 200;
  }

  /** An event about money names whose, of what, and how much. */
  #mustTellOf({ signal, luid, wallet, symbol, amount }: Happening, data: Json): void {
    if (wallet === '') return;
    const told = [data.intent.luid, data.wallet.luid, data.symbol.luid, data.amount];
    const wanted = [luid, wallet, symbol, amount];
    must(canon(told) === canon(wanted), `${signal} tells of ${told}, and it was ${wanted}`);
  }

  /** Whether an effect that was dropped had the name or the address of this one. */
  #hadBefore({ ledger, handle, content }: Rec): boolean {
    const endpoint = endpointOf(content.value);
    return [...this.#world.books.records.values()].some(
      (each) =>
        each.kind === 'effect' &&
        each.isDropped &&
        ((each.ledger === ledger && each.handle === handle) ||
          (endpoint !== undefined && endpointOf(each.content.value) === endpoint)),
    );
  }

  /** The first of what an effect asked for and has not been told; what was given up is not waited for. */
  #awaited(effect: Rec): Happening | undefined {
    const heard = setIn(this.#heard, effect.luid);
    const givenUp = setIn(this.#givenUp, effect.luid);
    const [first] = effect.wishes;
    for (const happening of this.#world.books.happenings.values()) {
      const { seq, ledger, signal, amount } = happening;
      if (ledger !== effect.ledger || seq <= first!.seq || seq > this.#world.durable()) continue;
      const wish = effect.wishes.findLast((each) => each.seq <= seq);
      if (wish?.signal !== signal || amount < wish.least) continue;
      if (!heard.has(keyOf(happening)) && !givenUp.has(keyOf(happening))) return happening;
    }
    return undefined;
  }

  /** Gives what has become durable since the handles under which it may be told. */
  #index(): void {
    const durable = this.#world.durable();
    for (const happening of this.#world.books.happenings.values()) {
      if (happening.seq <= this.#indexed || happening.seq > durable) continue;
      this.#happenings.set(eventHandle(happening), happening);
    }
    this.#indexed = durable;
  }

  /** Whether the receiver of an event, as the server notes it, has taken it. */
  wasTaken(receiver: string, seq: number, index: number): boolean {
    return setIn(this.#heard, receiver).has(`${seq} ${index}`);
  }

  wasGivenUp(receiver: string, seq: number, index: number): void {
    setIn(this.#givenUp, receiver).add(`${seq} ${index}`);
  }

  /** A bridge hears how an intent goes on that it takes part in: of every step, in order. */
  #hearStatus(bridge: Rec | null, body: Json): number {
    const { books } = this.#world;
    const { luid } = body;
    must(books.records.get(luid)?.kind === 'intent', `a bank hears of ${luid}, which is no intent`);
    this.#index();
    const { length } = body.meta.proofs;
    const isIt = ({ signal, luid: of, proofs }: Happening) =>
      signal === 'intent-updated' && of === luid && proofs === length;
    const happening = [...this.#happenings.values()].find(isIt);
    must(happening !== undefined, `a bank hears of ${luid} with ${length} proofs, which the disk never had`);
    if (bridge === null) return 200;
    const wish = bridge.wishes.at(-1);
    const heard = setIn(this.#heard, bridge.luid);
    const key = keyOf(happening);
    // It may ask for nothing any more, or anew: a call may be on its way for long.
    const isAwaited = wish !== undefined && wish.signal !== '' && happening.seq > wish.seq;
    if (isAwaited && !heard.has(key) && !setIn(this.#givenUp, bridge.luid).has(key)) {
      must(happening.bridges.includes(bridge.luid), `${bridge.handle} hears of ${luid}, and takes no part`);
      const next = this.#awaitedStatus(bridge);
      must(next === happening, `${bridge.handle} hears of ${key}, and waits for ${next && keyOf(next)}`);
    }
    heard.add(key);
    return 200;
  }

  /** The first status that a bridge wants to hear of and was not told. */
  #awaitedStatus({ luid, wishes }: Rec): Happening | undefined {
    const wish = wishes.at(-1);
    if (wish === undefined || wish.signal === '') return undefined;
    const heard = setIn(this.#heard, luid);
    const givenUp = setIn(this.#givenUp, luid);
    for (const happening of this.#world.books.happenings.values()) {
      const { seq, signal, bridges } = happening;
      if (seq <= wish.seq || seq > this.#world.durable() || signal !== wish.signal || !bridges.includes(luid)) continue;
      if (!heard.has(keyOf(happening)) && !givenUp.has(keyOf(happening))) return happening;
    }
    return undefined;
  }

  // ---------------------------------------------------------------- banks

  #prepare(ledger: number, body: Json, words: string): number {
    const { dice } = this.#world;
    const { handle, intent, amount, schema } = body.data;
    const known = this.#entries.get(handle);
    if (known !== undefined) {
      must(known.text === '' || known.text === words, `${handle} is asked for again in other words`);
      known.isUnsaid = true;
      return 202;
    }
    const leg = this.#legOf(intent.luid, handle);
    must(leg !== undefined, `a bank is asked for ${handle}, which nobody knows`);
    must(
      leg.side === schema && leg.amount === amount,
      `a bank is asked for a ${schema} of ${amount}: ${JSON.stringify(leg)}`,
    );
    this.#mustNameRight(intent.luid, leg, body.data);
    const state = dice.chance(0.85) ? 'prepared' : 'failed';
    // Some banks never say how it went, until they are well again.
    const isUnsaid = this.#isHonest || dice.chance(0.95);
    this.#entries.set(handle, {
      handle,
      luid: intent.luid,
      ledger,
      text: words,
      state,
      isUnsaid,
      isKnown: false,
      sayAt: 0,
    });
    return this.mood === 'odd' && dice.chance(0.05) ? 501 : 202;
  }

  /** A bank learns from an entry whose account it is about. */
  #mustNameRight(luid: string, leg: Leg, data: Json): void {
    const record = this.#world.books.records.get(luid)!;
    const own = leg.side === 'debit' ? 'source' : 'target';
    for (const member of ['source', 'target', 'symbol'] as const) {
      const said = saidOf(record, leg, member);
      const told = data[member] === undefined ? '' : canon(data[member]);
      // Where claims differ the other side is left out, and the wallet and the symbol are told by their bare handles.
      const bare = member === own || member === 'symbol' ? canon({ handle: data[member]?.handle }) : '';
      must(told === (said ?? bare), `a bank is told of ${member} ${told}, and the claims say ${said}`);
    }
    must(canon(data.inputs) === canon(leg.claims), `a bank is told of claims ${data.inputs}, not ${leg.claims}`);
  }

  #end(ledger: number, handle: string, action: string, body: Json): number {
    const { luid } = body.data.intent;
    const known = this.#entries.get(handle);
    must(body.data.handle === handle && body.data.action === action, `a call about ${handle} says ${body.data.action}`);
    if (action === 'commit') {
      must(
        known?.state === 'prepared' || known?.state === 'committed',
        `${handle} is to be committed, and is ${known?.state}`,
      );
    } else must(known?.state !== 'committed', `${handle} is to be aborted, and is committed`);
    const state = action === 'commit' ? 'committed' : 'aborted';
    const entry = known ?? { handle, luid, ledger, text: '' };
    const isSlow = !this.#isHonest && this.#world.dice.chance(0.3);
    const sayAt = isSlow ? this.#world.loop.now + this.#world.dice.between(20, 3000) : 0;
    this.#entries.set(handle, { ...entry, state, isUnsaid: true, isKnown: false, sayAt });
    return 202;
  }

  #legOf(luid: string, handle: string) {
    const record = this.#world.books.records.get(luid);
    return record?.progress?.legs.find((_, n) => legHandle(record, n) === handle);
  }

  /** Banks say what they have to say, again and again until they are answered. To be called now and then. */
  sayAll(): void {
    const { dice, loop } = this.#world;
    for (const entry of this.#entries.values()) {
      if (entry.sayAt > loop.now) continue;
      entry.sayAt = loop.now + dice.between(20, 3000);
      if (entry.isUnsaid && dice.chance(this.mood === 'well' ? 0.9 : 0.4)) this.#say(entry);
      else if (!this.#isHonest && dice.chance(this.mood === 'odd' ? 0.5 : 0.3)) this.#sayOdd(entry);
    }
  }

  #say(entry: Entry): void {
    const { state } = entry;
    const words = state === 'failed' ? { reason: 'bridge.account-inactive', detail: 'no such account' } : {};
    // Others say the same in the bank's place: where they may not, it must still say so itself.
    const { dice, books } = this.#world;
    const mayAnybody = books.ledgerRecord(entry.ledger).handle === 'main';
    const isOther = mayAnybody ? !this.#isHonest && dice.chance(0.15) : dice.chance(0.5);
    const key = isOther ? dice.pick(KEYS) : undefined;
    const custom = { handle: entry.handle, status: state, ...words };
    const ask = this.#report(entry, custom, key);
    if (ask === null) return;
    // Who does not hear the answer in time says it again, and not to the letter.
    const isRepeated = !this.#isHonest && dice.chance(0.2);
    const again = isRepeated ? this.#report(entry, { ...custom, coreId: 'again' }, key) : null;
    if (again !== null) this.#world.send(again, () => {});
    this.#world.send(ask, (status) => {
      // Whatever else was answered: the ledger has heard it.
      if (status > 0 && status < 500 && status !== 429 && status !== 403)
        Object.assign(entry, { isUnsaid: false, isKnown: true });
    });
  }

  /** Twice, too late, contradicting itself, or about what is not there: what changes nothing, once the truth was told. */
  #sayOdd(entry: Entry): void {
    const { dice } = this.#world;
    if (!entry.isKnown) return;
    const { handle, state } = entry;
    const coreId = String(dice.below(1000));
    const custom = dice.weigh<Record<string, unknown>>([
      [{ handle, status: state, coreId }, 1],
      [{ handle, status: state === 'prepared' ? 'failed' : 'prepared', coreId }, 4],
      [{ handle: `${handle}9`, status: dice.pick(['failed', 'committed', 'aborted']) }, 1],
      [{ handle, status: 'waiting' }, 1],
    ]);
    const ask = this.#report(entry, custom, dice.chance(0.1) ? dice.pick(KEYS) : undefined);
    if (ask !== null) this.#world.send(ask, () => {});
  }

  #report({ luid, ledger }: Entry, custom: Record<string, unknown>, key?: Key): Ask | null {
    const { books } = this.#world;
    const record = books.records.get(luid);
    if (record === undefined) return null;
    const { hash } = record.content;
    const home = books.ledgerRecord(ledger);
    const proof = signHash(hash, key ?? (home.handle === 'narrow' ? ONLY_ONE : BANKER), custom);
    return {
      method: 'POST',
      path: `/v2/intents/${luid}/proofs`,
      query: '',
      headers: { 'x-ledger': home.luid },
      body: Buffer.from(JSON.stringify(proofBody(hash, proof))),
      wish: { op: 'proof', ledger, kind: 'intent', id: luid, hash, proof },
      flaw: null,
      token: null,
      wait: null,
    };
  }

  // ---------------------------------------------------------------- in the end

  /** Everybody is there, honest and quick, and says again whatever may have been missed. */
  becomeWell(): void {
    this.mood = 'well';
    this.#isHonest = true;
    for (const entry of this.#entries.values()) entry.isUnsaid = true;
  }

  /** What the ledger still owes to others, in words; '' for nothing. */
  owed(): string {
    for (const record of this.#world.books.records.values()) {
      const { kind, isDropped, progress } = record;
      const next = kind === 'effect' && !isDropped && this.#hasAddress(record) ? this.#awaited(record) : undefined;
      if (next !== undefined) return `effect ${record.handle} waits for ${next.signal} ${keyOf(next)}`;
      const status = kind === 'bridge' && !isDropped ? this.#awaitedStatus(record) : undefined;
      if (status !== undefined) return `bridge ${record.handle} waits for ${status.signal} ${keyOf(status)}`;
      const asked =
        progress?.stage === 'final' ? -1 : (progress?.states.findIndex((state) => state.endsWith('ing')) ?? -1);
      if (asked >= 0) return `intent ${record.handle} has a leg that is ${progress!.states[asked]}`;
    }
    return '';
  }

  #hasAddress({ ledger, content }: Rec): boolean {
    const { bridge } = content.value.action as { bridge?: string };
    return bridge === undefined || this.#world.books.find(ledger, 'bridge', bridge) !== null;
  }

  /** Fails where the books of banks and ledger do not agree, entry by entry. */
  checkAgreement(): void {
    for (const record of this.#world.books.records.values()) {
      for (const [n, state] of (record.progress?.states ?? []).entries()) {
        const handle = legHandle(record, n);
        const entry = this.#entries.get(handle);
        const isSame = state === 'idle' ? entry === undefined : state === entry?.state;
        must(isSame, `${handle} is ${state} in the ledger, and ${entry?.state} at its bank`);
      }
    }
  }
}

function endpointOf({ action }: Record<string, unknown>): string | undefined {
  return (action as { endpoint?: string }).endpoint;
}

function keyOf({ seq, index }: Happening): string {
  return `${seq} ${index}`;
}

function setIn(sets: Map<string, Set<string>>, key: string): Set<string> {
  const known = sets.get(key) ?? new Set();
  sets.set(key, known);
  return known;
}
