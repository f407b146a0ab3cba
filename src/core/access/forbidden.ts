/**
 * How no is said for want of rights: by naming those that the request takes. It says the same to whom the gate is closed
 * and to whom the action is not granted, so nobody learns from it what rules there are.
 */
import { KINDS } from '../kinds.ts';
import { type Refusal, refuse } from '../refusal.ts';
import { ACCESS_ACTIONS, ACTION_NUMBERS, type AccessAction, PROOF_TARGET, type Target } from './caller.ts';

/** Made once, for whoever is flooded gives the same one again and again. */
const REFUSALS = ACCESS_ACTIONS.map((action) => [
  ...KINDS.map(({ name }) => tell(action, name)),
  ...KINDS.map(({ name }) => tell(action, `${name}-proof`)),
]);

/** That this may not be done to records of this kind, or with proofs on them; `access` is the gate alone. */
export function forbidden(action: AccessAction, target: Target): Refusal {
  const at = target < PROOF_TARGET ? target : target - PROOF_TARGET + KINDS.length;
  return REFUSALS[ACTION_NUMBERS.get(action)!]![at]!;
}

function tell(action: AccessAction, name: string): Refusal {
  const rights = action === 'access' ? action : `access and ${action}`;
  return refuse('auth.forbidden', `Request is not authorized: it takes ${rights} on ${name}`);
}
