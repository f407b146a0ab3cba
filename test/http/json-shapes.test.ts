/** How many shapes the objects of a text have, told by hand, and by a count that keeps all names. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hasMoreShapes } from '../../src/http/json.ts';
import { often } from '../support/long.ts';

/** Deeper than any of these texts: so much is promised. */
const DEPTH_MAX = 512;

const hasMore = (text: string, max: number): boolean => hasMoreShapes(Buffer.from(text), DEPTH_MAX, max);

/** The least maximum that a text does not go beyond. */
function countOf(text: string): number {
  let max = 0;
  while (hasMore(text, max)) max++;
  return max;
}

/** Two shapes may be taken for one, by chance, once in a hundred thousand; hardly with two sets of names. */
const shapesOf = (text: string): number =>
  Math.max(...['one', 'two'].map((name) => countOf(text.replaceAll('$', name))));

describe('shapes', () => {
  test.each([
    [0, '1'],
    [0, '"$:"'],
    [0, '[{},{},[]]'],
    [0, '"{\\"$\\":1}"'],
    [1, '{"$":1}'],
    [1, '[{"$":1},{"$":"x"},{"$":[]}]'],
    [2, '{"$":1,"b":2}'],
    [4, '[{"$":1,"b":2},{"b":1,"$":2}]'],
    [3, '[{"$":1,"b":2},{"$":1,"c":2}]'],
    [1, '{"$":{"$":{"$":1}}}'],
    [3, '{"$":{"b":1},"c":2}'],
    [3, '{"$":[{"b":1},{"b":2}],"c":2}'],
    [3, '[[{"$":[[{"b":1}]],"c":2}]]'],
    [2, '[{"$":1},{"$x":1}]'],
    [4, '[{"$":1,"xy":1},{"$x":1,"y":1}]'],
    [2, '[{"$\\"":1},{"$\\"x":1}]'],
    [2, '[{"$\\\\":1},{"$\\\\x":1}]'],
    [1, '{"$":"}{\\"b\\":[\\\\"}'],
    [2, '{"$":"\\\\","b":1}'],
    [2, '{ "$" : 1 ,\n "b" : 2 }'],
    [2, '{"":0,"$":0}'],
  ])('%i: %s', (count, text) => {
    expect(shapesOf(text)).toBe(count);
  });

  test('as many as the names tell that came before in their object, or hardly fewer', () => {
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof({ depthSize: 'small', withCrossShrink: true }, fc.constant(0), tie('object'), tie('array')),
      object: fc.dictionary(fc.constantFrom('a', 'b', 'ab', '"', '\\', '{', ':', 'é'), tie('value'), { maxKeys: 6 }),
      array: fc.array(tie('value'), { maxLength: 6 }),
    }));
    fc.assert(
      fc.property(value, (some) => {
        const known = new Set<string>();
        note(some, known);
        const count = countOf(JSON.stringify(some));
        expect(count).toBeLessThanOrEqual(known.size);
        // Of n of them n²/2^19 are taken for others, on the average.
        expect(count).toBeGreaterThanOrEqual(known.size - 5 - known.size ** 2 / 2 ** 15);
      }),
      { numRuns: often(300, 10_000) },
    );
  });

  test.each(['', '}', ']]}}', '{', '"', '{"', '{"a', '"\\', ':::', '{"a":{{{{{{{{{{{{{{'])(
    'of what is no JSON end: %s',
    (text) => {
      expect(countOf(text)).toBeLessThan(4);
    },
  );

  test('no text has more of them than members fit into it', () => {
    const names = Array.from({ length: 5000 }, (_, n) => `"${n}":0`);
    const text = `{${names.join(',')}}`;
    expect(hasMore(text, 5000)).toBe(false);
    // Some of so many are taken for others.
    expect(hasMore(text, 4900)).toBe(true);
  });
});

function note(value: unknown, known: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  const names: string[] = [];
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value)) known.add(JSON.stringify([...names, name]));
    names.push(name);
    note(member, known);
  }
}
