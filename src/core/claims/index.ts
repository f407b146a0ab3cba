/** The table of claim actions: a new one is a new file and a new row here. */
import type { ClaimAction } from './claim.ts';
import { destroy } from './destroy.ts';
import { issue } from './issue.ts';
import { limit } from './limit.ts';
import { transfer } from './transfer.ts';

export const CLAIM_ACTIONS: ReadonlyMap<string, ClaimAction> = new Map(
  [issue, transfer, destroy, limit].map((action) => [action.name, action]),
);

export {
  type Claim,
  type ClaimAction,
  type ClaimOutline,
  handleOf,
  type Plan,
  type Reference,
  walletIn,
} from './claim.ts';
