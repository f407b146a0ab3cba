/**
 * What clients ask by chance: every kind of record and every way to move money, mostly as it should be, now and then
 * wrong, late, twice, or for what is not there. What a life needs before anything can happen in it comes first; then one
 * request after the other, of the sorts that traffic/ has.
 */
import type { KindName } from '../../src/core/kinds.ts';
import type { Dice } from '../support/dice.ts';
import type { Books } from './model/books.ts';
import { BRIDGES, Clients, type Draft, LEDGERS, SYMBOLS } from './traffic/clients.ts';
import { IntentTraffic } from './traffic/intents.ts';
import { LookTraffic } from './traffic/looks.ts';
import { ProofTraffic } from './traffic/proofs.ts';
import { RecordTraffic } from './traffic/records.ts';
import { ReplayTraffic } from './traffic/replays.ts';
import { Sending } from './traffic/sending.ts';
import { type Ask, KEYS } from './wish.ts';

/** So many of the last requests may be sent again. */
const RESENT_MAX = 40;

export class Traffic {
  readonly #clients: Clients;
  readonly #intents: IntentTraffic;
  readonly #proofs: ProofTraffic;
  readonly #records: RecordTraffic;
  readonly #replays: ReplayTraffic;
  readonly #looks: LookTraffic;
  readonly #sending: Sending;
  readonly #sent: Ask[] = [];
  /** The ledgers beside the default one that every process makes sure of. */
  readonly #ledgers: readonly string[];

  /** `moment` is the server's, as clients guess it. */
  constructor(dice: Dice, books: Books, moment: () => number) {
    const clients = new Clients(dice, books);
    this.#clients = clients;
    this.#intents = new IntentTraffic(clients);
    this.#proofs = new ProofTraffic(clients);
    this.#records = new RecordTraffic(clients);
    this.#replays = new ReplayTraffic(clients);
    this.#looks = new LookTraffic(clients);
    this.#sending = new Sending(clients, moment);
    // Beside older books there must be one: what is in theirs is not known.
    this.#ledgers = dice.weigh([
      [[], books.inherited.ledgers > 0 ? 0 : 2],
      [['guarded'], 4],
      [['narrow'], 3],
      [LEDGERS, 1],
    ]);
  }

  /** What every life needs and does not have yet: ledgers, symbols, wallets, some money. */
  basics(): Ask[] {
    const drafts: Draft[] = [];
    for (const handle of this.#ledgers)
      if (this.#clients.books.find(0, 'ledger', handle) === null) drafts.push(this.#records.ledger(handle));
    for (const ledger of this.#clients.books.knownLedgers()) drafts.push(...this.#basicsOf(ledger));
    return drafts.map((draft) => this.#sending.finish(draft));
  }

  #basicsOf(ledger: number): Draft[] {
    const drafts: Draft[] = [];
    const key = KEYS[0]!;
    const { books, wallets, bridged, routed } = this.#clients;
    const isMissing = (kind: KindName, handle: string) => books.find(ledger, kind, handle) === null;
    for (const handle of SYMBOLS.slice(0, 2)) {
      if (isMissing('symbol', handle))
        drafts.push(this.#clients.create(ledger, 'symbol', { handle, factor: 100 }, [key]));
    }
    const bridges = bridged.map((_, n) => BRIDGES[n]!);
    for (const handle of bridges) {
      if (isMissing('bridge', handle))
        drafts.push(this.#clients.create(ledger, 'bridge', this.#records.bridge(ledger, handle), [key]));
    }
    const areBridges = bridges.every((handle) => !isMissing('bridge', handle));
    const all = [...wallets, ...routed, ...(areBridges ? bridged : [])];
    const missing = all.filter((handle) => isMissing('wallet', handle));
    for (const handle of missing)
      drafts.push(this.#clients.create(ledger, 'wallet', this.#records.wallet(ledger, handle), [key]));
    if (isMissing('effect', 'e0')) drafts.push(this.#clients.create(ledger, 'effect', this.#records.effect(), [key]));
    // Where keys must be allowed to do things, circles may be too.
    const isGuarded = books.ledgerRecord(ledger).handle === 'guarded';
    for (const [n, { public: own }] of isGuarded ? KEYS.entries() : []) {
      const signer = { handle: `s${n}`, public: own, format: 'ed25519-raw' };
      if (isMissing('signer', signer.handle)) drafts.push(this.#clients.create(ledger, 'signer', signer, [key]));
      const circle = { handle: `c${n}`, schema: 'strict', custom: { level: n } };
      if (isMissing('circle', circle.handle)) drafts.push(this.#clients.create(ledger, 'circle', circle, [key]));
    }
    if (missing.length > 0 || drafts.length > 0) return drafts;
    if (this.#clients.dice.chance(0.5)) drafts.push(this.#intents.money(ledger));
    if (this.#clients.dice.chance(0.4)) drafts.push(this.#intents.limits(ledger));
    return drafts;
  }

  next(): Ask {
    const { dice } = this.#clients;
    if (this.#sent.length > 0 && dice.chance(0.06)) return dice.pick(this.#sent);
    // What waits for somebody's signature does not wait for long: time ends it.
    if (dice.chance(0.25)) {
      const late = this.#proofs.lateProof();
      if (late !== null) return this.#finished(late);
    }
    const ledger = this.#pickLedger();
    if (ledger === null) return this.#sending.finish(this.#records.ledger(dice.pick(LEDGERS)));
    const make = dice.weigh<() => Draft | null>([
      [() => this.#intents.intent(ledger), 38],
      [() => this.#intents.limits(ledger), 3],
      [() => this.#intents.brink(ledger), 7],
      [() => this.#records.dropThrough(ledger), 8],
      [() => this.#proofs.commit(ledger), 10],
      [() => this.#proofs.proof(ledger), 7],
      [() => this.#records.record(ledger), 8],
      [() => this.#records.update(ledger), 6],
      [() => this.#records.drop(ledger), 4],
      [() => this.#records.member(ledger), 3],
      [() => this.#records.circleFor(), 12],
      [() => this.#replays.replay(ledger), 5],
      [() => this.#looks.wake(ledger), 3],
      [() => this.#looks.check(ledger), 3],
      [() => this.#looks.look(ledger), 22],
    ]);
    return this.#finished(make() ?? this.#intents.intent(ledger));
  }

  #finished(draft: Draft): Ask {
    this.#replays.hears(draft.wish);
    const ask = this.#sending.finish(draft);
    this.#sent.push(ask);
    if (this.#sent.length > RESENT_MAX) this.#sent.shift();
    return ask;
  }

  /** Null where there is none that it may speak to. */
  #pickLedger(): number | null {
    const [first, ...others] = this.#clients.books.knownLedgers();
    if (first === undefined) return null;
    return others.length === 0 || this.#clients.dice.chance(0.35) ? first : this.#clients.dice.pick([first, ...others]);
  }
}
