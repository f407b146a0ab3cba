import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import type { Claim } from '../../src/core/claims/index.ts';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import { CHANGE, type Entry, EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { findHandle, findLuid } from '../../src/core/finding.ts';
import { stepsDue } from '../../src/core/intents.ts';
import { Kind } from '../../src/core/kinds.ts';
import { OPEN_PART } from '../../src/core/open-intents.ts';
import { readRow } from '../../src/core/records.ts';
import type { OpenIntent, State } from '../../src/core/state.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { CURRENT_FORMAT } from '../../src/storage/journal.ts';
import { often } from '../support/long.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';
import { Books, issue, limit, MIDNIGHT, transfer } from './books.ts';

const MAX = Number.MAX_SAFE_INTEGER;

function fresh(): Books {
  return Books.open().symbols('usd').wallets('a', 'b', 'c');
}

/** An intent that rests at prepared. */
function prepare(books: Books, ...claims: Claim[]): IntentEntry {
  const handle = `manual-${books.entries.length}`;
  const [entry] = books.create(Kind.intent, { handle, claims, config: { commit: 'manual' } }) as Entry[];
  return entry as IntentEntry;
}

/** Adds a proof with this custom to the intent; the entries it made. */
function prove(books: Books, intent: IntentEntry, custom: object): Entry[] {
  return books.addProof(intent, custom) as Entry[];
}

function statusOf({ state }: Books, { luid }: IntentEntry): string {
  return readRow(state, findLuid(state, 1, Kind.intent, luid)).status;
}

function slotOf({ state }: Books, wallet: string): number {
  return state.balances.find(findHandle(state, 1, Kind.wallet, wallet), findHandle(state, 1, Kind.symbol, 'usd'));
}

/** Available, reserved and incoming of a wallet. */
function money(books: Books, wallet: string): number[] {
  const slot = slotOf(books, wallet);
  const { balances } = books.state;
  return slot < 0 ? [0, 0, 0] : [balances.available(slot), balances.reserved(slot), balances.incoming(slot)];
}

/** The same books from their snapshot, which says so many things of each open intent. */
function reloaded({ state }: Books, width: number): Books {
  const { extra, parts } = dumpState(state);
  const bytes = new Map(parts.map((part) => [part.name, bytesOf(part)]));
  const rows: unknown[][] = JSON.parse(Buffer.from(bytes.get(OPEN_PART)!).toString());
  bytes.set(OPEN_PART, Buffer.from(`${JSON.stringify(rows.map((row) => row.slice(0, width)))}\n`));
  return new Books(loadState(entryCodec, extra, bytes, { chunkBytes: 1 << 20 }));
}

describe('a prepared intent', () => {
  test('has its money reserved, and nobody has it yet', () => {
    const books = fresh();
    books.intent(issue('a', 10));
    const held = prepare(books, transfer('a', 'b', 4));
    expect(statusOf(books, held)).toBe('prepared');
    expect([money(books, 'a'), money(books, 'b')]).toEqual([
      [6, 4, 0],
      [0, 0, 4],
    ]);
    expect(books.intent(transfer('a', 'b', 7)).outcome.reason).toBe('core.insufficient-balance');
  });

  test.each([
    [{ action: 'commit' }, 'completed', [6, 0, 0], [4, 0, 0]],
    [{ status: 'committed' }, 'completed', [6, 0, 0], [4, 0, 0]],
    [{ action: 'abort' }, 'rejected', [10, 0, 0], [0, 0, 0]],
    [{ status: 'aborted' }, 'rejected', [10, 0, 0], [0, 0, 0]],
    [{ status: 'completed' }, 'prepared', [6, 4, 0], [0, 0, 4]],
    [{ action: 'abort', status: 'committed' }, 'prepared', [6, 4, 0], [0, 0, 4]],
    [{ action: 'commit', status: 'aborted' }, 'prepared', [6, 4, 0], [0, 0, 4]],
    [{ action: 'commit', status: 'committed' }, 'completed', [6, 0, 0], [4, 0, 0]],
    [{ action: 'commit', status: 'rejected' }, 'prepared', [6, 4, 0], [0, 0, 4]],
    [{ action: 'commit', status: 'on-hold' }, 'prepared', [6, 4, 0], [0, 0, 4]],
    [{ action: 'abort', status: 'rejected' }, 'rejected', [10, 0, 0], [0, 0, 0]],
    [{ status: 'nonsense' }, 'prepared', [6, 4, 0], [0, 0, 4]],
    // What is said of something else is no word to it.
    [{ handle: 'cre_other.0', status: 'committed' }, 'prepared', [6, 4, 0], [0, 0, 4]],
    [{ handle: 'deb_other.0', status: 'aborted' }, 'prepared', [6, 4, 0], [0, 0, 4]],
    [{}, 'prepared', [6, 4, 0], [0, 0, 4]],
  ])('with the proof %j is %s', (custom, status, a, b) => {
    const books = fresh();
    books.intent(issue('a', 10));
    const held = prepare(books, transfer('a', 'b', 4));
    prove(books, held, custom);
    expect([statusOf(books, held), money(books, 'a'), money(books, 'b')]).toEqual([status, a, b]);
  });

  test('is over once: a later command moves nothing', () => {
    const books = fresh();
    books.intent(issue('a', 10));
    const held = prepare(books, transfer('a', 'b', 4));
    prove(books, held, { action: 'commit' });
    expect(prove(books, held, { action: 'abort' }).map((entry) => entry.type)).toEqual([EntryType.proof]);
    expect([statusOf(books, held), money(books, 'a')]).toEqual(['completed', [6, 0, 0]]);
  });

  test('may break no limit when it is committed: what it will bring counts already', () => {
    const books = fresh();
    books.intent(issue('a', 10), limit('b', 'maxBalance', 5));
    const held = prepare(books, transfer('a', 'b', 4));
    expect(books.intent(transfer('a', 'b', 2)).outcome.reason).toBe('core.limit-exceeded');
    expect(books.intent(transfer('a', 'b', 1)).outcome.reason).toBe('');
    prove(books, held, { action: 'commit' });
    expect(money(books, 'b')).toEqual([5, 0, 0]);
  });

  test('may break no limit when it is aborted: what it has set aside counts still', () => {
    const books = fresh();
    books.intent(issue('a', 10), limit('a', 'maxBalance', 10));
    const held = prepare(books, transfer('a', 'b', 4));
    expect(books.intent(issue('a', 1)).outcome.reason).toBe('core.limit-exceeded');
    prove(books, held, { action: 'abort' });
    expect(money(books, 'a')).toEqual([10, 0, 0]);
  });

  test('below zero: no more is to come than can be told exactly, though all of it together could', () => {
    const books = fresh();
    books.intent(limit('b', 'minBalance', -100));
    books.intent(transfer('b', 'c', 100));
    const held = prepare(books, issue('b', MAX));
    expect(money(books, 'b')).toEqual([-100, 0, MAX]);
    // With what is owed they would be MAX.
    expect(prepare(books, issue('b', 100)).outcome.reason).toBe('core.limit-exceeded');
    prove(books, held, { action: 'abort' });
    expect(money(books, 'b')).toEqual([-100, 0, 0]);
  });

  test('below zero: no more is reserved than can be told exactly', () => {
    const books = fresh();
    books.intent(limit('a', 'minBalance', -100), issue('a', MAX));
    const held = prepare(books, transfer('a', 'b', MAX));
    expect(prepare(books, transfer('a', 'c', 1)).outcome.reason).toBe('core.limit-exceeded');
    expect(money(books, 'a')).toEqual([0, MAX, 0]);
    prove(books, held, { action: 'commit' });
    expect(money(books, 'a')).toEqual([0, 0, 0]);
    expect(prepare(books, transfer('a', 'c', 100)).outcome.reason).toBe('');
  });

  test('gives back what it counted towards daily limits when it is aborted, and no more', () => {
    const books = fresh();
    books.intent(issue('a', 100), limit('a', 'dailyCount', 2));
    const held = prepare(books, transfer('a', 'b', 4));
    // A second limit begins to count while the first intent is held.
    books.intent(limit('a', 'dailyAmount', 50));
    books.intent(transfer('a', 'b', 30));
    expect(books.intent(transfer('a', 'b', 1)).outcome.reason).toBe('core.limit-exceeded');
    prove(books, held, { action: 'abort' });
    const slot = slotOf(books, 'a');
    expect(books.state.balances.movedOn(slot, books.moment)).toEqual({ amount: 30, count: 1 });
    expect(books.intent(transfer('a', 'b', 20)).outcome.reason).toBe('');
  });

  test('gives back what it counted to each of its wallets', () => {
    const books = fresh();
    const daily = ['a', 'b', 'c'].flatMap((wallet) => [
      limit(wallet, 'dailyCount', 9),
      limit(wallet, 'dailyAmount', 99),
    ]);
    books.intent(issue('a', 100), ...daily);
    books.intent(transfer('a', 'b', 20), transfer('b', 'c', 10));
    const counted = () =>
      ['a', 'b', 'c'].map((wallet) => books.state.balances.movedOn(slotOf(books, wallet), books.moment));
    const before = counted();
    const held = prepare(books, transfer('a', 'b', 5), transfer('b', 'c', 3), transfer('c', 'a', 2));
    expect(counted()).not.toEqual(before);
    prove(books, held, { action: 'abort' });
    expect(counted()).toEqual(before);
  });

  test.each(['auto', 'manual'])(
    'that waited over midnight (%s) does not make daily limits forget the new day',
    (commit) => {
      const books = fresh();
      books.intent(issue('a', 100), limit('a', 'dailyCount', 2), limit('a', 'dailyAmount', 50));
      const late = books.command(Kind.intent, { handle: 'late', claims: [transfer('a', 'b', 7)], config: { commit } });
      books.moment = MIDNIGHT + 86_400_000;
      books.intent(transfer('a', 'b', 4));
      const [entry] = books.do(late) as Entry[];
      const slot = slotOf(books, 'a');
      expect(books.state.balances.movedOn(slot, books.moment)).toEqual({ amount: 11, count: 2 });
      expect(books.intent(transfer('a', 'b', 1)).outcome.reason).toBe('core.limit-exceeded');
      if (commit === 'auto') return;
      prove(books, entry as IntentEntry, { action: 'abort' });
      expect(books.state.balances.movedOn(slot, books.moment)).toEqual({ amount: 4, count: 1 });
    },
  );

  const AMOUNT = limit('a', 'dailyAmount', 50);
  const COUNT = limit('a', 'dailyCount', 5);
  test.each([
    ['an amount', [], [AMOUNT], { amount: 4, count: 0 }],
    ['a count', [], [COUNT], { amount: 0, count: 1 }],
    ['both, and one of them twice', [], [AMOUNT, COUNT, AMOUNT], { amount: 4, count: 1 }],
    ['one that was there', [AMOUNT], [AMOUNT], { amount: 4, count: 0 }],
    ['a count that was there', [COUNT], [COUNT], { amount: 0, count: 1 }],
    ['one beside another that was there', [AMOUNT], [COUNT], { amount: 4, count: 1 }],
    ['one on a wallet with no daily limit', [limit('a', 'minBalance', 0)], [AMOUNT], { amount: 4, count: 0 }],
  ] as const)('whose daily limits are of its own making counts towards them once: %s', (_what, before, own, moved) => {
    const books = fresh();
    books.intent(issue('a', 100), ...before);
    const held = prepare(books, transfer('a', 'b', 4), ...own);
    prove(books, held, { action: 'commit' });
    expect(books.state.balances.movedOn(slotOf(books, 'a'), books.moment)).toEqual(moved);
    expect(books.state.balances.isLimited(slotOf(books, 'b'))).toBe(false);
  });

  test('counts what it issues towards no daily limit, its own neither', () => {
    const books = fresh();
    const held = prepare(books, issue('a', 4), AMOUNT, COUNT);
    prove(books, held, { action: 'commit' });
    expect(books.state.balances.movedOn(slotOf(books, 'a'), books.moment)).toEqual({ amount: 0, count: 0 });
  });

  test('counts towards its own daily limit on the day it came, whenever it is committed', () => {
    const books = fresh();
    books.intent(issue('a', 100));
    const held = prepare(books, transfer('a', 'b', 4), AMOUNT);
    books.moment = MIDNIGHT + 86_400_000;
    prove(books, held, { action: 'commit' });
    const { balances } = books.state;
    const slot = slotOf(books, 'a');
    expect([balances.movedOn(slot, MIDNIGHT).amount, balances.movedOn(slot, books.moment).amount]).toEqual([4, 0]);
  });

  test('does not count towards a daily limit that another one has set meanwhile, nor did it by the builds before 0.3.0', () => {
    const books = fresh();
    books.intent(issue('a', 100));
    const other = prepare(books, transfer('a', 'b', 3));
    const held = prepare(books, transfer('a', 'b', 4), AMOUNT);
    books.format = SECOND_FORMAT;
    prove(books, held, { action: 'commit' });
    books.format = CURRENT_FORMAT;
    prove(books, other, { action: 'commit' });
    expect(books.state.balances.movedOn(slotOf(books, 'a'), books.moment)).toEqual({ amount: 0, count: 0 });
  });

  test('aborted on another day leaves that day alone', () => {
    const books = fresh();
    books.intent(issue('a', 100), limit('a', 'dailyCount', 5));
    const held = prepare(books, transfer('a', 'b', 4));
    books.moment = MIDNIGHT + 86_400_000;
    books.intent(transfer('a', 'b', 1));
    prove(books, held, { action: 'abort' });
    expect(books.state.balances.movedOn(slotOf(books, 'a'), books.moment).count).toBe(1);
  });

  test('keeps its wallets: where all is reserved, and where something is to come', () => {
    const books = fresh();
    books.intent(issue('a', 10));
    const held = prepare(books, transfer('a', 'b', 10));
    for (const wallet of ['a', 'b']) {
      expect(books.drop(Kind.wallet, wallet)).toMatchObject({ reason: 'record.drop-rejected' });
    }
    prove(books, held, { action: 'abort' });
    expect(books.drop(Kind.wallet, 'b')).toBeInstanceOf(Array);
  });

  test.each<[string, Claim[]]>([
    ['it only limits', [limit('c', 'maxBalance', 1)]],
    ['what comes leaves again', [transfer('a', 'c', 4), transfer('c', 'b', 4)]],
  ])('keeps a wallet of which it sets nothing aside, since %s', (_, claims) => {
    for (const action of ['commit', 'abort']) {
      const books = fresh();
      books.intent(issue('a', 10));
      const held = prepare(books, ...claims);
      // Snapshots of earlier builds did not say so: it is found in the intent's entry.
      for (const each of [books, reloaded(books, 10), reloaded(books, 9)]) {
        expect(each.drop(Kind.wallet, 'c')).toMatchObject({ reason: 'record.drop-rejected' });
      }
      prove(books, held, { action });
      expect(books.drop(Kind.wallet, 'c')).toBeInstanceOf(Array);
    }
  });

  test('sets its limits when it is committed, not before', () => {
    const books = fresh();
    const held = prepare(books, limit('a', 'maxBalance', 1));
    expect(books.intent(issue('a', 5)).outcome.reason).toBe('');
    prove(books, held, { action: 'commit' });
    expect(books.intent(issue('a', 1)).outcome.reason).toBe('core.limit-exceeded');
  });

  test('whose symbol is renamed meanwhile can still be committed', () => {
    const books = fresh();
    const held = prepare(books, issue('a', 5));
    const symbol = readRow(books.state, findHandle(books.state, 1, Kind.symbol, 'usd'));
    const parent = Buffer.from(symbol.entry.hash).toString('hex');
    const update = { ...books.command(Kind.symbol, { handle: 'usd-2', factor: 100, parent }), op: 'update' as const };
    books.do({ ...update, luid: symbol.entry.luid });
    prove(books, held, { action: 'commit' });
    expect([statusOf(books, held), books.balance('a', 'usd-2')]).toEqual(['completed', 5]);
  });

  test('whose symbols have changed names meanwhile, and one a nearer name, can still be committed', () => {
    const books = fresh().symbols('eur');
    const held = prepare(books, issue('a', 5), issue('a', 3, 'eur'), issue('b', 4, 'gold@eur'));
    books.update(Kind.symbol, 'usd', { handle: 'usd-2', factor: 100 });
    books.update(Kind.symbol, 'eur', { handle: 'usd', factor: 100 });
    books.symbols('gold@eur');
    prove(books, held, { action: 'commit' });
    const balances = [books.balance('a', 'usd-2'), books.balance('a', 'usd'), books.balance('b', 'usd')];
    expect([statusOf(books, held), ...balances]).toEqual(['completed', 5, 3, 4]);
  });

  test('counts towards the supply when it is committed', () => {
    const books = fresh();
    const held = prepare(books, issue('a', 5));
    const symbol = findHandle(books.state, 1, Kind.symbol, 'usd');
    expect(books.state.supply.get(symbol) ?? 0n).toBe(0n);
    prove(books, held, { action: 'commit' });
    expect(books.state.supply.get(symbol)).toBe(5n);
  });
});

test('of what waits, nothing is looked at where nothing expires, nor behind the first that is too young', () => {
  const books = Books.open();
  const access = [{ action: { $in: ['access', 'create'] }, record: 'any' }];
  const expiring = { 'intent.expiryThresholdMinutes': 10 };
  for (const [ledger, config] of [{}, expiring, { 'intent.expiryThresholdMinutes': 1000 }].entries()) {
    books.create(Kind.ledger, { handle: `l${ledger}`, config, access }, 0);
    for (const handle of ['a', 'b']) books.create(Kind.wallet, { handle }, ledger + 2);
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, ledger + 2);
    books.create(Kind.intent, { handle: 'seed', claims: [issue('a', 9)] }, ledger + 2, GRANTED);
  }
  for (let minute = 0; minute < 30; minute++, books.moment += 60_000) {
    for (const ledger of [2, 3, 4]) {
      // Nobody who may spend has signed.
      books.create(Kind.intent, { handle: `i${minute}`, claims: [transfer('a', 'b', 1)] }, ledger);
    }
  }
  const { open } = books.state;
  expect([open.size, ...[...open].map(([, { status }]) => status)]).toEqual([90, ...Array(90).fill('pending')]);
  const looks = vi.spyOn(open, 'get');
  const due = [...stepsDue(books.state, books.moment)].map(({ ledger, handle }) => `${ledger} ${handle}`);
  // Thirty, twenty-nine … eleven minutes old.
  expect(due).toEqual(Array.from({ length: 20 }, (_, n) => `3 i${n}`));
  expect(looks.mock.calls.length).toBe(2 * 20 + 1 + 2);
});

test('of ledgers in which something waits, those alone are looked at in which something has changed, or whose time has come', () => {
  const books = Books.open();
  const access = [{ action: { $in: ['access', 'create'] }, record: 'any' }];
  const settings = (n: number, minutes: number) => {
    return { handle: `l${n}`, config: { 'intent.expiryThresholdMinutes': minutes }, access };
  };
  const wait = (n: number) => {
    books.create(Kind.intent, { handle: `i${n}`, claims: [issue('a', 1)] }, n);
    books.moment += 1000;
  };
  for (let n = 2; n < 102; n++) {
    books.create(Kind.ledger, settings(n, 10), 0);
    books.create(Kind.wallet, { handle: 'a' }, n);
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, n);
  }
  for (let n = 2; n < 101; n++) wait(n);
  const { state } = books;
  const looks = vi.spyOn(state.open, 'get');
  /** The ledgers of which something is due, and how often something that waits was looked at. */
  const due = (): [number[], number] => {
    looks.mockClear();
    const steps = [...stepsDue(state, books.moment)];
    const { length } = looks.mock.calls;
    for (const step of steps) books.settle(step);
    return [steps.map(({ ledger }) => ledger), length];
  };
  expect(due()).toEqual([[], 99]);
  expect(due()).toEqual([[], 0]);
  // What comes behind what waits already ends later; where nothing waited, somebody has to look.
  for (const n of [2, 101]) books.create(Kind.intent, { handle: `j${n}`, claims: [issue('a', 1)] }, n);
  expect(due()).toEqual([[], 1]);
  books.update(Kind.ledger, 'l50', settings(50, 1), 0);
  books.update(Kind.ledger, 'l90', settings(90, 9), 0);
  // The first is over by now, and is looked at as it is found, as it comes, and as it ends.
  expect(due()).toEqual([[], 2]);
  books.moment = MIDNIGHT + 48_000 + 60_001;
  expect(due()).toEqual([[50], 3]);
  expect(due()).toEqual([[], 0]);
  books.moment = MIDNIGHT + 600_001;
  expect(due()[0]).toEqual([2]);
  books.moment = MIDNIGHT + 2000 + 600_001;
  expect(due()[0]).toEqual([3, 4]);
});

test('what is due in several ledgers ends in the order it came, after a start from a snapshot too', () => {
  const books = Books.open();
  const access = [{ action: { $in: ['access', 'create'] }, record: 'any' }];
  const config = { 'intent.expiryThresholdMinutes': 10 };
  for (const ledger of [2, 3]) {
    books.create(Kind.ledger, { handle: `l${ledger}`, config, access }, 0);
    for (const handle of ['a', 'b']) books.create(Kind.wallet, { handle }, ledger);
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, ledger);
  }
  const wait = (ledger: number, handle: string) =>
    books.create(Kind.intent, { handle, claims: [transfer('a', 'b', 1)] }, ledger);
  wait(2, 'first');
  books.moment += 6 * 60_000;
  for (const [n, ledger] of [3, 2, 2, 3, 3, 2].entries()) wait(ledger, `i${n}`);
  books.moment += 6 * 60_000;
  const ended = [...stepsDue(books.state, books.moment)];
  expect(ended.map(({ handle }) => handle)).toEqual(['first']);
  // Of its ledger the first that waits is now one that came behind one of the other.
  for (const step of ended) books.settle(step);
  const { extra, parts } = dumpState(books.state);
  const kept = new Map(parts.map((part) => [part.name, bytesOf(part)]));
  const loaded = loadState(entryCodec, extra, kept, { chunkBytes: 1 << 20 });
  for (const state of [books.state, loaded]) {
    const due = [...stepsDue(state, books.moment + 11 * 60_000)].map(({ ledger, handle }) => `${ledger} ${handle}`);
    expect(due).toEqual(['3 i0', '2 i1', '2 i2', '3 i3', '3 i4', '2 i5']);
  }
});

test('each limit of a wallet has the moment at which it was set last', () => {
  const books = fresh();
  const set = (metric: 'minBalance' | 'maxBalance') => {
    books.moment += 1000;
    books.intent(limit('a', metric, 5));
    const [slot, { balances }] = [slotOf(books, 'a'), books.state];
    return [0, 1].map((number) => (balances.limitMoment(slot, number) - MIDNIGHT) / 1000);
  };
  expect(set('minBalance')[0]).toBe(1);
  expect(set('maxBalance')).toEqual([1, 2]);
  expect(set('minBalance')).toEqual([3, 2]);
});

describe('waiting', () => {
  /** Makes a pending intent of `moment`, as one whose permission is missing. */
  function wait(state: State, row: number, moment: number): void {
    const none = { isHolding: false, counted: [], legs: [], bridges: [], thread: '', wallets: [] };
    const open: OpenIntent = { ledger: 1, moment, status: 'pending', ...none };
    state.open.set(row, open);
  }

  test.each([
    [10, 10 * 60_000, 0],
    [10, 10 * 60_000 + 1, 1],
    [undefined, 1e12, 0],
  ])('an intent of a ledger that lets it wait %s minutes, after %s ms: %s expired', (minutes, ms, expired) => {
    const books = Books.open(minutes === undefined ? {} : { 'intent.expiryThresholdMinutes': minutes });
    books.symbols('usd').wallets('a');
    const entry = books.intent(issue('a', 1));
    const row = findLuid(books.state, 1, Kind.intent, entry.luid);
    wait(books.state, row, MIDNIGHT);
    const steps = [...stepsDue(books.state, MIDNIGHT + ms)];
    expect(steps.map(({ outcome }) => [outcome.reason, ...outcome.steps])).toEqual(
      Array.from({ length: expired }, () => ['core.intent-expired', 'failed', 'aborted', 'rejected']),
    );
  });

  test('never ends a prepared intent', () => {
    const books = Books.open({ 'intent.expiryThresholdMinutes': 1 });
    books.symbols('usd').wallets('a');
    const held = prepare(books, issue('a', 1));
    books.moment = MIDNIGHT + 1e12;
    expect([...stepsDue(books.state, books.moment)]).toEqual([]);
    // Nor does the word that it waits for come too late.
    prove(books, held, { action: 'commit' });
    expect(statusOf(books, held)).toBe('completed');
  });
});

describe('random lives with holds', () => {
  const wallet = fc.constantFrom('a', 'b', 'c');
  const amount = fc.integer({ min: 1, max: 40 });
  const claims = fc.array(
    fc.oneof(
      fc.tuple(wallet, amount).map(([a, n]) => issue(a, n)),
      fc.tuple(wallet, wallet, amount).map(([a, b, n]) => transfer(a, b, n)),
    ),
    { minLength: 1, maxLength: 5 },
  );
  const event = fc.record({
    claims,
    isManual: fc.boolean(),
    end: fc.constantFrom('commit', 'abort', 'none'),
    which: fc.nat(),
  });

  test('each reservation is accounted for, and ends with its intent', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 50, size: 'max' }), (events) => {
        const books = fresh();
        const open: IntentEntry[] = [];
        const end = (held: IntentEntry, action: string) => {
          prove(books, held, { action });
          open.splice(open.indexOf(held), 1);
        };
        for (const { claims: wishes, isManual, end: action, which } of events) {
          if (!isManual) books.intent(...wishes);
          else {
            const held = prepare(books, ...wishes);
            if (held.outcome.steps.at(-1) === 'prepared') open.push(held);
          }
          if (action !== 'none' && open.length > 0) end(open[which % open.length]!, action);
          const expected = { reserved: 0, incoming: 0 };
          for (const { outcome } of open) {
            for (let i = 0; i < outcome.postings.length; i += 4) {
              const delta = outcome.postings[i + 2]!;
              if (delta < 0) expected.reserved -= delta;
              else expected.incoming += delta;
            }
          }
          const rows = ['a', 'b', 'c'].map((name) => money(books, name));
          expect(rows.reduce((sum, row) => sum + row[1]!, 0)).toBe(expected.reserved);
          expect(rows.reduce((sum, row) => sum + row[2]!, 0)).toBe(expected.incoming);
          for (const [available] of rows) expect(available).toBeGreaterThanOrEqual(0);
        }
        for (const held of [...open]) end(held, 'abort');
        const rows = ['a', 'b', 'c'].map((name) => money(books, name));
        expect(rows.map((row) => row.slice(1))).toEqual([
          [0, 0],
          [0, 0],
          [0, 0],
        ]);
        const supply = books.state.supply.get(findHandle(books.state, 1, Kind.symbol, 'usd')) ?? 0n;
        expect(BigInt(rows.reduce((sum, row) => sum + row[0]!, 0))).toBe(supply);
        expect(books.state.open.size).toBe(0);
      }),
      { numRuns: often(40, 2000) },
    );
  });
});

describe('an outcome that makes money, or moves what it must not, is applied to no books', () => {
  const spoilt = (spoil: (postings: number[]) => void) => {
    const books = fresh();
    books.intent(issue('a', 100));
    const held = prepare(books, transfer('a', 'b', 10));
    const encode: typeof CURRENT_FORMAT.encode = (entry, buffer) => {
      if ('outcome' in entry) spoil(entry.outcome.postings);
      return CURRENT_FORMAT.encode(entry, buffer);
    };
    books.format = { ...CURRENT_FORMAT, encode };
    return { books, held };
  };

  test.each<[string, (books: Books, held: IntentEntry) => unknown]>([
    ['that ends at once', (books) => books.intent(transfer('a', 'b', 5))],
    ['that is prepared', (books) => prepare(books, transfer('a', 'b', 5))],
    ['that is committed', (books, held) => prove(books, held, { status: 'committed' })],
    ['that is aborted', (books, held) => prove(books, held, { status: 'aborted' })],
  ])('of one %s', (_, act) => {
    const plain = spoilt(() => {});
    expect(act(plain.books, plain.held)).toBeDefined();
    const { books, held } = spoilt((postings) => {
      if (postings.length > 0) postings[CHANGE]! += 1;
    });
    expect(() => act(books, held)).toThrow('add up to what it issues');
  });

  test('of one that fails', () => {
    const { books } = spoilt((postings) => postings.push(1, 1, 5, 0));
    expect(() => books.intent(transfer('b', 'a', 5))).toThrow('moves nothing');
  });
});
