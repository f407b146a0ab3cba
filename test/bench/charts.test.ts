/** A chart that misplaces a point lies more than a table: places and lengths follow the figures, of the newest run. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { drawCharts } from '../../bench/charts.ts';
import { GOALS_PACE } from '../../bench/load/pace.ts';
import type { BenchChart, BenchResult, SavedResult } from '../../bench/result.ts';
import { drawChart } from '../../bench/svg.ts';
import { freshDirectory } from '../support/directory.ts';

const LINES: BenchChart = {
  ...{ kind: 'lines', name: 'n', title: 'a < b & "c"', x: 'x', y: 'y' },
  lines: [
    {
      name: 'one',
      points: [
        [0, 0],
        [50, 500],
        [100, 1000],
      ],
    },
    { name: 'two', points: [[100, 1000]] },
  ],
};

function points(svg: string): [number, number][] {
  return [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [Number(x), Number(y)]);
}

test('points lie where their figures say', () => {
  const [low, middle, high, other] = points(drawChart(LINES, '')) as [number, number][];
  expect(middle![0] * 2).toBeCloseTo(low![0] + high![0], 0);
  expect(middle![1] * 2).toBeCloseTo(low![1] + high![1], 0);
  expect(high![0]).toBeGreaterThan(low![0]);
  expect(high![1]).toBeLessThan(low![1]);
  expect(other).toEqual(high);
});

test('on a scale of powers of ten, ten times is as far as ten times', () => {
  const decades = [1, 10, 100, 1000].map((y, index): [number, number] => [index, y]);
  const [a, b, c, d] = points(drawChart({ ...LINES, log: true, lines: [{ name: 'l', points: decades }] }, ''));
  expect(a![1] - b![1]).toBeCloseTo(b![1] - c![1], 0);
  expect(b![1] - c![1]).toBeCloseTo(c![1] - d![1], 0);
  expect(a![1]).toBeGreaterThan(d![1]);
});

test('two lines that end together are named one below the other, and no text breaks the markup', () => {
  const svg = drawChart(LINES, 'x<y');
  const names = [...svg.matchAll(/y="([\d.]+)"[^>]*>(?:one|two)</g)].map(([, y]) => Number(y));
  expect(Math.abs(names[0]! - names[1]!)).toBeGreaterThan(10);
  expect(svg).toContain('a &lt; b &amp; &quot;c&quot;');
  expect(svg).toContain('x&lt;y');
});

test('the parts of a bar are as long as their figures, one behind the other', () => {
  const bar = (name: string, values: number[]) => ({
    name,
    parts: values.map((value, n): [string, number] => [`p${n}`, value]),
  });
  const bars = [bar('long', [30, 10]), bar('short', [20])];
  const svg = drawChart({ kind: 'bars', name: 'n', title: 't', x: 'µs', bars }, '');
  const boxes = [...svg.matchAll(/<rect x="([\d.]+)" y="(\d+)" width="([\d.]+)" height="26"/g)].map((found) =>
    found.slice(1).map(Number),
  );
  const [first, second, third] = boxes as [number[], number[], number[]];
  expect(first[2]! / second[2]!).toBeCloseTo(3, 1);
  expect(second[0]!).toBeCloseTo(first[0]! + first[2]!, 0);
  expect(third[2]! / first[2]!).toBeCloseTo(2 / 3, 1);
  expect(third[1]!).toBeGreaterThan(first[1]!);
});

test('the workers’ time by the clock, of older results, is not called processor time', () => {
  const directory = freshDirectory();
  const part = (name: string): [string, number] => [name, 1];
  const bars = ['main thread', 'proof workers'].map((name) => ({ name, parts: [part('verify and sign')] }));
  const chart: BenchChart = { kind: 'bars', name: 'n', title: 'Where the processor time goes', x: 'µs', bars };
  const draw = (column: string) => {
    const place = { date: '2030', commit: 'c', cpu: 'CPU', cores: 2, disk: 'disk', node: 'v20', loadBefore: 0 };
    const tables = [{ title: 't', columns: [column], rows: [] }];
    const saved: SavedResult = {
      ...{ place, pace: GOALS_PACE, name: 'x', tables, charts: [chart], goals: [], notes: [], ok: true },
    };
    writeFileSync(join(directory, 'a.json'), JSON.stringify(saved));
    drawCharts(directory);
    return readFileSync(join(directory, 'n.svg'), 'utf8');
  };
  const older = draw('proof workers µs');
  expect(older).toContain('>workers, by the clock<');
  expect(older).not.toContain('processor time');
  expect(draw('proof workers CPU µs')).toContain('>proof workers<');
});

test('of several results of a bench the newest is drawn, and says where it ran', () => {
  const directory = freshDirectory();
  const place = { cpu: 'CPU', cores: 2, disk: 'disk', node: 'v20', loadBefore: 0 };
  for (const [file, date, commit] of [
    ['b.json', '2030-01-02T00:00:00.000Z', 'newer'],
    ['a.json', '2030-01-01T00:00:00.000Z', 'older'],
    ['c.json', '2030-01-01T12:00:00.000Z', 'between'],
  ] as const) {
    const result: BenchResult = { name: 'x', tables: [], charts: [LINES], goals: [], notes: [], ok: true };
    const saved: SavedResult = { place: { ...place, date, commit }, pace: GOALS_PACE, ...result };
    writeFileSync(join(directory, file), JSON.stringify(saved));
  }
  expect(drawCharts(directory)).toEqual([join(directory, 'n.svg')]);
  expect(readFileSync(join(directory, 'n.svg'), 'utf8')).toContain('commit newer');
});
