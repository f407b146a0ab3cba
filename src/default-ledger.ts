/**
 * The default ledger: that of requests which name none. A start finds it in the books by its handle, or makes it where
 * they have no ledger yet; whose it is, the books say from then on, and no flag.
 */
import { type Config, ConfigError } from './config.ts';
import { isAllowed, isOpenToAll, NO_ROW } from './core/access/index.ts';
import { findLedger } from './core/finding.ts';
import { Kind } from './core/kinds.ts';
import { namesOf } from './core/records.ts';
import type { State } from './core/state.ts';
import type { Engine } from './engine.ts';
import { createDefaultLedger } from './genesis.ts';
import type { KeyPair } from './proof/keys.ts';
import { urlHost } from './url-host.ts';

/** Its index. Throws ConfigError where the books are others; `tell` hears of an owner who is named too late. */
export async function openDefaultLedger(
  engine: Engine,
  server: KeyPair,
  config: Config,
  directory: string,
  tell: (text: string) => void,
): Promise<number> {
  const { state } = engine;
  const { ledger: handle, owner } = config;
  if (findLedger(state, handle) < 0) {
    refuseOtherBooks(state, config, directory);
    if (config.readOnly === 'yes') throw new ConfigError(`${directory} has no books; with --read-only none are made`);
    await createDefaultLedger(engine, server, handle, owner);
  } else {
    const note = lateOwnerText(config, state);
    if (note !== null) tell(note);
  }
  const index = findLedger(state, handle);
  state.home = { handle, luid: namesOf(state, state.ledgers[index]!.row).luid };
  return index;
}

/** Who may use the default ledger, and the server around it, in words. */
export function whoMay(config: Config, state: State): string {
  const { host, ledger, owner, accessRules } = config;
  const isOpen = isOpenToAll(state, findLedger(state, ledger));
  const named = `open to whom its rules name${isOwned(config, state) ? `, owner ${owner}` : ''}`;
  const server = accessRules === '' ? '' : ', server rules as configured';
  return `ledger ${ledger} ${isOpen ? `open to all who reach ${urlHost(host)}` : named}${server}`;
}

/** Books that have ledgers, and not this one: it was renamed, or another directory is meant. An empty one helps nobody. */
function refuseOtherBooks({ ledgers }: State, { ledger }: Config, directory: string): void {
  const others = ledgers.slice(1).map(({ handle }) => handle);
  if (others.length === 0) return;
  const named = others.slice(0, 5).join(', ') + (others.length > 5 ? ', …' : '');
  throw new ConfigError(`${directory} has no ledger ${ledger}; it has ${named}. Name one with --ledger`);
}

/** The flag counts at the first start only; afterwards it is the books that say whose the ledger is. */
function isOwned({ ledger, owner }: Config, state: State): boolean {
  const by = { keys: [Buffer.from(owner, 'base64')], bearer: null };
  return owner !== '' && isAllowed(state, findLedger(state, ledger), 'drop', Kind.wallet, NO_ROW, by);
}

/** A start that failed may have made the ledger already: whoever names an owner then is not to believe it is theirs. */
function lateOwnerText(config: Config, state: State): string | null {
  const { ledger, owner } = config;
  const isOpen = isOpenToAll(state, findLedger(state, ledger));
  if (owner === '' || (!isOpen && isOwned(config, state))) return null;
  const whose = isOpen ? 'it is open to all' : 'that key may not do everything there';
  return `--owner counts when a ledger is made, and ${ledger} was there already: ${whose}. Its rules are changed by PUT /ledger.`;
}
