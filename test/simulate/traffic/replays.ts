/**
 * What was signed for one thing, sent for another: by somebody who reads the books, or who kept what others sent. A
 * record that is there, or was, is made again or as one of another kind, what put a signer in takes it out, what drops or
 * changes one record is sent to another, and so is a proof. Some of it was dated by its client, some of it was not.
 */
import type { KindName } from '../../../src/core/kinds.ts';
import { PATHS } from '../answers.ts';
import type { Rec } from '../model/record.ts';
import { type Content, type Look, proofBody, recordBody, type Signed, type Wish } from '../wish.ts';
import type { Clients, Draft } from './clients.ts';
import { memberDraft } from './records.ts';

/** So many drops and removals are kept: the books do not show them. */
const HEARD_MAX = 60;
/** Kinds of which there is more than one to a handle, as far as data goes. */
const ALIKE: readonly KindName[] = ['wallet', 'circle'];
const DROPPED: readonly KindName[] = ['wallet', 'anchor', 'effect', 'bridge', 'circle', 'policy'];

export class ReplayTraffic {
  readonly #clients: Clients;
  readonly #heard: (Wish & { op: 'drop' | 'update' | 'remove' })[] = [];

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  hears(wish: Wish | Look): void {
    if (wish.op !== 'drop' && wish.op !== 'update' && wish.op !== 'remove') return;
    this.#heard.push(wish);
    if (this.#heard.length > HEARD_MAX) this.#heard.shift();
  }

  replay(ledger: number): Draft | null {
    const { dice } = this.#clients;
    return dice.weigh([
      [() => this.#record(ledger), 5],
      [() => this.#member(ledger), 3],
      [() => this.#change(ledger), 3],
      [() => this.#proof(ledger), 3],
    ])();
  }

  /** What is in the books of a ledger, dropped records too. */
  #known(ledger: number, kinds: readonly KindName[]): Rec[] {
    const all = [...this.#clients.books.records.values()];
    return all.filter((record) => record.ledger === ledger && kinds.includes(record.kind));
  }

  #record(ledger: number): Draft | null {
    const { dice } = this.#clients;
    const known = this.#known(ledger, DROPPED);
    const dropped = known.filter(({ isDropped }) => isDropped);
    const alike = known.filter(({ kind, content }) => isAlike(kind, content));
    const isOther = dropped.length === 0 || dice.chance(0.5);
    const from = isOther ? alike : dropped;
    if (from.length === 0) return null;
    const { kind, content } = dice.pick(from);
    const as = isOther && dice.chance(0.8) ? ALIKE.find((other) => other !== kind)! : kind;
    return this.#create(ledger, as, content);
  }

  #create(ledger: number, kind: KindName, content: Content): Draft {
    const wish: Wish = { op: 'create', ledger, kind, content };
    return { method: 'POST', path: `/v2/${PATHS[kind]}`, ledger, wish, body: recordBody(content) };
  }

  /** Who was in is put in again, or taken out, by what put it in or took it out. */
  #member(ledger: number): Draft | null {
    const { dice } = this.#clients;
    const contents = this.#known(ledger, ['circle-signer']).map(({ content }) => content);
    for (const wish of this.#heard) if (wish.op === 'remove' && wish.ledger === ledger) contents.push(wish.content);
    return contents.length === 0 ? null : memberDraft(ledger, dice.pick(contents), dice.chance(0.4));
  }

  /** A change or drop that was signed for one record is sent to another, rather one that it fits. */
  #change(ledger: number): Draft | null {
    const { dice, books } = this.#clients;
    const heard = this.#heard.filter((wish) => wish.ledger === ledger && wish.op !== 'remove');
    if (heard.length === 0) return null;
    const { op, kind, content } = dice.pick(heard) as Wish & { op: 'drop' | 'update' };
    const kinds = op === 'drop' ? DROPPED : isAlike(kind, content) ? ALIKE : [kind];
    const live = kinds.flatMap((each) => books.list(ledger, each));
    const fitting = live.filter(({ content: { hash } }) => hash === content.value.parent);
    if (live.length === 0) return null;
    const record = dice.pick(fitting.length > 0 ? fitting : live);
    const id = this.#clients.idOf(record);
    const wish: Wish = { op, ledger, kind: record.kind, id, content };
    return {
      method: op === 'drop' ? 'DELETE' : 'PUT',
      path: `/v2/${PATHS[record.kind]}/${id}`,
      ledger,
      wish,
      body: recordBody(content),
    };
  }

  /** A proof of one record is put on another of the same data. */
  #proof(ledger: number): Draft | null {
    const { dice, books } = this.#clients;
    const known = this.#known(ledger, ALIKE);
    const live = ALIKE.flatMap((kind) => books.list(ledger, kind));
    const twins = live.flatMap((record) => {
      const others = known.filter(({ luid, content }) => luid !== record.luid && content.hash === record.content.hash);
      return others.map((other): [Rec, Signed[]] => [record, [...other.content.proofs, ...other.added]]);
    });
    const proven = twins.filter(([, proofs]) => proofs.length > 0);
    if (proven.length === 0) return null;
    const [{ kind, content, ...record }, proofs] = dice.pick(proven);
    const proof = dice.pick(proofs);
    const id = dice.chance(0.5) ? record.handle : record.luid;
    const { hash } = content;
    const wish: Wish = { op: 'proof', ledger, kind, id, hash, proof };
    return { method: 'POST', path: `/v2/${PATHS[kind]}/${id}/proofs`, ledger, wish, body: proofBody(hash, proof) };
  }
}

/** Whether it might as well be of the other kind. */
function isAlike(kind: KindName, { value }: Content): boolean {
  return ALIKE.includes(kind) && value.bridge === undefined && value.routes === undefined;
}
