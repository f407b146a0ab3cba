/** issue: new balance of a symbol for a target wallet. Raises the symbol's supply. */
import type { ClaimAction } from './index.ts';

export const issue: ClaimAction = {
  name: 'issue',
  wallets: ['target'],
  supply: 1,
  plan(plan) {
    const target = plan.target();
    if (target < 0) return;
    const symbol = plan.symbol();
    if (symbol < 0) return;
    plan.need('issue', symbol);
    plan.credit(target, symbol, false);
  },
};
