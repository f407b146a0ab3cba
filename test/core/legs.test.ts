/**
 * Every state of an intent with bridges and of its legs × everything that may come: what it moves, and that nothing else
 * moves. And whatever comes in whatever order, money is set aside once, and moved or given back once.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import {
  type Entry,
  EntryType,
  type IntentEntry,
  LEG_STATES,
  type LegState,
  Side,
  type StepEntry,
} from '../../src/core/entry.ts';
import { findLuid } from '../../src/core/finding.ts';
import { stepsDue } from '../../src/core/intents.ts';
import { Kind } from '../../src/core/kinds.ts';
import { legIndex, type Report, reported } from '../../src/core/legs.ts';
import { readRow } from '../../src/core/records.ts';
import { emptyState } from '../../src/core/state.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { heldBytes } from '../support/collect.ts';
import { often } from '../support/long.ts';
import { Books, issue, transfer } from './books.ts';

const REPORTS: readonly Report[] = ['prepared', 'failed', 'committed', 'aborted', 'told'];

test.each(LEG_STATES.flatMap((state) => REPORTS.map((report) => [state, report] as [LegState, Report])))(
  'a leg that is %s and is reported %s',
  (state, report) => {
    const moved: Record<string, LegState> = {
      'preparing prepared': 'prepared',
      'preparing failed': 'failed',
      'committing committed': 'committed',
      'aborting aborted': 'aborted',
      'dismissing aborted': 'aborted',
      'dismissing told': 'aborted',
    };
    expect(reported(state, report)).toBe(moved[`${state} ${report}`] ?? null);
  },
);

test('a wallet whose bridge is gone, in books that rules of earlier builds were kept by, takes no part', () => {
  const books = Books.open().symbols('usd').wallets('a', 'b');
  books.intent(issue('b', 40));
  books.create(Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1' } });
  books.update(Kind.wallet, 'b', { handle: 'b', bridge: 'bank' });
  expect(books.drop(Kind.bridge, 'bank')).toMatchObject({ reason: 'record.drop-rejected' });
  books.dropUnasked(Kind.bridge, 'bank');
  for (const claims of [[transfer('b', 'a', 1)], [issue('a', 5), issue('b', 5)]]) {
    expect(books.intent(...claims).outcome).toMatchObject({
      ...{
        steps: ['failed', 'aborted', 'rejected'],
        reason: 'core.bridge-unreachable',
        detail: 'Bridge bank does not exist any more',
      },
      postings: [],
    });
    expect([books.balance('a'), books.balance('b')]).toEqual([0, 40]);
  }
});

test.each(['cre_other.0', 'deb_luid.0', 'cre_luid.00', 'cre_luid.0e1', 'cre_luid.', '0', '', 'cre_luid.1'])(
  'a handle that is not quite that of a leg is that of none: %s',
  (handle) => {
    const leg = { side: Side.credit, bridge: 1, wallet: 2, symbol: 3, amount: 4, claims: [0] };
    expect([legIndex('int__luid', [leg], handle), legIndex('int__luid', [leg], 'cre_luid.0')]).toEqual([-1, 0]);
  },
);

test.each([['symbol'], ['target'], []])(
  'a leg has one wallet and one symbol, whatever its bank groups by: %s',
  (...by) => {
    const books = Books.open().symbols('usd', 'eur');
    const config = { server: 'http://127.0.0.1:1', 'credits.claims.groupBy': by };
    books.create(Kind.bridge, { handle: 'bank', config });
    for (const handle of ['a', 'b']) books.create(Kind.wallet, { handle, bridge: 'bank' });
    const claims = [issue('a', 1), issue('b', 2), issue('a', 4, 'eur'), issue('a', 8)];
    const { legs } = books.intent(...claims).outcome.links!;
    expect(legs.map(({ amount, claims }) => [amount, claims])).toEqual([
      [9, [0, 3]],
      [2, [1]],
      [4, [2]],
    ]);
  },
);

/** Two banks, one debit and one credit of 40 between them. */
class TwoBanks {
  readonly books = Books.open({ 'intent.expiryThresholdMinutes': 10 }).symbols('usd').wallets('a');
  readonly intent: IntentEntry;
  #made = 0;

  constructor(commit: 'auto' | 'manual' = 'auto') {
    for (const bank of ['one', 'two']) {
      this.books.create(Kind.bridge, { handle: bank, config: { server: 'http://127.0.0.1:1' } });
      this.books.create(Kind.wallet, { handle: `at-${bank}`, bridge: bank });
    }
    this.books.create(Kind.wallet, { handle: 'a' });
    this.books.intent(issue('a', 100));
    this.books.create(Kind.wallet, { handle: 'plain' });
    const seed = this.books.create(Kind.intent, { handle: 's', claims: [issue('plain', 40)] }) as Entry[];
    expect(seed).toHaveLength(1);
    // The bank's wallet gets its money while it has no bridge.
    this.books.update(Kind.wallet, 'at-one', { handle: 'at-one' });
    this.books.intent(transfer('plain', 'at-one', 40));
    this.books.update(Kind.wallet, 'at-one', { handle: 'at-one', bridge: 'one' });
    const value = { handle: 't', claims: [transfer('at-one', 'at-two', 40)], config: { commit } };
    [this.intent] = this.books.create(Kind.intent, value) as [IntentEntry];
  }

  do(event: string): Entry[] {
    const [what, which] = event.split(' ');
    if (what === 'time') {
      this.books.moment += 11 * 60_000;
      return [...stepsDue(this.books.state, this.books.moment)].flatMap((step) => this.books.settle(step));
    }
    if (what === 'told' || what === 'lost') return this.note(what, Number(which));
    const custom: Record<string, unknown> = { n: this.#made++ };
    if (what === 'commit' || what === 'abort') custom.action = what;
    else Object.assign(custom, { handle: this.leg(Number(which)), status: what, reason: 'bridge.no', detail: 'no' });
    return this.prove(custom);
  }

  prove(custom: object): Entry[] {
    return this.books.addProof(this.intent, custom, { caller: GRANTED }) as Entry[];
  }

  note(result: 'told' | 'lost', leg: number, state = this.legs[leg] ?? 'idle'): Entry[] {
    const base = { ledger: 1, kind: Kind.intent, moment: this.books.moment, caller: GRANTED } as const;
    const { luid } = this.intent;
    return this.books.do({ op: 'leg', ...base, luid, leg, state, result, detail: 'gone' }) as Entry[];
  }

  leg(index: number): string {
    return `${index === 0 ? 'deb' : 'cre'}_${this.intent.luid.slice(5)}.${index}`;
  }

  get row(): number {
    return findLuid(this.books.state, 1, Kind.intent, this.intent.luid);
  }

  get status(): string {
    return readRow(this.books.state, this.row).status;
  }

  get legs(): LegState[] {
    return (this.books.state.open.get(this.row)?.legs ?? []).map((state) => LEG_STATES[state]!);
  }

  /** Status, legs, and the money of both banks and what of it is held. */
  get picture(): string {
    const { balances } = this.books.state;
    let held = 0;
    for (let slot = 0; slot < balances.size; slot++) held += balances.reserved(slot) + balances.incoming(slot);
    const money = [this.books.balance('at-one'), this.books.balance('at-two'), held];
    return [this.status, this.legs.join('+') || '-', money.join('/')].join(' ');
  }
}

/** A way to each place an intent may be in, and what it looks like there. */
const PLACES: Record<string, { way: string[]; picture: string; commit?: 'manual' }> = {
  'asks the debit': { way: [], picture: 'pending preparing+idle 0/0/80' },
  'asks the credit': { way: ['prepared 0'], picture: 'pending prepared+preparing 0/0/80' },
  rests: { way: ['prepared 0', 'prepared 1'], picture: 'prepared prepared+prepared 0/0/80', commit: 'manual' },
  commits: { way: ['prepared 0', 'prepared 1'], picture: 'committed committing+committing 0/40/0' },
  'commits the rest': {
    way: ['prepared 0', 'prepared 1', 'committed 0'],
    picture: 'committed committed+committing 0/40/0',
  },
  completed: { way: ['prepared 0', 'prepared 1', 'committed 1', 'committed 0'], picture: 'completed - 0/40/0' },
  'debit failed': { way: ['failed 0'], picture: 'aborted dismissing+idle 40/0/0' },
  'credit failed': { way: ['prepared 0', 'failed 1'], picture: 'aborted aborting+dismissing 40/0/0' },
  'credit failed, debit undone': {
    way: ['prepared 0', 'failed 1', 'aborted 0'],
    picture: 'aborted aborted+dismissing 40/0/0',
  },
  expired: { way: ['prepared 0', 'time'], picture: 'aborted aborting+aborting 40/0/0' },
  rejected: { way: ['failed 0', 'told 0'], picture: 'rejected - 40/0/0' },
};

/** What moves at each place, and to where; everything else leaves the picture as it is. */
const MOVES: Record<string, Record<string, string>> = {
  'asks the debit': {
    'prepared 0': 'pending prepared+preparing 0/0/80',
    'failed 0': 'aborted dismissing+idle 40/0/0',
    time: 'aborted aborting+idle 40/0/0',
  },
  'asks the credit': {
    'prepared 1': 'committed committing+committing 0/40/0',
    'failed 1': 'aborted aborting+dismissing 40/0/0',
    time: 'aborted aborting+aborting 40/0/0',
  },
  rests: {
    commit: 'committed committing+committing 0/40/0',
    abort: 'aborted aborting+aborting 40/0/0',
  },
  commits: {
    'committed 0': 'committed committed+committing 0/40/0',
    'committed 1': 'committed committing+committed 0/40/0',
  },
  'commits the rest': { 'committed 1': 'completed - 0/40/0' },
  completed: {},
  'debit failed': { 'told 0': 'rejected - 40/0/0', 'aborted 0': 'rejected - 40/0/0' },
  'credit failed': {
    'aborted 0': 'aborted aborted+dismissing 40/0/0',
    'aborted 1': 'aborted aborting+aborted 40/0/0',
    'told 1': 'aborted aborting+aborted 40/0/0',
  },
  'credit failed, debit undone': { 'aborted 1': 'rejected - 40/0/0', 'told 1': 'rejected - 40/0/0' },
  expired: { 'aborted 0': 'aborted aborted+aborting 40/0/0', 'aborted 1': 'aborted aborting+aborted 40/0/0' },
  rejected: {},
};

const EVENTS = [
  ...['prepared', 'failed', 'committed', 'aborted', 'told', 'lost'].flatMap((what) => [`${what} 0`, `${what} 1`]),
  'commit',
  'abort',
  'time',
];

describe.each(Object.entries(PLACES))('an intent that %s', (place, { way, picture, commit }) => {
  const there = (): TwoBanks => {
    const banks = new TwoBanks(commit);
    for (const event of way) banks.do(event);
    expect(banks.picture).toBe(picture);
    return banks;
  };
  test.each(EVENTS)('and hears: %s', (event) => {
    const banks = there();
    const after = MOVES[place]![event] ?? picture;
    banks.do(event);
    expect(banks.picture).toBe(after);
    // Said twice is said once.
    banks.do(event);
    expect(banks.picture).toBe(after);
  });
});

test.each(['told', 'lost'] as const)(
  'what became of a call counts in the state alone that it was made in: %s',
  (what) => {
    const banks = new TwoBanks();
    banks.do('failed 0');
    expect([banks.picture, banks.note(what, 0, 'preparing')]).toEqual(['aborted dismissing+idle 40/0/0', []]);
    expect(banks.note(what, 0, 'dismissing')).toHaveLength(1);
  },
);

describe('a proof that speaks of something else', () => {
  const elsewhere = `cre_${'x'.repeat(17)}.0`;
  test.each(['committed', 'aborted'])('moves no prepared intent: %s', (status) => {
    const banks = new TwoBanks('manual');
    for (const event of ['prepared 0', 'prepared 1']) banks.do(event);
    banks.prove({ handle: elsewhere, status });
    expect(banks.picture).toBe('prepared prepared+prepared 0/0/80');
    banks.prove({ status });
    expect(banks.status).toBe(status);
  });

  test('is no consent to an intent that waits for one, and neither is a no', () => {
    const books = Books.open();
    const access = [{ action: { $in: ['access', 'create', 'read', 'issue'] }, record: 'any' }];
    books.create(Kind.ledger, { handle: 'closed', access }, 0);
    const key = new Uint8Array(32).fill(3);
    const own = [{ action: 'spend', signer: { public: Buffer.from(key).toString('base64') } }];
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
    books.create(Kind.wallet, { handle: 'from', access: own }, 2);
    books.create(Kind.wallet, { handle: 'to' }, 2);
    const claims = [issue('from', 5), transfer('from', 'to', 5)];
    const [intent] = books.create(Kind.intent, { handle: 't', claims }, 2) as [IntentEntry];
    const say = (custom: object) => books.addProof(intent, custom, { key });
    for (const status of ['failed', 'aborted', 'rejected']) expect(say({ status })).toHaveLength(1);
    expect(say({ handle: elsewhere, status: 'prepared' })).toHaveLength(1);
    expect(say({ status: 'created' })).toHaveLength(2);
  });
});

describe('a bridge', () => {
  const drop = (books: Books) => books.drop(Kind.bridge, 'two');
  test('stays as long as a wallet or an intent on its way needs it', () => {
    const banks = new TwoBanks();
    expect(drop(banks.books)).toMatchObject({
      reason: 'record.drop-rejected',
      detail: expect.stringContaining('wallet'),
    });
    for (const event of ['prepared 0', 'prepared 1']) banks.do(event);
    banks.books.update(Kind.wallet, 'at-two', { handle: 'at-two' });
    expect(drop(banks.books)).toMatchObject({
      reason: 'record.drop-rejected',
      detail: expect.stringContaining('Intents'),
    });
    for (const event of ['committed 0', 'committed 1']) banks.do(event);
    expect(drop(banks.books)).toHaveLength(1);
  });
});

describe('very many legs', () => {
  test('are reported on without reading all that was reported before', () => {
    let decoded = 0;
    const decode: typeof entryCodec.decode = (...bytes) => {
      decoded++;
      return entryCodec.decode(...bytes);
    };
    const books = new Books(emptyState({ ...entryCodec, decode }, 1, { chunkBytes: 1 << 20 }));
    books.create(Kind.ledger, { handle: 'main', access: [{ action: 'any', record: 'any' }] }, 0);
    const { intent, report } = bulk(books, 300);
    for (let leg = 0; leg < 299; leg++) report(leg, 'prepared');
    const before = decoded;
    report(299, 'prepared');
    expect(statusOf(books, intent)).toBe('committed');
    expect(decoded - before).toBeLessThan(30);
  });

  test('are all reported on, however much was said; who says too much of one at the end is refused', () => {
    const { intent, report } = bulk(Books.open(), 12);
    const pad = 'x'.repeat(600_000);
    for (let leg = 0; leg < 6; leg++) expect(report(leg, 'prepared', { pad })).toHaveLength(2);
    expect(report(6, 'prepared', { pad })).toMatchObject({ reason: 'record.invalid' });
    for (let leg = 6; leg < 12; leg++) expect(report(leg, 'prepared', { pad: 'x'.repeat(3000) })).toBeInstanceOf(Array);
    expect(intent.outcome.links!.legs).toHaveLength(12);
  });
});

/** An intent that credits so many wallets of one bank, each a leg of its own. */
function bulk(books: Books, legs: number) {
  books.symbols('usd').create(Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1' } });
  for (let n = 0; n < legs; n++) books.create(Kind.wallet, { handle: `w${n}`, bridge: 'bank' });
  const claims = Array.from({ length: legs }, (_, n) => issue(`w${n}`, 1));
  const [intent] = books.create(Kind.intent, { handle: 'bulk', claims }) as [IntentEntry];
  const report = (leg: number, status: string, more: object = {}) => {
    const custom = { handle: `cre_${intent.luid.slice(5)}.${leg}`, status, ...more };
    return books.addProof(intent, custom, { caller: GRANTED });
  };
  return { intent, report };
}

const statusOf = ({ state }: Books, { luid }: IntentEntry): string =>
  readRow(state, findLuid(state, 1, Kind.intent, luid)).status;

test('what is kept of the words of a report keeps nothing of what they were cut out of', () => {
  const empty = heldBytes();
  const steps = Array.from({ length: 10 }, () => {
    const banks = new TwoBanks();
    const detail = 'x'.repeat(500_000);
    return banks.prove({ handle: banks.leg(0), status: 'failed', reason: detail, detail })[1] as StepEntry;
  });
  expect(heldBytes() - empty).toBeLessThan(10 * 250_000);
  for (const { outcome } of steps) expect([outcome.detail.length, outcome.links!.failId.length]).toEqual([1000, 1000]);
});

test('words that are cut in the middle of a letter are in memory what they are in the books', () => {
  const banks = new TwoBanks();
  const detail = `${'x'.repeat(999)}\u{1F600}`;
  const step = banks.prove({ handle: banks.leg(0), status: 'failed', detail }).at(-1) as StepEntry;
  const bytes = banks.books.entries.at(-1)!;
  const written = entryCodec.decode(bytes, 0, bytes.length) as StepEntry;
  expect([step, written].map(({ outcome }) => outcome.detail)).toEqual(Array(2).fill(`${'x'.repeat(999)}\ufffd`));
});

test('an unreachable bridge is told of in a proof, and the intent stays where it is', () => {
  const banks = new TwoBanks();
  const [step] = banks.note('lost', 0);
  expect(step).toMatchObject({
    type: EntryType.step,
    outcome: { steps: ['error'], reason: 'core.bridge-unreachable' },
  });
  expect(banks.picture).toBe('pending preparing+idle 0/0/80');
  banks.do('prepared 0');
  expect(banks.picture).toBe('pending prepared+preparing 0/0/80');
});

test('whatever comes in whatever order, value is neither made nor lost, and nothing is held at the end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...EVENTS), { maxLength: 40, size: 'max' }),
      fc.boolean(),
      (events, isManual) => {
        const banks = new TwoBanks(isManual ? 'manual' : 'auto');
        const passed: string[] = [];
        for (const event of events) {
          for (const entry of banks.do(event)) if (entry.type === EntryType.step) passed.push(...entry.outcome.steps);
          const [, , money] = banks.picture.split(' ');
          const [one, two, held] = money!.split('/').map(Number) as [number, number, number];
          // What is set aside leaves one wallet and is expected in the other: it counts twice.
          expect(one + two + held / 2).toBe(40);
        }
        expect(new Set(passed.filter((step) => step !== 'error')).size).toBe(
          passed.filter((step) => step !== 'error').length,
        );
        const isOver = banks.status === 'completed' || banks.status === 'rejected';
        if (isOver) expect(banks.picture).toMatch(/ - (0\/40|40\/0)\/0$/);
        expect(banks.status === 'completed' || banks.status === 'committed').toBe(passed.includes('committed'));
      },
    ),
    { numRuns: often(30, 2000) },
  );
});
