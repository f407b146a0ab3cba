/** May I? The rules that would grant something to those who signed the question, without whom the rules name. */

import type { AccessAction } from '../core/access/index.ts';
import { grantingRules, targetOf } from '../core/access/index.ts';
import { Kind } from '../core/kinds.ts';
import { isRefusal, refuse } from '../core/refusal.ts';
import { readRow } from '../core/state.ts';
import { type Call, callerOf, sendRefusal } from './call.ts';
import { openBody } from './door.ts';
import { sendList } from './reads.ts';
import { ledgerOf, rowOf } from './rows.ts';
import { submit } from './writes.ts';

export function checkAccess(call: Call): void {
  const { house, route } = call;
  const content = openBody(house, route.kind, 'check', call.body);
  if (isRefusal(content)) return sendRefusal(house, call.reply, content);
  const { action, record } = content.value as { action: AccessAction | 'any'; record?: string };
  const target = record === undefined || record === 'any' ? route.kind : targetOf(record);
  if (target === null)
    return sendRefusal(house, call.reply, refuse('record.invalid', `${record} is no kind of record`));
  const { checks, proofs } = content;
  const caller = callerOf(
    call,
    proofs.map((proof) => proof.public),
  );
  const row = rowOf(call);
  const luid = row < 0 ? '' : readRow(house.state, row).entry.luid;
  const { kind } = route;
  const ledger = ledgerOf(call);
  const command = { op: 'check' as const, ledger, kind, moment: house.engine.now(), caller, luid };
  submit(call, { command, checks, seals: new Uint8Array(0) }, () => {
    // A question to a ledger's record may be about any kind of record in that ledger.
    const home = kind === Kind.ledger ? house.state.rows.aux.get(row) : ledger;
    const rules = grantingRules(house.state, home, action, target, row, caller);
    const items = rules.map((rule) => JSON.stringify(rule));
    sendList(call, items, null);
  });
}
