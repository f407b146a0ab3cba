/** A sheet says what the data says, however much has come about since it was drawn up. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import type { Claim } from '../../src/core/claims/index.ts';
import { type CreateCommand, commandData } from '../../src/core/command.ts';
import { EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { outlineOf } from '../../src/core/outline.ts';
import { briefOf, drawUp, sheetOf } from '../../src/core/sheet.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { often } from '../support/long.ts';
import { Books } from './books.ts';

const NAMES = ['ana', 'luz', 'eva', 'ana@shop', 'tin'];
const name = fc.constantFrom(...NAMES);
const reference = fc.oneof(
  name,
  name.map((handle) => ({ handle })),
);
const SYMBOLS = ['usd', 'eur', 'usd@shop'];
const symbol = fc.constantFrom(...SYMBOLS);
const amount = fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(2 ** 40, 2 ** 53 - 1));
const metric = fc.constantFrom('minBalance', 'maxBalance', 'dailyAmount', 'dailyCount');
const claim: fc.Arbitrary<Claim> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ action: fc.constant('transfer'), source: reference, target: reference, symbol, amount }),
  },
  { weight: 3, arbitrary: fc.record({ action: fc.constant('issue'), target: reference, symbol, amount }) },
  fc.record({ action: fc.constant('destroy'), source: reference, symbol, amount }),
  fc.record({ action: fc.constant('limit'), wallet: reference, symbol, metric, amount }),
);
const claims = fc.array(claim, { minLength: 1, maxLength: 5 });

/** What others do between an intent's sheet and its turn. */
type Change =
  | { act: 'make' | 'drop' | 'route' | 'unroute'; wallet: string }
  | { act: 'rename'; wallet: string; to: string }
  | { act: 'rename-symbol'; symbol: string; to: string };
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constantFrom('make', 'drop', 'route', 'unroute'), wallet: name }) },
  fc.record({ act: fc.constant('rename'), wallet: name, to: name }),
  fc.record({ act: fc.constant('rename-symbol'), symbol, to: symbol }),
);

function undergo(books: Books, done: Change): void {
  if (done.act === 'rename-symbol') {
    const { symbol: from, to } = done;
    if (findHandle(books.state, 1, Kind.symbol, from) < 0) return;
    books.update(Kind.symbol, from, { handle: to, factor: 100 });
    return;
  }
  const { act, wallet } = done;
  if (act === 'make') books.create(Kind.wallet, { handle: wallet });
  else if (findHandle(books.state, 1, Kind.wallet, wallet) < 0) return;
  else if (act === 'drop') books.drop(Kind.wallet, wallet);
  else if (act === 'rename') books.update(Kind.wallet, wallet, { handle: done.to });
  else {
    const routes = [
      { action: 'credit', target: 'luz', filter: { 'symbol.handle': 'usd', 'intent.schema': 'led' } },
      { action: 'credit', target: 'tin', filter: { amount: { $gt: 20 } } },
      { action: 'accept' },
    ];
    books.update(Kind.wallet, wallet, { handle: wallet, routes: act === 'route' ? routes : [] });
  }
}

const opened = () => Books.open().symbols('usd', 'eur').wallets('ana', 'luz', 'eva', 'tin');

describe('an intent with a sheet', () => {
  test('comes to what it comes to without, whatever happens in between', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.array(claims, { maxLength: 3 }), fc.array(change, { maxLength: 3 })), { maxLength: 8 }),
        (turns) => {
          const [early, late] = [opened(), opened()];
          for (const [number, [intents, changes]] of turns.entries()) {
            const commandsOf = (books: Books) =>
              intents.map((each, at) =>
                books.command(Kind.intent, { handle: `i-${number}-${at}`, schema: 'led', claims: each }, 1, GRANTED),
              );
            const [ahead, plain] = [commandsOf(early), commandsOf(late)];
            for (const command of ahead) sheetOf(early.state, command);
            for (const each of changes) for (const books of [early, late]) undergo(books, each);
            for (const [at, command] of ahead.entries()) expect(early.do(command)).toEqual(late.do(plain[at]!));
          }
          expect(differencesOf(early.state, late.state)).toEqual([]);
        },
      ),
      { numRuns: often(100, 10_000) },
    );
  });

  const about = (...all: Claim[]) => {
    const books = opened();
    // A sheet tells where those names lead that were found lately.
    for (const wallet of NAMES) findHandle(books.state, 1, Kind.wallet, wallet);
    const command = books.command(Kind.intent, { handle: 'i', claims: all }, 1, GRANTED);
    sheetOf(books.state, command);
    return { books, command };
  };
  const outcomeOf = (books: Books, command: CreateCommand) => {
    const [entry] = books.do(command) as [IntentEntry];
    expect(entry.type).toBe(EntryType.intent);
    return entry.outcome;
  };
  const issue = (target: string): Claim => ({ action: 'issue', target, symbol: 'usd', amount: 5 });

  test('does not bring money to a wallet that was dropped meanwhile, nor to the one that has its name now', () => {
    const { books, command } = about(issue('ana'));
    books.drop(Kind.wallet, 'ana');
    books.update(Kind.wallet, 'luz', { handle: 'ana' });
    expect(outcomeOf(books, command).postings[0]).toBe(findHandle(books.state, 1, Kind.wallet, 'ana'));
    const again = about(issue('ana'));
    again.books.drop(Kind.wallet, 'ana');
    expect(outcomeOf(again.books, again.command).reason).toBe('core.target-invalid');
  });

  test('finds a wallet that was made meanwhile, by its own name or the one it stands for', () => {
    const { books, command } = about(issue('new'), issue('eva@new'));
    books.wallets('new', 'eva@new');
    expect(outcomeOf(books, command).steps).toContain('completed');
    expect([books.balance('new'), books.balance('eva@new')]).toEqual([5, 5]);
  });

  test('is as good as ever where a name is given up in another ledger', () => {
    const { books, command } = about(issue('ana'));
    books.create(Kind.ledger, { handle: 'two', access: [{ action: 'any', record: 'any' }] }, 0);
    books.create(Kind.wallet, { handle: 'ana' }, 2);
    const sheet = sheetOf(books.state, command);
    books.drop(Kind.wallet, 'ana', {}, 2);
    expect(sheetOf(books.state, command)).toBe(sheet);
    books.drop(Kind.wallet, 'tin');
    expect(sheetOf(books.state, command)).not.toBe(sheet);
  });

  test('keeps the text of its data alone, and reads it again for who asks', () => {
    const { command } = about(issue('ana'));
    expect(command.value).toBe(null);
    expect(commandData(command)).toEqual({ handle: 'i', claims: [issue('ana')] });
  });

  test('is indexed by it as by its data', () => {
    fc.assert(
      fc.property(claims, fc.array(fc.constant('rule'), { maxLength: 1 }), (all, access) => {
        const { state } = opened();
        const data = { handle: 'i', schema: 'transfer', claims: all, access };
        const said = outlineOf(data);
        const sheet = drawUp(state, 1, briefOf(data));
        const withoutHashes = sheet.claims.map((number, at) => (at % 4 < 2 ? number : 0));
        expect([sheet.schema, sheet.hasAccess, withoutHashes]).toEqual([said.schema, said.hasAccess, said.claims]);
        const hashes = sheet.claims.filter((_, at) => at % 4 >= 2).filter((hash) => hash !== 0);
        expect(hashes).toEqual(said.names!.map((each) => state.names.hash(state.names.place(each)) | 0));
      }),
      { numRuns: often(70, 5_000) },
    );
  });
});
