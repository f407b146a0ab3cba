/**
 * `npm run bench -- charts`: draws the charts of the saved results, for each bench those of the newest. The README
 * shows the files, so their names stay.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BenchChart, SavedResult } from './result.ts';
import { drawChart } from './svg.ts';

const NAMES_BY_THE_CLOCK: Record<string, string> = {
  'proof workers': 'workers, by the clock',
  'other threads': 'others, at least',
};

/** Draws into the directory the results lie in; answers the files. */
export function drawCharts(directory: string): string[] {
  const drawn: string[] = [];
  for (const result of newestResults(directory)) {
    const { place } = result;
    const { date, commit, cpu, cores, disk, node, settings = [] } = place;
    const ran = `${date.slice(0, 10)} · commit ${commit} · ${cpu}, ${cores} cores · ${disk} · node ${node}`;
    const source = [ran, ...settings].join(' · ');
    for (const chart of chartsOf(result)) {
      const file = join(directory, `${chart.name}.svg`);
      writeFileSync(file, drawChart(chart, source));
      drawn.push(file);
    }
  }
  return drawn;
}

/**
 * Until the workers' processor time was read, their time by the clock stood in its place, and what was left of all processor
 * time in that of other threads: they are called that.
 */
function chartsOf({ tables, charts = [] }: SavedResult): BenchChart[] {
  if (!tables.some(({ columns }) => columns.includes('proof workers µs'))) return charts;
  return charts.map((chart) => {
    if (chart.kind === 'lines') return chart;
    const bars = chart.bars.map(({ name, parts }) => ({ name: NAMES_BY_THE_CLOCK[name] ?? name, parts }));
    return { ...chart, title: chart.title.replace('processor time', 'time'), bars };
  });
}

/** Of each bench its newest result. */
export function newestResults(directory: string): SavedResult[] {
  const newest = new Map<string, SavedResult>();
  const files = existsSync(directory) ? readdirSync(directory).filter((file) => file.endsWith('.json')) : [];
  for (const file of files) {
    const result = JSON.parse(readFileSync(join(directory, file), 'utf8')) as SavedResult;
    const known = newest.get(result.name);
    if (known === undefined || known.place.date < result.place.date) newest.set(result.name, result);
  }
  return [...newest.values()];
}
