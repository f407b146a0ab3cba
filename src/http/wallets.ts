/**
 * What there is to read of a wallet beside its record: balances and limits, which are no records but slots of numbers,
 * and its anchors.
 */
import { METRICS } from '../core/balances.ts';
import type { Names } from '../core/codec.ts';
import { type Filter, matchesAll } from '../core/filters.ts';
import { Kind } from '../core/kinds.ts';
import { BALANCE_SALT, LIMIT_SALT, pairLuid } from '../core/luid.ts';
import { isoMoment } from '../core/proofs.ts';
import { namesOf } from '../core/records.ts';
import { isRefusal } from '../core/refusal.ts';
import { sha256Hex } from '../proof/digest.ts';
import { type Call, refuseDurable } from './call.ts';
import { FirstRows } from './first-rows.ts';
import { entersFor, readableRow, visibleRows } from './may.ts';
import { BALANCE_PATHS, LIMIT_PATHS, parseQuery } from './query.ts';
import { sendList, sendListing, walkList } from './reads.ts';

export function listBalances(call: Call): void {
  const { balances } = call.house.state;
  const amountOf = (slot: number, number: number) =>
    number === 0 ? balances.available(slot) : balances.reserved(slot);
  listSlots(call, BALANCE_PATHS, {
    count: 2,
    salt: BALANCE_SALT,
    momentOf: (slot, number) => {
      const moment = balances.moment(slot);
      // A limit, or what a prepared intent will bring, makes no balance before any money moved, or was not to move
      // after all.
      return moment > 0 && (number === 0 || amountOf(slot, number) !== 0) ? moment : null;
    },
    said: (slot, number) => `"amount":${amountOf(slot, number)},"schema":"${number === 0 ? 'available' : 'reserved'}"`,
  });
}

export function listLimits(call: Call): void {
  const { balances } = call.house.state;
  listSlots(call, LIMIT_PATHS, {
    count: METRICS.length,
    salt: LIMIT_SALT,
    momentOf: (slot, metric) =>
      Number.isNaN(balances.limit(slot, metric)) ? null : balances.limitMoment(slot, metric),
    said: (slot, metric) => `"amount":${balances.limit(slot, metric)},"metric":"${METRICS[metric]}"`,
  });
}

/** The rows that there may be of a slot, known by their numbers from 0. */
interface SlotRows {
  /** At most ROWS_MAX. */
  readonly count: number;
  /** That of the first row's luid; each further row has the next. */
  readonly salt: number;
  /** Null where it is not there. */
  momentOf(slot: number, number: number): number | null;
  /** The members of its data that sort before `symbol`. */
  said(slot: number, number: number): string;
}

/**
 * A list over the wallet's balance slots. A wallet may have very many: only the rows of the page are made, and where it
 * takes longer they are looked for in turns. Where filters ask for some of them, all have to be made.
 */
function listSlots(call: Call, paths: readonly string[], { count, salt, momentOf, said }: SlotRows): void {
  const { house, request } = call;
  const { state } = house;
  const { balances } = state;
  const row = readableRow(call);
  if (row < 0) return;
  const query = parseQuery(request.query, paths, house.pageLimitMax);
  if (isRefusal(query)) return refuseDurable(call, query);
  const { filters, order } = query;
  const { index, limit } = query.page;
  // Of those that stand on the page when they are looked at, some may pass no more when it is told: others take their
  // places.
  const first = new FirstRows(index * limit + 2 * limit, order);
  let next = state.rows.firstSlot.get(row);
  const textOf = (slot: number, number: number, moment: number, wallet: Names) => {
    const symbol = namesOf(state, balances.symbol(slot));
    const data = `{${said(slot, number)},"symbol":"${symbol.handle}","wallet":"${wallet.handle}"}`;
    const luid = pairLuid(wallet.luid, symbol.luid, salt + number);
    return `{"data":${data},"hash":"${sha256Hex(data)}","luid":"${luid}","meta":{"moment":"${isoMoment(moment)}"}}`;
  };
  const passes = (text: string) => filters.length === 0 || matchesAll(JSON.parse(text), filters);
  const lookAt = (slot: number): void => {
    for (let number = 0; number < count; number++) {
      const moment = momentOf(slot, number);
      if (moment === null) continue;
      if (filters.length === 0 || passes(textOf(slot, number, moment, namesOf(state, row)))) {
        first.add(moment, placeOf(slot, number));
      }
    }
  };
  /** Looks at so many of them at most; whether that was all. */
  const look = (slots: number): boolean => {
    for (let left = slots; next !== 0; next = balances.next(next - 1)) {
      if (left-- === 0) return false;
      lookAt(next - 1);
    }
    return true;
  };
  const tell = () => {
    const wallet = namesOf(state, row);
    const { total } = first;
    // Since they were looked at they may have changed, or gone.
    const now = new FirstRows(2 * limit, order);
    for (const place of first.from(index * limit)) {
      const moment = momentOf(slotAt(place), rowAt(place));
      if (moment !== null) now.add(moment, place);
    }
    const rows: string[] = [];
    for (const place of now.from(0)) {
      if (rows.length === limit) break;
      const [slot, number] = [slotAt(place), rowAt(place)];
      const text = textOf(slot, number, momentOf(slot, number)!, wallet);
      if (passes(text)) rows.push(text);
    }
    sendList(call, rows, { index, limit, total });
  };
  const slots = filters.length === 0 ? SLOTS_PER_LOOK : FILTERED_PER_LOOK;
  if (look(slots)) return tell();
  walkList(call, (pause) => {
    while (!look(slots)) if (performance.now() >= pause) return false;
    // A walk may outlast a rule.
    if (readableRow(call) >= 0) tell();
    return true;
  });
}

/** Rows of a slot at most. Those of newer slots have higher places, and of one slot its first row. */
const ROWS_MAX = 4;
const placeOf = (slot: number, row: number) => slot * ROWS_MAX + (ROWS_MAX - 1 - row);
const slotAt = (place: number) => Math.floor(place / ROWS_MAX);
const rowAt = (place: number) => ROWS_MAX - 1 - (place % ROWS_MAX);

/** A twentieth of a millisecond; a pattern alone can take milliseconds over the rows of one. */
const SLOTS_PER_LOOK = 512;
const FILTERED_PER_LOOK = 1;

/** The anchors of a wallet: their list with one filter more. The envelope has no page, though one may be asked for. */
export function listWalletAnchors(call: Call): void {
  const { house, request } = call;
  const row = readableRow(call);
  if (row < 0 || !entersFor(call, Kind.anchor)) return;
  const query = parseQuery(request.query, Kind.anchor, house.pageLimitMax);
  if (isRefusal(query)) return refuseDurable(call, query);
  const { handle } = namesOf(house.state, row);
  const filters: Filter[] = [{ path: ['data', 'wallet'], operator: 'eq', value: handle }, ...query.filters];
  sendListing(call, Kind.anchor, { ...query, filters }, () => visibleRows(call, Kind.anchor), { isPageTold: false });
}
