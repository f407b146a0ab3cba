/** May I? The rules that would grant something to those who signed the question, without whom the rules name. */

import { type AccessAction, type Caller, grantingRules, targetOf } from '../core/access/index.ts';
import type { CheckCommand } from '../core/command.ts';
import { Kind } from '../core/kinds.ts';
import { isRefusal, type Refusal } from '../core/refusal.ts';
import { type Call, callerOf, ledgerOf, luidOf, NO_BYTES, rowOf, walk } from './call.ts';
import { type CheckedProofs, keysOf, openBody } from './door.ts';
import { refuse } from './errors.ts';
import { sendList } from './reads.ts';
import type { Unanswered, Write } from './submit.ts';

export function checkAccess(call: Call): Write | Refusal {
  const { house, route } = call;
  const content = openBody(house, route.kind, 'check', call.body);
  if (isRefusal(content)) return content;
  const { action, record } = content.value as { action: AccessAction | 'any'; record?: string };
  const target = record === undefined || record === 'any' ? route.kind : targetOf(record);
  if (target === null) return refuse('record.invalid', `${record} is no kind of record`);
  const caller = callerOf(call, keysOf(content));
  const row = rowOf(call);
  const done = () => {
    // A question to a ledger's record may be about any kind of record in that ledger.
    const home = route.kind === Kind.ledger ? house.state.rows.ledgerIndex.get(row) : call.ledger;
    // A thousand rules take milliseconds, and hundreds may ask at once.
    walk(call, () => {
      const rules = grantingRules(house.state, home, action, target, row, caller);
      const items = rules.map((rule) => JSON.stringify(rule));
      sendList(call, items, null);
      return true;
    });
  };
  return { submission: checkSubmission(call, caller, content), done };
}

/** Has the signatures under what changes no record verified, in its turn. */
export function checkSubmission(call: Call, caller: Caller, { checks, places }: CheckedProofs): Unanswered {
  const { house, route } = call;
  const [ledger, moment, luid] = [ledgerOf(call), house.engine.now(), luidOf(call)];
  const command: CheckCommand = { op: 'check', ledger, kind: route.kind, moment, caller, luid };
  return { command, checks, places, seals: NO_BYTES };
}
