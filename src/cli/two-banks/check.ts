/**
 * Whether three sets of books tell the same story: the ledger's intents and balances, and each bank's accounts and
 * entries, read through their ports and compared with what the payments ask for.
 */
import { findLie, type StoredRecord } from '../client.ts';
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
  /** The last status it was told of each intent. */
  heard: Map<string, string>;
  /** Reports the ledger has not taken. */
  waiting: number;
}

interface Balance {
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
  const lie = intent.hash === record.hash ? findLie(intent) : 'it is not what was signed';
  if (lie !== null) return [`${handle}: ${lie}`];
  const { status } = intent.meta;
  if (status !== 'completed' && status !== 'rejected') return [`${handle} is ${status}, for ever`];
  const expected = status === 'completed' ? moves.flatMap(sidesOf) : [];
  const found = banks.flatMap((bank) =>
    bank.entries
      .filter((entry) => entry.intent.handle === handle && entry.state === 'committed')
      .map(({ kind, account, amount }) => ({ kind, bank: bank.name, account, amount })),
  );
  const [wanted, done] = [textOf(expected), textOf(found)];
  return wanted === done ? [] : [`${handle} is ${status}: the banks should have done "${wanted}", and did "${done}"`];
}

/** What a payment does to one account. */
interface Side extends Place {
  kind: EntryRow['kind'];
  amount: number;
}

function sidesOf({ from, to, amount }: Move): Side[] {
  return [
    { kind: 'debit', ...from, amount },
    { kind: 'credit', ...to, amount },
  ];
}

/** Claims that are alike share an entry: what counts is how much was done where. */
function textOf(sides: Side[]): string {
  const sums = new Map<string, number>();
  for (const { kind, bank, account, amount } of sides) {
    const where = `${kind} ${bank} ${account}`;
    sums.set(where, (sums.get(where) ?? 0) + amount);
  }
  return [...sums]
    .map(([where, sum]) => `${where} ${sum}`)
    .toSorted()
    .join(', ');
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
  for (const { handle, state, intent } of bank.entries) {
    if (state === 'prepared') findings.push(`${name}: ${handle} is still prepared`);
    const [heard, status] = [bank.heard.get(intent.handle), story.stored.get(intent.handle)?.meta.status];
    if (heard !== status) findings.push(`${name} has heard that ${intent.handle} is ${heard}, and it is ${status}`);
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
