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
import { urlHost } from './url-text.ts';

/** Where books are, and whether the server that they are to be of is known already. */
interface Home {
  directory: string;
  knewKey: boolean;
}

/** Its index. Throws ConfigError where the books are others; `tell` hears of an owner who is named too late. */
export async function openDefaultLedger(
  engine: Engine,
  server: KeyPair,
  config: Config,
  home: Home,
  tell: (text: string) => void,
): Promise<number> {
  const { state } = engine;
  const { ledger: handle, owner } = config;
  if (findLedger(state, handle) < 0) {
    refuseOtherBooks(state, config, home.directory);
    if (!mayBegin(config)) throw noBooksError(home.directory);
    tell(newBooksText(home));
    await createDefaultLedger(engine, server, handle, owner);
  } else {
    const note = lateOwnerText(config, state);
    if (note !== null) tell(note);
  }
  const index = findLedger(state, handle);
  state.home = { handle, luid: namesOf(state, state.ledgers[index]!.row).luid };
  return index;
}

/** Whether books are begun where there are none. */
export function mayBegin({ readOnly, newBooks }: Config): boolean {
  return readOnly === 'no' && newBooks === 'yes';
}

/** None are to be begun. */
export function noBooksError(directory: string): ConfigError {
  return new ConfigError(
    `${directory} has no books, and by --read-only or --new-books none are begun. See that it is the directory that is meant, and its disk mounted; where the books are lost, start on the last backup`,
  );
}

/**
 * Books that were deleted, or a disk that is not mounted, look like a first start: whoever knows better is to hear of
 * it.
 */
function newBooksText({ directory, knewKey }: Home): string {
  const known = 'the key was there already, so where this server has had books, they are gone or elsewhere';
  return `${directory} has no books: new ones are begun${knewKey ? `; ${known}` : ', with a new key'}.`;
}

/** Who may use the default ledger, and the server around it, in words. */
export function whoMay(config: Config, state: State): string {
  const { host, ledger, owner, accessRules } = config;
  const isOpen = isOpenToAll(state, findLedger(state, ledger));
  const named = `open to whom its rules name${isOwned(config, state) ? `, owner ${owner}` : ''}`;
  const server = accessRules === '' ? '' : ', server rules as configured';
  return `ledger ${ledger} ${isOpen ? `open to all who reach ${urlHost(host)}` : named}${server}`;
}

/**
 * Books that have ledgers, and not this one: it was renamed, or another directory is meant. An empty one helps nobody.
 */
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
  const { ledger, owner, readOnly } = config;
  const isOpen = isOpenToAll(state, findLedger(state, ledger));
  if (owner === '' || (!isOpen && isOwned(config, state))) return null;
  const whose = isOpen ? 'it is open to all' : 'that key may not do everything there';
  const remedy = readOnly === 'yes' ? '' : ' Its rules are changed by PUT /ledger.';
  return `--owner counts when a ledger is made, and ${ledger} was there already: ${whose}.${remedy}`;
}
