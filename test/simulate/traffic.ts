/**
 * What clients ask by chance: every kind of record and every way to move money, mostly as it should be, now and then
 * wrong, late, twice, or for what is not there. Clients know the books as they are at the moment, so what reaches the
 * server after somebody else's request is a little out of date.
 */
import type { Claim } from '../../src/core/claims/index.ts';
import type { KindName } from '../../src/core/kinds.ts';
import { accountKey } from '../core/model.ts';
import type { Dice } from '../support/dice.ts';
import { membersAt, PATHS } from './answers.ts';
import type { Model, Rec } from './model.ts';
import { bankUrl, hookUrl } from './network.ts';
import {
  type Ask,
  type Content,
  contentOf,
  type Filter,
  type Flaw,
  KEYS,
  type Key,
  type Look,
  type OneTime,
  type Operator,
  proofBody,
  recordBody,
  signHash,
  tokenOf,
  type Wish,
} from './wish.ts';

type Value = Record<string, unknown>;

/** A request before tokens and flaws. */
interface Draft {
  readonly method: string;
  readonly path: string;
  readonly wish: Wish | Look;
  /** The ledger it speaks to; 0 for making one. */
  readonly ledger: number;
  readonly query?: string;
  readonly body?: Value;
  readonly wait?: number;
}

/** A claim that limits an account, before it says by how much. */
type Limited = { readonly wallet: Claim['symbol']; readonly symbol: Claim['symbol']; readonly metric: string };

const WALLETS = ['w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'svgs@w1', 'w2@bank'];
const BASIC_WALLETS = WALLETS.slice(0, 5);
/** Wallets behind banks, and wallets that pass money on. */
const BRIDGED = ['x0', 'x1'];
const ROUTED = ['r0', 'r1', 'r2'];
const SYMBOLS = ['usd', 'eur', 'pts'];
const METRICS = ['minBalance', 'maxBalance', 'dailyAmount', 'dailyCount'];
const STATUSES = ['verified', 'onboarded', 'paused', 'active', 'No Status'];
const UPDATED: readonly KindName[] = [
  'wallet',
  'wallet',
  'anchor',
  'effect',
  'bridge',
  'circle',
  'policy',
  'signer',
  'symbol',
  'ledger',
  'ledger',
];
const DROPPED: readonly KindName[] = ['wallet', 'anchor', 'effect', 'bridge', 'circle', 'policy'];
const READ: readonly KindName[] = [
  'intent',
  'intent',
  'wallet',
  'wallet',
  'anchor',
  'effect',
  'circle',
  'signer',
  'ledger',
];
const ODD_WALLETS = ['nobody', 'svgs:9@w1', 'chk:7@bank', 'w3@nowhere', 'w5'];
const MAX = Number.MAX_SAFE_INTEGER;
const RESENT_MAX = 40;

const EVERYBODY = { action: 'any', record: 'any' };

export class Traffic {
  readonly #dice: Dice;
  readonly #model: Model;
  /** The server's moment, as clients guess it. */
  readonly #moment: () => number;
  #made = 0;
  readonly #sent: Ask[] = [];
  readonly #formerNames: string[] = [];
  /** The ledgers beside the default one that every process makes sure of. */
  readonly #ledgers: readonly string[];
  readonly #tokens: { text: string; ledger: number; token: OneTime }[] = [];

  constructor(dice: Dice, model: Model, moment: () => number) {
    this.#dice = dice;
    this.#model = model;
    this.#moment = moment;
    // Beside older books there must be one: what is in theirs is not known.
    this.#ledgers = dice.weigh([
      [[], model.inherited.ledgers > 0 ? 0 : 2],
      [['guarded'], 4],
      [['narrow'], 3],
      [LEDGERS, 2],
    ]);
  }

  /** What every life needs and does not have yet: ledgers, symbols, wallets, some money. */
  basics(): Ask[] {
    const drafts: Draft[] = [];
    for (const handle of this.#ledgers)
      if (this.#model.find(0, 'ledger', handle) === null) drafts.push(this.#ledger(handle));
    for (const ledger of this.#model.knownLedgers()) drafts.push(...this.#basicsOf(ledger));
    return drafts.map((draft) => this.#finish(draft));
  }

  #basicsOf(ledger: number): Draft[] {
    const drafts: Draft[] = [];
    const key = KEYS[0]!;
    const isMissing = (kind: KindName, handle: string) => this.#model.find(ledger, kind, handle) === null;
    for (const handle of SYMBOLS.slice(0, 2)) {
      if (isMissing('symbol', handle)) drafts.push(this.#create(ledger, 'symbol', { handle, factor: 100 }, [key]));
    }
    for (const handle of BRIDGES) {
      if (isMissing('bridge', handle)) drafts.push(this.#create(ledger, 'bridge', this.#bridge(ledger, handle), [key]));
    }
    const areBridges = BRIDGES.every((handle) => !isMissing('bridge', handle));
    const wallets = [...BASIC_WALLETS, ...ROUTED, ...(areBridges ? BRIDGED : [])];
    const missing = wallets.filter((handle) => isMissing('wallet', handle));
    for (const handle of missing) drafts.push(this.#create(ledger, 'wallet', this.#wallet(ledger, handle), [key]));
    if (isMissing('effect', 'e0')) drafts.push(this.#create(ledger, 'effect', this.#effect(), [key]));
    if (missing.length > 0 || drafts.length > 0) return drafts;
    if (this.#dice.chance(0.5)) drafts.push(this.#money(ledger));
    if (this.#dice.chance(0.4)) drafts.push(this.#limits(ledger));
    return drafts;
  }

  #money(ledger: number): Draft {
    // Banks pay out what they have not got in.
    const debts = BRIDGED.map((handle) => ({
      action: 'limit',
      wallet: { handle },
      symbol: { handle: 'usd' },
      metric: 'minBalance',
      amount: -1000,
    }));
    const issued = BASIC_WALLETS.flatMap((wallet) =>
      SYMBOLS.slice(0, 2).map((symbol) => ({
        action: 'issue',
        target: { handle: wallet },
        symbol: { handle: symbol },
        amount: this.#dice.between(20, 200),
      })),
    );
    const claims = [...issued, ...debts];
    return this.#create(ledger, 'intent', { handle: this.#fresh('i'), claims }, [KEYS[0]!]);
  }

  /** Accounts that money moves in, or is set aside in, come up to their limits soon. */
  #limits(ledger: number): Draft {
    const dice = this.#dice;
    const claims = Array.from({ length: dice.between(1, 5) }, () => {
      const [wallet, symbol] = this.#heldAccount(ledger) ?? [dice.pick(BASIC_WALLETS), dice.pick(SYMBOLS.slice(0, 2))];
      const limited = {
        action: 'limit',
        wallet: { handle: wallet },
        symbol: { handle: symbol },
        metric: dice.pick(METRICS),
      };
      return { ...limited, amount: this.#tightLimit(ledger, limited) ?? 100 };
    });
    return this.#create(ledger, 'intent', { handle: this.#fresh('i'), claims }, [KEYS[0]!]);
  }

  /** Wallet and symbol of money that is set aside, mostly, where there is any. */
  #heldAccount(ledger: number): [string, string] | null {
    const { accounts } = this.#model.money;
    const held = [...accounts.entries()].flatMap(([key, { reserved, incoming }]) => {
      const [wallet, symbol] = key.split(' ').map((luid) => this.#model.records.get(luid)!) as [Rec, Rec];
      return wallet.ledger === ledger && reserved + incoming > 0n
        ? [[wallet.handle, symbol.handle] as [string, string]]
        : [];
    });
    return held.length > 0 && this.#dice.chance(0.7) ? this.#dice.pick(held) : null;
  }

  next(): Ask {
    const dice = this.#dice;
    if (this.#sent.length > 0 && dice.chance(0.06)) return dice.pick(this.#sent);
    const ledger = this.#pickLedger();
    if (ledger === null) return this.#finish(this.#ledger(dice.pick(LEDGERS)));
    const make = dice.weigh<() => Draft | null>([
      [() => this.#intent(ledger), 38],
      [() => this.#limits(ledger), 3],
      [() => this.#commit(ledger), 10],
      [() => this.#lateProof(ledger), 8],
      [() => this.#proof(ledger), 7],
      [() => this.#record(ledger), 8],
      [() => this.#update(ledger), 6],
      [() => this.#drop(ledger), 4],
      [() => this.#member(ledger), 2],
      [() => this.#wake(ledger), 1],
      [() => this.#check(ledger), 3],
      [() => this.#look(ledger), 22],
    ]);
    const ask = this.#finish(make() ?? this.#intent(ledger));
    this.#sent.push(ask);
    if (this.#sent.length > RESENT_MAX) this.#sent.shift();
    return ask;
  }

  /** Null where there is none that it may speak to. */
  #pickLedger(): number | null {
    const [first, ...others] = this.#model.knownLedgers();
    if (first === undefined) return null;
    return others.length === 0 || this.#dice.chance(0.5) ? first : this.#dice.pick([first, ...others]);
  }

  // ---------------------------------------------------------------- intents

  #intent(ledger: number): Draft {
    const dice = this.#dice;
    const count = dice.chance(0.6) ? 1 : dice.between(2, 6);
    // Several claims of one bank's wallet: whether they share an entry there is for its bridge to say.
    const shared = count > 1 && dice.chance(0.25) ? dice.pick(BRIDGED) : null;
    const claims = Array.from({ length: count }, () => this.#claim(ledger, shared));
    const isManual = dice.chance(0.3);
    const handle = dice.chance(0.1) ? `i${dice.below(8)}` : this.#fresh('i');
    const value = {
      handle,
      claims,
      ...(isManual && { config: { commit: 'manual' } }),
      ...(dice.chance(0.2) && { schema: dice.pick(['transfer', 'issue']) }),
    };
    const keys = this.#keys(ledger);
    const draft = this.#create(ledger, 'intent', value, keys, dice.chance(0.5) ? { status: 'created' } : null);
    return dice.chance(0.08) ? { ...draft, wait: dice.between(1, 4) } : draft;
  }

  #claim(ledger: number, shared: string | null): Claim {
    const dice = this.#dice;
    const wallet = () =>
      this.#reference(
        dice.weigh([
          [shared ?? '', shared === null ? 0 : 15],
          [dice.pick(BASIC_WALLETS), 20],
          [dice.pick(BRIDGED), 6],
          [dice.pick(ROUTED), 2],
          [dice.pick(ODD_WALLETS), 1],
        ]),
      );
    const symbol = this.#reference(
      dice.chance(0.02) ? 'none' : dice.chance(0.03) ? SYMBOLS[2]! : dice.pick(SYMBOLS.slice(0, 2)),
    );
    const amount = dice.chance(0.02) ? dice.pick([MAX, MAX - 1, 2 ** 40 + 1]) : dice.between(1, 60);
    const action = dice.weigh([
      ['transfer', 11],
      ['issue', 5],
      ['destroy', 2],
      ['limit', 3],
    ]);
    if (action === 'issue') return { action, target: wallet(), symbol, amount };
    if (action === 'destroy') return { action, source: wallet(), symbol, amount };
    if (action === 'transfer') return { action, source: wallet(), target: wallet(), symbol, amount };
    const limited = { action, wallet: wallet(), symbol, metric: dice.pick(METRICS) };
    const tight = dice.chance(0.5) ? this.#tightLimit(ledger, limited) : null;
    return { ...limited, amount: tight ?? (dice.chance(0.7) ? dice.between(20, 500) : dice.between(-60, 20)) };
  }

  /** A limit that the next movements of an account come up to, holds included; null where there is no such account. */
  #tightLimit(ledger: number, { wallet, symbol, metric }: Limited): number | null {
    const dice = this.#dice;
    const luidOf = (kind: KindName, reference: Claim['symbol']) =>
      this.#model.find(ledger, kind, typeof reference === 'string' ? reference : reference.handle)?.luid ?? '';
    const key = accountKey(luidOf('wallet', wallet), luidOf('symbol', symbol));
    const account = this.#model.money.accounts.get(key);
    if (account === undefined) return null;
    const { available, reserved, incoming } = account;
    if (metric === 'minBalance') return Math.max(-MAX, Number(available) - dice.between(0, 60));
    if (metric === 'maxBalance') return Math.min(MAX, Number(available + reserved + incoming) + dice.between(0, 60));
    return metric === 'dailyCount' ? dice.between(1, 4) : dice.between(20, 150);
  }

  #reference(handle: string): Claim['symbol'] {
    const dice = this.#dice;
    if (dice.chance(0.1)) return handle;
    // Who is meant behind the wallet is for its bank to know.
    return BRIDGED.includes(handle) && dice.chance(0.4)
      ? { handle, custom: { account: dice.pick(['a', 'b']) } }
      : { handle };
  }

  /** Commits or aborts an intent that is prepared, or one that is not. */
  #commit(ledger: number): Draft | null {
    const prepared = this.#model.list(ledger, 'intent').filter(({ progress }) => progress!.stage === 'prepared');
    const record =
      prepared.length > 0 && this.#dice.chance(0.9) ? this.#dice.pick(prepared) : this.#any(ledger, 'intent');
    const custom = this.#dice.pick([
      { action: 'commit' },
      { action: 'commit' },
      { action: 'abort' },
      { status: 'committed' },
      { status: 'aborted' },
      { status: 'completed' },
    ]);
    return record === null
      ? null
      : this.#prove(record, custom, this.#dice.chance(0.6) ? KEYS[1]! : this.#dice.pick(KEYS));
  }

  /** A proof that an intent may have been waiting for. */
  #lateProof(ledger: number): Draft | null {
    const pending = this.#model.list(ledger, 'intent').filter(({ progress }) => progress!.stage === 'pending');
    if (pending.length === 0) return null;
    return this.#prove(
      this.#dice.pick(pending),
      this.#dice.chance(0.5) ? null : { n: this.#made++ },
      this.#dice.pick(KEYS),
    );
  }

  #proof(ledger: number): Draft | null {
    const dice = this.#dice;
    const record = this.#any(ledger, dice.pick(['wallet', 'anchor', 'effect', 'circle', 'symbol', 'intent']));
    if (record === null) return null;
    const custom = dice.weigh<Value>([
      [{ status: dice.pick(STATUSES) }, 5],
      [{ labels: [dice.pick(['gold', 'vip', '-gold', '-vip', 'none'])] }, 4],
      [{ labels: ['gold', 'vip'] }, 1],
      [{ note: 'x' }, 1],
    ]);
    // Without a number the same proof comes twice now and then.
    return this.#prove(record, dice.chance(0.7) ? { ...custom, n: this.#made++ } : custom, dice.pick(KEYS));
  }

  #prove(record: Rec, custom: Value | null, key: Key): Draft {
    const { ledger, kind } = record;
    const { hash } = record.content;
    const id = this.#idOf(record);
    const proof = signHash(hash, key, custom);
    const part = kind === 'intent' && this.#dice.chance(0.2) ? 'sign' : 'proofs';
    const path = `/v2/${PATHS[kind]}/${id}/${part}`;
    return {
      method: 'POST',
      path,
      ledger,
      body: proofBody(hash, proof),
      wish: { op: 'proof', ledger, kind, id, hash, proof },
    };
  }

  // ---------------------------------------------------------------- records

  #ledger(handle: string): Draft {
    const dice = this.#dice;
    const [first, second] = KEYS as [Key, Key];
    const minutes = { 'intent.expiryThresholdMinutes': dice.between(1, 8) };
    const value: Value =
      handle === 'guarded'
        ? {
            handle,
            config: minutes,
            access: [
              {
                action: { $in: ['access', 'create', 'read', 'update', 'drop', 'assign-signer', 'remove-signer'] },
                record: 'any',
              },
              { action: { $in: ['issue', 'destroy'] }, record: 'symbol', signer: { public: first.public } },
              { action: 'limit', record: 'wallet', signer: { public: first.public } },
              { action: { $in: ['commit', 'abort'] }, record: 'intent', signer: { public: second.public } },
              { action: 'activate', record: 'bridge', signer: { public: KEYS[2]!.public } },
            ],
          }
        : {
            handle,
            config: { ...minutes, 'anchor.walletRequired': false },
            access: [
              { action: { $in: ['access', 'read'] }, record: 'any' },
              { ...EVERYBODY, signer: { public: first.public } },
            ],
          };
    return this.#create(0, 'ledger', value, [first]);
  }

  #extraRule(): Value {
    const signer = { public: this.#dice.pick(KEYS).public };
    return this.#dice.chance(0.5)
      ? { action: 'commit', record: 'intent', signer }
      : { action: 'spend', record: 'wallet', signer };
  }

  #wallet(ledger: number, handle: string): Value {
    const dice = this.#dice;
    const spend = dice.chance(0.2)
      ? { action: 'spend' }
      : { action: 'spend', signer: { public: dice.pick(KEYS).public } };
    return {
      handle,
      ...(ledger !== 1 && dice.chance(0.95) && { access: [spend] }),
      ...(dice.chance(0.3) && { schema: dice.pick(['bank', 'user']) }),
      ...(BRIDGED.includes(handle) && { bridge: BRIDGES[BRIDGED.indexOf(handle)]! }),
      ...(ROUTED.includes(handle) && { routes: this.#routes() }),
      ...(dice.chance(0.3) && { custom: { n: this.#made++ } }),
    };
  }

  #routes(): Value[] {
    const dice = this.#dice;
    return Array.from({ length: dice.between(1, 2) }, () => {
      const action = dice.weigh([
        ['forward', 5],
        ['credit', 3],
        ['debit', 2],
        ['accept', 1],
      ]);
      const filter = dice.weigh<Value | null>([
        [null, 3],
        [{ 'symbol.handle': 'usd' }, 1],
        [{ amount: { $lte: 30 } }, 1],
      ]);
      const target = dice.weigh([
        [dice.pick(BASIC_WALLETS), 4],
        [dice.pick(ROUTED), 3],
        [dice.pick(BRIDGED), 1],
        ['nobody', 0.3],
      ]);
      const isAimless = action === 'accept' || dice.chance(0.02);
      return { action, ...(!isAimless && { target }), ...(filter !== null && { filter }) };
    });
  }

  #bridge(ledger: number, handle: string): Value {
    const dice = this.#dice;
    const traits = dice.chance(0.4) && { traits: ['statuses'] };
    const groupBy = () => dice.pick([[], ['source'], ['symbol'], ['target', 'symbol'], ['source', 'target', 'symbol']]);
    const config = {
      server: bankUrl(ledger, handle),
      ...(dice.chance(0.3) && { 'debits.claims.groupBy': groupBy() }),
      ...(dice.chance(0.3) && { 'credits.claims.groupBy': groupBy() }),
    };
    return { handle, config, custom: { n: this.#made++ }, ...traits };
  }

  #effect(handle = 'e0'): Value {
    const dice = this.#dice;
    const signal = dice.pick([
      'balance-received',
      'intent-updated',
      'intent-created',
      'wallet-created',
      'wallet-proofs-added',
      'wallet-limited',
      'effect-updated',
    ]);
    const filter = signal === 'balance-received' && dice.chance(0.5) && { filter: { amount: { $gte: 20 } } };
    const action = dice.chance(0.8)
      ? { schema: 'webhook', endpoint: hookUrl(this.#fresh('hook')) }
      : { schema: 'bridge', bridge: 'b0' };
    return { handle, signal, action, ...filter };
  }

  /** A new record of any kind but an intent. */
  #record(ledger: number): Draft {
    const dice = this.#dice;
    const kind = dice.weigh<KindName>([
      ['wallet', 4],
      ['anchor', 5],
      ['symbol', 1],
      ['effect', 2],
      ['bridge', 2],
      ['circle', 2],
      ['policy', 1],
      ['schema', 0.4],
      ['signer', 2],
      ['ledger', 0.4],
    ]);
    if (kind === 'ledger') return this.#ledger(dice.pick(LEDGERS));
    return this.#create(ledger, kind, this.#valueOf(ledger, kind), this.#keys(ledger));
  }

  #valueOf(ledger: number, kind: KindName): Value {
    const dice = this.#dice;
    switch (kind) {
      case 'wallet':
        return this.#wallet(ledger, dice.pick(WALLETS));
      case 'symbol':
        return { handle: dice.pick(SYMBOLS), factor: dice.pick([1, 100]), custom: { n: this.#made++ } };
      case 'anchor':
        return {
          handle: `a${dice.below(12)}`,
          wallet: dice.chance(0.05) ? 'nobody' : dice.pick(WALLETS),
          target: dice.pick(WALLETS),
          ...(dice.chance(0.5) && { symbol: 'usd' }),
          custom: { n: this.#made++ },
        };
      case 'effect':
        return this.#effect(`e${dice.below(3)}`);
      case 'bridge':
        return this.#bridge(ledger, `b${dice.below(3)}`);
      case 'circle':
        return {
          handle: `c${dice.below(4)}`,
          ...(dice.chance(0.5) && { schema: dice.pick(['strict', 'none']) }),
          ...(dice.chance(0.6) && { custom: { level: dice.pick([1, 2, 'high']) } }),
        };
      case 'policy':
        return dice.pick([
          { handle: 'p0', schema: 'labels', record: 'anchor', values: ['gold', { label: 'vip', unique: true }] },
          {
            handle: 'p1',
            schema: 'status',
            record: 'effect',
            values: [{ status: 'paused', from: ['active'] }, { status: 'active' }],
          },
          { handle: 'p2', schema: 'access', record: 'any', values: [] },
        ]);
      case 'schema':
        return {
          handle: 'strict',
          record: 'circle',
          format: 'json-schema',
          schema: {
            type: 'object',
            required: ['custom'],
            properties: { custom: { type: 'object', required: ['level'], properties: { level: { type: 'integer' } } } },
          },
        };
      default:
        return { handle: `s${dice.below(4)}`, public: dice.pick(KEYS).public, format: 'ed25519-raw' };
    }
  }

  #create(ledger: number, kind: KindName, value: Value, keys: readonly Key[], custom: Value | null = null): Draft {
    const content = contentOf(value, keys, custom);
    const wish: Wish = { op: 'create', ledger, kind, content };
    return { method: 'POST', path: `/v2/${PATHS[kind]}`, ledger, wish, body: recordBody(content) };
  }

  #update(ledger: number): Draft | null {
    const dice = this.#dice;
    const kind = dice.pick(UPDATED);
    const record = kind === 'ledger' ? this.#model.ledgerRecord(ledger) : this.#any(ledger, kind);
    if (record === null) return null;
    const { value: before, hash } = record.content;
    const parent = dice.chance(0.93) ? hash : record.versions[0] === hash ? 'ab'.repeat(32) : record.versions[0];
    const value: Value = { ...before, custom: { ...(before.custom as object), n: this.#made++ }, parent };
    if (kind === 'effect' && dice.chance(0.4)) value.signal = dice.pick(['intent-updated', 'balance-received']);
    if (kind === 'ledger' && ledger !== 1) {
      value.config = { ...(before.config as object), 'intent.expiryThresholdMinutes': dice.between(1, 8) };
      // Who may do something today may not tomorrow.
      const rules = (before.access as Value[]).filter(({ action }) => action !== 'commit' && action !== 'spend');
      value.access = dice.chance(0.5) ? rules : [...rules, this.#extraRule()];
    }
    if (kind === 'wallet' && ledger !== 1 && dice.chance(0.4)) {
      value.access = [{ action: 'spend', signer: { public: dice.pick(KEYS).public } }];
    }
    const isRenamed = ['wallet', 'anchor', 'circle', 'policy'].includes(kind) && dice.chance(0.2);
    if (isRenamed) {
      value.handle = `${kind[0]}${dice.below(8)}`;
      this.#formerNames.push(record.handle);
    }
    const home = kind === 'ledger' ? 0 : ledger;
    const content = contentOf(value, this.#keys(ledger));
    const luidSent = dice.chance(0.5) ? (dice.chance(0.95) ? record.luid : `$wlt.${'0'.repeat(17)}`) : undefined;
    const id = this.#idOf(record);
    const wish: Wish = { op: 'update', ledger: home, kind, id, content, ...(luidSent !== undefined && { luidSent }) };
    return { method: 'PUT', path: `/v2/${PATHS[kind]}/${id}`, ledger, wish, body: recordBody(content, luidSent) };
  }

  #drop(ledger: number): Draft | null {
    const dice = this.#dice;
    const kind = dice.pick(DROPPED);
    const record = this.#any(ledger, kind);
    if (record === null) return null;
    const parent = dice.chance(0.95) ? record.content.hash : 'cd'.repeat(32);
    // Nobody need sign a drop where the rules ask for nobody.
    const content = contentOf({ parent }, dice.chance(0.1) ? [] : this.#keys(ledger), { n: this.#made++ });
    const id = this.#idOf(record);
    const wish: Wish = { op: 'drop', ledger, kind, id, content };
    const [method, tail] = dice.chance(0.5) ? ['DELETE', ''] : ['POST', '/drop'];
    return { method, path: `/v2/${PATHS[kind]}/${id}${tail}`, ledger, wish, body: recordBody(content) };
  }

  #member(ledger: number): Draft | null {
    const dice = this.#dice;
    const of = this.#any(ledger, 'circle');
    const who = this.#any(ledger, 'signer');
    if (of === null || who === null) return null;
    const [circle, signer] = [of.handle, dice.chance(0.95) ? who.handle : 'nobody'];
    const isOff = dice.chance(0.35);
    const content = contentOf({ circle, signer }, this.#keys(ledger), isOff ? { n: this.#made++ } : null);
    const wish: Wish = { op: isOff ? 'remove' : 'assign', ledger, kind: 'circle-signer', circle, signer, content };
    const path = `/v2/circles/${circle}/signers`;
    const body = recordBody(content);
    return isOff
      ? { method: 'DELETE', path: `${path}/${signer}`, ledger, wish, body }
      : { method: 'POST', path, ledger, wish, body };
  }

  /** Somebody says that the other side is there again. */
  #wake(ledger: number): Draft | null {
    const isBridge = this.#dice.chance(0.5);
    const kind = isBridge ? 'bridge' : 'effect';
    const record = this.#any(ledger, kind);
    if (record === null) return null;
    const id = this.#idOf(record);
    const op = isBridge ? 'activate' : 'retry-event';
    const path = `/v2/${PATHS[kind]}/${id}/${isBridge ? 'activate' : 'events/retry'}`;
    return { method: 'POST', path, ledger, wish: { op, ledger, kind, id } };
  }

  // ---------------------------------------------------------------- looks

  #look(ledger: number): Draft {
    const dice = this.#dice;
    if (dice.chance(0.35)) return this.#list(ledger);
    if (dice.chance(0.2)) return this.#events(ledger);
    if (dice.chance(0.1))
      return { method: 'GET', path: '/v2/head', ledger, wish: { op: 'head', ledger, kind: 'ledger' } };
    const kind = dice.pick(READ);
    const record = kind === 'ledger' ? this.#model.ledgerRecord(ledger) : this.#any(ledger, kind);
    const id = record === null || dice.chance(0.06) ? this.#nameOfNobody() : this.#idOf(record);
    const home = kind === 'ledger' ? 0 : ledger;
    const path = `/v2/${PATHS[kind]}/${id}`;
    if (kind === 'wallet' && dice.chance(0.6)) {
      const op = dice.chance(0.7) ? 'balances' : 'limits';
      return { method: 'GET', path: `${path}/${op}`, query: 'page.limit=100', ledger, wish: { op, ledger, kind, id } };
    }
    if (dice.chance(0.15))
      return { method: 'GET', path: `${path}/changes`, ledger, wish: { op: 'changes', ledger: home, kind, id } };
    return { method: 'GET', path, ledger, wish: { op: 'read', ledger: home, kind, id } };
  }

  #list(ledger: number): Draft {
    const dice = this.#dice;
    const kind = dice.pick(LISTED);
    const count = dice.weigh([
      [0, 3],
      [1, 6],
      [2, 3],
      [3, 1],
    ]);
    const all = Array.from({ length: count }, () => this.#filter(ledger, kind));
    // Two lists of values for one path would be one.
    const filters = all.filter(({ path, operator }, n) => {
      return all.findIndex((other) => other.path === path && other.operator === operator) === n;
    });
    const isOldestFirst = dice.chance(0.3);
    const [index, limit] = [dice.chance(0.2) ? dice.below(3) : 0, dice.pick([1, 3, 20])];
    const parts = [`page.limit=${limit}`, ...filters.flatMap((filter, n) => this.#filterParts(filter, n))];
    if (index > 0) parts.push(`page.index=${index}`);
    if (isOldestFirst) parts.push('sort.meta.moment=1');
    const wish: Look = { op: 'list', ledger, kind, filters, isOldestFirst, index, limit };
    return { method: 'GET', path: `/v2/${PATHS[kind]}`, query: parts.join('&'), ledger, wish };
  }

  /** A condition, mostly on something that some record has. */
  #filter(ledger: number, kind: KindName): Filter {
    const dice = this.#dice;
    const path = dice.pick([...COMMON_PATHS, ...(FILTER_PATHS[kind] ?? [])]);
    const operator = dice.weigh(OPERATORS);
    if (operator === 'regex') return { path, operator, values: [dice.pick(PATTERNS)] };
    const value = () => {
      const record = dice.chance(0.8) ? this.#any(ledger, kind) : null;
      const known = record === null ? [] : membersAt(record, path).filter((member) => member !== undefined);
      return known.length === 0 ? dice.pick(ODD_VALUES) : String(dice.pick(known));
    };
    const isList = operator === 'in' || operator === 'nin';
    const values = Array.from({ length: isList ? dice.between(1, 3) : 1 }, value);
    // The one place where any text is not a value.
    const isMoment = path === 'meta.moment';
    return { path, operator, values: isMoment ? values.map((text) => momentOf(text)) : values };
  }

  /** The same condition in one of the ways in which clients write it. */
  #filterParts({ path, operator, values }: Filter, number: number): string[] {
    const dice = this.#dice;
    const texts = values.map((value) => encodeURIComponent(value));
    if (operator === 'in' || operator === 'nin')
      return texts.map((text, n) => `filter.${path}.$${operator}.${n}=${text}`);
    const suffix = operator === 'eq' ? '' : `$${operator}`;
    const [dotted, brackets] = suffix === '' ? [path, path] : [`${path}.${suffix}`, `${path}][${suffix}`];
    const [text] = texts as [string];
    if (number === 0 && dice.chance(0.2)) {
      const json = { [path]: suffix === '' ? values[0] : { [suffix]: values[0] } };
      return [`filter=${encodeURIComponent(JSON.stringify(json))}`];
    }
    return [dice.pick([`${dotted}=${text}`, `filter.${dotted}=${text}`, `filter[${brackets}]=${text}`])];
  }

  /** What happened lately in a ledger; now and then somebody waits for more. */
  #events(ledger: number): Draft {
    const dice = this.#dice;
    const { seq } = this.#model;
    const after = Math.max(0, seq - dice.below(dice.pick([3, 60])) + (dice.chance(0.1) ? dice.below(4) : 0));
    const skip = dice.chance(0.2) ? dice.between(1, 3) : 0;
    const signal = dice.chance(0.5) ? '' : dice.pick(SIGNALS);
    const limit = dice.pick([1, 4, 20]);
    const parts = [`after=${after}${skip > 0 ? `.${skip}` : ''}`, `page.limit=${limit}`];
    if (signal !== '') parts.push(`signal=${signal}`);
    if (dice.chance(0.3)) parts.push(`wait=${dice.between(1, 4)}`);
    const wish: Look = { op: 'events', ledger, kind: 'effect', after, skip, signal, limit };
    return { method: 'GET', path: '/v2/events', query: parts.join('&'), ledger, wish };
  }

  /** May I? */
  #check(ledger: number): Draft | null {
    const dice = this.#dice;
    const kind = dice.pick<KindName>(['wallet', 'intent', 'symbol', 'bridge', 'circle']);
    const record = this.#any(ledger, kind);
    if (record === null) return null;
    const about = dice.weigh<string | null>([
      [null, 4],
      ['any', 1],
      [kind, 2],
      [dice.pick(['wallet', 'intent', 'wallet-proof', 'anchor']), 2],
    ]);
    const action = dice.pick(['access', 'create', 'read', 'update', 'spend', 'issue', 'limit', 'commit', 'activate']);
    const content = contentOf({ action, ...(about !== null && { record: about }) }, this.#keys(ledger));
    const id = this.#idOf(record);
    const wish: Wish = { op: 'check', ledger, kind, id, content };
    return { method: 'POST', path: `/v2/${PATHS[kind]}/${id}/access/!check`, ledger, wish, body: recordBody(content) };
  }

  // ---------------------------------------------------------------- how a request is sent

  #finish(draft: Draft): Ask {
    const dice = this.#dice;
    const { method, wish, query = '', wait = null } = draft;
    const flaw = this.#pickFlaw(draft);
    const headers: Record<string, string> = {};
    if (flaw === 'ledger') headers['x-ledger'] = 'nowhere';
    else if (draft.ledger > 1 || (draft.ledger === 1 && dice.chance(0.2)))
      headers['x-ledger'] = this.#idOf(this.#model.ledgerRecord(draft.ledger));
    if (wait !== null) headers.prefer = `wait=${wait}`;
    const token = this.#addToken(headers, draft.ledger, flaw);
    const path =
      flaw === 'path'
        ? '/v2/nothing/here'
        : flaw === 'id'
          ? draft.path.replace(/^(\/v2\/[a-z]+)\/[^/]+/, '$1/!x')
          : draft.path;
    return {
      method: flaw === 'method' ? 'PATCH' : method,
      path,
      query,
      headers,
      body: draft.body === undefined ? Buffer.alloc(0) : spoil(draft.body, flaw),
      wish,
      flaw,
      token,
      wait,
    };
  }

  #pickFlaw({ body, wish, path }: Draft): Flaw | null {
    const dice = this.#dice;
    if (!dice.chance(0.07)) return null;
    const flaws: Flaw[] = ['path', 'token'];
    // Making a ledger takes none.
    if (!(wish.op === 'create' && wish.kind === 'ledger')) flaws.push('ledger', 'method');
    if (/^\/v2\/[a-z]+\/[^/]+/.test(path) && wish.op !== 'assign' && wish.op !== 'remove') flaws.push('id');
    if (body !== undefined) {
      flaws.push('json', 'schema', 'digest', 'signature', 'signature');
      if ('hash' in body) flaws.push('hash');
      const { proofs } = (body.meta ?? { proofs: [body] }) as { proofs: unknown[] };
      if (proofs.length === 0) return 'json';
      if (wish.op === 'create' || wish.op === 'update' || wish.op === 'assign') flaws.push('unsigned');
    }
    return dice.pick(flaws);
  }

  #addToken(headers: Record<string, string>, ledger: number, flaw: Flaw | null): OneTime | null {
    const dice = this.#dice;
    // Requests without a ledger speak to the default one.
    const of = Math.max(ledger, 1);
    const now = Math.floor(this.#moment() / 1000);
    const key = dice.pick(KEYS);
    const aud = this.#model.knownLedgers().includes(of) ? this.#model.ledgerRecord(of).handle : 'main';
    const claims = { iss: 'me', sub: 'me', aud, iat: now, exp: now + 60 };
    if (flaw === 'token') {
      const wrong = dice.pick([
        { iat: now - 3e7, exp: now - 2e7 },
        { aud: 'elsewhere' },
        { iat: now + 1e7, exp: now + 2e7 },
        null,
      ]);
      headers.authorization = tokenOf(key, { ...claims, ...wrong }, wrong === null);
      return null;
    }
    if (flaw === 'ledger' || !dice.chance(0.08)) return null;
    const known = this.#tokens.filter((one) => one.ledger === of);
    if (known.length > 0 && dice.chance(0.35)) {
      const { text, token } = dice.pick(known);
      headers.authorization = text;
      return token;
    }
    const jti = this.#fresh('jti');
    const exp = now + dice.between(1, 200);
    headers.authorization = tokenOf(key, { ...claims, exp, jti });
    const token = { key: `${of} ${key.public} ${jti}`, iat: now, exp };
    this.#tokens.push({ text: headers.authorization, ledger: of, token });
    return token;
  }

  // ---------------------------------------------------------------- what is there

  #any(ledger: number, kind: KindName): Rec | null {
    const all = this.#model.list(ledger, kind);
    if (all.length === 0) return null;
    // The newest are the ones that are on their way.
    return this.#dice.chance(0.4) ? all[0]! : this.#dice.pick(all);
  }

  /** A name that a record had before it was given another one, as far as there is any. */
  #nameOfNobody(): string {
    const dice = this.#dice;
    return this.#formerNames.length > 0 && dice.chance(0.7) ? dice.pick(this.#formerNames) : 'nobody';
  }

  #idOf({ handle, luid }: Rec): string {
    return this.#dice.chance(0.8) ? handle : luid;
  }

  /** Who signs: mostly somebody who may. */
  #keys(ledger: number): readonly Key[] {
    const dice = this.#dice;
    const first = ledger === 1 || dice.chance(0.25) ? dice.pick(KEYS) : KEYS[0]!;
    return dice.chance(0.15) ? [first, dice.pick(KEYS)] : [first];
  }

  #fresh(prefix: string): string {
    return `${prefix}-${this.#made++}`;
  }
}

const LEDGERS = ['guarded', 'narrow'];
const BRIDGES = ['b0', 'b1'];

const LISTED: readonly KindName[] = [
  'intent',
  'intent',
  'intent',
  'wallet',
  'wallet',
  'anchor',
  'effect',
  'circle',
  'signer',
  'bridge',
];
const COMMON_PATHS = ['data.handle', 'data.schema', 'meta.status', 'meta.moment', 'meta.labels', 'data.custom.n'];
const FILTER_PATHS: Partial<Record<KindName, readonly string[]>> = {
  anchor: ['data.wallet', 'data.target', 'data.symbol'],
  signer: ['data.public'],
  effect: ['data.signal'],
  intent: [
    'meta.thread',
    'data.claims.action',
    'data.claims.amount',
    'data.claims.metric',
    'data.claims.source.handle',
    'data.claims.source',
    'data.claims.target.handle',
    'data.claims.wallet.handle',
    'data.claims.symbol.handle',
  ],
};
const OPERATORS: readonly (readonly [Operator, number])[] = [
  ['eq', 10],
  ['ne', 2],
  ['in', 3],
  ['nin', 1],
  ['gt', 1],
  ['gte', 1],
  ['lt', 1],
  ['lte', 1],
  ['regex', 1],
];
const PATTERNS = ['^w', '[0-3]$', 'bank', '^i-1', 'e.*d$'];
const ODD_VALUES = ['nobody', '0', '7', '-1', '30', 'w9', 'gold', 'completed', 'created', 'bank', 'transfer', 'usd'];
const SIGNALS = [
  'balance-received',
  'intent-updated',
  'intent-created',
  'wallet-created',
  'wallet-proofs-added',
  'wallet-limited',
  'anchor-dropped',
];

function momentOf(text: string): string {
  return /^\d{4}-/.test(text) ? text : '2030-01-02T12:00:01.000Z';
}

/** The body as bytes, with what is wrong with it. */
function spoil(body: Value, flaw: Flaw | null): Buffer {
  if (flaw === null) return Buffer.from(JSON.stringify(body));
  if (flaw === 'json') return Buffer.from(JSON.stringify(body).slice(0, -1));
  const spoilt = structuredClone(body);
  const { data, meta } = spoilt as { data?: Value; meta?: { proofs: Value[] } };
  const proof = meta === undefined ? spoilt : meta.proofs[0];
  if (flaw === 'schema') (data ?? spoilt).unknown = 1;
  if (flaw === 'hash') spoilt.hash = '0'.repeat(64);
  if (flaw === 'unsigned') meta!.proofs = [];
  if (flaw === 'digest') proof!.digest = '0'.repeat(64);
  if (flaw === 'signature') {
    const result = Buffer.from(proof!.result as string, 'base64');
    result[3]! ^= 4;
    proof!.result = result.toString('base64');
  }
  return Buffer.from(JSON.stringify(spoilt));
}

export type { Content };
