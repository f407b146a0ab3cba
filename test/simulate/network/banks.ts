/**
 * Banks that take part in intents through bridges. They answer twice, late or not at all, and say what nobody asked for;
 * but each keeps its own books, and what must hold is that these agree with the ledger's in the end. A bank is asked the
 * same thing in the same words, commits only what it said it prepared, and never both commits and aborts.
 */
import { canon } from '../../../src/proof/canon.ts';
import type { Json } from '../../support/client.ts';
import { type Leg, legHandle, saidOf } from '../model/legs.ts';
import { must } from '../must.ts';
import { type Ask, KEYS, type Key, proofBody, signHash } from '../wish.ts';
import type { NetworkWorld, Temper } from './world.ts';

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

/** Whoever speaks for banks, and in ledgers where only one key may do anything. */
const BANKER = KEYS[2]!;
const ONLY_ONE = KEYS[0]!;

export class Banks {
  readonly #world: NetworkWorld;
  readonly #temper: Temper;
  readonly #entries = new Map<string, Entry>();

  constructor(world: NetworkWorld, temper: Temper) {
    this.#world = world;
    this.#temper = temper;
  }

  /** A bank is asked for an entry; the HTTP status of its answer. */
  prepare(ledger: number, body: Json, words: string): number {
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
    const isUnsaid = this.#temper.isHonest || dice.chance(0.95);
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
    return this.#temper.mood === 'odd' && dice.chance(0.05) ? 501 : 202;
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

  /** An entry is to be committed, or aborted. */
  end(ledger: number, handle: string, action: string, body: Json): number {
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
    const isSlow = !this.#temper.isHonest && this.#world.dice.chance(0.3);
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
      if (entry.isUnsaid && dice.chance(this.#temper.mood === 'well' ? 0.9 : 0.4)) this.#say(entry);
      else if (!this.#temper.isHonest && dice.chance(this.#temper.mood === 'odd' ? 0.5 : 0.3)) this.#sayOdd(entry);
    }
  }

  #say(entry: Entry): void {
    const { state } = entry;
    const words = state === 'failed' ? { reason: 'bridge.account-inactive', detail: 'no such account' } : {};
    // Others say the same in the bank's place: where they may not, it must still say so itself.
    const { dice, books } = this.#world;
    const mayAnybody = books.ledgerRecord(entry.ledger).handle === 'main';
    const isOther = mayAnybody ? !this.#temper.isHonest && dice.chance(0.15) : dice.chance(0.5);
    const key = isOther ? dice.pick(KEYS) : undefined;
    const custom = { handle: entry.handle, status: state, ...words };
    const ask = this.#report(entry, custom, key);
    if (ask === null) return;
    // Who does not hear the answer in time says it again, and not to the letter.
    const isRepeated = !this.#temper.isHonest && dice.chance(0.2);
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

  /** They say again whatever may have been missed. */
  repeatAll(): void {
    for (const entry of this.#entries.values()) entry.isUnsaid = true;
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
