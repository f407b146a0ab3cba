/** `ayni statement <dir> <wallet>`: all that changed the balances of a wallet, or of all, between two moments. */
import { resolve } from 'node:path';
import { Kind } from '../core/kinds.ts';
import { isoMoment } from '../core/proofs.ts';
import { namesOf } from '../core/records.ts';
import type { State } from '../core/state.ts';
import { givenKey } from './audit/key.ts';
import { ledgerOf, rowOf } from './names.ts';
import { booksOf } from './past/books.ts';
import { csvLine, listText, readForm, sayAll } from './past/form.ts';
import { NEVER, readMoment } from './past/moment.ts';
import { endOf, type Moved, shortOf } from './past/past.ts';
import { type Balance, Statement, type Whose } from './past/statement.ts';
import { AMOUNT_WIDTH, decimalText } from './past/unit.ts';
import { LEDGER, readArgs, readFilled, SWITCH, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni statement <dir> <wallet> [--ledger <handle>] [--from <moment>] [--to <moment>] [--csv | --json]
               [--against <base64>]
ayni statement <dir> --all [...]

All that changed the balances of a wallet, a line for each claim of an intent that took from it or gave to it, in the
order in which they were committed, with the balance after it; before them what it had, after them what it has. Balances
are all that is the wallet's: what is reserved of it is told at both ends. The other side of a claim is told as the claim
names it, wherever routes led. <wallet> is its handle as it is now, or its luid, which finds a dropped one too. Changes
nothing, takes no lock: it may be run while the server works, or on a copy; takes as much memory as a server on these
books, or somewhat more.

  --all               of all wallets of the ledger, each line with its wallet, named as it was then: a month's whole journal
  --ledger <handle>   the ledger of the wallet (default: main)
  --from <moment>     what was committed before is in the balance that it begins with, 2026-10-01T00:00Z say
  --to <moment>       what was committed from this moment on is left out, 2026-11-01T00:00Z say; else up to now
  --csv               rows for a spreadsheet
  --json              one JSON object. Its amounts are in the smallest unit, as in requests; elsewhere decimals, by the
                      factor that the symbol had in the end
  --against <base64>  the server's public key as you know it; without it that in server.key, else the one the books
                      themselves give

Ends with 0, or with 1 where the changes do not lead from the first balances to the last.
`;

/** Runs the command; returns the exit code. */
export function run(args: string[]): number {
  const flags = { all: SWITCH, ledger: LEDGER, from: TEXT, to: TEXT, csv: SWITCH, json: SWITCH, against: TEXT };
  const { values, positionals } = readArgs(args, flags);
  if (positionals.length !== (values.all === true ? 1 : 2)) {
    throw new UsageError('a directory, and a wallet by its handle or luid, or --all');
  }
  const [path, id = null] = positionals as [string, string?];
  const form = readForm(values);
  const from = readMoment('--from', values.from, 0);
  const to = readMoment('--to', values.to, NEVER);
  if (from > to) throw new UsageError('--from: must not be after --to');
  const directory = resolve(readFilled('the directory', path));
  const { state } = booksOf(directory, givenKey(values.against));
  const { whose, names, title } = whoseOf(state, values.ledger, id);
  const statement = new Statement(state, whose, from, to);
  const named = 'ledger' in whose ? namer(state, statement) : null;
  const short = shortOf(state, to === NEVER ? from : to).map((line) => `${line}\n`);
  if (form === 'csv') {
    sayAll(csvOf(statement, named));
    process.stderr.write(short.join(''));
  } else if (form === 'json') sayAll(jsonOf(statement, { ...names, end: isoMoment(endOf(state)) }, named));
  else {
    const since = from === 0 ? '' : `, from ${isoMoment(from)}`;
    const until = to === NEVER ? ' up to now' : ` until ${isoMoment(to)} began`;
    sayAll(textOf(statement, `${title}${since}${until}`, named));
    sayAll(short);
  }
  const { difference } = statement;
  if (difference !== null) process.stderr.write(`ayni: ${difference}\n`);
  return difference === null ? 0 : 1;
}

/** The wallet of this handle or luid, or, where it is null, all of the ledger; and how an answer says that. */
function whoseOf(state: State, ledger: string, id: string | null): { whose: Whose; names: object; title: string } {
  if (id === null) {
    const title = `Statement of all wallets in ledger ${ledger}`;
    return { whose: { ledger: ledgerOf(state, ledger) }, names: { ledger }, title };
  }
  const wallet = rowOf(state, { ledger, kind: Kind.wallet, id });
  const { handle, luid } = namesOf(state, wallet);
  const title = `Statement of wallet ${handle} (${luid}) in ledger ${ledger}`;
  return { whose: { wallet }, names: { ledger, wallet: handle, luid }, title };
}

interface WalletNames {
  handle: string;
  luid: string;
}

/** Where a line has to say whose it is, this does: by the name that the wallet in that row had then. */
type Namer = ((wallet: number) => WalletNames) | null;

function namer(state: State, statement: Statement): Namer {
  return (wallet) => ({ handle: statement.nameOf(wallet), luid: namesOf(state, wallet).luid });
}

function momentOf({ entry }: Moved): string {
  return isoMoment(entry.outcome.moment);
}

// ---------------------------------------------------------------- forms

const MOMENT_WIDTH = 24;

function* textOf(statement: Statement, title: string, named: Namer): Generator<string> {
  const whose = (wallet: number) => (named === null ? '' : `${named(wallet).handle}: `);
  const line = (moment: string, change: string, balance: string, rest: string) =>
    `${moment.padEnd(MOMENT_WIDTH)} ${change.padStart(AMOUNT_WIDTH)} ${balance.padStart(AMOUNT_WIDTH)}  ${rest}\n`;
  const standing = ({ wallet, unit, balance, reserved }: Balance, when: string) => {
    const kept = reserved === 0n ? '' : `, ${decimalText(reserved, unit)} of it reserved`;
    return line('', '', decimalText(balance, unit), `${whose(wallet)}${unit.handle}, ${when}${kept}`);
  };
  yield `${title}\n\n${line('', 'change', 'balance', 'symbol, what, and by which intent')}`;
  for (const balance of statement.opening()) yield standing(balance, 'to begin with');
  for (const { moved, booking, unit, balance } of statement.changes()) {
    const { action, counterparty, change } = booking;
    const other = counterparty === null ? '' : ` ${change < 0n ? 'to' : 'from'} ${counterparty}`;
    const what = `${whose(booking.wallet)}${unit.handle}, ${action.name}${other}, intent ${moved.entry.handle}`;
    yield line(momentOf(moved), decimalText(change, unit), decimalText(balance, unit), what);
  }
  for (const balance of statement.closing()) yield standing(balance, 'in the end');
}

function* csvOf(statement: Statement, named: Namer): Generator<string> {
  const line = (whose: readonly string[], cells: readonly string[]) =>
    csvLine(named === null ? cells : [...whose, ...cells]);
  const whose = (wallet: number): string[] => {
    if (named === null) return [];
    const { handle, luid } = named(wallet);
    return [handle, luid];
  };
  const ends = (moment: number, name: string, balances: Balance[]) =>
    balances.map(({ wallet, unit, balance, reserved }) => {
      const when = moment === 0 || moment === NEVER ? '' : isoMoment(moment);
      const amounts = [decimalText(balance, unit), decimalText(reserved, unit)];
      return line(whose(wallet), [when, unit.handle, name, '', '', ...amounts, '', '']);
    });
  const columns = 'moment,symbol,action,counterparty,change,balance,reserved,intent,intent luid';
  yield line(['wallet', 'wallet luid'], columns.split(','));
  yield* ends(statement.from, 'opening', statement.opening());
  for (const { moved, booking, unit, balance } of statement.changes()) {
    const { action, counterparty, change } = booking;
    const amounts = [decimalText(change, unit), decimalText(balance, unit)];
    const { handle, luid } = moved.entry;
    yield line(whose(booking.wallet), [
      momentOf(moved),
      unit.handle,
      action.name,
      counterparty ?? '',
      ...amounts,
      '',
      handle,
      luid,
    ]);
  }
  yield* ends(statement.to, 'closing', statement.closing());
}

function* jsonOf(statement: Statement, names: object, named: Namer): Generator<string> {
  const whose = (wallet: number): object => {
    if (named === null) return {};
    const { handle, luid } = named(wallet);
    return { wallet: handle, walletLuid: luid };
  };
  const { from, to } = statement;
  const head = { ...names, from: from === 0 ? null : isoMoment(from), to: to === NEVER ? null : isoMoment(to) };
  yield `${JSON.stringify(head).slice(0, -1)},"opening":[`;
  yield* listText(balanceObjects(statement.opening(), whose));
  yield '\n],"changes":[';
  yield* listText(changeObjects(statement, whose));
  yield '\n],"closing":[';
  yield* listText(balanceObjects(statement.closing(), whose));
  yield `\n],"ok":${statement.difference === null}}\n`;
}

function* balanceObjects(all: Balance[], whose: (wallet: number) => object): Generator<object> {
  for (const { wallet, unit, balance, reserved } of all) {
    const { handle, luid, factor } = unit;
    yield { ...whose(wallet), symbol: handle, luid, factor, balance: `${balance}`, reserved: `${reserved}` };
  }
}

function* changeObjects(statement: Statement, whose: (wallet: number) => object): Generator<object> {
  for (const { moved, booking, unit, balance } of statement.changes()) {
    const { action, counterparty, change } = booking;
    const { handle, luid } = moved.entry;
    yield {
      ...whose(booking.wallet),
      seq: moved.seq,
      moment: momentOf(moved),
      intent: handle,
      luid,
      symbol: unit.handle,
      action: action.name,
      counterparty,
      change: `${change}`,
      balance: `${balance}`,
    };
  }
}
