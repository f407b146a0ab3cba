/** A slow machine must not make a rate look worse than it is, nor a fast one better: figures are scaled the right way round. */
import { expect, test } from 'vitest';
import { GOALS_PACE, type Pace, quickerPace } from '../../bench/load/pace.ts';
import { atLeast, atMost, type BenchGoal, formatGoals } from '../../bench/result.ts';

/** Twice as slow on one core, four times with all at it. */
const SLOW: Pace = {
  one: { verifyUs: 74, allUs: 2 * GOALS_PACE.one.allUs },
  all: { verifyUs: 166, allUs: 4 * GOALS_PACE.all.allUs },
};

test.each<[string, BenchGoal, string]>([
  ['a rate on one core counts twice', atLeast('P', 'a second', 60, 100, 'one'), 'missed  120 met'],
  ['a rate on all cores counts four times', atLeast('P', 'a second', 20, 100, 'all'), 'missed  80 missed'],
  ['a time on all cores counts a quarter', atMost('P', 'µs', 200, 100, 'all'), 'missed  50 met'],
  ['a ratio stays what it is', atLeast('P', 'of the first', 0.8, 0.9), '0.800     missed'],
])('%s', (_, goal, expected) => {
  const result = { name: 'x', tables: [], goals: [goal], notes: [], ok: true, pace: SLOW };
  expect(formatGoals([result]).split('\n').at(-1)).toContain(expected);
});

test('a moment in which others had the machine makes no figure better', () => {
  for (const [before, after] of [
    [SLOW, GOALS_PACE],
    [GOALS_PACE, SLOW],
  ] as const) {
    expect(quickerPace(before, after)).toEqual(GOALS_PACE);
  }
  expect(quickerPace({ ...SLOW, one: GOALS_PACE.one }, { ...SLOW, all: GOALS_PACE.all })).toEqual(GOALS_PACE);
});

test('what was not measured is no goal met', () => {
  const goals = [atMost('P', 'ms p99 until a refusal', Number.NaN, 20)];
  const told = formatGoals([{ name: 'x', tables: [], goals, notes: [], ok: true, pace: SLOW }]);
  expect(told.split('\n').at(-1)).toContain('–         missed');
});
