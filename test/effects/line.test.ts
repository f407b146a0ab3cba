/** Lines against lists. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Line, type Standing } from '../../src/effects/line.ts';

interface One extends Standing<One> {
  name: number;
}

test('who has stood in a line longest is first, whoever leaves it and comes back', () => {
  const step = fc.record({ name: fc.nat(5), does: fc.constantFrom('comes', 'comes', 'leaves', 'is next') });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
      const line = new Line<One>();
      const all = Array.from({ length: 6 }, (_, name): One => ({ name, line: null, before: null, behind: null }));
      let model: One[] = [];
      for (const { name, does } of steps) {
        const one = does === 'is next' ? line.first : all[name]!;
        if (one === null) continue;
        if (does === 'comes') {
          line.add(one);
          if (!model.includes(one)) model.push(one);
        } else {
          line.delete(one);
          model = model.filter((other) => other !== one);
        }
        expect(line.first).toBe(model[0] ?? null);
        const standing: number[] = [];
        for (let next = line.first; next !== null; next = next.behind) standing.push(next.name);
        expect(standing).toEqual(model.map((other) => other.name));
        expect(all.filter((one) => one.line === line).length).toBe(model.length);
      }
    }),
  );
});
