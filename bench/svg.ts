/**
 * Charts as SVG text: lines over a measure, and bars of parts that add up. Written by hand because that is all that
 * is needed. Background is transparent and every colour is of middle lightness, so that they read on light and dark.
 */
import type { BarChart, LineChart } from './result.ts';

const WIDTH = 720;
/** Where what belongs to no place of its own begins. */
const EDGE = 12;
const FONT = 'font-family="system-ui, -apple-system, Segoe UI, sans-serif"';
const TEXT = '#7d8590';
const GRID = '#7d859040';
const COLOURS = [
  ...[
    '#3b82d6',
    '#d9822b',
    '#2ea06f',
    '#a371d8',
    '#d64b5f',
    '#1f9ea8',
    '#b59a1c',
    '#8a6d5a',
    '#6f7fd0',
    '#c267a5',
    '#6b8f23',
  ],
];

/** The chart, and below it in small letters where its figures come from. */
export function drawChart(chart: LineChart | BarChart, source: string): string {
  return chart.kind === 'lines' ? drawLines(chart, source) : drawBars(chart, source);
}

// ---------------------------------------------------------------- lines

const PLOT = { left: 72, right: 610, top: 48, bottom: 268 };
const LINES_HEIGHT = 338;
const LABEL_GAP = 15;

interface Scale {
  at(value: number): number;
  ticks: number[];
}

function drawLines({ title, x, y, lines, log = false }: LineChart, source: string): string {
  const points = lines.flatMap((line) => line.points);
  const across = linearScale(Math.max(...points.map(([value]) => value)), PLOT.left, PLOT.right);
  const values = points.map(([, value]) => value);
  const up = log ? logScale(values, PLOT.bottom, PLOT.top) : linearScale(Math.max(...values), PLOT.bottom, PLOT.top);
  const parts = [
    ...up.ticks.flatMap((tick) => [
      `<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${round(up.at(tick))}" y2="${round(up.at(tick))}" stroke="${GRID}"/>`,
      text(PLOT.left - 8, up.at(tick) + 4, short(tick), 'end'),
    ]),
    ...across.ticks.map((tick) => text(across.at(tick), PLOT.bottom + 20, short(tick), 'middle')),
    text((PLOT.left + PLOT.right) / 2, PLOT.bottom + 40, x, 'middle'),
    text(EDGE, PLOT.top - 12, y, 'start'),
  ];
  const labelled: number[] = [];
  for (const [index, { name, points: line }] of lines.entries()) {
    const colour = COLOURS[index % COLOURS.length]!;
    const placed = line.map(([left, top]): [number, number] => [across.at(left), up.at(top)]);
    const path = placed.map(([left, top]) => `${round(left)},${round(top)}`).join(' ');
    parts.push(`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    for (const [left, top] of placed) {
      parts.push(`<circle cx="${round(left)}" cy="${round(top)}" r="3" fill="${colour}"/>`);
    }
    const end = placed.at(-1)!;
    // A line is named at its end; where two end together, the later one's name moves on.
    let top = end[1] + 4;
    while (labelled.some((other) => Math.abs(other - top) < LABEL_GAP)) top += LABEL_GAP;
    labelled.push(top);
    parts.push(text(end[0] + 8, top, name, 'start', colour));
  }
  return frame(title, LINES_HEIGHT, parts, source);
}

function linearScale(max: number, from: number, to: number): Scale {
  const step = niceStep((max > 0 ? max : 1) / 5);
  const top = Math.ceil(max / step - 1e-9) * step || step;
  const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return { at: (value) => from + ((to - from) * value) / top, ticks };
}

/** Powers of ten from below the least value to above the greatest. */
function logScale(values: number[], from: number, to: number): Scale {
  const positive = values.filter((value) => value > 0);
  const low = Math.floor(Math.log10(Math.min(...positive)));
  const high = Math.max(low + 1, Math.ceil(Math.log10(Math.max(...positive))));
  const ticks = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
  return { at: (value) => from + ((to - from) * (Math.log10(Math.max(value, 10 ** low)) - low)) / (high - low), ticks };
}

/** 1, 2 or 5 times a power of ten, not below `least`. */
function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999)!;
}

// ---------------------------------------------------------------- bars

const BAR = { left: 150, right: 640, top: 48, height: 26, gap: 14 };
const LEGEND_COLUMNS = 3;
const LEGEND_LINE = 20;

function drawBars({ title, x, bars }: BarChart, source: string): string {
  const sums = bars.map(({ parts }) => parts.reduce((sum, [, value]) => sum + value, 0));
  const longest = Math.max(...sums);
  const names = [...new Set(bars.flatMap((bar) => bar.parts.map(([name]) => name)))];
  const colourOf = (name: string) => COLOURS[names.indexOf(name) % COLOURS.length]!;
  const parts = [text(BAR.left, BAR.top - 8, x, 'start')];
  let top = BAR.top;
  for (const [index, bar] of bars.entries()) {
    let left = BAR.left;
    parts.push(text(left - 10, top + BAR.height / 2 + 4, bar.name, 'end'));
    for (const [name, value] of bar.parts) {
      const width = ((BAR.right - BAR.left) * value) / longest;
      const box = `x="${round(left)}" y="${top}" width="${round(width)}" height="${BAR.height}"`;
      parts.push(`<rect ${box} fill="${colourOf(name)}"><title>${escaped(`${name}: ${short(value)}`)}</title></rect>`);
      left += width;
    }
    parts.push(text(left + 8, top + BAR.height / 2 + 4, short(sums[index]!), 'start'));
    top += BAR.height + BAR.gap;
  }
  const all = bars.flatMap((bar) => bar.parts);
  for (const [index, name] of names.entries()) {
    const left = 30 + (index % LEGEND_COLUMNS) * 225;
    const line = top + 10 + Math.floor(index / LEGEND_COLUMNS) * LEGEND_LINE;
    const values = all.filter(([other]) => other === name).map(([, value]) => short(value));
    parts.push(`<rect x="${left}" y="${line - 10}" width="11" height="11" fill="${colourOf(name)}"/>`);
    parts.push(text(left + 18, line, `${name} ${values.join(', ')}`, 'start'));
  }
  const legendLines = Math.ceil(names.length / LEGEND_COLUMNS);
  return frame(title, top + legendLines * LEGEND_LINE + 34, parts, source);
}

// ---------------------------------------------------------------- pieces

function frame(title: string, height: number, parts: string[], source: string): string {
  const box = `viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}"`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${box} role="img" ${FONT} font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<text x="${EDGE}" y="20" font-size="14" font-weight="600" fill="${TEXT}">${escaped(title)}</text>`,
    ...parts,
    `<text x="${EDGE}" y="${height - 10}" font-size="10" fill="${TEXT}">${escaped(source)}</text>`,
    '</svg>\n',
  ].join('\n');
}

function text(x: number, y: number, value: string, anchor: 'start' | 'middle' | 'end', colour = TEXT): string {
  return `<text x="${round(x)}" y="${round(y)}" text-anchor="${anchor}" fill="${colour}">${escaped(value)}</text>`;
}

/** As few digits as still tell: 12, 1.5, 16k, 5M. */
function short(value: number): string {
  const [factor, unit] = value >= 1e6 ? [1e6, 'M'] : value >= 10_000 ? [1e3, 'k'] : [1, ''];
  const scaled = value / factor;
  return `${Number(scaled.toPrecision(scaled >= 100 ? 4 : 2))}${unit}`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
