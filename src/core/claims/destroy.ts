/** destroy: balance of a source wallet ceases to exist. Lowers the symbol's supply. */
import type { ClaimAction } from './index.ts';

export const destroy: ClaimAction = {
  name: 'destroy',
  wallets: ['source'],
  supply: -1,
  plan(plan) {
    const source = plan.source();
    if (source < 0) return;
    const symbol = plan.symbol();
    if (symbol < 0) return;
    plan.need('spend', source);
    plan.need('destroy', symbol);
    plan.debit(source, symbol, false);
  },
};
