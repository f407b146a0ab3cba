/**
 * The books as they should be, written from the rules and not from the core, in BigInt and maps. Told in order of the
 * requests that enter the sequence, it says what becomes of each: the reason of a no, or the facts that the journal
 * must hold; and it can go back to the last mark, for a batch that a crash took along.
 *
 * It knows records by their luids, which the server gives: the only thing, beside moments and order, it is told.
 */
import type { KindName } from '../../src/core/kinds.ts';
import { canon } from '../../src/proof/canon.ts';
import { sha256Hex } from '../../src/proof/digest.ts';
import { Kept, Money } from '../core/model.ts';
import { type Inherited, NOTHING_INHERITED } from './older.ts';
import { type Ending, type Ground, Intents, legHandle, type Progress } from './progress.ts';
import { bearerMark, type Content, type OneTime, type Signed, tokenKey, type Wish } from './wish.ts';

/** What a record shows among its proofs: one of a client's, or what one of the server's must say. */
export type Shown =
  | { readonly by: 'client'; readonly proof: Signed }
  | { readonly by: 'server'; readonly luid?: string; readonly status?: string; readonly reason?: string };

export interface Rec {
  readonly luid: string;
  readonly ledger: number;
  readonly kind: KindName;
  readonly handle: string;
  /** The present version. */
  readonly content: Content;
  readonly moment: number;
  readonly shown: readonly Shown[];
  readonly added: readonly Signed[];
  readonly status: string;
  readonly labels: readonly string[];
  readonly owners: readonly string[];
  readonly isDropped: boolean;
  /** Its place among all changes of data. */
  readonly place: number;
  /** Hashes of its versions, oldest first. */
  readonly versions: readonly string[];
  /** Of intents. */
  readonly progress: Progress | null;
  /** Of effects, and of bridges that are told of statuses: what they asked for, from which entry on; '' is nothing. */
  readonly wishes: readonly { readonly seq: number; readonly signal: string; readonly least: number }[];
}

/** What the journal must hold of one thing that happened. */
export interface Fact {
  readonly seq: number;
  readonly type: 'create' | 'update' | 'drop' | 'proof' | 'intent' | 'step' | 'token' | 'delivery';
  readonly luid: string;
  readonly handle: string;
  readonly moment: number;
  readonly hash?: string;
  readonly status?: string | null;
  readonly labels?: readonly string[];
  readonly ending?: Ending;
}

/** `own`: so many of the facts are the request's; the others follow from them. */
export type Verdict = { readonly no: string } | { readonly facts: readonly Fact[]; readonly own: number };

/** Something that those who listen are told. */
export interface Happening {
  readonly seq: number;
  readonly index: number;
  readonly ledger: number;
  readonly signal: string;
  /** Of the record it is about. */
  readonly luid: string;
  /** Of money that was received. */
  readonly amount: number;
  /** Luids of the wallet and the symbol, where it is about these. */
  readonly wallet: string;
  readonly symbol: string;
  /** Of an intent that has gone on: how many proofs it shows, and the luids of the bridges that take part. */
  readonly proofs: number;
  readonly bridges: readonly string[];
}

/** What the server adds to a request on its way in. */
export interface Given {
  readonly luid: string;
  /** Of the signer that comes with a new ledger. */
  readonly companion: string;
  /** What its token adds to the keys of its caller. */
  readonly bearer: readonly string[];
  readonly moment: number;
  /** The moment of the batch. */
  readonly now: number;
  /** The luid that the server gave to an intent of its own, so many entries after the request's first. */
  luidAt(entry: number): string;
}

const STATUS = /^[A-Za-z0-9][A-Za-z0-9_.+-]{0,31}$/;
const NO_KEYS: readonly string[] = [];
const no = (reason: string): Verdict => ({ no: reason });

interface Rule {
  action: string | { $in: string[] };
  record?: string;
  signer?: { public: string } | { $circle: string };
  bearer?: { $signer: { public: string } };
}
const SERVER_RULES: readonly Rule[] = [{ action: { $in: ['access', 'create'] } }];

export class Model {
  readonly #undo: (() => void)[] = [];
  /** By luid. */
  readonly records = new Kept<Rec>(this.#undo);
  /** Luids of live records, by ledger, kind and handle. */
  readonly #names = new Kept<string>(this.#undo);
  /** Ledgers and signatures of dated proofs that stand on anything. */
  readonly #signed = new Kept<true>(this.#undo);
  /** Luids by index as text; 0 is the server itself. */
  readonly ledgers = new Kept<string>(this.#undo);
  readonly tokens = new UsedTokens(this.#undo);
  /** Luids of records as they came, by ledger and kind. */
  readonly #kinds = new KeptLists(this.#undo);
  /** Intents that are not final, by luid. */
  readonly #open = new Kept<Rec>(this.#undo);
  readonly #counters = new Kept<number>(this.#undo);
  readonly money = new Money(this.#undo);
  /** The server that runs is of a build before 0.3.0. */
  isEarly = false;
  /** By sequence number and number in the entry. */
  readonly happenings = new Kept<Happening>(this.#undo);
  /** By the name under which a bank knows a leg and what it is asked: the sequence number of the entry that asks it. */
  readonly asked = new Kept<number>(this.#undo);
  readonly intents: Intents;
  /** What was there before anything it knows of. */
  inherited = NOTHING_INHERITED;
  /** The server's own signer, as it stands in each ledger. */
  readonly #system: (moment: number) => Content;

  constructor(system: (moment: number) => Content) {
    this.#system = system;
    this.intents = new Intents(this.#ground());
    this.ledgers.set('0', '');
    this.keep();
  }

  /** The books go on where others ended that it has not seen grow. To be called before anything else. */
  inherit(inherited: Inherited): void {
    this.inherited = inherited;
    this.#counters.set('seq', inherited.seq);
    for (let ledger = 1; ledger <= inherited.ledgers; ledger++) this.ledgers.set(String(ledger), '');
    for (const [n, end] of inherited.tokenEnds.entries()) this.tokens.use(`inherited ${n}`, end);
    this.keep();
  }

  /** What happened up to here stays. */
  keep(): void {
    this.#undo.length = 0;
  }

  /** What happened since did not. */
  goBack(): void {
    while (this.#undo.length > 0) this.#undo.pop()!();
    this.#undo.length = 0;
  }

  /** Facts so far. */
  get seq(): number {
    return this.#counters.get('seq') ?? 0;
  }

  find(ledger: number, kind: KindName, handle: string): Rec | null {
    const luid = this.#names.get(`${ledger} ${kind} ${handle}`);
    return luid === undefined ? null : this.records.get(luid)!;
  }

  /** The live record that a path's id names, which is a handle or a luid. */
  named(ledger: number, kind: KindName, id: string): Rec | null {
    if (!id.startsWith('$')) return this.find(ledger, kind, id);
    const record = this.live(id);
    return record?.ledger === ledger && record.kind === kind ? record : null;
  }

  live(luid: string): Rec | null {
    const record = this.records.get(luid);
    return record === undefined || record.isDropped ? null : record;
  }

  /** Live records of a kind, the one that changed last first. */
  list(ledger: number, kind: KindName): Rec[] {
    const found: Rec[] = [];
    for (const luid of this.#kinds.get(`${ledger} ${kind}`)) {
      const record = this.live(luid);
      if (record !== null) found.push(record);
    }
    return found.sort((one, other) => other.place - one.place);
  }

  /** Indexes of the ledgers it knows, the server itself left out. */
  knownLedgers(): number[] {
    const known: number[] = [];
    for (const [index, luid] of this.ledgers.entries()) if (luid !== '') known.push(Number(index));
    return known;
  }

  ledgerRecord(ledger: number): Rec {
    return this.records.get(this.ledgers.get(String(ledger))!)!;
  }

  /** Index of the ledger that a header names, or -1. */
  ledgerOf(id: string): number {
    const record = this.named(0, 'ledger', id);
    for (const [index, luid] of this.ledgers.entries()) if (luid !== '' && luid === record?.luid) return Number(index);
    return -1;
  }

  // ---------------------------------------------------------------- what becomes of a request

  /** What becomes of a wish that enters the sequence now; it is done where the answer is facts. */
  clear(wish: Wish, given: Given): Verdict {
    switch (wish.op) {
      case 'create':
        return wish.kind === 'ledger' ? this.#createLedger(wish.content, given) : this.#create(wish, given);
      case 'assign':
        return this.#assign(wish, given);
      case 'update':
        return this.#update(wish, given);
      case 'drop':
        return this.#drop(wish, given);
      case 'remove':
        return this.#remove(wish, given);
      case 'proof':
        return this.#proof(wish, given);
      case 'check':
        return this.live(given.luid) === null ? no('record.not-found') : did([]);
    }
  }

  /** A token that is good once enters the sequence on its own. */
  useToken(token: OneTime, { luid, moment }: Given, handle: string): Verdict {
    const key = tokenKey(token);
    if (this.tokens.has(key) || token.exp <= this.tokens.forgotten) return no('auth.unauthorized');
    this.tokens.use(key, token.exp);
    return did([this.#tell({ type: 'token', luid, handle, moment })]);
  }

  /** The server notes that an event was taken, or given up. */
  noteDelivery(receiver: string, { luid, moment }: Given): Verdict {
    const record = this.live(receiver);
    if (record === null || !isFed(record)) return did([]);
    return did([this.#tell({ type: 'delivery', luid, handle: record.handle, moment })]);
  }

  /** The server notes what became of a call to a bank. */
  noteLeg(luid: string, leg: number, state: string, result: 'told' | 'lost', given: Given): Verdict {
    const ending = this.intents.noted(luid, leg, state, result, given.now);
    return ending === null ? did([]) : did(this.intents.step(luid, ending, given, 0));
  }

  /** The time of intents is over: of the first one that is due. */
  expire(record: Rec, given: Given): readonly Fact[] {
    return this.intents.expire(record, given);
  }

  #ground(): Ground {
    return {
      money: this.money,
      isEarly: () => this.isEarly,
      record: (luid) => this.records.get(luid)!,
      find: (ledger, kind, handle) => this.find(ledger, kind, handle),
      nearest: (ledger, kind, address) => this.#nearest(ledger, kind, address),
      isGranted: (ledger, action, target, record, keys) => this.#isGranted(ledger, action, target, record, keys),
      config: (ledger) => (ledger === 0 ? {} : this.#config(ledger)),
      change: (luid, news) => this.#change(luid, news),
      store: (ledger, kind, handle, content, luid, moment) => this.#store(ledger, kind, handle, content, luid, moment),
      tell: (fact) => this.#tell(fact),
      open: () => this.#open.values(),
      nextPlace: () => this.#nextPlace(),
    };
  }

  /** A fact gets its number, and is heard of. */
  #tell(fact: Omit<Fact, 'seq'>): Fact {
    const seq = this.seq + 1;
    this.#counters.set('seq', seq);
    const told: Fact = { ...fact, seq };
    if (fact.type === 'token' || fact.type === 'delivery') return told;
    const record = this.records.get(fact.luid)!;
    for (const [leg, state] of fact.ending?.marks ?? []) this.asked.set(`${legHandle(record, leg)} ${state}`, seq);
    for (const happening of happeningsOf(told, record, this.#homeOf(record))) {
      this.happenings.set(`${seq} ${happening.index}`, happening);
    }
    return told;
  }

  /** Index of the ledger that hears of a record: a ledger's own is heard of in the ledger. */
  #homeOf({ kind, ledger, handle }: Rec): number {
    return kind === 'ledger' ? this.ledgerOf(handle) : ledger;
  }

  #create({ ledger, kind, content }: Wish & { op: 'create' }, given: Given): Verdict {
    const keys = [...keysOf(content.proofs), ...given.bearer];
    const { value } = content;
    const handle = value.handle as string;
    if (!this.isAllowed(ledger, 'create', kind, null, keys)) return no('auth.forbidden');
    const reason = this.#unrelated(ledger, kind, value) || this.#misfit(ledger, kind, value);
    if (reason !== '') return no(reason);
    if (this.find(ledger, kind, handle) !== null || this.#isReplayed(ledger, kind, content.proofs))
      return no('record.duplicated');
    if (kind === 'intent') return did(this.intents.begin(ledger, content, given), 1);
    return did([this.#made(ledger, kind, handle, content, given.luid, given.moment)]);
  }

  #createLedger(content: Content, given: Given): Verdict {
    const handle = content.value.handle as string;
    if (this.find(0, 'ledger', handle) !== null || this.#isReplayed(0, 'ledger', content.proofs))
      return no('record.duplicated');
    const index = this.ledgers.size;
    this.ledgers.set(String(index), given.luid);
    const made = this.#made(0, 'ledger', handle, content, given.luid, given.moment);
    const system = this.#system(given.moment);
    return did([made, this.#made(index, 'signer', 'system', system, given.companion, given.moment)]);
  }

  #assign({ ledger, circle, signer, content }: Wish & { op: 'assign' }, given: Given): Verdict {
    const keys = [...keysOf(content.proofs), ...given.bearer];
    const of = this.find(ledger, 'circle', circle);
    if (of === null) return no('record.not-found');
    if (!this.isAllowed(ledger, 'assign-signer', 'circle', of, keys)) return no('auth.forbidden');
    const who = this.find(ledger, 'signer', signer);
    if (who === null) return no('record.relation-not-found');
    const handle = of.luid + who.luid;
    if (this.find(ledger, 'circle-signer', handle) !== null) return no('record.duplicated');
    if (this.#isReplayed(ledger, 'circle-signer', content.proofs)) return no('record.duplicated');
    return did([this.#made(ledger, 'circle-signer', handle, content, given.luid, given.moment)]);
  }

  #update({ ledger, kind, content, luidSent }: Wish & { op: 'update' }, given: Given): Verdict {
    const record = this.live(given.luid);
    if (record === null) return no('record.not-found');
    const { value } = content;
    const handle = value.handle as string;
    if (!this.isAllowed(ledger, 'update', kind, record, [...keysOf(content.proofs), ...given.bearer]))
      return no('auth.forbidden');
    if (kind === 'signer' && record.handle === 'system') return no('record.invalid');
    if (luidSent !== undefined && luidSent !== record.luid) return no('record.invalid');
    if (value.parent !== record.content.hash) return no('crypto.parent-hash-invalid');
    const reason = this.#unrelated(ledger, kind, value) || this.#misfit(ledger, kind, value);
    if (reason !== '') return no(reason);
    if (handle !== record.handle) {
      if (this.find(ledger, kind, handle) !== null) return no('record.duplicated');
      if (this.#isNamed(record)) return no('record.invalid');
    }
    if (this.#isReplayed(ledger, kind, content.proofs, record)) return no('record.duplicated');
    this.#sign(ledger, kind, content.proofs);
    this.#names.set(`${ledger} ${kind} ${record.handle}`, undefined);
    this.#names.set(`${ledger} ${kind} ${handle}`, record.luid);
    this.records.set(record.luid, {
      ...record,
      handle,
      content,
      moment: given.moment,
      shown: [...content.proofs.map(byClient), { by: 'server', luid: record.luid }],
      added: [],
      place: this.#nextPlace(),
      versions: [...record.versions, content.hash],
      wishes: [...record.wishes, ...this.#wishOf(kind, content, record.wishes.at(-1)?.signal)],
    });
    const fact = { type: 'update' as const, luid: record.luid, handle, moment: given.moment, hash: content.hash };
    return did([this.#tell(fact)]);
  }

  #drop({ ledger, kind, content, luidSent }: Wish & { op: 'drop' }, given: Given): Verdict {
    const record = this.live(given.luid);
    if (record === null) return no('record.not-found');
    if (!this.isAllowed(ledger, 'drop', kind, record, [...keysOf(content.proofs), ...given.bearer]))
      return no('auth.forbidden');
    if (luidSent !== undefined && luidSent !== record.luid) return no('record.invalid');
    if (content.value.parent !== record.content.hash) return no('crypto.parent-hash-invalid');
    if (this.#isNeeded(record)) return no('record.drop-rejected');
    if (this.#isReplayed(ledger, kind, content.proofs)) return no('record.duplicated');
    return did([this.#end(record, content, given.moment)]);
  }

  #remove({ ledger, circle, content }: Wish & { op: 'remove' }, given: Given): Verdict {
    const of = this.find(ledger, 'circle', circle);
    if (of === null) return no('record.not-found');
    if (!this.isAllowed(ledger, 'remove-signer', 'circle', of, [...keysOf(content.proofs), ...given.bearer]))
      return no('auth.forbidden');
    const member = this.live(given.luid);
    if (member === null || !member.handle.startsWith(of.luid)) return no('record.not-found');
    if (this.#isReplayed(ledger, 'circle-signer', content.proofs)) return no('record.duplicated');
    return did([this.#end(member, content, given.moment)]);
  }

  #end(record: Rec, { hash, proofs }: Content, moment: number): Fact {
    const { ledger, kind, luid, handle } = record;
    this.#sign(ledger, kind, proofs);
    this.#names.set(`${ledger} ${kind} ${handle}`, undefined);
    this.records.set(luid, { ...record, isDropped: true });
    return this.#tell({ type: 'drop', luid, handle, moment, hash });
  }

  /** Whether one of these dated proofs has brought about something already, here, with a ledger itself, or in `record`, one. */
  #isReplayed(ledger: number, kind: KindName, proofs: readonly Signed[], record?: Rec): boolean {
    const inside = record?.kind === 'ledger' ? this.ledgerOf(record.luid) : ledger;
    const isSigned = (of: number, { result }: Signed) => this.#signed.get(`${of} ${result}`) === true;
    return kind !== 'intent' && proofs.filter(isDated).some((proof) => isSigned(inside, proof) || isSigned(0, proof));
  }

  /** They bring about this, and nothing after it. */
  #sign(ledger: number, kind: KindName, proofs: readonly Signed[]): void {
    if (kind === 'intent') return;
    for (const { result } of proofs.filter(isDated)) this.#signed.set(`${ledger} ${result}`, true);
  }

  /** Whether others still speak of it. */
  #isNeeded(record: Rec): boolean {
    const { kind, luid } = record;
    if (kind === 'bridge') {
      const takesPart = ({ progress }: Rec) => progress!.legs.some((leg) => leg.bridge === luid);
      return this.#isNamed(record) || [...this.#open.values()].some(takesPart);
    }
    if (kind !== 'wallet') return false;
    for (const [key, account] of this.money.accounts.entries()) {
      if (!key.startsWith(`${luid} `)) continue;
      const { available, reserved, incoming, passing } = account;
      if ([available, reserved, incoming, passing].some((amount) => amount !== 0n)) return true;
    }
    return this.#isNamed(record);
  }

  /** Whether others name it by its handle. */
  #isNamed({ ledger, kind, handle }: Rec): boolean {
    if (kind === 'bridge') return this.list(ledger, 'wallet').some(({ content }) => content.value.bridge === handle);
    if (kind !== 'wallet') return false;
    const names = ({ content: { value } }: Rec) => value.wallet === handle || value.target === handle;
    return this.list(ledger, 'anchor').some(names);
  }

  #made(ledger: number, kind: KindName, handle: string, content: Content, luid: string, moment: number): Fact {
    this.#store(ledger, kind, handle, content, luid, moment);
    return this.#tell({ type: 'create', luid, handle, moment, hash: content.hash });
  }

  #store(ledger: number, kind: KindName, handle: string, content: Content, luid: string, moment: number): void {
    const status = kind === 'effect' ? 'active' : kind === 'intent' ? 'pending' : 'created';
    const sealed = kind === 'intent' ? 'pending' : 'created';
    this.#names.set(`${ledger} ${kind} ${handle}`, luid);
    this.#sign(ledger, kind, content.proofs);
    this.records.set(luid, {
      luid,
      ledger,
      kind,
      handle,
      content,
      moment,
      shown: [...content.proofs.map(byClient), { by: 'server', luid, status: sealed }],
      added: [],
      status,
      labels: [],
      owners: [...new Set(keysOf(content.proofs))],
      isDropped: false,
      place: this.#nextPlace(),
      versions: [content.hash],
      progress: null,
      wishes: this.#wishOf(kind, content),
    });
    this.#kinds.push(`${ledger} ${kind}`, luid);
  }

  /** What an effect asks for from the entry on that is about to be told; a bridge, where it did not before. */
  #wishOf(kind: KindName, content: Content, before = ''): Rec['wishes'] {
    const { value } = content;
    if (kind === 'bridge') {
      const signal = isFed({ kind, content }) ? 'intent-updated' : '';
      return signal === before ? [] : [{ seq: this.seq + 1, signal, least: 0 }];
    }
    if (kind !== 'effect') return [];
    const least = (value.filter as { amount?: { $gte: number } } | undefined)?.amount?.$gte;
    return [{ seq: this.seq + 1, signal: value.signal as string, least: least ?? Number.NEGATIVE_INFINITY }];
  }

  #nextPlace(): number {
    const place = (this.#counters.get('place') ?? 0) + 1;
    this.#counters.set('place', place);
    return place;
  }

  /** Records that a new or changed record names must exist. */
  #unrelated(ledger: number, kind: KindName, { bridge, wallet, routes }: Content['value']): string {
    const isThere = (related: KindName, handle: unknown) => this.find(ledger, related, String(handle)) !== null;
    if (kind === 'wallet' && bridge !== undefined && !isThere('bridge', bridge)) return 'record.relation-not-found';
    const isAimless = (route: { action: string; target?: string }) =>
      route.action !== 'accept' && route.target === undefined;
    if (kind === 'wallet' && Array.isArray(routes) && routes.some(isAimless)) return 'record.invalid';
    if (kind !== 'anchor' || this.#config(ledger)['anchor.walletRequired'] === false) return '';
    return isThere('wallet', wallet) ? '' : 'record.relation-not-found';
  }

  /** The one schema that lives use asks for a whole number in `custom.level`. */
  #misfit(ledger: number, kind: KindName, { schema, custom }: Content['value']): string {
    const isFor = (record: Rec | null) => record?.content.value.record === kind;
    if (!this.list(ledger, 'schema').some(isFor)) return '';
    if (!isFor(this.find(ledger, 'schema', String(schema)))) return 'record.schema-invalid';
    return Number.isInteger((custom as { level?: unknown } | undefined)?.level) ? '' : 'record.schema-invalid';
  }

  #config(ledger: number): Record<string, unknown> {
    return (this.ledgerRecord(ledger).content.value.config ?? {}) as Record<string, unknown>;
  }

  /** The exact address, then the schema at the parent, the parent, the schema. */
  #nearest(ledger: number, kind: KindName, address: string): Rec | null {
    const [, schema, , parent] = /^(?:([^:@]+):)?([^@]*?)(?:@([^@]+))?$/.exec(address) ?? [];
    const tries = [address];
    if (schema !== undefined && parent !== undefined) tries.push(`${schema}@${parent}`);
    if (parent !== undefined) tries.push(parent);
    if (schema !== undefined) tries.push(schema);
    for (const handle of tries) {
      const record = this.find(ledger, kind, handle);
      if (record !== null) return record;
    }
    return null;
  }

  // ---------------------------------------------------------------- proofs

  #proof({ ledger, kind, hash, proof }: Wish & { op: 'proof' }, given: Given): Verdict {
    const { luid, moment } = given;
    const record = this.live(luid);
    if (record === null) return no('record.not-found');
    if (!this.isAllowed(ledger, 'create', `${kind}-proof`, record, [proof.public, ...given.bearer]))
      return no('auth.forbidden');
    if (hash !== record.content.hash) return no('crypto.signature-invalid');
    const known = [...record.content.proofs, ...record.added];
    if (known.some(({ result, custom }) => result === proof.result && custom === proof.custom)) return did([]);
    if (this.#isReplayed(ledger, kind, [proof], record)) return no('record.duplicated');
    const custom = (proof.custom === null ? {} : JSON.parse(proof.custom)) as Record<string, unknown>;
    const status = this.#statusOf(record, custom.status);
    const labels = this.#labelsOf(record, custom.labels);
    if (typeof status === 'object' && status !== null) return no(status.no);
    if (labels !== undefined && 'no' in labels) return no(labels.no);
    this.#change(luid, { added: [...record.added, proof], shown: [...record.shown, byClient(proof)] });
    const ending = record.progress === null ? null : this.intents.proved(record, custom, proof.public, given);
    if (typeof ending === 'string') {
      this.#change(luid, { added: record.added, shown: record.shown });
      return no(ending);
    }
    this.#sign(ledger, kind, [proof]);
    if (status !== null) this.#change(luid, { status });
    if (labels !== undefined) this.#change(luid, { labels: labels.now });
    const { handle } = record;
    const fact = { type: 'proof' as const, luid, handle, moment, status, ...(labels && { labels: labels.now }) };
    const facts = [this.#tell(fact)];
    if (ending === null) return did(facts);
    return did([...facts, ...this.intents.step(luid, ending, given, 1)], 2);
  }

  #policies(record: Rec, sort: string): Record<string, unknown>[] | null {
    const found = this.list(record.ledger, 'policy').filter(({ content: { value } }) => {
      return value.schema === sort && (value.record === record.kind || value.record === 'any');
    });
    return found.length === 0
      ? null
      : found.flatMap(({ content }) => content.value.values as Record<string, unknown>[]);
  }

  #statusOf(record: Rec, wish: unknown): string | null | { no: string } {
    if (record.kind === 'intent' || typeof wish !== 'string') return null;
    const values = this.#policies(record, 'status');
    if (values === null) return STATUS.test(wish) ? wish : null;
    const fits = values.some(
      ({ status, from }) => status === wish && (from === undefined || (from as string[]).includes(record.status)),
    );
    return fits ? wish : { no: 'record.status-policy-violation' };
  }

  #labelsOf(record: Rec, words: unknown): { now: string[] } | { no: string } | undefined {
    const values = this.#policies(record, 'labels');
    if (!Array.isArray(words) || values === null) return undefined;
    const labels = new Set(record.labels);
    for (const word of words as string[]) {
      const isOff = word.startsWith('-');
      const label = isOff ? word.slice(1) : word;
      const value = values.find((each) => (each as unknown) === label || each.label === label);
      if (value === undefined) return { no: 'record.status-policy-violation' };
      if (record.labels.includes(label) !== isOff) continue;
      const others = this.list(record.ledger, record.kind).filter((other) => other.labels.includes(label));
      if (!isOff && value.unique === true && others.length > 0) return { no: 'record.status-policy-violation' };
      if (isOff) labels.delete(label);
      else labels.add(label);
    }
    const now = [...labels].sort();
    return now.join() === [...record.labels].join() ? undefined : { now };
  }

  #change(luid: string, news: Partial<Rec>): void {
    const next = { ...this.records.get(luid)!, ...news };
    this.records.set(luid, next);
    const isOpen = next.progress !== null && next.progress.stage !== 'final';
    if (isOpen || this.#open.get(luid) !== undefined) this.#open.set(luid, isOpen ? next : undefined);
  }

  // ---------------------------------------------------------------- who may

  /** The gate and the action, for those who signed. */
  isAllowed(ledger: number, action: string, target: string, record: Rec | null, keys: readonly string[]): boolean {
    const rules = this.#ledgerRules(ledger, target, record);
    const kind = target.replace(/-proof$/, '');
    const opens = (list: readonly Rule[], place: Place) =>
      list.some((rule) => speaks(rule, 'access', target, place, keys) || speaks(rule, 'access', kind, place, keys));
    if (rules !== null && !opens(rules, 'ledger')) return false;
    return this.#isGranted(ledger, action, target, record, keys);
  }

  /** The rules that a question finds, as they may be shown: the ledger's, then those of the record it is asked of. */
  rulesFor(
    { ledger, kind, content: { value, proofs } }: Wish & { op: 'check' },
    record: Rec,
    bearer: readonly string[],
  ): string[] {
    const { action, record: about = kind } = value as { action: string; record?: string };
    const target = about === 'any' ? kind : about;
    const keys = [...keysOf(proofs), ...bearer];
    const inLedger = rulesIn(this.ledgerRecord(ledger)).filter((rule) => speaks(rule, action, target, 'ledger', keys));
    const isOwn = target === kind || (kind !== 'ledger' && target === `${kind}-proof`);
    const known = this.#withCircles(ledger, rulesIn(record), keys);
    const own = isOwn ? rulesIn(record).filter((rule) => speaks(rule, action, target, 'record', known)) : [];
    return [...inLedger, ...own].map(({ signer: _, bearer: __, ...shown }) => canon(shown));
  }

  /** The action alone. */
  #isGranted(ledger: number, action: string, target: string, record: Rec | null, keys: readonly string[]): boolean {
    const rules = this.#ledgerRules(ledger, target, record) ?? [];
    if (rules.some((rule) => speaks(rule, action, target, 'ledger', keys))) return true;
    if (SERVER_RULES.some((rule) => speaks(rule, action, target, 'server', keys))) return true;
    const own = record === null || record.kind === 'ledger' ? [] : rulesIn(record);
    const known = this.#withCircles(ledger, own, keys);
    return own.some((rule) => speaks(rule, action, target, 'record', known));
  }

  /** Keys, and the circles that signers are in who have them, where any of the rules asks for one. */
  #withCircles(ledger: number, rules: readonly Rule[], keys: readonly string[]): readonly string[] {
    if (!rules.some(({ signer }) => signer !== undefined && '$circle' in signer)) return keys;
    const signers = this.list(ledger, 'signer').filter(({ content }) => keys.includes(content.value.public as string));
    const circles = this.list(ledger, 'circle').filter(({ luid }) =>
      signers.some((signer) => this.find(ledger, 'circle-signer', luid + signer.luid) !== null),
    );
    return [...keys, ...circles.map(({ handle }) => circleMark(handle))];
  }

  /** Null for a ledger that is only being made. */
  #ledgerRules(ledger: number, target: string, record: Rec | null): readonly Rule[] | null {
    if (target.startsWith('ledger')) return record === null ? null : rulesIn(record);
    return rulesIn(this.ledgerRecord(ledger));
  }
}

function did(facts: readonly Fact[], own = facts.length): Verdict {
  return { facts, own };
}

/** Whether it is told of events: an effect, or a bridge that wants to hear how intents go on. */
function isFed({ kind, content }: Pick<Rec, 'kind' | 'content'>): boolean {
  return kind === 'effect' || (kind === 'bridge' && ((content.value.traits ?? []) as string[]).includes('statuses'));
}

/** The handle under which an event is told. */
export function eventHandle({ luid, seq, index }: Happening): string {
  const hash = Buffer.from(sha256Hex(`${luid} ${seq} ${index}`), 'hex').toString('base64url');
  return `evt_${hash.slice(0, 17)}`;
}

/** What a fact lets those hear who listen, numbered as the interface has it. */
function happeningsOf(fact: Fact, { kind, content, shown, progress }: Rec, ledger: number): Happening[] {
  const { seq, luid, type, ending } = fact;
  const told = { seq, ledger, luid, proofs: shown.length, bridges: (progress?.legs ?? []).map(({ bridge }) => bridge) };
  const nobody = { wallet: '', symbol: '' };
  const one = (index: number, signal: string, amount = 0, { wallet, symbol } = nobody): Happening => {
    return { ...told, index, signal, amount, wallet, symbol };
  };
  if (type === 'create') return [one(0, `${kind}-created`)];
  if (type === 'update') return [one(0, `${kind}-updated`)];
  if (type === 'drop') return [one(0, `${kind}-dropped`)];
  if (type === 'proof') return [one(0, `${kind}-proofs-added`)];
  const heard = type === 'intent' ? [one(0, 'intent-created')] : [];
  const { steps, limits } = ending!;
  if (steps.length > 0) heard.push(one(1, 'intent-updated'));
  if (!steps.includes('committed')) return heard;
  const claims = content.value.claims as { action: string; target?: unknown; amount: number }[];
  for (const [n, claim] of claims.entries()) {
    if (claim.target !== undefined) heard.push(one(2 + n, 'balance-received', claim.amount, progress!.credits.get(n)));
  }
  for (const [n, limit] of limits.entries()) {
    heard.push(one(2 + claims.length + n, 'wallet-limited', Number(limit.amount), limit));
  }
  return heard;
}

/** Tokens that were used, by their ends in seconds, in the order in which the ends first came. */
type Ends = readonly (readonly [end: number, keys: readonly string[]])[];

/** Lists that only grow, and can go back to how they were. */
class KeptLists {
  readonly #lists = new Map<string, string[]>();
  readonly #undo: (() => void)[];

  constructor(undo: (() => void)[]) {
    this.#undo = undo;
  }

  get(key: string): readonly string[] {
    return this.#lists.get(key) ?? [];
  }

  push(key: string, value: string): void {
    const list = this.#lists.get(key) ?? [];
    this.#lists.set(key, list);
    list.push(value);
    this.#undo.push(() => list.pop());
  }
}

/** A token that lives longest, with the clock that may be furthest ahead, ends so long after it is taken. */
const SPAN_SECONDS = 360;
const FORGOTTEN_PER_USE = 8;

/** Tokens that were used, remembered until by what other tokens say they are over; a few go with each that comes. */
class UsedTokens {
  readonly #kept: Kept<{ readonly ends: Ends; readonly forgotten: number }>;

  constructor(undo: (() => void)[]) {
    this.#kept = new Kept(undo);
  }

  get #now() {
    return this.#kept.get('') ?? { ends: [], forgotten: 0 };
  }

  has(key: string): boolean {
    return this.#now.ends.some(([, keys]) => keys.includes(key));
  }

  get size(): number {
    return this.#now.ends.reduce((sum, [, keys]) => sum + keys.length, 0);
  }

  /** What ends no later may have been used, and nobody knows. */
  get forgotten(): number {
    return this.#now.forgotten;
  }

  use(key: string, end: number): void {
    let { forgotten } = this.#now;
    let left = FORGOTTEN_PER_USE;
    const rest = this.#now.ends.map(([other, keys]): Ends[number] => {
      if (other >= end - SPAN_SECONDS || left === 0) return [other, keys];
      forgotten = Math.max(forgotten, other);
      const stay = keys.slice(0, Math.max(0, keys.length - left));
      left -= keys.length - stay.length;
      return [other, stay];
    });
    const known = rest.findIndex(([other]) => other === end);
    if (known < 0) rest.push([end, [key]]);
    else rest[known] = [end, [...rest[known]![1], key]];
    this.#kept.set('', { ends: rest.filter(([, keys]) => keys.length > 0), forgotten });
  }
}

type Place = 'record' | 'ledger' | 'server';

function speaks(rule: Rule, action: string, target: string, place: Place, keys: readonly string[]): boolean {
  const actions = typeof rule.action === 'string' ? [rule.action] : rule.action.$in;
  if (!actions.includes('any') && !actions.includes(action)) return false;
  if (rule.record === undefined) {
    const isOwn = place === 'record' || (place === 'ledger' && target === 'ledger');
    if (!isOwn && !(place === 'server' && (action === 'access' || target === 'ledger'))) return false;
  } else if (rule.record !== 'any' && rule.record !== target) return false;
  if (rule.bearer !== undefined && !keys.includes(bearerMark(rule.bearer.$signer.public))) return false;
  // Nothing that is read is signed.
  const { signer } = rule;
  if (signer === undefined) return true;
  return action !== 'read' && keys.includes('$circle' in signer ? circleMark(signer.$circle) : signer.public);
}

/** Among the keys of a caller: a circle that the signer of one of them is in. */
function circleMark(handle: string): string {
  return `circle ${handle}`;
}

function rulesIn({ content }: Rec): readonly Rule[] {
  return (content.value.access ?? []) as Rule[];
}

function isDated({ custom }: Signed): boolean {
  return custom !== null && JSON.parse(custom).moment !== undefined;
}

function byClient(proof: Signed): Shown {
  return { by: 'client', proof };
}

function keysOf(proofs: readonly Signed[]): readonly string[] {
  return proofs.length === 0 ? NO_KEYS : proofs.map((proof) => proof.public);
}
