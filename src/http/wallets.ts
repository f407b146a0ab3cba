/**
 * What there is to read of a wallet beside its record: balances and limits, which are no records but slots of numbers, and
 * its anchors.
 */
import { METRICS } from '../core/balances.ts';
import type { Names } from '../core/codec.ts';
import { type Filter, matchesAll } from '../core/filters.ts';
import { Kind } from '../core/kinds.ts';
import { pairLuid } from '../core/luid.ts';
import { isoMoment } from '../core/proofs.ts';
import { namesOf } from '../core/records.ts';
import { isRefusal } from '../core/refusal.ts';
import type { State } from '../core/state.ts';
import { sha256Hex } from '../proof/digest.ts';
import { type Call, refuseDurable, walk } from './call.ts';
import { entersFor, readableRow, visibleRows } from './may.ts';
import { BALANCE_PATHS, LIMIT_PATHS, parseQuery } from './query.ts';
import { LIST_TIMEOUT, sendList, sendListing } from './reads.ts';

export function listBalances(call: Call): void {
  const isReserved = (slot: number) => call.house.state.balances.reserved(slot) !== 0;
  const countOf = (slot: number) => (isReserved(slot) ? 2 : 1);
  listSlots(call, BALANCE_PATHS, countOf, ({ balances }, slot, wallet, symbol) => {
    const row = (schema: string, amount: number, salt: number) => {
      const data = `{"amount":${amount},"schema":"${schema}","symbol":"${symbol.handle}","wallet":"${wallet.handle}"}`;
      return slotText(data, pairLuid(wallet.luid, symbol.luid, salt), balances.moment(slot));
    };
    const available = row('available', balances.available(slot), 0);
    return isReserved(slot) ? [available, row('reserved', balances.reserved(slot), 1)] : [available];
  });
}

export function listLimits(call: Call): void {
  const { balances } = call.house.state;
  const isSet = (slot: number, metric: number) => !Number.isNaN(balances.limit(slot, metric));
  const countOf = (slot: number) =>
    balances.isLimited(slot) ? METRICS.filter((_, metric) => isSet(slot, metric)).length : 0;
  listSlots(call, LIMIT_PATHS, countOf, (_, slot, wallet, symbol) => {
    return METRICS.flatMap((name, metric) => {
      if (!isSet(slot, metric)) return [];
      const amount = balances.limit(slot, metric);
      const data = `{"amount":${amount},"metric":"${name}","symbol":"${symbol.handle}","wallet":"${wallet.handle}"}`;
      const moment = balances.limitMoment(slot, metric);
      return [slotText(data, pairLuid(wallet.luid, symbol.luid, 2 + metric), moment)];
    });
  });
}

/**
 * A list over the wallet's balance slots, each of which gives as many rows as `countOf` says. A wallet may have very many
 * of them: only the rows of the page are made, and where it takes longer they are looked for in turns. Where filters ask
 * for some of them, all have to be made.
 */
function listSlots(
  call: Call,
  paths: readonly string[],
  countOf: (slot: number) => number,
  rowsOf: (state: State, slot: number, wallet: Names, symbol: Names) => string[],
): void {
  const { house, request } = call;
  const { state, listMsMax } = house;
  const { balances } = state;
  const row = readableRow(call);
  if (row < 0) return;
  const query = parseQuery(request.query, paths, house.queryLimits);
  if (isRefusal(query)) return refuseDurable(call, query);
  const { filters } = query;
  const { index, limit } = query.page;
  const from = index * limit;
  const shown: number[] = [];
  /** Rows of slots before those that are shown, and of all. */
  let before = 0;
  let total = 0;
  let next = state.rows.aux.get(row);
  /** The rows of a slot that pass the filters. */
  const passing = (slot: number, wallet: Names): string[] => {
    const rows = rowsOf(state, slot, wallet, namesOf(state, balances.symbol(slot)));
    return filters.length === 0 ? rows : rows.filter((text) => matchesAll(JSON.parse(text), filters));
  };
  /** Looks at so many of them at most; whether that was all. */
  const look = (slots: number): boolean => {
    for (let left = slots; next !== 0; next = balances.next(next - 1)) {
      if (left-- === 0) return false;
      const made = countOf(next - 1);
      const count = made === 0 || filters.length === 0 ? made : passing(next - 1, namesOf(state, row)).length;
      if (total + count <= from) before += count;
      else if (total < from + limit && count > 0) shown.push(next - 1);
      total += count;
    }
    return true;
  };
  const tell = () => {
    const wallet = namesOf(state, row);
    const rows = shown.flatMap((slot) => passing(slot, wallet));
    sendList(call, rows.slice(from - before, from - before + limit), { index, limit, total });
  };
  const slots = filters.length === 0 ? SLOTS_PER_LOOK : FILTERED_PER_LOOK;
  if (look(slots)) return tell();
  const end = performance.now() + listMsMax;
  const goOn = (pause: number): boolean => {
    if (performance.now() > end) {
      refuseDurable(call, LIST_TIMEOUT);
      return true;
    }
    while (!look(slots)) if (performance.now() >= pause) return false;
    // A walk may outlast a rule.
    if (readableRow(call) >= 0) tell();
    return true;
  };
  walk(call, goOn, end);
}

/** A twentieth of a millisecond; a pattern alone can take milliseconds over the rows of one. */
const SLOTS_PER_LOOK = 512;
const FILTERED_PER_LOOK = 1;

function slotText(data: string, luid: string, moment: number): string {
  return `{"data":${data},"hash":"${sha256Hex(data)}","luid":"${luid}","meta":{"moment":"${isoMoment(moment)}"}}`;
}

/** The anchors of a wallet: their list with one filter more. The envelope has no page, though one may be asked for. */
export function listWalletAnchors(call: Call): void {
  const { house, request } = call;
  const row = readableRow(call);
  if (row < 0 || !entersFor(call, Kind.anchor)) return;
  const query = parseQuery(request.query, Kind.anchor, house.queryLimits);
  if (isRefusal(query)) return refuseDurable(call, query);
  const { handle } = namesOf(house.state, row);
  const filters: Filter[] = [{ path: ['data', 'wallet'], operator: 'eq', value: handle }, ...query.filters];
  sendListing(call, Kind.anchor, { ...query, filters }, () => visibleRows(call, Kind.anchor), false);
}
