/** limit: sets a wallet's limit of one metric in one symbol. Moves nothing. */
import type { ClaimAction } from './claim.ts';

export const limit: ClaimAction = {
  name: 'limit',
  wallets: ['wallet'],
  supply: 0,
  plan(claim, plan) {
    const wallet = plan.target(claim.wallet!);
    if (wallet < 0) return;
    const symbol = plan.symbol(claim.symbol);
    if (symbol < 0) return;
    plan.need('limit', wallet);
    plan.limit(wallet, symbol, claim.metric!, claim.amount);
  },
};
