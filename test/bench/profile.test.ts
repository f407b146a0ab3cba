/** Whose time a sample is: the innermost function of ours, and nobody's where nothing was done. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readShares } from '../../bench/load/profile.ts';
import { freshDirectory } from '../support/directory.ts';

const directory = freshDirectory();

const at = (id: number, functionName: string, url = '', children: number[] = [], lineNumber = 0) => ({
  id,
  callFrame: { functionName, url, lineNumber, columnNumber: 0 },
  children,
});

const NODES = [
  at(1, '(root)', '', [2, 3, 4, 5, 8]),
  at(2, '(idle)'),
  at(3, '(program)'),
  at(4, '(garbage collector)'),
  at(5, 'main', 'file:///src/x/dist/src/main.js', [6]),
  at(6, 'decide', 'file:///src/x/dist/src/core/access/rules.js', [7]),
  at(7, 'hash'),
  at(8, 'send', 'file:///src/x/dist/src/http/server.js', [9]),
  at(9, 'answer', 'file:///src/x/dist/src/http/reads.js', [10]),
  at(10, 'end', 'node:internal/stream'),
];

function write(file: string, samples: number[]): void {
  // A first sample far before what is asked for.
  const timeDeltas = [1000, ...samples.map(() => 100)];
  writeFileSync(join(directory, file), JSON.stringify({ nodes: NODES, samples: [6, ...samples], timeDeltas }));
}

test('shares of the busy time in a window, by room', () => {
  writeFileSync(
    join(directory, 'worker.cpuprofile'),
    JSON.stringify({ nodes: [at(1, '(root)')], samples: [], timeDeltas: [] }),
  );
  write('main.cpuprofile', [2, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  const shares = new Map(readShares(directory, 1.05, 100));
  expect(shares.get('core')).toBeCloseTo(2 / 8);
  expect(shares.get('sockets')).toBeCloseTo(2 / 8);
  for (const room of ['main', 'http', 'node', 'garbage collection']) expect(shares.get(room)).toBeCloseTo(1 / 8);
  expect([...shares.values()].reduce((sum, share) => sum + share, 0)).toBeCloseTo(1);
  expect(shares.has('idle')).toBe(false);
});

test('functions that the build has put into one file count for the rooms that they are from', () => {
  const built = new URL('../../src/bin/', import.meta.url);
  const text = readFileSync(new URL('main.js', built), 'utf8');
  const lineOf = (start: string) => text.split('\n').findIndex((line) => line.startsWith(start));
  const frame = (id: number, start: string) => at(id, 'own', new URL('main.js', built).href, [], lineOf(start));
  const nodes = [frame(1, 'async function serve('), frame(2, 'function openDoor('), frame(3, 'function startMetrics(')];
  const directory = freshDirectory();
  const profile = { nodes, samples: [1, 1, 2, 3, 3, 3], timeDeltas: [1000, 100, 100, 100, 100, 100] };
  writeFileSync(join(directory, 'main.cpuprofile'), JSON.stringify(profile));
  const shares = new Map(readShares(directory, 1.05, 100));
  expect([...shares.keys()]).toEqual(['metrics', 'main', 'wiring', 'rest']);
});
