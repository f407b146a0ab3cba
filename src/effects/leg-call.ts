/**
 * What a bridge is told of a leg: to prepare it, to commit or to abort it, and the intent as it was right after the
 * entry that asked for that.
 */
import { type Claim, objectOf } from '../core/claims/index.ts';
import { decidedAt, type Leg, type LegState, ROUTED_WIDTH, Side } from '../core/entry.ts';
import { countSinceHeld, heldBy, legsOf } from '../core/intents.ts';
import { legHandle } from '../core/legs.ts';
import { addressBefore, ledgerAt, nameAt, recordAt } from '../core/past.ts';
import { dataOf, entryAt, readRow, type Version } from '../core/records.ts';
import type { State } from '../core/state.ts';
import { canon } from '../proof/canon.ts';
import type { Sealer } from '../proof/sealer.ts';
import { outwardText, viewText } from '../render.ts';
import { withoutSlashes } from '../url-text.ts';
import type { OutgoingCall } from './outgoing.ts';
import type { SecureRule } from './secure.ts';

/** A call that is due: about leg `leg` of the intent in `row`, because of the entry at `address`. */
export interface Due {
  row: number;
  leg: number;
  state: LegState;
  address: number;
  bridge: number;
}

export class LegCalls {
  readonly #state: State;
  readonly #sealer: Sealer;
  /** The intent that was told of last: it may have thousands of legs. */
  #told: Telling | null = null;

  constructor(state: State, sealer: Sealer) {
    this.#state = state;
    this.#sealer = sealer;
  }

  /** The call that is due, to the bridge as it is now: as long as something is due to it, it is not dropped. */
  of({ row, leg: index, state: at, address, bridge }: Due): OutgoingCall {
    const [state, sealer] = [this.#state, this.#sealer];
    const { server, secure } = addressOf(state, bridge);
    const { luid, legs, led, claims, moment, text, held } = this.#tellingOf(row, address);
    const leg = legs[index]!;
    const handle = legHandle(luid, leg, index);
    const path = leg.side === Side.debit ? 'debits' : 'credits';
    const data =
      at === 'preparing'
        ? prepareData(leg, handle, claims, led, namesOfLeg(state, leg, address, held), text)
        : `{"action":"${actionOf(at)}","handle":"${handle}","intent":${text}}`;
    const tail = at === 'preparing' ? '' : `/${handle}/${actionOf(at)}`;
    const ledger = ledgerAt(state, state.rows.ledger.get(row), held);
    const body = outwardText(data, moment, { bridge: nameAt(state, bridge, held), ledger }, sealer);
    return { method: 'POST', url: `${server}/${path}${tail}`, body, secure };
  }

  /** The intent as it was right after the entry at this address. */
  #tellingOf(row: number, address: number): Telling {
    if (this.#told?.row === row && this.#told.address === address) return this.#told;
    const [state, sealer] = [this.#state, this.#sealer];
    const intent = recordAt(state, row, address);
    const { claims } = dataOf(intent.entry) as { claims: Claim[] };
    const moment = decidedAt(entryAt(state, address));
    const { luid } = intent.entry;
    const led = ledIn(intent);
    const held = addressBefore(state, row, address, countSinceHeld(intent));
    this.#told = {
      row,
      address,
      luid,
      legs: legsOf(intent),
      led,
      claims,
      moment,
      text: viewText(intent, sealer),
      held,
    };
    return this.#told;
  }
}

/** What calls about the legs of one intent have in common. */
interface Telling {
  row: number;
  address: number;
  luid: string;
  legs: readonly Leg[];
  /** Sides of claims whose wallet is another than they name, see `sideOf`. */
  led: ReadonlySet<string>;
  claims: readonly Claim[];
  moment: number;
  text: string;
  /**
   * Address of the entry that set the money aside: every call names bridge and ledger as they were called then, since a
   * bank that knows them by these names believes no others about what it has prepared.
   */
  held: number;
}

function sideOf(claim: number, side: Side): string {
  return `${claim} ${side}`;
}

/** The sides of an intent's claims that routes gave to other wallets. */
function ledIn(intent: Version): ReadonlySet<string> {
  const routed = heldBy(intent)?.links?.routed ?? [];
  const led = new Set<string>();
  for (let i = 0; i < routed.length; i += ROUTED_WIDTH) led.add(sideOf(routed[i]!, routed[i + 1] as Side));
  return led;
}

/** Where and how a bridge is called now. */
export function addressOf(state: State, bridge: number): { server: string; secure: SecureRule[] } {
  const { config, secure } = dataOf(readRow(state, bridge).entry) as {
    config: { server: string };
    secure?: SecureRule[];
  };
  return { server: withoutSlashes(config.server), secure: secure ?? [] };
}

/**
 * Its wallet's name when the bridge was asked, and its symbol's when the money was set aside: that is what claims say.
 */
function namesOfLeg(state: State, { wallet, symbol }: Leg, asked: number, held: number) {
  return { wallet: nameAt(state, wallet, asked), symbol: nameAt(state, symbol, held) };
}

function actionOf(state: LegState): 'commit' | 'abort' {
  return state === 'committing' ? 'commit' : 'abort';
}

/**
 * What a bridge is to prepare. Its own side is the wallet behind it, as the claims name it where all of them say the
 * same: what only some say, an account behind it above all, is not true of the whole amount. That is so whatever the
 * wallet's own handle is: a longer address stands for it, and it may have been renamed since. A claim that routes `led`
 * to it names another. The other side is left out where claims that share the leg name several. A symbol has no
 * accounts behind it, so it is told by its own handle.
 */
function prepareData(
  leg: Leg,
  handle: string,
  claims: readonly Claim[],
  led: ReadonlySet<string>,
  called: Readonly<Record<'wallet' | 'symbol', string>>,
  intent: string,
): string {
  const own = leg.side === Side.debit ? 'source' : 'target';
  const other = own === 'source' ? 'target' : 'source';
  const mine = leg.claims.map((index) => claims[index]!);
  const isNamed = !leg.claims.some((index) => led.has(sideOf(index, leg.side)));
  const members: Record<string, string> = {
    amount: String(leg.amount),
    handle: `"${handle}"`,
    inputs: JSON.stringify(leg.claims),
    intent,
    schema: leg.side === Side.debit ? '"debit"' : '"credit"',
    symbol: canon({ ...JSON.parse(saidByAll(mine, 'symbol') || '{}'), handle: called.symbol }),
    [own]: (isNamed && saidByAll(mine, own)) || canon({ handle: called.wallet }),
  };
  const others = saidByAll(mine, other);
  if (others !== '') members[other] = others;
  const names = Object.keys(members).sort();
  return `{${names.map((name) => `"${name}":${members[name]}`).join(',')}}`;
}

/** What all of these claims say of a member, as canonical JSON; empty where they say nothing, or not the same. */
function saidByAll(claims: readonly Claim[], member: 'source' | 'target' | 'symbol'): string {
  const said = new Set(claims.map(({ [member]: one }) => (one === undefined ? '' : canon(objectOf(one)))));
  const [one] = said;
  return said.size === 1 ? one! : '';
}
