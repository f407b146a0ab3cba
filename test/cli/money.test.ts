/**
 * The money that an audit adds up apart from the core, held against what a state says: each way in which a state may be
 * wrong about it is told. Honest books of every sort are audited elsewhere; here the core is the one that errs.
 */
import { describe, expect, test } from 'vitest';
import { Money } from '../../src/cli/audit/money.ts';
import { type Entry, EntryType, type IntentStatus } from '../../src/core/entry.ts';
import type { State } from '../../src/core/state.ts';

const [USD, EUR] = [0, 1];
const [ANA, LUZ, EVE] = [2, 3, 4];

type Posting = [wallet: number, symbol: number, change: number];

const outcomeOf = (steps: IntentStatus[], postings: Posting[] = [], through?: number[]) => ({
  steps,
  postings: postings.flatMap((one) => [...one, 0]),
  ...(through !== undefined && { links: { through } }),
});

/** Entries of so many records, and then of intents, which have the rows from there on. */
class Told {
  readonly money = new Money();
  #rows = 0;

  constructor() {
    for (let row = 0; row < 5; row++) this.#add({ type: EntryType.create });
  }

  intent(...outcome: Parameters<typeof outcomeOf>): number {
    this.#add({ type: EntryType.intent, outcome: outcomeOf(...outcome) });
    return this.#rows - 1;
  }

  step(row: number, ...outcome: Parameters<typeof outcomeOf>): void {
    this.money.add({ type: EntryType.step, row, outcome: outcomeOf(...outcome) } as unknown as Entry);
  }

  /** What somebody says beside makes no row. */
  other(): void {
    for (const type of [EntryType.update, EntryType.drop, EntryType.proof, EntryType.token])
      this.money.add({ type } as unknown as Entry);
  }

  #add(entry: object): void {
    this.money.add(entry as unknown as Entry);
    this.#rows++;
  }

  /** Of a wallet: available, reserved, incoming. */
  of(wallet: number): number[] {
    const account = this.money.bySymbol.get(USD)?.get(wallet);
    return account === undefined ? [] : [account.available, account.reserved, account.incoming].map(Number);
  }
}

interface Row {
  wallet: number;
  symbol: number;
  available: number;
  reserved: number;
  incoming: number;
}

/** As much of a state as is asked, which knows no names of its records. */
function stateOf(rows: Row[], supply: [symbol: number, supply: bigint][]): State {
  const column = (name: keyof Row) => (slot: number) => rows[slot]![name];
  const columns = ['wallet', 'symbol', 'available', 'reserved', 'incoming'] as const;
  const balances = { size: rows.length, ...Object.fromEntries(columns.map((name) => [name, column(name)])) };
  return { balances, supply: new Map(supply) } as unknown as State;
}

const ISSUED: Posting[] = [[ANA, USD, 500]];
const PAID: Posting[] = [
  [ANA, USD, -20],
  [LUZ, USD, 20],
];

describe('postings', () => {
  test('that are committed at once move, each is counted, and what comes from nowhere is the supply', () => {
    const told = new Told();
    told.intent(['prepared', 'committed', 'completed'], ISSUED);
    told.intent(['prepared', 'committed', 'completed'], PAID);
    told.other();
    expect([told.of(ANA), told.of(LUZ), told.money.postings, told.money.accounts]).toEqual([
      [480, 0, 0],
      [20, 0, 0],
      3,
      2,
    ]);
    expect(told.money.differenceTo(stateOf(ROWS, [[USD, 500n]]))).toBeNull();
  });

  test('that are set aside leave what is available, are expected where they go, and move or come back at the end', () => {
    for (const [end, ana, luz] of [
      ['committed', [480, 0, 0], [20, 0, 0]],
      ['aborted', [500, 0, 0], [0, 0, 0]],
    ] as const) {
      const told = new Told();
      told.intent(['prepared', 'committed', 'completed'], ISSUED);
      const intent = told.intent(['prepared'], PAID);
      told.other();
      expect([told.of(ANA), told.of(LUZ)]).toEqual([
        [480, 20, 0],
        [0, 0, 20],
      ]);
      told.step(intent, end === 'committed' ? ['committed', 'completed'] : ['failed', 'aborted', 'rejected'], PAID);
      expect([told.of(ANA), told.of(LUZ)]).toEqual([ana, luz]);
      // Once it has ended it holds nothing that could come back.
      told.step(intent, ['aborted'], PAID);
      expect([told.of(ANA), told.of(LUZ)]).toEqual([ana, luz]);
    }
  });

  test('that are set aside stay so while their intent goes on waiting, down to the smallest amount', () => {
    const least: Posting[] = [
      [ANA, USD, -1],
      [LUZ, USD, 1],
    ];
    const told = new Told();
    told.intent(['prepared', 'committed', 'completed'], ISSUED);
    const intent = told.intent(['prepared'], least);
    told.step(intent, []);
    const held = [
      { wallet: ANA, symbol: USD, available: 499, reserved: 1, incoming: 0 },
      { wallet: LUZ, symbol: USD, available: 0, reserved: 0, incoming: 1 },
    ];
    expect(told.money.differenceTo(stateOf(held, [[USD, 500n]]))).toBeNull();
    told.step(intent, ['committed', 'completed'], least);
    expect([told.of(ANA), told.of(LUZ)]).toEqual([
      [499, 0, 0],
      [1, 0, 0],
    ]);
  });

  test('of an issue that is only set aside are no supply yet', () => {
    const told = new Told();
    told.intent(['prepared'], ISSUED);
    const held = { wallet: ANA, symbol: USD, available: 0, reserved: 0, incoming: 500 };
    expect(told.money.differenceTo(stateOf([held], []))).toBeNull();
  });

  test('of what fails before anything is set aside move nothing', () => {
    const told = new Told();
    told.intent(['failed', 'aborted', 'rejected'], PAID);
    expect([told.of(ANA), told.of(LUZ)]).toEqual([
      [0, 0, 0],
      [0, 0, 0],
    ]);
    const waiting = told.intent([]);
    told.step(waiting, ['failed', 'aborted', 'rejected'], PAID);
    expect(told.of(ANA)).toEqual([0, 0, 0]);
  });

  test('of money that comes with its thread and goes on are expected no more where it passes, and never reserved', () => {
    const on: Posting[] = [
      [EVE, USD, 20],
      [LUZ, USD, -20],
    ];
    for (const isDone of [true, false]) {
      const told = new Told();
      told.intent(['prepared', 'committed', 'completed'], ISSUED);
      const [first, second] = [told.intent(['prepared'], PAID), told.intent(['prepared'], on, [1, 20])];
      expect([ANA, LUZ, EVE].map((wallet) => told.of(wallet))).toEqual([
        [480, 20, 0],
        [0, 0, 0],
        [0, 0, 20],
      ]);
      const steps: IntentStatus[] = isDone ? ['committed', 'completed'] : ['aborted', 'rejected'];
      told.step(first, steps, PAID);
      told.step(second, steps, on, [1, 20]);
      expect([ANA, LUZ, EVE].map((wallet) => told.of(wallet))).toEqual([
        [isDone ? 480 : 500, 0, 0],
        [0, 0, 0],
        [isDone ? 20 : 0, 0, 0],
      ]);
    }
  });

  test('of money that goes on at once, with its thread, were never expected', () => {
    const told = new Told();
    told.intent(['prepared', 'committed', 'completed'], ISSUED);
    told.intent(['prepared', 'committed', 'completed'], PAID);
    told.intent(
      ['prepared', 'committed', 'completed'],
      [
        [LUZ, USD, -20],
        [EVE, USD, 20],
      ],
      [0, 20],
    );
    expect([LUZ, EVE].map((wallet) => told.of(wallet))).toEqual([
      [0, 0, 0],
      [20, 0, 0],
    ]);
  });

  test('of which a part comes with its thread set aside the rest', () => {
    const told = new Told();
    told.intent(['prepared', 'committed', 'completed'], [[LUZ, USD, 5]]);
    const first = told.intent(['prepared'], PAID);
    const more: Posting[] = [[LUZ, USD, -25]];
    const second = told.intent(['prepared'], more, [0, 20]);
    expect(told.of(LUZ)).toEqual([0, 5, 0]);
    told.step(first, ['committed'], PAID);
    told.step(second, ['committed'], more, [0, 20]);
    expect(told.of(LUZ)).toEqual([0, 0, 0]);
  });
});

const ROWS: Row[] = [
  { wallet: ANA, symbol: USD, available: 480, reserved: 0, incoming: 0 },
  { wallet: LUZ, symbol: USD, available: 20, reserved: 0, incoming: 0 },
];

describe('a state', () => {
  const money = () => {
    const told = new Told();
    told.intent(['prepared', 'committed', 'completed'], ISSUED);
    told.intent(['prepared', 'committed', 'completed'], PAID);
    return told.money;
  };
  const withLuz = (more: Partial<Row>) => [ROWS[0]!, { ...ROWS[1]!, ...more }];
  const unmoved: Row = { wallet: EVE, symbol: EUR, available: 0, reserved: 0, incoming: 0 };

  test('may have limits, and balances by them, of what never moved', () => {
    expect(
      money().differenceTo(
        stateOf(
          [...ROWS, unmoved],
          [
            [USD, 500n],
            [EUR, 0n],
          ],
        ),
      ),
    ).toBeNull();
    expect(new Money().differenceTo(stateOf([], []))).toBeNull();
  });

  test.each<[string, Row[], [number, bigint][]]>([
    [
      'wallet row 3 in row 0 has 21 available, and its postings add up to 20',
      withLuz({ available: 21 }),
      [[USD, 500n]],
    ],
    ['has 1 reserved, and its postings add up to 0', withLuz({ reserved: 1 }), [[USD, 500n]]],
    ['has 1 incoming, and its postings add up to 0', withLuz({ incoming: 1 }), [[USD, 500n]]],
    ['has NaN incoming, and its postings add up to 0', withLuz({ incoming: Number.NaN }), [[USD, 500n]]],
    ['has 20.5 available, and its postings add up to 20', withLuz({ available: 20.5 }), [[USD, 500n]]],
    ['has 1 incoming, and its postings add up to 0', [...ROWS, { ...unmoved, incoming: 1 }], [[USD, 500n]]],
    ['2 balances were moved, and 1 of them are there', ROWS.slice(1), [[USD, 500n]]],
    ['of row 0 wallets hold 500, 500 were issued, and its supply is given as 499', ROWS, [[USD, 499n]]],
    ['of row 0 wallets hold 500, 500 were issued, and its supply is given as 0', ROWS, []],
    [
      'of row 1 nothing was issued, not 1',
      ROWS,
      [
        [USD, 500n],
        [EUR, 1n],
      ],
    ],
  ])('that errs is told: %s', (said, rows, supply) => {
    expect(money().differenceTo(stateOf(rows, supply))).toContain(said);
  });
});
