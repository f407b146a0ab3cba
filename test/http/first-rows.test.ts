/** The first rows of very many, against a plain sort. */
import { expect, test } from 'vitest';
import { FirstRows } from '../../src/http/first-rows.ts';
import { Dice } from '../support/dice.ts';

test('a page of rows is that part of all of them in order, whatever order they are looked at in', () => {
  const dice = new Dice(7);
  for (let round = 0; round < 2000; round++) {
    const rows = Array.from({ length: dice.below(40) }, (_, place) => ({ place, moment: dice.below(6) }));
    const looked = rows.map((row) => ({ row, at: dice.below(1_000_000) })).sort((one, other) => one.at - other.at);
    const order = dice.pick(['newest', 'oldest'] as const);
    const [skip, limit] = [dice.below(45), 1 + dice.below(10)];
    const first = new FirstRows(skip + limit, order);
    for (const { row } of looked) first.add(row.moment, row.place);
    const oldest = rows.toSorted((one, other) => one.moment - other.moment || one.place - other.place);
    const all = order === 'oldest' ? oldest : oldest.reverse();
    expect(first.total).toBe(rows.length);
    expect(first.from(skip)).toEqual(all.slice(skip, skip + limit).map(({ place }) => place));
  }
});
