/**
 * A ledger's money in BigInt and maps, written from the rules and not from the core: what the core is compared with.
 */
import type { Claim } from '../../src/core/claims/index.ts';

const MAX = 2n ** 53n - 1n;
const DAY = 86_400_000;

interface Row {
  balance: bigint;
  limits: Map<string, bigint>;
  day: number;
  amount: bigint;
  count: bigint;
}

const nameOf = (reference: unknown) =>
  typeof reference === 'string' ? reference : (reference as { handle: string }).handle;

export class Model {
  readonly wallets = new Set<string>();
  readonly symbols = new Set<string>();
  readonly rows = new Map<string, Row>();

  row(wallet: string, symbol: string): Row {
    const key = `${wallet} ${symbol}`;
    const row = this.rows.get(key) ?? { balance: 0n, limits: new Map(), day: -1, amount: 0n, count: 0n };
    this.rows.set(key, row);
    return row;
  }

  /** The reason the intent is refused for, or '' where it goes through. */
  clear(claims: Claim[], moment: number): string {
    const changes = new Map<string, { wallet: string; symbol: string; change: bigint; moved: bigint }>();
    const post = (wallet: string, symbol: string, change: bigint, moved: bigint) => {
      const key = `${wallet} ${symbol}`;
      const known = changes.get(key) ?? { wallet, symbol, change: 0n, moved: 0n };
      changes.set(key, { wallet, symbol, change: known.change + change, moved: known.moved + moved });
    };
    const limits: [string, string, string, bigint][] = [];
    for (const claim of claims) {
      const symbol = nameOf(claim.symbol);
      const amount = BigInt(claim.amount);
      if (claim.source !== undefined && !this.wallets.has(nameOf(claim.source))) return 'core.source-invalid';
      for (const named of [claim.target, claim.wallet]) {
        if (named !== undefined && !this.wallets.has(nameOf(named))) return 'core.target-invalid';
      }
      if (!this.symbols.has(symbol)) return 'core.symbol-invalid';
      const moved = claim.action === 'transfer' ? amount : 0n;
      if (claim.action === 'limit') limits.push([nameOf(claim.wallet), symbol, claim.metric!, amount]);
      if (claim.source !== undefined) post(nameOf(claim.source), symbol, -amount, moved);
      if (claim.target !== undefined) post(nameOf(claim.target), symbol, amount, moved);
    }
    const day = Math.floor(moment / DAY);
    for (const { wallet, symbol, change, moved } of changes.values()) {
      const row = this.row(wallet, symbol);
      const after = row.balance + change;
      const min = row.limits.get('minBalance');
      const size = (value: bigint) => (value < 0n ? -value : value);
      if (size(after) > MAX || size(change) > MAX) return 'core.limit-exceeded';
      if (min === undefined ? after < 0n : after < min)
        return min === undefined ? 'core.insufficient-balance' : 'core.limit-exceeded';
      if (after > (row.limits.get('maxBalance') ?? MAX)) return 'core.limit-exceeded';
      if (moved === 0n) continue;
      const today = row.day === day ? row : { amount: 0n, count: 0n };
      const dailyAmount = row.limits.get('dailyAmount');
      const dailyCount = row.limits.get('dailyCount');
      if (dailyAmount !== undefined && today.amount + moved > dailyAmount) return 'core.limit-exceeded';
      if (dailyCount !== undefined && today.count + 1n > dailyCount) return 'core.limit-exceeded';
    }
    for (const [wallet, symbol, metric, amount] of limits) this.row(wallet, symbol).limits.set(metric, amount);
    for (const { wallet, symbol, change, moved } of changes.values()) {
      const row = this.row(wallet, symbol);
      row.balance += change;
      if (moved === 0n) continue;
      if (row.day !== day) Object.assign(row, { day, amount: 0n, count: 0n });
      if (row.limits.has('dailyAmount')) row.amount += moved;
      if (row.limits.has('dailyCount')) row.count += 1n;
    }
    return '';
  }
}
