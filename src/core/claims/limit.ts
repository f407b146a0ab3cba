/** limit: sets a wallet's limit of one metric in one symbol. Moves nothing. */
import type { ClaimAction } from './index.ts';

export const limit: ClaimAction = {
  name: 'limit',
  wallets: ['wallet'],
  supply: 0,
  plan(plan) {
    const wallet = plan.target();
    if (wallet < 0) return;
    const symbol = plan.symbol();
    if (symbol < 0) return;
    plan.need('limit', wallet);
    plan.limit(wallet, symbol);
  },
};
