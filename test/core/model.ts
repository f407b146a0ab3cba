/**
 * A ledger's money in BigInt and maps, written from the rules and not from the core: what the core is compared with.
 *
 * `Money` knows accounts by whatever names whoever asks gives them, holds included, and can take back what was done
 * since a mark. `Model` is the clearing of intents over it, where wallets and symbols are known by their handles.
 */
import type { Claim } from '../../src/core/claims/index.ts';

const MAX = 2n ** 53n - 1n;
const DAY = 86_400_000;

export interface Account {
  readonly available: bigint;
  /** Taken from what is available by intents that are prepared, and not yet gone. */
  readonly reserved: bigint;
  /** What intents that are prepared will bring. */
  readonly incoming: bigint;
  /** What they will bring and others of their thread take on: not incoming, since nobody ever has it. */
  readonly passing: bigint;
  /** When any of these last changed. */
  readonly moment: number;
  readonly limits: ReadonlyMap<string, bigint>;
  /** What transfers moved on which day, while a limit counts it. */
  readonly day: number;
  readonly amount: bigint;
  readonly count: bigint;
}

const NOTHING: Account = {
  available: 0n,
  reserved: 0n,
  incoming: 0n,
  passing: 0n,
  moment: 0,
  limits: new Map(),
  day: 0,
  amount: 0n,
  count: 0n,
};

/** What one intent changes in one account: `change` of its balance, and the sum of what is transferred either way. */
export interface Net {
  readonly wallet: string;
  readonly symbol: string;
  change: bigint;
  moved: bigint;
  /** How much of what leaves comes with the thread of the intent, so that it need not be there before. */
  through?: bigint;
}

export interface LimitSet {
  readonly wallet: string;
  readonly symbol: string;
  readonly metric: string;
  readonly amount: bigint;
}

/** What a hold added to daily counters, to be taken back with it. */
export interface Counted {
  readonly key: string;
  readonly day: number;
  readonly amount: bigint;
  readonly count: bigint;
}

/** A map that can go back to how it was. Values are replaced, never changed. */
export class Kept<V> {
  readonly #map = new Map<string, V>();
  readonly #undo: (() => void)[];

  constructor(undo: (() => void)[]) {
    this.#undo = undo;
  }

  get(key: string): V | undefined {
    return this.#map.get(key);
  }

  set(key: string, value: V | undefined): void {
    const before = this.#map.get(key);
    this.#undo.push(() => this.#put(key, before));
    this.#put(key, value);
  }

  get size(): number {
    return this.#map.size;
  }

  keys(): IterableIterator<string> {
    return this.#map.keys();
  }

  values(): IterableIterator<V> {
    return this.#map.values();
  }

  entries(): IterableIterator<[string, V]> {
    return this.#map.entries();
  }

  #put(key: string, value: V | undefined): void {
    if (value === undefined) this.#map.delete(key);
    else this.#map.set(key, value);
  }
}

export const accountKey = (wallet: string, symbol: string): string => `${wallet} ${symbol}`;

/** Adds one movement to the net changes of an intent, which stand in the order they were first spoken of. */
export function addNet(nets: Net[], wallet: string, symbol: string, change: bigint, moved: bigint): void {
  const known = nets.find((net) => net.wallet === wallet && net.symbol === symbol);
  if (known === undefined) nets.push({ wallet, symbol, change, moved });
  else {
    known.change += change;
    known.moved += moved;
  }
}

export class Money {
  /** By accountKey. */
  readonly accounts: Kept<Account>;
  /** Issued minus destroyed, by symbol. */
  readonly supply: Kept<bigint>;

  constructor(undo: (() => void)[] = []) {
    this.accounts = new Kept(undo);
    this.supply = new Kept(undo);
  }

  account(wallet: string, symbol: string): Account {
    return this.accounts.get(accountKey(wallet, symbol)) ?? NOTHING;
  }

  /** Why these changes must not be, or ''. */
  judge(nets: readonly Net[], moment: number): string {
    for (const net of nets) {
      const reason = this.#judgeOne(net, moment);
      if (reason !== '') return reason;
    }
    return '';
  }

  #judgeOne({ wallet, symbol, change, moved, through = 0n }: Net, moment: number): string {
    const account = this.account(wallet, symbol);
    const { limits } = account;
    const after = account.available + through + change;
    const most = after + account.reserved + account.incoming - through;
    const own = change + through;
    const reserved = account.reserved + (own < 0n ? -own : 0n);
    const incoming = account.incoming - through + (own > 0n ? own : 0n);
    // While a thread ends, what passes through it has come and not gone yet, or gone and not come.
    const passing = account.passing + through;
    const [least, whole] = [account.available + change - account.passing, most + passing];
    const isOutside = (value: bigint) => value > MAX || value < -MAX;
    const all = [change, after, least, whole, reserved, incoming + passing];
    if (all.some(isOutside)) return 'core.limit-exceeded';
    const min = limits.get('minBalance');
    if (min === undefined && after < 0n) return 'core.insufficient-balance';
    if (min !== undefined && after < min) return 'core.limit-exceeded';
    if (most > (limits.get('maxBalance') ?? MAX)) return 'core.limit-exceeded';
    if (moved === 0n) return '';
    const today = account.day >= dayOf(moment) ? account : NOTHING;
    const [dailyAmount, dailyCount] = [limits.get('dailyAmount'), limits.get('dailyCount')];
    if (dailyAmount !== undefined && today.amount + moved > dailyAmount) return 'core.limit-exceeded';
    if (dailyCount !== undefined && today.count + 1n > dailyCount) return 'core.limit-exceeded';
    return '';
  }

  /** Moves money for good, for an intent received at `received`, in a batch of `now`. */
  move(nets: readonly Net[], limits: readonly LimitSet[], received: number, now: number): void {
    this.setLimits(limits);
    for (const net of nets) {
      const { wallet, symbol, change } = net;
      const account = this.account(wallet, symbol);
      this.#set(net, { ...account, available: account.available + change, moment: now });
      this.#count(net, received);
    }
    this.#addSupply(nets);
  }

  /** Sets money aside; what that counted towards daily limits. */
  hold(nets: readonly Net[], received: number, now: number): Counted[] {
    const counted: Counted[] = [];
    for (const net of nets) {
      const { wallet, symbol, through = 0n } = net;
      const account = this.account(wallet, symbol);
      const { available, reserved } = account;
      const change = net.change + through;
      const incoming = account.incoming - through;
      const passing = account.passing + through;
      // What changes nothing still leaves its mark on the account, but not on its moment.
      if (change < 0n) {
        const left = { available: available + change, reserved: reserved - change, moment: now };
        this.#set(net, { ...account, incoming, passing, ...left });
      } else this.#set(net, { ...account, incoming: incoming + change, passing });
      counted.push(...this.#count(net, received));
    }
    return counted;
  }

  /** Ends a hold: the money moves, or everything is as before. */
  settle(
    nets: readonly Net[],
    limits: readonly LimitSet[],
    counted: readonly Counted[],
    moves: boolean,
    now: number,
  ): void {
    if (moves) this.setLimits(limits);
    for (const net of nets) {
      const { wallet, symbol, through = 0n } = net;
      const account = this.account(wallet, symbol);
      const { available, reserved } = account;
      const change = net.change + through;
      const incoming = account.incoming + through;
      const gone = change < 0n ? { incoming, reserved: reserved + change } : { incoming: incoming - change };
      const got = change < 0n ? (moves ? 0n : -change) : moves ? change : 0n;
      const passed = moves ? through : 0n;
      const passing = account.passing - through;
      this.#set(net, { ...account, ...gone, passing, available: available + got - passed, moment: now });
    }
    if (moves) return this.#addSupply(nets);
    for (const { key, day, amount, count } of counted) {
      const account = this.accounts.get(key)!;
      if (account.day !== day) continue;
      this.accounts.set(key, { ...account, amount: account.amount - amount, count: account.count - count });
    }
  }

  /** Daily limits that came with what was set aside before they were there count it once it has moved. */
  countBegun(nets: readonly Net[], limits: readonly LimitSet[], counted: readonly Counted[], received: number): void {
    for (const { wallet, symbol, moved } of nets) {
      const key = accountKey(wallet, symbol);
      const account = this.accounts.get(key)!;
      const before = account.day >= dayOf(received) ? account : NOTHING;
      const then = counted.find((each) => each.key === key) ?? NOTHING;
      const isSet = (metric: string) =>
        limits.some((limit) => accountKey(limit.wallet, limit.symbol) === key && limit.metric === metric);
      const amount = isSet('dailyAmount') && then.amount === 0n ? moved : 0n;
      const count = isSet('dailyCount') && then.count === 0n && moved > 0n ? 1n : 0n;
      if (amount + count === 0n) continue;
      const day = Math.max(account.day, dayOf(received));
      this.accounts.set(key, { ...account, day, amount: before.amount + amount, count: before.count + count });
    }
  }

  setLimits(limits: readonly LimitSet[]): void {
    for (const limit of limits) {
      const account = this.account(limit.wallet, limit.symbol);
      this.#set(limit, { ...account, limits: new Map(account.limits).set(limit.metric, limit.amount) });
    }
  }

  /** Counts a transfer on its day, or on the later one that the account has come to meanwhile. */
  #count(net: Net, received: number): Counted[] {
    const account = this.account(net.wallet, net.symbol);
    const { limits } = account;
    if (net.moved === 0n || limits.size === 0) return [];
    const day = Math.max(account.day, dayOf(received));
    const before = account.day >= dayOf(received) ? account : NOTHING;
    const amount = limits.has('dailyAmount') ? net.moved : 0n;
    const count = limits.has('dailyCount') ? 1n : 0n;
    this.#set(net, { ...account, day, amount: before.amount + amount, count: before.count + count });
    return [{ key: accountKey(net.wallet, net.symbol), day, amount, count }];
  }

  #addSupply(nets: readonly Net[]): void {
    for (const { symbol, change } of nets) this.supply.set(symbol, (this.supply.get(symbol) ?? 0n) + change);
  }

  #set({ wallet, symbol }: { wallet: string; symbol: string }, account: Account): void {
    this.accounts.set(accountKey(wallet, symbol), account);
  }
}

function dayOf(moment: number): number {
  return Math.floor(moment / DAY);
}

export function handleIn(reference: unknown): string {
  return typeof reference === 'string' ? reference : (reference as { handle: string }).handle;
}

/** A wallet or symbol by the name the books have for it; '' for none. */
type Find = (handle: string) => string;

/** The names in a claim as the books have them, or why it cannot be. */
export interface Named {
  readonly source: string;
  readonly target: string;
  readonly limited: string;
  readonly symbol: string;
  readonly reason: string;
}

export function namedIn(claim: Claim, wallet: Find, symbol: Find): Named {
  const look = (reference: unknown, find: Find) => (reference === undefined ? '' : find(handleIn(reference)));
  const named = {
    source: look(claim.source, wallet),
    target: look(claim.target, wallet),
    limited: look(claim.wallet, wallet),
    symbol: look(claim.symbol, symbol),
  };
  const isLost = (reference: unknown, name: string) => reference !== undefined && name === '';
  if (isLost(claim.source, named.source)) return { ...named, reason: 'core.source-invalid' };
  if (isLost(claim.target, named.target)) return { ...named, reason: 'core.target-invalid' };
  if (isLost(claim.wallet, named.limited)) return { ...named, reason: 'core.target-invalid' };
  return { ...named, reason: named.symbol === '' ? 'core.symbol-invalid' : '' };
}

/** Adds what a claim moves and limits to what its intent comes to. */
function addClaim(claim: Claim, named: Omit<Named, 'reason'>, nets: Net[], limits: LimitSet[]): void {
  const { source, target, limited, symbol } = named;
  const amount = BigInt(claim.amount);
  const moved = claim.action === 'transfer' ? amount : 0n;
  if (limited !== '') limits.push({ wallet: limited, symbol, metric: claim.metric!, amount });
  if (source !== '') addNet(nets, source, symbol, -amount, moved);
  if (target !== '') addNet(nets, target, symbol, amount, moved);
}

export class Model {
  readonly wallets = new Set<string>();
  readonly symbols = new Set<string>();
  readonly money = new Money();

  /** The reason the intent is refused for, or '' where it goes through. */
  clear(claims: Claim[], moment: number): string {
    const known = (names: ReadonlySet<string>) => (handle: string) => (names.has(handle) ? handle : '');
    const nets: Net[] = [];
    const limits: LimitSet[] = [];
    for (const claim of claims) {
      const named = namedIn(claim, known(this.wallets), known(this.symbols));
      if (named.reason !== '') return named.reason;
      addClaim(claim, named, nets, limits);
    }
    const no = this.money.judge(nets, moment);
    if (no === '') this.money.move(nets, limits, moment, moment);
    return no;
  }
}
