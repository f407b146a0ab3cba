/** Looking ahead changes nothing, whatever the commands and the books, and comes to an end. */
import { describe, expect, test } from 'vitest';
import { NOBODY } from '../../src/core/access/index.ts';
import { lookAhead, lookAheadOfApply } from '../../src/core/ahead.ts';
import { actionNumber, type Claim } from '../../src/core/claims/index.ts';
import type { Command, CreateCommand } from '../../src/core/command.ts';
import { EntryType, type Facts } from '../../src/core/entry.ts';
import { findHandle, findLedger, handleHash } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import type { IntentOutline } from '../../src/core/outline.ts';
import type { State } from '../../src/core/state.ts';
import { differencesOf, stateDigests } from '../../src/storage/state-digest.ts';
import { Books } from './books.ts';

/** From the first command to the last, as the engine goes; how many were looked at together. */
function lookAtAll(state: State, commands: readonly Command[]): number[] {
  const steps: number[] = [];
  for (let seen = 0; seen < commands.length; ) {
    const next = lookAhead(state, (index) => commands[index]!, seen, commands.length, 0);
    steps.push(next - seen);
    seen = next;
  }
  return steps;
}

const transfer = (source: string, target: string): Claim => {
  return { action: 'transfer', source: { handle: source }, target, symbol: 'usd', amount: 1 };
};
const issue = (target: string): Claim => ({ action: 'issue', target, symbol: { handle: 'usd' }, amount: 5 });
const limit = (wallet: string): Claim => {
  return { action: 'limit', wallet: { handle: wallet }, symbol: 'usd', metric: 'maxBalance', amount: 9 };
};

const ready = () => {
  const books = Books.open().symbols('usd').wallets('ana', 'luz', 'eva');
  books.intent(issue('ana'));
  books.drop(Kind.wallet, 'eva');
  return books;
};
const intentOf = (books: Books, number: number, ...claims: Claim[]) =>
  books.command(Kind.intent, { handle: `intent ${number}`, claims });

/** Wallets with money, without any, dropped, unknown and not known by exactly this name; and what is no intent. */
function manyOf(books: Books): Command[] {
  const names = ['ana', 'luz', 'eva', 'nobody', 'ana@shop', ''];
  const intents = names.flatMap((one, number) => [
    intentOf(books, number, issue(one)),
    ...names.map((other, at) => intentOf(books, 100 + number * 10 + at, transfer(one, other), limit(other))),
  ]);
  const wallet = books.command(Kind.wallet, { handle: 'new' });
  const { ledger, kind, moment, luid } = wallet;
  return [wallet, ...intents, { op: 'check', ledger, kind, luid, moment, caller: NOBODY }, { ...wallet, op: 'update' }];
}

describe('looking ahead', () => {
  test('changes nothing', () => {
    const books = ready();
    const before = stateDigests(books.state);
    const commands = manyOf(books);
    expect(lookAtAll(books.state, commands).reduce((sum, step) => sum + step)).toBe(commands.length);
    expect([...stateDigests(books.state)]).toEqual([...before]);
    expect(findHandle(books.state, 1, Kind.wallet, 'eva')).toBe(-1);
    expect(findHandle(books.state, 1, Kind.wallet, 'ana')).toBeGreaterThan(0);
  });

  test('leads to the same books, however often it is done', () => {
    const [one, other] = [ready(), ready()];
    for (const command of manyOf(one)) one.do(command);
    for (const command of manyOf(other)) {
      lookAtAll(other.state, [command, ...manyOf(other)]);
      other.do(command as CreateCommand);
    }
    expect(differencesOf(one.state, other.state)).toEqual([]);
  });

  test('goes so far that what it came to is still near: 32 intents, 64 wallets, one intent however large', () => {
    const books = ready();
    const large = intentOf(books, 0, ...Array.from({ length: 500 }, (_, at) => transfer(`from-${at}`, `to-${at}`)));
    const small = (count: number) => Array.from({ length: count }, (_, at) => intentOf(books, at, issue(`w-${at}`)));
    const many = intentOf(books, 1, ...Array.from({ length: 20 }, (_, at) => transfer(`a-${at}`, `b-${at}`)));
    expect(lookAtAll(books.state, small(70))).toEqual([32, 32, 6]);
    expect(lookAtAll(books.state, [large, large, ...small(3)])).toEqual([1, 1, 3]);
    expect(lookAtAll(books.state, [many, many, many])).toEqual([2, 1]);
  });

  test('is left out where books are small', () => {
    const books = ready();
    const commandAt = (): Command => expect.fail('nothing is to be looked at');
    expect(lookAhead(books.state, commandAt, 3, 900)).toBe(900);
  });

  test('stands a hash that leads to a record of another kind', () => {
    const books = ready();
    for (const handle of ['second', 'third']) books.create(Kind.ledger, { handle }, 0);
    const { state } = books;
    const { row } = state.ledgers[findLedger(state, 'third')]!;
    expect(state.rows.ledgerIndex.get(row)).toBeGreaterThan(state.balances.size);
    state.handles.insert(handleHash(state, 1, Kind.wallet, 'ghost'), row);
    const commands = [intentOf(books, 1, issue('ghost'))];
    expect(lookAtAll(state, commands)).toEqual([1]);
    expect(books.do(commands[0]!)).toMatchObject([{ outcome: { reason: 'core.target-invalid' } }]);
  });
});

describe('looking ahead of applying', () => {
  const hashes = (...wallets: number[]) => ({
    claims: wallets.flatMap((hash) => [actionNumber('issue'), 1, 0, hash]),
    names: null,
    hashes: { luid: 1, handle: 2 },
  });
  const facts = (postings: number[], known: Partial<IntentOutline> = {}): Facts => ({
    ...{ type: EntryType.intent, ledger: 1, kind: Kind.intent, luid: '', handle: '', moment: 1, thread: '' },
    outcome: { moment: 1, steps: ['prepared'], reason: '', detail: '', postings, limits: [] },
    outline: { schema: undefined, claims: [], names: [], hasAccess: false, hashes: null, ...known },
  });
  const steps = (state: State, entries: readonly Facts[]) => {
    const seen: number[] = [];
    for (let from = 0; from < entries.length; from += seen.at(-1)!)
      seen.push(lookAheadOfApply(state, entries, from, 0) - from);
    return seen;
  };

  test('changes nothing, whatever rows and hashes the entries tell', () => {
    const books = ready();
    for (const handle of ['second', 'third']) books.create(Kind.ledger, { handle }, 0);
    const { state } = books;
    const before = stateDigests(state);
    const third = state.ledgers[findLedger(state, 'third')]!.row;
    expect(state.rows.ledgerIndex.get(third)).toBeGreaterThan(state.balances.size);
    const rows = [0, 1, third, state.rows.lines.length, 2 ** 40, -1, 0.5];
    const entries = rows.flatMap((row) => [facts([row, 0, 1, 1]), facts([row, 0, -1, 1], hashes(row >>> 0, 7))]);
    expect(steps(state, entries)).toEqual([14]);
    expect([...stateDigests(state)]).toEqual([...before]);
  });

  test('goes so far that what it came to is still near, one intent however large', () => {
    const { state } = ready();
    const many = (count: number) => Array.from({ length: count }, (_, number) => number);
    expect(
      steps(
        state,
        many(70).map(() => facts([], hashes(1))),
      ),
    ).toEqual([32, 32, 6]);
    const large = facts(many(4000), hashes(...many(1000)));
    expect(steps(state, [large, large, facts([])])).toEqual([1, 1, 1]);
  });

  test('is left out where books are small', () => {
    expect(lookAheadOfApply(ready().state, [facts([]), facts([])], 0)).toBe(2);
  });
});
