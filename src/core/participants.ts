/**
 * What clearing must know of the wallets of one intent beyond their balances: routes, and the bridge behind them.
 *
 * Each record is read once an intent, and read again for the next one only where it changed or room ran out. Records of
 * strangers may be long and an intent may name many, so an intent has so much effort for them and no more: whatever
 * anybody writes into wallets, clearing ends soon. The effort is counted in what is looked at, never in time, so the
 * same books always come to the same end.
 */
import { type Condition, type Conditions, compileConditions } from './conditions.ts';
import type { Effort } from './filters.ts';
import { membersOf } from './members.ts';
import { BYTES_PER_CHAR } from './norms.ts';
import { versionAt } from './records.ts';
import type { State } from './state.ts';

export interface Route {
  action: 'forward' | 'accept' | 'debit' | 'credit';
  target: string;
  conditions: readonly Condition[];
}

export interface Participant {
  handle: string;
  /** Handle of the bridge behind the wallet, empty for none. */
  bridge: string;
  routes: readonly Route[];
  /** Of a bridge's own record. */
  config: Readonly<Record<string, unknown>>;
  /** Characters of its record. */
  size: number;
}

/** About half a second's worth. */
const EFFORT_MAX = 1_000_000;
/** Characters of a record that are read with the effort of looking at one member. */
const CHARS_PER_EFFORT = 16;

export class Participants {
  readonly effort: Effort = { left: EFFORT_MAX };
  readonly #state: State;
  readonly #known = new Map<number, Participant>();

  constructor(state: State) {
    this.#state = state;
  }

  /** The wallet or bridge in a row. */
  of(row: number): Participant {
    const known = this.#known.get(row);
    if (known !== undefined) return known;
    const { norms, rows } = this.#state;
    const at = rows.at.get(row);
    const participant = norms.remember(at, () => this.#read(at));
    this.effort.left -= 1 + participant.size / CHARS_PER_EFFORT;
    this.#known.set(row, participant);
    return participant;
  }

  #read(at: number): { value: Participant; held: number } {
    const { entry } = versionAt(this.#state, at);
    const size = entry.data.length;
    const own = membersOf(entry.data, ['bridge', 'routes', 'config']);
    const { bridge = '', routes = [], config = {} } = own as Partial<RecordData>;
    const compiled = routes.map(({ action, target = '', filter }) => {
      return { action, target, conditions: compileConditions(filter) };
    });
    return { value: { handle: entry.handle, bridge, routes: compiled, config, size }, held: BYTES_PER_CHAR * size };
  }
}

interface RecordData {
  bridge: string;
  routes: { action: Route['action']; target?: string; filter?: Conditions }[];
  config: Record<string, unknown>;
}
