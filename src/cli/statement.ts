/** `ayni statement <dir> <wallet>`: all that changed the balances of a wallet between two moments. */
import { resolve } from 'node:path';
import { Kind } from '../core/kinds.ts';
import { isoMoment } from '../core/proofs.ts';
import { namesOf } from '../core/records.ts';
import { realDisk } from '../storage/disk.ts';
import { givenKey } from './audit/key.ts';
import { rowOf } from './names.ts';
import { booksOf } from './past/books.ts';
import { csvLine, listText, readForm, sayAll } from './past/form.ts';
import { NEVER, readMoment } from './past/moment.ts';
import type { Moved } from './past/past.ts';
import { type Balance, Statement } from './past/statement.ts';
import { decimalText } from './past/unit.ts';
import { LEDGER, readArgs, readFilled, SWITCH, TEXT, UsageError } from './usage.ts';

export const HELP = `ayni statement <dir> <wallet> [--ledger <handle>] [--from <moment>] [--to <moment>] [--csv | --json]
               [--against <base64>]

All that changed the balances of a wallet, a line for each claim of an intent that took from it or gave to it, in the
order in which they were committed, with the balance after it; before them what it had, after them what it has. Balances
are all that is the wallet's: what is reserved of it is told at both ends. The other side of a claim is told as the claim
names it, wherever routes led. <wallet> is its handle as it is now, or its luid, which finds a dropped one too. Changes
nothing, takes no lock: it may be run while the server works, or on a copy; takes as much memory as a server on these
books, or somewhat more.

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
  const flags = { ledger: LEDGER, from: TEXT, to: TEXT, csv: SWITCH, json: SWITCH, against: TEXT };
  const { values, positionals } = readArgs(args, flags);
  if (positionals.length !== 2) throw new UsageError('a directory, and a wallet by its handle or luid');
  const [path, id] = positionals as [string, string];
  const form = readForm(values);
  const from = readMoment('--from', values.from, 0);
  const to = readMoment('--to', values.to, NEVER);
  if (from > to) throw new UsageError('--from: must not be after --to');
  const directory = resolve(readFilled('the directory', path));
  const { state } = booksOf(realDisk, directory, givenKey(values.against));
  const wallet = rowOf(state, { ledger: values.ledger, kind: Kind.wallet, id });
  const statement = new Statement(state, wallet, from, to);
  const { handle, luid } = namesOf(state, wallet);
  if (form === 'csv') sayAll(csvOf(statement));
  else if (form === 'json') sayAll(jsonOf(statement, { ledger: values.ledger, wallet: handle, luid }));
  else {
    const since = from === 0 ? '' : `, from ${isoMoment(from)}`;
    const until = to === NEVER ? ' up to now' : ` until ${isoMoment(to)} began`;
    sayAll(textOf(statement, `Statement of wallet ${handle} (${luid}) in ledger ${values.ledger}${since}${until}`));
  }
  const { difference } = statement;
  if (difference !== null) process.stderr.write(`ayni: ${difference}\n`);
  return difference === null ? 0 : 1;
}

function momentOf({ entry }: Moved): string {
  return isoMoment(entry.outcome.moment);
}

// ---------------------------------------------------------------- forms

/** As wide as most amounts are; longer ones push what follows aside. */
const WIDTH = 18;
const MOMENT_WIDTH = 24;

function* textOf(statement: Statement, title: string): Generator<string> {
  const line = (moment: string, change: string, balance: string, rest: string) =>
    `${moment.padEnd(MOMENT_WIDTH)} ${change.padStart(WIDTH)} ${balance.padStart(WIDTH)}  ${rest}\n`;
  const standing = ({ unit, balance, reserved }: Balance, when: string) => {
    const kept = reserved === 0n ? '' : `, ${decimalText(reserved, unit)} of it reserved`;
    return line('', '', decimalText(balance, unit), `${unit.handle}, ${when}${kept}`);
  };
  yield `${title}\n\n${line('', 'change', 'balance', 'symbol, what, and by which intent')}`;
  for (const balance of statement.opening()) yield standing(balance, 'to begin with');
  for (const { moved, booking, unit, balance } of statement.changes()) {
    const { action, counterparty, change } = booking;
    const other = counterparty === null ? '' : ` ${change < 0n ? 'to' : 'from'} ${counterparty}`;
    const what = `${unit.handle}, ${action.name}${other}, intent ${moved.entry.handle}`;
    yield line(momentOf(moved), decimalText(change, unit), decimalText(balance, unit), what);
  }
  for (const balance of statement.closing()) yield standing(balance, 'in the end');
}

function* csvOf(statement: Statement): Generator<string> {
  const ends = (moment: number, name: string, balances: Balance[]) =>
    balances.map(({ unit, balance, reserved }) => {
      const when = moment === 0 || moment === NEVER ? '' : isoMoment(moment);
      const amounts = [decimalText(balance, unit), decimalText(reserved, unit)];
      return csvLine([when, unit.handle, name, '', '', ...amounts, '', '']);
    });
  yield csvLine('moment,symbol,action,counterparty,change,balance,reserved,intent,intent luid'.split(','));
  yield* ends(statement.from, 'opening', statement.opening());
  for (const { moved, booking, unit, balance } of statement.changes()) {
    const { action, counterparty, change } = booking;
    const amounts = [decimalText(change, unit), decimalText(balance, unit)];
    const { handle, luid } = moved.entry;
    yield csvLine([momentOf(moved), unit.handle, action.name, counterparty ?? '', ...amounts, '', handle, luid]);
  }
  yield* ends(statement.to, 'closing', statement.closing());
}

function* jsonOf(statement: Statement, names: object): Generator<string> {
  const { from, to } = statement;
  const head = { ...names, from: from === 0 ? null : isoMoment(from), to: to === NEVER ? null : isoMoment(to) };
  const opening = statement.opening().map(balanceObject);
  yield `${JSON.stringify({ ...head, opening }).slice(0, -1)},"changes":[`;
  yield* listText(changeObjects(statement));
  const closing = statement.closing().map(balanceObject);
  yield `\n],"closing":${JSON.stringify(closing)},"ok":${statement.difference === null}}\n`;
}

function balanceObject({ unit, balance, reserved }: Balance): object {
  const { handle, luid, factor } = unit;
  return { symbol: handle, luid, factor, balance: `${balance}`, reserved: `${reserved}` };
}

function* changeObjects(statement: Statement): Generator<object> {
  for (const { moved, booking, unit, balance } of statement.changes()) {
    const { action, counterparty, change } = booking;
    const { handle, luid } = moved.entry;
    yield {
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
