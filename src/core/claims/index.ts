/** The table of claim actions: a new one is a new file and a new row here. */
import type { ClaimAction } from './claim.ts';
import { destroy } from './destroy.ts';
import { issue } from './issue.ts';
import { limit } from './limit.ts';
import { transfer } from './transfer.ts';

/** By their numbers. */
export const CLAIM_ACTIONS: readonly ClaimAction[] = [issue, transfer, destroy, limit];

const NUMBERS: ReadonlyMap<string, number> = new Map(CLAIM_ACTIONS.map(({ name }, number) => [name, number]));

/** The action is looked up for claim after claim, which mostly say the same. */
let askedFor = '';
let found = -1;

/** The number of the action of this name, -1 where there is none. */
export function actionNumber(name: string): number {
  if (name !== askedFor) {
    askedFor = name;
    found = NUMBERS.get(name) ?? -1;
  }
  return found;
}

export {
  type Claim,
  type ClaimAction,
  handleOf,
  objectOf,
  type Plan,
  type Reference,
  type WalletMember,
  walletIn,
} from './claim.ts';
