/** A cache must tell what was put into it, keep to its bound, and not forget what is asked for all the time. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Recent } from '../../src/memory/index.ts';

const key = fc.nat({ max: 7 });
const step = fc.oneof(
  fc.record({ op: fc.constantFrom('get', 'delete'), key, size: fc.constant(0) }),
  fc.record({ op: fc.constant('set'), key, size: fc.integer({ min: 1, max: 12 }) }),
);

describe('what came up lately', () => {
  test('is what was set last, or nothing, and takes no more than there is room for', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        const recent = new Recent<number, { size: number }>(20, ({ size }) => size);
        const all = new Map<number, { size: number }>();
        for (const { op, key, size } of steps) {
          if (op === 'set') {
            const value = { size };
            recent.set(key, value);
            all.set(key, value);
            expect(recent.get(key)).toBe(size <= 10 ? value : undefined);
          } else if (op === 'delete') {
            recent.delete(key);
            all.delete(key);
          } else expect([undefined, all.get(key)]).toContain(recent.get(key));
        }
        const kept = [...all.keys()].map((each) => recent.get(each)).filter((value) => value !== undefined);
        expect(kept.reduce((sum, { size }) => sum + size, 0)).toBeLessThanOrEqual(20);
      }),
      { numRuns: 1000 },
    );
  });

  test('stays until half of the room went to others', () => {
    const recent = new Recent<number, string>(100);
    for (let n = 0; n < 1000; n++) {
      recent.set(n, `${n}`);
      for (let before = Math.max(0, n - 49); before <= n; before++) expect(recent.get(before)).toBe(`${before}`);
    }
  });

  test('stays while it is asked for, however many others come', () => {
    const recent = new Recent<string, number>(100);
    recent.set('asked for', -1);
    recent.set('left alone', -2);
    for (let n = 0; n < 1000; n++) {
      recent.set(`${n}`, n);
      if (n % 40 === 0) expect(recent.get('asked for')).toBe(-1);
    }
    expect(recent.get('left alone')).toBeUndefined();
  });

  test('takes its room once, however often it is set anew', () => {
    const recent = new Recent<string, number>(100);
    recent.set('other', -1);
    for (let n = 0; n < 1000; n++) recent.set('set anew', n);
    expect([recent.get('other'), recent.get('set anew')]).toEqual([-1, 999]);
  });

  test('is gone when all is, the old ones too', () => {
    const recent = new Recent<number, number>(20);
    for (let n = 0; n < 15; n++) recent.set(n, n);
    recent.clear();
    for (let n = 0; n < 15; n++) expect(recent.get(n)).toBeUndefined();
  });

  test('makes room where something in it grows, and tells when the young ones are gone', () => {
    let turns = 0;
    const recent = new Recent<string, { size: number }>(20, ({ size }) => size, { turned: () => turns++ });
    const growing = { size: 1 };
    recent.set('other', { size: 5 });
    recent.set('growing', growing);
    growing.size = 6;
    recent.grow(5);
    expect(turns).toBe(1);
    // What it grew by is still counted, and what is asked for takes what it takes by now: that is another turn.
    expect(recent.get('growing')).toBe(growing);
    expect([turns, recent.get('other')]).toEqual([2, undefined]);
    recent.set('next', { size: 4 });
    expect([turns, recent.get('growing')]).toEqual([2, growing]);
    recent.clear();
    expect([turns, recent.get('growing'), recent.get('next')]).toEqual([3, undefined, undefined]);
  });

  test('is a large one too where those are kept, until others come', () => {
    const recent = new Recent<string, number>(20, (size) => size, { keepsLarge: true });
    recent.set('large', 1000);
    for (let times = 0; times < 3; times++) expect(recent.get('large')).toBe(1000);
    recent.set('small', 1);
    expect([recent.get('large'), recent.get('small')]).toEqual([1000, 1]);
    for (const next of ['one', 'two', 'three']) recent.set(next, 10);
    expect([recent.get('large'), recent.get('small')]).toEqual([undefined, undefined]);
  });

  test('without room nothing is kept', () => {
    const recent = new Recent<number, number>(0);
    recent.set(1, 1);
    expect(recent.get(1)).toBeUndefined();
  });
});
