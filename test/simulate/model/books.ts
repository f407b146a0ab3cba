/**
 * What the model remembers: records and their names, money, used tokens, who is to hear of what; in BigInt and maps, and
 * able to go back to the last mark. What may be written here model.ts decides, and for intents model/intents.ts.
 */
import type { KindName } from '../../../src/core/kinds.ts';
import { Kept, Money } from '../../core/model.ts';
import { type Inherited, NOTHING_INHERITED } from '../older.ts';
import type { Content, Signed } from '../wish.ts';
import type { Fact } from './facts.ts';
import { type Happening, happeningsOf, isFed } from './happenings.ts';
import { legHandle } from './legs.ts';
import { byClient, keysOf, type Rec } from './record.ts';
import { UsedTokens } from './used-tokens.ts';

export class Books {
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
  readonly #kinds = new Kept<readonly string[]>(this.#undo);
  /** Intents that are not final, by luid. */
  readonly #open = new Kept<Rec>(this.#undo);
  readonly #counters = new Kept<number>(this.#undo);
  readonly money = new Money(this.#undo);
  /** By sequence number and number in the entry. */
  readonly happenings = new Kept<Happening>(this.#undo);
  /** By the name under which a bank knows a leg and what it is asked: the sequence number of the entry that asks it. */
  readonly asked = new Kept<number>(this.#undo);
  /** What writes them is of a build before 0.3.0: its proofs of outcomes name no intent, and daily limits count later. */
  isEarly = false;
  /** What was there before anything it knows of. */
  inherited = NOTHING_INHERITED;

  constructor() {
    this.ledgers.set('0', '');
    this.keep();
  }

  /** They go on where others ended that it has not seen grow. To be called before anything else. */
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
  }

  // ---------------------------------------------------------------- looked up

  /** Facts so far. */
  get seq(): number {
    return this.#counters.get('seq') ?? 0;
  }

  find(ledger: number, kind: KindName, handle: string): Rec | null {
    const luid = this.#names.get(`${ledger} ${kind} ${handle}`);
    return luid === undefined ? null : this.records.get(luid)!;
  }

  /** By the exact address, then the schema at the parent, the parent, the schema. */
  nearest(ledger: number, kind: KindName, address: string): Rec | null {
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
    for (const luid of this.#kinds.get(`${ledger} ${kind}`) ?? []) {
      const record = this.live(luid);
      if (record !== null) found.push(record);
    }
    return found.sort((one, other) => other.place - one.place);
  }

  /** Intents that are not final, in the order they came. */
  openIntents(): Rec[] {
    return [...this.#open.values()].sort((one, other) => one.progress!.order - other.progress!.order);
  }

  /** Those of a thread. */
  threadIntents(thread: string): Rec[] {
    return this.openIntents().filter(({ progress }) => progress!.thread === thread);
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

  config(ledger: number): Record<string, unknown> {
    return (this.ledgerRecord(ledger).content.value.config ?? {}) as Record<string, unknown>;
  }

  /** Whether one of these dated proofs has brought about something already, here, with a ledger itself, or in `record`, one. */
  isReplayed(ledger: number, kind: KindName, proofs: readonly Signed[], record?: Rec): boolean {
    const inside = record?.kind === 'ledger' ? this.ledgerOf(record.luid) : ledger;
    const isSigned = (of: number, { result }: Signed) => this.#signed.get(`${of} ${result}`) === true;
    return kind !== 'intent' && proofs.filter(isDated).some((proof) => isSigned(inside, proof) || isSigned(0, proof));
  }

  // ---------------------------------------------------------------- written

  /** A new ledger, of this luid; its index. */
  addLedger(luid: string): number {
    const index = this.ledgers.size;
    this.ledgers.set(String(index), luid);
    return index;
  }

  add(record: Pick<Rec, 'luid' | 'ledger' | 'kind' | 'handle' | 'content' | 'moment'>): void {
    const { luid, ledger, kind, handle, content } = record;
    const status = kind === 'effect' ? 'active' : kind === 'intent' ? 'pending' : 'created';
    const sealed = kind === 'intent' ? 'pending' : 'created';
    this.#names.set(`${ledger} ${kind} ${handle}`, luid);
    this.sign(ledger, kind, content.proofs);
    this.records.set(luid, {
      ...record,
      shown: [...content.proofs.map(byClient), { by: 'server', luid, status: sealed }],
      added: [],
      status,
      labels: [],
      owners: [...new Set(keysOf(content.proofs))],
      isDropped: false,
      place: this.nextPlace(),
      versions: [content.hash],
      progress: null,
      wishes: this.#wishOf(kind, content),
    });
    const list = `${ledger} ${kind}`;
    this.#kinds.set(list, [...(this.#kinds.get(list) ?? []), luid]);
  }

  /** Its next version. */
  update(record: Rec, handle: string, content: Content, moment: number): void {
    const { ledger, kind, luid } = record;
    this.sign(ledger, kind, content.proofs);
    this.#names.set(`${ledger} ${kind} ${record.handle}`, undefined);
    this.#names.set(`${ledger} ${kind} ${handle}`, luid);
    this.records.set(luid, {
      ...record,
      handle,
      content,
      moment,
      shown: [...content.proofs.map(byClient), { by: 'server', luid }],
      added: [],
      place: this.nextPlace(),
      versions: [...record.versions, content.hash],
      wishes: [...record.wishes, ...this.#wishOf(kind, content, record.wishes.at(-1)?.signal)],
    });
  }

  drop(record: Rec, proofs: readonly Signed[]): void {
    const { ledger, kind, luid, handle } = record;
    this.sign(ledger, kind, proofs);
    this.#names.set(`${ledger} ${kind} ${handle}`, undefined);
    this.records.set(luid, { ...record, isDropped: true });
  }

  /** What changes without a new version. */
  change(luid: string, news: Partial<Rec>): void {
    const next = { ...this.records.get(luid)!, ...news };
    this.records.set(luid, next);
    const isOpen = next.progress !== null && next.progress.stage !== 'final';
    if (isOpen || this.#open.get(luid) !== undefined) this.#open.set(luid, isOpen ? next : undefined);
  }

  /** These proofs bring about this, and nothing after it. */
  sign(ledger: number, kind: KindName, proofs: readonly Signed[]): void {
    if (kind === 'intent') return;
    for (const { result } of proofs.filter(isDated)) this.#signed.set(`${ledger} ${result}`, true);
  }

  /** A fact gets its number, and is heard of. */
  tell(fact: Omit<Fact, 'seq'>): Fact {
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

  nextPlace(): number {
    const place = (this.#counters.get('place') ?? 0) + 1;
    this.#counters.set('place', place);
    return place;
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
}

function isDated({ custom }: Signed): boolean {
  return custom !== null && JSON.parse(custom).moment !== undefined;
}
