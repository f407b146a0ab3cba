/** transfer: balance from a source wallet to a target wallet. Never changes the symbol's supply. */
import type { ClaimAction } from './index.ts';

export const transfer: ClaimAction = {
  name: 'transfer',
  wallets: ['source', 'target'],
  supply: 0,
  plan(plan) {
    const source = plan.source();
    if (source < 0) return;
    const target = plan.target();
    if (target < 0) return;
    const symbol = plan.symbol();
    if (symbol < 0) return;
    plan.need('spend', source);
    plan.debit(source, symbol, true);
    plan.credit(target, symbol, true);
  },
};
