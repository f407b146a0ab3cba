/**
 * The live state against the model: what is wrong, in words, or ''. Looks through the functions the server reads with,
 * so an index that lost something shows as well as a column.
 */
import { METRICS } from '../../src/core/balances.ts';
import { findHandle, findLuid } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { readRow } from '../../src/core/records.ts';
import { DROPPED, type State } from '../../src/core/state.ts';
import { encodeBase64 } from '../../src/proof/keys.ts';
import type { Account } from '../core/model.ts';
import type { Books } from './model/books.ts';
import { LEG_STATES } from './model/legs.ts';
import type { Rec } from './model/record.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

function differ(what: string, is: unknown, should: unknown): string {
  return is === should ? '' : `${what} is ${String(is)}, and should be ${String(should)}`;
}

function rowOf(state: State, { ledger, kind, luid }: Rec): number {
  return findLuid(state, ledger, Kind[kind], luid);
}

export function rowFault(state: State, record: Rec): string {
  const { luid, ledger, kind, handle, content, isDropped } = record;
  const row = rowOf(state, record);
  const name = `${kind} ${handle} ${luid}`;
  if (row < 0) return `${name} is not there`;
  const view = readRow(state, row);
  const proofs = view.entry.proofs.length + view.added.filter((entry) => 'proof' in entry).length;
  const found = findHandle(state, ledger, Kind[kind], handle);
  return (
    differ(`hash of ${name}`, hex(view.entry.hash), content.hash) ||
    differ(`data of ${name}`, view.entry.data, content.data) ||
    differ(`handle of ${name}`, view.entry.handle, handle) ||
    differ(`moment of ${name}`, view.entry.moment, record.moment) ||
    differ(`status of ${name}`, view.status, record.status) ||
    differ(`proofs of ${name}`, proofs, content.proofs.length + record.added.length) ||
    differ(`owners of ${name}`, [...new Set(view.owners.map(encodeBase64))].join(), record.owners.join()) ||
    differ(`${name} dropped`, (state.rows.flags.get(row) & DROPPED) !== 0, isDropped) ||
    (isDropped ? '' : differ(`labels of ${name}`, view.labels.join(), record.labels.join())) ||
    (isDropped === (found === row) ? `${name} is ${isDropped ? 'still' : 'not'} found by its handle` : '')
  );
}

export function accountFault(state: State, books: Books, key: string, account: Account): string {
  const [wallet, symbol] = key.split(' ').map((luid) => books.records.get(luid)!) as [Rec, Rec];
  const { balances } = state;
  const slot = balances.find(rowOf(state, wallet), rowOf(state, symbol));
  const name = `of ${wallet.handle} in ${symbol.handle}`;
  if (slot < 0) return `there is no balance ${name}`;
  const limits = METRICS.map((metric, number) => {
    const [is, should] = [balances.limit(slot, number), account.limits.get(metric)];
    return differ(`${metric} ${name}`, Number.isNaN(is) ? 'none' : is, should === undefined ? 'none' : Number(should));
  });
  return (
    differ(`available ${name}`, BigInt(balances.available(slot)), account.available) ||
    differ(`reserved ${name}`, BigInt(balances.reserved(slot)), account.reserved) ||
    differ(`incoming ${name}`, BigInt(balances.incoming(slot)), account.incoming) ||
    differ(`moment ${name}`, balances.moment(slot), account.moment) ||
    limits.join('') ||
    (account.limits.size === 0
      ? ''
      : differ(`day ${name}`, balances.countedDay(slot), account.day) ||
        differ(`moved ${name}`, JSON.stringify(balances.movedOn(slot, account.day * 86_400_000)), moved(account)))
  );
}

function moved({ amount, count }: Account): string {
  return JSON.stringify({ amount: Number(amount), count: Number(count) });
}

/** Everything there is. */
export function booksFault(state: State, books: Books): string {
  const { inherited } = books;
  for (const record of books.records.values()) {
    const fault = rowFault(state, record);
    if (fault !== '') return fault;
  }
  for (const [key, account] of books.money.accounts.entries()) {
    const fault = accountFault(state, books, key, account);
    if (fault !== '') return fault;
  }
  const open = [...books.records.values()].filter(({ progress }) => progress !== null && progress.stage !== 'final');
  return (
    differ('number of records', state.rows.at.length, inherited.records + books.records.size) ||
    differ('number of balances', state.balances.size, inherited.balances + books.money.accounts.size) ||
    differ('number of ledgers', state.ledgers.length, books.ledgers.size) ||
    differ('number of open intents', state.open.size, inherited.open + open.length) ||
    differ('number of used tokens', state.tokens.size, books.tokens.size) ||
    openFault(state, books, open) ||
    supplyFault(state, books) ||
    reservationFault(books)
  );
}

/** How far each intent on its way is. */
function openFault(state: State, books: Books, open: readonly Rec[]): string {
  for (const record of open) {
    const is = state.open.get(rowOf(state, record));
    const { stage, isHolding, states, limits, nets } = record.progress!;
    const text = `${is?.status} ${is?.isHolding} ${is?.legs.map((leg) => LEG_STATES[leg])}`;
    const about = [...limits, ...nets.filter(({ change }) => change === 0n)].map(({ wallet }) => wallet);
    const wallets = isHolding ? [...new Set(about)].map((luid) => rowOf(state, books.records.get(luid)!)) : [];
    const fault =
      differ(`stage of ${record.handle}`, text, `${stage} ${isHolding} ${states}`) ||
      differ(`wallets of ${record.handle}`, String(is?.wallets), String(wallets));
    if (fault !== '') return fault;
  }
  return '';
}

/** Issued minus destroyed is what all wallets have, and what the books say. */
function supplyFault(state: State, books: Books): string {
  const sums = new Map<string, bigint>();
  for (const [key, { available, reserved }] of books.money.accounts.entries()) {
    const symbol = key.split(' ')[1]!;
    sums.set(symbol, (sums.get(symbol) ?? 0n) + available + reserved);
  }
  for (const [luid, sum] of sums) {
    const symbol = books.records.get(luid)!;
    const fault =
      differ(`supply of ${symbol.handle}`, state.supply.get(rowOf(state, symbol)) ?? 0n, sum) ||
      differ(`supply of ${symbol.handle} as predicted`, books.money.supply.get(luid) ?? 0n, sum);
    if (fault !== '') return fault;
  }
  return '';
}

/** What is reserved and what is to come is what prepared intents speak of, account by account. */
function reservationFault(books: Books): string {
  const held = new Map<string, bigint>();
  for (const { progress } of books.records.values()) {
    if (progress?.isHolding !== true) continue;
    for (const { wallet, symbol, change, through = 0n } of progress.nets) {
      const set = (key: string, amount: bigint) => held.set(key, (held.get(key) ?? 0n) + amount);
      const rest = change + through;
      if (rest < 0n) set(`${wallet} ${symbol} true`, -rest);
      else set(`${wallet} ${symbol} false`, rest);
      set(`${wallet} ${symbol} false`, -through);
    }
  }
  for (const [key, { reserved, incoming }] of books.money.accounts.entries()) {
    const fault =
      differ(`reserved of ${key}`, reserved, held.get(`${key} true`) ?? 0n) ||
      differ(`incoming of ${key}`, incoming, held.get(`${key} false`) ?? 0n);
    if (fault !== '') return fault;
  }
  return '';
}
