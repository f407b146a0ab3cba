/**
 * Whether three sets of books tell the same story: the ledger's intents and balances, and each bank's accounts and
 * entries, read through their ports and compared with what the payments ask for.
 */
import { findLie, type SignedRecord, type StoredRecord } from '../client.ts';
import type { Move, Payment, Place } from './traffic.ts';

/** A bank's entry as its port shows it. */
export interface EntryRow {
  handle: string;
  kind: 'debit' | 'credit';
  account: string;
  amount: number;
  state: string;
  intent: { handle: string; hash: string };
}

export interface BankBooks {
  name: string;
  accounts: { handle: string; available: number; held: number; incoming: number }[];
  opened: number;
  out: number;
  in: number;
  entries: EntryRow[];
  /** Reports the ledger has not taken. */
  waiting: number;
}

export interface Balance {
  available: number;
  reserved: number;
}

export interface Story {
  payments: Payment[];
  /** Each payment's intent as the ledger shows it. */
  stored: Map<string, StoredRecord>;
  banks: BankBooks[];
  /** Of each bank's wallet at the ledger. */
  balances: Map<string, Balance>;
  /** What each account began with. */
  funds: number;
}

/** Everything that does not agree, in words; empty where all does. */
export function findDisagreements(story: Story): string[] {
  return [
    ...story.payments.flatMap((payment) => checkPayment(payment, story)),
    ...story.banks.flatMap((bank) => checkBank(bank, story)),
    ...checkTotal(story.banks),
  ];
}

/** The payments that happened. */
export function completed({ payments, stored }: Story): Payment[] {
  return payments.filter(({ handle }) => stored.get(handle)?.meta.status === 'completed');
}

function checkPayment({ handle, moves, record }: Payment, { stored, banks }: Story): string[] {
  const intent = stored.get(handle);
  if (intent === undefined) return [`${handle} is not at the ledger`];
  const lie = intent.hash === record.hash ? findLie(intent as SignedRecord) : 'it is not what was signed';
  if (lie !== null) return [`${handle}: ${lie}`];
  const { status } = intent.meta;
  if (status !== 'completed' && status !== 'rejected') return [`${handle} is ${status}, for ever`];
  const expected = status === 'completed' ? moves.flatMap(sidesOf).toSorted() : [];
  const found = banks.flatMap((bank) =>
    bank.entries
      .filter((entry) => entry.intent.handle === handle && entry.state === 'committed')
      .map((entry) => sideOf(entry.kind, { bank: bank.name, account: entry.account }, entry.amount)),
  );
  const [wanted, done] = [expected.join(', '), found.toSorted().join(', ')];
  return wanted === done ? [] : [`${handle} is ${status}: the banks should have done "${wanted}", and did "${done}"`];
}

/** A debit and a credit, as one line each. */
function sidesOf({ from, to, amount }: Move): string[] {
  return [sideOf('debit', from, amount), sideOf('credit', to, amount)];
}

function sideOf(kind: string, { bank, account }: Place, amount: number): string {
  return `${kind} ${bank} ${account} ${amount}`;
}

function checkBank(bank: BankBooks, story: Story): string[] {
  const { name } = bank;
  const findings: string[] = [];
  const expect = (what: string, found: number, wanted: number): void => {
    if (found !== wanted) findings.push(`${name}: ${what} is ${found}, and should be ${wanted}`);
  };
  const moves = completed(story).flatMap((payment) => payment.moves);
  const sum = (side: 'from' | 'to', account?: string): number =>
    moves
      .filter((move) => move[side].bank === name && (account === undefined || move[side].account === account))
      .reduce((total, { amount }) => total + amount, 0);
  for (const { handle, available, held, incoming } of bank.accounts) {
    expect(`the account ${handle}`, available, story.funds + sum('to', handle) - sum('from', handle));
    expect(`what is held of ${handle}`, held, 0);
    expect(`what is promised to ${handle}`, incoming, 0);
  }
  expect('what went out', bank.out, sum('from'));
  expect('what came in', bank.in, sum('to'));
  const balance = story.balances.get(name);
  expect('its balance at the ledger', balance?.available ?? 0, bank.in - bank.out);
  expect('what the ledger still reserves', balance?.reserved ?? 0, 0);
  expect('the number of reports to be sent', bank.waiting, 0);
  for (const { handle, state } of bank.entries) {
    if (state === 'prepared') findings.push(`${name}: ${handle} is still prepared`);
  }
  return findings;
}

/** Money is where it was or where it went. */
function checkTotal(banks: BankBooks[]): string[] {
  const sum = (value: (bank: BankBooks) => number): number => banks.reduce((total, bank) => total + value(bank), 0);
  const held = sum(({ accounts }) => accounts.reduce((total, { available }) => total + available, 0));
  const opened = sum((bank) => bank.opened);
  return held === opened ? [] : [`the banks hold ${held} together, and were opened with ${opened}`];
}
