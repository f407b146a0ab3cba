/**
 * The books as they should be, written from the rules and not from the core. Told in order of the requests that enter the
 * sequence, the model says what becomes of each: the reason of a no, or the facts that the journal must hold.
 *
 * It knows records by their luids, which the server gives: the only thing, beside moments and order, it is told.
 */
import type { KindName } from '../../src/core/kinds.ts';
import { isAllowed } from './model/access.ts';
import { Books } from './model/books.ts';
import { did, type Fact, type Given, no, type Verdict } from './model/facts.ts';
import { isFed } from './model/happenings.ts';
import { Intents } from './model/intents.ts';
import { labelsWished, statusWished } from './model/policies.ts';
import { byClient, keysOf, type Rec } from './model/record.ts';
import { type Content, type OneTime, tokenKey, type Wish } from './wish.ts';

export class Model {
  readonly books = new Books();
  readonly intents = new Intents(this.books);
  /** The server's own signer, as it stands in each ledger. */
  readonly #system: (moment: number) => Content;

  constructor(system: (moment: number) => Content) {
    this.#system = system;
  }

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
        return this.books.live(given.luid) === null ? no('record.not-found') : did([]);
    }
  }

  /** A token that is good once enters the sequence on its own. */
  useToken(token: OneTime, { luid, moment }: Given, handle: string): Verdict {
    const { books } = this;
    const key = tokenKey(token);
    if (books.tokens.has(key) || token.exp <= books.tokens.forgotten) return no('auth.unauthorized');
    books.tokens.use(key, token.exp);
    return did([books.tell({ type: 'token', luid, handle, moment })]);
  }

  /** The server notes that an event was taken, or given up. */
  noteDelivery(receiver: string, { luid, moment }: Given): Verdict {
    const record = this.books.live(receiver);
    if (record === null || !isFed(record)) return did([]);
    return did([this.books.tell({ type: 'delivery', luid, handle: record.handle, moment })]);
  }

  /** The server notes what became of a call to a bank. */
  noteLeg(luid: string, leg: number, state: string, result: 'told' | 'lost', given: Given): Verdict {
    return did(this.intents.noted(luid, leg, state, result, given));
  }

  // ---------------------------------------------------------------- records that come, change and go

  #create({ ledger, kind, content }: Wish & { op: 'create' }, given: Given): Verdict {
    const { books } = this;
    const { value } = content;
    const handle = value.handle as string;
    if (!this.#may(ledger, 'create', kind, null, content, given)) return no('auth.forbidden');
    const holder = books.find(ledger, kind, handle);
    const isIn = holder?.content.hash === content.hash || books.isReplayed(ledger, kind, content.proofs);
    if (isIn) return no('record.duplicated');
    const reason = unrelated(books, ledger, kind, value) || misfit(books, ledger, kind, value);
    if (reason !== '') return no(reason);
    if (holder !== null) return no('record.duplicated');
    if (kind === 'intent') return did(this.intents.begin(ledger, content, given), 1);
    return did([this.#made(ledger, kind, handle, content, given.luid, given.moment)]);
  }

  #createLedger(content: Content, given: Given): Verdict {
    const { books } = this;
    const handle = content.value.handle as string;
    if (books.find(0, 'ledger', handle) !== null || books.isReplayed(0, 'ledger', content.proofs))
      return no('record.duplicated');
    const index = books.addLedger(given.luid);
    const made = this.#made(0, 'ledger', handle, content, given.luid, given.moment);
    const system = this.#system(given.moment);
    return did([made, this.#made(index, 'signer', 'system', system, given.companion, given.moment)]);
  }

  #assign({ ledger, circle, signer, content }: Wish & { op: 'assign' }, given: Given): Verdict {
    const { books } = this;
    const of = books.find(ledger, 'circle', circle);
    if (of === null) return no('record.not-found');
    if (!this.#may(ledger, 'assign-signer', 'circle', of, content, given)) return no('auth.forbidden');
    if (books.isReplayed(ledger, 'circle-signer', content.proofs)) return no('record.duplicated');
    const who = books.find(ledger, 'signer', signer);
    if (who === null) return no('record.relation-not-found');
    const handle = of.luid + who.luid;
    if (books.find(ledger, 'circle-signer', handle) !== null) return no('record.duplicated');
    return did([this.#made(ledger, 'circle-signer', handle, content, given.luid, given.moment)]);
  }

  #made(ledger: number, kind: KindName, handle: string, content: Content, luid: string, moment: number): Fact {
    this.books.add({ luid, ledger, kind, handle, content, moment });
    return this.books.tell({ type: 'create', luid, handle, moment, hash: content.hash });
  }

  #update({ ledger, kind, content, luidSent }: Wish & { op: 'update' }, given: Given): Verdict {
    const { books } = this;
    const record = books.live(given.luid);
    if (record === null) return no('record.not-found');
    const { luid } = record;
    const { moment } = given;
    const { value, hash } = content;
    const handle = value.handle as string;
    if (!this.#may(ledger, 'update', kind, record, content, given)) return no('auth.forbidden');
    if (kind === 'signer' && record.handle === 'system') return no('record.invalid');
    if (luidSent !== undefined && luidSent !== luid) return no('record.invalid');
    if (value.parent !== record.content.hash) return no('crypto.parent-hash-invalid');
    const reason = unrelated(books, ledger, kind, value) || misfit(books, ledger, kind, value);
    if (reason !== '') return no(reason);
    if (handle !== record.handle) {
      if (books.find(ledger, kind, handle) !== null) return no('record.duplicated');
      if (isNamed(books, record)) return no('record.invalid');
    }
    if (books.isReplayed(ledger, kind, content.proofs, record)) return no('record.duplicated');
    books.update(record, handle, content, moment);
    return did([books.tell({ type: 'update', luid, handle, moment, hash })]);
  }

  #drop({ ledger, kind, content, luidSent }: Wish & { op: 'drop' }, given: Given): Verdict {
    const { books } = this;
    const record = books.live(given.luid);
    if (record === null) return no('record.not-found');
    if (!this.#may(ledger, 'drop', kind, record, content, given)) return no('auth.forbidden');
    if (luidSent !== undefined && luidSent !== record.luid) return no('record.invalid');
    if ((content.value.handle ?? record.handle) !== record.handle) return no('record.invalid');
    if (content.value.parent !== record.content.hash) return no('crypto.parent-hash-invalid');
    if (isNeeded(books, record)) return no('record.drop-rejected');
    if (books.isReplayed(ledger, kind, content.proofs)) return no('record.duplicated');
    return did([this.#gone(record, content, given.moment)]);
  }

  #remove({ ledger, circle, content }: Wish & { op: 'remove' }, given: Given): Verdict {
    const { books } = this;
    const of = books.find(ledger, 'circle', circle);
    if (of === null) return no('record.not-found');
    if (!this.#may(ledger, 'remove-signer', 'circle', of, content, given)) return no('auth.forbidden');
    const member = books.live(given.luid);
    if (member === null || !member.handle.startsWith(of.luid)) return no('record.not-found');
    if (books.isReplayed(ledger, 'circle-signer', content.proofs)) return no('record.duplicated');
    return did([this.#gone(member, content, given.moment)]);
  }

  #gone(record: Rec, { hash, proofs }: Content, moment: number): Fact {
    const { luid, handle } = record;
    this.books.drop(record, proofs);
    return this.books.tell({ type: 'drop', luid, handle, moment, hash });
  }

  /** Whether those may who signed this. */
  #may(
    ledger: number,
    action: string,
    target: KindName,
    record: Rec | null,
    { proofs }: Content,
    { bearer }: Given,
  ): boolean {
    return isAllowed(this.books, ledger, action, target, record, [...keysOf(proofs), ...bearer]);
  }

  // ---------------------------------------------------------------- proofs

  #proof({ ledger, kind, hash, proof }: Wish & { op: 'proof' }, given: Given): Verdict {
    const { books } = this;
    const { luid, moment } = given;
    const record = books.live(luid);
    if (record === null) return no('record.not-found');
    if (!isAllowed(books, ledger, 'create', `${kind}-proof`, record, [proof.public, ...given.bearer]))
      return no('auth.forbidden');
    if (hash !== record.content.hash) return no('crypto.signature-invalid');
    const known = [...record.content.proofs, ...record.added];
    if (known.some(({ result, custom }) => result === proof.result && custom === proof.custom)) return did([]);
    if (books.isReplayed(ledger, kind, [proof], record)) return no('record.duplicated');
    const custom = (proof.custom === null ? {} : JSON.parse(proof.custom)) as Record<string, unknown>;
    const status = statusWished(books, record, custom.status);
    const labels = labelsWished(books, record, custom.labels);
    if (typeof status === 'object' && status !== null) return no(status.no);
    if (labels !== undefined && 'no' in labels) return no(labels.no);
    books.change(luid, { added: [...record.added, proof], shown: [...record.shown, byClient(proof)] });
    const ending = record.progress === null ? null : this.intents.proved(record, custom, proof.public, given);
    if (typeof ending === 'string') {
      books.change(luid, { added: record.added, shown: record.shown });
      return no(ending);
    }
    books.sign(ledger, kind, [proof]);
    if (status !== null) books.change(luid, { status });
    if (labels !== undefined) books.change(luid, { labels: labels.now });
    const { handle } = record;
    const fact = { type: 'proof' as const, luid, handle, moment, status, ...(labels && { labels: labels.now }) };
    const facts = [books.tell(fact)];
    if (ending === null) return did(facts);
    return did([...facts, ...this.intents.step(luid, ending, given, 1)], 2);
  }
}

// ---------------------------------------------------------------- what records have to do with each other

/** Records that a new or changed record names must exist. */
function unrelated(books: Books, ledger: number, kind: KindName, { bridge, wallet, routes }: Content['value']): string {
  const isThere = (related: KindName, handle: unknown) => books.find(ledger, related, String(handle)) !== null;
  if (kind === 'wallet' && bridge !== undefined && !isThere('bridge', bridge)) return 'record.relation-not-found';
  const isAimless = (route: { action: string; target?: string }) =>
    route.action !== 'accept' && route.target === undefined;
  if (kind === 'wallet' && Array.isArray(routes) && routes.some(isAimless)) return 'record.invalid';
  if (kind !== 'anchor' || books.config(ledger)['anchor.walletRequired'] === false) return '';
  return isThere('wallet', wallet) ? '' : 'record.relation-not-found';
}

/** The one schema that lives use asks for a whole number in `custom.level`. */
function misfit(books: Books, ledger: number, kind: KindName, { schema, custom }: Content['value']): string {
  const isFor = (record: Rec | null) => record?.content.value.record === kind;
  if (!books.list(ledger, 'schema').some(isFor)) return '';
  if (!isFor(books.find(ledger, 'schema', String(schema)))) return 'record.schema-invalid';
  return Number.isInteger((custom as { level?: unknown } | undefined)?.level) ? '' : 'record.schema-invalid';
}

/** Whether others still speak of it. */
function isNeeded(books: Books, record: Rec): boolean {
  const { kind, luid } = record;
  if (kind === 'bridge') {
    const takesPart = ({ progress }: Rec) => progress!.legs.some((leg) => leg.bridge === luid);
    return isNamed(books, record) || books.openIntents().some(takesPart);
  }
  if (kind !== 'wallet') return false;
  const isAbout = ({ wallet }: { wallet: string }) => wallet === luid;
  const isHeldFor = ({ progress }: Rec) =>
    progress!.isHolding && (progress!.limits.some(isAbout) || progress!.nets.some(isAbout));
  if (books.openIntents().some(isHeldFor)) return true;
  for (const [key, account] of books.money.accounts.entries()) {
    if (!key.startsWith(`${luid} `)) continue;
    const { available, reserved, incoming, passing } = account;
    if ([available, reserved, incoming, passing].some((amount) => amount !== 0n)) return true;
  }
  return isNamed(books, record);
}

/** Whether others name it by its handle. */
function isNamed(books: Books, { ledger, kind, handle }: Rec): boolean {
  if (kind === 'bridge') return books.list(ledger, 'wallet').some(({ content }) => content.value.bridge === handle);
  if (kind !== 'wallet') return false;
  const names = ({ content: { value } }: Rec) => value.wallet === handle || value.target === handle;
  return books.list(ledger, 'anchor').some(names);
}
