/**
 * Requests that move money or limit it: every sort of claim, between wallets that may be there or not, of amounts and
 * to limits that the next movements come up to.
 */
import type { Claim } from '../../../src/core/claims/index.ts';
import type { KindName } from '../../../src/core/kinds.ts';
import { accountKey } from '../../core/model.ts';
import type { Rec } from '../model/record.ts';
import { KEYS } from '../wish.ts';
import { BRIDGED, type Clients, type Draft, SYMBOLS } from './clients.ts';

/** A claim that limits an account, before it says by how much. */
type Limited = { readonly wallet: Claim['symbol']; readonly symbol: Claim['symbol']; readonly metric: string };

const METRICS = ['minBalance', 'maxBalance', 'dailyAmount', 'dailyCount'];
const ODD_WALLETS = ['nobody', 'svgs:9@w1', 'chk:7@bank', 'w3@nowhere', 'w5'];
const MAX = Number.MAX_SAFE_INTEGER;

export class IntentTraffic {
  readonly #clients: Clients;

  constructor(clients: Clients) {
    this.#clients = clients;
  }

  intent(ledger: number): Draft {
    const { dice, bridged, routed } = this.#clients;
    if (routed.length > 0 && bridged.length > 0 && dice.chance(0.14)) return this.#thereAndBack(ledger);
    const count = dice.chance(0.6) ? 1 : dice.between(2, 6);
    // Several claims of one bank's wallet: whether they share an entry there is for its bridge to say.
    const shared = count > 1 && bridged.length > 0 && dice.chance(0.25) ? dice.pick(bridged) : null;
    const claims = Array.from({ length: count }, () => this.#claim(ledger, shared));
    const isManual = dice.chance(ledger === 1 ? 0.3 : 0.45);
    const handle = dice.chance(0.1) ? `i${dice.below(8)}` : this.#clients.fresh('i');
    const value = {
      handle,
      claims,
      ...(isManual && { config: { commit: 'manual' } }),
      // Whose word it waits for may be said by the intent itself.
      ...(dice.chance(isManual ? 0.6 : 0.05) && { access: [this.#ownRule()] }),
      ...(dice.chance(0.2) && { schema: dice.pick(['transfer', 'issue']) }),
    };
    // Who signs alone may mostly not do all of it: then it waits for others.
    const keys = ledger !== 1 && dice.chance(0.5) ? [dice.pick(KEYS)] : this.#clients.keys(ledger);
    const draft = this.#clients.create(ledger, 'intent', value, keys, dice.chance(0.5) ? { status: 'created' } : null);
    return dice.chance(0.08) ? { ...draft, wait: dice.between(1, 4) } : draft;
  }

  #ownRule(): object {
    const { dice } = this.#clients;
    const action = dice.pick(['commit', 'abort', { $in: ['commit', 'abort'] }]);
    return { action, signer: { public: dice.pick(KEYS).public } };
  }

  /** What comes to a wallet that may pass it on leaves it again in part, and a bank is asked about something else meanwhile. */
  #thereAndBack(ledger: number): Draft {
    const { dice, wallets, bridged, routed } = this.#clients;
    const [one, through] = [dice.pick(wallets), dice.pick(routed)];
    const symbol = { handle: dice.pick(SYMBOLS.slice(0, 2)) };
    const amount = dice.between(1, 30);
    const move = (source: string, target: string, many = amount) => {
      return { action: 'transfer', source: { handle: source }, target: { handle: target }, symbol, amount: many };
    };
    const back = [move(one, through), move(through, one), move(one, dice.pick(bridged), 1)];
    // Where more comes than goes back, it passes on more than the thread brings.
    const more = dice.chance(0.5) ? [move(one, through, dice.between(1, 30))] : [];
    const claims = [...more, ...back];
    return this.#clients.create(ledger, 'intent', { handle: this.#clients.fresh('i'), claims }, KEYS);
  }

  /** Money that may be passed on waits for somebody's word; null where nobody passes anything on. */
  #restingThread(ledger: number): Draft | null {
    const { dice, wallets, routed } = this.#clients;
    if (routed.length === 0) return null;
    const [source, target] = [{ handle: dice.pick(wallets) }, { handle: dice.pick(routed) }];
    const symbol = { handle: dice.pick(SYMBOLS.slice(0, 2)) };
    const claims = [{ action: 'transfer', source, target, symbol, amount: dice.between(1, 20) }];
    const value = { handle: this.#clients.fresh('i'), claims, config: { commit: 'manual' } };
    return this.#clients.create(ledger, 'intent', value, KEYS);
  }

  /** Where a thread rests, the wallet that its money passes through is filled, or emptied, as far as numbers go. */
  brink(ledger: number): Draft | null {
    const { dice, wallets, books } = this.#clients;
    const passing = [...books.money.accounts.entries()].flatMap(([key, account]) => {
      const [wallet, symbol] = key.split(' ').map((luid) => books.records.get(luid)!) as [Rec, Rec];
      return wallet.ledger === ledger && account.passing > 0n ? [{ wallet, symbol, account }] : [];
    });
    if (passing.length === 0) return this.#restingThread(ledger);
    const { wallet, symbol, account } = dice.pick(passing);
    const { available, reserved, incoming } = account;
    const room = dice.chance(0.5) ? 0n : account.passing;
    const base = { symbol: { handle: symbol.handle } };
    const of = { handle: wallet.handle };
    const full = Number(BigInt(MAX) - available - reserved - incoming - room);
    const owed = Number(BigInt(MAX) + available - room);
    const amount = (many: number) => Math.min(MAX, Math.max(1, many));
    const claims: Claim[] = dice.chance(0.5)
      ? [{ ...base, action: 'issue', target: of, amount: amount(full) }]
      : [{ ...base, action: 'transfer', source: of, target: { handle: dice.pick(wallets) }, amount: amount(owed) }];
    const value = {
      handle: this.#clients.fresh('i'),
      claims: dice.chance(0.4)
        ? [{ ...base, action: 'limit', wallet: of, metric: 'minBalance', amount: -MAX }]
        : claims,
      ...(dice.chance(0.4) && { config: { commit: 'manual' } }),
    };
    return this.#clients.create(ledger, 'intent', value, KEYS);
  }

  #claim(ledger: number, shared: string | null): Claim {
    const { dice, wallets, bridged, routed } = this.#clients;
    const wallet = () =>
      this.#reference(
        dice.weigh([
          [shared ?? '', shared === null ? 0 : 15],
          [dice.pick(wallets), 20],
          [dice.pick(bridged), bridged.length > 0 ? 6 : 0],
          [dice.pick(routed), routed.length > 0 ? 2 : 0],
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

  money(ledger: number): Draft {
    const { dice, wallets, bridged } = this.#clients;
    // Banks pay out what they have not got in.
    const debts = bridged.map((handle) => ({
      action: 'limit',
      wallet: { handle },
      symbol: { handle: 'usd' },
      metric: 'minBalance',
      amount: -1000,
    }));
    const issued = wallets.flatMap((wallet) =>
      SYMBOLS.slice(0, 2).map((symbol) => ({
        action: 'issue',
        target: { handle: wallet },
        symbol: { handle: symbol },
        amount: dice.between(20, 200),
      })),
    );
    const claims = [...issued, ...debts];
    return this.#clients.create(ledger, 'intent', { handle: this.#clients.fresh('i'), claims }, [KEYS[0]!]);
  }

  /** Accounts that money moves in, or is set aside in, come up to their limits soon. */
  limits(ledger: number): Draft {
    const { dice, wallets } = this.#clients;
    const claims = Array.from({ length: dice.between(1, 5) }, () => {
      const [wallet, symbol] = this.#heldAccount(ledger) ?? [dice.pick(wallets), dice.pick(SYMBOLS.slice(0, 2))];
      const limited = {
        action: 'limit',
        wallet: { handle: wallet },
        symbol: { handle: symbol },
        metric: dice.pick(METRICS),
      };
      return { ...limited, amount: this.#tightLimit(ledger, limited) ?? 100 };
    });
    return this.#clients.create(ledger, 'intent', { handle: this.#clients.fresh('i'), claims }, [KEYS[0]!]);
  }

  /** Wallet and symbol of money that is set aside, mostly, where there is any. */
  #heldAccount(ledger: number): [string, string] | null {
    const { accounts } = this.#clients.books.money;
    const held = [...accounts.entries()].flatMap(([key, { reserved, incoming }]) => {
      const [wallet, symbol] = key.split(' ').map((luid) => this.#clients.books.records.get(luid)!) as [Rec, Rec];
      return wallet.ledger === ledger && reserved + incoming > 0n
        ? [[wallet.handle, symbol.handle] as [string, string]]
        : [];
    });
    return held.length > 0 && this.#clients.dice.chance(0.7) ? this.#clients.dice.pick(held) : null;
  }

  /** A limit that the next movements of an account come up to, holds included; null where there is no such account. */
  #tightLimit(ledger: number, { wallet, symbol, metric }: Limited): number | null {
    const { dice } = this.#clients;
    const luidOf = (kind: KindName, reference: Claim['symbol']) =>
      this.#clients.books.find(ledger, kind, typeof reference === 'string' ? reference : reference.handle)?.luid ?? '';
    const key = accountKey(luidOf('wallet', wallet), luidOf('symbol', symbol));
    const account = this.#clients.books.money.accounts.get(key);
    if (account === undefined) return null;
    const { available, reserved, incoming } = account;
    if (metric === 'minBalance') return Math.max(-MAX, Number(available) - dice.between(0, 60));
    if (metric === 'maxBalance') return Math.min(MAX, Number(available + reserved + incoming) + dice.between(0, 60));
    return metric === 'dailyCount' ? dice.between(1, 4) : dice.between(20, 150);
  }

  #reference(handle: string): Claim['symbol'] {
    const { dice } = this.#clients;
    if (dice.chance(0.1)) return handle;
    if (!BRIDGED.includes(handle) || !dice.chance(0.4)) return { handle };
    // Who is meant behind the wallet is for its bank to know, be it said by an address or beside the handle.
    const account = dice.pick(['a', 'b']);
    return account === 'a' ? { handle, custom: { account } } : { handle: `svgs:${account}@${handle}` };
  }
}
