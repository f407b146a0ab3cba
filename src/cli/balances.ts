/**
 * `ayni balances [dir]`: what every wallet of a ledger had when a moment began, and whether that is what was issued
 * less what was destroyed. Balances of now must also be those that a server shows.
 */
import { Kind } from '../core/kinds.ts';
import { isoMoment } from '../core/proofs.ts';
import { namesOf } from '../core/records.ts';
import type { State } from '../core/state.ts';
import { givenKey } from './audit/key.ts';
import { dataDirectory } from './directory.ts';
import { ledgerOf, rowOf } from './names.ts';
import { booksOf } from './past/books.ts';
import { csvLine, listText, readForm, sayAll } from './past/form.ts';
import { NEVER, readMoment } from './past/moment.ts';
import { endOf, shortOf } from './past/past.ts';
import { type Sum, type Trial, trialAt } from './past/trial.ts';
import { AMOUNT_WIDTH, decimalText, type Unit } from './past/unit.ts';
import { LEDGER, readArgs, SWITCH, TEXT } from './usage.ts';

export const HELP = `ayni balances [dir] [--ledger <handle>] [--at <moment>] [--wallet <handle|luid>] [--csv | --json]
              [--against <base64>]

What the wallets of a ledger had, available and reserved, by symbol; what was issued and destroyed of each, and whether
the two agree. All entries since the first are gone through for it. Changes nothing, takes no lock: it may be run while
the server works, or on a copy; takes as much memory as a server on these books, or somewhat more. The directory is
AYNI_DATA, else snapshots, where none is given.

  --ledger <handle>   (default: main)
  --at <moment>       as it was when this moment began, 2026-11-01T00:00Z say: by what was decided before; else as it is now
  --wallet <handle>   the rows of this wallet alone, named as it is now; a dropped one by its luid
  --csv               rows for a spreadsheet; what they come to is told on standard error
  --json              one JSON object. Its amounts are in the smallest unit, as in requests; elsewhere decimals, by the
                      factor that the symbol had then
  --against <base64>  the server's public key as you know it; without it that in server.key, else the one the books
                      themselves give

Ends with 0 where all agrees, with 1 where it does not.
`;

/** Runs the command; returns the exit code. */
export function run(args: string[]): number {
  const flags = { ledger: LEDGER, at: TEXT, wallet: TEXT, csv: SWITCH, json: SWITCH, against: TEXT };
  const { values, positionals } = readArgs(args, flags);
  const form = readForm(values);
  const at = readMoment('--at', values.at, NEVER);
  const directory = dataDirectory(positionals);
  const { state } = booksOf(directory, givenKey(values.against));
  const ledger = ledgerOf(state, values.ledger);
  const only =
    values.wallet === undefined ? -1 : rowOf(state, { ledger: values.ledger, kind: Kind.wallet, id: values.wallet });
  const trial = trialAt(state, ledger, at);
  const difference = at === NEVER ? trial.past.money.differenceTo(state) : null;
  const rows = balancesOf(state, trial, only);
  const told = [
    ...trial.sums.map(sumText),
    ...(difference === null ? [] : [`A server would show it otherwise: ${difference}.`]),
    ...shortOf(state, at),
  ];
  const ok = difference === null && trial.sums.every(({ agrees }) => agrees);
  if (form === 'csv') {
    sayAll(csvOf(rows));
    process.stderr.write(told.map((line) => `${line}\n`).join(''));
  } else if (form === 'json') {
    const head = {
      ledger: values.ledger,
      at: at === NEVER ? null : isoMoment(at),
      seq: trial.past.seq,
      end: isoMoment(endOf(state)),
      ok,
      difference,
    };
    sayAll(jsonOf(head, trial.sums, rows));
  } else {
    const when = at === NEVER ? 'now' : `when ${isoMoment(at)} began`;
    sayAll(textOf(`Balances in ledger ${values.ledger} ${when}, after entry ${trial.past.seq}`, rows, told));
  }
  return ok ? 0 : 1;
}

/** What a wallet has of a symbol. */
interface Balance {
  wallet: string;
  luid: string;
  unit: Unit;
  available: bigint;
  reserved: bigint;
}

/** Of all wallets, or the one in row `only`, under the names that they had then: by symbol. */
function* balancesOf(state: State, { past, sums }: Trial, only: number): Generator<Balance> {
  for (const { symbol, unit } of sums) {
    for (const [row, { available, reserved }] of past.money.bySymbol.get(symbol)!) {
      if (only >= 0 && row !== only) continue;
      yield { wallet: past.nameOf(row), luid: namesOf(state, row).luid, unit, available, reserved };
    }
  }
}

function sumText({ unit, issued, destroyed, available, reserved, agrees }: Sum): string {
  const text = (amount: bigint) => decimalText(amount, unit);
  const made = `${text(issued)} issued, ${text(destroyed)} destroyed, ${text(issued - destroyed)} stand`;
  const had = `wallets have ${text(available)} available and ${text(reserved)} reserved`;
  return `${unit.handle}: ${made}; ${had}: they ${agrees ? 'agree' : 'DO NOT AGREE'}.`;
}

function* textOf(title: string, rows: Iterable<Balance>, told: readonly string[]): Generator<string> {
  const line = (cells: readonly string[], name: string) =>
    `${cells.map((cell) => cell.padStart(AMOUNT_WIDTH)).join(' ')}  ${name}\n`;
  yield `${title}\n`;
  let above = '';
  for (const balance of rows) {
    const { wallet, unit } = balance;
    if (unit.luid !== above) yield `\n${line(['available', 'reserved', 'balance'], unit.handle)}`;
    above = unit.luid;
    yield line(decimalsOf(balance), wallet);
  }
  yield `\n${told.map((each) => `${each}\n`).join('')}`;
}

function* csvOf(rows: Iterable<Balance>): Generator<string> {
  yield csvLine(['wallet', 'wallet luid', 'symbol', 'symbol luid', 'available', 'reserved', 'balance']);
  for (const balance of rows) {
    const { wallet, luid, unit } = balance;
    yield csvLine([wallet, luid, unit.handle, unit.luid, ...decimalsOf(balance)]);
  }
}

/** What is available, what is reserved, and both together. */
function decimalsOf({ available, reserved, unit }: Balance): string[] {
  return [available, reserved, available + reserved].map((amount) => decimalText(amount, unit));
}

function* jsonOf(head: object, sums: readonly Sum[], rows: Iterable<Balance>): Generator<string> {
  const symbols = sums.map(({ unit, issued, destroyed, available, reserved, agrees }) => ({
    symbol: unit.handle,
    luid: unit.luid,
    factor: unit.factor,
    issued: `${issued}`,
    destroyed: `${destroyed}`,
    available: `${available}`,
    reserved: `${reserved}`,
    agrees,
  }));
  yield `${JSON.stringify({ ...head, symbols }).slice(0, -1)},"balances":[`;
  yield* listText(balanceObjects(rows));
  yield '\n]}\n';
}

function* balanceObjects(rows: Iterable<Balance>): Generator<object> {
  for (const { wallet, luid, unit, available, reserved } of rows) {
    yield { wallet, luid, symbol: unit.handle, available: `${available}`, reserved: `${reserved}` };
  }
}
