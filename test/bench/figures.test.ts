/**
 * Every figure of the README's chapter of measurements is that of a file in bench/results, or stands here as one that no
 * file has: of other runs, other hours, or a setting. Who measures anew finds here what the page has to say.
 */
import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import { drawCharts, newestResults } from '../../bench/charts.ts';
import { slownessOf } from '../../bench/load/pace.ts';
import { resultsDirectory } from '../../bench/load/root.ts';
import type { SavedResult } from '../../bench/result.ts';
import { freshDirectory } from '../support/directory.ts';
import { readPages } from '../support/pages.ts';

/** A figure of a file, shown with as many places as the page likes; or words, of which no file has the figure. */
type Figure = number | string;

const results = new Map(newestResults(resultsDirectory()).map((result) => [result.name, result]));

function resultOf(bench: string): SavedResult {
  const result = results.get(bench);
  if (result === undefined) throw new Error(`no result of ${bench}`);
  return result;
}

/** The row of a table that begins with this, as figures by the names of its columns; of two that are called alike the first. */
function row(bench: string, table: number, begins: string | number) {
  const { columns, rows } = resultOf(bench).tables[table]!;
  const found = rows.find(([first]) => (typeof begins === 'number' ? first === begins : `${first}`.startsWith(begins)));
  if (found === undefined) throw new Error(`${bench} has no row ${begins}`);
  return (column: string | number) => {
    const value = found[typeof column === 'number' ? column : columns.indexOf(column)];
    if (typeof value !== 'number') throw new Error(`${bench}, ${begins}: no figure in ${column}`);
    return value;
  };
}

function goal(bench: string, units: string): { wanted: number; measured: number } {
  const found = resultOf(bench).goals.find((each) => each.units.includes(units));
  if (found === undefined) throw new Error(`${bench} has no goal ${units}`);
  return found;
}

const about = (value: number, to: number) => Math.round(value / to) * to;
const slowness = (bench: string) => slownessOf(resultOf(bench).pace);

const http = (load: string) => row('http', 0, load);
const stages = (load: string) => row('http', 1, load);
const ACCEPTED = 'accepted/s';
const CPU = 'server CPU µs/intent';
const MAIN = 'main thread CPU µs';
const single = http('1 claim, 64');
const fifty = http('50 claims');
/** The lone clients' syncs: what their goals leave beyond. */
const sync = (whose: string) => goal('http', whose).wanted - 0.3;
const room = (name: string) => {
  const found = resultOf('http').tables[2]!.rows.find(([, each]) => each === name)?.[2];
  return typeof found === 'number' ? found : Number.NaN;
};
const ROOMS = ['sockets', 'node', 'http', 'proof', 'core'];
const mainSum = resultOf('http').tables[2]!.rows.reduce(
  (sum, [thread, , value]) => (thread === 'main thread' ? sum + (value as number) : sum),
  0,
);

function scheduled(rate: number): Figure[] {
  const of = http(`1 claim, ${rate}/s`);
  return [`${rate}`, of('p50 ms'), of('p99 ms'), of(ACCEPTED), of(ACCEPTED), of(CPU)];
}

const [most] = [http('1 claim, 22000/s')];
const alone = http('1 claim, one client of one key');
const aloneOfMany = http('1 claim, one client of a thousand');
const ofMany = http('1 claim, 1000 new ledgers');
const engineOne = row('engine', 0, 1);
const engineFifty = row('engine', 0, 50);
const fromJournal = row('recovery', 0, 'journal');
const fromSnapshot = row('recovery', 0, 'snapshot');
const empty = row('growth', 1, 0);
const grown = row('growth', 1, 5_000_000);
/** Columns of growth's second table, several of which are called alike. */
const G = { rate: 1, p99: 2, cpu: 3, p50On: 6, p99On: 7, p999On: 8, late: 9, max: 10, took: 11, p99Of: 12, p999Of: 13 };
const [LATE_OF, MAX_OF] = [14, 15];
const both = (...columns: number[]) => [empty, grown].flatMap((of) => columns.map((column) => of(column)));
const read = (what: string) => {
  const of = row('read', 0, what);
  return [of('answers/s'), of('p50 ms'), of('p99 ms'), of('server CPU µs')];
};
const access = (rule: string) => row('access', 0, rule)('ns');
const full = resultOf('access').tables[0]!.rows.flatMap(([rule, ns]) =>
  `${rule}`.startsWith('full') ? [Number(ns)] : [],
);
const closed = resultOf('overload').tables[0]!.rows as number[][];
const closedFigures = (index: number) => [2, 3, 6].map((column) => closed[index]![column]!);
const [floodHalf, floodTwice] = resultOf('overload').tables[1]!.rows as [number[], number[]];
const floodFigures = (flood: number[]) => [2, 3, 4].map((column) => flood[column]!);
const [, , besideHalf, sameTwice, besideTwice] = resultOf('overload').tables[2]!.rows as number[][];
const sustainable = Math.max(closed[0]![2]!, closed[3]![2]!);
const onePace = [...results.keys()].map((bench) => slowness(bench).one);
const allPace = [...results.keys()].map((bench) => slowness(bench).all);

/** The tables by how they begin: figures of their heads and rows, one after the other. */
const TABLES: Record<string, Figure[][]> = {
  '| over HTTP, signed': [
    [],
    [
      ...['64', single('p50 ms'), single('p99 ms'), single(ACCEPTED), single(ACCEPTED), single(CPU)],
      ...[stages('1 claim, 64')(MAIN), stages('1 claim, 64')('proof workers CPU µs')],
    ],
    ...[4500, 9000, 13500, 16500, 18500].map(scheduled),
    [
      ...['22 000', most(ACCEPTED) / 22000, most('p50 ms'), most('p99 ms')],
      ...[most(ACCEPTED), most(ACCEPTED), most(CPU)],
    ],
    ['50', '64', fifty('p50 ms'), fifty('p99 ms'), fifty(ACCEPTED), fifty('transfers/s'), fifty(CPU)],
    [alone('p50 ms'), alone('p99 ms'), sync('of one key'), alone(ACCEPTED), alone(ACCEPTED), alone(CPU)],
    [
      ...[aloneOfMany('p50 ms'), aloneOfMany('p99 ms'), sync('of a thousand keys')],
      ...[aloneOfMany(ACCEPTED), aloneOfMany(ACCEPTED), aloneOfMany(CPU)],
    ],
    [
      ...['1 000', '20', '64', ofMany('p50 ms'), ofMany('p99 ms')],
      ...[ofMany(ACCEPTED), ofMany(ACCEPTED), ofMany(CPU)],
    ],
  ],
  '| the engine alone': [
    [],
    [engineOne('CPU µs/intent'), engineOne('intents/s a core'), '112 000', '149 000'],
    ['50', engineFifty('transfers/s a core'), '871 000', '969 000'],
    [fromJournal('intents/s'), '232 000', '253 000', '170 000'],
    [fromSnapshot('intents/s'), '677 000', '1 057 000', '388 000'],
  ],
  '| growth from': [
    ['0', '5 000 000', '1 000 000', '5 000 000'],
    ['1', goal('growth', 'engine’s throughput').measured],
    both(G.rate, G.cpu, G.p99),
    [goal('growth', 'bytes an intent').measured],
    both(G.p50On, G.p99On, G.p999On),
    both(G.late, G.max),
    both(G.p99Of, G.p999Of),
    both(LATE_OF, MAX_OF),
    both(G.took),
  ],
  '| reads over': [
    ['1 000 000', '200 000', '64'],
    read('intent, few'),
    read('intent, any'),
    read('wallet, any'),
    read('balances, few'),
    read('balances, any'),
    ['20', ...read('list: newest 20')],
    ['45 000', ...read('list: page 45000')],
    read('list: a wallet’s intents'),
    read('list: by schema'),
    read('list: by status'),
    read('list: the hundred oldest'),
  ],
  '| one access decision': [
    [],
    [access('open ledger'), access('one signer rule on'), access('one circle rule on')],
    ['10 000', '1 000', '100', Math.min(...full), Math.max(...full)],
  ],
  '| overload': [
    ['300'],
    ['64', ...closedFigures(0)],
    ['512', closed[1]![2]! / sustainable, ...closedFigures(1)],
    ['64', goal('overload', 'over many wallets').measured, ...closedFigures(2)],
    ['64', ...closedFigures(3)],
    ['500', besideHalf![3]!, besideHalf![4]!, ...floodFigures(floodHalf)],
    [
      ...[goal('overload', 'under twice of it').measured, besideTwice![3]!, besideTwice![4]!],
      ...floodFigures(floodTwice),
    ],
  ],
  '| goal': [
    [],
    [
      ...['250 000', about(engineOne('intents/s a core'), 1000)],
      about(engineOne('intents/s a core') * slowness('engine').one, 1000),
    ],
    [
      ...['1 000 000', about(engineFifty('transfers/s a core'), 1000)],
      about(engineFifty('transfers/s a core') * slowness('engine').one, 1000),
    ],
    ['60 000', about(read('intent, any')[0]!, 100), about(read('balances, any')[0]!, 100)],
    ['0.90', goal('overload', 'under twice of it').measured, '0.64', '0.76', floodTwice[4]! / closed[3]![6]!],
    ['20', goal('overload', 'until a refusal').measured, '19', '21'],
    [goal('overload', 'times its p99').measured, besideTwice![4]!, '1.2', '7.5'],
  ],
};

/** The same of what stands between them. */
const PARAGRAPHS: Record<string, Figure[]> = {
  'Taken on one': ['2', '20.20'],
  'The machine differs': [
    ...['60', Math.min(...allPace), Math.max(...allPace), Math.min(...onePace), Math.max(...onePace), '1.8'],
  ],
  'Memory that the': ['1.4'],
  'Of the main thread': [
    ...['64', ...ROOMS.map(room), mainSum - ROOMS.reduce((sum, name) => sum + room(name), 0), '16', '12'],
    stages('1 claim, 64')('proof workers CPU µs'),
    ...[stages('1 claim, 64')(MAIN), about(1e6 / stages('1 claim, 64')(MAIN), 1000), '112 000', '149 000'],
    ...['50', stages('50 claims')(MAIN), about(50e6 / stages('50 claims')(MAIN), 10_000), '871 000', '969 000'],
  ],
  'All but the last': [],
  'Over HTTP money': ['5 000 000', grown(G.p99Of), grown(G.p99On), empty(G.p99Of), empty(G.p99On), '78'],
  'All 64 ask': ['64', '63'],
  'In the last one': [sameTwice![2]!, sameTwice![3]!, sameTwice![4]!, sameTwice![6]!, sameTwice![7]!],
  '300 is no default': ['300', '500', '10 000', '2 000', '0.2', '600', '1.6', '2.5', '4 000', '50', '60'],
  'Reached here': [...['16 000', '64', about(single(ACCEPTED) * slowness('http').all, 100)]],
  'The engine’s figures': ['50', '52', '57', '33', '36'],
};

/** Numbers of a text as they are shown; names of percentiles and commits are none. */
function figuresIn(text: string): string[] {
  const plain = text.replace(/\]\([^)]*\)/g, ']').replace(/\bp\d+(\.\d+)?\b/g, 'p');
  return plain
    .split('|')
    .flatMap((cell) => cell.match(/(?<![\w.])(?:\d{1,3}(?: \d{3})+|\d+)(?:\.\d+)?(?![\w])/g) ?? []);
}

/** What is shown, beside what the files say, with as many places. */
function compare(text: string, figures: readonly Figure[]) {
  const shown = figuresIn(text);
  const plain = shown.map((each) => each.replaceAll(' ', ''));
  const wanted = figures.map((figure, index) => {
    if (typeof figure === 'string') return figure.replaceAll(' ', '');
    return figure.toFixed(plain[index]?.split('.')[1]?.length ?? 0);
  });
  return { shown: [text, ...plain], wanted: [text, ...wanted] };
}

const readme = readPages()[0]!.text;
const chapter = readme.slice(readme.indexOf('\n## Measurements'), readme.indexOf('\n### What was tried'));
const blocks = chapter.split('\n\n').map((block) => block.trim());
const tables = blocks.filter((block) => block.startsWith('|'));
const paragraphs = blocks.filter((block) => /^[^|#!]/.test(block));

test('a figure of a table is not that of the file, or no figure is held to a file', () => {
  expect(tables.map((table) => Object.keys(TABLES).find((begins) => table.startsWith(begins)))).toEqual(
    Object.keys(TABLES),
  );
  for (const [index, table] of tables.entries()) {
    const [head, , ...rows] = table.split('\n');
    const figures = Object.values(TABLES)[index]!;
    expect(rows.length + 1, head).toBe(figures.length);
    const compared = [head!, ...rows].map((line, at) => compare(line, figures[at]!));
    expect(compared.map(({ shown }) => shown)).toEqual(compared.map(({ wanted }) => wanted));
  }
});

test('a figure between the tables is not that of the file', () => {
  const straight = (text: string) => text.replaceAll('’', "'");
  const begins = Object.keys(PARAGRAPHS);
  expect(paragraphs.map((text) => begins.find((each) => text.startsWith(straight(each))))).toEqual(begins);
  const compared = paragraphs.map((text, index) => compare(text.replaceAll('\n', ' '), PARAGRAPHS[begins[index]!]!));
  expect(compared.map(({ shown }) => shown)).toEqual(compared.map(({ wanted }) => wanted));
});

test('the page names another commit than the files', () => {
  const named = [...paragraphs[0]!.matchAll(/\b[0-9a-f]{7,9}\b/g)].map(([commit]) => commit);
  const measured = new Set([...results.values()].map(({ place }) => place.commit));
  expect(new Set(named)).toEqual(measured);
});

test('a chart is not drawn from the newest results', () => {
  const directory = freshDirectory();
  const files = readdirSync(resultsDirectory());
  for (const file of files)
    if (file.endsWith('.json')) copyFileSync(join(resultsDirectory(), file), join(directory, file));
  const drawn = drawCharts(directory);
  expect(drawn.map((file) => basename(file)).sort()).toEqual(files.filter((file) => file.endsWith('.svg')).sort());
  for (const file of drawn) {
    expect(readFileSync(file, 'utf8'), file).toBe(readFileSync(join(resultsDirectory(), basename(file)), 'utf8'));
  }
});

test('a figure that has another last place goes unseen', () => {
  const { shown, wanted } = compare('| 1 of `x 2` p99.9 3.4 ms | 16 957 / 0.77 |', ['1', '2', 3.449, 16_957.4, 0.7645]);
  expect(shown.slice(1)).toEqual(['1', '2', '3.4', '16957', '0.77']);
  expect(wanted.slice(1)).toEqual(['1', '2', '3.4', '16957', '0.76']);
});
