/** The bugs that are planted now and then (simulate/planted.ts) have their places in the sources, which move on meanwhile. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Edit, PLANTS, TESTED_PLANTS } from '../simulate/plants.ts';
import { ROOT } from '../support/pages.ts';

const PLACES: [bug: string, edits: readonly Edit[]][] = [
  ...PLANTS.map(([name, ...edits]): [string, Edit[]] => [name, edits]),
  ...TESTED_PLANTS.map(([name, _test, ...edits]): [string, Edit[]] => [name, edits]),
];

test('each has its place once', () => {
  const lost = PLACES.flatMap(([bug, edits]) =>
    edits
      .filter(([file, find]) => readFileSync(join(ROOT, file), 'utf8').split(find).length !== 2)
      .map(([file, find]) => `${bug}: ${file}: ${find}`),
  );
  expect(lost).toEqual([]);
});
