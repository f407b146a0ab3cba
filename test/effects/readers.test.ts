/** Readers of the log: those who are late go through it in company, each from its own place, and hear nothing twice. */
import { describe, expect, test } from 'vitest';
import { ByKey, Companies, Readers } from '../../src/effects/readers.ts';

describe('readers of the log', () => {
  interface Walker {
    key: string;
    from: number;
    seen: number[];
  }
  const walker = (from: number, key = 'k'): Walker => ({ key, from, seen: [] });
  /** Walks to the end of a log of `length`, and tells how many entries were looked at. */
  function walk(readers: Readers<Walker>, length: number): number {
    let looked = 0;
    for (; readers.at <= length; readers.at++) {
      looked++;
      for (const one of readers.waitingFor('k')) one.seen.push(readers.at);
    }
    return looked;
  }
  const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n);

  test('go through it once, each from its own place', () => {
    const readers = new Readers<Walker>();
    const all = [5, 1, 9].map((from) => walker(from));
    for (const one of all) readers.add(one);
    readers.add(walker(1, 'other'));
    expect(walk(readers, 10)).toBe(10);
    expect(all.map(({ seen }) => seen)).toEqual([range(5, 10), range(1, 10), range(9, 10)]);
  });

  test('one that left and comes back goes on where it left, and the others hear nothing twice', () => {
    const readers = new Readers<Walker>();
    const [slow, quick] = [walker(1), walker(2)];
    readers.add(slow);
    readers.add(quick);
    walk(readers, 4);
    readers.delete(slow);
    walk(readers, 8);
    expect(slow.from).toBe(5);
    readers.add(slow);
    walk(readers, 20);
    expect(slow.seen).toEqual(range(1, 20));
    expect(quick.seen).toEqual(range(2, 20));
  });

  test('hundreds, wherever they stand, walk through it twice together, and those near the end do not wait for the others', () => {
    const END = 20_000;
    const companies = new Companies<Walker>();
    const all = Array.from({ length: 200 }, (_, n) => walker(1 + n * 100));
    for (const one of all) companies.add(one, END);
    expect(companies.count).toBeLessThan(20);
    let looked = 0;
    let lastHeard = 0;
    while (companies.count > 0) {
      const company = companies.next();
      looked++;
      for (const one of company.waitingFor('k')) one.seen.push(company.at);
      if (company.at++ < END) continue;
      if ([...company.all()].includes(all.at(-1)!)) lastHeard = looked;
      for (const one of company.all()) companies.delete(one);
    }
    expect(looked).toBeLessThan(2 * END);
    expect(lastHeard).toBeLessThan(2000);
    for (const { from, seen } of all)
      expect([seen[0], seen.length, from]).toEqual([seen[0], END - seen[0]! + 1, END + 1]);
    expect(all.map(({ seen }) => seen[0])).toEqual(all.map((_, n) => 1 + n * 100));
  });

  test('who stands far behind brings nobody back, who stands a little behind does, and there is an end of companies', () => {
    const companies = new Companies<Walker>();
    const placeOf = (one: Walker) => {
      for (let n = companies.count; n > 0; n--) {
        const company = companies.next();
        if (companies.isIn(company, one)) return company.at;
      }
      return -1;
    };
    const [first, near, far] = [walker(50_000), walker(49_900), walker(10)];
    companies.add(first, 60_000);
    companies.add(far, 60_000);
    expect([companies.count, placeOf(first), placeOf(far)]).toEqual([2, 50_000, 10]);
    companies.delete(far);
    companies.add(near, 60_000);
    expect([companies.count, placeOf(first), first.from]).toEqual([1, 49_900, 50_000]);
    companies.add(far, 60_000);
    companies.change(far, () => {
      far.key = 'other';
    });
    expect([companies.count, placeOf(far)]).toEqual([2, 10]);
    // A little behind the last, however far behind the others.
    const nearFar = walker(5);
    companies.add(nearFar, 60_000);
    expect([companies.count, placeOf(nearFar), placeOf(first)]).toEqual([2, 5, 49_900]);
    companies.delete(nearFar);
    expect([companies.count, placeOf(nearFar), placeOf(far)], 'who left is in none').toEqual([2, -1, 5]);
    companies.delete(far);
    for (let n = 0; n < 40; n++) companies.add(walker(40_000 - n * 1000), 60_000);
    expect(companies.count).toBe(32);
    companies.add(walker(59_990), 60_000);
    expect(companies.count, 'nor does one ahead of all begin another').toBe(32);
  });

  test('those told may leave meanwhile', () => {
    const byKey = new ByKey<Walker>();
    const all = [walker(1), walker(1)];
    for (const one of all) byKey.add(one);
    for (const one of byKey.get('k')) byKey.delete(one);
    expect(byKey.get('k')).toEqual([]);
  });
});
