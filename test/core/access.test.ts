/**
 * Who may do what, by hand: each row of the tables says who of a round of askers a rule lets through, and a model that
 * reads rules as they stand agrees.
 */
import { describe, expect, test } from 'vitest';
import { ASKERS, ledger, type Row } from './access-kit.ts';
import { allowed } from './access-model.ts';
import { POLICIES_TABLE } from './access-policies-table.ts';
import { RULES_TABLE } from './access-rules-table.ts';
import { type Asker, World } from './access-world.ts';

const TABLE = [...RULES_TABLE, ...POLICIES_TABLE];

function lettersOf(world: World, [, , action, target, subject]: Row): string {
  const isIn = ([, asker]: [string, Asker]) => world.core(asker, action, target, subject);
  return Object.entries(ASKERS)
    .filter(isIn)
    .map(([letter]) => letter)
    .join(' ');
}

describe('the table', () => {
  test.each(TABLE)('%s', (...row) => {
    const [, setup, action, target, subject, expected] = row;
    const world = new World(setup);
    expect(lettersOf(world, row)).toBe(expected);
    expect(lettersOf(world, row), 'asked again').toBe(expected);
    for (const [letter, asker] of Object.entries(ASKERS)) {
      const model = allowed(world.question(asker, action, target, subject));
      expect(model, `the model, for ${letter}`).toBe(expected.split(' ').includes(letter));
    }
  });
  test('owners of one record are not those of the next, however many rules name them', () => {
    const rule = { action: 'any', record: 'any', signer: { $record: 'owner' } };
    const world = new World(ledger(rule, rule, rule, rule, rule));
    const anna = { signs: ['anna'] };
    expect(world.core(anna, 'update', 'wallet', 'new')).toBe(true);
    expect(world.core(anna, 'update', 'wallet', 'mine')).toBe(false);
  });
  test('has more than a thousand decisions', () => {
    expect(TABLE.length * Object.keys(ASKERS).length).toBeGreaterThan(1000);
  });
});
