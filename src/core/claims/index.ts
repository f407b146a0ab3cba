/** The table of claim actions: a new one is a new file and a new row here. */
import type { ClaimAction } from './claim.ts';
import { destroy } from './destroy.ts';
import { issue } from './issue.ts';
import { limit } from './limit.ts';
import { transfer } from './transfer.ts';

export const CLAIM_ACTIONS: ReadonlyMap<string, ClaimAction> = new Map(
  [issue, transfer, destroy, limit].map((action) => [action.name, action]),
);

let askedFor = '';
let found: ClaimAction | undefined;

/** The action of this name. It is looked up for claim after claim, which mostly say the same. */
export function claimAction(name: string): ClaimAction | undefined {
  if (name !== askedFor) {
    askedFor = name;
    found = CLAIM_ACTIONS.get(name);
  }
  return found;
}

export {
  type Claim,
  type ClaimAction,
  type ClaimOutline,
  handleOf,
  objectOf,
  type Plan,
  type Reference,
  walletIn,
} from './claim.ts';
