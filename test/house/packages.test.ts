/** What a fresh clone installs does not depend on the day: a tag, `latest` say, names another version tomorrow, and `npm ci` refuses. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

interface Package {
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../../${name}`, import.meta.url), 'utf8'));

test('no package is asked for by a tag, but where we say the version', () => {
  const { overrides } = read('package.json') as { overrides: Record<string, Record<string, string>> };
  const { packages } = read('package-lock.json') as { packages: Record<string, Package> };
  const byTag = Object.entries(packages).flatMap(([path, { dependencies, optionalDependencies }]) => {
    const by = path.replace(/^.*node_modules\//, '');
    const wanted = Object.entries({ ...dependencies, ...optionalDependencies });
    return wanted.filter(([, version]) => /^[a-z]+$/i.test(version)).map(([name]) => [by, name] as const);
  });
  expect(byTag).toEqual([['@minka/ledger-sdk', '@types/node']]);
  expect(byTag.filter(([by, name]) => overrides[by]?.[name] === undefined)).toEqual([]);
});
