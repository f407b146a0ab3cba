/**
 * `npm run bench -- charts`: draws the charts of the saved results, for each bench those of the newest. The README
 * shows the files, so their names stay.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SavedResult } from './result.ts';
import { drawChart } from './svg.ts';

/** Draws into the directory the results lie in; answers the files. */
export function drawCharts(directory: string): string[] {
  const drawn: string[] = [];
  for (const { place, charts = [] } of newestResults(directory)) {
    const { date, commit, cpu, cores, disk, node, settings = [] } = place;
    const ran = `${date.slice(0, 10)} · commit ${commit} · ${cpu}, ${cores} cores · ${disk} · node ${node}`;
    const source = [ran, ...settings].join(' · ');
    for (const chart of charts) {
      const file = join(directory, `${chart.name}.svg`);
      writeFileSync(file, drawChart(chart, source));
      drawn.push(file);
    }
  }
  return drawn;
}

function newestResults(directory: string): SavedResult[] {
  const newest = new Map<string, SavedResult>();
  const files = existsSync(directory) ? readdirSync(directory).filter((file) => file.endsWith('.json')) : [];
  for (const file of files) {
    const result = JSON.parse(readFileSync(join(directory, file), 'utf8')) as SavedResult;
    const known = newest.get(result.name);
    if (known === undefined || known.place.date < result.place.date) newest.set(result.name, result);
  }
  return [...newest.values()];
}
