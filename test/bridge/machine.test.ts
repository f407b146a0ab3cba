/** The two tables that say what may become of an entry, row by row, and what no row may do to the money. */
import { describe, expect, test } from 'vitest';
import { type Command, type Kind, POSTINGS, type State, type Step, stepOf } from '../../src/bridge/machine.ts';

type Row = [state: State | undefined, prepare: Step, commit: Step, abort: Step];

const ROWS: Row[] = [
  [undefined, 'decide', 'refuse', 'abort'],
  ['prepared', 'repeat', 'commit', 'abort'],
  ['failed', 'repeat', 'refuse', 'abort'],
  ['committed', 'repeat', 'repeat', 'refuse'],
  ['aborted', 'repeat', 'refuse', 'repeat'],
];

describe('an entry', () => {
  test.each(ROWS)('that is %s', (state, prepare, commit, abort) => {
    expect([stepOf(state, 'prepare'), stepOf(state, 'commit'), stepOf(state, 'abort')]).toEqual([
      prepare,
      commit,
      abort,
    ]);
  });
});

/** Plays commands on an account of 100 and an entry of 10, as the tables say. */
function play(kind: Kind, ...commands: Command[]): Record<string, number> {
  const money: Record<string, number> = { available: 100, held: 0, incoming: 0, out: 0, in: 0 };
  for (const command of commands) {
    for (const [place, sign] of Object.entries(POSTINGS[kind][command])) money[place]! += sign * 10;
  }
  return money;
}

describe('the money', () => {
  const TABLE: [Kind, Command[], Record<string, number>][] = [
    ['debit', ['prepare'], { available: 90, held: 10, incoming: 0, out: 0, in: 0 }],
    ['debit', ['prepare', 'commit'], { available: 90, held: 0, incoming: 0, out: 10, in: 0 }],
    ['debit', ['prepare', 'abort'], { available: 100, held: 0, incoming: 0, out: 0, in: 0 }],
    ['credit', ['prepare'], { available: 100, held: 0, incoming: 10, out: 0, in: 0 }],
    ['credit', ['prepare', 'commit'], { available: 110, held: 0, incoming: 0, out: 0, in: 10 }],
    ['credit', ['prepare', 'abort'], { available: 100, held: 0, incoming: 0, out: 0, in: 0 }],
  ];
  test.each(TABLE)('of a %s after %s', (kind, commands, expected) => {
    const money = play(kind, ...commands);
    expect(money).toEqual(expected);
    expect(money.available! + money.held! + money.out! - money.in!).toBe(100);
  });
});
