/** The call by which an event is told to an effect's webhook or bridge, or a status of an intent to a bridge. */

import { findHandle } from '../core/finding.ts';
import { Kind } from '../core/kinds.ts';
import { recordAt } from '../core/past.ts';
import { dataOf, readRow } from '../core/records.ts';
import type { State } from '../core/state.ts';
import type { EventTexts } from '../event-texts.ts';
import { type LedgerEvent, placedAt } from '../events.ts';
import type { Sealer } from '../proof/sealer.ts';
import { viewText } from '../render.ts';
import { addressOf } from './leg-call.ts';
import { NOWHERE, type OutgoingCall } from './outgoing.ts';

/** What is told is made of this. */
interface Telling {
  readonly state: State;
  readonly sealer: Sealer;
  readonly eventTexts: EventTexts;
}

/** Of this event to the effect or bridge in this row, as it is now. */
export function eventCall({ state, sealer, eventTexts }: Telling, row: number, event: LedgerEvent): OutgoingCall {
  const { entry } = readRow(state, row);
  if (entry.kind === Kind.bridge) return statusCall(state, sealer, row, event);
  const { action } = dataOf(entry) as { action: { bridge?: string; endpoint?: string } };
  const body = eventTexts.of(event);
  const { endpoint, bridge } = action;
  if (endpoint !== undefined) return { method: 'POST', url: endpoint, body, secure: [] };
  const target = findHandle(state, state.rows.ledger.get(row), Kind.bridge, bridge!);
  // One that is not there cannot be reached: the call fails, and is tried again, like any other.
  if (target < 0) return { method: 'POST', url: NOWHERE, body, secure: [] };
  const { server, secure } = addressOf(state, target);
  return { method: 'POST', url: `${server}/effects/${encodeURIComponent(entry.handle)}`, body, secure };
}

/** Tells a bridge the intent as it was right after the event's entry. */
function statusCall(state: State, sealer: Sealer, bridge: number, { seq }: LedgerEvent): OutgoingCall {
  const { server, secure } = addressOf(state, bridge);
  const placed = placedAt(state, seq)!;
  const intent = recordAt(state, placed.row, placed.address);
  const url = `${server}/intents/${encodeURIComponent(intent.entry.handle)}`;
  return { method: 'PUT', url, body: viewText(intent, sealer), secure };
}
